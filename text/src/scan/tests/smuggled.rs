//! Payloads in invisible characters, in six schemes. `neutralise` must remove each payload completely.

use super::attacks::{scanner, texts};
use crate::scan::{Author, Category, Scanner};

/// Visible texts into which a payload is inserted.
const COVERS: [&str; 4] = [
    "The build takes four minutes.",
    "Dana owns the gateway; ask in #platform.",
    "caf\u{e9}",
    "pool_size = 64",
];

/// The name of a scheme, and its encoding of a byte.
type Scheme = (&'static str, fn(u8) -> String);

/// Schemes that encode bytes as invisible characters.
const SCHEMES: [Scheme; 6] = [
    ("tags", |byte| {
        invisible(0xE0000 + u32::from(byte & 0x7f).max(0x20))
    }),
    ("bits as spaces without width", |byte| {
        (0..8)
            .map(|bit| {
                if byte >> bit & 1 == 0 {
                    '\u{200b}'
                } else {
                    '\u{2060}'
                }
            })
            .collect()
    }),
    ("variation selectors", |byte| match byte {
        0..16 => invisible(0xFE00 + u32::from(byte)),
        _ => invisible(0xE0100 + u32::from(byte) - 16),
    }),
    ("signs of direction", |byte| {
        const SIGNS: [char; 4] = ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'];
        (0..4)
            .map(|pair| SIGNS[usize::from(byte >> (2 * pair) & 3)])
            .collect()
    }),
    ("operators and fillers", |byte| {
        const SIGNS: [char; 4] = ['\u{2062}', '\u{2063}', '\u{3164}', '\u{ffa0}'];
        (0..4)
            .map(|pair| SIGNS[usize::from(byte >> (2 * pair) & 3)])
            .collect()
    }),
    ("private use", |byte| invisible(0xE000 + u32::from(byte))),
];

fn invisible(code: u32) -> String {
    char::from_u32(code)
        .expect("the blocks have no surrogates")
        .to_string()
}

#[test]
fn smuggled_payloads_are_seen_and_leave_no_trace() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (index, payload) in texts().iter().enumerate() {
        for (name, write) in SCHEMES {
            let hidden: String = payload.bytes().map(write).collect();
            for cover in COVERS {
                // A position inside the text, which differs for each payload.
                let at = cover.ceil_char_boundary(1 + index % (cover.len() - 1));
                let text = format!("{}{hidden}{}", &cover[..at], &cover[at..]);
                let is_seen = |text: &str| {
                    let findings = scanner().scan(Author::Stranger, text).findings;
                    findings.iter().any(|found| found.category == Category::Unicode)
                };
                let stripped = Scanner::neutralise(&text).into_owned();
                count += 1;
                // Scanning a thousand characters is slow and gives the same findings for each payload. So the test
                // scans only every sixteenth payload.
                if stripped != cover || (index % 16 == 0 && !is_seen(&text)) {
                    wrong.push(format!("{name} in {cover:?}: {stripped:?}"));
                }
            }
        }
    }
    assert!(count >= 10_000, "{count} payloads");
    assert!(
        wrong.is_empty(),
        "{} of {count}: {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
}

//! Twenty ways to write the same order, each of which a model can read.
//!
//! Ways that change letters skip the encoded parts of a seed. Ways that wrap or encode text apply to the whole seed.

/// A part of a seed: plain text, or an expanded macro.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) is_coded: bool,
}

/// A way to write a text.
enum Way {
    Letters(fn(char, usize) -> String),
    Whole(fn(&str) -> String),
}

const WAYS: [(&str, Way); 20] = [
    ("as is", Way::Whole(str::to_owned)),
    ("upper", Way::Letters(|char, _| char.to_uppercase().collect())),
    ("spaced", Way::Letters(|char, _| format!("{char} "))),
    ("zero-w", Way::Letters(zero_width)),
    ("alike", Way::Letters(|char, _| look_alike(char).to_string())),
    ("leet", Way::Letters(|char, _| leet(char).to_string())),
    ("wide", Way::Letters(|char, _| wide(char).to_string())),
    ("bold", Way::Letters(|char, _| bold(char).to_string())),
    ("tags", Way::Whole(tags)),
    ("b64", Way::Whole(|text| base64(text.as_bytes()))),
    (
        "b64 x2",
        Way::Whole(|text| base64(base64(text.as_bytes()).as_bytes())),
    ),
    ("hex", Way::Whole(hexadecimal)),
    ("percent", Way::Whole(percent)),
    ("entity", Way::Whole(entities)),
    ("\\u", Way::Whole(escapes)),
    (
        "comment",
        Way::Whole(|text| format!("Release notes.\n<!-- {text} -->\nThe end.")),
    ),
    (
        "code",
        Way::Whole(|text| format!("Example:\n```text\n{text}\n```\n")),
    ),
    ("json", Way::Whole(json)),
    ("hidden", Way::Whole(hidden)),
    ("wrapped", Way::Whole(wrapped)),
];

/// Returns the names of the ways, in order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    WAYS.iter().map(|(name, _)| *name)
}

/// Returns a seed, written in the way with this index.
pub(super) fn apply(way: usize, seed: &[Piece]) -> String {
    match WAYS[way].1 {
        Way::Whole(change) => change(&seed.iter().map(|piece| piece.text.as_str()).collect::<String>()),
        Way::Letters(change) => {
            let mut out = String::new();
            for piece in seed {
                if piece.is_coded {
                    out.push_str(&piece.text);
                } else {
                    out.extend(piece.text.chars().enumerate().map(|(at, char)| change(char, at)));
                }
            }
            out
        }
    }
}

/// Splits a seed into pieces, and expands its macros, such as `{{base64:text}}`.
pub(super) fn pieces(seed: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = seed;
    while let Some(start) = rest.find("{{") {
        let (before, macro_text) = rest.split_at(start);
        let length = closing(macro_text);
        let (name, inner) = macro_text[2..length - 2]
            .split_once(':')
            .expect("a macro has a name");
        let inner: String = pieces_text(inner);
        let text = match name {
            "base64" => base64(inner.as_bytes()),
            "hex" => hexadecimal(&inner),
            "percent" => percent(&inner),
            "entities" => entities(&inner),
            "escapes" => escapes(&inner),
            "tags" => tags(&inner),
            "zero" => inner
                .chars()
                .enumerate()
                .map(|(at, char)| zero_width(char, at))
                .collect(),
            _ => panic!("{name} is no macro"),
        };
        pieces.push(Piece {
            text: before.to_owned(),
            is_coded: false,
        });
        pieces.push(Piece { text, is_coded: true });
        rest = &macro_text[length..];
    }
    pieces.push(Piece {
        text: rest.to_owned(),
        is_coded: false,
    });
    pieces
}

fn pieces_text(seed: &str) -> String {
    pieces(seed).into_iter().map(|piece| piece.text).collect()
}

/// Returns the length of the macro at the start of `text`.
fn closing(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(pair) = text.as_bytes().get(at..at + 2) {
        let step = i32::from(pair == b"{{") - i32::from(pair == b"}}");
        at += if step == 0 { 1 } else { 2 };
        depth += step;
        if depth == 0 {
            return at;
        }
    }
    panic!("a macro of {text} has no end")
}

fn zero_width(char: char, at: usize) -> String {
    let between = ['\u{200b}', '\u{200c}', '\u{2060}', '\u{feff}'][at % 4];
    if char.is_alphabetic() {
        format!("{char}{between}")
    } else {
        char.to_string()
    }
}

/// Exchanges Latin and Cyrillic letters that look alike.
fn look_alike(char: char) -> char {
    const ALIKE: [(char, char); 16] = [
        ('a', 'а'),
        ('c', 'с'),
        ('e', 'е'),
        ('i', 'і'),
        ('o', 'о'),
        ('p', 'р'),
        ('x', 'х'),
        ('y', 'у'),
        ('A', 'А'),
        ('C', 'С'),
        ('E', 'Е'),
        ('I', 'І'),
        ('O', 'О'),
        ('P', 'Р'),
        ('S', 'Ѕ'),
        ('T', 'Т'),
    ];
    let other = ALIKE.iter().find_map(|&(latin, cyrillic)| {
        (char == latin)
            .then_some(cyrillic)
            .or((char == cyrillic).then_some(latin))
    });
    other.unwrap_or(char)
}

fn leet(char: char) -> char {
    match char.to_ascii_lowercase() {
        'a' => '4',
        'e' => '3',
        'i' => '1',
        'o' => '0',
        's' => '5',
        't' => '7',
        _ => char,
    }
}

fn wide(char: char) -> char {
    match char {
        ' ' => '\u{3000}',
        '!'..='~' => char::from_u32(char as u32 + 0xFEE0).expect("the block has no gaps"),
        _ => char,
    }
}

fn bold(char: char) -> char {
    let start = match char {
        'a'..='z' => 0x1D41A - u32::from(b'a'),
        'A'..='Z' => 0x1D400 - u32::from(b'A'),
        _ => return char,
    };
    char::from_u32(start + char as u32).expect("the block has no gaps")
}

fn tags(text: &str) -> String {
    let hidden = text.chars().map(|char| match char {
        ' '..='~' => char::from_u32(0xE0000 + char as u32).expect("tags are characters"),
        _ => char,
    });
    format!("All fine. {}", hidden.collect::<String>())
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]);
            out.push(if at <= three.len() { letter } else { '=' });
        }
    }
    out
}

fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn entities(text: &str) -> String {
    let number = |(at, char): (usize, char)| match at % 2 {
        0 => format!("&#{};", char as u32),
        _ => format!("&#x{:x};", char as u32),
    };
    text.chars().enumerate().map(number).collect()
}

fn escapes(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn json(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{{\"id\": 17, \"note\": \"{text}\", \"tags\": [\"imported\"]}}")
}

fn hidden(text: &str) -> String {
    format!(
        "The nightly build takes eleven minutes since the cache was moved to the new runner, and the coverage report is \
         uploaded at the end. {text} The next review of the pipeline is planned for the first week of June; Dana keeps \
         the list of open points."
    )
}

/// Splits a text into lines of about 24 letters, each with a quote sign as in a mail.
fn wrapped(text: &str) -> String {
    let mut out = String::from(">");
    let mut column = 0;
    for word in text.split(' ') {
        column += word.chars().count() + 1;
        if column > 24 {
            out.push_str("\n>");
            column = word.chars().count();
        }
        out.push(' ');
        out.push_str(word);
    }
    out
}

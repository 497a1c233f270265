//! Tests of the text that the scrubber removes, and of the text that remains.

use super::super::scrub::without_entries;
use super::super::scrubbed;
use super::scrub;

#[test]
fn envelopes_are_taken_out_and_the_rest_is_left() {
    let table = [
        ("", ""),
        ("plain <b>text</b> & more", "plain <b>text</b> & more"),
        ("a <memory>x</memory> b", "a  b"),
        (
            "a\r\n<memory version=\"2\" use=\"x\">\r\n<rule id=\"1\">y</rule></memory>\r\nb",
            "a\r\n\r\nb",
        ),
        (
            "a<session_memory>x</session_memory>b<persistent_memory node_refs=\"1 2\">y</persistent_memory>c",
            "abc",
        ),
        ("a <MeMoRy\tx='1'\n>x</MEMORY > b", "a  b"),
        ("a <memory>x<memory>y</memory>z</memory> b", "a  b"),
        (
            "a <memory>x<persistent_memory>y</persistent_memory>z</memory> b",
            "a  b",
        ),
        ("a <memory>x<persistent_memory>y</memory> b", "a  b"),
        ("a <memory>x</persistent_memory>y</memory> b", "a  b"),
        ("a <memory/> b <memory version=\"2\" /> c", "a  b  c"),
        ("a <memory x=\"/>\">secret</memory> b", "a  b"),
        ("a <memory x='\">' y>secret</memory> b", "a  b"),
        ("<memory>1</memory><memory>2</memory>", ""),
        // Only the tag is removed if the block was cut off, or if the text only mentions the tag.
        ("a <memory version=\"2\"> x", "a  x"),
        ("a\n<memory>\nx", "a\n\nx"),
        ("a <session_memory> x </memory> y", "a  x </memory> y"),
        (
            "keep1 <memory version=\"2\"> not an envelope keep2\nkeep3 <memory>keep4</memory> keep5",
            "keep1  not an envelope keep2\nkeep3  keep5",
        ),
        ("a <memory version=\"2", "a  version=\"2"),
        ("a <memory", "a "),
        ("a <memory>x</memory", "a "),
        ("<memory>x</memory a b", " a b"),
        // A closing tag without an opening tag stays.
        ("a </memory> b", "a </memory> b"),
        // Tags with other names, and escaped tags, stay.
        (
            "<memory-bank>x</memory-bank> <memory_id>y</memory_id> <memories>",
            "<memory-bank>x</memory-bank> <memory_id>y</memory_id> <memories>",
        ),
        ("< memory>x</ memory>", "< memory>x</ memory>"),
        ("&lt;memory&gt;x&lt;/memory&gt;", "&lt;memory&gt;x&lt;/memory&gt;"),
        // Program code stays if no closing tag follows.
        (
            "let store: Arc<Memory> = open();",
            "let store: Arc<Memory> = open();",
        ),
        (
            "Vec::<Memory>::new() and Option<Vec<Memory>>",
            "Vec::<Memory>::new() and Option<Vec<Memory>>",
        ),
        (
            "#include <memory>\nint main() {}",
            "#include <memory>\nint main() {}",
        ),
        ("<Memory as Store>::open()", "<Memory as Store>::open()"),
        ("<Memory as S<memory>x</memory>/>", " as S/>"),
        ("What does `<memory>` mean?", "What does `<memory>` mean?"),
        (
            "Arc<Memory> then <memory version=\"2\">x</memory> end",
            "Arc<Memory> then  end",
        ),
        ("Arc<Memory version=\"2\"> x", "Arc x"),
        // The texts around a removed block do not combine into an envelope.
        ("<mem<memory>x</memory>ory>secret</memory>", "ory>secret</memory>"),
        ("<memory<memory>x</memory>>secret", ">secret"),
        ("<m<memory>1</memory>em<memory>2</memory>ory>secret", "ory>secret"),
        (
            "<mem<mem<memory>x</memory>ory>secret</memory>",
            "ory>secret</memory>",
        ),
    ];
    for (dirty, clean) in table {
        assert_eq!(scrub(dirty), clean, "{dirty:?}");
    }
}

#[test]
fn what_had_no_end_is_counted() {
    let count = |text: &str| (scrubbed(text).envelopes, scrubbed(text).unclosed);
    assert_eq!(count("plain"), (0, 0));
    assert_eq!(count("a <memory>x</memory> <memory/> b"), (2, 0));
    assert_eq!(count("a <memory version=\"2\"> b <memory>x</memory>"), (1, 1));
}

#[test]
fn entries_of_transcripts_are_taken_out_if_they_are_closed() {
    let table = [
        ("a <entry role=\"user\">raw</entry> b", "a  b"),
        ("a <entry> b", "a <entry> b"),
        ("<ENTRY>a<entry>b</entry>c</Entry>", ""),
        ("<ent<entry>a</entry>ry>b</entry>", "ry>b</entry>"),
        ("<entries>a</entries>", "<entries>a</entries>"),
        ("<memory>a</memory>", "<memory>a</memory>"),
    ];
    for (dirty, clean) in table {
        assert_eq!(without_entries(dirty), clean, "{dirty:?}");
    }
}

#[test]
fn scr_2_the_time_is_linear() {
    let per_byte = |text: &str| {
        let start = std::time::Instant::now();
        let clean = scrub(text).len();
        assert!(clean <= text.len());
        start.elapsed().as_secs_f64() / text.len() as f64
    };
    let shapes: [fn(usize) -> String; 9] = [
        |count| "<memory>".repeat(count),
        |count| "<memory>".repeat(count) + &"</memory>".repeat(count),
        |count| "<mem".repeat(count) + "<memory></memory>" + &"ory>".repeat(count),
        |count| "<mem<memory></memory>".repeat(count),
        |count| "<memory ".repeat(count) + &"</session_memory>".repeat(count),
        |count| "<memory a=\"".repeat(count),
        |count| "</memory ".to_owned() + &" <memory/>".repeat(count),
        |count| "Arc<Memory>".repeat(count) + "<memory>x</memory>",
        |count| "<".repeat(count),
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        let _ = per_byte(&shape(1000));
        let (small, large) = (shape(500), shape(10_000));
        let (mut of_small, mut of_large) = (f64::MAX, f64::MAX);
        // The large text has twenty times the bytes of the small text, so quadratic work would take twenty times as
        // long per byte. The measurement is repeated, because other load on the machine disturbs single rounds.
        let is_linear = (0..100).any(|round| {
            of_small = of_small.min(per_byte(&small));
            of_large = of_large.min(per_byte(&large));
            round >= 8 && of_large < 7.0 * of_small + 1e-9
        });
        assert!(
            is_linear,
            "pattern {index}: {of_small:e} and {of_large:e} seconds per byte"
        );
    }
}

//! Tests with up to a million hostile texts: the strict reader finds exactly the records that the renderer shows.
//!
//! `TREERING_TEXTS` sets the number of shown texts, and `TREERING_SEED` sets the first seed.

use super::super::render::{Boundary, Record, Request};
use super::super::sections::Section;
use super::generator::{Parts, Random, mutated, parts, text};
use super::reader::parse;
use super::{Rendered, render, scrub};
use treering_text::recall::tokens;
use treering_text::visible::hidden;

/// Reads a number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn request(random: &mut Random) -> Request<'static> {
    Request {
        compacted: random.pick(&[None, Some("s1"), Some("")]),
        budget_tokens: random.pick(&[0, 30, 60, 100, 200, 500, 2000, 5000, usize::MAX]),
        with_untrusted: random.one_in(2),
        boundary: Boundary::new("s3cretBoundaryWord").filter(|_| random.one_in(2)),
        ..Request::new("blake3:<\u{202e}\">'&")
    }
}

/// Checks one rendering against every invariant. Most checks do not use the code of the renderer.
fn check(records: &[Record], request: &Request, rendered: &Rendered) {
    let Rendered {
        text,
        envelope,
        left_out,
    } = rendered;
    // ENV-1: the reader finds exactly the shown records, and every given record is either shown or counted.
    let read = parse(text).expect("the strict reader accepts every rendered text");
    assert_eq!(read.shown, envelope.shown);
    assert!(text.is_empty() || read == *envelope);
    assert_eq!(envelope.shown.len() + left_out.total(), records.len());
    assert_eq!(envelope.skipped, left_out.skipped());
    // Only tags contain angle brackets, so no text of a record breaks out of its element.
    let sections = envelope
        .shown
        .chunk_by(|one, next| one.section == next.section)
        .count();
    let tags = if text.is_empty() {
        0
    } else {
        2 * envelope.shown.len() + 2 * sections + 3
    };
    assert_eq!(text.matches('<').count(), tags);
    assert_eq!(text.matches('>').count(), tags);
    assert!(!text.contains('\''));
    let breaks = envelope
        .shown
        .iter()
        .map(|shown| shown.text.matches('\n').count())
        .sum::<usize>();
    if !text.is_empty() {
        assert_eq!(
            text.lines().count(),
            3 + 2 * sections + envelope.shown.len() + breaks
        );
    }
    assert!(text.split('&').skip(1).all(|rest| {
        ["amp;", "lt;", "gt;", "quot;", "apos;"]
            .iter()
            .any(|name| rest.starts_with(name))
    }));
    // ENV-2: the text never exceeds the budget.
    assert!(tokens(text) <= request.budget_tokens);
    for shown in &envelope.shown {
        assert!(shown.text.chars().count() <= shown.section.chars_max());
        assert!(shown.section.has_lines() || !shown.text.contains(['\n', '\r', '\t']));
        assert!(!hidden(&shown.text.chars().collect::<Vec<_>>()).contains(&true));
        // ENV-5: untrusted records are shown only in the section `quarantine`.
        assert!(shown.trust.is_trusted() || (shown.section == Section::Quarantine && request.with_untrusted));
        // ENV-4: notes are shown only in a compaction of their session.
        assert!(shown.section != Section::SessionNotes || request.compacted == Some("s1"));
    }
    if let Some(boundary) = request.boundary.as_ref().filter(|_| !text.is_empty()) {
        assert_eq!(text.matches(boundary.as_str()).count(), 2);
    }
    assert_eq!(scrub(text), "");
}

/// Checks whether `text` contains an envelope, by a simple and slow search.
fn holds_an_envelope(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let ends_a_name =
        |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r', '\u{c}', '/', '>']);
    ["memory", "session_memory", "persistent_memory"]
        .iter()
        .any(|name| {
            let (opening, closing) = (format!("<{name}"), format!("</{name}"));
            let mut opens = lower
                .match_indices(&opening)
                .filter(|(at, found)| ends_a_name(&lower[at + found.len()..]));
            opens.any(|(at, _)| {
                let is_closed = lower[at..]
                    .match_indices(&closing)
                    .any(|(to, found)| ends_a_name(&lower[at + to + found.len()..]));
                let (before, behind) = (&lower[..at], &lower[at + 1 + name.len()..]);
                let last = before.bytes().last().unwrap_or(b' ');
                let is_word = last.is_ascii_alphanumeric()
                    || b"_:`".contains(&last)
                    || before.trim_end().ends_with("#include")
                    || before.trim_end().ends_with("import");
                let is_bare = behind.is_empty() || behind.starts_with('>');
                is_closed || !(behind.starts_with(" as ") || (is_word && is_bare))
            })
        })
}

fn check_scrub(dirty: &str) {
    let clean = scrub(dirty);
    // SCR-1: a scrubbed text contains no envelope.
    assert!(!holds_an_envelope(&clean), "{dirty:?} -> {clean:?}");
    assert_eq!(scrub(&clean), clean, "{dirty:?}");
}

/// Renders hostile records and checks the result. Returns the number of records and the number of shown records.
fn round(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let made: Vec<Parts> = (0..=random.below(11)).map(|_| parts(&mut random)).collect();
    let mut records: Vec<Record> = made.iter().map(Parts::record).collect();
    let request = request(&mut random);
    let rendered = render(&records, &request);
    check(&records, &request, &rendered);
    // ENV-3: the order of the input does not matter.
    random.shuffle(&mut records);
    assert_eq!(render(&records, &request), rendered);

    let plain = format!("before {} behind", rendered.text);
    assert_eq!(scrub(&plain), "before  behind");
    let other = text(&mut random);
    check_scrub(&other);
    // Inserts a whole block between any two characters, even inside a tag.
    let mut torn: Vec<char> = other.chars().take(4000).collect();
    for _ in 0..3 {
        let at = random.below(torn.len() + 1);
        drop(torn.splice(at..at, "<memory>x</memory>".chars()));
    }
    check_scrub(&String::from_iter(torn));
    check_scrub(&format!("{other}{}{}", rendered.text, text(&mut random)));

    // ENV-6: the reader refuses a changed text, unless it is exactly the text of another envelope.
    let meddled = mutated(&mut random, &rendered.text);
    check_scrub(&meddled);
    if let Ok(read) = parse(&meddled) {
        assert_eq!(read.to_string(), meddled);
    }
    (records.len() as u64, rendered.envelope.shown.len() as u64)
}

#[test]
fn whatever_records_hold_they_are_read_as_they_were_shown() {
    let (texts, seed) = (setting("TREERING_TEXTS", 10_000), setting("TREERING_SEED", 1));
    let (mut given, mut shown, mut rounds) = (0, 0, 0);
    while shown < texts {
        let seed = seed + rounds;
        let Ok((records, of_these)) = std::panic::catch_unwind(|| round(seed)) else {
            panic!("to reproduce the failure, set TREERING_SEED={seed} TREERING_TEXTS=1");
        };
        (given, shown, rounds) = (given + records, shown + of_these, rounds + 1);
    }
    println!("{shown} of {given} records were shown in {rounds} envelopes from seed {seed}");
}

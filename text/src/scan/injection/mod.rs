//! Finds prompt injections: orders to models, forged turns, and commands that fetch and run code.
//!
//! Rules read two copies of the text ([`views`]). Rules also read the decoded base64, hexadecimal digits and escapes of
//! the text, at most three layers deep. Findings are only advice: a plausible statement passes every rule, so the
//! origin of a text decides what the text may do.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-5: besides the text and its findings, a scan needs memory for only a few pieces, however long the text is.

mod ciphers;
mod classifier;
mod respell;
mod spelling;
#[cfg(test)]
mod tests;
mod views;

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::ops::Range;

use self::classifier::{AGREED, Passage, UNLIKE};
use self::views::TextCopy;
use super::encoding;
use super::finding::{Category, Finding, Severity};
use super::rules::{self, Frames, RuleSet};
use super::secrets::boundaries;
use super::verdict::Author;

/// The number of bytes of text that are copied at a time.
const PIECE: usize = 64 << 10;
/// The number of bytes that neighbouring pieces share. This number exceeds the longest match, so each match is
/// completely in some piece.
const OVERLAP: usize = 4 << 10;
/// The maximal number of findings of one severity that a rule reports in one piece. More could not change the verdict.
const PER_RULE_MAX: usize = 4;
/// The minimal number of escapes that are decoded, because a single `%20` hides nothing.
const ESCAPES_MIN: usize = 3;
/// The number of bytes around escapes that are searched.
const AROUND: usize = 256;
/// The maximal number of layers that are decoded.
const DEPTH_MAX: usize = 3;

/// The maximal number of bytes between findings that confirm each other.
const NEAR: usize = 300;
/// Categories whose findings are never raised, because they are no orders, or because `High` blocks a text.
const UNCONFIRMED: [Category; 4] = [
    Category::Secret,
    Category::Unicode,
    Category::Execute,
    Category::Encoded,
];

/// Categories whose findings are never lowered, because they are facts about the text and not readings of it.
const FACTS: [Category; 2] = [Category::Execute, Category::Encoded];

/// Returns the findings in a `text` by `author`.
///
/// What a trusted author writes is not scored by the classifier unless a rule finds something, and is not deciphered. A
/// finding then counts only if the classifier does not contradict it.
pub(in crate::scan) fn find(text: &str, author: Author) -> Vec<Finding> {
    let mut found = Vec::new();
    find_at_depth(text, author, 0, &mut found);
    found
}

/// Raises findings of medium severity that confirm each other: two categories close together are as rare in honest
/// texts as one finding of high severity. A resemblance confirms a rule, too: either alone flags, both hold back.
/// Disguised characters confirm an order, but an order does not make them more dangerous.
pub(in crate::scan) fn confirm(found: &mut [Finding]) {
    let open = found
        .iter()
        .filter(|one| one.severity == Severity::Medium && one.category != Category::Secret);
    let open: Vec<(Range<usize>, Category)> = open.map(|one| (one.span.clone(), one.category)).collect();
    for finding in found.iter_mut().filter(|one| one.severity == Severity::Medium) {
        let span = finding.span.clone();
        let gap = |other: &Range<usize>| {
            let after = other.start.saturating_sub(span.end);
            after.max(span.start.saturating_sub(other.end))
        };
        let mut others = open.iter().filter(|(_, category)| *category != finding.category);
        if !UNCONFIRMED.contains(&finding.category) && others.any(|(other, _)| gap(other) <= NEAR) {
            finding.severity = Severity::High;
        }
    }
}

fn find_at_depth(text: &str, author: Author, depth: usize, found: &mut Vec<Finding>) {
    let (mut marks, mut words) = (TextCopy::default(), TextCopy::default());
    let (rules_for_marks, rules_for_words) = &*rules::MARKS_AND_WORDS;
    for piece in pieces(text) {
        let part = &text[piece.clone()];
        let mut here = Vec::new();
        let has_escapes = views::marks(part, &mut marks);
        views::words(&marks, &mut words);
        let passages = LazyCell::new(|| Passages::of(&marks, part));
        let mut scanned = Piece {
            text: part,
            is_trusted: author != Author::Stranger,
            score: &|span| passages.score_at(span),
            found: &mut here,
        };
        run(rules_for_marks, &marks, &mut scanned);
        run(rules_for_words, &words, &mut scanned);
        if !words.bytes.is_ascii() {
            run(&rules::OTHER_WORDS, &words, &mut scanned);
            run_frames(&rules::OTHER_FRAMES, &words, &mut scanned);
        }
        run_frames(&rules::FRAMES, &words, &mut scanned);
        if author == Author::Stranger {
            here.extend(passages.alike(f32::MIN));
        } else if here.iter().any(|finding| finding.severity > Severity::Low) {
            here.extend(passages.alike(AGREED));
        }
        if depth < DEPTH_MAX {
            if has_escapes {
                find_unescaped(part, author, depth, &mut here);
            }
            find_in_runs(part, author, depth, &mut here);
        }
        if depth == 0 && author == Author::Stranger {
            find_respelled(part, &mut here);
            find_in_ciphers(part, &mut here);
        }
        found.extend(here.into_iter().map(|finding| finding.shifted(piece.start)));
    }
}

/// Returns the copy of `text` that rules with this view read.
#[cfg(test)]
pub(in crate::scan) fn copy_for(view: rules::View, text: &str) -> Vec<u8> {
    let (mut marks, mut words) = (TextCopy::default(), TextCopy::default());
    views::marks(text, &mut marks);
    views::words(&marks, &mut words);
    match view {
        rules::View::Text => text.as_bytes().to_vec(),
        rules::View::Marks => marks.bytes,
        rules::View::Words => words.bytes,
    }
}

/// Returns overlapping pieces of the text, cut at white space where possible.
fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let piece = |start: usize| {
        if text.len() - start <= PIECE {
            return start..text.len();
        }
        let end = text.floor_char_boundary(start + PIECE);
        let tail = &text.as_bytes()[end - 256..end];
        let space = tail.iter().rposition(u8::is_ascii_whitespace);
        start..space.map_or(end, |space| end - 256 + space)
    };
    std::iter::successors(Some(piece(0)), move |last| {
        let next = text.floor_char_boundary(last.end.saturating_sub(OVERLAP));
        (last.end < text.len()).then(|| piece(next))
    })
}

/// The scored passages of a piece of text.
struct Passages(Vec<Passage>);

impl Passages {
    fn of(marks: &TextCopy, text: &str) -> Self {
        let mut passages = classifier::find(&marks.bytes);
        for passage in &mut passages {
            passage.span = marks.span_in(text, passage.span.clone());
        }
        Self(passages)
    }

    /// Returns the highest score of the passages at `span`, or `None` if no passage is there.
    fn score_at(&self, span: &Range<usize>) -> Option<f32> {
        let touches = |passage: &&Passage| passage.span.start < span.end && span.start < passage.span.end;
        let scores = self.0.iter().filter(touches).map(|passage| passage.score);
        scores.reduce(f32::max)
    }

    /// Returns findings of the passages with a score of at least `least` that resemble an injection, the most severe
    /// ones first.
    fn alike(&self, least: f32) -> Vec<Finding> {
        let passages = self.0.iter().filter(|passage| passage.score >= least);
        let mut found: Vec<Finding> = passages
            .filter_map(|passage| {
                let (severity, span) = (classifier::severity(passage.score)?, passage.span.clone());
                Some(Finding::new(
                    Category::Resemblance,
                    "resembles-injection",
                    severity,
                    span,
                ))
            })
            .collect();
        found.sort_by_key(|finding| Reverse(finding.severity));
        found.truncate(PER_RULE_MAX);
        found
    }
}

/// A piece of text, and what was found in it.
struct Piece<'a> {
    text: &'a str,
    is_trusted: bool,
    /// Returns the highest score of the passages at a span.
    score: &'a dyn Fn(&Range<usize>) -> Option<f32>,
    found: &'a mut Vec<Finding>,
}

impl Piece<'_> {
    /// Adds a finding at `span` of a copy. Findings of the same rule count against [`PER_RULE_MAX`] only if they are at
    /// least as severe, so that harmless uses of some words do not hide an order.
    fn add(
        &mut self,
        copy: &TextCopy,
        span: Range<usize>,
        category: Category,
        rule: &'static str,
        severity: Severity,
    ) {
        let span = copy.span_in(self.text, span);
        // A rule knows a few words, the classifier weighs the whole passage, and honest texts use the words of attacks.
        let is_unlike = !FACTS.contains(&category) && (self.score)(&span).is_some_and(|score| score < UNLIKE);
        let severity = match (is_unlike, self.is_trusted) {
            (false, _) => severity,
            (true, false) => severity.lower(),
            (true, true) => Severity::Low,
        };
        let same = self.found.iter();
        let same = same.filter(|known| known.rule == rule && known.severity >= severity);
        if same.count() < PER_RULE_MAX {
            self.found.push(Finding::new(category, rule, severity, span));
        }
    }
}

/// Runs `rules` over a copy of a piece.
fn run(rules: &RuleSet, copy: &TextCopy, piece: &mut Piece<'_>) {
    rules.run(&copy.bytes, |matched| {
        let (rule, span) = (matched.rule, matched.span);
        if !span.is_empty() {
            piece.add(copy, span, rule.category, rule.id, rule.severity);
        }
    });
}

/// Runs the frames over a copy of a piece.
fn run_frames(frames: &Frames, copy: &TextCopy, piece: &mut Piece<'_>) {
    frames.run(&copy.bytes, |frame, span| {
        piece.add(copy, span, frame.category, frame.id, frame.severity);
    });
}

/// Finds injections that are hidden by escapes.
fn find_unescaped(text: &str, author: Author, depth: usize, found: &mut Vec<Finding>) {
    let unescaped = encoding::unescape(text);
    for part in unescaped.dense(ESCAPES_MIN, AROUND) {
        let mut inner = Vec::new();
        find_at_depth(&unescaped.text[part.clone()], author, depth + 1, &mut inner);
        for finding in inner {
            let start = unescaped.sources[part.start + finding.span.start];
            let end = unescaped.sources[part.start + finding.span.end].max(start);
            let span = boundaries(text, start..end.min(text.len()));
            let is_known = found.iter().any(|known| {
                known.rule == finding.rule
                    && known.severity >= finding.severity
                    && known.span.start < span.end
                    && span.start < known.span.end
            });
            if !is_known {
                found.push(Finding { span, ..finding });
            }
        }
    }
}

/// Finds injections in spelled-out, quoted, misspelled or otherwise disguised text. Text that was respelled is not
/// respelled again.
fn find_respelled(text: &str, found: &mut Vec<Finding>) {
    for (run, plain) in respell::plain(text) {
        find_in_copy(&run, &plain, found);
        for (_, correct) in spelling::corrected(&plain) {
            find_in_copy(&run, &correct, found);
        }
    }
    for (run, correct) in spelling::corrected(text) {
        find_in_copy(&run, &correct, found);
    }
}

/// Finds injections in ciphers. Reports each also as an encoded payload.
fn find_in_ciphers(text: &str, found: &mut Vec<Finding>) {
    for (run, decoded) in ciphers::decoded(text) {
        let first = found.len();
        find_in_copy(&run, &decoded, found);
        if let Some(severity) = found[first..].iter().map(|finding| finding.severity).max() {
            found.push(Finding::new(Category::Encoded, "encoded-payload", severity, run));
        }
    }
}

/// Finds injections in `plain`, another form of the text at `run`, by rules that found nothing in the text itself. A
/// slight resemblance does not count, because the form is a guess and each guess is one more chance of a mistake.
fn find_in_copy(run: &Range<usize>, plain: &str, found: &mut Vec<Finding>) {
    let mut inner = Vec::new();
    find_at_depth(plain, Author::Stranger, DEPTH_MAX - 1, &mut inner);
    for finding in inner {
        let is_known = |known: &Finding| known.rule == finding.rule && known.severity >= finding.severity;
        let is_slight = finding.category == Category::Resemblance && finding.severity < Severity::High;
        if !is_slight && !found.iter().any(is_known) {
            let span = run.clone();
            found.push(Finding { span, ..finding });
        }
    }
}

/// Finds injections in runs of base64 and hexadecimal digits. Reports each run with a finding also as an encoded
/// payload.
fn find_in_runs(text: &str, author: Author, depth: usize, found: &mut Vec<Finding>) {
    for (run, decoded) in encoding::payloads(text) {
        let first = found.len();
        find_at_depth(&decoded, author, depth + 1, found);
        if let Some(severity) = found[first..].iter().map(|finding| finding.severity).max() {
            let payload = Finding::new(Category::Encoded, "encoded-payload", severity, run.clone());
            found.push(payload);
        }
        for finding in &mut found[first..] {
            finding.span = run.clone();
        }
    }
}

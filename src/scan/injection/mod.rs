//! Finds text that wants to be obeyed instead of read: orders to models, forged turns, commands that fetch and run.
//!
//! Rules look at two copies of the text, [`views`], and at what base64, hexadecimal and escapes in it decode to, one
//! layer inside another at the most. What they find is advice: a plausible statement passes any such rule, and where a
//! text came from decides what it may do.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-5: memory beside the findings is bounded by a few pieces, whatever the length of the text.

mod broad;
mod marks;
mod respell;
#[cfg(test)]
mod tests;
mod views;
mod vocabulary;
mod words;

use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;

use super::encoding;
use super::finding::{Category, Severity};
use super::rules::{Rule, RuleSet};
use super::secrets::boundaries;

/// Bytes of text that are copied at a time.
const PIECE: usize = 64 << 10;
/// Bytes that neighbouring pieces share: longer than the longest match, so that none is cut.
const OVERLAP: usize = 4 << 10;
/// Matches of one rule in one piece after which the rule is asked no more: the verdict cannot change.
const PER_RULE_MAX: usize = 4;
/// Escapes below which a text is not decoded: a single `%20` hides nothing.
const ESCAPES_MIN: usize = 3;
/// Layers of decoding.
const DEPTH_MAX: usize = 3;

/// Something that a rule saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct Sighting {
    pub(in crate::scan) category: Category,
    pub(in crate::scan) rule: &'static str,
    pub(in crate::scan) severity: Severity,
    pub(in crate::scan) span: Range<usize>,
    pub(in crate::scan) is_decoded: bool,
}

static MARKS: LazyLock<RuleSet> =
    LazyLock::new(|| RuleSet::new(rules(marks::ROWS).collect(), false, vocabulary::over_marks));

static WORDS: LazyLock<RuleSet> = LazyLock::new(|| {
    let near = other_languages().filter(|rule| rule.keywords.is_ascii());
    RuleSet::new(
        rules(words::ROWS).chain(rules(broad::ROWS)).chain(near).collect(),
        false,
        vocabulary::over_words,
    )
});

/// The rules of languages beyond ASCII, for texts that go beyond it.
static FAR_WORDS: LazyLock<RuleSet> = LazyLock::new(|| {
    let far = other_languages().filter(|rule| !rule.keywords.is_ascii());
    RuleSet::new(far.collect(), false, vocabulary::over_words)
});

fn other_languages() -> impl Iterator<Item = Rule> {
    let lines = include_str!("languages.in")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines.map(other_language)
}

fn rules(rows: &'static [words::Row]) -> impl Iterator<Item = Rule> {
    rows.iter()
        .map(|&(name, category, severity, keywords, pattern)| Rule {
            name,
            category,
            severity,
            keywords,
            pattern,
        })
}

/// Reads a line of `languages.in`. Letters are decomposed as they are in the copies of texts.
fn other_language(line: &'static str) -> Rule {
    let fields: [&str; 5] = line
        .splitn(5, " | ")
        .collect::<Vec<_>>()
        .try_into()
        .expect("a line of the table has five fields");
    let [name, category, severity, keywords, pattern] = fields;
    let decomposed = |text: &str| -> &'static str {
        let text: String = text.nfkd().collect();
        Box::leak(text.into_boxed_str())
    };
    Rule {
        name,
        category: Category::from_name(category).expect("the table names categories"),
        severity: Severity::ALL
            .into_iter()
            .find(|known| known.name() == severity)
            .expect("the table names severities"),
        keywords: decomposed(keywords),
        pattern: decomposed(pattern),
    }
}

/// The copies of a piece, kept from piece to piece.
#[derive(Default)]
struct Buffers {
    marks: Vec<u8>,
    words: Vec<u8>,
}

/// Returns what the rules see in `text`.
pub(in crate::scan) fn find(text: &str) -> Vec<Sighting> {
    let mut found = Vec::new();
    find_at_depth(text, 0, &mut found);
    found
}

fn find_at_depth(text: &str, depth: usize, found: &mut Vec<Sighting>) {
    let mut buffers = Buffers::default();
    for piece in pieces(text) {
        let part = &text[piece.clone()];
        let mut here = Vec::new();
        let has_escapes = find_plain(part, &mut buffers, &mut here);
        if depth < DEPTH_MAX {
            if has_escapes {
                find_unescaped(part, depth, &mut here);
            }
            find_in_runs(part, depth, &mut here);
        }
        if depth == 0 {
            find_respelled(part, &mut here);
        }
        found.extend(here.into_iter().map(|mut sighting| {
            sighting.span = sighting.span.start + piece.start..sighting.span.end + piece.start;
            sighting
        }));
    }
}

/// Returns overlapping pieces of the text, cut at white space where there is some.
fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let mut is_done = false;
    std::iter::from_fn(move || {
        if is_done {
            return None;
        }
        let mut end = text.len();
        if end - start > PIECE {
            end = text.floor_char_boundary(start + PIECE);
            let tail = &text.as_bytes()[end - 256..end];
            if let Some(space) = tail.iter().rposition(u8::is_ascii_whitespace) {
                end = end - 256 + space;
            }
        }
        let piece = start..end;
        is_done = end == text.len();
        start = text.floor_char_boundary(end.saturating_sub(OVERLAP));
        Some(piece)
    })
}

/// Runs both sets of rules; returns whether the text may have escapes in it.
fn find_plain(text: &str, buffers: &mut Buffers, found: &mut Vec<Sighting>) -> bool {
    let has_escapes = views::marks(text, &mut buffers.marks);
    let in_marks = matches(&MARKS, &buffers.marks);
    views::words(&buffers.marks, &mut buffers.words);
    let in_words = matches(&WORDS, &buffers.words);
    let in_far_words = if buffers.words.is_ascii() {
        Vec::new()
    } else {
        matches(&FAR_WORDS, &buffers.words)
    };
    let mut locate =
        |rules: &RuleSet, hits: Vec<(usize, Range<usize>)>, sources: &dyn Fn(&[usize]) -> Vec<usize>| {
            if hits.is_empty() {
                return;
            }
            let mut wanted: Vec<usize> = hits
                .iter()
                .flat_map(|(_, span)| [span.start, span.end - 1])
                .collect();
            wanted.sort_unstable();
            wanted.dedup();
            let places = sources(&wanted);
            let place = |at: usize| places[wanted.binary_search(&at).expect("every end was asked for")];
            for (rule, span) in hits {
                let rule = rules.rule(rule);
                found.push(Sighting {
                    category: rule.category,
                    rule: rule.name,
                    severity: rule.severity,
                    span: boundaries(text, place(span.start)..(place(span.end - 1) + 1).min(text.len())),
                    is_decoded: false,
                });
            }
        };
    locate(&MARKS, in_marks, &|wanted| views::marks_sources(text, wanted));
    // From words to marks to text; positions stay in order on the way.
    let from_words =
        |wanted: &[usize]| views::marks_sources(text, &views::words_sources(&buffers.marks, wanted));
    locate(&WORDS, in_words, &from_words);
    locate(&FAR_WORDS, in_far_words, &from_words);
    has_escapes
}

fn matches(rules: &RuleSet, view: &[u8]) -> Vec<(usize, Range<usize>)> {
    let mut hits: Vec<(usize, Range<usize>)> = Vec::new();
    rules.run(view, |matched| {
        if !matched.span.is_empty() {
            hits.push((matched.rule, matched.span));
        }
        hits.iter().filter(|(rule, _)| *rule == matched.rule).count() < PER_RULE_MAX
    });
    hits
}

/// Looks at what the escapes of a text stand for.
fn find_unescaped(text: &str, depth: usize, found: &mut Vec<Sighting>) {
    let Some(unescaped) = encoding::unescape(text, ESCAPES_MIN) else {
        return;
    };
    for part in unescaped.dense(ESCAPES_MIN) {
        let mut inner = Vec::new();
        find_at_depth(&unescaped.text[part.clone()], depth + 1, &mut inner);
        for sighting in inner {
            let start = unescaped.source(part.start + sighting.span.start);
            let end = unescaped.source(part.start + sighting.span.end).max(start);
            let span = boundaries(text, start..end.min(text.len()));
            let is_known = found.iter().any(|known| {
                known.rule == sighting.rule && known.span.start < span.end && span.start < known.span.end
            });
            if !is_known {
                found.push(Sighting {
                    span,
                    is_decoded: true,
                    ..sighting
                });
            }
        }
    }
}

/// Looks at spelled-out, quoted and otherwise disguised text, put right. What is found there is not put right again.
fn find_respelled(text: &str, found: &mut Vec<Sighting>) {
    for (run, plain) in respell::plain(text) {
        let mut inner = Vec::new();
        find_at_depth(&plain, DEPTH_MAX - 1, &mut inner);
        for sighting in inner {
            if !found.iter().any(|known| known.rule == sighting.rule) {
                found.push(Sighting {
                    span: run.clone(),
                    is_decoded: true,
                    ..sighting
                });
            }
        }
    }
}

/// Looks at what runs of base64 and hexadecimal decode to. A grave finding there is one of hidden payload as well.
fn find_in_runs(text: &str, depth: usize, found: &mut Vec<Sighting>) {
    for run in encoding::runs(text.as_bytes()) {
        let Some(decoded) = encoding::printable(&text.as_bytes()[run.clone()]) else {
            continue;
        };
        let mut inner = Vec::new();
        find_at_depth(&decoded, depth + 1, &mut inner);
        let worst = inner.iter().map(|sighting| sighting.severity).max();
        found.extend(inner.into_iter().map(|sighting| Sighting {
            span: run.clone(),
            is_decoded: true,
            ..sighting
        }));
        if let Some(severity) = worst {
            found.push(Sighting {
                category: Category::Encoded,
                rule: "encoded-payload",
                severity,
                span: run.clone(),
                is_decoded: true,
            });
        }
    }
}

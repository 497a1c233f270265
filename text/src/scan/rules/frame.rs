//! Frames: orders that every language can express, as combinations of concepts in one sentence.
//!
//! The other files in `frames` list the words of each language for a few concepts, such as "drop",
//! "your" and "rules". A frame names concepts. It matches a sentence that has a word of each concept, in one language
//! and close together, in any order. So a new language needs words only, and a new frame works in every language.
//!
//! | key of a frame | meaning |
//! |---|---|
//! | `id`, `category`, `severity` | as in other rules |
//! | `parts` | groups of concepts; the sentence has a word of at least one concept of each group |
//! | `free` | whether the word of the first part may stand after the others; it always may in a language with `verb_last` |
//! | `unless` | a concept whose words, directly before or after the word of the first part, prevent the match |
//! | `matches`, `passes` | the examples, at least one of each |
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-6: the time is linear in the text: each word of a concept is compared with the newest word of each other concept.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::automaton::OverlappingState;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, StartKind};
use serde::Deserialize;

use super::super::finding::{Category, Severity};
use super::super::unicode;
use super::read_file;

/// The length in bytes of the longest match in a text in ASCII, and in another text, whose letters have more bytes.
const LONGEST: (usize, usize) = (100, 240);
/// The maximal distance in bytes of a negation from the word that it negates.
const NEGATION: usize = 14;
/// The index of the words that all languages share.
const SHARED: usize = 0;
/// The maximal number of concepts.
const CONCEPTS_MAX: usize = 48;
/// The maximal number of parts of a frame.
const PARTS_MAX: usize = 6;

/// A frame. The documentation of the module describes the fields.
pub(in crate::scan) struct Frame {
    pub(in crate::scan) id: &'static str,
    pub(in crate::scan) category: Category,
    pub(in crate::scan) severity: Severity,
    parts: Vec<Vec<usize>>,
    /// For each part, the bits of its concepts.
    masks: Vec<u64>,
    free: bool,
    unless: Option<usize>,
}

/// A frame in its file.
#[derive(Deserialize)]
struct Row {
    id: &'static str,
    category: Category,
    severity: Severity,
    parts: Vec<String>,
    #[serde(default)]
    free: bool,
    unless: Option<String>,
}

/// The words of a language.
#[derive(Deserialize)]
struct Language {
    /// Whether a word also counts inside of another word.
    #[serde(default)]
    inside: bool,
    /// Whether a verb stands at the end of its sentence.
    #[serde(default)]
    verb_last: bool,
    #[serde(flatten)]
    concepts: BTreeMap<String, String>,
}

/// The meaning of a word.
#[derive(Clone, Copy)]
struct Owner {
    language: usize,
    concept: usize,
    /// Whether the word counts inside of another word.
    inside: bool,
    /// Whether the end of the word is the end of a word of the text.
    is_whole: bool,
}

/// All frames, with the words of all languages.
pub(in crate::scan) struct Frames {
    frames: Vec<Frame>,
    words: AhoCorasick,
    owners: Vec<Vec<Owner>>,
    /// For each language, whether its verbs stand at the end of a sentence.
    languages: Vec<bool>,
    /// For each concept, the frames that have it.
    users: Vec<Vec<usize>>,
}

/// The newest word of each concept in a sentence.
#[derive(Clone)]
struct Newest {
    verb_last: bool,
    /// A bit for each concept that has a word in the sentence.
    seen: u64,
    /// The range of the word of each concept.
    ranges: [(usize, usize); CONCEPTS_MAX],
}

impl Newest {
    fn get(&self, concept: usize) -> Option<(usize, usize)> {
        (self.seen >> concept & 1 == 1).then(|| self.ranges[concept])
    }
}

impl Frames {
    /// Reads the frames from a file of frames, and the words from a file of words.
    pub(super) fn new(frames: &'static str, words: &'static str) -> Self {
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut stems: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
        let file: BTreeMap<String, Language> =
            toml::from_str(words).expect("a test parses the files of words");
        let mut languages = vec![false; file.len() + 1];
        for (index, (name, language)) in file.into_iter().enumerate() {
            let index = if name == "any" { SHARED } else { index + 1 };
            languages[index] = language.verb_last;
            for (concept, words) in &language.concepts {
                let count = names.len();
                let owner = Owner {
                    language: index,
                    concept: *names.entry(concept.clone()).or_insert(count),
                    inside: language.inside,
                    is_whole: false,
                };
                for word in words.split_ascii_whitespace() {
                    let (stem, is_whole) = word.strip_suffix('^').map_or((word, false), |stem| (stem, true));
                    let stem = unicode::spell(&stem.replace('_', " "));
                    stems.entry(stem).or_default().push(Owner { is_whole, ..owner });
                }
            }
        }
        let frames: Vec<Frame> = read_file(frames)
            .into_iter()
            .map(|row| Frame::new(&row, &names))
            .collect();
        let uses = |concept| {
            let uses = frames
                .iter()
                .enumerate()
                .filter(move |(_, frame)| frame.has(concept));
            uses.map(|(index, _)| index).collect()
        };
        let users = (0..names.len()).map(uses).collect();
        let (stems, owners): (Vec<String>, Vec<_>) = stems.into_iter().unzip();
        let words = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .start_kind(StartKind::Anchored)
            .build(&stems)
            .expect("the words of all languages fit an automaton");
        Self {
            frames,
            words,
            owners,
            languages,
            users,
        }
    }

    /// Calls `found` for each match in a copy of words.
    pub(in crate::scan) fn run(&self, text: &[u8], mut found: impl FnMut(&Frame, Range<usize>)) {
        let newest = |verb_last: &bool| Newest {
            verb_last: *verb_last,
            seen: 0,
            ranges: [(0, 0); CONCEPTS_MAX],
        };
        let mut newest: Vec<Newest> = self.languages.iter().map(newest).collect();
        let mut is_inside = false;
        for (at, byte) in text.iter().enumerate() {
            let is_start = !is_inside && is_letter(*byte);
            is_inside = is_letter(*byte);
            if *byte == b'.' {
                // The end of a sentence ends every match.
                for newest in &mut newest {
                    newest.seen = 0;
                }
            } else if is_start || is_first_of_char(*byte) {
                let input = Input::new(text).range(at..).anchored(Anchored::Yes);
                let mut state = OverlappingState::start();
                loop {
                    self.words.find_overlapping(input.clone(), &mut state);
                    let Some(hit) = state.get_match() else { break };
                    for owner in &self.owners[hit.pattern().as_usize()] {
                        if owner.counts(text, hit.range(), is_start) {
                            self.step(*owner, hit.range(), text, &mut newest, &mut found);
                        }
                    }
                }
            }
        }
    }

    /// Records a word of a sentence, and calls `found` for each match that the word completes.
    fn step(
        &self,
        owner: Owner,
        word: Range<usize>,
        text: &[u8],
        newest: &mut [Newest],
        found: &mut impl FnMut(&Frame, Range<usize>),
    ) {
        // All languages get a word that they share.
        let languages = if owner.language == SHARED {
            0..newest.len()
        } else {
            owner.language..owner.language + 1
        };
        for newest in &mut newest[languages] {
            newest.seen |= 1 << owner.concept;
            newest.ranges[owner.concept] = (word.start, word.end);
            for frame in self.users[owner.concept].iter().map(|index| &self.frames[*index]) {
                if let Some(span) = frame.span(newest, text) {
                    found(frame, span);
                }
            }
        }
    }
}

impl Owner {
    /// Returns whether `range`, which is the start of a word or inside of one, is a word of the language.
    fn counts(self, text: &[u8], range: Range<usize>, is_start: bool) -> bool {
        let is_end = || text.get(range.end).is_none_or(|byte| !is_letter(*byte));
        self.inside || is_start && (!self.is_whole || is_end())
    }
}

/// Returns whether `byte` is the first byte of a character beyond ASCII.
const fn is_first_of_char(byte: u8) -> bool {
    byte >= 0xC0
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

impl Frame {
    fn new(row: &Row, names: &BTreeMap<String, usize>) -> Self {
        let index = |name: &str| {
            *names
                .get(name)
                .unwrap_or_else(|| panic!("{} has no concept {name}", row.id))
        };
        let parts: Vec<Vec<usize>> = row
            .parts
            .iter()
            .map(|part| part.split(' ').map(index).collect())
            .collect();
        Self {
            id: row.id,
            category: row.category,
            severity: row.severity,
            masks: parts
                .iter()
                .map(|part| part.iter().map(|concept| 1 << concept).sum())
                .collect(),
            parts,
            free: row.free,
            unless: row.unless.as_deref().map(index),
        }
    }

    fn has(&self, concept: usize) -> bool {
        self.parts.iter().any(|part| part.contains(&concept))
    }

    /// Returns the span from the first to the last word, if the newest words of a language are a match.
    fn span(&self, newest: &Newest, text: &[u8]) -> Option<Range<usize>> {
        if self.masks.iter().any(|mask| mask & newest.seen == 0) {
            return None;
        }
        let (mut first, mut last) = (usize::MAX, 0);
        let mut starts = [usize::MAX; PARTS_MAX];
        for (index, part) in self.parts.iter().enumerate() {
            let words = part.iter().filter_map(|concept| newest.get(*concept));
            // A word stands for one part only.
            let (start, end) = words.filter(|(start, _)| !starts.contains(start)).max()?;
            starts[index] = start;
            first = first.min(start);
            last = last.max(end);
        }
        let span = first..last;
        let longest = if text[span.clone()].is_ascii() {
            LONGEST.0
        } else {
            LONGEST.1
        };
        let negation = self.unless.and_then(|concept| newest.get(concept));
        let is_negated = negation.is_some_and(|(start, _)| start.abs_diff(starts[0]) <= NEGATION);
        let is_in_order = self.free || newest.verb_last || starts[0] == span.start;
        (span.len() <= longest && is_in_order && !is_negated).then_some(span)
    }
}

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

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use foldhash::fast::FixedState;
use serde::Deserialize;

use super::super::finding::{Category, Severity};
use super::super::literals::{Literals, Owners};
use super::super::unicode;
use super::{read_file, reader};

/// The length in bytes of the longest match in a text in ASCII, and in another text, whose letters have more bytes.
const LONGEST: (usize, usize) = (100, 240);
/// The maximal distance in bytes of a negation from the word that it negates.
const NEGATION: usize = 14;
/// The index of the words that all languages share.
const SHARED: usize = 0;
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

/// The words of a language, in a section of their file: the concepts, sorted, each with its words.
#[derive(Default)]
struct Language {
    name: &'static str,
    /// Whether a word also counts inside of another word.
    inside: bool,
    /// Whether a verb stands at the end of its sentence.
    verb_last: bool,
    concepts: Vec<(&'static str, &'static str)>,
}

impl Language {
    /// Returns the languages of a file, sorted by name.
    fn all(file: &'static str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in file.lines() {
            if let Some(name) = line.strip_prefix('[') {
                let name = name.trim_end_matches(']');
                all.push(Self {
                    name,
                    ..Self::default()
                });
            } else if let (Some(pair), Some(language)) = (reader::pair(line), all.last_mut()) {
                match pair {
                    ("inside", value) => language.inside = value == "true",
                    ("verb_last", value) => language.verb_last = value == "true",
                    pair => language.concepts.push(pair),
                }
            }
        }
        for language in &mut all {
            language.concepts.sort_unstable();
        }
        all.sort_unstable_by_key(|language| language.name);
        all
    }
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
    /// Where the word begins in its literal. A word also counts at the end of the beginning of another one, as `prompt` in
    /// `systemprompt`.
    offset: usize,
}

/// All frames, with the words of all languages.
pub(in crate::scan) struct Frames {
    frames: Vec<Frame>,
    words: Literals,
    /// For each word, its meanings.
    owners: Owners<Owner>,
    /// For each language, whether its verbs stand at the end of a sentence.
    languages: Vec<bool>,
    /// For each concept, the frames that have it.
    users: Vec<Vec<usize>>,
    /// The minimal number of concepts of a match.
    parts_min: u32,
}

/// The newest word of each concept in a sentence.
#[derive(Clone, Default)]
struct Newest {
    verb_last: bool,
    /// A bit for each concept that has a word in the sentence.
    seen: u64,
    /// The concepts that have a word, each with its range.
    words: Vec<(usize, (usize, usize))>,
}

impl Newest {
    fn get(&self, concept: usize) -> Option<(usize, usize)> {
        let mut words = self.words.iter().filter(|word| word.0 == concept);
        (self.seen >> concept & 1 == 1)
            .then(|| words.next())?
            .map(|word| word.1)
    }

    fn set(&mut self, concept: usize, range: (usize, usize)) {
        if self.seen >> concept & 1 == 0 {
            self.seen |= 1 << concept;
            self.words.push((concept, range));
        } else if let Some(word) = self.words.iter_mut().find(|word| word.0 == concept) {
            word.1 = range;
        }
    }

    fn clear(&mut self) {
        self.seen = 0;
        self.words.clear();
    }
}

impl Frames {
    /// Reads the frames from a file of frames, and the words from a file of words.
    pub(super) fn new(frames: &'static str, words: &'static str) -> Self {
        let all = Language::all(words);
        let mut names: HashMap<&str, usize> = HashMap::new();
        let mut stems = Literals::with_capacity(words.len() / 10);
        let mut owners: Vec<(usize, Owner)> = Vec::new();
        let mut spelling: Vec<String> = Vec::new();
        let mut languages = vec![false; all.len() + 1];
        for (index, language) in all.into_iter().enumerate() {
            let index = if language.name == "any" { SHARED } else { index + 1 };
            languages[index] = language.verb_last;
            for (concept, words) in language.concepts {
                let count = names.len();
                let owner = Owner {
                    language: index,
                    concept: *names.entry(concept).or_insert(count),
                    inside: language.inside,
                    is_whole: false,
                    offset: 0,
                };
                for word in words.split_ascii_whitespace() {
                    let (stem, is_whole) = word.strip_suffix('^').map_or((word, false), |stem| (stem, true));
                    let stem = spelled(stem);
                    let number = stems.add(stem.as_bytes());
                    if number == spelling.len() {
                        spelling.push(stem);
                    }
                    owners.push((number, Owner { is_whole, ..owner }));
                }
            }
        }
        add_inner_words(&mut stems, &spelling, &mut owners);
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
        let parts_min = frames.iter().map(|frame| frame.parts.len()).min().unwrap_or(0);
        Self {
            parts_min: parts_min as u32,
            frames,
            owners: Owners::new(stems.len(), &owners),
            words: stems,
            languages,
            users,
        }
    }

    /// Calls `found` for each match in a copy of words.
    pub(in crate::scan) fn run(&self, text: &[u8], mut found: impl FnMut(&Frame, Range<usize>)) {
        let of_language = |verb_last: &bool| Newest {
            verb_last: *verb_last,
            ..Newest::default()
        };
        // Empty until the text has a word of a concept.
        let mut newest: Vec<Newest> = Vec::new();
        let mut hits: Vec<(usize, usize)> = Vec::new();
        let mut is_inside = false;
        let mut is_empty = true;
        for (at, byte) in text.iter().enumerate() {
            let is_start = !is_inside && is_letter(*byte);
            is_inside = is_letter(*byte);
            if *byte == b'.' {
                // The end of a sentence ends every match.
                if !is_empty {
                    newest.iter_mut().for_each(Newest::clear);
                    is_empty = true;
                }
            } else if is_start || is_first_of_char(*byte) {
                hits.clear();
                self.words
                    .each_at(text, at, |word, length| hits.push((length, word)));
                hits.sort_unstable();
                for (length, word) in hits.iter().copied() {
                    for owner in self.owners.of(word) {
                        let word = at + owner.offset..at + length;
                        if owner.counts(text, word.clone(), is_start) {
                            is_empty = false;
                            if newest.is_empty() {
                                newest.extend(self.languages.iter().map(of_language));
                            }
                            self.step(*owner, word, text, &mut newest, &mut found);
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
            newest.set(owner.concept, (word.start, word.end));
            // Each part of a frame needs a word of its own, and a concept has one word.
            if newest.seen.count_ones() < self.parts_min {
                continue;
            }
            for frame in self.users[owner.concept].iter().map(|index| &self.frames[*index]) {
                if let Some(span) = frame.span(newest, text) {
                    found(frame, span);
                }
            }
        }
    }
}

/// Adds a literal for each beginning of a word that ends with another word, with the meanings of that word.
fn add_inner_words(stems: &mut Literals, spelling: &[String], owners: &mut Vec<(usize, Owner)>) {
    let of_words = Owners::new(spelling.len(), owners);
    let mut known: HashSet<(usize, usize), FixedState> = HashSet::default();
    let longest = spelling.iter().map(String::len).max().unwrap_or(0);
    let mut here: Vec<(usize, usize)> = Vec::new();
    for offset in 1..longest {
        for outer in spelling.iter().filter(|outer| outer.len() > offset) {
            stems.each_at(outer.as_bytes(), offset, |word, length| {
                here.push((offset + length, word));
            });
            for (end, word) in here.drain(..).filter(|(_, word)| *word < spelling.len()) {
                let beginning = stems.add(&outer.as_bytes()[..end]);
                if known.insert((beginning, offset)) {
                    let meanings = of_words.of(word).iter().copied();
                    owners.extend(meanings.map(|owner| (beginning, Owner { offset, ..owner })));
                }
            }
        }
    }
}

/// Returns a word as the copies of a text spell it.
fn spelled(word: &str) -> String {
    let word = word.replace('_', " ");
    if word.is_ascii() {
        word
    } else {
        unicode::spell(&word)
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
    fn new(row: &Row, names: &HashMap<&str, usize>) -> Self {
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

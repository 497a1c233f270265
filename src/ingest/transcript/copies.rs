//! Finds the copies of messages. A program writes a message again when it resumes, forks or compacts a session.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::collections::{HashMap, HashSet};

use super::super::document::{Document, Section, SectionKind};
use super::Mark;
use crate::object::Value;

/// The speaker and the text of a message.
type Words = (String, String);

/// The entries of a file, each once (TRL-2).
#[derive(Default)]
pub(in crate::ingest) struct Copies {
    sections: Vec<Section>,
    /// The place of each message with a name of its own.
    unique: HashMap<String, usize>,
    shared: HashSet<(String, Words)>,
    /// The words of all messages, to find the notes that repeat them.
    words: HashSet<Words>,
    echoes: Vec<(usize, Section)>,
    pub(in crate::ingest) count: u64,
}

impl Copies {
    /// Adds an entry, unless it is a copy. A newer form of a message takes the place of the older one.
    pub(in crate::ingest) fn add(&mut self, section: Section, mark: Mark) {
        let words = words_of(&section);
        let is_copy = match mark {
            Mark::Unique(name) => match self.unique.get(&name) {
                Some(place) => {
                    let older = &mut self.sections[*place];
                    let is_longer =
                        section.content.as_ref().map(String::len) > older.content.as_ref().map(String::len);
                    if is_longer {
                        *older = section.clone();
                    }
                    true
                }
                None => self.unique.insert(name, self.sections.len()).is_some(),
            },
            Mark::Shared(name) => !self.shared.insert((name, words.clone())),
            Mark::None => false,
        };
        self.words.insert(words);
        if is_copy {
            self.count += 1;
        } else {
            self.sections.push(section);
        }
    }

    /// Adds a note that may repeat a message.
    pub(in crate::ingest) fn add_echo(&mut self, section: Section) {
        self.echoes.push((self.sections.len(), section));
    }

    pub(in crate::ingest) fn is_empty(&self) -> bool {
        self.sections.is_empty() && self.echoes.is_empty()
    }

    /// Returns the entries in order. A note stays only if the file lacks its message.
    pub(in crate::ingest) fn finish(mut self) -> (Vec<Section>, u64) {
        let mut all = Vec::with_capacity(self.sections.len());
        let mut echoes = self.echoes.into_iter().peekable();
        let sections = self.sections.into_iter().map(Some).chain([None]);
        for (place, section) in sections.enumerate() {
            while let Some((_, echo)) = echoes.next_if(|(at, _)| *at == place) {
                if self.words.insert(words_of(&echo)) {
                    all.push(echo);
                } else {
                    self.count += 1;
                }
            }
            all.extend(section);
        }
        (all, self.count)
    }
}

/// Removes the entries of transcripts that an earlier document has too. A program copies the messages of a session into
/// the file of another one when it resumes or forks the session (TRL-2).
pub fn drop_copies(documents: &mut [Document]) {
    let mut seen = HashSet::new();
    for document in documents {
        // Entries below a heading belong to a conversation, whose places must stay.
        if document.sections.iter().any(|section| section.parent.is_some()) {
            continue;
        }
        let before = document.sections.len();
        document.sections.retain(|section| {
            let name = section.attributes.get("uuid").and_then(Value::as_text);
            let Some(name) = name.filter(|_| section.kind == SectionKind::Entry) else {
                return true;
            };
            seen.insert((name.to_owned(), words_of(section)))
        });
        document.skipped.copies += (before - document.sections.len()) as u64;
    }
}

fn words_of(section: &Section) -> Words {
    let named = |name: &str| section.attributes.get(name).and_then(Value::as_text);
    let speaker = named("speaker").or_else(|| named("role")).unwrap_or_default();
    let text = section.content.as_deref().unwrap_or_default();
    (speaker.to_owned(), text.trim().to_owned())
}

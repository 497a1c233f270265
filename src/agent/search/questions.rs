//! The vectors of the last questions, for the process that asks one of them again: it reads no weights.
//!
//! A question may quote an erased text. So the file is one of the derived files, which an erasure removes.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - QSV-1: a vector is found only by the digest of the question that it was computed from.
//! - QSV-2: after an erasure, no question that was asked before it is written.

use std::collections::{HashMap, VecDeque};

use super::vectors::{short_digest, text_key};
use crate::digest::{HashAlgorithm, HashSuite};
use crate::engine::{self, Layout, Memory, State};
use crate::error::Result;
use treering_text::recall::{TextKey, rounded};

/// The number of questions whose vectors are remembered.
const QUESTIONS: usize = 4_096;
/// The version of the layout.
const VERSION: u8 = 1;
/// The length of two digests, in bytes.
const KEYS: usize = 32;

/// The vectors of the last questions of one model.
pub(super) struct Questions {
    model: String,
    file: String,
    /// The digest of each whole question and of the part that was embedded, oldest first.
    order: VecDeque<(TextKey, TextKey)>,
    /// The vector of each part that was embedded, with a byte for each dimension.
    vectors: HashMap<TextKey, Vec<i8>>,
    has_news: bool,
}

/// Returns the digest of a question. It is the same in every store, so that the program can compute it before it opens
/// the store.
fn key(question: &str) -> TextKey {
    text_key(HashSuite::new(HashAlgorithm::Blake3), question)
}

fn floats(vector: &[i8]) -> Vec<f32> {
    vector.iter().map(|&part| f32::from(part)).collect()
}

impl Questions {
    /// The start of the names of the files.
    pub(super) const START: &str = "questions-";

    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            file: format!("{}{}", Self::START, short_digest(model)),
            order: VecDeque::new(),
            vectors: HashMap::new(),
            has_news: false,
        }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Reads what earlier processes stored. A damaged file has no questions.
    pub(super) fn load(&mut self, memory: &Memory) {
        if let Ok(Some(bytes)) = memory.derived(&self.file) {
            self.take_in(&bytes);
        }
    }

    /// Returns the vector of a question (QSV-1).
    pub(super) fn get(&self, question: &str) -> Option<Vec<f32>> {
        self.vectors.get(&key(question)).map(|vector| floats(vector))
    }

    /// Returns whether the vector of a question is known that was asked in these words.
    pub(super) fn was_asked(&self, asked: &str) -> bool {
        let asked = key(asked);
        self.order.iter().any(|(whole, _)| *whole == asked)
    }

    /// Adds the vector of a question that was `asked`, and returns it as the file has it. Returns `None` if it has no
    /// direction.
    pub(super) fn insert(&mut self, asked: &str, question: &str, vector: &[f32]) -> Option<Vec<f32>> {
        let vector = rounded(vector)?;
        let floats = floats(&vector);
        self.add((key(asked), key(question)), vector);
        self.has_news = true;
        Some(floats)
    }

    fn add(&mut self, keys: (TextKey, TextKey), vector: Vec<i8>) {
        if self.vectors.insert(keys.1, vector).is_some() {
            return;
        }
        self.order.push_back(keys);
        if self.order.len() > QUESTIONS
            && let Some((_, oldest)) = self.order.pop_front()
        {
            self.vectors.remove(&oldest);
        }
    }

    /// Drops all questions.
    pub(super) fn forget(&mut self) {
        *self = Self::new(&self.model);
    }

    /// Writes the questions, if there are new ones, beside those that other processes wrote. The oldest of them was asked
    /// of the state `since` or a later one. Returns whether the file was written.
    ///
    /// # Errors
    /// `Io` if the file cannot be written, with the code `read_only` for a read-only handle.
    pub(super) fn keep(&mut self, memory: &Memory, since: &State) -> Result<bool> {
        if !self.has_news {
            return Ok(false);
        }
        let mut all = Self::new(&self.model);
        all.load(memory);
        for keys in &self.order {
            if let Some(vector) = self.vectors.get(&keys.1) {
                all.add(*keys, vector.clone());
            }
        }
        if engine::keep_as(memory, &self.file, &all.to_bytes(), Layout::Whole, since)? {
            *self = all;
            return Ok(true);
        }
        // QSV-2: something was erased since, or another process is at work.
        self.forget();
        Ok(false)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&(self.model.len() as u32).to_le_bytes());
        bytes.extend_from_slice(self.model.as_bytes());
        for (whole, part) in &self.order {
            let Some(vector) = self.vectors.get(part) else {
                continue;
            };
            bytes.extend_from_slice(whole);
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(&(vector.len() as u32).to_le_bytes());
            bytes.extend(vector.iter().map(|part| part.cast_unsigned()));
        }
        bytes
    }

    /// Adds the questions that [`Self::to_bytes`] wrote. Ends at what it cannot read.
    fn take_in(&mut self, bytes: &[u8]) -> Option<()> {
        let (version, mut rest) = bytes.split_first()?;
        let model = take(&mut rest)?;
        if *version != VERSION || model != self.model.as_bytes() {
            return None;
        }
        while let Some((keys, mut more)) = rest.split_first_chunk::<KEYS>() {
            let vector = take(&mut more)?;
            let (whole, part) = (*keys.first_chunk()?, *keys.last_chunk()?);
            self.add(
                (whole, part),
                vector.iter().map(|byte| byte.cast_signed()).collect(),
            );
            rest = more;
        }
        Some(())
    }
}

/// Takes bytes with their length before them from the start of `rest`.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, more) = rest.split_first_chunk()?;
    let (taken, more) = more.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = more;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_questions_are_read_as_they_were_written() {
        let mut questions = Questions::new("m");
        for at in 0..QUESTIONS + 10 {
            let vector = [at as f32 + 1.0, -1.0, 0.5];
            let asked = format!("Ada {at}");
            assert!(questions.insert(&asked, &format!("{at}"), &vector).is_some());
        }
        assert!(questions.insert("x", "x", &[]).is_none());
        let bytes = questions.to_bytes();
        let mut read = Questions::new("m");
        assert_eq!(read.take_in(&bytes), Some(()));
        assert_eq!(read.vectors.len(), QUESTIONS);
        assert!(read.was_asked("Ada 99") && !read.was_asked("Ada 9") && !read.was_asked("99"));
        for at in ["9", "10", "4105", "x"] {
            assert_eq!(read.get(at), questions.get(at), "{at}");
        }
        assert_eq!(read.get("9"), None);
        assert!(read.get("10").is_some());
        // QSV-1: the vectors of another model are refused, and no length makes reading panic.
        assert_eq!(Questions::new("n").take_in(&bytes), None);
        for length in 0..200 {
            let _read = Questions::new("m").take_in(&bytes[..length]);
        }
    }
}

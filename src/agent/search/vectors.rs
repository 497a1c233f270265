//! Stores the vectors that the host's embedder returns, by the digest of the text. A text that has a vector is not
//! embedded again. If several threads need the vector of a new text at the same time, each thread embeds the text. No
//! thread waits for another, because an embedder may call recall in another thread.
//!
//! If an embedder itself calls recall, that recall uses only words.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::indexed::text_of;
use crate::digest::{Domain, HashSuite};
use crate::engine::{self, Memory, State, View};
use crate::error::{Error, Result};
use crate::object::Object;
use crate::threads::Mutex;
use treering_text::recall::{Embedder, Key};

/// The name of the derived file.
const FILE: &str = "vectors";
/// The version of the encoding of the derived file.
const VERSION: u8 = 1;
/// The minimum number of new vectors before the file is written.
const CHANGES_MIN: usize = 500;
/// The file is written only if there are at least as many new vectors as the number of vectors in use divided by this
/// number.
const SHARE: usize = 8;
/// The maximum length of the name of an embedder, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// The content of the file: its version, the name of the embedder, and the vectors by text. The vectors are valid for
/// every state. The components of each vector are scaled so that the largest is 127.
type Rows = (u8, String, HashMap<TextKey, Box<[i8]>>);

/// The key of a text: the first half of its digest.
pub(super) type TextKey = [u8; 16];

/// The vectors of texts outside the index are dropped when their count exceeds the number of texts in the index by more
/// than this constant.
const OTHERS_MAX: usize = 1_000;

thread_local! {
    /// Whether this thread is currently running an embedder.
    static EMBEDDING: Cell<bool> = const { Cell::new(false) };
}

/// Checks whether the caller is an embedder.
pub(super) fn is_embedding() -> bool {
    EMBEDDING.get()
}

/// Resets `EMBEDDING` of the thread when this value is dropped, even after a panic.
struct Unmark;

impl Drop for Unmark {
    fn drop(&mut self) {
        EMBEDDING.set(false);
    }
}

/// The vectors of one embedder.
pub(crate) struct Vectors {
    name: String,
    embedder: Arc<dyn Embedder + Send + Sync>,
    /// The vectors of texts. A vector is empty if the embedder returned no vector for the text.
    known: Mutex<HashMap<TextKey, Box<[i8]>>>,
    /// The number of new vectors since the last save.
    made: AtomicUsize,
    was_loaded: AtomicBool,
}

impl Embedder for Vectors {
    fn embed(&self, text: &str) -> Vec<f32> {
        EMBEDDING.set(true);
        let _unmark = Unmark;
        self.embedder.embed(text)
    }

    fn embed_question(&self, question: &str) -> Vec<f32> {
        EMBEDDING.set(true);
        let _unmark = Unmark;
        self.embedder.embed_question(question)
    }
}

impl Vectors {
    /// Creates an empty store for the vectors of `embedder`, which `name` identifies.
    ///
    /// # Errors
    /// `InvalidInput` if the name is empty or longer than 255 bytes.
    pub(crate) fn new(name: &str, embedder: Arc<dyn Embedder + Send + Sync>) -> Result<Self> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::invalid("the name of an embedder must have 1 to 255 bytes"));
        }
        Ok(Self {
            name: name.to_owned(),
            embedder,
            known: Mutex::default(),
            made: AtomicUsize::new(0),
            was_loaded: AtomicBool::new(false),
        })
    }

    pub(super) fn key(suite: HashSuite, text: &str) -> TextKey {
        let mut key = TextKey::default();
        key.copy_from_slice(&suite.hash_bytes(Domain::Content, text.as_bytes())[..16]);
        key
    }

    /// Returns the vector of a text. Embeds the text if no vector of the text is stored.
    pub(super) fn vector(&self, key: TextKey, text: &str) -> Vec<f32> {
        if let Some(parts) = self.known.lock().get(&key) {
            return parts.iter().map(|&part| f32::from(part)).collect();
        }
        // Hold no lock during the call of the embedder, because embedding takes long.
        let mut vector = self.embed(text);
        let largest = vector.iter().fold(0.0f32, |most, part| most.max(part.abs()));
        if largest <= 0.0 || !largest.is_finite() {
            vector.clear();
        }
        let parts = vector.iter().map(|part| (part / largest * 127.0).round() as i8);
        self.known.lock().insert(key, parts.collect());
        self.made.fetch_add(1, Ordering::Relaxed);
        vector
    }

    /// Embeds the texts of `view` that are not in the state `before` and have no vector. Holds no lock while it embeds.
    pub(super) fn embed_new(&self, memory: &Memory, before: Option<&State>, view: &View) -> Result<()> {
        self.load(memory);
        let embed = |object: &Object| {
            if let Some(text) = text_of(object) {
                drop(self.vector(Self::key(memory.suite(), text), text));
            }
        };
        match before {
            Some(before) => {
                let nodes = before.nodes_with(view.state());
                for change in before.diff(view.state(), &nodes) {
                    if let Some(new) = change?.new {
                        embed(&view.state().load(&new)?);
                    }
                }
                Ok(())
            }
            None => view
                .objects()
                .try_for_each(|object| object.map(|object| embed(&object))),
        }
    }

    /// Drops the vectors of texts that are not `in_use`, if there are too many of them ([`OTHERS_MAX`]).
    pub(super) fn forget_others(&self, in_use: &HashMap<Key, TextKey>) {
        let mut known = self.known.lock();
        if known.len() > 2 * in_use.len() + OTHERS_MAX {
            let in_use: HashSet<&TextKey> = in_use.values().collect();
            known.retain(|text, _| in_use.contains(text));
        }
    }

    /// Saves the vectors of the texts `in_use` to disk if many vectors are new since the last save. Returns whether the
    /// vectors were saved.
    pub(super) fn keep(
        &self,
        memory: &Memory,
        state: &State,
        in_use: &HashMap<Key, TextKey>,
    ) -> Result<bool> {
        let made = self.made.load(Ordering::Relaxed);
        if made < CHANGES_MIN || made.saturating_mul(SHARE) < in_use.len() {
            return Ok(false);
        }
        let bytes = postcard::to_allocvec(&self.rows(in_use.values()))
            .map_err(|error| Error::internal(format!("the vectors cannot be encoded: {error}")))?;
        let kept = engine::keep_derived(memory, FILE, &bytes, state)?;
        if kept {
            self.made.store(0, Ordering::Relaxed);
        }
        Ok(kept)
    }

    /// Returns the content of the file with the vectors of `texts`.
    fn rows<'a>(&self, texts: impl Iterator<Item = &'a TextKey>) -> Rows {
        let known = self.known.lock();
        let row = |text: &TextKey| known.get_key_value(text).filter(|(_, parts)| !parts.is_empty());
        let vectors = texts.filter_map(row).map(|(text, parts)| (*text, parts.clone()));
        (VERSION, self.name.clone(), vectors.collect())
    }

    /// Loads the vectors that an embedder of the same name returned in an earlier process. Only the first call loads
    /// them.
    fn load(&self, memory: &Memory) {
        if self.was_loaded.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Ok(Some(bytes)) = memory.derived(FILE)
            && let Ok(rows) = postcard::from_bytes::<Rows>(&bytes)
        {
            self.add(rows);
        }
    }

    fn add(&self, (version, embedder, vectors): Rows) {
        if version == VERSION && embedder == self.name {
            self.known.lock().extend(vectors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::HashAlgorithm;

    struct Counting(Mutex<usize>);

    impl Embedder for Counting {
        fn embed(&self, text: &str) -> Vec<f32> {
            *self.0.lock() += 1;
            vec![text.len() as f32, -1.0, 2.0]
        }
    }

    fn vectors(name: &str) -> (Vectors, Arc<Counting>) {
        let counting = Arc::new(Counting(Mutex::new(0)));
        (Vectors::new(name, Arc::clone(&counting) as _).unwrap(), counting)
    }

    #[test]
    fn a_text_is_embedded_once_also_by_the_next_process() {
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let (first, counting) = vectors("counting");
        let key = Vectors::key(suite, "tea");
        for _ in 0..3 {
            assert_eq!(first.vector(key, "tea").len(), 3);
        }
        assert_eq!(*counting.0.lock(), 1);
        let (second, counting) = vectors("counting");
        second.add(first.rows([key, key].iter()));
        assert_eq!(second.vector(key, "tea").len(), 3);
        assert_eq!(*counting.0.lock(), 0);
        // Vectors of another embedder are ignored.
        let (other, counting) = vectors("another");
        other.add(first.rows([key].iter()));
        assert_eq!(other.vector(key, "tea").len(), 3);
        assert_eq!(*counting.0.lock(), 1);
    }

    #[test]
    fn vectors_of_texts_that_are_gone_are_forgotten() {
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let (vectors, counting) = vectors("counting");
        let texts = 2 * OTHERS_MAX;
        let key = |at: usize| Vectors::key(suite, &format!("text {at}"));
        for at in 0..texts {
            drop(vectors.vector(key(at), &format!("text {at}")));
        }
        let in_use: HashMap<Key, TextKey> = [(Key::default(), key(7))].into();
        vectors.forget_others(&in_use);
        assert_eq!(vectors.known.lock().len(), 1);
        drop(vectors.vector(key(7), "text 7"));
        assert_eq!(*counting.0.lock(), texts);
    }
}

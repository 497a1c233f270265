//! The vectors of texts, by the digest of the text: when they are computed, and where they are stored.
//!
//! Vectors belong to texts and not to states. So they serve every past state, and a rollback computes none again. A text
//! that has a vector is not embedded again. If several threads need the vector of a new text at the same time, each
//! thread embeds the text. No thread waits for another, because an embedder may call recall in another thread.
//!
//! A text in a language that the embedder does not know gets no vector, and is not pending.
//!
//! Two files have the vectors of a model. Most are in the first file. The second has those that came since, so that
//! storing one vector writes at most an eighth of the first file.
//!
//! If an embedder itself calls recall, that recall uses only words.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - VCT-1: after an erasure, only vectors of texts that the newest state contains are written.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::indexed::text_of;
use super::questions::Questions;
use crate::agent::superseding::object_at;
use crate::digest::{Domain, HashSuite, to_hex};
use crate::engine::{self, Layout, Memory, State, View};
use crate::error::{Error, Result};
use crate::threads::Mutex;
use treering_text::recall::{Embedder, Index, Meaning, TextKey, VectorTable};
use treering_text::tables::Image;

/// The number of vectors up to which the second file grows.
const SECOND_MAX: usize = 1_000;
/// The second file may have as many vectors as the first one divided by this number.
const SECOND_SHARE: usize = 8;
/// Vectors of texts that the newest state does not contain are kept until their number exceeds the others' by this.
const OTHERS_MAX: usize = 1_000;
/// The number of texts that are embedded before their vectors are shared.
const BATCH: usize = 32;
/// The maximum length of the name of an embedder, in bytes.
const NAME_BYTES_MAX: usize = 255;

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

/// Runs an embedder.
fn run(embed: impl FnOnce() -> Vec<f32>) -> Vec<f32> {
    EMBEDDING.set(true);
    let _unmark = Unmark;
    embed()
}

/// Returns the key of a text: the first half of its digest, or all zero for no text.
pub(super) fn text_key(suite: HashSuite, text: &str) -> TextKey {
    let mut key = TextKey::default();
    if !text.is_empty() {
        key.copy_from_slice(&suite.hash_bytes(Domain::Content, text.as_bytes())[..16]);
    }
    key
}

/// How many texts of a state have vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct VectorCounts {
    /// The model that computed the vectors.
    pub model: String,
    /// The number of texts with a vector, or for which the model has none.
    pub embedded: usize,
    /// The number of texts without a vector yet. They are found by words only.
    pub pending: usize,
}

/// The vectors of one embedder.
pub(crate) struct Vectors {
    name: String,
    pub(super) files: [String; 2],
    embedder: Arc<dyn Embedder + Send + Sync>,
    table: Mutex<Arc<VectorTable>>,
    questions: Mutex<Questions>,
    /// The vector of the new text that was compared last. It is in no file before the text is in a state.
    last: Mutex<Option<(TextKey, Vec<f32>)>>,
    since: Mutex<Since>,
}

/// Where the vectors may come from (VCT-1).
#[derive(Default)]
struct Since {
    /// The oldest state that any of the vectors may come from. `None` before the files are read.
    state: Option<State>,
    /// The number of times at which vectors of erased texts were dropped.
    drops: u64,
}

/// What a query needs to search by meaning.
pub(crate) struct Asking<'a> {
    pub(super) vectors: &'a Vectors,
    /// The whole question. The query may remove names from it.
    pub(super) asked: &'a str,
}

impl Meaning for Asking<'_> {
    fn of_question(&self, question: &str, among_others: bool) -> Option<Vec<f32>> {
        let Vectors {
            embedder, questions, ..
        } = self.vectors;
        if !embedder.knows(question, among_others) {
            return None;
        }
        if let Some(known) = questions.lock().get(question) {
            return Some(known);
        }
        let drops = self.vectors.drops();
        let vector = run(|| embedder.embed_question(question));
        if vector.is_empty() && self.vectors.is_at_fault() {
            return None;
        }
        // The vector is the same, whether it was just computed or comes from a file.
        let since = self.vectors.since.lock();
        let mut questions = questions.lock();
        if since.drops != drops {
            // QSV-2: the question was asked before an erasure.
            return Some(vector);
        }
        questions.insert(self.asked, question, &vector)
    }

    fn table(&self) -> Arc<VectorTable> {
        Arc::clone(&self.vectors.table.lock())
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
        let file = file_of(name);
        Ok(Self {
            name: name.to_owned(),
            files: [file.clone(), format!("{file}-new")],
            embedder,
            table: Mutex::new(Arc::new(VectorTable::new(name))),
            questions: Mutex::new(Questions::new(name)),
            last: Mutex::default(),
            since: Mutex::default(),
        })
    }

    /// Returns the vector of a text with this key, or `None` if the embedder does not know its language.
    pub(super) fn embed(&self, key: TextKey, text: &str, among_others: bool) -> Option<Vec<f32>> {
        if let Some((last, vector)) = &*self.last.lock()
            && *last == key
        {
            return Some(vector.clone());
        }
        let is_known = self.embedder.knows(text, among_others);
        is_known.then(|| run(|| self.embedder.embed(text)))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn embedder(&self) -> &Arc<dyn Embedder + Send + Sync> {
        &self.embedder
    }

    /// Returns whether the embedder gives no vectors any more, for example because its file is damaged.
    pub(super) fn is_at_fault(&self) -> bool {
        self.embedder.fault().is_some()
    }

    /// Returns the vector of a stored text with its key, or `None` if the embedder is at fault.
    pub(super) fn embed_stored(&self, key: TextKey, text: &str) -> Option<(TextKey, Option<Vec<f32>>)> {
        let vector = self.embed(key, text, false);
        let is_missing = vector.as_ref().is_some_and(Vec::is_empty);
        (!is_missing || !self.is_at_fault()).then_some((key, vector))
    }

    /// Returns the number that [`Self::add`] compares.
    pub(super) fn drops(&self) -> u64 {
        self.since.lock().drops
    }

    /// Returns the vector of a new text, and remembers it until the text is in a state.
    pub(super) fn embed_new(&self, key: TextKey, text: &str, among_others: bool) -> Option<Vec<f32>> {
        let vector = self.embed(key, text, among_others)?;
        *self.last.lock() = Some((key, vector.clone()));
        Some(vector)
    }

    pub(super) fn table(&self) -> Arc<VectorTable> {
        Arc::clone(&self.table.lock())
    }

    /// Returns whether no vector is known.
    pub(super) fn is_empty(&self) -> bool {
        self.table().is_empty()
    }

    /// Returns the embedder if it knows the language of a question that was not asked before.
    pub(super) fn needed_for(
        &self,
        memory: &Memory,
        question: &str,
    ) -> Option<Arc<dyn Embedder + Send + Sync>> {
        self.load(memory, &memory.view());
        let is_needed = self.embedder.knows(question, false) && !self.questions.lock().was_asked(question);
        is_needed.then(|| Arc::clone(&self.embedder))
    }

    /// Reads the vectors that earlier processes stored, if this process has not read them.
    pub(super) fn load(&self, memory: &Memory, view: &View) {
        {
            let mut since = self.since.lock();
            if since.state.is_none() {
                since.state = Some(view.state().clone());
                *self.table.lock() = Arc::new(self.stored(memory).0);
                self.questions.lock().load(memory);
            }
        }
        self.drop_damaged(memory);
    }

    /// Forgets and removes the vectors if a read found damage in a file: their texts are embedded again. Returns whether
    /// there was damage.
    pub(super) fn drop_damaged(&self, memory: &Memory) -> bool {
        let mut table = self.table.lock();
        let is_damaged = table.is_damaged();
        if is_damaged {
            *table = Arc::new(VectorTable::new(&self.name));
            drop(table);
            // A read-only handle cannot remove them. It forgets them again, when it finds the damage again.
            drop(engine::remove_derived(memory, |name| {
                self.files.iter().any(|file| file == name)
            }));
        }
        is_damaged
    }

    /// Returns the vectors in the files, and how many the first file has. A file that cannot be read is passed over, because
    /// a vector can be computed again.
    fn stored(&self, memory: &Memory) -> (VectorTable, usize) {
        let mut table = VectorTable::new(&self.name);
        let lengths = self.files.each_ref().map(|file| {
            if let Ok(Some(bytes)) = memory.derived(file)
                && let Some(image) = Image::open(bytes)
            {
                table.append(image);
            }
            table.len()
        });
        (table, lengths[0])
    }

    /// Computes the vectors of the texts of an index that have none, the newest first, for at most `limit`. `done` counts the
    /// texts for the progress.
    ///
    /// # Errors
    /// `Io` (code `interrupted`) if the host stops the work.
    pub(super) fn embed_missing(
        &self,
        (memory, view): (&Memory, &View),
        index: &Index,
        limit: Duration,
        done: &mut usize,
    ) -> Result<VectorCounts> {
        self.load(memory, view);
        let (begun, drops) = (Instant::now(), self.drops());
        let missing = index.without_vector(&self.table());
        let total = missing.len();
        let mut new: Vec<(TextKey, Option<Vec<f32>>)> = Vec::new();
        let (mut pending, settings) = (total, &view.opened().settings);
        let all = *done + total;
        for key in missing {
            if begun.elapsed() >= limit {
                break;
            }
            if let Err(stopped) = settings.check_stop() {
                self.add(&mut new, drops);
                return Err(stopped);
            }
            settings.tell("vectors", *done as u64, all as u64);
            *done += 1;
            // What cannot be read cannot be found either.
            if let Ok(Some(object)) = object_at(view, &key)
                && let Some(text) = text_of(&object)
            {
                let Some(one) = self.embed_stored(text_key(memory.suite(), text), text) else {
                    break;
                };
                new.push(one);
            }
            pending -= 1;
            if new.len() >= BATCH {
                self.add(&mut new, drops);
            }
        }
        self.add(&mut new, drops);
        Ok(VectorCounts {
            model: self.name.clone(),
            embedded: index.len().saturating_sub(pending),
            pending,
        })
    }

    /// Adds vectors, unless vectors were dropped since [`Self::drops`] returned `drops`: their text may be erased (VCT-1).
    pub(super) fn add(&self, new: &mut Vec<(TextKey, Option<Vec<f32>>)>, drops: u64) {
        let since = self.since.lock();
        if new.is_empty() || since.drops != drops {
            new.clear();
            return;
        }
        let mut table = self.table.lock();
        let table = Arc::make_mut(&mut table);
        for (key, vector) in new.drain(..) {
            match vector {
                Some(vector) => table.insert(key, &vector),
                None => table.leave_out(key),
            }
        }
    }

    /// Writes the vectors that are in no file, if there are any. Returns whether a file was written. `index` is that of the
    /// newest state, `state`.
    ///
    /// # Errors
    /// `Io` if a file cannot be written, with the code `read_only` for a read-only handle.
    pub(super) fn keep(&self, memory: &Memory, state: &State, index: &Index) -> Result<bool> {
        let Some(since) = self.since.lock().state.clone() else {
            return Ok(false);
        };
        self.drop_damaged(memory);
        let has_questions = self.questions.lock().keep(memory, &since)?;
        if !self.table().has_news() {
            return Ok(has_questions);
        }
        let in_use: HashSet<TextKey> = index.text_keys().collect();
        if self.write(memory, &since, &in_use)? {
            return Ok(true);
        }
        if !self.table().has_news() {
            return Ok(has_questions);
        }
        // INVARIANT VCT-1: something was erased since, or another process is at work.
        self.drop_all_but(&in_use, state);
        Ok(self.write(memory, state, &in_use)? || has_questions)
    }

    /// Forgets the vectors of texts that `state` does not have, and the questions, which may quote such a text.
    fn drop_all_but(&self, in_use: &HashSet<TextKey>, state: &State) {
        let mut since = self.since.lock();
        since.state = Some(state.clone());
        since.drops += 1;
        *self.last.lock() = None;
        self.questions.lock().forget();
        let mut table = self.table.lock();
        *table = Arc::new(table.only(|key| in_use.contains(key)));
    }

    /// Writes the vectors of the texts that are in use, after an erasure removed the files (VCT-1).
    ///
    /// # Errors
    /// Those of [`Self::keep`].
    pub(super) fn keep_rest(&self, memory: &Memory, state: &State, index: &Index) -> Result<()> {
        let in_use: HashSet<TextKey> = index.text_keys().collect();
        self.drop_all_but(&in_use, state);
        let table = self.table();
        let bytes = table.write(0, |_| true);
        if let Some(bytes) = bytes.filter(|_| !table.is_damaged()) {
            engine::keep_as(memory, &self.files[0], &bytes, Layout::Image, state)?;
        }
        *self.table.lock() = Arc::new(self.stored(memory).0);
        Ok(())
    }

    /// Returns whether a derived file has vectors or questions of another model.
    pub(super) fn is_of_another(&self, file: &str) -> bool {
        let is_mine = self.files.iter().any(|mine| mine == file) || file == self.questions.lock().file();
        !is_mine && (file.starts_with(VECTORS) || file.starts_with(Questions::START))
    }

    /// Writes the vectors to one of the two files, beside those that other processes wrote.
    fn write(&self, memory: &Memory, since: &State, in_use: &HashSet<TextKey>) -> Result<bool> {
        let mine = self.table();
        let (mut all, first) = self.stored(memory);
        let mine_in_files = mine.len() - mine.len_in_memory();
        let from = if all.len() >= mine_in_files {
            mine_in_files
        } else {
            0
        };
        let is_alone = all.len() == mine_in_files;
        all.merge(&mine, from);
        if !all.has_news() {
            // Another process has written the same vectors.
            *self.table.lock() = Arc::new(all);
            return Ok(false);
        }
        let has_second = all.len() - first <= SECOND_MAX.max(first / SECOND_SHARE);
        let has_too_many = all.len() > 2 * in_use.len() + OTHERS_MAX;
        let is_second = has_second && !has_too_many;
        let (file, from) = if is_second {
            (&self.files[1], first)
        } else {
            (&self.files[0], 0)
        };
        let bytes = all.write(from, |key| !has_too_many || in_use.contains(key));
        let Some(bytes) = bytes.filter(|_| !all.is_damaged()) else {
            return Ok(false);
        };
        if !engine::keep_as(memory, file, &bytes, Layout::Image, since)? {
            return Ok(false);
        }
        if !is_second {
            // The first file has its vectors now.
            engine::remove_derived(memory, |name| name == self.files[1])?;
        }
        let mut table = self.table.lock();
        if is_alone && is_second && table.len_in_memory() <= SECOND_MAX && Arc::ptr_eq(&table, &mine) {
            // The indexes need not find their rows again, as in another table.
            Arc::make_mut(&mut table).mark_saved();
        } else {
            // The rows now lie in the files, so memory holds none of them.
            *table = Arc::new(self.stored(memory).0);
        }
        Ok(true)
    }
}

/// The start of the names of files with vectors.
const VECTORS: &str = "vectors-";

/// Returns the name of the first file of a model.
fn file_of(name: &str) -> String {
    format!("{VECTORS}{}", short_digest(name))
}

/// Returns the start of the digest of the name of a model, for the names of its files.
pub(super) fn short_digest(name: &str) -> String {
    let suite = HashSuite::new(crate::digest::HashAlgorithm::Blake3);
    let digest = suite.hash_bytes(Domain::Content, name.as_bytes());
    to_hex(&digest[..8])
}

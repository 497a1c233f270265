//! The handle whose methods are the verbs of an agent.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::sync::Arc;
use std::time::Duration;

use super::clean_texts::CleanTexts;
use super::embedding::Embedding;
use super::envelope::Shelves;
use super::inbox::{Compared, Noted};
use super::judge::Judge;
use super::remember::Texts;
use super::search::{RecallIndex, VectorCounts, Vectors};
use super::settings::Settings;
use crate::digest::keyed;
use crate::engine::{ErasedReport, Erasing, Holder, Memory, View, Writer};
use crate::error::Result;
use crate::object::Origin;
use crate::threads::{Builder, Mutex};
use treering_text::recall::{Embedder, Index, Scratch, TextMeaning};
use treering_text::scan::{Author, Finding, MarkerKey, Scanner, VerdictTable};

/// Returns a scanner whose markers belong to the store of `memory`.
pub fn scanner_of(memory: &Memory, verdicts: VerdictTable) -> Scanner {
    let key = keyed(&key_of(memory), b"treering markers of secrets");
    Scanner::new(verdicts, MarkerKey::new(key, keyed))
}

/// Returns a scanner for texts of no store. Anybody can compute its markers, so its redactions must not be stored.
pub fn storeless_scanner(verdicts: VerdictTable) -> Scanner {
    Scanner::new(verdicts, MarkerKey::new([0; 32], keyed))
}

/// Returns how the scan reads a text of this class. Every scan of the layer takes its reader from here.
pub(in crate::agent) fn author_of(class: Origin) -> Author {
    match class {
        Origin::DirectUser | Origin::Host => Author::Person,
        Origin::Model | Origin::ToolInternal => Author::Model,
        Origin::ToolExternal | Origin::Document | Origin::Import => Author::Stranger,
    }
}

/// Returns the key from which the other keys of a store are derived. The key consists of random bytes of the store. So
/// only a reader of the store can test a guessed secret against a marker. A copy of a store produces the same markers.
fn key_of(memory: &Memory) -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&memory.lineage());
    key
}

/// A [`Memory`] with the verbs of an agent. The handle is cheap to clone, and threads can share it.
#[derive(Clone)]
pub struct Agent {
    memory: Memory,
    settings: Arc<Settings>,
    scanner: Arc<Scanner>,
    clean_texts: Arc<CleanTexts>,
    names_key: [u8; 32],
    recall_index: Arc<RecallIndex>,
    duplicate_index: Arc<Holder<Texts>>,
    shelves: Arc<Holder<Shelves>>,
    noted: Arc<Holder<Noted>>,
    compared: Arc<Mutex<Compared>>,
    judge: Option<Arc<dyn Judge>>,
}

impl Agent {
    /// Creates an agent on `memory`.
    pub fn new(memory: Memory, settings: Settings) -> Self {
        let scanner = scanner_of(&memory, settings.scan.clone());
        let names_key = keyed(&key_of(&memory), b"treering names made of texts");
        Self {
            memory,
            settings: Arc::new(settings),
            scanner: Arc::new(scanner),
            clean_texts: Arc::default(),
            names_key,
            recall_index: Arc::default(),
            duplicate_index: Arc::default(),
            shelves: Arc::default(),
            noted: Arc::default(),
            compared: Arc::new(Mutex::new(Compared::new())),
            judge: None,
        }
    }

    /// Adds a search by vectors to the search by words. `embedder` computes the vectors of questions and texts, and
    /// `name` identifies the embedder and its version. [`Self::embed`] computes the vectors of texts that have none; each
    /// recall computes some of them, too.
    ///
    /// # Errors
    /// `InvalidInput` if the name is empty or longer than 255 bytes.
    pub fn with_embedder(mut self, name: &str, embedder: Arc<dyn Embedder + Send + Sync>) -> Result<Self> {
        self.recall_index = Arc::new(RecallIndex::with_vectors(Vectors::new(name, embedder)?));
        Ok(self)
    }

    /// Returns the embedder. After a recall, its [`fault`](Embedder::fault) says whether the recall went by words only.
    pub fn embedder(&self) -> Option<&Arc<dyn Embedder + Send + Sync>> {
        self.recall_index.embedder()
    }

    /// Lets `judge` decide whether a new item contradicts or repeats a stored item.
    #[must_use]
    pub fn with_judge(mut self, judge: impl Judge + 'static) -> Self {
        self.judge = Some(Arc::new(judge));
        self
    }

    /// Returns this agent on another memory, such as a fork: with the same settings, embedder and judge.
    ///
    /// # Errors
    /// None in practice: the embedder has a valid name.
    pub fn on(&self, memory: Memory) -> Result<Self> {
        let agent = Self {
            judge: self.judge.clone(),
            ..Self::new(memory, Settings::clone(&self.settings))
        };
        match (self.recall_index.name(), self.embedder()) {
            (Some(name), Some(embedder)) => agent.with_embedder(name, Arc::clone(embedder)),
            _ => Ok(agent),
        }
    }

    /// Returns the judge of the host.
    pub(super) fn judge(&self) -> Option<&dyn Judge> {
        self.judge.as_deref()
    }

    /// Returns the memory below the agent. Writes through this memory are not scanned or redacted, ignore the quotas,
    /// and may replace objects of any scope. Only [`Authorisation`](crate::Authorisation) limits these writes.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the settings of the agent.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the scanner that reads every text before the agent stores it.
    #[doc(hidden)]
    pub fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    /// Returns what the scan finds in a stored `text` of this class.
    pub(super) fn scan_stored(&self, text: &str, class: Origin) -> Vec<Finding> {
        self.clean_texts.scan(&self.scanner, author_of(class), text)
    }

    /// Returns the key of the hashes in names that are derived from texts. Without the key, nobody can test a guessed
    /// text against such a name.
    pub(super) fn names_key(&self) -> &[u8; 32] {
        &self.names_key
    }

    pub(super) fn recall_index(&self) -> &RecallIndex {
        &self.recall_index
    }

    /// Calls `read` with the duplicate index of the state of `view`.
    ///
    /// # Errors
    /// The errors of [`Holder::read`].
    pub(super) fn with_duplicate_index<T>(
        &self,
        view: &View,
        mut read: impl FnMut(&Texts) -> Result<T>,
    ) -> Result<T> {
        let index = &self.duplicate_index;
        index.read(view, index.of(view)?, |known, _| read(known.value()))
    }

    /// Calls `read` with the items of the state of `view` as the envelope selects them.
    ///
    /// # Errors
    /// The errors of [`Holder::read`].
    pub(super) fn with_shelves<T>(
        &self,
        view: &View,
        mut read: impl FnMut(&Shelves) -> Result<T>,
    ) -> Result<T> {
        let shelves = &self.shelves;
        shelves.read(view, shelves.of(view)?, |known, _| read(known.value()))
    }

    /// Returns the contradictions that the inbox found.
    pub(super) fn compared(&self) -> &Mutex<Compared> {
        &self.compared
    }

    /// Calls `read` with the index of the inbox of the state of `view`.
    ///
    /// # Errors
    /// The errors of [`Holder::reach`].
    pub(super) fn with_noted<T>(&self, view: &View, read: impl FnOnce(&Noted) -> T) -> Result<T> {
        let of = (view.opened(), view.state());
        let (found, _) = self.noted.reach(of, |_| true, || None, |_| Ok(()))?;
        Ok(read(found.value()))
    }

    /// Calls `read` with the recall index of the state of `view`. Concurrent callers are not blocked.
    ///
    /// # Errors
    /// The errors of `read`; `Corrupt` or `Io` if an object cannot be read; `InvalidInput` (code `over_limit`) if the
    /// index is full, after several billion words.
    #[doc(hidden)]
    pub fn with_index<T>(
        &self,
        view: &View,
        mut read: impl FnMut(&Index, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        self.recall_index.read(view, |indexed, _| {
            let index = &indexed.value().index;
            self.recall_index.lend(|scratch| read(index, scratch))
        })
    }

    /// Returns what compares new texts with those of `view` by meaning, if there is an embedder.
    pub(super) fn comparing<'a>(&'a self, view: &'a View) -> Option<impl TextMeaning + 'a> {
        self.recall_index.comparing(&self.memory, view)
    }

    /// Computes the vectors of the texts of the newest state that have none, the newest text first, for at most `limit`.
    /// Returns how many texts have vectors, or `None` without an embedder. Other threads may use the memory meanwhile.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; `Io` (code `interrupted`) if the host stops the work. What was
    /// computed until then is kept.
    pub fn embed(&self, limit: Option<Duration>) -> Result<Option<VectorCounts>> {
        self.recall_index.embed(&self.memory, &self.memory.view(), limit)
    }

    /// Reads the weights of the embedder in a thread, if the question was not asked before. Meanwhile, the caller can
    /// open what else a recall needs. Without a thread, the recall itself reads them.
    pub fn prepare_for(&self, question: &str) {
        if let Some(embedder) = self.recall_index.needed_for(&self.memory, question) {
            let named = Builder::new().name("treering-model".to_owned());
            drop(named.spawn(move || embedder.prepare()));
        }
    }

    /// Computes the vectors of new texts in a thread, until the result is dropped. Also stores the vectors. Does nothing
    /// without an embedder, or if the system starts no thread: then each recall computes some vectors.
    pub fn embed_in_background(&self) -> Embedding {
        Embedding::of(self)
    }

    /// Erases as [`Memory::erase`] does. The next process finds the rest at once, because the index of recall and the
    /// vectors of the texts of the newest state are written again without what was erased.
    ///
    /// # Errors
    /// The errors of [`Memory::erase`].
    ///
    /// # Durability
    /// After a crash, the erasure is done completely or not at all. The index and the vectors may be missing then, and are
    /// computed again.
    pub fn erase(&self, erasing: &Erasing, writer: &Writer) -> Result<ErasedReport> {
        let erase = || self.memory.erase(erasing, writer);
        self.recall_index
            .keep_over(&self.memory, &self.memory.view(), erase)
    }

    /// Removes the vectors of models that are not in use any more, if the embedder of this agent has the vectors of all
    /// texts. Returns how many files were removed.
    ///
    /// # Errors
    /// `Io` if a file cannot be removed, with the code `read_only` for a read-only handle.
    pub fn drop_other_vectors(&self) -> Result<usize> {
        self.recall_index.drop_other_vectors(&self.memory)
    }

    /// Saves each index to disk for the next process if the index changed much since the last save. Returns whether an
    /// index was saved.
    ///
    /// # Errors
    /// `Io` if an index cannot be written, with the code `read_only` for a read-only handle.
    #[doc(hidden)]
    pub fn keep_indexes(&self) -> Result<bool> {
        // Checked first, because a read-only handle would build and encode the indexes in vain.
        self.memory.view().opened().check_writable()?;
        let kept = [
            self.recall_index.keep(&self.memory)?,
            self.duplicate_index.keep(&self.memory)?,
            self.shelves.keep(&self.memory)?,
        ];
        Ok(kept.contains(&true))
    }

    /// Saves the indexes to disk if they changed much, and closes the memory.
    ///
    /// # Errors
    /// The errors of [`Memory::close`](crate::Memory::close).
    pub fn close(self) -> Result<()> {
        // Errors are ignored, because the indexes are derived. Without the files, the next process rebuilds the indexes.
        drop(self.keep_indexes());
        self.memory.close()
    }
}

//! The state of a session between two events of a hook: how far it read the client's transcript, and what it showed.
//!
//! The state lies in the folder for states of the user, outside of the store. It only saves work: the store itself knows the
//! entries that it has and had (SAE-4, SAE-5), so a lost state stores nothing twice and brings nothing back.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - HST-1: a transcript is read on from a place only if the text before that place is the one that was read, whatever
//!   path the client gives.
//! - HST-2: one event of a session at a time has the state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, thread};

use serde::{Deserialize, Serialize};

use super::deadline::Deadline;
use crate::cli::context::real_path;
use crate::cli::input::open_regular;
use crate::hook::{Event, HookClient, Open, Read, Workspace, messages_of, read_from, read_messages};
use treering::agent::Place;
use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::disk::xdg_folder;
use treering::{Error, ErrorKind, Result};

/// The age at which the state of a session is deleted.
const AGE_MAX: Duration = Duration::from_hours(60 * 24);
/// The part of a transcript that is stored at once, in bytes.
const PART: u64 = 4 << 20;
/// The longest line of a transcript that is read, and the largest document, in bytes.
const PART_MAX: u64 = 64 << 20;
/// The part of a transcript in which an item is looked for before it is shown again, in bytes.
const SEEN_MAX: u64 = 2 << 20;
/// The text before a place by which the place is known again, in bytes.
const BEFORE: u64 = 4 << 10;
/// The time between two looks at the lock of the state.
const PAUSE: Duration = Duration::from_millis(10);

/// The state of a session.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct State {
    /// The store that the numbers below belong to.
    store: PathBuf,
    /// The folder in which the session began.
    folder: Option<PathBuf>,
    /// The folders of the workspace.
    roots: Vec<PathBuf>,
    progress: Progress,
    /// The digests of the versions that the context has.
    pub(crate) shown: BTreeSet<String>,
    /// The length of the transcript when the context began.
    seen_from: u64,
    /// The seq of the commit before the turn.
    pub(crate) turn_from: u64,
    /// The number of prompts.
    pub(crate) turns: u64,
    /// Whether an answer came since the last episode.
    pub(crate) is_pending: bool,
    /// The calls whose events had no name. In the transcript they have one.
    pub(crate) unnamed: BTreeSet<String>,
    /// The transcript that the client named last. Copilot CLI names none at the end of a session.
    pub(crate) named: Option<PathBuf>,
    #[serde(skip)]
    file: Option<PathBuf>,
    /// HST-2: closing the file frees the lock.
    #[serde(skip)]
    lock: Option<File>,
}

/// How far a transcript was read.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Progress {
    /// The number of read bytes, or of read messages of a document.
    place: u64,
    /// The digest of the text before that place.
    before: String,
    /// How often each text was read that has no name of its own, by the digest of the text and of who said it.
    counts: BTreeMap<String, u64>,
    /// The calls whose results are still to come.
    open: Open,
}

impl State {
    /// Reads the state of a session, and keeps it from other events (HST-2). A state that cannot be read is empty.
    ///
    /// # Errors
    /// `Busy` if another event of the session has the state until the deadline.
    pub(crate) fn of(client: HookClient, session: &str, deadline: &Deadline) -> Result<Self> {
        let file = file_of(client, session);
        let lock = file.as_deref().map(|file| locked(file, deadline)).transpose()?;
        Ok(Self {
            lock: lock.flatten(),
            ..Self::in_file(file)
        })
    }

    /// Reads the state of a session beside its events.
    pub(crate) fn peek(client: HookClient, session: &str) -> Self {
        Self::in_file(file_of(client, session))
    }

    fn in_file(file: Option<PathBuf>) -> Self {
        let bytes = file
            .as_ref()
            .and_then(|file| part(&mut open_regular(file).ok()?, 0, PART_MAX).ok());
        let state: Option<Self> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            file,
            ..state.unwrap_or_default()
        }
    }

    /// Notes the workspace with the first event of the session, and returns the folder in which the session works. The agent
    /// may change its folder later, and neither its project nor what is inside follows it (HKW-1).
    pub(crate) fn enter(&mut self, client: HookClient, event: &Event) -> Result<Option<PathBuf>> {
        let is_there = |folder: &PathBuf| folder.is_absolute() && folder.is_dir();
        if self.folder.as_ref().is_none_or(|folder| !folder.is_dir()) {
            let named = client
                .workspace_variable()
                .and_then(env::var_os)
                .map(PathBuf::from);
            let folder = named
                .filter(is_there)
                .or_else(|| event.folder.clone().filter(is_there));
            let Some(folder) = folder.or_else(|| env::current_dir().ok()) else {
                return Ok(None);
            };
            self.roots = event
                .roots
                .iter()
                .filter(|root| is_there(root))
                .cloned()
                .collect();
            self.roots.push(root_of(&folder));
            self.folder = Some(folder);
            self.save()?;
        }
        Ok(self.folder.clone())
    }

    /// Returns the workspace of an event.
    pub(crate) fn workspace(&self, event: &Event) -> Workspace {
        let folder = event.folder.clone().or_else(|| self.folder.clone());
        Workspace::new(folder, &self.roots)
    }

    /// Forgets what belongs to another store.
    pub(crate) fn use_store(&mut self, store: &Path) {
        let store = real_path(store);
        if self.store != store {
            *self = Self {
                store,
                folder: self.folder.take(),
                roots: std::mem::take(&mut self.roots),
                file: self.file.take(),
                lock: self.lock.take(),
                ..Self::default()
            };
        }
    }

    /// Writes the state at once or not at all.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn save(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let text = serde_json::to_string(self)
            .map_err(|error| Error::io("writing the state of the hook", error.into()))?;
        write_at_once(file, &text)
    }

    /// Begins a context, which has nothing of what was shown before.
    pub(crate) fn begin(&mut self, transcript: Option<&Path>) {
        self.shown.clear();
        self.seen_from = transcript.map_or(0, length);
        delete_old();
    }

    /// Returns the text that the context has, as far as the transcript tells, in the escaped form of JSON.
    pub(crate) fn conversation(&self, transcript: Option<&Path>) -> String {
        let Some(path) = transcript else {
            return String::new();
        };
        let from = self.seen_from.max(length(path).saturating_sub(SEEN_MAX));
        let bytes = open_regular(path).and_then(|mut file| part(&mut file, from, SEEN_MAX));
        let bytes = bytes.unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads what is new in a transcript, and returns whether there may be more. [`Self::number`] then numbers the texts that
    /// have no name.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(Read, bool)> {
        let mut file = open_regular(path)?;
        if path.extension().is_some_and(|end| end == "json") && is_document(&mut file) {
            return Ok((self.progress.document(&mut file)?, false));
        }
        self.progress.lines(&mut file)
    }

    /// Whether there is nothing new in a transcript of lines.
    pub(crate) fn has_read(&self, path: &Path) -> bool {
        length(path) <= self.progress.place
    }

    /// Returns how often the transcript has this text of a speaker before, and counts it.
    pub(crate) fn number(&mut self, speaker: &str, text: &str) -> u64 {
        let counted = short(&format!("{speaker}\n{}", text.trim()));
        let count = self.progress.counts.entry(counted).or_default();
        *count += 1;
        *count - 1
    }
}

impl Progress {
    /// Reads what follows the place, together with the text before it (HST-1).
    fn lines(&mut self, file: &mut File) -> Result<(Read, bool)> {
        let digest = |bytes: &[u8]| match bytes {
            [] => String::new(),
            bytes => to_hex(&sha256(bytes)[..16]),
        };
        let mut most = PART;
        loop {
            let before = self.place.min(BEFORE);
            let bytes = part(file, self.place - before, before + most)?;
            let new = usize::try_from(before).unwrap_or(usize::MAX).min(bytes.len());
            if digest(&bytes[..new]) != self.before {
                *self = Self::default();
                continue;
            }
            let is_full = (bytes.len() - new) as u64 == most;
            let mut read = read_from(&bytes[new..], self.open.clone());
            if read.bytes == 0 && is_full && most < PART_MAX {
                most *= 4;
                continue;
            }
            // A line that is longer than the largest part is passed over.
            let passed = if read.bytes == 0 && is_full {
                bytes.len() - new
            } else {
                read.bytes
            };
            let end = new + passed;
            let from = end.saturating_sub(usize::try_from(BEFORE).unwrap_or(usize::MAX));
            self.place += passed as u64;
            self.before = digest(&bytes[from..end]);
            self.open = std::mem::take(&mut read.open);
            return Ok((read, is_full));
        }
    }

    fn document(&mut self, file: &mut File) -> Result<Read> {
        let messages = messages_of(&part(file, 0, PART_MAX)?);
        let digest = |messages: &[serde_json::Value]| {
            let all: String = messages.iter().map(|message| format!("{message}\n")).collect();
            short(&all)
        };
        let place = usize::try_from(self.place).unwrap_or(usize::MAX);
        let known = messages.get(..place).filter(|known| digest(known) == self.before);
        if known.is_none() {
            *self = Self::default();
        }
        let from = known.map_or(0, <[_]>::len);
        let mut read = read_messages(&messages[from..], std::mem::take(&mut self.open));
        self.open = std::mem::take(&mut read.open);
        self.place = messages.len() as u64;
        self.before = digest(&messages);
        Ok(read)
    }
}

/// Returns the folder whose files belong together with a folder. The home folder is no project, whatever it contains.
fn root_of(folder: &Path) -> PathBuf {
    let folder = real_path(folder);
    let home = env::var_os("HOME").map(|home| real_path(Path::new(&home)));
    let top = Place::top_of(&folder).filter(|top| home.as_deref() != Some(*top));
    top.map_or(folder.clone(), Path::to_owned)
}

fn file_of(client: HookClient, session: &str) -> Option<PathBuf> {
    let name = format!("{}\n{session}", client.name());
    folder().map(|folder| folder.join(format!("{}.json", short(&name))))
}

/// Opens the lock beside a file, and waits for it until the deadline. Without locks, there is none.
fn locked(file: &Path, deadline: &Deadline) -> Result<Option<File>> {
    let failed = |error| Error::io("locking the state of the hook", error);
    fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    let lock = File::options()
        .create(true)
        .append(true)
        .open(file.with_extension("lock"));
    let lock = lock.map_err(failed)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::WouldBlock) if deadline.left() > PAUSE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let text = "another event of the session is still at work";
                return Err(Error::new(ErrorKind::Busy, text));
            }
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Writes a file of the hook at once or not at all.
pub(super) fn write_at_once(file: &Path, text: &str) -> Result<()> {
    let failed = |error| Error::io("writing the state of the hook", error);
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error)).map(drop)
}

/// Returns the length of a file, or 0.
pub(crate) fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

/// Checks whether a JSON file is one document and not lines.
fn is_document(file: &mut File) -> bool {
    let start = part(file, 0, 4096).unwrap_or_default();
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    // A file of one line may be either, and only a document has the messages in it.
    serde_json::from_slice::<serde_json::Value>(line).map_or(true, |json| json.get("messages").is_some())
}

/// Reads a part of a file.
fn part(file: &mut File, from: u64, most: u64) -> Result<Vec<u8>> {
    let failed = |error| Error::io("reading a file of the client", error);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

pub(super) fn folder() -> Option<PathBuf> {
    Some(xdg_folder("XDG_STATE_HOME", ".local/state")?.join("hooks"))
}

/// Deletes the states of sessions that had no event for long.
fn delete_old() {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|file| file.modified()).ok();
        let age = changed.and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age > AGE_MAX) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

pub(super) fn short(text: &str) -> String {
    to_hex(&sha256(text.as_bytes())[..16])
}

//! The state of a session between two events of a hook: how far it read the client's transcript, and what it showed.
//!
//! The state lies in the folder for states of the user, outside of the store. So it is in no version, and undoing a turn does
//! not read the turn's entries again. The entries of a transcript
//! have fixed ids, so a lost state stores nothing twice, but brings entries of undone turns back.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs};

use serde::{Deserialize, Serialize};

use crate::cli::context::real_path;
use crate::cli::input::open_regular;
use crate::hook::{HookClient, Read, read_from};
use treering::agent::Place;
use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::disk::xdg_folder;
use treering::{Error, Result};

/// The age at which the state of a session is deleted.
const AGE_MAX: Duration = Duration::from_hours(60 * 24);
/// The largest part of a transcript that one event reads, in bytes. The next event goes on from there.
const PART_MAX: u64 = 64 << 20;
/// The part of a transcript in which an item is looked for before it is shown again, in bytes.
const SEEN_MAX: u64 = 2 << 20;

/// The state of a session.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct State {
    /// The transcript that the numbers below belong to.
    transcript: PathBuf,
    /// The number of read bytes.
    bytes: u64,
    /// The number of read lines or messages.
    lines: u64,
    /// How often each text with the role of the person was read, by the digest of the text.
    prompts: BTreeMap<String, u64>,
    /// The digests of the versions that the context has.
    pub(crate) shown: BTreeSet<String>,
    /// The length of the transcript when the context began.
    seen_from: u64,
    /// The arrival number of the newest prompt from which facts were learnt.
    pub(crate) learnt: u64,
    /// The seq of the commit before the turn.
    pub(crate) turn_from: u64,
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl State {
    /// Reads the state of a session. A state that cannot be read is empty.
    pub(crate) fn of(store: &Path, client: &str, session: &str) -> Self {
        let store = real_path(store);
        let name = format!("{}\n{client}\n{session}", store.display());
        let file = folder().map(|folder| folder.join(format!("{}.json", short(&name))));
        let bytes = file.as_ref().and_then(|file| part(file, 0, PART_MAX).ok());
        let state: Option<Self> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            file,
            ..state.unwrap_or_default()
        }
    }

    /// Writes the state at once or not at all.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn save(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let failed = |error| Error::io("writing the state of the hook", error);
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        let text = serde_json::to_string(self).map_err(|error| failed(error.into()))?;
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        new.write_all(text.as_bytes()).map_err(failed)?;
        new.persist(file).map_err(|error| failed(error.error)).map(drop)
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
        let bytes = part(path, from, SEEN_MAX).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads what is new in a transcript. [`Self::number`] then numbers the texts of the person.
    ///
    /// # Errors
    /// `Io` if the file cannot be read.
    pub(crate) fn read(&mut self, path: &Path) -> Result<Read> {
        if self.transcript != path || length(path) < self.bytes {
            path.clone_into(&mut self.transcript);
            (self.bytes, self.lines) = (0, 0);
            self.prompts.clear();
        }
        let is_document = is_document(path);
        let from = if is_document { 0 } else { self.bytes };
        let bytes = part(path, from, PART_MAX)?;
        let read = read_from(&bytes, self.lines, is_document);
        if is_document {
            self.lines = read.lines;
        } else {
            self.lines += read.lines;
            // A line that is longer than a part is passed over.
            let is_too_long = read.bytes == 0 && bytes.len() as u64 == PART_MAX;
            self.bytes += if is_too_long { PART_MAX } else { read.bytes as u64 };
        }
        Ok(read)
    }

    /// Returns how often the transcript has this text of the person before, and counts it.
    pub(crate) fn number(&mut self, text: &str) -> u64 {
        let count = self.prompts.entry(short(text.trim())).or_default();
        *count += 1;
        *count - 1
    }
}

/// Notes that a session is the present one of its client in a project. The server of the client then writes in it, too.
///
/// # Errors
/// `Io` if the note cannot be written.
pub(crate) fn note_session(client: HookClient, session: &str, place: Option<&Path>) -> Result<()> {
    let Some(file) = file_of_session(client, place) else {
        return Ok(());
    };
    if fs::read_to_string(&file).is_ok_and(|known| known == session) {
        return Ok(());
    }
    let failed = |error| Error::io("noting the session", error);
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(session.as_bytes()).map_err(failed)?;
    new.persist(&file).map_err(|error| failed(error.error)).map(drop)
}

/// Returns the present session of a client in the project of a folder, which is the current folder if it is not named.
pub(crate) fn current_session(client: HookClient, place: Option<&Path>) -> Option<String> {
    let session = fs::read_to_string(file_of_session(client, place)?).ok()?;
    Some(session).filter(|session| !session.is_empty())
}

fn file_of_session(client: HookClient, place: Option<&Path>) -> Option<PathBuf> {
    let place = place.map_or_else(|| env::current_dir().ok(), |place| Some(place.to_owned()))?;
    let place = real_path(&place);
    let top = Place::top_of(&place).unwrap_or(&place);
    let name = format!("{}\n{}", client.name(), top.display());
    Some(folder()?.join(format!("{}.session", short(&name))))
}

/// Returns the length of a file, or 0.
pub(crate) fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

/// Checks whether a transcript is one document and not lines.
fn is_document(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|end| end == "json");
    is_json && {
        let start = part(path, 0, 4096).unwrap_or_default();
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        // A file of one line may be either, and only a document has the messages in it.
        serde_json::from_slice::<serde_json::Value>(line).map_or(true, |json| json.get("messages").is_some())
    }
}

/// Reads a part of a file.
fn part(path: &Path, from: u64, most: u64) -> Result<Vec<u8>> {
    let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
    let mut file = open_regular(path)?;
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn folder() -> Option<PathBuf> {
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

fn short(text: &str) -> String {
    to_hex(&sha256(text.as_bytes())[..16])
}

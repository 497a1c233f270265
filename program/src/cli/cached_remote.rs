//! `--store URL`: a clone of a remote in the XDG cache, which verbs read and write in its place.
//!
//! A verb opens the clone, which pulls first if its newest answer of the remote is older than [`FRESH`]. After a verb that
//! wrote, the clone pushes.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CRM-1: a verb that wrote ends with success only if the remote has the change. Else its code is `not_pushed`, and the
//!   clone keeps the change.
//! - CRM-2: only this user can read the clone, and its name has no secret of the URL.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, process};

use super::errors::refused;
use super::remote_keys;
use super::remotes::{ORIGIN, RemoteEntry, Remotes, check_url};
use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::disk::xdg_folder;
use treering::inspect::remote::{folder_of, without_password};
use treering::remote;
use treering::{Error, ErrorCode, ErrorKind, Memory, Options, Origin, Result, Writer};

/// The variable with the most trusted class of what comes from the remote.
const CAP_VARIABLE: &str = "TREERING_TRUST_CAP";
/// The variable with the key file of an encrypted remote, when the clone is made.
const KEY_VARIABLE: &str = "TREERING_KEY_FILE";
/// The time in which an answer of the remote is not asked for again.
const FRESH: Duration = Duration::from_secs(5);
/// Why no fork is there.
const FORKS: &str = "forks do not travel to a remote";
/// Verbs that make no sense on a clone in the cache, with the reason.
const REFUSED: [(&str, &str); 15] = [
    ("init", "a remote is made by the first push"),
    ("erase", "others have clones of their own"),
    ("gc", "the clone in the cache is not yours to keep"),
    ("salvage", "the clone can be made anew"),
    ("trust-store", "the trust cap says how far you trust it"),
    ("remote", "the URL is the remote"),
    ("fork", FORKS),
    ("forks", FORKS),
    ("merge", FORKS),
    ("debug", "it keeps one state open"),
    ("serve", "it runs for long"),
    ("mcp", "its server runs for long"),
    ("install", "its server runs for long"),
    ("hook", "it must not wait for a network"),
    ("tour", "it needs a store of its own"),
];

/// How a verb opens the clone.
pub(crate) struct Access {
    pub(crate) options: Options,
    pub(crate) writer: Writer,
    /// Whether the user named a fork.
    pub(crate) has_fork: bool,
}

/// The state of a clone.
pub(crate) enum Refreshed {
    /// The clone has what the remote had a moment ago.
    Ready,
    /// The remote cannot be reached, so the clone may be old.
    Offline(Error),
    /// The remote is empty, so there is no clone.
    Empty(Error),
}

/// A remote that the user named as the store.
pub(crate) struct CachedRemote {
    url: String,
    folder: PathBuf,
}

impl CachedRemote {
    /// Returns the remote that a name of a store is; `None` for a folder.
    pub(crate) fn of(named: &Path) -> Option<Self> {
        let url = named.to_str().filter(|named| named.contains("://"))?;
        let cache = xdg_folder("XDG_CACHE_HOME", ".cache")?;
        let name = to_hex(&sha256(without_password(url).as_bytes()));
        Some(Self {
            url: url.to_owned(),
            folder: cache.join("remotes").join(&name[..32]),
        })
    }

    /// Returns the folder of the clone.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Returns the URL for messages.
    pub(crate) fn shown(&self) -> String {
        without_password(&self.url)
    }

    /// Refuses a verb that makes no sense here.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_over_remote`).
    pub(crate) fn check_verb(verb: &str) -> Result<()> {
        match REFUSED.iter().find(|(name, _)| *name == verb) {
            Some((_, why)) => Err(Self::refuse(verb, why)),
            None => Ok(()),
        }
    }

    fn refuse(verb: &str, why: &str) -> Error {
        let text = format!("{verb} does not work on the URL of a remote: {why}");
        let hint =
            "make a store of it with `clone URL DIR`, and keep it up to date there with `sync --watch`";
        refused(ErrorCode::NotOverRemote, text, hint)
    }

    /// Makes the clone if there is none, and else pulls if the newest answer of the remote is old. Offline, the clone stays as
    /// it is. `cap` returns the trust cap of a new clone.
    ///
    /// # Errors
    /// The errors of a clone and of a pull; `InvalidInput` if the user set another class than the clone has, or (code
    /// `not_over_remote`) named a fork.
    pub(crate) fn refresh(
        &self,
        access: &Access,
        cap: &mut dyn FnMut() -> Result<Origin>,
    ) -> Result<Refreshed> {
        if access.has_fork {
            return Err(Self::refuse("--fork", FORKS));
        }
        check_url(&self.url)?;
        if !self.is_cloned() {
            return match self.clone_now(access, cap) {
                Err(error) if is_empty(&error) && !self.is_unmounted() => Ok(Refreshed::Empty(error)),
                cloned => cloned.map(|()| Refreshed::Ready),
            };
        }
        // The user may have set another trust cap than the clone has.
        let entry = self.entry()?;
        if self.is_fresh() {
            return Ok(Refreshed::Ready);
        }
        let memory = access.options.clone().open(self.store())?;
        let pulled = entry
            .open()
            .and_then(|remote| remote.pull(&memory, &access.writer));
        memory.close()?;
        match pulled {
            Ok(_) => {
                self.note_answer();
                Ok(Refreshed::Ready)
            }
            Err(error) if error.code() == ErrorCode::RemoteUnreachable || is_empty(&error) => {
                Ok(Refreshed::Offline(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the folder above a folder is missing. It is probably on a disk that is not mounted.
    fn is_unmounted(&self) -> bool {
        folder_above(&self.url).is_some_and(|above| !above.exists())
    }

    fn is_cloned(&self) -> bool {
        self.store().join("format").exists()
    }

    /// Clones the remote. Of processes that do so at once, one keeps its clone.
    fn clone_now(&self, access: &Access, cap: &mut dyn FnMut() -> Result<Origin>) -> Result<()> {
        let failed = |error| Error::io(format_args!("making the folder {}", self.folder.display()), error);
        // INVARIANT CRM-2
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(failed)?;
        let cap = cap()?;
        let (new, store) = (self.folder.join(format!("new-{}", process::id())), self.store());
        let keys = remote_keys::load_if(key_file().as_ref())?;
        let cloned = remote::clone_with(&self.url, &new, cap, &access.options, keys.as_ref());
        let cloned = cloned.and_then(|(memory, cloned)| {
            memory.close()?;
            match cloned.remote {
                Some(_) => Ok(()),
                None => {
                    let text = format!("{} is a backup, and no remote", self.shown());
                    let hint = "make a store of it with treering clone URL DIR";
                    Err(refused(ErrorCode::NotARemote, text, hint))
                }
            }
        });
        match cloned.and_then(|()| fs::rename(&new, &store).map_err(failed)) {
            Ok(()) => {}
            Err(error) => {
                drop(fs::remove_dir_all(&new));
                // Another process may have been first.
                if !self.is_cloned() {
                    return Err(error);
                }
            }
        }
        let memory = access.options.clone().read_only(true).open(&store)?;
        self.adopt(&memory, cap)?;
        self.note_answer();
        Ok(())
    }

    /// Makes a new store in the cache the clone of a remote that is empty.
    pub(crate) fn begin(&self, memory: &Memory, cap: Origin) -> Result<()> {
        self.adopt(memory, cap)?;
        self.entry()?.create().map(drop)
    }

    /// Adds the remote to those of the clone.
    fn adopt(&self, memory: &Memory, cap: Origin) -> Result<()> {
        let entry = RemoteEntry::new(ORIGIN, &self.url, cap).encrypted(key_file().as_deref())?;
        match Remotes::of(memory)?.add(entry) {
            Err(error) if error.code() != ErrorCode::NameTaken => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the remote of the clone, as the user registered it.
    fn entry(&self) -> Result<RemoteEntry> {
        let store = Memory::id_of_store(&self.store())?;
        let entry = Remotes::of_store(&store)?.find(Some(ORIGIN))?;
        match named_cap()? {
            Some(cap) if cap != entry.cap() => {
                let text = format!(
                    "the clone of {} has the trust cap {}, but {CAP_VARIABLE} is {cap}",
                    self.shown(),
                    entry.cap()
                );
                let hint = format!(
                    "unset {CAP_VARIABLE}, or remove the clone {}",
                    self.folder.display()
                );
                Err(refused(ErrorCode::InvalidInput, text, hint))
            }
            _ => Ok(entry),
        }
    }

    /// Pushes what the clone has (CRM-1).
    ///
    /// # Errors
    /// Code `not_pushed`, with the kind of the cause.
    pub(crate) fn push(&self, memory: &Memory, writer: &Writer) -> Result<()> {
        let remote = self.entry().and_then(|entry| entry.open());
        let remote = remote.map_err(remote::not_pushed)?;
        remote.ack_remote(memory, writer, |_| Ok(()))?;
        self.note_answer();
        Ok(())
    }

    fn stamp(&self) -> PathBuf {
        self.folder.join("answered")
    }

    /// Notes that the remote answered now. Without the note, the next verb asks again.
    fn note_answer(&self) {
        drop(File::create(self.stamp()));
    }

    fn is_fresh(&self) -> bool {
        let answered = fs::metadata(self.stamp()).and_then(|stamp| stamp.modified());
        let age = answered
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age < FRESH)
    }
}

/// Returns the folder above the folder of a URL; `None` if the URL names no folder.
pub(crate) fn folder_above(url: &str) -> Option<PathBuf> {
    folder_of(url)?.parent().map(Path::to_owned)
}

/// Returns the path in the variable of the user.
fn key_file() -> Option<PathBuf> {
    let value = env::var_os(KEY_VARIABLE).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Returns the class in the variable of the user.
pub(crate) fn named_cap() -> Result<Option<Origin>> {
    let value = env::var(CAP_VARIABLE).ok().filter(|value| !value.is_empty());
    let cap = value.map(|value| Origin::from_text(&value)).transpose();
    cap.map_err(|error| error.context(CAP_VARIABLE))
}

/// Returns whether the place has nothing: no remote yet, or a disk that is not mounted.
fn is_empty(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && matches!(error.code(), ErrorCode::NotARemote | ErrorCode::NotFound)
}

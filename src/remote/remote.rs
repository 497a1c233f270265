//! A remote of a store, and the calls about it.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - REM-1: a remote whose generation is lower than one that was seen, or that another remote replaced, is refused before
//!   anything of it is used. So is one whose newest commit does not continue the one that was seen.

use std::sync::Arc;

use super::bucket::{Bucket, BucketError, Counted, KeyFault, Sealed, open_bucket, probe};
use super::keys::Keys;
use super::place::Place;
use super::{Pulled, RemoteState};
use crate::disk::random_bytes;
use crate::engine::{Known, Memory, Seen, Strategy, Writer, went_back};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::closed::{ClosedLog, FORMAT_FILE, MANIFEST_FILE, Purpose};
use crate::object::{Origin, check_snapshot_name};

/// A remote: a closed log in a bucket, to which several stores push their main line, and from which they pull what others
/// pushed.
///
/// ```
/// use treering::remote::Remote;
/// use treering::{Id, Kind, Memory, NewObject, Origin, Writer};
///
/// # let folder = std::env::temp_dir().join(format!("treering-remote-{}", std::process::id()));
/// # drop(std::fs::remove_dir_all(&folder));
/// let url = format!("file://{}", folder.join("shared").display());
/// let (laptop, ann) = (Memory::create(folder.join("laptop"))?, Writer::person("ann"));
/// laptop.put(NewObject::new(Id::new("plan")?, Kind::new("note")?), &ann)?;
///
/// let remote = Remote::create("origin", &url, Origin::DirectUser)?;
/// remote.push(&laptop, &ann)?;
/// assert_eq!(remote.pull(&laptop, &ann)?.fetched.commits, 0, "nobody else pushed");
/// # drop(laptop);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), treering::Error>(())
/// ```
pub struct Remote {
    pub(super) name: String,
    cap: Origin,
    pub(super) bucket: Arc<dyn Bucket>,
    #[cfg(feature = "signed")]
    pub(super) signing: super::signing::Signing,
    /// The same bucket, if it is encrypted.
    pub(super) sealed: Option<Arc<Sealed>>,
    #[cfg(any(test, feature = "testing"))]
    pub(super) is_patient: bool,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("name", &self.name)
            .field("cap", &self.cap)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Opens the remote at `url`, whose lines this store names `remote:NAME/LINE`. `cap` is the most trusted class of what
    /// comes from it.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the URL is invalid; `NotFound` if the folder of the remote does not exist; `Io`.
    pub fn open(name: &str, url: &str, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Self::on(name, open_bucket(url, false).map_err(unreachable)?, cap)
    }

    /// Opens the remote at `url` as [`Self::open`] does, and makes a missing folder.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the URL is invalid; `Io`.
    pub fn create(name: &str, url: &str, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Self::on(name, open_bucket(url, true).map_err(unreachable)?, cap)
    }

    /// Opens the remote in a bucket.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid.
    #[doc(hidden)]
    pub fn on(name: &str, bucket: Arc<dyn Bucket>, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Ok(Self {
            name: name.to_owned(),
            cap,
            bucket,
            #[cfg(feature = "signed")]
            signing: super::signing::Signing::default(),
            sealed: None,
            #[cfg(any(test, feature = "testing"))]
            is_patient: true,
        })
    }

    /// Encrypts what this store sends with the first of the keys, and decrypts what it gets. The remote must be empty or
    /// encrypted with one of them.
    ///
    /// Every call returns `InvalidInput` (code `wrong_key` or `not_encrypted`) if the keys do not fit. Without keys, the code
    /// is `no_key`.
    #[must_use]
    pub fn with_keys(self, keys: &Keys) -> Self {
        let sealed = Arc::new(Sealed::new(self.bucket, keys.clone()));
        Self {
            bucket: Arc::clone(&sealed) as Arc<dyn Bucket>,
            sealed: Some(sealed),
            ..self
        }
    }

    /// Returns whether the remote is encrypted with the first of the keys.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_encrypted`); `Io`.
    #[doc(hidden)]
    pub fn has_newest_key(&self) -> Result<bool> {
        let sealed = self.sealed()?;
        let current = sealed.is_current(FORMAT_FILE);
        Ok(current.map_err(|error| error.at(&**sealed, "cannot read"))? == Some(true))
    }

    /// Encrypts all files of the remote anew with the first of the keys. Returns their number. Others may push meanwhile.
    /// A call that was interrupted goes on where it stopped.
    ///
    /// # Errors
    /// `InvalidInput` (code `wrong_key` or `not_encrypted`); `Corrupt` if a file is damaged; `Io`.
    pub fn rotate(&self, memory: &Memory) -> Result<u64> {
        let sealed = self.sealed()?;
        let (place, mut rotated) = (self.place(memory), 0);
        let bucket = &place.bucket;
        let failed = |error: BucketError| error.at(bucket.bucket(), "cannot rewrite");
        loop {
            let before = rotated;
            let mut names = place.segment_names()?;
            // A reader begins with the format file, so it is last.
            names.extend([MANIFEST_FILE.to_owned(), FORMAT_FILE.to_owned()]);
            for name in names {
                if sealed.is_current(&name).map_err(failed)? != Some(false) {
                    continue;
                }
                let Some(stored) = bucket.find(&name, u64::MAX).map_err(failed)? else {
                    continue;
                };
                match bucket.swap(&name, &stored.version, &stored.bytes) {
                    // Another client replaced it meanwhile. The next round looks again.
                    Ok(_) | Err(BucketError::Stale) => rotated += 1,
                    Err(error) => return Err(failed(error)),
                }
            }
            if rotated == before {
                return Ok(rotated);
            }
        }
    }

    fn sealed(&self) -> Result<&Arc<Sealed>> {
        let fault = || KeyFault::NotEncrypted.at(&self.bucket.describe());
        self.sealed.as_ref().ok_or_else(fault)
    }

    /// Makes the calls repeat a request once and at once, for a simulated service.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    #[must_use]
    pub fn impatient(self) -> Self {
        Self {
            is_patient: false,
            ..self
        }
    }

    /// Tests whether the store of the remote honours conditional writes, and whether it can be a remote of `memory`.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_conditional_writes`, `not_a_remote` or `unrelated`); `Io`.
    #[doc(hidden)]
    pub fn check(&self, memory: &Memory) -> Result<RemoteState> {
        let place = self.place(memory);
        place.check_closed()?;
        let (probed, found) = (probe(&*self.bucket, random_bytes()?), place.format()?);
        match probed {
            // A user who may only read there can pull.
            Err(error) if found.is_some() && is_denied(&error) => {}
            probed => probed?,
        }
        let format = memory.inner.log.lock().log.format().to_owned();
        if let Some(found) = found {
            place.check_related(&found, &format)?;
            if let Some(published) = place.published(found)? {
                place.check_purpose(&published.log, Purpose::Shared)?;
            }
        }
        Self::known_state(&self.name, memory)
    }

    /// Returns whether the bucket keeps the bytes of what was replaced or deleted, as far as [`Self::check`] saw; `None` if
    /// that is unknown.
    #[doc(hidden)]
    pub fn keeps_old_bytes(&self) -> Option<bool> {
        self.bucket.keeps_old_bytes()
    }

    /// Returns how many commits of this store a remote lacks, and how many of the remote were fetched and not merged. Asks no
    /// remote.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn known_state(name: &str, memory: &Memory) -> Result<RemoteState> {
        let (ahead, behind) = memory.inner.distance_to_remote(Known::named(name))?;
        Ok(RemoteState { ahead, behind })
    }

    /// Forgets what was fetched from the remote and not merged. The remote stays as it is.
    ///
    /// # Errors
    /// The errors of [`Memory::commit`].
    #[doc(hidden)]
    pub fn forget(name: &str, memory: &Memory, writer: &Writer) -> Result<()> {
        memory.inner.forget_remote(Known::named(name), writer)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this store has read or written the remote before.
    pub(super) fn is_known(&self, memory: &Memory) -> Result<bool> {
        Ok(memory.inner.seen(self.known())?.is_some())
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known {
            name: &self.name,
            cap: self.cap,
        }
    }

    pub(super) fn place(&self, memory: &Memory) -> Place {
        let counted = Counted::new(Arc::clone(&self.bucket)).waiting(memory.inner.settings().wait);
        #[cfg(any(test, feature = "testing"))]
        let counted = if self.is_patient {
            counted
        } else {
            counted.impatient()
        };
        Place::of(counted)
    }

    /// Returns the writer of the commits of this remote (lane `remote/NAME`).
    pub(super) fn lane_of(&self, writer: &Writer) -> Writer {
        writer.clone().session(format!("remote/{}", self.name))
    }

    /// Reads the manifest, and returns an error if the remote has less than this store has seen of it (REM-1).
    ///
    /// # Errors
    /// `Corrupt` (code `remote_went_back`); the errors of a read.
    #[doc(hidden)]
    pub fn check_continues(&self, memory: &Memory) -> Result<()> {
        match memory.inner.seen(self.known())? {
            None => Ok(()),
            seen => Self::read_on(memory, &self.place(memory), None, seen).map(drop),
        }
    }

    /// Returns an error if the remote has less than this store has seen of it (REM-1).
    pub(super) fn check_seen(memory: &Memory, log: &ClosedLog, seen: Option<Seen>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        if log.format.instance != seen.instance {
            return Err(went_back("another remote took its place"));
        }
        if log.generation < seen.generation || log.last_batch() < seen.batch {
            return Err(went_back(
                "its manifest is older than the one that was seen before",
            ));
        }
        if log.generation == seen.generation && log.head != seen.head {
            return Err(went_back(
                "its manifest has the number of another one that was seen before",
            ));
        }
        // Others may have pushed on an older copy. Each commit of the main line has a higher seq than the one before.
        if log.head != seen.head && memory.inner.is_before(log.head, seen.head)? {
            return Err(went_back(
                "its newest commit is older than the one that was seen before",
            ));
        }
        Ok(())
    }

    /// Takes in what others pushed, and merges it into the main line. What comes from the remote gets at most its class.
    ///
    /// # Errors
    /// The errors of [`Self::fetch`] and of [`Merge::by`](crate::merge::Merge::by).
    pub fn pull(&self, memory: &Memory, writer: &Writer) -> Result<Pulled> {
        self.pull_by(memory, writer, None)
    }

    /// Pulls as [`Self::pull`] does, and decides about conflicts by a rule.
    ///
    /// # Errors
    /// The errors of [`Self::pull`].
    #[doc(hidden)]
    pub fn pull_by(&self, memory: &Memory, writer: &Writer, strategy: Option<Strategy>) -> Result<Pulled> {
        let (fetched, _open) = self.fetch_open(memory, writer)?;
        let merged = memory
            .inner
            .merge_remote(memory, self.known(), strategy, &self.lane_of(writer))?;
        Ok(Pulled { merged, fetched })
    }

    /// Returns what [`Self::pull_by`] would do after a fetch. Fetches, and merges nothing.
    ///
    /// # Errors
    /// The errors of [`Self::pull`].
    #[doc(hidden)]
    pub fn pull_preview(
        &self,
        memory: &Memory,
        writer: &Writer,
        strategy: Option<Strategy>,
    ) -> Result<Pulled> {
        let (fetched, _open) = self.fetch_open(memory, writer)?;
        let merged = memory
            .inner
            .preview_remote(memory, self.known(), strategy, &self.lane_of(writer))?;
        Ok(Pulled { merged, fetched })
    }
}

/// Names the error of a folder that cannot be opened: its disk may not be mounted.
fn unreachable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Io => error.with_code(ErrorCode::RemoteUnreachable),
        _ => error,
    }
}

/// Returns whether a service refused the caller.
fn is_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    matches!(source, Some(BucketError::Denied(_)))
}

fn check_name(name: &str) -> Result<()> {
    if check_snapshot_name(name).is_err() || name.contains('/') {
        let text = format!("a remote cannot have the name {name:?}");
        let hint = "use 1 to 64 letters, digits, `.`, `_` and `-`, and no form of a revision";
        return Err(Error::invalid(text).with_hint(hint));
    }
    Ok(())
}

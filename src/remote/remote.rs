//! A remote of a store, and the calls about it.
//!
//! # Layer
//! Layer 6.
//!
//! # Invariants
//! - REM-1: a remote whose generation is lower than one that was seen, or that another remote replaced, is refused before
//!   anything of it is used.

use std::sync::Arc;

use super::bucket::{Bucket, Counted, open_bucket, probe};
use super::place::Place;
use super::{Pulled, RemoteState};
use crate::disk::random_bytes;
use crate::engine::{Known, Memory, Seen, Strategy, Writer, went_back};
use crate::error::{Error, Result};
use crate::log::closed::{ClosedLog, Purpose};
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
/// let remote = Remote::open("origin", &url, Origin::DirectUser)?;
/// remote.push(&laptop, &ann)?;
/// assert_eq!(remote.pull(&laptop, &ann)?.fetched.commits, 0, "nobody else pushed");
/// # drop(laptop);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), treering::Error>(())
/// ```
pub struct Remote {
    pub(super) name: String,
    cap: Origin,
    bucket: Arc<dyn Bucket>,
    #[cfg(any(test, feature = "testing"))]
    is_patient: bool,
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
    /// `InvalidInput` if the name or the URL is invalid; `Io`.
    pub fn open(name: &str, url: &str, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Self::on(name, open_bucket(url, true)?, cap)
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
            #[cfg(any(test, feature = "testing"))]
            is_patient: true,
        })
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
        let place = self.place();
        place.check_closed()?;
        probe(&*self.bucket, random_bytes()?)?;
        let format = memory.inner.log.lock().log.format().to_owned();
        if let Some(found) = place.format()? {
            place.check_related(&found, &format)?;
            if let Some(published) = place.published(found)? {
                place.check_purpose(&published.log, Purpose::Shared)?;
            }
        }
        Self::known_state(&self.name, memory)
    }

    /// Returns how many commits of this store a remote lacks, and how many of the remote were fetched and not merged. Asks no
    /// remote.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn known_state(name: &str, memory: &Memory) -> Result<RemoteState> {
        let known = Known {
            name,
            cap: Origin::Import,
        };
        let (ahead, behind) = memory.inner.distance_to_remote(known)?;
        Ok(RemoteState { ahead, behind })
    }

    /// Forgets what was fetched from the remote and not merged. The remote stays as it is.
    ///
    /// # Errors
    /// The errors of [`Memory::commit`].
    #[doc(hidden)]
    pub fn forget(name: &str, memory: &Memory, writer: &Writer) -> Result<()> {
        let known = Known {
            name,
            cap: Origin::Import,
        };
        memory.inner.forget_remote(known, writer)
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known {
            name: &self.name,
            cap: self.cap,
        }
    }

    pub(super) fn place(&self) -> Place {
        let counted = Counted::new(Arc::clone(&self.bucket));
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

    /// Returns an error if the remote has less than this store has seen of it (REM-1).
    pub(super) fn check_seen(log: &ClosedLog, seen: Option<Seen>) -> Result<()> {
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
        let fetched = self.fetch(memory, writer)?;
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
        let fetched = self.fetch(memory, writer)?;
        let merged = memory
            .inner
            .preview_remote(memory, self.known(), strategy, &self.lane_of(writer))?;
        Ok(Pulled { merged, fetched })
    }
}

fn check_name(name: &str) -> Result<()> {
    check_snapshot_name(name).map_err(|error| error.context("the name of a remote"))?;
    if name.contains('/') {
        return Err(Error::invalid("the name of a remote contains '/'").with_hint("choose another name"));
    }
    Ok(())
}

//! Backups, clones and remotes: copies of a store in a bucket.
//!
//! A backup and a remote are closed logs: the files of a store that no process has open. A backup has all that the log of
//! one store has. Several stores push to a remote.
//!
//! # Layer
//! Layer 7. Knows buckets and batches. Nothing below it knows a bucket.

mod backup;
#[doc(hidden)]
pub mod bucket;
mod cache;
mod clone;
mod fetch;
mod gc;
mod join;
mod keys;
mod place;
mod push;
#[expect(
    clippy::module_inception,
    reason = "the type and the module have the name of the thing"
)]
mod remote;
mod rewrite;
#[cfg(feature = "signed")]
mod signing;
mod sync;
mod verify;

pub use backup::{BackedUp, backup, backup_with};
#[doc(hidden)]
pub use bucket::check_apart;
#[doc(hidden)]
pub use clone::Register;
#[cfg(any(test, feature = "testing"))]
pub(crate) use clone::clone_on;
pub use clone::{Cloned, clone, clone_with};
pub use keys::Keys;
pub use remote::Remote;
pub use sync::Synced;
#[doc(hidden)]
pub use sync::not_pushed;
pub use verify::VerifiedRemote;

use crate::digest::CommitDigest;
use crate::engine::{Memory, Merged};
use crate::error::Result;

/// The result of a push.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pushed {
    /// The name of the remote.
    pub remote: String,
    /// The number of commits of this store that the remote lacked.
    pub commits: u64,
    /// The number of bytes that were sent.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
    /// Whether the newest commit of the remote was signed before, as far as this store knows, and is not signed now.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "std::ops::Not::not"))]
    pub unsigned: bool,
}

/// The result of a fetch.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fetched {
    /// The name of the remote.
    pub remote: String,
    /// The number of commits of other machines that this store did not have.
    pub commits: u64,
    /// The number of bytes that were received.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
    /// The newest commit of the main line of the remote.
    pub head: CommitDigest,
    /// The number of records that others erased, and that this fetch erased here.
    pub erased: u64,
    /// The number of records that others erased, and that stay here: the cap of the remote is below `host`, or a demanded
    /// signature does not cover the erasure.
    pub not_erased: u64,
    /// What an erasure takes to erase those: ids, and digests of records without an id.
    pub kept: Vec<String>,
}

impl Fetched {
    /// Returns the result of a fetch that has not read anything yet.
    fn nothing(remote: &str, head: CommitDigest) -> Self {
        Self {
            remote: remote.to_owned(),
            commits: 0,
            bytes: 0,
            requests: 0,
            head,
            erased: 0,
            not_erased: 0,
            kept: Vec::new(),
        }
    }

    /// Adds what others erased and this store keeps.
    fn keep(&mut self, targets: impl IntoIterator<Item = String>) {
        self.kept.extend(targets);
        self.kept.sort_unstable();
        self.kept.dedup();
    }
}

/// The result of a collection of the garbage of a remote.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Collected {
    /// The name of the remote.
    pub remote: String,
    /// The names of the side lines that were dropped. Their commits were merged before.
    pub dropped: Vec<String>,
    /// The number of segments before the collection.
    pub segments_before: u64,
    /// The number of segments after it.
    pub segments: u64,
    /// The number of bytes before the collection.
    pub bytes_before: u64,
    /// The number of bytes after it.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
}

/// The result of a pull.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pulled {
    /// The merge.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub merged: Merged,
    /// What was fetched before it.
    pub fetched: Fetched,
}

/// How far a store and a remote are apart, as far as the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct RemoteState {
    /// The number of commits of this store that the remote lacks.
    pub ahead: u64,
    /// The number of commits of the remote that were fetched and not merged.
    pub behind: u64,
}

/// Backs a memory up to a bucket, and repeats no request, for a simulated service.
///
/// # Errors
/// The errors of [`backup`].
#[cfg(any(test, feature = "testing"))]
pub(crate) fn back_up_on(memory: &Memory, bucket: std::sync::Arc<dyn bucket::Bucket>) -> Result<BackedUp> {
    let bucket = bucket::Counted::new(bucket).impatient();
    backup::back_up(memory, &place::Place::of(bucket), "sim://backup")
}

/// The listener is told each time that so many bytes are done.
const TOLD_EVERY: u64 = 256 << 10;

/// Tells the listener of a memory how far a copy is.
struct Progress<'a> {
    memory: &'a Memory,
    doing: &'static str,
    done: u64,
    total: u64,
}

impl<'a> Progress<'a> {
    fn of(memory: &'a Memory, doing: &'static str, total: u64) -> Self {
        Self {
            memory,
            doing,
            done: 0,
            total,
        }
    }

    /// Notes that `bytes` more are done.
    ///
    /// # Errors
    /// `Interrupted` if the host stops the work.
    fn step(&mut self, bytes: u64) -> Result<()> {
        let (before, settings) = (self.done, self.memory.inner.settings());
        self.done += bytes;
        if self.done / TOLD_EVERY != before / TOLD_EVERY || before == 0 {
            settings.check_stop()?;
            settings.tell(self.doing, self.done, self.total.max(self.done));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

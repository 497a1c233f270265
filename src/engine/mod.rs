//! The one mutable place: a memory with its views, drafts, commits, snapshots and ways back.
//!
//! Reading takes a [`View`] and sees one state for ever. Writing stages a [`Draft`] and commits it; every
//! other verb that changes something is a commit or a reference too.
//!
//! # When the disk changes
//! 1. Creating a store.
//! 2. Appending a batch: a commit, a snapshot, a kept draft.
//! 3. Recovery by a writer that finds a tail it cannot trust.
//! 4. Rotation to a new segment.
//! 5. Making a checkpoint, after a commit or when a handle is closed.
//! 6. Writing the log anew: garbage collection and erasure.
//! 7. Salvage, which writes a store of its own.
//! 8. Keeping a derived file, and the stamps of use when a handle is synced or closed.
//!
//! All of it is the log's work; what a crash leaves after each step is in docs/durability.md. Reading, refreshing
//! and verifying change nothing.
//!
//! # Layer
//! L5. Nothing below reads the clock; nothing above touches the log.

mod attempt;
mod children;
mod commit;
mod covering;
mod derived;
mod doctor;
mod draft;
mod erase;
mod gc;
mod history;
mod index;
mod inspect;
mod kept_draft;
mod links;
mod memory;
mod named;
mod opening;
mod options;
mod policy;
mod query;
mod restore;
mod retention;
mod revision;
mod rollback;
mod salvage;
mod snapshot;
mod staging;
mod stamps;
mod standing;
mod state;
mod stats;
mod subtree;
mod tree;
mod verify;
mod view;
mod watch;
mod wordings;
mod writer;
mod writing;

#[cfg(test)]
mod tests;

pub use attempt::{Attempted, Check};
pub use commit::Committed;
pub use doctor::{Problem, ProblemSeverity, Remedy};
pub use draft::{Draft, Staged};
pub use erase::{ErasedKind, ErasedRecord, ErasedReport, Erasing};
pub use gc::GcReport;
pub use history::{Change, ChangeKind, ChangesOf, Commits, HistoryEntry};
pub use inspect::{CheckpointInfo, Meaning, Place};
pub use memory::Memory;
pub use options::{Clock, Durability, Options, Progress, ProgressListener, SystemClock};
pub use policy::{Limits, Verdict, WritePolicy};
pub use query::{Matches, Query};
pub use retention::Retention;
#[cfg(feature = "agent")]
pub(crate) use retention::forgets;
pub use revision::Revision;
pub use rollback::Reversing;
pub use salvage::SalvageReport;
pub use snapshot::{ReferenceInfo, SnapshotInfo};
#[cfg(feature = "agent")]
pub(crate) use standing::check_trusted;
pub use stats::{Containment, KindSpace, Space, Stats};
pub use verify::{Finding, FindingKind, VerifyDepth, VerifyReport};
pub use view::{CommitInfo, Objects, View};
pub use watch::HeadMoved;
pub use wordings::Wording;
pub use writer::Writer;

/// How far a clock may be off before it is not believed: a day.
const CLOCK_OFF_MICROS_MAX: i64 = crate::calendar::DAY_MICROS;
/// What is said of a store whose newest commit is further ahead than that.
pub(crate) const CLOCK_AHEAD: &str = "the newest commit is more than a day ahead of this machine's clock: until the clock gets there, each commit \
     is a microsecond later than the one before; expiry goes by the clock";

//! The engine, the only module that changes a store. It defines the memory handle, views, drafts, commits, snapshots,
//! rollback and restore.
//!
//! A reader uses a [`View`] of one state. A writer stages changes in a [`Draft`] and commits it. Other verbs that
//! change a state or its history, such as rollback, also write a commit or a reference.
//!
//! # When the disk changes
//! 1. Creating a store.
//! 2. Appending a batch: a commit, a snapshot, a fork or a saved draft. The first fork also replaces the format file.
//! 3. Recovery by a writer that finds bytes at the end of the log that may not be durable.
//! 4. Rotation to a new segment.
//! 5. Writing a checkpoint, after a commit or when a handle is closed.
//! 6. Rewriting the log: garbage collection and erasure.
//! 7. Salvage, which writes a new store.
//! 8. Writing a derived file, and writing the last-access times when a handle is synced or closed.
//!
//! The log writes the files. docs/durability.md describes the result of a crash after each step. Reading, refreshing
//! and verifying change no file.
//!
//! # Layer
//! Layer 5. Lower layers do not read the clock, and upper layers do not access the log.

mod inner;
mod memory;
mod open;
mod opened;
mod options;
mod read;
mod settings;
mod trace;
mod upkeep;
mod write;

#[cfg(test)]
mod tests;

pub use memory::Memory;
pub use opened::HeadMoved;
pub use options::Options;
pub use read::bisect::{Bisected, first_change};
pub use read::blame::{BlamedPart, Part};
pub use read::change::{Change, ChangeKind};
#[cfg(feature = "agent")]
pub(crate) use read::derived::{Derive, Derived, Keep, Version};
pub use read::history::{Commits, HistoryEntry};
#[cfg(feature = "agent")]
pub(crate) use read::holder::Holder;
pub use read::holder::Reached;
pub use read::inspect::{Meaning, checkpoints_in, inspection};
pub use read::ledger::{KnownId, LaneWork, Ledger, SortedIds};
pub use read::query::{Matches, Query};
pub use read::revision::{MAIN_LINE, Revision};
pub use read::selection::Selection;
pub use read::short_id::is_short_id;
#[cfg(feature = "agent")]
pub(crate) use read::state::State;
pub use read::stats::{Containment, KindSpace, Space, Stats};
pub use read::text_records::TextRecord;
pub use read::view::{CommitInfo, View};
pub use settings::{Clock, Durability, Limits, Progress, ProgressListener, SystemClock};
#[cfg(any(test, feature = "testing"))]
pub(crate) use upkeep::Cut;
#[cfg(feature = "remote")]
pub(crate) use upkeep::copy::{Copied, copied};
pub use upkeep::doctor::{Problem, ProblemSeverity, Remedy, UNREADABLE, examine_store};
pub use upkeep::erase::{ErasedKind, ErasedRecord, ErasedReport, Erasing};
pub use upkeep::gc::GcReport;
pub use upkeep::retention::Retention;
#[cfg(feature = "agent")]
pub(crate) use upkeep::retention::forgets;
pub use upkeep::salvage::salvage_store;
#[cfg(any(test, feature = "testing"))]
pub(crate) use upkeep::salvage::write as salvage_into;
#[cfg(any(test, feature = "testing"))]
pub(crate) use upkeep::verify::verified;
pub use upkeep::verify::{VerifyDepth, VerifyReport, verify_store};
#[cfg(feature = "agent")]
pub(crate) use upkeep::{
    derived_files::Layout,
    derived_writer::{derived_names, keep_as, remove_derived},
};

pub use crate::error::{Cause, Damage, Finding, FindingKind, Severity};
pub use crate::store::{CheckpointInfo, SalvageReport};
pub use write::LiveFork;
#[cfg(feature = "agent")]
pub(crate) use write::attempt::Refusal;
pub use write::attempt::{Attempted, Check};
pub use write::authorisation::Authorisation;
#[cfg(any(feature = "agent", feature = "signed"))]
pub(crate) use write::authorisation::check_trusted;
pub use write::draft::{Draft, Staged};
pub use write::fork::{Fork, ForkInfo};
pub use write::incoming::OriginRule;
#[cfg(feature = "remote")]
pub(crate) use write::intake::FetchedPart;
pub(crate) use write::merge::claims::SUPERSEDES;
pub use write::merge::conflict::MERGE_CONFLICT;
pub use write::merge::{
    Choice, ConflictSide, Conflicting, Merge, MergeConflict, Merged, OpenConflict, Resolution, Strategy,
};
pub use write::policy::{PolicyVerdict, WritePolicy};
#[cfg(all(feature = "remote", feature = "signed"))]
pub(crate) use write::push::Sent;
#[cfg(feature = "remote")]
pub(crate) use write::push::{Outgoing, PushPlan, PushTarget};
#[cfg(feature = "remote")]
pub(crate) use write::remote::{Known, Seen, has_signature, went_back};
pub use write::request::Committed;
pub use write::revert::{Conflicts, KeptObject, Revert, Reverted, RevertedObject};
pub use write::rollback::{Reversing, Rollback};
#[cfg(feature = "agent")]
pub use write::session::parent_session;
#[cfg(feature = "agent")]
pub(crate) use write::session::{SESSION_DEPTH_MAX, SESSION_PREFIX, session_line};
pub use write::settle::KeptBecause;
pub use write::snapshot::{ReferenceInfo, SnapshotInfo};
pub use write::writer::Writer;
#[cfg(feature = "remote")]
pub(crate) use write::{ReadLog, body_bytes};

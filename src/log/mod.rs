//! The log: an append-only sequence of batches, which many processes share. Only one process at a time writes to the
//! log.
//!
//! A batch is a sequence of records that is valid as a whole or not at all. Segments are files that contain batches. The
//! file of the active segment grows, and no file shrinks. A writer acquires the lock, catches up, appends, syncs, and then
//! updates `live`. Readers acquire no lock and write nothing. After a crash, the next writer seals the last
//! segment at the durable mark, and copies the complete batches after the mark into a new segment. Recovery changes no
//! old byte, so a crash may also interrupt recovery at any point.
//!
//! `commit.rs` describes the steps of a commit. `walk.rs` turns bytes into batches.
//!
//! # Layer
//! Layer 2. Handles bytes and the digests of batches, but does not interpret the bodies of records.
//!
//! # Limits
//! - A segment has at most 64 MiB by default, or the size of one larger group of batches, up to 64 GiB. A store has at
//!   most 1,048,576 segments.
//! - A handle has all segments open, and raises the soft limit of open files if necessary. Each crash of a writer adds
//!   a segment. Closing the store merges segments if there are more than 64 beyond the normal number.
//! - Writes fail on a nearly full disk if they would use the reserve: an eighth of the log. So a rewrite has room to remove old batches, or for a copy
//!   of any segment. Acknowledged commits remain.
//!
//! # Invariants
//! - LOG-1: writers never overwrite a byte before the end of the last durable batch.
//! - LOG-2: a seal declares durable only bytes that were synced before its batch was written. All bytes written since
//!   the last sync form one group.
//! - LOG-3: `append` with [`Durability::Synced`] returns only after the group is durable.
//! - LOG-4: the first invalid byte is damage if it is before the durable mark, and a torn tail if it is after. A reader
//!   never mistakes damage for the end of the log.
//! - LOG-5: after a failed write, sync or rename, the handle writes nothing more.
//! - LOG-6: readers never create, lock, write or shorten a file.
//! - LOG-7: batch numbers rise by one, even after a recovery. Numbers may be skipped at one place: after the rewritten
//!   segments.
//!
//! # After a crash
//! docs/durability.md lists every change on the disk, and the result of a crash at each change.
//!
//! # Format
//! docs/format.md, from "Files of a store" on.

mod batch;
mod catch_up;
mod check;
#[cfg(feature = "remote")]
pub(crate) mod closed;
mod commit;
mod create;
mod files;
mod fixed;
mod format_file;
mod frame;
mod handle;
mod inspect;
mod leftovers;
mod live;
mod lock;
mod manifest;
mod memory;
mod old_segments;
mod position;
mod reader;
mod recover;
mod rewrite;
mod rotate;
mod salvage;
mod seal;
mod segment;
mod walk;

pub use batch::{Batch, BatchBuilder, HeadMark, Locator, Position, Record};
pub use check::CheckItem;
pub use commit::Durability;
pub(crate) use commit::not_rewritten;
pub(crate) use files::{epoch_in, undecodable};
pub(crate) use fixed::{Fixed, fields, layout};
pub use format_file::{FORMAT, Format, Mode};
#[cfg(feature = "remote")]
pub(crate) use format_file::{FormatSeal, seal_format, sealed_format};
pub(crate) use frame::framed_bytes;
pub use frame::{BODY_BYTES_MAX, LINK_BYTES, RecordKind, UNLINK_BYTES, UNLINKED, cap_in, with_cap};
pub use handle::{DurablePlaces, Log, LogOptions, Tail};
pub use inspect::{
    Found, Frame, Frames, Inspection, Layout, Part, SegmentStanding, SegmentState, StoreFile, link_parts,
    seal_parts, unlink_parts,
};
pub(crate) use live::LIVE_NAME;
pub(crate) use lock::{COMPACTION_LOCK_NAME, LOCK_NAME};
pub use lock::{CompactionLock, WriteLock};
pub use old_segments::OldSegment;
pub use reader::{LogReader, Peeked};
pub use recover::NextWriter;
pub use rewrite::{Rewrite, Rewritten, Seal};
pub use salvage::{DamagedLog, Piece};
pub(crate) use segment::LOG_FOLDER;
pub use segment::segment_name;
pub use walk::Frame as ReadFrame;

#[cfg(test)]
mod tests;

//! The log: an append-only sequence of batches, which many processes share. One process at a time writes it.
//!
//! A batch is a sequence of records that is valid as a whole or not at all. Segments are files that contain batches;
//! they are created with their full size and never grow. A writer takes the lock, catches up, appends, syncs and only
//! then writes `live`. Readers take no lock and write nothing. After a crash, the next writer seals the last segment at
//! the durable mark. It writes the complete batches after the mark again, into a new segment. No old byte ever changes,
//! so recovery may be interrupted at any point too.
//!
//! `commit.rs` describes the steps of a commit. `walk.rs` turns bytes into batches.
//!
//! # Layer
//! Layer 2. Knows bytes and the digests of batches, not the meaning of bodies.
//!
//! # Limits
//! - A segment has 64 MiB by default, or the size of one group of batches, which is below 64 GiB. A store has at most
//!   1,048,576 segments.
//! - A handle keeps all segments open, and raises the soft limit of open files if necessary. Each crash of a writer
//!   leaves a segment. Closing the store merges them if there are more than 64 beyond the normal number.
//! - On a nearly full disk, the next segment is as small as possible. Writes fail if 64 KiB, or the batch, do not fit.
//!   Acknowledged commits are kept.
//!
//! # Invariants
//! - LOG-1: no byte before the end of the last durable batch is ever written again.
//! - LOG-2: a seal declares durable only bytes that were synced before its batch was written. All bytes written since
//!   the last sync form one group.
//! - LOG-3: `append` with [`Durability::Synced`] returns only after the group is durable.
//! - LOG-4: the first invalid byte is damage if it is before the durable mark, and a torn tail if it is after. Damage
//!   is never taken for the end of the log.
//! - LOG-5: after a failed write, sync or rename, the handle writes nothing more.
//! - LOG-6: reading never creates, locks, writes or shortens anything.
//! - LOG-7: batch numbers rise by one, also across recoveries. After a rewritten part they may skip once.
//!
//! # After a crash
//! docs/durability.md lists every change of the disk and the result of a crash there.
//!
//! # Format
//! docs/format.md, from "Files of a store" on.

mod batch;
mod catch_up;
mod check;
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
pub(crate) use files::undecodable;
pub(crate) use fixed::{Fixed, fields, layout};
pub use format_file::{FORMAT, Format, Mode};
pub use frame::{BODY_BYTES_MAX, LINK_BYTES, RecordKind, UNLINK_BYTES, UNLINKED};
pub use handle::{DurablePlaces, Log, LogOptions, Tail};
pub use inspect::{
    Found, Frame, Frames, Inspection, Layout, Part, SegmentStanding, SegmentState, StoreFile, link_parts,
    seal_parts, unlink_parts,
};
pub(crate) use lock::{COMPACTION_LOCK_NAME, LOCK_NAME};
pub use lock::{CompactionLock, WriteLock};
pub use reader::{LogReader, Peeked};
pub use recover::NextWriter;
pub use rewrite::{Rewrite, Rewritten};
pub use salvage::{DamagedLog, Piece};
pub(crate) use segment::LOG_FOLDER;
pub use segment::segment_name;

#[cfg(test)]
mod tests;

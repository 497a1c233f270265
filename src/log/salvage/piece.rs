//! A batch of a damaged log, whole or in part.
//!
//! # Layer
//! L2. Part of salvage/.

use crate::log::batch::Record;
use crate::log::frame::{FRAME_ALIGNMENT, FrameHeader, RecordKind, parse_frame};
use crate::log::seal::Chain;
use crate::log::walk::{Scanned, Stop, Window};

use super::files::DamagedFile;

/// The whole records of one batch, or of a part of it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of the batch.
    pub number: u64,
    /// Whether the batch is complete and matches its digest.
    pub whole: bool,
    /// The age of its segment: a higher age is newer. Segments of one manifest share one age, because rewritten ones
    /// have higher numbers than those appended to meanwhile.
    pub age: u64,
    /// The log of its segment: batch numbers are comparable only within one chain, because a rewrite numbers batches
    /// again. Segments are of one chain if one manifest lists them, or if the header of one names the other.
    pub chain: u64,
    /// Whether an unlisted segment contains it, written by a rewrite without evidence of its publication. The manifest
    /// lists another log, which is complete.
    pub orphaned: bool,
    /// Its records, in order. Their places are valid only for [`DamagedLog::read`](super::DamagedLog::read).
    pub records: Vec<Record>,
}

impl Piece {
    fn of(number: u64, file: &DamagedFile) -> Self {
        Self {
            number,
            whole: false,
            age: file.age,
            chain: file.chain,
            orphaned: file.orphaned,
            records: Vec::new(),
        }
    }
}

/// Returns the chain before a batch of this number, whatever the digest before it is.
pub(super) fn before(number: u64) -> Chain {
    Chain {
        batch: number.wrapping_sub(1),
        digest: None,
    }
}

/// Reads the batch that starts at `at`, whatever its number.
pub(super) fn batch_here(window: &Window, at: u64) -> Result<Scanned, Stop> {
    let header = FrameHeader::parse(window.rest(at), window.origin.seed, at)
        .map_err(|cause| Stop { offset: at, cause })?;
    window.batch_at(at, before(header.batch))
}

/// Returns a whole batch as a piece.
pub(super) fn whole_piece(scanned: Scanned, file: &DamagedFile) -> Piece {
    Piece {
        whole: true,
        records: scanned.batch.records,
        ..Piece::of(scanned.batch.number, file)
    }
}

/// Returns the whole records of a damaged batch that starts at or after `start`, and the offset at which to continue.
pub(super) fn broken_piece(window: &Window, start: u64, file: &DamagedFile) -> (Option<Piece>, u64) {
    let mut piece: Option<Piece> = None;
    let mut at = start;
    while at < window.end() {
        let rest = window.rest(at);
        let Ok(header) = FrameHeader::parse(rest, window.origin.seed, at) else {
            at += FRAME_ALIGNMENT as u64;
            continue;
        };
        let is_next = match &piece {
            Some(piece) => piece.number != header.batch,
            None => at > start && window.batch_at(at, before(header.batch)).is_ok(),
        };
        if is_next {
            break;
        }
        let piece = piece.get_or_insert_with(|| Piece::of(header.batch, file));
        let place = at;
        at += header.framed_bytes() as u64;
        if parse_frame(rest, window.origin.seed, place).is_err() {
            continue;
        }
        if header.kind == RecordKind::Seal {
            break;
        }
        piece.records.extend(window.record(&header, place));
    }
    (piece, at.max(start + FRAME_ALIGNMENT as u64))
}

//! A batch of a damaged log, complete or in part.
//!
//! # Layer
//! Layer 2. Part of salvage/.

use crate::log::batch::Record;
use crate::log::frame::{FRAME_ALIGNMENT, FrameHeader, RecordKind, parse_frame};
use crate::log::seal::Chain;
use crate::log::walk::{Scanned, Stop, Window};

use super::files::DamagedFile;

/// The intact records of one batch, or of a part of it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The number of the batch.
    pub number: u64,
    /// Whether the batch is complete and matches its digest.
    pub whole: bool,
    /// The age of the segment; a higher age is newer. Segments of one manifest have the same age, because rewritten
    /// segments have higher numbers than the newer ones appended meanwhile.
    pub age: u64,
    /// The chain of the segment. Batch numbers can be compared only within one chain, because a rewrite numbers batches
    /// again. Two segments are of one chain if one manifest lists both, or if the header of one names the other.
    pub chain: u64,
    /// Whether the batch is in an unlisted segment of a rewrite that may not have been published. The manifest lists
    /// another log, which is complete.
    pub orphaned: bool,
    /// The records of the batch, in order. Their places are valid only for
    /// [`DamagedLog::read`](super::DamagedLog::read).
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

/// Reads the batch that starts at `at`, with any number.
pub(super) fn batch_here(window: &Window, at: u64) -> Result<Scanned, Stop> {
    let header = FrameHeader::parse(window.rest(at), window.origin.seed, at)
        .map_err(|cause| Stop { offset: at, cause })?;
    window.batch_at(at, Chain::before(header.batch))
}

/// Returns a complete batch as a piece.
pub(super) fn whole_piece(scanned: Scanned, file: &DamagedFile) -> Piece {
    Piece {
        whole: true,
        records: scanned.batch.records,
        ..Piece::of(scanned.batch.number, file)
    }
}

/// Returns the intact records of a damaged batch that starts at or after `start`, and the offset at which to continue.
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
            None => at > start && window.batch_at(at, Chain::before(header.batch)).is_ok(),
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

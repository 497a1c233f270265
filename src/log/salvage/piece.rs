//! A batch of a damaged log, whole or in part.
//!
//! # Layer
//! L2. Part of salvage/.

use crate::log::batch::{Locator, Record};
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
    /// Places of its records of ignorable kinds, for [`DamagedLog::read_ignorable`](super::DamagedLog::read_ignorable).
    pub ignorable: Vec<Locator>,
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
            ignorable: Vec::new(),
        }
    }

    /// Adds the record at `at`, whose checksums match.
    fn add(&mut self, window: &Window, header: &FrameHeader, at: u64) {
        let locator = Locator::new(window.origin.segment, at);
        let Some(kind) = RecordKind::from_tag(header.kind) else {
            self.ignorable.push(locator);
            return;
        };
        let start = (at - window.base) as usize + header.body_range().start;
        let body = window.bytes.slice(start..start + header.body_length);
        self.records.extend(body.map(|body| Record {
            kind,
            flags: header.flags,
            locator,
            batch: header.batch,
            body,
        }));
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

/// Returns all records of a whole batch.
pub(super) fn whole_piece(window: &Window, scanned: &Scanned, file: &DamagedFile) -> Piece {
    let mut piece = Piece::of(scanned.batch.number, file);
    piece.whole = true;
    let mut at = scanned.start;
    while at < scanned.start + scanned.length {
        let Ok(header) = FrameHeader::parse(window.rest(at), window.origin.seed, at) else {
            break;
        };
        piece.add(window, &header, at);
        at += header.framed_bytes() as u64;
    }
    piece
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
        if header.kind == RecordKind::Seal as u8 {
            break;
        }
        piece.add(window, &header, place);
    }
    (piece, at.max(start + FRAME_ALIGNMENT as u64))
}

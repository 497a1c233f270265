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
    /// Whether all of it is there, under its digest.
    pub whole: bool,
    /// How new its segment is: a higher age is newer. Those that one manifest lists are of one age, because rewritten ones
    /// have higher numbers than those that were appended to meanwhile.
    pub age: u64,
    /// Which log its segment is of: the numbers of batches count among those of one chain only, because a rewrite numbers
    /// them anew. Segments are of one chain if one manifest lists them, or if the header of one names the other.
    pub chain: u64,
    /// Whether a rewrite wrote it that nothing in the log shows to have counted: the manifest does not list its segment, and lists
    /// another log, all of which is there.
    pub orphaned: bool,
    /// Its records, in order. Their places count for [`DamagedLog::read`](super::DamagedLog::read) only.
    pub records: Vec<Record>,
    /// Where its records are of a kind that this version may ignore, for [`DamagedLog::read_ignorable`](super::DamagedLog::read_ignorable).
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

/// The chain before a batch of this number, whatever the digest before it is.
pub(super) fn before(number: u64) -> Chain {
    Chain {
        batch: number.wrapping_sub(1),
        digest: None,
    }
}

/// The batch that starts at `at`, whatever its number.
pub(super) fn batch_here(window: &Window, at: u64) -> Result<Scanned, Stop> {
    let header = FrameHeader::parse(window.rest(at), window.origin.seed, at)
        .map_err(|cause| Stop { offset: at, cause })?;
    window.batch_at(at, before(header.batch))
}

/// All records of a batch that is whole.
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

/// The records that are whole of a damaged batch that starts at or behind `start`, and where to go on.
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

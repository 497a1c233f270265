//! `inspect frames`: lists the frames of the log, and the gaps between them.
//!
//! # Layer
//! Layer 10, part of cli.

use bytes::Bytes;

use crate::cli::commands::get::version_of;
use crate::cli::commands::prelude::*;
use treering::inspect::digest::HashSuite;
use treering::inspect::engine;
use treering::inspect::log;
use treering::inspect::log::{Found, Frame, Inspection, RecordKind};
use treering::inspect::object::Reference;
use treering::inspect::store::MAP_ENTRY_BYTES;
use treering::{Commit, HashAlgorithm};

/// List the frames of the log, and the gaps between them
///
/// # Notes
/// A seal ends each batch: --kind seal lists the batches.
///
/// # Examples
/// ```text
/// treering inspect frames --limit 10
/// treering inspect frames 1 --from 4096
/// treering inspect frames --batch 2
/// treering inspect frames --of tea
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Frames {
    /// The segment to read [default: all segments]
    segment: Option<u64>,
    /// Only frames at or after this offset of the segment
    #[arg(long, value_name = "OFFSET", requires = "segment")]
    from: Option<u64>,
    /// Only the records of this batch
    #[arg(long, value_name = "N")]
    batch: Option<u64>,
    /// Only records of this kind: object, content, text, commit, seal, ...
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only the records of this object in the state, or of this version
    #[arg(long, value_name = "ID|DIGEST", conflicts_with_all = ["segment", "batch", "kind"])]
    of: Option<String>,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// A frame, or a gap between frames.
#[derive(Serialize, JsonSchema)]
pub(super) struct FrameRow {
    /// The location in the form `SEGMENT:OFFSET`, which `inspect hex` accepts.
    frame: String,
    /// The kind of the record. For bytes without a record: `gap` if they are damaged, otherwise `unused`.
    kind: &'static str,
    batch: Option<u64>,
    body_bytes: u64,
    /// The meaning of the record, or the cause of its damage.
    says: Option<String>,
    #[serde(skip)]
    is_damaged: bool,
}

impl Frames {
    pub(super) fn run(self, context: &mut Context) -> Done {
        let inspection = engine::inspection(context.store()?)?;
        let rows = match &self.of {
            Some(of) => holding(context, inspection, of)?,
            None => self.found(context, inspection)?,
        };
        let count = context.write_rows(rows.take(self.limit.unwrap_or(usize::MAX)), |row, context| {
            let says = row.says.as_deref().unwrap_or_default();
            let says = if row.is_damaged {
                coloured(Meaning::Bad, says)
            } else {
                plain(says)
            };
            let mut cells = columns(row, &["frame", "kind", "batch", "body_bytes"], context);
            cells.push(("says", says));
            cells
        })?;
        if let (Some(batch), 0) = (self.batch, count) {
            let error = Error::not_found(format!("the log contains no frame of batch {batch}"));
            let hint = "treering inspect frames --kind seal lists the batches";
            return Err(error.with_hint(hint));
        }
        if count == 0 {
            context.output.nothing_found();
        }
        Ok(DONE)
    }

    /// Returns the requested frames and gaps, in the order of the log.
    fn found(&self, context: &Context, inspection: Inspection) -> Result<Rows> {
        let segments = self.segments(&inspection)?.into_iter();
        let (batch, kind) = (self.batch, self.kind.clone());
        let from = self.from.unwrap_or_default();
        let check_stop = context.stopper();
        let rows = segments.flat_map(move |segment| rows_of(&inspection, segment, from));
        let is_wanted = move |row: &FrameRow| {
            batch.is_none_or(|batch| row.batch == Some(batch))
                && kind.as_ref().is_none_or(|kind| row.kind == kind)
        };
        let rows = rows.map(move |row| check_stop().and(row));
        Ok(Box::new(
            rows.filter(move |row| row.as_ref().map_or(true, &is_wanted)),
        ))
    }

    /// Returns the segments to read: the named segment, or all segments that may contain the batch.
    fn segments(&self, inspection: &Inspection) -> Result<Vec<u64>> {
        if let Some(segment) = self.segment {
            return Ok(vec![segment]);
        }
        let mut segments = inspection.segments()?;
        segments.retain(|segment| {
            let (first, last) = (segment.first_batch, segment.last_batch);
            let holds =
                |batch| first.is_none_or(|first| first <= batch) && last.is_none_or(|last| batch <= last);
            segment.file_bytes.is_some() && self.batch.is_none_or(holds)
        });
        let mut segments: Vec<u64> = segments.into_iter().map(|segment| segment.id).collect();
        segments.dedup();
        Ok(segments)
    }
}

/// An iterator of rows, which reads the log on demand.
type Rows = Box<dyn Iterator<Item = Result<FrameRow>>>;

/// Returns the rows of one segment.
fn rows_of(inspection: &Inspection, segment: u64, from: u64) -> Rows {
    match inspection.frames(segment, from) {
        Ok(frames) => Box::new(frames.map(move |found| Ok(FrameRow::of(segment, found?)))),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// Returns the frames of an object in the state, or of the version that a digest names.
fn holding(context: &mut Context, inspection: Inspection, wanted: &str) -> Result<Rows> {
    let (memory, view) = context.open_view()?;
    // An id has priority over a digest, because the user can type more digits of a digest.
    let id = Id::new(wanted).ok();
    let hint = "treering history ID lists the versions of a removed object";
    let object = match id.map(|id| view.get(&id)).transpose()?.flatten() {
        Some(object) => object,
        None => version_of(&memory, &view, wanted).map_err(|error| error.with_hint(hint))?,
    };
    let places = memory.places(&object)?.into_iter();
    Ok(Box::new(places.filter_map(move |place| {
        rows_of(&inspection, place.segment(), place.offset()).next()
    })))
}

impl FrameRow {
    fn of(segment: u64, found: Found) -> Self {
        match found {
            Found::Frame(frame) => Self {
                frame: format!("{segment}:{}", frame.offset),
                kind: frame.kind.name(),
                batch: Some(frame.batch),
                body_bytes: frame.body.len() as u64,
                is_damaged: frame.trouble.is_some(),
                says: match &frame.trouble {
                    Some(trouble) => Some(format!("damaged: {trouble}")),
                    None => meaning(&frame),
                },
            },
            Found::Gap {
                offset,
                bytes,
                trouble,
            } => Self {
                frame: format!("{segment}:{offset}"),
                kind: if trouble.is_some() { "gap" } else { "unused" },
                batch: None,
                body_bytes: bytes,
                is_damaged: trouble.is_some(),
                says: Some(trouble.map_or_else(|| "only zeros follow".to_owned(), |cause| cause.to_string())),
            },
        }
    }
}

/// Describes a record in one line. Returns `None` if the body of the record does not decode.
fn meaning(frame: &Frame) -> Option<String> {
    // Decoding with any suite returns the same fields; only the digests differ.
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let ids = |each: usize| counted((frame.body.len() / each) as u64, "id");
    Some(match frame.kind {
        RecordKind::Object => {
            let object = Object::decode(Bytes::from(frame.body.clone()), suite).ok()?;
            format!("{} ({})", object.id(), object.kind())
        }
        RecordKind::Commit => {
            let commit = Commit::decode(&frame.body).ok()?;
            format!("seq:{} {} at {}", commit.seq, commit.op.as_str(), commit.time)
        }
        RecordKind::Reference | RecordKind::Line => {
            Reference::decode(&frame.body).ok()?.name.as_str().to_owned()
        }
        RecordKind::Seal => seal_meaning(frame)?,
        RecordKind::Link => ids(log::LINK_BYTES) + " linked",
        RecordKind::Unlink => ids(log::UNLINK_BYTES) + " unlinked",
        RecordKind::Base | RecordKind::Delta => ids(MAP_ENTRY_BYTES) + " in the map",
        RecordKind::Gap => {
            let (first, digests) = frame.body.split_first_chunk::<8>()?;
            let commits = counted((digests.len() / 32) as u64, "commit");
            format!("{commits} from seq:{}, thinned", u64::from_le_bytes(*first))
        }
        RecordKind::Erased => {
            let [_, digest, by] = frame.body.as_chunks::<32>().0 else {
                return None;
            };
            format!(
                "the record {} was here until commit {} erased it",
                short(digest),
                short(by)
            )
        }
        RecordKind::Content | RecordKind::Text => {
            String::from_utf8_lossy(&frame.body).chars().take(100).collect()
        }
        RecordKind::Ignorable(_) => return None,
    })
}

/// Describes the batch that a seal ends: its start, and the head after the batch.
fn seal_meaning(frame: &Frame) -> Option<String> {
    let parts = log::seal_parts(&frame.body, 0);
    let part = |name: &str| parts.iter().find(|part| part.name == name);
    let start = u64::from_le_bytes(part("start")?.bytes.as_slice().try_into().ok()?);
    let commit: [u8; 32] = part("commit")?.bytes.as_slice().try_into().ok()?;
    Some(format!("batch from offset {start}, head {}", short(&commit)))
}

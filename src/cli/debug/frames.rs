//! Frames and what is in them: listed, and byte by byte.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::arguments::Arguments;
use super::files::FIELD_SHOWN;
use super::hex;
use super::rows::{Rows, absent, count, marked, maybe, name, text};
use super::shell::Shell;
use crate::bytes::Bytes;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{counted, short};
use crate::cli::output::{Meaning, Output};
use crate::digest::{HashAlgorithm, HashSuite};
use crate::error::{Cause, Error, Result};
use crate::log::{self, Found, Frame, Inspection, Part, RecordKind, SegmentStanding, SegmentState};
use crate::object::{Commit, Encoding, Object, Reference, encoded_fields};
use crate::store::MAP_ENTRY_BYTES;

/// The segment that holds a batch, as far as the manifest says; all of them if it does not.
fn segments_of(inspection: &Inspection, batch: u64) -> Result<Vec<SegmentState>> {
    let mut segments = inspection.segments()?;
    segments.retain(|segment| {
        segment.first_batch.is_none_or(|first| first <= batch)
            && segment.last_batch.is_none_or(|last| batch <= last)
    });
    Ok(segments)
}

pub(super) fn records(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let wanted = arguments.parse_number(arguments.needed(0)?)?;
    let inspection = shell.inspection()?;
    let mut listing = Listing::new();
    for segment in segments_of(&inspection, wanted)? {
        for found in inspection.frames(segment.id, 0)? {
            shell.context.output.check_stop()?;
            match found? {
                Found::Frame(frame) if frame.batch == wanted => {
                    listing.frame(&mut shell.context.output, segment.id, &frame)?;
                }
                Found::Frame(frame) if frame.batch > wanted => break,
                _ => {}
            }
        }
    }
    if listing.shown == 0 {
        let error = Error::not_found(format!("no frame of batch {wanted} is there"));
        return Err(error.with_hint("batches lists them").into());
    }
    listing.table.finish(&mut shell.context.output)?;
    Ok(DONE)
}

pub(super) fn frames(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let inspection = shell.inspection()?;
    let segment = match arguments.word(0) {
        Some(id) => arguments.parse_number(id)?,
        None => {
            let segments = inspection.segments()?;
            let active = segments
                .iter()
                .find(|segment| segment.state == SegmentStanding::Active)
                .or(segments.last());
            active
                .map(|segment| segment.id)
                .ok_or_else(|| Error::not_found("the log has no segment"))?
        }
    };
    let from = arguments.number("--from")?.unwrap_or_default();
    let mut listing = Listing::new();
    let output = &mut shell.context.output;
    for found in inspection.frames(segment, from)?.take(arguments.limit()?) {
        match found? {
            Found::Frame(frame) => listing.frame(output, segment, &frame)?,
            Found::Gap {
                offset,
                bytes,
                trouble,
            } => listing.gap(output, segment, offset, bytes, trouble.as_ref())?,
        }
    }
    listing.table.finish(output)?;
    Ok(DONE)
}

/// Frames as rows.
struct Listing {
    table: Rows,
    shown: usize,
}

impl Listing {
    fn new() -> Self {
        let table = Rows::new(&["frame", "kind", "batch", "body bytes", "says"]);
        Self { table, shown: 0 }
    }

    fn frame(&mut self, output: &mut Output, segment: u64, frame: &Frame) -> Result<(), Failure> {
        self.shown += 1;
        let says = match &frame.trouble {
            Some(trouble) => marked(Meaning::Bad, format!("damaged: {trouble}")),
            None => maybe(gist(frame).as_deref()),
        };
        let fields = vec![
            name(format!("{segment}:{}", frame.offset)),
            text(log::kind_name(frame.kind)),
            count(frame.batch),
            count(frame.body.len() as u64),
            says,
        ];
        self.table.row(output, fields)
    }

    fn gap(
        &mut self,
        output: &mut Output,
        segment: u64,
        offset: u64,
        length: u64,
        trouble: Option<&Cause>,
    ) -> Result<(), Failure> {
        self.shown += 1;
        let (kind, says) = match trouble {
            Some(trouble) => (
                marked(Meaning::Bad, "gap"),
                marked(Meaning::Bad, trouble.to_string()),
            ),
            None => (text("unused"), text("zeros up to the end")),
        };
        let fields = vec![
            name(format!("{segment}:{offset}")),
            kind,
            absent(),
            count(length),
            says,
        ];
        self.table.row(output, fields)
    }
}

/// What a record says, in a line.
fn gist(frame: &Frame) -> Option<String> {
    // Which hash is the store's does not matter for reading what a record says.
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let body = || Bytes::from(frame.body.clone());
    Some(match frame.kind {
        kind if kind == RecordKind::Object as u8 => {
            let object = Object::decode(body(), suite).ok()?;
            format!("{} ({})", object.id(), object.kind())
        }
        kind if kind == RecordKind::Commit as u8 => {
            let commit = Commit::decode(&frame.body).ok()?;
            format!("seq:{} {} of {}", commit.seq, commit.op.as_str(), commit.time)
        }
        kind if kind == RecordKind::Reference as u8 => {
            Reference::decode(&frame.body).ok()?.name.as_str().to_owned()
        }
        kind if kind == RecordKind::Seal as u8 => {
            let parts = log::seal_parts(&frame.body, 0);
            let start = parts.iter().find(|part| part.name == "start")?;
            format!(
                "ends the batch that starts at {}",
                u64::from_le_bytes(start.bytes.as_slice().try_into().ok()?)
            )
        }
        kind if kind == RecordKind::Link as u8 => {
            counted((frame.body.len() / log::LINK_BYTES) as u64, "id") + " linked"
        }
        kind if kind == RecordKind::Unlink as u8 => {
            counted((frame.body.len() / log::UNLINK_BYTES) as u64, "id") + " unlinked"
        }
        kind if kind == RecordKind::Gap as u8 => {
            let (first, digests) = frame.body.split_first_chunk::<8>()?;
            let count = counted((digests.len() / 32) as u64, "commit");
            format!("{count} from seq:{} on, thinned", u64::from_le_bytes(*first))
        }
        kind if kind == RecordKind::Erased as u8 => {
            let digests: Vec<_> = frame.body.as_chunks::<32>().0.iter().map(short).collect();
            let [_, digest, by] = digests.as_slice() else {
                return None;
            };
            format!("{digest} was here, erased by commit {by}")
        }
        kind if kind == RecordKind::Base as u8 || kind == RecordKind::Delta as u8 => {
            counted((frame.body.len() / MAP_ENTRY_BYTES) as u64, "id") + " stated"
        }
        _ => String::from_utf8_lossy(&frame.body).chars().take(100).collect(),
    })
}

pub(super) fn frame(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let typed = arguments.needed(0)?;
    let (segment, offset) = typed
        .split_once(':')
        .ok_or_else(|| arguments.refuse(&format!("'{typed}' is not SEGMENT:OFFSET")))?;
    let (segment, offset) = (arguments.parse_number(segment)?, arguments.parse_number(offset)?);
    let most = if arguments.has("--all") {
        usize::MAX
    } else {
        FIELD_SHOWN
    };
    let found = shell.inspection()?.frames(segment, offset)?.next().transpose()?;
    let frame = match found {
        Some(Found::Frame(frame)) if frame.offset == offset => frame,
        Some(Found::Gap {
            trouble: Some(trouble),
            ..
        }) => {
            let error = Error::corrupt(format!("no frame can be read at {segment}:{offset}: {trouble}"));
            return Err(error.with_hint("frames lists what stands there").into());
        }
        _ => {
            let error = Error::not_found(format!("no frame begins at {segment}:{offset}"));
            return Err(error
                .with_hint("frames lists them; they begin at multiples of 16")
                .into());
        }
    };
    let parts = body_parts(&frame);
    let output = &mut shell.context.output;
    if output.is_json() {
        let document = |parts: &[Part]| parts.iter().map(hex::document).collect::<Vec<_>>();
        output.document(&json!({
            "segment": segment, "offset": frame.offset, "kind": log::kind_name(frame.kind), "batch": frame.batch,
            "trouble": frame.trouble.as_ref().map(ToString::to_string), "header": document(&frame.header), "body": document(&parts),
        }))?;
        return Ok(DONE);
    }
    output.line(format_args!(
        "{} frame at {segment}:{offset}, {} bytes with padding, batch {}",
        log::kind_name(frame.kind),
        frame.framed_bytes,
        frame.batch
    ))?;
    if let Some(trouble) = &frame.trouble {
        let bad = output.paint(Meaning::Bad, "damaged");
        output.line(format_args!("{bad}: {trouble}"))?;
    }
    hex::show_parts(output, &frame.header, most)?;
    output.line("body")?;
    hex::show_parts(output, &parts, most)
}

/// The body of a frame, by the fields of what it holds.
fn body_parts(frame: &Frame) -> Vec<Part> {
    let header: u64 = frame.header.iter().map(|part| part.bytes.len() as u64).sum();
    let start = frame.offset + header;
    let whole = || {
        vec![Part {
            name: "body",
            offset: start,
            bytes: frame.body.clone(),
            may_be_text: true,
        }]
    };
    let encoding = match frame.kind {
        kind if kind == RecordKind::Object as u8 => Encoding::Object,
        kind if kind == RecordKind::Commit as u8 => Encoding::Commit,
        kind if kind == RecordKind::Reference as u8 => Encoding::Reference,
        kind if kind == RecordKind::Seal as u8 => return log::seal_parts(&frame.body, start),
        kind if kind == RecordKind::Link as u8 => return log::link_parts(&frame.body, start),
        kind if kind == RecordKind::Unlink as u8 => return log::unlink_parts(&frame.body, start),
        _ => return whole(),
    };
    let Ok(fields) = encoded_fields(encoding, &frame.body) else {
        return whole();
    };
    let mut parts = vec![Part {
        name: "version",
        offset: start,
        bytes: frame.body.iter().take(1).copied().collect(),
        may_be_text: false,
    }];
    parts.extend(fields.iter().map(|field| Part {
        name: field.name,
        offset: start + field.offset as u64,
        bytes: field.bytes.to_vec(),
        may_be_text: true,
    }));
    parts
}

//! The files: where bytes are, segments, batches, frames in hex, marks, and what recovery would do.
//!
//! All of it is read from the files themselves, so it answers where no state can be read too.
//!
//! # Layer
//! L9, part of cli.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;

use super::arguments::Arguments;
use super::hex;
use super::rows::{Rows, absent, bytes, count, digest, marked, maybe, name, text};
use super::shell::Shell;
use super::state::version_of;
use super::table::{Command, Completes};
use crate::bytes::Bytes;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, counted};
use crate::cli::output::{Meaning, Output};
use crate::digest::{HashAlgorithm, HashSuite};
use crate::disk::FileDisk;
use crate::error::{Error, Result};
use crate::log::{
    self, Found, Frame, Inspection, Layout, NextWriter, Part, RecordKind, SegmentStanding, SegmentState,
    StoreFile,
};
use crate::object::{Commit, Encoding, Id, Object, Reference, encoded_fields};

/// Bytes of one field that `frame` shows unless it is asked for all.
const FIELD_SHOWN: usize = 256;

pub(super) const COMMANDS: &[Command] = &[
    Command::own(
        "where",
        "WHAT",
        "Where the bytes of an id, or of a version's digest, are",
        where_is,
    )
    .examples(&[
        ("where tea", "segment, offset, length and batch"),
        ("where 5f0c81d2", "of any version"),
    ])
    .completes(Completes::Id),
    Command::own("files", "", "The files of the store", files).examples(&[("files", "with their lengths")]),
    Command::own("segments", "", "The segments of the log", segments)
        .examples(&[("segments", "in the order of the log")]),
    Command::own(
        "segment",
        "SEGMENT",
        "The header of a segment, byte by byte",
        segment,
    )
    .examples(&[("segment 1", "with its nonce and what it continues")]),
    Command::own(
        "batches",
        "[--limit N]",
        "The whole batches of the log, oldest first",
        batches,
    )
    .examples(&[("batches --limit 5", "what was appended at once")]),
    Command::own("records", "BATCH", "The records of one batch", records)
        .examples(&[("records 2", "objects, commit, seal")]),
    Command::own(
        "frames",
        "[SEGMENT] [--from OFFSET] [--limit N]",
        "What stands in a segment: frames, and gaps",
        frames,
    )
    .examples(&[
        ("frames 1 --limit 10", "the first ten"),
        ("frames", "of the active segment"),
    ]),
    Command::own(
        "frame",
        "SEGMENT:OFFSET [--all]",
        "One frame in hex, its fields named",
        frame,
    )
    .examples(&[(
        "frame 1:4096",
        "the first of a segment: `frames` and `where` say which there are",
    )]),
    Command::own("format", "", "The format file, byte by byte", |shell, _| {
        layout(shell, StoreFile::Format)
    })
    .examples(&[("format", "what the store is")]),
    Command::own("manifest", "", "The manifest, byte by byte", |shell, _| {
        layout(shell, StoreFile::Manifest)
    })
    .examples(&[("manifest", "which segments make up the log")]),
    Command::own("live", "", "The live mark, byte by byte", |shell, _| {
        layout(shell, StoreFile::Live)
    })
    .examples(&[("live", "how far the log is durable, as the last writer left it")]),
    Command::own("checkpoints", "", "The checkpoints of the store", checkpoints)
        .examples(&[("checkpoints", "whether there are any")]),
    Command::own(
        "recovery",
        "",
        "What the next writer would do before it appends",
        recovery,
    )
    .examples(&[("recovery", "go on, seal and write again, or refuse")]),
];

impl Shell<'_> {
    fn inspection(&self) -> Result<Inspection> {
        Ok(Inspection::new(Arc::new(FileDisk::open(&self.path)?)))
    }
}

fn where_is(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let wanted = arguments.needed(0)?;
    let (memory, view) = (shell.memory()?, shell.view()?);
    // An id comes first: a digest can always be given with more digits.
    let current = Id::new(wanted)
        .ok()
        .map(|id| view.get(&id))
        .transpose()?
        .flatten();
    let object = match current {
        Some(object) => object,
        None => version_of(shell, wanted).map_err(|error| {
            let text = format!(
                "'{}' is no id of this state and no version: {error}",
                human::one_line(wanted)
            );
            Error::new(error.kind(), text)
                .with_hint("history ID names the versions of an object that is gone")
        })?,
    };
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["record", "frame", "file", "offset", "body bytes", "batch"]);
    for place in memory.places(&object)? {
        let fields = vec![
            text(log::kind_name(place.kind as u8)),
            name(format!("{}:{}", place.segment, place.offset)),
            text(log::segment_name(place.segment)),
            count(place.offset),
            count(place.bytes),
            count(place.batch),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn files(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let files = shell.inspection()?.files()?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["file", "bytes"]);
    for (file, length) in files {
        table.row(output, vec![name(file), bytes(length)])?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn segments(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let segments = shell.inspection()?.segments()?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&[
        "segment",
        "state",
        "file",
        "file bytes",
        "sealed at",
        "first batch",
        "last batch",
    ]);
    for segment in segments {
        let state = match segment.state {
            SegmentStanding::Unlisted => marked(Meaning::Changed, segment.state.name()),
            state => text(state.name()),
        };
        let fields = vec![
            count(segment.id),
            state,
            text(&segment.file),
            segment
                .file_bytes
                .map_or_else(|| marked(Meaning::Bad, "missing"), bytes),
            segment.sealed_bytes.map_or_else(absent, count),
            segment.first_batch.map_or_else(absent, count),
            segment.last_batch.map_or_else(absent, count),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn segment(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let id = arguments.parse_number(arguments.needed(0)?)?;
    layout(shell, StoreFile::Segment(id))
}

fn layout(shell: &mut Shell<'_>, file: StoreFile) -> Done {
    let layout = shell.inspection()?.layout(file)?;
    let output = &mut shell.context.output;
    if output.is_json() {
        let parts: Vec<_> = layout.parts.iter().map(hex::document).collect();
        output.document(&json!({ "file": layout.file, "parts": parts, "trouble": layout.trouble }))?;
        return Ok(DONE);
    }
    tell_trouble(output, &layout)?;
    hex::show_parts(output, &layout.parts, FIELD_SHOWN)
}

fn tell_trouble(output: &mut Output, layout: &Layout) -> Result<(), Failure> {
    let Some(trouble) = &layout.trouble else {
        return Ok(());
    };
    let bad = output.paint(Meaning::Bad, "damaged");
    output.line(format_args!(
        "{bad}: {}: {}",
        layout.file,
        human::one_line(trouble)
    ))
}

fn batches(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let mut left = arguments.limit()?;
    let inspection = shell.inspection()?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["batch", "frame", "records", "bytes", "head after it"]);
    let mut written = Ok(());
    let found = inspection.batches(&mut |batch| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        let first = batch.records.first().map(|record| record.locator);
        let fields = vec![
            count(batch.number),
            first.map_or_else(absent, |place| {
                name(format!("{}:{}", place.segment(), place.offset()))
            }),
            count(batch.records.len() as u64),
            bytes(batch.records.iter().map(|record| record.body.len() as u64).sum()),
            digest(batch.commit.as_bytes()),
        ];
        written = table.row(output, fields);
        if written.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    written?;
    let damages = found?;
    table.finish(output)?;
    if damages > 0 {
        output.note(
            "damage",
            format!("damaged in {}: see verify", counted(damages, "place")),
        );
    }
    Ok(DONE)
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this form")]
fn checkpoints(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let output = &mut shell.context.output;
    output.note(
        "checkpoints",
        "format 1 has no checkpoints: opening a store reads its log",
    );
    Ok(DONE)
}

/// The segment that holds a batch, as far as the manifest says; all of them if it does not.
fn segments_of(inspection: &Inspection, batch: u64) -> Result<Vec<SegmentState>> {
    let mut segments = inspection.segments()?;
    segments.retain(|segment| {
        segment.first_batch.is_none_or(|first| first <= batch)
            && segment.last_batch.is_none_or(|last| batch <= last)
    });
    Ok(segments)
}

fn records(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
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

fn frames(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
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
            } => listing.gap(output, segment, offset, bytes, trouble.as_deref())?,
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
        trouble: Option<&str>,
    ) -> Result<(), Failure> {
        self.shown += 1;
        let (kind, says) = match trouble {
            Some(trouble) => (marked(Meaning::Bad, "gap"), marked(Meaning::Bad, trouble)),
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
        _ => String::from_utf8_lossy(&frame.body).chars().take(100).collect(),
    })
}

fn frame(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
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
            "trouble": frame.trouble, "header": document(&frame.header), "body": document(&parts),
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

fn recovery(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let plan = shell.inspection()?.next_writer();
    let served = shell
        .memory()
        .ok()
        .map(|memory| memory.view().commit().commit.seq);
    let output = &mut shell.context.output;
    let (action, told) = match &plan {
        Ok(NextWriter::GoOn { segment, offset }) => (
            "go_on",
            format!("the next writer goes on in segment {segment} at {offset}: nothing to recover"),
        ),
        Ok(NextWriter::Recover {
            segment,
            sealed_at,
            again,
            torn_bytes,
        }) => {
            let again = counted(again.len() as u64, "whole batch");
            let told = format!(
                "the next writer would seal segment {segment} at {sealed_at}, write {again} from behind that again into a new \
                 segment, and leave {torn_bytes} torn bytes where they are"
            );
            ("recover", told)
        }
        Err(error) => (
            "refuse",
            format!("the next writer would refuse to write: {error}"),
        ),
    };
    if output.is_json() {
        let (sealed_at, again, torn) = match &plan {
            Ok(NextWriter::Recover {
                sealed_at,
                again,
                torn_bytes,
                ..
            }) => (Some(sealed_at), Some(again), Some(torn_bytes)),
            _ => (None, None, None),
        };
        output.document(&json!({
            "action": action, "told": told, "sealed_at": sealed_at, "again": again, "torn_bytes": torn,
            "served_seq": served,
        }))?;
        return Ok(DONE);
    }
    for line in human::wrapped(&told, output.width().unwrap_or(usize::MAX)) {
        output.line(line)?;
    }
    match served {
        Some(seq) => output.line(format_args!("readers are served the state of seq:{seq}"))?,
        None => output.line("readers are served no state")?,
    }
    Ok(DONE)
}

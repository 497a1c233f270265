//! The files: where bytes are, segments, batches, and the small files byte by byte.
//!
//! All of it is read from the files themselves, so it answers where no state can be read too.
//!
//! # Layer
//! L9, part of cli.

use std::ops::ControlFlow;

use serde_json::json;

use super::arguments::Arguments;
use super::frames::{frame, frames, records};
use super::hex;
use super::recovery::recovery;
use super::rows::{Rows, absent, bytes, count, digest, marked, name, text};
use super::shell::Shell;
use super::state::version_of;
use super::table::{Command, Completes};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, counted};
use crate::cli::output::{Meaning, Output};
use crate::engine::Memory;
use crate::error::{Error, Result};
use crate::log::{self, Inspection, Layout, SegmentStanding, StoreFile};
use crate::object::Id;

/// Bytes of one field that `frame` shows unless it is asked for all.
pub(super) const FIELD_SHOWN: usize = 256;

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
    Command::own("checkpoints", "", "The checkpoints of the store", checkpoints).examples(&[(
        "checkpoints",
        "how far each covers the log, and which one is read",
    )]),
    Command::own(
        "recovery",
        "",
        "What the next writer would do before it appends",
        recovery,
    )
    .examples(&[("recovery", "go on, seal and write again, or refuse")]),
];

impl Shell<'_> {
    pub(super) fn inspection(&self) -> Result<Inspection> {
        Memory::inspection(&self.path)
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
        output.document(&json!({ "file": layout.file, "parts": parts, "trouble": layout.trouble.as_ref().map(ToString::to_string) }))?;
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
        human::one_line(&trouble.to_string())
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

fn checkpoints(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    let found = Memory::checkpoints_in(&shell.path)?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["checkpoint", "bytes", "up to batch", "commits", "state"]);
    let mut is_read = false;
    for checkpoint in found {
        let state = match &checkpoint.unusable {
            Some(why) => marked(Meaning::Changed, human::one_line(&why.to_string())),
            None if is_read => text("kept for the case that the newer one is damaged"),
            None => text("read by who opens the store"),
        };
        is_read |= checkpoint.unusable.is_none();
        let fields = vec![
            name(&checkpoint.file),
            bytes(checkpoint.bytes),
            checkpoint.batch.map_or_else(absent, count),
            checkpoint.commits.map_or_else(absent, count),
            state,
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

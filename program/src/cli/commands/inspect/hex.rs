//! `inspect hex`: prints a file of the store or a frame of the log in hex, with the name of each field.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fmt::Display;

use super::parts::{Part, SHOWN_BYTES, show_parts};
use crate::cli::commands::prelude::*;
use treering::inspect::engine;
use treering::inspect::log;
use treering::inspect::log::{Found, Frame, Inspection, RecordKind, StoreFile};
use treering::inspect::object::{Encoding, encoded_fields};

/// Print a file or a frame in hex, with the name of each field
///
/// # Notes
/// WHAT is format, manifest or live, the number of a segment (its header), or SEGMENT:OFFSET (a frame).
///
/// # Examples
/// ```text
/// treering inspect hex manifest
/// treering inspect hex 1
/// treering inspect hex 1:4096 --all
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Hex {
    /// The file, segment or frame to print
    #[arg(value_name = "WHAT", value_parser = Target::parse)]
    what: Target,
    /// Print all bytes of long fields
    #[arg(long)]
    all: bool,
}

/// The file or frame to print.
#[derive(Clone, Copy, Debug)]
enum Target {
    File(StoreFile),
    Frame { segment: u64, offset: u64 },
}

/// The bytes of a small file, or of the header of a segment.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileBytes {
    file: String,
    parts: Vec<Part>,
    /// The damage of the file. Null if the file is intact.
    trouble: Option<String>,
}

/// The bytes of a frame.
#[derive(Serialize, JsonSchema)]
pub(super) struct FrameBytes {
    segment: u64,
    offset: u64,
    kind: &'static str,
    batch: u64,
    /// The damage of the body. Null if the body is intact.
    trouble: Option<String>,
    header: Vec<Part>,
    body: Vec<Part>,
}

impl Target {
    fn parse(text: &str) -> Result<Self> {
        let refused = || {
            let message = format!("'{text}' is not a file, a segment or SEGMENT:OFFSET");
            Error::invalid(message).with_hint(
                "treering inspect files lists the files; treering inspect frames lists each SEGMENT:OFFSET",
            )
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| refused());
        match (text, text.split_once(':')) {
            ("format", _) => Ok(Self::File(StoreFile::Format)),
            ("manifest", _) => Ok(Self::File(StoreFile::Manifest)),
            ("live", _) => Ok(Self::File(StoreFile::Live)),
            (_, Some((segment, offset))) => Ok(Self::Frame {
                segment: number(segment)?,
                offset: number(offset)?,
            }),
            (segment, None) => Ok(Self::File(StoreFile::Segment(number(segment)?))),
        }
    }
}

impl Hex {
    pub(super) fn run(self, context: &mut Context) -> Done {
        let inspection = engine::inspection(context.store()?)?;
        let most = if self.all { usize::MAX } else { SHOWN_BYTES };
        match self.what {
            Target::File(file) => {
                let layout = inspection.layout(file)?;
                let answer = FileBytes {
                    file: layout.file,
                    parts: layout.parts.into_iter().map(Part::new).collect(),
                    trouble: layout.trouble.map(|cause| cause.to_string()),
                };
                context.answer(&answer, |answer, context| {
                    if let Some(why) = &answer.trouble {
                        show_damage(context, format!("{}: {}", answer.file, one_line(why)))?;
                    }
                    show_parts(&answer.parts, &mut context.output, most)
                })
            }
            Target::Frame { segment, offset } => {
                let frame = frame_at(&inspection, segment, offset)?;
                let answer = FrameBytes {
                    segment,
                    offset,
                    kind: frame.kind.name(),
                    batch: frame.batch,
                    trouble: frame.trouble.as_ref().map(ToString::to_string),
                    body: body_parts(&frame).into_iter().map(Part::new).collect(),
                    header: frame.header.into_iter().map(Part::new).collect(),
                };
                context.answer(&answer, |answer, context| {
                    let (kind, bytes, batch) = (answer.kind, frame.framed_bytes, answer.batch);
                    let place = format!("{kind} frame at {segment}:{offset}");
                    context.line(format_args!("{place}, {bytes} bytes with padding, batch {batch}"))?;
                    if let Some(why) = &answer.trouble {
                        show_damage(context, why)?;
                    }
                    show_parts(&answer.header, &mut context.output, most)?;
                    context.line("body")?;
                    show_parts(&answer.body, &mut context.output, most)
                })
            }
        }
    }
}

fn show_damage(context: &mut Context, why: impl Display) -> Result<()> {
    let damaged = context.output.paint(Meaning::Bad, "damaged");
    context.line(format_args!("{damaged}: {why}"))
}

fn frame_at(inspection: &Inspection, segment: u64, offset: u64) -> Result<Frame> {
    match inspection.frames(segment, offset)?.next().transpose()? {
        Some(Found::Frame(frame)) if frame.offset == offset => Ok(frame),
        Some(Found::Gap {
            trouble: Some(trouble),
            ..
        }) => {
            let error = Error::corrupt(format!("cannot read a frame at {segment}:{offset} ({trouble})"));
            Err(error.with_hint("treering inspect frames lists the frames and the gaps"))
        }
        _ => {
            let error = Error::not_found(format!("no frame begins at {segment}:{offset}"));
            Err(error
                .with_hint("treering inspect frames lists the frames; each frame begins at a multiple of 16"))
        }
    }
}

/// Returns the fields of a frame's record, with their bytes.
fn body_parts(frame: &Frame) -> Vec<log::Part> {
    let header: usize = frame.header.iter().map(|part| part.bytes.len()).sum();
    let start = frame.offset + header as u64;
    let part = |name, offset: usize, bytes: &[u8], may_be_text| log::Part {
        name,
        offset: start + offset as u64,
        bytes: bytes.to_vec(),
        may_be_text,
    };
    let encoding = match frame.kind {
        RecordKind::Object => Some(Encoding::Object),
        RecordKind::Commit => Some(Encoding::Commit),
        RecordKind::Reference => Some(Encoding::Reference),
        RecordKind::Seal => return log::seal_parts(&frame.body, start),
        RecordKind::Link => return log::link_parts(&frame.body, start),
        RecordKind::Unlink => return log::unlink_parts(&frame.body, start),
        _ => None,
    };
    let fields = encoding.and_then(|encoding| encoded_fields(encoding, &frame.body).ok());
    let Some(fields) = fields else {
        return vec![part("body", 0, &frame.body, true)];
    };
    let mut parts = vec![part("version", 0, frame.body.get(..1).unwrap_or_default(), false)];
    let fields = fields.iter();
    parts.extend(fields.map(|field| part(field.name, field.offset, field.bytes, true)));
    parts
}

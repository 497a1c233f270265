//! `put`: one object from the command line, or many from JSON Lines.
//!
//! Lines are read one by one and committed in batches, so a stream of any length needs no more memory than
//! one batch of it, and what was committed before a bad line stays.
//!
//! # Layer
//! L10, part of cli.
//!
//! # Invariants
//! - CLI-5: of the batch that holds a refused line, nothing is kept; the message names the line.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use serde_json::json;

use super::attributes::attribute;
#[cfg(feature = "agent")]
use super::flags::Flags;
use super::input::{Lines, at_line, content_from_input, open_input};
use super::sent::SentLines;
use super::store::head_line;
use super::undo_command;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::counted;
use crate::cli::json::with_commit;
use crate::digest::ObjectDigest;
use crate::engine::{Authorisation, CommitInfo, Committed, Memory, Staged, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::ingest::json::{self as lines, ObjectLine};
use crate::object::{Id, Kind, NewObject, Origin, Position, Scope, Value};

/// Earlier versions that may wait for an object that they go with, in batches that are smaller.
const PAST_LINES_MAX: usize = 10_000;

/// Store one object, or many from JSON Lines; replaces the whole object
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering put tea --kind fact --content 'Ada drinks green tea'\n  \
                  treering put task/7 --kind task --attr state=open --attr 'tags:=[\"a\",\"b\"]'\n  \
                  git log -1 | treering put last-commit --kind note --content -\n  \
                  treering export | treering --store copy put --jsonl - --batch 1000"
)]
pub(crate) struct Put {
    /// The name of the object, for ever
    #[arg(required_unless_present = "jsonl", value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What kind of object it is
    #[arg(long, required_unless_present = "jsonl", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// An attribute: k=text, or k:=JSON (null: absent); may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// The scope [default: global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// The object that this one belongs to
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<String>,
    /// The order key among the children of its parent
    #[arg(long, value_name = "KEY")]
    pub(crate) position: Option<String>,
    /// The text; - reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) content: Option<String>,
    /// Read objects from FILE, one a line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "kind", "attributes", "scope", "parent", "position", "content"])]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines [default: one commit for all]
    #[arg(long, value_name = "N", requires = "jsonl", conflicts_with = "id", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: Option<u64>,
}

impl Verb for Put {
    const NAME: &'static str = "put";

    fn run(self, context: &mut Context) -> Done {
        put(context, self)
    }
}

fn put(context: &mut Context, verb: Put) -> Done {
    match verb.jsonl {
        Some(file) => put_lines(context, &file, verb.batch.unwrap_or(u64::MAX)),
        None => put_one(context, verb),
    }
}

fn put_one(context: &mut Context, verb: Put) -> Done {
    let object = object_of(context, verb)?;
    let id = object.id.clone();
    let writer = context.writer();
    let write = |memory: &Memory| -> Result<_> {
        let mut draft = memory.draft(writer.clone());
        draft.authorise(Authorisation::Removals);
        let staged = draft.put(object.clone())?;
        let digest = draft.digest(&id)?;
        let drafted = draft.counts();
        let committed = memory.commit(draft, "put")?;
        let staged = match memory.done_by_others(drafted, &committed)?.total() {
            0 => staged,
            _ => Staged::Unchanged,
        };
        Ok((staged, digest, committed))
    };
    let memory = context.open_or_create(|empty| write(empty).map(drop))?;
    let (staged, digest, committed) = write(&memory)?;
    let info = &committed.commit;
    if context.output.is_json() {
        let document = json!({
            "id": id.as_str(),
            "digest": digest.map(ObjectDigest::to_hex),
        });
        context.output.document(&with_commit(document, info))?;
    } else {
        let what = match staged {
            Staged::Created => "created",
            Staged::Updated => "updated",
            Staged::Unchanged => "unchanged:",
        };
        tell_committed(context, &memory, &committed, &format!("{what} {id}"))?;
    }
    Ok(DONE)
}

/// For people: what was done, the head now, and how to take it back.
pub(super) fn tell_committed(
    context: &mut Context,
    memory: &Memory,
    committed: &Committed,
    what: &str,
) -> Result<(), Failure> {
    let head = head_line(&context.output, memory, &committed.commit);
    context.output.line(format_args!("{what}; {head}"))?;
    tell_undo(context, committed);
    Ok(())
}

/// Says how to take a change back, if there was one.
pub(super) fn tell_undo(context: &mut Context, committed: &Committed) {
    if committed.changed {
        let undo = undo_command(&context.options);
        context.output.note("undo", format!("take it back with: {undo}"));
    }
}

/// The object that the command line describes.
fn object_of(context: &Context, verb: Put) -> Result<NewObject, Failure> {
    let (id, kind) = (verb.id.unwrap_or_default(), verb.kind.unwrap_or_default());
    let mut object = NewObject::new(Id::new(&id)?, Kind::new(&kind)?);
    if let Some(scope) = verb.scope {
        object.scope = Scope::new(&scope)?;
    }
    object.parent = verb.parent.as_deref().map(Id::new).transpose()?;
    object.position = verb.position.as_deref().map(Position::new).transpose()?;
    for text in &verb.attributes {
        let (name, value) = attribute(text)?;
        if value == Value::Null {
            object.attributes.remove(&name);
        } else if object.attributes.insert(name.clone(), value).is_some() {
            return Err(Failure::usage(
                format!("--attr names '{name}' twice"),
                "give each attribute once",
            ));
        }
    }
    object.content = match verb.content.as_deref() {
        Some("-") => Some(content_from_input(context)?),
        other => other.map(str::to_owned),
    };
    Ok(object)
}

/// What a stream of lines has come to so far.
#[derive(Default)]
struct Sums {
    created: u64,
    updated: u64,
    unchanged: u64,
    last: Option<CommitInfo>,
    /// What the scan met; a rehearsal has none.
    #[cfg(feature = "agent")]
    flags: Option<Flags>,
}

fn put_lines(context: &mut Context, file: &Path, size: u64) -> Done {
    let mut input = open_input(context, file)?;
    let mut reader = Lines::of(&mut *input);
    let writer = context.writer();
    // The first batch is read before the store is opened: if it is refused, none is made for it.
    let first = Batch::read(&mut reader, size, Vec::new())?;
    let memory = context.open_or_create(|empty| {
        let written = first.clone().write(empty, &writer, &mut Sums::default());
        written.map(drop)
    })?;
    let mut sums = Sums {
        #[cfg(feature = "agent")]
        flags: Some(Flags::new(context)),
        ..Sums::default()
    };
    let mut sent = SentLines::new();
    let put = put_batches(&memory, &writer, first, &mut reader, size, (&mut sums, &mut sent));
    let left = put.map_err(|error| sent.failed(context, error, (file, &mut reader)))?;
    if let [(number, _), ..] = left[..] {
        let what = counted(left.len() as u64, "earlier version");
        let note = format!("not kept: {what}, from line {number} on, for nothing was written after it");
        context.output.note("past", note);
    }
    let view = memory.view();
    let info = view.commit();
    let Sums {
        created,
        updated,
        unchanged,
        last,
        ..
    } = sums;
    #[cfg(feature = "agent")]
    if let Some(flags) = sums.flags {
        flags.tell(context);
    }
    if context.output.is_json() {
        let document = json!({
            "objects": view.len(),
            "created": created,
            "updated": updated,
            "unchanged": unchanged,
            "removed": 0,
        });
        context.output.document(&with_commit(document, &info))?;
    } else {
        let head = head_line(&context.output, &memory, &info);
        context.output.line(format_args!(
            "{created} created, {updated} updated, {unchanged} unchanged; {head}"
        ))?;
        if last.is_some() && created + updated > 0 {
            let undo = undo_command(&context.options);
            context
                .output
                .note("undo", format!("take the last batch back with: {undo}"));
        }
    }
    Ok(DONE)
}

/// Puts every line, `size` of them in a commit. Answers the earlier versions that no commit took along.
fn put_batches(
    memory: &Memory,
    writer: &Writer,
    first: Batch,
    reader: &mut Lines<'_>,
    size: u64,
    (sums, sent): (&mut Sums, &mut SentLines),
) -> Result<Vec<Line>> {
    let mut batch = first;
    loop {
        sent.begin(batch.lines.len(), reader.number(), batch.is_last);
        let left = batch.write(memory, writer, sums)?;
        let seq = sums.last.as_ref().map(|info| info.commit.seq);
        sent.end(seq, left.iter().map(|(number, _)| *number));
        let waiting = left.len();
        batch = Batch::read(reader, size, left)?;
        if batch.lines.len() == waiting {
            return Ok(batch.lines);
        }
    }
}

/// A line with its number.
type Line = (u64, ObjectLine);

/// The lines of one commit.
#[derive(Clone, Default)]
struct Batch {
    lines: Vec<Line>,
    /// Whether the input ended with it.
    is_last: bool,
}

impl Batch {
    /// Reads lines until there are `size` with those that wait. An earlier version makes no commit: it goes with the
    /// next object, so a batch ends with one.
    fn read(reader: &mut Lines<'_>, size: u64, waiting: Vec<Line>) -> Result<Self> {
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        let mut past = waiting.len();
        let (mut read, mut is_last) = (waiting, false);
        while read.len() < most || read.last().is_some_and(|(_, line)| line.past) {
            let Some((number, text)) = reader.next_line()? else {
                is_last = true;
                break;
            };
            let line = lines::parse(text).and_then(|json| lines::object_from_json(&json));
            let line = line.map_err(|error| at_line(number, error))?;
            past += usize::from(line.past);
            if past > most.max(PAST_LINES_MAX) {
                let refused =
                    Error::invalid(format!("{past} earlier versions wait for an object to go with"));
                let refused = refused.with_code(ErrorCode::OverLimit);
                return Err(at_line(number, refused.with_hint("take a larger --batch")));
            }
            read.push((number, line));
        }
        Ok(Self { lines: read, is_last })
    }

    /// Stages and commits; a refusal names the line that states the object. Answers the earlier versions that history
    /// does not have, because there was nothing to commit.
    fn write(self, memory: &Memory, writer: &Writer, sums: &mut Sums) -> Result<Vec<Line>> {
        let mut draft = memory.draft(writer.clone());
        draft.authorise(Authorisation::Removals);
        let (mut created, mut updated, mut unchanged) = (0, 0, 0);
        // The line that last stated an id, for refusals that only the commit can make.
        let mut stated: HashMap<Id, u64> = HashMap::new();
        let mut past = Vec::new();
        for (number, line) in self.lines {
            if line.past {
                let origin = line.origin.unwrap_or(Origin::Import);
                let kept = draft.put_past(&line.object, origin);
                past.push((kept.map_err(|error| at_line(number, error))?, (number, line)));
                continue;
            }
            stated.insert(line.object.id.clone(), number);
            #[cfg(feature = "agent")]
            if let Some(flags) = &mut sums.flags {
                flags.look(&line.object);
            }
            let staged = match line.origin {
                Some(origin) => draft.put_at_most(line.object, origin),
                None => draft.put(line.object),
            };
            match staged.map_err(|error| at_line(number, error))? {
                Staged::Created => created += 1,
                Staged::Updated => updated += 1,
                Staged::Unchanged => unchanged += 1,
            }
        }
        let line_of = |id: &String| Id::new(id).ok().and_then(|id| stated.get(&id).copied());
        let drafted = draft.counts();
        let committed = memory.commit(draft, "put").map_err(|error| {
            match error.ids().iter().filter_map(line_of).min() {
                Some(number) => at_line(number, error),
                None => error,
            }
        })?;
        let others = memory.done_by_others(drafted, &committed)?;
        sums.created += u64::saturating_sub(created, others.added);
        sums.updated += u64::saturating_sub(updated, others.changed);
        sums.unchanged += unchanged + others.added + others.changed;
        let mut left = Vec::new();
        if committed.changed {
            sums.last = Some(committed.commit);
        } else {
            for (digest, line) in past {
                if memory.version(digest)?.is_none() {
                    left.push(line);
                }
            }
        }
        Ok(left)
    }
}

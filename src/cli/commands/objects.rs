//! `get`, `list`, `history`, `remove`: objects one by one.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::json;

use super::store::head_line;
use super::undo_command;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{self, Table, coloured, plain, short};
use crate::cli::json;
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::engine::{HistoryEntry, Memory, View};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Id;

/// Remove an object from the state; history keeps it
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering remove tea -m 'no longer true'\n  treering remove notes/old --recursive"
)]
pub(crate) struct Remove {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Also everything below it
    #[arg(long)]
    pub(crate) recursive: bool,
}

impl Verb for Remove {
    const NAME: &'static str = "remove";

    fn run(self, context: &mut Context) -> Done {
        remove(context, &self)
    }
}

/// List the changes of one object, newest first
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering history tea\n  treering history tea --limit 3 --json"
)]
pub(crate) struct History {
    /// The object
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for History {
    const NAME: &'static str = "history";

    fn run(self, context: &mut Context) -> Done {
        history(context, &self)
    }
}

fn history(context: &mut Context, verb: &History) -> Done {
    let memory = context.open_to_read()?;
    let id = Id::new(&verb.id)?;
    let view = context.view(&memory)?;
    let newest = view.commit().commit.seq;
    let is_later =
        |entry: &Result<HistoryEntry>| entry.as_ref().is_ok_and(|entry| entry.commit.commit.seq > newest);
    let mut entries = memory.changes_of(&id).skip_while(is_later).peekable();
    if entries.peek().is_none() {
        return Err(no_object(&memory, &id, &view, memory.history(&id)?.last()).into());
    }
    let now = memory.view().now();
    let mut table = Table::new(&["seq", "version", "op", "lane", "when"]);
    for entry in entries.take(verb.limit.unwrap_or(usize::MAX)) {
        let entry = &entry?;
        if context.output.is_json() {
            context.output.document(&json::history_entry(entry))?;
            continue;
        }
        let [op, lane] = human::made_by(entry);
        let version = match entry.digest {
            Some(digest) if entry.erased || entry.lost => {
                let why = if entry.lost { "lost" } else { "erased" };
                coloured(Meaning::Bad, format!("{} ({why})", short(digest.as_bytes())))
            }
            Some(digest) => coloured(Meaning::Name, short(digest.as_bytes())),
            None => coloured(Meaning::Bad, "removed"),
        };
        let cells = vec![
            human::made_at(entry),
            version,
            plain(op),
            plain(lane),
            coloured(
                Meaning::Quiet,
                time::told(entry.time, now, context.output.style()),
            ),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn remove(context: &mut Context, verb: &Remove) -> Done {
    let id = Id::new(&verb.id)?;
    let memory = context.open_to_write()?;
    let committed = memory.remove(&id, verb.recursive, context.writer())?;
    let info = committed.commit.clone();
    let removed = json::counts(&memory, &committed)?.removed;
    if context.output.is_json() {
        let document = json!({
            "removed": removed,
        });
        context.output.document(&json::with_commit(document, &info))?;
    } else {
        let head = head_line(&context.output, &memory, &info);
        context.output.line(format_args!(
            "removed {}; {head}",
            human::counted(removed, "object")
        ))?;
        let undo = undo_command(&context.options);
        context.output.note("undo", format!("bring it back with: {undo}"));
    }
    Ok(DONE)
}

/// There is no such object in a state; `other` is a change of it in another one.
pub(super) fn no_object(memory: &Memory, id: &Id, view: &View, other: Option<&HistoryEntry>) -> Error {
    let seq = view.commit().commit.seq;
    let error = Error::not_found(format!("there is no object '{id}' at seq:{seq}"));
    match other.map(|other| (other.commit.commit.seq, other)) {
        None => match memory.damage() {
            Some(damage) => cannot_be_said(&format!("there is an object '{id}'"), damage),
            None => error.with_hint("no kept commit has it; treering list shows what there is"),
        },
        Some((when, other)) => {
            let what = match (other.digest, other.commit.commit.op.as_str()) {
                _ if other.thinned => "has it otherwise",
                (Some(_), "put" | "ingest") => "put it",
                (Some(_), _) => "brought it back",
                (None, _) => "removed it",
            };
            error.with_hint(format!("seq:{when} {what}: see treering history '{id}'"))
        }
    }
}

/// What is absent before the damage may stand behind it: that is no answer of "not found".
pub(super) fn cannot_be_said(what: &str, damage: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("whether {what} cannot be said: reading stopped at damage: {damage}"),
    )
    .with_hint(
        "what was committed behind the damage is not served; treering verify names all that is damaged",
    )
}

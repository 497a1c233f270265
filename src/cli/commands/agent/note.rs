//! `note`: notes of sessions, which last.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::agent::notes::{self, NewNote, Replace};
use crate::agent::{Agent, Item};
use crate::cli::commands::input::content_from_input;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{Table, coloured, counted, gist, plain};
use crate::cli::json::with_commit;
use crate::cli::output::{Meaning, printable};
use crate::engine::View;
use crate::error::{Error, Result};
use crate::object::{Id, Scope, Time};

/// Keep notes beyond a session
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  treering note write 'the build needs Rust 1.95' --session s1\n  treering note search build\n  \
                  treering note list --json"
)]
pub(crate) struct Note {
    #[command(subcommand)]
    pub(crate) verb: NoteVerb,
}

impl Verb for Note {
    const NAME: &'static str = "note";

    fn run(self, context: &mut Context) -> Done {
        note(context, self)
    }
}

/// What is done with notes.
#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Write a note, or replace one
    #[command(
        after_help = "The note belongs to the root of the session (--session). Only that session replaces it.\n\n\
                      Examples:\n  treering note write 'the build needs --locked' --session s1\n  \
                      treering note write 'done' --replace tea/note/0198c1de --session s1\n  \
                      treering note write '' --replace '*' --session s1"
    )]
    Write(NoteWrite),
    /// Show a note, and keep that it was read
    #[command(after_help = "Examples:\n  treering note read tea/note/0198c1de --json")]
    Read(NoteRead),
    /// List the notes of the project, newest first
    #[command(after_help = "Examples:\n  treering note list\n  treering note list --own --session s1 --json")]
    List(NoteList),
    /// Delete a note, whichever session wrote it; undo brings it back
    #[command(after_help = "Examples:\n  treering note delete tea/note/0198c1de -m 'settled'")]
    Delete(NoteDelete),
    /// Find notes by words, freshness, and when they were read
    #[command(after_help = "Examples:\n  treering note search 'build flags' --session s1 --limit 3")]
    Search(NoteSearch),
}

/// `note write`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct NoteWrite {
    /// The text; - reads it from standard input; an empty one only takes away what --replace names
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// The note to replace, or * for every note of the session
    #[arg(long, value_name = "ID")]
    pub(crate) replace: Option<String>,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `note read`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct NoteRead {
    /// The note
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `note list`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct NoteList {
    /// Only notes of the session
    #[arg(long)]
    pub(crate) own: bool,
    /// The scope of the notes [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `note delete`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct NoteDelete {
    /// The note
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `note search`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct NoteSearch {
    /// What to look for
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// The most notes that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// The scope of the notes [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

fn note(context: &mut Context, verb: Note) -> Done {
    match verb.verb {
        NoteVerb::Write(verb) => write(context, verb),
        NoteVerb::Read(verb) => read(context, &verb),
        NoteVerb::List(verb) => list(context, &verb),
        NoteVerb::Delete(verb) => delete(context, &verb),
        NoteVerb::Search(verb) => search(context, &verb),
    }
}

fn write(context: &mut Context, verb: NoteWrite) -> Done {
    let note = NewNote {
        text: text_or_input(context, verb.text)?,
        scope: scope(context, verb.scope.as_deref())?,
        session: context.lane(),
        replace: match verb.replace.as_deref() {
            None => None,
            Some("*") => Some(Replace::Own),
            Some(id) => Some(Replace::One(Id::new(id)?)),
        },
    };
    let agent = context.agent_to_write()?;
    let written = agent.write_note(&note, &context.writer())?;
    let document = json!({
        "id": written.id.as_ref().map(Id::as_str),
        "action": written.action.name(),
        "digest": written.digest.map(crate::digest::ObjectDigest::to_hex),
        "owner": written.owner,
        "scope": note.scope.as_str(),
        "cleared": written.cleared,
        "verdict": written.verdict.name(),
        "rules": written.rules,
        "held": written.held,
    });
    if context.output.is_json() {
        context.output.document(&with_commit(document, &written.commit))?;
    } else {
        let id = written.id.as_ref().map_or_else(
            || counted(written.cleared, "note"),
            |id| format!("{id} of '{}'", written.owner),
        );
        context
            .output
            .line(format_args!("{} {id}", written.action.name()))?;
    }
    if let Some(held) = &written.held {
        note_held(context, &agent, held);
    }
    Ok(DONE)
}

fn read(context: &mut Context, verb: &NoteRead) -> Done {
    let scope = scope(context, verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    // Only a handle that may write keeps that the note was read; who may not, reads all the same.
    let agent = match context.at() {
        None => context.agent_to_write().or_else(|_| context.agent_to_read())?,
        Some(_) => context.agent_to_read()?,
    };
    let view = context.view(agent.memory())?;
    let note = match context.at() {
        None => agent.read_note(&view, &id, &scope)?,
        Some(_) => agent.find_note(&view, &id, &scope)?,
    };
    let note = note.ok_or_else(|| {
        Error::not_found(format!("there is no note '{id}' in the scope '{scope}'"))
            .with_hint("`note list` shows the notes")
    })?;
    if context.output.is_json() {
        context.output.document(&document(&note))?;
    } else {
        context.output.text(note.item.text())?;
        context.output.line("")?;
    }
    Ok(DONE)
}

fn list(context: &mut Context, verb: &NoteList) -> Done {
    let (agent, view) = open(context)?;
    let scope = scope(context, verb.scope.as_deref())?;
    let session = verb.own.then(|| context.lane());
    let notes = agent.notes(&view, &scope, session.as_deref())?;
    let mut table = Table::new(&["id", "session", "trust", "text"]);
    for note in &notes {
        if context.output.is_json() {
            context.output.document(&document(note))?;
        } else {
            let object = note.item.object();
            let cells = vec![
                coloured(Meaning::Name, object.id()),
                plain(note.owner.as_deref().unwrap_or_default()),
                plain(object.origin().name()),
                plain(gist(object)),
            ];
            table.row(&mut context.output, cells)?;
        }
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn delete(context: &mut Context, verb: &NoteDelete) -> Done {
    let scope = scope(context, verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    let agent = context.agent_to_write()?;
    let (is_there, commit) = agent.delete_note(&id, &scope, &context.writer())?;
    if context.output.is_json() {
        let document = json!({ "deleted": is_there, "id": id.as_str(), "scope": scope.as_str() });
        context.output.document(&with_commit(document, &commit))?;
    } else if is_there {
        context.output.line(format_args!("deleted {id}"))?;
    } else {
        context.output.line(format_args!("there was no note {id}"))?;
    }
    Ok(DONE)
}

fn search(context: &mut Context, verb: &NoteSearch) -> Done {
    let (agent, view) = open(context)?;
    let scope = scope(context, verb.scope.as_deref())?;
    let found = agent.search_notes(&view, &verb.query, &scope, &context.lane(), verb.limit)?;
    let mut table = Table::new(&["score", "id", "trust", "text"]);
    for hit in &found {
        if context.output.is_json() {
            let mut document = document(&hit.note);
            if let Some(fields) = document.as_object_mut() {
                drop(fields.shift_remove("text"));
            }
            document["score"] = hit.score.into();
            document["snippet"] = hit.snippet.as_str().into();
            document["own"] = hit.is_own.into();
            context.output.document(&document)?;
        } else {
            let object = hit.note.item.object();
            let cells = vec![
                plain(format!("{:.3}", hit.score)),
                coloured(Meaning::Name, object.id()),
                plain(object.origin().name()),
                plain(&hit.snippet),
            ];
            table.row(&mut context.output, cells)?;
        }
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn document(note: &notes::NoteRead) -> Json {
    let time = |time: Option<Time>| time.map(|time| time.to_string());
    let object = Item::object(&note.item);
    json!({
        "id": object.id(),
        "text": note.item.text(),
        "owner": note.owner,
        "scope": object.scope(),
        "created": time(note.created),
        "updated": time(note.updated),
        "read": time(note.read),
        "origin": object.origin().name(),
        "digest": object.digest().to_hex(),
        "flags": note.item.flags(),
    })
}

fn open(context: &mut Context) -> Result<(Agent, View)> {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    Ok((agent, view))
}

/// The scope that an option names, or that of the place.
pub(super) fn scope(context: &Context, named: Option<&str>) -> Result<Scope> {
    let place = context.place();
    match named {
        Some(word) => place.scope(word),
        None => place.usual_scope(),
    }
}

/// What a text option says, or what is on standard input.
pub(super) fn text_or_input(context: &Context, text: String) -> Result<String, Failure> {
    if text == "-" {
        content_from_input(context)
    } else {
        Ok(text)
    }
}

/// Says that something waits for a person.
pub(super) fn note_held(context: &mut Context, agent: &Agent, held: &str) {
    let why = agent.held_reason(held).map(|why| format!(": {why}"));
    let why = printable(&why.unwrap_or_default());
    context.output.note(
        "quarantined",
        format!("kept as {held} for a person to look at{why}"),
    );
}

//! `note`: notes that outlive their session.
//!
//! # Layer
//! L10, part of cli.

use crate::agent::Agent;
use crate::agent::notes::{NewNote, NoteWritten, Replace, find_note};
use crate::answers::agent::sessions::{NoteDeleted, NoteHit, NoteLine};
use crate::cli::commands::input::text_or_input;
use crate::cli::commands::prelude::*;

/// Keep notes beyond a session
///
/// # Examples
/// ```text
/// treering note write 'the build needs Rust 1.95' --session s1
/// treering note search build
/// treering note list --json
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Note {
    #[command(subcommand)]
    pub(crate) verb: NoteVerb,
}

impl Verb for Note {
    const NAME: &'static str = "note";
    const ANSWERS: &'static [Form] = &[
        form::<NoteWritten>("write"),
        form::<NoteLine>("read, and a line each of list"),
        form::<NoteHit>("search, a line each"),
        form::<NoteDeleted>("delete"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.verb {
            NoteVerb::Write(verb) => write(context, verb),
            NoteVerb::Read(verb) => read(context, &verb),
            NoteVerb::List(verb) => list(context, &verb),
            NoteVerb::Delete(verb) => delete(context, &verb),
            NoteVerb::Search(verb) => search(context, &verb),
        }
    }
}

/// An action on notes.
#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Write a note, or replace one
    ///
    /// # Notes
    /// The note belongs to the root of the session (--session). Only that session replaces it.
    ///
    /// # Examples
    /// ```text
    /// treering note write 'the build needs --locked' --session s1
    /// treering note write 'done' --replace tea/note/0198c1de --session s1
    /// treering note write '' --replace '*' --session s1
    /// ```
    #[command(verbatim_doc_comment)]
    Write(NoteWrite),
    /// Show a note, and record the time of reading
    ///
    /// # Examples
    /// ```text
    /// treering note read tea/note/0198c1de --json
    /// ```
    #[command(verbatim_doc_comment)]
    Read(NoteRead),
    /// List the notes of the project, newest first
    ///
    /// # Examples
    /// ```text
    /// treering note list
    /// treering note list --own --session s1 --json
    /// ```
    #[command(verbatim_doc_comment)]
    List(NoteList),
    /// Delete a note of any session; undo restores it
    ///
    /// # Examples
    /// ```text
    /// treering note delete tea/note/0198c1de -m 'settled'
    /// ```
    #[command(verbatim_doc_comment)]
    Delete(NoteDelete),
    /// Search notes by words, age, and last reading
    ///
    /// # Examples
    /// ```text
    /// treering note search 'build flags' --session s1 --limit 3
    /// ```
    #[command(verbatim_doc_comment)]
    Search(NoteSearch),
}

/// The arguments of `note write`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct NoteWrite {
    /// The text; - reads it from standard input; an empty text only deletes the notes of --replace
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// The note to replace, or * for every note of the session
    #[arg(long, value_name = "ID")]
    pub(crate) replace: Option<String>,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// The arguments of `note read`
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

/// The arguments of `note list`
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

/// The arguments of `note delete`
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

/// The arguments of `note search`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct NoteSearch {
    /// The words to search for
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// The largest number of notes to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// The scope of the notes [default: the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

fn write(context: &mut Context, verb: NoteWrite) -> Done {
    let note = NewNote {
        text: text_or_input(context, verb.text)?,
        scope: context.scope(verb.scope.as_deref())?,
        session: context.lane(),
        replace: match verb.replace.as_deref() {
            None => None,
            Some("*") => Some(Replace::Own),
            Some(id) => Some(Replace::One(Id::new(id)?)),
        },
    };
    let agent = context.agent_to_write()?;
    let written = agent.write_note(&note, &context.writer())?;
    context.answer(&written)?;
    context.note_held(&agent, written.held.as_deref());
    Ok(DONE)
}

impl Answer for NoteWritten {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let what = match &self.id {
            Some(id) => format!("{id} of '{}'", self.owner),
            None => counted(self.cleared, "note"),
        };
        context.output.line(format_args!("{} {what}", self.action.name()))
    }
}

fn read(context: &mut Context, verb: &NoteRead) -> Done {
    let scope = context.scope(verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    // Only a handle that may write records the reading. Without one the note is shown all the same.
    let agent = match context.at() {
        None => context.agent_to_write().or_else(|_| context.agent_to_read())?,
        Some(_) => context.agent_to_read()?,
    };
    let view = context.view(agent.memory())?;
    let note = match context.at() {
        None => agent.read_note(&view, &id, &scope)?,
        Some(_) => find_note(&view, &id, &scope)?,
    };
    let note = note.ok_or_else(|| {
        Error::not_found(format!("there is no note '{id}' in the scope '{scope}'"))
            .with_hint("`note list` shows the notes")
    })?;
    context.answer(&NoteLine::from(note))
}

impl Answer for NoteLine {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        context.output.text(&self.text)?;
        context.output.line("")
    }
}

fn list(context: &mut Context, verb: &NoteList) -> Done {
    let (agent, view) = open(context)?;
    let scope = context.scope(verb.scope.as_deref())?;
    let session = verb.own.then(|| context.lane());
    let notes = agent.notes(&view, &scope, session.as_deref())?;
    context.rows(
        notes.into_iter().map(|note| Ok(NoteLine::from(note))),
        columns_of_note_line,
    )
}

fn columns_of_note_line(row: &NoteLine, _: &Context) -> Columns {
    vec![
        ("id", coloured(Meaning::Name, &row.id)),
        ("session", plain(row.about.owner.as_deref().unwrap_or_default())),
        ("trust", plain(row.about.origin.name())),
        ("text", plain(gist(&row.about.object))),
    ]
}

fn delete(context: &mut Context, verb: &NoteDelete) -> Done {
    let scope = context.scope(verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    let agent = context.agent_to_write()?;
    let (deleted, commit) = agent.delete_note(&id, &scope, &context.writer())?;
    context.answer(&NoteDeleted {
        deleted,
        id,
        scope,
        commit,
    })
}

impl Answer for NoteDeleted {
    fn show(&self, context: &mut Context) -> Result<(), Failure> {
        let done = if self.deleted {
            "deleted"
        } else {
            "there was no note"
        };
        context.output.line(format_args!("{done} {}", self.id))
    }
}

fn search(context: &mut Context, verb: &NoteSearch) -> Done {
    let (agent, view) = open(context)?;
    let scope = context.scope(verb.scope.as_deref())?;
    let found = agent.search_notes(&view, &verb.query, &scope, &context.lane(), verb.limit)?;
    context.rows(
        found.into_iter().map(|hit| Ok(NoteHit::from(hit))),
        columns_of_note_hit,
    )
}

fn columns_of_note_hit(row: &NoteHit, _: &Context) -> Columns {
    vec![
        ("score", plain(format!("{:.3}", row.score))),
        ("id", coloured(Meaning::Name, &row.id)),
        ("trust", plain(row.about.origin.name())),
        ("text", plain(&row.snippet)),
    ]
}

fn open(context: &mut Context) -> Result<(Agent, View)> {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    Ok((agent, view))
}

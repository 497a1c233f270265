//! `note`: writes, reads, lists, searches and deletes notes, which outlive their session.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::answers::agent::sessions::{NoteDeleted, NoteHit, NoteLine};
use crate::cli::agent_context::text_for_people;
use crate::cli::commands::prelude::*;
use crate::cli::input::text_or_input;
use treering::agent::{NewNote, NoteWritten, Replace};
use treering::inspect::agent::notes::find_note;

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
    const ANSWERS: &'static [Form] = &[
        form::<NoteWritten>("write"),
        form::<NoteLine>("read; list, one per line"),
        form::<NoteHit>("search, one per line"),
        form::<NoteDeleted>("delete"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.verb {
            NoteVerb::Write { text, replace, scope } => {
                write(context, text, replace.as_deref(), scope.as_deref())
            }
            NoteVerb::Read(verb) => read(context, &verb),
            NoteVerb::List { own, scope, shown } => {
                let (agent, view) = context.agent_view()?;
                let scope = context.caller().scope(scope.as_deref())?;
                let session = own.then(|| context.lane());
                let notes = agent.notes(&view, &scope, session.as_deref())?;
                let lines = notes.into_iter();
                let lines = lines.map(|note| Ok(NoteLine::of(&agent, note, shown.with_untrusted)));
                context.rows(lines, |line, context| {
                    let mut cells = columns(line, &["id", "owner"], context);
                    cells.extend(text_cells(&line.shown, usize::MAX));
                    cells
                })
            }
            NoteVerb::Delete(verb) => delete(context, &verb),
            NoteVerb::Search {
                query,
                limit,
                scope,
                shown,
            } => {
                let (agent, view) = context.agent_view()?;
                let scope = context.caller().scope(scope.as_deref())?;
                let found = agent.search_notes(&view, &query, &scope, &context.lane(), limit)?;
                let hits = found.into_iter();
                let hits = hits.map(|hit| Ok(NoteHit::of(&agent, hit, shown.with_untrusted)));
                context.rows(hits, |hit, context| {
                    let mut cells = vec![("score", right(format!("{:.2}", hit.score)))];
                    cells.extend(columns(hit, &["id"], context));
                    cells.extend(text_cells(&hit.shown(), usize::MAX));
                    cells
                })
            }
        }
    }
}

/// An action on notes.
#[derive(Debug, Subcommand)]
pub(crate) enum NoteVerb {
    /// Write a note, or replace a note
    ///
    /// # Notes
    /// The note belongs to the topmost parent of --session, or to --session if the session has no parent. Only
    /// sessions with the same topmost parent can replace the note.
    ///
    /// # Examples
    /// ```text
    /// treering note write 'the build needs --locked' --session s1
    /// treering note write 'done' --replace tea/note/0198c1de --session s1
    /// treering note write '' --replace '*' --session s1
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Write {
        /// The text of the note; - reads the text from standard input; an empty text only deletes the notes of
        /// --replace
        text: String,
        /// The note to replace, or * for every note of the session
        #[arg(long, value_name = "ID")]
        replace: Option<String>,
        /// The scope of the note [default: the project]
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
    },
    /// Show a note, and record the time of reading
    ///
    /// # Examples
    /// ```text
    /// treering note read tea/note/0198c1de --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Read(OneNote),
    /// List the notes of the project, newest first
    ///
    /// # Examples
    /// ```text
    /// treering note list
    /// treering note list --own --session s1 --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    List {
        /// List only the notes of --session
        #[arg(long)]
        own: bool,
        /// The scope of the notes [default: the project]
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
        #[command(flatten)]
        shown: UntrustedOption,
    },
    /// Delete a note of any session; undo restores it
    ///
    /// # Examples
    /// ```text
    /// treering note delete tea/note/0198c1de -m 'settled'
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Delete(OneNote),
    /// Search notes by words, age, and last reading
    ///
    /// # Examples
    /// ```text
    /// treering note search 'build flags' --session s1 --limit 3
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Search {
        /// The words to search for
        query: String,
        /// The largest number of notes to show
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize,
        /// The scope of the notes [default: the project]
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
        #[command(flatten)]
        shown: UntrustedOption,
    },
}

/// The arguments of `note read` and `note delete`
#[derive(Args, Debug)]
pub(crate) struct OneNote {
    /// The id of the note
    id: String,
    /// The scope of the note [default: the project]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
}

fn write(context: &mut Context, text: String, replace: Option<&str>, scope: Option<&str>) -> Done {
    let note = NewNote {
        text: text_or_input(context, text)?,
        scope: context.caller().scope(scope)?,
        session: context.lane(),
        replace: match replace {
            None => None,
            Some("*") => Some(Replace::Own),
            Some(id) => Some(Replace::One(Id::new(id)?)),
        },
    };
    let agent = context.agent_to_write()?;
    let written = agent.write_note(&note, &context.writer())?;
    let what = match &written.id {
        Some(id) => format!("{id} of '{}'", written.owner),
        None => counted(written.cleared, "note"),
    };
    context.say(&written, format_args!("{} {what}", written.action.name()))?;
    context.note_held(&agent, written.held.as_slice());
    Ok(DONE)
}

fn read(context: &mut Context, verb: &OneNote) -> Done {
    let scope = context.caller().scope(verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    // Recording the time of reading needs a store that is open for writing. If the store cannot be opened for writing,
    // the verb only shows the note.
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
            .with_hint("`treering note list` lists the notes")
    })?;
    // The id names one note, so its text is asked for.
    context.answer(&NoteLine::of(&agent, note, true), |note, context| {
        context.line(printable(&text_for_people(&note.shown)))
    })
}

fn delete(context: &mut Context, verb: &OneNote) -> Done {
    let scope = context.caller().scope(verb.scope.as_deref())?;
    let id = Id::new(&verb.id)?;
    let agent = context.agent_to_write()?;
    let (deleted, commit) = agent.delete_note(&id, &scope, &context.writer())?;
    let done = if deleted { "deleted" } else { "there is no note" };
    let text = format!("{done} {id}");
    let answer = NoteDeleted {
        deleted,
        id,
        scope,
        commit,
    };
    context.say(&answer, text)
}

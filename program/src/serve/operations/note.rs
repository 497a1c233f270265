//! `memory_note`: notes of a session, which every session of the project can read.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{Line, Row, Text, named};
use super::operation::{Answer, Choice, Effect, Operation, Page, Profile};
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::service::Lowered;
use treering::agent::{NewNote, NoteAction, NoteRead, Replace, StoredText};
use treering::inspect::agent::session::root_session;
use treering::inspect::agent::trust::held_back;
use treering::{Error, ErrorCode, Id, Result, Root, View};

/// The largest number of notes of a page.
const LIMIT: usize = 50;

named! {
    /// What to do with notes.
    #[derive(Default, Deserialize)]
    pub(super) enum Action {
        /// Write a note, or replace the note `id`.
        #[default]
        Write => "write",
        /// List the notes, newest first.
        List => "list",
        /// Find notes by words.
        Search => "search",
        /// Delete the note `id`.
        Delete => "delete",
    }
}

/// Keep working notes: plans, progress, open questions. Other sessions of the project can read them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// [default: write]
    #[serde(default)]
    action: Action,
    /// The note, or the words to search for
    text: Option<String>,
    /// The note to replace or delete
    id: Option<String>,
}

/// The answer of `memory_note`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Noted {
    Written {
        /// Null if the write only removed notes.
        id: Option<Id>,
        action: NoteAction,
        owner: String,
        root: Root,
        #[serde(flatten)]
        lowered: Option<Lowered>,
    },
    Deleted {
        deleted: bool,
        /// Whether there was no such note.
        absent: bool,
        id: Id,
        root: Root,
    },
    Found {
        notes: Vec<NoteRow>,
    },
}

/// A note, as a model gets it.
#[derive(Serialize, JsonSchema)]
pub(super) struct NoteRow {
    id: Id,
    owner: Option<String>,
    #[serde(flatten)]
    shown: Text,
    #[serde(skip)]
    is_others: bool,
}

impl NoteRow {
    fn of(service: &Service, note: NoteRead, own: &str) -> Self {
        let object = note.item.object();
        Self {
            id: object.id().clone(),
            shown: StoredText::of(service.agent(), object, false).into(),
            is_others: note.owner.as_deref() != Some(own),
            owner: note.owner,
        }
    }
}

impl Row for NoteRow {
    fn line(&self, view: &View) -> Line {
        let line = self.shown.line(view, &self.id);
        line.says(self.is_others.then_some("not yours"))
    }
}

impl Operation for Note {
    const NAME: &'static str = "memory_note";
    const TITLE: &'static str = "Notes";
    const EFFECT: Effect = Effect::Removes;
    const PROFILE: Profile = Profile::Default;
    const CHOICE: Option<Choice> = Some(Choice {
        argument: "action",
        older: None,
        default: "write",
        users: &[("text", &["write", "search"]), ("id", &["write", "delete"])],
    });
    const PAGED: Option<&'static str> = Some("notes");
    type Answer = Noted;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Noted>> {
        let view = page.view(service, None)?;
        let (agent, scope) = (service.agent(), service.scope(None)?);
        let session = service.session().to_owned();
        let id = self.id.as_deref().map(|id| service.id(&view, id)).transpose()?;
        let missing = |what: &str| {
            Error::invalid(format!("the action '{}' needs {what}", self.action))
                .with_code(ErrorCode::Usage)
                .with_hint("write and search need text; delete needs id")
        };
        match self.action {
            Action::Write => {
                if let Some(id) = &id {
                    service.object(&view, id.as_str())?;
                }
                let note = NewNote {
                    text: self.text.clone().ok_or_else(|| missing("text"))?,
                    scope,
                    session,
                    replace: id.map(Replace::One),
                };
                let written = agent.write_note(&note, &service.writer()?)?;
                if let Some(held) = &written.held {
                    return Err(held_back(agent, held));
                }
                let view = agent.memory().view();
                let name = written
                    .id
                    .as_ref()
                    .map_or_else(String::new, |id| named(&view, id));
                let mut line = format!(
                    "{} note {name} in {}",
                    written.action,
                    quoted(written.scope.as_str())
                );
                let class = service.class(&view)?;
                let lowered = (!class.is_trusted()).then(|| service.lowered(class));
                if let Some(lowered) = lowered {
                    line.extend([&lowered.to_string(), ": memory_get with untrusted shows it"]);
                }
                let written = Noted::Written {
                    id: written.id,
                    action: written.action,
                    owner: written.owner,
                    root: view.root(),
                    lowered,
                };
                Ok(Answer::new(view, written, line))
            }
            Action::Delete => {
                let id = id.ok_or_else(|| missing("id"))?;
                let (deleted, _) = agent.delete_note(&id, &scope, &service.writer()?)?;
                let line = if deleted { "deleted" } else { "there is no note" };
                let view = agent.memory().view();
                let line = format!("{line} {}", named(&view, &id));
                let root = view.root();
                let done = Noted::Deleted {
                    deleted,
                    // A false field is in no answer (ANS-2).
                    absent: !deleted,
                    id,
                    root,
                };
                Ok(Answer::new(view, done, line))
            }
            Action::List | Action::Search => {
                let wanted = page.start + LIMIT;
                let mut notes = match (self.action, &self.text) {
                    (Action::List, _) => agent.notes(&view, &scope, None)?,
                    (_, Some(text)) => {
                        let found = agent.search_notes(&view, text, &scope, &session, wanted + 1)?;
                        found.into_iter().map(|found| found.note).collect()
                    }
                    (_, None) => return Err(missing("text")),
                };
                let has_more = notes.len() > wanted;
                notes.truncate(wanted);
                let count = notes.len().saturating_sub(page.start) as u64;
                let line = format!("{} in {}", counted(count, "note"), quoted(scope.as_str()));
                let own = root_session(&view, &session)?;
                let notes = notes.into_iter().map(|note| NoteRow::of(service, note, &own));
                let notes = notes.collect();
                Ok(Answer::of_rows(view, notes, |notes| Noted::Found { notes }, line).with_more(has_more))
            }
        }
    }
}

//! The calls of an agent about its sessions: notes, transcripts and prompts.

use pyo3::prelude::*;
use treering::agent::{Append, EnvelopeRequest, NewNote, NoteRead, Reach, Replace};

use crate::agent::Agent;
use crate::answers::{Answer, answer, answer_with, table};
use crate::arguments::{entries, session_of};
use crate::convert::{id, sensitivity, value};
use crate::errors::invalid;
use crate::handle::run;
use crate::object::{Object, objects};
use crate::shapes as shape;
use crate::view::view_at;
use crate::writer::Writer;

fn note<'py>(py: Python<'py>, note: &NoteRead) -> Answer<'py> {
    let object = Object::python(py, note.item.object().clone())?;
    answer_with(py, &shape::Note::from(note), &[("object", object)])
}

#[pymethods]
impl Agent {
    /// Writes a note of the session. ``replace`` is the id of a note, or ``"own"`` for all notes of the session.
    #[pyo3(signature = (text, *, session=None, scope=None, replace=None, writer=None))]
    fn write_note<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] text: String,
        session: Option<String>,
        scope: Option<&str>,
        replace: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let session = session_of(py, session, &writer)?;
        let replace = match replace {
            Some("own") => Some(Replace::Own),
            Some(name) => Some(Replace::One(id(py, name)?)),
            None => None,
        };
        let scope = slf.get().scope_of(py, scope)?;
        let note = NewNote {
            text,
            scope,
            session,
            replace,
        };
        let done = run(py, || agent.write_note(&note, &writer))?;
        answer(py, &shape::NoteWritten::from(&done))
    }

    /// Returns a note, or ``None``.
    #[pyo3(signature = (id, *, scope=None))]
    fn read_note<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        scope: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (id, scope) = (self::id(py, id)?, slf.get().scope_of(py, scope)?);
        let agent = store.handle.agent(py)?;
        let note = run(py, || agent.read_note(&agent.memory().view(), &id, &scope))?;
        note.map(|note| self::note(py, &note)).transpose()
    }

    /// Returns the notes of a scope, newest first; with ``session``, only those of that session.
    #[pyo3(signature = (*, session=None, scope=None))]
    fn notes<'py>(slf: &Bound<'py, Self>, session: Option<&str>, scope: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, scope) = (store.handle.agent(py)?, slf.get().scope_of(py, scope)?);
        let found = run(py, || agent.notes(&agent.memory().view(), &scope, session))?;
        table(py, &found, note)
    }

    /// Returns the notes that match a query, the best first.
    #[pyo3(signature = (query, *, session=None, scope=None, limit=10))]
    fn search_notes<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] query: &str,
        session: Option<String>,
        scope: Option<&str>,
        #[pyo3(from_py_with = value)] limit: usize,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let session = session_of(py, session, &store.writer)?;
        let (agent, scope) = (store.handle.agent(py)?, slf.get().scope_of(py, scope)?);
        let found = run(py, || {
            agent.search_notes(&agent.memory().view(), query, &scope, &session, limit)
        })?;
        table(py, &found, |py, found| {
            let note = note(py, &found.note)?;
            answer_with(py, &shape::NoteFound::from(found), &[("note", note)])
        })
    }

    /// Deletes a note. Returns whether there was one.
    #[pyo3(signature = (id, *, scope=None, writer=None))]
    fn delete_note(
        slf: &Bound<'_, Self>,
        id: &str,
        scope: Option<&str>,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<bool> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (id, scope) = (self::id(py, id)?, slf.get().scope_of(py, scope)?);
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        Ok(run(py, || agent.delete_note(&id, &scope, &writer))?.0)
    }

    /// Appends to the transcript of a session. An entry is a text, a pair of speaker and text, or a dict.
    #[pyo3(signature = (entries, *, session=None, parent=None, scope=None, user=None, writer=None))]
    fn append<'py>(
        slf: &Bound<'py, Self>,
        entries: &Bound<'py, PyAny>,
        session: Option<String>,
        parent: Option<String>,
        scope: Option<&str>,
        user: Option<String>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let writer = store.writer(writer);
        let append = Append {
            session: session_of(py, session, &writer)?,
            parent,
            scope: scope.map(|word| slf.get().scope_of(py, Some(word))).transpose()?,
            usual_scope: slf.get().scope_of(py, None)?,
            reach: Reach::All,
            user,
            entries: self::entries(entries)?,
        };
        let agent = store.handle.agent(py)?;
        let done = run(py, || agent.append(&append, &writer))?;
        answer(py, &shape::Appended::from(&done))
    }

    /// Returns the entries of a session, in their order.
    #[pyo3(signature = (session=None, *, at=None))]
    fn entries<'py>(
        slf: &Bound<'py, Self>,
        session: Option<String>,
        at: Option<&Bound<'py, PyAny>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let session = session_of(py, session, &store.writer)?;
        let (agent, view) = (store.handle.agent(py)?, view_at(py, &store.handle, at)?);
        let found = run(py, || {
            let items = agent.entries(&view, &Reach::All, &session)?;
            items.collect::<treering::Result<Vec<_>>>()
        })?;
        objects(py, found)
    }

    /// Renders what a prompt needs to know, escaped and within a budget of tokens.
    #[pyo3(signature = (query=None, *, budget=5000, scopes=None, compaction=None, with_untrusted=false, sensitivity_max="internal", boundary=None, at=None))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    fn envelope<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] query: Option<String>,
        #[pyo3(from_py_with = value)] budget: usize,
        scopes: Option<&Bound<'py, PyAny>>,
        compaction: Option<String>,
        with_untrusted: bool,
        sensitivity_max: &str,
        boundary: Option<&str>,
        at: Option<&Bound<'py, PyAny>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let mut request = EnvelopeRequest::new(slf.get().reach_of(py, scopes)?);
        request.query = query;
        request.budget_tokens = budget;
        request.compaction = compaction;
        request.with_untrusted = with_untrusted;
        request.sensitivity_max = sensitivity(py, sensitivity_max)?;
        if let Some(word) = boundary {
            let boundary = treering::agent::Boundary::new(word);
            let bad = || {
                invalid(
                    py,
                    "the boundary breaks its rule",
                    Some("give 16 to 64 ASCII letters and digits"),
                )
            };
            request.boundary = Some(boundary.ok_or_else(bad)?);
        }
        let (agent, view) = (store.handle.agent(py)?, view_at(py, &store.handle, at)?);
        let found = run(py, || agent.envelope(&view, &request))?;
        answer(py, &shape::Envelope::from(&found))
    }
}

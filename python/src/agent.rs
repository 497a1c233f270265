//! `Agent`: the verbs of an agent on a store.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use treering::agent::{
    Append, Checks, EnvelopeRequest, Forgetting, LinesOptions, NewItem, NewNote, Pass, PersonSays, Place,
    Reach, RecallQuery, RememberOptions, Replace, Settings, Summarizer,
};

use crate::agent_answers as answers;
use crate::answers::{Answer, maybe_commit, table};
use crate::arguments::{
    citations, embedder_of, entries, judge_of, place_of, policy_of, session_of, settings_of,
};
use crate::attempt::Mode;
use crate::callbacks::{Callbacks, HostEmbedder, HostJudge, HostSummarizer};
use crate::committed::Committed;
use crate::convert::{
    attributes, conditions, digest, id, ids, kind, maybe_time, on_duplicate, origin, sensitivity, texts,
};
use crate::draft::Draft;
use crate::errors::{OrRaise, invalid};
use crate::exit::Inside;
use crate::handle::{Handle, run};
use crate::memory::{Memory, Opening, check_callables, with_store};
use crate::object::Object;
use crate::recalled::Recalled;
use crate::store::Store;
use crate::view::view_at;
use crate::writer::{Writer, writer as make_writer};

/// The memory of an agent: remember, recall, forget, notes, sessions, prompts, guarded turns.
#[pyclass(frozen, extends = Store, module = "treering", weakref)]
pub(crate) struct Agent {
    place: Place,
}

impl Agent {
    fn made<'py>(
        py: Python<'py>,
        memory: treering::Memory,
        settings: Settings,
        embedder: Option<(String, Bound<'py, PyAny>)>,
        judge: Option<Bound<'py, PyAny>>,
        writer: treering::Writer,
        project: Option<String>,
    ) -> PyResult<Bound<'py, Self>> {
        let memory_of_agent = memory.clone();
        let (name, embedder) = embedder.unzip();
        let callbacks = Callbacks::new(embedder.map(Bound::unbind), judge.clone().map(Bound::unbind));
        let callbacks = Bound::new(py, callbacks)?;
        let embedder = name.map(|name| Ok::<_, PyErr>((HostEmbedder::new(&callbacks, &name)?, name)));
        let embedder = embedder.transpose()?;
        let judge = judge.map(|_| HostJudge::new(&callbacks)).transpose()?;
        let agent = run(py, move || {
            let agent = treering::agent::Agent::new(memory_of_agent, settings);
            let agent = match embedder {
                Some((embedder, name)) => agent.with_embedder(&name, embedder)?,
                None => agent,
            };
            Ok(match judge {
                Some(judge) => agent.with_judge(judge),
                None => agent,
            })
        })?;
        let place = place_of(project, &writer);
        let store = Store {
            handle: Handle::new(memory, Some(agent)),
            writer,
            callbacks: Some(callbacks.unbind()),
        };
        Bound::new(py, (Self { place }, store))
    }

    fn scope_of(&self, py: Python<'_>, word: Option<&str>) -> PyResult<treering::Scope> {
        match word {
            Some(word) => self.place.scope(word).or_raise(py),
            None => self.place.usual_scope().or_raise(py),
        }
    }

    /// Returns the scopes that a call reads: the given ones, all with `"all"`, else the usual ones.
    fn reach_of(&self, py: Python<'_>, scopes: Option<&Bound<'_, PyAny>>) -> PyResult<Reach> {
        if scopes.is_none_or(|scopes| scopes.is_none()) {
            return self.place.usual_reach().or_raise(py);
        }
        let words = texts(scopes, "scopes")?;
        if words == ["all"] {
            return Ok(Reach::All);
        }
        let found = words.iter().map(|word| self.place.scope(word).or_raise(py));
        found.collect::<PyResult<_>>().map(Reach::Scopes)
    }
}

#[pymethods]
impl Agent {
    /// Opens the memory of an agent in a folder, and creates it if there is none.
    #[staticmethod]
    #[pyo3(signature = (path, *, create=true, trust="model", actor=None, session=None, project=None, settings=None, embedder=None, embedder_name=None, judge=None, read_only=false, degraded=false, wait=30.0, exclusive=false, mmap=true, sync_every=None, automatic_gc=true, hash="blake3"))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each option is a keyword")]
    fn open<'py>(
        py: Python<'py>,
        path: PathBuf,
        create: bool,
        trust: &str,
        actor: Option<String>,
        session: Option<String>,
        project: Option<String>,
        settings: Option<&str>,
        embedder: Option<Bound<'py, PyAny>>,
        embedder_name: Option<String>,
        judge: Option<Bound<'py, PyAny>>,
        read_only: bool,
        degraded: bool,
        wait: f64,
        exclusive: bool,
        mmap: bool,
        sync_every: Option<f64>,
        automatic_gc: bool,
        hash: &str,
    ) -> PyResult<Bound<'py, Self>> {
        let writer = make_writer(py, trust, actor, session, None, None)?;
        let settings = settings_of(py, settings)?;
        let (embedder, judge) = (embedder_of(py, embedder_name, embedder)?, judge_of(judge)?);
        let opening = Opening {
            create,
            read_only,
            degraded,
            wait,
            exclusive,
            mmap,
            sync_every,
            automatic_gc,
            hash,
        };
        Self::made(
            py,
            opening.open(py, path)?,
            settings,
            embedder,
            judge,
            writer,
            project,
        )
    }

    /// Creates the memory of an agent that ends with the process, for tests.
    #[staticmethod]
    #[pyo3(signature = (*, trust="model", actor=None, session=None, project=None, settings=None, embedder=None, embedder_name=None, judge=None))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    fn in_memory<'py>(
        py: Python<'py>,
        trust: &str,
        actor: Option<String>,
        session: Option<String>,
        project: Option<String>,
        settings: Option<&str>,
        embedder: Option<Bound<'py, PyAny>>,
        embedder_name: Option<String>,
        judge: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let writer = make_writer(py, trust, actor, session, None, None)?;
        let settings = settings_of(py, settings)?;
        let (embedder, judge) = (embedder_of(py, embedder_name, embedder)?, judge_of(judge)?);
        let memory = run(py, treering::Memory::in_memory)?;
        Self::made(py, memory, settings, embedder, judge, writer, project)
    }

    /// The engine below the agent. What it writes is neither scanned nor checked.
    #[getter]
    fn memory<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Memory>> {
        let store = slf.as_super().get();
        with_store(slf.py(), store.with_writer(slf.py(), store.writer.clone()))
    }

    /// The scope of a new item that names no other scope.
    #[getter]
    fn scope(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.scope_of(py, None)?.as_str().to_owned())
    }

    /// Returns a handle of the same memory with another usual writer.
    fn with_writer<'py>(slf: &Bound<'py, Self>, writer: &Bound<'py, Writer>) -> PyResult<Bound<'py, Self>> {
        let (store, writer) = (slf.as_super().get(), writer.get().writer.clone());
        let place = Place {
            session: writer.session.clone(),
            agent: writer.actor.clone(),
            ..slf.get().place.clone()
        };
        Bound::new(slf.py(), (Self { place }, store.with_writer(slf.py(), writer)))
    }

    /// Returns a handle of the same memory whose writer acts in this session. Each session has its own undo.
    fn with_session<'py>(slf: &Bound<'py, Self>, session: &str) -> PyResult<Bound<'py, Self>> {
        let writer = slf.as_super().get().writer.clone().session(session);
        Self::with_writer(slf, &Bound::new(slf.py(), Writer { writer })?)
    }

    /// Stores one statement. Look at ``status``: a quarantined text is not in the memory.
    #[pyo3(signature = (text, *, id=None, kind="fact", scope=None, tags=None, speaker=None, subject=None, session=None, order=None, time=None, expires=None, citations=None, confidence=None, sensitivity=None, source=None, pinned=false, supersedes=None, derived_from=None, attributes=None, trust=None, on_duplicate="warn", key=None, expected=None, quick=false, with_untrusted=false, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
    fn remember<'py>(
        slf: &Bound<'py, Self>,
        text: String,
        id: Option<&str>,
        kind: &str,
        scope: Option<&str>,
        tags: Option<&Bound<'py, PyAny>>,
        speaker: Option<String>,
        subject: Option<String>,
        session: Option<String>,
        order: Option<i64>,
        time: Option<&Bound<'py, PyAny>>,
        expires: Option<&Bound<'py, PyAny>>,
        citations: Option<&Bound<'py, PyAny>>,
        confidence: Option<f64>,
        sensitivity: Option<&str>,
        source: Option<String>,
        pinned: bool,
        supersedes: Option<&Bound<'py, PyAny>>,
        derived_from: Option<&Bound<'py, PyAny>>,
        attributes: Option<&Bound<'py, PyDict>>,
        trust: Option<&str>,
        on_duplicate: &str,
        key: Option<String>,
        expected: Option<&str>,
        quick: bool,
        with_untrusted: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let sources = texts(derived_from, "derived_from")?;
        let item = NewItem {
            id: id.map(|text| self::id(py, text)).transpose()?,
            kind: self::kind(py, kind)?,
            scope: slf.get().scope_of(py, scope)?,
            tags: texts(tags, "tags")?,
            speaker,
            subject,
            session,
            order,
            time: maybe_time(time)?,
            expires: maybe_time(expires)?,
            citations: self::citations(citations)?,
            confidence,
            sensitivity: sensitivity.map(|name| self::sensitivity(py, name)).transpose()?,
            source,
            is_pinned: pinned,
            supersedes: ids(py, &texts(supersedes, "supersedes")?)?,
            derived_from: sources
                .iter()
                .map(|text| digest(py, text))
                .collect::<PyResult<_>>()?,
            origin: trust.map(|trust| origin(py, trust)).transpose()?,
            others: self::attributes(attributes)?,
            ..NewItem::new(text)
        };
        let options = RememberOptions {
            on_duplicate: self::on_duplicate(py, on_duplicate)?,
            key,
            expected: expected.map(|text| digest(py, text)).transpose()?,
            is_quick: quick,
            with_untrusted,
            may_be_empty: false,
        };
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        answers::remembered(py, &run(py, || agent.remember(item, &options, &writer))?)
    }

    /// Stores many items in few commits. An item is a text, or a dict with ``text`` and other fields of ``remember``.
    #[pyo3(signature = (items, *, scope=None, kind="fact", session=None, batch=1000, writer=None))]
    fn remember_many<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        scope: Option<&str>,
        kind: &str,
        session: Option<String>,
        batch: usize,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let inside = Inside::attached(py);
        let lines: Vec<String> = py
            .import("treering._lines")?
            .call_method1("lines", (items,))?
            .extract()?;
        drop(inside);
        let options = LinesOptions {
            place: slf.get().place.clone(),
            scope: slf.get().scope_of(py, scope)?,
            kind: self::kind(py, kind)?,
            session,
            batch_lines: batch.max(1),
        };
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || {
            let lines = (1..)
                .zip(lines)
                .map(|(number, line)| Ok((number, line.into_bytes())));
            agent.remember_lines(lines, &options, &writer)
        })?;
        answers::remembered_many(py, &done)
    }

    /// Finds the items that answer a question, the best first.
    #[pyo3(signature = (question="", *, limit=10, budget=None, scopes=None, kinds=None, tags=None, any_tags=None, since=None, until=None, with_untrusted=false, speaker=None, attributes=None, include_expired=false, include_superseded=true, recency=None, freshness=true, when=None, full=false, explain=false, touch=true, at=None))]
    #[expect(clippy::too_many_arguments, reason = "each condition is a keyword")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each condition is a keyword")]
    fn recall(
        slf: &Bound<'_, Self>,
        question: &str,
        limit: usize,
        budget: Option<usize>,
        scopes: Option<&Bound<'_, PyAny>>,
        kinds: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        any_tags: Option<&Bound<'_, PyAny>>,
        since: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
        with_untrusted: bool,
        speaker: Option<String>,
        attributes: Option<&Bound<'_, PyDict>>,
        include_expired: bool,
        include_superseded: bool,
        recency: Option<f32>,
        freshness: bool,
        when: Option<&Bound<'_, PyAny>>,
        full: bool,
        explain: bool,
        touch: bool,
        at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Recalled> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let mut query = RecallQuery::new(question, slf.get().reach_of(py, scopes)?).limit(limit);
        query.budget = budget;
        let kinds = texts(kinds, "kinds")?;
        query.kinds = kinds.iter().map(|name| kind(py, name)).collect::<PyResult<_>>()?;
        query.tags = texts(tags, "tags")?;
        query.any_tags = texts(any_tags, "any_tags")?;
        query.since = maybe_time(since)?;
        query.until = maybe_time(until)?;
        query.with_untrusted = with_untrusted;
        query.speaker = speaker;
        query.attributes = conditions(attributes)?;
        query.include_expired = include_expired;
        query.include_superseded = include_superseded;
        query.recency = recency.unwrap_or(query.recency);
        query.freshness = freshness;
        query.when = maybe_time(when)?;
        query.full = full;
        query.explain = explain;
        query.touch = touch;
        let agent = store.handle.agent(py)?;
        let view = view_at(py, &store.handle, at)?;
        Recalled::new(py, run(py, || agent.recall(&view, &query))?)
    }

    /// Removes items that meet every given condition. History keeps them, and ``unforget`` restores them.
    #[pyo3(signature = (*ids, tags=None, any_tags=None, before=None, session=None, source=None, kind=None, scopes=None, dry_run=false, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each condition is a keyword")]
    fn forget<'py>(
        slf: &Bound<'py, Self>,
        ids: Vec<String>,
        tags: Option<&Bound<'py, PyAny>>,
        any_tags: Option<&Bound<'py, PyAny>>,
        before: Option<&Bound<'py, PyAny>>,
        session: Option<String>,
        source: Option<String>,
        kind: Option<&str>,
        scopes: Option<&Bound<'py, PyAny>>,
        dry_run: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let is_limited = scopes.is_some_and(|scopes| !scopes.is_none());
        let what = Forgetting {
            ids: self::ids(py, &ids)?,
            all_tags: texts(tags, "tags")?,
            any_tags: texts(any_tags, "any_tags")?,
            before: maybe_time(before)?,
            session,
            source,
            kind: kind.map(|name| self::kind(py, name)).transpose()?,
            reach: is_limited.then(|| slf.get().reach_of(py, scopes)).transpose()?,
        };
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        answers::forgot(py, run(py, || agent.forget(&what, &writer, dry_run))?)
    }

    /// Restores forgotten or shortened items. Without ids, the items of the last ``forget`` or decay.
    #[pyo3(signature = (*ids, scopes=None, dry_run=false, writer=None))]
    fn unforget<'py>(
        slf: &Bound<'py, Self>,
        ids: Vec<String>,
        scopes: Option<&Bound<'py, PyAny>>,
        dry_run: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (reach, ids) = (slf.get().reach_of(py, scopes)?, self::ids(py, &ids)?);
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || match ids.is_empty() {
            true => agent.unforget_last(&reach, &writer, dry_run),
            false => agent.unforget(&ids, &writer, dry_run),
        })?;
        answers::restored(py, done)
    }

    /// Returns the forgotten items, the last forgotten first.
    #[pyo3(signature = (*, limit=20, scopes=None))]
    fn forgotten<'py>(
        slf: &Bound<'py, Self>,
        limit: usize,
        scopes: Option<&Bound<'py, PyAny>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, reach) = (store.handle.agent(py)?, slf.get().reach_of(py, scopes)?);
        let found = run(py, || agent.forgotten(&agent.memory().view(), &reach, limit))?;
        table(py, found, answers::forgotten)
    }

    /// Sets the time at which an item expires; ``None`` means never. Returns the commit, or ``None`` without a change.
    #[pyo3(signature = (id, at, *, writer=None))]
    fn expire<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        at: Option<&Bound<'py, PyAny>>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (id, at) = (self::id(py, id)?, maybe_time(at)?);
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || agent.expire(&id, at, &writer))?;
        maybe_commit(py, done.as_ref())
    }

    /// Shortens the items that nobody used for a while. ``summarizer(item, level)`` may return a shorter text.
    #[pyo3(signature = (*, now=None, everything=false, dry_run=false, summarizer=None, writer=None))]
    fn decay<'py>(
        slf: &Bound<'py, Self>,
        now: Option<&Bound<'py, PyAny>>,
        everything: bool,
        dry_run: bool,
        summarizer: Option<Py<PyAny>>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (now, host) = (maybe_time(now)?, summarizer.map(HostSummarizer));
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || {
            let pass = Pass {
                now,
                everything,
                dry_run,
                summarizer: host.as_ref().map(|host| host as &dyn Summarizer),
            };
            agent.decay(&pass, &writer)
        })?;
        answers::decayed(py, &done)
    }

    /// Writes a note of the session. ``replace`` is the id of a note, or ``"own"`` for all notes of the session.
    #[pyo3(signature = (text, *, session=None, scope=None, replace=None, writer=None))]
    fn write_note<'py>(
        slf: &Bound<'py, Self>,
        text: String,
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
        answers::note_written(py, &run(py, || agent.write_note(&note, &writer))?)
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
        note.map(|note| answers::note(py, note)).transpose()
    }

    /// Returns the notes of a scope, newest first; with ``session``, only those of that session.
    #[pyo3(signature = (*, session=None, scope=None))]
    fn notes<'py>(slf: &Bound<'py, Self>, session: Option<&str>, scope: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, scope) = (store.handle.agent(py)?, slf.get().scope_of(py, scope)?);
        let found = run(py, || agent.notes(&agent.memory().view(), &scope, session))?;
        table(py, found, answers::note)
    }

    /// Returns the notes that match a query, the best first.
    #[pyo3(signature = (query, *, session=None, scope=None, limit=10))]
    fn search_notes<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        session: Option<String>,
        scope: Option<&str>,
        limit: usize,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let session = session_of(py, session, &store.writer)?;
        let (agent, scope) = (store.handle.agent(py)?, slf.get().scope_of(py, scope)?);
        let found = run(py, || {
            agent.search_notes(&agent.memory().view(), query, &scope, &session, limit)
        })?;
        table(py, found, answers::note_found)
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
        answers::appended(py, &run(py, || agent.append(&append, &writer))?)
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
        table(py, found, |py, item| Object::python(py, item.into_object()))
    }

    /// Renders what a prompt needs to know, escaped and within a budget of tokens.
    #[pyo3(signature = (query=None, *, budget=5000, scopes=None, compaction=None, with_untrusted=false, sensitivity_max="internal", boundary=None, at=None))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    fn envelope<'py>(
        slf: &Bound<'py, Self>,
        query: Option<String>,
        budget: usize,
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
        answers::envelope(py, &run(py, || agent.envelope(&view, &request))?)
    }

    /// Begins a guarded turn: a draft that is committed only if the policy and the checks of the caller pass. ``policy``
    /// is the text of a policy file.
    #[pyo3(signature = (*checks, policy=None, writer=None))]
    fn attempt(
        slf: &Bound<'_, Self>,
        checks: Vec<Py<PyAny>>,
        policy: Option<&str>,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Draft> {
        let (py, store) = (slf.py(), slf.as_super().get());
        check_callables(py, &checks)?;
        let policy = policy_of(py, policy)?;
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let draft = run(py, || Ok(memory.draft(&writer)))?;
        Draft::new(py, store, draft, Mode::Guard { policy, checks })
    }

    /// Runs the checks of a policy on a draft. Changes nothing.
    #[pyo3(signature = (draft, *, policy=None))]
    fn check<'py>(slf: &Bound<'py, Self>, draft: &Bound<'py, Draft>, policy: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, policy) = (store.handle.agent(py)?, policy_of(py, policy)?);
        let found = draft
            .get()
            .with(py, |staged| agent.check(&staged.draft, &Checks::new(policy)))?;
        answers::report(py, &found)
    }

    /// Returns the changes that wait for a person, newest first.
    #[pyo3(signature = (*, scopes=None))]
    fn quarantined<'py>(slf: &Bound<'py, Self>, scopes: Option<&Bound<'py, PyAny>>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, reach) = (store.handle.agent(py)?, slf.get().reach_of(py, scopes)?);
        let held = run(py, || agent.quarantined(&reach))?;
        table(py, &held, answers::quarantined)
    }

    /// Commits a quarantined change because a person decided so. The writer must be a person.
    #[pyo3(signature = (name, *, writer=None))]
    fn release<'py>(slf: &Bound<'py, Self>, name: &str, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        Committed::python(py, run(py, || agent.release(name, PersonSays::InHost, &writer))?)
    }

    /// Drops a quarantined change.
    #[pyo3(signature = (name, *, writer=None))]
    fn discard(slf: &Bound<'_, Self>, name: &str, writer: Option<&Bound<'_, Writer>>) -> PyResult<()> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        run(py, || agent.discard(name, &writer))
    }

    /// Returns what takes effect if a person promotes an item.
    #[pyo3(signature = (id, *, expected=None))]
    fn review<'py>(slf: &Bound<'py, Self>, id: &str, expected: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let expected = expected.map(|text| digest(py, text)).transpose()?;
        let (agent, id) = (store.handle.agent(py)?, self::id(py, id)?);
        answers::review(py, &run(py, || agent.review(&id, expected))?)
    }

    /// Raises an item to the class of the writer, who must be a person. ``expected`` is the digest that was reviewed.
    #[pyo3(signature = (id, expected, *, keep=None, writer=None))]
    fn promote<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        expected: &str,
        keep: Option<&Bound<'py, PyAny>>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (id, expected, keep) = (self::id(py, id)?, digest(py, expected)?, texts(keep, "keep")?);
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || {
            let keep: Vec<_> = keep.iter().map(String::as_str).collect();
            agent.promote(&id, expected, &keep, PersonSays::InHost, &writer)
        })?;
        answers::promoted(py, &done)
    }

    /// Finds the commit that changed the first answer to a question. With ``expect``, an answer without it is bad.
    #[pyo3(signature = (question, good, bad=None, *, expect=None, scopes=None, with_untrusted=false))]
    fn bisect<'py>(
        slf: &Bound<'py, Self>,
        question: &str,
        good: &Bound<'py, PyAny>,
        bad: Option<&Bound<'py, PyAny>>,
        expect: Option<&str>,
        scopes: Option<&Bound<'py, PyAny>>,
        with_untrusted: bool,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let good = view_at(py, &store.handle, Some(good))?;
        let bad = view_at(py, &store.handle, bad)?;
        let mut query = RecallQuery::new(question, slf.get().reach_of(py, scopes)?);
        query.with_untrusted = with_untrusted;
        let agent = store.handle.agent(py)?;
        answers::bisected_answer(py, run(py, || agent.bisect(&good, &bad, &query, expect))?)
    }

    /// The scopes that a call reads if it names no others.
    #[getter]
    fn scopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = match self.reach_of(py, None)? {
            Reach::Scopes(scopes) => scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            Reach::All => Vec::new(),
        };
        PyList::new(py, names)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        slf.as_super().get().described(slf.py(), "Agent")
    }
}

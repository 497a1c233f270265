//! The calls of an agent about its items: remember, recall, forget, decay and bisect.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treering::agent::{Forgetting, ItemFields, LinesOptions, Pass, RecallQuery, RememberOptions, Summarizer};

use crate::agent::Agent;
use crate::answers::{Answer, answer, answer_with, commit, table};
use crate::arguments::citations;
use crate::callbacks::HostSummarizer;
use crate::convert::{
    attributes, conditions, digest, id, ids, kind, maybe_time, on_duplicate, seconds as to_duration, texts,
    value,
};
use crate::errors::OrRaise as _;
use crate::exit::Inside;
use crate::handle::run;
use crate::object::{Object, objects};
use crate::shapes as shape;
use crate::view::view_at;
use crate::writer::Writer;

#[pymethods]
impl Agent {
    /// Stores one statement. Look at ``status``: a quarantined text is not in the memory.
    #[pyo3(signature = (text, *, id=None, kind="fact", scope=None, tags=None, speaker=None, subject=None, session=None, order=None, time=None, expires=None, citations=None, confidence=None, sensitivity=None, source=None, pinned=false, supersedes=None, derived_from=None, attributes=None, trust=None, on_duplicate="warn", key=None, expected=None, quick=false, with_untrusted=false, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
    fn remember<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] text: String,
        id: Option<&str>,
        kind: &str,
        scope: Option<&str>,
        tags: Option<&Bound<'py, PyAny>>,
        speaker: Option<String>,
        subject: Option<String>,
        session: Option<String>,
        #[pyo3(from_py_with = value)] order: Option<i64>,
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
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        run(py, || {
            agent.admit(speaker.as_deref(), trust, session.as_deref(), &writer)
        })?;
        let sources = texts(derived_from, "derived_from")?;
        let fields = ItemFields {
            text,
            id: id.map(str::to_owned),
            kind: Some(kind.to_owned()),
            scope: scope.map(str::to_owned),
            tags: texts(tags, "tags")?,
            speaker,
            subject,
            session,
            order,
            time: maybe_time(time)?,
            expires: maybe_time(expires)?,
            citations: self::citations(citations)?,
            confidence,
            sensitivity: sensitivity.map(str::to_owned),
            source,
            pinned,
            supersedes: texts(supersedes, "supersedes")?,
            derived_from: sources
                .iter()
                .map(|text| digest(py, text))
                .collect::<PyResult<_>>()?,
            origin: trust.map(str::to_owned),
            attributes: self::attributes(attributes)?,
        };
        let item = fields.into_item(&slf.get().caller).or_raise(py)?;
        let options = RememberOptions {
            on_duplicate: self::on_duplicate(py, on_duplicate)?,
            key,
            expected: expected.map(|text| digest(py, text)).transpose()?,
            is_quick: quick,
            with_untrusted,
            may_be_empty: false,
        };
        let done = run(py, || agent.remember(item, &options, &writer))?;
        answer(py, &shape::Remembered::from(&done))
    }

    /// Stores many items in few commits. An item is a text, or a dict with ``text`` and other fields of ``remember``.
    #[pyo3(signature = (items, *, scope=None, kind="fact", session=None, batch=1000, writer=None))]
    fn remember_many<'py>(
        slf: &Bound<'py, Self>,
        items: &Bound<'py, PyAny>,
        scope: Option<&str>,
        kind: &str,
        session: Option<String>,
        #[pyo3(from_py_with = value)] batch: usize,
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
            place: slf.get().caller.place(),
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
        answer(py, &shape::RememberedMany::from(&done))
    }

    /// Finds the items that answer a question, the best first.
    #[pyo3(signature = (question="", *, limit=10, budget=None, scopes=None, kinds=None, tags=None, any_tags=None, since=None, until=None, with_untrusted=false, speaker=None, attributes=None, include_expired=false, include_superseded=true, recency=None, freshness=true, when=None, full=false, explain=false, touch=true, at=None))]
    #[expect(clippy::too_many_arguments, reason = "each condition is a keyword")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each condition is a keyword")]
    fn recall<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] question: &str,
        #[pyo3(from_py_with = value)] limit: usize,
        #[pyo3(from_py_with = value)] budget: Option<usize>,
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
    ) -> Answer<'py> {
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
        let found = run(py, || agent.recall(&view, &query))?;
        answer(py, &shape::Recalled::from(&found))
    }

    /// Computes the vectors of the items that have none, the newest first, for at most so many ``seconds``. Returns how many
    /// items have vectors, or ``None`` without a model. Each ``recall`` does so for 0.3 seconds.
    #[pyo3(signature = (seconds=None))]
    fn embed<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] seconds: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let limit = seconds
            .map(|seconds| to_duration(py, seconds, "seconds"))
            .transpose()?;
        let agent = store.handle.agent(py)?;
        let counts = run(py, || {
            let counts = agent.embed(limit)?;
            // A read-only memory keeps them in this process only.
            drop(agent.keep_indexes());
            Ok(counts)
        })?;
        counts.map(|counts| answer(py, &counts)).transpose()
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
            versions: Vec::new(),
            all_tags: texts(tags, "tags")?,
            any_tags: texts(any_tags, "any_tags")?,
            before: maybe_time(before)?,
            session,
            source,
            kind: kind.map(|name| self::kind(py, name)).transpose()?,
            reach: is_limited.then(|| slf.get().reach_of(py, scopes)).transpose()?,
        };
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let mut done = run(py, || agent.forget(&what, &writer, dry_run))?;
        let items = objects(py, std::mem::take(&mut done.items))?;
        answer_with(py, &shape::Forgot::from(&done), &[("items", items)])
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
        let mut done = run(py, || match ids.is_empty() {
            true => agent.unforget_last(&reach, &writer, dry_run),
            false => agent.unforget(&ids, &writer, dry_run),
        })?;
        let items = objects(py, std::mem::take(&mut done.items))?;
        answer_with(py, &shape::Restored::from(&done), &[("items", items)])
    }

    /// Returns the forgotten items, the last forgotten first.
    #[pyo3(signature = (*, limit=20, scopes=None))]
    fn forgotten<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] limit: usize,
        scopes: Option<&Bound<'py, PyAny>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, reach) = (store.handle.agent(py)?, slf.get().reach_of(py, scopes)?);
        let found = run(py, || agent.forgotten(&agent.memory().view(), &reach, limit))?;
        table(py, found, |py, one| {
            let item = Object::python(py, one.item.object().clone())?;
            answer_with(py, &shape::Forgotten::from(&one), &[("item", item)])
        })
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
        done.map(|done| commit(py, &done)).transpose()
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
        answer(py, &shape::Decayed::from(&done))
    }

    /// Finds the commit that changed the first answer to a question. With ``expect``, an answer without it is bad.
    #[pyo3(signature = (question, good, bad=None, *, expect=None, scopes=None, with_untrusted=false))]
    fn bisect<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = value)] question: &str,
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
        let found = run(py, || agent.bisect(&good, &bad, &query, expect))?;
        answer(py, &shape::BisectedAnswer::from(&found))
    }
}

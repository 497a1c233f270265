//! `Store`: what an engine handle and an agent share: states, snapshots, the ways back, and history.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{PyTraverseError, PyVisit};
use treering::revert::Selection;
use treering::upkeep::VerifyDepth;
use treering::{Error, ErrorKind};

use crate::answers::{Answer, answer, answer_with, changes, commit, table};
use crate::callbacks::Callbacks;
use crate::committed::Committed;
use crate::convert::{conflicts, id, maybe_time, python_value, seconds, texts, value};
use crate::errors::OrRaise;
use crate::exit::{attached, detached};
use crate::forks::Forked;
use crate::handle::{Handle, OfProcess, run};
use crate::shapes::{self as shape, hash_name};
use crate::view::{View, revision, view_at};
use crate::writer::Writer;

/// The longest wait of `Watch.poll` between two looks for an interrupt (Ctrl+C) and for a closed handle.
const POLL_MAX: Duration = Duration::from_millis(50);

/// An open store: the base of ``Memory`` and ``Agent``.
#[pyclass(frozen, subclass, module = "treering", weakref)]
pub(crate) struct Store {
    pub(crate) handle: Arc<Handle>,
    pub(crate) writer: treering::Writer,
    /// The project of the host, to which new items of drafts belong as those of `remember`.
    pub(crate) project: Option<String>,
    /// The functions of an agent. The agent itself refers to them weakly.
    pub(crate) callbacks: Option<Py<Callbacks>>,
    /// What the end of a `with` block does with a fork that this process made.
    pub(crate) fork: Option<Arc<Forked>>,
}

impl Store {
    /// Returns a handle of the same store with another writer.
    pub(crate) fn with_writer(&self, py: Python<'_>, writer: treering::Writer) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            writer,
            project: self.project.clone(),
            callbacks: self.callbacks.as_ref().map(|callbacks| callbacks.clone_ref(py)),
            fork: self.fork.clone(),
        }
    }

    /// Returns the writer of a call.
    pub(crate) fn writer(&self, given: Option<&Bound<'_, Writer>>) -> treering::Writer {
        Writer::or(given, &self.writer)
    }

    /// Returns the text of `repr` for a handle of this class.
    pub(crate) fn described(&self, py: Python<'_>, class: &str) -> String {
        let Ok(memory) = self.handle.memory(py) else {
            return format!("{class}(closed)");
        };
        let place = memory.path().map(|path| path.display().to_string());
        let place = place.unwrap_or_else(|| "in memory".to_owned());
        let fork = memory.fork_name().map(|name| format!(", fork={name:?}"));
        let fork = fork.unwrap_or_default();
        match run(py, || Ok(memory.view().len())) {
            Ok(objects) => format!("{class}({place:?}{fork}, objects={objects})"),
            // A signal handler cannot use the store.
            Err(_) => format!("{class}({place:?}{fork})"),
        }
    }
}

#[pymethods]
impl Store {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callbacks)
    }

    /// The folder of the store; ``None`` for a store in memory.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<std::path::PathBuf>> {
        Ok(self.handle.memory(py)?.path().map(ToOwned::to_owned))
    }

    /// The writer of every call that names no other writer.
    #[getter(writer)]
    fn usual_writer(&self) -> Writer {
        Writer {
            writer: self.writer.clone(),
        }
    }

    /// The hash of the store: ``"blake3"`` or ``"sha256"``.
    #[getter]
    fn hash(&self, py: Python<'_>) -> PyResult<String> {
        Ok(hash_name(self.handle.memory(py)?.hash()).to_owned())
    }

    /// Problems that the handle noticed and that lost no data.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let memory = self.handle.memory(py)?;
        run(py, || Ok(memory.warnings()))
    }

    /// Whether the handle is closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.handle.is_closed(py)
    }

    /// Returns the newest state that this process has read.
    fn view(&self, py: Python<'_>) -> PyResult<View> {
        Ok(View::new(&self.handle, view_at(py, &self.handle, None)?))
    }

    /// Reads the commits of other processes, and returns the newest state.
    fn refresh(&self, py: Python<'_>) -> PyResult<View> {
        let memory = self.handle.memory(py)?;
        Ok(View::new(&self.handle, run(py, || memory.refresh())?))
    }

    /// Returns an earlier state: a snapshot by name, ``"@-3"``, ``"seq:7"``, ``"fork:NAME"``, a digest, or a time.
    fn at(&self, py: Python<'_>, revision: &Bound<'_, PyAny>) -> PyResult<View> {
        Ok(View::new(
            &self.handle,
            view_at(py, &self.handle, Some(revision))?,
        ))
    }

    /// Names the newest state. Without a name, the snapshot joins the ring of the lane.
    #[pyo3(signature = (name=None, *, writer=None))]
    fn snapshot<'py>(
        &self,
        py: Python<'py>,
        name: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let taken = run(py, || memory.snapshot(name, &writer))?;
        answer(py, &shape::Snapshot::from(&taken))
    }

    /// Returns the snapshots, newest first.
    fn snapshots<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        let found = run(py, || memory.snapshots())?;
        table(py, &found, |py, one| answer(py, &shape::Snapshot::from(one)))
    }

    /// Deletes a snapshot. The state stays in history.
    #[pyo3(signature = (name, *, writer=None))]
    fn delete_snapshot<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let deleted = run(py, || memory.delete_snapshot(name, &writer))?;
        answer(py, &shape::Snapshot::from(&deleted))
    }

    /// Takes back the newest commit of the writer's lane.
    #[pyo3(signature = (*, writer=None))]
    fn undo<'py>(&self, py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        Committed::python(py, run(py, || memory.undo(&writer))?)
    }

    /// Takes back the newest undo of the writer's lane.
    #[pyo3(signature = (*, writer=None))]
    fn redo<'py>(&self, py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        Committed::python(py, run(py, || memory.redo(&writer))?)
    }

    /// Returns to an earlier state by a new commit. With ``across_lanes``, also takes back the commits of other lanes.
    #[pyo3(signature = (revision, *, across_lanes=false, writer=None))]
    fn rollback<'py>(
        &self,
        py: Python<'py>,
        revision: &Bound<'py, PyAny>,
        across_lanes: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let target = rollback_target(revision)?;
        let done = run(py, || planned(&memory, target, across_lanes).by(&writer))?;
        Committed::python(py, done)
    }

    /// Returns the commit to which a rollback would return, and the numbers of added, changed and removed objects.
    #[pyo3(signature = (revision, *, across_lanes=false, writer=None))]
    fn rollback_preview<'py>(
        &self,
        py: Python<'py>,
        revision: &Bound<'py, PyAny>,
        across_lanes: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let target = rollback_target(revision)?;
        let previewed = run(py, || planned(&memory, target, across_lanes).preview(&writer))?;
        answer(py, &shape::RollbackPreview::from(&previewed))
    }

    /// Takes back what the selected commits wrote, and keeps the work of everybody else.
    #[pyo3(signature = (*, commit=None, session=None, actor=None, source=None, since=None, until=None, conflicts="keep", with_derived=false, dry_run=false, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each condition is a keyword")]
    fn revert<'py>(
        &self,
        py: Python<'py>,
        commit: Option<&Bound<'py, PyAny>>,
        session: Option<&Bound<'py, PyAny>>,
        actor: Option<&Bound<'py, PyAny>>,
        source: Option<&Bound<'py, PyAny>>,
        since: Option<&Bound<'py, PyAny>>,
        until: Option<&Bound<'py, PyAny>>,
        conflicts: &str,
        with_derived: bool,
        dry_run: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let mut selection = Selection::default();
        for text in texts(commit, "commit")? {
            selection = selection.commit(text.parse::<treering::Revision>().or_raise(py)?);
        }
        selection.sessions = texts(session, "session")?;
        selection.actors = texts(actor, "actor")?;
        selection.sources = texts(source, "source")?;
        selection.since = maybe_time(since)?;
        selection.until = maybe_time(until)?;
        let conflicts = self::conflicts(py, conflicts)?;
        let done = run(py, || {
            let revert = memory.revert(selection).conflicts(conflicts);
            let revert = if with_derived {
                revert.with_derived()
            } else {
                revert
            };
            if dry_run {
                revert.preview(&writer)
            } else {
                revert.by(&writer)
            }
        })?;
        answer(py, &shape::Reverted::from(&done))
    }

    /// Returns the ids that differ between two states, with their old and new texts. Without ``newer``, the newest state.
    #[pyo3(signature = (older, newer=None))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        older: &Bound<'py, PyAny>,
        newer: Option<&Bound<'py, PyAny>>,
    ) -> Answer<'py> {
        let older = view_at(py, &self.handle, Some(older))?;
        let newer = view_at(py, &self.handle, newer)?;
        let memory = self.handle.memory(py)?;
        let found = run(py, || memory.diff(&older, &newer))?;
        let states = (View::new(&self.handle, older), View::new(&self.handle, newer)).into_pyobject(py)?;
        changes(py, &found, &states)
    }

    /// Returns the changes of an id, newest first.
    fn history<'py>(&self, py: Python<'py>, id: &str) -> Answer<'py> {
        let (memory, id) = (self.handle.memory(py)?, self::id(py, id)?);
        let entries = run(py, || memory.history(&id))?;
        table(py, &entries, |py, one| {
            answer(py, &shape::HistoryEntry::from(one))
        })
    }

    /// Returns the kept commits, newest first.
    #[pyo3(signature = (*, limit=None))]
    fn commits<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = value)] limit: Option<usize>,
    ) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        let limit = limit.unwrap_or(usize::MAX);
        let found = run(py, || {
            memory.commits().take(limit).collect::<treering::Result<Vec<_>>>()
        })?;
        table(py, &found, commit)
    }

    /// Returns each part of an object, with the commit that wrote it.
    #[pyo3(signature = (id, *, at=None))]
    fn blame<'py>(&self, py: Python<'py>, id: &str, at: Option<&Bound<'py, PyAny>>) -> Answer<'py> {
        let view = view_at(py, &self.handle, at)?;
        let (memory, id) = (self.handle.memory(py)?, self::id(py, id)?);
        let parts = run(py, || memory.blame(&view, &id))?;
        table(py, &parts, |py, part| {
            let value = python_value(py, &part.value)?;
            answer_with(py, &shape::BlamedPart::from(part), &[("value", value)])
        })
    }

    /// Finds the first commit between two states for which ``is_bad`` returns true, by halves.
    fn bisect_states<'py>(
        &self,
        py: Python<'py>,
        good: &Bound<'py, PyAny>,
        bad: &Bound<'py, PyAny>,
        is_bad: Py<PyAny>,
    ) -> Answer<'py> {
        let good = view_at(py, &self.handle, Some(good))?;
        let bad = view_at(py, &self.handle, Some(bad))?;
        let (memory, handle) = (self.handle.memory(py)?, Arc::clone(&self.handle));
        let raised = Mutex::new(None);
        let found = run(py, || {
            memory.bisect(&good, &bad, |view| {
                attached(|py| {
                    let view = View::new(&handle, view.clone());
                    let verdict = is_bad
                        .call1(py, (view,))
                        .and_then(|verdict| verdict.is_truthy(py));
                    verdict.map_err(|error| {
                        if let Ok(mut raised) = raised.lock() {
                            *raised = Some(error);
                        }
                        Error::new(ErrorKind::Internal, "the test of the caller failed")
                    })
                })
            })
        });
        // The exception of the caller's test is more useful than the error that it caused.
        match raised.into_inner().ok().flatten() {
            Some(error) => Err(error),
            None => answer(py, &shape::Bisected::from(&found?)),
        }
    }

    /// Returns the text of a reason or a source; ``Commit`` has their digests.
    fn text(&self, py: Python<'_>, digest: &str) -> PyResult<String> {
        let memory = self.handle.memory(py)?;
        let digest = digest.parse::<treering::TextDigest>().map_err(|_| {
            crate::errors::invalid(py, "the text is not a digest", Some("give 64 hexadecimal digits"))
        })?;
        run(py, || memory.text(&digest))
    }

    /// Checks the store. With ``files_only``, only its files. The report is true if nothing is lost.
    #[pyo3(signature = (*, files_only=false))]
    fn verify<'py>(&self, py: Python<'py>, files_only: bool) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        let depth = if files_only {
            VerifyDepth::Quick
        } else {
            VerifyDepth::Full
        };
        let report = run(py, || memory.verify(depth))?;
        answer(py, &shape::VerifyReport::from(&report))
    }

    /// Returns the sizes of the store.
    fn stats<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        answer(py, &run(py, || memory.stats())?)
    }

    /// Reports when the head moves, so that a host can refresh a prompt after a rollback.
    fn watch(&self, py: Python<'_>) -> PyResult<Watch> {
        let memory = self.handle.memory(py)?;
        let receiver = run(py, || Ok(memory.watch()))?;
        Ok(Watch {
            handle: Arc::clone(&self.handle),
            receiver: OfProcess::new(receiver),
        })
    }

    /// Makes everything written so far durable, if the store was opened with ``sync_every``.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let memory = self.handle.memory(py)?;
        run(py, || memory.sync())
    }

    /// Closes the store. Every object that was made from it raises ``HandleError`` afterwards. Of a fork, only the fork.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.close(py)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        if let Some(fork) = &slf.get().fork {
            fork.enter();
        }
        slf
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyType>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (kind, traceback);
        match &self.fork {
            Some(fork) => fork.end(py, self, error),
            None => self.close(py),
        }
    }
}

/// Plans a rollback.
fn planned(
    memory: &treering::Memory,
    target: treering::Revision,
    across_lanes: bool,
) -> treering::Rollback<'_> {
    let rollback = memory.rollback(target);
    match across_lanes {
        true => rollback.across_lanes(),
        false => rollback,
    }
}

/// Returns the revision to which a rollback returns: that of a revision, a time, or the commit of a view.
pub(crate) fn rollback_target(given: &Bound<'_, PyAny>) -> PyResult<treering::Revision> {
    if let Ok(view) = given.cast::<View>() {
        let view = view.get().open(given.py())?;
        return Ok(treering::Revision::from(view.commit().digest));
    }
    revision(given)
}

/// A queue of the moves of the head, beginning when it was made.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Watch {
    handle: Arc<Handle>,
    receiver: OfProcess<crossbeam_channel::Receiver<treering::HeadMoved>>,
}

#[pymethods]
impl Watch {
    /// Waits at most ``timeout`` seconds for the next move, and returns it, or ``None``.
    #[pyo3(signature = (timeout=0.0))]
    fn poll<'py>(&self, py: Python<'py>, timeout: f64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let receiver = self.receiver.get(py)?;
        let timeout = seconds(py, timeout, "the timeout")?.min(Duration::from_hours(24));
        let end = Instant::now() + timeout;
        loop {
            self.handle.check(py)?;
            let left = end.saturating_duration_since(Instant::now());
            match detached(py, || receiver.recv_timeout(left.min(POLL_MAX))) {
                Ok(moved) => return answer(py, &moved).map(Some),
                Err(RecvTimeoutError::Timeout) if left > POLL_MAX => py.check_signals()?,
                // The store of a closed handle sends nothing more.
                Err(_) => return self.handle.check(py).map(|()| None),
            }
        }
    }
}

//! Forks and merges: a line of its own for a task, and the merge that brings its work back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use treering::merge::{Merge, Merged, OpenConflict, Resolution, Strategy};
use treering::{Draft, ErrorKind, Memory};

use crate::answers::{Answer, answer, answer_with, changes, table};
use crate::attempt::Mode;
use crate::committed::Committed;
use crate::convert::{digest, id, origin, value};
use crate::draft;
use crate::errors::invalid;
use crate::handle::{Handle, Opened, run};
use crate::object::Object;
use crate::shapes as shape;
use crate::store::{Store, rollback_target};
use crate::view::View;
use crate::writer::Writer;

/// A fork that a `with` block may end.
pub(crate) struct Forked {
    name: String,
    /// The line from which the fork was made.
    from: Arc<Handle>,
    /// The writer who made the fork, and merges it.
    writer: treering::Writer,
    /// The number of `with` blocks with a handle of the fork. Handles of `with_writer` and `with_session` count too.
    blocks: AtomicUsize,
    merged: PyOnceLock<Py<PyAny>>,
}

impl Forked {
    /// Begins a block.
    pub(crate) fn enter(&self) {
        self.blocks.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a block. The last one merges the fork into the line from which it was made, and drops it. If an exception ends
    /// the block, only drops it. `fork` is a handle of the fork.
    ///
    /// # Errors
    /// The errors of a merge. The fork stays then. After an exception of the block none: the exception gets a note.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        fork: &Store,
        exception: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        // `ExitStack.push` ends a block that it did not begin.
        let less = |blocks: usize| Some(blocks.saturating_sub(1));
        let blocks = self
            .blocks
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .unwrap_or_default();
        if blocks > 1 {
            return Ok(());
        }
        match (self.end_fork(py, fork, exception.is_some()), exception) {
            (Err(refused), Some(exception)) if refused.is_instance_of::<PyException>(py) => {
                let note = format!("the fork '{}' was not dropped: {refused}", self.name);
                // Python 3.10 has no notes.
                let _ = exception.call_method1("add_note", (note,));
                Ok(())
            }
            (done, _) => done,
        }
    }

    fn end_fork(&self, py: Python<'_>, fork: &Store, is_failed: bool) -> PyResult<()> {
        let memory = self.from.memory(py)?;
        // The block may have dropped the fork itself, and another fork may have its name. Or it only closed the handle.
        let own = fork.handle.memory(py).ok();
        let is_there = run(py, || {
            let found = match own {
                Some(own) => own.refresh().map(drop),
                None => memory.open_fork(&self.name).map(drop),
            };
            match found {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                found => found.map(|()| true),
            }
        })?;
        fork.handle.close(py)?;
        if is_there && !is_failed {
            let merged = run(py, || memory.merge(&self.name).by(&self.writer))?;
            let merged = with_states(py, &self.from, &memory, &merged)?;
            let _ = self.merged.set(py, merged.unbind());
        }
        if is_there {
            run(py, || memory.drop_fork(&self.name, is_failed, &self.writer))?;
        }
        Ok(())
    }
}

impl Store {
    /// Makes a fork, and returns its handle.
    pub(crate) fn make_fork(
        &self,
        py: Python<'_>,
        name: &str,
        at: Option<&Bound<'_, PyAny>>,
        trust_cap: Option<&str>,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Self> {
        let (opened, writer) = (self.handle.opened(py)?, self.writer(writer));
        let at = at.filter(|at| !at.is_none()).map(rollback_target).transpose()?;
        let cap = trust_cap.map(|cap| origin(py, cap)).transpose()?;
        let fork = run(py, || {
            let mut fork = opened.memory.fork(name);
            if let Some(at) = at {
                fork = fork.at(at);
            }
            if let Some(cap) = cap {
                fork = fork.trust_cap(cap);
            }
            fork.by(&writer)
        })?;
        let forked = Forked {
            name: name.to_owned(),
            from: Arc::clone(&self.handle),
            writer: writer.clone(),
            blocks: AtomicUsize::new(0),
            merged: PyOnceLock::new(),
        };
        self.of_fork(py, &opened, fork, writer, Some(Arc::new(forked)))
    }

    /// Returns the handle of a fork that exists.
    pub(crate) fn open_fork(
        &self,
        py: Python<'_>,
        name: &str,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Self> {
        let (opened, writer) = (self.handle.opened(py)?, self.writer(writer));
        let fork = run(py, || opened.memory.open_fork(name))?;
        self.of_fork(py, &opened, fork, writer, None)
    }

    fn of_fork(
        &self,
        py: Python<'_>,
        opened: &Opened,
        fork: Memory,
        writer: treering::Writer,
        forked: Option<Arc<Forked>>,
    ) -> PyResult<Self> {
        let agent = opened.agent.as_ref();
        let agent = run(py, || agent.map(|agent| agent.on(fork.clone())).transpose())?;
        Ok(Self {
            handle: self.handle.fork(fork, agent),
            fork: forked,
            ..self.with_writer(py, writer)
        })
    }
}

#[pymethods]
impl Store {
    /// The name of the fork that this handle reads and writes; ``None`` for the main line.
    #[getter]
    fn fork_name(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let memory = self.handle.memory(py)?;
        Ok(memory.fork_name().map(str::to_owned))
    }

    /// The result of the merge at the end of the ``with`` block of a fork; ``None`` before it, and without one.
    #[getter]
    fn merged(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let merged = self.fork.as_ref()?.merged.get(py)?;
        Some(merged.clone_ref(py))
    }

    /// Returns the forks, sorted by name.
    fn forks<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        table(py, &run(py, || memory.forks())?, answer)
    }

    /// Drops a fork, and returns what it was. With ``unmerged``, also if it has commits that no merge took.
    #[pyo3(signature = (name, *, unmerged=false, writer=None))]
    fn drop_fork<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        unmerged: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        answer(py, &run(py, || memory.drop_fork(name, unmerged, &writer))?)
    }

    /// Brings in what a fork, or ``"main"``, wrote, in one commit. What one side changed alone is taken. What both changed
    /// is merged field by field, and texts line by line. What cannot be decided is left open, unless ``strategy`` decides:
    /// ``conflicts()`` lists it, and ``resolve`` decides. With ``again``, compares with the state at which the lines
    /// parted, whatever was merged since. With ``dry_run``, changes nothing.
    #[pyo3(signature = (name, *, strategy=None, again=false, dry_run=false, writer=None))]
    fn merge<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        strategy: Option<&str>,
        again: bool,
        dry_run: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let strategy = strategy.map(|name| strategy_named(py, name)).transpose()?;
        if dry_run {
            let (merged, draft) = run(py, || {
                planned(&memory, name, strategy, again).preview_draft(&writer)
            })?;
            return previewed(py, self, &merged, draft);
        }
        let merged = run(py, || planned(&memory, name, strategy, again).by(&writer))?;
        with_states(py, &self.handle, &memory, &merged)
    }

    /// Returns the conflicts that merges left open, sorted by id.
    fn conflicts<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        let found = run(py, || memory.conflicts())?;
        table(py, &found, |py, one| conflict(py, &memory, one))
    }

    /// Decides about an open conflict in one commit: ``take`` names the version of a side by its digest, ``remove``
    /// removes the object, and ``content`` keeps it with this text. A version that somebody wrote after the merge is dropped
    /// only if ``expected`` is its digest, or ``"removed"``.
    #[pyo3(signature = (id, *, take=None, remove=false, content=None, expected=None, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword argument in Python")]
    fn resolve<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        take: Option<&str>,
        remove: bool,
        #[pyo3(from_py_with = value)] content: Option<String>,
        expected: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let resolution = match (take, remove, content) {
            (Some(version), false, None) => Resolution::Take(digest(py, version)?),
            (None, true, None) => Resolution::Remove,
            (None, false, Some(text)) => Resolution::Content(text),
            _ => {
                let hint = "give one of take=DIGEST, remove=True and content=TEXT";
                return Err(invalid(py, "a conflict needs exactly one decision", Some(hint)));
            }
        };
        let expected = expected.map(|present| match present {
            "removed" => Ok(None),
            present => digest(py, present).map(Some),
        });
        let expected = expected.transpose()?;
        let (memory, writer, id) = (self.handle.memory(py)?, self.writer(writer), self::id(py, id)?);
        let done = run(py, || {
            memory.resolve_expecting(&id, expected, resolution, &writer)
        })?;
        Committed::python(py, done)
    }
}

pub(crate) fn strategy_named(py: Python<'_>, given: &str) -> PyResult<Strategy> {
    let found = Strategy::ALL.into_iter().find(|one| one.name() == given);
    found.ok_or_else(|| {
        let names = Strategy::ALL.map(Strategy::name).join(", ");
        invalid(py, &format!("strategy must be one of {names}"), None)
    })
}

fn planned<'a>(memory: &'a Memory, name: &'a str, strategy: Option<Strategy>, again: bool) -> Merge<'a> {
    let merge = memory.merge(name);
    let merge = if again { merge.again() } else { merge };
    match strategy {
        Some(strategy) => merge.strategy(strategy),
        None => merge,
    }
}

/// Returns the answer of a merge. Its changes read their texts from the states before and after it.
fn with_states<'py>(py: Python<'py>, handle: &Arc<Handle>, memory: &Memory, merged: &Merged) -> Answer<'py> {
    let newer = merged.committed.commit.digest;
    let older = merged.committed.commit.commit.parents.first().copied();
    let states = run(py, || {
        let newer = memory.at(newer)?;
        Ok((
            older.map_or_else(|| Ok(newer.clone()), |older| memory.at(older))?,
            newer,
        ))
    })?;
    let states = (View::new(handle, states.0), View::new(handle, states.1)).into_pyobject(py)?;
    let changed = changes(py, &merged.changes, &states)?;
    answer_with(py, &shape::Merged::from(merged), &[("$changes", changed)])
}

/// Returns the answer of a merge that was not made. Its changes read their new texts from the draft.
fn previewed<'py>(py: Python<'py>, store: &Store, merged: &Merged, draft: Draft) -> Answer<'py> {
    let base = View::new(&store.handle, draft.base().clone());
    let draft = draft::Draft::new(py, store, draft, Mode::Plain("merge".to_owned()))?;
    let states = (base, draft).into_pyobject(py)?;
    let changed = changes(py, &merged.changes, &states)?;
    answer_with(py, &shape::Merged::from(merged), &[("$changes", changed)])
}

/// Returns an open conflict with the versions that it names.
fn conflict<'py>(py: Python<'py>, memory: &Memory, open: &OpenConflict) -> Answer<'py> {
    let version = |digest: Option<treering::ObjectDigest>| {
        let found = run(py, || digest.map(|digest| memory.version(digest)).transpose())?;
        let found = found
            .flatten()
            .map(|object| Object::python(py, object))
            .transpose()?;
        Ok::<_, PyErr>(found.unwrap_or_else(|| py.None().into_bound(py)))
    };
    let side = |py, side: &treering::merge::ConflictSide| {
        let object = version(side.version)?;
        answer_with(py, &shape::ConflictSide::from(side), &[("object", object)])
    };
    let sides = table(py, &open.sides, side)?;
    let present = open.present.as_ref().map(|present| side(py, present));
    let present = present.transpose()?.unwrap_or_else(|| py.None().into_bound(py));
    let natives = [
        ("sides", sides),
        ("base", version(open.base)?),
        ("present", present),
    ];
    answer_with(py, &shape::Conflict::from(open), &natives)
}

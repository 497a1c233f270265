//! `Memory`: the engine. It stores objects as they are, without the scan and the verbs of an agent.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treering::agent::Caller;
use treering::upkeep::Erasing;
use treering::upkeep::Retention;
use treering::{Durability, Options};

use crate::answers::{Answer, answer};
use crate::attempt::Mode;
use crate::committed::Committed;
use crate::convert::{id, maybe_time, path, seconds, value};
use crate::draft::{Draft, new_object};
use crate::errors::invalid;
use crate::handle::{Handle, run};
use crate::interrupt;
use crate::object::Object;
use crate::shapes::ErasedReport;
use crate::store::Store;
use crate::view::{hash_named, id_in, view_at};
use crate::writer::Writer;

/// The options with which a store is opened.
#[expect(clippy::struct_excessive_bools, reason = "each option is a keyword")]
pub(crate) struct Opening<'a> {
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) degraded: bool,
    pub(crate) wait: f64,
    pub(crate) exclusive: bool,
    pub(crate) mmap: bool,
    pub(crate) sync_every: Option<f64>,
    pub(crate) automatic_gc: bool,
    pub(crate) hash: &'a str,
}

impl Opening<'_> {
    fn options(&self, py: Python<'_>) -> PyResult<Options> {
        let mut options = Options::new()
            .hash(hash_named(py, self.hash)?)
            .read_only(self.read_only)
            .degraded(self.degraded)
            .wait(seconds(py, self.wait, "wait")?)
            .exclusive(self.exclusive)
            .map(self.mmap)
            .stop(interrupt::is_asked);
        if let Some(every) = self.sync_every {
            options = options.durability(Durability::Interval(seconds(py, every, "sync_every")?));
        }
        if !self.automatic_gc {
            options = options.automatic_gc(None);
        }
        Ok(options)
    }

    /// Opens the store in a folder, and creates it if the caller wants that.
    pub(crate) fn open(&self, py: Python<'_>, path: PathBuf) -> PyResult<treering::Memory> {
        let options = self.options(py)?;
        let create = self.create && !self.read_only;
        run(py, move || match create {
            true => options.open_or_create(path).map(|(memory, _)| memory),
            false => options.open(path),
        })
    }

    /// Creates a store in a folder.
    fn create(&self, py: Python<'_>, path: PathBuf) -> PyResult<treering::Memory> {
        let options = self.options(py)?;
        run(py, move || options.create(path))
    }
}

/// Makes the handle of the engine.
fn memory_of<'py>(
    py: Python<'py>,
    memory: treering::Memory,
    writer: Option<&Bound<'py, Writer>>,
) -> PyResult<Bound<'py, Memory>> {
    let usual = treering::Writer::of(treering::Origin::Model);
    let writer = Writer::or(writer, &usual);
    let store = Store {
        project: Caller::here(writer.clone(), memory.path()).project,
        handle: Handle::new(memory, None),
        writer,
        callbacks: None,
        fork: None,
    };
    with_store(py, store)
}

/// Makes the handle of the engine on an open store.
pub(crate) fn with_store(py: Python<'_>, store: Store) -> PyResult<Bound<'_, Memory>> {
    Bound::new(py, (Memory, store))
}

/// The engine: objects by id, with every version of every object.
#[pyclass(frozen, extends = Store, module = "treering", weakref)]
pub(crate) struct Memory;

#[pymethods]
impl Memory {
    /// Opens the store in a folder. With ``create``, makes a new one if there is none.
    #[staticmethod]
    #[pyo3(signature = (path, *, create=false, writer=None, read_only=false, degraded=false, wait=30.0, exclusive=false, mmap=true, sync_every=None, automatic_gc=true, hash="blake3"))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each option is a keyword")]
    fn open<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = self::path)] path: PathBuf,
        create: bool,
        writer: Option<&Bound<'py, Writer>>,
        read_only: bool,
        degraded: bool,
        wait: f64,
        exclusive: bool,
        mmap: bool,
        sync_every: Option<f64>,
        automatic_gc: bool,
        hash: &str,
    ) -> PyResult<Bound<'py, Self>> {
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
        memory_of(py, opening.open(py, path)?, writer)
    }

    /// Creates a store in a folder that has none.
    #[staticmethod]
    #[pyo3(signature = (path, *, writer=None, wait=30.0, exclusive=false, mmap=true, sync_every=None, automatic_gc=true, hash="blake3"))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    fn create<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = self::path)] path: PathBuf,
        writer: Option<&Bound<'py, Writer>>,
        wait: f64,
        exclusive: bool,
        mmap: bool,
        sync_every: Option<f64>,
        automatic_gc: bool,
        hash: &str,
    ) -> PyResult<Bound<'py, Self>> {
        let opening = Opening {
            create: true,
            read_only: false,
            degraded: false,
            wait,
            exclusive,
            mmap,
            sync_every,
            automatic_gc,
            hash,
        };
        memory_of(py, opening.create(py, path)?, writer)
    }

    /// Creates a store that ends with the process, for tests.
    #[staticmethod]
    #[pyo3(signature = (*, writer=None))]
    fn in_memory<'py>(py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> PyResult<Bound<'py, Self>> {
        memory_of(py, run(py, treering::Memory::in_memory)?, writer)
    }

    /// Returns a handle of the same store with another usual writer.
    fn with_writer<'py>(slf: &Bound<'py, Self>, writer: &Bound<'py, Writer>) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        with_store(slf.py(), store.with_writer(slf.py(), writer.get().writer.clone()))
    }

    /// Makes a fork: a line of its own, which begins at the newest state, or at ``at``. Nobody else sees what is written
    /// through it. ``trust_cap`` is the most trusted class that a write through the fork gets.
    ///
    /// As a context manager, it merges the fork at the end and drops it; after an exception, it drops the fork with its
    /// commits. A block with a handle of ``with_writer`` inside another block ends nothing. If the merge or the drop is
    /// refused, the fork stays; ``open_fork`` opens it. ``merged`` has the result of the merge, and a conflict that the
    /// merge left open is in ``conflicts()``. With asyncio, it is ``async with await memory.fork(...)``.
    #[pyo3(signature = (name, *, at=None, trust_cap=None, writer=None))]
    fn fork<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        at: Option<&Bound<'py, PyAny>>,
        trust_cap: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        with_store(slf.py(), store.make_fork(slf.py(), name, at, trust_cap, writer)?)
    }

    /// Opens a fork that exists. As a context manager, it closes the handle and leaves the fork as it is.
    #[pyo3(signature = (name, *, writer=None))]
    fn open_fork<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        writer: Option<&Bound<'py, Writer>>,
    ) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        with_store(slf.py(), store.open_fork(slf.py(), name, writer)?)
    }

    /// Returns an object of the newest state, else ``default``.
    #[pyo3(signature = (id, default=None))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (memory, id) = (store.handle.memory(py)?, self::id(py, id)?);
        match run(py, || memory.view().get(&id))? {
            Some(object) => Object::python(py, object).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(slf: &Bound<'_, Self>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let view = view_at(py, &store.handle, None)?;
        match id_in(id)? {
            Some(id) => run(py, || view.contains(&id)),
            None => Ok(false),
        }
    }

    /// The number of objects of the newest state.
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let view = view_at(py, &store.handle, None)?;
        Ok(usize::try_from(view.len()).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// Stores an object in one commit, which is durable when the call returns.
    #[pyo3(signature = (id, content=None, *, kind="fact", scope=None, parent=None, position=None, attributes=None, event_time=None, expires=None, derived_from=None, writer=None))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
    fn put<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        #[pyo3(from_py_with = value)] content: Option<String>,
        kind: &str,
        scope: Option<&str>,
        parent: Option<&str>,
        position: Option<&str>,
        attributes: Option<&Bound<'py, PyDict>>,
        event_time: Option<&Bound<'py, PyAny>>,
        expires: Option<&Bound<'py, PyAny>>,
        derived_from: Option<&Bound<'py, PyAny>>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let object = new_object(
            py,
            id,
            content,
            kind,
            scope,
            parent,
            position,
            attributes,
            event_time,
            expires,
            derived_from,
        )?;
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        Committed::python(py, run(py, || memory.put(object, &writer))?)
    }

    /// Removes an object in one commit, with everything below it if ``recursive``. History keeps it.
    #[pyo3(signature = (id, *, recursive=false, writer=None))]
    fn remove<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        recursive: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (memory, writer, id) = (store.handle.memory(py)?, store.writer(writer), self::id(py, id)?);
        let done = run(py, || match recursive {
            true => memory.remove_recursive(&id, &writer),
            false => memory.remove(&id, &writer),
        })?;
        Committed::python(py, done)
    }

    /// Begins a draft on the newest state. As a context manager, it commits at the end and discards after an exception.
    #[pyo3(signature = (op="put", *, writer=None))]
    fn draft(slf: &Bound<'_, Self>, op: &str, writer: Option<&Bound<'_, Writer>>) -> PyResult<Draft> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let draft = run(py, || Ok(memory.draft(&writer)))?;
        Draft::new(py, store, draft, Mode::Plain(op.to_owned()))
    }

    /// Begins a draft whose checks run before the commit. A check refuses the change if it returns ``False`` or a text with
    /// the reason, or if an ``assert`` in it fails; then the draft is kept under ``rejected/``, and ``DeniedError`` is raised.
    /// Another exception of a check is the cause of a ``CheckError``.
    #[pyo3(signature = (*checks, op="attempt", writer=None))]
    fn attempt(
        slf: &Bound<'_, Self>,
        checks: Vec<Py<PyAny>>,
        op: &str,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Draft> {
        let (py, store) = (slf.py(), slf.as_super().get());
        check_callables(py, &checks)?;
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let draft = run(py, || Ok(memory.draft(&writer)))?;
        let op = op.to_owned();
        Draft::new(py, store, draft, Mode::Attempt { op, checks })
    }

    /// Opens a saved draft, such as one that another process saved, or a refused one (``"rejected/…"``).
    #[pyo3(signature = (name, *, op="put", writer=None))]
    fn open_draft(
        slf: &Bound<'_, Self>,
        name: &str,
        op: &str,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Draft> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let name = draft_named(name);
        let draft = run(py, || memory.open_draft(&name, &writer))?;
        Draft::new(py, store, draft, Mode::Plain(op.to_owned()))
    }

    /// Deletes a saved draft.
    #[pyo3(signature = (name, *, writer=None))]
    fn delete_draft(slf: &Bound<'_, Self>, name: &str, writer: Option<&Bound<'_, Writer>>) -> PyResult<()> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let name = draft_named(name);
        run(py, || memory.delete_draft(&name, &writer))
    }

    /// Thins history and frees disk space. Each duration is a number of seconds; one that is not given keeps its default.
    #[pyo3(signature = (*, keep_all=None, hourly=None, daily=None, weekly=None, forgotten=None, newest=None, now=None, dry_run=false))]
    #[expect(clippy::too_many_arguments, reason = "each duration is a keyword")]
    fn gc<'py>(
        slf: &Bound<'py, Self>,
        keep_all: Option<f64>,
        hourly: Option<f64>,
        daily: Option<f64>,
        weekly: Option<f64>,
        forgotten: Option<f64>,
        #[pyo3(from_py_with = value)] newest: Option<u64>,
        now: Option<&Bound<'py, PyAny>>,
        dry_run: bool,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let mut retention = Retention::default();
        let set = |duration: &mut Duration, given: Option<f64>, what: &str| -> PyResult<()> {
            if let Some(given) = given {
                *duration = seconds(py, given, what)?;
            }
            Ok(())
        };
        set(&mut retention.all, keep_all, "keep_all")?;
        set(&mut retention.hourly, hourly, "hourly")?;
        set(&mut retention.daily, daily, "daily")?;
        set(&mut retention.weekly, weekly, "weekly")?;
        set(&mut retention.forgotten, forgotten, "forgotten")?;
        retention.newest = newest.unwrap_or(retention.newest);
        let (memory, now) = (store.handle.memory(py)?, maybe_time(now)?);
        let report = run(py, || match dry_run {
            true => memory.gc_preview(&retention, now),
            false => memory.gc(&retention, now),
        })?;
        answer(py, &report)
    }

    /// Erases objects and all their versions from every file of the store, for ever.
    #[pyo3(signature = (*targets, everywhere=false, derived=false, dry_run=false, writer=None))]
    fn erase<'py>(
        slf: &Bound<'py, Self>,
        targets: Vec<String>,
        everywhere: bool,
        derived: bool,
        dry_run: bool,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        if targets.is_empty() {
            return Err(invalid(
                py,
                "nothing to erase is named",
                Some("give ids or digests"),
            ));
        }
        let erasing = Erasing {
            targets,
            everywhere,
            derived,
        };
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let report = run(py, || match dry_run {
            true => memory.erase_preview(&erasing),
            false => memory.erase(&erasing, &writer),
        })?;
        answer(py, &ErasedReport::from(&report))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        slf.as_super().get().described(slf.py(), "Memory")
    }
}

/// Returns the whole name of a draft: without a class, that of a saved one.
fn draft_named(name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("drafts/{name}")
    }
}

/// Checks that every check can be called.
pub(crate) fn check_callables(py: Python<'_>, checks: &[Py<PyAny>]) -> PyResult<()> {
    if checks.iter().all(|check| check.bind(py).is_callable()) {
        return Ok(());
    }
    Err(pyo3::exceptions::PyTypeError::new_err(
        "a check must be a function of the draft",
    ))
}

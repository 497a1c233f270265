//! `Agent`: the memory of an agent. `agent_items.rs`, `agent_sessions.rs` and `agent_guard.rs` have its other calls.

use std::ffi::CString;
use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyList;
use treering::agent::{Caller, Reach, Settings};

use crate::arguments::{caller_of, embedder_of, judge_of, settings_of};
use crate::callbacks::{Callbacks, HostEmbedder, HostJudge};
use crate::convert::{path, texts};
use crate::errors::OrRaise;
use crate::handle::{Handle, run};
use crate::memory::{Memory, Opening, with_store};
use crate::store::Store;
use crate::writer::{Writer, writer as make_writer};

/// The memory of an agent: remember, recall, forget, notes, sessions, prompts, guarded turns.
#[pyclass(frozen, extends = Store, module = "treering", weakref)]
pub(crate) struct Agent {
    pub(crate) caller: Caller,
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
        let (agent, note) = run(py, move || {
            let agent = treering::agent::Agent::new(memory_of_agent, settings);
            let (agent, note) = match embedder {
                Some((embedder, name)) => (agent.with_embedder(&name, embedder)?, None),
                None => treering::agent::meaning::with_model(agent),
            };
            let agent = match judge {
                Some(judge) => agent.with_judge(judge),
                None => agent,
            };
            Ok((agent, note))
        })?;
        if let Some(note) = note {
            let note = CString::new(note).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &note, 1)?;
        }
        let caller = caller_of(&memory, project, writer.clone());
        let store = Store {
            handle: Handle::new(memory, Some(agent)),
            writer,
            project: caller.project.clone(),
            callbacks: Some(callbacks.unbind()),
            fork: None,
        };
        Bound::new(py, (Self { caller }, store))
    }

    fn of_store<'py>(&self, py: Python<'py>, store: Store) -> PyResult<Bound<'py, Self>> {
        let mut caller = self.caller.clone();
        caller.writer = store.writer.clone();
        Bound::new(py, (Self { caller }, store))
    }

    pub(crate) fn scope_of(&self, py: Python<'_>, word: Option<&str>) -> PyResult<treering::Scope> {
        self.caller.scope(word).or_raise(py)
    }

    /// Returns the scopes that a call reads: the given ones, all with `"all"`, else the usual ones.
    pub(crate) fn reach_of(&self, py: Python<'_>, scopes: Option<&Bound<'_, PyAny>>) -> PyResult<Reach> {
        let words = texts(scopes, "scopes")?;
        if words == ["all"] {
            return Ok(Reach::All);
        }
        let is_given = scopes.is_some_and(|scopes| !scopes.is_none());
        if words.is_empty() && is_given {
            return Ok(Reach::default());
        }
        self.caller.reach(&words).or_raise(py)
    }
}

#[pymethods]
impl Agent {
    /// Opens the memory of an agent in a folder, and creates it if there is none. Without an ``embedder``, recall searches
    /// by meaning with the model that ``settings`` or ``TREERING_MODEL`` name, else with the bundled one.
    #[staticmethod]
    #[pyo3(signature = (path, *, create=true, trust="model", actor=None, session=None, project=None, settings=None, embedder=None, embedder_name=None, judge=None, read_only=false, degraded=false, wait=30.0, exclusive=false, mmap=true, sync_every=None, automatic_gc=true, hash="blake3"))]
    #[expect(clippy::too_many_arguments, reason = "each option is a keyword")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each option is a keyword")]
    fn open<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = self::path)] path: PathBuf,
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

    /// The scopes that a call reads if it names no others.
    #[getter]
    fn scopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = match self.reach_of(py, None)? {
            Reach::Scopes(scopes) => scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            Reach::All => Vec::new(),
        };
        PyList::new(py, names)
    }

    /// Returns a handle of the same memory with another usual writer.
    fn with_writer<'py>(slf: &Bound<'py, Self>, writer: &Bound<'py, Writer>) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        slf.get()
            .of_store(slf.py(), store.with_writer(slf.py(), writer.get().writer.clone()))
    }

    /// Makes a fork, as ``Memory.fork``. Its handle is an agent.
    #[pyo3(signature = (name, *, at=None, trust_cap=None, writer=None))]
    fn fork<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        at: Option<&Bound<'py, PyAny>>,
        trust_cap: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        slf.get()
            .of_store(slf.py(), store.make_fork(slf.py(), name, at, trust_cap, writer)?)
    }

    /// Opens a fork that exists, as ``Memory.open_fork``.
    #[pyo3(signature = (name, *, writer=None))]
    fn open_fork<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        writer: Option<&Bound<'py, Writer>>,
    ) -> PyResult<Bound<'py, Self>> {
        let store = slf.as_super().get();
        slf.get()
            .of_store(slf.py(), store.open_fork(slf.py(), name, writer)?)
    }

    /// Returns a handle of the same memory whose writer acts in this session. Each session has its own undo.
    fn with_session<'py>(slf: &Bound<'py, Self>, session: &str) -> PyResult<Bound<'py, Self>> {
        let writer = slf.as_super().get().writer.clone().session(session);
        Self::with_writer(slf, &Bound::new(slf.py(), Writer { writer })?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        slf.as_super().get().described(slf.py(), "Agent")
    }
}

//! Backups, clones and remotes.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use treering::Origin;

use crate::answers::{Answer, answer};
use crate::convert::origin;
use crate::forks::strategy_named;
use crate::handle::{Handle, run};
use crate::shapes as shape;
use crate::store::Store;
use crate::writer::Writer;

/// A remote of a store: a place to which several stores push, and from which they pull.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Remote {
    handle: Arc<Handle>,
    writer: treering::Writer,
    name: String,
    remote: treering::remote::Remote,
}

impl Remote {
    fn writer(&self, given: Option<&Bound<'_, Writer>>) -> treering::Writer {
        Writer::or(given, &self.writer)
    }
}

#[pymethods]
impl Remote {
    /// The name of the remote.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        format!("Remote({:?})", self.name)
    }

    /// Sends the commits of the main line that the remote lacks. If the remote has commits that were not pulled, raises
    /// ``ConflictError`` (code ``remote_ahead``).
    #[pyo3(signature = (*, writer=None))]
    fn push<'py>(&self, py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        answer(py, &run(py, || self.remote.push(&memory, &writer))?)
    }

    /// Takes in what others pushed. Merges nothing: it can be read at the revision ``"remote:NAME/main"``.
    #[pyo3(signature = (*, writer=None))]
    fn fetch<'py>(&self, py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        answer(py, &run(py, || self.remote.fetch(&memory, &writer))?)
    }

    /// Takes in what others pushed, and merges it. What cannot be decided is left open, unless ``strategy`` decides.
    #[pyo3(signature = (*, strategy=None, writer=None))]
    fn pull<'py>(
        &self,
        py: Python<'py>,
        strategy: Option<&str>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let strategy = strategy.map(|name| strategy_named(py, name)).transpose()?;
        let pulled = run(py, || self.remote.pull_by(&memory, &writer, strategy))?;
        answer(py, &shape::Pulled::from(&pulled))
    }

    /// Pulls, then pushes. If another machine pushed meanwhile, does both again. Conflicts are left open.
    #[pyo3(signature = (*, writer=None))]
    fn sync<'py>(&self, py: Python<'py>, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (memory, writer) = (self.handle.memory(py)?, self.writer(writer));
        let synced = run(py, || self.remote.sync(&memory, &writer))?;
        answer(py, &shape::Synced::from(&synced))
    }
}

#[pymethods]
impl Store {
    /// Returns a remote of the store. With ``create``, makes a missing folder.
    #[pyo3(signature = (url, *, name="origin", trust_cap="import", create=false, writer=None))]
    fn remote(
        &self,
        py: Python<'_>,
        url: &str,
        name: &str,
        trust_cap: &str,
        create: bool,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Remote> {
        let (_, cap) = (self.handle.memory(py)?, origin(py, trust_cap)?);
        let open = if create {
            treering::remote::Remote::create
        } else {
            treering::remote::Remote::open
        };
        Ok(Remote {
            handle: Arc::clone(&self.handle),
            writer: self.writer(writer),
            name: name.to_owned(),
            remote: run(py, || open(name, url, cap))?,
        })
    }

    /// Copies the whole store to a backup. The next call sends only what is new.
    fn backup<'py>(&self, py: Python<'py>, url: &str) -> Answer<'py> {
        let memory = self.handle.memory(py)?;
        answer(py, &run(py, || treering::remote::backup(&memory, url))?)
    }
}

/// Makes a store in a new folder of a backup or a remote. Objects that are more trusted than ``trust_cap`` get its class.
#[pyfunction]
#[pyo3(signature = (url, path, *, trust_cap="import"))]
pub(crate) fn clone<'py>(py: Python<'py>, url: &str, path: PathBuf, trust_cap: &str) -> Answer<'py> {
    let cap: Origin = origin(py, trust_cap)?;
    let cloned = run(py, || {
        let (memory, cloned) = treering::remote::clone(url, &path, cap, &treering::Options::new())?;
        memory.close()?;
        Ok(cloned)
    })?;
    answer(py, &cloned)
}

//! `Writer`: who writes, and with which class of trust.

use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::PyDict;

use crate::convert::origin;
use crate::copies::copies_itself;

/// The writer of a change: its class of trust, actor, session, source and reason.
#[pyclass(frozen, module = "treering")]
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) writer: treering::Writer,
}

impl Writer {
    /// Returns the given writer, else the usual one.
    pub(crate) fn or(given: Option<&Bound<'_, Self>>, usual: &treering::Writer) -> treering::Writer {
        given.map_or_else(|| usual.clone(), |given| given.get().writer.clone())
    }
}

/// Makes a writer.
pub(crate) fn writer(
    py: Python<'_>,
    trust: &str,
    actor: Option<String>,
    session: Option<String>,
    source: Option<String>,
    reason: Option<String>,
) -> PyResult<treering::Writer> {
    let mut writer = treering::Writer::of(origin(py, trust)?);
    writer.actor = actor;
    writer.session = session;
    writer.source = source;
    writer.reason = reason;
    Ok(writer)
}

copies_itself!(Writer);

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (trust="model", *, actor=None, session=None, source=None, reason=None))]
    fn new(
        py: Python<'_>,
        trust: &str,
        actor: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        let writer = writer(py, trust, actor, session, source, reason)?;
        Ok(Self { writer })
    }

    /// Makes the writer for a person, by name. This class is the most trusted one.
    #[staticmethod]
    #[pyo3(signature = (name=None, *, session=None, source=None, reason=None))]
    fn person(
        py: Python<'_>,
        name: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        Self::new(py, "direct_user", name, session, source, reason)
    }

    /// Makes the writer for the program that hosts the agent.
    #[staticmethod]
    #[pyo3(signature = (name=None, *, session=None, source=None, reason=None))]
    fn host(
        py: Python<'_>,
        name: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        Self::new(py, "host", name, session, source, reason)
    }

    /// Makes the writer for text that a model generated.
    #[staticmethod]
    #[pyo3(signature = (name=None, *, session=None, source=None, reason=None))]
    fn model(
        py: Python<'_>,
        name: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        Self::new(py, "model", name, session, source, reason)
    }

    /// Makes the writer for a tool that returns external text. What it writes is untrusted.
    #[staticmethod]
    #[pyo3(signature = (name=None, *, session=None, source=None, reason=None))]
    fn tool(
        py: Python<'_>,
        name: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        Self::new(py, "tool_external", name, session, source, reason)
    }

    /// Makes the writer for a tool that reads only internal data. What it writes is trusted.
    #[staticmethod]
    #[pyo3(signature = (name=None, *, session=None, source=None, reason=None))]
    fn internal_tool(
        py: Python<'_>,
        name: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        Self::new(py, "tool_internal", name, session, source, reason)
    }

    /// Returns a copy with other fields. A field that is not given stays.
    #[pyo3(signature = (*, trust=None, actor=None, session=None, source=None, reason=None))]
    fn replace(
        &self,
        py: Python<'_>,
        trust: Option<&str>,
        actor: Option<String>,
        session: Option<String>,
        source: Option<String>,
        reason: Option<String>,
    ) -> PyResult<Self> {
        let mut writer = self.writer.clone();
        if let Some(trust) = trust {
            writer.trust = origin(py, trust)?;
        }
        writer.actor = actor.or(writer.actor);
        writer.session = session.or(writer.session);
        writer.source = source.or(writer.source);
        writer.reason = reason.or(writer.reason);
        Ok(Self { writer })
    }

    /// The class: the most trusted origin that the objects of this writer can have.
    #[getter]
    fn trust(&self) -> String {
        self.writer.trust.to_string()
    }

    /// Whether the class is one of the four trusted ones.
    #[getter]
    fn trusted(&self) -> bool {
        self.writer.trust.is_trusted()
    }

    #[getter]
    fn actor(&self) -> Option<&str> {
        self.writer.actor.as_deref()
    }

    #[getter]
    fn session(&self) -> Option<&str> {
        self.writer.session.as_deref()
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.writer.source.as_deref()
    }

    #[getter]
    fn reason(&self) -> Option<&str> {
        self.writer.reason.as_deref()
    }

    /// The session, else the actor, else ``"default"``. Each lane has its own undo, redo and ring of snapshots.
    #[getter]
    fn lane(&self) -> &str {
        self.writer.lane()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let fields = PyDict::new(py);
        fields.set_item("actor", self.actor())?;
        fields.set_item("session", self.session())?;
        fields.set_item("source", self.source())?;
        fields.set_item("reason", self.reason())?;
        Ok(((self.trust(),), fields))
    }

    fn __repr__(&self) -> String {
        let mut text = format!("Writer({:?}", self.trust());
        let named = [
            ("actor", &self.writer.actor),
            ("session", &self.writer.session),
            ("source", &self.writer.source),
            ("reason", &self.writer.reason),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                text = format!("{text}, {name}={value:?}");
            }
        }
        text + ")"
    }

    fn __richcmp__(&self, other: &Self, op: CompareOp) -> Option<bool> {
        let same = self.fields() == other.fields();
        match op {
            CompareOp::Eq => Some(same),
            CompareOp::Ne => Some(!same),
            _ => None,
        }
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.fields().hash(&mut hasher);
        hasher.finish()
    }
}

impl Writer {
    fn fields(&self) -> (String, [&Option<String>; 4]) {
        let writer = &self.writer;
        let named = [&writer.actor, &writer.session, &writer.source, &writer.reason];
        (self.trust(), named)
    }
}

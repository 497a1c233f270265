//! `Committed`: what a call that writes returns.
//!
//! A writing call is the one whose answer costs a noticeable part of the call, so this answer is native, and builds the
//! dataclass of its commit only when it is asked for.

use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use treering::CommitInfo;

use crate::answers::{Answer, commit};
use crate::copies::copies_itself;
use crate::exit::Inside;
use crate::object::html_of;

/// The result of a call that writes.
#[pyclass(frozen, module = "treering", weakref)]
pub(crate) struct Committed {
    /// `None` if Python made this answer, for example from a pickle.
    info: Option<CommitInfo>,
    commit: PyOnceLock<Py<PyAny>>,
    /// Whether the call made a new commit.
    #[pyo3(get)]
    changed: bool,
}

impl Committed {
    pub(crate) fn python(py: Python<'_>, done: treering::Committed) -> Answer<'_> {
        let made = Self {
            info: Some(done.commit),
            commit: PyOnceLock::new(),
            changed: done.changed,
        };
        Ok(Bound::new(py, made)?.into_any())
    }
}

copies_itself!(Committed);

#[pymethods]
impl Committed {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("commit", "changed")
    }

    #[new]
    fn new(py: Python<'_>, commit: Bound<'_, PyAny>, changed: bool) -> PyResult<Self> {
        let _inside = Inside::attached(py);
        let class = py.import("treering.answers")?.getattr("Commit")?;
        if !commit.is_instance(&class)? {
            let message = format!("commit must be a Commit, not {}", commit.get_type().name()?);
            return Err(pyo3::exceptions::PyTypeError::new_err(message));
        }
        let known = PyOnceLock::new();
        let _ = known.set(py, commit.unbind());
        Ok(Self {
            info: None,
            commit: known,
            changed,
        })
    }

    /// The new commit, or the head if nothing changed.
    #[getter]
    fn commit<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let _inside = Inside::attached(py);
        let made = self.commit.get_or_try_init(py, || match &self.info {
            Some(info) => commit(py, info).map(Bound::unbind),
            None => Ok(py.None()),
        })?;
        Ok(made.bind(py).clone())
    }

    /// Returns the answer as a dict. The commit becomes a dict, too.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let _inside = Inside::attached(py);
        let fields = PyDict::new(py);
        fields.set_item("commit", self.commit(py)?.call_method0("to_dict")?)?;
        fields.set_item("changed", self.changed)?;
        Ok(fields)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let _inside = Inside::attached(py);
        let changed = if self.changed { "True" } else { "False" };
        let commit = self.commit(py)?;
        let (seq, op) = (commit.getattr("seq")?, commit.getattr("op")?.repr()?);
        Ok(format!(
            "Committed(changed={changed}, commit=Commit(seq={seq}, op={op}))"
        ))
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Self, op: CompareOp) -> PyResult<Option<bool>> {
        let _inside = Inside::attached(py);
        let same = self.changed == other.changed && self.commit(py)?.eq(other.commit(py)?)?;
        Ok(match op {
            CompareOp::Eq => Some(same),
            CompareOp::Ne => Some(!same),
            _ => None,
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        let _inside = Inside::attached(py);
        (self.commit(py)?, self.changed).into_pyobject(py)?.hash()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let fields = (this.commit(py)?, this.changed).into_pyobject(py)?;
        Ok((slf.get_type(), fields))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        html_of(slf.as_any())
    }
}

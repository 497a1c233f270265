//! Converts the answers of the library to the dataclasses of `treering.answers`.
//!
//! An answer serialises itself. One converter turns what it serialises into a dict, and the class of the answer makes
//! itself from the dict. `python/generate.py` writes the classes from [`schemas`], so a new field of an answer needs no
//! line in Python.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde_json::Value;
use treering::CommitInfo;

use crate::exit::Inside;
use crate::shapes::{self as shape, OfClass};

static ANSWERS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) type Answer<'py> = PyResult<Bound<'py, PyAny>>;

/// Returns the JSON schemas of the answers, from which `python/generate.py` writes their classes.
#[pyfunction]
pub(crate) fn schemas() -> String {
    shape::schemas()
}

/// Returns an answer as an object of its class.
pub(crate) fn answer<'py, T: OfClass>(py: Python<'py>, answer: &T) -> Answer<'py> {
    answer_with(py, answer, &[])
}

/// Returns an answer as an object of its class. `natives` are the fields that no JSON expresses.
pub(crate) fn answer_with<'py, T: OfClass>(
    py: Python<'py>,
    answer: &T,
    natives: &[(&str, Bound<'py, PyAny>)],
) -> Answer<'py> {
    let fields = serde_json::to_value(answer).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let _inside = Inside::attached(py);
    let fields = python_json(py, &fields)?;
    for (name, native) in natives {
        fields.set_item(name, native)?;
    }
    let class = class(py, &PyString::intern(py, T::CLASS))?;
    class.call_method1(pyo3::intern!(py, "_of"), (fields,))
}

/// Returns a value of JSON as a Python object. A list becomes a tuple, because answers never change.
fn python_json<'py>(py: Python<'py>, value: &Value) -> Answer<'py> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (None, Some(number)) => number.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|one| python_json(py, one)).collect();
            Ok(PyTuple::new(py, values?)?.into_any())
        }
        Value::Object(fields) => {
            let map = PyDict::new(py);
            for (name, one) in fields {
                map.set_item(PyString::intern(py, name), python_json(py, one)?)?;
            }
            Ok(map.into_any())
        }
    }
}

/// Returns a name of the module `treering.answers`.
pub(crate) fn class<'py>(py: Python<'py>, name: &Bound<'py, PyString>) -> Answer<'py> {
    let module = ANSWERS.get_or_try_init(py, || {
        py.import("treering.answers")
            .map(|module| module.into_any().unbind())
    })?;
    module.bind(py).getattr(name)
}

/// Returns rows as a `Table`.
pub(crate) fn table<'py, T>(
    py: Python<'py>,
    rows: impl IntoIterator<Item = T>,
    row: impl Fn(Python<'py>, T) -> Answer<'py>,
) -> Answer<'py> {
    let rows = rows.into_iter().map(|one| row(py, one));
    let rows: Vec<_> = rows.collect::<PyResult<_>>()?;
    let _inside = Inside::attached(py);
    let class = TABLE.get_or_try_init(py, || {
        py.import("treering.table")?.getattr("Table").map(Bound::unbind)
    })?;
    class.bind(py).call1((rows,))
}

/// Returns texts as a tuple.
pub(crate) fn texts<'py, T: ToString>(py: Python<'py>, texts: impl IntoIterator<Item = T>) -> Answer<'py> {
    let texts: Vec<_> = texts.into_iter().map(|one| one.to_string()).collect();
    Ok(PyTuple::new(py, texts)?.into_any())
}

pub(crate) fn commit<'py>(py: Python<'py>, info: &CommitInfo) -> Answer<'py> {
    answer(py, &shape::Commit::from(info))
}

/// Returns changes as a `Table`. `states` are the older and the newer state, which have the texts.
pub(crate) fn changes<'py>(
    py: Python<'py>,
    changes: &[treering::Change],
    states: &Bound<'py, PyTuple>,
) -> Answer<'py> {
    table(py, changes, |py, change| {
        let change = answer(py, change)?;
        let _inside = Inside::attached(py);
        change.call_method1(pyo3::intern!(py, "_between"), (states,))
    })
}

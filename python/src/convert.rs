//! Converts arguments and values between Python and the library.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use treering::agent::{OnDuplicate, Sensitivity};
use treering::revert::Conflicts;
use treering::{Attributes, Id, Kind, ObjectDigest, Origin, Position, Scope, Time, Value};

use crate::errors::{OrRaise, invalid};
use crate::exit::Inside;

/// The maximal depth of nested values, as in the library.
const DEPTH_MAX: usize = 32;

static FROM_MICROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TO_MICROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Reads a text or a whole number. A lone surrogate and a number out of range are `InvalidInputError`.
pub(crate) fn value<'a, 'py, T: FromPyObject<'a, 'py>>(given: &'a Bound<'py, PyAny>) -> PyResult<T> {
    let py = given.py();
    // A number of the caller may have `__index__`.
    let _inside = Inside::attached(py);
    given.extract().map_err(|error: T::Error| {
        let error = error.into();
        if error.is_instance_of::<PyUnicodeEncodeError>(py) {
            invalid(
                py,
                "a text has a lone surrogate, which UTF-8 cannot express",
                Some("replace it, for example with text.encode(\"utf-8\", \"replace\").decode()"),
            )
        } else if error.is_instance_of::<PyOverflowError>(py) {
            invalid(py, &format!("the number {given} is too small or too large"), None)
        } else {
            error
        }
    })
}

/// Reads the path of a store. A path of the caller may run Python code.
pub(crate) fn path(given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let _inside = Inside::attached(given.py());
    given.extract()
}

fn of_times<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let _inside = Inside::attached(py);
    let found = cell.get_or_try_init(py, || {
        py.import("treering._times")?.getattr(name).map(Bound::unbind)
    })?;
    Ok(found.bind(py).clone())
}

/// Returns a time as a `datetime` in UTC.
pub(crate) fn datetime(py: Python<'_>, time: Time) -> PyResult<Bound<'_, PyAny>> {
    let _inside = Inside::attached(py);
    of_times(py, &FROM_MICROS, "from_micros")?.call1((time.as_micros(),))
}

/// Returns an optional time as a text in RFC 3339, as in the JSON of the program.
pub(crate) fn time_text(time: Option<Time>) -> Option<String> {
    time.map(|time| time.to_string())
}

/// Returns an optional time as a `datetime` in UTC.
pub(crate) fn maybe_datetime(py: Python<'_>, time: Option<Time>) -> PyResult<Option<Bound<'_, PyAny>>> {
    time.map(|time| datetime(py, time)).transpose()
}

/// Reads a time from a `datetime` with a time zone, or from a text in RFC 3339.
pub(crate) fn time(given: &Bound<'_, PyAny>) -> PyResult<Time> {
    let py = given.py();
    if let Ok(text) = given.cast::<PyString>() {
        return text.to_str()?.parse::<Time>().or_raise(py);
    }
    let _inside = Inside::attached(py);
    let micros = of_times(py, &TO_MICROS, "to_micros")?.call1((given,))?;
    Ok(Time::from_micros(micros.extract()?))
}

pub(crate) fn maybe_time(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Time>> {
    given.map(time).transpose()
}

pub(crate) fn id(py: Python<'_>, text: &str) -> PyResult<Id> {
    Id::new(text).or_raise(py)
}

pub(crate) fn ids(py: Python<'_>, texts: &[String]) -> PyResult<Vec<Id>> {
    texts.iter().map(|text| id(py, text)).collect()
}

pub(crate) fn kind(py: Python<'_>, text: &str) -> PyResult<Kind> {
    Kind::new(text).or_raise(py)
}

pub(crate) fn scope(py: Python<'_>, text: &str) -> PyResult<Scope> {
    Scope::new(text).or_raise(py)
}

pub(crate) fn position(py: Python<'_>, text: &str) -> PyResult<Position> {
    Position::new(text).or_raise(py)
}

pub(crate) fn digest(py: Python<'_>, text: &str) -> PyResult<ObjectDigest> {
    text.parse().map_err(|_| {
        invalid(
            py,
            &format!("`{text}` is not a digest"),
            Some("give 64 hexadecimal digits"),
        )
    })
}

/// Reads a duration from a number of seconds.
pub(crate) fn seconds(py: Python<'_>, given: f64, what: &str) -> PyResult<Duration> {
    let read = Duration::try_from_secs_f64(given);
    read.map_err(|_| {
        invalid(
            py,
            &format!("{what} must be a number of seconds, 0 or more"),
            None,
        )
    })
}

/// Reads one of the names of `choices`, or one of the `others`.
fn choice<T: Copy + std::fmt::Display>(
    py: Python<'_>,
    given: &str,
    what: &str,
    choices: &[T],
    others: &[(&str, T)],
) -> PyResult<T> {
    let choices = choices.iter().map(|choice| (choice.to_string(), *choice));
    let others = others.iter().map(|(name, choice)| ((*name).to_owned(), *choice));
    let all: Vec<_> = choices.chain(others).collect();
    let found = all.iter().find(|(name, _)| name == given);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("{what} must be one of {}", names.join(", "));
        invalid(py, &message, None)
    })
}

pub(crate) fn origin(py: Python<'_>, given: &str) -> PyResult<Origin> {
    let all = [
        Origin::DirectUser,
        Origin::Host,
        Origin::Model,
        Origin::ToolInternal,
        Origin::ToolExternal,
        Origin::Document,
        Origin::Import,
    ];
    choice(py, given, "trust", &all, &[("untrusted", Origin::ToolExternal)])
}

pub(crate) fn on_duplicate(py: Python<'_>, given: &str) -> PyResult<OnDuplicate> {
    let all = [
        OnDuplicate::Warn,
        OnDuplicate::Skip,
        OnDuplicate::Merge,
        OnDuplicate::Supersede,
    ];
    choice(py, given, "on_duplicate", &all, &[])
}

pub(crate) fn sensitivity(py: Python<'_>, given: &str) -> PyResult<Sensitivity> {
    let all = [
        Sensitivity::None,
        Sensitivity::Pii,
        Sensitivity::Internal,
        Sensitivity::Credentials,
    ];
    choice(py, given, "sensitivity", &all, &[])
}

pub(crate) fn conflicts(py: Python<'_>, given: &str) -> PyResult<Conflicts> {
    choice(
        py,
        given,
        "conflicts",
        &[Conflicts::Keep, Conflicts::Revert, Conflicts::Fail],
        &[],
    )
}

/// Returns the members of an iterable. A text or a dict is one member, and is never taken apart.
pub(crate) fn one_or_many<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
        return Ok(vec![given.clone()]);
    }
    given.try_iter()?.collect()
}

/// Reads one text, or a sequence of texts.
pub(crate) fn texts(given: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Vec<String>> {
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(Vec::new());
    };
    let _inside = Inside::attached(given.py());
    let mut read = Vec::new();
    for one in one_or_many(given)? {
        if !one.is_instance_of::<PyString>() {
            let message = format!("{what} must be a str or an iterable of str");
            return Err(PyTypeError::new_err(message));
        }
        read.push(value(&one)?);
    }
    Ok(read)
}

/// Reads attributes from a dict.
pub(crate) fn attributes(given: Option<&Bound<'_, PyDict>>) -> PyResult<Attributes> {
    let mut read = Attributes::new();
    for (name, value) in conditions(given)? {
        read.insert(name, value);
    }
    Ok(read)
}

/// Reads a list of attributes with their values from a dict.
pub(crate) fn conditions(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Value)>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    // A list of the caller may have `__iter__`.
    let _inside = Inside::attached(given.py());
    pairs(given, 1)
}

/// Reads the keys and values of a dict.
fn pairs(map: &Bound<'_, PyDict>, depth: usize) -> PyResult<Vec<(String, Value)>> {
    // Reading a value may run code of the caller, which may change the dict. So all pairs are taken first.
    let all: Vec<_> = map.iter().collect();
    let all = all.iter();
    all.map(|(name, value)| Ok((key(name)?, value_of(value, depth)?)))
        .collect()
}

fn key(name: &Bound<'_, PyAny>) -> PyResult<String> {
    if !name.is_instance_of::<PyString>() {
        let message = "the names of attributes and the keys of dicts must be str";
        return Err(PyTypeError::new_err(message));
    }
    value(name)
}

fn value_of(given: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        return Err(invalid(
            given.py(),
            &format!("a value is nested more than {DEPTH_MAX} deep"),
            Some("use fewer levels, or store the value as text in the content"),
        ));
    }
    if given.is_none() {
        Ok(Value::Null)
    } else if let Ok(value) = given.cast::<PyBool>() {
        Ok(Value::Bool(value.is_true()))
    } else if given.is_instance_of::<PyInt>() {
        let out_of_range = |_| invalid(given.py(), "an integer must fit into 64 bits", None);
        given.extract::<i64>().map(Value::Integer).map_err(out_of_range)
    } else if given.is_instance_of::<PyFloat>() {
        Ok(Value::Float(given.extract()?))
    } else if given.is_instance_of::<PyString>() {
        value(given).map(Value::Text)
    } else if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let values = given.try_iter()?.map(|one| value_of(&one?, depth + 1));
        values.collect::<PyResult<_>>().map(Value::List)
    } else if let Ok(map) = given.cast::<PyDict>() {
        let entries = pairs(map, depth + 1)?;
        Ok(Value::Map(entries.into_iter().collect()))
    } else {
        let found = given.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "an attribute must be None, bool, int, float, str, list, tuple or dict, not {found}"
        )))
    }
}

/// Returns a value as a Python object.
pub(crate) fn python_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Integer(value) => value.into_bound_py_any(py),
        Value::Float(value) => value.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::List(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|one| python_value(py, one)).collect();
            Ok(PyList::new(py, values?)?.into_any())
        }
        Value::Map(entries) => {
            let map = PyDict::new(py);
            for (name, one) in entries {
                map.set_item(name, python_value(py, one)?)?;
            }
            Ok(map.into_any())
        }
    }
}

/// Returns a value in the form that JSON can express, which is that of the program.
fn json_value(value: &Value) -> Value {
    let marked = |mark: &str, value| Value::Map(BTreeMap::from([(mark.to_owned(), value)]));
    match value {
        // The names are `nan`, `inf` and `-inf`.
        Value::Float(float) if !float.is_finite() => {
            marked("$float", Value::Text(float.to_string().to_lowercase()))
        }
        Value::List(values) => Value::List(values.iter().map(json_value).collect()),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(name, one)| (name.clone(), json_value(one)));
            let entries: BTreeMap<_, _> = entries.collect();
            let is_marked = entries.len() == 1 && entries.keys().all(|name| name.starts_with('$'));
            let map = Value::Map(entries);
            if is_marked { marked("$map", map) } else { map }
        }
        value => value.clone(),
    }
}

/// Returns attributes as a dict that JSON can express.
pub(crate) fn json_attributes<'py>(py: Python<'py>, attributes: &Attributes) -> PyResult<Bound<'py, PyDict>> {
    let map = PyDict::new(py);
    for (name, value) in attributes {
        map.set_item(name, python_value(py, &json_value(value))?)?;
    }
    Ok(map)
}

/// Returns attributes as a dict.
pub(crate) fn python_attributes<'py>(
    py: Python<'py>,
    attributes: &Attributes,
) -> PyResult<Bound<'py, PyDict>> {
    let map = PyDict::new(py);
    for (name, value) in attributes {
        map.set_item(name, python_value(py, value)?)?;
    }
    Ok(map)
}

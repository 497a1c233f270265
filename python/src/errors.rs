//! Converts errors of the library to the exceptions of `treering.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use treering::Error;

use crate::exit::Inside;
use crate::shapes::kind_name;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn make(
    py: Python<'_>,
    kind: &str,
    message: &str,
    code: &str,
    hint: Option<&str>,
    ids: Vec<String>,
) -> PyErr {
    let _inside = Inside::attached(py);
    let made = MAKE
        .get_or_try_init(py, || {
            let module = py.import("treering.errors")?;
            module.getattr("make").map(Bound::unbind)
        })
        .and_then(|make| make.bind(py).call1((kind, message, code, hint, ids)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns the exception for an error of the library.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    make(
        py,
        kind_name(error.kind()),
        error.message(),
        error.code().as_str(),
        error.hint(),
        error.ids().to_vec(),
    )
}

/// Returns the exception for input that only the bindings check.
pub(crate) fn invalid(py: Python<'_>, message: &str, hint: Option<&str>) -> PyErr {
    make(py, "InvalidInput", message, "invalid_input", hint, Vec::new())
}

/// Returns the exception for a change that a check of the caller refused.
pub(crate) fn rejected(py: Python<'_>, message: &str, hint: Option<&str>, ids: Vec<String>) -> PyErr {
    make(py, "Denied", message, "rejected", hint, ids)
}

/// Returns the exception for a check of the caller that came to no verdict.
pub(crate) fn check_failed(py: Python<'_>, message: &str, hint: Option<&str>) -> PyErr {
    make(py, "Check", message, "check_failed", hint, Vec::new())
}

/// Returns whether an exception is of the class with this name in `treering.errors`.
pub(crate) fn is_of_kind(py: Python<'_>, error: &PyErr, class: &str) -> bool {
    let _inside = Inside::attached(py);
    let class = py
        .import("treering.errors")
        .and_then(|module| module.getattr(class));
    class.is_ok_and(|class| error.matches(py, class).unwrap_or_default())
}

/// Returns the exception for a handle that cannot be used.
pub(crate) fn unusable(py: Python<'_>, message: &str, code: &str, hint: &str) -> PyErr {
    make(py, "Handle", message, code, Some(hint), Vec::new())
}

/// Returns the exception for a panic of the library.
pub(crate) fn panicked(py: Python<'_>, text: &str) -> PyErr {
    let message = format!("Treering panicked: {text}");
    make(
        py,
        "Internal",
        &message,
        "internal",
        Some("report this bug"),
        Vec::new(),
    )
}

/// Converts the error of a result to an exception.
pub(crate) trait OrRaise<T> {
    /// Returns the value, or the exception for the error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for treering::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}

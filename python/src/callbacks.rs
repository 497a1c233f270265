//! Functions of the host that the agent calls: an embedder, a judge and a summarizer.
//!
//! An exception that is no `Exception`, such as `KeyboardInterrupt` or `SystemExit`, ends the call and reaches the caller.
//! Of the others, that of a judge ends the call, and nothing is stored. That of an embedder or summarizer cannot leave the
//! library: Python reports it as unraisable, and the agent goes on without the function's result. An unusable vector is a
//! `RuntimeWarning`.
//!
//! The agent refers to its functions weakly, through [`Callbacks`], and Python's handles of the agent own them. So the
//! garbage collector sees a cycle of an object that has the agent and is its embedder.

use std::ffi::CString;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::exceptions::{PyException, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use pyo3::{PyTraverseError, PyVisit};
use treering::agent::{Embedder, Item, Judge, Judgement, Level, NewItem, Summarizer};
use treering::{Error, ErrorKind};

use crate::exit::attached;
use crate::object::Object;

/// The exception of a callback that ends the call. [`crate::handle::run`] raises it.
pub(crate) struct Raised(pub(crate) PyErr);

/// Returns the result of a callback. Ends the call if the exception is none that a program handles.
fn returned<T>(py: Python<'_>, result: PyResult<T>) -> Result<PyResult<T>, Raised> {
    match result {
        Err(error) if !error.is_instance_of::<PyException>(py) => Err(Raised(error)),
        result => Ok(result),
    }
}

/// Calls a function of the host with the GIL.
fn called<T>(call: impl FnOnce(Python<'_>) -> Result<T, Raised>) -> T {
    // The library holds no state that a panic would damage: an unwound call has committed nothing.
    attached(call).unwrap_or_else(|raised| resume_unwind(Box::new(raised)))
}

#[derive(Default)]
struct Functions {
    embedder: Option<Py<PyAny>>,
    judge: Option<Py<PyAny>>,
}

/// The embedder and the judge of an agent.
#[pyclass(frozen, module = "treering", weakref)]
pub(crate) struct Callbacks(Mutex<Functions>);

#[pymethods]
impl Callbacks {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The lock is free unless a thread copies a function now. Then the function is in use and no garbage.
        if let Ok(functions) = self.0.try_lock() {
            visit.call(&functions.embedder)?;
            visit.call(&functions.judge)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let functions = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(functions);
    }
}

impl Callbacks {
    pub(crate) fn new(embedder: Option<Py<PyAny>>, judge: Option<Py<PyAny>>) -> Self {
        Self(Mutex::new(Functions { embedder, judge }))
    }
}

/// A weak reference to the callbacks of an agent.
struct Weak(Py<PyWeakrefReference>);

impl Weak {
    fn to(callbacks: &Bound<'_, Callbacks>) -> PyResult<Self> {
        PyWeakrefReference::new(callbacks).map(|weak| Self(weak.unbind()))
    }

    /// Returns a function, unless every handle of the agent is gone.
    fn function<'py>(
        &self,
        py: Python<'py>,
        which: impl Fn(&Functions) -> &Option<Py<PyAny>>,
    ) -> Option<Bound<'py, PyAny>> {
        let callbacks = self.0.bind(py).upgrade_as::<Callbacks>().ok()??;
        let functions = callbacks.get().0.lock().unwrap_or_else(PoisonError::into_inner);
        which(&functions)
            .as_ref()
            .map(|function| function.bind(py).clone())
    }
}

/// A function that returns the vector of a text.
pub(crate) struct HostEmbedder {
    callbacks: Weak,
    name: String,
    /// The length of the first vector.
    length: OnceLock<usize>,
}

impl HostEmbedder {
    pub(crate) fn new(callbacks: &Bound<'_, Callbacks>, name: &str) -> PyResult<Arc<Self>> {
        Ok(Arc::new(Self {
            callbacks: Weak::to(callbacks)?,
            name: name.to_owned(),
            length: OnceLock::new(),
        }))
    }

    /// Returns the fault of a vector. An empty one is the embedder's way to give none.
    fn fault(&self, vector: &[f32]) -> Option<String> {
        if vector.is_empty() {
            return None;
        }
        if vector.iter().any(|part| !part.is_finite()) {
            return Some("a number that is not finite".to_owned());
        }
        if vector.iter().all(|part| *part == 0.0) {
            return Some("only zeros".to_owned());
        }
        let length = *self.length.get_or_init(|| vector.len());
        (vector.len() != length).then(|| format!("{} numbers, but {length} before", vector.len()))
    }

    /// Calls the function. Warns about a vector that recall cannot use.
    fn vector(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        text: &str,
    ) -> Result<PyResult<Vec<f32>>, Raised> {
        let answer = match returned(py, function.call1((text,)))? {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        let vector = returned(py, answer.extract::<Vec<f32>>())?;
        let fault = match &vector {
            Ok(vector) => self.fault(vector),
            Err(_) => Some(format!("{}, not a sequence of numbers", answer.get_type())),
        };
        let Some(fault) = fault else { return Ok(vector) };
        let message = format!(
            "the embedder {:?} returned {fault}; recall uses only the words",
            self.name
        );
        let message = CString::new(message).unwrap_or_default();
        // With a filter that makes warnings errors, the error ends the call.
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 1).map_err(Raised)?;
        Ok(Ok(Vec::new()))
    }
}

impl Embedder for HostEmbedder {
    fn embed(&self, text: &str) -> Vec<f32> {
        called(|py| {
            let Some(function) = self.callbacks.function(py, |functions| &functions.embedder) else {
                return Ok(Vec::new());
            };
            let vector = self.vector(py, &function, text)?;
            Ok(vector.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(&function));
                Vec::new()
            }))
        })
    }
}

/// A function that decides how a new text relates to a stored item.
pub(crate) struct HostJudge(Weak);

impl HostJudge {
    pub(crate) fn new(callbacks: &Bound<'_, Callbacks>) -> PyResult<Self> {
        Weak::to(callbacks).map(Self)
    }
}

impl Judge for HostJudge {
    fn judge(&self, old: &Item, new: &NewItem) -> treering::Result<Judgement> {
        let verdict = called(|py| {
            let Some(function) = self.0.function(py, |functions| &functions.judge) else {
                return Ok(Err("the agent of the judge is gone".to_owned()));
            };
            let object = Object {
                object: old.object().clone(),
            };
            let verdict = function.call1((object, new.text.as_str()));
            let verdict = returned(
                py,
                verdict.and_then(|verdict| verdict.extract::<Option<String>>()),
            )?;
            // The message of an error is one line.
            Ok(verdict.map_err(|error| error.to_string().replace(['\r', '\n'], " ")))
        });
        match verdict.as_ref().map(Option::as_deref) {
            Ok(None) => Ok(Judgement::Unsure),
            Ok(Some("contradiction")) => Ok(Judgement::Contradiction),
            Ok(Some("same")) => Ok(Judgement::Same),
            Ok(Some("unrelated")) => Ok(Judgement::Unrelated),
            Ok(Some(_)) => Err(Error::new(
                ErrorKind::Io,
                "it must return \"contradiction\", \"same\", \"unrelated\" or None",
            )),
            Err(why) => Err(Error::new(ErrorKind::Io, why.as_str())),
        }
    }
}

/// A function that shortens the text of an item.
pub(crate) struct HostSummarizer(pub(crate) Py<PyAny>);

impl Summarizer for HostSummarizer {
    fn shorten(&self, item: &Item, level: Level) -> Option<String> {
        called(|py| {
            let object = Object {
                object: item.object().clone(),
            };
            let text = self.0.call1(py, (object, level.to_string()));
            let text = returned(py, text.and_then(|text| text.extract::<Option<String>>(py)))?;
            Ok(text.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(self.0.bind(py)));
                None
            }))
        })
    }
}

//! Functions of the host that the agent calls: an embedder, a judge and a summarizer.
//!
//! An exception of an embedder or summarizer cannot leave the library. Python reports it as unraisable, and the agent goes
//! on without the function's result, as the library defines it for an empty answer. An exception of a judge ends the call,
//! and nothing is stored.

use std::sync::Arc;

use pyo3::prelude::*;
use treering::agent::{Embedder, Item, Judge, Judgement, Level, NewItem, Summarizer};
use treering::{Error, ErrorKind};

use crate::object::Object;

/// A function that returns the vector of a text.
pub(crate) struct HostEmbedder(Py<PyAny>);

impl HostEmbedder {
    pub(crate) fn new(function: &Bound<'_, PyAny>) -> Arc<Self> {
        Arc::new(Self(function.clone().unbind()))
    }
}

impl Embedder for HostEmbedder {
    fn embed(&self, text: &str) -> Vec<f32> {
        Python::attach(|py| {
            let vector = self
                .0
                .call1(py, (text,))
                .and_then(|vector| vector.extract::<Vec<f32>>(py));
            vector.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(self.0.bind(py)));
                Vec::new()
            })
        })
    }
}

/// A function that decides how a new text relates to a stored item.
pub(crate) struct HostJudge(pub(crate) Py<PyAny>);

impl Judge for HostJudge {
    fn judge(&self, old: &Item, new: &NewItem) -> treering::Result<Judgement> {
        let verdict = Python::attach(|py| {
            let object = Object {
                object: old.object().clone(),
            };
            let verdict = self.0.call1(py, (object, new.text.as_str()));
            let verdict = verdict.and_then(|verdict| verdict.extract::<Option<String>>(py));
            // The message of an error is one line.
            verdict.map_err(|error| error.to_string().replace(['\r', '\n'], " "))
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
        Python::attach(|py| {
            let object = Object {
                object: item.object().clone(),
            };
            let text = self.0.call1(py, (object, level.to_string()));
            let text = text.and_then(|text| text.extract::<Option<String>>(py));
            text.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(self.0.bind(py)));
                None
            })
        })
    }
}

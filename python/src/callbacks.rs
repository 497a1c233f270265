//! Functions of the host that the agent calls: an embedder and a summarizer.
//!
//! An exception of such a function cannot leave the library. Python reports it as unraisable, and the agent goes on
//! without the function's result, as the library defines it for an empty answer.

use std::sync::Arc;

use pyo3::prelude::*;
use treering::agent::{Embedder, Item, Level, Summarizer};

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

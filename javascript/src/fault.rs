//! The errors of calls, as JavaScript gets them: a kind that names the class, a code, a message, a hint and ids.

use schemars::JsonSchema;
use serde::Serialize;
use treering::Error;

use crate::shapes::kind_name;

/// The error of a call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Fault {
    /// The name of the class without `Error`.
    pub(crate) kind: &'static str,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) ids: Vec<String>,
}

/// The result of a call.
pub(crate) type Done<T> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self {
            kind: kind_name(error.kind()),
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            ids: error.ids().to_vec(),
        }
    }
}

impl Fault {
    /// Returns the error of this kind with a code.
    pub(crate) fn new(kind: &'static str, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.to_owned(),
            message: message.into(),
            hint: None,
            ids: Vec::new(),
        }
    }

    /// Returns the error for input that only the bindings check.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("InvalidInput", "invalid_input", message)
    }

    /// Returns the error for a closed handle.
    pub(crate) fn closed() -> Self {
        Self::new("Handle", "closed", "the handle is closed").hint("open the store again")
    }

    /// Returns the error for a draft that was committed or discarded.
    pub(crate) fn finished() -> Self {
        Self::new(
            "Handle",
            "finished",
            "the draft was already committed or discarded",
        )
        .hint("make a new draft")
    }

    /// Returns the error for a panic of the library.
    pub(crate) fn panicked(text: &str) -> Self {
        Self::new("Internal", "internal", format!("Treering panicked: {text}")).hint("report this bug")
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

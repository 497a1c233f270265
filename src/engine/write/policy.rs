//! What a host may say about a commit before it is made, and the limits that always hold.
//!
//! # Layer
//! L5.

use crate::error::{Error, ErrorCode, Result};
use crate::object::NewObject;

use super::draft::Draft;

/// Limits that this handle enforces on what it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest content of an object, in bytes. Default: 1 MiB.
    pub content_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            content_bytes_max: 1 << 20,
        }
    }
}

impl Limits {
    /// Limits with another longest content, in bytes.
    #[must_use]
    pub fn with_content_bytes_max(mut self, bytes: usize) -> Self {
        self.content_bytes_max = bytes;
        self
    }

    /// Whether an object keeps them.
    ///
    /// # Errors
    /// `InvalidInput` (code `over_limit`): it does not.
    pub(crate) fn check(self, object: &NewObject) -> Result<()> {
        let length = object.content.as_ref().map_or(0, String::len);
        if length > self.content_bytes_max {
            let limit = self.content_bytes_max;
            return Err(Error::invalid(format!(
                "the content of {} has {length} bytes, {limit} are allowed",
                object.id
            ))
            .with_code(ErrorCode::OverLimit)
            .with_ids(vec![object.id.to_string()])
            .with_hint("split it into several objects"));
        }
        Ok(())
    }
}

/// What a [`WritePolicy`] says of a draft.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// Commit it as it is.
    Accept,
    /// Put these objects too, over what the draft says of their ids, then commit it.
    Replace(Vec<NewObject>),
    /// Commit nothing; the reason is for the writer.
    Refuse(String),
    /// Commit nothing, but keep the draft under `rejected/` for a person to look at.
    Quarantine(String),
}

/// Rules that every draft of a handle passes before it is committed: scanners and agent layers hang in here.
/// Rollback, undo and redo bring back what was committed and are not reviewed again.
pub trait WritePolicy: Send + Sync {
    /// Looks at everything a commit would change, once, before the store's lock is taken.
    fn review(&self, draft: &Draft) -> Verdict;
}

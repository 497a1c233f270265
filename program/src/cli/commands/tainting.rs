//! Taints the session of a call whose input cannot be read. The author of a page must not decide whether the session that
//! read it stays trusted (TNT-4), and a line that cannot be read may be the page's.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;

/// Taints the session of the caller if the input may have texts of the class `class`, and returns the error.
pub(super) fn tainting(context: &mut Context, class: Origin, error: Error) -> Error {
    let session = context.writer().session;
    if session.is_none() || class.is_trusted() || error.kind() != ErrorKind::InvalidInput {
        return error;
    }
    let opened = context.open_or_create(|_| Ok(()));
    let admitted = opened.and_then(|memory| memory.admit(class, session.as_deref()));
    admitted.err().unwrap_or(error)
}

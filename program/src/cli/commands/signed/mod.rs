//! The verbs of signed heads, and what they share.
//!
//! # Layer
//! Layer 10, part of cli.

pub(super) mod check_head;
pub(super) mod keygen;
pub(super) mod prove_head;
pub(super) mod sign;
pub(super) mod witness;

use super::prelude::*;
use treering::signed::{NoteError, SignedHead};

/// The most bytes of a signed head or a request.
const NOTE_BYTES_MAX: u64 = 1 << 20;

fn read_note(context: &Context, file: &Path) -> Result<SignedHead> {
    Ok(SignedHead::parse(&note_bytes(context, file)?)?)
}

/// Reads a signed head or a request. A longer file is none.
fn note_bytes(context: &Context, file: &Path) -> Result<Vec<u8>> {
    read_input(context, file, NOTE_BYTES_MAX).map_err(|error| match error.code() {
        ErrorCode::OverLimit => NoteError::Form("it has more than 1 MiB").into(),
        _ => error,
    })
}

/// Describes a signed head in one line: by the line of its store, if it is one of Treering's.
fn in_one_line(head: &SignedHead) -> String {
    let line = head
        .origin
        .strip_prefix("treering/")
        .and_then(|rest| rest.split_once('/'));
    let line = line.map_or(&*head.origin, |(_, line)| line);
    format!(
        "{} with {}, root {}",
        one_line(line),
        counted(head.size, "commit"),
        to_hex(&head.root)
    )
}

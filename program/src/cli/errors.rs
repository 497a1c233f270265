//! The outcomes of a verb, and the exit code of each.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-1: an exit code depends only on the kind of the error, so a script can act on the code. An invalid command
//!   line has a separate exit code.

use std::io;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind as ClapErrorKind};
use strsim::osa_distance;

use treering::{Error, ErrorCode, ErrorKind, Result};

/// The number of verbs that the error for an unknown one suggests.
const VERBS_SUGGESTED: usize = 3;

/// Exit code: success.
pub(crate) const DONE: u8 = 0;
/// Exit code: the answer is no (`contains`, `diff --exit-code`).
pub(crate) const NO: u8 = 1;
/// Exit code: the command line is invalid.
pub(crate) const USAGE: u8 = 2;
/// Exit code: a policy refused the change.
pub(crate) const DENIED: u8 = 4;
/// Exit code: the store is damaged, a proof does not hold, or a salvage lost data.
pub(crate) const DAMAGED: u8 = 5;
/// Exit code: input or output failed.
pub(crate) const FAILED: u8 = 6;
/// Exit code: the program has a bug.
pub(crate) const BUG: u8 = 70;

/// The outcome of a verb: an exit code or an error.
pub(crate) type Done = Result<u8>;

/// Returns the kind of an operating system error.
pub(crate) fn system_kind(error: &Error) -> Option<io::ErrorKind> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<io::Error>().map(io::Error::kind)
}

/// Returns the error for an input that the verb refuses.
pub(crate) fn refused(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::invalid(message).with_code(code).with_hint(hint)
}

/// Returns the error for a command line that clap accepts and the verb refuses.
pub(crate) fn usage_error(message: impl Into<String>, hint: impl Into<String>) -> Error {
    refused(ErrorCode::Usage, message, hint)
}

/// Returns the error for `--json` with another output mode.
pub(crate) fn two_modes(other: &str) -> Error {
    usage_error(
        format!("--json cannot be combined with {other}"),
        "omit one of the two options",
    )
}

/// Converts an error of clap. Uses `hint` if the error of clap contains no hint.
pub(crate) fn clap_error(error: &clap::Error, hint: &str) -> Error {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (tips, message): (Vec<&str>, Vec<&str>) = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .partition(|line| line.starts_with("tip:"));
    // An option that the verb does not have is no text to pass.
    let tips = tips.iter().map(|tip| tip.trim_start_matches("tip: "));
    let tips: Vec<&str> = tips.filter(|tip| !tip.starts_with("to pass ")).collect();
    let hint = match similar_verbs(error) {
        Some(verbs) => format!("the nearest verbs are {verbs}"),
        None if tips.is_empty() || error.kind() == ClapErrorKind::InvalidSubcommand => hint.to_owned(),
        None => tips.join("; "),
    };
    let message = message.join(" ");
    let message = message.trim_start_matches("error: ");
    usage_error(
        message.replace("unrecognized subcommand", "there is no verb"),
        hint,
    )
}

/// Returns the verbs that are most like an unknown one, best first.
fn similar_verbs(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let mut verbs = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(verbs)) => verbs.clone(),
        Some(ContextValue::String(verb)) => vec![verb.clone()],
        _ => return None,
    };
    verbs.sort_by_cached_key(|verb| (osa_distance(typed, verb), verb.clone()));
    // A verb that differs far more than the best one is no suggestion.
    let best = osa_distance(typed, verbs.first()?);
    verbs.retain(|verb| osa_distance(typed, verb) <= best + 1);
    verbs.truncate(VERBS_SUGGESTED);
    let verbs: Vec<String> = verbs.iter().map(|verb| format!("'{verb}'")).collect();
    Some(verbs.join(", "))
}

/// Returns the error for an output that could not be written.
pub(crate) fn output_error(error: io::Error) -> Error {
    let hint = "only the output is lost; a change that the verb made is committed, and treering log shows the commit";
    let error = Error::io("writing the output", error).with_code(ErrorCode::AnswerLost);
    error.with_hint(hint)
}

/// Returns whether the reader of the output closed the pipe. In that case the verb ends with success (CLI-3).
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    error.code() == ErrorCode::AnswerLost && system_kind(error) == Some(io::ErrorKind::BrokenPipe)
}

/// Returns the exit code of an error (CLI-1).
pub(crate) fn exit_code(error: &Error) -> u8 {
    if is_closed_pipe(error) {
        return DONE;
    }
    match error.kind() {
        ErrorKind::InvalidInput if error.code() == ErrorCode::Usage => USAGE,
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::UnsupportedFormat => 1,
        ErrorKind::Conflict | ErrorKind::Busy => 3,
        ErrorKind::Denied => DENIED,
        ErrorKind::Corrupt => DAMAGED,
        ErrorKind::Io | ErrorKind::Poisoned => FAILED,
        // `Internal`, and any kind that this version does not know.
        _ => BUG,
    }
}

/// Returns the error for an unreadable input file. A missing file is an error in the command line.
pub(crate) fn input_error(file: &Path, error: io::Error) -> Error {
    let file = file.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            Error::not_found(format!("the file {file} does not exist")).with_code(ErrorCode::NoFile)
        }
        io::ErrorKind::IsADirectory => Error::invalid(format!("{file} is a folder, not a file")),
        _ => Error::io(format_args!("reading {file}"), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::program::Refusal;

    #[test]
    fn every_kind_has_the_promised_exit_code() {
        // INVARIANT CLI-1: each kind of error has its documented exit code.
        let table = [
            (ErrorKind::NotFound, 1),
            (ErrorKind::InvalidInput, 1),
            (ErrorKind::UnsupportedFormat, 1),
            (ErrorKind::Conflict, 3),
            (ErrorKind::Busy, 3),
            (ErrorKind::Denied, 4),
            (ErrorKind::Corrupt, 5),
            (ErrorKind::Io, 6),
            (ErrorKind::Poisoned, 6),
            (ErrorKind::Internal, 70),
        ];
        for (kind, code) in table {
            assert_eq!(exit_code(&Error::new(kind, "x")), code, "{kind:?}");
        }
        assert_eq!(exit_code(&usage_error("x", "y")), 2);
        assert_eq!(exit_code(&output_error(io::ErrorKind::BrokenPipe.into())), 0);
        assert_eq!(exit_code(&output_error(io::ErrorKind::StorageFull.into())), 6);
    }

    #[test]
    fn the_document_of_an_error_names_code_message_and_hint() {
        let failure = Error::not_found("no object 'a'").with_hint("see list");
        let expected = r#"{"error":{"code":"not_found","message":"no object 'a'","hint":"see list"}}"#;
        let document = |failure: &Error| {
            serde_json::to_value(Refusal {
                error: failure.into(),
                notes: Vec::new(),
            })
            .unwrap()
        };
        assert_eq!(document(&failure).to_string(), expected);
        let failure = Error::conflict("changed since").with_ids(vec!["a".into()]);
        assert_eq!(document(&failure)["error"]["ids"][0], "a");
        assert!(document(&failure)["error"]["hint"].is_null());
    }
}

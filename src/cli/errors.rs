//! The outcomes of a verb, and the exit code of each.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-1: an exit code depends only on the kind of the error, so a script can act on the code. An invalid command line
//!   is a kind of its own.

use std::io;
use std::path::Path;

use crate::answers::program::Refused;
use crate::error::{Error, ErrorCode, ErrorKind};

/// Exit code: success.
pub(crate) const DONE: u8 = 0;
/// Exit code: the answer is no (`contains`, `diff --exit-code`).
pub(crate) const NO: u8 = 1;
/// Exit code: the command line is invalid.
pub(crate) const USAGE: u8 = 2;
/// Exit code: the store is damaged, or not all of it could be saved.
pub(crate) const DAMAGED: u8 = 5;
/// Exit code: a bug.
pub(crate) const BUG: u8 = 70;

/// The reason why a verb failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine, or the program itself, refused or failed.
    Error(Error),
    /// The reader closed the pipe. This counts as success.
    ClosedPipe,
}

/// The outcome of a verb: an exit code or a failure.
pub(crate) type Done = Result<u8, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Returns the kind of an operating system error.
pub(crate) fn system_kind(error: &Error) -> Option<io::ErrorKind> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<io::Error>().map(io::Error::kind)
}

impl Failure {
    /// Returns the failure for a command line that clap accepts and the verb refuses.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let error = Error::invalid(message).with_code(ErrorCode::Usage);
        error.with_hint(hint).into()
    }

    /// Returns the failure for `--json` with another output mode.
    pub(crate) fn two_modes(other: &str) -> Self {
        Self::usage(
            format!("--json cannot be combined with {other}"),
            "leave one of them out",
        )
    }

    /// Converts an error of clap; `hint` is used if clap gives none.
    pub(crate) fn of_clap(error: &clap::Error, hint: &str) -> Self {
        let text = error.render().to_string();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let (tips, message): (Vec<&str>, Vec<&str>) = lines
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
            .partition(|line| line.starts_with("tip:"));
        let tips: Vec<&str> = tips.iter().map(|tip| tip.trim_start_matches("tip: ")).collect();
        let hint = if tips.is_empty() {
            hint.to_owned()
        } else {
            tips.join("; ")
        };
        let message = message.join(" ");
        Self::usage(message.trim_start_matches("error: "), hint)
    }

    /// Returns the same failure, with the location of the failed command.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Error(error) => Self::Error(error.context(place)),
            Self::ClosedPipe => Self::ClosedPipe,
        }
    }

    /// Returns the failure for an error while writing the output.
    pub(crate) fn from_output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            let hint = "only the output is lost: if the verb made a change, it is committed, and treering log shows it";
            let error = Error::io("writing the output", error).with_code(ErrorCode::AnswerLost);
            Self::Error(error.with_hint(hint))
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Error(error) if error.code() == ErrorCode::Usage => USAGE,
            Self::Error(error) => exit_code(error.kind()),
            Self::ClosedPipe => DONE,
        }
    }

    /// Returns the reason for people and programs.
    pub(crate) fn refused(&self) -> Refused {
        match self {
            Self::Error(error) => Refused {
                code: error.code().as_str(),
                message: error.message().to_owned(),
                hint: error.hint().map(str::to_owned),
                ids: error.ids().to_vec(),
            },
            Self::ClosedPipe => Refused::default(),
        }
    }
}

/// Returns the exit code for a kind of error (CLI-1).
pub(crate) fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::UnsupportedFormat => 1,
        ErrorKind::Conflict | ErrorKind::Busy => 3,
        ErrorKind::Denied => 4,
        ErrorKind::Corrupt => 5,
        ErrorKind::Io | ErrorKind::Poisoned => 6,
        ErrorKind::Internal => BUG,
    }
}

/// Returns the error for an unreadable file. A missing file is a mistake of the caller.
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
        // INVARIANT CLI-1: the exit codes are those of the contract.
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
            assert_eq!(Failure::from(Error::new(kind, "x")).exit_code(), code, "{kind:?}");
        }
        assert_eq!(Failure::usage("x", "y").exit_code(), 2);
        assert_eq!(
            Failure::from_output(io::ErrorKind::BrokenPipe.into()).exit_code(),
            0
        );
        assert_eq!(
            Failure::from_output(io::ErrorKind::StorageFull.into()).exit_code(),
            6
        );
    }

    #[test]
    fn the_document_of_an_error_names_code_message_and_hint() {
        let failure = Failure::from(Error::not_found("no object 'a'").with_hint("see list"));
        let expected = r#"{"error":{"code":"not_found","message":"no object 'a'","hint":"see list"}}"#;
        let document = |failure: &Failure| {
            serde_json::to_value(Refusal {
                error: failure.refused(),
                notes: Vec::new(),
            })
            .unwrap()
        };
        assert_eq!(document(&failure).to_string(), expected);
        let failure = Failure::from(Error::conflict("changed since").with_ids(vec!["a".into()]));
        assert_eq!(document(&failure)["error"]["ids"][0], "a");
        assert!(document(&failure)["error"]["hint"].is_null());
    }
}

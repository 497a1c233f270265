//! The error type of the crate. The kind of an error determines the next action of the caller.
//!
//! An [`Error`] is opaque. It has a kind, a stable code, a sentence for people and often a hint with the next step.
//! Decoding and proofs use small closed enums instead, because their callers match on the cases. Every error that
//! reaches a user becomes an [`Error`].
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.

mod code;
mod damage;

use std::fmt;
use std::io::ErrorKind as Kind;
use std::sync::Arc;

pub use code::ErrorCode;
pub use damage::{Cause, Damage, Finding, FindingKind, Severity};

/// The result type of the crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`], which determines the next action of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The named object, commit or file does not exist or was erased: name another object, commit or file.
    NotFound,
    /// The input breaks a rule or a limit: correct the input.
    InvalidInput,
    /// Another writer changed the state on which this work is based: read the new head and try again.
    Conflict,
    /// A policy refused the change: correct the change before another try.
    Denied,
    /// Another process holds the lock: wait and try again.
    Busy,
    /// Stored bytes are damaged: run `verify`, then read with `--degraded` or salvage.
    Corrupt,
    /// A newer program wrote the store: upgrade.
    UnsupportedFormat,
    /// A call of the operating system failed: a full or read-only disk, missing permission, a failing device.
    Io,
    /// An earlier write or sync failed, so the state of this handle is unknown: open the store again.
    Poisoned,
    /// A bug in Treering: report it.
    Internal,
}

/// An error of any layer, with a message for people.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    code: ErrorCode,
    message: String,
    hint: Option<String>,
    ids: Vec<String>,
    /// Whether `ids` are the names of other things than objects.
    has_other_names: bool,
    behind: Option<&'static str>,
    damage: Option<Damage>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The errors of the operating system that concern the process, and not one file.
const PROCESS_ERRORS: [i32; 2] = [
    rustix::io::Errno::MFILE.raw_os_error(),
    rustix::io::Errno::NFILE.raw_os_error(),
];

impl Error {
    /// Returns an error of `kind`. `message` is one sentence without a full stop and line breaks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: default_code(kind),
            message: message.into(),
            hint: None,
            ids: Vec::new(),
            has_other_names: false,
            behind: None,
            damage: None,
            source: None,
        }))
    }

    /// Makes the error for something that does not exist.
    #[doc(hidden)]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Makes the error for an action that a policy forbids.
    #[doc(hidden)]
    pub fn denied(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message).with_code(code)
    }

    /// Makes the error for bad input.
    #[doc(hidden)]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Makes the error for a conflict with another change.
    #[doc(hidden)]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// Makes the error for damaged data.
    #[doc(hidden)]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Makes the error for a bug of this program.
    #[doc(hidden)]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Returns the error for damaged bytes, or for bytes that a newer program wrote.
    pub(crate) fn damaged(damage: Damage) -> Self {
        let kind = if damage.cause.is_of_newer_version() {
            ErrorKind::UnsupportedFormat
        } else {
            ErrorKind::Corrupt
        };
        let mut error = Self::new(kind, damage.to_string());
        error.0.damage = Some(damage);
        error
    }

    /// Adds the file and offset of a record to a corruption error that has no location.
    #[must_use]
    pub(crate) fn at_record(mut self, file: String, offset: u64) -> Self {
        if self.is_corruption() && self.0.damage.is_none() {
            let cause = Cause::Contradiction(std::mem::take(&mut self.0.message));
            let damage = Damage::new(file, offset, cause);
            self.0.message = damage.to_string();
            self.0.damage = Some(damage);
        }
        self
    }

    /// Makes the error for a failed input or output operation, `doing`.
    #[doc(hidden)]
    pub fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        if let Some(found) = source.get_ref().and_then(|inner| inner.downcast_ref::<Damage>()) {
            let damage = found.clone();
            let mut error = Self::new(ErrorKind::Io, damage.to_string())
                .with_code(ErrorCode::NotRegularFile)
                .with_hint("move this path out of the store and put the original file back; then run `treering doctor`, which lists missing files");
            error.0.damage = Some(damage);
            return error;
        }
        let error = Self::new(ErrorKind::Io, format!("{doing}: {source}"));
        let hint = match source.kind() {
            Kind::PermissionDenied => {
                "this user has no permission: compare the owner and mode of the path (`ls -ld PATH`) with the user (`id`)"
            }
            Kind::ReadOnlyFilesystem => {
                "the disk is read-only: choose a place on a writable disk; to write to a store, copy it to one"
            }
            Kind::StorageFull | Kind::QuotaExceeded => {
                "free disk space, or run `treering gc`, which makes room in the store (it may remove checkpoint/ and derived/, which Treering rebuilds; `--newest 1 --keep-all 0s` keeps no history); no acknowledged change is lost"
            }
            _ if source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                "this process has too many open files: raise the limit (`ulimit -n`), or run `treering gc`, which merges small segments of the log into fewer files"
            }
            _ => return error.with_source(source),
        };
        error.with_hint(hint).with_source(source)
    }

    /// Replaces the stable code (`snake_case`) that programs match on.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.0.code = code;
        self
    }

    /// Returns the error for a file of a store that cannot be opened or read. The error names the file, so a degraded
    /// reader, `verify` and `salvage` continue with the other files. If the process lacks a resource, or if the path is
    /// not a regular file, the error is one of [`Self::io`].
    pub(crate) fn unreadable(file: &str, source: std::io::Error) -> Self {
        let is_of_process = matches!(source.kind(), Kind::OutOfMemory | Kind::Interrupted)
            || source
                .raw_os_error()
                .is_some_and(|raw| PROCESS_ERRORS.contains(&raw));
        let is_denied = source.kind() == Kind::PermissionDenied;
        let cause = Cause::CannotRead(source.to_string());
        let mut error = Self::io(format!("cannot read {file}"), source);
        if is_of_process || error.0.damage.is_some() {
            return error;
        }
        error.0.damage = Some(Damage::new(file, 0, cause));
        error.with_hint(if is_denied {
            "make the file readable (`ls -l` shows its owner and mode); until then, `--degraded` reads the other files, and `treering salvage` copies their data"
        } else {
            "the disk may fail: copy the folder to another disk with a tool such as ddrescue; `--degraded` reads the other files, and `treering salvage` copies their data"
        })
    }

    /// Returns whether a file of the store cannot be opened or read.
    pub(crate) fn is_unreadable(&self) -> bool {
        let cause = self.damage().map(|damage| &damage.cause);
        self.0.kind == ErrorKind::Io && matches!(cause, Some(Cause::CannotRead(_)))
    }

    /// Returns whether the disk is full or a quota is exceeded.
    #[doc(hidden)]
    pub fn is_disk_full(&self) -> bool {
        let source = self.0.source.as_ref();
        let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
        source.is_some_and(|error| matches!(error.kind(), Kind::StorageFull | Kind::QuotaExceeded))
    }

    /// Returns whether bytes of the store are damaged or cannot be read.
    #[doc(hidden)]
    pub fn is_damage(&self) -> bool {
        self.is_corruption() || self.is_unreadable()
    }

    /// Adds a hint with the next step for the user.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Marks the error as a failure after a successful commit. `rest` states the consequence or the next step, for the
    /// hint.
    #[must_use]
    pub(crate) fn behind_change(mut self, rest: &'static str) -> Self {
        self.0.behind = Some(rest);
        self.with_code(ErrorCode::OutcomeUnknown)
            .with_hint(format!("the change is committed: do not repeat it; {rest}"))
    }

    /// Returns the consequence or the next step after a failure that followed a successful commit. Returns `None` if
    /// the commit may have failed.
    #[doc(hidden)]
    pub fn rest_of_change(&self) -> Option<&'static str> {
        // If the code is not `OutcomeUnknown`, a later operation returned this error.
        self.0.behind.filter(|_| self.0.code == ErrorCode::OutcomeUnknown)
    }

    /// Adds the ids of the affected objects.
    #[must_use]
    #[doc(hidden)]
    pub fn with_ids(mut self, ids: Vec<String>) -> Self {
        self.0.ids = ids;
        self
    }

    /// Adds the names of the affected lanes or documents, or of a quarantined change.
    #[must_use]
    #[doc(hidden)]
    pub fn with_names(mut self, names: Vec<String>) -> Self {
        self.0.has_other_names = true;
        self.with_ids(names)
    }

    /// Returns whether [`Self::ids`] are the ids of objects, and not other names.
    #[doc(hidden)]
    pub fn names_objects(&self) -> bool {
        !self.0.has_other_names
    }

    /// Adds the underlying error.
    #[must_use]
    pub(crate) fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Prefixes the message with the name of the operation in progress.
    #[must_use]
    #[doc(hidden)]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// Replaces the message by a message without private text, and drops the source.
    #[cfg(feature = "agent")]
    #[must_use]
    #[doc(hidden)]
    pub fn reworded(mut self, message: String) -> Self {
        self.0.message = message;
        self.0.source = None;
        self
    }

    /// Returns the kind, which determines the next action of the caller.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the stable, `snake_case` code that programs match on.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Returns the sentence for people, without the hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the hint with the next step, if the error has one.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the ids of the affected objects, or the names of the affected documents or lanes.
    pub fn ids(&self) -> &[String] {
        &self.0.ids
    }

    /// Returns the location and the cause of the damage, if damage caused the error.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.0.damage.as_ref()
    }

    /// Returns the cause of the damage. For an error without recorded damage, the cause contains the message.
    pub(crate) fn cause(&self) -> Cause {
        match self.damage() {
            Some(damage) => damage.cause.clone(),
            None => Cause::Contradiction(self.0.message.clone()),
        }
    }

    /// Returns whether the error reports damaged bytes.
    pub fn is_corruption(&self) -> bool {
        self.0.kind == ErrorKind::Corrupt
    }
}

/// Converts errors of the operating system, and adds the name of the failed operation.
pub(crate) trait OrIo<T> {
    /// Converts the error to an [`Error`] with the message "`doing`: the error of the system".
    fn or_io(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T> OrIo<T> for std::io::Result<T> {
    fn or_io(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error::io(doing, error))
    }
}

fn default_code(kind: ErrorKind) -> ErrorCode {
    match kind {
        ErrorKind::NotFound => ErrorCode::NotFound,
        ErrorKind::InvalidInput => ErrorCode::InvalidInput,
        ErrorKind::Conflict => ErrorCode::Conflict,
        ErrorKind::Denied => ErrorCode::Denied,
        ErrorKind::Busy => ErrorCode::Busy,
        ErrorKind::Corrupt => ErrorCode::Corrupt,
        ErrorKind::UnsupportedFormat => ErrorCode::UnsupportedFormat,
        ErrorKind::Io => ErrorCode::Io,
        ErrorKind::Poisoned => ErrorCode::Poisoned,
        ErrorKind::Internal => ErrorCode::Internal,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({}): {}", self.0.kind, self.0.code, self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " [hint: {hint}]")?;
        }
        Ok(())
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

//! The one error type of the crate, sorted by what the caller has to do about it.
//!
//! An [`Error`] is opaque: a kind, a stable code, a sentence for people and, where there is one, the next
//! step. Lower layers keep small closed enums of their own where a caller must tell cases apart in code
//! (decoding, proofs); everything that reaches a user becomes an [`Error`].
//!
//! # Layer
//! L0. Imports nothing of this crate.

mod code;
mod damage;

use std::fmt;
use std::io::ErrorKind as Kind;

pub use code::ErrorCode;
pub(crate) use damage::NotRegular;
pub use damage::{Cause, Damage, Finding, FindingKind, Severity};

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller has to do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The thing named does not exist, or was erased: name another one.
    NotFound,
    /// The input breaks a rule or a limit: change it.
    InvalidInput,
    /// Somebody else changed what this work was based on: look at the new head and try again.
    Conflict,
    /// A policy said no: do not try again unchanged.
    Denied,
    /// Another process holds the lock: wait and try again.
    Busy,
    /// Bytes on disk are not what was written: run `verify`, then read with `--degraded` or salvage.
    Corrupt,
    /// The store was written by a newer version: upgrade.
    UnsupportedFormat,
    /// The operating system refused: a full or read-only disk, permissions, a failing device.
    Io,
    /// An earlier write or sync failed and this handle's state is unknown: open the store again.
    Poisoned,
    /// A bug in Treering: report it.
    Internal,
}

/// An error of any layer, ready to be shown to a person.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    code: ErrorCode,
    message: String,
    hint: Option<String>,
    ids: Vec<String>,
    behind: Option<&'static str>,
    damage: Option<Damage>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of `kind` that says `message` (one sentence, no full stop, no line break).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: default_code(kind),
            message: message.into(),
            hint: None,
            ids: Vec::new(),
            behind: None,
            damage: None,
            source: None,
        }))
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Makes the error of damaged bytes, or of bytes that a newer version wrote.
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

    /// Names the place of records that contradict each other, if the error names none.
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

    pub(crate) fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        if let Some(found) = source
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<NotRegular>())
        {
            let damage = found.damage();
            let mut error = Self::new(ErrorKind::Io, damage.to_string())
                .with_code(ErrorCode::NotRegularFile)
                .with_hint("move it out of the store and put the original back; then `treering doctor` says what is missing");
            error.0.damage = Some(damage);
            return error;
        }
        let error = Self::new(ErrorKind::Io, format!("{doing}: {source}"));
        let hint = match source.kind() {
            Kind::PermissionDenied => "this user may not do that here: see `ls -ld` and `id`",
            Kind::ReadOnlyFilesystem => "reading works; to write, copy it to a place that is not read-only",
            Kind::StorageFull | Kind::QuotaExceeded => {
                "what was acknowledged is kept: make room, then do it again"
            }
            _ if source.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                "a process may not open more files here: allow more (`ulimit -n`); `treering gc` merges many small segments into few"
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

    /// Adds the next step for the reader.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Says that the change itself is done, for what failed behind it; `rest` says what is still to come of it.
    #[must_use]
    pub(crate) fn behind_change(mut self, rest: &'static str) -> Self {
        self.0.behind = Some(rest);
        self.with_code(ErrorCode::OutcomeUnknown)
            .with_hint(format!("the change is done: do not do it again; {rest}"))
    }

    /// What is still to come of a change that is done in spite of this error; nothing if it may not be done.
    #[cfg(feature = "cli")]
    pub(crate) fn rest_of_change(&self) -> Option<&'static str> {
        // Another code says that it is now the error of something else, which the change only preceded.
        self.0.behind.filter(|_| self.0.code == ErrorCode::OutcomeUnknown)
    }

    /// Adds the ids of the objects that the error is about.
    #[must_use]
    pub fn with_ids(mut self, ids: Vec<String>) -> Self {
        self.0.ids = ids;
        self
    }

    /// Adds the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Puts what was being done in front of the message.
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// The same error in words that may be shown.
    #[cfg(feature = "agent")]
    #[must_use]
    pub(crate) fn reworded(mut self, message: String) -> Self {
        self.0.message = message;
        self.0.source = None;
        self
    }

    /// The same error for another one who waits for the same work; without the underlying error.
    #[must_use]
    pub fn again(&self) -> Self {
        Self(Box::new(Inner {
            kind: self.0.kind,
            code: self.0.code,
            message: self.0.message.clone(),
            hint: self.0.hint.clone(),
            ids: self.0.ids.clone(),
            behind: self.0.behind,
            damage: self.0.damage.clone(),
            source: None,
        }))
    }

    /// What the caller has to do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable, `snake_case` code that programs match on.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The sentence for people, without the hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The next step, where there is one.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The ids of the objects concerned, for conflicts and refusals that name them.
    pub fn ids(&self) -> &[String] {
        &self.0.ids
    }

    /// The place and the cause of the damage, for errors that damage causes.
    pub fn damage(&self) -> Option<&Damage> {
        self.0.damage.as_ref()
    }

    /// Whether stored bytes were found damaged (and not merely absent, busy or refused).
    pub fn is_corruption(&self) -> bool {
        self.0.kind == ErrorKind::Corrupt
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

//! What a bucket promises, and what a failed call of it means.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.

use std::fmt;
use std::ops::Range;

use crate::error::{Error, ErrorCode, ErrorKind};

/// The version of an object, as its store names it. Two contents of a name never have the same version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(pub String);

/// An object, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The version of the whole object. That of a part may be one that no swap accepts.
    pub version: Version,
}

/// A failed call of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BucketError {
    /// There is no object of this name.
    Missing,
    /// An object of this name exists already.
    Exists,
    /// The object has another version than the expected one.
    Stale,
    /// It is unknown whether the call had its effect: an answer was lost, or the service failed. The call may be repeated.
    Unclear(String),
    /// The service was not reached, or did not answer a question. Nothing changed, and the call may be repeated.
    Unreachable(String),
    /// Another client has the lock of the store. Nothing changed, and the call may be repeated.
    Busy(String),
    /// The service refused the caller. Nothing changed.
    Denied(String),
    /// The call failed, and trying again does not help. Nothing changed.
    Failed(String),
    /// The object is damaged.
    Damaged(String),
    /// The key does not fit. Nothing changed.
    Key(KeyFault),
}

/// A key that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// The place is encrypted, and there is no key.
    Needed,
    /// The place is encrypted with another key, or somebody replaced a file there: the key in its head tells no more.
    Other,
    /// The place is not encrypted.
    NotEncrypted,
}

impl KeyFault {
    /// Returns the error of a place with this fault.
    pub(in crate::remote) fn at(self, place: &str) -> Error {
        let (code, what, hint) = match self {
            Self::Needed => (
                ErrorCode::NoKey,
                "is encrypted",
                "name the file with its key: `remote add`, `remote verify`, `clone` and `backup` take --key-file FILE, and `--store URL` takes TREERING_KEY_FILE",
            ),
            Self::Other => (
                ErrorCode::WrongKey,
                "has data of a key that the key file lacks",
                "use the key file of this place, or the new one after a rotation. If you have that, somebody replaced the data there: restore it from a copy",
            ),
            Self::NotEncrypted => (
                ErrorCode::NotEncrypted,
                "is not encrypted",
                "use it without a key file, or choose an empty place; nothing was changed",
            ),
        };
        Error::invalid(format!("{place} {what}"))
            .with_code(code)
            .with_hint(hint)
    }
}

/// The result of a call of a bucket.
pub type BucketResult<T> = Result<T, BucketError>;

/// Named objects with conditional writes. Names are relative, with `/` between their parts.
///
/// Every error means what [`BucketError`] says.
pub trait Bucket: Send + Sync {
    /// Returns an object, or the bytes of it in `range`; fewer if it ends before.
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored>;

    /// Returns the bytes that [`Self::get`] returns, for a caller that needs no version.
    fn read(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Vec<u8>> {
        self.get(name, range).map(|stored| stored.bytes)
    }

    /// Creates an object. Returns [`BucketError::Exists`], and changes nothing, if the name exists.
    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()>;

    /// Replaces the version `version` of an object. Returns [`BucketError::Stale`], and changes nothing, if the object has
    /// another version or is missing.
    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version>;

    /// Returns the names that begin with `prefix`, sorted.
    fn list(&self, prefix: &str) -> BucketResult<Vec<String>>;

    /// Deletes an object. A missing one is deleted already.
    fn delete(&self, name: &str) -> BucketResult<()>;

    /// Returns the place of the bucket for messages, without a secret.
    fn describe(&self) -> String;

    /// Returns whether the service keeps the bytes of objects that were replaced or deleted; `None` if that is unknown.
    fn keeps_old_bytes(&self) -> Option<bool> {
        Some(false)
    }
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such object"),
            Self::Exists => f.write_str("the object exists already"),
            Self::Stale => f.write_str("the object was replaced meanwhile"),
            Self::Unclear(what) => write!(f, "{what}; the outcome is unknown"),
            Self::Unreachable(what)
            | Self::Busy(what)
            | Self::Denied(what)
            | Self::Failed(what)
            | Self::Damaged(what) => f.write_str(what),
            Self::Key(fault) => write!(f, "{}", fault.at("the place")),
        }
    }
}

impl std::error::Error for BucketError {}

impl BucketError {
    /// Returns the error of a write of which an earlier request may have had its effect.
    pub(in crate::remote) fn of_write(self) -> Self {
        match self {
            Self::Unreachable(what) => Self::Unclear(what),
            other => other,
        }
    }

    /// Returns the error of a call that changes nothing, so that it has no unknown outcome.
    pub(in crate::remote) fn of_read(self) -> Self {
        match self {
            Self::Unclear(what) => Self::Unreachable(what),
            other => other,
        }
    }

    /// Returns the error of a call of `bucket`, which was `doing` something.
    pub(in crate::remote) fn at(self, bucket: &dyn Bucket, doing: impl fmt::Display) -> Error {
        let hint = match &self {
            Self::Key(fault) => return fault.at(&bucket.describe()),
            Self::Damaged(what) => {
                return Error::corrupt(format!("{}: {what}", bucket.describe()))
                    .with_hint("restore the place from a copy; nothing was changed here");
            }
            Self::Unclear(_) => "try again: the call continues where it stopped",
            Self::Unreachable(_) => "check the address and the network, then try again; nothing was changed",
            Self::Denied(_) => "check the permissions of this user or of its credentials",
            Self::Missing | Self::Exists | Self::Stale => {
                "another process may have changed the remote: try again"
            }
            Self::Busy(_) => "try again later, or allow a longer wait with --wait",
            Self::Failed(_) => "check the place of the remote, and whether it has free space",
        };
        let kind = match &self {
            Self::Busy(_) => ErrorKind::Busy,
            _ => ErrorKind::Io,
        };
        let text = format!("{doing} {}: {self}", bucket.describe());
        let error = Error::new(kind, text).with_hint(hint);
        match self {
            Self::Unclear(_) | Self::Unreachable(_) | Self::Failed(_) => {
                error.with_code(ErrorCode::RemoteUnreachable).with_source(self)
            }
            // Waiting does not help who was refused.
            _ => error.with_source(self),
        }
    }
}

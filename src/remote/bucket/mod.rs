//! The storage of a remote: named objects with conditional writes.
//!
//! A [`Bucket`] is all that a remote needs of a storage service. Its calls block. A client that needs an async runtime runs
//! it on a thread of its own and passes the calls through a channel, so no caller sees the runtime.
//!
//! # Layer
//! Layer 7, the lowest part of `remote`. Knows names and bytes, but not what they mean.
//!
//! # Invariants
//! - BKT-1: of several writers that create one name, or swap one version of it, at most one succeeds.
//! - BKT-2: a reader gets an object whole as one call wrote it.
//! - BKT-3: an answer other than [`BucketError::Unclear`] is certain: the call had its effect, or will never have it.

#[cfg(feature = "remote-cloud")]
mod cloud;
mod counted;
mod folder;
#[cfg(feature = "remote-postgres")]
mod postgres;
mod probe;
mod sealed;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorCode, ErrorKind, Result};

pub(super) use counted::Counted;
pub use folder::Folder;
#[cfg(feature = "remote-postgres")]
pub use postgres::Postgres;
pub use probe::{Fault, probe};
pub use sealed::Sealed;

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
    /// The place is encrypted with another key.
    Other,
    /// The place is not encrypted.
    NotEncrypted,
}

impl KeyFault {
    /// Returns the error of a place with this fault.
    pub(super) fn at(self, place: &str) -> Error {
        let (code, what, hint) = match self {
            Self::Needed => (
                ErrorCode::NoKey,
                "is encrypted",
                "name the file with its key: --key-file FILE",
            ),
            Self::Other => (
                ErrorCode::WrongKey,
                "is encrypted with a key that the key file lacks",
                "use the key file of this place; if its key was rotated, copy the new file from the machine that did it",
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
pub type BucketResult<T> = std::result::Result<T, BucketError>;

/// Named objects with conditional writes. Names are relative, with `/` between their parts.
///
/// Every error means what [`BucketError`] says.
pub trait Bucket: Send + Sync {
    /// Returns an object, or the bytes of it in `range`; fewer if it ends before.
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored>;

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
            Self::Busy(what) | Self::Denied(what) | Self::Failed(what) | Self::Damaged(what) => {
                f.write_str(what)
            }
            Self::Key(fault) => write!(f, "{}", fault.at("the place")),
        }
    }
}

impl std::error::Error for BucketError {}

impl BucketError {
    /// Returns the error of a call of `bucket`, which was `doing` something.
    pub(super) fn at(self, bucket: &dyn Bucket, doing: impl fmt::Display) -> Error {
        let hint = match &self {
            Self::Key(fault) => return fault.at(&bucket.describe()),
            Self::Damaged(what) => {
                return Error::corrupt(format!("{}: {what}", bucket.describe()))
                    .with_hint("restore the place from a copy; nothing was changed here");
            }
            Self::Unclear(_) => "try again: the call continues where it stopped",
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
            Self::Unclear(_) | Self::Denied(_) | Self::Failed(_) => {
                error.with_code(ErrorCode::RemoteUnreachable).with_source(self)
            }
            Self::Missing | Self::Exists | Self::Stale | Self::Busy(_) | Self::Damaged(_) | Self::Key(_) => {
                error.with_source(self)
            }
        }
    }
}

/// Opens the bucket at a URL: `file:///path`; with the feature `remote-cloud` `s3://bucket/prefix`, `gs://bucket/prefix` or
/// `az://container/prefix`; with `remote-postgres` `postgres://user@host/database`. With `create`, makes a missing folder.
///
/// # Errors
/// `InvalidInput` if the URL is not understood; `NotFound` if the folder does not exist; `Io`.
pub fn open_bucket(url: &str, create: bool) -> Result<Arc<dyn Bucket>> {
    let invalid = |what: &str| Error::invalid(what).with_hint("write a URL such as file:///mnt/backup/agent");
    let (scheme, rest) = url
        .split_once("://")
        .ok_or_else(|| invalid("the place of a remote is not a URL"))?;
    match scheme {
        "file" => {
            let path = path_in(rest);
            let path = path.ok_or_else(|| invalid("the path in a file URL is not absolute"))?;
            let folder = Folder::at(&path, create);
            let folder = folder.map_err(|error| match error.kind() {
                // A folder that is made in place of a disk would hide that the disk is missing.
                ErrorKind::NotFound => {
                    error.with_hint("is the disk or the share mounted? If the path is wrong, correct it")
                }
                _ => error,
            });
            Ok(Arc::new(folder?))
        }
        #[cfg(feature = "remote-postgres")]
        "postgres" | "postgresql" => Ok(Arc::new(Postgres::open(url)?)),
        #[cfg(not(feature = "remote-postgres"))]
        "postgres" | "postgresql" => {
            let error = Error::invalid("this build has no remotes in PostgreSQL");
            Err(error.with_code(ErrorCode::UnsupportedRemote).with_hint(
                "install it with the feature: cargo install --path program --features remote-postgres",
            ))
        }
        #[cfg(feature = "remote-cloud")]
        _ if let Some(service) = cloud::Scheme::of(scheme) => {
            Ok(Arc::new(cloud::Cloud::open(service, rest)?))
        }
        #[cfg(not(feature = "remote-cloud"))]
        "s3" | "gs" | "az" => Err(Error::invalid(format!(
            "this build has no remotes in object storage ({scheme}://)"
        ))
        .with_code(ErrorCode::UnsupportedRemote)
        .with_hint("install it with the feature: cargo install --path program --features remote-cloud")),
        _ => {
            let text = format!("remotes with the scheme {scheme:?} are not supported");
            Err(invalid(&text).with_code(ErrorCode::UnsupportedRemote))
        }
    }
}

/// Returns the path of a `file` URL, without its scheme.
fn path_in(rest: &str) -> Option<PathBuf> {
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    decoded(rest)
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
}

/// Returns an error if the folder of a store is in the place of a URL, or that place is in the folder. A change of one would
/// be damage of the other.
///
/// # Errors
/// `InvalidInput` (code `not_a_remote`).
pub fn check_apart(url: &str, folder: &Path) -> Result<()> {
    let Some(place) = url.strip_prefix("file://").and_then(path_in) else {
        return Ok(());
    };
    let (place, folder) = (real(&place), real(folder));
    if !place.starts_with(&folder) && !folder.starts_with(&place) {
        return Ok(());
    }
    let text = format!("{} and {} are not apart", place.display(), folder.display());
    Err(Error::invalid(text)
        .with_code(ErrorCode::NotARemote)
        .with_hint("choose a folder that is not inside the other one"))
}

/// Returns the path of a folder that need not exist, without links.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or(path)
}

/// Returns a URL without the password of its user. The path of a file may contain anything.
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (base, query) = rest
        .split_once('?')
        .map_or((rest, None), |(base, query)| (base, Some(query)));
    if scheme == "file" {
        return url.to_owned();
    }
    // A password may contain '/' and '@'.
    let user = base
        .rsplit_once('@')
        .and_then(|(user, host)| Some((user.split_once(':')?.0, host)));
    let base = user.map_or_else(|| base.to_owned(), |(user, host)| format!("{user}@{host}"));
    let is_public = |pair: &&str| {
        let key = decoded(pair.split('=').next().unwrap_or_default());
        key.is_some_and(|key| key != "password")
    };
    let query = query.map(|query| query.split('&').filter(is_public).collect::<Vec<_>>().join("&"));
    let query = query
        .filter(|query| !query.is_empty())
        .map(|query| format!("?{query}"));
    format!("{scheme}://{base}{}", query.unwrap_or_default())
}

/// Decodes the `%20` of a URL. Returns `None` for bytes that are no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        rest = more;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, more) = more.split_at_checked(2)?;
        bytes.extend(crate::digest::from_hex(std::str::from_utf8(digits).ok()?)?);
        rest = more;
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests;

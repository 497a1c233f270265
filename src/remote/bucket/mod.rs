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
//! - BKT-3: an error other than [`BucketError::Unclear`] is certain: the call had its effect, or will never have it.

#[cfg(feature = "remote-cloud")]
mod cloud;
mod contract;
mod counted;
mod folder;
#[cfg(feature = "remote-postgres")]
mod postgres;
mod probe;
mod sealed;
mod url;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorCode, ErrorKind, Result};

pub use contract::{Bucket, BucketError, BucketResult, KeyFault, Stored, Version};
pub(super) use counted::Counted;
pub use folder::Folder;
#[cfg(feature = "remote-postgres")]
pub use postgres::Postgres;
pub use probe::{Fault, probe};
pub use sealed::Sealed;
pub(crate) use url::decoded;
pub use url::without_password;

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
            let hint = "use file:///folder, s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or postgres://user@host/database";
            let error = Error::invalid(text).with_code(ErrorCode::UnsupportedRemote);
            Err(error.with_hint(hint))
        }
    }
}

/// Returns the folder of a `file` URL; `None` for another one.
pub fn folder_of(url: &str) -> Option<PathBuf> {
    url.strip_prefix("file://").and_then(path_in)
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
    let Some(place) = folder_of(url) else {
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

#[cfg(test)]
mod tests;

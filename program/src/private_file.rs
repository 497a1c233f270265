//! Files of the user that nobody else may read or change: tokens and keys.
//!
//! # Layer
//! Layer 8.
//!
//! # Invariants
//! - TKF-1: the file of a token or of a private key is read only if nobody but its owner can, and no link leads to it.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use treering::{Error, ErrorCode, Result};

/// The most bytes of a file with one token or key.
pub(crate) const BYTES_MAX: u64 = 1 << 16;
/// The bits of a mode that let others read or write.
pub(crate) const READ_OR_WRITE: u32 = 0o077;
/// The bits of a mode that let others write.
#[cfg(feature = "signed")]
pub(crate) const WRITE: u32 = 0o022;

/// Creates a file that only the user can read. Returns false if there is one.
pub(crate) fn create(file: &Path, text: &str) -> io::Result<bool> {
    let mut new = OpenOptions::new();
    match new.write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut created) => {
            created.write_all(text.as_bytes())?;
            created.sync_all().map(|()| true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a file, `what`, of at most `bytes_max` bytes, to which no mode of `others` gives access.
///
/// # Errors
/// `Denied` (code `refused`) if others have access, or a link leads to it (TKF-1); `NotFound`; `InvalidInput` if it is too
/// long or no text; `Io`.
pub(crate) fn read(file: &Path, what: &str, others: u32, bytes_max: u64) -> Result<String> {
    let name = format!("{what} {}", file.display());
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("{name} does not exist")),
        io::ErrorKind::InvalidData => Error::invalid(format!("{name} is no text")),
        _ => Error::io(&name, error),
    };
    let refused = || {
        let act = if others == READ_OR_WRITE { "read" } else { "change" };
        let text = format!("{name} is not a file that only you can {act}");
        let hint = format!(
            "run chmod 600 {}, or name a file that does not exist yet",
            file.display()
        );
        Error::denied(ErrorCode::Refused, text).with_hint(hint)
    };
    // A pipe must not keep the program waiting.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file);
    let opened = match opened {
        // A link.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused());
        }
        opened => opened.map_err(failed)?,
    };
    let about = opened.metadata().map_err(failed)?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    if !about.is_file() || !is_own || about.mode() & others != 0 {
        return Err(refused());
    }
    let mut text = String::new();
    let read = opened.take(bytes_max + 1).read_to_string(&mut text);
    if read.map_err(failed)? as u64 > bytes_max {
        return Err(Error::invalid(format!("{name} has more than {bytes_max} bytes")));
    }
    Ok(text)
}

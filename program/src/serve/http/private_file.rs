//! Files with secrets of a server, which nobody but their owner reads.
//!
//! # Layer
//! Layer 9, part of serve.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use treering::{Error, ErrorCode, Result};

/// The bits of a mode that let others read or write.
const OTHERS: u32 = 0o077;

/// Returns the text of a file of at most `bytes_max` bytes, if nobody but its owner can read or write it, and no link leads
/// to it. `what` names the file in an error.
///
/// # Errors
/// `Denied` (code `refused`) if others can read it; `NotFound`; `InvalidInput` if it is too long or no text; `Io`.
pub(crate) fn private_text(path: &Path, what: &str, bytes_max: u64) -> Result<String> {
    let name = format!("{what} {}", path.display());
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("there is no {name}")),
        io::ErrorKind::InvalidData => Error::invalid(format!("{name} is no text")),
        _ => Error::io(&name, error),
    };
    // A pipe must not keep the program waiting.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = match opened {
        // A link.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused(&name, path));
        }
        opened => opened.map_err(failed)?,
    };
    let about = file.metadata().map_err(failed)?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    if !about.is_file() || !is_own || about.mode() & OTHERS != 0 {
        return Err(refused(&name, path));
    }
    let mut text = String::new();
    let read = File::take(file, bytes_max + 1).read_to_string(&mut text);
    if read.map_err(failed)? as u64 > bytes_max {
        return Err(Error::invalid(format!("{name} has more than {bytes_max} bytes")));
    }
    Ok(text)
}

fn refused(name: &str, path: &Path) -> Error {
    let text = format!("{name} is not a file that only you can read");
    let hint = format!(
        "run chmod 600 {}, or name a file that does not exist yet",
        path.display()
    );
    Error::denied(ErrorCode::Refused, text).with_hint(hint)
}

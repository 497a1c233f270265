//! Acquires a lock file, and waits while another process holds the lock.
//!
//! # Layer
//! Layer 1.
//!
//! # Invariants
//! - LCK-1: a lock is valid only while the lock's path still refers to the locked file.
//! - LCK-2: a holder has the lock only after the lock file names that holder. So a holder whose name is already in the
//!   file knows that nobody else had the lock since.

use std::io;
use std::time::{Duration, Instant};

use super::{Disk, read_whole};
use crate::error::{Error, ErrorKind, OrIo as _, Result};
use crate::threads::sleep;

/// The length in bytes of the part of a lock file that names the holder.
pub(super) const HOLDER_BYTES: usize = 256;

/// The length in bytes of the random part of a holder's name, at the end of the name.
const UNIQUE_BYTES: usize = 16;

/// The text before the process number of the holder in a lock file.
const HOLDER_PREFIX: &str = "process ";

/// The time that a writer pauses before it acquires a lock for which other processes wait. Each waiting process pauses
/// about as long between two attempts.
const LET_OTHERS_TRY: Duration = Duration::from_micros(800);

/// The name of a holder in the lock file: the process and its program for messages, and random bytes that no other
/// holder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder([u8; HOLDER_BYTES]);

impl Holder {
    /// Names a new holder in this process.
    ///
    /// # Errors
    /// The error of [`Disk::random`].
    pub fn new(disk: &dyn Disk) -> io::Result<Self> {
        let mut name = [0; HOLDER_BYTES];
        let text = holder_text(disk.process());
        // At least one zero byte separates the text from the random bytes.
        let count = text.len().min(HOLDER_BYTES - UNIQUE_BYTES - 1);
        name[..count].copy_from_slice(&text.as_bytes()[..count]);
        disk.random(&mut name[HOLDER_BYTES - UNIQUE_BYTES..])?;
        Ok(Self(name))
    }

    /// Returns the bytes at the start of the lock file.
    pub fn as_bytes(&self) -> &[u8; HOLDER_BYTES] {
        &self.0
    }
}

/// An acquired lock. Dropping it releases the lock.
pub trait LockGuard: Send + Sync {
    /// Returns whether the lock's path still refers to the locked file (LCK-1). Treering never removes the file
    /// (DSK-3), but a person may have replaced it.
    ///
    /// # Errors
    /// The error of the operating system.
    fn is_current(&self) -> io::Result<bool>;

    /// Returns whether the holder before was the same one: nobody else had the lock since (LCK-2).
    fn had_no_other_holder(&self) -> bool;
}

/// Acquires the lock `name` for a new holder, like [`lock_as`].
///
/// # Errors
/// The errors of [`lock_as`].
pub fn lock_within(disk: &dyn Disk, name: &str, wait: Duration) -> Result<Box<dyn LockGuard>> {
    let holder = Holder::new(disk).or_io("cannot get random bytes")?;
    lock_as(disk, name, &holder, wait, &|| Ok(()))
}

/// Acquires the lock `name` for `holder`. If another process holds the lock, repeats the attempt for up to `wait`.
///
/// The attempts have random intervals. If other processes wait for the lock, this call first pauses, so that these
/// processes can acquire the lock. So a busy writer that locks again and again does not starve the other processes.
///
/// # Errors
/// `Busy` with the name of the lock's holder if the lock is not free within `wait`. `Io` if the system refuses. The errors
/// of `go_on`, which is called after each failed attempt.
pub fn lock_as(
    disk: &dyn Disk,
    name: &str,
    holder: &Holder,
    wait: Duration,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Box<dyn LockGuard>> {
    if !wait.is_zero() && disk.somebody_waits(name) {
        sleep(LET_OTHERS_TRY.min(wait));
    }
    let mut started = None;
    loop {
        let locked = disk.try_lock(name, holder);
        if let Some(guard) =
            locked.map_err(|error| Error::io(format!("cannot lock {}/{name}", disk.describe()), error))?
        {
            return Ok(guard);
        }
        let waited = started.get_or_insert_with(Instant::now).elapsed();
        if waited >= wait {
            return Err(busy(disk, name, waited));
        }
        go_on()?;
        disk.announce_waiting(name);
        sleep(pause(disk, waited).min(wait.saturating_sub(waited)));
    }
}

/// Returns the text in the lock file that names the holder. Returns `None` if there is no text, or if the named process
/// does not seem to hold the lock any more. Use the text for messages only.
pub fn lock_holder(disk: &dyn Disk, name: &str) -> Option<String> {
    let bytes = read_whole(disk, name, HOLDER_BYTES).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let note: String = text
        .split('\0')
        .next()?
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    let process = note.strip_prefix(HOLDER_PREFIX)?.split(' ').next()?;
    let is_holder = disk.is_locked_by(name, process.parse().ok()?);
    is_holder.then_some(note)
}

fn busy(disk: &dyn Disk, name: &str, waited: Duration) -> Error {
    let holder = lock_holder(disk, name).unwrap_or_else(|| "another process".to_owned());
    let message = format!(
        "{} is being written by {holder}; waited {} ms",
        disk.describe(),
        waited.as_millis()
    );
    Error::new(ErrorKind::Busy, message).with_hint("try again later, or allow a longer wait")
}

fn pause(disk: &dyn Disk, waited: Duration) -> Duration {
    let mut random = [0; 2];
    // If random bytes are unavailable, the pauses have equal lengths, which also works.
    drop(disk.random(&mut random));
    let spread = u64::from(u16::from_le_bytes(random));
    let longest_us = if waited < Duration::from_millis(50) {
        400
    } else {
        1_500
    };
    Duration::from_micros(50 + spread * longest_us / 65_536)
}

/// Returns the number of the process and the name of the program. Omits the arguments, because they may contain private
/// text.
fn holder_text(process: u32) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_name().unwrap_or_default();
    format!("{HOLDER_PREFIX}{process} ({})", program.to_string_lossy())
}

//! Waiting for the writer's lock.
//!
//! # Layer
//! Layer 1.
//!
//! # Invariants
//! - LCK-1: a lock is valid only while the lock's name still leads to the locked file.

use std::io;
use std::time::{Duration, Instant};

use super::{Disk, read_whole};
use crate::error::{Error, ErrorKind, OrIo as _, Result};
use crate::threads::sleep;

/// The length in bytes of the text about the holder in a lock file.
pub(super) const HOLDER_BYTES: usize = 256;

/// The text before the number of a process in a lock file.
const HOLDER_PREFIX: &str = "process ";

/// The time that a writer waits before it takes a lock for which others wait. It is about as long as their pause
/// between tries.
const LET_OTHERS_TRY: Duration = Duration::from_micros(800);

/// A held lock. Dropping it releases the lock.
pub trait LockGuard: Send + Sync {
    /// Returns whether the name still leads to the locked file (LCK-1). Treering never removes that file (DSK-3), but a
    /// person may have replaced it.
    ///
    /// # Errors
    /// The error of the operating system.
    fn is_current(&self) -> io::Result<bool>;
}

/// Takes the lock `name`; tries again for up to `wait`.
///
/// The tries are short and at random intervals. A writer that takes the lock again while others wait lets them try
/// first. So no waiting writer starves because its tries always fall into a busy writer's turns.
///
/// # Errors
/// `Busy`, naming the holder, after `wait`; `Io` if the system refuses.
pub fn lock_within(disk: &dyn Disk, name: &str, wait: Duration) -> Result<Box<dyn LockGuard>> {
    let holder = holder_text(disk.process());
    let started = Instant::now();
    if !wait.is_zero() && disk.somebody_waits(name) {
        sleep(LET_OTHERS_TRY.min(wait));
    }
    loop {
        let locked = disk.try_lock(name, &holder);
        if let Some(guard) = locked.or_io(format_args!("cannot lock {}", disk.describe()))? {
            return Ok(guard);
        }
        let waited = started.elapsed();
        if waited >= wait {
            return Err(busy(disk, name, waited));
        }
        disk.announce_waiting(name);
        sleep(pause(disk, waited).min(wait.saturating_sub(waited)));
    }
}

/// Returns the process that holds a lock, according to the note in the file. Returns `None` without a note, or if that
/// process seems not to hold the lock any more. For messages only.
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
    // Without random numbers, the pauses are regular, which still works.
    drop(disk.random(&mut random));
    let spread = u64::from(u16::from_le_bytes(random));
    let longest_us = if waited < Duration::from_millis(50) {
        400
    } else {
        1_500
    };
    Duration::from_micros(50 + spread * longest_us / 65_536)
}

/// Returns the process and the program's name. The arguments are left out: they may contain memory.
fn holder_text(process: u32) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_name().unwrap_or_default();
    format!("{HOLDER_PREFIX}{process} ({})", program.to_string_lossy())
}

//! Waiting for the writer's lock.
//!
//! # Layer
//! L1.
//!
//! # Invariants
//! - LCK-1: a lock counts only while the locked file is the one that its name leads to.

use std::io;
use std::time::{Duration, Instant};

use super::{Access, Disk, read_full};
use crate::error::{Error, ErrorKind, Result};
use crate::threads::sleep;

/// Bytes of the holder's text in a lock file.
pub(super) const HOLDER_BYTES: usize = 256;

/// The text before the number of a process in a lock file.
const HOLDER_PREFIX: &str = "process ";

/// How long a writer that others wait for stays away: about as long as they pause.
const LET_OTHERS_TRY: Duration = Duration::from_micros(800);

/// A lock that is held. Dropping it lets the lock go.
pub trait LockGuard: Send + Sync {
    /// Whether the locked file still is the one of its name (LCK-1); treering never removes it (DSK-3), but somebody
    /// may have replaced it.
    ///
    /// # Errors
    /// The error of the operating system.
    fn is_current(&self) -> io::Result<bool>;
}

/// Takes the lock `name`, trying again for as long as `wait`.
///
/// The tries are short and of random distance, and who comes back while others wait lets them try first, so that no
/// waiter can stay in step with a busy writer and starve.
///
/// # Errors
/// `Busy`, naming the holder, if the wait is over; `Io` if the system refuses.
pub fn lock_within(disk: &dyn Disk, name: &str, wait: Duration) -> Result<Box<dyn LockGuard>> {
    let holder = holder_text(disk.process());
    let started = Instant::now();
    if !wait.is_zero() && disk.somebody_waits(name) {
        sleep(LET_OTHERS_TRY.min(wait));
    }
    loop {
        match disk.try_lock(name, &holder) {
            Ok(Some(guard)) => return Ok(guard),
            Ok(None) => {}
            Err(error) => {
                return Err(Error::io(format!("cannot lock {}", disk.describe()), error));
            }
        }
        let waited = started.elapsed();
        if waited >= wait {
            return Err(busy(disk, name, waited));
        }
        disk.announce_waiting(name);
        sleep(pause(disk, waited).min(wait.saturating_sub(waited)));
    }
}

/// The process that holds a lock, as it named itself in the file; `None` if it did not, or if the name there is that of one
/// that does not hold it any more, as far as can be told. For messages only.
pub fn lock_holder(disk: &dyn Disk, name: &str) -> Option<String> {
    let file = disk.open(name, Access::Read).ok()?;
    let mut bytes = [0; HOLDER_BYTES];
    let count = read_full(&*file, 0, &mut bytes).ok()?;
    let text = bytes.get(..count)?.split(|byte| *byte == 0).next()?;
    let text: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    let process = text.strip_prefix(HOLDER_PREFIX)?.split(' ').next()?;
    let is_holder = disk.is_locked_by(name, process.parse().ok()?);
    is_holder.then_some(text)
}

fn busy(disk: &dyn Disk, name: &str, waited: Duration) -> Error {
    let holder = lock_holder(disk, name).unwrap_or_else(|| "another process".to_owned());
    let message = format!(
        "{} is being written by {holder}; waited {} ms",
        disk.describe(),
        waited.as_millis()
    );
    Error::new(ErrorKind::Busy, message).with_hint("try again, or wait longer")
}

fn pause(disk: &dyn Disk, waited: Duration) -> Duration {
    let mut random = [0; 2];
    // Without random numbers the distance is merely regular.
    drop(disk.random(&mut random));
    let spread = u64::from(u16::from_le_bytes(random));
    let longest_us = if waited < Duration::from_millis(50) {
        400
    } else {
        1_500
    };
    Duration::from_micros(50 + spread * longest_us / 65_536)
}

/// The process and the program's name, without the arguments: they may hold memory.
fn holder_text(process: u32) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = std::path::Path::new(&program)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut text = format!("{HOLDER_PREFIX}{process} ({program})");
    while text.len() > HOLDER_BYTES {
        text.pop();
    }
    text
}

//! `sync`: pulls and pushes until the remote and the store have the same.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - SYN-1: a push that lost a race is repeated behind a pull, at most [`ROUNDS_MAX`] times. Each round of all machines lets
//!   one of them win, and random pauses spread the others.
//! - SYN-2: [`Remote::ack_remote`] returns a result only if the remote has what the call wrote.

use std::time::Duration;

use super::{Fetched, Pulled, Pushed, Remote};
use crate::disk::random_bytes;
use crate::engine::{Memory, Merged, Writer};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, Result};
use crate::log::closed::MANIFEST_FILE;
use crate::threads::sleep;

/// How often a call pulls and pushes.
const ROUNDS_MAX: u32 = 16;
/// The longest pause behind the first lost race. It doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause of all.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// A pause looks this often whether the host stops the work.
const SLICE: Duration = Duration::from_millis(100);

/// The result of a sync.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Synced {
    /// What was fetched and merged.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub pulled: Pulled,
    /// What was pushed.
    pub pushed: Pushed,
    /// How often another machine pushed first.
    pub lost: u32,
}

impl Synced {
    /// Returns whether the store or the remote changed.
    pub fn changed(&self) -> bool {
        let Pulled { merged, fetched } = &self.pulled;
        merged.committed.changed || fetched.commits > 0 || self.pushed.bytes > 0
    }
}

impl Remote {
    /// Pulls, then pushes. If another machine pushed meanwhile, does both again. An empty remote gets the first push.
    /// Conflicts are left open, as [`Self::pull`] leaves them, so they stop no sync.
    ///
    /// # Errors
    /// The errors of [`Self::pull`] and [`Self::push`]; `Conflict` (code `remote_ahead`) if other machines pushed first in
    /// every round (SYN-1).
    ///
    /// # Durability
    /// When the call returns, the remote has all that the store had at the begin of the call.
    pub fn sync(&self, memory: &Memory, writer: &Writer) -> Result<Synced> {
        let mut pulled = self.pull_if_any(memory, writer)?;
        let mut lost = 0;
        loop {
            match self.push_signed(memory, writer, true) {
                // INVARIANT SYN-1
                Err(error) if error.code() == ErrorCode::RemoteAhead && lost + 1 < ROUNDS_MAX => {
                    self.pause(memory, lost)?;
                    lost += 1;
                    pulled.add(self.pull(memory, writer)?);
                }
                pushed => {
                    return Ok(Synced {
                        pulled,
                        pushed: pushed?,
                        lost,
                    });
                }
            }
        }
    }

    /// Calls `write`, then pushes, or syncs if another machine pushed meanwhile. So a write is acknowledged only when the
    /// remote has it, too.
    ///
    /// ```
    /// use treering::remote::Remote;
    /// use treering::{Id, Kind, Memory, NewObject, Origin, Writer};
    ///
    /// # let folder = std::env::temp_dir().join(format!("treering-ack-{}", std::process::id()));
    /// # drop(std::fs::remove_dir_all(&folder));
    /// let url = format!("file://{}", folder.join("shared").display());
    /// let (memory, ann) = (Memory::create(folder.join("laptop"))?, Writer::person("ann"));
    /// let remote = Remote::create("origin", &url, Origin::DirectUser)?;
    /// let note = NewObject::new(Id::new("plan")?, Kind::new("note")?);
    /// remote.ack_remote(&memory, &ann, |memory| memory.put(note, &ann))?;
    /// # drop(memory);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `write`: then nothing is sent. Code `unsigned_remote` if this store demands signatures and signs
    /// nothing: then nothing is written. Code `not_pushed` if the sync failed, with its error as the source and the
    /// kind of that error, or `Io` if the place is missing: then this store keeps what was written, and the next sync sends it.
    pub fn ack_remote<T>(
        &self,
        memory: &Memory,
        writer: &Writer,
        write: impl FnOnce(&Memory) -> Result<T>,
    ) -> Result<T> {
        // A fork does not travel, so the remote would never have the write.
        memory.inner.check_main()?;
        #[cfg(feature = "signed")]
        self.check_signs()?;
        let written = write(memory)?;
        let sent = match self.push(memory, writer) {
            // Most often nobody else pushed, so a pull before would only cost a request.
            Err(error) if error.code() == ErrorCode::RemoteAhead => self.sync(memory, writer).map(drop),
            sent => sent.map(drop),
        };
        // INVARIANT SYN-2
        sent.map_err(not_pushed)?;
        Ok(written)
    }

    /// Pulls. A remote that is empty, and always was, has nothing to pull.
    fn pull_if_any(&self, memory: &Memory, writer: &Writer) -> Result<Pulled> {
        match self.pull(memory, writer) {
            Err(error) if is_not_begun(&error) && !self.is_known(memory)? => {
                let merged = Merged::nothing(memory)?;
                Ok(Pulled {
                    fetched: Fetched {
                        requests: 1,
                        ..Fetched::nothing(self.name(), merged.base)
                    },
                    merged,
                })
            }
            pulled => pulled,
        }
    }

    /// Waits a random time, which grows with the number of lost races.
    fn pause(&self, memory: &Memory, lost: u32) -> Result<()> {
        let longest = PAUSE.saturating_mul(1 << lost.min(16)).min(PAUSE_MAX);
        let [low, high]: [u8; 2] = random_bytes()?;
        let mut left = longest.mul_f64(f64::from(u16::from_le_bytes([low, high])) / f64::from(u16::MAX));
        #[cfg(any(test, feature = "testing"))]
        if !self.is_patient {
            return Ok(());
        }
        while !left.is_zero() {
            memory.inner.settings().check_stop()?;
            let slice = left.min(SLICE);
            sleep(slice);
            left -= slice;
        }
        Ok(())
    }
}

impl Pulled {
    /// Adds a later pull of the same call.
    fn add(&mut self, later: Self) {
        let (merged, fetched) = (later.merged, later.fetched);
        let kept = std::mem::take(&mut self.fetched.kept);
        self.fetched = Fetched {
            commits: self.fetched.commits + fetched.commits,
            bytes: self.fetched.bytes + fetched.bytes,
            requests: self.fetched.requests + fetched.requests,
            erased: self.fetched.erased + fetched.erased,
            not_erased: self.fetched.not_erased + fetched.not_erased,
            ..fetched
        };
        self.fetched.keep(kept);
        let known = &mut self.merged;
        known.committed.commit = merged.committed.commit;
        known.committed.changed |= merged.committed.changed;
        known.counts.added += merged.counts.added;
        known.counts.changed += merged.counts.changed;
        known.counts.removed += merged.counts.removed;
        known
            .conflicts
            .retain(|open| merged.conflicts.iter().all(|later| later.id != open.id));
        known.conflicts.extend(merged.conflicts);
        known.conflicts.sort_by(|one, other| one.id.cmp(&other.id));
        known.changes.extend(merged.changes);
    }
}

/// Makes the error for a write that only this store has.
#[doc(hidden)]
pub fn not_pushed(error: Error) -> Error {
    let text = format!(
        "the change is kept here, but the remote does not have it: {}",
        error.message()
    );
    let kind = match error.kind() {
        // A missing folder is a disk that is not mounted.
        ErrorKind::NotFound => ErrorKind::Io,
        kind => kind,
    };
    Error::new(kind, text)
        .with_code(ErrorCode::NotPushed)
        .with_hint("do not repeat the change: the next sync sends it")
        .with_source(error)
}

/// Returns whether a place has no remote yet. A first push that did not end leaves a format and segments, and no manifest.
fn is_not_begun(error: &Error) -> bool {
    let lacks_manifest = |damage: &Damage| damage.cause == Cause::Missing && damage.file == MANIFEST_FILE;
    error.kind() == ErrorKind::NotFound && error.code() == ErrorCode::NotARemote
        || error.damage().is_some_and(lacks_manifest)
}

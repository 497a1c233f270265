//! The lines that a call may name: that of the server, and the forks that the session of the caller made.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - SRV-6: the host chooses the line of a server. A call reads, merges and goes back to no other line, except for forks
//!   that its session made with this server. An answer does not tell another fork from one that does not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Service;
use treering::inspect::engine::LiveFork;
use treering::inspect::ingest::moment;
use treering::{Error, ErrorCode, ErrorKind, Memory, Result, Revision, Time};

/// The number of forks of a store from which on a call makes no more.
const FORKS_MAX: usize = 1_000;

/// The forks that the sessions of a server made, by name: the time at which each was made, and the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct MadeForks(Arc<Mutex<BTreeMap<String, (Time, String)>>>);

impl MadeForks {
    fn has(&self, session: &str, fork: &LiveFork) -> bool {
        let made = self.0.lock();
        // Another fork of the same name was made at another time.
        made.get(&fork.name)
            .is_some_and(|(time, by)| *time == fork.created && by == session)
    }
}

impl Service {
    /// Makes a fork, and notes that the session of the caller made it.
    ///
    /// # Errors
    /// `Denied` (code `over_limit`) if the store has no room for one more; the errors of `make`.
    pub(super) fn make_fork(&self, make: impl FnOnce() -> Result<Memory>) -> Result<Memory> {
        // One call at a time, so that none passes the limit, and none forgets what another one notes.
        let mut made = self.caller().forks.0.lock();
        if self.memory().live_forks().len() >= FORKS_MAX {
            let text = format!("the store already has {FORKS_MAX} forks");
            return Err(Error::denied(ErrorCode::OverLimit, text)
                .with_hint("a person drops those that are merged: treering fork --drop NAME"));
        }
        let fork = make()?;
        let mut known = std::mem::take(&mut *made);
        made.extend(self.memory().live_forks().into_iter().filter_map(|one| {
            let known = known.remove(&one.name).filter(|(time, _)| *time == one.created);
            let is_new = fork.fork_name() == Some(&one.name);
            let by = known.or_else(|| is_new.then(|| (one.created, self.session().to_owned())))?;
            Some((one.name, by))
        }));
        Ok(fork)
    }

    /// Checks that a call may name a line (SRV-6). It may name `main` in a merge, because each fork comes from there.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if it may not.
    pub(super) fn check_line(&self, name: &str) -> Result<()> {
        let is_own = |fork: &LiveFork| fork.name == name && self.caller().forks.has(self.session(), fork);
        if self.memory().fork_name() == Some(name) || self.memory().live_forks().iter().any(is_own) {
            return Ok(());
        }
        // The log names the session of a fork, but a client over HTTP may choose the name of its session.
        let text = format!("this server knows no fork '{name}' that this session made since it started");
        Err(Error::not_found(text)
            .with_code(ErrorCode::NoFork)
            .with_hint("name a fork that memory_fork made since then; a person merges an earlier one with: treering merge NAME"))
    }

    /// Returns the revision that a call names (SRV-6).
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a revision; `NotFound` if it names a line or snapshot that the call may not read,
    /// or a snapshot that does not exist.
    pub(super) fn revision(&self, text: &str) -> Result<Revision> {
        self.head()?;
        let (memory, lane) = (self.memory(), self.session());
        let revision = moment::revision(text, memory, lane)?;
        match &revision {
            Revision::Fork(name) => self.check_line(name)?,
            // The names of snapshots are those of the whole store, and a digest is one of this line.
            Revision::Name(name) => {
                let named = memory.resolve(&revision, lane)?.digest;
                if let Err(error) = memory.resolve(&named.into(), lane) {
                    return Err(match error.kind() {
                        ErrorKind::NotFound => Error::not_found(format!("no snapshot is named '{name}'"))
                            .with_code(ErrorCode::NoRevision)
                            .with_hint("memory_snapshot lists the snapshots"),
                        _ => error,
                    });
                }
            }
            _ => {}
        }
        Ok(revision)
    }
}

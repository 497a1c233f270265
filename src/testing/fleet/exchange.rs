//! What a machine exchanges with the remote: pushes, pulls and collections.
//!
//! # Layer
//! For tests.

use super::{Schedule, said, writer};
use crate::error::{Error, ErrorCode, ErrorKind};

impl Schedule {
    /// Collects the garbage of the remote.
    pub(super) fn collect(&mut self, at: usize, way: usize) -> Result<bool, String> {
        if self.has_rivals && self.random.one_in(3) && self.machines.len() > 1 {
            self.set_rival(at, way);
        }
        match self.remote(at, way).collect_idle(&self.machines[at].memory, 0) {
            Ok(_) => {
                self.counts.collections += 1;
                self.tell(&format!(" collect {way}"));
                Ok(true)
            }
            Err(error) if error.code() == ErrorCode::RemoteAhead => Ok(false),
            Err(error) => self.failed(error),
        }
    }

    /// Pushes. Returns whether the remote acknowledged it.
    pub(super) fn push(&mut self, at: usize, way: usize) -> Result<bool, String> {
        if self.has_rivals && self.random.one_in(3) && self.machines.len() > 1 {
            self.set_rival(at, way);
        }
        let machine = &self.machines[at];
        match self
            .remote(at, way)
            .push(&machine.memory, &writer(machine.number))
        {
            Ok(pushed) => {
                self.counts.pushes += u64::from(pushed.commits > 0);
                self.tell(&format!(" push {way}: {}", pushed.commits));
                Ok(true)
            }
            Err(error) if error.code() == ErrorCode::RemoteAhead => {
                self.counts.behind += 1;
                self.tell(&format!(" push {way}: behind"));
                Ok(false)
            }
            Err(error) => self.failed(error),
        }
    }

    /// Lets another machine pull and push between the segment and the swap of the next push.
    fn set_rival(&mut self, at: usize, way: usize) {
        let remote = self.machines[at].ways[way].remote;
        let count = self.machines.len();
        let mut others = (1..count).map(|next| (at + next) % count);
        let found = others.find_map(|other| Some((other, self.way_to(other, remote)?)));
        let Some((other, way)) = found else { return };
        let (memory, writer, rival) = (
            self.machines[other].memory.clone(),
            writer(other),
            self.remote(other, way),
        );
        self.tell(&format!(" with m{other} between,"));
        self.services[remote].bucket.before_swap(move || {
            // The checks at the end see what went wrong here.
            drop(rival.pull(&memory, &writer));
            drop(rival.push(&memory, &writer));
        });
    }

    /// Returns the way of a machine to a remote, if it knows the remote.
    pub(super) fn way_to(&self, at: usize, remote: usize) -> Option<usize> {
        self.machines[at].ways.iter().position(|way| way.remote == remote)
    }

    pub(super) fn pull(&mut self, at: usize, way: usize) -> Result<bool, String> {
        let machine = &self.machines[at];
        match self
            .remote(at, way)
            .pull(&machine.memory, &writer(machine.number))
        {
            Ok(pulled) => {
                self.counts.merges += u64::from(pulled.merged.committed.changed);
                self.counts.conflicts += pulled.merged.conflicts.len() as u64;
                let (got, counts) = (pulled.fetched.commits, pulled.merged.counts);
                self.tell(&format!(" pull {way}: {got}, {counts:?}"));
                Ok(true)
            }
            Err(error) => self.failed(error),
        }
    }

    fn failed(&mut self, error: Error) -> Result<bool, String> {
        if error.kind() != ErrorKind::Io {
            return Err(said(error));
        }
        self.counts.failures += 1;
        self.tell(" failed");
        Ok(false)
    }
}

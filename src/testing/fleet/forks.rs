//! Forks of a machine: made, written, merged and dropped; and backups, which have them.
//!
//! # Layer
//! For tests.

use std::sync::Arc;

use super::ledger::{Effect, Wrote};
use super::{Schedule, object, said, writer};
use crate::engine::Memory;
use crate::error::{ErrorCode, ErrorKind};
use crate::object::Origin;
use crate::remote::back_up_on;
use crate::testing::sim_bucket::SimBucket;

/// A fork of a machine.
pub(super) struct OpenFork {
    pub(super) name: String,
    pub(super) memory: Memory,
    pub(super) cap: Origin,
    /// What was done on the fork since it was merged.
    pub(super) effects: Vec<Effect>,
}

impl Schedule {
    pub(super) fn fork_step(&mut self, at: usize, kind: usize) -> Result<(), String> {
        match (kind, self.machines[at].fork.is_some()) {
            (_, false) => self.fork(at),
            (0 | 1, true) => self.write_fork(at),
            (2, true) => self.merge_fork(at),
            (_, true) => self.drop_fork(at),
        }
    }

    fn fork(&mut self, at: usize) -> Result<(), String> {
        let cap = match self.random.below(4) {
            0 => *self.random.pick(&[Origin::Host, Origin::Model, Origin::Import]),
            _ => Origin::DirectUser,
        };
        let machine = &mut self.machines[at];
        machine.written += 1;
        let name = format!("f{}", machine.written);
        machine.memory.refresh().map_err(said)?;
        let made = machine
            .memory
            .fork(&name)
            .trust_cap(cap)
            .by(&writer(machine.number));
        machine.fork = Some(OpenFork {
            memory: made.map_err(said)?,
            name,
            cap,
            effects: Vec::new(),
        });
        self.counts.forks += 1;
        self.tell(&format!(" fork as {cap},"));
        self.write_fork(at)
    }

    /// Writes an object of the own or a shared one through the fork.
    fn write_fork(&mut self, at: usize) -> Result<(), String> {
        if self.random.one_in(2) {
            return self.put_shared(at, true);
        }
        let machine = &mut self.machines[at];
        machine.written += 1;
        let id = format!("m{}/{}", machine.number, machine.written);
        let fork = machine.fork.as_ref();
        let class = fork.map_or(Origin::DirectUser, |fork| fork.cap);
        let wrote = Wrote { by: at, class };
        self.change(at, true, &mut |memory, writer| {
            memory.put(object(&id, "text"), writer)?;
            Ok(Effect {
                added: vec![(id.clone(), wrote)],
                ..Effect::default()
            })
        })
        .map(drop)
    }

    fn merge_fork(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        let Some(fork) = &mut machine.fork else {
            return Ok(());
        };
        let writer = writer(machine.number);
        if self.random.one_in(3) {
            match fork.memory.merge("main").by(&writer) {
                // What the fork may write is less trusted than what the main line changed.
                Err(error) if error.code() == ErrorCode::LessTrusted && fork.cap != Origin::DirectUser => {}
                merged => self.counts.conflicts += merged.map_err(said)?.conflicts.len() as u64,
            }
        }
        let merged = machine.memory.merge(&fork.name).by(&writer);
        self.counts.conflicts += merged.map_err(said)?.conflicts.len() as u64;
        for effect in fork.effects.drain(..) {
            self.ledger.note(effect);
        }
        self.counts.fork_merges += 1;
        self.tell(" merge the fork");
        Ok(())
    }

    fn drop_fork(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        let Some(fork) = machine.fork.take() else {
            return Ok(());
        };
        let dropped = machine
            .memory
            .drop_fork(&fork.name, true, &writer(machine.number));
        dropped.map_err(said)?;
        self.counts.fork_drops += 1;
        self.tell(" drop the fork");
        Ok(())
    }

    /// Backs a machine up, to a place of its own.
    pub(super) fn back_up(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        let place = match &machine.backup {
            Some(place) => place.clone(),
            None => SimBucket::new(self.random.next_u64(), 2 + self.random.below(9)),
        };
        machine.backup = Some(place.clone());
        match back_up_on(&machine.memory, Arc::new(place)) {
            Ok(_) => {
                self.counts.backups += 1;
                self.tell(" backup");
            }
            Err(error) if error.kind() == ErrorKind::Io => self.counts.failures += 1,
            Err(error) => return Err(said(error)),
        }
        Ok(())
    }
}

//! The steps of a machine.
//!
//! # Layer
//! For tests.

use std::sync::Arc;
use std::time::Duration;

use super::{Schedule, id_of, object, said, writer};
use crate::engine::{Erasing, Memory, Retention, Writer};
use crate::error::ErrorCode;
use crate::object::Origin;

impl Schedule {
    pub(super) fn step(&mut self, at: usize) -> Result<(), String> {
        match self.random.below(self.plan.kinds) {
            0..=4 => self.put_own(at),
            5 | 6 => self.put_number(at),
            7 => self.undo(at),
            8 => self.crash(at),
            9..=12 => {
                let way = self.any_way(at);
                self.push(at, way).map(drop)
            }
            16 => self.keep_secret(at),
            17 => self.erase(at),
            18 => {
                let way = self.any_way(at);
                self.collect(at, way).map(drop)
            }
            19 => self.note(at),
            20 => self.thin(at),
            21..=27 | 33.. if !self.plan.has_shared => self.put_own(at),
            kind @ 21..=26 => self.shared_step(at, kind - 21),
            27 => self.edit_secret(at),
            kind @ 28..=31 if self.plan.has_forks => self.fork_step(at, kind - 28),
            32 if self.plan.has_backups => self.back_up(at),
            33.. => self.shared_step(at, 0),
            _ => {
                let way = self.any_way(at);
                self.pull(at, way).map(drop)
            }
        }
    }

    /// Returns a way of a machine.
    fn any_way(&mut self, at: usize) -> usize {
        match self.machines[at].ways.len() {
            1 => 0,
            count => self.random.below(count),
        }
    }

    /// Puts an object that nobody else writes.
    fn put_own(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        machine.written += 1;
        let id = format!("m{}/{}", machine.number, machine.written);
        let mut new = object(&id, "text");
        if self.plan.has_shared && self.random.one_in(3) {
            let shared = id_of(self.any_shared());
            let is_there = self.machines[at].memory.view().contains(&shared);
            new.parent = is_there.map_err(said)?.then_some(shared);
        }
        let machine = &self.machines[at];
        machine.memory.put(new, &writer(machine.number)).map_err(said)?;
        self.tell(&format!(" put {id}"));
        self.ledger.want(&id, at, Origin::DirectUser);
        Ok(())
    }

    fn put_number(&mut self, at: usize) -> Result<(), String> {
        let (id, content) = (
            format!("shared/{}", self.random.below(2)),
            self.random.below(9).to_string(),
        );
        let machine = &self.machines[at];
        // A rival from before a crash is another process of its machine. It may have pulled another version.
        machine.memory.refresh().map_err(said)?;
        let put = machine.memory.put(object(&id, &content), &writer(machine.number));
        put.map_err(said)?;
        self.tell(&format!(" put {id}: {content}"));
        Ok(())
    }

    fn undo(&mut self, at: usize) -> Result<(), String> {
        // Takes back what is not unique: a unique id must not be lost, also not by intent.
        let machine = &self.machines[at];
        let lane = Writer::person("other").session(format!("undo-{}", machine.number));
        machine.memory.put(object("undone", "x"), &lane).map_err(said)?;
        machine.memory.undo(&lane).map_err(said)?;
        self.tell(" undo");
        Ok(())
    }

    /// Puts a secret that somebody may erase.
    fn keep_secret(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        machine.written += 1;
        let id = format!("secret/{}/{}", machine.number, machine.written);
        let text = format!("swordfish-{}-{}-", machine.number, machine.written);
        let content = text.repeat(1 + self.random.below(2) * 400);
        machine
            .memory
            .put(object(&id, &content), &writer(machine.number))
            .map_err(said)?;
        self.tell(&format!(" secret {id}: {} bytes", content.len()));
        self.ledger.secrets.insert(id, vec![text]);
        Ok(())
    }

    /// Writes a secret of any machine anew, also one that was erased, or writes it on a fork.
    ///
    /// In a schedule with caps, nobody does: a machine whose cap of a remote is below `direct_user` merges two versions to a new
    /// one, which keeps the text of a version that was erased elsewhere meanwhile (docs/limits.md, "Erasure").
    fn edit_secret(&mut self, at: usize) -> Result<(), String> {
        let known = self.ledger.secrets.keys().chain(self.ledger.gone()).cloned();
        let ids: Vec<String> = known.collect();
        if ids.is_empty() || self.plan.has_caps() {
            return self.keep_secret(at);
        }
        let id = self.random.pick(&ids).clone();
        let machine = &mut self.machines[at];
        machine.written += 1;
        let text = format!("swordfish-{}-{}-", machine.number, machine.written);
        let fork = machine.fork.as_ref().filter(|_| self.random.one_in(3));
        // A fork with a cap may not replace what is more trusted.
        let fork = fork.filter(|fork| fork.cap == Origin::DirectUser);
        let line = fork.map_or(&machine.memory, |fork| &fork.memory);
        line.refresh().map_err(said)?;
        let put = line.put(object(&id, &text), &writer(machine.number));
        put.map_err(said)?;
        let place = fork.map_or("", |_| " on the fork");
        self.tell(&format!(" edit {id}: {text}{place}"));
        self.ledger.secrets.entry(id).or_default().push(text);
        self.counts.secret_edits += 1;
        Ok(())
    }

    /// Erases a secret that the machine has.
    fn erase(&mut self, at: usize) -> Result<(), String> {
        let machine = &self.machines[at];
        let view = machine.memory.view();
        let ids: Vec<String> = self.ledger.secrets.keys().cloned().collect();
        for id in ids {
            if !view.contains(&id_of(&id)).map_err(said)? {
                continue;
            }
            let erasing = Erasing {
                targets: vec![id.clone()],
                ..Erasing::default()
            };
            match machine.memory.erase(&erasing, &writer(machine.number)) {
                // The machine fetched the erasure of another one.
                Err(error) if error.code() == ErrorCode::Erased => continue,
                done => drop(done.map_err(said)?),
            }
            self.counts.erasures += 1;
            self.tell(&format!(" erase {id}"));
            self.ledger.note_erased(&id);
            break;
        }
        Ok(())
    }

    /// Takes a snapshot.
    fn note(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        machine.written += 1;
        let name = format!("s{}", machine.written);
        let taken = machine.memory.snapshot(Some(&name), &writer(machine.number));
        let commit = taken.map_err(said)?.commit;
        self.tell(&format!(" snapshot {name}"));
        self.snapshots.push((at, name, commit));
        Ok(())
    }

    /// Thins the history of a machine that knows its remotes. The others may still begin at what went.
    fn thin(&mut self, at: usize) -> Result<(), String> {
        for way in 0..self.machines[at].ways.len() {
            if !self.pull(at, way)? {
                return Ok(());
            }
        }
        let retention = Retention {
            newest: 1 + self.random.below(3) as u64,
            all: Duration::MAX,
            ..Retention::nothing()
        };
        self.machines[at].memory.gc(&retention, None).map_err(said)?;
        self.counts.thinned += 1;
        self.tell(&format!(" thin to {}", retention.newest));
        Ok(())
    }

    /// Ends the process of a machine, and starts it again.
    fn crash(&mut self, at: usize) -> Result<(), String> {
        let disk = Arc::clone(&self.machines[at].disk);
        let memory = Memory::on_disk(disk, self.options(), false, None).map_err(said)?;
        let machine = &mut self.machines[at];
        if let Some(fork) = &mut machine.fork {
            fork.memory = memory.open_fork(&fork.name).map_err(said)?;
        }
        machine.memory = memory;
        self.tell(" crash");
        Ok(())
    }
}

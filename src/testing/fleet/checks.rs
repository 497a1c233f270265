//! The rounds behind the faults, and the checks.
//!
//! # Layer
//! For tests.

use std::sync::Arc;

use super::ledger::{Text, Wrote};
use super::shared::texts_of;
use super::{Machine, Schedule, id_of, object, said, writer};
use crate::digest::CommitDigest;
use crate::disk::{Disk, MemDisk, read_whole};
use crate::engine::{View, verified};
use crate::error::ErrorCode;
use crate::object::{Object, Origin};
use crate::remote::bucket::Bucket;
use crate::remote::clone_on;
use crate::testing::sim_bucket::SimBucket;

/// The machines rest after so many rounds of pulls and pushes with one remote. With two, what one machine sends comes to another
/// one in up to two rounds, and so does the answer.
const ROUNDS_MAX: usize = 4;

impl Schedule {
    /// Ends the faults, lets the machines come to rest, and checks what they have.
    pub(super) fn end(&mut self) -> Result<(), String> {
        let backups = self.machines.iter().filter_map(|machine| machine.backup.as_ref());
        let places = self.services.iter().map(|service| &service.bucket);
        places.chain(backups).for_each(SimBucket::heal);
        self.has_rivals = false;
        self.settle()?;
        self.sweep()?;
        self.back_up_all()?;
        self.check_erased()?;
        self.check_snapshots()?;
        self.check_services()?;
        for at in 0..self.machines.len() {
            self.check_machine(at)
                .map_err(|wrong| format!("machine {at} {wrong}"))?;
        }
        Ok(())
    }

    /// Returns the newest commit of each machine, and how often somebody wrote to a service.
    fn state(&self) -> (Vec<CommitDigest>, u64) {
        let machines = self.machines.iter();
        let heads = machines.map(|machine| machine.memory.view().commit().digest);
        let writes = self.services.iter().map(|service| service.bucket.writes());
        (heads.collect(), writes.sum())
    }

    /// Lets the machines exchange their commits until a round makes no commit and writes nothing.
    fn settle(&mut self) -> Result<(), String> {
        let stores = self.machines.iter().map(|machine| machine.memory.inner.store());
        let _open: Vec<_> = stores.map(|store| store.hold_lines()).collect();
        for round in 0..=ROUNDS_MAX * self.services.len() {
            let before = self.state();
            for at in 0..self.machines.len() {
                self.told.push(format!("round {round}: m{at}"));
                for way in 0..self.machines[at].ways.len() {
                    if !(self.pull(at, way)? && self.push(at, way)?) {
                        return Err(format!("machine {at} failed after the faults"));
                    }
                    if round == 0 && self.random.one_in(3) {
                        self.decide(at)?;
                    }
                }
            }
            if self.state() == before {
                return Ok(());
            }
            self.counts.rounds += 1;
        }
        Err("the machines do not come to rest".to_owned())
    }

    /// Pushes once more: behind an erasure, a push deletes what machines that lost have left.
    fn sweep(&mut self) -> Result<(), String> {
        let machine = &self.machines[0];
        let put = machine.memory.put(object("last", "x"), &writer(machine.number));
        put.map_err(said)?;
        self.ledger.want("last", 0, Origin::DirectUser);
        self.settle()?;
        if self.services.len() == 1 {
            return Ok(());
        }
        // With two remotes, an older version of an erased id that comes from the second one can stay in the first one, until
        // `remote gc` (docs/limits.md, "Erasure").
        for remote in 0..self.services.len() {
            let mut trusting = (0..self.machines.len()).filter(|at| self.plan.trusts(*at));
            let found = trusting.find_map(|at| Some((at, self.way_to(at, remote)?)));
            if let Some((at, way)) = found {
                self.collect(at, way)?;
            }
        }
        self.settle()
    }

    /// Checks that no erased text is in a service or on a machine that believes the erasures of its remotes.
    fn check_erased(&self) -> Result<(), String> {
        if self.ledger.erased.is_empty() {
            return Ok(());
        }
        let check = |place: &str, bytes: &[u8]| {
            let has = |(_, text): &&(String, String)| {
                let (text, first) = (text.as_bytes(), text.as_bytes()[0]);
                let is_text = |window: &[u8]| window[0] == first && window == text;
                bytes.windows(text.len()).any(is_text)
            };
            match self.ledger.erased.iter().find(has) {
                Some((id, text)) => Err(format!("{place} has the erased {text} of {id}")),
                None => Ok(()),
            }
        };
        for (number, service) in self.services.iter().enumerate() {
            for (name, bytes) in service.bucket.objects() {
                check(&format!("{name} of service {number}"), &bytes)?;
            }
        }
        for machine in self.machines.iter().filter(|machine| believes(machine)) {
            for (name, bytes) in machine.backup.iter().flat_map(SimBucket::objects) {
                check(
                    &format!("{name} of the backup of machine {}", machine.number),
                    &bytes,
                )?;
            }
            for name in machine.disk.list("log").map_err(|error| error.to_string())? {
                let file = read_whole(&*machine.disk, &format!("log/{name}"), usize::MAX);
                let bytes = file.map_err(|error| error.to_string())?.unwrap_or_default();
                check(&format!("machine {}", machine.number), &bytes)?;
            }
        }
        Ok(())
    }

    fn check_snapshots(&self) -> Result<(), String> {
        for (at, name, commit) in &self.snapshots {
            let found = self.machines[*at].memory.at(name.as_str()).map_err(said)?;
            if found.commit().digest != *commit {
                return Err(format!("the snapshot {name} of machine {at} was replaced"));
            }
        }
        Ok(())
    }

    /// Checks that each service is whole, and that a new clone and the machines that trust all their remotes have one root.
    fn check_services(&self) -> Result<(), String> {
        for number in 0..self.services.len() {
            let remote = self.remote_named("origin", number, Origin::DirectUser);
            let report = remote.verify(&self.options()).map_err(said)?;
            if !report.ok {
                return Err(format!("service {number} is damaged: {:?}", report.damage));
            }
            let (disk, memory) = self
                .clone(number, Origin::DirectUser)?
                .ok_or("the service failed after the faults")?;
            let root = memory.view().root();
            for at in (0..self.machines.len()).filter(|at| self.plan.trusts(*at)) {
                if self.way_to(at, number).is_some() && self.machines[at].memory.view().root() != root {
                    return Err(format!("machine {at} has another root than service {number}"));
                }
            }
            if let Some(found) = verified(&disk, &self.options()).map_err(said)?.damage.first() {
                return Err(format!(
                    "the clone of service {number} is damaged: {}",
                    found.damage
                ));
            }
        }
        Ok(())
    }

    fn check_machine(&self, at: usize) -> Result<(), String> {
        let machine = &self.machines[at];
        let view = machine.memory.view();
        if believes(machine) {
            for id in self.ledger.gone() {
                // A push that erases what a pull brought in behind the erasure (PUS-4) leaves a placeholder.
                if found(&view, id)?.is_some() {
                    return Err(format!("still has {id}"));
                }
            }
        }
        for (id, wrote) in &self.ledger.wanted {
            let object = found(&view, id)?.ok_or_else(|| format!("lost {id}"))?;
            // Each machine trusts its own objects fully, and those without a cap trust everything.
            let is_own = wrote.by == at || self.plan.trusts(at);
            if is_own && object.origin() != wrote.class {
                return Err(format!("has another class of {id}: {}", object.origin()));
            }
            self.check_class(at, &object, *wrote)?;
        }
        for text in &self.ledger.texts {
            self.check_text(at, &view, text)?;
        }
        let report = verified(&machine.disk, &self.options()).map_err(said)?;
        match report.damage.first() {
            Some(found) => Err(format!("is damaged: {}", found.damage)),
            None => Ok(()),
        }
    }

    /// Checks that what another machine wrote is not more trusted than the cap of the way on which it came.
    fn check_class(&self, at: usize, object: &Object, wrote: Wrote) -> Result<(), String> {
        // A machine with a cap knows one remote, and whoever brings something from another remote trusts both.
        let ways = self.machines[at].ways.iter().map(|way| way.cap);
        let cap = ways.reduce(Origin::least).filter(|_| wrote.by != at);
        let most = cap.map_or(wrote.class, |cap| Origin::least(cap, wrote.class));
        if object.origin().is_above(most) {
            let class = object.origin();
            return Err(format!("trusts {} as {class}, and not as {most}", object.id()));
        }
        Ok(())
    }

    /// Checks that a text is shown or in an open conflict, unless somebody replaced it. Another machine may decide about the text
    /// of one whose cap refused a version, so only the writer must have such a text. Removals may win over what a fork
    /// with a cap wrote.
    fn check_text(&self, at: usize, view: &View, text: &Text) -> Result<(), String> {
        let object = found(view, &text.id)?;
        let is_shown = |object: &&Object| object.content() == Some(text.text.as_str());
        let object = object.as_ref().filter(is_shown);
        if let Some(object) = object {
            self.check_class(at, object, text.wrote)?;
        }
        let must_have = text.wrote.by == at || self.plan.trusts(text.wrote.by) && self.plan.trusts(at);
        // INVARIANT MSD-1: a more trusted removal wins over a less trusted text.
        let may_be_removed = Origin::DirectUser.is_above(text.wrote.class);
        let is_settled = text.is_replaced || may_be_removed || self.ledger.restored.contains(&text.id);
        if object.is_some() || !must_have || is_settled {
            return Ok(());
        }
        let memory = &self.machines[at].memory;
        let conflicts = memory.conflicts().map_err(said)?;
        let sides = conflicts
            .iter()
            .filter(|open| open.id.as_str() == text.id)
            .flat_map(|open| &open.sides);
        let texts = texts_of(memory, sides.filter_map(|side| side.version)).map_err(said)?;
        if texts.contains(&text.text) {
            return Ok(());
        }
        Err(format!("lost '{}' of {}", text.text, text.id))
    }

    /// Backs up the machines that did so before, and checks that a restored backup has the root of its machine.
    fn back_up_all(&mut self) -> Result<(), String> {
        for at in 0..self.machines.len() {
            let Some(place) = self.machines[at].backup.clone() else {
                continue;
            };
            self.back_up(at)?;
            let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
            let place: Arc<dyn Bucket> = Arc::new(place);
            let restored = clone_on(place, &disk, Origin::DirectUser, &self.options()).map_err(said)?;
            if restored.view().root() != self.machines[at].memory.view().root() {
                return Err(format!("the backup of machine {at} has another root"));
            }
        }
        Ok(())
    }
}

/// Returns the object of an id; `None` if it is not there, or was erased.
fn found(view: &View, id: &str) -> Result<Option<Object>, String> {
    match view.get(&id_of(id)) {
        Err(error) if error.code() == ErrorCode::Erased => Ok(None),
        found => found.map_err(said),
    }
}

/// Returns whether a machine erases what others erased in each of its remotes.
fn believes(machine: &Machine) -> bool {
    machine.ways.iter().all(|way| way.believes_erasures())
}

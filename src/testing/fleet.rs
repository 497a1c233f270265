//! Machines that share a memory through a simulated service, in random schedules: puts, pushes, pulls, undos, erasures,
//! snapshots, collections, thinned histories and crashes, while answers are lost and requests are late.
//!
//! # Layer
//! For tests.
//!
//! # Checks
//! - Nothing that a call acknowledged is lost, on any machine.
//! - After the faults, all machines come to one root, and rest.
//! - Every listed segment is whole, and a new clone has the same root.
//! - What was erased is nowhere: not in the service, nor on any machine.
//! - No snapshot of a machine is replaced.
//! - No store is damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::digest::CommitDigest;
use crate::disk::{Disk, MemDisk, read_whole};
use crate::engine::{Erasing, Memory, Options, Retention, Writer, verified};
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::object::{Id, Kind, NewObject, Origin};
use crate::remote::bucket::{Bucket, Sealed};
use crate::remote::{Keys, Remote, clone_on};
use crate::testing::random::SplitMix64;
use crate::testing::sim_bucket::SimBucket;

/// What schedules did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// The number of steps.
    pub steps: u64,
    /// The number of pushes that sent a commit.
    pub pushes: u64,
    /// The number of pulls that merged.
    pub merges: u64,
    /// The number of calls that failed because of the service.
    pub failures: u64,
    /// The number of pushes that found commits of others.
    pub behind: u64,
    /// The number of erasures.
    pub erasures: u64,
    /// The number of collections of the remote.
    pub collections: u64,
    /// The number of histories that were thinned.
    pub thinned: u64,
}

/// One machine: its store on a disk of its own, and the unique ids that it wrote.
struct Machine {
    disk: Arc<dyn Disk>,
    memory: Memory,
    number: usize,
    written: usize,
}

/// A new clone, with its disk.
type Cloned = (Arc<dyn Disk>, Memory);

/// A schedule.
struct Schedule {
    service: SimBucket,
    random: SplitMix64,
    machines: Vec<Machine>,
    /// The ids that every machine must have in the end.
    wanted: BTreeSet<String>,
    /// The texts of secrets by id, and those that were erased.
    secrets: BTreeMap<String, String>,
    erased: BTreeMap<String, String>,
    /// The snapshots of each machine.
    snapshots: Vec<(usize, String, CommitDigest)>,
    counts: Counts,
    /// Whether other machines act within a push.
    has_rivals: bool,
    /// The keys, if the remote is encrypted.
    keys: Option<Keys>,
}

fn writer(number: usize) -> Writer {
    Writer::person(format!("m{number}"))
}

fn options() -> Options {
    Options::new().checkpoints(false)
}

fn object(id: &str, content: &str) -> NewObject {
    let (id, kind) = (
        Id::new(id).expect("the id is valid"),
        Kind::new("note").expect("the kind is valid"),
    );
    let mut object = NewObject::new(id, kind);
    object.content = Some(content.to_owned());
    object
}

/// Runs the schedule of a seed. `is_careless` lets the service ignore the conditions of writes.
///
/// # Errors
/// What went wrong, in words.
pub fn run(seed: u64, is_careless: bool) -> Result<Counts, String> {
    let mut random = SplitMix64::new(seed);
    let mut service = SimBucket::new(random.next_u64(), 2 + random.below(9));
    if is_careless {
        service = service.careless();
    }
    let mut schedule = Schedule {
        service,
        random,
        machines: Vec::new(),
        wanted: BTreeSet::new(),
        secrets: BTreeMap::new(),
        erased: BTreeMap::new(),
        snapshots: Vec::new(),
        counts: Counts::default(),
        has_rivals: true,
        keys: (seed % 4 == 3).then(Keys::generate).transpose().map_err(said)?,
    };
    schedule.begin()?;
    for _ in 0..12 + schedule.random.below(24) {
        let machine = schedule.random.below(schedule.machines.len());
        schedule.step(machine)?;
        schedule.counts.steps += 1;
    }
    schedule.service.heal();
    schedule.has_rivals = false;
    schedule.settle()?;
    schedule.sweep()?;
    schedule.check()?;
    Ok(schedule.counts)
}

impl Schedule {
    fn remote(&self) -> Remote {
        let bucket: Arc<dyn Bucket> = Arc::new(self.service.clone());
        let remote = Remote::on("origin", bucket, Origin::DirectUser).expect("the name is valid");
        let remote = remote.impatient();
        match &self.keys {
            Some(keys) => remote.with_keys(keys),
            None => remote,
        }
    }

    /// Makes the first machine, pushes, and clones the others.
    fn begin(&mut self) -> Result<(), String> {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let memory = Memory::on_disk(Arc::clone(&disk), options(), true, None).map_err(said)?;
        memory.put(object("first", "0"), &writer(0)).map_err(said)?;
        self.wanted.insert("first".to_owned());
        self.machines.push(Machine {
            disk,
            memory,
            number: 0,
            written: 0,
        });
        while !self.push(0)? {}
        for number in 1..2 + self.random.below(2) {
            let (disk, memory) = loop {
                if let Some(made) = self.clone()? {
                    break made;
                }
            };
            self.machines.push(Machine {
                disk,
                memory,
                number,
                written: 0,
            });
        }
        Ok(())
    }

    /// Returns a clone of the remote; `None` if the service failed.
    fn clone(&self) -> Result<Option<Cloned>, String> {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let mut bucket: Arc<dyn Bucket> = Arc::new(self.service.clone());
        if let Some(keys) = &self.keys {
            bucket = Arc::new(Sealed::new(bucket, keys.clone()));
        }
        match clone_on(bucket, &disk, Origin::DirectUser, &options()) {
            Ok(memory) => Ok(Some((disk, memory))),
            Err(error) if error.kind() == ErrorKind::Io => Ok(None),
            Err(error) => Err(said(error)),
        }
    }

    fn step(&mut self, at: usize) -> Result<(), String> {
        match self.random.below(21) {
            0..=4 => {
                let machine = &mut self.machines[at];
                machine.written += 1;
                let id = format!("m{}/{}", machine.number, machine.written);
                machine
                    .memory
                    .put(object(&id, "text"), &writer(machine.number))
                    .map_err(said)?;
                self.wanted.insert(id);
            }
            5 | 6 => {
                let (id, content) = (
                    format!("shared/{}", self.random.below(2)),
                    self.random.below(9).to_string(),
                );
                let machine = &self.machines[at];
                // A rival from before a crash is another process of its machine. It may have pulled another version.
                machine.memory.refresh().map_err(said)?;
                machine
                    .memory
                    .put(object(&id, &content), &writer(machine.number))
                    .map_err(said)?;
            }
            7 => {
                // Takes back what is not unique: a unique id must not be lost, also not by intent.
                let machine = &self.machines[at];
                let lane = Writer::person("other").session(format!("undo-{}", machine.number));
                machine.memory.put(object("undone", "x"), &lane).map_err(said)?;
                machine.memory.undo(&lane).map_err(said)?;
            }
            8 => self.crash(at)?,
            9..=12 => drop(self.push(at)?),
            16 => self.keep_secret(at)?,
            17 => self.erase(at)?,
            18 => drop(self.collect(at)?),
            19 => self.note(at)?,
            20 => self.thin(at)?,
            _ => drop(self.pull(at)?),
        }
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
        self.secrets.insert(id, text);
        Ok(())
    }

    /// Erases a secret that the machine has.
    fn erase(&mut self, at: usize) -> Result<(), String> {
        let machine = &self.machines[at];
        let view = machine.memory.view();
        for (id, text) in &self.secrets {
            if !view.contains(&Id::new(id).map_err(said)?).map_err(said)? {
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
            self.erased.insert(id.clone(), text.clone());
            break;
        }
        self.secrets.retain(|id, _| !self.erased.contains_key(id));
        Ok(())
    }

    /// Takes a snapshot.
    fn note(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        machine.written += 1;
        let name = format!("s{}", machine.written);
        let taken = machine.memory.snapshot(Some(&name), &writer(machine.number));
        let commit = taken.map_err(said)?.commit;
        self.snapshots.push((at, name, commit));
        Ok(())
    }

    /// Thins the history of a machine that knows the remote. The others may still begin at what went.
    fn thin(&mut self, at: usize) -> Result<(), String> {
        if !self.pull(at)? {
            return Ok(());
        }
        let retention = Retention {
            newest: 1 + self.random.below(3) as u64,
            all: Duration::MAX,
            ..Retention::nothing()
        };
        self.machines[at].memory.gc(&retention, None).map_err(said)?;
        self.counts.thinned += 1;
        Ok(())
    }

    /// Collects the garbage of the remote.
    fn collect(&mut self, at: usize) -> Result<bool, String> {
        if self.has_rivals && self.random.one_in(3) && self.machines.len() > 1 {
            self.set_rival(at);
        }
        match self.remote().collect_idle(&self.machines[at].memory, 0) {
            Ok(_) => {
                self.counts.collections += 1;
                Ok(true)
            }
            Err(error) if error.code() == ErrorCode::RemoteAhead => Ok(false),
            Err(error) => self.failed(error),
        }
    }

    /// Ends the process of a machine, and starts it again.
    fn crash(&mut self, at: usize) -> Result<(), String> {
        let machine = &mut self.machines[at];
        machine.memory = Memory::on_disk(Arc::clone(&machine.disk), options(), false, None).map_err(said)?;
        Ok(())
    }

    /// Pushes. Returns whether the remote acknowledged it.
    fn push(&mut self, at: usize) -> Result<bool, String> {
        if self.has_rivals && self.random.one_in(3) && self.machines.len() > 1 {
            self.set_rival(at);
        }
        let machine = &self.machines[at];
        match self.remote().push(&machine.memory, &writer(machine.number)) {
            Ok(pushed) => {
                self.counts.pushes += u64::from(pushed.commits > 0);
                Ok(true)
            }
            Err(error) if error.code() == ErrorCode::RemoteAhead => {
                self.counts.behind += 1;
                Ok(false)
            }
            Err(error) => self.failed(error),
        }
    }

    /// Lets another machine pull and push between the segment and the swap of the next push.
    fn set_rival(&mut self, at: usize) {
        let other = &self.machines[(at + 1) % self.machines.len()];
        let (memory, writer, remote) = (other.memory.clone(), writer(other.number), self.remote());
        self.service.before_swap(move || {
            // The checks at the end see what went wrong here.
            drop(remote.pull(&memory, &writer));
            drop(remote.push(&memory, &writer));
        });
    }

    fn pull(&mut self, at: usize) -> Result<bool, String> {
        let machine = &self.machines[at];
        match self.remote().pull(&machine.memory, &writer(machine.number)) {
            Ok(pulled) => {
                self.counts.merges += u64::from(pulled.merged.committed.changed);
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
        Ok(false)
    }

    /// Lets the machines exchange their commits until nobody has anything to send.
    fn settle(&mut self) -> Result<(), String> {
        let stores = self.machines.iter().map(|machine| machine.memory.inner.store());
        let _open: Vec<_> = stores.map(|store| store.hold_lines()).collect();
        for _ in 0..6 {
            let (pushes, merges) = (self.counts.pushes, self.counts.merges);
            for at in 0..self.machines.len() {
                if !(self.pull(at)? && self.push(at)?) {
                    return Err("a machine failed after the faults".to_owned());
                }
            }
            if (pushes, merges) == (self.counts.pushes, self.counts.merges) {
                return Ok(());
            }
        }
        Err("the machines do not come to rest".to_owned())
    }

    /// Pushes once more: behind an erasure, a push deletes what machines that lost have left.
    fn sweep(&mut self) -> Result<(), String> {
        let machine = &self.machines[0];
        machine
            .memory
            .put(object("last", "x"), &writer(machine.number))
            .map_err(said)?;
        self.wanted.insert("last".to_owned());
        self.settle()?;
        self.check_erased()
    }

    /// Checks that no erased text is in the service or on a machine.
    fn check_erased(&self) -> Result<(), String> {
        if self.erased.is_empty() {
            return Ok(());
        }
        let check = |place: &str, bytes: &[u8]| {
            let has = |(_, text): &(&String, &String)| {
                let (text, first) = (text.as_bytes(), text.as_bytes()[0]);
                let is_text = |window: &[u8]| window[0] == first && window == text;
                bytes.windows(text.len()).any(is_text)
            };
            match self.erased.iter().find(has) {
                Some((id, _)) => Err(format!("{place} has the erased {id}")),
                None => Ok(()),
            }
        };
        for (name, bytes) in self.service.objects() {
            check(&format!("{name} of the service"), &bytes)?;
        }
        for machine in &self.machines {
            for name in machine.disk.list("log").map_err(|error| error.to_string())? {
                let file = read_whole(&*machine.disk, &format!("log/{name}"), usize::MAX);
                let bytes = file.map_err(|error| error.to_string())?.unwrap_or_default();
                check(&format!("machine {}", machine.number), &bytes)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        for (at, name, commit) in &self.snapshots {
            let found = self.machines[*at].memory.at(name.as_str()).map_err(said)?;
            if found.commit().digest != *commit {
                return Err(format!("the snapshot {name} of machine {at} was replaced"));
            }
        }
        let (disk, memory) = self.clone()?.ok_or("the service failed after the faults")?;
        let cloned = Machine {
            disk,
            memory,
            number: usize::MAX,
            written: 0,
        };
        let root = cloned.memory.view().root();
        for machine in self.machines.iter().chain([&cloned]) {
            let (view, number) = (machine.memory.view(), machine.number);
            if view.root() != root {
                return Err(format!("machine {number} has another root"));
            }
            for id in self.erased.keys() {
                if view.contains(&Id::new(id).map_err(said)?).map_err(said)? {
                    return Err(format!("machine {number} still has {id}"));
                }
            }
            for id in &self.wanted {
                if !view.contains(&Id::new(id).map_err(said)?).map_err(said)? {
                    return Err(format!("machine {number} lost {id}"));
                }
            }
            let report = verified(&machine.disk, &options()).map_err(said)?;
            if let Some(found) = report.damage.first() {
                return Err(format!(
                    "the store of machine {number} is damaged: {}",
                    found.damage
                ));
            }
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it converts an error")]
fn said(error: Error) -> String {
    format!("{error:?}")
}

//! Machines that share a memory through simulated services, in random schedules: puts, pushes, pulls, undos, erasures,
//! snapshots, collections, thinned histories and crashes, while answers are lost and requests are late.
//!
//! A wide schedule also has what its seed chooses of: caps, objects that several machines edit, remove and restore, forks,
//! a second remote, and backups.
//!
//! # Layer
//! For tests.
//!
//! # Checks
//! - Nothing that a call acknowledged is lost, on any machine, unless somebody removed or replaced it.
//! - After the faults, all machines come to rest: no commit, and no request that writes. Those that trust a remote come to
//!   one root.
//! - Nothing is more trusted than the cap of the way on which it came.
//! - Every listed segment is whole, and a new clone has the same root. So has a restored backup.
//! - What was erased is nowhere: not in a service, nor on a machine that believes the erasure.
//! - No snapshot of a machine is replaced.
//! - No store is damaged.

mod checks;
mod counts;
mod exchange;
mod forks;
mod ledger;
mod plan;
mod shared;
mod steps;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub use counts::Counts;
use ledger::Ledger;
use plan::{Plan, Way};

use crate::digest::CommitDigest;
use crate::disk::{Disk, MemDisk};
use crate::engine::{Clock, Memory, Options, Writer};
use crate::error::{Error, ErrorKind};
use crate::object::{Id, Kind, NewObject, Origin, Time};
use crate::remote::bucket::{Bucket, Sealed};
use crate::remote::{Keys, Remote, clone_on};
use crate::testing::random::SplitMix64;
use crate::testing::sim_bucket::SimBucket;

/// The schedules that a seed names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// One remote, which all machines trust, and edits of each machine's own objects.
    Plain,
    /// The same with a service that ignores the conditions of writes.
    Careless,
    /// With what the seed chooses of caps, conflicts, forks, a second remote and backups.
    Wide,
}

/// One machine: its store on a disk of its own, and the unique ids that it wrote.
struct Machine {
    disk: Arc<dyn Disk>,
    memory: Memory,
    number: usize,
    written: usize,
    /// The remotes that it knows.
    ways: Vec<Way>,
    fork: Option<forks::OpenFork>,
    /// The place of its backups, if it made one.
    backup: Option<SimBucket>,
}

/// A new clone, with its disk.
type Cloned = (Arc<dyn Disk>, Memory);

/// A remote in a simulated service.
struct Service {
    bucket: SimBucket,
    /// The keys, if the remote is encrypted.
    keys: Option<Keys>,
    is_begun: bool,
}

/// A schedule.
struct Schedule {
    services: Vec<Service>,
    random: SplitMix64,
    clock: Arc<StepClock>,
    plan: Plan,
    machines: Vec<Machine>,
    ledger: Ledger,
    /// The snapshots of each machine.
    snapshots: Vec<(usize, String, CommitDigest)>,
    counts: Counts,
    /// What the steps did.
    told: Vec<String>,
    /// Whether other machines act within a push.
    has_rivals: bool,
}

/// The clock of all machines. Each step has a second of its own, so everything of an earlier step is earlier.
#[derive(Default)]
struct StepClock(AtomicI64);

impl Clock for StepClock {
    fn now(&self) -> Time {
        Time::from_micros(1_700_000_000_000_000 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl StepClock {
    /// Begins the next second.
    fn step(&self) {
        let now = self.0.load(Ordering::Relaxed);
        self.0.store((now / 1_000_000 + 1) * 1_000_000, Ordering::Relaxed);
    }
}

fn writer(number: usize) -> Writer {
    Writer::person(format!("m{number}"))
}

fn id_of(text: &str) -> Id {
    Id::new(text).expect("the id is valid")
}

fn object(id: &str, content: &str) -> NewObject {
    let kind = Kind::new("note").expect("the kind is valid");
    let mut object = NewObject::new(id_of(id), kind);
    object.content = Some(content.to_owned());
    object
}

/// Runs a schedule of a seed.
///
/// # Errors
/// What went wrong, in words.
pub fn run(seed: u64, schedules: Schedules) -> Result<Counts, String> {
    let plan = match schedules {
        Schedules::Wide => Plan::wide(seed),
        Schedules::Plain | Schedules::Careless => Plan::plain(),
    };
    let mut schedule = Schedule {
        services: Vec::new(),
        random: SplitMix64::new(seed),
        clock: Arc::default(),
        plan,
        machines: Vec::new(),
        ledger: Ledger::default(),
        snapshots: Vec::new(),
        counts: Counts::default(),
        told: Vec::new(),
        has_rivals: true,
    };
    for number in 0..schedule.plan.remotes as u64 {
        let random = &mut schedule.random;
        let bucket = SimBucket::new(random.next_u64(), 2 + random.below(9));
        let bucket = if schedules == Schedules::Careless {
            bucket.careless()
        } else {
            bucket
        };
        let keys = ((seed + number) % 4 == 3).then(Keys::generate).transpose();
        let keys = keys.map_err(said)?;
        schedule.services.push(Service {
            bucket,
            keys,
            is_begun: false,
        });
    }
    match schedule.run() {
        Ok(()) => Ok(schedule.counts),
        Err(wrong) => Err(format!(
            "{wrong}\n{:?}\n{}",
            schedule.plan,
            schedule.told.join("\n")
        )),
    }
}

impl Schedule {
    fn run(&mut self) -> Result<(), String> {
        self.begin()?;
        self.counts.note_plan(&self.plan, self.machines.len());
        for number in 0..12 + self.random.below(24) {
            let machine = self.random.below(self.machines.len());
            self.clock.step();
            self.told.push(format!("{number}: m{machine}"));
            self.step(machine)?;
            self.counts.steps += 1;
        }
        self.clock.step();
        self.end()
    }

    /// Notes what a step does, for the report of a failure.
    fn tell(&mut self, what: &str) {
        if let Some(step) = self.told.last_mut() {
            *step += what;
        }
    }

    fn options(&self) -> Options {
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as _;
        Options::new().checkpoints(false).clock(clock)
    }

    /// Returns a remote as a machine knows it: its first one is `origin`, as a clone calls it.
    fn remote(&self, at: usize, way: usize) -> Remote {
        let Way { remote, cap } = self.machines[at].ways[way];
        self.remote_named(["origin", "second"][way], remote, cap)
    }

    fn remote_named(&self, name: &str, number: usize, cap: Origin) -> Remote {
        let Service { bucket, keys, .. } = &self.services[number];
        let bucket: Arc<dyn Bucket> = Arc::new(bucket.clone());
        let remote = Remote::on(name, bucket, cap).expect("the name is valid");
        let remote = remote.impatient();
        match keys {
            Some(keys) => remote.with_keys(keys),
            None => remote,
        }
    }

    /// Makes the first machine, pushes, and clones the others.
    fn begin(&mut self) -> Result<(), String> {
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let memory = Memory::on_disk(Arc::clone(&disk), self.options(), true, None).map_err(said)?;
        memory.put(object("first", "0"), &writer(0)).map_err(said)?;
        self.ledger.want("first", 0, Origin::DirectUser);
        self.add_machine(disk, memory)?;
        for _ in 1..2 + self.random.below(2) {
            let (disk, memory) = loop {
                let Way { remote, cap } = self.plan.ways[self.machines.len()][0];
                if let Some(made) = self.clone(remote, cap)? {
                    break made;
                }
            };
            self.add_machine(disk, memory)?;
        }
        Ok(())
    }

    /// Adds a machine. It pushes to remotes that nobody began, so the later machines can clone them.
    fn add_machine(&mut self, disk: Arc<dyn Disk>, memory: Memory) -> Result<(), String> {
        let number = self.machines.len();
        self.machines.push(Machine {
            disk,
            memory,
            number,
            written: 0,
            ways: self.plan.ways[number].clone(),
            fork: None,
            backup: None,
        });
        for way in 0..self.machines[number].ways.len() {
            let remote = self.machines[number].ways[way].remote;
            while !self.services[remote].is_begun {
                self.services[remote].is_begun = self.push(number, way)?;
            }
        }
        Ok(())
    }

    /// Returns a clone of a remote; `None` if the service failed.
    fn clone(&self, number: usize, cap: Origin) -> Result<Option<Cloned>, String> {
        let Service { bucket, keys, .. } = &self.services[number];
        let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let mut bucket: Arc<dyn Bucket> = Arc::new(bucket.clone());
        if let Some(keys) = keys {
            bucket = Arc::new(Sealed::new(bucket, keys.clone()));
        }
        match clone_on(bucket, &disk, cap, &self.options()) {
            Ok(memory) => Ok(Some((disk, memory))),
            Err(error) if error.kind() == ErrorKind::Io => Ok(None),
            Err(error) => Err(said(error)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it converts an error")]
fn said(error: Error) -> String {
    format!("{error:?}")
}

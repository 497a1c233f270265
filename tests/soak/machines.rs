//! Rounds of machines: processes with stores of their own, which share one remote at a URL, and are killed at random times.
//!
//! # Checks
//! - Whatever a push acknowledged is in each later clone of the remote.
//! - A clone has all commits of a push or none: each push ends at a multiple of [`PUSHED`] objects of a machine.
//! - In the end all machines and a new clone have one root and all objects, and no store is damaged.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use treering::remote::{Remote, bucket, clone};
use treering::testing::bucket_contract;
use treering::upkeep::VerifyDepth;
use treering::{Error, ErrorCode, ErrorKind, Id, Kind, Memory, NewObject, Options, Origin, Writer};

use crate::rounds::{NUMBER, ROLE, STORE, command, end, spread};

const URL: &str = "TREERING_TEST_URL";
const COMMITS: &str = "TREERING_TEST_COMMITS";
const CONFLICTS: &str = "TREERING_TEST_CONFLICTS";
/// Addresses of gateways of one service, with commas between them. The machines take turns.
const ENDPOINTS: &str = "TREERING_TEST_ENDPOINTS";

/// The number of objects that a machine commits between two pushes.
const PUSHED: usize = 10;
/// The longest time in which a service may be away.
const AWAY: Duration = Duration::from_mins(2);

/// What a round is about.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// The place of the remote. `{}` stands for a name that each round has for itself.
    pub(crate) url: String,
    pub(crate) machines: usize,
    pub(crate) commits: usize,
    pub(crate) kills: usize,
    pub(crate) conflicts: bool,
}

impl Default for Round {
    fn default() -> Self {
        Self {
            url: String::new(),
            machines: 8,
            commits: 200,
            kills: 0,
            conflicts: false,
        }
    }
}

/// Returns the URL of a round of its own.
fn own_place(url: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    url.replace("{}", &format!("r{}", now.unwrap().as_nanos()))
}

/// Checks the bucket at a URL.
pub(crate) fn check_contract(url: &str) {
    if url == "memory" {
        return bucket_contract::check(&bucket::Folder::in_memory(), 20);
    }
    bucket_contract::check(&*bucket::open_bucket(&own_place(url), true).unwrap(), 4);
}

fn writer(number: usize) -> Writer {
    Writer::person(format!("m{number}"))
}

fn note(id: &str, content: String) -> NewObject {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    object.content = Some(content);
    object
}

fn remote(url: &str) -> Remote {
    Remote::create("origin", url, Origin::DirectUser).unwrap()
}

/// Repeats a call while the service is away.
fn patiently<T>(mut call: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let started = Instant::now();
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Io && started.elapsed() < AWAY => {
                std::thread::sleep(Duration::from_millis(200));
            }
            done => return done,
        }
    }
}

/// Pulls and pushes until the remote has what this machine has.
fn exchange(memory: &Memory, remote: &Remote, number: usize) {
    loop {
        match patiently(|| remote.push(memory, &writer(number))) {
            Ok(_) => return,
            Err(error) if error.code() == ErrorCode::RemoteAhead => {
                drop(patiently(|| remote.pull(memory, &writer(number))).unwrap());
            }
            Err(error) => panic!("machine {number}: {error:?}"),
        }
    }
}

/// Returns how many objects of a machine a store has.
fn count_of(memory: &Memory, number: usize) -> usize {
    let (view, start) = (memory.view(), format!("m{number}/"));
    let ids = view
        .objects()
        .map(|object| object.unwrap().id().as_str().starts_with(&start));
    ids.filter(|is_own| *is_own).count()
}

fn acked(folder: &Path, number: usize) -> usize {
    let text = fs::read_to_string(folder.join(format!("acked-{number}"))).unwrap_or_default();
    // A kill may have cut the last line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().last().map_or(0, |count| count.parse().unwrap())
}

/// Runs the role of a child process. Returns `None` in the parent process, and for the roles of other rounds.
pub(crate) fn play() -> Option<ExitCode> {
    std::env::var(ROLE).ok().filter(|role| role == "machine")?;
    let value = |name| std::env::var(name).unwrap();
    machine(Path::new(&value(STORE)), value(NUMBER).parse().unwrap());
    Some(ExitCode::SUCCESS)
}

/// Commits and pushes until all its objects are acknowledged. It may be killed and started anew.
fn machine(store: &Path, number: usize) {
    let value = |name| std::env::var(name).unwrap();
    let (url, commits, conflicts) = (
        value(URL),
        value(COMMITS).parse::<usize>().unwrap(),
        value(CONFLICTS) == "true",
    );
    let memory = Memory::open(store).unwrap();
    let remote = remote(&url);
    let log = store.with_file_name(format!("acked-{number}"));
    let mut log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let mut done = count_of(&memory, number);
    loop {
        if done.is_multiple_of(PUSHED) {
            exchange(&memory, &remote, number);
            writeln!(log, "{done}").unwrap();
        }
        if done == commits {
            return;
        }
        if conflicts && done.is_multiple_of(4) {
            let shared = note(&format!("shared/{}", done % 3), format!("{number} writes {done}"));
            memory.put(shared, &writer(number)).unwrap();
        }
        let id = format!("m{number}/{done}");
        memory
            .put(note(&id, format!("text of {id}")), &writer(number))
            .unwrap();
        done += 1;
    }
}

/// The counts of a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) commits: u64,
    pub(crate) kills: u64,
    pub(crate) clones: u64,
    pub(crate) conflicts: u64,
}

struct Fleet<'a> {
    round: &'a Round,
    url: String,
    folder: tempfile::TempDir,
    endpoints: Vec<String>,
}

impl Fleet<'_> {
    fn store(&self, number: usize) -> PathBuf {
        self.folder.path().join(number.to_string())
    }

    fn start(&self, number: usize) -> Child {
        let mut command = command("machine", &self.store(number), number);
        command
            .env(URL, &self.url)
            .env(COMMITS, self.round.commits.to_string());
        command.env(CONFLICTS, self.round.conflicts.to_string());
        if !self.endpoints.is_empty() {
            command.env("AWS_ENDPOINT_URL", &self.endpoints[number % self.endpoints.len()]);
        }
        command.spawn().unwrap()
    }

    /// Makes the stores of all machines.
    fn begin(&self) {
        let first = Memory::create(self.store(0)).unwrap();
        first.put(note("first", String::new()), &writer(0)).unwrap();
        remote(&self.url).push(&first, &writer(0)).unwrap();
        drop(first);
        for number in 1..self.round.machines {
            drop(self.clone(&self.store(number)));
        }
    }

    fn clone(&self, to: &Path) -> Memory {
        patiently(|| clone(&self.url, to, Origin::DirectUser, &Options::new()))
            .unwrap()
            .0
    }

    /// Clones the remote, and checks that the clone has what was acknowledged, and no part of a push.
    fn check_clone(&self) {
        let numbers = 0..self.round.machines;
        let acked: Vec<usize> = numbers.map(|number| acked(self.folder.path(), number)).collect();
        let folder = tempfile::tempdir().unwrap();
        let memory = self.clone(&folder.path().join("clone"));
        for (number, acked) in acked.into_iter().enumerate() {
            let count = count_of(&memory, number);
            assert!(count >= acked, "{count} of {acked} of machine {number}: lost");
            assert!(
                count.is_multiple_of(PUSHED),
                "{count} of machine {number}: half a push"
            );
        }
    }

    /// Lets the machines run to their end, kills some, and starts them anew. Returns the number of kills.
    fn run(&self) -> u64 {
        let mut machines: Vec<_> = (0..self.round.machines)
            .map(|number| Some(self.start(number)))
            .collect();
        let (mut seed, mut kills) = (u64::from(std::process::id()), 0);
        while machines.iter().any(Option::is_some) {
            std::thread::sleep(Duration::from_millis(20 + spread(&mut seed, 300)));
            for (number, slot) in machines.iter_mut().enumerate() {
                let Some(mut machine) = slot.take() else { continue };
                if let Some(status) = machine.try_wait().unwrap() {
                    let said = machine.wait_with_output().unwrap().stderr;
                    assert!(
                        status.success(),
                        "machine {number}: {}",
                        String::from_utf8_lossy(&said)
                    );
                    continue;
                }
                *slot = Some(machine);
            }
            let victim = spread(&mut seed, self.round.machines as u64) as usize;
            if kills < self.round.kills as u64 && machines[victim].is_some() {
                machines[victim].take().into_iter().for_each(end);
                machines[victim] = Some(self.start(victim));
                kills += 1;
            }
        }
        kills
    }

    /// Lets all machines exchange their commits until nobody has anything to send. Returns their stores.
    fn settle(&self) -> Vec<Memory> {
        let stores = (0..self.round.machines).map(|number| Memory::open(self.store(number)).unwrap());
        let (stores, remote): (Vec<_>, _) = (stores.collect(), remote(&self.url));
        for _ in 0..10 {
            let heads: Vec<_> = stores
                .iter()
                .map(|memory| memory.view().commit().digest)
                .collect();
            for (number, memory) in stores.iter().enumerate() {
                drop(patiently(|| remote.pull(memory, &writer(number))).unwrap());
                exchange(memory, &remote, number);
            }
            if heads
                .iter()
                .zip(&stores)
                .all(|(head, memory)| memory.view().commit().digest == *head)
            {
                return stores;
            }
        }
        panic!("the machines do not come to rest");
    }
}

/// Ends the watcher when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a round.
pub(crate) fn run(round: &Round) -> Counts {
    let endpoints = std::env::var(ENDPOINTS).unwrap_or_default();
    let fleet = Fleet {
        round,
        url: own_place(&round.url),
        folder: tempfile::tempdir().unwrap(),
        endpoints: endpoints
            .split(',')
            .filter(|one| !one.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    fleet.begin();
    let mut counts = Counts::default();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The watcher ends also if a machine fails.
        let over = Over(&is_over);
        let watcher = scope.spawn(|| {
            let mut clones = 0;
            while !is_over.load(Ordering::Relaxed) {
                fleet.check_clone();
                clones += 1;
                std::thread::sleep(Duration::from_secs(2));
            }
            clones
        });
        counts.kills = fleet.run();
        drop(over);
        counts.clones = watcher.join().unwrap();
    });
    let mut stores = fleet.settle();
    stores.push(fleet.clone(&fleet.folder.path().join("clone")));
    let root = stores[0].view().root();
    for (number, memory) in stores.iter().enumerate() {
        assert_eq!(memory.view().root(), root, "machine {number} has another root");
        for of in 0..round.machines {
            assert_eq!(
                count_of(memory, of),
                round.commits,
                "machine {number} lost something of {of}"
            );
        }
        let report = memory.verify(VerifyDepth::Full).unwrap();
        assert!(report.ok, "machine {number}: {report:?}");
    }
    counts.commits = (round.machines * round.commits) as u64;
    counts.conflicts = stores[0].conflicts().unwrap().len() as u64;
    assert!(round.conflicts || counts.conflicts == 0);
    counts
}

//! Rounds with real processes on a real folder. The processes are killed at random times, write at the same time, race
//! to create a store, and read during writes.
//!
//! A child process runs the same binary, and an environment variable names its role. A client logs its calls to a file
//! outside the store, which outlives the process. It writes `s ID` before a put, and `a ID SEQ ROOT` after the put.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use treering::inspect::digest::KeyPath;
use treering::inspect::trie::{Proven, verify_proof};
use treering::upkeep::{Retention, VerifyDepth};
use treering::{ErrorKind, Id, Kind, Memory, NewObject, Options, View, Writer};

#[path = "vectors.rs"]
pub(crate) mod vectors;

pub(crate) const ROLE: &str = "TREERING_TEST_ROLE";
pub(crate) const STORE: &str = "TREERING_TEST_STORE";
pub(crate) const NUMBER: &str = "TREERING_TEST_NUMBER";

/// The number of clients that write at the same time and are killed.
const CLIENTS: usize = 4;
/// The number of rounds on one store.
const ROUNDS_A_STORE: u64 = 25;
/// The segment size of the stores. It is small, so that the child processes create many segments.
const SEGMENT_BYTES: u32 = 64 << 10;
/// The number of ids that the writers overwrite while readers run.
const READ_IDS: usize = 500;

/// Starts this binary as a child process with a role. `arguments` must make the binary call [`play`].
fn start(arguments: &[&str], role: &str, store: &Path, number: usize) -> Child {
    command(role, store, number).args(arguments).spawn().unwrap()
}

/// Returns the command of a child process with a role.
pub(crate) fn command(role: &str, store: &Path, number: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env(ROLE, role)
        .env(STORE, store)
        .env(NUMBER, number.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs the role of a child process. Returns `None` in the parent process.
pub(crate) fn play() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    let store = PathBuf::from(std::env::var(STORE).ok()?);
    let number: usize = std::env::var(NUMBER).ok()?.parse().ok()?;
    match role.as_str() {
        "client" => be_killed(&store, number),
        "putter" => put_many(&store, number),
        "creator" => create_and_put(&store, number),
        "rewriter" => rewrite(&store, number),
        "reader" => read_proofs(&store),
        "follower" => follow(&store),
        "claimer" => claim(&store, number),
        "vectors" => vectors::write_vectors(&store, number),
        other => panic!("no role {other}"),
    }
    Some(ExitCode::SUCCESS)
}

fn options() -> Options {
    Options::new()
        .wait(Duration::from_mins(5))
        .segment_bytes_max(SEGMENT_BYTES)
}

fn note(id: &str, content: String) -> NewObject {
    let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap());
    object.content = Some(content);
    object
}

/// Returns a content that depends only on the id. Its size ranges from a few bytes to a separate content record.
fn content_of(id: &str) -> String {
    let length = id.bytes().fold(7_usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(byte))
    });
    let length = if length.is_multiple_of(40) {
        5_000
    } else {
        length % 400
    };
    format!("{id} {}", "x".repeat(length))
}

/// Returns the folder for the logs of a store's clients.
fn acks(store: &Path) -> PathBuf {
    store.with_file_name("acks")
}

pub(crate) fn spread(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound.max(1)
}

// Roles of child processes:

fn be_killed(store: &Path, number: usize) {
    let (memory, _) = options().open_or_create(store).unwrap();
    let name = acks(store).join(number.to_string());
    let known = fs::read_to_string(&name).unwrap_or_default();
    let first = known.lines().filter(|line| line.starts_with("s ")).count();
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&name)
        .unwrap();
    // A kill may have cut the last line. End that line, and add an empty line.
    file.write_all(b"\n\n").unwrap();
    for count in first.. {
        let id = format!("k/{number}/{count}");
        file.write_all(format!("s {id}\n").as_bytes()).unwrap();
        let done = memory
            .put(
                note(&id, content_of(&id)),
                &Writer::user().session(format!("c{number}")),
            )
            .unwrap();
        let commit = &done.commit.commit;
        file.write_all(format!("a {id} {} {}\n", commit.seq, commit.root).as_bytes())
            .unwrap();
    }
}

/// The number of puts of each writer in a round.
pub(crate) const PUTS: usize = 250;
/// The number of processes that put, create a store or claim the lock at the same time.
pub(crate) const PROCESSES: usize = 16;

fn put_many(store: &Path, number: usize) {
    let memory = options().open(store).unwrap();
    for count in 0..PUTS {
        let id = format!("{number}/{count}");
        let done = memory.put(
            note(&id, content_of(&id)),
            &Writer::user().session(format!("s{number}")),
        );
        assert!(done.unwrap().changed);
    }
}

/// Reads until every put is stored. Checks that the number of commits never falls and that every state is complete.
fn follow(store: &Path) {
    let memory = Options::new().read_only(true).open(store).unwrap();
    let (mut seen, goal) = (0, (PROCESSES * PUTS) as u64);
    while seen < goal {
        let view = memory.refresh().unwrap();
        let seq = view.commit().commit.seq;
        assert!(seq >= seen, "the head went back from {seen} to {seq}");
        assert_eq!(view.len(), seq, "a reader saw a state of no commit");
        if let Some(object) = view.objects().next() {
            let object = object.unwrap();
            assert_eq!(object.content(), Some(content_of(object.id().as_str()).as_str()));
        }
        seen = seq;
    }
}

fn create_and_put(store: &Path, number: usize) {
    // Wait until all processes are ready, so that they start at the same time.
    let ready = store.with_file_name("ready");
    fs::write(ready.join(number.to_string()), "").unwrap();
    let started = Instant::now();
    while fs::read_dir(&ready).unwrap().count() < PROCESSES && started.elapsed() < Duration::from_mins(1) {
        std::hint::spin_loop();
    }
    let (memory, created) = options().open_or_create(store).unwrap();
    if created {
        fs::write(acks(store).join(number.to_string()), "").unwrap();
    }
    let id = format!("{number}");
    memory.put(note(&id, content_of(&id)), &Writer::user()).unwrap();
}

fn rewrite(store: &Path, number: usize) {
    let memory = options().open(store).unwrap();
    let mut seed = u64::from(std::process::id());
    for count in 1_u64.. {
        if count.is_multiple_of(200) {
            // The other writer may be collecting garbage at the same time.
            if let Err(error) = memory.gc(&Retention::everything(), None) {
                assert_eq!(error.kind(), ErrorKind::Busy, "{error:?}");
            }
        }
        let id = format!("w/{}", spread(&mut seed, READ_IDS as u64));
        let text = format!("{} by {number}", spread(&mut seed, 1_000_000));
        memory.put(note(&id, text), &Writer::user()).unwrap();
    }
}

fn stop_file(store: &Path) -> PathBuf {
    store.with_file_name("stop")
}

/// Reads objects and verifies their proofs until the parent stops it. Then logs the states that it read.
fn read_proofs(store: &Path) {
    let memory = Options::new().read_only(true).open(store).unwrap();
    let mut seed = u64::from(std::process::id());
    let mut seen = BTreeMap::new();
    let mut proofs = 0_u64;
    while !stop_file(store).exists() {
        let view = memory.refresh().unwrap();
        seen.insert(view.commit().commit.seq, view.root());
        for _ in 0..20 {
            prove_one(
                &view,
                &memory,
                &format!("w/{}", spread(&mut seed, READ_IDS as u64 + 20)),
            );
            proofs += 1;
        }
    }
    let mut text = format!("{proofs}\n").into_bytes();
    for (seq, root) in seen {
        writeln!(text, "{seq} {root}").unwrap();
    }
    fs::write(acks(store).join(format!("reader-{}", std::process::id())), text).unwrap();
}

fn prove_one(view: &View, memory: &Memory, name: &str) {
    let id = Id::new(name).unwrap();
    let proof = view.prove(&id).unwrap();
    let key: KeyPath = memory.suite().key_path(name);
    let proven = verify_proof(&proof, memory.suite(), &view.root(), &key).unwrap();
    match (proven, view.get(&id).unwrap()) {
        (Proven::Present(digest), Some(object)) => assert_eq!(digest, *object.digest().as_bytes()),
        (Proven::Absent, None) => {}
        (proven, object) => panic!("{name}: {proven:?} and {object:?}"),
    }
}

/// Claims the lock, and keeps it if the claim succeeds. Several processes do this at the same time.
fn claim(store: &Path, number: usize) {
    let ready = store.with_file_name("ready");
    fs::write(ready.join(number.to_string()), "").unwrap();
    while !ready.join("go").exists() {
        std::hint::spin_loop();
    }
    let memory = options()
        .wait(Duration::ZERO)
        .exclusive(true)
        .open(store)
        .unwrap();
    let outcome = memory.put(note(&format!("claimed/{number}"), String::new()), &Writer::user());
    let answer = match &outcome {
        Ok(_) => "won",
        Err(error) if error.kind() == ErrorKind::Busy => "lost",
        Err(error) => panic!("{error:?}"),
    };
    fs::write(acks(store).join(format!("{answer}-{number}")), "").unwrap();
    if answer == "won" {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

// Functions of the parent process:

fn finish(child: Child, what: &str) {
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Ends a process as `kill -9` does.
pub(crate) fn end(mut child: Child) {
    drop(child.kill());
    child.wait().unwrap();
}

/// The counts of kill rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Killed {
    pub(crate) rounds: u64,
    pub(crate) kills: u64,
    pub(crate) acked: u64,
}

/// In each round, kills clients at random times, and checks that every acknowledged put is stored.
pub(crate) fn kill_rounds(arguments: &[&str], rounds: std::ops::Range<u64>) -> Killed {
    let mut sum = Killed::default();
    let mut folder = tempfile::tempdir().unwrap();
    for round in rounds {
        if round.is_multiple_of(ROUNDS_A_STORE) {
            folder = tempfile::tempdir().unwrap();
        }
        let store = folder.path().join("store");
        fs::create_dir_all(acks(&store)).unwrap();
        let mut seed = round;
        for _ in 0..8 {
            spread(&mut seed, 1);
        }
        let mut clients: Vec<_> = (0..CLIENTS)
            .map(|number| (spread(&mut seed, 120), start(arguments, "client", &store, number)))
            .collect();
        clients.sort_by_key(|(time, _)| *time);
        let started = Instant::now();
        for (time, mut client) in clients {
            std::thread::sleep(Duration::from_millis(time).saturating_sub(started.elapsed()));
            assert!(
                client.try_wait().unwrap().is_none(),
                "round {round}: {}",
                told(client)
            );
            end(client);
            sum.kills += 1;
        }
        sum.acked += check_acks(&store, &format!("round {round}"), round % 5 == 4);
        sum.rounds += 1;
    }
    sum
}

fn told(client: Child) -> String {
    let output = client.wait_with_output().unwrap();
    format!("a client ended: {}", String::from_utf8_lossy(&output.stderr))
}

/// Checks that every acknowledged put is stored at its position in the chain, and that every stored object was sent.
/// Returns the number of acknowledged puts.
fn check_acks(store: &Path, what: &str, whole: bool) -> u64 {
    let (mut sent, mut acked) = (BTreeSet::new(), BTreeMap::new());
    for entry in fs::read_dir(acks(store)).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut lines = text.split('\n').peekable();
        while let Some(line) = lines.next() {
            // A kill may cut only the last line of a client. An empty line or the end of the log follows it.
            let may_be_cut = lines.peek().is_none_or(|next| next.is_empty());
            match line.split(' ').collect::<Vec<_>>()[..] {
                [""] => {}
                ["s", id] => drop(sent.insert(id.to_owned())),
                ["a", id, seq, root] if root.len() == 64 => {
                    drop(acked.insert(id.to_owned(), (seq.to_owned(), root.to_owned())));
                }
                _ => assert!(may_be_cut, "{what}: {line}"),
            }
        }
    }
    let memory = match Options::new().read_only(true).open(store) {
        Ok(memory) => memory,
        Err(error) => {
            let none = matches!(
                error.code(),
                treering::ErrorCode::NoStore | treering::ErrorCode::NotFound
            );
            assert!(none && acked.is_empty(), "{what}: {error:?}");
            return 0;
        }
    };
    let view = memory.view();
    for object in view.objects() {
        let object = object.unwrap();
        assert!(
            sent.contains(object.id().as_str()),
            "{what}: {} was never sent",
            object.id()
        );
        assert_eq!(
            object.content(),
            Some(content_of(object.id().as_str()).as_str()),
            "{what}"
        );
    }
    let commits: BTreeMap<_, _> = memory
        .commits()
        .map(Result::unwrap)
        .map(|one| (one.commit.seq, one.commit.root))
        .collect();
    for (id, (seq, root)) in &acked {
        assert!(
            view.contains(&Id::new(id).unwrap()).unwrap(),
            "{what}: {id} was acknowledged, but is not stored"
        );
        let found = commits.get(&seq.parse().unwrap()).map(ToString::to_string);
        assert_eq!(
            found.as_deref(),
            Some(root.as_str()),
            "{what}: commit {seq} does not have the acknowledged root"
        );
    }
    assert_eq!(
        commits.len() as u64,
        view.commit().commit.seq + 1,
        "{what}: one chain"
    );
    if whole {
        let report = memory.verify(VerifyDepth::Full).unwrap();
        assert!(report.ok, "{what}: {report:?}");
    }
    acked.len() as u64
}

/// Runs sixteen processes that put 250 objects each. Checks that each object is stored exactly once, in one chain.
/// Returns the number of objects.
pub(crate) fn put_round(arguments: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    drop(options().create(&store).unwrap());
    let follower = start(arguments, "follower", &store, 0);
    let writers: Vec<_> = (0..PROCESSES)
        .map(|number| start(arguments, "putter", &store, number))
        .collect();
    for child in writers {
        finish(child, "a writer");
    }
    finish(follower, "a follower");
    let memory = Memory::open(&store).unwrap();
    let view = memory.view();
    for number in 0..PROCESSES {
        for count in 0..PUTS {
            let id = format!("{number}/{count}");
            let object = view.get(&Id::new(&id).unwrap()).unwrap().unwrap();
            assert_eq!(object.content(), Some(content_of(&id).as_str()));
        }
    }
    let commits: Vec<_> = memory.commits().map(Result::unwrap).collect();
    assert_eq!(commits.len(), PROCESSES * PUTS + 1, "each once");
    assert!(
        commits
            .windows(2)
            .all(|pair| pair[0].commit.parents == [pair[1].digest]),
        "one chain"
    );
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
    view.len()
}

/// Runs sixteen processes that race to create one store. Checks that one of them creates it and that all of them write
/// to it.
pub(crate) fn create_round(arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fs::create_dir_all(acks(&store)).unwrap();
    fs::create_dir_all(store.with_file_name("ready")).unwrap();
    let racers: Vec<_> = (0..PROCESSES)
        .map(|number| start(arguments, "creator", &store, number))
        .collect();
    for child in racers {
        finish(child, "a racer");
    }
    assert_eq!(
        fs::read_dir(acks(&store)).unwrap().count(),
        1,
        "exactly one created it"
    );
    let memory = Memory::open(&store).unwrap();
    assert_eq!(memory.view().len(), PROCESSES as u64);
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
}

/// Runs readers that verify the proofs of their reads while writers are killed and restarted. Returns the number of
/// proofs.
pub(crate) fn read_round(arguments: &[&str], readers: usize, time: Duration) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    fs::create_dir_all(acks(&store)).unwrap();
    let memory = options().create(&store).unwrap();
    memory
        .put(note("w/0", "first".to_owned()), &Writer::user())
        .unwrap();
    drop(memory);
    let readers: Vec<_> = (0..readers)
        .map(|number| start(arguments, "reader", &store, number))
        .collect();
    let started = Instant::now();
    let mut seed = u64::from(std::process::id());
    while started.elapsed() < time {
        let writers = [0, 1].map(|number| start(arguments, "rewriter", &store, number));
        std::thread::sleep(Duration::from_millis(100 + spread(&mut seed, 400)));
        writers.into_iter().for_each(end);
    }
    fs::write(stop_file(&store), "").unwrap();
    for child in readers {
        finish(child, "a reader");
    }
    let memory = Memory::open(&store).unwrap();
    let chain: BTreeMap<_, _> = memory
        .commits()
        .map(Result::unwrap)
        .map(|one| (one.commit.seq, one.commit.root))
        .collect();
    let mut proofs = 0;
    for entry in fs::read_dir(acks(&store)).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut lines = text.lines();
        proofs += lines.next().unwrap().parse::<u64>().unwrap();
        for line in lines {
            let (seq, root) = line.split_once(' ').unwrap();
            let found = chain.get(&seq.parse().unwrap()).map(ToString::to_string);
            assert_eq!(
                found.as_deref(),
                Some(root),
                "a reader saw a state that is not in the chain"
            );
        }
    }
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
    proofs
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what} does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts `count` processes that claim the lock of a store at the same time. Returns the only process that gets the
/// lock.
pub(crate) fn holder(arguments: &[&str], store: &Path, count: usize) -> Child {
    let (acks, ready) = (acks(store), store.with_file_name("ready"));
    for folder in [&acks, &ready] {
        drop(fs::remove_dir_all(folder));
        fs::create_dir_all(folder).unwrap();
    }
    let mut claimers: Vec<_> = (0..count)
        .map(|number| start(arguments, "claimer", store, number))
        .collect();
    wait_for("a claimer", || names(&ready).len() == count);
    fs::write(ready.join("go"), "").unwrap();
    wait_for("an answer", || names(&acks).len() == count);
    let won: Vec<_> = names(&acks)
        .into_iter()
        .filter(|name| name.starts_with("won-"))
        .collect();
    assert_eq!(won.len(), 1, "exactly one holds the lock: {won:?}");
    let winner: usize = won[0].trim_start_matches("won-").parse().unwrap();
    let held = claimers.remove(winner);
    for child in claimers {
        finish(child, "a claimer");
    }
    held
}

/// Runs one round in which sixteen processes claim the lock.
pub(crate) fn claim_round(arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    drop(options().create(&store).unwrap());
    let memory = holder(arguments, &store, PROCESSES);
    end(memory);
    assert_eq!(Memory::open(&store).unwrap().view().len(), 1, "one of them wrote");
}

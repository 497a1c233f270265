//! Tests of checkpoints, one file per subject. This file contains the shared helpers.

mod crash;
mod damage;
mod figures;
mod round_trip;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::chain::Table;
use super::files::FOLDER;
use super::rows::Prefix;
use super::*;
use crate::digest::{CommitDigest, HashAlgorithm, HashSuite, KeyPath, Root};
use crate::error::{Error, ErrorCode, Severity};
use crate::log::Fixed;
use crate::log::{Locator, Position};
use crate::object::HistoryTree;
use crate::store::ChangeCounts;
use crate::store::commits::Gap;
use crate::testing::random::SplitMix64;
use crate::trie::{Entry, NoSource, NodeSource, Shape, Trie};

/// The content of a checkpoint, in memory.
struct Fixture {
    log: LogId,
    position: Position,
    versions: u64,
    states: Vec<(u64, Trie, Position)>,
    objects: Vec<DigestRow>,
    texts: Vec<DigestRow>,
    commits: Vec<CommitRow>,
    first_written: BTreeMap<KeyPath, i64>,
    replaced: Vec<KeyPath>,
    children: Vec<ChildRow>,
    gaps: Vec<Gap>,
    references: Vec<(u64, Vec<u8>)>,
    history: HistoryTree,
    lines: Vec<Vec<u8>>,
}

fn log_id() -> LogId {
    LogId {
        instance: [7; 16],
        hash: HashAlgorithm::Blake3,
        epoch: 3,
    }
}

fn suite() -> HashSuite {
    HashSuite::new(log_id().hash)
}

fn position(random: &mut SplitMix64) -> Position {
    Position {
        segment: random.next_u64(),
        offset: random.next_u64(),
        batch: random.next_u64(),
        digest: random.digest(),
        commit: CommitDigest::from_bytes(random.digest()),
    }
}

fn random_entry(random: &mut SplitMix64) -> Entry {
    Entry {
        key: KeyPath::from_bytes(random.digest()),
        digest: random.digest(),
        place: random.next_u64(),
        created: random.next_u64().cast_signed(),
    }
}

fn root(trie: &Trie) -> Root {
    trie.root(suite(), Shape::State, &NoSource).unwrap()
}

fn rows_of_digests(random: &mut SplitMix64, count: usize) -> Vec<DigestRow> {
    let row = |_| DigestRow {
        prefix: Prefix(random.next_u64()),
        value: random.next_u64(),
    };
    (0..count).map(row).collect()
}

/// Returns the tries of some commits as input of a checkpoint.
fn states_of(tries: &[(u64, Trie, Position)]) -> Vec<State> {
    let tries = tries.iter();
    tries
        .map(|(seq, trie, position)| State {
            seq: *seq,
            trie: trie.clone(),
            position: *position,
        })
        .collect()
}

impl Fixture {
    /// Creates a store of at most `size` ids in `commits` commits. The checkpoint contains the state of every second
    /// commit.
    fn new(seed: u64, size: usize, commits: usize) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut fixture = Self {
            log: log_id(),
            position: position(&mut random),
            versions: random.next_u64(),
            states: Vec::new(),
            objects: rows_of_digests(&mut random, size),
            texts: rows_of_digests(&mut random, size / 3),
            commits: Vec::new(),
            first_written: BTreeMap::new(),
            replaced: Vec::new(),
            children: Vec::new(),
            gaps: Vec::new(),
            references: Vec::new(),
            history: HistoryTree::new(suite()),
            lines: Vec::new(),
        };
        let mut trie = Trie::new();
        let mut seq = 0;
        for number in 0..commits {
            let (first, last) = (size * number / commits, size * (number + 1) / commits);
            for _ in first..last {
                trie.insert(random_entry(&mut random), &NoSource).unwrap();
            }
            // Omits some commits, as if they were thinned.
            if number > 0 && random.one_in(3) {
                let count = 1 + random.below(5) as u64;
                let place = Locator::from_u64(random.next_u64());
                fixture.gaps.push(Gap {
                    first: seq,
                    count,
                    place,
                });
                seq += count;
            }
            fixture.commit(seq, &trie, &mut random);
            if number % 2 == 0 || number + 1 == commits {
                fixture.states.push((seq, trie.clone(), position(&mut random)));
            }
            seq += 1;
        }
        for _ in 0..size / 4 {
            let created = random.next_u64().cast_signed();
            let key = KeyPath::from_bytes(random.digest());
            fixture.first_written.insert(key, created);
            fixture.replaced.push(key);
            // Uses only two parents, so both have several children.
            let parent = Prefix(u64::from(created.unsigned_abs().is_multiple_of(5)) << 63);
            fixture.children.push(ChildRow { parent, child: key });
        }
        for number in 0..commits as u64 / 2 {
            let length = random.below(300);
            fixture.references.push((number, random.bytes(length)));
        }
        fixture
    }

    fn commit(&mut self, seq: u64, trie: &Trie, random: &mut SplitMix64) {
        let digest = CommitDigest::from_bytes(random.digest());
        let counts = ChangeCounts {
            added: random.below(9) as u64,
            changed: random.below(9) as u64,
            removed: random.below(9) as u64,
        };
        self.history.append(&digest);
        self.commits.push(CommitRow {
            seq,
            batch: seq * 2 + 1,
            time: seq.cast_signed() * 10 - 5,
            digest,
            root: root(trie),
            place: random.next_u64(),
            lane: random.next_u64(),
            counts: random.one_in(2).then_some(counts),
            delta: random.next_u64(),
        });
    }

    fn states(&self) -> Vec<State> {
        states_of(&self.states)
    }

    fn contents(&self, states: Vec<State>) -> Contents<'_> {
        let first_written = self.first_written.iter();
        Contents {
            log: self.log,
            onto: Vec::new(),
            position: self.position,
            versions: self.versions,
            erased: self.versions / 3,
            states,
            objects: given(&self.objects),
            texts: given(&self.texts),
            commits: given(&self.commits),
            first_written: Box::new(first_written.map(|(&key, &created)| Ok(FirstWritten { key, created }))),
            replaced: given(&self.replaced),
            children: self.children.clone(),
            gaps: self.gaps.clone(),
            references: self.references.clone(),
            history: self.history.clone(),
            lines: self.lines.clone(),
        }
    }

    fn write(&self, disk: &dyn Disk, source: &dyn NodeSource) -> Result<CheckpointFile> {
        self.write_telling(disk, source, &mut |_| Ok(()))
    }

    fn write_telling(
        &self,
        disk: &dyn Disk,
        source: &dyn NodeSource,
        progress: &mut Progress<'_>,
    ) -> Result<CheckpointFile> {
        write_alone(disk, self.contents(self.states()), source, progress)
    }

    /// Returns the expected answers to [`questions`].
    fn answers(&self) -> Vec<String> {
        let disk = crate::disk::MemDisk::new();
        self.write(&disk, &NoSource).unwrap();
        let checkpoint = open(&disk, self.log);
        ask_all(&checkpoint).into_iter().map(Result::unwrap).collect()
    }
}

/// Writes a checkpoint while no other process does anything.
fn write_alone(
    disk: &dyn Disk,
    contents: Contents<'_>,
    source: &dyn NodeSource,
    progress: &mut Progress<'_>,
) -> Result<CheckpointFile> {
    let mut around = Around {
        busy: None,
        started: &mut |_| {},
        is_current: &|| true,
    };
    write(disk, contents, source, &mut around, progress)
}

/// Opens the newest checkpoint, or panics.
fn open(disk: &dyn Disk, log: LogId) -> Checkpoint {
    let (found, findings) = open_newest(disk, log, true).unwrap();
    found.unwrap_or_else(|| panic!("none opens: {findings:?}"))
}

fn shown<T: std::fmt::Debug>(found: Result<T>) -> Result<String> {
    found.map(|found| format!("{found:?}"))
}

/// Converts rows in memory to a source of rows.
fn given<R: Copy>(rows: &[R]) -> Box<dyn Iterator<Item = Result<R>> + '_> {
    Box::new(rows.iter().copied().map(Ok))
}

/// Returns the values of all rows whose digest may be `digest`.
fn find(rows: Table<'_, DigestRow>, digest: &[u8; 32]) -> Result<std::vec::IntoIter<Result<u64>>> {
    let found = rows.between(digest, digest)?;
    Ok(found.map(|row| Ok(row?.value)).collect::<Vec<_>>().into_iter())
}

fn all_of<R: Fixed + std::fmt::Debug>(rows: Table<'_, R>) -> Result<String> {
    all(rows.iter())
}

fn all<T: std::fmt::Debug>(rows: impl Iterator<Item = Result<T>>) -> Result<String> {
    shown(rows.collect::<Result<Vec<T>>>())
}

/// Runs every query on a checkpoint.
fn ask_all(checkpoint: &Checkpoint) -> Vec<Result<String>> {
    let mut answers = vec![
        shown(Ok((
            checkpoint.log(),
            checkpoint.position(),
            checkpoint.versions(),
        ))),
        all_of(checkpoint.digests(true)),
        all_of(checkpoint.digests(false)),
        all_of(checkpoint.commits()),
        all_of(checkpoint.commit_index(false)),
        all_of(checkpoint.commit_index(true)),
        all_of(checkpoint.first_written_rows()),
        shown(checkpoint.child_rows()),
        all_of(checkpoint.gaps()),
        shown(checkpoint.references()),
        all(checkpoint.states().iter().map(|row| {
            // A place contains the number of its file. Removes this number, so that files with different numbers can be
            // compared.
            row.map(|row| {
                (
                    row.seq,
                    row.root,
                    row.count,
                    checkpoint.newest().node_offset(row.place),
                    row.position,
                )
            })
        })),
        shown(checkpoint.history()),
    ];
    for seq in 0..4 {
        answers.push(shown(checkpoint.commit(seq)));
    }
    let middle = [0x80; 32];
    answers.push(checkpoint.digests(true).between(&[0; 32], &middle).and_then(all));
    answers.push(find(checkpoint.digests(false), &middle).and_then(all));
    answers.push(shown(checkpoint.first_written(&KeyPath::from_bytes(middle))));
    let mut parent = [0; 32];
    parent[0] = 0x80;
    answers.push(shown(checkpoint.children(&KeyPath::from_bytes(parent))));
    for index in 0..checkpoint.states().len() {
        let state = checkpoint.states().row(index);
        let trie = state.and_then(|state| checkpoint.trie(&state));
        answers.push(trie.and_then(|trie| all(trie.iter(checkpoint))));
    }
    answers
}

/// Panics unless every answer is either correct or an error for a damaged checkpoint. Returns the number of errors.
fn assert_never_wrong(checkpoint: &Checkpoint, expected: &[String], what: &str) -> usize {
    let answers = ask_all(checkpoint);
    assert_eq!(answers.len(), expected.len(), "{what}");
    let mut refused = 0;
    for (found, expected) in answers.into_iter().zip(expected) {
        match found {
            Ok(found) => assert_eq!(found, *expected, "{what}"),
            Err(error) => {
                assert!(
                    error.is_corruption() && error.code() == ErrorCode::CheckpointDamaged,
                    "{what}: {error:?}"
                );
                refused += 1;
            }
        }
    }
    refused
}

/// Creates a disk that contains one file.
fn disk_with(name: &str, content: &[u8]) -> crate::disk::MemDisk {
    let disk = crate::disk::MemDisk::new();
    disk.create(name).unwrap().write_at(0, content).unwrap();
    disk
}

/// Returns all bytes of a file.
fn content(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    crate::disk::read_full(&*file, 0, &mut bytes).unwrap();
    bytes
}

/// Creates a progress function that adds up the bytes that it receives.
fn counter() -> (Arc<std::sync::atomic::AtomicU64>, impl FnMut(u64) -> Result<()>) {
    let sum = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let shared = Arc::clone(&sum);
    let count = move |bytes| {
        shared.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    };
    (sum, count)
}

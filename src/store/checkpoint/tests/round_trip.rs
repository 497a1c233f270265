//! Tests round trips of checkpoints that are written from memory and from an older checkpoint.

use std::sync::atomic::Ordering;

use super::*;
use crate::disk::MemDisk;
use crate::error::ErrorCode;

/// Panics unless the checkpoint returns the content that was written.
fn assert_holds(checkpoint: &Checkpoint, fixture: &Fixture) {
    assert_eq!(checkpoint.log(), fixture.log);
    assert_eq!(checkpoint.position(), fixture.position);
    assert_eq!(checkpoint.versions(), fixture.versions);
    let sorted = |rows: &[DigestRow]| {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        rows
    };
    let found: Vec<_> = checkpoint.digests(true).iter().map(Result::unwrap).collect();
    assert_eq!(found, sorted(&fixture.objects));
    let found: Vec<_> = checkpoint.digests(false).iter().map(Result::unwrap).collect();
    assert_eq!(found, sorted(&fixture.texts));
    let found: Vec<_> = checkpoint.commits().iter().map(Result::unwrap).collect();
    assert_eq!(found, fixture.commits);
    let found: Vec<_> = checkpoint.gaps().iter().map(Result::unwrap).collect();
    assert_eq!(found, fixture.gaps);
    assert_eq!(checkpoint.references().unwrap(), fixture.references);
    let history = checkpoint.history().unwrap();
    assert_eq!(history.size(), fixture.history.size());
    assert_eq!(history.root(), fixture.history.root());
    assert_states(checkpoint, fixture);
    assert_lookups(checkpoint, fixture);
}

fn assert_states(checkpoint: &Checkpoint, fixture: &Fixture) {
    assert_eq!(checkpoint.states().len(), fixture.states.len() as u64);
    for (row, (seq, trie, position)) in checkpoint.states().iter().zip(&fixture.states) {
        let row = row.unwrap();
        assert_eq!((row.seq, row.position, row.count), (*seq, *position, trie.len()));
        let found = checkpoint.trie(&row).unwrap();
        let suite = suite();
        assert_eq!(found.root(suite, Shape::State, checkpoint).unwrap(), row.root);
        let found: Vec<Entry> = found.iter(checkpoint).map(Result::unwrap).collect();
        let expected: Vec<Entry> = trie.iter(&NoSource).map(Result::unwrap).collect();
        assert_eq!(found, expected);
    }
}

fn assert_lookups(checkpoint: &Checkpoint, fixture: &Fixture) {
    let newest = fixture.commits.last().map_or(0, |row| row.seq);
    for seq in 0..newest + 3 {
        let expected = fixture.commits.iter().find(|row| row.seq == seq).copied();
        assert_eq!(checkpoint.commit(seq).unwrap(), expected);
    }
    for (index, row) in fixture.commits.iter().enumerate() {
        let found = find(checkpoint.commit_index(false), row.digest.as_bytes()).unwrap();
        assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), [index as u64]);
        let found = find(checkpoint.commit_index(true), row.root.as_bytes()).unwrap();
        let expected = fixture.commits.iter().zip(0_u64..);
        let expected = expected.filter(|(other, _)| other.root == row.root);
        assert_eq!(
            found.map(Result::unwrap).collect::<Vec<_>>(),
            expected.map(|(_, index)| index).collect::<Vec<_>>()
        );
    }
    for (key, created) in &fixture.first_written {
        assert_eq!(checkpoint.first_written(key).unwrap(), Some(*created));
        let mut other = *key.as_bytes();
        other[31] ^= 1;
        assert_eq!(
            checkpoint.first_written(&KeyPath::from_bytes(other)).unwrap(),
            None
        );
    }
}

#[test]
fn lines_are_in_files_of_their_own_version() {
    let mut fixture = Fixture::new(46, 30, 6);
    let disk = MemDisk::new();
    let plain = fixture.write(&disk, &NoSource).unwrap();
    assert_eq!(content(&disk, &plain.name)[8..12], 2_u32.to_le_bytes());
    fixture.lines = vec![vec![1, 2, 3], Vec::new(), vec![7; 9_000]];
    let disk = MemDisk::new();
    let file = fixture.write(&disk, &NoSource).unwrap();
    assert_eq!(content(&disk, &file.name)[8..12], 3_u32.to_le_bytes());
    let checkpoint = open_newest(&disk, log_id(), true).unwrap().0.unwrap();
    assert_eq!(checkpoint.lines().unwrap(), fixture.lines);
    assert_eq!(check(&disk, log_id(), &mut |_| Ok(())).unwrap(), []);
}

#[test]
fn what_was_written_comes_back() {
    for (seed, (size, commits)) in [(0, 0), (0, 1), (1, 1), (2, 2), (40, 7), (3_000, 30)]
        .into_iter()
        .enumerate()
    {
        let fixture = Fixture::new(seed as u64, size, commits);
        let disk = MemDisk::new();
        let file = fixture.write(&disk, &NoSource).unwrap();
        for map in [true, false] {
            let (found, findings) = open_newest(&disk, fixture.log, map).unwrap();
            let found = found.unwrap();
            assert_eq!((found.name(), found.number()), (file.name.as_str(), 1));
            assert!(findings.is_empty());
            assert_holds(&found, &fixture);
        }
        assert_eq!(list(&disk).unwrap(), [file]);
        assert_eq!(check(&disk, fixture.log, &mut |_| Ok(())).unwrap(), []);
    }
}

#[test]
fn commits_of_equal_roots_are_all_found() {
    let mut fixture = Fixture::new(1, 30, 6);
    let last = fixture.commits.last().unwrap().seq;
    let trie = fixture.states[0].1.clone();
    fixture.commit(last + 1, &trie, &mut SplitMix64::new(4));
    fixture.states.push((last + 1, trie, Position::START));
    let disk = MemDisk::new();
    fixture.write(&disk, &NoSource).unwrap();
    assert_holds(&open(&disk, fixture.log), &fixture);
}

#[test]
fn states_that_are_stored_are_copied_with_what_changed_since() {
    let mut random = SplitMix64::new(9);
    let mut fixture = Fixture::new(5, 900, 9);
    let disk = MemDisk::new();
    fixture.write(&disk, &NoSource).unwrap();
    for round in 0..4 {
        let old = open(&disk, fixture.log);
        // Only the older checkpoint contains the past states. The head's state is changed in memory.
        let rows: Vec<StateRow> = old.states().iter().map(Result::unwrap).collect();
        let mut tries: Vec<(u64, Trie, Position)> = rows
            .iter()
            .map(|row| (row.seq, old.trie(row).unwrap(), row.position))
            .collect();
        let (seq, mut head, _) = tries.last().unwrap().clone();
        let mut edited = fixture.states.last().unwrap().1.clone();
        let first = edited.iter(&NoSource).nth(round * 7).unwrap().unwrap();
        head.remove(&first.key, &old).unwrap();
        edited.remove(&first.key, &NoSource).unwrap();
        for entry in (0..20).map(|_| random_entry(&mut random)) {
            head.insert(entry, &old).unwrap();
            edited.insert(entry, &NoSource).unwrap();
        }
        fixture.commit(seq + 1, &edited, &mut random);
        fixture.states.push((seq + 1, edited, Position::START));
        tries.push((seq + 1, head, Position::START));
        let states = states_of(&tries);
        let contents = Contents {
            objects: Box::new(old.digests(true).iter()),
            texts: Box::new(old.digests(false).iter()),
            first_written: Box::new(old.first_written_rows().iter()),
            references: old.references().unwrap(),
            ..fixture.contents(states)
        };
        let file = write_alone(&disk, contents, &old, &mut |_| Ok(())).unwrap();
        assert_eq!(file.number, round as u64 + 2);
        assert_holds(&open(&disk, fixture.log), &fixture);
        assert_eq!(list(&disk).unwrap().len(), 1);
    }
}

#[test]
fn states_share_their_nodes_in_the_file() {
    let one = Fixture::new(6, 5_000, 1);
    let mut many = Fixture::new(6, 5_000, 1);
    let mut random = SplitMix64::new(1);
    for seq in 1..20 {
        let mut trie = many.states.last().unwrap().1.clone();
        trie.insert(random_entry(&mut random), &NoSource).unwrap();
        many.commit(seq, &trie, &mut random);
        many.states.push((seq, trie, Position::START));
    }
    let bytes = [&one, &many].map(|fixture| {
        let disk = MemDisk::new();
        let file = fixture.write(&disk, &NoSource).unwrap();
        assert_holds(&open(&disk, fixture.log), fixture);
        content(&disk, &file.name).len()
    });
    assert!(bytes[1] < bytes[0] + bytes[0] / 8, "{bytes:?}");
}

#[test]
fn the_earliest_of_two_times_and_one_of_two_equal_rows_count() {
    let fixture = Fixture::new(7, 8, 2);
    let states = fixture.states();
    let key = KeyPath::from_bytes([3; 32]);
    let row = DigestRow {
        prefix: Prefix(5),
        value: 6,
    };
    let other = DigestRow {
        prefix: Prefix(5),
        value: 4,
    };
    let contents = Contents {
        first_written: Box::new(
            [30, 10, 20]
                .into_iter()
                .map(|created| Ok(FirstWritten { key, created })),
        ),
        objects: Box::new([row, other, row].into_iter().map(Ok)),
        ..fixture.contents(states)
    };
    let disk = MemDisk::new();
    write_alone(&disk, contents, &NoSource, &mut |_| Ok(())).unwrap();
    let checkpoint = open(&disk, fixture.log);
    assert_eq!(checkpoint.first_written(&key).unwrap(), Some(10));
    let found: Vec<_> = checkpoint.digests(true).iter().map(Result::unwrap).collect();
    assert_eq!(found, [other, row]);
}

#[test]
fn contents_that_contradict_themselves_are_not_taken() {
    let fixture = Fixture::new(8, 40, 5);

    let backwards: Vec<State> = fixture.states().into_iter().rev().collect();
    let mut wrong_root = fixture.commits.clone();
    wrong_root.last_mut().unwrap().root = Root::from_bytes([1; 32]);
    let mut wrong_time = fixture.commits.clone();
    wrong_time[1].time = i64::MAX;
    let reversed: Vec<CommitRow> = fixture.commits.iter().rev().copied().collect();
    let cases: [Contents<'_>; 4] = [
        fixture.contents(backwards),
        Contents {
            commits: given(&wrong_root),
            ..fixture.contents(fixture.states())
        },
        Contents {
            commits: given(&wrong_time),
            ..fixture.contents(fixture.states())
        },
        Contents {
            commits: given(&reversed),
            ..fixture.contents(fixture.states())
        },
    ];
    let disk = MemDisk::new();
    for contents in cases {
        let error = write_alone(&disk, contents, &NoSource, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointDamaged, "{error:?}");
        assert_eq!(list(&disk).unwrap(), []);
    }
    fixture.write(&disk, &NoSource).unwrap();
}

#[test]
fn progress_is_told_and_ends_the_work() {
    let fixture = Fixture::new(8, 40_000, 2);
    let disk = MemDisk::new();
    let (sum, mut count) = counter();
    let file = fixture.write_telling(&disk, &NoSource, &mut count).unwrap();
    let told = sum.load(Ordering::Relaxed);
    let whole = 2 * content(&disk, &file.name).len() as u64;
    assert!((whole - whole / 100..=whole).contains(&told), "{told} of {whole}");
    for limit in 0..6 {
        let mut left = limit;
        let mut stop = |_| {
            left -= 1;
            if left < 0 {
                Err(Error::conflict("enough"))
            } else {
                Ok(())
            }
        };
        let error = fixture.write_telling(&disk, &NoSource, &mut stop).unwrap_err();
        assert_eq!(error.message(), "enough");
        assert_eq!(list(&disk).unwrap(), std::slice::from_ref(&file));
    }
    let error = check(&disk, fixture.log, &mut |_| Err(Error::conflict("enough"))).unwrap_err();
    assert_eq!(error.message(), "enough");
}

#[test]
fn a_file_with_everything_replaces_the_older_ones_and_takes_a_new_number() {
    let disk = MemDisk::new();
    let fixture = Fixture::new(9, 5, 2);
    let write = || fixture.write(&disk, &NoSource).unwrap().number;
    let names = || -> Vec<String> { list(&disk).unwrap().into_iter().map(|file| file.name).collect() };
    assert_eq!([write(), write(), write()], [1, 2, 3]);
    // Simulates another process that is writing a checkpoint, or was interrupted.
    disk.create("checkpoint/00000004.ckpt.tmp").unwrap();
    disk.create("checkpoint/notes.txt").unwrap();
    disk.create("checkpoint/9.ckpt").unwrap();
    let found = check(&disk, fixture.log, &mut |_| Ok(())).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].severity, found[0].damage.file.as_str()),
        (Severity::Harmless, "checkpoint/00000004.ckpt.tmp")
    );
    assert_eq!(write(), 5);
    assert_eq!(names(), ["checkpoint/00000005.ckpt"]);
    assert_eq!(remove_all(&disk).unwrap(), 1);
    assert_eq!(names(), [""; 0]);
    assert_eq!(remove_all(&disk).unwrap(), 0);
    assert_eq!(disk.list(FOLDER).unwrap(), ["9.ckpt", "notes.txt"]);
}

#[test]
fn checkpoints_of_another_log_are_passed_over() {
    let disk = MemDisk::new();
    let mut fixture = Fixture::new(10, 5, 2);
    let older = fixture.write(&disk, &NoSource).unwrap();
    let bytes = content(&disk, &older.name);
    fixture.log.epoch += 1;
    fixture.write(&disk, &NoSource).unwrap();
    disk.create(&older.name).unwrap().write_at(0, &bytes).unwrap();
    let newer = fixture.log;
    for (log, number, severity) in [
        (newer, Some(2), None),
        (log_id(), Some(1), Some(Severity::Unsure)),
        (LogId { epoch: 9, ..newer }, None, Some(Severity::Harmless)),
        (
            LogId {
                instance: [0; 16],
                ..newer
            },
            None,
            Some(Severity::Derived),
        ),
        (
            LogId {
                hash: HashAlgorithm::Sha256,
                ..newer
            },
            None,
            Some(Severity::Derived),
        ),
    ] {
        let (found, findings) = open_newest(&disk, log, true).unwrap();
        assert_eq!(found.map(|found| found.number()), number);
        assert_eq!(findings.first().map(|found| found.severity), severity);
        let findings = check(&disk, log, &mut |_| Ok(())).unwrap();
        assert_eq!(findings.len(), 2 - usize::from(number.is_some()));
    }
}

#[test]
fn the_other_hash_works_alike_and_is_not_mixed_up() {
    struct Other;
    impl NodeSource for Other {
        fn load(&self, _: &crate::trie::StoredNode) -> Result<Vec<u8>> {
            Err(Error::internal("nothing is stored"))
        }
        fn suite(&self) -> HashSuite {
            HashSuite::new(HashAlgorithm::Sha256)
        }
    }
    let disk = MemDisk::new();
    let mut fixture = Fixture::new(11, 50, 1);
    let error = fixture.write(&disk, &Other).unwrap_err();
    assert!(error.is_corruption(), "{error:?}");
    fixture.log.hash = HashAlgorithm::Sha256;
    let error = fixture.write(&disk, &NoSource).unwrap_err();
    assert!(error.is_corruption(), "{error:?}");
    let sha = HashSuite::new(HashAlgorithm::Sha256);
    let root = fixture.states[0].1.root(sha, Shape::State, &NoSource).unwrap();
    fixture.commits[0].root = root;
    fixture.write(&disk, &Other).unwrap();
    let checkpoint = open(&disk, fixture.log);
    let state = checkpoint.states().row(0).unwrap();
    assert_eq!(state.root, root);
    assert_eq!(checkpoint.trie(&state).unwrap().iter(&checkpoint).count(), 50);
}

#[test]
fn counts_beyond_32_bits_are_not_counted() {
    let mut fixture = Fixture::new(12, 5, 1);
    for (most, kept) in [
        (u64::from(u32::MAX) - 1, true),
        (u64::from(u32::MAX), false),
        (1 << 40, false),
    ] {
        let counts = ChangeCounts {
            changed: most,
            ..ChangeCounts::default()
        };
        fixture.commits[0].counts = Some(counts);
        let disk = MemDisk::new();
        fixture.write(&disk, &NoSource).unwrap();
        let found = open(&disk, fixture.log).commit(0).unwrap().unwrap();
        assert_eq!(found.counts, kept.then_some(counts));
    }
}

#[test]
fn prefixes_are_in_the_order_of_digests() {
    let mut random = SplitMix64::new(3);
    let mut digests: Vec<[u8; 32]> = (0..100).map(|_| random.digest()).collect();
    digests.sort_unstable();
    assert!(digests.is_sorted_by_key(prefix_of));
}

//! Measures the cost of checkpoints. Run it with `cargo test --release --lib checkpoint_figures -- --ignored
//! --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::*;
use crate::disk::FileDisk;

/// Creates a store of `size` ids in commits of one hundred ids each, with ten past states.
fn large(size: usize) -> Fixture {
    let mut random = SplitMix64::new(size as u64);
    let mut fixture = Fixture::new(1, 0, 0);
    let entries: Vec<Entry> = (0..size).map(|_| random_entry(&mut random)).collect();
    fixture.objects = rows_of_digests(&mut random, size);
    let mut trie = Trie::from_entries(entries);
    let commits = (size as u64 / 100).max(11);
    for seq in 0..commits {
        if seq + 11 > commits {
            for _ in 0..100 {
                trie.insert(random_entry(&mut random), &NoSource).unwrap();
            }
            fixture.states.push((seq, trie.clone(), Position::START));
        }
        fixture.commit(seq, &trie, &mut random);
    }
    fixture
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

#[test]
#[ignore = "prints measurements, and has no expected values"]
fn checkpoint_figures() {
    for size in [10_000, 100_000, 1_000_000] {
        let fixture = large(size);
        let folder = tempfile::tempdir().unwrap();
        let disk = FileDisk::open(folder.path()).unwrap();
        let start = Instant::now();
        let file = fixture.write(&disk, &NoSource).unwrap();
        let written = milliseconds(start);
        let start = Instant::now();
        let checkpoint = open(&disk, fixture.log);
        let opened = milliseconds(start);
        let rows: Vec<StateRow> = checkpoint.states().iter().map(Result::unwrap).collect();
        let head = checkpoint.trie(rows.last().unwrap()).unwrap();
        let entries: Vec<Entry> = fixture
            .states
            .last()
            .unwrap()
            .1
            .iter(&NoSource)
            .map(Result::unwrap)
            .collect();
        let wanted: Vec<&Entry> = entries.iter().step_by(size / 1_000).collect();
        let mut microseconds = Vec::new();
        for _ in 0..2 {
            let start = Instant::now();
            for entry in &wanted {
                assert!(black_box(head.get(&entry.key, &checkpoint).unwrap()).is_some());
            }
            microseconds.push(milliseconds(start) * 1_000.0 / wanted.len() as f64);
            let start = Instant::now();
            for row in fixture.objects.iter().step_by(size / 1_000) {
                let digest = [row.prefix.0.swap_bytes().to_le_bytes(); 4]
                    .concat()
                    .try_into()
                    .unwrap();
                assert!(find(checkpoint.digests(true), &digest).unwrap().next().is_some());
            }
            microseconds.push(milliseconds(start) * 1_000.0 / 1_000.0);
        }
        let stored: Vec<(u64, Trie, Position)> = rows
            .iter()
            .map(|row| (row.seq, checkpoint.trie(row).unwrap(), row.position))
            .collect();
        let states = states_of(&stored);
        let start = Instant::now();
        write_alone(&disk, fixture.contents(states), &checkpoint, &mut |_| Ok(())).unwrap();
        let copied = milliseconds(start);
        let bytes = content(&disk, &file.name).len();
        println!(
            "{size} entries, {} commits, {} states: {} bytes ({:.1} an entry); written in {written:.0} ms, from an older \
             one in {copied:.0} ms; opened in {opened:.3} ms; get of an id {:.2} us first, {:.2} us again; place of a \
             digest {:.2} us first, {:.2} us again",
            fixture.commits.len(),
            rows.len(),
            bytes,
            bytes as f64 / size as f64,
            microseconds[0],
            microseconds[2],
            microseconds[1],
            microseconds[3],
        );
    }
}

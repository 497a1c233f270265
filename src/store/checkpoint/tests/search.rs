//! Tests that searches in the tables find every row, for any distribution of the digests.

use super::*;
use crate::disk::MemDisk;

/// Creates a digest from a prefix of eight bytes. All other bytes are `fill`.
fn digest(prefix: u64, fill: u8) -> [u8; 32] {
    let mut digest = [fill; 32];
    digest[..8].copy_from_slice(&prefix.swap_bytes().to_le_bytes());
    digest
}

/// Panics unless searches for each prefix in `wanted`, and for ranges that start there, find the same rows as a full
/// scan.
fn assert_found(checkpoint: &Checkpoint, rows: &[DigestRow], wanted: &[u64]) {
    for (&low, &high) in wanted.iter().zip(wanted.iter().skip(1).chain([&u64::MAX])) {
        let found = find(checkpoint.digests(true), &digest(low, 0x55)).unwrap();
        let expected = rows.iter().filter(|row| row.prefix.0 == low).map(|row| row.value);
        assert_eq!(
            found.map(Result::unwrap).collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "{low:x}"
        );
        let found = checkpoint
            .digests(true)
            .between(&digest(low, 0), &digest(high, 0xff))
            .unwrap();
        let expected = rows.iter().filter(|row| (low..=high).contains(&row.prefix.0));
        assert_eq!(
            found.map(Result::unwrap).collect::<Vec<_>>(),
            expected.copied().collect::<Vec<_>>(),
            "{low:x} to {high:x}"
        );
    }
}

#[test]
fn every_prefix_is_found_however_they_are_spread() {
    let mut random = SplitMix64::new(2);
    let spreads: [fn(u64, &mut SplitMix64) -> u64; 8] = [
        |_, random| random.next_u64(),
        |index, _| index,
        |index, _| u64::MAX - index,
        |index, _| index * 3 % 700,
        |_, _| 0,
        |_, _| u64::MAX,
        |_, _| 1 << 63,
        |index, random| {
            if index % 2 == 0 {
                random.next_u64()
            } else {
                random.next_u64() >> 40
            }
        },
    ];
    for (number, spread) in spreads.iter().enumerate() {
        for size in [0, 1, 2, 65, 3_000] {
            let mut fixture = Fixture::new(1, 0, 1);
            let row = |value| DigestRow {
                prefix: Prefix(spread(value, &mut random)),
                value,
            };
            fixture.objects = (0..size).map(row).collect();
            let disk = MemDisk::new();
            fixture.write(&disk, &NoSource).unwrap();
            fixture.objects.sort_unstable();
            let mut wanted = vec![0, 1, 699, 700, 1 << 63, u64::MAX - 1, u64::MAX];
            for _ in 0..20 {
                wanted.push(random.next_u64());
            }
            for index in 0..fixture.objects.len().min(40) {
                let row = fixture.objects[index * fixture.objects.len() / 40.min(fixture.objects.len())];
                wanted.extend([
                    row.prefix.0,
                    row.prefix.0.saturating_add(1),
                    row.prefix.0.saturating_sub(1),
                ]);
            }
            wanted.sort_unstable();
            wanted.dedup();
            assert_eq!(
                check(&disk, fixture.log, &mut |_| Ok(())).unwrap(),
                [],
                "{number}"
            );
            assert_found(&open(&disk, fixture.log), &fixture.objects, &wanted);
        }
    }
}

#[test]
fn a_lookup_touches_few_blocks() {
    let mut fixture = Fixture::new(3, 0, 1);
    fixture.objects = rows_of_digests(&mut SplitMix64::new(5), 200_000);
    let disk = MemDisk::new();
    fixture.write(&disk, &NoSource).unwrap();
    let mut worst = 0;
    for row in fixture.objects.iter().step_by(1_999) {
        let checkpoint = open(&disk, fixture.log);
        let found = find(checkpoint.digests(true), &digest(row.prefix.0, 0)).unwrap();
        assert_eq!(found.map(Result::unwrap).collect::<Vec<_>>(), [row.value]);
        worst = worst.max(checkpoint.newest().blocks().checked_count());
    }
    assert!(worst <= 8, "{worst} of 781 blocks for one lookup");
}

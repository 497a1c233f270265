//! Tests of closed logs: their manifests, their segments, and clones of them.

use super::*;
use crate::digest::HashAlgorithm;
use crate::error::ErrorKind;
use crate::log::{Batch, RecordKind};
use crate::testing::random::SplitMix64;

fn empty(epoch: u32) -> ClosedLog {
    let format = Format {
        format: 1,
        hash: HashAlgorithm::Blake3,
        lineage: [1; 16],
        instance: [2; 16],
        features: 0,
    };
    ClosedLog::new(format.closed([3; 16]), Purpose::Shared, Source::default(), epoch)
}

fn group(texts: &[&str]) -> Group {
    let batch = |text: &&str| {
        let mut batch = BatchBuilder::new();
        batch.add(RecordKind::Text, 0, text.as_bytes());
        (batch, CommitDigest::from_bytes([text.len() as u8; 32]))
    };
    texts.iter().map(batch).collect()
}

fn texts(batches: &[Batch]) -> Vec<String> {
    let bodies = batches.iter().flat_map(|batch| &batch.records);
    bodies
        .map(|record| String::from_utf8_lossy(&record.body).into_owned())
        .collect()
}

fn sample() -> (ClosedLog, Vec<NewSegment>) {
    let (mut log, mut files) = (empty(1), Vec::new());
    for (id, first, content) in [
        (4, 1, &["a", "bb"][..]),
        (2, 3, &["ccc"]),
        (9, 7, &["d", "ee", "f"]),
    ] {
        let mut segment = NewSegment::encode(&log, id + 1, [id as u8; 16], first, group(content)).unwrap();
        segment.number(&log, id);
        log = log.with(&segment, CommitDigest::from_bytes([1; 32]));
        files.push(segment);
    }
    log.lines.push(ClosedLine {
        name: "at-1".to_owned(),
        base: log.head,
        head: CommitDigest::from_bytes([5; 32]),
    });
    (log, files)
}

#[test]
fn a_closed_log_reads_back() {
    let (log, files) = sample();
    let manifest = log.encode();
    assert_eq!(
        ClosedLog::decode(log.format, &manifest).unwrap(),
        Some(log.clone())
    );
    assert_eq!(Format::of_bytes(&log.format.to_bytes()).unwrap(), log.format);
    let read: Vec<_> = (0..3)
        .map(|index| log.read(index, files[index].bytes().to_vec()).unwrap().batches)
        .collect();
    assert_eq!(
        read.iter().map(|batches| texts(batches)).collect::<Vec<_>>(),
        [vec!["a", "bb"], vec!["ccc"], vec!["d", "ee", "f"]]
    );
    assert_eq!(read[2][0].number, 7);
    // A reader of plain stores ignores the section.
    let plain = &manifest[..plain_length(&manifest).unwrap()];
    let (of_store, closed) = (
        Manifest::decode(plain).unwrap(),
        Manifest::decode(&manifest).unwrap(),
    );
    assert_eq!(of_store.encode(), closed.encode());
    assert_eq!((of_store.is_closed, closed.is_closed), (false, true));
    assert_eq!(ClosedLog::decode(log.format, plain).unwrap(), None);
    assert!(
        ClosedLog::decode(
            Format {
                instance: [9; 16],
                ..log.format
            },
            &manifest
        )
        .is_err()
    );
}

/// CLO-1: no changed byte is read as good data, nor as a shorter log.
#[test]
fn no_changed_byte_passes() {
    let (log, files) = sample();
    let (manifest, mut random) = (log.encode(), SplitMix64::new(4));
    let changed = |bytes: &[u8], random: &mut SplitMix64| {
        let mut bytes = bytes.to_vec();
        match random.below(3) {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => bytes.extend(random.bytes(16)),
            _ => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        bytes
    };
    for _ in 0..3_000 {
        let bytes = changed(&manifest, &mut random);
        match ClosedLog::decode(log.format, &bytes) {
            // Only the whole section is missing, so this is no closed log.
            Ok(read) => assert_eq!((read, bytes.len()), (None, plain_length(&manifest).unwrap())),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
        let index = random.below(files.len());
        let error = log
            .read(index, changed(files[index].bytes(), &mut random))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    assert!(log.read(0, files[1].bytes().to_vec()).is_err(), "another segment");
}

/// A segment that ends before its last seal is damage, even if the section had its digest.
#[test]
fn a_segment_that_does_not_end_at_its_seal_is_refused() {
    let (mut log, files) = sample();
    let whole = files[2].bytes();
    for length in (4_096..whole.len()).step_by(16) {
        let cut = whole[..length].to_vec();
        log.segments[2].length = cut.len() as u64;
        log.segments[2].digest = log.suite().hash_bytes(crate::digest::Domain::Segment, &cut);
        assert!(log.read(2, cut).is_err(), "{length}");
    }
}

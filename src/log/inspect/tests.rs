//! Tests that named parts contain the written bytes, and that inspection reports damage together with the bytes.

use super::*;
use crate::digest::{CommitDigest, HashAlgorithm, Root};
use crate::disk::MemDisk;
use crate::log::{BatchBuilder, Durability, HeadMark, LINK_BYTES, RecordKind};
use std::time::Duration;

fn mark(number: u8) -> HeadMark {
    HeadMark {
        commit: CommitDigest::from_bytes([number; 32]),
        root: Root::from_bytes([number; 32]),
        seq: u64::from(number),
    }
}

fn batch(bodies: &[&[u8]]) -> BatchBuilder {
    let mut batch = BatchBuilder::new();
    for body in bodies {
        batch.add(RecordKind::Text, 0, body);
    }
    batch
}

/// Creates a log of two batches on a disk in memory.
fn written() -> (Arc<dyn Disk>, Inspection) {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let options = LogOptions::default();
    let mut log = Log::create(
        Arc::clone(&disk),
        HashAlgorithm::Blake3,
        batch(&[b"one"]),
        mark(1),
        options,
    )
    .unwrap();
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    log.append(
        &lock,
        vec![(batch(&[b"two", b"three"]), mark(2))],
        Durability::Synced,
    )
    .unwrap();
    let inspection = Inspection::new(Arc::clone(&disk));
    (disk, inspection)
}

fn part<'a>(parts: &'a [Part], name: &str) -> &'a Part {
    parts
        .iter()
        .find(|part| part.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn number(parts: &[Part], name: &str) -> u64 {
    let mut bytes = [0; 8];
    let part = part(parts, name);
    bytes[..part.bytes.len()].copy_from_slice(&part.bytes);
    u64::from_le_bytes(bytes)
}

#[test]
fn every_byte_of_the_small_files_has_a_name_that_fits() {
    let (disk, inspection) = written();
    let log = Log::open(Arc::clone(&disk), Mode::ReadOnly, LogOptions::default()).unwrap();
    let files = [
        (StoreFile::Format, FORMAT_BYTES),
        (StoreFile::Live, LIVE_BYTES),
        (StoreFile::Manifest, 40 + 64 + 4),
        (StoreFile::Segment(1), SEGMENT_HEADER_BYTES),
    ];
    for (file, length) in files {
        let layout = inspection.layout(file).unwrap();
        assert_eq!(layout.trouble, None, "{file:?}");
        let mut at = 0;
        for part in &layout.parts {
            assert_eq!(part.offset, at, "{file:?} {}", part.name);
            at += part.bytes.len() as u64;
        }
        assert_eq!(at, length as u64, "{file:?}");
    }
    let format = inspection.layout(StoreFile::Format).unwrap().parts;
    assert_eq!(part(&format, "instance").bytes, log.format.instance);
    assert_eq!(part(&format, "lineage").bytes, log.format.lineage);
    assert_eq!(number(&format, "hash"), u64::from(HashAlgorithm::Blake3.tag()));
    let live = log.read_live().unwrap().unwrap();
    let parts = inspection.layout(StoreFile::Live).unwrap().parts;
    assert_eq!(number(&parts, "durable offset"), live.offset);
    assert_eq!((number(&parts, "batch"), number(&parts, "seq")), (2, 2));
    assert_eq!(part(&parts, "root").bytes, [2; 32]);
    let manifest = inspection.layout(StoreFile::Manifest).unwrap().parts;
    assert_eq!(
        (number(&manifest, "segments"), number(&manifest, "first batch")),
        (1, 1)
    );
    let header = log.segment(1).unwrap().header;
    let parts = inspection.layout(StoreFile::Segment(1)).unwrap().parts;
    assert_eq!(part(&parts, "nonce").bytes, header.nonce);
}

#[test]
fn frames_come_one_after_the_other_with_their_bodies() {
    let (_, inspection) = written();
    let found: Vec<Found> = inspection
        .frames(1, 0)
        .unwrap()
        .map(|found| found.unwrap())
        .collect();
    let frames: Vec<&Frame> = found
        .iter()
        .filter_map(|found| match found {
            Found::Frame(frame) => Some(frame),
            Found::Gap { .. } => None,
        })
        .collect();
    let kinds: Vec<&str> = frames.iter().map(|frame| frame.kind.name()).collect();
    assert_eq!(kinds, ["text", "seal", "text", "text", "seal"]);
    assert_eq!(frames[3].body, b"three");
    assert_eq!((frames[3].batch, frames[3].offset % 16), (2, 0));
    assert_eq!(number(&frames[3].header, "length"), 5);
    let seal = seal_parts(&frames[4].body, frames[4].offset + 32);
    assert_eq!(number(&seal, "start"), frames[2].offset);
    assert_eq!(number(&seal, "length"), frames[4].offset - frames[2].offset);
    assert_eq!(part(&seal, "commit").bytes, [2; 32]);
    assert!(
        matches!(found.last(), Some(Found::Gap { trouble: None, .. })),
        "{:?}",
        found.last()
    );
    assert_eq!(inspection.frames(7, 0).err().unwrap().code(), "no_segment");
}

#[test]
fn no_frame_is_looked_for_behind_the_file() {
    let (disk, inspection) = written();
    let end = disk
        .open("log/00000001.seg", Access::Read)
        .unwrap()
        .length()
        .unwrap();
    assert_eq!(inspection.frames(1, end).unwrap().count(), 0);
    for offset in [end + 1, u64::MAX - 3, u64::MAX] {
        let refused = inspection.frames(1, offset).err().unwrap();
        assert_eq!(refused.code(), "no_offset", "{offset}");
    }
}

#[test]
fn lists_of_links_are_named_entry_by_entry() {
    let body: Vec<u8> = (0..=255).cycle().take(2 * LINK_BYTES).collect();
    for (parts, names) in [
        (
            link_parts(&body, 100),
            ["key path", "version", "key path", "version"],
        ),
        (unlink_parts(&body, 100), ["key path"; 4]),
    ] {
        assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), names);
        assert_eq!(
            parts.iter().map(|part| part.offset).collect::<Vec<_>>(),
            [100, 132, 164, 196]
        );
        assert_eq!(
            parts
                .iter()
                .flat_map(|part| part.bytes.clone())
                .collect::<Vec<_>>(),
            body
        );
    }
    assert_eq!(link_parts(&body[..70], 0).last().unwrap().bytes, &body[64..70]);
}

#[test]
fn damage_is_said_and_reading_goes_on_behind_it() {
    let (disk, inspection) = written();
    let file = disk.open("log/00000001.seg", Access::ReadWrite).unwrap();
    // Flips a bit of the first body, then a bit of the third frame's header.
    let first = FIRST_OFFSET + 32;
    file.write_at(first, b"O").unwrap();
    let found = inspection.frames(1, 0).unwrap().next().unwrap().unwrap();
    assert!(
        matches!(found, Found::Frame(Frame { trouble: Some(_), .. })),
        "{found:?}"
    );
    let third = match inspection.frames(1, 0).unwrap().nth(2).unwrap().unwrap() {
        Found::Frame(frame) => frame.offset,
        gap @ Found::Gap { .. } => panic!("{gap:?}"),
    };
    file.write_at(third + 8, &[0xff]).unwrap();
    let found: Vec<Found> = inspection
        .frames(1, 0)
        .unwrap()
        .map(|found| found.unwrap())
        .collect();
    assert!(
        matches!(&found[2], Found::Gap { offset, bytes: 48, trouble: Some(_) } if *offset == third),
        "{:?}",
        found[2]
    );
    assert!(
        matches!(&found[3], Found::Frame(frame) if frame.body == b"three"),
        "{:?}",
        found[3]
    );
    assert!(inspection.next_writer().unwrap_err().is_corruption());
}

#[test]
fn what_the_next_writer_would_do_is_what_it_does() {
    let (disk, inspection) = written();
    let NextWriter::GoOn { segment, offset } = inspection.next_writer().unwrap() else {
        panic!("the log is clean");
    };
    assert_eq!(segment, 1);
    // Without `live`, both batches are complete, but the second batch is not known to be durable.
    disk.remove(LIVE_NAME).unwrap();
    let plan = inspection.next_writer().unwrap();
    let NextWriter::Recover {
        sealed_at,
        again,
        torn_bytes,
        ..
    } = plan.clone()
    else {
        panic!("{plan:?}");
    };
    assert_eq!((again, torn_bytes), (vec![2], 0));
    assert!(sealed_at < offset);
    let mut log = Log::open(Arc::clone(&disk), Mode::ReadWrite, LogOptions::default()).unwrap();
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let segments = inspection.segments().unwrap();
    let states: Vec<_> = segments
        .iter()
        .map(|segment| (segment.id, segment.state, segment.sealed_bytes))
        .collect();
    assert_eq!(
        states,
        [
            (1, SegmentStanding::Sealed, Some(sealed_at)),
            (2, SegmentStanding::Active, None)
        ]
    );
    assert!(matches!(
        inspection.next_writer().unwrap(),
        NextWriter::GoOn { segment: 2, .. }
    ));
    // If a writer would refuse the log, `next_writer` returns the same error.
    let file = disk.open("log/00000001.seg", Access::ReadWrite).unwrap();
    file.write_at(FIRST_OFFSET + 32, b"O").unwrap();
    assert!(inspection.next_writer().unwrap_err().is_corruption());
}

#[test]
fn a_store_without_its_small_files_still_shows_its_frames() {
    let (disk, inspection) = written();
    for name in [LIVE_NAME, MANIFEST_NAME, FORMAT_NAME] {
        disk.remove(name).unwrap();
    }
    let missing = inspection.layout(StoreFile::Manifest).unwrap();
    assert!(missing.parts.is_empty() && missing.trouble.is_some());
    let segments = inspection.segments().unwrap();
    assert_eq!(segments.len(), 1);
    assert_eq!(segments[0].state, SegmentStanding::Unlisted);
    assert_eq!(inspection.frames(1, 0).unwrap().count(), 6);
    assert!(
        inspection
            .files()
            .unwrap()
            .iter()
            .any(|(name, _)| name == "log/00000001.seg")
    );
}

#[test]
fn segments_say_which_batches_the_manifest_has_them_for() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let options = LogOptions {
        segment_bytes_min: 8192,
        segment_bytes_max: 8192,
        ..LogOptions::default()
    };
    let body = [1; 1500];
    let first = batch(&[&body]);
    let mut log = Log::create(Arc::clone(&disk), HashAlgorithm::Blake3, first, mark(1), options).unwrap();
    let lock = log.lock(Duration::ZERO).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    for number in 2..=6 {
        let group = vec![(batch(&[&body]), mark(number))];
        log.append(&lock, group, Durability::Synced).unwrap();
    }
    let segments = Inspection::new(Arc::clone(&disk)).segments().unwrap();
    let told: Vec<_> = segments
        .iter()
        .map(|found| {
            (
                found.id,
                found.first_batch,
                found.last_batch,
                found.sealed_bytes.is_some(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (1, Some(1), Some(2), true),
            (2, Some(3), Some(4), true),
            (3, Some(5), None, false)
        ]
    );
}

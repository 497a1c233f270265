//! Compares the bytes on disk field by field with docs/format.md, without using the encoders.

use super::*;
use crate::disk::{Access, FileDisk, read_full};
use crate::testing::sim_disk::{Fault, SimDisk};

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn assert_zero(bytes: &[u8]) {
    assert!(bytes.iter().all(|byte| *byte == 0));
}

/// Creates a store of three batches in one segment.
fn store() -> (SimDisk, std::collections::BTreeMap<String, Vec<u8>>) {
    let disk = SimDisk::new(5);
    let mut log = create(&(Arc::new(disk.clone()) as Arc<dyn Disk>), SMALL);
    append(&mut log, &["second", "third"]).unwrap();
    let files = disk.files();
    (disk, files)
}

#[test]
fn the_format_file_is_as_written_down() {
    let (_, files) = store();
    let bytes = &files["format"];
    assert_eq!(bytes.len(), 128);
    assert_eq!(&bytes[..8], b"TREERING");
    assert_eq!((u32_at(bytes, 8), u32_at(bytes, 12)), (1, 1));
    assert_zero(&bytes[16..40]);
    assert_eq!(bytes[40..48], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert!(bytes[48..64] != bytes[64..80], "lineage and instance are random");
    assert_zero(&bytes[80..124]);
    assert_eq!(u32_at(bytes, 124), crc32c::crc32c(&bytes[..124]));
}

#[test]
fn live_and_manifest_are_as_written_down() {
    let (disk, files) = store();
    let instance = &files["format"][64..80];
    let live = &files["live"];
    assert_eq!(live.len(), 256);
    assert_eq!(&live[..8], b"TRlive01");
    assert_eq!(&live[8..40], &files["format"][48..80]);
    assert_eq!(live[40..56], disk.boot_id());
    assert_eq!((u64_at(live, 56), u64_at(live, 72)), (1, 3));
    assert_eq!(&live[80..112], mark(3).commit.as_bytes());
    assert_eq!(&live[112..144], mark(3).root.as_bytes());
    assert_eq!(u64_at(live, 144), 3);
    assert_zero(&live[152..252]);
    assert_eq!(u32_at(live, 252), crc32c::crc32c(&live[..252]));

    let manifest = &files["manifest"];
    assert_eq!(manifest.len(), 8 + 16 + 8 + 4 + 4 + 64 + 4);
    assert_eq!(&manifest[..8], b"TRmanif1");
    assert_eq!(&manifest[8..24], instance);
    assert_eq!(
        (u64_at(manifest, 24), u32_at(manifest, 32), u32_at(manifest, 36)),
        (1, 1, 0)
    );
    assert_eq!((u64_at(manifest, 40), u64_at(manifest, 48)), (1, 1));
    assert_zero(&manifest[56..104]);
    assert_eq!(u32_at(manifest, 104), crc32c::crc32c(&manifest[..104]));
}

#[test]
fn segment_frames_and_seals_are_as_written_down() {
    let (_, files) = store();
    let instance = files["format"][64..80].to_vec();
    let bytes = &files["log/00000001.seg"];
    assert_eq!(bytes.len(), 8192);
    assert_eq!(&bytes[..8], b"TRsegm01");
    assert_eq!((u32_at(bytes, 8), u32_at(bytes, 12)), (1, 0));
    assert_eq!(bytes[16..32], instance);
    assert_eq!(u64_at(bytes, 32), 1);
    let nonce = bytes[40..56].to_vec();
    assert_zero(&bytes[56..4092]);
    assert_eq!(u32_at(bytes, 4092), crc32c::crc32c(&bytes[..4092]));

    let mut at = 4096;
    let mut previous = vec![0; 32];
    for (number, text) in [(1, "batch 1"), (2, "second"), (3, "third")] {
        let start = at;
        let long = "x".repeat(text.len() * 3);
        for (kind, body) in [(1, text.as_bytes()), (3, long.as_bytes())] {
            check_frame(
                bytes,
                at,
                &[instance.clone(), nonce.clone()].concat(),
                kind,
                number,
                body,
            );
            at += (32 + body.len()).next_multiple_of(16);
        }
        // Batches 2 and 3 are one group, so the seals of both declare the group's start as the durable length.
        let synced = if number == 1 { 4096 } else { end_of_first(bytes) };
        let mut covered = Vec::new();
        for field in [number, start as u64, (at - start) as u64, synced] {
            covered.extend_from_slice(&field.to_le_bytes());
        }
        covered.extend_from_slice(&previous);
        covered.extend_from_slice(mark(number).commit.as_bytes());
        let mut preimage = (96 + (at - start) as u64).to_le_bytes().to_vec();
        preimage.extend_from_slice(&covered);
        preimage.extend_from_slice(&bytes[start..at]);
        preimage.resize(preimage.len().next_multiple_of(64), 0);
        previous = blake3::derive_key("treering v1 batch", &preimage).to_vec();
        covered.extend_from_slice(&previous);
        check_frame(
            bytes,
            at,
            &[instance.clone(), nonce.clone()].concat(),
            8,
            number,
            &covered,
        );
        at += 160;
    }
    assert_zero(&bytes[at..]);
    assert_eq!(u64_at(&files["live"], 64), at as u64);
}

/// Returns the end of the first batch. The batch contains a record of 7 bytes, a record of 21 bytes, and the seal.
fn end_of_first(_bytes: &[u8]) -> u64 {
    4096 + 48 + 64 + 160
}

fn check_frame(bytes: &[u8], at: usize, bound_to: &[u8], kind: u8, batch: u64, body: &[u8]) {
    let frame = &bytes[at..];
    assert_eq!(&frame[..4], b"TRf1");
    assert_eq!(frame[4..8], [kind, 0, 0, 0]);
    assert_eq!(
        (u32_at(frame, 8) as usize, u32_at(frame, 12) as usize),
        (body.len(), body.len())
    );
    assert_eq!(u64_at(frame, 16), batch);
    let seed = crc32c::crc32c(&[bound_to, &(at as u64).to_le_bytes()[..]].concat());
    assert_eq!(u32_at(frame, 24), crc32c::crc32c_append(seed, &frame[..24]));
    assert_eq!(u32_at(frame, 28), crc32c::crc32c_append(seed, body));
    assert_eq!(&frame[32..32 + body.len()], body);
    assert_zero(&frame[32 + body.len()..(32 + body.len()).next_multiple_of(16)]);
}

#[test]
fn the_second_segment_names_the_end_of_the_first() {
    let disk = SimDisk::new(5);
    let mut log = create(&(Arc::new(disk.clone()) as Arc<dyn Disk>), SMALL);
    while log.size().0 == 1 {
        let next = log.newest_batch() + 1;
        append(&mut log, &[&format!("batch {next}")]).unwrap();
    }
    let files = disk.files();
    let (manifest, second) = (&files["manifest"], &files["log/00000002.seg"]);
    assert_eq!((u64_at(manifest, 24), u32_at(manifest, 32)), (2, 2));
    let (first_entry, second_entry) = (&manifest[40..104], &manifest[104..168]);
    let length = u64_at(first_entry, 16);
    let last_batch = u64_at(first_entry, 24);
    assert_eq!((u64_at(first_entry, 0), u64_at(first_entry, 8)), (1, 1));
    assert_eq!(
        (u64_at(second_entry, 0), u64_at(second_entry, 8)),
        (2, last_batch + 1)
    );
    assert_zero(&second_entry[16..]);
    // The digest in the last seal is the last digest of the segment's chain.
    assert_eq!(
        files["log/00000001.seg"][length as usize - 32..length as usize],
        first_entry[32..64]
    );
    assert_eq!(
        (u64_at(second, 56), u64_at(second, 64), u64_at(second, 72)),
        (1, length, last_batch)
    );
    assert_eq!(second[80..112], first_entry[32..64]);
    assert_zero(&files["log/00000001.seg"][length as usize..]);
}

#[test]
fn a_sha256_store_seals_its_batches_with_sha256() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    Log::create(
        Arc::clone(&disk),
        HashAlgorithm::Sha256,
        batch("batch 1"),
        mark(1),
        SMALL,
    )
    .unwrap();
    let file = disk.open("log/00000001.seg", Access::Read).unwrap();
    let mut bytes = vec![0; 8192];
    read_full(&*file, 0, &mut bytes).unwrap();
    let (seal, end) = (4096 + 48 + 64, 4096 + 48 + 64 + 160);
    let mut preimage = b"treering v1 batch".to_vec();
    preimage.resize(64, 0);
    preimage.extend_from_slice(&(96_u64 + 112).to_le_bytes());
    preimage.extend_from_slice(&bytes[seal + 32..seal + 128]);
    preimage.extend_from_slice(&bytes[4096..seal]);
    preimage.resize(preimage.len().next_multiple_of(64), 0);
    assert_eq!(bytes[end - 32..end], crate::digest::sha256(&preimage));
    assert_eq!(read_all(&disk, Mode::ReadOnly, SMALL).unwrap().0, expected(1));
}

#[test]
fn segments_double_between_their_limits_and_hold_one_large_batch() {
    let options = LogOptions::default();
    let size = |used, needed| rotate::next_segment_bytes(&options, used, needed);
    assert_eq!(size(0, 0), 64 << 10);
    assert_eq!(size(64 << 10, 100), 128 << 10);
    assert_eq!(size(60 << 20, 100), 64 << 20);
    assert_eq!(size(0, 100 << 20), (100 << 20) + 4096);
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut log = create(&disk, SMALL);
    let large = "z".repeat(100_000);
    append(&mut log, &[&large]).unwrap();
    append(&mut log, &["batch 3"]).unwrap();
    let (texts, _) = read_all(&disk, Mode::ReadOnly, SMALL).unwrap();
    assert_eq!(texts, ["batch 1", &large, "batch 3"]);
}

/// INVARIANT SEG-1: a file grows with its groups and never shrinks.
#[test]
fn seg_1_a_segment_grows_by_groups_and_by_zeros_behind_small_ones() {
    let options = LogOptions {
        segment_bytes_max: 1 << 20,
        ..SMALL
    };
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let mut log = create(&disk, options);
    append(&mut log, &[&"y".repeat(20_000)]).unwrap();
    let (mut before, mut grown) = ((0, 0), 0);
    for number in 0..200 {
        let is_large = number == 50;
        let text = if is_large {
            "z".repeat(20_000)
        } else {
            "a short text".to_owned()
        };
        append(&mut log, &[&text]).unwrap();
        let (segment, end) = (log.cursor.segment, log.cursor.offset);
        let file = disk.open(&segment_name(segment), Access::Read).unwrap();
        let length = file.length().unwrap();
        assert!(
            end <= length && length - end <= 64 << 10,
            "{number}: {length} behind {end}"
        );
        let of_a_page = is_large.then_some(4096);
        assert_eq!(
            of_a_page.map(|_| length - end),
            of_a_page,
            "{number}: the room behind a large group"
        );
        assert!(
            segment > before.0 || length >= before.1,
            "{number}: {length} after {before:?}"
        );
        grown += usize::from((segment, length) != before);
        before = (segment, length);
    }
    assert!(grown < 20, "most small groups found room: {grown}");
    let (texts, _) = read_all(&disk, Mode::ReadOnly, options).unwrap();
    assert_eq!(texts.len(), 202);
}

/// INVARIANT SEG-1: what a reader has mapped stays in the file, whatever another handle appends and closes.
#[test]
fn seg_1_a_reader_with_a_map_follows_a_writer_that_makes_the_file_longer() {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::create(folder.path()).unwrap());
    let mut log = create(&disk, LogOptions::default());
    let mut known = append(&mut log, &["batch 2"]).unwrap();
    let other: Arc<dyn Disk> = Arc::new(FileDisk::open(folder.path()).unwrap());
    let mut follower = Log::open(other, Mode::ReadOnly, LogOptions::default()).unwrap();
    follower.start_at(&log.position()).unwrap();
    for number in 3..80 {
        if number % 20 == 0 {
            log = Log::open(Arc::clone(&disk), Mode::ReadWrite, LogOptions::default()).unwrap();
        }
        // Small groups with zeros behind them, groups that end the file, and rotations.
        let text = "x".repeat(number * 7 * (number % 7));
        append(&mut log, &[&text]).unwrap();
        follower
            .catch_up(&mut |batch| {
                known.push(batch);
                Ok(())
            })
            .unwrap();
        let reader = follower.reader();
        for record in known.iter().flat_map(|batch| &batch.records) {
            assert_eq!(&reader.read(record.locator).unwrap(), record, "{number}");
        }
    }
    assert_eq!(known.len(), 78);
    assert!(log.size().0 > 2, "it rotated");
}

#[test]
fn on_a_full_disk_no_zeros_are_added_and_the_group_is_written() {
    let options = LogOptions {
        segment_bytes_max: 1 << 20,
        ..SMALL
    };
    let small = "x".repeat(3_000);
    let room_with = |fault: Option<(u64, Fault)>| {
        let disk = SimDisk::new(1);
        let mut log = create(&(Arc::new(disk.clone()) as Arc<dyn Disk>), options);
        // A large group has a page of zeros behind it. The third group takes most of the page, and the next one ends the file.
        for text in [&"y".repeat(20_000), &"z".repeat(20_000), small.as_str()] {
            append(&mut log, &[text]).unwrap();
        }
        let before = disk.calls();
        if let Some((call, fault)) = fault {
            disk.fail_at(before + call, fault);
        }
        let appended = append(&mut log, &[&small]);
        let is_spared = fault.is_none_or(|(_, fault)| fault != Fault::Device);
        assert_eq!(appended.is_ok(), is_spared, "{fault:?}");
        assert_eq!(disk.heal(), fault.is_some());
        let length = disk.files()[&segment_name(log.cursor.segment)].len() as u64;
        (length - log.cursor.offset, disk.calls() - before)
    };
    let (room, calls) = room_with(None);
    // The sync and the write of `live` follow the zeros.
    let of_zeros = calls - 2;
    for fault in [Fault::Full, Fault::Quota] {
        assert!(room_with(Some((of_zeros, fault))).0 < room, "{fault:?}");
    }
    room_with(Some((of_zeros, Fault::Device)));
}

#[test]
fn a_log_that_made_room_knows_where_the_next_batch_begins() {
    let mut log = create(&(Arc::new(SimDisk::new(1)) as Arc<dyn Disk>), SMALL);
    for number in 2..40 {
        let builder = batch(&"x".repeat(100 + number as usize * 7));
        let lock = log.lock(NO_WAIT).unwrap();
        log.prepare(&lock, &mut |_| Ok(())).unwrap();
        log.make_room(&lock, builder.encoded_bytes()).unwrap();
        let next = log.next_record();
        let written = log.append(&lock, vec![(builder, mark(number))], Durability::Synced);
        assert_eq!(written.unwrap()[0].records[0].locator, next);
    }
    assert!(log.cursor.segment > 3);
}

#[test]
fn a_record_over_the_limit_is_refused_before_anything_is_written() {
    let disk = SimDisk::new(1);
    let mut log = create(&(Arc::new(disk.clone()) as Arc<dyn Disk>), SMALL);
    let lock = log.lock(NO_WAIT).unwrap();
    log.prepare(&lock, &mut |_| Ok(())).unwrap();
    let calls = disk.calls();
    let mut builder = BatchBuilder::new();
    builder.add(RecordKind::Text, 0, &vec![1; BODY_BYTES_MAX + 1]);
    let refused = log
        .append(&lock, vec![(builder, mark(2))], Durability::Synced)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(disk.calls(), calls);
    log.append(&lock, vec![(batch("batch 2"), mark(2))], Durability::Synced)
        .unwrap();
}

#[test]
fn a_batch_with_a_frame_of_another_number_is_none() {
    for number in [2, 7] {
        let disk = SimDisk::new(5);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let log = create(&shared, SMALL);
        let segment = log.segment(1).unwrap();
        let after = batch::Continue {
            segment: 1,
            seed: segment.header.seed(),
            start: log.cursor.offset,
            synced_upto: log.cursor.offset,
            chain: log.cursor.chain(),
        };
        let group = vec![(batch("batch 2"), mark(2).commit)];
        let (bytes, _) = batch::encode_group(group, log.suite, after).unwrap();
        let mut bytes = bytes.to_vec();
        frame::finish_frame(&mut bytes, after.seed, after.start, number);
        // All other parts stay valid: checksums, seal and digest.
        let seal_at = bytes.len() - framed_bytes(seal::SEAL_BYTES);
        let (frames, sealing) = bytes.split_at_mut(seal_at);
        let body = &mut sealing[frame::FRAME_HEADER_BYTES..][..seal::SEAL_BYTES];
        let (seal, _) = seal::Seal::decode(body).unwrap();
        body.copy_from_slice(&seal.encode(seal.digest(log.suite, frames)));
        frame::finish_frame(sealing, after.seed, after.start + seal_at as u64, 2);
        let start = after.start as usize;
        disk.overwrite(&segment.name(), |content| {
            content[start..start + bytes.len()].copy_from_slice(&bytes);
        });
        disk.remove_file("live");
        let (texts, _) = read_all(&shared, Mode::ReadOnly, SMALL).unwrap();
        assert_eq!(texts, expected(if number == 2 { 2 } else { 1 }));
    }
}

//! Tests that damage is reported or has no effect, and that no answer is wrong.

use super::header::{Header, SECTIONS, Section};
use super::*;
use crate::disk::MemDisk;
use crate::error::ErrorCode;
use crate::testing::sim_disk::SimDisk;

const NAME: &str = "checkpoint/00000001.ckpt";

/// Opens `bytes` as a checkpoint, once mapped and once read. Returns the lower number of queries that return an error,
/// or `None` if the file does not open.
fn judge(bytes: &[u8], expected: &[String], what: &str) -> Option<usize> {
    let disk = disk_with(NAME, bytes);
    let mut refused = Vec::new();
    for map in [true, false] {
        let (found, findings) = open_newest(&disk, log_id(), map).unwrap();
        match found {
            Some(found) => refused.push(assert_never_wrong(&found, expected, what)),
            None => {
                assert_eq!(findings.len(), 1, "{what}");
                assert_eq!(
                    (findings[0].severity, findings[0].damage.file.as_str()),
                    (Severity::Derived, NAME),
                    "{what}"
                );
            }
        }
    }
    assert_ne!(refused.len(), 1, "{what}");
    let findings = check(&disk, log_id(), &mut |_| Ok(())).unwrap();
    assert!(!findings.is_empty(), "{what} is not found");
    refused.into_iter().min()
}

/// Creates a small checkpoint. Returns its bytes and the expected answers.
fn small(seed: u64) -> (Vec<u8>, Vec<String>) {
    let fixture = Fixture::new(seed, 12, 4);
    let disk = MemDisk::new();
    fixture.write(&disk, &NoSource).unwrap();
    (content(&disk, NAME), fixture.answers())
}

#[test]
fn ckp_1_every_flipped_byte_is_told_or_does_no_harm() {
    let (good, expected) = small(1);
    let disk = disk_with(NAME, &good);
    assert_eq!(assert_never_wrong(&open(&disk, log_id()), &expected, "whole"), 0);
    let header = Header::decode(&good[..4096], good.len() as u64).unwrap();
    let blocks = 4096..header.table_offset() as usize;
    let sums_at = blocks.end + 4 * header.blocks() as usize;
    let mut refused = 0;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        let opened = judge(&bad, &expected, &format!("byte {at}"));
        assert_eq!(
            opened.is_some(),
            (blocks.start..sums_at).contains(&at),
            "byte {at}: opening reads this byte"
        );
        refused += opened.unwrap_or(0);
    }
    assert!(refused > blocks.len() / 2, "{refused}");
}

#[test]
fn ckp_1_a_file_of_another_length_does_not_open() {
    let (good, expected) = small(2);
    for length in 0..good.len() {
        let opened = judge(&good[..length], &expected, &format!("{length} bytes"));
        assert_eq!(opened, None);
    }
    for extra in [1, 4, 4096, 4100] {
        let mut bad = good.clone();
        bad.resize(good.len() + extra, 0);
        assert_eq!(judge(&bad, &expected, &format!("{extra} more")), None);
    }
}

#[test]
fn ckp_1_blocks_of_zeros_and_of_other_checkpoints_are_told() {
    let large = |seed| {
        let mut fixture = Fixture::new(seed, 400, 20);
        // Both files have the same layout, so a block of one file fits into the other.
        fixture.gaps.clear();
        let disk = MemDisk::new();
        fixture.write(&disk, &NoSource).unwrap();
        (content(&disk, NAME), fixture.answers())
    };
    let ((good, expected), (other, _)) = (large(3), large(4));
    assert!(good.len() > 10 * 4096);
    let blocks = good.len().div_ceil(4096);
    for block in 0..blocks {
        let range = block * 4096..((block + 1) * 4096).min(good.len());
        let zeros = vec![0; range.len()];
        let foreign = other.get(range.clone()).unwrap_or(&zeros);
        let next = (block + 1) % (blocks - 1) * 4096;
        let moved = &good[next..next + range.len()];
        for (what, content) in [("zeros", &zeros[..]), ("foreign", foreign), ("moved", moved)] {
            let mut bad = good.clone();
            bad[range.clone()].copy_from_slice(content);
            if bad != good {
                let refused = judge(&bad, &expected, &format!("block {block} {what}"));
                assert!(refused != Some(0) || block + 2 == blocks, "block {block} {what}");
            }
        }
    }
    let mut swapped = good.clone();
    swapped[..4096].copy_from_slice(&other[..4096]);
    assert_eq!(judge(&swapped, &expected, "the header of another"), None);
}

#[test]
fn ckp_1_what_passes_the_checksums_is_still_verified_against_the_roots() {
    let (good, expected) = small(5);
    let header = Header::decode(&good[..4096], good.len() as u64).unwrap();
    let nodes = header.extent(Section::Nodes);
    let mut told = 0;
    for at in nodes.offset..nodes.end() {
        let mut bad = good.clone();
        bad[at as usize] ^= 0x40;
        seal_again(&mut bad, &header);
        let disk = disk_with(NAME, &bad);
        let checkpoint = open(&disk, log_id());
        let before = told;
        for (found, expected) in ask_all(&checkpoint).into_iter().zip(&expected) {
            match found {
                // No digest covers the locators and times in leaves, so a change there may be undetected.
                Ok(found) => assert!(found == *expected || found.contains("Entry"), "byte {at}"),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::CheckpointDamaged, "{error:?}");
                    told += 1;
                }
            }
        }
        let findings = check(&disk, log_id(), &mut |_| Ok(())).unwrap();
        assert!(told == before || !findings.is_empty(), "byte {at} is not found");
    }
    assert!(told > 500, "{told}");
}

/// Changes a file and corrects its checksums. Returns the findings of a check.
fn findings_of_changed(good: &[u8], header: &Header, change: impl FnOnce(&mut [u8])) -> Vec<Finding> {
    let mut bad = good.to_vec();
    change(&mut bad);
    assert_ne!(bad, good);
    seal_again(&mut bad, header);
    check(&disk_with(NAME, &bad), log_id(), &mut |_| Ok(())).unwrap()
}

#[test]
fn ckr_1_rows_out_of_their_order_are_found_by_a_check() {
    let fixture = Fixture::new(12, 40, 9);
    assert!(fixture.gaps.len() >= 2);
    let disk = MemDisk::new();
    fixture.write(&disk, &NoSource).unwrap();
    let good = content(&disk, NAME);
    let header = Header::decode(&good[..4096], good.len() as u64).unwrap();
    assert_eq!(findings_of_changed(&good, &header, |bytes| bytes[4095] ^= 1), []);
    for (section, row_bytes) in SECTIONS {
        let Some(row_bytes) = row_bytes else {
            continue;
        };
        let extent = header.extent(section);
        assert!(extent.rows >= 2, "{section:?}");
        let found = findings_of_changed(&good, &header, |bytes| {
            let (one, two) = bytes[extent.offset as usize..].split_at_mut(row_bytes);
            one.swap_with_slice(&mut two[..row_bytes]);
        });
        assert!(
            found.iter().any(
                |found| found.damage.offset == Some(extent.offset) && found.severity == Severity::Derived
            ),
            "{section:?}: {found:?}"
        );
    }
    let wrong_index = header.extent(Section::CommitsByDigest).offset as usize + 8;
    let found = findings_of_changed(&good, &header, |bytes| bytes[wrong_index] ^= 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let size_of_history = header.extent(Section::History).offset as usize;
    let found = findings_of_changed(&good, &header, |bytes| bytes[size_of_history] ^= 1);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn lengths_that_lead_out_of_a_section_are_refused() {
    let (good, _) = small(13);
    let header = Header::decode(&good[..4096], good.len() as u64).unwrap();
    let references = header.extent(Section::References);
    let nodes = header.extent(Section::Nodes);
    assert!(references.rows > 0);
    for length in [references.length as u32, 4_097, u32::MAX] {
        let at = references.offset as usize + 8;
        let change = |bytes: &mut [u8]| bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        let found = findings_of_changed(&good, &header, change);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].damage.offset, Some(references.offset));
        assert_eq!(found[0].damage.cause, Cause::BeyondSection);
    }
    // Makes the length too small. So the next reference starts inside this reference, or bytes remain after the last
    // reference.
    let at = references.offset as usize + 8;
    let found = findings_of_changed(&good, &header, |bytes| bytes[at] -= 1);
    assert_eq!(found.len(), 1, "{found:?}");
    let disk = disk_with(NAME, &good);
    let checkpoint = open(&disk, log_id());
    let top = checkpoint.states().row(0).unwrap();
    let file = top.place - header.node_offset(top.place).unwrap();
    for place in [0, nodes.offset - 1, nodes.end() - 1, nodes.end(), u64::MAX - file] {
        let stored = crate::trie::StoredNode {
            digest: [0; 32],
            count: top.count,
            place: file + place,
        };
        let error = checkpoint.load(&stored).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointDamaged, "{place}: {error:?}");
    }
    let at = nodes.offset as usize;
    let mut bad = good.clone();
    bad[at..at + 2].copy_from_slice(&[0xff; 2]);
    seal_again(&mut bad, &header);
    let checkpoint = open(&disk_with(NAME, &bad), log_id());
    let stored = crate::trie::StoredNode {
        digest: [0; 32],
        count: 2,
        place: file + nodes.offset,
    };
    let error = checkpoint.load(&stored).unwrap_err();
    assert_eq!(error.damage().unwrap().cause, Cause::BeyondSection);
}

#[test]
fn ckh_1_headers_that_lead_astray_are_refused_even_under_their_checksum() {
    let (good, _) = small(14);
    let header = Header::decode(&good[..4096], good.len() as u64).unwrap();
    let sealed = |bytes: &mut [u8]| {
        let sum = crc32c::crc32c(&bytes[..4092]).to_le_bytes();
        bytes[4092..4096].copy_from_slice(&sum);
    };
    let length = good.len() as u64;
    // The offset of the extents of the sections within the header.
    let sections_at = 160;
    for at in (0..16).chain(sections_at..sections_at + 24 * SECTIONS.len()) {
        for bit in [0x01, 0x80] {
            let mut bad = good[..4096].to_vec();
            bad[at] ^= bit;
            sealed(&mut bad);
            let found = Header::decode(&bad, length);
            let of_rows = at.checked_sub(sections_at).map(|at| (at / 24, at % 24 / 8));
            match of_rows {
                // The number of rows in these sections does not depend on their length.
                Some((section, 2)) if SECTIONS[section].1.is_none() => {}
                // If the end of the last section is still within the last block, only reading the section detects the
                // change.
                Some((12, 1)) if found.is_ok() => {}
                _ => assert!(found.is_err(), "byte {at}: {found:?}"),
            }
        }
    }
    let mut tag = good[..4096].to_vec();
    tag[12] = 2;
    sealed(&mut tag);
    assert_eq!(
        Header::decode(&tag, length).unwrap().log.hash,
        HashAlgorithm::Sha256,
        "{header:?}"
    );
}

/// Corrects the checksums of a changed file.
fn seal_again(bytes: &mut [u8], header: &Header) {
    let (blocks, rest) = bytes.split_at_mut(header.table_offset() as usize);
    let (table, sums) = rest.split_at_mut(4 * header.blocks() as usize);
    for (block, sum) in blocks[4096..].chunks(4096).zip(table.chunks_mut(4)) {
        sum.copy_from_slice(&crc32c::crc32c(block).to_le_bytes());
    }
    for (block, sum) in table.chunks(4096).zip(sums.chunks_mut(4)) {
        sum.copy_from_slice(&crc32c::crc32c(block).to_le_bytes());
    }
    let table_sum = crc32c::crc32c(sums);
    let sealed = Header {
        table_sum,
        ..header.clone()
    };
    blocks[..4096].copy_from_slice(&sealed.encode());
}

#[test]
fn a_file_that_is_shortened_while_it_is_open_changes_no_answer() {
    let fixture = Fixture::new(6, 300, 5);
    let disk = SimDisk::new(1);
    fixture.write(&disk, &NoSource).unwrap();
    let expected = fixture.answers();
    let checkpoint = open_newest(&disk, fixture.log, false).unwrap().0.unwrap();
    disk.overwrite(NAME, |bytes| bytes.truncate(5_000));
    assert_eq!(assert_never_wrong(&checkpoint, &expected, "shortened"), 0);
}

#[test]
fn the_older_one_is_opened_where_the_newest_is_damaged() {
    let disk = SimDisk::new(1);
    let fixture = Fixture::new(7, 30, 3);
    fixture.write(&disk, &NoSource).unwrap();
    let older = content(&disk, NAME);
    fixture.write(&disk, &NoSource).unwrap();
    // A crash before the removal of the older file leaves it.
    disk.put_file(NAME, older);
    disk.overwrite("checkpoint/00000002.ckpt", |bytes| bytes[100] ^= 1);
    let (found, findings) = open_newest(&disk, fixture.log, true).unwrap();
    assert_eq!(found.unwrap().number(), 1);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].damage.file, "checkpoint/00000002.ckpt");
    // The first access and a full check find damage after the header.
    disk.overwrite("checkpoint/00000001.ckpt", |bytes| {
        bytes[4096 + 5] ^= 1;
        bytes[2 * 4096 + 5] ^= 1;
    });
    assert!(open_newest(&disk, fixture.log, true).unwrap().0.is_some());
    let findings = check(&disk, fixture.log, &mut |_| Ok(())).unwrap();
    assert_eq!(findings.len(), 2);
    assert_eq!(
        (findings[0].damage.offset, &findings[0].damage.cause),
        (Some(4096), &Cause::BlockChecksums { bytes: 8192 })
    );
}

#[test]
fn a_checkpoint_that_copies_from_a_damaged_one_is_not_made() {
    let disk = SimDisk::new(1);
    let fixture = Fixture::new(8, 500, 1);
    fixture.write(&disk, &NoSource).unwrap();
    disk.overwrite(NAME, |bytes| bytes[4096 * 3] ^= 1);
    let old = open(&disk, fixture.log);
    let state = old.states().row(0).unwrap();
    let trie = old.trie(&state).unwrap();
    let states = vec![State {
        seq: state.seq,
        trie,
        position: state.position,
    }];
    let error = write_alone(&disk, fixture.contents(states), &old, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointDamaged);
    assert_eq!(list(&disk).unwrap().len(), 1);
}

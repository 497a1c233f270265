//! Salvage of segments that lie outside the folder `log/`, for example after files were swapped.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::salvage::rescue;
use super::{content, put, segments};
use crate::engine::{Erasing, Memory, Options, Retention, Writer};
use crate::error::Cause;
use crate::testing::sim_disk::SimDisk;

const COUNT: usize = 60;

fn store() -> (SimDisk, Memory) {
    let disk = SimDisk::new(1);
    let options = Options::new().segment_bytes_max(64 << 10);
    let memory = Memory::on_disk(Arc::new(disk.clone()), options, true, None).unwrap();
    put(&memory, "secret", &"hunter2 ".repeat(1_000));
    for number in 0..COUNT {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("content {number} ").repeat(400),
        );
    }
    (disk, memory)
}

fn readable(memory: &Memory) -> usize {
    let view = memory.view();
    (0..COUNT)
        .filter(|number| content(&view, &format!("o/{number}")).is_some())
        .count()
}

fn has_secret(disk: &SimDisk) -> bool {
    rescue(disk).is_ok_and(|(memory, _)| {
        let mut found = false;
        let told = memory.text_records(&mut |record| {
            found |= format!("{record:?}").contains("hunter2");
            Ok(())
        });
        told.unwrap();
        found
    })
}

fn move_file(disk: &SimDisk, from: &str, to: &str) {
    let bytes = disk.files()[from].clone();
    disk.remove_file(from);
    disk.put_file(to, bytes);
}

#[test]
fn sal_4_a_segment_is_read_wherever_it_lies_in_the_store() {
    let (whole, memory) = store();
    drop(memory);
    for name in segments(&whole) {
        for to in ["checkpoint/00000009.ckpt", "derived/words", "FSCK0001.REC"] {
            for without in [
                &[][..],
                &["manifest"],
                &["format"],
                &["live", "manifest", "format"],
            ] {
                let disk = whole.copy();
                move_file(&disk, &name, to);
                for name in without {
                    disk.remove_file(name);
                }
                let what = format!("{name} to {to} without {without:?}");
                let (memory, report) = rescue(&disk).unwrap_or_else(|error| panic!("{what}: {error:?}"));
                assert_eq!(readable(&memory), COUNT, "{what}: {report:?}");
                let causes = report.derived.iter().map(|found| &found.damage.cause);
                let is_told = |cause: &Cause| matches!(cause, Cause::FoundOutside { .. });
                assert_eq!(
                    causes.filter(|cause| is_told(cause)).count(),
                    1,
                    "{what}: {report:?}"
                );
            }
        }
        // The bytes of the two files are swapped.
        let disk = whole.copy();
        let files = disk.files();
        disk.put_file(&name, files["manifest"].clone());
        disk.put_file("manifest", files[&name].clone());
        let (memory, report) = rescue(&disk).unwrap();
        assert_eq!(readable(&memory), COUNT, "{name}: {report:?}");
    }
}

#[test]
fn sal_4_a_copy_from_before_an_erasure_brings_nothing_back() {
    let (disk, memory) = store();
    let copies: BTreeMap<_, _> = segments(&disk)
        .into_iter()
        .map(|name| (name.replace('/', "-"), disk.files()[&name].clone()))
        .collect();
    let erasing = Erasing {
        targets: vec!["secret".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user()).unwrap();
    for number in 0..5 {
        put(&memory, &format!("later/{number}"), &"later ".repeat(2_000));
    }
    memory.gc(&Retention::everything(), None).unwrap();
    drop(memory);
    assert!(!has_secret(&disk));
    for (name, bytes) in copies {
        disk.put_file(&name, bytes);
    }
    assert!(!has_secret(&disk), "with everything");
    let all = disk.files();
    for without in all
        .keys()
        .filter(|name| name.starts_with("log/") || !name.contains('/'))
    {
        for also in [None, Some("manifest")] {
            let disk = disk.copy();
            disk.remove_file(without);
            if also.is_some_and(|also| also != without) {
                disk.remove_file("manifest");
            }
            assert!(!has_secret(&disk), "without {without} and {also:?}");
        }
    }
}

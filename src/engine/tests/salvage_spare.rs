//! Salvage with orphaned segments, which the manifest does not list. Such segments come from an interrupted rewrite, or
//! from a backup restored over a newer log. Both cases leave similar files, and salvage must lose no data in either
//! case.

use super::gc::{HOUR, kept, on_disk, options, tight};
use super::salvage::{check, is_cut_off, rescue, truth, used, versions};
use super::{id, put};
use crate::engine::{Erasing, Memory, Retention, Writer};
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn erase(memory: &Memory, target: &str) -> bool {
    let erasing = Erasing {
        targets: vec![target.to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user()).is_ok()
}

/// Returns a retention that keeps every commit, so a rewrite only moves records.
fn all() -> Retention {
    Retention::default()
}

#[test]
fn a_rewrite_that_counted_is_read_under_an_older_manifest() {
    for (thins, erases, after) in [
        (false, false, 0),
        (false, false, 3),
        (true, false, 0),
        (true, false, 3),
        (false, true, 3),
        (true, true, 3),
    ] {
        for back in [&["manifest"][..], &["manifest", "live"]] {
            let what = format!("thins {thins}, erases {erases}, {after} commits after, {back:?} restored");
            let disk = SimDisk::new(1);
            let options = options(HOUR).checkpoints(false);
            let memory = on_disk(&disk, options.clone(), true).unwrap();
            put(&memory, "password", "until it is erased");
            for number in 0..7 {
                put(&memory, "a", &format!("old {number}"));
            }
            let password = memory.view().get(&id("password")).unwrap().unwrap().digest();
            drop(memory);
            disk.reboot();
            let backup = disk.files();
            let memory = on_disk(&disk, options.clone(), false).unwrap();
            for number in 0..12 {
                put(&memory, &format!("new/{number}"), "of after the backup");
            }
            memory.snapshot(Some("late"), &Writer::user()).unwrap();
            memory.gc(&if thins { tight() } else { all() }, None).unwrap();
            if erases {
                assert!(erase(&memory, "password"));
            }
            for number in 0..after {
                put(&memory, &format!("last/{number}"), "of after the rewrite");
            }
            let (truth, before, records) = (truth(&memory), kept(&memory), versions(&memory));
            drop(memory);
            for (name, content) in &backup {
                if name.starts_with("log/") || back.contains(&name.as_str()) {
                    disk.remove_file(name);
                    disk.put_file(name, content.clone());
                }
            }
            let (saved, report) = rescue(&disk).unwrap();
            let found = kept(&saved);
            for commit in &before {
                assert!(found.contains(commit), "{what}: {commit:?} is lost: {report:?}");
            }
            assert!(records.is_subset(&versions(&saved)), "{what}: {report:?}");
            assert!(report.is_whole(), "{what}: {report:?}");
            let names = saved.references();
            assert!(
                names.iter().any(|name| name.name == "snapshots/late"),
                "{what}: {report:?}"
            );
            if erases {
                assert!(!versions(&saved).contains(&password), "{what}: not erased");
            }
            if !thins {
                check(&saved, &report, &truth, &what);
            }
        }
    }
}

#[test]
fn what_is_damaged_in_the_log_is_taken_from_a_rewrite_that_was_cut_off() {
    let origin = SimDisk::new(1);
    let options = options(HOUR).checkpoints(false);
    let memory = on_disk(&origin, options.clone(), true).unwrap();
    for number in 0..9 {
        put(&memory, &format!("o/{}", number % 4), &format!("text {number}"));
    }
    put(&memory, "gone", "until it is erased");
    let (truth, before) = (truth(&memory), kept(&memory));
    drop(memory);
    origin.reboot();
    let listed = origin.files();
    let mut whole = 0;
    for erases in [false, true] {
        let mut images = 0;
        for call in origin.copy().calls() + 1.. {
            let disk = origin.copy();
            disk.crash_at(call);
            let memory = on_disk(&disk, options.clone(), false).unwrap();
            let is_done = if erases {
                erase(&memory, "gone")
            } else {
                memory.gc(&all(), None).is_ok()
            };
            drop(memory);
            if is_done || images == 3 {
                break;
            }
            let disk = disk.crash_image(CrashImage::Killed);
            let (_, report) = rescue(&disk).unwrap();
            let mut told = report.derived.iter().chain(&report.unsure);
            // The rewrite exists, but the manifest does not list it.
            if !told.any(is_cut_off) {
                continue;
            }
            images += 1;
            for (name, content) in listed.iter().filter(|(name, _)| name.starts_with("log/")) {
                for place in (4_096..used(content)).step_by(61) {
                    let what = format!("erases {erases}, call {call}, {name} at {place}");
                    let disk = disk.copy();
                    disk.overwrite(name, |bytes| bytes[place] ^= 4);
                    let (saved, report) = rescue(&disk).unwrap();
                    check(&saved, &report, &truth, &what);
                    let found = kept(&saved);
                    assert!(!report.lost.is_empty(), "{what}: {report:?}");
                    // SVR-1 does not apply to the erased content, because only the old log contains it.
                    let in_both = before.iter().skip(usize::from(erases));
                    for commit in in_both {
                        assert!(found.contains(commit), "{what}: {commit:?}, {report:?}");
                    }
                    whole += 1;
                }
            }
        }
    }
    assert!(whole > 20, "{whole}");
}

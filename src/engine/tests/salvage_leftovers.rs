//! Salvage of a store with segments that a rewrite left, after a crash or in a restored copy. Salvage must not restore
//! thinned or erased content.

use std::collections::BTreeMap;
use std::time::Duration;

use super::gc::{HOUR, kept, on_disk, options, tight};
use super::salvage::{check, is_cut_off, rescue, truth, used, versions};
use super::{id, put};
use crate::engine::upkeep::Cut;
use crate::engine::{Erasing, Retention, Writer};
use crate::testing::sim_disk::{CrashImage, SimDisk};

fn of(target: &str) -> Erasing {
    Erasing {
        targets: vec![target.to_owned()],
        ..Erasing::default()
    }
}

#[test]
fn what_is_written_again_after_an_erasure_counts_whatever_segment_the_erasure_is_in() {
    for retention in [
        tight(),
        Retention {
            newest: 0,
            all: Duration::ZERO,
            hourly: Duration::ZERO,
            ..tight()
        },
    ] {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        for number in 0..20 {
            put(&memory, "other", &format!("text {number}"));
        }
        put(&memory, "again", "the same text");
        memory.erase(&of("again"), &Writer::user()).unwrap();
        for number in 0..20 {
            put(&memory, "other", &format!("later {number}"));
        }
        // During the rewrite, the newest segment of the log gets a lower number than the rewritten segments.
        let written = std::sync::atomic::AtomicBool::new(false);
        let choose = |cut: &Cut| {
            let kept = memory.inner.choose(&retention, cut, memory.view().now())?;
            if !written.swap(true, std::sync::atomic::Ordering::Relaxed) {
                put(&memory, "again", "the same text");
            }
            Ok(kept)
        };
        memory
            .inner
            .rewrite(&choose, Duration::ZERO, crate::log::Seal::Now)
            .unwrap();
        let truth = truth(&memory);
        let (saved, report) = rescue(&disk).unwrap();
        // Tests SVI-1: salvage ignores a record that is older than its erasure.
        assert!(report.is_whole(), "{report:?}");
        let found = saved.view().get(&id("again")).unwrap().unwrap();
        assert_eq!(found.content(), Some("the same text"));
        check(&saved, &report, &truth, "written again");
    }
}

#[test]
fn an_erased_record_in_a_segment_that_a_rewrite_left_does_not_come_back() {
    // A rewrite numbers the batches again, so batch numbers of the old and the new log cannot be compared.
    for collected in [false, true] {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        if collected {
            for number in 0..80 {
                put(&memory, "other", &format!("text {number}"));
            }
            memory.gc(&tight(), None).unwrap();
        }
        put(&memory, "secret", "never to be seen again");
        let secret = memory.view().get(&id("secret")).unwrap().unwrap().digest();
        put(&memory, "other", "text");
        let old = disk.files();
        memory.erase(&of("secret"), &Writer::user()).unwrap();
        put(&memory, "other", "later");
        let truth = truth(&memory);
        drop(memory);
        put_back(&disk, &old);
        let marker = |bytes: &[u8]| bytes.windows(32).position(|found| found == secret.as_bytes());
        let files = disk.files();
        let (file, bytes) = files
            .iter()
            .find(|(name, bytes)| !old.contains_key(*name) && marker(bytes).is_some())
            .unwrap();
        let (marker, end) = (marker(bytes).unwrap(), used(bytes));
        for lost in ["none", "manifest"] {
            disk.remove_file(lost);
            // One case is a damaged batch with the erasure marker, while the old batch with the erased record is
            // undamaged.
            for at in (4_096..end)
                .step_by(53)
                .filter(|at| !(marker - 64..marker + 96).contains(at))
            {
                let copy = disk.copy();
                copy.overwrite(file, |bytes| bytes[at] ^= 1);
                let (saved, report) = rescue(&copy).unwrap();
                let what = format!("collected {collected}, missing {lost}, byte {at}");
                assert!(!versions(&saved).contains(&secret), "{what}");
                check(&saved, &report, &truth, &what);
            }
        }
    }
}

#[test]
fn what_was_erased_and_written_again_is_kept_beside_what_a_rewrite_left() {
    for collected in [false, true] {
        let disk = SimDisk::new(1);
        let memory = on_disk(&disk, options(HOUR), true).unwrap();
        for number in 0..40 {
            put(&memory, "other", &format!("text {number}"));
        }
        put(&memory, "again", "the same text");
        let old = disk.files();
        memory.erase(&of("again"), &Writer::user()).unwrap();
        put(&memory, "again", "the same text");
        // In this case, the batch of the old log has the higher number but the older content.
        if collected {
            memory.gc(&tight(), None).unwrap();
        }
        let truth = truth(&memory);
        drop(memory);
        put_back(&disk, &old);
        for lost in ["none", "manifest"] {
            disk.remove_file(lost);
            let (saved, report) = rescue(&disk).unwrap();
            let found = saved.view().get(&id("again")).unwrap().unwrap();
            assert_eq!(found.content(), Some("the same text"), "{collected}, {lost}");
            check(&saved, &report, &truth, lost);
        }
    }
}

/// Restores the segments that are missing.
fn put_back(disk: &SimDisk, old: &BTreeMap<String, Vec<u8>>) {
    for (name, content) in old.iter().filter(|(name, _)| name.starts_with("log/")) {
        if !disk.files().contains_key(name) {
            disk.put_file(name, content.clone());
        }
    }
}

#[test]
fn what_was_thinned_does_not_come_back_from_a_segment_that_a_rewrite_left() {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    for number in 0..60 {
        put(&memory, "a", &format!("text {number}"));
    }
    let all = versions(&memory);
    let old = disk.files();
    assert!(memory.gc(&tight(), None).unwrap().thinned > 20);
    let left = versions(&memory);
    assert!(left.len() + 20 < all.len());
    let truth = truth(&memory);
    drop(memory);
    let listed = disk.files().len();
    put_back(&disk, &old);
    assert!(disk.files().len() > listed);
    let (saved, report) = rescue(&disk).unwrap();
    // Tests SAL-2: salvage leaves out segments that a rewrite replaced, according to the manifest.
    assert!(
        versions(&saved).is_subset(&left),
        "salvage returned a thinned version"
    );
    check(&saved, &report, &truth, "thinned");
    assert!(report.is_whole(), "{report:?}");
}

#[test]
fn a_rewrite_that_was_cut_off_did_away_with_nothing() {
    let origin = SimDisk::new(1);
    // All handles share one clock, so that the thinned commits precede its time.
    let options = options(HOUR);
    let memory = on_disk(&origin, options.clone(), true).unwrap();
    for number in 0..60 {
        put(&memory, "a", &format!("text {number}"));
    }
    put(&memory, "gone", "until it is erased");
    drop(memory);
    origin.reboot();
    let rewrite = |disk: &SimDisk, erases| {
        let memory = on_disk(disk, options.clone(), false).unwrap();
        if erases {
            memory.erase(&of("gone"), &Writer::user()).is_ok()
        } else {
            let done = memory.gc(&tight(), None);
            done.is_ok_and(|done| done.thinned > 20)
        }
    };
    for erases in [false, true] {
        let (mut beside, mut unsure) = (0, 0);
        for call in origin.copy().calls() + 1.. {
            let disk = origin.copy();
            disk.crash_at(call);
            if rewrite(&disk, erases) {
                break;
            }
            for image in [CrashImage::Killed, CrashImage::Nothing, CrashImage::Everything] {
                let what = format!("erases {erases}, call {call}, {image:?}");
                let disk = disk.crash_image(image);
                let memory = on_disk(&disk.copy(), options.clone(), false).unwrap();
                let (before, truth) = (kept(&memory), truth(&memory));
                let (saved, report) = rescue(&disk).unwrap();
                // Tests SAL-2: salvage leaves out segments that a rewrite replaced, according to the manifest.
                assert!(report.is_whole() && kept(&saved) == before, "{what}: {report:?}");
                check(&saved, &report, &truth, &what);
                // An interrupted erasure leaves the same files as a published erasure with an older manifest.
                let mut told = report.derived.iter().chain(&report.unsure);
                beside += usize::from(told.any(is_cut_off));
                // Only the manifest shows whether a rewrite was published.
                disk.remove_file("manifest");
                let (saved, report) = rescue(&disk).unwrap();
                assert!(
                    kept(&saved) == before || !report.unsure.is_empty(),
                    "{what}: {report:?}"
                );
                unsure += usize::from(!report.unsure.is_empty());
            }
        }
        assert!(beside > 5 && unsure > beside, "{beside} beside, {unsure} unsure");
    }
}

//! The simulated disk loses and reports exactly the bytes and errors that it promises.

use super::*;

fn with_file(name: &str, durable: &[u8]) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_file(name, durable.to_vec());
    disk
}

fn write(disk: &SimDisk, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
    disk.open(name, Access::ReadWrite)?.write_at(offset, bytes)
}

fn found(disk: &SimDisk, image: CrashImage, name: &str) -> Option<Vec<u8>> {
    disk.crash_image(image).files().remove(name)
}

#[test]
fn bytes_lengths_and_names_survive_apart_from_each_other() {
    let disk = with_file("a", b"old");
    write(&disk, "a", 1, b"NEWER").unwrap();
    drop(disk.create("b").unwrap());
    let image = |image| (found(&disk, image, "a").unwrap(), found(&disk, image, "b"));
    let (none, there) = (None::<Vec<u8>>, Some(Vec::new()));
    assert_eq!(image(CrashImage::Nothing), (b"old".to_vec(), none.clone()));
    assert_eq!(image(CrashImage::Everything), (b"oNEWER".to_vec(), there.clone()));
    assert_eq!(image(CrashImage::Killed), (b"oNEWER".to_vec(), there.clone()));
    assert_eq!(
        image(CrashImage::LastWritePrefix(3)),
        (b"oNEW".to_vec(), there.clone())
    );
    assert_eq!(
        image(CrashImage::ExtentWithoutData),
        (b"old\0\0\0".to_vec(), there.clone())
    );
    assert_eq!(
        image(CrashImage::DataWithoutExtent),
        (b"oNE".to_vec(), there.clone())
    );
    assert_eq!(
        image(CrashImage::NamesWithoutContents),
        (b"old".to_vec(), there.clone())
    );
    assert_eq!(
        image(CrashImage::ContentsWithoutNames),
        (b"oNEWER".to_vec(), none)
    );
    // After a kill in the middle of a write, the remaining part is missing, and the written part is not durable.
    let killed = disk.crash_image(CrashImage::KilledInWrite(1));
    assert_eq!(killed.files()["a"], b"oNd");
    assert_eq!(found(&killed, CrashImage::Nothing, "a").unwrap(), b"old");
}

#[test]
fn a_sync_makes_bytes_durable_and_a_failed_one_loses_them_for_good() {
    let disk = with_file("a", b"");
    let file = disk.open("a", Access::ReadWrite).unwrap();
    file.write_at(0, b"one").unwrap();
    file.sync().unwrap();
    assert!(disk.is_durable() && disk.unsynced().is_empty());
    file.write_at(3, b"two").unwrap();
    assert_eq!(disk.unsynced(), ["a"]);
    disk.fail_at(disk.calls() + 1, Fault::Device);
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(disk.files()["a"], b"onetwo");
    assert!(
        disk.unsynced().is_empty(),
        "the sync after a failed sync succeeds, but makes nothing durable"
    );
    assert_eq!(found(&disk, CrashImage::Everything, "a").unwrap(), b"one");
}

#[test]
fn every_random_image_is_a_choice_of_whole_sectors() {
    let disk = with_file("a", &[1; 2048]);
    write(&disk, "a", 100, &[2; 1500]).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for choice in 0..100 {
        let bytes = found(&disk, CrashImage::Sectors(choice), "a").unwrap();
        let sectors: Vec<_> = [100..512, 512..1024, 1024..1536, 1536..1600]
            .map(|range| bytes[range].to_vec())
            .into();
        for sector in &sectors {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a torn sector");
        }
        assert!(bytes[..100].iter().chain(&bytes[1600..]).all(|byte| *byte == 1));
        seen.insert(sectors.iter().map(|sector| sector[0]).collect::<Vec<_>>());
    }
    assert_eq!(seen.len(), 16, "all choices come up");
}

#[test]
fn calls_fail_as_they_were_told_to_and_heal() {
    for (fault, written) in Fault::ALL.into_iter().zip([0, 10, 10, 0, 16, 0]) {
        let disk = with_file("a", b"");
        disk.fail_at(1, fault);
        write(&disk, "a", 0, &[7; 20]).unwrap_err();
        assert_eq!(disk.files()["a"].len(), written, "{fault:?}");
        write(&disk, "a", 0, &[7; 20]).unwrap();
        assert!(disk.heal(), "it was met");
    }
    let disk = with_file("a", b"");
    disk.fail_from(1, 100, Fault::Full);
    for _ in 0..3 {
        write(&disk, "a", 0, b"x").unwrap_err();
        assert!(disk.create("b").is_err());
        // Removing, renaming and syncing need no space.
        disk.open("a", Access::ReadWrite).unwrap().sync().unwrap();
    }
    disk.heal();
    write(&disk, "a", 0, b"x").unwrap();
    disk.fail_from(disk.calls() + 1, 1, Fault::Device);
    let file = disk.open("a", Access::ReadWrite).unwrap();
    file.sync().unwrap_err();
    file.sync().unwrap_err();
    file.sync().unwrap();
}

#[test]
fn reads_fail_or_fall_short_where_they_were_told_to() {
    let disk = with_file("a", b"0123456789");
    let file = disk.open("a", Access::Read).unwrap();
    let mut buffer = [0; 10];
    let next = || disk.reads() + 1;
    disk.fail_read_at(next(), ReadFault::Short);
    assert_eq!(file.read_at(0, &mut buffer).unwrap(), 5);
    for fault in [ReadFault::Device, ReadFault::Short] {
        let fails = fault == ReadFault::Device;
        disk.fail_read_at(next(), fault);
        assert_eq!(file.read_at(0, &mut buffer).is_err(), fails);
        disk.fail_read_at(next(), fault);
        assert_eq!(disk.open("a", Access::Read).is_err(), fails);
        disk.fail_read_at(next(), fault);
        assert_eq!(file.length().is_err(), fails);
        disk.fail_read_at(next(), fault);
        assert_eq!(file.map(10).is_err(), fails);
        disk.fail_read_at(next(), fault);
        assert_eq!(disk.list("").is_err(), fails);
    }
    assert_eq!(file.read_at(0, &mut buffer).unwrap(), 10);
}

#[test]
fn an_observer_sees_each_call_before_it_is_durable() {
    let disk = with_file("a", b"");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&seen);
    disk.observe(Arc::new(move |frozen| {
        let lost = frozen.crash_image(CrashImage::Nothing).files();
        let kept = frozen.crash_image(CrashImage::Everything).files();
        list.lock().push((lost["a"].len(), kept["a"].len()));
    }));
    let file = disk.open("a", Access::ReadWrite).unwrap();
    file.write_at(0, b"x").unwrap();
    file.sync().unwrap();
    disk.observe_no_more();
    file.write_at(1, b"y").unwrap();
    assert_eq!(*seen.lock(), [(0, 1), (0, 1)]);
}

/// Returns the panic that stops a sequence of calls.
fn stopped_by(calls: impl FnOnce(&SimDisk) -> io::Result<()>) -> String {
    let disk = SimDisk::new(1);
    disk.put_file("log/1.seg", b"abc".to_vec());
    disk.put_file("manifest", b"m".to_vec());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| calls(&disk)));
    let payload = caught.expect_err("no assertion saw it");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn calls_in_the_wrong_order_are_seen() {
    let renamed = stopped_by(|disk| {
        disk.create("manifest.tmp")?.write_at(0, b"x")?;
        disk.rename_over("manifest.tmp", "manifest")
    });
    assert!(renamed.contains("SIM-1"), "{renamed}");
    let written = stopped_by(|disk| {
        write(disk, "log/1.seg", 3, b"d")?;
        write(disk, "log/1.seg", 4, b"e")
    });
    assert!(written.contains("SIM-2"), "{written}");
    let changed = stopped_by(|disk| write(disk, "log/1.seg", 0, b"X"));
    assert!(changed.contains("SIM-3"), "{changed}");
    let removed = stopped_by(|disk| {
        let file = disk.create("manifest.tmp")?;
        file.write_at(0, b"x")?;
        file.sync()?;
        disk.rename_over("manifest.tmp", "manifest")?;
        disk.remove("log/1.seg")
    });
    assert!(removed.contains("SIM-4"), "{removed}");
}

//! Salvage while another process writes to the store: salvage reports each loss of data that existed.

use std::sync::Arc;
use std::thread;

use super::gc::{HOUR, kept, on_disk, options, tight};
use super::put;
use super::salvage::rescue;
use crate::disk::{Disk, MemDisk};
use crate::engine::upkeep::salvage::write;
use crate::engine::{Cause, Erasing, Memory, Options, SalvageReport, Writer};
use crate::log::DamagedLog;
use crate::testing::sim_disk::SimDisk;

fn tells_of_a_writer(report: &SalvageReport) -> bool {
    let mut told = report.unsure.iter();
    told.any(|found| found.damage.cause == Cause::WrittenMeanwhile)
}

#[test]
fn who_writes_while_a_store_is_read_is_told() {
    let origin = SimDisk::new(1);
    let memory = on_disk(&origin, options(HOUR), true).unwrap();
    for number in 0..40 {
        put(&memory, "a", &format!("text {number}"));
    }
    put(&memory, "gone", "until it is erased");
    drop(memory);
    let erasing = Erasing {
        targets: vec!["gone".to_owned()],
        ..Erasing::default()
    };
    let works: [&dyn Fn(&Memory); 4] = [
        &|_| {},
        &|memory| drop(put(memory, "b", "new")),
        &|memory| {
            memory.gc(&tight(), None).unwrap();
        },
        &|memory| drop(memory.erase(&erasing, &Writer::user()).unwrap()),
    ];
    for (number, work) in works.into_iter().enumerate() {
        let disk = origin.copy();
        let memory = on_disk(&disk, options(HOUR), false).unwrap();
        let wreck = DamagedLog::open(Arc::new(disk.clone())).unwrap();
        let before = kept(&memory);
        work(&memory);
        let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
        let report = write(&wreck, &target, &Options::new()).unwrap();
        assert_eq!(tells_of_a_writer(&report), number > 0, "{number}: {report:?}");
        // The open store stays readable.
        let saved = Memory::on_disk(target, Options::new(), false, None).unwrap();
        let mut saved = kept(&saved);
        // The new store may also contain batches that were appended during the salvage.
        saved.retain(|commit| before.contains(commit));
        assert!(report.is_whole() && saved == before, "{number}: {report:?}");
        drop(memory);
        let (_, report) = rescue(&disk).unwrap();
        assert!(
            report.is_whole() && report.unsure.is_empty(),
            "{number}: {report:?}"
        );
    }
}

#[test]
fn a_store_is_salvaged_beside_writes_and_collections() {
    let disk: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let memory = Memory::on_disk(Arc::clone(&disk), options(HOUR), true, None).unwrap();
    put(&memory, "kept", "from the first to the last");
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..40 {
                for number in 0..20 {
                    put(&memory, "a", &format!("text {round}.{number}"));
                }
                memory.gc(&tight(), None).unwrap();
            }
        });
        let mut is_over = false;
        while !is_over {
            is_over = writer.is_finished();
            let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
            let wreck = DamagedLog::open(Arc::clone(&disk)).unwrap();
            let report = write(&wreck, &target, &Options::new()).unwrap();
            assert!(report.is_whole() || tells_of_a_writer(&report), "{report:?}");
        }
    });
}

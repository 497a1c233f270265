//! Every reader treats the log as durable up to the position of a checkpoint. So a reader never mistakes an
//! acknowledged batch for a torn tail.

use std::sync::Arc;

use super::covering::cover;
use super::gc::{HOUR, on_disk, options};
use super::salvage::{named, rescue};
use super::{id, note, put};
use crate::disk::Disk;
use crate::engine::upkeep::checkpointing::places_of;
use crate::engine::upkeep::doctor::look_inside;
use crate::engine::upkeep::verify::examine;
use crate::engine::{Options, Remedy, VerifyDepth, Writer};
use crate::log::Inspection;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorKind, Result};

/// The number of objects in the last commit.
const MANY: usize = 50;

/// Makes a store whose last batch has a damaged record, with a checkpoint after that batch. The file `live` is from
/// before that batch, or missing.
fn damaged_in_the_last_batch(stale: bool) -> SimDisk {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "first", "what was there before");
    let live = disk.files()["live"].clone();
    let mut draft = memory.draft(&Writer::user());
    for number in 0..MANY {
        draft
            .put(note(
                &format!("o/{number}"),
                &format!("text {number} ").repeat(100),
            ))
            .unwrap();
    }
    memory.commit(draft, "put").unwrap();
    cover(&memory);
    drop(memory);
    let (file, at) = damaged_at(&disk);
    disk.overwrite(&file, |bytes| bytes[at] ^= 1);
    disk.remove_file("live");
    if stale {
        disk.put_file("live", live);
    }
    disk
}

/// Returns the file and the offset of a text in the last batch.
fn damaged_at(disk: &SimDisk) -> (String, usize) {
    let text = b"text 31 text 31";
    let files = disk.files();
    let mut segments = files.iter().filter(|(name, _)| name.starts_with("log/"));
    segments
        .find_map(|(file, bytes)| {
            let at = bytes.windows(text.len()).position(|found| found == text)?;
            Some((file.clone(), at))
        })
        .unwrap()
}

fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

#[test]
fn damage_behind_an_old_or_missing_live_is_named_and_mended_by_salvage() -> Result<()> {
    for stale in [true, false] {
        let disk = damaged_in_the_last_batch(stale);
        for depth in [VerifyDepth::Quick, VerifyDepth::Full] {
            let report = examine(&shared(&disk), &Options::new().settings, depth, None)?;
            assert!(!report.ok, "stale {stale}: {report:?}");
            let found = &report.damage[0].damage;
            assert!(
                found.file.starts_with("log/") && found.offset > Some(4096),
                "{report:?}"
            );
        }
        let found = named(&disk, "damaged");
        assert!(
            found
                .iter()
                .any(|(file, remedy)| file.starts_with("log/") && *remedy == Remedy::Salvage),
            "stale {stale}: {found:?}"
        );
        let (saved, report) = rescue(&disk)?;
        assert_eq!(report.versions, MANY as u64, "stale {stale}: {report:?}");
        assert!(
            report
                .lost
                .iter()
                .any(|found| found.damage.file.starts_with("log/")),
            "{report:?}"
        );
        for number in (0..MANY).filter(|number| *number != 31) {
            assert!(
                saved.view().get(&id(&format!("o/{number}")))?.is_some(),
                "{number}"
            );
        }
        let inspection = Inspection::new(shared(&disk)).asking(places_of(&shared(&disk)));
        assert_eq!(inspection.next_writer().unwrap_err().kind(), ErrorKind::Corrupt);
    }
    Ok(())
}

#[test]
fn degraded_reading_serves_the_state_before_the_damage_there() -> Result<()> {
    for stale in [true, false] {
        let disk = damaged_in_the_last_batch(stale);
        let memory = on_disk(&disk, options(HOUR).read_only(true).degraded(true), false)?;
        assert!(memory.damage().is_some());
        let objects: Result<Vec<_>> = memory.view().objects().collect();
        assert_eq!(objects?.len(), 1, "stale {stale}");
        assert!(memory.view().get(&id("first"))?.is_some());
    }
    Ok(())
}

#[test]
fn what_shows_only_when_the_doctor_looks_inside_is_mended_by_salvage() -> Result<()> {
    let disk = damaged_in_the_last_batch(true);
    let mut problems = Vec::new();
    look_inside(shared(&disk), &Options::new(), &mut problems)?;
    assert!(
        problems.iter().any(|problem| problem.remedy == Remedy::Salvage),
        "{problems:?}"
    );
    Ok(())
}

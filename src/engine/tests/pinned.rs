//! Pins what gc, erasure, salvage and revert make of one store: the records of the new log, batch by batch, the writer of
//! each version, and the reports. A change of the store that keeps behaviour keeps every line.

use std::fmt::Write as _;
use std::sync::Arc;

use super::gc::{HOUR, live, on_disk, options, tight};
use super::{by, child, id, note, put};
use crate::Result;
use crate::disk::{Disk, MemDisk};
use crate::engine::upkeep::salvage::write;
use crate::engine::{Erasing, Memory, Selection, VerifyDepth, Writer};
use crate::log::{DamagedLog, RecordKind, UNLINKED};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;

/// Makes a store with every kind of change, of three lanes.
fn store() -> (SimDisk, Memory) {
    let disk = SimDisk::new(46);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "tree", "top");
    memory.put(child("tree/leaf", "tree"), &by("s1")).unwrap();
    live(&memory, &mut SplitMix64::new(46), 70);
    (disk, memory)
}

/// Returns the kinds of the records of each batch, as the first letters of their names; small if they are unlinked.
fn shape(memory: &Memory) -> String {
    let mut text = String::new();
    let store = memory.inner.store();
    let upto = memory.inner.log.lock().log.newest_batch();
    let letter = |kind: RecordKind| match kind {
        RecordKind::Content => 'T',
        RecordKind::Commit => '.',
        RecordKind::Ignorable(_) => 'I',
        other => other.name().to_ascii_uppercase().chars().next().unwrap(),
    };
    store
        .read_log(upto, &mut |batch| {
            for record in &batch.records {
                let letter = letter(record.kind);
                let unlinked = record.flags & UNLINKED != 0;
                text.push(if unlinked {
                    letter.to_ascii_lowercase()
                } else {
                    letter
                });
            }
            text.push(' ');
            Ok(())
        })
        .unwrap();
    text.trim_end().to_owned()
}

/// Returns the seq of the writer of each object of the newest state, by id.
fn writers(memory: &Memory) -> String {
    let view = memory.view();
    let mut text = String::new();
    let mut ids: Vec<String> = view
        .objects()
        .map(|object| object.unwrap().id().to_string())
        .collect();
    ids.sort();
    for name in ids {
        let writer = view.writer_of(&id(&name)).unwrap();
        let writer = writer.map_or("-".to_owned(), |writer| writer.commit.seq.to_string());
        write!(text, "{name}={writer} ").unwrap();
    }
    text.trim_end().to_owned()
}

fn check(memory: &Memory, pinned: [&str; 2]) {
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
    assert_eq!([shape(memory), writers(memory)], pinned);
}

#[test]
fn the_log_of_every_kind_of_change() {
    let (_disk, memory) = store();
    check(&memory, LIVE);
}

#[test]
fn gc_moves_each_record_to_the_first_kept_commit_that_needs_it() -> Result<()> {
    let (_disk, memory) = store();
    memory.gc(&tight(), None)?;
    check(&memory, COLLECTED);
    Ok(())
}

#[test]
fn erasure_replaces_records_where_they_are() -> Result<()> {
    let (_disk, memory) = store();
    let erasing = Erasing {
        targets: vec!["tree/leaf".to_owned(), "o/1".to_owned()],
        ..Erasing::default()
    };
    let report = memory.erase(&erasing, &Writer::user())?;
    assert_eq!(report.records.len(), ERASED_RECORDS);
    check(&memory, ERASED);
    Ok(())
}

#[test]
fn salvage_of_an_undamaged_store_keeps_its_commits() -> Result<()> {
    let (disk, memory) = store();
    memory.gc(&tight(), None)?;
    let head = memory.view().commit().digest;
    drop(memory);
    let target: Arc<dyn Disk> = Arc::new(MemDisk::new());
    let damaged = DamagedLog::open(Arc::new(disk))?;
    let report = write(&damaged, &target, &options(HOUR))?;
    assert!(report.is_whole());
    let memory = Memory::on_disk(target, options(HOUR), false, None)?;
    assert_eq!(memory.view().commit().digest, head);
    check(&memory, SALVAGED);
    Ok(())
}

#[test]
fn revert_of_a_session_by_what_others_wrote() -> Result<()> {
    let (_disk, memory) = store();
    memory.put(note("o/2", "later work"), &by("day"))?;
    let reverted = memory
        .revert(Selection::default().session("s1"))
        .by(&Writer::user())?;
    let ids = |ids: Vec<String>| ids.join(" ");
    let changed = reverted.reverted.iter().map(|object| {
        let [from, to] = [object.from, object.to].map(|digest| digest.map_or('-', |_| '+'));
        format!("{}{from}{to}", object.id)
    });
    let kept = reverted.kept.iter().map(|object| {
        let by = object.by.as_ref().map(|by| by.commit.seq);
        format!(
            "{}:{}",
            object.id,
            by.map_or("-".to_owned(), |seq| seq.to_string())
        )
    });
    assert_eq!([ids(changed.collect()), ids(kept.collect())], REVERTED);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

const LIVE: [&str; 2] = [
    ". O. O. OT. oTR T. OT. OT. T. OT. OT. T. OT. UT. TOT. OT. OT. OT. T. TR OT. OT. UT. TOT. LT. T. UT. OT. oTR OT. TOT. OT. OT. TR LT. OT. T. OT. TR OT. oTR T. OT. oTR OT. OT. TR OT. T. oTR OT. OT. T. TR T. OT. UT. OT. UT. TOT. OT. TOT.",
    "o/1=45 o/10=5 o/11=51 o/3=49 o/4=26 o/5=25 o/6=42 o/7=50 o/8=47 o/9=41",
];
const COLLECTED: [&str; 2] = [
    ". oooTGD. oTR ooTooTGD. TGD. TR oooToTGD. ooTGD. oTR oToooTGD. TR oTGD. TR OT. oTR oTGD. oTR ooTGD. TR OT. T. oTR TGD. TR ooooToTGD. OT. TOT.",
    "o/1=- o/10=- o/11=51 o/3=49 o/4=- o/5=25 o/6=- o/7=50 o/8=- o/9=-",
];
const ERASED_RECORDS: usize = 8;
const ERASED: [&str; 2] = [
    ". O. E. OT. eTR T. OT. OT. T. OT. OT. T. OT. UT. EET. OT. OT. oTD. T. TR oTD. OT. UT. TOT. TD. TD. UT. OT. oTR OT. TOT. oTD. OT. TR TD. OT. T. eTD. TR OT. oTR T. oTD. oTR ET. oTD. TR OT. T. eTR OT. OT. T. TR T. ET. UT. OT. UT. ToTD. OT. TOT. U.I",
    "o/10=5 o/11=51 o/3=49 o/4=26 o/5=25 o/6=42 o/7=50 o/8=47 o/9=41",
];
const SALVAGED: [&str; 2] = [
    ". ToooGD. oTTTooooGD. TGD. TTTooooGD. TooGD. oTTTooooGD. TToGD. TTO. oTToGD. oTTooGD. TTO. T. oTTGD. TTToooooGD. TO. TTO. R R R R R R R R R R",
    "o/1=- o/10=- o/11=51 o/3=49 o/4=- o/5=25 o/6=- o/7=50 o/8=- o/9=-",
];
const REVERTED: [&str; 2] = [
    "o/10++ o/11++ o/3+- o/5+- o/6++ o/7+- o/9++",
    "o/1:45 o/2:52 o/8:47",
];

//! The records of a rewritten log that are not commits: shared records, and maps with times.

use super::covering::cover;
use super::gc::{HOUR, Told, kept, on_disk, options, options_of_reader, told};
use super::gc_beside::only_head;
use super::{id, note, put};
use crate::Result;
use crate::engine::{Erasing, Retention, VerifyDepth, Writer};
use crate::log::{Locator, RecordKind};
use crate::testing::sim_disk::SimDisk;

#[test]
fn a_content_that_a_kept_draft_and_a_commit_share_is_not_missed() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let long = "shared ".repeat(1_000);
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("x", &long))?;
    memory.save_draft(&draft, "kept")?;
    put(&memory, "y", &long);
    memory.gc(&Retention::everything(), None)?;
    let report = memory.verify(VerifyDepth::Full)?;
    assert!(report.ok, "{:?}", report.damage);
    let draft = memory.open_draft("drafts/kept", &Writer::user())?;
    assert_eq!(
        draft.get(&id("x"))?.and_then(|x| x.content().map(str::to_owned)),
        Some(long)
    );
    Ok(())
}

#[test]
fn what_a_kept_commit_needs_may_stand_behind_the_newest_one() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let long = "erased and written again ".repeat(400);
    put(&memory, "a", &long);
    let content = memory.view().get(&id("a"))?.and_then(|a| a.content_digest());
    let (content, _) = content.expect("it is a record of its own");
    put(&memory, "a", "short");
    let erasing = Erasing {
        targets: vec![content.to_hex()],
        everywhere: true,
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let mut draft = memory.draft(&Writer::user());
    draft.put(note("b", &long))?;
    memory.save_draft(&draft, "kept")?;
    let before = kept(&memory);
    for _ in 0..2 {
        memory.gc(&Retention::everything(), None)?;
        assert!(kept(&memory) == before);
        let report = memory.verify(VerifyDepth::Full)?;
        assert!(report.ok, "{:?}", report.damage);
    }
    Ok(())
}

/// Makes a store whose oldest kept commit has 2,000 objects. Returns the visible data of the objects, and the locators
/// of the records of the commit's map.
fn with_a_base(disk: &SimDisk) -> Result<(Told, Vec<Locator>)> {
    let memory = on_disk(disk, options(HOUR), true)?;
    for round in 0..2 {
        let mut draft = memory.draft(&Writer::user());
        for number in 0..2_000 {
            if round == 0 || number % 3 == 0 {
                draft.put(note(&format!("o/{number}"), &format!("{round}")))?;
            }
        }
        memory.commit(draft, "put")?;
    }
    put(&memory, "last", "one");
    let before = told(&memory.view());
    memory.gc(&only_head(), None)?;
    let (store, mut parts) = (memory.inner.store(), Vec::new());
    let newest = memory.inner.log.lock().log.position().batch;
    store.read_log(newest, &mut |batch| {
        let stating = batch
            .records
            .iter()
            .filter(|record| record.kind == RecordKind::Base);
        parts.extend(stating.map(|record| {
            assert!(
                record.body.len() <= 16 << 10,
                "a read must check the whole record: {}",
                record.body.len()
            );
            record.locator
        }));
        Ok(())
    })?;
    assert!(told(&memory.view()) == before);
    cover(&memory);
    Ok((before, parts))
}

#[test]
fn what_a_base_says_of_one_id_is_found_without_reading_all_of_it() -> Result<()> {
    let disk = SimDisk::new(1);
    let (expected, parts) = with_a_base(&disk)?;
    assert!(parts.len() > 8, "{parts:?}");
    let reader = on_disk(&disk, options_of_reader(), false)?;
    let view = reader.view();
    view.stamps(&id("last"))?;
    let before = disk.reads();
    for (name, (_, _, stamps)) in &expected {
        assert_eq!(view.stamps(&id(name))?, *stamps, "{name}");
    }
    let reads = (disk.reads() - before) / expected.len() as u64;
    assert!(reads <= 12, "{reads} reads for each object");
    Ok(())
}

#[test]
fn a_base_with_a_damaged_key_says_nothing_wrong() -> Result<()> {
    let disk = SimDisk::new(1);
    let (expected, parts) = with_a_base(&disk)?;
    let mut found = [0, 0];
    for part in &parts {
        let copy = disk.copy();
        let name = format!("log/{:08}.seg", part.segment());
        // Changes the first byte of the first key, which follows the header of the frame.
        copy.overwrite(&name, |content| content[part.offset() as usize + 32] ^= 0x55);
        let reader = on_disk(&copy, options_of_reader().map(false), false)?;
        let view = reader.view();
        for (name, (_, _, stamps)) in expected.iter().step_by(7) {
            match view.stamps(&id(name)) {
                Ok(found_stamps) => {
                    assert_eq!(found_stamps, *stamps, "{name}");
                    found[0] += 1;
                }
                Err(error) => {
                    assert!(error.is_corruption(), "{error:?}");
                    found[1] += 1;
                }
            }
        }
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
    Ok(())
}

/// INVARIANT REW-2: records of 4 MiB and more that move together get batches of their own only while numbers are free.
#[test]
fn rew_2_a_rewrite_has_no_more_batches_than_the_log() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR).segment_bytes_max(64 << 20), true)?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..21 {
        draft.put(note(
            &format!("o/{number}"),
            &format!("{number:02}").repeat(500_000),
        ))?;
    }
    memory.commit(draft, "put")?;
    put(&memory, "last", "one");
    let before = kept(&memory);
    let newest = || memory.inner.log.lock().log.position().batch;
    let batches = newest();
    memory.gc(&only_head(), None)?;
    assert!(newest() <= batches);
    assert_eq!(kept(&memory), before[..1]);
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

//! Thins history and rewrites the log: kept commits stay unchanged, thinned states are removed, and other processes can
//! continue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{id, note, put};
use crate::digest::{CommitDigest, Root};
use crate::disk::Disk;
use crate::engine::upkeep::Cut;
use crate::engine::{Clock, Containment, Memory, Options, Retention, Revision, VerifyDepth, View, Writer};
use crate::object::Time;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorKind, Result};

pub(super) const HOUR: i64 = 3_600_000_000;

/// A clock that advances by a step at each call.
pub(super) struct Ticking {
    now: AtomicI64,
    step: i64,
}

impl Clock for Ticking {
    fn now(&self) -> Time {
        Time::from_micros(self.now.fetch_add(self.step, Ordering::Relaxed))
    }
}

pub(super) fn options(step: i64) -> Options {
    let now = AtomicI64::new(1_700_000_000_000_000);
    Options::new()
        .clock(Arc::new(Ticking { now, step }))
        .segment_bytes_max(64 << 10)
        .checkpoint_heavy(16 << 10, 1 << 10)
        .small_sizes()
}

pub(super) fn on_disk(disk: &SimDisk, options: Options, create: bool) -> Result<Memory> {
    Memory::on_disk(Arc::new(disk.clone()) as Arc<dyn Disk>, options, create, None)
}

/// The visible data of the objects of a state, by id: digest, start of the content, and times of creation and update.
pub(super) type Told = BTreeMap<String, (String, Option<String>, Option<(Time, Time)>)>;

/// Returns the visible data of every object of a state.
pub(super) fn told(view: &View) -> Told {
    let objects = view.objects().map(|object| object.unwrap());
    objects
        .map(|object| {
            let stamps = view.stamps(&id(object.id().as_str())).unwrap();
            let content = object
                .content()
                .map(|text| text.chars().take(20).collect::<String>());
            (
                object.id().to_string(),
                (object.digest().to_hex(), content, stamps),
            )
        })
        .collect()
}

/// The commits that must be kept, each with its state.
pub(super) type Kept = Vec<(CommitDigest, u64, Root, Told)>;

pub(super) fn kept(memory: &Memory) -> Kept {
    let commits = memory.commits().map(Result::unwrap);
    commits
        .map(|info| {
            let view = memory
                .view_at(&format!("seq:{}", info.commit.seq).parse().unwrap(), "")
                .unwrap();
            (info.digest, info.commit.seq, view.root(), told(&view))
        })
        .collect()
}

/// Makes a history of puts, removals, snapshots, rollbacks and undos, with long contents, reasons and saved drafts.
pub(super) fn live(memory: &Memory, random: &mut SplitMix64, steps: u64) {
    for step in 0..steps {
        let name = format!("o/{}", random.below(12));
        let writer = Writer::user()
            .session(format!("s{}", random.below(3)))
            .reason(format!("why {step}"));
        let outcome = match random.below(12) {
            0 => memory.remove(&id(&name), &writer).map(drop),
            1 => memory
                .rollback(Revision::Ancestor(random.below(4) as u64))
                .across_lanes()
                .by(&writer)
                .map(drop),
            2 => memory.undo(&writer).map(drop),
            3 => memory.redo(&writer).map(drop),
            4 => memory.snapshot(None, &writer).map(drop),
            5 if step % 7 == 0 => memory.snapshot(Some(&format!("kept-{step}")), &writer).map(drop),
            6 => {
                let mut draft = memory.draft(&writer);
                draft.put(note(&name, &format!("drafted {step}"))).unwrap();
                memory.save_draft(&draft, &format!("d{step}"))
            }
            7 => {
                let long = format!("{step} ").repeat(2_000); // a content record
                memory.put(note(&name, &long), &writer).map(drop)
            }
            _ => memory
                .put(note(&name, &format!("text {}", random.below(40))), &writer)
                .map(drop),
        };
        if let Err(error) = outcome {
            let expected = matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::InvalidInput
            );
            assert!(expected, "{error:?}");
        }
    }
}

pub(super) fn tight() -> Retention {
    Retention {
        newest: 3,
        hourly: std::time::Duration::from_hours(5),
        daily: std::time::Duration::from_hours(72),
        weekly: std::time::Duration::ZERO,
        ..Retention::default()
    }
}

#[test]
fn what_is_kept_is_exact_and_what_is_thinned_is_in_the_chain() -> Result<()> {
    for seed in 0..60 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR / 3), true)?;
        for round in 0..3 {
            live(&memory, &mut random, 60);
            let before = kept(&memory);
            let history = memory.history(&id("o/1"))?;
            let now = Some(memory.view().commit().commit.time);
            let preview = memory.gc_preview(&tight(), now)?;
            assert_eq!(kept(&memory).len(), before.len(), "a preview must change nothing");
            let held = memory.view();
            let report = memory.gc(&tight(), now)?;
            assert_eq!(preview, report);
            let after = kept(&memory);
            assert_eq!(after.len() as u64, report.kept, "seed {seed}, round {round}");
            assert_eq!(before.len() - after.len(), report.thinned as usize);
            let old: BTreeMap<_, _> = before
                .iter()
                .map(|(digest, seq, root, told)| (*digest, (*seq, *root, told)))
                .collect();
            // INVARIANT REW-1: replaying the new log gives the kept commits in the same order, with their digests, seqs
            // and roots.
            for (digest, seq, root, now) in &after {
                let (old_seq, old_root, then) = &old[digest];
                assert_eq!(
                    (seq, root, now),
                    (old_seq, old_root, *then),
                    "seed {seed}, round {round}, seq {seq}"
                );
            }
            let left: std::collections::BTreeSet<_> = after.iter().map(|kept| kept.0).collect();
            for (digest, ..) in &before {
                let expected = if left.contains(digest) {
                    Containment::Kept
                } else {
                    Containment::Thinned
                };
                assert_eq!(memory.contains(&digest.to_hex())?, expected);
            }
            assert!(memory.history(&id("o/1"))?.len() <= history.len());
            assert_eq!(
                told(&held),
                told(&memory.view()),
                "an open view must stay readable"
            );
            for snapshot in memory.snapshots()? {
                assert!(left.contains(&snapshot.commit), "RET-1: {}", snapshot.name);
            }
            for reference in memory
                .references()
                .iter()
                .filter(|reference| reference.name.starts_with("drafts/"))
            {
                memory.open_draft(&reference.name, &Writer::user())?;
            }
            let verified = memory.verify(VerifyDepth::Full)?;
            assert!(verified.ok, "{:?}", verified.damage);
            let again = memory.gc(&tight(), None)?;
            assert!(again.thinned <= report.kept);
            let reader = on_disk(&disk, options(1).read_only(true), false)?;
            assert_eq!(told(&reader.view()), told(&memory.view()));
        }
    }
    Ok(())
}

#[test]
fn others_go_on_while_the_log_is_rewritten_and_find_it_rewritten() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    live(&memory, &mut SplitMix64::new(3), 80);
    let other = on_disk(
        &disk,
        options(HOUR).wait(std::time::Duration::from_secs(5)),
        false,
    )?;
    let reader = on_disk(&disk, options(1).read_only(true), false)?;
    memory.gc(&tight(), None)?;
    put(&other, "o/new", "written by a handle that read the old log");
    assert_eq!(told(&reader.refresh()?), told(&other.view()));
    assert_eq!(told(&memory.refresh()?), told(&other.view()));
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn gc_1_what_was_committed_meanwhile_keeps_what_it_needs() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "one");
    let old = memory.view();
    for number in 0..400 {
        put(&memory, "a", &format!("later {number}"));
    }
    let reader = on_disk(&disk, options(1).read_only(true), false)?;
    let went_back = std::sync::atomic::AtomicBool::new(false);
    // Between the choice of commits and the publication, another writer rolls back to a state that would be thinned.
    let choose = |cut: &Cut| {
        let kept = memory.inner.choose(&tight(), cut, memory.view().now())?;
        if !went_back.swap(true, Ordering::Relaxed) {
            memory.rollback("seq:1").across_lanes().by(&Writer::user())?;
        }
        Ok(kept)
    };
    memory
        .inner
        .rewrite(&choose, std::time::Duration::ZERO, crate::log::Seal::Now)?;
    assert_eq!(memory.view().root(), old.root());
    assert_eq!(told(&memory.view()).len(), 1);
    assert_eq!(told(&reader.refresh()?), told(&memory.view()));
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_commit_behind_a_gap_is_not_undone_as_if_it_had_done_what_was_thinned() -> Result<()> {
    let memory = Memory::on_disk(
        Arc::new(crate::disk::MemDisk::new()),
        options(48 * HOUR),
        true,
        None,
    )?;
    for number in 0..20 {
        put(&memory, &format!("o/{number}"), "text");
    }
    let only_head = Retention {
        all: std::time::Duration::ZERO,
        newest: 0,
        hourly: std::time::Duration::ZERO,
        daily: std::time::Duration::ZERO,
        weekly: std::time::Duration::ZERO,
        forgotten: std::time::Duration::ZERO,
    };
    let report = memory.gc(&only_head, None)?;
    assert_eq!((report.kept, report.thinned), (1, 20));
    let refused = memory.undo(&Writer::user()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
    assert!(refused.to_string().contains("thinned"), "{refused}");
    let refused = memory.view_at(&"seq:4".parse()?, "").map(drop).unwrap_err();
    assert_eq!(refused.code(), "thinned");
    put(&memory, "o/more", "text");
    memory.undo(&Writer::user())?;
    assert_eq!(memory.view().len(), 20);
    Ok(())
}

#[test]
fn garbage_is_collected_without_being_asked_once_half_of_the_log_would_go() -> Result<()> {
    let history = |retention: Option<Retention>| -> Result<(usize, u64)> {
        let disk = SimDisk::new(1);
        let options = options(HOUR / 12)
            .segment_bytes_max(4 << 20)
            .automatic_gc(retention);
        let memory = on_disk(&disk, options, true)?;
        for number in 0..1_400 {
            let long = format!("{number} ").repeat(2_800);
            put(&memory, "o/1", &long);
        }
        let snapshot = memory.snapshot(Some("newest"), &Writer::user())?;
        assert_eq!(
            memory.commits().count(),
            1_401,
            "commits must not wait for a collection"
        );
        assert_eq!(memory.warnings(), Vec::<String>::new());
        memory.close()?;
        let memory = on_disk(&disk, options_of_reader(), false)?;
        assert_eq!(memory.view().root(), snapshot.root);
        assert!(memory.verify(VerifyDepth::Full)?.ok);
        let bytes = memory.inner.log.lock().log.batch_bytes();
        Ok((memory.commits().count(), bytes))
    };
    let (all, bytes) = history(None)?;
    assert_eq!(all, 1_401);
    let a_day = Retention {
        all: std::time::Duration::from_hours(24),
        ..Retention::automatic()
    };
    let (kept, left) = history(Some(a_day))?;
    assert!(
        kept > 288 && kept < all,
        "a day and earlier hours are kept: {kept}"
    );
    assert!(left < bytes * 3 / 4, "{left} of {bytes} bytes");
    // All commits here are newer than a week.
    assert_eq!(history(Some(Retention::automatic()))?.0, all);
    Ok(())
}

#[test]
fn segments_that_recoveries_left_are_merged_without_being_asked() -> Result<()> {
    let segments = |retention: Option<Retention>| -> Result<usize> {
        let disk = SimDisk::new(3);
        drop(on_disk(&disk, options(HOUR), true)?);
        for number in 0..70 {
            // Without the file `live`, each writer must recover the tail of the previous writer.
            disk.remove_file("live");
            let options = options(HOUR).segment_bytes_max(4 << 20).automatic_gc(retention);
            let memory = on_disk(&disk, options, false)?;
            put(&memory, &format!("o/{number}"), "text");
            memory.close()?;
        }
        let memory = on_disk(&disk, options_of_reader(), false)?;
        assert_eq!((memory.view().len(), memory.commits().count()), (70, 71));
        assert!(memory.verify(VerifyDepth::Full)?.ok);
        Ok(memory.inner.log.lock().log.size().0)
    };
    assert!(segments(None)? > 64);
    let merged = segments(Some(Retention::automatic()))?;
    assert!(merged < 16, "{merged}");
    Ok(())
}

#[test]
fn one_process_with_a_wrong_clock_does_not_make_a_young_history_old() -> Result<()> {
    let disk = SimDisk::new(2);
    let write = |days: i64, create: bool| -> Result<usize> {
        let now = AtomicI64::new(1_700_000_000_000_000 + days * 24 * HOUR);
        let options = Options::new()
            .clock(Arc::new(Ticking {
                now,
                step: HOUR / 600,
            }))
            .segment_bytes_max(4 << 20)
            .automatic_gc(Some(Retention::automatic()));
        let memory = on_disk(&disk, options, create)?;
        // Writes twelve megabytes. The log doubles while the second process writes, and most bytes of the log come from
        // the first process.
        for number in 0..900 {
            put(&memory, "o/1", &format!("{days:02} {number:03} ").repeat(2_000));
        }
        memory.close()?;
        Ok(on_disk(&disk, options_of_reader(), false)?.commits().count())
    };
    assert_eq!(write(0, true)?, 901);
    assert_eq!(write(30, false)?, 1_801, "a month ahead, for two hours");
    assert_eq!(
        write(0, false)?,
        2_701,
        "the clock is right again and does not advance"
    );
    Ok(())
}

#[test]
fn a_log_that_was_just_collected_is_not_looked_at_again() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR).segment_bytes_max(4 << 20), true)?;
    for number in 0..40 {
        put(
            &memory,
            &format!("o/{number}"),
            &format!("{number} ").repeat(100_000),
        );
    }
    memory.inner.log.lock().collect = false;
    memory.gc(&tight(), None)?;
    assert!(!memory.inner.log.lock().collect, "by the one who collected");
    let other = on_disk(&disk, options(HOUR), false)?;
    super::covering::cover(&other);
    assert!(!other.inner.log.lock().collect, "by another one");
    Ok(())
}

pub(super) fn options_of_reader() -> Options {
    options(1).read_only(true)
}

#[test]
fn what_a_thinned_commit_did_is_told_of_nobody_else() {
    let disk = SimDisk::new(11);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    let by = |lane: &str| Writer::user().session(lane).reason(format!("of {lane}"));
    memory.put(note("first", "1"), &by("vera")).unwrap();
    memory.snapshot(Some("one"), &by("vera")).unwrap();
    memory
        .put(note("claim", "office in Frankfurt"), &by("crawler"))
        .unwrap();
    let claimed = memory.view().commit().commit.time;
    memory.remove(&id("first"), &by("crawler")).unwrap();
    memory.put(note("tea", "green"), &by("vera")).unwrap();
    // Before the collection, the check knows that another lane made the commits.
    let refused = memory.rollback("one").by(&by("vera")).err().unwrap();
    assert_eq!(
        (refused.code(), refused.ids()),
        (crate::error::ErrorCode::OtherLanes, &["crawler".to_owned()][..])
    );
    let none = std::time::Duration::ZERO;
    let least = Retention {
        newest: 1,
        all: none,
        hourly: none,
        daily: none,
        weekly: none,
        forgotten: none,
    };
    memory.gc(&least, None).unwrap();
    let newest = |name: &str| memory.history(&id(name)).unwrap().swap_remove(0);
    let claim = newest("claim");
    assert!(claim.maker().is_none() && claim.time == claimed, "{claim:?}");
    let first = newest("first");
    assert!(first.digest.is_none() && first.maker().is_none(), "{first:?}");
    // The author of a change is still known if the commit that made it is kept.
    assert_eq!(newest("tea").maker().unwrap().lane(), "vera");
    // The authors of the changes that the rollback would revert are no longer known, so the rollback requires
    // `across_lanes`.
    let refused = memory.rollback("one").by(&by("vera")).err().unwrap();
    assert_eq!(refused.code(), "other_lanes");
    assert!(refused.to_string().contains("2 commits"), "{refused}");
    assert!(
        memory
            .rollback("one")
            .across_lanes()
            .by(&by("vera"))
            .unwrap()
            .changed
    );
}

/// INVARIANT RET-2: recently forgotten objects can be restored completely: each commit that forgot an object stays, and
/// so does the commit before that commit.
#[test]
fn what_was_forgotten_lately_stays_whatever_is_thinned() -> Result<()> {
    let mut least = super::gc_beside::only_head();
    least.forgotten = Retention::default().forgotten;
    let memory = Memory::in_memory()?;
    for name in ["a", "b", "c"] {
        put(&memory, name, name);
    }
    for name in ["a", "b"] {
        let mut draft = memory.draft(&Writer::user());
        draft.remove(&id(name))?;
        memory.commit(draft, "forget")?;
    }
    put(&memory, "later", "text");
    let forgetting: Vec<_> = memory.commits().skip(1).take(2).map(Result::unwrap).collect();
    let report = memory.gc(&least, None)?;
    assert_eq!((report.kept, report.thinned), (4, 3));
    for (info, name) in forgetting.iter().zip(["b", "a"]) {
        let before = memory.view_before(info)?.unwrap();
        assert_eq!(before.get(&id(name))?.unwrap().content(), Some(name));
    }
    // A month later, the retention no longer keeps the forgotten objects.
    let later = memory.view().now().as_micros() + 31 * treering_text::calendar::DAY_MICROS;
    let report = memory.gc(&least, Some(Time::from_micros(later)))?;
    assert_eq!(report.kept, 1);
    Ok(())
}

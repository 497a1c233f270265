//! The cache of places never shows: what a view reads by id is what its trie has, at any time and through any change.

use std::collections::BTreeMap;

use super::gc::{HOUR, on_disk, options, tight};
use super::{by, content, id, note, put};
use crate::engine::{Erasing, Memory, Selection, VerifyDepth, View, Writer};
use crate::object::Id;
use crate::store::IdHash;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::{ObjectDigest, Result};

const IDS: usize = 24;

/// A view, and what its trie has.
struct Held {
    view: View,
    ids: Vec<Id>,
    has: BTreeMap<String, ObjectDigest>,
}

impl Held {
    fn of(view: View) -> Self {
        let mut ids: Vec<Id> = (0..IDS).map(|number| id(&format!("o/{number}"))).collect();
        // An erased version is an error.
        ids.retain(|id| view.get(id).is_ok());
        let objects = view.objects().map(|object| object.unwrap());
        let has = objects
            .map(|object| (object.id().to_string(), object.digest()))
            .collect();
        Self { view, ids, has }
    }

    fn check(&self, after: &str) {
        let together = self.view.get_all(&self.ids).unwrap();
        for (id, together) in self.ids.iter().zip(together) {
            let expected = self.has.get(id.as_str()).copied();
            let found = self.view.get(id).unwrap();
            let seq = self.view.commit().commit.seq;
            assert_eq!(
                found.map(|object| object.digest()),
                expected,
                "{id} of seq {seq} after {after}"
            );
            assert_eq!(
                together.map(|object| object.digest()),
                expected,
                "{id} of seq {seq} after {after}, together"
            );
        }
    }
}

/// Makes a random change. Returns what it was.
fn change(memory: &mut Memory, other: &Memory, random: &mut SplitMix64, step: usize) -> String {
    let name = format!("o/{}", random.below(IDS));
    let session = by(["one", "two"][random.below(2)]);
    let seq = memory.view().commit().commit.seq;
    match random.below(20) {
        // Few texts, so an id often returns to an older version.
        0..=6 => {
            let text = ["red", "green", "long "][random.below(3)].repeat([1, 1_500][random.below(2)]);
            let memory = if random.one_in(4) { other } else { &*memory };
            drop(memory.put(note(&name, &text), &session));
            format!("put {name}")
        }
        7 | 8 => {
            drop(memory.remove(&id(&name), &session));
            format!("remove {name}")
        }
        9 => {
            let target = random.below(seq as usize + 1);
            let back = memory.rollback(format!("seq:{target}").as_str()).across_lanes();
            drop(back.by(&session));
            format!("rollback to {target}")
        }
        10 => format!("undo: {}", memory.undo(&session).is_ok()),
        11 => format!("redo: {}", memory.redo(&session).is_ok()),
        12 => {
            let selection = Selection::default().session("one");
            format!("revert: {}", memory.revert(selection).by(&Writer::user()).is_ok())
        }
        13 | 14 => {
            let fork = memory.fork(&format!("f{step}")).by(&session).unwrap();
            drop(fork.put(note(&name, &format!("in a fork {step}")), &session));
            // The version may be erased.
            let beside = id(&format!("o/{}", random.below(IDS)));
            drop(memory.put(note(beside.as_str(), "beside a fork"), &by("beside")));
            let merged = memory.merge(&format!("f{step}")).by(&session);
            format!("merge of {name}: {}", merged.is_ok())
        }
        15 => {
            let mut draft = memory.draft(&session);
            for number in 0..IDS * 2 {
                draft
                    .put(note(&format!("o/{number}"), &format!("bulk {step}")))
                    .unwrap();
            }
            memory.commit(draft, "put").unwrap();
            "bulk".to_owned()
        }
        16 => {
            drop(memory.gc(&tight(), None));
            "gc".to_owned()
        }
        17 => {
            let erasing = Erasing {
                targets: vec![name.clone()],
                everywhere: true,
                ..Erasing::default()
            };
            // The versions of older views are gone with this, so the caller drops them.
            drop(memory.erase(&erasing, &Writer::user()));
            format!("erase {name}")
        }
        18 => {
            drop(memory.snapshot(None, &session));
            "snapshot".to_owned()
        }
        _ => {
            drop(memory.verify(VerifyDepth::Full).unwrap());
            "verify".to_owned()
        }
    }
}

/// Makes a random change in a fork that stays, or in one of that fork. Returns what it was, and the fork.
fn change_fork(memory: &Memory, random: &mut SplitMix64) -> Result<(String, Memory)> {
    let (session, is_inner) = (by("three"), random.one_in(3));
    let names = ["live", "inner"];
    let open = |below: &Memory, name: &str| match below.open_fork(name) {
        Err(_) => below.fork(name).by(&session),
        opened => opened,
    };
    let mut fork = open(memory, names[0])?;
    if is_inner {
        fork = open(&fork, names[1])?;
    }
    let name = format!("o/{}", random.below(IDS));
    let base = fork.fork_base()?.unwrap().commit.seq;
    let what = match random.below(12) {
        0..=4 => {
            let text = ["red", "green", "long "][random.below(3)];
            format!("put {name}: {}", fork.put(note(&name, text), &session).is_ok())
        }
        5 => format!("remove {name}: {}", fork.remove(&id(&name), &session).is_ok()),
        6 => format!("undo: {}", fork.undo(&session).is_ok()),
        7 => format!("redo: {}", fork.redo(&session).is_ok()),
        8 => {
            let seq = fork.view().commit().commit.seq;
            // Sometimes to before the base.
            let target = base.saturating_sub(2) + random.below((seq - base) as usize + 3) as u64;
            let back = fork.rollback(format!("seq:{target}").as_str()).across_lanes();
            format!("rollback to {target}: {}", back.by(&session).is_ok())
        }
        9 => {
            let selection = Selection::default().session("three");
            format!("revert: {}", fork.revert(selection).by(&Writer::user()).is_ok())
        }
        10 => {
            format!("merge of main: {}", fork.merge("main").by(&session).is_ok())
        }
        _ => {
            let dropped = memory.drop_fork(names[usize::from(is_inner)], true, &session);
            format!("drop: {}", dropped.is_ok())
        }
    };
    Ok((
        format!("{what} in the fork {}", names[usize::from(is_inner)]),
        fork,
    ))
}

fn run(seed: u64) -> Result<()> {
    let disk = SimDisk::new(seed);
    let mut memory = on_disk(&disk, options(HOUR), true)?;
    let other = on_disk(&disk, options(HOUR), false)?;
    let (mut random, mut held) = (SplitMix64::new(seed), Vec::<Held>::new());
    for step in 0..120 {
        if random.one_in(30) {
            memory.close()?;
            memory = on_disk(&disk, options(HOUR), false)?;
        }
        if seed.is_multiple_of(2) {
            memory.inner.store().seems_read_much();
        }
        let what = change(&mut memory, &other, &mut random, step);
        if what.starts_with("erase") {
            held.clear();
        }
        held.push(Held::of(memory.refresh()?));
        held.push(Held::of(other.refresh()?));
        if random.one_in(2)
            && let Ok((what, fork)) = change_fork(&memory, &mut random)
        {
            held.push(Held::of(fork.view()));
            let base = fork.fork_base()?.unwrap().commit.seq;
            let past = base.saturating_sub(1) + random.below(4) as u64;
            held.extend(fork.at(format!("seq:{past}").as_str()).map(Held::of));
            held.iter()
                .rev()
                .for_each(|held| held.check(&format!("{what}, seed {seed}, step {step}")));
        }
        let seq = memory.view().commit().commit.seq;
        let past = format!("seq:{}", random.below(seq as usize + 1));
        if let Ok(past) = memory.at(past.as_str()).map(Held::of) {
            held.push(past);
        }
        // The newest view fills the cache before older views read from it.
        held.iter()
            .rev()
            .for_each(|held| held.check(&format!("{what}, seed {seed}, step {step}")));
        while held.len() > 12 {
            held.swap_remove(random.below(held.len()));
        }
    }
    Ok(())
}

#[test]
fn no_view_sees_the_cache() -> Result<()> {
    (0..12).try_for_each(run)
}

/// CHD-1: a fork finds in the cache what it has not changed, and fills the cache while its base is the newest state.
#[test]
fn a_fork_uses_the_cache_for_what_it_has_not_changed() -> Result<()> {
    let memory = Memory::in_memory()?;
    for name in ["a", "b", "c"] {
        put(&memory, name, "of main");
    }
    let fork = memory.fork("f").by(&Writer::user())?;
    put(&fork, "b", "of the fork");
    let nested = fork.fork("g").by(&Writer::user())?;
    let (main, fork, nested) = (memory.view(), fork.view(), nested.view());
    assert!(!is_cached(&main, "a") && !is_cached(&fork, "a"));
    for name in ["a", "b"] {
        assert!(content(&nested, name).is_some());
    }
    for view in [&main, &fork, &nested] {
        assert!(is_cached(view, "a"), "the nested fork read it");
        assert!(!is_cached(view, "b"), "only the fork has this version");
    }
    assert_eq!(content(&main, "b").as_deref(), Some("of main"));
    assert!(is_cached(&main, "b") && !is_cached(&fork, "b") && !is_cached(&nested, "b"));
    assert_eq!(content(&fork, "b").as_deref(), Some("of the fork"));
    Ok(())
}

/// PCH-1: what came back in a fork alone is not found in the main line by a process that did not write it.
#[test]
fn what_came_back_in_a_fork_does_not_fill_the_cache() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "red");
    let seq = memory.view().commit().commit.seq;
    memory.remove(&id("a"), &Writer::user())?;
    let fork = memory.fork("f").by(&Writer::user())?;
    let mut draft = fork.draft(&Writer::user());
    assert!(draft.restore(&id("a"), &fork.at(format!("seq:{seq}").as_str())?)?);
    fork.commit(draft, "restore")?;
    let other = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(
        content(&other.open_fork("f")?.view(), "a").as_deref(),
        Some("red")
    );
    assert_eq!(content(&other.view(), "a"), None);
    Ok(())
}

fn is_cached(view: &View, name: &str) -> bool {
    let (id, hash) = (id(name), IdHash::of(name));
    view.state.store.cached(&id, hash, view.entry.batch).is_some()
}

/// PCH-5: the cache serves the states before and behind a rollback, and none between.
#[test]
fn a_rollback_keeps_the_cache() -> Result<()> {
    let memory = Memory::in_memory()?;
    // A commit that changes much for the size of the cache empties it.
    for name in ["a", "b"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..30).map(|n| format!("o/{n}")))
    {
        put(&memory, &name, "first");
    }
    let first = memory.view();
    for name in ["a", "b"] {
        assert_eq!(content(&first, name).as_deref(), Some("first"));
    }
    let back = |to: &View| {
        let target = format!("seq:{}", to.commit().commit.seq);
        memory
            .rollback(target.as_str())
            .across_lanes()
            .by(&Writer::user())
    };
    for round in 0..20 {
        let before = memory.view();
        // A version that comes back would raise the floor.
        let wrong = format!("wrong {round}");
        put(&memory, "a", &wrong);
        let between = memory.view();
        assert_eq!(content(&between, "a").as_ref(), Some(&wrong));
        back(&before)?;
        let behind = memory.view();
        // Above the number of rollbacks that are remembered, the cache begins anew.
        assert_eq!(is_cached(&behind, "b"), round != 16, "round {round}");
        assert!(!is_cached(&behind, "a") && !is_cached(&between, "b"));
        if round < 16 {
            assert!(is_cached(&first, "b") && is_cached(&before, "b"));
        }
        assert_eq!(content(&between, "a").as_ref(), Some(&wrong));
        for view in [&first, &behind, &before] {
            assert_eq!(content(view, "a").as_deref(), Some("first"));
            assert_eq!(content(view, "b").as_deref(), Some("first"));
        }
    }
    Ok(())
}

/// A store that is read much notes what is beside, except what nobody has read.
#[test]
fn a_reader_notes_what_is_beside() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let names: Vec<String> = (0..600).map(|number| format!("o/{number}")).collect();
    let mut draft = memory.draft(&Writer::user());
    for name in &names {
        draft.put(note(name, "text"))?;
    }
    memory.commit(draft, "put")?;
    let cached = |view: &View| names.iter().filter(|name| is_cached(view, name)).count();
    let view = memory.view();
    // Ids meet in a line at random, so a few may lack room.
    let read =
        |view: &View, names: &[String]| names.iter().try_for_each(|name| view.get(&id(name)).map(drop));
    read(&view, &names[..256])?;
    assert!((250..=256).contains(&cached(&view)), "{}", cached(&view));
    read(&view, &names[256..257])?;
    assert!(cached(&view) > 257, "{}", cached(&view));
    memory.close()?;
    let memory = on_disk(&disk, options(HOUR), false)?;
    let view = memory.view();
    read(&view, &names[..300])?;
    let known = cached(&view);
    assert!(
        (290..=300).contains(&known),
        "{known}: nobody has read the records beside"
    );
    view.objects().try_for_each(|object| object.map(drop))?;
    read(&view, &names[300..400])?;
    assert!(cached(&view) > 450, "{}", cached(&view));
    Ok(())
}

#[test]
fn a_version_that_comes_back_is_not_read_by_views_between() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "red");
    put(&memory, "a", "green");
    let green = memory.view();
    assert_eq!(content(&green, "a").as_deref(), Some("green"));
    put(&memory, "a", "red");
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("red"));
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("red"));
    assert_eq!(content(&green, "a").as_deref(), Some("green"));
    Ok(())
}

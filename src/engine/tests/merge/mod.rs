//! Merges: what each object gets, conflicts and decisions, the tree of parents, undone merges, the policy, and a model
//! over random graphs.

mod decided;
mod model;
mod rules;
mod through;

use super::{content, id, note, put};
use crate::digest::ObjectDigest;
use crate::engine::{Memory, Merged, Resolution, Strategy, View, Writer};
use crate::object::{Id, NewObject, Origin};
use crate::{ErrorCode, ErrorKind, Result};

fn forked(memory: &Memory, name: &str) -> Memory {
    memory.fork(name).by(&Writer::user()).unwrap()
}

fn merged(into: &Memory, name: &str) -> Merged {
    into.merge(name).by(&Writer::user()).unwrap()
}

fn open(merged: &Merged) -> Vec<(String, Vec<String>)> {
    let conflicts = merged.conflicts.iter();
    conflicts
        .map(|conflict| (conflict.id.to_string(), conflict.fields.clone()))
        .collect()
}

fn put_by(memory: &Memory, name: &str, text: &str, class: Origin) {
    drop(memory.put(note(name, text), &Writer::of(class)).unwrap());
}

fn remove(memory: &Memory, name: &str) {
    memory.remove(&id(name), &Writer::user()).unwrap();
}

fn below(name: &str, parent: &str) -> NewObject {
    let mut object = note(name, name);
    object.parent = Some(id(parent));
    object
}

fn put_below(memory: &Memory, name: &str, parent: &str) {
    drop(memory.put(below(name, parent), &Writer::user()).unwrap());
}

fn version(view: &View, name: &str) -> ObjectDigest {
    view.get(&id(name)).unwrap().unwrap().digest()
}

fn parent(memory: &Memory, name: &str) -> Option<String> {
    let object = memory.view().get(&id(name)).unwrap().unwrap();
    object.parent().map(str::to_owned)
}

fn text(memory: &Memory, name: &str) -> Option<String> {
    content(&memory.view(), name)
}

#[test]
fn what_one_side_changed_alone_comes_over_and_nothing_comes_twice() -> Result<()> {
    let (memory, user) = (Memory::in_memory()?, Writer::user());
    for name in ["a", "b", "c", "d"] {
        put(&memory, name, "first\nmiddle\nlast");
    }
    let fork = forked(&memory, "task");
    put(&fork, "a", "by the fork");
    put(&fork, "new", "by the fork");
    remove(&fork, "b");
    put(&fork, "d", "first\nmiddle\nby the fork");
    put(&memory, "c", "by main");
    put(&memory, "d", "by main\nmiddle\nlast");
    let before = memory.view().root();
    let preview = memory.merge("task").preview(&user)?;
    let result = merged(&memory, "task");
    assert_eq!(open(&result), []);
    assert_eq!(preview.counts, result.counts);
    let counts = result.counts;
    assert_eq!((counts.added, counts.changed, counts.removed), (1, 2, 1));
    assert_eq!(text(&memory, "a").as_deref(), Some("by the fork"));
    assert_eq!(text(&memory, "b"), None);
    assert_eq!(text(&memory, "c").as_deref(), Some("by main"));
    assert_eq!(
        text(&memory, "d").as_deref(),
        Some("by main\nmiddle\nby the fork")
    );
    let head = memory.view().commit();
    assert_eq!(head.commit.op.as_str(), "merge");
    assert_eq!(head.commit.parents[1..], [fork.view().commit().digest]);

    // MRG-2: merging again without new commits changes nothing.
    for again in [merged(&memory, "task"), memory.merge("task").again().by(&user)?] {
        assert!(!again.committed.changed);
        assert_eq!(memory.view().commit().digest, head.digest);
    }
    // MSD-2: the other direction has the same root.
    let there = forked(&fork, "there");
    assert!(merged(&there, "main").conflicts.is_empty());
    assert_eq!(there.view().root(), memory.view().root());
    assert_eq!(memory.drop_fork("task", false, &user)?.name, "task");
    let merge = memory.view().root();
    memory.undo(&user)?;
    assert_eq!(memory.view().root(), before);
    memory.redo(&user)?;
    assert_eq!(memory.view().root(), merge);
    Ok(())
}

#[test]
fn a_line_is_not_merged_into_itself_and_must_exist() -> Result<()> {
    let (memory, user) = (Memory::in_memory()?, Writer::user());
    let fork = forked(&memory, "task");
    let error = memory.merge("main").by(&user).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = fork.merge("task").by(&user).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = memory.merge("other").by(&user).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NoFork);
    put(&fork, "a", "x");
    let error = memory.drop_fork("task", false, &user).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unmerged);
    let head = memory.view().commit().digest;
    put(&memory, "b", "x");
    let moved = memory.merge("task").expect_head(head).by(&user).unwrap_err();
    assert_eq!(moved.code(), ErrorCode::HeadMoved);
    let error = memory.commit(memory.draft(&user), "merge").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReservedOp);
    Ok(())
}

#[test]
fn a_conflict_stays_open_until_somebody_decides() -> Result<()> {
    let user = Writer::user().session("review");
    let decide = |resolution: &dyn Fn(&Memory) -> Resolution| -> Result<Memory> {
        let memory = Memory::in_memory()?;
        put(&memory, "office", "Bremen");
        let fork = forked(&memory, "task");
        put(&fork, "office", "Oslo");
        put(&memory, "office", "Bergen");
        let sides = [version(&memory.view(), "office"), version(&fork.view(), "office")];
        let result = merged(&memory, "task");
        assert_eq!(open(&result), [("office".to_owned(), vec!["content".to_owned()])]);
        // The larger digest is shown meanwhile, and the answer does not count the object of the conflict.
        let shown = version(&memory.view(), "office");
        assert_eq!(Some(shown), sides.into_iter().max());
        assert_eq!(result.counts.added, 0);
        let conflicts = memory.conflicts()?;
        let [conflict] = conflicts.as_slice() else {
            panic!("{conflicts:?}");
        };
        assert_eq!(conflict.sides.len(), 2);
        for side in &conflict.sides {
            assert!(sides.contains(&side.version.unwrap()));
            assert_eq!(side.trust, Some(Origin::DirectUser));
            assert!(side.by.is_some());
        }
        assert!(memory.view().conflict(&id("office"))?.is_some());
        assert!(memory.view().conflict(&id("other"))?.is_none());
        memory.resolve_conflict(&id("office"), resolution(&fork), &user)?;
        assert!(memory.conflicts()?.is_empty());
        assert!(memory.view().conflict(&id("office"))?.is_none());
        let again = memory.resolve_conflict(&id("office"), Resolution::Remove, &user);
        assert_eq!(again.unwrap_err().code(), ErrorCode::NoConflict);
        assert!(!merged(&memory, "task").committed.changed);
        Ok(memory)
    };
    let taken = decide(&|fork| Resolution::Take(version(&fork.view(), "office")))?;
    assert_eq!(text(&taken, "office").as_deref(), Some("Oslo"));
    let removed = decide(&|_| Resolution::Remove)?;
    assert_eq!(text(&removed, "office"), None);
    let written = decide(&|_| Resolution::Content("Both".to_owned()))?;
    assert_eq!(text(&written, "office").as_deref(), Some("Both"));
    Ok(())
}

#[test]
fn a_version_that_is_no_side_is_not_taken() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let base = version(&memory.view(), "a");
    let fork = forked(&memory, "task");
    put(&fork, "a", "theirs");
    put(&memory, "a", "ours");
    drop(merged(&memory, "task"));
    let refused = memory.resolve_conflict(&id("a"), Resolution::Take(base), &Writer::user());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(memory.conflicts()?[0].base, Some(base));
    Ok(())
}

/// INVARIANT MSD-1: the lines of versions of different classes are not mixed.
#[test]
fn a_strategy_decides_only_the_lines_that_both_sides_changed() -> Result<()> {
    let decided = |class: Origin, strategy: Strategy| -> Result<(Option<String>, Origin)> {
        let memory = Memory::in_memory()?;
        put_by(&memory, "a", "a\nb\nc\nd", Origin::Model);
        let fork = forked(&memory, "task");
        put_by(&memory, "a", "A\nb\nc\nD", class);
        put_by(&fork, "a", "1\nb\nc\nd", Origin::Model);
        let done = memory.merge("task").strategy(strategy).by(&Writer::user())?;
        assert!(done.conflicts.is_empty());
        let origin = memory.view().get(&id("a"))?.unwrap().origin();
        Ok((text(&memory, "a"), origin))
    };
    let some = |text: &str| Some(text.to_owned());
    let (model, user) = (Origin::Model, Origin::DirectUser);
    assert_eq!(decided(model, Strategy::Theirs)?, (some("1\nb\nc\nD"), model));
    assert_eq!(decided(model, Strategy::Ours)?, (some("A\nb\nc\nD"), model));
    assert_eq!(decided(user, Strategy::Theirs)?, (some("1\nb\nc\nd"), model));
    assert_eq!(decided(user, Strategy::Ours)?, (some("A\nb\nc\nD"), user));
    Ok(())
}

#[test]
fn a_strategy_or_a_function_decides_instead() -> Result<()> {
    let conflicting = || -> Result<Memory> {
        let memory = Memory::in_memory()?;
        for name in ["text", "gone here", "gone there"] {
            put(&memory, &name.replace(' ', "-"), "first");
        }
        let fork = forked(&memory, "task");
        put(&memory, "text", "ours");
        remove(&memory, "gone-here");
        put(&memory, "gone-there", "ours");
        put(&fork, "text", "theirs");
        put(&fork, "gone-here", "theirs");
        remove(&fork, "gone-there");
        Ok(memory)
    };
    let result = |memory: &Memory| ["text", "gone-here", "gone-there"].map(|name| text(memory, name));
    let some = |text: &str| Some(text.to_owned());
    let memory = conflicting()?;
    assert_eq!(merged(&memory, "task").conflicts.len(), 3);
    let shown = result(&memory);
    assert_eq!(
        shown[1..],
        [some("theirs"), some("ours")],
        "the changed ones stay"
    );
    for (strategy, expected) in [
        (Strategy::Ours, [some("ours"), None, some("ours")]),
        (Strategy::Theirs, [some("theirs"), some("theirs"), None]),
        (Strategy::Newer, [some("theirs"), some("theirs"), None]),
    ] {
        let memory = conflicting()?;
        let merge = memory.merge("task").strategy(strategy).by(&Writer::user())?;
        assert!(merge.conflicts.is_empty(), "{strategy:?}");
        assert_eq!(result(&memory), expected, "{strategy:?}");
    }
    let memory = conflicting()?;
    let merge = memory.merge("task").strategy(Strategy::Trusted);
    assert_eq!(
        merge.by(&Writer::user())?.conflicts.len(),
        3,
        "nobody is more trusted"
    );
    let memory = conflicting()?;
    let merge = memory.merge("task").choose(|conflict| {
        let Some((ours, theirs)) = conflict.ours.zip(conflict.theirs) else {
            return crate::engine::Choice::Open;
        };
        assert_eq!(conflict.base.unwrap().content(), Some("first"));
        let mut both = ours.to_new().unwrap();
        both.content = Some(format!(
            "{} {}",
            ours.content().unwrap(),
            theirs.content().unwrap()
        ));
        crate::engine::Choice::Put(Box::new(both))
    });
    let merge = merge.strategy(Strategy::Ours).by(&Writer::user())?;
    assert!(merge.conflicts.is_empty());
    assert_eq!(result(&memory), [some("ours theirs"), None, some("ours")]);
    Ok(())
}

#[test]
fn a_parent_that_is_used_comes_back_and_stays() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "one", "a parent");
    put(&memory, "two", "a parent");
    let fork = forked(&memory, "task");
    remove(&memory, "one");
    put_below(&fork, "below-one", "one");
    put_below(&memory, "below-two", "two");
    remove(&fork, "two");
    let result = merged(&memory, "task");
    let removed = vec!["removed".to_owned()];
    assert_eq!(
        open(&result),
        [("one".to_owned(), removed.clone()), ("two".to_owned(), removed)]
    );
    for name in ["one", "below-one", "two", "below-two"] {
        assert!(memory.view().contains(&id(name))?, "{name}");
    }
    assert!(memory.verify(crate::engine::VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn of_a_circle_the_larger_key_path_keeps_its_parent_whoever_merges() -> Result<()> {
    for (name, other) in [("left", "right"), ("right", "left")] {
        let memory = Memory::in_memory()?;
        put(&memory, "left", "x");
        put(&memory, "right", "x");
        let fork = forked(&memory, "task");
        put_below(&memory, name, other);
        put_below(&fork, other, name);
        let there = forked(&fork, "there");
        let keys = [name, other].map(|name| (memory.view().key(&id(name)), name));
        let (_, stays) = keys.into_iter().max().unwrap();
        for (into, from) in [(&memory, "task"), (&there, "main")] {
            let result = merged(into, from);
            assert_eq!(open(&result), [(stays.to_owned(), vec!["parent".to_owned()])]);
            assert_eq!(parent(into, stays), None);
            let moved: Id = id(if stays == name { other } else { name });
            assert_eq!(parent(into, moved.as_str()).as_deref(), Some(stays));
        }
    }
    Ok(())
}

/// INVARIANT MSD-2: that holds also if both sides changed the text of an object of the circle, alike or not.
#[test]
fn a_circle_of_changed_objects_is_cut_alike_whoever_merges() -> Result<()> {
    for (case, (name, other)) in [("left", "right"), ("right", "left")]
        .repeat(9)
        .into_iter()
        .enumerate()
    {
        let (memory, base) = (Memory::in_memory()?, "one\ntwo\nthree");
        put(&memory, "above", "x");
        let start = |name: &str, text: &str| {
            let mut object = note(name, text);
            object.parent = Some(id("above"));
            object
        };
        for name in ["left", "right"] {
            drop(memory.put(start(name, base), &Writer::user())?);
        }
        let fork = forked(&memory, "task");
        let texts = [
            ("ours\ntwo\nthree", "one\ntwo\ntheirs"),
            ("both\ntwo\nthree", "both\ntwo\nthree"),
            ("ours\ntwo\nthree", "theirs\ntwo\nthree"),
        ];
        let at = |which: usize| texts[case / 2 / [1, 3][which] % 3];
        for (line, moved, below, side) in [(&memory, name, other, 0), (&fork, other, name, 1)] {
            for (which, object) in [moved, below].into_iter().enumerate() {
                let (ours, theirs) = at(usize::from((which == 0) == (side == 0)));
                let mut object = start(object, [ours, theirs][side]);
                if which == 0 {
                    object.parent = Some(id(below));
                }
                drop(line.put(object, &Writer::user())?);
            }
        }
        let (here, there) = (forked(&memory, "here"), forked(&fork, "there"));
        let keys = [name, other].map(|name| (memory.view().key(&id(name)), name));
        let (_, stays) = keys.into_iter().max().unwrap();
        drop((merged(&here, "task"), merged(&there, "main")));
        assert_eq!(here.view().root(), there.view().root(), "case {case}");
        assert_eq!(parent(&here, stays).as_deref(), Some("above"), "case {case}");
        let conflicts = here.conflicts()?;
        let conflict = conflicts.iter().find(|conflict| conflict.id.as_str() == stays);
        assert!(
            conflict.unwrap().fields.contains(&"parent".to_owned()),
            "case {case}"
        );
        assert!(memory.verify(crate::engine::VerifyDepth::Full)?.ok);
    }
    Ok(())
}

#[test]
fn a_fork_that_any_line_merged_is_dropped_without_more_words() -> Result<()> {
    let (memory, user) = (Memory::in_memory()?, Writer::user());
    let outer = forked(&memory, "outer");
    // Both begin at one commit of the main line.
    let inner = forked(&outer, "inner");
    put(&inner, "a", "x");
    assert_eq!(
        memory.drop_fork("inner", false, &user).unwrap_err().code(),
        ErrorCode::Unmerged
    );
    drop(merged(&outer, "inner"));
    // Nothing is lost, so an untrusted writer may drop it, too.
    assert_eq!(memory.drop_fork("inner", false, &Writer::tool("t"))?.commits, 1);
    Ok(())
}

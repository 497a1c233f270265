//! A commit enforces authorisation by the rule of its draft.

use super::{id, note, put};
use crate::engine::*;
use crate::object::{Origin, Scope, Time};
use crate::{ErrorCode, ErrorKind, Result};

const RULES: [Authorisation; 4] = [
    Authorisation::Untrusted,
    Authorisation::Everyone,
    Authorisation::Replacements,
    Authorisation::Decided,
];

/// Commits a replacement or a removal of the person's object. Returns the code of the refusal, if the commit is
/// refused.
fn touch(class: Origin, rule: Authorisation, is_removal: bool) -> Option<ErrorCode> {
    let memory = Memory::in_memory().unwrap();
    put(&memory, "mine", "green tea");
    let before = memory.view().root();
    let mut draft = memory.draft(&Writer::of(class));
    if rule != Authorisation::default() {
        draft.authorise(rule);
    }
    if is_removal {
        draft.remove(&id("mine")).unwrap();
    } else {
        draft.put(note("mine", "black tea")).unwrap();
    }
    let dry = draft.check_authorisation().is_err();
    let error = memory.commit(draft, "touch").err()?;
    assert!(dry, "a dry run refuses the same change as the commit");
    assert_eq!(
        (error.kind(), error.ids()),
        (ErrorKind::Denied, &["mine".to_owned()][..])
    );
    assert_eq!(memory.view().root(), before);
    Some(error.code())
}

/// INVARIANT STN-1: an untrusted writer's remove, undo, redo, rollback and restore change no object that is more
/// trusted than the writer.
#[test]
fn a_commit_refuses_what_its_rule_does_not_allow() {
    let refused = |class, is_removal| RULES.map(|rule| touch(class, rule, is_removal).is_some());
    for class in [Origin::ToolExternal, Origin::Document, Origin::Import] {
        for is_removal in [false, true] {
            assert_eq!(refused(class, is_removal), [true, true, true, false], "{class}");
        }
    }
    for is_removal in [false, true] {
        assert_eq!(refused(Origin::Model, is_removal), [false, true, false, false]);
        assert_eq!(refused(Origin::DirectUser, is_removal), [false; 4]);
    }
    assert_eq!(
        touch(Origin::Import, Authorisation::default(), true),
        Some(ErrorCode::LessTrusted)
    );
}

#[test]
fn a_trusted_writer_removes_what_has_expired() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut over = note("over", "last week");
    over.expires = Some(Time::from_micros(1));
    drop(memory.put(over, &Writer::user())?);
    let remove = |class| {
        let mut draft = memory.draft(&Writer::of(class));
        draft.authorise(Authorisation::Everyone);
        draft.remove(&id("over"))?;
        memory.commit(draft, "forget")
    };
    assert_eq!(remove(Origin::Import).unwrap_err().code(), ErrorCode::LessTrusted);
    assert!(remove(Origin::Model)?.changed);
    Ok(())
}

/// Finding 1.8: an untrusted `put` does not take the place of what is trusted, and neither does a trusted writer's
/// version that is derived from something untrusted.
#[test]
fn an_untrusted_put_replaces_nothing_trusted() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "mine", "green tea");
    let before = memory.view().root();
    let outside = || Writer::of(Origin::Import);
    let attempted = memory.attempt(&outside(), |draft| draft.remove(&id("mine")), &[]);
    assert_eq!(attempted.unwrap_err().code(), ErrorCode::LessTrusted);
    let refused = memory.put(note("mine", "black tea"), &outside());
    assert_eq!(refused.unwrap_err().code(), ErrorCode::LessTrusted);
    drop(memory.put(note("page", "a page"), &outside())?);
    let mut derived = note("mine", "of a page");
    let page = memory.view().get(&id("page"))?.map(|page| page.digest());
    derived.derived_from.extend(page);
    let refused = memory.put(derived, &Writer::user());
    assert_eq!(refused.unwrap_err().code(), ErrorCode::LessTrusted);
    assert_eq!(
        memory.view().get(&id("mine"))?.map(|mine| mine.origin()),
        Some(Origin::DirectUser)
    );
    drop(memory.remove(&id("page"), &outside())?);
    assert_eq!(memory.view().root(), before);
    Ok(())
}

/// INVARIANT STN-3: what a trusted writer took back stays taken back, even if only untrusted objects changed.
#[test]
fn an_untrusted_writer_takes_back_no_commit_of_a_trusted_one() -> Result<()> {
    let (tool, person) = (Writer::of(Origin::Import), Writer::user());
    let page = || -> Result<Memory> {
        let memory = Memory::in_memory()?;
        drop(memory.put(note("page", "one"), &tool)?);
        Ok(memory)
    };
    let refuses = |memory: &Memory, done: Result<Committed>| {
        assert_eq!(done.unwrap_err().code(), ErrorCode::LessTrusted);
        assert!(!memory.view().contains(&id("page")).unwrap());
    };
    let memory = page()?;
    drop(
        memory
            .revert(Selection::default().commit("seq:1".parse::<Revision>()?))
            .by(&person)?,
    );
    refuses(&memory, memory.undo(&tool));
    refuses(&memory, memory.rollback("seq:1").by(&tool));
    let revert = memory.revert(Selection::default().commit("seq:2".parse::<Revision>()?));
    refuses(&memory, revert.by(&tool).map(|reverted| reverted.committed));
    drop(memory.undo(&person)?);
    assert!(memory.view().contains(&id("page"))?);

    let memory = page()?;
    drop(memory.undo(&person)?);
    refuses(&memory, memory.redo(&tool));
    // A session undoes its own commits only. What a person removed after them stays away, too.
    let session = tool.clone().session("page");
    let memory = Memory::in_memory()?;
    drop(memory.put(note("page", "one"), &session)?);
    drop(memory.remove(&id("page"), &session)?);
    drop(memory.put(note("page", "two"), &person)?);
    drop(memory.remove(&id("page"), &person)?);
    refuses(&memory, memory.undo(&session));
    let memory = Memory::in_memory()?;
    drop(memory.put(note("page", "one"), &session)?);
    drop(memory.undo(&session)?);
    drop(memory.put(note("page", "two"), &person)?);
    drop(memory.remove(&id("page"), &person)?);
    refuses(&memory, memory.redo(&session));
    // Its own commits it may take back, and bring back.
    let memory = page()?;
    drop(memory.undo(&tool)?);
    drop(memory.redo(&tool)?);
    drop(memory.rollback("seq:0").by(&tool)?);
    assert!(memory.view().is_empty());
    Ok(())
}

/// INVARIANT STN-5: the undo, redo, rollback, restore and revert of a writer that is confined to scopes change no object
/// of another scope.
#[test]
fn each_writer_is_confined_to_its_own_scopes() -> Result<()> {
    let memory = Memory::in_memory()?;
    let writer = |scope: &str| -> Result<Writer> {
        Ok(Writer {
            scopes: Some([Scope::new(scope)?].into()),
            ..Writer::model("agent").session(scope)
        })
    };
    let (red, blue) = (writer("red")?, writer("blue")?);
    for (name, writer) in [("a", &red), ("b", &blue)] {
        let mut object = note(name, "one");
        object.scope = Scope::new(writer.lane())?;
        drop(memory.put(object, writer)?);
        drop(memory.undo(writer)?);
        drop(memory.redo(writer)?);
    }
    let root = memory.view().root();
    for (own, other) in [(&red, &blue), (&blue, &red)] {
        let session = Selection::default().session(other.lane());
        let foreign = Writer {
            scopes: own.scopes.clone(),
            ..other.clone()
        };
        let mut draft = memory.draft(own);
        let name = if other.lane() == "red" { "a" } else { "b" };
        for done in [
            memory.revert(session).by(own).map(drop),
            memory.rollback("seq:0").across_lanes().by(own).map(drop),
            memory.undo(&foreign).map(drop),
            draft.restore(&id(name), &memory.at("seq:0")?).map(drop),
        ] {
            assert_eq!(done.unwrap_err().code(), ErrorCode::OtherScope);
        }
    }
    assert_eq!(memory.view().root(), root);
    let reverted = memory.revert(Selection::default().session("red")).by(&red)?;
    assert_eq!(reverted.reverted.len(), 1);
    Ok(())
}

//! The taint of a session: what sets it, and that nothing clears it.

use super::gc::tight;
use super::{id, note};
use crate::engine::*;
use crate::object::{Kind, NewObject, Origin};
use crate::{ErrorCode, Result};

fn outside() -> Writer {
    Writer::of(Origin::Document).session("s1")
}

fn say(memory: &Memory, name: &str, text: &str, writer: &Writer) -> Result<()> {
    memory.put(note(name, text), writer).map(drop)
}

fn origin(memory: &Memory, name: &str) -> Option<Origin> {
    memory
        .view()
        .get(&id(name))
        .unwrap()
        .map(|object| object.origin())
}

/// INVARIANT TNT-1: undo, redo, rollback, removal, erasure and garbage collection leave the taint as it is.
#[test]
fn nothing_clears_a_taint() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Options::new().create(folder.path().join("s"))?;
    let user = Writer::user().session("s1");
    let before = memory.put(note("mine", "green tea"), &user)?.commit.digest;
    say(&memory, "page", "a page", &outside())?;
    drop(memory.undo(&user)?);
    drop(memory.redo(&user)?);
    drop(memory.rollback(before).across_lanes().by(&user)?);
    for number in 0..30 {
        say(&memory, "other", &number.to_string(), &Writer::user())?;
    }
    // The commit that the reference names is thinned, which is no damage.
    memory.gc(&tight(), None)?;
    let verified = memory.verify(VerifyDepth::Full)?;
    assert!(verified.ok, "{verified:?}");
    say(&memory, "late", "said later", &user)?;
    assert_eq!(origin(&memory, "late"), Some(Origin::ToolExternal));
    assert_eq!(origin(&memory, "mine"), Some(Origin::DirectUser));
    say(
        &memory,
        "elsewhere",
        "said elsewhere",
        &Writer::user().session("s2"),
    )?;
    assert_eq!(origin(&memory, "elsewhere"), Some(Origin::DirectUser));
    drop(memory);
    let memory = Options::new().open(folder.path().join("s"))?;
    assert!(memory.view().is_tainted("s1")? && !memory.view().is_tainted("s2")?);
    // The taint is no snapshot, and no verb for references deletes it.
    assert!(
        memory
            .snapshots()?
            .iter()
            .all(|one| !one.name.contains("tainted"))
    );
    assert_eq!(
        memory
            .delete_draft("pins/tainted:s1", &Writer::user())
            .unwrap_err()
            .code(),
        ErrorCode::NotFound
    );
    Ok(())
}

/// INVARIANT TNT-3: a commit with a trusted version fails if its session was tainted after the version was staged.
#[test]
fn a_trusted_version_does_not_slip_past_a_taint() -> Result<()> {
    let memory = Memory::in_memory()?;
    let user = Writer::user().session("s1");
    let mut draft = memory.draft(&user);
    draft.put(note("mine", "green tea"))?;
    say(&memory, "page", "a page", &outside())?;
    assert_eq!(
        memory.commit(draft, "put").unwrap_err().code(),
        ErrorCode::Conflict
    );
    assert_eq!(origin(&memory, "mine"), None);
    Ok(())
}

/// INVARIANT TNT-2: a version that is written in a tainted session, or below one, is untrusted.
#[test]
fn a_taint_reaches_the_sessions_above_and_below() -> Result<()> {
    let memory = Memory::in_memory()?;
    let kind = Kind::new("session")?;
    for (name, parent) in [
        ("s0", None),
        ("s1", Some("s0")),
        ("s2", Some("s1")),
        ("s3", Some("s0")),
    ] {
        let mut session = NewObject::new(id(&format!("session/{name}")), kind.clone());
        session.parent = parent.map(|parent| id(&format!("session/{parent}")));
        drop(memory.put(session, &Writer::user())?);
    }
    say(&memory, "page", "a page", &outside())?;
    for name in ["s0", "s1", "s2", "s3"] {
        say(&memory, name, "said", &Writer::user().session(name))?;
        assert_eq!(origin(&memory, name), Some(Origin::ToolExternal), "{name}");
    }
    Ok(())
}

/// INVARIANT TNT-2: a taint of a draft reaches the sessions below in the same draft.
#[test]
fn a_taint_reaches_a_child_in_the_same_commit() -> Result<()> {
    let memory = Memory::in_memory()?;
    let kind = Kind::new("session")?;
    let user = Writer::user().session("s1");
    drop(memory.put(NewObject::new(id("session/s0"), kind.clone()), &Writer::user())?);
    let mut child = NewObject::new(id("session/s1"), kind);
    child.parent = Some(id("session/s0"));
    drop(memory.put(child, &Writer::user())?);
    let mut draft = memory.draft(&user);
    draft.taint("s0")?;
    draft.put(note("mine", "said"))?;
    drop(memory.commit(draft, "put")?);
    assert_eq!(origin(&memory, "mine"), Some(Origin::ToolExternal));
    Ok(())
}

/// INVARIANT TNT-1: a saved or a refused draft taints its session, so its later commit launders nothing.
#[test]
fn a_kept_draft_taints_its_session() -> Result<()> {
    for is_refused in [false, true] {
        let memory = Memory::in_memory()?;
        let mut draft = memory.draft(&outside());
        draft.put(note("page", "a page"))?;
        if is_refused {
            assert!(memory.quarantine(&draft, "a check")?.is_some());
        } else {
            memory.save_draft(&draft, "turn")?;
            let user = Writer::user().session("s1");
            drop(memory.commit(memory.open_draft("drafts/turn", &user)?, "put")?);
            assert_eq!(origin(&memory, "page"), Some(Origin::Document));
        }
        say(&memory, "late", "said later", &Writer::user().session("s1"))?;
        assert_eq!(
            origin(&memory, "late"),
            Some(Origin::ToolExternal),
            "{is_refused}"
        );
    }
    Ok(())
}

/// INVARIANT TNT-2: a version below a tainted session is untrusted, also below more sessions than a verb creates.
#[test]
fn a_session_below_the_depth_limit_is_no_way_out() -> Result<()> {
    let memory = Memory::in_memory()?;
    for depth in 0..70 {
        let mut session = NewObject::new(id(&format!("session/p{depth}")), Kind::new("session")?);
        session.parent = (depth > 0).then(|| id(&format!("session/p{}", depth - 1)));
        drop(memory.put(session, &Writer::user())?);
    }
    say(
        &memory,
        "page",
        "a page",
        &Writer::of(Origin::Document).session("p0"),
    )?;
    say(&memory, "deep", "said far below", &Writer::user().session("p69"))?;
    assert_eq!(origin(&memory, "deep"), Some(Origin::ToolExternal));
    Ok(())
}

/// A build before the taint stated it in two attributes of the session's object.
#[test]
fn what_an_older_build_noted_still_counts() -> Result<()> {
    for (name, value) in [("class", "import".into()), ("withheld", 2_i64.into())] {
        let value: crate::Value = value;
        let memory = Memory::in_memory()?;
        let mut session = NewObject::new(id("session/s1"), Kind::new("session")?);
        drop(session.attributes.insert(name, value));
        drop(memory.put(session, &Writer::user())?);
        say(&memory, "said", "later", &Writer::user().session("s1"))?;
        assert_eq!(origin(&memory, "said"), Some(Origin::ToolExternal), "{name}");
    }
    Ok(())
}

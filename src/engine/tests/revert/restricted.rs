//! An untrusted writer takes back nothing of anybody more trusted, also not with later, derived or thinned work.

use super::super::gc_beside::only_head;
use super::super::{content, id, note};
use super::session;
use crate::disk::MemDisk;
use crate::engine::{Conflicts, Memory, Options, Revert, Writer};
use crate::{Error, ErrorCode, ErrorKind};

fn tool(session: &str) -> Writer {
    Writer::tool("crawler").session(session)
}

fn put(memory: &Memory, name: &str, text: &str, writer: &Writer) {
    drop(memory.put(note(name, text), writer).unwrap());
}

fn assert_denied(error: &Error) {
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Denied, ErrorCode::LessTrusted),
        "{error}"
    );
}

/// Checks that a tool may neither run nor preview the revert, and a person may.
fn check_only_trusted(memory: &Memory, revert: &Revert<'_>) {
    let root = memory.view().root();
    assert_denied(&revert.preview(&tool("new")).unwrap_err());
    assert_denied(&revert.by(&tool("new")).unwrap_err());
    assert_eq!(memory.view().root(), root);
    assert!(revert.by(&Writer::person("vera")).unwrap().committed.changed);
}

/// INVARIANT RVT-3: an untrusted writer takes back no later and no derived work.
#[test]
fn what_a_person_removed_or_derived_stays_for_an_untrusted_writer() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, "p", "one", &tool("old"));
    put(&memory, "p", "two", &tool("new"));
    memory.remove(&id("p"), &Writer::person("vera")).unwrap();
    let later = memory.revert(session("new")).conflicts(Conflicts::Revert);
    check_only_trusted(&memory, &later);
    assert_eq!(content(&memory.view(), "p").as_deref(), Some("one"));

    let memory = Memory::in_memory().unwrap();
    put(&memory, "page", "text", &tool("new"));
    let mut summary = note("summary", "by a person");
    summary.derived_from = vec![memory.view().get(&id("page")).unwrap().unwrap().digest()];
    memory.put(summary, &Writer::person("vera")).unwrap();
    let derived = memory.revert(session("new")).with_derived();
    check_only_trusted(&memory, &derived);
    assert!(memory.view().is_empty());
}

/// INVARIANT RVT-3: an untrusted writer takes back nothing of a commit of a more trusted writer.
#[test]
fn an_untrusted_writer_reverts_a_session_that_a_person_took_back_in_part() {
    let (own, vera) = (tool("new"), Writer::person("vera").session("new"));
    let memory = Memory::in_memory().unwrap();
    put(&memory, "p", "one", &own);
    put(&memory, "q", "one", &own);
    memory.undo(&vera).unwrap();
    let reverted = memory.revert(session("new")).by(&own).unwrap();
    let changed: Vec<_> = reverted
        .reverted
        .iter()
        .map(|object| object.id.to_string())
        .collect();
    assert_eq!(changed, ["p"]);
    // All that is left of the session is gone, so there is nothing to do.
    let again = memory.revert(session("new")).by(&own).unwrap();
    assert!(!again.committed.changed && again.reverted.is_empty());

    // The session has a removal by the person, which a revert would take back.
    put(&memory, "r", "one", &tool("old"));
    memory.remove(&id("r"), &vera).unwrap();
    check_only_trusted(&memory, &memory.revert(session("new")));
    // The person chose between two versions of the session.
    let memory = Memory::in_memory().unwrap();
    put(&memory, "p", "one", &own);
    put(&memory, "p", "two", &own);
    memory.undo(&vera).unwrap();
    check_only_trusted(&memory, &memory.revert(session("new")));
}

/// INVARIANT STN-3: the trust of a thinned commit is unknown, so an untrusted writer does not take it back.
#[test]
fn an_untrusted_writer_rolls_back_over_no_thinned_and_no_trusted_commit() {
    let options = Options::new().automatic_gc(None);
    let memory = Memory::on_disk(std::sync::Arc::new(MemDisk::new()), options, true, None).unwrap();
    put(&memory, "p", "one", &tool("t"));
    memory.snapshot(Some("start"), &Writer::user()).unwrap();
    memory.remove(&id("p"), &Writer::person("vera")).unwrap();
    let rollback = || memory.rollback("start").across_lanes();
    let refuse = || {
        assert_denied(&rollback().preview(&tool("t")).unwrap_err());
        assert_denied(&rollback().by(&tool("t")).unwrap_err());
    };
    refuse();
    put(&memory, "q", "one", &tool("t"));
    memory.gc(&only_head(), None).unwrap();
    assert!(memory.at("seq:2").is_err(), "the removal is thinned");
    refuse();
    assert!(rollback().by(&Writer::person("vera")).unwrap().changed);
}

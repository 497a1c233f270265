//! Tests that the checks of a staged change run on the state before its commit, and respect pins of trusted writers.

use super::*;

fn stage(agent: &Agent, name: &str, text: &str, writer: &Writer) {
    drop(super::stage(agent, name, lines(agent, text), &TrustRules::default(), writer).unwrap());
}

fn commit(agent: &Agent, name: &str, policy: &str) -> Vec<String> {
    let checks = Checks::new(Policy::parse(policy).unwrap());
    let checked = check_staged(agent, name, &checks, &Writer::user()).unwrap();
    match commit_staged(agent, name, &checks, &Writer::user()).unwrap() {
        Guarded::Kept { report, .. } => {
            assert!(report.is_passed() && checked.is_passed());
            Vec::new()
        }
        Guarded::Refused { report, .. } => {
            let of = |report: &Report| report.failed().map(|one| one.check.clone()).collect::<Vec<_>>();
            assert_eq!(
                of(&checked),
                of(&report),
                "`check_staged` and `commit_staged` report the same failed checks"
            );
            of(&report)
        }
    }
}

fn line(name: &str, text: &str) -> String {
    format!(r#"{{"id":"{name}","kind":"fact","content":"{text}"}}"#)
}

/// INVARIANT GRD-5: a staged change is committed on the state that its checks saw.
#[test]
fn changes_that_were_staged_side_by_side_count_together() {
    let agent = agent();
    for name in ["q1", "q2", "q3"] {
        stage(&agent, name, &line(name, name), &Writer::user());
    }
    let two = "[quota]\nitems_max = 2";
    assert!(commit(&agent, "q1", two).is_empty());
    assert!(commit(&agent, "q2", two).is_empty());
    assert_eq!(commit(&agent, "q3", two), ["quota"]);
    assert_eq!(agent.memory().view().len(), 2);
}

/// INVARIANT GRD-5: a staged change is committed on the state that its checks saw.
#[test]
fn what_was_pinned_since_it_was_staged_counts() {
    let agent = agent();
    stage(
        &agent,
        "c1",
        &line("c", "The office is not in Oslo"),
        &Writer::user(),
    );
    stage(
        &agent,
        "z",
        r#"{"id":"z/2","kind":"fact","content":"x","attributes":{"supersedes":["z/1"]}}"#,
        &Writer::user(),
    );
    put(&agent, pinned("o", "The office is in Oslo"));
    put(&agent, pinned("z/1", "the first"));
    assert_eq!(commit(&agent, "c1", ""), ["contradictions"]);
    assert_eq!(commit(&agent, "z", ""), ["pinned"]);
    assert!(!agent.memory().view().contains(&id("z/2")).unwrap());
}

/// INVARIANT GRD-5: a staged change is committed on the state that its checks saw.
#[test]
fn who_commits_while_others_do_is_checked_again() {
    let agent = agent();
    stage(&agent, "q1", &line("q1", "q1"), &Writer::user());
    let busy = std::cell::Cell::new(1);
    // Another writer commits during the first two attempts. Only the third attempt can commit.
    let checks = Checks::default().and("busy", |draft| {
        if busy.get() < 3 {
            put(&agent, object(&format!("other/{}", busy.get()), "fact", "x"));
            busy.set(busy.get() + 1);
            return Ok(());
        }
        let seen = draft.base().len();
        (seen == 2).then_some(()).ok_or_else(|| format!("{seen} objects"))
    });
    let done = commit_staged(&agent, "q1", &checks, &Writer::user()).unwrap();
    assert!(matches!(done, Guarded::Kept { .. }), "{done:?}");
    assert_eq!(agent.memory().view().len(), 3);
}

#[test]
fn the_pin_of_a_page_binds_nobody_who_is_trusted() {
    let agent = agent();
    let page = Writer::of(Origin::ToolExternal);
    let pin = pinned("page", "The office is not in Oslo");
    drop(agent.memory().put(pin, &page).unwrap());
    let says = || putting(object("mine", "fact", "The office is in Oslo"));
    assert!(failed(&agent, "", &Writer::user(), says()).is_empty());
    let other = putting(object("other", "fact", "The office is in Oslo"));
    assert_eq!(failed(&agent, "", &page, other), ["contradictions"]);
}

#[test]
fn a_page_drops_only_what_it_staged() {
    let agent = agent();
    let page = Writer::of(Origin::ToolExternal);
    put(&agent, object("a", "fact", "x"));
    stage(&agent, "mine", &line("mine", "x"), &Writer::user());
    stage(&agent, "takes", r#"{"remove":"a"}"#, &Writer::user());
    stage(&agent, "its", &line("its", "x"), &page);
    for name in ["mine", "takes"] {
        assert_eq!(
            drop_staged(&agent, name, &page).unwrap_err().code(),
            "less_trusted"
        );
    }
    drop_staged(&agent, "its", &page).unwrap();
    drop_staged(&agent, "mine", &Writer::user()).unwrap();
    assert_eq!(staged(&agent).len(), 1);
}

#[test]
fn a_page_that_commits_what_a_person_staged_leaves_nothing_staged() {
    let agent = agent();
    let page = Writer::of(Origin::ToolExternal);
    stage(&agent, "mine", &line("mine", "x"), &Writer::user());
    let done = commit_staged(&agent, "mine", &Checks::default(), &page).unwrap();
    assert!(matches!(done, Guarded::Kept { .. }), "{done:?}");
    assert!(staged(&agent).is_empty());
    assert!(agent.memory().view().contains(&id("mine")).unwrap());
}

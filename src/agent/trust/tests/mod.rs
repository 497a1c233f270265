//! Tests of promotion and of the quarantine. Trust never rises unless a person promotes an item.

mod admission;
mod histories;
mod lineage;
mod outsiders;
mod review;

use super::*;
use crate::agent::{Agent, Reach, Settings};
use crate::engine::{Draft, Memory, Options, Retention, Revision};
use crate::error::{ErrorCode, ErrorKind};
use crate::object::{Id, Kind, NewObject, Scope, Time};

fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

fn fact(name: &str, text: &str) -> NewObject {
    let mut object = NewObject::new(id(name), Kind::new("fact").unwrap());
    object.content = Some(text.to_owned());
    object
}

fn agent() -> Agent {
    Agent::new(Memory::in_memory().unwrap(), Settings::default())
}

fn outside() -> Writer {
    Writer::of(Origin::ToolExternal)
}

/// Quarantines one object with a reason, as a gate does.
fn hold_back(agent: &Agent, object: NewObject, reason: &str) {
    let mut draft = agent.memory().draft(&outside().session("s1"));
    draft.put(object).unwrap();
    drop(agent.memory().quarantine(&draft, reason).unwrap());
}

#[test]
fn a_person_promotes_the_version_that_was_looked_at() {
    let agent = agent();
    drop(agent.memory().put(fact("a", "green tea"), &outside()).unwrap());
    let seen = agent.memory().view().get(&id("a")).unwrap().unwrap().digest();
    let promoted = agent
        .promote(
            &id("a"),
            seen,
            &[],
            PersonSays::ByOption,
            &Writer::user().reason("I checked"),
        )
        .unwrap();
    assert_eq!(
        (promoted.from, promoted.to),
        (Origin::ToolExternal, Origin::DirectUser)
    );
    let now = agent.memory().view().get(&id("a")).unwrap().unwrap();
    assert_eq!(
        (now.origin(), now.content()),
        (Origin::DirectUser, Some("green tea"))
    );
    let named = now.attribute("promoted").unwrap();
    assert_eq!(named.as_text(), Some(seen.to_hex().as_str()));
    let commit = agent.memory().view().commit().commit;
    assert_eq!(commit.op.as_str(), "promote");
    let reason = agent.memory().text(&commit.reason.unwrap()).unwrap();
    assert_eq!(reason, "I checked (a person confirmed the decision with --yes)");
    let again = agent.promote(&id("a"), now.digest(), &[], PersonSays::ByOption, &Writer::user());
    assert!(
        !again.unwrap().committed.changed,
        "the item already has this class"
    );
}

#[test]
fn promotion_is_refused_to_others_and_of_other_versions() {
    let agent = agent();
    drop(agent.memory().put(fact("a", "green tea"), &outside()).unwrap());
    let seen = agent.memory().view().get(&id("a")).unwrap().unwrap().digest();
    for class in [Origin::Host, Origin::Model, Origin::ToolExternal, Origin::Import] {
        let refused = agent.promote(&id("a"), seen, &[], PersonSays::InHost, &Writer::of(class));
        assert_eq!(refused.unwrap_err().code(), "not_a_person");
    }
    drop(agent.memory().put(fact("a", "black tea"), &outside()).unwrap());
    let refused = agent
        .promote(&id("a"), seen, &[], PersonSays::AtTerminal, &Writer::user())
        .unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::Conflict, ErrorCode::Changed)
    );
    let missing = agent.promote(&id("b"), seen, &[], PersonSays::AtTerminal, &Writer::user());
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        agent.memory().view().get(&id("a")).unwrap().unwrap().origin(),
        Origin::ToolExternal
    );
}

#[test]
fn an_untrusted_source_does_not_hold_a_promotion_down() {
    let agent = agent();
    let memory = agent.memory();
    drop(memory.put(fact("page", "the page says tea"), &outside()).unwrap());
    let source = memory.view().get(&id("page")).unwrap().unwrap().digest();
    let mut summary = fact("summary", "tea");
    summary.derived_from = vec![source];
    drop(memory.put(summary, &Writer::user()).unwrap());
    let made = memory.view().get(&id("summary")).unwrap().unwrap();
    assert_eq!(made.origin(), Origin::ToolExternal, "ORI-1");
    let promoted = agent.promote(
        &id("summary"),
        made.digest(),
        &[],
        PersonSays::AtTerminal,
        &Writer::user(),
    );
    assert_eq!(promoted.unwrap().to, Origin::DirectUser, "ORI-2");
    let now = memory.view().get(&id("summary")).unwrap().unwrap();
    assert_eq!(
        (now.origin(), now.derived_from().next()),
        (Origin::DirectUser, Some(source))
    );
}

/// Tests STN-1 for redo, restore, rollback, undo and removals.
#[test]
fn what_a_person_took_back_stays_so_and_an_outsider_takes_nothing_away() {
    let agent = agent();
    let memory = agent.memory();
    let origin = |name: &str| {
        memory
            .view()
            .get(&id(name))
            .unwrap()
            .map(|object| object.origin())
    };
    drop(memory.put(fact("w", "a page"), &outside()).unwrap());
    let seen = memory.view().get(&id("w")).unwrap().unwrap().digest();
    let promoted = agent.promote(&id("w"), seen, &[], PersonSays::InHost, &Writer::user());
    let promoted = promoted.unwrap().committed.commit.commit.seq;
    let to_promoted = Revision::Seq(promoted);
    drop(memory.undo(&Writer::user()).unwrap());
    assert_eq!(origin("w"), Some(Origin::ToolExternal));
    let restore = |class: Origin| {
        let mut draft = memory.draft(&Writer::of(class));
        draft.restore(&id("w"), &memory.view_at(&to_promoted, "")?)?;
        memory.commit(draft, "restore")
    };
    for class in [Origin::ToolExternal, Origin::Document, Origin::Import] {
        let writer = Writer::of(class);
        for refused in [
            memory.redo(&writer),
            memory.rollback(&to_promoted).across_lanes().by(&writer),
            restore(class),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::Denied, ErrorCode::LessTrusted)
            );
            assert_eq!(error.ids(), ["w"]);
        }
        assert_eq!(origin("w"), Some(Origin::ToolExternal));
    }
    drop(memory.remove(&id("w"), &outside()).unwrap());
    assert_eq!(
        restore(Origin::Document).unwrap_err().code(),
        "less_trusted",
        "by way of nothing"
    );
    drop(memory.redo(&Writer::user()));
    drop(restore(Origin::DirectUser).unwrap());
    assert_eq!(origin("w"), Some(Origin::DirectUser));

    // An untrusted writer cannot forget, expire or overwrite a person's item.
    drop(memory.put(fact("mine", "green tea"), &Writer::user()).unwrap());
    let before = memory.view().root();
    let mine = crate::agent::forget::Forgetting {
        ids: vec![id("mine")],
        ..Default::default()
    };
    for refused in [
        agent.forget(&mine, &outside(), false).err(),
        agent.forget(&mine, &outside(), true).err(),
        agent.forget(&mine, &Writer::of(Origin::Model), false).err(),
        agent
            .expire(&id("mine"), Some(Time::from_micros(1)), &outside())
            .err(),
        memory.remove(&id("mine"), &outside()).err(),
        memory.undo(&outside()).err(),
    ] {
        assert_eq!(refused.unwrap().code(), "less_trusted");
    }
    assert_eq!(memory.view().root(), before);
    drop(agent.forget(&mine, &Writer::user(), false).unwrap());
    assert_eq!(
        agent
            .unforget(&[id("mine")], &outside(), false)
            .unwrap_err()
            .code(),
        "less_trusted"
    );
}

#[test]
fn an_end_leaves_a_promotion_as_it_is() {
    let agent = agent();
    let memory = agent.memory();
    drop(memory.put(fact("page", "tea"), &outside()).unwrap());
    let source = memory.view().get(&id("page")).unwrap().unwrap().digest();
    let mut summary = fact("summary", "tea");
    summary.derived_from = vec![source];
    drop(memory.put(summary, &Writer::user()).unwrap());
    let seen = memory.view().get(&id("summary")).unwrap().unwrap().digest();
    drop(
        agent
            .promote(&id("summary"), seen, &[], PersonSays::InHost, &Writer::user())
            .unwrap(),
    );
    let end = Some(Time::from_micros(i64::MAX));
    drop(agent.expire(&id("summary"), end, &Writer::user()).unwrap());
    let now = memory.view().get(&id("summary")).unwrap().unwrap();
    assert_eq!((now.origin(), now.expires()), (Origin::DirectUser, end), "ORI-3");
}

#[test]
fn what_is_held_back_is_listed_released_and_discarded() {
    let agent = agent();
    hold_back(
        &agent,
        fact("a", "hidden \u{202e} text\nin lines"),
        "the scan found bidi",
    );
    hold_back(&agent, fact("b", "other"), "a gate");
    let held = agent.quarantined(&Reach::All).unwrap();
    assert_eq!(held.len(), 2, "newest first");
    assert_eq!(
        (held[0].reason.as_deref(), held[0].ids.clone()),
        (Some("a gate"), vec!["b".to_owned()])
    );
    assert_eq!(held[1].preview, "hidden \\u{202e} text in lines");
    assert_eq!(held[1].session.as_deref(), Some("s1"));
    assert!(agent.memory().view().is_empty());

    let refused = agent.release(&held[1].name, PersonSays::InHost, &outside());
    assert_eq!(refused.unwrap_err().code(), "not_a_person");
    drop(
        agent
            .release(&held[1].name, PersonSays::InHost, &Writer::user())
            .unwrap(),
    );
    let released = agent.memory().view().get(&id("a")).unwrap().unwrap();
    assert_eq!(released.origin(), Origin::ToolExternal, "TRU-2");
    let number = held[0].name.strip_prefix("rejected/").unwrap();
    agent.discard(number, &Writer::user()).unwrap();
    assert_eq!(agent.quarantined(&Reach::All).unwrap(), []);
    assert_eq!(
        agent.discard(number, &Writer::user()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let other_class = agent.release("snapshots/x", PersonSays::InHost, &Writer::user());
    assert_eq!(other_class.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_secret_is_not_shown_by_the_list() {
    let agent = agent();
    let key = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    hold_back(&agent, fact("a", &format!("token {key}")), "a gate");
    let held = agent.quarantined(&Reach::All).unwrap();
    assert!(
        !held[0].preview.contains(&key) && held[0].preview.contains("[REDACTED:"),
        "{held:?}"
    );
}

#[test]
fn what_is_held_back_is_collected_after_seven_days() {
    let agent = agent();
    hold_back(&agent, fact("a", "old"), "a gate");
    let made = agent.quarantined(&Reach::All).unwrap()[0].time;
    let after = |days: i64| Some(Time::from_micros(made.as_micros() + days * 86_400_000_000 + 1));
    agent.memory().gc(&Retention::everything(), after(6)).unwrap();
    assert_eq!(agent.quarantined(&Reach::All).unwrap().len(), 1);
    agent.memory().gc(&Retention::everything(), after(7)).unwrap();
    assert_eq!(agent.quarantined(&Reach::All).unwrap(), []);
}

#[test]
fn what_is_held_back_is_shown_within_the_reach_and_whole_when_asked() {
    let agent = agent();
    let scoped = |name: &str, scope: &str| {
        let mut object = fact(name, &format!("text of {name}"));
        object.scope = Scope::new(scope).unwrap();
        object
    };
    drop(
        agent
            .memory()
            .put(scoped("old", "project:b"), &Writer::user())
            .unwrap(),
    );
    let mut draft = agent.memory().draft(&outside());
    for number in 0..30 {
        draft.put(scoped(&format!("a{number:02}"), "project:a")).unwrap();
    }
    draft.put(scoped("c", "project:c")).unwrap();
    draft.remove(&id("old")).unwrap();
    let name = agent.memory().quarantine(&draft, "a gate").unwrap().unwrap();
    let seen = |scope: &str| {
        let reach = Reach::Scopes(vec![Scope::new(scope).unwrap()]);
        agent.quarantined(&reach).unwrap().pop().map(|held| held.ids)
    };
    assert_eq!(seen("global"), None);
    assert_eq!(seen("project:a").unwrap().len(), 20);
    assert_eq!(seen("project:b").unwrap(), ["old"]);
    assert_eq!(seen("project:c").unwrap(), ["c"]);
    let objects = held_objects(&agent, &name).unwrap();
    assert_eq!(objects.len(), 32);
    let old = objects.iter().find(|one| one.id == id("old")).unwrap();
    assert!(old.new.is_none() && old.scope() == "project:b" && old.text() == "text of old");
    assert_eq!(agent.quarantined(&Reach::All).unwrap()[0].ids_total, 32);
}

//! Tests of quotas, of objects that belong to sessions, and of a disabled memory.

use super::*;
use crate::agent::import::take_foreign;
use crate::agent::session::{end_session, summarise};

pub(super) fn small(items_max: usize) -> Agent {
    let settings = Settings {
        quotas: Quotas {
            items_max,
            ..Quotas::BLOCKS
        },
        ..Settings::default()
    };
    Agent::new(Memory::in_memory().unwrap(), settings)
}

/// INVARIANT ROO-1: expired and superseded items do not count towards the quota.
#[test]
fn a_full_scope_takes_no_more_until_something_expires() {
    let agent = small(3);
    let quick = RememberOptions::default();
    for name in ["a", "b"] {
        drop(agent.remember(named(name, name), &quick, &user()).unwrap());
    }
    let mut old = named("old", "gone");
    old.expires = Some(Time::from_micros(1));
    drop(agent.remember(old, &quick, &user()).unwrap());
    let third = agent.remember(named("c", "c"), &quick, &user()).unwrap();
    assert_eq!(third.status, Status::Created);
    assert!(text_of(&agent, &id("old")).is_none(), "its quota was needed");
    let all = crate::agent::Reach::All;
    let forgotten = agent.forgotten(&agent.memory().view(), &all, 10).unwrap();
    assert_eq!((forgotten.len(), forgotten[0].item.text()), (1, "gone"));
    let full = agent.remember(named("d", "d"), &quick, &user()).unwrap_err();
    assert_eq!(full.code(), "over_limit");
    assert_eq!(
        agent
            .remember(named("c", "more"), &quick, &user())
            .unwrap()
            .status,
        Status::Updated
    );
    let mut elsewhere = named("e", "e");
    elsewhere.scope = Scope::new("project:b").unwrap();
    assert!(agent.remember(elsewhere, &quick, &user()).is_ok());
    let answer = lines(
        &agent,
        "{\"id\":\"f\",\"text\":\"f\"}\n{\"id\":\"a\",\"text\":\"new\"}",
    );
    assert_eq!((answer.stored, answer.refused.len()), (1, 1));
    assert!(answer.refused[0].reason.contains("3 items"));
}

/// INVARIANT ROO-1: expired and superseded items do not count towards the quota.
#[test]
fn what_gave_its_place_takes_no_room() {
    let agent = small(2);
    let quick = RememberOptions::default();
    for name in ["a", "b"] {
        drop(agent.remember(named(name, name), &quick, &user()).unwrap());
    }
    let over = |name: &str, old: &str| {
        let mut item = named(name, name);
        item.supersedes = vec![id(old)];
        agent.remember(item, &quick, &user()).map(|done| done.status)
    };
    assert_eq!(over("a2", "a").unwrap(), Status::Superseded);
    assert_eq!(
        over("a3", "a").unwrap_err().code(),
        "over_limit",
        "a superseded item frees quota only once"
    );
    assert_eq!(over("a3", "a2").unwrap(), Status::Superseded);
    let full = agent.remember(named("c", "c"), &quick, &user()).unwrap_err();
    assert_eq!(full.code(), "over_limit");
    let line = r#"{"id":"b2","text":"b2","supersedes":["b"]}"#;
    assert_eq!(lines(&agent, line).stored, 1);
    agent.memory().remove(&id("b2"), &user()).unwrap();
    agent.memory().remove(&id("b"), &user()).unwrap();
    drop(agent.remember(named("d", "d"), &quick, &user()).unwrap());
}

/// INVARIANT ROO-1: expired and superseded items do not count towards the quota.
#[test]
fn one_place_is_given_once_in_a_batch_too() {
    let agent = small(2);
    let quick = RememberOptions::default();
    for name in ["a", "b"] {
        drop(agent.remember(named(name, name), &quick, &user()).unwrap());
    }
    let line = |name: &str, old: &str| format!(r#"{{"id":"{name}","text":"{name}","supersedes":{old}}}"#);
    let all: Vec<String> = (0..5).map(|at| line(&format!("n{at}"), r#"["a","a"]"#)).collect();
    let answer = lines(&agent, &all.join("\n"));
    assert_eq!((answer.stored, answer.refused.len()), (1, 4), "{answer:?}");
    // The new version of `b` frees only the quota of `n0`.
    let answer = lines(
        &agent,
        &[line("b", r#"["n0"]"#), line("c", "[]"), line("d", "[]")].join("\n"),
    );
    assert_eq!((answer.stored, answer.refused.len()), (2, 1), "{answer:?}");
}

/// INVARIANT ROO-1: expired and superseded items do not count towards the quota.
#[test]
fn what_expired_and_is_written_again_needs_its_room_again() {
    let agent = small(2);
    let quick = RememberOptions::default();
    let mut old = named("old", "gone");
    old.expires = Some(Time::from_micros(1));
    drop(agent.remember(old, &quick, &user()).unwrap());
    let answer = lines(
        &agent,
        "{\"id\":\"a\",\"text\":\"a\"}\n{\"id\":\"old\",\"text\":\"back\"}\n{\"id\":\"b\",\"text\":\"b\"}",
    );
    assert_eq!((answer.stored, answer.refused.len()), (2, 1), "{answer:?}");
    assert_eq!(text_of(&agent, &id("old")).as_deref(), Some("back"));
    // The scope is full even without the expired item, as can happen after an import.
    let agent = small(2);
    for name in ["a", "b"] {
        drop(agent.remember(named(name, name), &quick, &user()).unwrap());
    }
    let mut old = named("old", "gone");
    old.expires = Some(Time::from_micros(1));
    let old = old.into_object(id("old")).unwrap();
    drop(agent.memory().put(old, &user()).unwrap());
    let full = agent.remember(named("old", "back"), &quick, &user()).unwrap_err();
    assert_eq!(full.code(), "over_limit");
}

/// INVARIANT ROO-1: expired and superseded items do not count towards the quota.
#[test]
fn items_that_gave_their_place_leave_room_for_a_whole_batch() {
    let agent = small(4);
    let quick = RememberOptions::default();
    for (name, old) in [("a", None), ("b", Some("a")), ("c", Some("b"))] {
        let mut item = named(name, name);
        item.supersedes = old.map(id).into_iter().collect();
        drop(agent.remember(item, &quick, &user()).unwrap());
    }
    let all: Vec<String> = (0..5)
        .map(|at| format!(r#"{{"id":"n{at}","text":"n{at}"}}"#))
        .collect();
    let answer = lines(&agent, &all.join("\n"));
    assert_eq!((answer.stored, answer.refused.len()), (3, 2), "{answer:?}");
}

#[test]
fn what_is_held_back_needs_no_room_and_makes_none() {
    let agent = small(2);
    let quick = RememberOptions::default();
    let mut old = named("old", "gone");
    old.expires = Some(Time::from_micros(1));
    drop(agent.remember(old, &quick, &user()).unwrap());
    drop(agent.remember(named("a", "a"), &quick, &user()).unwrap());
    let order = |name: &str| NewItem {
        id: Some(id(name)),
        ..heard()
    };
    let held = agent.remember(order("x"), &quick, &user()).unwrap();
    let name = held.held_as.unwrap();
    let draft = agent.memory().open_draft(&name, &user()).unwrap();
    let ids: Vec<String> = draft.changes().iter().map(|one| one.id.to_string()).collect();
    assert_eq!(ids, ["x"], "no item was removed for the quarantined item");
    drop(agent.remember(named("b", "b"), &quick, &user()).unwrap());
    let held = agent.remember(order("y"), &quick, &user()).unwrap();
    assert_eq!((held.status, held.held_as.is_some()), (Status::Quarantined, true));
}

/// INVARIANT ROO-2: every new item reserves quota.
#[test]
fn a_scope_has_room_for_items_and_no_verb_brings_more() {
    let agent = small(2);
    let say = |name: &str| agent.remember(named(name, name), &RememberOptions::default(), &user());
    // Objects of a session do not count towards the quota.
    let entry = crate::agent::session::NewEntry {
        text: "hello there, the tests are ready".to_owned(),
        ..Default::default()
    };
    let append = crate::agent::session::Append {
        session: "s1".to_owned(),
        entries: vec![entry; 5],
        ..Default::default()
    };
    agent.append(&append, &user()).unwrap();
    let reach = crate::agent::Reach::All;
    assert!(
        end_session(&agent, &reach, "s1", None, None, &user())
            .unwrap()
            .episode
            .is_some()
    );
    let note = |text: &str| crate::agent::notes::NewNote {
        text: text.to_owned(),
        scope: Scope::default(),
        session: "s1".to_owned(),
        replace: None,
    };
    for text in ["one", "two", "three"] {
        agent.write_note(&note(text), &user()).unwrap();
    }
    drop(say("a").unwrap());
    drop(say("b").unwrap());
    assert_eq!(say("c").unwrap_err().code(), "over_limit");
    agent.write_note(&note("four"), &user()).unwrap();
    agent.append(&append, &user()).unwrap();
    let foreign = crate::agent::import::Foreign {
        format: crate::agent::import::ForeignFormat::ServerMemory,
        bytes: b"{\"type\":\"entity\",\"name\":\"Ada\",\"observations\":[]}\n",
        files: &[],
        scope: Some(Scope::default()),
        place: crate::agent::Place::default(),
    };
    for name in ["x", "y"] {
        drop(
            agent
                .remember(named(name, name), &RememberOptions::default(), &tool())
                .unwrap(),
        );
    }
    let taken = take_foreign(&agent, &foreign, &user()).unwrap();
    assert_eq!((taken.counts.created, taken.counts.refused), (0, 1), "{taken:?}");
    agent.memory().remove(&id("x"), &user()).unwrap();
    assert_eq!(take_foreign(&agent, &foreign, &user()).unwrap().counts.created, 1);
    assert_eq!(say("c").unwrap_err().code(), "over_limit");
}

/// INVARIANT RMB-3: `remember` never replaces an object of a session.
#[test]
fn what_belongs_to_a_session_is_not_written_over() {
    let agent = agent();
    let note = crate::agent::notes::NewNote {
        text: "mine".to_owned(),
        scope: Scope::default(),
        session: "s1".to_owned(),
        replace: Some(crate::agent::notes::Replace::One(id("nt/1"))),
    };
    agent.write_note(&note, &user()).unwrap();
    let append = crate::agent::session::Append {
        session: "s1".to_owned(),
        entries: vec![crate::agent::session::NewEntry {
            text: "hello".to_owned(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let entry = agent.append(&append, &user()).unwrap().ids[0].to_string();
    let before = agent.memory().view().root();
    for (name, kind) in [
        ("nt/1", "note"),
        ("nt/1", "fact"),
        ("session/s1", "fact"),
        (entry.as_str(), "entry"),
        ("session/s7", "session"),
    ] {
        let mut item = named(name, "over it");
        item.kind = Kind::new(kind).unwrap();
        let refused = agent.remember(item, &RememberOptions::default(), &user());
        assert_eq!(refused.unwrap_err().code(), "not_owner", "{name}");
        let line = format!(r#"{{"id":"{name}","kind":"{kind}","text":"over it"}}"#);
        assert_eq!(lines(&agent, &line).refused.len(), 1, "{name}");
    }
    assert_eq!(agent.memory().view().root(), before);
    // Any writer may replace a note without an owner.
    let mut free = named("nt/2", "free");
    free.kind = Kind::new("note").unwrap();
    for text in ["free", "freer"] {
        free.text = text.to_owned();
        drop(
            agent
                .remember(free.clone(), &RememberOptions::default(), &user())
                .unwrap(),
        );
    }
}

#[test]
fn no_verb_writes_while_the_memory_is_switched_off() {
    let memory = Memory::in_memory().unwrap();
    let on = Agent::new(memory.clone(), Settings::default());
    let off = Agent::new(
        memory.clone(),
        Settings {
            is_disabled: true,
            ..Settings::default()
        },
    );
    let kept = say(&on, "Ada drinks tea").id;
    let seen = memory.view().get(&kept).unwrap().unwrap().digest();
    let (head, names) = (memory.view().commit().digest, memory.references().len());
    let (scope, writer) = (Scope::default(), user());
    let what = crate::agent::forget::Forgetting {
        ids: vec![kept.clone()],
        ..Default::default()
    };
    let note = crate::agent::notes::NewNote {
        text: "x".to_owned(),
        scope: scope.clone(),
        session: "s1".to_owned(),
        replace: None,
    };
    let append = crate::agent::session::Append {
        session: "s1".to_owned(),
        ..Default::default()
    };
    on.append(&append, &writer).unwrap();
    let head_with_session = memory.view().commit().digest;
    assert_ne!(head, head_with_session);
    let says = crate::agent::trust::PersonSays::InHost;
    let all = &crate::agent::Reach::All;
    let refused = [
        off.forget(&what, &writer, false).err(),
        off.unforget(&[id("gone")], &writer, false).err(),
        off.expire(&kept, None, &writer).err(),
        off.write_note(&note, &writer).err(),
        off.delete_note(&kept, &scope, &writer).err(),
        off.append(&append, &writer).err(),
        end_session(&off, all, "s1", None, None, &writer).err(),
        summarise(&off, all, "s1", &|_| None, &writer).err(),
        off.promote(&kept, seen, &[], says, &writer).err(),
        off.release("rejected/1", says, &writer).err(),
        off.discard("rejected/1", &writer).err(),
        off.attempt(
            &writer,
            |draft| draft.remove(&kept).map(drop),
            &crate::agent::guard::Checks::default(),
        )
        .err(),
    ];
    for (at, error) in refused.into_iter().enumerate() {
        assert_eq!(
            error.map(|error| error.code().as_str().to_owned()).as_deref(),
            Some("disabled"),
            "verb {at}"
        );
    }
    assert_eq!(memory.view().commit().digest, head_with_session);
    assert_eq!(memory.references().len(), names);
}

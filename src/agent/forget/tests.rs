//! Tests of the choice of items to forget, of the list of forgotten items, and of exact restoration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::super::decay::Pass;
use super::super::item::NewItem;
use super::super::scope::Reach;
use super::super::settings::Settings;
use super::*;
use crate::agent::vocabulary::attribute;
use crate::disk::MemDisk;
use crate::engine::{Clock, Memory, Options, Retention};
use crate::error::ErrorKind;
use crate::object::{Origin, Scope};
use crate::testing::random::SplitMix64;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;

/// A clock that moves only when a test sets it.
#[derive(Default)]
pub(crate) struct Hand(AtomicI64);

impl Hand {
    pub(crate) fn add(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Returns an agent with a clock that starts in 2026.
pub(crate) fn agent() -> (Agent, Arc<Hand>) {
    let clock = Arc::new(Hand(AtomicI64::new(1_767_225_600_000_000)));
    let options = Options::new()
        .clock(Arc::clone(&clock) as Arc<dyn Clock>)
        .checkpoints(false);
    let memory = Memory::on_disk(Arc::new(MemDisk::new()), options, true, None).unwrap();
    // Moves the clock past the creation of the store, so that the next commit gets the exact time of the clock.
    clock.add(1_000_000);
    (Agent::new(memory, Settings::default()), clock)
}

pub(crate) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(crate) fn keep(agent: &Agent, name: &str, item: NewItem) {
    let object = item.into_object(id(name)).unwrap();
    agent.memory().put(object, &Writer::user()).unwrap();
}

fn item(text: &str, tags: &[&str]) -> NewItem {
    NewItem {
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        ..NewItem::new(text)
    }
}

/// Returns the bytes and the text of the item `name` in the current state.
pub(crate) fn bytes(agent: &Agent, name: &str) -> Option<(Vec<u8>, Option<String>)> {
    let object = agent.memory().view().get(&id(name)).unwrap()?;
    Some((object.bytes().to_vec(), object.content().map(str::to_owned)))
}

/// Returns the items that are forgotten in the current state.
pub(crate) fn all_forgotten(agent: &Agent, reach: &Reach, limit: usize) -> Result<Vec<Forgotten>> {
    agent.forgotten(&agent.memory().view(), reach, limit)
}

fn names(forgot: &Forgot) -> Vec<&str> {
    forgot
        .items
        .iter()
        .map(|item| item.object().id().as_str())
        .collect()
}

fn of_ids(ids: &[&str]) -> Forgetting {
    Forgetting {
        ids: ids.iter().map(|name| id(name)).collect(),
        ..Forgetting::default()
    }
}

#[test]
fn conditions_of_different_sorts_must_all_hold() {
    let (agent, clock) = agent();
    let in_session = |text: &str, tags: &[&str], session: &str| NewItem {
        session: Some(session.to_owned()),
        source: Some("chat".to_owned()),
        ..item(text, tags)
    };
    keep(&agent, "a", in_session("green tea", &["tea", "drink"], "s1"));
    keep(&agent, "b", in_session("black tea", &["tea"], "s2"));
    clock.add(2 * DAY);
    keep(&agent, "c", in_session("coffee", &["drink"], "s1"));
    let note = NewItem {
        kind: Kind::new("note").unwrap(),
        scope: Scope::new("project:tea").unwrap(),
        ..item("a pot", &["tea"])
    };
    keep(&agent, "d", note);
    let tags = |all: &[&str], any: &[&str]| Forgetting {
        all_tags: all.iter().map(|&tag| tag.to_owned()).collect(),
        any_tags: any.iter().map(|&tag| tag.to_owned()).collect(),
        ..Forgetting::default()
    };
    let told = |what: &Forgetting| {
        let forgot = agent.forget(what, &Writer::user(), true).unwrap();
        assert!(forgot.commit.is_none());
        names(&forgot).join(" ")
    };
    assert_eq!(told(&tags(&["tea", "drink"], &[])), "a");
    assert_eq!(told(&tags(&[], &["tea", "drink"])), "a b c d");
    let mut what = tags(&["drink"], &[]);
    what.session = Some("s1".to_owned());
    assert_eq!(told(&what), "a c");
    what.before = Some(Time::from_micros(clock.now().as_micros() - DAY));
    assert_eq!(told(&what), "a");
    what.source = Some("mail".to_owned());
    assert_eq!(told(&what), "");
    let mut what = tags(&["tea"], &[]);
    what.kind = Some(Kind::new("note").unwrap());
    assert_eq!(told(&what), "d");
    what.reach = Some(Reach::Scopes(vec![Scope::default()]));
    assert_eq!(told(&what), "");
    what.kind = None;
    assert_eq!(told(&what), "a b");
    what.ids = vec![id("a"), id("c"), id("a")];
    let forgot = agent.forget(&what, &Writer::user(), true).unwrap();
    assert_eq!(
        (names(&forgot), forgot.others.as_slice()),
        (vec!["a"], [id("c")].as_slice())
    );
    assert_eq!(agent.memory().view().len(), 4, "a dry run forgets nothing");
}

#[test]
fn who_says_nothing_forgets_nothing_and_an_unknown_id_stops_all() {
    let (agent, _) = agent();
    keep(&agent, "a", item("tea", &[]));
    let root = agent.memory().view().root();
    let refused = agent.forget(&Forgetting::default(), &Writer::user(), false);
    assert_eq!(refused.unwrap_err().code(), "no_criteria");
    let refused = agent
        .forget(&of_ids(&["a", "b"]), &Writer::user(), false)
        .unwrap_err();
    assert_eq!(
        (refused.kind(), refused.ids().join(" ")),
        (ErrorKind::NotFound, "b".to_owned())
    );
    assert_eq!(agent.memory().view().root(), root);
}

/// INVARIANT FGT-1: a pinned item is forgotten only if the request contains its id.
#[test]
fn what_is_pinned_goes_only_by_its_id() {
    let (agent, _) = agent();
    let pinned = NewItem {
        is_pinned: true,
        ..item("never forget", &["tea"])
    };
    keep(&agent, "a", pinned);
    keep(&agent, "b", item("forget", &["tea"]));
    let what = Forgetting {
        all_tags: vec!["tea".to_owned()],
        ..Forgetting::default()
    };
    let forgot = agent.forget(&what, &Writer::user(), false).unwrap();
    assert_eq!(
        (names(&forgot), forgot.pinned.as_slice()),
        (vec!["b"], [id("a")].as_slice())
    );
    let forgot = agent.forget(&of_ids(&["a"]), &Writer::user(), false).unwrap();
    assert_eq!(names(&forgot), ["a"]);
    assert!(agent.memory().view().is_empty());
}

#[test]
fn what_was_forgotten_is_told_newest_first_and_comes_back_whole() {
    let (agent, clock) = agent();
    for name in ["a", "b", "c"] {
        keep(&agent, name, item(name, &[]));
    }
    let before: Vec<_> = ["a", "b", "c"].iter().map(|name| bytes(&agent, name)).collect();
    let root = agent.memory().view().root();
    let writer = Writer::user().actor("ada").reason("it was wrong");
    agent.forget(&of_ids(&["a", "b"]), &writer, false).unwrap();
    clock.add(HOUR);
    agent.forget(&of_ids(&["c"]), &Writer::user(), false).unwrap();
    assert!(agent.memory().view().is_empty());
    let list = all_forgotten(&agent, &Reach::All, 10).unwrap();
    let told: Vec<_> = list.iter().map(|one| one.item.object().id()).collect();
    assert_eq!(told, ["c", "a", "b"]);
    assert_eq!(list[1].commit.commit.actor.as_deref(), Some("ada"));
    assert_eq!(list[1].reason.as_deref(), Some("it was wrong"));
    assert_eq!(list[0].reason, None);
    assert_eq!(all_forgotten(&agent, &Reach::All, 1).unwrap().len(), 1);
    assert!(
        all_forgotten(&agent, &Reach::Scopes(Vec::new()), 10)
            .unwrap()
            .is_empty()
    );

    let dry = agent.unforget(&[id("a")], &Writer::user(), true).unwrap();
    assert_eq!((dry.items.len(), dry.commit.is_none()), (1, true));
    assert!(agent.memory().view().is_empty());
    let back = agent.unforget_last(&Reach::All, &Writer::user(), false).unwrap();
    assert_eq!(back.items[0].object().id(), "c");
    let back = agent
        .unforget(&[id("a"), id("c")], &Writer::user(), false)
        .unwrap();
    assert_eq!((back.items.len(), back.unchanged), (1, vec![id("c")]));
    let back = agent.unforget_last(&Reach::All, &Writer::user(), false).unwrap();
    assert_eq!(
        back.items[0].object().id(),
        "b",
        "items that are already restored are skipped"
    );
    let after: Vec<_> = ["a", "b", "c"].iter().map(|name| bytes(&agent, name)).collect();
    // INVARIANT FGT-2: the restored version is the forgotten version, byte for byte.
    assert_eq!(after, before);
    assert_eq!(agent.memory().view().root(), root);
    assert!(all_forgotten(&agent, &Reach::All, 10).unwrap().is_empty());
    let refused = agent
        .unforget_last(&Reach::All, &Writer::user(), false)
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    let refused = agent.unforget(&[id("z")], &Writer::user(), false).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
}

#[test]
fn garbage_collection_takes_nothing_that_was_forgotten_lately() {
    let (agent, clock) = agent();
    keep(&agent, "a", item("first words", &[]));
    let before = bytes(&agent, "a");
    agent.forget(&of_ids(&["a"]), &Writer::user(), false).unwrap();
    for number in 0..20 {
        clock.add(DAY);
        keep(&agent, "other", item(&number.to_string(), &[]));
    }
    let strict = Retention {
        newest: 0,
        all: Duration::ZERO,
        hourly: Duration::ZERO,
        daily: Duration::ZERO,
        weekly: Duration::ZERO,
        ..Retention::default()
    };
    let report = agent.memory().gc(&strict, None).unwrap();
    assert_eq!(report.kept, 3, "the head, the forget commit and its parent");
    assert_eq!(all_forgotten(&agent, &Reach::All, 10).unwrap().len(), 1);
    agent.unforget(&[id("a")], &Writer::user(), false).unwrap();
    assert_eq!(bytes(&agent, "a"), before);
}

#[test]
fn who_sets_when_an_item_ends_does_not_vouch_for_it() {
    let (agent, clock) = agent();
    let object = item("from a page", &[]).into_object(id("a")).unwrap();
    let untrusted = Writer::of(Origin::Document);
    agent.memory().put(object, &untrusted).unwrap();
    let at = Time::from_micros(clock.now().as_micros() + HOUR);
    assert!(
        agent
            .expire(&id("a"), Some(at), &Writer::user())
            .unwrap()
            .is_some()
    );
    assert!(
        agent
            .expire(&id("a"), Some(at), &Writer::user())
            .unwrap()
            .is_none()
    );
    let object = agent.memory().view().get(&id("a")).unwrap().unwrap();
    assert_eq!((object.expires(), object.origin()), (Some(at), Origin::Document));
    agent.expire(&id("a"), None, &Writer::user()).unwrap();
    assert_eq!(
        agent.memory().view().get(&id("a")).unwrap().unwrap().expires(),
        None
    );
    let missing = agent.expire(&id("b"), None, &Writer::user()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn an_item_cannot_make_another_one_come_back() {
    let (agent, _) = agent();
    keep(&agent, "a", item("the old secret", &[]));
    let old = agent.memory().view().get(&id("a")).unwrap().unwrap().digest();
    keep(&agent, "a", item("the new text", &[]));
    let mut forged = item("harmless", &[]);
    drop(forged.others.insert(attribute::LEVEL, "summary"));
    drop(forged.others.insert(attribute::ORIGINAL, old.to_hex()));
    keep(&agent, "x", forged);
    let back = agent.unforget(&[id("x")], &Writer::user(), false).unwrap();
    assert_eq!((back.items.len(), back.unchanged), (0, vec![id("x")]));
    agent.forget(&of_ids(&["x"]), &Writer::user(), false).unwrap();
    agent.unforget(&[id("x")], &Writer::user(), false).unwrap();
    assert_eq!(bytes(&agent, "a").unwrap().1.unwrap(), "the new text");
    assert_eq!(bytes(&agent, "x").unwrap().1.unwrap(), "harmless");
}

/// INVARIANT FGT-2: `unforget` restores the last full version of items that were forgotten, shortened and replaced in
/// any order.
#[test]
fn what_comes_back_is_byte_for_byte_what_was_there() {
    for seed in 0..30 {
        let (agent, clock) = agent();
        let mut random = SplitMix64::new(seed);
        // The last full version of each id.
        let mut last = BTreeMap::new();
        for step in 0..80 {
            let name = format!("n{}", random.below(8));
            let writer = Writer::user().actor("ada");
            match random.below(6) {
                0 | 1 => {
                    let sentence = format!(
                        "The kettle number {step} of {name} was bought in the year {}. ",
                        random.below(99)
                    );
                    let text = sentence.repeat(1 + random.below(12)) + "Nobody knows who has it now.";
                    keep(&agent, &name, item(&text, &["tea"]));
                    last.insert(name.clone(), bytes(&agent, &name));
                }
                2 if bytes(&agent, &name).is_some() => {
                    agent.forget(&of_ids(&[&name]), &writer, false).unwrap();
                }
                3 => {
                    clock.add(DAY * *random.pick(&[1, 2, 8, 31, 40]));
                    agent.decay(&Pass::default(), &writer).unwrap();
                }
                4 if last.contains_key(&name) => {
                    agent.unforget(&[id(&name)], &writer, false).unwrap();
                    assert_eq!(
                        Some(&bytes(&agent, &name)),
                        last.get(&name),
                        "{seed}, step {step}"
                    );
                }
                5 => drop(agent.unforget_last(&Reach::All, &writer, false)),
                _ => {}
            }
        }
        let all: Vec<Id> = last.keys().map(|name| id(name)).collect();
        agent.unforget(&all, &Writer::user(), false).unwrap();
        for (name, expected) in &last {
            assert_eq!(&bytes(&agent, name), expected, "{seed}: {name}");
        }
        assert!(
            all_forgotten(&agent, &Reach::All, 10).unwrap().is_empty(),
            "{seed}"
        );
    }
}

#[test]
fn what_a_quota_a_folder_or_a_guard_took_is_forgotten_and_comes_back() {
    let (agent, _clock) = agent();
    for op in ["remember", "import", "guard", "release"] {
        let name = Id::new(op).unwrap();
        let item = NewItem::new(format!("taken by {op}"));
        let object = item.into_object(name.clone()).unwrap();
        drop(agent.memory().put(object, &Writer::user()).unwrap());
        let root = agent.memory().view().root();
        let mut draft = agent.memory().draft(&Writer::user());
        draft.remove(&name).unwrap();
        drop(agent.memory().commit(draft, op).unwrap());
        let forgotten = agent.forgotten(&agent.memory().view(), &Reach::All, 10).unwrap();
        let told: Vec<_> = forgotten
            .iter()
            .map(|one| (one.item.object().id().as_str(), one.commit.commit.op.as_str()))
            .collect();
        assert_eq!(told, [(op, op)]);
        drop(agent.unforget(&[name], &Writer::user(), false).unwrap());
        assert_eq!(agent.memory().view().root(), root);
    }
    // An item that `remove` or `undo` removed is not listed, because `undo` restores it.
    drop(
        agent
            .memory()
            .remove(&Id::new("guard").unwrap(), &Writer::user())
            .unwrap(),
    );
    drop(agent.memory().undo(&Writer::user()).unwrap());
    assert!(
        agent
            .forgotten(&agent.memory().view(), &Reach::All, 10)
            .unwrap()
            .is_empty()
    );
}

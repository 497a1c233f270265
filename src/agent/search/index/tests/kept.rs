//! Tests of the index on disk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::super::*;
use super::kept_bytes;
use crate::agent::{Agent, EnvelopeRequest, NewItem, Reach, RecallQuery, RememberOptions, Settings};
use crate::engine::{self, Keep, Layout, Options, Writer};
use crate::object::{Id, Origin, Time};
use crate::testing::sim_disk::SimDisk;

fn agent(memory: &Memory) -> Agent {
    Agent::new(memory.clone(), Settings::default())
}

fn put_some(memory: &Memory, from: usize, to: usize) {
    let mut draft = memory.draft(&Writer::user());
    for at in from..to {
        let mut item = NewItem::new(format!("note {at} of {}", at % 7));
        item.expires = (at % 3 == 0).then(|| Time::from_micros(i64::MAX));
        let id = Id::new(&format!("n{at}")).unwrap();
        let class = if at % 5 == 0 {
            Origin::Document
        } else {
            Origin::Host
        };
        draft
            .stage(item.into_object(id).unwrap(), engine::OriginRule::AtMost(class))
            .unwrap();
    }
    drop(memory.commit(draft, "test").unwrap());
}

/// Puts a heading and a note below it.
fn put_heading(memory: &Memory, title: &str) {
    let mut draft = memory.draft(&Writer::user());
    for (name, text, parent) in [("top", "", None), ("below", "opens at nine", Some("top"))] {
        let mut item = NewItem::new(text);
        if parent.is_none() {
            drop(item.others.insert("title", title));
        }
        let mut object = item.into_object(Id::new(name).unwrap()).unwrap();
        object.parent = parent.map(|parent| Id::new(parent).unwrap());
        draft
            .stage(object, engine::OriginRule::AtMost(Origin::Host))
            .unwrap();
    }
    drop(memory.commit(draft, "test").unwrap());
}

fn reached(agent: &Agent) -> Reached {
    agent.recall_index().of(&agent.memory().view()).unwrap().1
}

#[test]
fn the_next_process_goes_on_where_this_one_was() {
    let memory = Memory::in_memory().unwrap();
    put_some(&memory, 0, 600);
    put_heading(&memory, "Harbour");
    let first = agent(&memory);
    assert_eq!(reached(&first), Reached::Built);
    assert!(first.keep_indexes().unwrap());
    assert!(!first.keep_indexes().unwrap(), "it was just saved");
    put_some(&memory, 590, 603);
    put_heading(&memory, "Lighthouse");
    drop(memory.remove(&Id::new("n5").unwrap(), &Writer::user()).unwrap());
    let second = agent(&memory);
    assert_eq!(reached(&second), Reached::Followed);
    let view = memory.view();
    let (followed, _) = second.recall_index().of(&view).unwrap();
    let built = Derived::build(view.opened(), view.state().clone(), Content::default()).unwrap();
    assert_eq!(kept_bytes(&followed), kept_bytes(&built));
    assert!(followed.value().expiries.len() > 100);
    assert_eq!(followed.value().untrusted.len(), 120);
}

#[test]
fn what_cannot_be_read_is_built_anew() {
    let memory = Memory::in_memory().unwrap();
    put_some(&memory, 0, 600);
    let first = agent(&memory);
    assert_eq!(reached(&first), Reached::Built);
    assert!(first.keep_indexes().unwrap());
    let view = memory.view();
    let kept = memory.derived(Content::NAME).unwrap().unwrap();
    let mut other_commit = kept.to_vec();
    other_commit[1] ^= 1;
    for damaged in [&kept[..kept.len() - 1], &kept[..60], &[], &other_commit] {
        assert!(engine::keep_as(&memory, Content::NAME, damaged, Layout::Image, view.state()).unwrap());
        assert_eq!(reached(&agent(&memory)), Reached::Built);
    }
}

/// A damaged file gives the same answers as no file.
#[test]
fn damage_changes_no_answer() {
    let memory = Memory::in_memory().unwrap();
    put_some(&memory, 0, 600);
    put_heading(&memory, "Harbour");
    let first = agent(&memory);
    assert_eq!(reached(&first), Reached::Built);
    assert!(first.keep_indexes().unwrap());
    drop(memory.remove(&Id::new("n5").unwrap(), &Writer::user()).unwrap());
    put_some(&memory, 600, 603);
    put_heading(&memory, "Lighthouse");
    // One time for all answers, because a score counts how fresh an item is.
    let view = memory.view();
    let now = view.now();
    let view = view.with_now(now);
    let answers = |agent: &Agent| {
        let asked = |text: &str| {
            let found = agent.recall(&view, &RecallQuery::new(text, Reach::All)).unwrap();
            format!("{:?} {}", found.hits, found.left_out)
        };
        let new = NewItem::new("note 77 of 0");
        let options = RememberOptions::default();
        let near = |options| agent.remember(new.clone(), options, &Writer::user()).unwrap();
        (
            asked("note 17 of 3"),
            asked("note 601"),
            asked("lighthouse"),
            asked("harbour"),
            near(&options).duplicates.len(),
        )
    };
    let expected = answers(&first);
    let whole = memory.derived(Content::NAME).unwrap().unwrap().to_vec();
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        assert!(engine::keep_as(&memory, Content::NAME, &bytes, Layout::Image, view.state()).unwrap());
        let agent = agent(&memory);
        assert_eq!(answers(&agent), expected, "byte {at}");
    }
}

#[test]
fn what_was_erased_is_not_kept() {
    let memory = Memory::in_memory().unwrap();
    put_some(&memory, 0, 600);
    let word = "tangerine";
    let id = Id::new("secret").unwrap();
    let object = NewItem::new(word).into_object(id).unwrap();
    drop(memory.put(object, &Writer::user()).unwrap());
    let agent = agent(&memory);
    assert_ne!(reached(&agent), Reached::AtHand);
    let holds = || {
        let kept = memory.derived(Content::NAME).unwrap();
        kept.is_some_and(|kept| kept.windows(5).any(|part| part == &word.as_bytes()[..5]))
    };
    assert!(agent.keep_indexes().unwrap());
    assert!(holds());
    put_some(&memory, 600, 1200);
    assert_ne!(reached(&agent), Reached::AtHand);
    let erasing = engine::Erasing {
        targets: vec!["secret".to_owned()],
        ..Default::default()
    };
    drop(memory.erase(&erasing, &Writer::user()).unwrap());
    assert!(!holds());
    assert!(agent.keep_indexes().unwrap());
    assert!(!holds());
}

#[test]
fn readers_do_not_wait_for_a_save() {
    let disk = SimDisk::new(1);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::default(), true, None).unwrap();
    put_some(&memory, 0, 600);
    let agent = Arc::new(agent(&memory));
    let read = |agent: &Agent| {
        let view = agent.memory().view();
        drop(
            agent
                .recall(&view, &RecallQuery::new("note 7", Reach::All))
                .unwrap(),
        );
        drop(agent.envelope(&view, &EnvelopeRequest::new(Reach::All)).unwrap());
    };
    read(&agent);
    let (waits, reader) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&agent));
    let counted = Arc::clone(&waits);
    // Each call of the disk returns only after another thread has read.
    disk.observe(Arc::new(move |_| {
        let (sent, done) = std::sync::mpsc::channel();
        let reader = Arc::clone(&reader);
        std::thread::spawn(move || {
            read(&reader);
            sent.send(()).unwrap();
        });
        let is_done = done.recv_timeout(Duration::from_secs(20)).is_ok();
        assert!(is_done, "a reader waits for the disk");
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    assert!(agent.keep_indexes().unwrap());
    assert!(waits.load(Ordering::Relaxed) > 4);
    disk.observe_no_more();
}

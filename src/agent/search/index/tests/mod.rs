//! Tests of index updates: random histories, past states, concurrent readers and writers.

mod kept;
mod vectors;

use super::super::indexed::{key_of, order_in_id};
use super::*;
use crate::agent::vocabulary::kind;
use crate::agent::{Agent, NewItem, Settings};
use crate::engine::Writer;
use crate::object::{Id, Time};
use crate::testing::random::SplitMix64;
use treering_text::recall::{Embedder, Index, Key, Query};
use treering_text::tables::Builder;

/// Returns the bytes of an index, which must not depend on its history.
pub(super) fn kept_bytes(indexed: &Indexed) -> Vec<u8> {
    let mut image = Builder::default();
    indexed.value().write(&mut image);
    image.finish()
}

fn indexed(agent: &Agent, view: &View) -> Result<(Arc<Indexed>, Reached)> {
    agent.recall_index().of(view)
}

fn agent() -> Agent {
    Agent::new(Memory::in_memory().unwrap(), Settings::default())
}

fn id(name: &str) -> Id {
    Id::new(name).unwrap()
}

fn put(agent: &Agent, name: &str, item: NewItem) {
    let object = item.into_object(id(name)).unwrap();
    drop(agent.memory().put(object, &Writer::user()).unwrap());
}

fn found(agent: &Agent, view: &View, question: &str) -> Vec<Key> {
    let keys = |index: &Index, scratch: &mut Scratch| {
        let answer = index.recall(&Query::new(question), scratch);
        Ok(answer.hits.iter().map(|hit| hit.key).collect())
    };
    agent.with_index(view, keys).unwrap()
}

#[test]
fn what_is_put_is_found_at_once_and_what_is_removed_is_not() {
    let agent = agent();
    assert!(found(&agent, &agent.memory().view(), "tea").is_empty());
    put(&agent, "a", NewItem::new("Ada drinks green tea"));
    let with_tea = agent.memory().view();
    assert_eq!(found(&agent, &with_tea, "tea"), [key_of(agent.memory(), "a")]);
    drop(agent.memory().remove(&id("a"), &Writer::user()).unwrap());
    assert!(found(&agent, &agent.memory().view(), "tea").is_empty());
    // A recall on the past state still finds the same item.
    assert_eq!(found(&agent, &with_tea, "tea"), [key_of(agent.memory(), "a")]);
}

#[test]
fn tags_and_subjects_are_words_and_sessions_are_no_memories() {
    let agent = agent();
    let mut item = NewItem::new("Two minutes are enough");
    item.tags = vec!["brewing".to_owned()];
    item.speaker = Some("Ada".to_owned());
    item.subject = Some("sencha".to_owned());
    put(&agent, "a", item);
    let mut session = NewItem::new("brewing sencha");
    session.kind = crate::object::Kind::new(kind::SESSION).unwrap();
    put(&agent, "s", session);
    let view = agent.memory().view();
    for question in ["brewing", "sencha", "minutes"] {
        assert_eq!(
            found(&agent, &view, question),
            [key_of(agent.memory(), "a")],
            "{question}"
        );
    }
}

/// INVARIANT RIX-1: the index of a view contains exactly the texts of its state.
#[test]
fn an_index_that_followed_any_history_is_as_one_built_anew() {
    let mut random = SplitMix64::new(7);
    let agent = agent();
    let memory = agent.memory();
    let mut views = vec![memory.view()];
    for step in 0..400 {
        let name = format!("n{}", random.below(40));
        match random.below(10) {
            0..5 => {
                let mut item = NewItem::new(format!("note {} of {}", random.below(90), random.below(9)));
                item.session = (random.below(2) == 0).then(|| format!("s{}", random.below(3)));
                item.order = (random.below(2) == 0).then(|| i64::from(random.byte()));
                item.expires = (random.below(3) == 0).then(|| Time::from_micros(i64::MAX));
                item.supersedes = (random.below(5) == 0).then(|| id("n1")).into_iter().collect();
                if random.below(2) == 0 {
                    drop(item.others.insert("title", format!("title {}", random.below(9))));
                }
                let mut object = item.into_object(id(&name)).unwrap();
                let parent = format!("n{}", random.below(40));
                let has_parent = memory.view().get(&id(&parent)).unwrap().is_some();
                object.parent = (has_parent && random.below(3) > 0).then(|| id(&parent));
                // An object below itself is refused.
                let _put_or_not = memory.put(object, &Writer::user());
            }
            5..7 => {
                let _gone_or_not = memory.remove(&id(&name), &Writer::user());
            }
            7 => {
                let past = &views[random.below(views.len())];
                let revision = past.commit().digest;
                drop(memory.rollback(revision).by(&Writer::user()).unwrap());
            }
            _ => {}
        }
        views.push(memory.view());
        let at = if random.below(2) == 0 {
            views.len() - 1
        } else {
            random.below(views.len())
        };
        let (indexed, reached) = indexed(&agent, &views[at]).unwrap();
        let built =
            Derived::build(views[at].opened(), views[at].state().clone(), Content::default()).unwrap();
        assert_eq!(
            kept_bytes(&indexed),
            kept_bytes(&built),
            "step {step}, {reached:?}"
        );
    }
}

/// A change indexes the objects below again only if their titles change.
#[test]
fn only_a_change_of_titles_reaches_the_objects_below() {
    let agent = agent();
    let change = |title: &str, colour: &str| {
        let mut item = NewItem::new("");
        item.kind = crate::object::Kind::new(kind::SESSION).unwrap();
        drop(item.others.insert("title", title));
        drop(item.others.insert("colour", colour));
        put(&agent, "top", item);
    };
    change("Harbour", "red");
    for at in 0..5 {
        let mut object = NewItem::new("opens at nine")
            .into_object(id(&format!("n{at}")))
            .unwrap();
        object.parent = Some(id("top"));
        drop(agent.memory().put(object, &Writer::user()).unwrap());
    }
    let numbers = || {
        let (indexed, _) = indexed(&agent, &agent.memory().view()).unwrap();
        (indexed.value().index.rows(), indexed.changes)
    };
    assert_eq!(numbers(), (5, 6));
    change("Harbour", "blue");
    assert_eq!(numbers(), (5, 7));
    change("Lighthouse", "blue");
    assert_eq!(numbers(), (10, 13));
    let view = agent.memory().view();
    assert_eq!(found(&agent, &view, "lighthouse").len(), 5);
    assert!(found(&agent, &view, "harbour").is_empty());
}

#[test]
fn near_states_are_followed_and_far_ones_are_built() {
    let agent = agent();
    for at in 0..20 {
        put(&agent, &format!("n{at}"), NewItem::new(format!("note {at}")));
    }
    let near = agent.memory().view();
    let reached = |view: &View| indexed(&agent, view).unwrap().1;
    assert_eq!(reached(&near), Reached::Built);
    put(&agent, "more", NewItem::new("one more"));
    let newest = agent.memory().view();
    assert_eq!(reached(&newest), Reached::Followed);
    assert_eq!(reached(&near), Reached::Followed);
    assert_eq!(
        (reached(&near), reached(&newest)),
        (Reached::AtHand, Reached::AtHand)
    );
    let first = agent.memory().view_before(&near.commit()).unwrap().unwrap();
    let mut far = first;
    for _ in 0..15 {
        far = agent.memory().view_before(&far.commit()).unwrap().unwrap();
    }
    assert_eq!(reached(&far), Reached::Built);
}

#[test]
fn a_reader_keeps_its_index_while_others_move_on() {
    let agent = agent();
    put(&agent, "a", NewItem::new("Ada drinks green tea"));
    let view = agent.memory().view();
    let inner = |index: &Index, _: &mut Scratch| {
        put(&agent, "b", NewItem::new("Bo drinks tea too"));
        let newer = found(&agent, &agent.memory().view(), "tea");
        Ok((index.len(), newer.len()))
    };
    assert_eq!(agent.with_index(&view, inner).unwrap(), (1, 2));
}

#[test]
fn what_was_erased_is_in_no_index() {
    let agent = agent();
    put(&agent, "a", NewItem::new("the code word is tangerine"));
    let past = agent.memory().view();
    put(&agent, "b", NewItem::new("nothing else"));
    let gone = key_of(agent.memory(), "a");
    assert_eq!(found(&agent, &agent.memory().view(), "tangerine")[0], gone);
    let erasing = engine::Erasing {
        targets: vec!["a".to_owned()],
        ..Default::default()
    };
    drop(agent.memory().erase(&erasing, &Writer::user()).unwrap());
    assert!(!found(&agent, &agent.memory().view(), "tangerine").contains(&gone));
    // After the erasure, another agent that opens the past state does not find the text either.
    let again = past.commit().digest.to_hex().parse().unwrap();
    let past = agent.memory().view_at(&again, "").unwrap();
    let fresh = Agent::new(agent.memory().clone(), Settings::default());
    assert!(!found(&fresh, &past, "tangerine").contains(&gone));
}

#[test]
fn an_id_tells_the_order() {
    assert_eq!(order_in_id("chat/D1:12"), 12);
    assert_eq!(order_in_id("M234"), 234);
    assert_eq!(order_in_id("no number"), 0);
    assert_eq!(order_in_id("99999999999"), 999_999_999);
    let of = |uuid: &str| order_in_id(&format!("fact/{uuid}"));
    let first = of("01890a5d-ac96-7001-8000-0000000000ff");
    let second = of("01890a5d-ac96-7002-8000-000000000000");
    let third = of("01890a5d-ac97-7000-8000-000000000000");
    assert!(first < second && second < third);
}

#[test]
fn readers_and_writers_at_the_same_time_each_find_what_they_put() {
    let agent = agent();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let agent = agent.clone();
            scope.spawn(move || {
                for at in 0..25 {
                    let name = format!("w{writer}n{at}");
                    put(&agent, &name, NewItem::new(format!("word{writer}x{at}")));
                    let found = found(&agent, &agent.memory().view(), &format!("word{writer}x{at}"));
                    assert_eq!(found.first(), Some(&key_of(agent.memory(), &name)), "{name}");
                }
            });
        }
        for _ in 0..2 {
            let agent = agent.clone();
            scope.spawn(move || {
                for _ in 0..60 {
                    let view = agent.memory().view();
                    let count = |index: &Index, _: &mut Scratch| Ok(index.len() as u64);
                    assert_eq!(agent.with_index(&view, count).unwrap(), view.len());
                }
            });
        }
    });
}

/// Calls `work` on another thread. Fails if the call takes longer than a minute.
fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || drop(send.send(work())));
    receive
        .recv_timeout(Duration::from_mins(1))
        .expect("the call ends within a minute")
}

/// An embedder that calls recall on the agent that uses the embedder.
#[derive(Default)]
struct Asking {
    agent: std::sync::OnceLock<std::sync::Weak<Agent>>,
    asked: std::sync::atomic::AtomicUsize,
}

impl Embedder for Asking {
    fn embed(&self, text: &str) -> Vec<f32> {
        if let Some(agent) = self.agent.get().and_then(std::sync::Weak::upgrade) {
            let query = crate::agent::RecallQuery::new(text, crate::agent::Reach::All);
            let found = agent.recall(&agent.memory().view(), &query).unwrap();
            assert!(!found.hits.is_empty(), "words find the text");
            self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        vec![1.0, text.len() as f32]
    }
}

#[test]
fn an_embedder_may_recall() {
    let asking = Arc::new(Asking::default());
    let agent = Arc::new(agent().with_embedder("asking", Arc::clone(&asking) as _).unwrap());
    drop(asking.agent.set(Arc::downgrade(&agent)));
    put(&agent, "a", NewItem::new("Ada drinks green tea"));
    put(&agent, "b", NewItem::new("Ben drinks black coffee"));
    let hits = within_a_minute(move || {
        assert_eq!(agent.embed(None).unwrap().unwrap().embedded, 2);
        let query = crate::agent::RecallQuery::new("green tea", crate::agent::Reach::All);
        agent.recall(&agent.memory().view(), &query).unwrap().hits.len()
    });
    assert_ne!(hits, 0);
    // The embedder embedded both texts and the question.
    assert_eq!(asking.asked.load(std::sync::atomic::Ordering::Relaxed), 3);
}

/// An embedder that waits for a signal before it embeds a text that contains `slow`.
struct Slow(Mutex<std::sync::mpsc::Receiver<()>>);

impl Embedder for Slow {
    fn embed(&self, text: &str) -> Vec<f32> {
        if text.contains("slow") {
            assert!(self.0.lock().recv().is_ok());
        }
        vec![1.0, text.len() as f32]
    }
}

#[test]
fn nobody_waits_for_an_embedder_who_asks_about_a_state_that_is_at_hand() {
    let (release, wait) = std::sync::mpsc::channel();
    let slow = Arc::new(Slow(Mutex::new(wait)));
    let agent = Arc::new(agent().with_embedder("slow", slow).unwrap());
    put(&agent, "a", NewItem::new("Ada drinks green tea"));
    let before = agent.memory().view();
    assert_eq!(indexed(&agent, &before).unwrap().1, Reached::Built);
    put(&agent, "b", NewItem::new("a slow text"));
    let embedding = {
        let agent = Arc::clone(&agent);
        std::thread::spawn(move || agent.embed(None).unwrap().unwrap().pending)
    };
    let (reader, view) = (Arc::clone(&agent), before);
    let reached = within_a_minute(move || {
        std::thread::sleep(Duration::from_millis(100));
        let query = crate::agent::RecallQuery::new("green tea", crate::agent::Reach::All);
        reader.recall(&view, &query).unwrap().reached
    });
    assert_eq!(reached, Some(Reached::AtHand));
    release.send(()).unwrap();
    assert_eq!(embedding.join().unwrap(), 0);
}

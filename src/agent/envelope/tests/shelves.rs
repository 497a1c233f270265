//! The shelves against a new selection, on random histories and on damaged files.

use std::sync::atomic::AtomicU64;

use super::super::{EnvelopeRequest, Shelves};
use crate::agent::{Agent, NewItem, Reach, Sensitivity, Settings};
use crate::engine::{self, Keep, Layout, Memory, View, Writer};
use crate::object::{Id, Kind, Origin, Scope, Time};
use crate::testing::random::SplitMix64;

fn agent(memory: &Memory) -> Agent {
    Agent::new(memory.clone(), Settings::default())
}

/// Puts an item of a random scope, kind, class, sensitivity, pin and expiry, or removes one.
fn change(memory: &Memory, random: &mut SplitMix64) {
    let mut below = |limit: usize| random.below(limit);
    let id = Id::new(&format!("n{}", below(40))).unwrap();
    if below(6) == 0 {
        memory.remove(&id, &Writer::user()).ok();
        return;
    }
    let mut item = NewItem::new(format!("text {}", below(1000)));
    item.kind = Kind::new(["fact", "rule", "note", "entry", "task"][below(5)]).unwrap();
    item.scope = Scope::new(["global", "project:tea"][below(2)]).unwrap();
    item.sensitivity = Some(Sensitivity::ALL[below(4)]);
    item.is_pinned = below(4) == 0;
    item.expires = (below(4) == 0).then(|| Time::from_micros([1, i64::MAX - 1][below(2)]));
    item.time = (below(3) == 0).then(|| Time::from_micros(i64::from(below(1_000_000) as u32)));
    item.supersedes = (below(5) == 0)
        .then(|| Id::new(&format!("n{}", below(40))).unwrap())
        .into_iter()
        .filter(|old| *old != id)
        .collect();
    let class = [Origin::DirectUser, Origin::Model, Origin::ToolExternal][below(3)];
    // A less trusted writer may not change what the person wrote.
    drop(memory.put(item.into_object(id).unwrap(), &Writer::of(class)));
}

fn built(view: &View) -> crate::Result<engine::Derived<Shelves>> {
    engine::Derived::build(view.opened(), view.state().clone(), Shelves::default())
}

fn bytes(shelves: &Shelves) -> Vec<u8> {
    let mut image = treering_text::tables::Builder::default();
    shelves.write(&mut image);
    image.finish()
}

fn texts(agent: &Agent, view: &View) -> Vec<String> {
    let scopes = vec![Scope::default(), Scope::new("project:tea").unwrap()];
    let mut out = Vec::new();
    for (reach, with_untrusted) in [(Reach::All, false), (Reach::Scopes(scopes), true)] {
        let mut request = EnvelopeRequest::new(reach);
        request.with_untrusted = with_untrusted;
        let made = agent.envelope(view, &request).unwrap();
        out.push(format!("{} {:?}", made.text, made.left_out));
    }
    out
}

/// INVARIANT SHL-1: the shelves contain exactly the items of the state whose kind has a section.
#[test]
fn shelves_that_follow_are_shelves_that_are_built() {
    let memory = Memory::in_memory().unwrap();
    let mut random = SplitMix64::new(20);
    let mut views = vec![memory.view()];
    let mut shelves = built(&memory.view()).unwrap();
    for round in 0..120 {
        change(&memory, &mut random);
        if round % 10 == 9 {
            let seq = views[random.below(views.len())].commit().commit.seq;
            let back = memory.rollback(engine::Revision::Seq(seq)).across_lanes();
            drop(back.by(&Writer::user()).unwrap());
        }
        views.push(memory.view());
        shelves = {
            let view = memory.view();
            shelves.follow(view.opened(), view.state().clone(), Shelves::default)
        }
        .unwrap();
        let built = built(&memory.view()).unwrap();
        assert!(bytes(shelves.value()) == bytes(built.value()), "round {round}");
        if round % 7 == 0 {
            let image = treering_text::tables::Image::open(bytes(shelves.value()).into()).unwrap();
            shelves = engine::Derived::new(
                memory.view().state().clone(),
                Shelves::read(&std::sync::Arc::new(image), 0).unwrap(),
            );
        }
    }
}

#[test]
fn a_damaged_file_changes_no_envelope() {
    let memory = Memory::in_memory().unwrap();
    let mut random = SplitMix64::new(21);
    // The file must have several blocks, so that damage behind the first one is met only by the envelope.
    let mut draft = memory.draft(&Writer::user());
    for at in 0..300 {
        let item = NewItem::new(format!("fact {at}"));
        let id = Id::new(&format!("f{at}")).unwrap();
        draft.put(item.into_object(id).unwrap()).unwrap();
    }
    drop(memory.commit(draft, "put").unwrap());
    for _ in 0..60 {
        change(&memory, &mut random);
    }
    let view = memory.view();
    let mut shelves = built(&view).unwrap();
    shelves.changes = 500;
    assert!(shelves.keep(&memory, &AtomicU64::default()).unwrap());
    change(&memory, &mut random);
    let view = memory.view();
    let expected = texts(&agent(&memory), &view);
    let whole = memory.derived(Shelves::NAME).unwrap().unwrap().to_vec();
    for at in (0..whole.len()).step_by(131) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        assert!(engine::keep_as(&memory, Shelves::NAME, &bytes, Layout::Image, view.state()).unwrap());
        assert_eq!(texts(&agent(&memory), &view), expected, "byte {at}");
    }
    for length in (0..whole.len()).step_by(997) {
        assert!(
            engine::keep_as(
                &memory,
                Shelves::NAME,
                &whole[..length],
                Layout::Image,
                view.state()
            )
            .unwrap()
        );
        assert_eq!(texts(&agent(&memory), &view), expected, "cut at {length}");
    }
}

/// Rows of a hostile file whose checksums match, in any order and with any content.
#[test]
fn hostile_rows_cause_no_panic() {
    let memory = Memory::in_memory().unwrap();
    let mut random = SplitMix64::new(22);
    for _ in 0..30 {
        change(&memory, &mut random);
    }
    let view = memory.view();
    for _ in 0..50 {
        let mut image = treering_text::tables::Builder::default();
        image.section(|head| {
            head.push(Shelves::VERSION);
            head.extend_from_slice(view.commit().digest.as_bytes());
        });
        for _ in 0..3 {
            let length = random.below(900);
            image.section(|rows| rows.extend((0..length).map(|_| random.below(3) as u8 * 127)));
        }
        assert!(
            engine::keep_as(
                &memory,
                Shelves::NAME,
                &image.finish(),
                Layout::Image,
                view.state()
            )
            .unwrap()
        );
        drop(texts(&agent(&memory), &view));
    }
}

//! A derived value that follows its state by diff equals a value that is built from that state.

use crate::engine::upkeep::derived_writer::keep_derived;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{id, note, put};
use crate::engine::read::derived::{Derive, Derived, Keep, Version};
use crate::engine::read::holder::Reached;
use crate::engine::*;
use crate::{Error, Result};
use treering_text::tables::{Builder, Image};

/// A text that [`Texts`] refuses.
const FAILS: &str = "fails";

/// The texts of the objects, by id.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Texts {
    texts: BTreeMap<String, String>,
}

impl Derive for Texts {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        if let Some(object) = new.object()?.filter(|object| !object.is_placeholder()) {
            let text = object.content().unwrap_or_default().to_owned();
            if text == FAILS {
                return Err(Error::invalid("this text cannot be added"));
            }
            self.texts.insert(object.id().to_string(), text);
        }
        Ok(())
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        let Some(object) = old.object()?.filter(|object| !object.is_placeholder()) else {
            return Ok(false);
        };
        Ok(self.texts.remove(object.id().as_str()).is_some())
    }
}

impl Keep for Texts {
    const NAME: &'static str = "test-texts";
    const VERSION: u8 = 1;

    fn len(&self) -> u64 {
        self.texts.len() as u64
    }

    fn write(&self, image: &mut Builder) {
        image.section(|bytes| bytes.extend(postcard::to_allocvec(self).unwrap()));
    }

    fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        let bytes = image.read(first, 0, image.length(first))?;
        postcard::from_bytes(bytes).ok()
    }
}

fn built(view: &View) -> Texts {
    let built = Derived::build(view.opened(), view.state().clone(), Texts::default()).unwrap();
    built.value().clone()
}

/// INVARIANT DRV-1: following to a state gives the same value as building from that state.
#[test]
fn a_value_that_follows_is_the_value_that_is_built() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    let mut views = vec![memory.view()];
    for round in 0..8 {
        put(&memory, "a", &format!("text {round}"));
        put(&memory, &format!("b{round}"), "more");
        if round % 3 == 2 {
            memory.remove(&id(&format!("b{round}")), &Writer::user())?;
        }
        views.push(memory.view());
    }
    memory.rollback(Revision::Seq(3)).by(&Writer::user())?;
    views.push(memory.view());
    let mut value = Derived::build(views[0].opened(), views[0].state().clone(), Texts::default())?;
    for at in [0, 3, 1, 8, 9, 2, 9] {
        value = value.follow(views[at].opened(), views[at].state().clone(), Texts::default)?;
        assert_eq!(*value.value(), built(&views[at]), "view {at}");
        assert_eq!(value.state().root, views[at].root());
    }
    Ok(())
}

#[test]
fn an_erased_version_is_followed_by_building_anew() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "a secret");
    put(&memory, "b", "tea");
    let before = memory.view().commit().commit.seq;
    let erasing = Erasing {
        targets: vec!["a".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let past = memory.view_at(&Revision::Seq(before), "")?;
    let value = Derived::build(past.opened(), past.state().clone(), Texts::default())?;
    assert_eq!(value.value().texts.len(), 1);
    let value = value.follow(
        memory.view().opened(),
        memory.view().state().clone(),
        Texts::default,
    )?;
    assert_eq!(*value.value(), built(&memory.view()));
    Ok(())
}

/// INVARIANT DRV-2: a value from a file is used only for the state that the file names.
#[test]
fn a_kept_value_is_read_at_its_state_and_follows() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path().join("store"))?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..600 {
        draft.put(note(&format!("n{number}"), "text"))?;
    }
    memory.commit(draft, "put")?;
    let view = memory.view();
    let value = Derived::build(view.opened(), view.state().clone(), Texts::default())?;
    let written = AtomicU64::default();
    assert!(value.keep(&memory, &written)?);
    assert!(!value.keep(&memory, &written)?, "nothing changed since");
    put(&memory, "n1", "other");
    let loaded = Derived::<Texts>::load(memory.view().opened()).unwrap();
    assert_eq!(
        (loaded.state().root, loaded.value()),
        (view.root(), value.value())
    );
    let followed = loaded.follow(
        memory.view().opened(),
        memory.view().state().clone(),
        Texts::default,
    )?;
    assert_eq!(*followed.value(), built(&memory.view()));
    // A file in another serialised form is ignored.
    keep_derived(&memory, Texts::NAME, &[2; 40], memory.view().state())?;
    assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
    keep_derived(&memory, Texts::NAME, b"", memory.view().state())?;
    assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
    // A value that cannot follow over an erasure is built again, and so is written again.
    let erasing = Erasing {
        targets: vec!["n2".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let past = memory.view_at(&Revision::Seq(view.commit().commit.seq), "")?;
    let value = Derived::build(past.opened(), past.state().clone(), Texts::default())?;
    let written = AtomicU64::new(value.changes);
    let view = memory.view();
    let value = value.follow(view.opened(), view.state().clone(), Texts::default)?;
    assert!(value.keep(&memory, &written)?);
    Ok(())
}

/// The texts again, as a type whose values of older states a holder keeps.
#[derive(Clone, Default)]
struct Copied(Texts);

impl Derive for Copied {
    const IN_PLACE_MAX: u64 = 2;

    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        self.0.add(new)
    }

    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        self.0.remove(old)
    }
}

/// Returns the value of a view, and how it was prepared.
fn reach<T: Derive + Clone, const KEPT: usize>(
    held: &Holder<T, KEPT>,
    view: &View,
) -> Result<(Arc<Derived<T>>, Reached)> {
    held.reach((view.opened(), view.state()), |_| true, || None, |_| Ok(()))
}

/// INVARIANT HLD-1: a reader gets a value of exactly the state that it asks for.
#[test]
fn a_holder_returns_the_value_of_the_state() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut views = Vec::new();
    for round in 0..30 {
        for part in 0..=round % 4 {
            put(
                &memory,
                &format!("n{}", (round + part) % 9),
                &format!("text {round}"),
            );
        }
        if round % 7 == 6 {
            let back = memory.rollback(Revision::Seq(round / 2)).across_lanes();
            drop(back.by(&Writer::user())?);
        }
        views.push(memory.view());
    }
    let (one, few) = (Holder::<Texts>::default(), Holder::<Copied, 3>::default());
    for step in 0..300_usize {
        // The newest states, and now and then an older one.
        let view = &views[if step % 3 == 0 { step * 7 % 30 } else { step / 10 }];
        assert_eq!(*reach(&one, view)?.0.value(), built(view), "{step}");
        let held = reach(&few, view)?.0;
        assert_eq!(held.value().0, built(view), "{step}");
        assert!(
            few.at_hand(view.state())
                .is_some_and(|found| Arc::ptr_eq(&found, &held))
        );
    }
    Ok(())
}

/// A rollback makes the older state the one from which the next state is reached.
#[test]
fn the_state_of_a_rollback_is_at_hand_and_then_near() -> Result<()> {
    let memory = Memory::in_memory()?;
    let held = Holder::<Copied, 3>::default();
    let reached = || {
        let view = memory.view();
        Ok::<_, Error>(reach(&held, &view)?.1)
    };
    put(&memory, "a", "one");
    assert_eq!(reached()?, Reached::Built);
    let before = memory.view();
    for number in 0..5 {
        put(&memory, &format!("n{number}"), "more");
    }
    assert_eq!(reached()?, Reached::Followed);
    memory
        .rollback(Revision::Seq(before.commit().commit.seq))
        .by(&Writer::user())?;
    assert_eq!(reached()?, Reached::AtHand);
    put(&memory, "a", "two");
    assert_eq!(reached()?, Reached::Followed);
    let changes = held.newest().unwrap().changes;
    assert_eq!(changes, 2, "one object was built, and one changed since");
    Ok(())
}

/// INVARIANT HLD-2: an update that fails leaves no partly updated value.
#[test]
fn a_failed_update_leaves_no_value() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    let held = Holder::<Texts>::default();
    let before = memory.view();
    reach(&held, &before)?;
    let mut draft = memory.draft(&Writer::user());
    for number in 0..9 {
        draft.put(note(
            &format!("n{number}"),
            if number == 4 { FAILS } else { "more" },
        ))?;
    }
    memory.commit(draft, "put")?;
    let failing = memory.view();
    assert!(reach(&held, &failing).is_err());
    assert_eq!(*reach(&held, &before)?.0.value(), built(&before));
    Ok(())
}

//! A derived value that follows its state by diff equals a value that is built from that state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{id, note, put};
use crate::Result;
use crate::engine::read::derived::{Derive, Derived, Keep, Version};
use crate::engine::*;
use treering_text::tables::{Builder, Image};

/// The texts of the objects, by id.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Texts {
    texts: BTreeMap<String, String>,
}

impl Derive for Texts {
    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        if let Some(object) = new.object()?.filter(|object| !object.is_placeholder()) {
            let text = object.content().unwrap_or_default().to_owned();
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
    let built = Derived::build(view.opened(), view.state(), Texts::default()).unwrap();
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
    let mut value = Derived::build(views[0].opened(), views[0].state(), Texts::default())?;
    for at in [0, 3, 1, 8, 9, 2, 9] {
        value = value.follow(views[at].opened(), views[at].state(), Texts::default)?;
        assert_eq!(*value.value(), built(&views[at]), "view {at}");
        assert_eq!(value.root(), views[at].root());
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
    let value = Derived::build(past.opened(), past.state(), Texts::default())?;
    assert_eq!(value.value().texts.len(), 1);
    let value = value.follow(memory.view().opened(), memory.view().state(), Texts::default)?;
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
    let value = Derived::build(view.opened(), view.state(), Texts::default())?;
    let written = AtomicU64::default();
    assert!(keep(&memory, &value, &view, &written)?);
    assert!(!keep(&memory, &value, &view, &written)?, "nothing changed since");
    put(&memory, "n1", "other");
    assert!(
        keep(&memory, &value, &memory.view(), &written).is_err(),
        "of another state"
    );
    let loaded = Derived::<Texts>::load(memory.view().opened()).unwrap();
    assert_eq!((loaded.root(), loaded.value()), (view.root(), value.value()));
    let followed = loaded.follow(memory.view().opened(), memory.view().state(), Texts::default)?;
    assert_eq!(*followed.value(), built(&memory.view()));
    // A file in another serialised form is ignored.
    keep_derived(&memory, Texts::NAME, &[2; 40], &memory.view())?;
    assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
    keep_derived(&memory, Texts::NAME, b"", &memory.view())?;
    assert!(Derived::<Texts>::load(memory.view().opened()).is_none());
    // A value that cannot follow over an erasure is built again, and so is written again.
    let erasing = Erasing {
        targets: vec!["n2".to_owned()],
        ..Erasing::default()
    };
    memory.erase(&erasing, &Writer::user())?;
    let past = memory.view_at(&Revision::Seq(view.commit().commit.seq), "")?;
    let value = Derived::build(past.opened(), past.state(), Texts::default())?;
    let written = AtomicU64::new(value.changes);
    let view = memory.view();
    let value = value.follow(view.opened(), view.state(), Texts::default)?;
    assert!(keep(&memory, &value, &view, &written)?);
    Ok(())
}

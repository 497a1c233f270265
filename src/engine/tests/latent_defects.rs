//! Ten latent defects of an earlier published memory format. Each test is named after a defect and fails if the memory
//! has that defect.

use super::{content, id, note, put};
use crate::engine::{Memory, Revision, Writer};
use crate::object::{NewObject, Scope};
use crate::{ErrorKind, Origin, Result};

fn rev(text: &str) -> Revision {
    text.parse().unwrap()
}

#[test]
fn aliasing_of_history() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "first");
    let before = memory.view();
    let held = before.get(&id("a"))?.unwrap();
    let mut draft = memory.draft(&Writer::user());
    let mut changed = held.to_new()?;
    changed.content = Some("second".to_owned());
    draft.put(changed)?;
    memory.commit(draft, "put")?;
    // The object in memory, the old state and the version in history are unchanged.
    assert_eq!(held.content(), Some("first"));
    assert_eq!(content(&before, "a").as_deref(), Some("first"));
    let history = memory.history(&id("a"))?;
    assert_eq!(history[1].digest, Some(held.digest()));
    assert_eq!(
        content(&memory.view_at(&rev("seq:1"), "")?, "a").as_deref(),
        Some("first")
    );
    Ok(())
}

#[test]
fn rollback_twice() -> Result<()> {
    // Tests ROL-1: two rollbacks to one commit produce the same root, whatever was committed between them.
    let memory = Memory::in_memory()?;
    put(&memory, "a", "good");
    let snapshot = memory.snapshot(Some("good"), &Writer::user())?;
    for round in 0..2 {
        put(&memory, "a", &format!("bad {round}"));
        put(&memory, "extra", "bad");
        memory.rollback(rev("good")).by(&Writer::user())?;
        assert_eq!(memory.view().root(), snapshot.root, "round {round}");
        assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"));
    }
    Ok(())
}

#[test]
fn stale_ancestors() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "top", "");
    memory.put(super::child("middle", "top"), &Writer::user())?;
    memory.put(super::child("leaf", "middle"), &Writer::user())?;
    let (root, top) = (memory.view().root(), memory.view().subtree_digest(&id("top"))?);
    let mut leaf = super::child("leaf", "middle");
    leaf.content = Some("changed alone".to_owned());
    memory.put(leaf, &Writer::user())?;
    assert_ne!(memory.view().root(), root);
    assert_ne!(memory.view().subtree_digest(&id("top"))?, top);
    Ok(())
}

#[test]
fn colliding_ids() -> Result<()> {
    // Two ids have the same key path, because the weak hash suite uses only a few bits of a key path. The engine
    // refuses the second id, and never overwrites the first.
    let suite = crate::digest::HashSuite::with_weak_keys(crate::digest::HashAlgorithm::Blake3, 4);
    let memory = Memory::in_memory_with_suite(suite)?;
    let mut taken = 0;
    for number in 0..100 {
        let name = format!("id {number}");
        match memory.put(note(&name, &name), &Writer::user()) {
            Ok(_) => assert_eq!(content(&memory.view(), &name).as_deref(), Some(name.as_str())),
            Err(error) => {
                assert_eq!(error.code(), "key_path_taken");
                assert!(memory.view().get(&id(&name))?.is_none());
                taken += 1;
            }
        }
    }
    assert_eq!(memory.view().len() + taken, 100);
    assert!((1..=16).contains(&memory.view().len()));
    Ok(())
}

#[test]
fn ambiguous_preimages() -> Result<()> {
    let memory = Memory::in_memory()?;
    let one = memory.put(note("a|CONTENT:x", "y"), &Writer::user())?;
    let two = memory.put(note("a", "x|CONTENT:y"), &Writer::user())?;
    assert_ne!(one.commit.commit.root, two.commit.commit.root);
    let (view, suite) = (memory.view(), memory.suite());
    assert_eq!(view.len(), 2);
    let digest = |name: &str| view.get(&id(name)).unwrap().unwrap().digest();
    assert_ne!(digest("a"), digest("a|CONTENT:x"));
    // Moving a byte across the boundary of two fields changes the digest.
    let encode = |kind: &str, scope: &str| {
        let mut object = NewObject::new(id("a"), crate::Kind::new(kind).unwrap());
        object.scope = Scope::new(scope).unwrap();
        object.encode(Origin::DirectUser, suite).unwrap().digest
    };
    assert_ne!(encode("note", "sglobal"), encode("notes", "global"));
    Ok(())
}

#[test]
fn non_ascii() -> Result<()> {
    let memory = Memory::in_memory()?;
    let names = ["łódź", "日本語", "emoji 🌲", "nul \u{200d} joiner"];
    for name in names {
        put(&memory, name, &name.repeat(3));
    }
    for name in names {
        assert_eq!(content(&memory.view(), name), Some(name.repeat(3)));
    }
    assert!(memory.verify(crate::upkeep::VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn scope_and_parent_outside_the_hash() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "p", "");
    put(&memory, "q", "");
    let digests: Vec<_> = [
        ("global", None),
        ("session", None),
        ("global", Some("p")),
        ("global", Some("q")),
    ]
    .into_iter()
    .map(|(scope, parent)| {
        let mut object = note("fact", "the same");
        object.scope = Scope::new(scope).unwrap();
        object.parent = parent.map(id);
        memory.put(object, &Writer::user()).unwrap();
        let stored = memory.view().get(&id("fact")).unwrap().unwrap();
        assert_eq!((stored.scope(), stored.parent()), (scope, parent));
        stored.digest()
    })
    .collect();
    let distinct: std::collections::HashSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), 4);
    Ok(())
}

#[test]
fn unsaved_snapshots() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "a", "good");
    let named = memory.snapshot(Some("good"), &Writer::user())?;
    let ring = memory.snapshot(None, &Writer::user())?;
    put(&memory, "a", "bad");
    drop(memory);
    let memory = Memory::open(&store)?;
    assert_eq!(memory.view_at(&rev("good"), "")?.root(), named.root);
    assert_eq!(memory.view_at(&rev("snap:0"), "default")?.root(), ring.root);
    memory.rollback(rev("good")).by(&Writer::user())?;
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("good"));
    Ok(())
}

#[test]
fn a_failed_load_that_looks_empty() -> Result<()> {
    // Tests STO-1: a commit is applied only if its parent, seq, time, history root and root verify.
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let memory = Memory::create(&store)?;
    put(&memory, "a", "must not vanish");
    drop(memory);
    for file in ["manifest", "format", "log/00000001.seg"] {
        let path = store.join(file);
        let whole = std::fs::read(&path).unwrap();
        for broken in [
            Vec::new(),
            vec![0; whole.len()],
            whole[..whole.len().min(8_600) / 2].to_vec(),
        ] {
            std::fs::write(&path, &broken).unwrap();
            let error = Memory::open(&store)
                .err()
                .unwrap_or_else(|| panic!("{file} opened"));
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{file}: {error}");
            let error = crate::Options::new().open_or_create(&store).err();
            assert!(
                error.is_some_and(|error| error.is_corruption()),
                "{file}: creating over it"
            );
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Memory::open(&store).is_err(), "without {file}");
        assert!(
            crate::Options::new().open_or_create(&store).is_err(),
            "without {file}"
        );
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(
        content(&Memory::open(&store)?.view(), "a").as_deref(),
        Some("must not vanish")
    );
    Ok(())
}

#[test]
fn rollback_without_a_way_back() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    memory.snapshot(Some("one"), &Writer::user())?;
    put(&memory, "a", "two");
    let two = memory.view();
    memory.rollback(rev("one")).by(&Writer::user())?;
    // The state before the rollback is still available by undo, by seq, and by root.
    memory.undo(&Writer::user())?;
    assert_eq!(memory.view().root(), two.root());
    memory.redo(&Writer::user())?;
    memory.rollback(rev("seq:2")).by(&Writer::user())?;
    assert_eq!(memory.view().root(), two.root());
    assert_eq!(
        memory
            .resolve(&Revision::Prefix(two.root().to_hex()), "")?
            .commit
            .root,
        two.root()
    );
    Ok(())
}

//! Tests that a store built from an export as JSON Lines has the same root as the original, for any store.

use proptest::prelude::*;

use super::*;
use crate::digest::ObjectDigest;
use crate::engine::{Draft, Erasing, Memory as Store, Revision, View, Writer};
use crate::ingest::json::{object_from_json, parse, stored_object_to_json};
use crate::object::{Kind, NewObject, Origin, Value};
use crate::testing::generators::Generator;

/// Returns a store with a history: with versions that were replaced, removed and rolled back, and objects derived from
/// all of them.
pub(super) fn random_store(seed: u64, steps: usize) -> Store {
    let mut make = Generator::new(seed);
    let store = Store::in_memory().unwrap();
    let ids: Vec<Id> = (0..10).map(|_| make.id()).collect();
    let mut versions: Vec<ObjectDigest> = Vec::new();
    for _ in 0..steps {
        let mut draft = store.draft(&Writer::of(make.origin()));
        for _ in 0..=make.random.below(4) {
            put_random(&mut draft, &mut make, &ids, &mut versions);
        }
        if make.random.one_in(4) {
            drop(draft.remove_recursive(make.random.pick(&ids)));
        }
        // A draft with an invalid tree of parents is refused, so its versions never exist.
        drop(store.commit(draft, "put"));
        if make.random.one_in(6) {
            drop(store.undo(&Writer::user()));
        }
        if make.random.one_in(8) {
            let seq = make.random.next_u64() % (store.view().commit().commit.seq + 1);
            store
                .rollback(Revision::Seq(seq))
                .across_lanes()
                .by(&Writer::user())
                .unwrap();
        }
    }
    store
}

fn put_random(draft: &mut Draft, make: &mut Generator, ids: &[Id], versions: &mut Vec<ObjectDigest>) {
    let mut object = make.new_object();
    object.id = make.random.pick(ids).clone();
    object.parent = None;
    if make.random.one_in(2) {
        let parent = make.random.pick(ids).clone();
        let is_there = draft.get(&parent).unwrap().is_some();
        object.parent = (is_there && parent != object.id).then_some(parent);
    }
    for _ in 0..make.random.below(3) {
        if !versions.is_empty() {
            object.derived_from.push(*make.random.pick(versions));
        }
    }
    put_heading_attributes(&mut object, make);
    let id = object.id.clone();
    draft
        .stage(object, crate::engine::OriginRule::AtMost(make.origin()))
        .unwrap();
    versions.extend(draft.digest(&id).unwrap());
}

/// Attributes of headings, on objects of any kind.
fn put_heading_attributes(object: &mut NewObject, make: &mut Generator) {
    let texts: [(&str, &[&str]); 5] = [
        ("title", &["One", "* TODO x :tag:", "", "a\nb"]),
        ("todo", &["TODO", "DONE", "OTHER"]),
        ("priority", &["A", "b]"]),
        ("closed", &["[2026-01-01 Thu]", "x"]),
        ("format", &["org", "markdown"]),
    ];
    for (name, values) in texts {
        if make.random.one_in(4) {
            object.attributes.insert(name, *make.random.pick(values));
        }
    }
    if make.random.one_in(2) {
        let levels = [-1, 0, 1, 2, 3, 4, 6, 7, 70, i64::MAX];
        object.attributes.insert("level", *make.random.pick(&levels));
    }
    if make.random.one_in(4) {
        object
            .attributes
            .insert("tags", Value::List(vec!["a".into(), "b c".into()]));
    }
    if make.random.one_in(4) {
        let properties = [
            ("ID".to_owned(), "other".into()),
            ("Effort".to_owned(), "1:30".into()),
        ];
        object
            .attributes
            .insert("properties", Value::Map(properties.into()));
    }
}

fn exported(store: &Store) -> Vec<String> {
    let mut lines = Vec::new();
    for_each_version::<Error>(store, &store.view(), &mut |version| {
        lines.push(stored_object_to_json(&version.object, version.past)?.to_string());
        Ok(())
    })
    .unwrap();
    lines
}

/// Puts lines as `put --jsonl` does, with `batch` lines in each commit.
fn imported(lines: &[String], batch: usize) -> Store {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    let mut staged = 0;
    for line in lines {
        let line = object_from_json(parse(line).unwrap()).unwrap();
        let origin = line.origin.unwrap();
        if line.past {
            draft.put_past(&line.object, origin).unwrap();
            continue;
        }
        draft
            .stage(line.object, crate::engine::OriginRule::AtMost(origin))
            .unwrap();
        staged += 1;
        if staged == batch {
            store
                .commit(std::mem::replace(&mut draft, store.draft(&Writer::user())), "put")
                .unwrap();
            draft = store.draft(&Writer::user());
            staged = 0;
        }
    }
    store.commit(draft, "put").unwrap();
    store
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// EXP-1: the lines reproduce the store for commits of any size, because each object follows its sources.
    #[test]
    fn every_store_comes_back_from_its_lines(seed in any::<u64>(), steps in 1..40_usize) {
        let store = random_store(seed, steps);
        let lines = exported(&store);
        let copy = imported(&lines, usize::MAX);
        prop_assert_eq!(copy.view().root(), store.view().root());
        // The copy also contains the sources of its objects, so its export is the same.
        prop_assert!(exported(&copy) == lines);
    }

    /// Ingests the lines as a document, which adds one object: the document itself.
    #[test]
    fn every_store_comes_back_from_a_document_of_its_lines(seed in any::<u64>(), steps in 1..40_usize) {
        let store = random_store(seed, steps);
        let mut lines = exported(&store);
        // The order of lines in a document does not matter.
        lines.reverse();
        let document = Document::read("all.jsonl", lines.join("\n").as_bytes(), None).unwrap();
        let copy = Store::in_memory().unwrap();
        ingest(&copy, &[document], &IngestOptions::default(), &Writer::user()).unwrap();
        for object in store.view().objects() {
            let object = object.unwrap();
            let held = copy.view().get(&id(object.id().as_str())).unwrap().unwrap();
            // The top objects get the document as their parent. So the top objects differ, and the objects derived from
            // the top objects may differ too.
            let may_differ = object.derived_from().len() > 0 && object.origin().is_trusted();
            if object.parent().is_some() && !may_differ {
                prop_assert_eq!(held.digest(), object.digest());
            }
        }
        prop_assert_eq!(copy.view().len(), store.view().len() + 1);
    }
}

fn derived(name: &str, from: &[ObjectDigest]) -> NewObject {
    let mut object = NewObject::new(id(name), Kind::new("note").unwrap());
    object.derived_from = from.to_vec();
    object
}

#[test]
fn what_is_derived_from_a_replaced_version_keeps_its_origin() {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    draft
        .stage(
            derived("first", &[]),
            crate::engine::OriginRule::AtMost(Origin::Host),
        )
        .unwrap();
    let first = draft.digest(&id("first")).unwrap().unwrap();
    draft.put(derived("second", &[first])).unwrap();
    let second = draft.digest(&id("second")).unwrap().unwrap();
    draft.put(derived("third", &[second])).unwrap();
    // DRA-2: both sources are replaced before the commit.
    for name in ["first", "second"] {
        let mut other = derived(name, &[]);
        other.content = Some("new".to_owned());
        draft.put(other).unwrap();
    }
    store.commit(draft, "put").unwrap();
    assert_eq!(
        store.view().get(&id("third")).unwrap().unwrap().origin(),
        Origin::Host
    );
    assert_eq!(store.version(first).unwrap().unwrap().id(), "first");
    for batch in [1, usize::MAX] {
        let lines = exported(&store);
        assert_eq!(
            lines.iter().filter(|line| line.contains("\"past\":true")).count(),
            2
        );
        assert_eq!(imported(&lines, batch).view().root(), store.view().root());
    }
    // Objects that are below other objects are the same for any order of the lines.
    let mut lines = exported(&store);
    lines.reverse();
    let lines = lines
        .join("\n")
        .replace("\"id\":\"third\"", "\"id\":\"third\",\"parent\":\"first\"");
    let document = Document::read("all.jsonl", lines.as_bytes(), None).unwrap();
    let copy = Store::in_memory().unwrap();
    ingest(&copy, &[document], &IngestOptions::default(), &Writer::user()).unwrap();
    assert_eq!(
        copy.view().get(&id("third")).unwrap().unwrap().origin(),
        Origin::Host
    );
}

#[test]
fn a_parent_that_is_derived_from_its_child_comes_after_it_and_before_it() {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    let mut child = derived("child", &[]);
    child.parent = Some(id("parent"));
    draft.put(child).unwrap();
    let child = draft.digest(&id("child")).unwrap().unwrap();
    draft.put(derived("parent", &[child])).unwrap();
    let mut other = derived("a-first", &[draft.digest(&id("parent")).unwrap().unwrap()]);
    other.parent = Some(id("child"));
    draft.put(other).unwrap();
    store.commit(draft, "put").unwrap();
    // The child is written first, for history only.
    let lines = exported(&store);
    assert_eq!(
        lines.iter().filter(|line| line.contains("\"past\":true")).count(),
        1
    );
    for batch in [1, usize::MAX] {
        assert_eq!(imported(&lines, batch).view().root(), store.view().root());
    }
}

#[test]
fn what_is_derived_from_its_own_version_of_the_same_commit_comes_back() {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    for number in 0..3 {
        let before = draft.digest(&id("x")).unwrap();
        let mut object = derived("x", before.as_slice());
        object.content = Some(number.to_string());
        draft.put(object).unwrap();
    }
    store.commit(draft, "put").unwrap();
    let held = store.view().get(&id("x")).unwrap().unwrap();
    assert_eq!(held.origin(), Origin::DirectUser);
    let lines = exported(&store);
    assert_eq!(lines.len(), 3);
    assert_eq!(imported(&lines, 1).view().root(), store.view().root());
}

/// EXP-4: each layer is derived from the next one in two ways. All layers are derived from an object below the first.
#[test]
fn layers_of_sources_below_what_is_derived_from_them_are_written_once() {
    const LAYERS: usize = 60;
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::user());
    let mut child = derived("z", &[]);
    child.parent = Some(id("n0"));
    draft.put(child).unwrap();
    let z = draft.digest(&id("z")).unwrap().unwrap();
    draft.put(derived("a", &[z])).unwrap();
    let mut below = vec![z];
    for layer in (0..LAYERS).rev() {
        let name = format!("n{layer}");
        draft.put(derived(&name, &below)).unwrap();
        let next = draft.digest(&id(&name)).unwrap().unwrap();
        below.clear();
        for side in ["x", "y"].iter().take(if layer == 0 { 0 } else { 2 }) {
            let name = format!("{side}{layer}");
            draft.put(derived(&name, &[next])).unwrap();
            below.extend(draft.digest(&id(&name)).unwrap());
        }
    }
    store.commit(draft, "put").unwrap();
    let lines = exported(&store);
    assert_eq!(
        lines.len(),
        3 * LAYERS + 1,
        "one line for each object, and one more for z, for history"
    );
    assert_eq!(imported(&lines, 1).view().root(), store.view().root());
}

#[test]
fn a_past_version_claims_no_more_than_its_writer_has() {
    let store = Store::in_memory().unwrap();
    let mut draft = store.draft(&Writer::of(Origin::Model));
    let digest = draft
        .put_past(&derived("source", &[]), Origin::DirectUser)
        .unwrap();
    draft.put(derived("summary", &[digest])).unwrap();
    let unknown = draft
        .put_past(
            &derived("loose", &[ObjectDigest::from_bytes([1; 32])]),
            Origin::DirectUser,
        )
        .unwrap();
    draft.put(derived("rumour", &[unknown])).unwrap();
    store.commit(draft, "put").unwrap();
    let origin = |name: &str| store.view().get(&id(name)).unwrap().unwrap().origin();
    assert_eq!(
        (origin("summary"), origin("rumour")),
        (Origin::Model, Origin::Import)
    );
    assert!(store.view().get(&id("source")).unwrap().is_none(), "history only");
    assert_eq!(store.version(digest).unwrap().unwrap().origin(), Origin::Model);
}

/// A version from which another object is derived is exported for history, also if the current version of its id was erased.
#[test]
fn an_open_conflict_with_an_erased_side_is_exported() {
    let note = |content: &str| {
        let mut object = NewObject::new(id("a"), Kind::new("note").unwrap());
        object.content = Some(content.to_owned());
        object
    };
    let (store, user) = (Store::in_memory().unwrap(), Writer::user());
    store.put(note("first"), &user).unwrap();
    let fork = store.fork("task").by(&user).unwrap();
    fork.put(note("theirs"), &user).unwrap();
    store.put(note("ours"), &user).unwrap();
    store.merge("task").by(&user).unwrap();
    assert_eq!(store.conflicts().unwrap().len(), 1);
    let all = |view: &View| {
        let mut lines = Vec::new();
        for_each_version::<Error>(&store, view, &mut |version| {
            lines.push((version.object.id().to_string(), version.past));
            Ok(())
        })
        .map(|()| lines)
    };
    let before = store.view();
    assert_eq!(all(&before).unwrap().len(), 4);
    let shown = before.get(&id("a")).unwrap().unwrap().digest();
    store.put(note("newer"), &user).unwrap();
    let erasing = Erasing {
        targets: vec![shown.to_hex()],
        ..Erasing::default()
    };
    store.erase(&erasing, &user).unwrap();
    let at = before.commit().digest.to_hex();
    let past = store.view_at(&at.parse().unwrap(), "").unwrap();
    let lines = all(&past).unwrap();
    let of_a = lines.iter().filter(|(name, past)| name == "a" && *past);
    assert_eq!((lines.len(), of_a.count()), (3, 2), "{lines:?}");
    assert_eq!(omitted(&past).unwrap().objects, 1);
    assert!(all(&store.view()).is_ok());
    for format in [Format::Org, Format::Markdown] {
        for_each_piece::<Error>(&store, &past, format, true, &mut |_| Ok(())).unwrap();
    }
}

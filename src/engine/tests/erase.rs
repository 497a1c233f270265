//! After an erasure, no file contains erased content, and all other content is unchanged.

use std::collections::{BTreeMap, BTreeSet};

use super::covering::cover;
use super::gc::{HOUR, live, on_disk, options, tight, told};
use super::{content, id, note, put};
use crate::digest::to_hex;
use crate::engine::upkeep::checkpointing::checkpoint;
use crate::engine::{Containment, Durability, ErasedKind, Erasing, Memory, VerifyDepth, View, Writer};
use crate::object::{NewObject, Op, Value};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::{CrashImage, Fault, ReadFault, SimDisk};
use crate::{ErrorKind, Result};

fn of(targets: &[&str]) -> Erasing {
    Erasing {
        targets: targets.iter().map(|text| (*text).to_owned()).collect(),
        ..Erasing::default()
    }
}

fn everywhere(targets: &[&str]) -> Erasing {
    Erasing {
        everywhere: true,
        ..of(targets)
    }
}

fn at(memory: &Memory, revision: &str) -> View {
    memory.view_at(&revision.parse().unwrap(), "").unwrap()
}

const SECRET_START: &[u8] = b"sec-";

/// Returns a text that is unique for the number.
fn secret(number: u64) -> String {
    let mut random = SplitMix64::new(number);
    format!("sec-{:016x}-{number:04}", random.next_u64())
}

/// Returns the secrets that remain in any file of the disk.
fn leaks(disk: &SimDisk) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, bytes) in disk.files() {
        for (at, window) in bytes.windows(SECRET_START.len()).enumerate() {
            if window == SECRET_START {
                let end = bytes.len().min(at + 25);
                found.insert(format!("{name}: {}", String::from_utf8_lossy(&bytes[at..end])));
            }
        }
    }
    found
}

/// Returns the checkpoints that contain this digest.
fn checkpoints_with(disk: &SimDisk, digest: &[u8]) -> Vec<String> {
    let knows = |bytes: &[u8]| bytes.windows(digest.len()).any(|window| window == digest);
    let files = disk.files().into_iter();
    let found = files.filter(|(name, bytes)| name.starts_with("checkpoint/") && knows(bytes));
    found.map(|(name, _)| name).collect()
}

/// Stores a secret in one of ten ways. Returns the target that erases the secret.
fn plant(memory: &Memory, number: u64) -> String {
    let secret = secret(number);
    let long = format!("{secret} {}", "and more ".repeat(600));
    let name = format!("o/{number}");
    let writer = || Writer::user().session(format!("s{}", number % 7));
    let text_of = |commit: Option<crate::digest::TextDigest>| commit.unwrap().to_hex();
    match number % 10 {
        0 => {
            put(memory, &secret, "named for what it is");
            secret
        }
        1 => {
            put(memory, &name, &secret);
            let past = memory.view().get(&id(&name)).unwrap().unwrap().digest();
            put(memory, &name, "harmless");
            past.to_hex()
        }
        2 => {
            put(memory, &name, &long);
            name
        }
        3 => {
            let mut object = note(&name, "tagged");
            let tags = Value::List(vec![Value::Text(secret.clone()), Value::Text("b".into())]);
            object.attributes.insert("tags", tags);
            object.attributes.insert(&secret, Value::Bool(true));
            object.scope = crate::object::Scope::new(&secret).unwrap();
            memory.put(object, &writer()).unwrap();
            name
        }
        4 => {
            let writer = writer().reason(&secret);
            text_of(
                memory
                    .put(note(&name, "x"), &writer)
                    .unwrap()
                    .commit
                    .commit
                    .reason,
            )
        }
        5 => {
            let mut writer = writer();
            writer.source = Some(secret);
            text_of(
                memory
                    .put(note(&name, "x"), &writer)
                    .unwrap()
                    .commit
                    .commit
                    .source,
            )
        }
        6 => {
            let mut draft = memory.draft(&writer());
            draft.put(note(&name, &long)).unwrap();
            draft.put(note(&format!("keep/{number}"), "drafted")).unwrap();
            memory.save_draft(&draft, &format!("d{number}")).unwrap();
            name
        }
        7 => {
            let mut draft = memory.draft(&writer());
            draft.put(note(&name, &secret)).unwrap();
            memory.inner.reject(&draft, "not so").unwrap();
            name
        }
        8 => {
            put(memory, &format!("{name}/one"), &long);
            put(memory, &format!("keep/{number}"), &long);
            let object = memory.view().get(&id(&format!("{name}/one"))).unwrap().unwrap();
            object.content_digest().unwrap().0.to_hex()
        }
        _ => {
            put(memory, &name, &secret);
            memory
                .snapshot(Some(&format!("with-{number}")), &Writer::user())
                .unwrap();
            memory.remove(&id(&name), &Writer::user()).unwrap();
            name
        }
    }
}

/// Returns the digest, content and times of each object of a state by its id. Omits the versions and contents with a
/// digest in `gone`.
fn rest(view: &View, gone: &BTreeSet<String>) -> BTreeMap<String, String> {
    let objects = view.objects().map(Result::unwrap);
    objects
        .filter(|object| !object.is_placeholder() && !gone.contains(&object.digest().to_hex()))
        .map(|object| {
            // An erased content is also erased from objects that stay.
            let digest = object.content_digest().map(|(digest, _)| digest.to_hex());
            let content = object
                .content()
                .filter(|_| !digest.is_some_and(|digest| gone.contains(&digest)))
                .map(|text| &text[..text.len().min(20)]);
            let stamps = view.stamps(&id(object.id().as_str())).unwrap();
            let told = format!("{} {content:?} {stamps:?}", object.digest());
            (object.id().to_string(), told)
        })
        .collect()
}

#[test]
fn a9_a_thousand_secrets_are_in_no_byte_of_any_file() -> Result<()> {
    let disk = SimDisk::new(9);
    let memory = on_disk(&disk, options(HOUR / 60), true)?;
    live(&memory, &mut SplitMix64::new(9), 100);
    memory.gc(&tight(), None)?;
    let mut targets = Vec::new();
    for number in 0..1000 {
        targets.push(plant(&memory, number));
        put(
            &memory,
            &format!("keep/{}", number % 50),
            &format!("kept {number}"),
        );
    }
    // Adds a torn tail that contains one more secret, and lets a writer recover from the torn tail.
    let calls = disk.calls();
    disk.crash_at(calls + 1);
    memory
        .put(note("torn", &secret(1000)), &Writer::user())
        .unwrap_err();
    let disk = disk.crash_image(CrashImage::LastWritePrefix(300));
    drop(memory);
    let memory = on_disk(&disk, options(HOUR / 60), false)?;
    put(&memory, "keep/after", "recovered");
    checkpoint(memory.inner.opened(), &mut memory.inner.log.lock(), u64::MAX)?;
    let checkpoints = |disk: &SimDisk| -> Vec<Vec<u8>> {
        let files = disk.files().into_iter();
        let found = files.filter(|(name, _)| name.starts_with("checkpoint/"));
        found.map(|(_, bytes)| bytes).collect()
    };
    let covering = checkpoints(&disk);
    assert!(!covering.is_empty());
    assert!(leaks(&disk).len() > 1000, "they are there before");
    assert!(
        disk.files()
            .keys()
            .filter(|name| name.starts_with("log/"))
            .count()
            > 5
    );

    let erasing = Erasing {
        targets,
        everywhere: true,
        derived: false,
    };
    let preview = memory.erase_preview(&erasing)?;
    let gone: BTreeSet<String> = preview
        .records
        .iter()
        .map(|record| to_hex(&record.digest))
        .collect();
    let states = |memory: &Memory| -> Vec<_> {
        let commits: Vec<_> = memory.commits().map(Result::unwrap).collect();
        let commits = commits
            .into_iter()
            .filter(|info| info.commit.op.as_str() != "erase");
        commits
            .map(|info| {
                let seq = info.commit.seq;
                let view = at(memory, &format!("seq:{seq}"));
                let rest = seq.is_multiple_of(40).then(|| rest(&view, &gone));
                (info.digest, view.root(), rest)
            })
            .collect()
    };
    let before = states(&memory);
    let report = memory.erase(&erasing, &Writer::user().actor("ada").reason("they were secrets"))?;
    assert_eq!(leaks(&disk), BTreeSet::new(), "REW-3");
    assert!(checkpoints(&disk).iter().all(|file| !covering.contains(file)));
    assert_eq!(report.records, preview.records);
    // INVARIANT ERA-2: a state without an erased id keeps its root, and all commits keep their digests.
    assert_eq!(
        states(&memory),
        before,
        "other objects and all roots must stay unchanged"
    );
    let verified = memory.verify(VerifyDepth::Full)?;
    assert!(verified.ok && verified.derived.is_empty(), "{verified:?}");
    assert_eq!(verified.erased, report.versions());

    let proof = memory.view().prove(&id("keep/3"))?;
    let root = memory.view().root();
    assert!(proof.verify(memory.hash(), &root, &id("keep/3")).is_ok());
    let draft = memory.open_draft("drafts/d6", &Writer::user())?;
    assert_eq!((draft.left_out.len(), draft.changes().len()), (1, 1));
    memory.gc(&tight(), None)?;
    assert_eq!(leaks(&disk), BTreeSet::new());
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    let reopened = on_disk(&disk, options(HOUR), false)?;
    assert_eq!(told(&reopened.view()), told(&memory.view()));
    Ok(())
}

#[test]
fn an_erased_version_says_who_erased_it_and_the_state_goes_on() -> Result<()> {
    let disk = SimDisk::new(1);
    let memory = on_disk(&disk, options(HOUR), true)?;
    put(&memory, "a", "one");
    put(&memory, "b", "two");
    put(&memory, "a", "three");
    let root = memory.view().root();
    let report = memory.erase(
        &of(&["a"]),
        &Writer::user().session("cleaning").reason("asked for"),
    )?;
    assert_eq!((report.versions(), report.unlinked.len()), (2, 1));
    assert_eq!(report.commit.as_ref().unwrap().commit.op.as_str(), "erase");
    assert!(memory.view().get(&id("a"))?.is_none());
    let refused = at(&memory, "seq:3").get(&id("a")).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::NotFound, crate::error::ErrorCode::Erased)
    );
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains("cleaning") && hint.contains("asked for") && hint.contains("seq:4"),
        "{hint}"
    );
    assert_eq!(at(&memory, "seq:3").root(), root);
    assert_eq!(memory.contains(&root.to_hex())?, Containment::Kept);
    assert_eq!(memory.stats()?.erased, 2);
    let again = memory.erase(&of(&["a"]), &Writer::user()).unwrap_err();
    assert_eq!(
        (again.kind(), again.code()),
        (ErrorKind::NotFound, crate::error::ErrorCode::Erased)
    );
    assert_eq!(again.hint(), Some(hint));
    // The same text may be written again, because an erasure removes only earlier records.
    put(&memory, "a", "three");
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("three"));
    Ok(())
}

#[test]
fn a_version_is_erased_by_digest_without_moving_the_state() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "wrong");
    let old = memory.view().get(&id("a"))?.unwrap().digest().to_hex();
    put(&memory, "a", "right");
    let root = memory.view().root();
    let report = memory.erase(&of(&[&old[..9]]), &Writer::user())?;
    assert_eq!((report.versions(), report.unlinked.len()), (1, 0));
    assert_eq!(memory.view().root(), root);
    assert_eq!(memory.view().commit().commit.op.as_str(), "erase");
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("right"));
    assert_eq!(at(&memory, "seq:1").get(&id("a")).unwrap_err().code(), "erased");
    let again = memory.erase(&of(&[&old]), &Writer::user()).unwrap_err();
    assert_eq!(again.code(), "erased");
    let current = memory.view().get(&id("a"))?.unwrap().digest().to_hex();
    let refused = memory.erase(&of(&[&current]), &Writer::user()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.ids()),
        (crate::error::ErrorCode::Current, &["a".to_owned()][..])
    );
    for nothing in ["nobody", "0123456789abcdef", "", "zzz"] {
        let refused = memory.erase(&of(&[nothing]), &Writer::user()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound, "{nothing}: {refused}");
    }
    assert!(memory.erase(&of(&[]), &Writer::user()).is_err());
    Ok(())
}

fn child(name: &str, parent: &str, text: &str) -> NewObject {
    let mut object = note(name, text);
    object.parent = Some(id(parent));
    object
}

#[test]
fn what_others_hold_is_refused_until_it_is_to_go_everywhere() -> Result<()> {
    let memory = Memory::in_memory()?;
    let long = "shared ".repeat(1000);
    put(&memory, "one", &long);
    put(&memory, "two", &long);
    put(&memory, "top", "x");
    memory.put(child("below", "top", "y"), &Writer::user())?;
    let head = memory.view().commit().digest;
    let refused = memory.erase(&of(&["top"]), &Writer::user()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.ids()),
        (crate::error::ErrorCode::HasChildren, &["below".to_owned()][..])
    );
    let refused = memory.erase(&of(&["one"]), &Writer::user()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.ids()),
        (crate::error::ErrorCode::Shared, &["two".to_owned()][..])
    );
    memory.put(note("below", "y"), &Writer::user())?;
    let refused = memory.erase(&of(&["top"]), &Writer::user()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.ids()),
        (crate::error::ErrorCode::Shared, &["below".to_owned()][..])
    );
    assert_eq!(
        memory
            .view_before(&memory.view().commit())?
            .unwrap()
            .commit()
            .digest,
        head
    );

    let report = memory.erase(&everywhere(&["one", "top"]), &Writer::user())?;
    assert_eq!(report.holders, [id("below"), id("two")]);
    let two = memory.view().get(&id("two"))?.unwrap();
    assert!(two.content().is_none() && two.erased_by().is_some() && !two.is_placeholder());
    assert_eq!(content(&memory.view(), "below").as_deref(), Some("y"));
    assert_eq!(
        at(&memory, "seq:4").get(&id("below")).unwrap_err().code(),
        "erased"
    );
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    // Only a new write stores an erased content again.
    let refused = memory
        .put(note("two", &long), &Writer::user())
        .map(drop)
        .unwrap_err();
    assert_eq!(refused.code(), "erased");
    memory.remove(&id("two"), &Writer::user())?;
    put(&memory, "two", &long);
    assert_eq!(content(&memory.view(), "two"), Some(long));
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    Ok(())
}

#[test]
fn a_content_of_a_version_that_goes_with_its_parent_stays_with_others() -> Result<()> {
    let memory = Memory::in_memory()?;
    let (shared, own) = ("shared ".repeat(1000), "own ".repeat(2000));
    put(&memory, "top", "x");
    memory.put(child("a", "top", &shared), &Writer::user())?;
    memory.put(child("b", "top", &own), &Writer::user())?;
    put(&memory, "a", &shared);
    put(&memory, "b", "short");
    let report = memory.erase(&everywhere(&["top"]), &Writer::user())?;
    let contents: Vec<_> = report
        .records
        .iter()
        .filter(|record| record.kind == ErasedKind::Content)
        .collect();
    assert_eq!((contents.len(), report.versions()), (1, 3));
    assert_eq!(content(&memory.view(), "a"), Some(shared));
    Ok(())
}

#[test]
fn what_was_derived_goes_along_however_far() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "source", "raw");
    let mut from = memory.view().get(&id("source"))?.unwrap().digest();
    for name in ["summary", "keywords"] {
        let mut object = note(name, "made of it");
        object.derived_from = vec![from];
        memory.put(object, &Writer::user())?;
        from = memory.view().get(&id(name))?.unwrap().digest();
    }
    put(&memory, "summary", "written anew");
    let alone = memory.erase_preview(&of(&["source"]))?;
    assert_eq!(alone.versions(), 1);
    let erasing = Erasing {
        derived: true,
        ..of(&["source"])
    };
    let report = memory.erase(&erasing, &Writer::user())?;
    assert_eq!(report.versions(), 3);
    assert_eq!(
        report.unlinked,
        [id("keywords"), id("source")].into_iter().collect::<Vec<_>>()
    );
    assert_eq!(
        content(&memory.view(), "summary").as_deref(),
        Some("written anew")
    );
    Ok(())
}

#[test]
fn placeholders_are_never_taken_for_objects() -> Result<()> {
    let memory = Memory::in_memory()?;
    put(&memory, "a", "one");
    put(&memory, "b", "two");
    memory.put(child("c", "b", "three"), &Writer::user())?;
    let before = memory.view();
    let subtree = before.subtree_digest(&id("b"))?;
    memory.remove(&id("c"), &Writer::user())?;
    memory.erase(&everywhere(&["a", "c"]), &Writer::user())?;
    let past = at(&memory, "seq:3");
    assert_eq!(past.root(), before.root());
    let found: Vec<_> = past.query(&crate::Query::default())?.collect::<Result<_>>()?;
    assert_eq!(found.iter().map(crate::Object::id).collect::<Vec<_>>(), ["b"]);
    assert_eq!(past.query(&crate::Query::default())?.erased(), 2);
    assert!(past.children(&id("b"), None)?.is_empty());
    assert!(subtree.is_some() && past.subtree_digest(&id("b"))?.is_none());
    assert_eq!(
        memory
            .draft(&Writer::user())
            .restore(&id("a"), &past)
            .unwrap_err()
            .code(),
        "erased"
    );
    let changes = memory.diff(&at(&memory, "seq:0"), &past)?;
    assert_eq!(
        changes
            .iter()
            .filter(|change| change.id.as_str().starts_with("erased:"))
            .count(),
        2
    );
    assert_eq!(memory.history(&id("a"))?.len(), 2);

    // Undo skips the erasure and tries to reverse the removal of an object that was erased since.
    assert_eq!(memory.undo(&Writer::user()).unwrap_err().code(), "erased");
    memory.rollback("seq:3").across_lanes().by(&Writer::user())?;
    let head = memory.view();
    assert_eq!((head.root(), head.len()), (before.root(), 3));
    assert_eq!(head.get(&id("a")).unwrap_err().code(), "erased");
    let refused = memory
        .put(note("a", "one"), &Writer::user())
        .map(drop)
        .unwrap_err();
    assert_eq!(refused.code(), "erased", "putting the erased version again");
    put(&memory, "a", "another");
    assert_eq!(content(&memory.view(), "a").as_deref(), Some("another"));
    memory.remove(&id("c"), &Writer::user())?;
    assert_eq!(memory.view().len(), 2);
    assert_eq!(
        memory
            .view()
            .index(crate::engine::read::index::Family::Ids)?
            .erased(),
        0
    );
    assert!(memory.verify(VerifyDepth::Full)?.ok);
    put(&memory, "c", "three");
    Ok(())
}

#[test]
fn random_histories_stay_exact_through_erasures_and_collections() -> Result<()> {
    for seed in 0..30 {
        let mut random = SplitMix64::new(seed);
        let disk = SimDisk::new(seed);
        let memory = on_disk(&disk, options(HOUR / 3), true)?;
        let mut gone = BTreeSet::new();
        for _ in 0..4 {
            live(&memory, &mut random, 50);
            let erasing = everywhere(&[&format!("o/{}", random.below(12))]);
            let commits: Vec<_> = memory.commits().map(Result::unwrap).collect();
            let preview = match memory.erase_preview(&erasing) {
                Ok(preview) => preview,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                    continue;
                }
            };
            gone.extend(preview.records.iter().map(|record| to_hex(&record.digest)));
            let states = |memory: &Memory| -> Vec<_> {
                let view = |info: &crate::CommitInfo| at(memory, &format!("seq:{}", info.commit.seq));
                commits
                    .iter()
                    .map(|info| (view(info).root(), rest(&view(info), &gone)))
                    .collect()
            };
            let before = states(&memory);
            memory.erase(&erasing, &Writer::user())?;
            assert_eq!(states(&memory), before, "seed {seed}");
            assert!(memory.verify(VerifyDepth::Full)?.ok, "seed {seed}");
            if random.below(2) == 0 {
                memory.gc(&tight(), None)?;
                assert!(memory.verify(VerifyDepth::Full)?.ok, "seed {seed}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_crash_at_any_call_leaves_all_of_an_erasure_or_nothing() -> Result<()> {
    let origin = SimDisk::new(4);
    let memory = on_disk(&origin, options(HOUR), true)?;
    for number in [1, 2, 6, 9] {
        plant(&memory, number);
        put(&memory, "keep", &format!("text {number}"));
    }
    put(&memory, &secret(0), "x");
    let target = secret(0);
    let digest = memory.view().get(&id("o/2"))?.unwrap().digest();
    cover(&memory);
    drop(memory);
    origin.reboot();
    let whole = origin.copy();
    let calls = whole.calls();
    let erasing = of(&[&target, "o/2", "o/6", "o/9"]);
    let root = on_disk(&whole, options(HOUR), false)?.view().root();
    on_disk(&whole, options(HOUR), false)?.erase(&erasing, &Writer::user())?;
    let last = whole.calls();
    let (mut undone, mut done) = (0, 0);
    for call in calls + 1..=last {
        let disk = origin.copy();
        let memory = on_disk(&disk, options(HOUR), false)?;
        disk.crash_at(call);
        let outcome = memory.erase(&erasing, &Writer::user());
        drop(memory);
        let images = [
            CrashImage::Killed,
            CrashImage::Nothing,
            CrashImage::Everything,
            CrashImage::Sectors(call),
            CrashImage::NamesWithoutContents,
            CrashImage::ContentsWithoutNames,
        ];
        for image in images {
            let disk = disk.crash_image(image);
            let memory = on_disk(&disk, options(HOUR), false)?;
            let is_erased = memory.view().commit().commit.op.as_str() == "erase";
            assert!(
                is_erased || outcome.is_err(),
                "call {call}, {image:?}: an acknowledged erasure was lost"
            );
            if is_erased {
                done += 1;
                // The next writer removes the files that the crash left.
                put(&memory, "keep", "later");
            } else {
                undone += 1;
                assert_eq!(memory.view().root(), root, "call {call}, {image:?}");
                assert!(at(&memory, "@-1").get(&id("o/2"))?.is_some());
                memory.erase(&erasing, &Writer::user())?;
            }
            let left: Vec<_> = leaks(&disk)
                .into_iter()
                .filter(|leak| !leak.contains("-0001"))
                .collect();
            assert!(left.is_empty(), "call {call}, {image:?}: {left:?}");
            let covering = checkpoints_with(&disk, digest.as_bytes());
            assert!(covering.is_empty(), "call {call}, {image:?}: {covering:?}");
            assert!(memory.verify(VerifyDepth::Full)?.ok, "call {call}, {image:?}");
        }
    }
    assert!(undone > 20 && done > 5, "{undone} not erased, {done} erased");
    Ok(())
}

#[test]
fn undo_passes_over_an_erasure_and_takes_back_what_was_put_beside_what_is_gone() {
    let disk = SimDisk::new(5);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    put(&memory, "tea", "green");
    put(&memory, "secret", "never to be seen again");
    memory.erase(&of(&["secret"]), &Writer::user()).unwrap();
    // The undo would remove the id, which is already absent, so the undo changes nothing.
    assert!(
        memory
            .reverse_preview(Op::UNDO, &Writer::user())
            .unwrap()
            .changes
            .is_empty()
    );
    memory.undo(&Writer::user()).unwrap();
    assert_eq!(content(&memory.view(), "tea").as_deref(), Some("green"));
    memory.undo(&Writer::user()).unwrap();
    assert!(memory.view().is_empty());
    assert_eq!(
        memory.undo(&Writer::user()).unwrap_err().code(),
        "nothing_to_undo"
    );
}

#[test]
fn what_was_erased_is_told_beside_conflicts_and_with_a_way_out() {
    let disk = SimDisk::new(6);
    let memory = on_disk(&disk, options(HOUR), true).unwrap();
    for name in ["secret", "q"] {
        put(&memory, name, "first");
    }
    let mut draft = memory.draft(&Writer::user());
    for name in ["secret", "q"] {
        draft.put(note(name, "second")).unwrap();
    }
    memory.commit(draft, "put").unwrap();
    let first = memory.history(&id("secret")).unwrap().last().unwrap().digest;
    let first = first.unwrap().to_hex();
    memory
        .erase(&of(&[&first]), &Writer::user().session("cleaning"))
        .unwrap();
    // No other commit changed the id since, so only the erasure prevents the undo.
    let refused = memory.undo(&Writer::user()).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::NotFound, crate::error::ErrorCode::Erased)
    );
    assert!(refused.to_string().contains(&first), "{refused}");
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains("cleaning") && hint.contains("`restore REV ID`"),
        "{hint}"
    );
    memory
        .put(note("q", "of somebody else"), &Writer::user().session("b"))
        .unwrap();
    let refused = memory.undo(&Writer::user()).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code(), refused.ids()),
        (
            ErrorKind::Conflict,
            crate::error::ErrorCode::ChangedSince,
            &["q".to_owned()][..]
        )
    );
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains(&first) && hint.contains("cleaning") && hint.contains("`restore REV ID`"),
        "{hint}"
    );
}

#[test]
fn an_id_that_looks_like_the_start_of_a_digest_is_an_id() {
    let memory = Memory::in_memory().unwrap();
    put(&memory, "a", "an id of one hexadecimal digit");
    let from = memory.view().get(&id("a")).unwrap().unwrap().digest();
    for number in 0.. {
        let mut object = note("derived", &format!("text {number}"));
        object.derived_from = vec![from];
        memory.put(object, &Writer::user()).unwrap();
        let derived = memory.view().get(&id("derived")).unwrap().unwrap();
        if derived.digest().to_hex().starts_with('a') {
            break;
        }
    }
    let erasing = Erasing {
        derived: true,
        ..of(&["a"])
    };
    let report = memory.erase(&erasing, &Writer::user()).unwrap();
    assert_eq!(report.unlinked, [id("a"), id("derived")]);
}

/// The error of a failed erasure or commit states correctly whether the operation took effect.
#[test]
fn a_call_that_failed_says_rightly_whether_it_is_done() {
    let mut said_done = 0;
    for durability in [
        Durability::Sync,
        Durability::Interval(std::time::Duration::from_hours(1)),
    ] {
        for erases in [true, false] {
            for fault in [Some(Fault::Full), Some(Fault::Device), None] {
                let fails = |call| fail_and_say(durability, erases, fault, call);
                said_done += (1..).map_while(fails).filter(|is_said| *is_said).count();
            }
        }
    }
    assert!(said_done > 20, "{said_done}");
}

/// Erases or writes while one disk call fails: a writing call with this fault, or a reading call if `fault` is `None`.
/// Returns `None` if the operation made fewer calls. Otherwise returns whether the error reports that the operation
/// took effect.
fn fail_and_say(durability: Durability, erases: bool, fault: Option<Fault>, call: u64) -> Option<bool> {
    let disk = SimDisk::new(call);
    disk.relax();
    let memory = on_disk(&disk, options(1).durability(durability), true).unwrap();
    put(&memory, "a", &format!("{} a", secret(1)));
    let digest = memory.view().get(&id("a")).unwrap().unwrap().digest();
    memory.sync().unwrap();
    cover(&memory);
    assert!(!checkpoints_with(&disk, digest.as_bytes()).is_empty());
    put(&memory, "b", "not synced with Durability::Interval");
    let work = |memory: &Memory| {
        if erases {
            memory.erase(&of(&["a"]), &Writer::user()).map(drop)
        } else {
            memory.put(note("c", "new"), &Writer::user()).map(drop)
        }
    };
    match fault {
        Some(fault) => disk.fail_at(disk.calls() + call, fault),
        None => disk.fail_read_at(disk.reads() + call, ReadFault::Device),
    }
    let worked = work(&memory);
    let is_met = disk.heal();
    drop(memory);
    let Err(error) = worked else {
        return is_met.then_some(false);
    };
    let is_left = !leaks(&disk).is_empty() || !checkpoints_with(&disk, digest.as_bytes()).is_empty();
    let memory = on_disk(&disk, options(1), false).unwrap();
    // The next write decides whether the unacknowledged operation takes effect.
    put(&memory, "next", "write");
    let is_done = if erases {
        memory.view().get(&id("a")).unwrap().is_none()
    } else {
        memory.view().contains(&id("c")).unwrap()
    };
    let hint = error.hint().unwrap_or_default();
    let is_said = hint.starts_with("the change is committed");
    if erases && is_done {
        assert_eq!(leaks(&disk), BTreeSet::new(), "{fault:?} at {call}");
        assert_eq!(
            checkpoints_with(&disk, digest.as_bytes()),
            [""; 0],
            "{fault:?} at {call}"
        );
        let is_left_said = hint.contains("old files remain until the next write removes them");
        assert!(
            is_left_said || !is_left,
            "{fault:?} at {call}: a secret is left: {error} ({hint})"
        );
    }
    if is_said {
        assert!(
            is_done,
            "{durability:?} {erases} {fault:?} at {call}: {error} ({hint})"
        );
    } else if error.code() != "outcome_unknown" {
        assert!(!is_done, "{fault:?} at {call}: {error} ({hint})");
        work(&memory).unwrap();
    }
    Some(is_said)
}

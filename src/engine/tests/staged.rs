//! The writer's own state after a commit is the state that a reader builds from the log.

use super::gc::{HOUR, on_disk, options};
use super::{child, id, note};
use crate::Result;
use crate::engine::{Memory, OriginRule, Revision, View, Writer};
use crate::object::{NewObject, Origin};
use crate::testing::sim_disk::SimDisk;
use crate::trie::Entry;

/// Returns the entries of the head's state, with their locators and the times of their first writes.
fn entries(memory: &Memory) -> Vec<Entry> {
    entries_of(&memory.view())
}

/// Returns the entries of a state, with their locators and the times of their first writes.
pub(super) fn entries_of(view: &View) -> Vec<Entry> {
    let entries = view.state.trie.iter(&*view.state.store);
    entries.collect::<Result<_>>().unwrap()
}

/// Returns the commits, the references and the root of the history, as text.
fn catalog(memory: &Memory) -> Vec<String> {
    let store = memory.inner.store();
    let commits = (0..store.kept()).map(|index| store.commit_at(index).unwrap().unwrap().facts());
    let newest = store.head().unwrap().effect();
    let references = store.references();
    let entries = references.iter();
    let entries = entries.map(|entry| format!("{} {:?}", entry.batch, entry.reference));
    let ring = references.ring(None, "default");
    let ring = ring.map(|entry| entry.reference.name.to_string());
    let history = store.history();
    let history = format!("{} {}", history.size(), history.root());
    commits
        .chain(entries)
        .chain(ring)
        .chain([newest, history])
        .collect()
}

/// Checks that a second handle, which reads the log, has the same state as the writer.
fn check_agrees(memory: &Memory, disk: &SimDisk) {
    let reader = on_disk(disk, options(HOUR).read_only(true).checkpoints(false), false).unwrap();
    assert_eq!(reader.view().root(), memory.view().root());
    assert_eq!(entries(&reader), entries(memory));
    assert_eq!(catalog(&reader), catalog(memory), "KNO-1");
    for object in memory.view().objects() {
        let object = object.unwrap();
        assert_eq!(reader.view().get(object.id()).unwrap(), Some(object));
    }
}

/// Returns an object whose size differs from round to round, so that batches end at any place of a segment.
fn object(number: usize, round: usize) -> NewObject {
    let text = format!("round {round} ").repeat(1 + (number * 7 + round * 13) % 60);
    note(&format!("o/{}", number % 400), &text)
}

#[test]
fn the_state_of_a_writer_is_the_state_in_the_log() -> Result<()> {
    let disk = SimDisk::new(5);
    let memory = on_disk(&disk, options(HOUR), true)?;
    let writer = Writer::user();
    let mut segments = std::collections::HashSet::new();
    for round in 0..40 {
        let mut draft = memory.draft(&writer);
        match round % 5 {
            // Some ids were removed before, so their first write is older than the commit.
            0..=2 => drop(draft.put_all((0..90).map(|number| object(number * 5 + round, round)))?),
            3 => {
                for number in 0..60 {
                    draft.remove(&id(&format!("o/{}", (number * 11 + round) % 400)))?;
                }
                draft.put(child(&format!("c/{round}"), "root"))?;
                draft.put(note("root", &format!("round {round}")))?;
            }
            _ => {
                memory.commit(draft, "put")?;
                memory.undo(&writer)?;
                memory.redo(&writer)?;
                draft = memory.draft(&writer);
                draft.put(object(round, round + 1))?;
            }
        }
        memory.commit(draft, "put")?;
        check_agrees(&memory, &disk);
        let reason = writer.clone().reason(format!("round {}", round / 2));
        let taken = memory.snapshot(None, &reason)?;
        assert_eq!(format!("{taken:?}"), format!("{:?}", memory.snapshots()?[0]));
        let name = format!("round-{round}");
        let taken = memory.snapshot(Some(&name), &writer)?;
        assert_eq!(format!("{taken:?}"), format!("{:?}", memory.snapshots()?[0]));
        match round % 4 {
            1 => drop(memory.delete_snapshot(&name, &writer)?),
            2 => drop(memory.rollback(Revision::Seq(round as u64 / 2)).by(&reason)?),
            _ => {}
        }
        segments.insert(memory.inner.log.lock().log.position().segment);
        check_agrees(&memory, &disk);
    }
    assert!(segments.len() > 2, "the log must rotate below the writer");
    Ok(())
}

#[test]
fn inc_1_objects_staged_together_are_those_staged_alone() -> Result<()> {
    let memory = Memory::in_memory()?;
    let writer = Writer::model("agent");
    for round in 0..4 {
        let objects = || {
            (0..700).map(move |number| {
                let mut object = object(number, round * usize::from(number % 3 == 0));
                object.parent = (number % 10 == 9).then(|| id("o/1"));
                let rule = match (number + round) % 5 {
                    0 => OriginRule::AtMost(Origin::Import),
                    1 => OriginRule::Said(Origin::Host),
                    2 => OriginRule::Restated,
                    3 => OriginRule::Promoted,
                    _ => OriginRule::AtMost(Origin::Model),
                };
                (object, rule)
            })
        };
        let (mut alone, mut together) = (memory.draft(&writer), memory.draft(&writer));
        let one_by_one = objects()
            .map(|(object, rule)| alone.stage(object, rule))
            .collect::<Result<Vec<_>>>()?;
        let staged = together.stage_all(objects()).collect::<Result<Vec<_>>>()?;
        assert_eq!(staged, one_by_one);
        assert_eq!(together.changes(), alone.changes());
        assert_eq!(together.counts(), alone.counts());
        memory.commit(together, "put")?;
        // Everything is done, so the other draft changes nothing.
        assert!(!memory.commit(alone, "put")?.changed);
    }
    Ok(())
}

#[test]
fn a_wrong_object_keeps_those_before_it_staged() -> Result<()> {
    let memory = Memory::in_memory()?;
    let mut draft = memory.draft(&Writer::user());
    let mut own_parent = note("b", "text");
    own_parent.parent = Some(id("b"));
    let refused = draft.put_all([note("a", "text"), own_parent, note("c", "text")]);
    assert_eq!(refused.unwrap_err().kind(), crate::ErrorKind::InvalidInput);
    let ids: Vec<_> = draft.changes().into_iter().map(|change| change.id).collect();
    assert_eq!(ids, [id("a")]);
    Ok(())
}

#[test]
fn a_draft_is_kept_even_if_its_expectations_do_not_hold() -> Result<()> {
    let memory = Memory::in_memory()?;
    let writer = Writer::user();
    memory.put(note("a", "text"), &writer)?;
    let mut draft = memory.draft(&writer);
    draft.put(note("b", "text"))?;
    draft.expect(&id("a"), None);
    memory.save_draft(&draft, "later")?;
    assert!(
        memory
            .open_draft("drafts/later", &writer)?
            .get(&id("b"))?
            .is_some()
    );
    assert_eq!(memory.commit(draft, "put").unwrap_err().ids(), ["a"]);
    Ok(())
}

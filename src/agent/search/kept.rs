//! The recall index on disk, so that the next process need not read every text again.
//!
//! It is kept by handles that may write, when much changed since it was kept, and brought to the state of a question by
//! what differs, as any other. What cannot be read, or is of a state that is not kept any more, is as nothing.
//!
//! # Layer
//! L7, inside `agent`. Derived.
//!
//! # Invariants
//! - RIK-1: an index that was read and followed is as one that was built.
//!
//! # Format
//! Of the derived file `recall`: `TRRS`, the version (2), the digest of the commit (32 bytes), the number of expiring
//! items (8 bytes, little-endian), each with its key (16 bytes) and when it expires (8 bytes, microseconds); the number of
//! untrusted items (8 bytes), each by its key; then the index, as `recall::index::encode` writes it. An agent with an embedder keeps the derived file `vectors` instead.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::index::RecallIndex;
use super::indexed::Indexed;
use super::vectors::Vectors;
use crate::digest::CommitDigest;
use crate::engine::{Memory, Revision, View};
use crate::error::Result;
use crate::object::Time;
use crate::recall::{Index, Key};

/// The names of the derived files.
const INDEX: &str = "recall";
const VECTORS: &str = "vectors";
/// The first bytes of the index, with the version.
const HEAD: &[u8; 5] = b"TRRS\x02";
/// Fewer changes than these are made again faster than a file is written and read.
const CHANGES_MIN: u64 = 500;
/// It is kept anew when one in so many memories changed.
const SHARE: u64 = 8;

impl RecallIndex {
    /// Keeps the index on disk for the next process if much changed since it was kept. Returns whether it did.
    ///
    /// # Errors
    /// `Io` if it cannot be written; with the code `read_only` for a handle that only reads.
    pub(crate) fn keep(&self, memory: &Memory) -> Result<bool> {
        let (changes, of) = self.unkept();
        let count = of.as_ref().map_or(0, |of| of.index.len() as u64);
        if changes < CHANGES_MIN || changes.saturating_mul(SHARE) < count {
            return Ok(false);
        }
        // What was erased since must not be written: it is of the head.
        let view = memory.view();
        let (indexed, _) = self.of(memory, &view)?;
        let (name, bytes) = match indexed.vectors() {
            Some(vectors) => (VECTORS, vectors.encode(indexed.embedded())),
            None => (INDEX, encode(&indexed)),
        };
        let kept = memory.keep_derived(name, &bytes, &indexed.view)?;
        if kept {
            self.was_kept();
        }
        Ok(kept)
    }
}

/// What a process before this one kept, if it can be read.
pub(super) fn load(memory: &Memory, vectors: Option<&Arc<Vectors>>) -> Option<Indexed> {
    if let Some(vectors) = vectors {
        let bytes = memory.derived(VECTORS).ok()??;
        vectors.decode(&bytes);
        return None;
    }
    decode(memory, &memory.derived(INDEX).ok()??)
}

fn encode(indexed: &Indexed) -> Vec<u8> {
    let mut bytes = HEAD.to_vec();
    bytes.extend_from_slice(indexed.view.commit().digest.as_bytes());
    let mut expiries: Vec<(&Key, &Time)> = indexed.expiries.iter().collect();
    expiries.sort_unstable();
    bytes.extend_from_slice(&(expiries.len() as u64).to_le_bytes());
    for (key, expires) in expiries {
        bytes.extend_from_slice(&key.0);
        bytes.extend_from_slice(&expires.as_micros().to_le_bytes());
    }
    let mut untrusted: Vec<&Key> = indexed.untrusted.iter().collect();
    untrusted.sort_unstable();
    bytes.extend_from_slice(&(untrusted.len() as u64).to_le_bytes());
    for key in untrusted {
        bytes.extend_from_slice(&key.0);
    }
    bytes.extend_from_slice(&indexed.index.encode());
    bytes
}

fn decode(memory: &Memory, bytes: &[u8]) -> Option<Indexed> {
    let rest = bytes.strip_prefix(HEAD)?;
    let (commit, rest) = rest.split_first_chunk::<32>()?;
    let view = view_of(memory, CommitDigest::from_bytes(*commit))?;
    let (count, mut rest) = rest.split_first_chunk::<8>()?;
    let mut expiries = HashMap::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (key, behind) = rest.split_first_chunk::<{ Key::BYTES }>()?;
        let (expires, behind) = behind.split_first_chunk::<8>()?;
        expiries.insert(Key(*key), Time::from_micros(i64::from_le_bytes(*expires)));
        rest = behind;
    }
    let (count, mut rest) = rest.split_first_chunk::<8>()?;
    let mut untrusted = HashSet::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (key, behind) = rest.split_first_chunk::<{ Key::BYTES }>()?;
        untrusted.insert(Key(*key));
        rest = behind;
    }
    let index = Index::decode(rest).ok()?;
    Some(Indexed::read(&view, index, expiries, untrusted))
}

/// The state of a commit, if it is still kept.
fn view_of(memory: &Memory, commit: CommitDigest) -> Option<View> {
    let view = memory.view_at(&Revision::Prefix(commit.to_hex()), "").ok()?;
    (view.commit().digest == commit).then_some(view)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::agent::{Agent, NewItem, Settings};
    use crate::engine::Writer;
    use crate::object::{Id, Origin, Time};
    use crate::recall::Embedder;

    fn agent(memory: &Memory) -> Agent {
        Agent::new(memory.clone(), Settings::default())
    }

    fn put_some(memory: &Memory, from: usize, to: usize) {
        let mut draft = memory.draft(Writer::new());
        for at in from..to {
            let mut item = NewItem::new(format!("note {at} of {}", at % 7));
            item.expires = (at % 3 == 0).then(|| Time::from_micros(i64::MAX));
            let id = Id::new(&format!("n{at}")).unwrap();
            let class = if at % 5 == 0 {
                Origin::Document
            } else {
                Origin::Host
            };
            draft.put_at_most(item.into_object(id).unwrap(), class).unwrap();
        }
        drop(memory.commit(draft, "test").unwrap());
    }

    fn reached(agent: &Agent) -> super::super::Reached {
        agent
            .recall_index()
            .of(agent.memory(), &agent.memory().view())
            .unwrap()
            .1
    }

    /// INVARIANT RIK-1.
    #[test]
    fn the_next_process_goes_on_where_this_one_was() {
        use super::super::Reached;
        let memory = Memory::in_memory().unwrap();
        put_some(&memory, 0, 600);
        let first = agent(&memory);
        assert_eq!(reached(&first), Reached::Built(600));
        assert!(first.keep_index().unwrap());
        assert!(!first.keep_index().unwrap(), "nothing changed since");
        put_some(&memory, 590, 603);
        drop(
            memory
                .remove(&Id::new("n5").unwrap(), false, Writer::new())
                .unwrap(),
        );
        let second = agent(&memory);
        assert_eq!(reached(&second), Reached::Followed(4));
        let view = memory.view();
        let (followed, _) = second.recall_index().of(&memory, &view).unwrap();
        let (built, _) = Indexed::empty(&view, None).build(&memory).unwrap();
        assert_eq!(followed.index.encode(), built.index.encode());
        assert_eq!(followed.expiries, built.expiries);
        assert_eq!(
            (&followed.untrusted, followed.untrusted.len()),
            (&built.untrusted, 120)
        );
    }

    #[test]
    fn what_cannot_be_read_is_built_anew() {
        use super::super::Reached;
        let memory = Memory::in_memory().unwrap();
        put_some(&memory, 0, 600);
        let first = agent(&memory);
        assert_eq!(reached(&first), Reached::Built(600));
        assert!(first.keep_index().unwrap());
        let view = memory.view();
        let kept = memory.derived(INDEX).unwrap().unwrap();
        let mut other_commit = kept.to_vec();
        other_commit[HEAD.len()] ^= 1;
        for damaged in [&kept[..kept.len() - 1], &kept[..60], &[], &other_commit] {
            assert!(memory.keep_derived(INDEX, damaged, &view).unwrap());
            assert_eq!(reached(&agent(&memory)), Reached::Built(600));
        }
    }

    #[test]
    fn what_was_erased_is_not_kept() {
        let memory = Memory::in_memory().unwrap();
        put_some(&memory, 0, 600);
        let word = "tangerine";
        let id = Id::new("secret").unwrap();
        let object = NewItem::new(word).into_object(id).unwrap();
        drop(memory.put(object, Writer::new()).unwrap());
        let agent = agent(&memory);
        assert_ne!(reached(&agent), super::super::Reached::AtHand);
        let holds = || {
            let kept = memory.derived(INDEX).unwrap();
            kept.is_some_and(|kept| kept.windows(5).any(|part| part == &word.as_bytes()[..5]))
        };
        assert!(agent.keep_index().unwrap());
        assert!(holds());
        put_some(&memory, 600, 1200);
        assert_ne!(reached(&agent), super::super::Reached::AtHand);
        let erasing = crate::engine::Erasing {
            targets: vec!["secret".to_owned()],
            ..Default::default()
        };
        drop(memory.erase(&erasing, &Writer::new()).unwrap());
        assert!(!holds());
        assert!(agent.keep_index().unwrap());
        assert!(!holds());
    }

    /// Counts what it is asked to embed.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Embedder for Counting {
        fn embed(&self, text: &str) -> Vec<f32> {
            self.0.fetch_add(1, Ordering::Relaxed);
            vec![1.0, text.len() as f32]
        }
    }

    #[test]
    fn the_next_process_embeds_only_what_is_new() {
        let memory = Memory::in_memory().unwrap();
        put_some(&memory, 0, 600);
        let embedded = |name: &str| {
            let counting = Arc::new(Counting::default());
            let agent = agent(&memory)
                .with_embedder(name, Arc::clone(&counting) as _)
                .unwrap();
            drop(agent.recall_index().of(&memory, &memory.view()).unwrap());
            (counting.0.load(Ordering::Relaxed), agent)
        };
        let (count, first) = embedded("one");
        assert_eq!(count, 600);
        assert!(first.keep_index().unwrap());
        assert!(memory.derived(INDEX).unwrap().is_none());
        put_some(&memory, 600, 603);
        assert_eq!(embedded("one").0, 3);
        assert_eq!(embedded("two").0, 603);
    }
}

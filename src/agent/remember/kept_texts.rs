//! The known texts on disk, so that the next process need not read every object again.
//!
//! # Layer
//! L7, inside `agent`. Derived.
//!
//! # Invariants
//! - KTX-1: what was read and brought to a state knows what is known of that state read anew.
//!
//! # Format
//! Of the derived file `texts`: `TRTX`, the version (2), the digest of the commit (32 bytes), then four lists, each behind the
//! number of its rows (8 bytes, little-endian like all numbers): of texts the fingerprint (8) and the key of the object (16);
//! of what is superseded two keys, its own and that of what names it; of scopes the fingerprint and the number of items (8); of items
//! that expire the fingerprint of the scope, the microseconds (8) and the key.

use super::known_texts::{Key, KnownTexts};
use crate::agent::agent::Agent;
use crate::digest::CommitDigest;
use crate::engine::{Memory, Revision};
use crate::error::Result;

/// The name of the derived file.
const TEXTS: &str = "texts";
/// Its first bytes, with the version.
const HEAD: &[u8; 5] = b"TRTX\x03";
/// Fewer changes than these are made again faster than a file is written and read.
const CHANGES_MIN: u64 = 500;
/// It is kept anew when one in so many texts changed.
const SHARE: u64 = 8;

impl Agent {
    /// Keeps the known texts on disk for the next process, if much changed since they were kept; says whether it did. Only
    /// time is lost where nobody calls it.
    ///
    /// # Errors
    /// `Io` if they cannot be written; with the code `read_only` for a handle that only reads.
    pub fn keep_known_texts(&self) -> Result<bool> {
        let view = self.memory().view();
        let mut kept = self.known_texts().lock();
        let Some(known) = kept.as_ref() else {
            return Ok(false);
        };
        let count = known.texts.len() as u64;
        if known.unkept < CHANGES_MIN || known.unkept.saturating_mul(SHARE) < count {
            return Ok(false);
        }
        // What was erased since must not be written: it is of the head.
        let mut known = KnownTexts::of(kept.take(), self.memory(), &view)?;
        let done = self.memory().keep_derived(TEXTS, &encode(&known), &view);
        if matches!(done, Ok(true)) {
            known.unkept = 0;
        }
        *kept = Some(known);
        done
    }
}

/// What a process before this one kept, if it can be read and its state is still known.
pub(super) fn load(memory: &Memory) -> Option<KnownTexts> {
    let bytes = memory.derived(TEXTS).ok()??;
    let rest = bytes.strip_prefix(HEAD)?;
    let (commit, rest) = rest.split_first_chunk::<32>()?;
    let commit = CommitDigest::from_bytes(*commit);
    let (texts, rest) = rows::<24>(rest)?;
    let (superseded, rest) = rows::<32>(rest)?;
    let (items, rest) = rows::<16>(rest)?;
    let (expiring, []) = rows::<32>(rest)? else {
        return None;
    };
    let view = memory.view_at(&Revision::Prefix(commit.to_hex()), "").ok()?;
    Some(KnownTexts {
        view,
        texts: texts.iter().filter_map(text_of).collect(),
        superseded: superseded.iter().filter_map(pair_of).collect(),
        items: items.iter().filter_map(item_of).collect(),
        expiring: expiring.iter().filter_map(expiring_of).collect(),
        unkept: 0,
    })
}

fn encode(known: &KnownTexts) -> Vec<u8> {
    let mut bytes = HEAD.to_vec();
    bytes.extend_from_slice(known.view.commit().digest.as_bytes());
    bytes.extend_from_slice(&(known.texts.len() as u64).to_le_bytes());
    for (print, key) in &known.texts {
        bytes.extend_from_slice(&print.to_le_bytes());
        bytes.extend_from_slice(key);
    }
    bytes.extend_from_slice(&(known.superseded.len() as u64).to_le_bytes());
    for (old, new) in &known.superseded {
        bytes.extend_from_slice(old);
        bytes.extend_from_slice(new);
    }
    bytes.extend_from_slice(&(known.items.len() as u64).to_le_bytes());
    for (scope, count) in &known.items {
        bytes.extend_from_slice(&scope.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    bytes.extend_from_slice(&(known.expiring.len() as u64).to_le_bytes());
    for (scope, micros, key) in &known.expiring {
        bytes.extend_from_slice(&scope.to_le_bytes());
        bytes.extend_from_slice(&micros.to_le_bytes());
        bytes.extend_from_slice(key);
    }
    bytes
}

/// The rows of a list behind their number, and what stands behind them.
fn rows<const BYTES: usize>(bytes: &[u8]) -> Option<(&[[u8; BYTES]], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let (rows, rest) = rest.split_at_checked(length.checked_mul(BYTES)?)?;
    Some((rows.as_chunks().0, rest))
}

fn item_of(row: &[u8; 16]) -> Option<(u64, u64)> {
    let (scope, count) = row.split_first_chunk::<8>()?;
    Some((
        u64::from_le_bytes(*scope),
        u64::from_le_bytes(count.try_into().ok()?),
    ))
}

fn expiring_of(row: &[u8; 32]) -> Option<(u64, i64, Key)> {
    let (scope, rest) = row.split_first_chunk::<8>()?;
    let (micros, key) = rest.split_first_chunk::<8>()?;
    let micros = i64::from_le_bytes(*micros);
    Some((u64::from_le_bytes(*scope), micros, key.try_into().ok()?))
}

fn text_of(row: &[u8; 24]) -> Option<(u64, Key)> {
    let (print, key) = row.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*print), key.try_into().ok()?))
}

fn pair_of(row: &[u8; 32]) -> Option<(Key, Key)> {
    let (old, new) = row.split_first_chunk::<16>()?;
    Some((*old, new.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{LinesOptions, NewItem, RememberOptions, Settings};
    use crate::engine::Writer;
    use crate::object::Id;

    fn agent(memory: &Memory) -> Agent {
        Agent::new(memory.clone(), Settings::default())
    }

    fn remember(agent: &Agent, from: u64, to: u64) {
        let line = |at: u64| Ok((at, format!(r#"{{"text":"fact {at}"}}"#).into_bytes()));
        let lines = (from..to).map(line);
        let done = agent.remember_lines(lines, &LinesOptions::default(), &Writer::new());
        assert!(done.unwrap().refused.is_empty());
    }

    /// INVARIANT KTX-1.
    #[test]
    fn the_next_process_knows_the_texts_of_this_one() {
        let memory = Memory::in_memory().unwrap();
        let first = agent(&memory);
        remember(&first, 0, 600);
        let mut new = NewItem::new("fact 1 is over");
        new.id = Some(Id::new("new").unwrap());
        let known = first.remember(
            NewItem::new("fact 1"),
            &RememberOptions::default(),
            &Writer::new(),
        );
        new.supersedes = vec![known.unwrap().id];
        let quick = RememberOptions {
            is_quick: true,
            ..RememberOptions::default()
        };
        first.remember(new, &quick, &Writer::new()).unwrap();
        assert!(first.keep_known_texts().unwrap());
        assert!(!first.keep_known_texts().unwrap(), "nothing changed since");
        remember(&first, 600, 609);
        let mut ends = NewItem::new("fact 609");
        ends.expires = Some(crate::object::Time::from_micros(i64::MAX));
        first.remember(ends, &quick, &Writer::new()).unwrap();
        memory
            .remove(&Id::new("new").unwrap(), false, Writer::new())
            .unwrap();
        let loaded = load(&memory).unwrap();
        assert_eq!((loaded.texts.len(), loaded.superseded.len()), (601, 1));
        let view = memory.view();
        let followed = KnownTexts::of(Some(loaded), &memory, &view).unwrap();
        let anew = KnownTexts::read(&memory, &view).unwrap();
        assert_eq!(followed.texts, anew.texts);
        assert_eq!(followed.superseded, anew.superseded);
        assert_eq!(
            (&followed.items, &followed.expiring),
            (&anew.items, &anew.expiring)
        );
        assert_eq!(
            (followed.items.values().sum::<u64>(), followed.expiring.len()),
            (610, 1)
        );
        assert_eq!(followed.texts.len(), 610);
    }

    #[test]
    fn what_cannot_be_read_is_read_anew() {
        let memory = Memory::in_memory().unwrap();
        let first = agent(&memory);
        remember(&first, 0, 600);
        remember(&first, 0, 1);
        assert!(first.keep_known_texts().unwrap());
        let whole = memory.derived(TEXTS).unwrap().unwrap().to_vec();
        let mut of_nobody = whole.clone();
        of_nobody[9] ^= 1;
        let mut other_version = whole.clone();
        other_version[4] = 1;
        let cut = whole[..whole.len() - 1].to_vec();
        for damaged in [of_nobody, other_version, cut, Vec::new()] {
            assert!(memory.keep_derived(TEXTS, &damaged, &memory.view()).unwrap());
            assert!(load(&memory).is_none());
        }
        let second = agent(&memory);
        let again = second.remember(
            NewItem::new("fact 7"),
            &RememberOptions::default(),
            &Writer::new(),
        );
        assert_eq!(again.unwrap().status, crate::agent::Status::Duplicate);
    }
}

//! Signs the head of a line, proves it, and compares a signed head with the line.
//!
//! # Layer
//! Layer 6, inside `signed`.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::key::{SigningKey, VerifierKey};
use super::note::SignedHead;
use super::request::WitnessRequest;
use super::tree::CommitTree;
use crate::digest::{CommitDigest, from_hex, to_hex};
use crate::engine::{Memory, Writer, check_trusted};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{HistoryTree, Reference, ReferenceClass, ReferenceName};
use crate::store::Store;

/// The beginning of every origin.
const ORIGIN: &str = "treering/";
/// The name of the main line.
const MAIN: &str = "main";

/// The digests of all commits of a line, checked against its newest one.
struct Chain {
    tree: CommitTree,
    history: HistoryTree,
    last: Option<CommitDigest>,
}

impl Chain {
    fn of(store: &Store) -> Result<Self> {
        let mut chain = Self {
            tree: CommitTree::default(),
            history: HistoryTree::new(store.suite),
            last: None,
        };
        chain.advance(store)?;
        Ok(chain)
    }

    /// Appends the newer commits of the line.
    fn advance(&mut self, store: &Store) -> Result<()> {
        let head = store.head()?;
        let mut digests = store.digests(self.tree.size(), &head)?;
        let last = digests.pop().or(self.last);
        for digest in digests {
            self.push(&digest);
        }
        if self.tree.size() == head.seq() {
            // INVARIANT SGN-2: the head commit binds the digests before it.
            if self.history.root() != head.commit.history_root {
                return Err(Error::corrupt(
                    "the digests of earlier commits are not those of the head",
                ));
            }
            self.push(&head.digest);
        }
        if last != Some(head.digest) || self.tree.size() != head.seq() + 1 {
            return Err(Error::corrupt(
                "the line does not continue the commits that were read",
            ));
        }
        self.last = last;
        Ok(())
    }

    fn push(&mut self, digest: &CommitDigest) {
        self.tree.append(digest);
        self.history.append(digest);
    }
}

/// How a signed head and a line compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The result.
    pub state: State,
    /// The number of commits of the line.
    pub size: u64,
    /// Where the line was rewritten: one of these commits is the first other one.
    pub rewritten: Option<RangeInclusive<u64>>,
}

named! {
    /// How a signed head and a line compare.
    pub enum State {
        /// The signed head is the head of the line.
        Same => "same",
        /// The line has every commit of the signed head, and newer ones.
        Extends => "extends",
        /// The line has fewer commits than the signed head.
        Shorter => "shorter",
        /// Commits of the signed head are not in the line.
        Rewritten => "rewritten",
        /// The signed head is of another store, or of a line that is not there.
        Other => "other",
    }
}

/// Returns the tree over all commits of the line of `memory`.
///
/// # Errors
/// `Corrupt` or `Io` if a digest cannot be read.
pub fn commit_tree(memory: &Memory) -> Result<CommitTree> {
    memory.refresh()?;
    Ok(Chain::of(&memory.inner.store())?.tree)
}

/// Returns the first line of the signed heads of a memory's line.
fn origin_of(memory: &Memory) -> String {
    let opened = memory.inner.opened();
    origin_of_line(
        &opened.instance,
        opened.line.as_ref().map_or(MAIN, |line| &line.name),
    )
}

/// Returns the first line of the signed heads of a line of the store with this instance.
pub(crate) fn origin_of_line(instance: &[u8; 16], line: &str) -> String {
    format!("{ORIGIN}{}/{line}", to_hex(instance))
}

/// Signs a tree over the commits of a line.
#[cfg(feature = "remote")]
pub(crate) fn sign_tree(origin: String, tree: &CommitTree, key: &SigningKey) -> SignedHead {
    SignedHead::sign(origin, tree.size(), tree.root(), &[key])
}

/// Signs the head of the line of `memory` with each key, and keeps the note in the store under the name of each key. The
/// same head again is the same note, and writes nothing.
///
/// # Errors
/// `Denied` (code `less_trusted`) if the writer's class is untrusted; `InvalidInput` (code `bad_key`) if there is no
/// key, or one with `/` in its name; `Corrupt` (code `history_rewritten`) if the line signed another history before
/// (SGN-1); the errors of [`Memory::commit`].
///
/// # Durability
/// When the call returns, the signed commits and the note are durable.
pub fn sign_head(memory: &Memory, keys: &[&SigningKey], writer: &Writer) -> Result<SignedHead> {
    check_trusted(writer.trust, "sign a head")?;
    if keys.is_empty() || keys.iter().any(|key| key.name().contains('/')) {
        return Err(Error::invalid("a head needs a key whose name has no /").with_code(ErrorCode::BadKey));
    }
    memory.refresh()?;
    let inner = &memory.inner;
    let (origin, mut chain) = (origin_of(memory), Chain::of(&inner.store())?);
    let mut writer = Writer {
        reason: None,
        ..writer.clone()
    };
    inner.write_as(&writer.clone(), |writing| {
        // INVARIANT SGN-2: the commits of other threads may not be durable yet.
        writing.sync()?;
        let store = inner.store();
        chain.advance(&store)?;
        let known = notes_of(&store, &origin)?;
        if known.iter().any(|(_, note)| !note.is_in(&chain.tree)) {
            return Err(signed_another(&origin));
        }
        let head = SignedHead::sign(origin.clone(), chain.tree.size(), chain.tree.root(), keys);
        let (mut batch, mut references) = (BatchBuilder::new(), Vec::new());
        writer.reason = Some(head.to_string());
        let commit = store.head()?;
        for key in keys {
            let line = store.line_name().unwrap_or(MAIN);
            let name = ReferenceName::of(ReferenceClass::Signatures, &format!("{line}/{}", key.name()))?;
            if known
                .iter()
                .any(|(known, note)| *known == name && note.has_signatures_of(&head))
            {
                continue;
            }
            let time = commit.commit.time;
            let reference = inner.reference(&mut batch, name, Some(commit.digest), time, &writer)?;
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
            references.push(reference);
        }
        if !references.is_empty() {
            inner.write_references(writing, batch, references)?;
            writing.sync()?;
        }
        Ok(head)
    })
}

fn signed_another(origin: &str) -> Error {
    let text = format!("{origin} signed a history before that is not this one");
    Error::new(ErrorKind::Corrupt, text)
        .with_code(ErrorCode::HistoryRewritten)
        .with_hint("a fork that was dropped and made again needs another name; a store that was copied needs an instance of its own")
}

/// Returns the readable notes in the store that have this origin, with the names of their references.
fn notes_of(store: &Arc<Store>, origin: &str) -> Result<Vec<(ReferenceName, SignedHead)>> {
    let references: Vec<Arc<Reference>> = {
        let all = store.references();
        let signed = all
            .iter()
            .filter(|entry| entry.reference.name.class() == ReferenceClass::Signatures);
        signed.map(|entry| Arc::clone(&entry.reference)).collect()
    };
    let mut notes = Vec::new();
    for reference in references {
        let Some(text) = reference
            .reason
            .map_or(Ok(None), |text| store.records.find_text(text))?
        else {
            continue;
        };
        // A salvaged store keeps the notes of the damaged one, whose origin is another.
        let note = SignedHead::parse(&text).ok().filter(|note| note.origin == origin);
        notes.extend(note.map(|note| (reference.name.clone(), note)));
    }
    Ok(notes)
}

/// Returns the newest signed head that the store keeps of the line of `memory`, with the signatures of every key.
///
/// # Errors
/// `Corrupt` or `Io` if a note cannot be read.
pub fn newest_head(memory: &Memory) -> Result<Option<SignedHead>> {
    memory.refresh()?;
    let notes = notes_of(&memory.inner.store(), &origin_of(memory))?;
    let mut notes: Vec<_> = notes.into_iter().map(|(_, note)| note).collect();
    notes.sort_by_key(|note| note.size);
    let Some(mut newest) = notes.pop() else {
        return Ok(None);
    };
    let text = newest.text();
    for note in notes.into_iter().filter(|note| note.text() == text) {
        newest.add(note);
    }
    Ok(Some(newest))
}

/// Returns the request to a witness that knows `old` commits of the line: the newest signed head, with its proof.
///
/// # Errors
/// `NotFound` (code `not_signed`) if no head of the line is signed; `InvalidInput` if `old` is larger than the signed
/// head; `Corrupt` (code `history_rewritten`) if the signed head is not in the line.
pub fn prove_head(memory: &Memory, old: u64) -> Result<WitnessRequest> {
    let head = newest_head(memory)?.ok_or_else(|| {
        Error::not_found("no head of this line is signed")
            .with_code(ErrorCode::NotSigned)
            .with_hint("sign it with: treering sign")
    })?;
    let tree = commit_tree(memory)?;
    if !head.is_in(&tree) {
        return Err(signed_another(&head.origin));
    }
    let proof = tree.consistency(old, head.size).ok_or_else(|| {
        let text = format!(
            "the newest signed head has {} commits, and the older one {old}",
            head.size
        );
        Error::invalid(text).with_hint("sign the head with: treering sign")
    })?;
    Ok(WitnessRequest { old, proof, head })
}

/// Compares a signed head with the line that it names: with that fork if `memory` is of the main line. If `any_origin`,
/// the head may be of another store, such as the one of which this is a copy. Of a rewritten line, the heads that the store
/// keeps narrow down where it was rewritten. At least one of `keys` must have signed the head.
///
/// # Errors
/// The errors of [`SignedHead::verify`]; `Corrupt` or `Io` if a digest cannot be read.
pub fn check_head(
    memory: &Memory,
    head: &SignedHead,
    keys: &[VerifierKey],
    any_origin: bool,
) -> Result<Checked> {
    head.verify(keys)?;
    let named = head
        .origin
        .strip_prefix(ORIGIN)
        .and_then(|rest| rest.split_once('/'));
    let (instance, line) = named.unwrap_or_default();
    let opened = memory.inner.opened();
    memory.refresh()?;
    let is_fork = opened.line.is_none() && memory.inner.store().lines().named(line).is_some();
    let fork = is_fork.then(|| memory.open_fork(line)).transpose()?;
    let memory = fork.as_ref().unwrap_or(memory);
    let is_ours = from_hex(instance).is_some_and(|bytes| bytes == opened.instance);
    let tree = commit_tree(memory)?;
    let state = match tree.root_at(head.size) {
        _ if !(any_origin || is_ours && head.origin == origin_of(memory)) => State::Other,
        None => State::Shorter,
        Some(root) if root != head.root => State::Rewritten,
        Some(_) if head.size == tree.size() => State::Same,
        Some(_) => State::Extends,
    };
    let is_rewritten = state == State::Rewritten;
    Ok(Checked {
        state,
        size: tree.size(),
        rewritten: is_rewritten
            .then(|| rewritten_in(memory, &tree, head, keys))
            .transpose()?,
    })
}

/// Returns the commits of which the first rewritten one is one: those behind the largest signed head that is still true, up
/// to the smallest one that is not.
fn rewritten_in(
    memory: &Memory,
    tree: &CommitTree,
    head: &SignedHead,
    keys: &[VerifierKey],
) -> Result<RangeInclusive<u64>> {
    let (mut from, mut end) = (0, head.size);
    for (_, note) in notes_of(&memory.inner.store(), &head.origin)? {
        if note.size < end && note.verify(keys).is_ok() {
            if note.is_in(tree) {
                from = note.size.max(from);
            } else {
                end = note.size;
            }
        }
    }
    Ok(from..=end.saturating_sub(1))
}

#[cfg(test)]
mod tests;

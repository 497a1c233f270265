//! Signatures of a remote: a push signs the newest commit of the remote's main line, and a fetch demands that.
//!
//! The note is a checkpoint of the main line of the remote, whose origin has the instance of the remote. It stands in the
//! remote as the reason of the reference `signatures/main/KEY`, in a batch behind the commit.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - RSG-1: a fetch or clone that demands a signature takes nothing in unless a demanded key signed exactly the newest
//!   commit of the main line of the remote. Behind a commit that is known here, it takes in no new commit.
//! - RSG-2: such a fetch or clone takes in no taint and no snapshot. A fetch erases only what a commit erased from which the signed one
//!   comes. Such a commit is found by its parents, whose digests its own digest covers.
//! - RSG-3: a store that demands signatures of a remote sends it no unsigned commit. The other machines that demand them
//!   would refuse the remote from then on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::place::Place;
use super::remote::Remote;
use crate::digest::CommitDigest;
use crate::engine::{Memory, Outgoing, Seen, Sent, Writer, check_trusted};
use crate::error::{Error, ErrorCode, Result};
use crate::log::closed::ClosedLog;
use crate::log::{Batch, BatchBuilder, RecordKind};
use crate::object::{Reference, ReferenceClass, ReferenceName, hash_text};
use crate::signed::{CommitTree, NoteError, SignedHead, SigningKey, VerifierKey, origin_of_line, sign_tree};
use crate::store::{ForeignCommit, gaps_in, names_eraser, references_in};
use crate::threads::Mutex;

/// What to do about a remote without the demanded signature, for a store that is made of it.
const CLONE_HINT: &str = "no store was made; the machine that has the key signs what is there with: treering push --sign; without the option --signed-by, a clone demands no signature";
/// What to do about a push that nobody signs.
const PUSH_HINT: &str = "nothing was sent; sign it with: treering push --sign; to sign each push: treering remote remove NAME, and treering remote add NAME URL --signed-by VKEY --sign-key KEY; to send it unsigned all the same: treering push --unsigned-once";
/// The main line of a remote.
const MAIN: &str = "main";

/// The keys that sign a remote, and those whose signatures it demands.
#[derive(Default)]
pub(super) struct Signing {
    /// The keys that sign each push.
    signers: Vec<SigningKey>,
    /// The keys of which one must have signed what is fetched; empty if no signature is demanded.
    demanded: Vec<VerifierKey>,
    /// The newest commit of the remote that is known to have all signatures of this store.
    signed: Mutex<Option<CommitDigest>>,
}

impl Remote {
    /// Makes each push sign the newest commit of the remote with these keys.
    #[must_use]
    pub fn sign_with(mut self, keys: Vec<SigningKey>) -> Self {
        self.signing.signers = keys;
        self
    }

    /// Makes each fetch, pull and sync demand that one of these keys signed the newest commit of the remote. Without keys,
    /// nothing is demanded.
    #[must_use]
    pub fn signed_by(mut self, keys: Vec<VerifierKey>) -> Self {
        self.signing.demanded = keys;
        self
    }

    /// Checks that a demanded key signed the newest commit of the remote `log`, of which nothing was read before (RSG-1).
    ///
    /// # Errors
    /// `Denied` (code `unsigned_remote`); the other errors of a signature, and of reading the segments.
    pub(super) fn check_signed(&self, place: &Place, log: &ClosedLog) -> Result<()> {
        let mut signatures = Signatures::begin(log, self.demands(), Vec::new());
        signatures.read(place, 0)?;
        signatures
            .check(self)
            .map(drop)
            .map_err(|error| match error.code() {
                ErrorCode::UnsignedRemote => error.with_hint(CLONE_HINT),
                _ => error,
            })
    }

    /// Checks that a push of commits signs them, if this store demands signatures of the remote (RSG-3).
    ///
    /// # Errors
    /// `Denied` (code `unsigned_remote`).
    pub(super) fn check_signs(&self) -> Result<()> {
        if self.signs() || !self.demands() {
            return Ok(());
        }
        let text = format!(
            "this store demands signatures of the remote {}, but has no key to sign what it sends",
            self.name()
        );
        Err(Error::denied(ErrorCode::UnsignedRemote, text).with_hint(PUSH_HINT))
    }

    /// Returns whether this commit is known to have all signatures of this store.
    pub(super) fn knows_signed(&self, head: CommitDigest) -> bool {
        *self.signing.signed.lock() == Some(head)
    }

    pub(super) fn note_signed(&self, head: CommitDigest) {
        *self.signing.signed.lock() = Some(head);
    }

    /// Returns whether each fetch demands a signature.
    pub(super) fn demands(&self) -> bool {
        !self.signing.demanded.is_empty()
    }

    /// Returns whether each push signs.
    pub(super) fn signs(&self) -> bool {
        !self.signing.signers.is_empty()
    }

    /// Returns whether the newest segment of the remote `log` has the signatures of all signers of its newest commit.
    ///
    /// # Errors
    /// `NotFound` (code `thinned`); `Corrupt` or `Io` if a digest or the segment cannot be read.
    pub(super) fn is_signed(
        &self,
        memory: &Memory,
        place: &Place,
        log: &ClosedLog,
        outgoing: &Outgoing,
    ) -> Result<bool> {
        let tree = tree_of(&memory.inner.digests_behind_push(self.known(), outgoing)?);
        let mut notes = Vec::new();
        if let Some(last) = log.segments.len().checked_sub(1) {
            for batch in place.batches(log, last)? {
                notes_in(&batch, log, &mut notes).map_err(|error| place.damaged(error))?;
            }
        }
        notes.retain(|note| note.origin == origin_of_line(&log.format.instance, MAIN) && note.is_in(&tree));
        let mut keys = self.signing.signers.iter().map(SigningKey::verifier);
        Ok(keys.all(|key| {
            let key = [key];
            notes
                .iter()
                .any(|note| note.size == tree.size() && note.verify(&key).is_ok())
        }))
    }

    /// Adds the signatures to the batches of a push to the remote `log`.
    ///
    /// # Errors
    /// `Denied` (code `less_trusted`) if the writer's class is untrusted; `Corrupt` or `Io` if a digest cannot be read.
    pub(super) fn sign(
        &self,
        memory: &Memory,
        log: &ClosedLog,
        outgoing: &mut Outgoing,
        writer: &Writer,
    ) -> Result<()> {
        if self.signing.signers.is_empty() {
            return Ok(());
        }
        check_trusted(writer.trust, "sign a head")?;
        let tree = tree_of(&memory.inner.digests_behind_push(self.known(), outgoing)?);
        let origin = origin_of_line(&log.format.instance, MAIN);
        let mut batch = BatchBuilder::new();
        for key in &self.signing.signers {
            let note = sign_tree(origin.clone(), &tree, key).to_string();
            let name = ReferenceName::of(ReferenceClass::Signatures, &format!("{MAIN}/{}", key.name()))?;
            let mut reference = Reference::new(name, Some(outgoing.head), memory.view().now());
            reference.actor.clone_from(&writer.actor);
            reference.session.clone_from(&writer.session);
            reference.reason = Some(hash_text(log.suite(), note.as_bytes()));
            batch.add(RecordKind::Text, 0, note.as_bytes());
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
        }
        let (head, side) = (outgoing.head, None);
        outgoing.batches.push(Sent { batch, head, side });
        outgoing.is_signed = true;
        Ok(())
    }

    /// Returns what a fetch collects to check the signature of the remote `log`, of which `seen` was read before.
    ///
    /// # Errors
    /// `NotFound` (code `thinned`); `Corrupt` or `Io` if a digest cannot be read.
    pub(super) fn signatures<'a>(
        &self,
        memory: &'a Memory,
        log: &'a ClosedLog,
        seen: Option<Seen>,
    ) -> Result<Signatures<'a>> {
        let is_demanded = self.demands();
        // The newest commit was checked when it came, or this store made it.
        let is_known = match seen {
            Some(seen) => seen.head == log.head || memory.inner.store().by_digest(log.head)?.is_some(),
            None => false,
        };
        let digests = match seen.filter(|_| is_demanded && !is_known) {
            Some(seen) => memory.inner.digests_up_to(seen.head)?,
            None => Vec::new(),
        };
        Ok(Signatures {
            known_by: is_known.then_some(memory),
            ..Signatures::begin(log, is_demanded, digests)
        })
    }
}

/// What a fetch knows of the signatures of a remote.
pub(super) struct Signatures<'a> {
    log: &'a ClosedLog,
    is_demanded: bool,
    /// The store, if it knows the newest commit of the remote.
    known_by: Option<&'a Memory>,
    /// The digests of the main line. A signature covers them all, so nothing of them need be trusted.
    digests: Vec<CommitDigest>,
    /// The same digests.
    known: HashSet<CommitDigest>,
    /// The parents of each commit that was read, of any line.
    parents: HashMap<CommitDigest, Vec<CommitDigest>>,
    /// Those that erased something.
    erasing: HashSet<CommitDigest>,
    notes: Vec<SignedHead>,
}

impl<'a> Signatures<'a> {
    fn begin(log: &'a ClosedLog, is_demanded: bool, digests: Vec<CommitDigest>) -> Self {
        Self {
            log,
            is_demanded,
            known_by: None,
            known: digests.iter().copied().collect(),
            digests,
            parents: HashMap::new(),
            erasing: HashSet::new(),
            notes: Vec::new(),
        }
    }
}

impl Signatures<'_> {
    /// Adds the batches of the remote behind number `after`, if a signature is demanded.
    ///
    /// # Errors
    /// `Corrupt` if a segment or a record cannot be decoded; `Io`.
    pub(super) fn read(&mut self, place: &Place, after: u64) -> Result<()> {
        let log = self.log;
        for (index, segment) in log.segments.iter().enumerate() {
            if self.is_demanded && segment.last_batch > after {
                let batches = place.batches(log, index)?;
                let mut left = batches.iter().filter(|batch| batch.number > after);
                left.try_for_each(|batch| self.add(place, batch))?;
            }
        }
        Ok(())
    }

    /// Adds the next batch of the remote.
    ///
    /// # Errors
    /// `Corrupt` if a record cannot be decoded.
    pub(super) fn add(&mut self, place: &Place, batch: &Batch) -> Result<()> {
        let added = if self.is_demanded {
            self.add_batch(batch)
        } else {
            Ok(())
        };
        added.map_err(|error| place.damaged(error))
    }

    fn add_batch(&mut self, batch: &Batch) -> Result<()> {
        if let Some(found) = ForeignCommit::of(batch, self.log.suite())? {
            if found.line.is_none() {
                // A remote that was added again is read from its start, also if this store has pushed to it since.
                let read = gaps_in(batch)?.into_iter().chain([found.digest]);
                self.digests
                    .extend(read.filter(|digest| self.known.insert(*digest)));
            }
            // Also a commit that took along an erasure from another remote (PSH-4).
            if names_eraser(batch, found.digest)? {
                self.erasing.insert(found.digest);
            }
            self.parents.insert(found.digest, found.commit.parents);
        }
        notes_in(batch, self.log, &mut self.notes)
    }

    /// Checks that a demanded key signed the newest commit of the remote (RSG-1). Returns the erasing commits that the
    /// signature covers (RSG-2); `None` if no signature is demanded.
    ///
    /// # Errors
    /// `Denied` (code `unsigned_remote`); `Corrupt` (code `bad_signature` or `history_rewritten`) if the signature of a
    /// demanded key does not fit.
    pub(super) fn check(mut self, remote: &Remote) -> Result<Option<Arc<HashSet<CommitDigest>>>> {
        if !self.is_demanded {
            return Ok(None);
        }
        if let Some(memory) = self.known_by {
            return if self.are_known(memory)? {
                Ok(Some(Arc::default()))
            } else {
                Err(unsigned(remote))
            };
        }
        let (tree, demanded) = (tree_of(&self.digests), &remote.signing.demanded);
        let origin = origin_of_line(&self.log.format.instance, MAIN);
        for note in std::mem::take(&mut self.notes) {
            if note.origin != origin || note.size != tree.size() {
                continue;
            }
            match note.verify(demanded) {
                Err(NoteError::NotSigned) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if note.is_in(&tree) => return Ok(Some(Arc::new(self.covered()))),
                Ok(_) => {
                    let text = "a demanded key signed another history of the remote";
                    return Err(Error::corrupt(text).with_code(ErrorCode::HistoryRewritten));
                }
            }
        }
        Err(unsigned(remote))
    }

    /// Returns whether this store has each commit that was read, or had it before it thinned its history. A push of this store
    /// that broke off may have left others there.
    fn are_known(&mut self, memory: &Memory) -> Result<bool> {
        if self.are_kept(memory)? {
            return Ok(true);
        }
        // What the newest commit comes from was here, too.
        self.digests = memory.inner.digests_up_to(self.log.head)?;
        self.covered();
        self.are_kept(memory)
    }

    fn are_kept(&self, memory: &Memory) -> Result<bool> {
        let store = memory.inner.store();
        for digest in self.parents.keys() {
            if store.commit_of_any(*digest)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the erasing commits from which the newest commit of the main line comes. Leaves the parents of other commits.
    fn covered(&mut self) -> HashSet<CommitDigest> {
        let (mut open, mut covered) = (std::mem::take(&mut self.digests), HashSet::new());
        while let Some(next) = open.pop() {
            if let Some(parents) = self.parents.remove(&next) {
                open.extend(parents);
                covered.extend(self.erasing.take(&next));
            }
        }
        covered
    }
}

fn unsigned(remote: &Remote) -> Error {
    let names: Vec<_> = remote.signing.demanded.iter().map(VerifierKey::name).collect();
    let text = format!(
        "the newest commits of the remote {} are not signed by {}",
        remote.name(),
        names.join(" or ")
    );
    Error::denied(ErrorCode::UnsignedRemote, text).with_hint(
        "nothing was taken in; the machine that has the key signs what is there with: treering push --sign; to trust it this once: treering pull --unsigned-once",
    )
}

fn tree_of(digests: &[CommitDigest]) -> CommitTree {
    let mut tree = CommitTree::default();
    for digest in digests {
        tree.append(digest);
    }
    tree
}

/// Adds the notes in a batch of a remote.
fn notes_in(batch: &Batch, log: &ClosedLog, notes: &mut Vec<SignedHead>) -> Result<()> {
    for reference in references_in(batch)? {
        if reference.name.class() == ReferenceClass::Signatures {
            let mut texts = batch
                .records
                .iter()
                .filter(|record| record.kind == RecordKind::Text);
            let text = texts.find(|text| Some(hash_text(log.suite(), &text.body)) == reference.reason);
            notes.extend(text.and_then(|text| SignedHead::parse(&text.body).ok()));
        }
    }
    Ok(())
}

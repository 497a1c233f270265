//! Makes the batches that a remote lacks, and notes what was pushed.
//!
//! If the newest commit of the remote is on our main line, our commits continue it. Otherwise they travel as a side line of
//! this machine, and one commit `push` follows on the main line of the remote, with both sides as parents.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - PSH-1: a push goes on only from a remote whose newest commit is here and was merged. So it takes back nothing of others.
//! - PSH-2: versions that differ only in their class, or in what they are derived from, count as equal. Of two such
//!   versions, the remote keeps its own. So the pull and push of a machine with a cap lower no class elsewhere.
//! - PSH-5: a push leaves the remote a tree: what it brings has its parent there, too. A child of what this store refused waits.
//! - PSH-3, PSH-4: how erasures travel; see [`super::erasers`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Writer;
use super::erasers::Erasers;
use super::fork::line_record;
use super::merge::conflict::{conflict_id, is_refusal, is_refused};
use super::merge::{LineCommit, common_with, pushed_from};
use super::remote::{Known, MAIN, Position, SIDE, Seen};
use super::travel::snapshots_that_travel;
use crate::digest::{CommitDigest, KeyPath, Root, to_hex};
use crate::engine::inner::Inner;
use crate::engine::read::State;
use crate::error::{Error, ErrorCode, Result};
use crate::log::closed::ClosedLine;
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Commit, Object, Op, Origin, Time};
use crate::store::{Changed, CommitEntry, ErasedIds, Erasure, Has, LineInfo, Store, Written, may_erase};
use crate::trie::{Entry, Shape};

/// What a remote has.
pub(crate) struct PushTarget<'a> {
    /// The newest commit of its main line; `None` if the remote is empty.
    pub(crate) head: Option<CommitDigest>,
    pub(crate) lines: &'a [ClosedLine],
}

/// A plan of a push.
pub(crate) enum PushPlan {
    /// The remote has all that is here.
    Nothing,
    /// The remote has commits that were not fetched or not merged.
    Behind,
    Send(Box<Outgoing>),
}

/// A batch of a push.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) batch: BatchBuilder,
    /// The newest commit of the main line of the remote after the batch.
    pub(crate) head: CommitDigest,
    /// The commit of the side line in the batch.
    pub(crate) side: Option<CommitDigest>,
}

/// The batches of a push.
pub(crate) struct Outgoing {
    pub(crate) batches: Vec<Sent>,
    /// The newest commit of the main line of the remote after the push.
    pub(crate) head: CommitDigest,
    /// The side line after the push.
    pub(crate) line: Option<ClosedLine>,
    pub(crate) commits: u64,
    /// The records that the commits of the push erased (PSH-3).
    pub(crate) erasure: Erasure,
    /// The ids of which these commits erased all versions.
    pub(crate) erased_ids: ErasedIds,
    /// Whether the push has a signature of that commit.
    pub(crate) is_signed: bool,
    /// The newest reference that the push looked at.
    sent_until: Option<Position>,
    /// The batch of the commit `push`, for the line of the remote in this log.
    pushed: Option<(BatchBuilder, Commit)>,
}

impl Known<'_> {
    /// Returns what a remote has whose newest commit is `head`.
    fn having(self, line: &Arc<Store>, head: &CommitEntry) -> Result<Has> {
        Has::of(self.line(MAIN), line, head)
    }
}

impl Outgoing {
    /// Returns a push without a commit to a remote whose newest commit is `head`.
    pub(crate) fn at(head: CommitDigest) -> Self {
        Self {
            batches: Vec::new(),
            head,
            line: None,
            commits: 0,
            erasure: Erasure::new(),
            erased_ids: ErasedIds::new(),
            is_signed: false,
            sent_until: None,
            pushed: None,
        }
    }
}

impl Outgoing {
    /// Returns whether the push erases something in the remote.
    #[cfg(feature = "remote")]
    pub(crate) fn erases(&self) -> bool {
        !(self.erasure.is_empty() && self.erased_ids.is_empty())
    }
}

/// The changes that a push makes to the newest state of the remote: the new version if there is one, and a version.
pub(super) type Changes = BTreeMap<[u8; 32], (Option<Entry>, Entry)>;

impl Inner {
    /// Plans a push of the main line to a remote, with the references that it lacks.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit or record cannot be read.
    pub(crate) fn plan_push(
        self: &Arc<Self>,
        known: Known<'_>,
        target: &PushTarget<'_>,
        writer: &Writer,
    ) -> Result<PushPlan> {
        let plan = self.plan_commits(known, target, writer)?;
        let references = match plan {
            PushPlan::Behind => None,
            _ => self.references_for(known)?,
        };
        let Some((batch, sent_until)) = references else {
            return Ok(plan);
        };
        let mut outgoing = match (plan, target.head) {
            (PushPlan::Send(outgoing), _) => outgoing,
            (_, Some(head)) => Box::new(Outgoing::at(head)),
            (plan, None) => return Ok(plan),
        };
        let (head, side) = (outgoing.head, None);
        outgoing.batches.push(Sent { batch, head, side });
        outgoing.sent_until = Some(sent_until);
        Ok(PushPlan::Send(outgoing))
    }

    fn plan_commits(
        self: &Arc<Self>,
        known: Known<'_>,
        target: &PushTarget<'_>,
        writer: &Writer,
    ) -> Result<PushPlan> {
        let store = self.main().store();
        let head = store.head()?;
        check_clock(&head, self.settings().latest())?;
        let Some(remote) = target.head else {
            return self.plan_main(known, (&store, &head), 0, Has::default());
        };
        if let Some(base) = store.by_digest(remote)? {
            if base.digest == head.digest {
                return Ok(PushPlan::Nothing);
            }
            let has = known.having(&store, &base)?;
            return self.plan_main(known, (&store, &head), base.seq() + 1, has);
        }
        // INVARIANT PSH-1
        let line = store.line(&known.line(MAIN))?;
        let Some(line) = line.filter(|line| line.head().is_ok_and(|head| head.digest == remote)) else {
            return Ok(PushPlan::Behind);
        };
        let (ours, theirs) = ((store, head), (Arc::clone(&line), line.head()?));
        let apart = Apart::of(&ours, &theirs)?;
        match (apart.is_merged, apart.changes.is_empty()) {
            (false, _) => return Ok(PushPlan::Behind),
            (true, true) => {
                let (_, since) = self.side_line(&ours.0, &line, target.lines)?;
                if !Self::must_travel(known, &ours.0, since)? {
                    return Ok(PushPlan::Nothing);
                }
            }
            (true, _) => {}
        }
        self.plan_side_push(known, target, (&ours, &theirs), &apart.changes, writer)
            .map(Box::new)
            .map(PushPlan::Send)
    }

    /// Returns whether a commit behind the seq `since` travels also if both states are equal: one that erased something,
    /// because other machines still have what it erased (PSH-3), one that takes along an erasure from another remote (PSH-4), or
    /// one that a snapshot names (TRV-4).
    pub(super) fn must_travel(known: Known<'_>, store: &Arc<Store>, since: u64) -> Result<bool> {
        for named in snapshots_that_travel(store) {
            if store.by_digest(named)?.is_some_and(|named| named.seq() > since) {
                return Ok(true);
            }
        }
        let (Ok(index) | Err(index)) = store.position(since + 1)?;
        for index in index..store.kept() {
            let entry = store.commit_at(index)?;
            if entry.is_some_and(|entry| entry.commit.op.as_str() == Op::ERASE) {
                return Ok(true);
            }
        }
        let is_ahead = index < store.kept();
        let before = index
            .checked_sub(1)
            .filter(|_| is_ahead)
            .map_or(Ok(None), |before| store.commit_at(before))?;
        let Some(before) = before else { return Ok(false) };
        Ok(!store
            .erasers_of_remotes(&known.line(""), before.batch)?
            .is_empty())
    }

    /// Plans a push of the commits from a seq on, which continue the main line of the remote.
    fn plan_main(
        &self,
        known: Known<'_>,
        (store, head): (&Arc<Store>, &CommitEntry),
        first: u64,
        has: Has,
    ) -> Result<PushPlan> {
        let outgoing = self.commits_behind(known, (store, head), first, has, None)?;
        Ok(PushPlan::Send(Box::new(outgoing)))
    }

    /// Plans a push of commits that travel as a side line (RML-3).
    fn plan_side_push(
        &self,
        known: Known<'_>,
        target: &PushTarget<'_>,
        ((store, head), (line, theirs)): (&LineCommit, &LineCommit),
        changes: &Changes,
        writer: &Writer,
    ) -> Result<Outgoing> {
        let (mut side, since) = self.side_line(store, line, target.lines)?;
        let info = side_info(store, &side)?;
        let has = known.having(line, theirs)?;
        let mut outgoing = self.commits_behind(known, (store, head), since + 1, has, Some(&info))?;
        if side.head == side.base {
            let mut batch = BatchBuilder::new();
            let begins = line_record(&info, Some(side.base), info.time)?;
            batch.add(RecordKind::Line, 0, &begins.encode()?);
            let (head, side) = (theirs.digest, None);
            outgoing.batches.insert(0, Sent { batch, head, side });
        }
        side.head = head.digest;
        for sent in &mut outgoing.batches {
            sent.head = theirs.digest;
        }
        let (mut trie, mut changed) = (line.state(theirs)?, Changed::default());
        for (new, either) in changes.values() {
            match new {
                Some(new) => {
                    trie.insert(*new, &**store)?;
                    changed.link(new);
                }
                None => {
                    trie.remove(&either.key, &**store)?;
                    changed.unlink(&either.key);
                }
            }
        }
        let root = trie.root(store.suite, Shape::State, &**store)?;
        let (commit, bytes) = self.push_commit((line, theirs), head, root, writer)?;
        let digest = Commit::hash(&bytes, store.suite);
        let mut batch = BatchBuilder::new();
        changed.add_to(&mut batch);
        batch.add(RecordKind::Commit, 0, &bytes);
        outgoing.batches.push(Sent {
            batch: batch.clone(),
            head: digest,
            side: None,
        });
        Ok(Outgoing {
            head: digest,
            line: Some(side),
            // The commit of the push itself is no work of this store. An interrupted push may have sent all that is.
            commits: outgoing.commits.max(1),
            pushed: Some((batch, commit)),
            ..outgoing
        })
    }

    /// Returns the commit of a push on the main line of the remote.
    fn push_commit(
        &self,
        (line, theirs): (&Arc<Store>, &CommitEntry),
        head: &CommitEntry,
        root: Root,
        writer: &Writer,
    ) -> Result<(Commit, Vec<u8>)> {
        let commit = Commit {
            parents: vec![theirs.digest, head.digest],
            root,
            seq: theirs.seq() + 1,
            history_root: line.history().root(),
            time: self.time_after(theirs.commit.time.max(head.commit.time)),
            op: Op::new(Op::PUSH)?,
            target: None,
            actor: writer.actor.clone(),
            session: writer.session.clone(),
            source: None,
            trust: self.opened().capped(writer.trust),
            reason: None,
            reserved: BTreeMap::new(),
        };
        let bytes = commit.encode()?;
        Ok((commit, bytes))
    }

    /// Returns the side line of this machine in the remote, and the seq of the newest commit of ours that it has. A line of
    /// another copy of this store, which has the same instance, is left alone.
    fn side_line(
        &self,
        store: &Arc<Store>,
        line: &Arc<Store>,
        lines: &[ClosedLine],
    ) -> Result<(ClosedLine, u64)> {
        let own = format!("{SIDE}{}", to_hex(&self.opened().instance));
        let name = |number: u32| {
            if number == 0 {
                own.clone()
            } else {
                format!("{own}-{number}")
            }
        };
        let mut number = 0;
        while let Some(known) = lines.iter().find(|known| known.name == name(number)) {
            if let Some(newest) = store.by_digest(known.head)? {
                return Ok((known.clone(), newest.seq()));
            }
            number += 1;
        }
        let base = line
            .base()
            .ok_or_else(|| Error::internal("the line of a remote has no base"))?;
        let new = ClosedLine {
            name: name(number),
            base: base.digest,
            head: base.digest,
        };
        Ok((new, base.seq()))
    }

    /// Returns a push of the kept commits from a seq on up to `head`, for a remote that has what `has` says. With `side`, they
    /// are of a side line.
    fn commits_behind(
        &self,
        known: Known<'_>,
        (store, head): (&Arc<Store>, &CommitEntry),
        first: u64,
        mut has: Has,
        side: Option<&LineInfo>,
    ) -> Result<Outgoing> {
        let (Ok(index) | Err(index)) = store.position(first)?;
        // Another thread may have committed since this one read the head.
        let (Ok(end) | Err(end)) = store.position(head.seq() + 1)?;
        let mut sent = Outgoing::at(head.digest);
        let (mut erasers, mut moved) = (Erasers::default(), Vec::new());
        let before = index
            .checked_sub(1)
            .map_or(Ok(None), |before| store.commit_at(before))?;
        // A remote without a commit has nothing that was erased.
        let mut elsewhere = match before {
            Some(before) => store.erasers_of_remotes(&known.line(""), before.batch)?,
            None => Vec::new(),
        };
        for index in index..end {
            self.settings().check_stop()?;
            let entry = store.commit_at(index)?;
            let entry = entry.ok_or_else(|| Error::internal("a kept commit is missing"))?;
            let mut batch = store.outgoing(&entry, &mut has)?;
            moved.push((entry.commit.time, has.take_moved()));
            let index_sent = sent.batches.len();
            // RML-4: a clone may have commits of a remote that erases nothing.
            if entry.commit.op.as_str() == Op::ERASE && may_erase(store.records.cap_of_commit(&entry)?) {
                erasers.add(entry.digest, entry.digest, index_sent);
            }
            // INVARIANT PSH-4
            let is_last = index + 1 == end;
            for eraser in elsewhere.extract_if(.., |eraser| is_last || eraser.batch < entry.batch) {
                erasers.add(eraser.digest, entry.digest, index_sent);
            }
            if let Some(side) = side {
                let record = line_record(side, Some(entry.digest), entry.commit.time)?;
                batch.add(RecordKind::Line, 0, &record.encode()?);
            }
            sent.batches.push(Sent {
                batch,
                head: entry.digest,
                side: side.map(|_| entry.digest),
            });
            sent.commits += 1;
        }
        let all: Vec<_> = moved.iter().flat_map(|(_, moved)| moved).copied().collect();
        let times = store.times_of(&all)?;
        for (sent, (latest, moved)) in sent.batches.iter_mut().zip(&moved) {
            Written::of_moved(moved, *latest, &times).add_to(&mut sent.batch);
        }
        (sent.erasure, sent.erased_ids) = self.add_markers(&erasers, &mut sent.batches)?;
        Ok(sent)
    }

    /// Returns the digests of all commits of the main line of a remote as a push leaves it, oldest first.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a digest cannot be read.
    #[cfg(feature = "signed")]
    pub(crate) fn digests_behind_push(
        &self,
        known: Known<'_>,
        outgoing: &Outgoing,
    ) -> Result<Vec<CommitDigest>> {
        if outgoing.pushed.is_none() {
            return self.digests_up_to(outgoing.head);
        }
        let line = self.main().store().line(&known.line(MAIN))?;
        let line = line.ok_or_else(|| Error::internal("the line of a remote is missing"))?;
        let mut digests = line.digests(0, &*line.head()?)?;
        digests.push(outgoing.head);
        Ok(digests)
    }

    /// Returns the digests of all commits up to one that this store keeps, on any line, oldest first.
    ///
    /// # Errors
    /// `NotFound` (code `thinned`); `Corrupt` or `Io` if a digest cannot be read.
    #[cfg(feature = "signed")]
    pub(crate) fn digests_up_to(&self, head: CommitDigest) -> Result<Vec<CommitDigest>> {
        let found = self.main().store().commit_of_any(head)?;
        let (store, entry) = found.ok_or_else(|| {
            Error::not_found(format!("this store does not keep commit {head}")).with_code(ErrorCode::Thinned)
        })?;
        store.digests(0, &entry)
    }

    /// Notes a push that the remote has acknowledged.
    ///
    /// # Errors
    /// The errors of a write. The push is done all the same, and the next fetch notes it.
    pub(crate) fn note_push(
        &self,
        known: Known<'_>,
        outgoing: Outgoing,
        seen: Seen,
        writer: &Writer,
    ) -> Result<()> {
        self.main().write_as(writer, |writing| {
            let mut group = Vec::new();
            if let Some((mut batch, commit)) = outgoing.pushed {
                let line = self.store().lines().named(&known.line(MAIN)).cloned();
                let line = line.filter(|line| commit.parents.first() == Some(&line.head));
                // Another process has fetched meanwhile.
                let Some(line) = line else { return Ok(()) };
                let record = line_record(&line, Some(outgoing.head), commit.time)?;
                batch.add(RecordKind::Line, 0, &record.encode()?);
                group.push(batch);
            }
            if let Some(side) = &outgoing.line {
                group.push(self.note_seen(known, &side.name, side.head, None)?);
            }
            if let Some(until) = outgoing.sent_until {
                group.extend(self.note_sent(known, outgoing.head, until, writing.log.epoch())?);
            }
            group.push(self.note_seen(known, MAIN, outgoing.head, Some(seen))?);
            self.write_remote(writing, group)
        })
    }
}

/// How the main line and the line of a remote are apart.
pub(super) struct Apart {
    /// What a push changes there.
    pub(super) changes: Changes,
    /// Whether the main line has all that the remote has.
    pub(super) is_merged: bool,
    /// The newest commits from which both come, newest first.
    pub(super) common: Vec<LineCommit>,
}

impl Apart {
    pub(super) fn of(ours: &LineCommit, theirs: &LineCommit) -> Result<Self> {
        let common = common_with(ours, theirs)?;
        // Both questions have the base that a merge has.
        let newest = common.first().cloned();
        let base = newest.map(|base| pushed_from(theirs, base)).transpose()?;
        let brings_nothing = match (common.as_slice(), &base) {
            // After a pull without a commit, the remote has merged us and nothing else.
            ([_], Some(base)) => has_same(base, theirs, ours)?,
            _ => false,
        };
        let has_newest = base.is_some_and(|base| base.1.digest == theirs.1.digest);
        Ok(Self {
            changes: changes_between(theirs, ours, ours)?,
            is_merged: has_newest || brings_nothing,
            common,
        })
    }
}

/// Returns an error if the newest commit is later than `latest`, because nobody could fetch it. Earlier ones are earlier.
fn check_clock(head: &CommitEntry, latest: Time) -> Result<()> {
    if head.commit.time <= latest {
        return Ok(());
    }
    let text = "the newest commit is more than a day ahead of the clock, so other machines would refuse it";
    let hint = "a clock was wrong, and times in a history stay: `export` what is good into a new store";
    Err(Error::invalid(text)
        .with_code(ErrorCode::ClockAhead)
        .with_hint(hint))
}

/// Returns the side line as a line, for its records.
fn side_info(store: &Arc<Store>, side: &ClosedLine) -> Result<LineInfo> {
    let base = store.by_digest(side.base)?;
    let missing = || {
        Error::not_found("the commit at which the side line of this machine begins was thinned")
            .with_code(ErrorCode::Thinned)
            .with_hint("`clone` the remote anew")
    };
    Ok(LineInfo::new(
        &side.name,
        &*base.ok_or_else(missing)?,
        Origin::DirectUser,
    ))
}

/// Returns whether the states of two commits are the same, as a push compares them (PSH-2), for a line of ours (CFL-3).
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(super) fn has_same(one: &LineCommit, other: &LineCommit, ours: &LineCommit) -> Result<bool> {
    Ok(changes_between(one, other, ours)?.is_empty())
}

/// Returns the changes from the state of one commit to that of another, without versions that count as equal (PSH-2), and
/// those that `ours` refused (CFL-3).
fn changes_between(older: &LineCommit, newer: &LineCommit, ours: &LineCommit) -> Result<Changes> {
    let (older, newer) = (State::of(&older.0, &older.1)?, State::of(&newer.0, &newer.1)?);
    let ours = State::of(&ours.0, &ours.1)?;
    let (nodes, mut changes, mut below) = (older.nodes_with(&newer), Changes::new(), Vec::new());
    for change in older.diff(&newer, &nodes) {
        let change = change?;
        let old = change.old.map(|old| older.load(&old)).transpose()?;
        let new = change.new.map(|new| newer.load(&new)).transpose()?;
        if is_of_refusal(&ours, &change.key, [old.as_ref(), new.as_ref()])? {
            continue;
        }
        if let (Some(old), Some(new)) = (&old, &new)
            && counts_as_equal(old, new)?
        {
            continue;
        }
        if let Some(parent) = new.as_ref().and_then(Object::parent) {
            below.push((change.key, ours.store.suite.key_path(parent)));
        }
        let entry = change.new.or(change.old);
        let entry = entry.ok_or_else(|| Error::internal("a change contains no entry"))?;
        changes.insert(*change.key.as_bytes(), (change.new, entry));
    }
    leave_children_out(&mut changes, below, [&older, &newer])?;
    Ok(changes)
}

/// Leaves out each changed version whose parent the newer state has, and the older one lacks behind the changes (PSH-5). So it
/// leaves out the ones below it, and their open conflicts, too. `below` has the key paths of versions and their parents.
fn leave_children_out(
    changes: &mut Changes,
    mut below: Vec<(KeyPath, KeyPath)>,
    [older, newer]: [&State; 2],
) -> Result<()> {
    loop {
        let count = below.len();
        let mut left = Vec::with_capacity(count);
        for (key, parent) in below {
            let has = match changes.get(parent.as_bytes()) {
                Some((new, _)) => new.is_some(),
                None => older.entry_at(&parent)?.is_some(),
            };
            if has || newer.entry_at(&parent)?.is_none() {
                left.push((key, parent));
            } else {
                let conflict = newer.store.suite.key_path(conflict_id(&key)?.as_str());
                changes.remove(key.as_bytes());
                changes.remove(conflict.as_bytes());
            }
        }
        if left.len() == count {
            return Ok(());
        }
        below = left;
    }
}

/// Returns whether two versions differ, or one is a conflict, because of what this store refused (CFL-3).
fn is_of_refusal(ours: &State, key: &KeyPath, sides: [Option<&Object>; 2]) -> Result<bool> {
    for side in sides.into_iter().flatten() {
        if is_refusal(ours, key, side)? {
            return Ok(true);
        }
    }
    is_refused(ours, key, sides.map(|side| side.map(Object::digest)))
}

fn counts_as_equal(one: &Object, other: &Object) -> Result<bool> {
    if one.is_placeholder() || other.is_placeholder() || one.lacks_content() || other.lacks_content() {
        return Ok(false);
    }
    let [mut one, mut other] = [one.to_new()?, other.to_new()?];
    (one.derived_from, other.derived_from) = (Vec::new(), Vec::new());
    Ok(one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Memory;
    use crate::object::{Id, Kind, NewObject};

    /// PSH-1: a push ends at the commit that it noted as the newest one, also if another thread commits meanwhile.
    #[test]
    fn a_push_ends_at_the_head_that_it_read() {
        let memory = Memory::in_memory().unwrap();
        let put = |name: &str| {
            let object = NewObject::new(Id::new(name).unwrap(), Kind::new("note").unwrap());
            memory.put(object, &Writer::user()).unwrap();
        };
        put("one");
        let store = memory.inner.main().store();
        let head = store.head().unwrap();
        put("two");
        let (known, of_main) = (Known::named("origin"), (&store, &*head));
        let outgoing = memory
            .inner
            .commits_behind(known, of_main, 0, Has::default(), None)
            .unwrap();
        assert_eq!(outgoing.batches.last().unwrap().head, head.digest);
    }
}

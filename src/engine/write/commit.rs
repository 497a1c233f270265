//! Commits: the only way to change the state. The writer turns drafts into commits under the lock, and syncs several
//! commits at once.
//!
//! Each committing thread adds its draft to a queue. The thread that gets the writer's mutex commits every waiting
//! draft (group commit). That thread checks each draft against the state after the drafts before it. Then the thread
//! writes and syncs all batches together, publishes each commit, and acknowledges each.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - CMT-1: a commit is published and acknowledged only after the log has reported it durable.
//! - CMT-2: a draft is committed whole or not at all.
//! - CMT-3: a commit's time is later than those of its parents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::digest::{CommitDigest, KeyPath, Root, TextDigest};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{BatchBuilder, HeadMark, Locator, RecordKind};
use crate::object::{Commit, HistoryTree, Id, Op, Reference, ReferenceName, Time, hash_text};
use crate::store::{ChangeCounts, CommitEntry, Known, LineInfo, StagedState, Store};
use crate::trie::{Shape, Trie};

use super::fork::line_record;
use super::session::check_untainted;
use super::staging::{Place, add_changes};
use super::{Committed, Draft, LogHandle, Placed, Request, Writer, body_bytes, tree};
use crate::engine::inner::Inner;
use crate::engine::read::{Source, State};
use crate::engine::trace;

/// The head on which the next commit of a group is built. Until the group is written, this head is newer than the log.
pub(crate) struct Tip {
    pub(crate) mark: HeadMark,
    pub(crate) time: Time,
    pub(crate) trie: Trie,
    pub(crate) history: HistoryTree,
    /// The line of the tip, if it is not the main one.
    line: Option<LineInfo>,
    pub(crate) end: End,
}

/// The end of the log and of the main line behind a group, which the tips of all lines share.
#[derive(Clone)]
pub(crate) struct End {
    /// The number of the next batch.
    pub(crate) next_batch: u64,
    /// The locator at which the next batch begins, unless the log rotates before.
    next_record: Locator,
    /// The head of the main line, which each seal names.
    main: HeadMark,
    /// The sessions that earlier drafts of the group taint.
    pub(super) tainted: BTreeSet<String>,
}

impl Tip {
    /// Moves the tip behind a finished batch.
    fn move_behind(&mut self, batch: &BatchBuilder) {
        self.end.next_batch += 1;
        self.end.next_record = self.end.next_record.plus(batch.encoded_bytes());
    }

    /// Returns the head that the seal of the last batch names.
    pub(crate) fn seal(&self) -> HeadMark {
        self.end.main
    }

    /// Returns the name of the line; `None` for the main line.
    pub(super) fn line_name(&self) -> Option<&str> {
        self.line.as_ref().map(|line| &*line.name)
    }
}

/// The fields of a commit except its state.
pub(crate) struct Note<'a> {
    pub(crate) op: &'a str,
    pub(crate) target: Option<CommitDigest>,
    /// The commit that a merge brings in, with its time.
    pub(crate) merged: Option<(CommitDigest, Time)>,
    /// The state of that commit. Most branches that a merge changes are as they are there, and need not be hashed again.
    pub(crate) beside: Option<Trie>,
    pub(crate) writer: &'a Writer,
}

impl<'a> Note<'a> {
    pub(crate) fn new(op: &'a str, target: Option<CommitDigest>, writer: &'a Writer) -> Self {
        Self {
            op,
            target,
            merged: None,
            beside: None,
            writer,
        }
    }
}

/// A batch to write, with what the writer knows about it.
pub(crate) struct Ready {
    /// The line of the batch.
    pub(crate) source: Arc<Source>,
    pub(crate) batch: BatchBuilder,
    pub(crate) mark: HeadMark,
    pub(crate) known: Known,
    pub(crate) counts: ChangeCounts,
}

impl Ready {
    /// Returns a batch about which only the given facts are known. The store replays the batch for the others.
    pub(crate) fn of(source: &Arc<Source>, batch: BatchBuilder, mark: HeadMark, known: Known) -> Self {
        Self {
            source: Arc::clone(source),
            batch,
            mark,
            known,
            counts: ChangeCounts::default(),
        }
    }
}

impl Inner {
    /// Adds the record of a reason or source text, unless history already has the text.
    pub(crate) fn add_text(
        &self,
        batch: &mut BatchBuilder,
        text: Option<&str>,
    ) -> Result<Option<TextDigest>> {
        let Some(text) = text else { return Ok(None) };
        let digest = hash_text(self.store().suite, text.as_bytes());
        if self.store().records.find_text(digest)?.is_none() {
            batch.add(RecordKind::Text, 0, text.as_bytes());
        }
        Ok(Some(digest))
    }

    /// Returns the time of a commit whose parent has the time `parent` (CMT-3).
    pub(crate) fn time_after(&self, parent: Time) -> Time {
        let next = Time::from_micros(parent.as_micros().saturating_add(1));
        self.settings().clock.now().max(next)
    }

    /// Adds a commit with the parent `tip` to the end of a batch, and moves the tip to this commit. Returns what is known
    /// about the batch, if it contains no reference and no state.
    pub(crate) fn add_commit(
        &self,
        batch: &mut BatchBuilder,
        tip: &mut Tip,
        trie: Trie,
        root: Root,
        time: Time,
        note: &Note<'_>,
    ) -> Result<Known> {
        let source = self.add_text(batch, note.writer.source.as_deref())?;
        let reason = self.add_text(batch, note.writer.reason.as_deref())?;
        let merged = note.merged.map(|(merged, _)| merged);
        let commit = Commit {
            parents: std::iter::once(tip.mark.commit).chain(merged).collect(),
            root,
            seq: tip.mark.seq + 1,
            history_root: tip.history.root(),
            time,
            op: Op::new(note.op)?,
            target: note.target,
            actor: note.writer.actor.clone(),
            session: note.writer.session.clone(),
            source,
            trust: self.opened().capped(note.writer.trust),
            reason,
            reserved: BTreeMap::new(),
        };
        if commit.time <= tip.time {
            return Err(Error::invalid(
                "the newest commit already has the last possible time",
            ));
        }
        let bytes = commit.encode()?;
        batch.add(RecordKind::Commit, 0, &bytes);
        tip.mark = HeadMark {
            commit: Commit::hash(&bytes, self.store().suite),
            root,
            seq: commit.seq,
        };
        match &tip.line {
            None => tip.end.main = tip.mark,
            Some(line) => {
                let head = line_record(line, Some(tip.mark.commit), commit.time)?;
                batch.add(RecordKind::Line, 0, &head.encode()?);
            }
        }
        tip.history.append(&tip.mark.commit);
        tip.time = commit.time;
        tip.trie = trie;
        tip.move_behind(batch);
        Ok(Known {
            commit: Some((commit, tip.history.clone())),
            ..Known::default()
        })
    }

    /// Writes ready batches as one group, then publishes each batch. Returns the head after each batch, in order.
    pub(crate) fn write_group(
        &self,
        writing: &mut LogHandle,
        group: Vec<Ready>,
    ) -> Result<Vec<Arc<CommitEntry>>> {
        // With more room than needed, an allocation would have over 1 KiB, at which glibc first sorts all freed blocks.
        let (mut batches, mut known) = (Vec::with_capacity(group.len()), Vec::with_capacity(group.len()));
        for ready in group {
            batches.push((ready.batch, ready.mark));
            known.push((ready.known, ready.counts, ready.source));
        }
        // CMT-2: one batch contains a whole draft, and the log keeps a batch whole or not at all.
        let written = writing.append(batches, self.settings().durability)?;
        writing.tail_bytes += written.iter().map(body_bytes).sum::<u64>();
        let mut heads = Vec::with_capacity(written.len());
        let store = self.main().store();
        for (batch, (known, counts, source)) in written.iter().zip(known) {
            // CMT-1: `append` has returned, so the batch is as durable as the handle requires.
            let taken = store.apply(batch, Some(known));
            // After a failed `apply`, the log contains a batch that the store in memory lacks, so this handle must not
            // write again.
            let entry = taken.inspect_err(|_| writing.log.poison())?;
            if let Some(entry) = &entry {
                // Stores the counts of changes if the counts are known. The changes of a rollback are counted only when
                // a caller asks for these counts.
                if counts.total() > 0 {
                    entry.counts.get_or_init(|| counts);
                }
                trace::committed(entry, &counts, writing.took);
                source.opened.notify(entry);
            }
            heads.push(entry.map_or_else(|| source.opened.store().head(), Ok)?);
        }
        Ok(heads)
    }

    /// Returns an error if the draft belongs to another memory, because its digests and its lineage belong to another
    /// store.
    pub(crate) fn check_own(&self, draft: &Draft) -> Result<()> {
        if Arc::ptr_eq(&draft.base.source, &self.source) {
            return Ok(());
        }
        Err(Error::invalid("the draft belongs to another memory").with_code(ErrorCode::ForeignDraft))
    }

    /// Returns the end of the log before a group.
    fn end(&self, writing: &LogHandle) -> Result<End> {
        Ok(End {
            next_batch: writing.log.newest_batch() + 1,
            next_record: writing.log.next_record(),
            main: self.main().store().head()?.mark(),
            tainted: BTreeSet::new(),
        })
    }

    /// Returns the store, its head, and the head for the next commit.
    pub(crate) fn tip(&self, writing: &LogHandle) -> Result<(Arc<Store>, Arc<CommitEntry>, Tip)> {
        let store = self.store();
        let head = store.head()?;
        let tip = Tip {
            mark: head.mark(),
            time: head.commit.time,
            trie: store.state(&head)?,
            history: store.history(),
            line: store
                .line_name()
                .and_then(|name| store.lines().named(name).cloned()),
            end: self.end(writing)?,
        };
        Ok((store, head, tip))
    }

    /// Commits the drafts of a group, which may be of several lines. Returns the result of each request.
    pub(super) fn commit_group(
        &self,
        writing: &mut LogHandle,
        group: &[Request],
    ) -> Result<Vec<Result<Committed>>> {
        // If the log went to a new segment afterwards, the places of all records would be others.
        writing.make_room(group.iter().map(|request| request.draft.framed_bytes()).sum())?;
        let mut end = self.end(writing)?;
        let (mut ready, mut outcomes) = (Vec::new(), Vec::with_capacity(group.len()));
        let mut lines: Vec<Growing<'_>> = Vec::new();
        for Request { inner, draft, op, .. } in group {
            let known = lines.iter().position(|line| Arc::ptr_eq(line.inner, inner));
            let at: Result<usize> = known.map_or_else(
                || {
                    lines.push(Growing::new(inner, writing)?);
                    Ok(lines.len() - 1)
                },
                Ok,
            );
            let staged = at.and_then(|at| {
                let (line, note) = (&mut lines[at], Note::new(op, None, &draft.writer));
                let before = line.tip.mark.commit;
                line.tip.end = end.clone();
                let staged = inner.stage(
                    &line.store,
                    &mut line.tip,
                    &line.head,
                    &line.earlier,
                    draft,
                    &note,
                );
                let staged = staged?;
                end = line.tip.end.clone();
                line.earlier.push(draft);
                if staged.is_some() {
                    ready.extend(staged);
                    line.newest = Some(ready.len() - 1);
                }
                Ok((at, line.newest, line.tip.mark.commit != before))
            });
            outcomes.push((ready.len(), staged));
        }
        // The tips share their trie nodes with the newest states. While a tip exists, editing a node would copy the node
        // once more.
        let heads: Vec<Arc<CommitEntry>> = lines.into_iter().map(|line| line.head).collect();
        let written = if ready.is_empty() {
            Ok(Vec::new())
        } else {
            self.write_group(writing, ready)
        };
        let answers = outcomes.into_iter().map(|(after, outcome)| {
            // CMT-1: an outcome that depends on earlier commits of the group is valid only if those commits were
            // written.
            let written = match &written {
                Err(error) if after > 0 => return Err(error.clone()),
                Err(_) => &[][..],
                Ok(written) => written.as_slice(),
            };
            let (line, newest, changed) = outcome?;
            let head = newest
                .and_then(|newest| written.get(newest))
                .unwrap_or(&heads[line]);
            Ok(Committed::of(head, changed))
        });
        Ok(answers.collect())
    }

    /// Checks one draft against the tip, which already contains the drafts in `earlier`, and makes its batch. If the tip
    /// contains all changes of the draft too, makes no commit, unless the draft reverses the commit `note.target` or merges
    /// one. Then returns `None`, or a batch with the taints of the draft.
    pub(crate) fn stage(
        &self,
        store: &Arc<Store>,
        tip: &mut Tip,
        head: &CommitEntry,
        earlier: &[&Draft],
        draft: &Draft,
        note: &Note<'_>,
    ) -> Result<Option<Ready>> {
        if draft.only_on_base && draft.base.entry.digest != tip.mark.commit {
            return Err(Error::conflict(
                "another writer committed since this change was checked",
            ));
        }
        let (mut batch, start) = (BatchBuilder::new(), tip.end.next_record);
        let tainted = self.new_taints(store, &mut batch, tip, draft)?;
        let taints = batch.clone();
        let mut references = Vec::new();
        if draft.snapshot_before {
            references.push(self.add_ring_snapshot(&mut batch, tip, &draft.writer)?);
        }
        if !draft.is_empty() {
            store.flush()?;
            batch.reserve(draft.framed_bytes());
        }
        // CMT-3
        let parents = note.merged.map_or(tip.time, |(_, time)| tip.time.max(time));
        let time = self.time_after(parents);
        let place = Place::Commit(start, time);
        let changed = add_changes(store, draft, &mut batch, tip.trie.clone(), &**store, place)?;
        if changed.counts.total() == 0 && note.target.is_none() && note.merged.is_none() {
            return self.stage_taints(store, tip, draft);
        }
        let touches_tree = draft.touches_tree();
        if touches_tree {
            self.check_tree(&State::of(store, head)?, earlier, draft)?;
        }
        if let Some(beside) = &note.beside {
            changed.trie.take_digests(beside, store.suite, Shape::State);
        }
        let root = changed.trie.root(store.suite, Shape::State, &**store)?;
        let may_be_known = note.target.is_some() || changed.counts.total() == 0;
        let is_known = may_be_known && store.by_root(root)?.is_some();
        if is_known {
            // History keeps the state that a reversal restores, so the batch needs no records except the commit.
            batch = taints;
            references.clear();
        }
        check_untainted(store, tip, draft)?;
        // Each draft is checked against the limits before grouping, so a draft over a limit fails alone.
        batch.check()?;
        let trie = changed.trie.clone();
        let known = self.add_commit(&mut batch, tip, changed.trie, root, time, note)?;
        tip.end.tainted.extend(tainted);
        let state = StagedState {
            trie,
            start,
            unlinked: changed.unlinked,
            named: changed.named,
            touches_tree,
            objects: changed.objects,
        };
        Ok(Some(Ready {
            source: Arc::clone(&self.source),
            batch,
            mark: tip.seal(),
            known: Known {
                state: (!is_known).then_some(state),
                references,
                ..known
            },
            counts: changed.counts,
        }))
    }

    /// Makes a batch with the taints of a draft and without a commit. Returns `None` if the draft has no new taints.
    fn stage_taints(&self, store: &Store, tip: &mut Tip, draft: &Draft) -> Result<Option<Ready>> {
        check_untainted(store, tip, draft)?;
        let mut batch = BatchBuilder::new();
        let tainted = self.new_taints(store, &mut batch, tip, draft)?;
        if tainted.is_empty() {
            return Ok(None);
        }
        tip.end.tainted.extend(tainted);
        tip.move_behind(&batch);
        Ok(Some(Ready::of(&self.source, batch, tip.seal(), Known::default())))
    }

    /// Checks the tree of parents after a draft. `before` is the state before the drafts in `earlier`, which are not
    /// written yet.
    pub(crate) fn check_tree(&self, before: &State, earlier: &[&Draft], draft: &Draft) -> Result<()> {
        let mut placed: BTreeMap<KeyPath, Placed> = BTreeMap::new();
        for (key, change) in earlier
            .iter()
            .chain([&draft])
            .flat_map(|draft| draft.staged.iter())
        {
            let (id, exists) = (change.id.clone(), change.new.is_some());
            let parent = change.new.as_ref().and_then(|staged| staged.object.parent());
            let parent = parent.map(Id::new).transpose()?;
            // The check compares with the state before the group. So an object that an earlier draft of the group moved
            // is marked as moved.
            let moved = change.old.is_none()
                || !exists
                || parent != change.old_parent
                || placed.get(&key).is_some_and(|before| before.moved);
            let now = Placed {
                id,
                exists,
                parent,
                moved,
            };
            placed.insert(key, now);
        }
        tree::check(&self.source, before, &placed)
    }

    /// Adds an automatic snapshot of the tip to the writer's ring.
    pub(crate) fn add_ring_snapshot(
        &self,
        batch: &mut BatchBuilder,
        tip: &Tip,
        writer: &Writer,
    ) -> Result<Reference> {
        let name = ReferenceName::of_ring(tip.end.next_batch);
        let mut reference = self.reference(batch, name, Some(tip.mark.commit), tip.time, writer)?;
        reference.lane = Some(writer.lane().to_owned());
        reference.line = tip.line_name().map(str::to_owned);
        batch.add(RecordKind::Reference, 0, &reference.encode()?);
        Ok(reference)
    }
}

/// A line on which a group builds commits.
struct Growing<'a> {
    inner: &'a Arc<Inner>,
    store: Arc<Store>,
    /// The head before the group.
    head: Arc<CommitEntry>,
    tip: Tip,
    /// The drafts of the line that the group contains so far.
    earlier: Vec<&'a Draft>,
    /// The index of the newest batch of the line in the group.
    newest: Option<usize>,
}

impl<'a> Growing<'a> {
    fn new(inner: &'a Arc<Inner>, writing: &LogHandle) -> Result<Self> {
        inner.renew()?;
        let (store, head, tip) = inner.tip(writing)?;
        Ok(Self {
            inner,
            store,
            head,
            tip,
            earlier: Vec::new(),
            newest: None,
        })
    }
}

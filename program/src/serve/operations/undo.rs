//! `memory_undo`: the ways back: undo, redo, rollback and revert.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::Line;
use super::operation::{Answer, Choice, Effect, Operation, Page, Profile};
use crate::answers::commits::{ReversalPreview, RollbackPreview, counts};
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::naming::{Named, Naming};
use treering::inspect::engine::ChangeKind;
use treering::inspect::object::Op;
use treering::revert::{Conflicts, Reverted, Selection};
use treering::{
    Change, ChangeCounts, CommitDigest, Committed, Error, ErrorCode, Id, Memory, Result, Revision, Root,
    View, Writer,
};

/// The number of objects that the text names.
const TOLD: usize = 20;

named! {
    /// A way back.
    #[derive(Default, Deserialize)]
    pub(super) enum Way {
        /// Reverse your last change.
        #[default]
        Undo => "undo",
        /// Repeat what was undone.
        Redo => "redo",
        /// Restore the whole state `to`.
        Rollback => "rollback",
        /// Take back what a session or source wrote, and keep the later work of others.
        Revert => "revert",
    }
}

/// Take back changes. undo: your last change; redo: it again; rollback: the whole state `to`; revert: what a session
/// or source wrote. Each can be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Undo {
    /// [default: undo]
    #[serde(default)]
    action: Way,
    /// rollback: a snapshot, seq:7, @-3, a root or a time
    to: Option<String>,
    /// revert: [default: this one, or any with source]
    session: Option<String>,
    /// revert: the URL, file or tool
    source: Option<String>,
    /// rollback: also what other sessions wrote
    others: Option<bool>,
    reason: Option<String>,
    /// Only show it
    dry_run: Option<bool>,
    /// Only at this root
    expected: Option<String>,
}

/// The answer of `memory_undo`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Undone {
    root: Root,
    seq: u64,
    #[serde(flatten)]
    counts: Option<Counts>,
    /// What an undo or redo changes.
    changes: Vec<ChangedId>,
    dry_run: bool,
    #[serde(flatten)]
    reverted: Option<RevertedIds>,
}

shown! {
    /// The numbers of changed objects.
    struct Counts of ChangeCounts {
        added: u64,
        changed: u64,
        removed: u64,
    }
}

shown! {
    /// An object that an undo or redo changes.
    struct ChangedId of Change {
        id: Id,
        change: ChangeKind = kind,
    }
}

/// The objects of a revert.
#[derive(Default, Serialize, JsonSchema)]
struct RevertedIds {
    reverted: Vec<RevertedId>,
    kept: Vec<KeptId>,
    derived: Vec<Named>,
}

/// An object that a revert changes.
#[derive(Serialize, JsonSchema)]
struct RevertedId {
    id: Id,
    gone_with: Option<Named>,
    thinned: bool,
}

/// An object that a revert leaves as it is.
#[derive(Serialize, JsonSchema)]
struct KeptId {
    id: Named,
    because: &'static str,
    other: Option<Named>,
    seq: Option<u64>,
}

impl Operation for Undo {
    const NAME: &'static str = "memory_undo";
    const TITLE: &'static str = "Undo, rollback or revert";
    const EFFECT: Effect = Effect::Removes;
    const PROFILE: Profile = Profile::Minimal;
    const CHOICE: Option<Choice> = Some(Choice {
        argument: "action",
        older: Some("how"),
        default: "undo",
        users: &[
            ("to", &["rollback"]),
            ("others", &["rollback"]),
            ("session", &["revert"]),
            ("source", &["revert"]),
        ],
    });
    const LEAVES_OUT: bool = true;
    type Answer = Undone;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<Undone>> {
        let head = self.head(service)?;
        let memory = service.memory();
        let mut writer = service.writer_of(self.is_dry())?;
        writer.reason.clone_from(&self.reason);
        let writer = service.clean(&writer)?;
        match self.action {
            Way::Undo => self.reverse(memory, Op::UNDO, head, &writer),
            Way::Redo => self.reverse(memory, Op::REDO, head, &writer),
            Way::Rollback => self.rollback(service, memory, head, &writer),
            Way::Revert => self.revert(service, memory, head, &writer),
        }
    }
}

impl Undo {
    fn is_dry(&self) -> bool {
        self.dry_run.unwrap_or_default()
    }

    /// Returns the head that the way back must still meet, if the call expects one.
    fn head(&self, service: &Service) -> Result<Option<CommitDigest>> {
        let view = service.head()?;
        let Some(expected) = &self.expected else {
            return Ok(None);
        };
        if *expected != view.root().to_hex() {
            let text = format!("the head moved to seq:{} meanwhile", view.commit().commit.seq);
            return Err(Error::conflict(text)
                .with_code(ErrorCode::HeadMoved)
                .with_hint("look at it again with dry_run, which gives the root"));
        }
        Ok(Some(view.commit().digest))
    }

    fn reverse(
        &self,
        memory: &Memory,
        op: &'static str,
        head: Option<CommitDigest>,
        writer: &Writer,
    ) -> Result<Answer<Undone>> {
        if self.is_dry() {
            let view = memory.view();
            let preview = ReversalPreview::of(op, &view, &memory.reverse_preview(op, writer)?);
            let line = format!("would {op}: {}", told(preview.counts));
            let undone = Undone {
                changes: preview.changes.into_iter().map(ChangedId::from).collect(),
                ..self.counted(&view, preview.seq, preview.counts)
            };
            return Ok(undone.with_lines(view, line));
        }
        let committed = memory.reverse(op, head, writer)?;
        let (view, counts) = (memory.view(), counts(memory, &committed)?);
        let undone = Undone {
            changes: changes(memory, &committed)?,
            ..self.counted(&view, committed.commit.commit.seq, counts)
        };
        Ok(undone.with_lines(view, format!("{op}: {}", told(counts))))
    }

    /// Returns the answer of a rollback, which only counts its changes.
    fn done(&self, memory: &Memory, committed: &Committed, what: &str) -> Result<Answer<Undone>> {
        let (view, counts) = (memory.view(), counts(memory, committed)?);
        let undone = self.counted(&view, committed.commit.commit.seq, counts);
        Ok(Answer::new(view, undone, format!("{what}: {}", told(counts))))
    }

    fn counted(&self, view: &View, seq: u64, counts: ChangeCounts) -> Undone {
        Undone {
            root: view.root(),
            seq,
            counts: Some(counts.into()),
            changes: Vec::new(),
            dry_run: self.is_dry(),
            reverted: None,
        }
    }

    fn rollback(
        &self,
        service: &Service,
        memory: &Memory,
        head: Option<CommitDigest>,
        writer: &Writer,
    ) -> Result<Answer<Undone>> {
        let to = self.to.as_deref().ok_or_else(|| {
            Error::invalid("a rollback needs to")
                .with_code(ErrorCode::Usage)
                .with_hint("give to, such as snap:0 or the root of an earlier answer; memory_snapshot lists snapshots")
        })?;
        let all = self.others.unwrap_or_default();
        if all {
            service.check_takes_back_others()?;
        }
        let target = service.revision(to)?;
        if self.is_dry() {
            let (preview, _, refused) = RollbackPreview::of(memory, &target, all, writer)?;
            // A client that takes back its own work alone learns nothing of the sessions of others (TMC-2).
            let refused = refused.map(|refused| match service.check_takes_back_others() {
                Ok(()) => format!("; needs others: {refused}"),
                Err(refused) => format!("; would be refused: {refused}"),
            });
            let line = format!(
                "would roll back: {}{}",
                told(preview.counts),
                refused.unwrap_or_default()
            );
            let view = memory.view();
            let undone = self.counted(&view, preview.seq, preview.counts);
            return Ok(Answer::new(view, undone, line));
        }
        let rollback = memory.rollback(&target);
        let rollback = if all { rollback.across_lanes() } else { rollback };
        let rollback = match head {
            Some(head) => rollback.expect_head(head),
            None => rollback,
        };
        let committed = rollback.by(writer).map_err(|error| match error.code() {
            ErrorCode::OtherLanes => service.check_takes_back_others().err().unwrap_or_else(|| {
                error.with_hint(
                    "others: true also rolls back their work; action: undo reverses only your own last change",
                )
            }),
            _ => error,
        })?;
        self.done(memory, &committed, &format!("rolled back to {}", quoted(to)))
    }

    fn revert(
        &self,
        service: &Service,
        memory: &Memory,
        head: Option<CommitDigest>,
        writer: &Writer,
    ) -> Result<Answer<Undone>> {
        let session = match (&self.session, &self.source) {
            (None, None) => Some(service.session().to_owned()),
            (session, _) => session.clone(),
        };
        let mut selection = Selection::default();
        selection.sessions.extend(session);
        selection.sources.extend(self.source.clone());
        let selection = service.own_of(selection);
        let revert = memory.revert(selection).conflicts(Conflicts::Keep);
        let revert = match head {
            Some(head) => revert.expect_head(head),
            None => revert,
        };
        let reverted = if self.is_dry() {
            revert.preview(writer)?
        } else {
            revert.by(writer)?
        };
        let verb = if self.is_dry() { "would revert" } else { "reverted" };
        let selected = counted(reverted.selected, "commit");
        let line = if reverted.reverted.is_empty() && reverted.kept.is_empty() {
            format!("nothing to revert: nothing of {selected} is left")
        } else {
            format!(
                "{verb} {selected}: {} changed, {} kept because others changed them later",
                counted(reverted.reverted.len() as u64, "object"),
                reverted.kept.len()
            )
        };
        let view = memory.view();
        let mut naming = Naming::new(service, &view, true)?;
        let undone = Undone {
            root: view.root(),
            seq: reverted.committed.commit.commit.seq,
            counts: None,
            changes: Vec::new(),
            dry_run: reverted.dry_run,
            reverted: Some(RevertedIds::of(reverted, &mut naming)?),
        };
        let left_out = naming.left_out;
        let notes = undone.reverted.iter().flat_map(|ids| ids.lines(&view));
        let notes: Vec<_> = notes.take(TOLD).collect();
        Ok(Answer::new(view, undone, line)
            .with_notes(notes)
            .leaving_out(left_out))
    }
}

impl Undone {
    /// Returns the answer with a line for each of the first changes.
    fn with_lines(self, view: View, line: String) -> Answer<Self> {
        let changes = self.changes.iter().take(TOLD);
        let notes = changes.map(|one| Line::of_id(&view, &one.id).says([one.change]).to_string());
        let notes: Vec<_> = notes.collect();
        Answer::new(view, self, line).with_notes(notes)
    }
}

/// Returns what a commit changed. Returns nothing if the way back made no commit.
fn changes(memory: &Memory, committed: &Committed) -> Result<Vec<ChangedId>> {
    let commit = &committed.commit.commit;
    let Some(before) = commit.parents.first().filter(|_| committed.changed) else {
        return Ok(Vec::new());
    };
    let at = |commit: CommitDigest| memory.at(Revision::Prefix(commit.to_hex()));
    let changes = memory.diff(&at(*before)?, &at(committed.commit.digest)?)?;
    Ok(changes.into_iter().map(ChangedId::from).collect())
}

impl RevertedIds {
    /// Returns a line for each object.
    fn lines(&self, view: &View) -> Vec<String> {
        let kept = self
            .kept
            .iter()
            .map(|one| format!("- (kept, {}) {}", one.because, one.id.named(view)));
        let derived = self
            .derived
            .iter()
            .map(|id| format!("- (derived) {}", id.named(view)));
        let reverted = self.reverted.iter();
        let reverted = reverted.map(|one| Line::of_id(view, &one.id).says(["reverted"]).to_string());
        kept.chain(derived).chain(reverted).collect()
    }

    fn of(done: Reverted, naming: &mut Naming<'_>) -> Result<Self> {
        let mut ids = Self::default();
        for object in done.reverted {
            ids.reverted.push(RevertedId {
                id: object.id,
                gone_with: naming.name_any(object.gone_with)?,
                thinned: object.thinned,
            });
        }
        for object in done.kept {
            let (because, other) = object.because.name_and_other();
            if let Some(id) = naming.name(object.id)? {
                ids.kept.push(KeptId {
                    id,
                    because,
                    other: naming.name_any(other.cloned())?,
                    seq: object.by.map(|by| by.commit.seq),
                });
            }
        }
        ids.derived = naming.names(done.derived)?;
        Ok(ids)
    }
}

fn told(counts: ChangeCounts) -> String {
    format!(
        "{} added, {} changed, {} removed",
        counts.added, counts.changed, counts.removed
    )
}

//! `memory_undo`: the ways back: undo, redo, rollback and revert.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Answer, Choice, Effect, Operation, Page, Profile};
use crate::answers::commits::{Moved, ReversalPreview, RollbackPreview};
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use treering::inspect::object::Op;
use treering::revert::{Conflicts, Reverted, Selection};
use treering::{Error, ErrorCode, Memory, Result, Writer};

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
    how: Way,
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
}

/// The answer of `memory_undo`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Undone {
    Moved(Moved),
    Reversal(ReversalPreview),
    Rollback(RollbackPreview),
    Reverted(Box<Reverted>),
}

impl Operation for Undo {
    const NAME: &'static str = "memory_undo";
    const TITLE: &'static str = "Undo, rollback or revert";
    const EFFECT: Effect = Effect::Removes;
    const PROFILE: Profile = Profile::Minimal;
    const CHOICE: Option<Choice> = Some(Choice {
        argument: "how",
        default: "undo",
        users: &[
            ("to", &["rollback"]),
            ("others", &["rollback"]),
            ("session", &["revert"]),
            ("source", &["revert"]),
        ],
    });
    const HIDDEN: &'static [&'static str] = &[
        "commit",
        "target",
        "old",
        "new",
        "from",
        "to",
        "erased",
        "digest",
        "parents",
        "time",
        "by",
        "needs",
        "other_lanes",
        "op",
        "selected",
    ];
    const LEAVES_OUT: bool = true;
    type Answer = Undone;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<Undone>> {
        service.head()?;
        let memory = service.memory();
        let mut writer = service.writer()?;
        writer.reason.clone_from(&self.reason);
        let writer = service.clean(&writer)?;
        let (undone, line) = match self.how {
            Way::Undo => self.reverse(memory, Op::UNDO, &writer)?,
            Way::Redo => self.reverse(memory, Op::REDO, &writer)?,
            Way::Rollback => self.rollback(memory, &writer)?,
            Way::Revert => self.revert(service, memory, &writer)?,
        };
        Ok(Answer::new(memory.view(), undone, line).naming_untrusted(true))
    }
}

impl Undo {
    fn is_dry(&self) -> bool {
        self.dry_run.unwrap_or_default()
    }

    fn reverse(&self, memory: &Memory, op: &'static str, writer: &Writer) -> Result<(Undone, String)> {
        if self.is_dry() {
            let preview = ReversalPreview::of(op, &memory.view(), &memory.reverse_preview(op, writer)?);
            let line = format!("would {op}: {}", counts(preview.counts));
            return Ok((Undone::Reversal(preview), line));
        }
        let committed = match op {
            Op::UNDO => memory.undo(writer)?,
            _ => memory.redo(writer)?,
        };
        let moved = Moved::of(memory, &committed)?;
        let line = format!("{op}: {}", counts(moved.counts));
        Ok((Undone::Moved(moved), line))
    }

    fn rollback(&self, memory: &Memory, writer: &Writer) -> Result<(Undone, String)> {
        let to = self.to.as_deref().ok_or_else(|| {
            Error::invalid("a rollback needs to")
                .with_code(ErrorCode::Usage)
                .with_hint("give to, such as snap:0 or the root of an earlier answer; memory_snapshot lists snapshots")
        })?;
        let all = self.others.unwrap_or_default();
        let target = to.parse()?;
        if self.is_dry() {
            let (preview, _, refused) = RollbackPreview::of(memory, &target, all, writer)?;
            let refused = refused.map(|refused| format!("; needs others: {refused}"));
            let line = format!(
                "would roll back: {}{}",
                counts(preview.counts),
                refused.unwrap_or_default()
            );
            return Ok((Undone::Rollback(preview), line));
        }
        let rollback = memory.rollback(&target);
        let rollback = if all { rollback.across_lanes() } else { rollback };
        let committed = rollback.by(writer).map_err(|error| match error.code() {
            ErrorCode::OtherLanes => error.with_hint(
                "others: true also rolls back their work; how: undo reverses only your own last change",
            ),
            _ => error,
        })?;
        let moved = Moved::of(memory, &committed)?;
        let line = format!("rolled back to {}: {}", quoted(to), counts(moved.counts));
        Ok((Undone::Moved(moved), line))
    }

    fn revert(&self, service: &Service, memory: &Memory, writer: &Writer) -> Result<(Undone, String)> {
        let session = match (&self.session, &self.source) {
            (None, None) => Some(service.caller().session.clone()),
            (session, _) => session.clone(),
        };
        let mut selection = Selection::default();
        selection.sessions.extend(session);
        selection.sources.extend(self.source.clone());
        let revert = memory.revert(selection).conflicts(Conflicts::Keep);
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
        Ok((Undone::Reverted(Box::new(reverted)), line))
    }
}

fn counts(counts: treering::ChangeCounts) -> String {
    format!(
        "{} added, {} changed, {} removed",
        counts.added, counts.changed, counts.removed
    )
}

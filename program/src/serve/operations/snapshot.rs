//! `memory_snapshot`: names a state, lists the names, and compares states.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{Line, Row, minute};
use super::operation::{Answer, Choice, Effect, Operation, Page, Profile};
use crate::answers::history::SnapshotLine;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::naming::LeftOut;
use treering::agent::StoredText;
use treering::inspect::agent::refuse_secret_name;
use treering::inspect::engine::ChangeKind;
use treering::inspect::object::check_snapshot_name;
use treering::{Change, Error, ErrorCode, Id, Object, Origin, Result, Root, Time, View};

/// The largest number of rows of a page.
const LIMIT: usize = 100;

named! {
    /// What to do with snapshots.
    #[derive(Default, Deserialize)]
    pub(super) enum Action {
        /// Name the present state.
        #[default]
        Take => "take",
        /// List the snapshots, newest first.
        List => "list",
        /// Show what changed from one state to another.
        Diff => "diff",
    }
}

/// Name the present state to return to, list such names, or show what changed since one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Snapshot {
    /// [default: take]
    #[serde(default)]
    action: Action,
    /// [default: the next snap:N]
    name: Option<String>,
    reason: Option<String>,
    /// diff: a snapshot, seq:7, @-3, a root or a time
    from: Option<String>,
    /// diff: [default: now]
    to: Option<String>,
}

/// The answer of `memory_snapshot`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Snapshots {
    Taken {
        /// What names the state in other calls.
        revision: String,
        root: Root,
        time: Time,
        seq: u64,
    },
    /// The snapshots, or the changes from one state to another.
    Rows { rows: Vec<SnapshotRow> },
}

/// A row of `memory_snapshot`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum SnapshotRow {
    Snapshot {
        revision: String,
        /// The class of the name; absent if the store does not tell it.
        trust: Option<Origin>,
        root: Root,
        time: Time,
        seq: u64,
    },
    Change {
        id: Id,
        change: ChangeKind,
        trust: Origin,
        flags: Vec<String>,
        /// The text after the change, or before a removal.
        text: Option<String>,
    },
}

impl SnapshotRow {
    fn of_snapshot((snapshot, trust): (SnapshotLine, Option<Origin>)) -> Self {
        Self::Snapshot {
            revision: snapshot.revision(),
            trust,
            root: snapshot.info.root,
            time: snapshot.info.time,
            seq: snapshot.info.seq,
        }
    }

    fn of_change(service: &Service, (change, object): (Change, Object)) -> Self {
        let shown = StoredText::of(service.agent(), &object, false);
        Self::Change {
            id: change.id,
            change: change.kind,
            trust: shown.trust,
            flags: shown.flags,
            text: shown.text,
        }
    }
}

impl Row for SnapshotRow {
    fn line(&self, view: &View) -> Line {
        match self {
            Self::Snapshot {
                revision,
                trust,
                time,
                ..
            } => Line::of(revision).says(*trust).says([minute(*time)]),
            Self::Change {
                id,
                change,
                trust,
                flags,
                text,
            } => {
                let line = Line::of_id(view, id).says([trust]).says([change]);
                line.flagged(flags).text(text.as_deref())
            }
        }
    }
}

impl Operation for Snapshot {
    const NAME: &'static str = "memory_snapshot";
    const TITLE: &'static str = "Snapshot or diff";
    const EFFECT: Effect = Effect::Adds;
    const PROFILE: Profile = Profile::Default;
    const CHOICE: Option<Choice> = Some(Choice {
        argument: "action",
        older: None,
        default: "take",
        users: &[
            ("name", &["take"]),
            ("reason", &["take"]),
            ("from", &["diff"]),
            ("to", &["diff"]),
        ],
    });
    const PAGED: Option<&'static str> = Some("rows");
    const LEAVES_OUT: bool = true;
    type Answer = Snapshots;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Snapshots>> {
        match self.action {
            Action::Take => self.take(service),
            Action::List => {
                let view = page.view(service, None)?;
                let newest = view.commit().commit.seq;
                let (all, left_out) = service.snapshots(&view)?;
                let all = all
                    .into_iter()
                    .filter(|(snapshot, _)| snapshot.info.seq <= newest);
                let rows: Vec<_> = all.map(SnapshotRow::of_snapshot).collect();
                let line = first_line(rows.len(), "snapshot", page);
                let has_more = rows.len() > page.start + LIMIT;
                let rows = rows.into_iter().skip(page.start).take(LIMIT).collect();
                let answer = Answer::of_rows(view, rows, |rows| Snapshots::Rows { rows }, line);
                let answer = answer.leaving_out(LeftOut::of_untrusted(left_out));
                Ok(answer.beginning_at(page.start).with_more(has_more))
            }
            Action::Diff => {
                let from = self.from.as_deref().ok_or_else(|| {
                    Error::invalid("the action 'diff' needs from")
                        .with_code(ErrorCode::Usage)
                        .with_hint("give from, such as snap:0, @-3 or the root of an earlier answer")
                })?;
                let older = service.state(from)?;
                let newer = page.view(service, self.to.as_deref())?;
                let (changes, left_out) = changes(service, &older, &newer)?;
                let line = first_line(changes.len(), "change", page);
                let has_more = changes.len() > page.start + LIMIT;
                let shown = changes.into_iter().skip(page.start).take(LIMIT);
                let rows = shown.map(|changed| SnapshotRow::of_change(service, changed));
                let rows = rows.collect();
                let answer = Answer::of_rows(newer, rows, |rows| Snapshots::Rows { rows }, line);
                let answer = answer.leaving_out(LeftOut::of_untrusted(left_out));
                Ok(answer.beginning_at(page.start).with_more(has_more))
            }
        }
    }
}

impl Snapshot {
    fn take(self, service: &Service) -> Result<Answer<Snapshots>> {
        if let Some(name) = &self.name {
            check_snapshot_name(name)?;
            refuse_secret_name("the name of the snapshot", name)?;
        }
        let mut writer = service.writer()?;
        writer.reason = self.reason;
        let writer = service.clean(&writer)?;
        service.head()?;
        let info = service.memory().snapshot(self.name.as_deref(), &writer)?;
        let snapshot = SnapshotLine::from(info);
        let revision = snapshot.revision();
        let line = format!("snapshot {} of seq {}", quoted(&revision), snapshot.info.seq);
        let taken = Snapshots::Taken {
            revision,
            root: snapshot.info.root,
            time: snapshot.info.time,
            seq: snapshot.info.seq,
        };
        Ok(Answer::new(service.memory().view(), taken, line))
    }
}

fn first_line(count: usize, what: &str, page: &Page) -> String {
    let line = counted(count as u64, what);
    if page.start > 0 {
        return format!("{line}, from {}", page.start + 1);
    }
    line
}

/// Returns the changes between two states in the caller's scopes, each with the object after the change, or before a
/// removal; and the number of untrusted objects, which stay out (SRV-3).
fn changes(service: &Service, older: &View, newer: &View) -> Result<(Vec<(Change, Object)>, usize)> {
    let reach = service.reach(None)?;
    let (mut found, mut left_out) = (Vec::new(), 0);
    for change in service.memory().diff(older, newer)? {
        if change.erased {
            continue;
        }
        let object = match newer.get(&change.id)? {
            Some(object) => Some(object),
            None => older.get(&change.id)?,
        };
        match object.filter(|object| reach.has(object.scope())) {
            Some(object) if object.origin().is_trusted() => found.push((change, object)),
            Some(_) => left_out += 1,
            None => {}
        }
    }
    Ok((found, left_out))
}

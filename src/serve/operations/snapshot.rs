//! `memory_snapshot`: names a state, lists the names, and compares states.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::agent::{StoredText, refuse_secret_name};
use crate::answers::history::{SnapshotLine, SnapshotTaken};
use crate::engine::{Change, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::check_snapshot_name;
use crate::serve::Service;

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
    Taken(Box<SnapshotTaken>),
    /// The snapshots, or the changes from one state to another.
    Rows {
        rows: Vec<Row>,
    },
}

/// A row of `memory_snapshot`.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Row {
    Snapshot {
        revision: String,
        #[serde(flatten)]
        snapshot: SnapshotLine,
    },
    Change {
        #[serde(flatten)]
        change: Change,
        /// The text after the change, or before a removal.
        #[serde(flatten)]
        shown: Option<StoredText>,
    },
}

impl Operation for Snapshot {
    const NAME: &'static str = "memory_snapshot";
    const TITLE: &'static str = "Snapshot or diff";
    const EFFECT: Effect = Effect::Adds;
    const PROFILE: Profile = Profile::Default;
    const PAGED: Option<&'static str> = Some("rows");
    const HIDDEN: &'static [&'static str] = &[
        "old", "new", "commit", "index", "actor", "session", "erased", "deleted", "name", "reason", "lane",
    ];
    type Answer = Snapshots;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Snapshots>> {
        let wanted = page.start + LIMIT;
        match self.action {
            Action::Take => self.take(service),
            Action::List => {
                let view = page.view(service, None)?;
                let newest = view.commit().commit.seq;
                let all = service
                    .memory()
                    .snapshots()?
                    .into_iter()
                    .filter(|info| info.seq <= newest);
                let rows = all.map(SnapshotLine::from).map(|snapshot| Row::Snapshot {
                    revision: snapshot.revision(),
                    snapshot,
                });
                Ok(of_rows(view, rows.collect(), wanted, page, "snapshots"))
            }
            Action::Diff => {
                let from = self.from.as_deref().ok_or_else(|| {
                    Error::invalid("the action 'diff' needs from")
                        .with_code(ErrorCode::Usage)
                        .with_hint("give from, such as snap:0, @-3 or the root of an earlier answer")
                })?;
                let older = service.state(from)?;
                let newer = page.view(service, self.to.as_deref())?;
                let rows = changes(service, &older, &newer)?;
                Ok(of_rows(newer, rows, wanted, page, "changes"))
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
        let writer = Writer {
            reason: self.reason,
            ..service.writer()
        };
        let writer = service.clean(&writer)?;
        service.head()?;
        let info = service.memory().snapshot(self.name.as_deref(), &writer)?;
        let snapshot = SnapshotLine::from(info);
        let line = format!("snapshot {} of seq {}", snapshot.revision(), snapshot.info.seq);
        let taken = SnapshotTaken {
            snapshot,
            deleted: false,
        };
        Ok(Answer::new(
            service.memory().view(),
            Snapshots::Taken(Box::new(taken)),
            line,
        ))
    }
}

fn of_rows(view: View, mut rows: Vec<Row>, wanted: usize, page: &Page, what: &str) -> Answer<Snapshots> {
    let line = format!("{} {what}", rows.len());
    let has_more = rows.len() > wanted;
    rows.truncate(wanted);
    let line = if page.start > 0 {
        format!("{line}, from {}", page.start + 1)
    } else {
        line
    };
    Answer::new(view, Snapshots::Rows { rows }, line).with_more(has_more)
}

/// Returns the changes between two states in the caller's scopes (SRV-3).
fn changes(service: &Service, older: &View, newer: &View) -> Result<Vec<Row>> {
    let reach = service.reach(None)?;
    let mut rows = Vec::new();
    for change in service.memory().diff(older, newer)? {
        if change.erased {
            continue;
        }
        let object = match newer.get(&change.id)? {
            Some(object) => Some(object),
            None => older.get(&change.id)?,
        };
        let Some(object) = object.filter(|object| reach.has(object.scope())) else {
            continue;
        };
        let shown = Some(StoredText::of(service.agent(), &object, false));
        rows.push(Row::Change { change, shown });
    }
    Ok(rows)
}

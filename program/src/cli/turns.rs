//! Turns: the commits of a session from one prompt of the person to the next.
//!
//! A turn has the name of the commit of its prompt, `seq:7`, which stays the same for ever and is a revision, too.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use treering::inspect::agent::vocabulary::{attribute, kind};
use treering::inspect::object::Op;
use treering::revert::{Conflicts, Reverted, Selection};
use treering::{
    ChangeCounts, CommitDigest, CommitInfo, Error, ErrorCode, Memory, Object, Result, Revision, Time, Writer,
};

/// The operations that take work back, which belong to no turn.
const BACK: [&str; 4] = [Op::UNDO, Op::REDO, Op::ROLLBACK, Op::REVERT];

/// A turn of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Turn {
    /// The name, which is also the revision of the commit of the prompt.
    pub(crate) turn: String,
    pub(crate) session: String,
    /// The first commit, that of the prompt.
    pub(crate) from: CommitDigest,
    /// The last commit.
    pub(crate) to: CommitDigest,
    /// The number of commits.
    pub(crate) commits: u64,
    /// The time of the prompt.
    pub(crate) time: Time,
    /// What the turn read from outside the workspace: addresses, paths and tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) sources: BTreeSet<String>,
    /// The prompt.
    #[serde(skip)]
    pub(crate) prompt: Option<Object>,
    #[serde(skip)]
    pub(crate) counts: ChangeCounts,
    #[serde(skip)]
    all: Vec<CommitInfo>,
}

impl Turn {
    /// Adds what the commits of the turn contain.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    pub(crate) fn read(mut self, memory: &Memory) -> Result<Self> {
        for info in &self.all {
            let counts = memory.commit_counts(info)?;
            self.counts.added += counts.added;
            self.counts.changed += counts.changed;
            self.counts.removed += counts.removed;
            let Some(before) = memory.view_before(info)? else {
                continue;
            };
            let after = memory.view_at(&Revision::Prefix(info.digest.to_hex()), "")?;
            for change in memory.diff(&before, &after)? {
                let is_entry = change.id.as_str().starts_with(kind::ENTRY) && change.old.is_none();
                let entry = if is_entry { after.get(&change.id)? } else { None };
                let Some(entry) = entry.filter(|entry| entry.kind() == kind::ENTRY) else {
                    continue;
                };
                let text = |name: &str| {
                    entry
                        .attribute(name)
                        .and_then(|value| value.as_text().map(str::to_owned))
                };
                self.sources.extend(text(attribute::SOURCE));
                if text(attribute::PROMPT).is_some() && info.digest == self.from {
                    self.prompt = Some(entry);
                }
            }
        }
        Ok(self)
    }
}

/// Iterates the turns, newest first: those of a session, or of all sessions.
pub(crate) fn turns(memory: &Memory, session: Option<&str>) -> impl Iterator<Item = Result<Turn>> {
    let session = session.map(str::to_owned);
    let mut later: HashMap<String, Vec<CommitInfo>> = HashMap::new();
    let mut turn_of = move |info: CommitInfo| {
        let lane = info.lane().to_owned();
        let is_wanted = session.as_ref().is_none_or(|session| *session == lane);
        if !is_wanted || info.commit.session.is_none() || BACK.contains(&info.commit.op.as_str()) {
            return None;
        }
        let commits = later.entry(lane.clone()).or_default();
        commits.push(info.clone());
        if info.commit.op.as_str() != Op::PROMPT {
            return None;
        }
        let all = std::mem::take(commits);
        Some(Turn {
            turn: format!("seq:{}", info.commit.seq),
            session: lane,
            from: info.digest,
            to: all.first().map_or(info.digest, |last| last.digest),
            commits: all.len() as u64,
            time: info.commit.time,
            sources: BTreeSet::new(),
            prompt: None,
            counts: ChangeCounts::default(),
            all,
        })
    };
    memory
        .commits()
        .filter_map(move |info| info.map(&mut turn_of).transpose())
}

/// Takes back the newest turn that stands, or the named one. With `dry_run`, changes nothing.
///
/// # Errors
/// `NotFound` if there is no such turn; `Conflict` if others changed since what the turn wrote; those of a revert.
pub(crate) fn undo_turn(
    memory: &Memory,
    session: Option<&str>,
    name: Option<&str>,
    dry_run: bool,
    writer: &Writer,
) -> Result<(Turn, Reverted)> {
    for turn in turns(memory, session) {
        let turn = turn?;
        if name.is_some_and(|name| name != turn.turn) {
            continue;
        }
        let mut selection = Selection::default();
        selection.commits = turn.all.iter().map(|info| info.digest.into()).collect();
        let preview = memory.revert(selection.clone()).preview(writer)?;
        // The first turn of a session makes its object, which the later turns need.
        let view = memory.view();
        let is_session =
            |id| Ok::<_, Error>(view.get(id)?.is_some_and(|object| object.kind() == kind::SESSION));
        let others = preview.kept.iter().map(|kept| is_session(&kept.id));
        let only_sessions = !others.collect::<Result<Vec<_>>>()?.contains(&false);
        // A turn that was taken back wrote nothing that still stands.
        if preview.reverted.is_empty() && only_sessions {
            if name.is_none() {
                continue;
            }
            return Err(
                Error::not_found(format!("nothing of the turn {} stands", turn.turn))
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint("treering log --turns lists the turns"),
            );
        }
        let turn = turn.read(memory)?;
        let conflicts = if only_sessions {
            Conflicts::Keep
        } else {
            Conflicts::Fail
        };
        let revert = memory.revert(selection).conflicts(conflicts);
        let needed = |error: Error| match error.code() {
            ErrorCode::ChangedSince => error.with_hint("nothing was done: take back the later turns first"),
            _ => error,
        };
        if dry_run {
            return Ok((turn, revert.preview(writer).map_err(needed)?));
        }
        let mut writer = writer.clone();
        writer
            .reason
            .get_or_insert_with(|| format!("takes back the turn {} of {}", turn.turn, turn.session));
        return Ok((turn, revert.by(&writer).map_err(needed)?));
    }
    let what = name.map_or_else(
        || "no turn that stands".to_owned(),
        |name| format!("no turn '{name}'"),
    );
    let of = session.map_or_else(String::new, |session| format!(" of the session '{session}'"));
    Err(Error::not_found(format!("there is {what}{of}"))
        .with_code(ErrorCode::NothingSelected)
        .with_hint("treering log --turns lists the turns; a turn begins with a prompt that a hook stored"))
}

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
use treering::inspect::engine::ReferenceInfo;
use treering::inspect::object::{Op, ReferenceClass, ReferenceName};
use treering::revert::{Conflicts, Reverted, Selection};
use treering::{
    ChangeCounts, CommitDigest, CommitInfo, Error, ErrorCode, ErrorKind, Memory, Object, Result, Revision,
    Time, View, Writer,
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
    /// The first words of the prompt.
    #[serde(rename = "prompt", skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<String>,
    /// The objects that the commits of the turn wrote.
    #[serde(flatten)]
    pub(crate) counts: ChangeCounts,
    /// What the turn read from outside the workspace: addresses, paths and tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) sources: BTreeSet<String>,
    /// The number of texts of the turn that were quarantined. What was read stands among the sources all the same.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) quarantined: u64,
    /// Whether the turn was taken back, so that nothing of it stands.
    pub(crate) taken_back: bool,
    /// The prompt.
    #[serde(skip)]
    pub(crate) prompt: Option<Object>,
    #[serde(skip)]
    all: Vec<CommitInfo>,
    /// The time of the next prompt of the session.
    #[serde(skip)]
    until: Option<Time>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

impl Turn {
    /// Adds what the turn wrote and read, and whether it was taken back. `held` has the quarantined changes.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a state cannot be read.
    pub(crate) fn read(mut self, memory: &Memory, held: &[ReferenceInfo]) -> Result<Self> {
        let head = memory.view();
        let (wrote, stands) = self.add_commits(memory, &head)?;
        self.add_quarantined(memory, held)?;
        // Others may have changed since what the turn wrote, so only a plan of a revert tells whether anything stands.
        self.taken_back = wrote && !stands && {
            let plan = memory.revert(self.selection()).preview(&Writer::user())?;
            leaves_nothing(&plan, &head)?
        };
        Ok(self)
    }

    /// Adds what the commits of the turn contain. Returns whether they wrote anything, and whether any of it is the newest
    /// version.
    fn add_commits(&mut self, memory: &Memory, head: &View) -> Result<(bool, bool)> {
        let (mut wrote, mut stands) = (false, false);
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
                let new = after.get(&change.id)?;
                if new.as_ref().is_some_and(is_session) {
                    continue;
                }
                wrote = true;
                stands |= head.get(&change.id)?.map(|object| object.digest()) == change.new;
                let is_entry = |new: &Object| new.kind() == kind::ENTRY && change.old.is_none();
                let Some(entry) = new.filter(is_entry) else {
                    continue;
                };
                self.sources.extend(text_of(&entry, attribute::SOURCE));
                if text_of(&entry, attribute::PROMPT).is_some() && info.digest == self.from {
                    self.prompt = Some(entry);
                }
            }
        }
        Ok((wrote, stands))
    }

    /// Adds what the scan stopped. It is in no commit, but the agent has read it.
    fn add_quarantined(&mut self, memory: &Memory, held: &[ReferenceInfo]) -> Result<()> {
        for held in held {
            let is_own = held.session.as_ref() == Some(&self.session)
                && held.time >= self.time
                && self.until.is_none_or(|until| held.time < until);
            if !is_own {
                continue;
            }
            self.quarantined += 1;
            let draft = match memory.open_draft(&held.name, &Writer::user()) {
                Ok(draft) => draft,
                // The state below it is gone.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for change in draft.changes() {
                let entry = draft.get(&change.id)?;
                self.sources
                    .extend(entry.and_then(|entry| text_of(&entry, attribute::SOURCE)));
            }
        }
        Ok(())
    }

    fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        selection.commits = self.all.iter().map(|info| info.digest.into()).collect();
        selection
    }
}

/// Checks whether nothing that a revert selects stands. The object of the session does not count: the first turn makes it, and
/// the later turns need it.
fn leaves_nothing(plan: &Reverted, head: &View) -> Result<bool> {
    Ok(plan.reverted.is_empty() && others(plan, head)? == 0)
}

/// Returns how many objects stay because of others, besides the object of the session.
fn others(plan: &Reverted, head: &View) -> Result<usize> {
    let mut count = 0;
    for kept in &plan.kept {
        count += usize::from(!head.get(&kept.id)?.as_ref().is_some_and(is_session));
    }
    Ok(count)
}

fn is_session(object: &Object) -> bool {
    object.kind() == kind::SESSION
}

fn text_of(object: &Object, name: &str) -> Option<String> {
    Some(object.attribute(name)?.as_text()?.to_owned())
}

/// Returns the quarantined changes.
pub(crate) fn quarantined(memory: &Memory) -> Vec<ReferenceInfo> {
    let mut held = memory.references();
    let is_held = |name: ReferenceName| name.class() == ReferenceClass::Rejected;
    held.retain(|held| ReferenceName::new(&held.name).is_ok_and(is_held));
    held
}

/// Iterates the turns, newest first: those of a session, or of all sessions.
pub(crate) fn turns(memory: &Memory, session: Option<&str>) -> impl Iterator<Item = Result<Turn>> {
    let session = session.map(str::to_owned);
    let mut later: HashMap<String, (Vec<CommitInfo>, Option<Time>)> = HashMap::new();
    let mut turn_of = move |info: CommitInfo| {
        let lane = info.lane().to_owned();
        let is_wanted = session.as_ref().is_none_or(|session| *session == lane);
        if !is_wanted || info.commit.session.is_none() || BACK.contains(&info.commit.op.as_str()) {
            return None;
        }
        let (commits, until) = later.entry(lane.clone()).or_default();
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
            words: None,
            counts: ChangeCounts::default(),
            sources: BTreeSet::new(),
            quarantined: 0,
            taken_back: false,
            prompt: None,
            all,
            until: until.replace(info.commit.time),
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
        let selection = turn.selection();
        let preview = memory.revert(selection.clone()).preview(writer)?;
        let view = memory.view();
        // A turn that was taken back wrote nothing that still stands.
        if leaves_nothing(&preview, &view)? {
            if name.is_none() {
                continue;
            }
            return Err(
                Error::not_found(format!("nothing of the turn {} stands", turn.turn))
                    .with_code(ErrorCode::NothingSelected)
                    .with_hint("treering log --turns lists the turns"),
            );
        }
        let mut turn = turn;
        turn.add_commits(memory, &view)?;
        let conflicts = match others(&preview, &view)? {
            0 if dry_run => return Ok((turn, preview)),
            0 => Conflicts::Keep,
            _ => Conflicts::Fail,
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

//! The commits in pages, with their lanes and snapshots.
//!
//! # Layer
//! Layer 9, part of serve.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::Rows;
use super::objects::lane_number;
use super::reader::Reader;
use super::shown::gist;
use crate::answers::history::{LogLine, SnapshotLine};
use treering::inspect::engine::ChangeKind;
use treering::inspect::object::lane_of;
use treering::{CommitDigest, CommitInfo, Memory, Origin};
use treering::{Error, ErrorCode, Result};

/// The number of changes of a commit that are read to find a text.
const LOOKED_AT: usize = 8;

/// The commits that a request asks for.
#[derive(Deserialize)]
pub(crate) struct CommitsAsked {
    /// The number of commits when the first page was read, so that later pages have the same rows.
    of: Option<usize>,
    /// Only the commits of this lane.
    lane: Option<String>,
    /// Shows the page around this commit.
    around: Option<String>,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of commits.
#[derive(Serialize)]
pub(crate) struct CommitsPage {
    total: usize,
    start: usize,
    /// The place of the commit that the request names with `around`.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
    rows: Vec<CommitRow>,
}

/// A commit as a row of the timeline.
#[derive(Serialize)]
pub(crate) struct CommitRow {
    #[serde(flatten)]
    line: LogLine,
    lane: String,
    /// The seqs of the first and last commit of the lane. `None` while the history is read for the first time.
    lane_span: Option<[u64; 2]>,
    /// The snapshots of the commit, as a person types them.
    snapshots: Vec<String>,
    target_seq: Option<u64>,
    /// A text that the commit wrote or removed.
    text: Option<ChangedText>,
    /// The number of thinned commits before this one.
    thinned: u64,
}

/// A text that a commit wrote or removed.
#[derive(Serialize)]
struct ChangedText {
    id: String,
    change: ChangeKind,
    /// The class of the text.
    class: Origin,
    gist: String,
}

/// Returns a page of commits, newest first.
///
/// # Errors
/// - `NotFound` if the lane or commit is unknown.
/// - `InvalidInput` (code `usage`) if the list lacks the commit.
/// - `Corrupt` or `Io` if a commit cannot be read.
pub(crate) fn commits(reader: &Reader, asked: &CommitsAsked) -> Result<CommitsPage> {
    let around = asked
        .around
        .as_deref()
        .map(|around| reader.commit(around))
        .transpose()?;
    reader.head()?;
    let memory = reader.memory();
    // The numbers of the commits of a lane, oldest first; `None` for all lanes.
    let chosen = match &asked.lane {
        Some(lane) => {
            let ledger = reader.ledger()?;
            let lane = lane_number(reader, &ledger, lane)? as usize;
            Some(ledger.lanes()[lane].commits.clone())
        }
        None => None,
    };
    let all = chosen.as_ref().map_or_else(|| memory.kept_commits(), Vec::len);
    let total = asked.of.unwrap_or(all).min(all);
    let place = match around {
        Some(commit) => {
            let index = memory.index_of(commit.commit.seq)?;
            let place = match &chosen {
                Some(chosen) => chosen.binary_search_by_key(&index, |number| *number as usize),
                None => Ok(index),
            };
            let place = place.ok().filter(|place| *place < total).ok_or_else(|| {
                Error::invalid(format!(
                    "the commit seq:{} is not in this list",
                    commit.commit.seq
                ))
                .with_code(ErrorCode::Usage)
                .with_hint("leave out lane and of, or name a commit of the list")
            })?;
            Some(total - 1 - place)
        }
        None => None,
    };
    let rows = Rows {
        start: place.map_or(asked.start, |place| place.saturating_sub(super::ROWS / 2)),
        count: asked.count,
    };
    let places = rows.of(total);
    let start = places.start;
    let indexes = places.map(|place| total - 1 - place);
    let indexes = indexes.map(|at| chosen.as_ref().map_or(at, |chosen| chosen[at] as usize));
    let infos = memory.commits_at(indexes)?;
    Ok(CommitsPage {
        total,
        start,
        place,
        rows: rows_of(reader, &infos)?,
    })
}

fn rows_of(reader: &Reader, infos: &[CommitInfo]) -> Result<Vec<CommitRow>> {
    let memory = reader.memory();
    let mut snapshots = SnapshotLine::names(memory, lane_of(None, None))?;
    let rows = infos.iter().map(|info| {
        let seq = info.commit.seq;
        let before = info
            .commit
            .parents
            .first()
            .map(|_| memory.index_of(seq))
            .transpose()?;
        let before = before.and_then(|index| index.checked_sub(1));
        let before = memory.commits_at(before.into_iter())?.pop();
        let before = before.map_or(0, |before| before.commit.seq + 1);
        let (line, lane_span) = line_of(reader, info)?;
        Ok(CommitRow {
            line,
            lane: info.lane().to_owned(),
            lane_span,
            snapshots: snapshots.remove(&seq).unwrap_or_default(),
            text: text_of(memory, info)?,
            target_seq: info.commit.target.and_then(|target| seq_of(reader, target)),
            thinned: memory.thinned_in(before..seq),
        })
    });
    rows.collect()
}

/// Returns the text of the first change of a commit that has one. Reads at most [`LOOKED_AT`] changes.
fn text_of(memory: &Memory, info: &CommitInfo) -> Result<Option<ChangedText>> {
    let Some(before) = memory.view_before(info)? else {
        return Ok(None);
    };
    let (mut found, mut looked) = (None, 0);
    memory.each_change(&before, &memory.at(info.digest)?, &mut |change| {
        looked += 1;
        let version = change.new.or(change.old).filter(|_| !change.erased);
        let version = version.map(|digest| memory.version(digest)).transpose()?;
        let object = version.flatten().filter(|object| !object.is_placeholder());
        found = object
            .filter(|object| !gist(object).is_empty())
            .map(|object| ChangedText {
                id: object.id().to_string(),
                change: change.kind,
                class: object.origin(),
                gist: gist(&object),
            });
        let ends = found.is_some() || looked == LOOKED_AT;
        Ok(if ends {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(found)
}

/// Returns the line of a commit, whose counts are those of the ledger if it is at hand, and the seqs of the first and last
/// commit of its lane.
pub(super) fn line_of(reader: &Reader, info: &CommitInfo) -> Result<(LogLine, Option<[u64; 2]>)> {
    let memory = reader.memory();
    let index = memory.index_of(info.commit.seq)?;
    let known = reader.ledger_at_hand()?.and_then(|ledger| {
        let commits = ledger.commits();
        let read = commits.get(index).filter(|read| read.digest == info.digest)?;
        let of_lane = &ledger.lanes()[read.lane as usize].commits;
        let seq = |number: Option<&u32>| number.map_or(read.seq, |number| commits[*number as usize].seq);
        Some((read.counts, [seq(of_lane.first()), seq(of_lane.last())]))
    });
    match known {
        Some((counts, span)) => Ok((LogLine::with_counts(memory, info, counts)?, Some(span))),
        None => Ok((LogLine::of(memory, info)?, None)),
    }
}

/// Returns the seq of a commit. The target of a commit may be missing, because a salvage can lose commits.
fn seq_of(reader: &Reader, commit: CommitDigest) -> Option<u64> {
    let found = reader
        .memory()
        .resolve(&commit.into(), lane_of(None, None))
        .ok()?;
    Some(found.commit.seq)
}

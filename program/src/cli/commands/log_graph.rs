//! `log --graph`: the commits of a line and of all forks, with where each fork left and came back.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;

use super::log::Graph;
use super::prelude::*;
use crate::answers::history::LogLine;
use crate::cli::human::{Joint, Lines};
use treering::inspect::engine::MAIN_LINE;

/// The number of forks that are drawn. The others are counted.
const FORKS_DRAWN: usize = 8;

/// A line of commits.
struct Line {
    name: String,
    memory: Memory,
    graph: Graph,
    /// The commits that are not printed, the newest one last.
    commits: Vec<CommitInfo>,
    /// The commit at which a fork begins.
    base: Option<CommitInfo>,
}

impl Line {
    /// Reads a line: of the own line the newest commits, of a fork those since its base. `of_line` gets all digests.
    fn read(
        context: &Context,
        memory: Memory,
        name: String,
        wanted: &Wanted<'_>,
        mut of_line: impl FnMut(CommitDigest),
    ) -> Result<Self> {
        let is_own = wanted.own.fork_name() == memory.fork_name();
        let base = if is_own { None } else { memory.fork_base()? };
        let mut commits = Vec::new();
        for info in memory.commits() {
            let info = info?;
            let is_before = base
                .as_ref()
                .is_some_and(|base| info.commit.seq <= base.commit.seq);
            if is_before || commits.len() >= wanted.most {
                break;
            }
            of_line(info.digest);
            if wanted.has(&info) && (wanted.is_wanted)(&memory, &info) {
                commits.push(info);
            }
        }
        commits.reverse();
        Ok(Self {
            graph: Graph::new(context, &memory, std::iter::empty())?,
            name,
            memory,
            commits,
            base,
        })
    }
}

/// A commit, as a line of `log --graph`.
#[derive(Serialize, JsonSchema)]
pub(super) struct GraphLine {
    /// The line of the commit: `main`, or the name of a fork.
    line: String,
    #[serde(flatten)]
    commit: LogLine,
}

/// Which commits are listed.
pub(super) struct Wanted<'a> {
    pub(super) own: &'a Memory,
    pub(super) most: usize,
    /// The time of the newest commit, if `--at` names a past one.
    pub(super) until: Option<Time>,
    pub(super) is_wanted: &'a dyn Fn(&Memory, &CommitInfo) -> bool,
}

impl Wanted<'_> {
    /// Checks whether a commit was there at the newest one.
    fn has(&self, info: &CommitInfo) -> bool {
        self.until.is_none_or(|until| info.commit.time <= until)
    }
}

/// Lists the commits of the line of a memory, and those of every other fork, newest first.
pub(super) fn list(context: &mut Context, wanted: &Wanted<'_>) -> Done {
    let own = wanted.own.fork_name().unwrap_or(MAIN_LINE).to_owned();
    let mut forks = wanted.own.forks()?;
    forks.retain(|fork| fork.name != own);
    let left_out = forks.len().saturating_sub(FORKS_DRAWN);
    forks.truncate(FORKS_DRAWN);
    let (mut lines, mut line_of) = (Vec::new(), HashMap::new());
    lines.push(Line::read(context, wanted.own.clone(), own, wanted, |digest| {
        line_of.insert(digest, 0);
    })?);
    for fork in forks {
        let (memory, number) = (wanted.own.open_fork(&fork.name)?, lines.len());
        if memory.fork_base()?.is_some_and(|base| !wanted.has(&base)) {
            continue;
        }
        lines.push(Line::read(context, memory, fork.name, wanted, |digest| {
            line_of.insert(digest, number);
        })?);
    }
    let mut drawing = Lines::new(lines.len());
    let mut table = Table::default();
    let mut left = wanted.most;
    while let Some((line, info)) = next(&mut lines).filter(|_| left > 0) {
        for (number, other) in lines.iter().enumerate() {
            if other
                .base
                .as_ref()
                .is_some_and(|base| base.commit.time > info.commit.time)
            {
                drawing.end(number);
            }
        }
        left -= 1;
        let begun = lines.iter().enumerate();
        let begun = begun.filter(|(_, of)| of.base.as_ref().is_some_and(|base| base.digest == info.digest));
        let mut joint = Joint {
            line,
            named: false,
            merged: info
                .commit
                .parents
                .get(1)
                .and_then(|theirs| line_of.get(theirs).copied()),
            begun: begun.map(|(number, _)| number).collect(),
        };
        let theirs = joint.merged.map(|line| lines[line].name.clone());
        let name = lines[line].name.clone();
        let of = &mut lines[line];
        joint.named = of.graph.is_named(info.commit.seq);
        let drawn = drawing.row(&joint);
        let commit = LogLine::of(&of.memory, &info)?;
        let answer = GraphLine { line: name, commit };
        if context.output.json(&answer)? {
            continue;
        }
        let GraphLine { line, commit } = answer;
        let mut cells = of.graph.cells(context, &of.memory, &info, &commit, Some(drawn))?;
        cells.insert(1, ("line", named(line)));
        if let (Some(theirs), Some((_, op))) = (theirs, cells.iter_mut().find(|(name, _)| *name == "op")) {
            *op = plain(format!("{} of {theirs}", commit.op));
        }
        table.row(&mut context.output, cells)?;
    }
    table.end(&mut context.output)?;
    if left_out > 0 {
        let forks = counted(left_out as u64, "fork");
        context.note_for_people("forks", format!("{forks} not drawn: treering forks lists all"));
    }
    Ok(DONE)
}

/// Takes the newest commit of all lines.
fn next(lines: &mut [Line]) -> Option<(usize, CommitInfo)> {
    let newest = lines.iter_mut().enumerate();
    let newest = newest.filter(|(_, line)| !line.commits.is_empty());
    let (number, line) = newest.max_by_key(|(_, line)| line.commits.last().map(|info| info.commit.time))?;
    line.commits.pop().map(|info| (number, info))
}

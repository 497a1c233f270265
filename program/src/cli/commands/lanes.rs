//! `lanes`: lists the lanes of the store, one for each session or actor that commits.
//!
//! # Layer
//! Layer 10, part of cli.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::prelude::*;

/// List the lanes, most recent first
///
/// A lane is a session, else an actor, else `default`. Each lane has its own undo and ring of snapshots. A line has
/// lanes of its own: --at fork:NAME lists those of a fork, also of one that was merged.
///
/// # Examples
/// ```text
/// treering lanes
/// treering lanes --at snap:0 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Lanes {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// A lane, with the time of its newest commit.
#[derive(Serialize, JsonSchema)]
struct Lane {
    lane: String,
    head: CommitDigest,
    seq: u64,
    /// The number of kept commits in the lane.
    commits: u64,
    /// The time of the newest commit in the lane.
    last: Time,
}

impl Verb for Lanes {
    const ANSWERS: &'static [Form] = &[form::<Lane>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_line_to_read()?;
        let newest = context.view(&memory)?.commit().commit.seq;
        let mut lanes: HashMap<String, Lane> = HashMap::new();
        for info in memory.commits() {
            let info = info?;
            if info.commit.seq > newest {
                continue;
            }
            let lane = lanes.entry(info.lane().to_owned()).or_insert_with(|| Lane {
                lane: info.lane().to_owned(),
                head: info.digest,
                seq: info.commit.seq,
                commits: 0,
                last: info.commit.time,
            });
            lane.commits += 1;
        }
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_unstable_by_key(|lane| Reverse(lane.seq));
        lanes.truncate(self.limit.unwrap_or(usize::MAX));
        context.table(
            lanes.into_iter().map(Ok),
            &["lane", "commits", "seq", "head", "last"],
        )
    }
}

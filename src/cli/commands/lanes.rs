//! `lanes`: the lanes of the store, one for each session or actor that commits.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::prelude::*;
use crate::digest::CommitDigest;

/// List the lanes, most recent first
///
/// A lane is a session, else an actor, else `default`. Each lane has its own undo and ring of snapshots.
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

/// A lane, and its newest commit.
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the fields of the JSON document")]
struct Lane {
    lane: String,
    head: CommitDigest,
    seq: u64,
    /// The number of its commits that are kept.
    commits: u64,
    /// The time of its newest commit.
    last: Time,
}

impl Verb for Lanes {
    const NAME: &'static str = "lanes";
    const ANSWERS: &'static [Form] = &[form::<Lane>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let newest = context.view(&memory)?.commit().commit.seq;
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut lanes: Vec<Lane> = Vec::new();
        for info in memory.commits() {
            let info = info?;
            if info.commit.seq > newest {
                continue;
            }
            match places.entry(info.lane().to_owned()) {
                Entry::Occupied(place) => lanes[*place.get()].commits += 1,
                Entry::Vacant(place) => {
                    lanes.push(Lane {
                        lane: place.key().clone(),
                        head: info.digest,
                        seq: info.commit.seq,
                        commits: 1,
                        last: info.commit.time,
                    });
                    place.insert(lanes.len() - 1);
                }
            }
        }
        lanes.truncate(self.limit.unwrap_or(usize::MAX));
        context.rows(lanes.into_iter().map(Ok), columns)
    }
}

fn columns(row: &Lane, context: &Context) -> Columns {
    vec![
        ("lane", coloured(Meaning::Name, &row.lane)),
        ("commits", number(row.commits)),
        ("seq", number(row.seq)),
        ("head", plain(context.short(row.head.as_bytes()))),
        ("last", context.when(row.last)),
    ]
}

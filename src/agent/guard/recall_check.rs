//! Compares the hits of fixed queries in two states, to show the effect of a change or rollback on recall.
//!
//! # Layer
//! Layer 7, inside `agent`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::{Agent, RecallQuery};
use crate::engine::View;
use crate::error::Result;

/// The difference between the hits of one query in two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecallChange {
    /// The query.
    pub query: String,
    /// Hits of both states, in the order of the newer state.
    pub kept: Vec<String>,
    /// Hits of the older state only.
    pub lost: Vec<String>,
    /// Hits of the newer state only.
    pub gained: Vec<String>,
}

impl RecallChange {
    /// Returns whether both states recall the same items, in any order.
    pub fn is_same(&self) -> bool {
        self.lost.is_empty() && self.gained.is_empty()
    }
}

/// Runs each query in both states, and returns the differences. Does not update the last-access times of the hits.
///
/// # Errors
/// The errors of [`Agent::recall`].
pub fn compare_recall(
    agent: &Agent,
    older: &View,
    newer: &View,
    queries: &[RecallQuery],
) -> Result<Vec<RecallChange>> {
    // Run all queries in one state, then all queries in the other state, so that the index is updated to each state
    // only once.
    let answers = |view: &View| -> Result<Vec<Vec<String>>> {
        let asked = queries.iter().map(|query| query.clone().without_touch());
        let ids = |query: RecallQuery| -> Result<Vec<String>> {
            let hits = agent.recall(view, &query)?.hits;
            Ok(hits.into_iter().map(|hit| hit.id.to_string()).collect())
        };
        asked.map(ids).collect()
    };
    let (before, after) = (answers(older)?, answers(newer)?);
    let both = before.into_iter().zip(after).zip(queries);
    let changes = both.map(|((before, after), query)| {
        let only = |ids: &[String], other: &[String]| -> Vec<String> {
            ids.iter().filter(|id| !other.contains(id)).cloned().collect()
        };
        RecallChange {
            query: query.text.clone(),
            kept: after.iter().filter(|id| before.contains(id)).cloned().collect(),
            lost: only(&before, &after),
            gained: only(&after, &before),
        }
    });
    Ok(changes.collect())
}

//! The report of the guard on a change, for people and models.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::store::ChangeCounts;

/// The maximum number of ids in the result of a check.
const IDS_SHOWN: usize = 20;
/// The maximum number of ids that the text for people shows per check.
const IDS_A_LINE: usize = 3;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// The name of the check.
    pub check: String,
    /// Whether the change passes the check.
    #[serde(rename = "passed")]
    pub is_passed: bool,
    /// The reason for the failure; empty if the change passes.
    pub why: String,
    /// The ids of the objects that fail the check, at most 20.
    pub ids: Vec<String>,
    /// The number of objects that fail the check.
    pub ids_total: usize,
    /// Advice on how to correct the change; empty if the change passes.
    pub advice: String,
}

/// The results of all checks, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// The counts of the change.
    #[serde(flatten)]
    pub counts: ChangeCounts,
    /// The results of the checks. The reason and the advice are empty if a check passed.
    pub checks: Vec<Checked>,
}

/// The reason why a check refuses a change.
#[derive(Default)]
pub(super) struct Failure {
    why: String,
    ids: Vec<String>,
    advice: &'static str,
}

impl Failure {
    pub(super) fn new(why: String, advice: &'static str) -> Self {
        let ids = Vec::new();
        Self { why, ids, advice }
    }

    /// Returns the failure of a check for the sorted `ids`. Returns `None` if `ids` is empty.
    pub(super) fn about(mut ids: Vec<String>, why: String, advice: &'static str) -> Option<Self> {
        ids.sort_unstable();
        ids.dedup();
        (!ids.is_empty()).then_some(Self { why, ids, advice })
    }
}

impl Report {
    /// Adds the result of a check.
    pub(super) fn add(&mut self, check: &str, failure: Option<Failure>) {
        let is_passed = failure.is_none();
        let Failure { why, mut ids, advice } = failure.unwrap_or_default();
        let ids_total = ids.len();
        ids.truncate(IDS_SHOWN);
        self.checks.push(Checked {
            check: check.to_owned(),
            is_passed,
            why,
            ids,
            ids_total,
            advice: advice.to_owned(),
        });
    }

    /// Checks whether the change passes every check.
    pub fn is_passed(&self) -> bool {
        self.checks.iter().all(|checked| checked.is_passed)
    }

    /// Returns the failed checks.
    pub fn failed(&self) -> impl Iterator<Item = &Checked> {
        self.checks.iter().filter(|checked| !checked.is_passed)
    }

    /// Returns the ids of all objects that fail a check, without duplicates.
    pub fn ids(&self) -> Vec<String> {
        let ids: BTreeSet<_> = self.failed().flat_map(|checked| checked.ids.clone()).collect();
        ids.into_iter().collect()
    }

    /// Returns the failed checks with their reasons, on one line.
    pub(crate) fn summary(&self) -> String {
        let failed: Vec<_> = self
            .failed()
            .map(|checked| format!("{}: {}", checked.check, checked.why))
            .collect();
        failed.join("; ")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.failed().count();
        let (all, counts) = (self.checks.len(), &self.counts);
        match failed {
            0 => write!(f, "passed all {all} checks")?,
            _ => write!(f, "refused by {failed} of {all} checks")?,
        }
        write!(f, ": {} added, {} changed, ", counts.added, counts.changed)?;
        write!(f, "{} removed", counts.removed)?;
        for checked in &self.checks {
            if checked.is_passed {
                write!(f, "\n  ok      {}", checked.check)?;
                continue;
            }
            write!(f, "\n  failed  {}: {}", checked.check, checked.why)?;
            if !checked.ids.is_empty() {
                let named = &checked.ids[..checked.ids.len().min(IDS_A_LINE)];
                write!(f, " ({}", named.join(", "))?;
                if checked.ids_total > named.len() {
                    write!(f, " and {} more", checked.ids_total - named.len())?;
                }
                write!(f, ")")?;
            }
            write!(f, "\n          {}", checked.advice)?;
        }
        Ok(())
    }
}

//! Writes and reads the summaries of a session by day, week and month. The summary of the present day is written anew as the
//! day goes on. A week or month is summarised after it ends.
//!
//! A summary covers a session with its child sessions. A day summarises entries. Weeks and months summarise the daily
//! summaries. The host may supply the text. Otherwise the summary consists of sentences of the entries.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - An entry that is appended while its time span is summarised can get a lower arrival number than the watermark.
//!   Then no summary covers it until a later entry is added to that time span.
//!
//! # Invariants
//! - SMW-1: the watermark of a summary is the highest arrival number of its entries, so a late entry makes the summary
//!   due again.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::due::{DueSummary, due_of, read_tree, summary_id};
use super::learning::unlearnt;
use super::lineage::{check_kind, no_session, session_id};
use super::summaries::{Bucket, Granularity, SummaryRead, around, chronological};
use crate::agent::Agent;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::decay::extract;
use crate::agent::item::{Item, NewItem, add_new, known_kind};
use crate::agent::scope::Reach;
use crate::agent::vocabulary::{attribute, kind};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::Result;
use crate::object::{Id, Origin, Scope, Time, Value};

/// The maximum number of characters of a summary that consists of sentences of the entries.
const SUMMARY_CHARS_MAX: usize = 4_000;

/// The result of writing a due summary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SummaryWritten {
    /// The time span of the summary.
    pub bucket: Bucket,
    /// The id of the summary.
    pub id: Id,
    /// Whether the host supplied the stored text.
    #[serde(rename = "host")]
    pub is_of_host: bool,
    /// Whether this call stored the summary.
    #[serde(rename = "stored")]
    pub is_stored: bool,
    /// The rules of the scan that matched the host's text, or the sentences of the entries if these sentences were
    /// scanned too.
    pub rules: Vec<&'static str>,
}

/// The answer to [`summarise`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summarised {
    /// The name of the root session.
    pub root_session: String,
    /// The results of the due summaries, days first.
    pub written: Vec<SummaryWritten>,
    /// The names of the references below `rejected/`, one for each of the quarantined texts.
    pub held: Vec<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Returns the due summaries of a session: past time spans, and the present day, with an entry that no summary covers. A week or month is due
/// only after its daily summaries are written.
///
/// # Errors
/// `InvalidInput` (code `other_scope`) if the session is out of reach; also the errors of [`View::query`].
pub fn due_summaries(view: &View, reach: &Reach, session: &str) -> Result<Vec<DueSummary>> {
    let (_, Some(tree)) = read_tree(view, reach, session, true)? else {
        return Ok(Vec::new());
    };
    let whole = |item: &Item| Ok(item.text().to_owned());
    let mut due = Vec::new();
    for granularity in Granularity::ALL {
        due.extend(due_of(view, |id| view.get(id), whole, &tree, granularity)?);
    }
    Ok(due)
}

/// Writes the due summaries in one commit. `host` may return the text of a summary. If `host` returns `None`, the
/// summary consists of sentences of the entries.
///
/// # Errors
/// `NotFound` (code `no_session`); `InvalidInput` if the id of a summary belongs to another object (code `id_taken`),
/// or the session is out of reach (`other_scope`); `Denied` (code `less_trusted`): an untrusted writer replaces a
/// summary that is more trusted; also the errors of a commit.
pub fn summarise(
    agent: &Agent,
    reach: &Reach,
    session: &str,
    host: &dyn Fn(&DueSummary) -> Option<String>,
    writer: &Writer,
) -> Result<Summarised> {
    let done = change(agent, writer, &Rule::SUMMARISE, |change| {
        change.enter(Some(session));
        let view = change.base().clone();
        let (root, tree) = read_tree(&view, reach, session, true)?;
        let mut tree = tree.ok_or_else(|| no_session(session))?;
        let mut written = Vec::new();
        for granularity in Granularity::ALL {
            let text = |item: &Item| unlearnt(change, item).map(Cow::into_owned);
            for due in due_of(&view, |id| change.get(id), text, &tree, granularity)? {
                let one = write_summary(change, &root, &tree.scope, &due, host(&due))?;
                if one.is_stored && granularity == Granularity::Day {
                    tree.summaries.insert(due.bucket, (due.watermark, one.id.clone()));
                }
                written.push(one);
            }
        }
        Ok((root, written))
    })?;
    let (root_session, written) = done.value;
    Ok(Summarised {
        root_session,
        written,
        held: done.held,
        commit: done.committed.commit,
    })
}

/// Returns the summaries of a session that match `query`, in order of time. With `when`, returns only the summaries
/// that begin on the day of `when`, the nearest earlier summary and the nearest later summary.
///
/// # Errors
/// `InvalidInput` (code `other_scope`) if the session is out of reach; also the errors of [`View::query`].
pub fn session_summaries(
    view: &View,
    reach: &Reach,
    session: &str,
    query: &str,
    when: Option<Time>,
) -> Result<Vec<SummaryRead>> {
    let (_, Some(tree)) = read_tree(view, reach, session, false)? else {
        return Ok(Vec::new());
    };
    let mut summaries = Vec::new();
    for (bucket, (_, id)) in tree.summaries {
        let object = view.get(&id)?;
        let time = Time::from_micros(bucket.start_micros());
        summaries.extend(object.map(|object| (bucket.granularity(), time, Item::from(object))));
    }
    Ok(match when {
        None => chronological(summaries, query),
        // Round `when` down to the start of its day, because the time of a summary is the start of its time span.
        Some(when) => {
            let day = Bucket::of(Granularity::Day, when.as_micros());
            around(summaries, Time::from_micros(day.start_micros()), query)
        }
    })
}

/// Stages a summary: the host's text if it passes the scan, otherwise sentences of the entries.
fn write_summary(
    change: &mut Change<'_>,
    root: &str,
    scope: &Scope,
    due: &DueSummary,
    text: Option<String>,
) -> Result<SummaryWritten> {
    let id = summary_id(root, due.bucket)?;
    check_kind(change, &id, kind::SUMMARY)?;
    let parent = session_id(root)?;
    let mut written = SummaryWritten {
        bucket: due.bucket,
        id: id.clone(),
        is_of_host: false,
        rules: Vec::new(),
        is_stored: false,
    };
    // The host's text may come from a model.
    let of_host = text.map(|text| (text, Origin::Model));
    let of_entries = (sentences(&due.text), Origin::DirectUser);
    for (text, most) in of_host.into_iter().chain([of_entries]) {
        if text.trim().is_empty() {
            continue;
        }
        let item = summary_item(due, scope, root, text);
        let class = Origin::least(due.class, most);
        let passed = change.put(id.clone(), item, class, |object| {
            object.parent = Some(parent.clone());
        })?;
        add_new(&mut written.rules, passed.rules);
        if matches!(passed.fate, Fate::Staged(_)) {
            written.is_stored = true;
            written.is_of_host = most == Origin::Model;
            break;
        }
    }
    Ok(written)
}

fn summary_item(due: &DueSummary, scope: &Scope, root: &str, text: String) -> NewItem {
    let mut item = NewItem::new(text);
    item.kind = known_kind(kind::SUMMARY);
    item.scope = scope.clone();
    item.session = Some(root.to_owned());
    item.time = Some(Time::from_micros(due.bucket.start_micros()));
    item.derived_from.clone_from(&due.sources);
    let granularity = Value::from(due.granularity.name());
    drop(item.others.insert(attribute::GRANULARITY, granularity));
    // SMW-1: the watermark is the highest arrival number of the entries.
    let watermark = Value::Integer(i64::try_from(due.watermark).unwrap_or(i64::MAX));
    drop(item.others.insert(attribute::WATERMARK, watermark));
    item
}

/// Returns the most relevant sentences of a text, as many as fit into a summary.
pub(super) fn sentences(text: &str) -> String {
    let mut text = text.trim().to_owned();
    loop {
        let shorter = extract::summary(&text).into_owned();
        let is_done = shorter.len() >= text.len();
        text = shorter;
        if is_done || text.chars().count() <= SUMMARY_CHARS_MAX {
            break;
        }
    }
    text.chars().take(SUMMARY_CHARS_MAX).collect()
}

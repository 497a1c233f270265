//! Finds the due summaries of a session. A summary is due if its time span contains an entry that no summary covers, and is
//! over or is the present day.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SMW-2: a summary is at most as trusted as its least trusted entry.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::entries::{arrival_of, arrivals_before};
use super::lineage::{check_reach, root_session, session_id, session_of};
use super::summaries::{Bucket, EntryTime, Granularity, due_buckets};
use crate::agent::item::{Item, integer_of, text_of};
use crate::agent::scope::Reach;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::engine::{Query, View};
use crate::error::Result;
use crate::object::{Id, Kind, Object, Origin, Scope, Time};

/// The maximum number of characters in the input of a summary. The input omits further entries and reports their
/// number.
const INPUT_CHARS_MAX: usize = 400_000;
/// The maximum number of characters of one entry in the input of a summary.
const ENTRY_CHARS_MAX: usize = 4_000;
/// The maximum number of source versions that a summary lists. Entries beyond this number are not listed, but they
/// lower the trust of the summary as listed entries do.
pub(super) const SOURCES_MAX: usize = 1_000;

/// A due summary: the text to summarise for a past time span, or the present day, with an entry that no summary covers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DueSummary {
    /// The time span.
    pub bucket: Bucket,
    /// The length of the time span.
    pub granularity: Granularity,
    /// The text to summarise: the entries of a day, one per line, or the daily summaries of a week or month.
    pub text: String,
    /// The number of entries or daily summaries in the time span.
    pub entries: usize,
    /// The number of entries or daily summaries in the time span that no earlier summary covers.
    pub unseen: usize,
    /// The number of entries or daily summaries that `text` omits because of its limit.
    pub left_out: usize,
    #[serde(skip)]
    pub(super) watermark: u64,
    #[serde(skip)]
    pub(super) sources: Vec<ObjectDigest>,
    #[serde(skip)]
    pub(super) class: Origin,
}

/// The objects below a root session.
pub(super) struct Tree {
    pub(super) scope: Scope,
    entries: Vec<(EntryTime, Id)>,
    /// The watermark and the id of each summary.
    pub(super) summaries: BTreeMap<Bucket, (u64, Id)>,
}

/// Returns the root of a session, and the objects below the root whose scopes are in reach. Reads entries only if
/// `with_entries` is set. If the root does not exist, returns its name with `None`.
pub(super) fn read_tree(
    view: &View,
    reach: &Reach,
    session: &str,
    with_entries: bool,
) -> Result<(String, Option<Tree>)> {
    check_reach(view, reach, session)?;
    let root = root_session(view, session)?;
    let Some(object) = view
        .get(&session_id(&root)?)?
        .filter(|object| session_of(object).is_some())
    else {
        return Ok((root, None));
    };
    let mut tree = Tree {
        scope: Scope::new(object.scope())?,
        entries: Vec::new(),
        summaries: BTreeMap::new(),
    };
    let mut waiting = vec![object.id().clone()];
    while let Some(parent) = waiting.pop() {
        let mut children = Query::default().parent(parent);
        if !with_entries {
            children.not_kinds.push(Kind::new(kind::ENTRY)?);
        }
        for child in view.query(&children)? {
            let child = child?;
            let id = child.id().clone();
            match child.kind() {
                _ if !reach.has(child.scope()) => {}
                kind::SESSION => waiting.push(id),
                kind::ENTRY => tree.entries.push(entry_part(view, id, child)?),
                kind::SUMMARY => tree
                    .summaries
                    .extend(summary_part(view, &root, id, &Item::from(child))),
                _ => {}
            }
        }
    }
    Ok((root, Some(tree)))
}

fn entry_part(view: &View, id: Id, object: Object) -> Result<(EntryTime, Id)> {
    let item = Item::from(object);
    let time = match item.object().event_time() {
        Some(time) => time,
        None => view
            .stamps(&id)?
            .map_or(Time::from_micros(0), |(created, _)| created),
    };
    let time = EntryTime {
        time_micros: time.as_micros(),
        arrival: arrival_of(&item),
    };
    Ok((time, id))
}

/// Returns the bucket, watermark and id of a summary that [`summarise`](super::summarise) wrote. Returns `None` for any
/// other object, for example if the id does not match the bucket, or if the watermark exceeds every arrival number.
fn summary_part(view: &View, root: &str, id: Id, item: &Item) -> Option<(Bucket, (u64, Id))> {
    let granularity = Granularity::from_name(&text_of(item.object(), attribute::GRANULARITY)?)?;
    let watermark = u64::try_from(integer_of(item.object(), attribute::WATERMARK)?).ok()?;
    let bucket = Bucket::of(granularity, item.object().event_time()?.as_micros());
    let has_its_name = summary_id(root, bucket).is_ok_and(|own| own == id);
    (has_its_name && watermark < arrivals_before(view)).then_some((bucket, (watermark, id)))
}

/// Returns the id of the summary of `bucket` in the root session `root`.
pub(super) fn summary_id(root: &str, bucket: Bucket) -> Result<Id> {
    Id::new(&format!("{}/{root}/{bucket}", kind::SUMMARY))
}

/// Returns the due summaries of one granularity. `text` returns the text of an entry or summary. A day summarises entries;
/// a week or month summarises the daily summaries.
pub(super) fn due_of(
    view: &View,
    get: impl Fn(&Id) -> Result<Option<Object>>,
    text: impl Fn(&Item) -> Result<String>,
    tree: &Tree,
    granularity: Granularity,
) -> Result<Vec<DueSummary>> {
    let parts: Vec<(EntryTime, &Id)> = if granularity == Granularity::Day {
        tree.entries.iter().map(|(time, id)| (*time, id)).collect()
    } else {
        let days = tree.summaries.iter();
        days.filter(|(bucket, _)| bucket.granularity() == Granularity::Day)
            .map(|(bucket, (arrival, id))| {
                let (time_micros, arrival) = (bucket.start_micros(), *arrival);
                (EntryTime { time_micros, arrival }, id)
            })
            .collect()
    };
    let seen = |bucket| tree.summaries.get(&bucket).map(|(watermark, _)| *watermark);
    let due = due_buckets(parts, granularity, seen, view.now().as_micros());
    due.into_iter()
        .map(|due| {
            let mut summary = DueSummary {
                bucket: due.bucket,
                granularity,
                text: String::new(),
                entries: due.entries.len(),
                unseen: due.unseen,
                left_out: 0,
                watermark: due.watermark,
                sources: Vec::new(),
                class: Origin::DirectUser,
            };
            let mut chars = 0;
            for id in due.entries {
                let Some(object) = get(id)? else {
                    continue;
                };
                // SMW-2: the least trusted entry limits the trust of the summary.
                summary.class = Origin::least(summary.class, object.origin());
                if summary.sources.len() < SOURCES_MAX {
                    summary.sources.push(object.digest());
                }
                let item = Item::from(object);
                let line = line_of(&item, &text(&item)?);
                chars += line.chars().count();
                if chars > INPUT_CHARS_MAX {
                    summary.left_out += 1;
                } else {
                    summary.text.push_str(&line);
                }
            }
            Ok(summary)
        })
        .collect()
}

/// Formats the text of an entry as one line. A text without a word has no line.
fn line_of(item: &Item, text: &str) -> String {
    let text: String = text.trim_end().chars().take(ENTRY_CHARS_MAX).collect();
    if text.is_empty() {
        return text;
    }
    match item.speaker() {
        Some(speaker) => format!("{speaker}: {text}\n"),
        None => format!("{text}\n"),
    }
}

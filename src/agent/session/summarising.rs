//! Summaries of a session by day, week and month, written when a stretch of time is over and read back in order of time.
//!
//! A session and all that were started from it are summarised together. A day is made of entries, a week and a month of the
//! summaries of their days. The text is the host's if it gives one, else sentences of what was said.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - SMW-1: a summary keeps as its watermark the arrival of the newest entry that it has seen, so that what comes late is
//!   summarised too.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::due::{DueSummary, days_of, due_of, read_tree, summary_id};
use super::lineage::session_id;
use super::summaries::{Bucket, Granularity, SummaryText, around, chronological};
use crate::agent::Agent;
use crate::agent::decay::extract;
use crate::agent::item::{Item, NewItem, known_kind};
use crate::agent::scope::Reach;
use crate::agent::staging::{Fate, Staging, with_tries};
use crate::agent::vocabulary::{attribute, kind, op};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Origin, Scope, Time, Value};

/// Characters of a summary that is made of sentences.
const SUMMARY_CHARS_MAX: usize = 4_000;

/// A summary that was written.
#[derive(Clone, Debug)]
pub struct SummaryWritten {
    /// What it covers.
    pub bucket: Bucket,
    /// Its id.
    pub id: Id,
    /// Whether the text is the host's.
    pub is_of_host: bool,
    /// Why the host's text, or any, was not taken.
    pub rules: Vec<&'static str>,
    /// Whether there is a summary now.
    pub is_stored: bool,
}

/// Summaries were written.
#[derive(Clone, Debug)]
pub struct Summarised {
    /// The root of the session.
    pub root_session: String,
    /// What was written, days first.
    pub written: Vec<SummaryWritten>,
    /// Under which name a person finds what is held back.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

/// A summary as it is read.
#[derive(Clone, Debug)]
pub struct SummaryRead {
    /// The summary.
    pub item: Item,
    /// What it covers.
    pub bucket: Bucket,
    /// How well it fits the query, above 0 and at most 1.
    pub score: f64,
}

impl Agent {
    /// Returns what is to be summarised of a session: stretches that are over and hold an entry that no summary has seen.
    /// Weeks and months wait for the summaries of their days.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub fn due_summaries(&self, view: &View, reach: &Reach, session: &str) -> Result<Vec<DueSummary>> {
        let (_, Some(tree)) = read_tree(view, reach, session, true)? else {
            return Ok(Vec::new());
        };
        let draft = self.memory().draft(Writer::new());
        let days = days_of(&tree);
        let mut due = Vec::new();
        for granularity in Granularity::ALL {
            let parts = if granularity == Granularity::Day {
                &tree.entries
            } else {
                &days
            };
            due.extend(due_of(view, &draft, &tree, parts, granularity)?);
        }
        Ok(due)
    }

    /// Writes the summaries that are due, in one commit. `host` may give a text; what it does not, sentences of what was
    /// said stand for.
    ///
    /// # Errors
    /// What `host` returns; `InvalidInput` if the id of a summary belongs to something else (code `id_taken`), or the session is
    /// out of reach (`other_scope`); `Denied` (code `less_trusted`): an untrusted writer replaces a summary that is more trusted; as a
    /// commit.
    pub fn summarise(
        &self,
        reach: &Reach,
        session: &str,
        host: &mut dyn FnMut(&DueSummary) -> Result<Option<String>>,
        writer: &Writer,
    ) -> Result<Summarised> {
        // A host's text costs a model's call, so what it gave counts for the next try too, unless there is more to summarise.
        let mut given: HashMap<(Bucket, String), Option<String>> = HashMap::new();
        with_tries(|| {
            let mut staging = Staging::new(self, writer)?;
            let view = staging.draft.base().clone();
            let (root, tree) = read_tree(&view, reach, session, true)?;
            let mut written = Vec::new();
            if let Some(mut tree) = tree {
                for granularity in Granularity::ALL {
                    let days = days_of(&tree);
                    let parts = if granularity == Granularity::Day {
                        &tree.entries
                    } else {
                        &days
                    };
                    for due in due_of(&view, &staging.draft, &tree, parts, granularity)? {
                        let text = match given.entry((due.bucket, due.text.clone())) {
                            Entry::Occupied(known) => known.get().clone(),
                            Entry::Vacant(new) => new.insert(host(&due)?).clone(),
                        };
                        let one = self.write_summary(&mut staging, &root, &tree.scope, &due, text)?;
                        if one.is_stored && granularity == Granularity::Day {
                            tree.summaries.retain(|(bucket, ..)| *bucket != due.bucket);
                            tree.summaries.push((due.bucket, due.watermark, one.id.clone()));
                        }
                        written.push(one);
                    }
                }
            }
            let done = staging.commit(self.memory(), op::SESSION)?;
            Ok(Summarised {
                root_session: root,
                written,
                held: done.held,
                commit: done.committed.commit,
            })
        })
    }

    fn write_summary(
        &self,
        staging: &mut Staging,
        root: &str,
        scope: &Scope,
        due: &DueSummary,
        text: Option<String>,
    ) -> Result<SummaryWritten> {
        let id = summary_id(root, due.bucket)?;
        if staging
            .draft
            .get(&id)?
            .is_some_and(|object| object.kind() != kind::SUMMARY)
        {
            return Err(
                Error::invalid(format!("the id '{id}' belongs to something that is no summary"))
                    .with_code(ErrorCode::IdTaken),
            );
        }
        let parent = session_id(root)?;
        let mut written = SummaryWritten {
            bucket: due.bucket,
            id: id.clone(),
            is_of_host: false,
            rules: Vec::new(),
            is_stored: false,
        };
        let texts = [text.map(|text| (text, true)), Some((sentences(&due.text), false))];
        for (text, is_of_host) in texts.into_iter().flatten() {
            if text.trim().is_empty() {
                continue;
            }
            let item = summary_item(due, scope, root, text);
            // What the host gives may be a model's words.
            let most = if is_of_host {
                Origin::Model
            } else {
                Origin::DirectUser
            };
            let class = Origin::least(due.class, most);
            let passed = staging.put(self, id.clone(), item, class, |object| {
                object.parent = Some(parent.clone());
            })?;
            for rule in passed.rules {
                if !written.rules.contains(&rule) {
                    written.rules.push(rule);
                }
            }
            if matches!(passed.fate, Fate::Staged(_)) {
                written.is_stored = true;
                written.is_of_host = is_of_host;
                break;
            }
        }
        Ok(written)
    }

    /// Returns the summaries of a session that fit `query` in order of time: all of them, or what lies around `when`, which is
    /// the nearest one before, those of that very stretch, and the nearest one after.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the session is out of reach; as [`View::query`].
    pub fn session_summaries(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
        query: &str,
        when: Option<Time>,
    ) -> Result<Vec<SummaryRead>> {
        let (_, Some(tree)) = read_tree(view, reach, session, false)? else {
            return Ok(Vec::new());
        };
        let mut items = BTreeMap::new();
        for (bucket, _, id) in tree.summaries {
            if let Some(object) = view.get(&id)? {
                items.insert(id, (bucket, Item::from(object)));
            }
        }
        let texts: Vec<SummaryText<'_>> = items
            .iter()
            .map(|(id, (bucket, item))| SummaryText {
                id: id.as_str(),
                granularity: bucket.granularity(),
                time_micros: bucket.start_micros(),
                text: item.text(),
            })
            .collect();
        let hits = match when {
            None => chronological(texts, query),
            // The stretch that `when` lies in is exact, not only its first moment.
            Some(when) => {
                let day = Bucket::of(Granularity::Day, when.as_micros());
                around(texts, day.start_micros(), query)
            }
        };
        hits.into_iter()
            .map(|hit| {
                let (bucket, item) = &items[&Id::new(hit.summary.id)?];
                Ok(SummaryRead {
                    item: item.clone(),
                    bucket: *bucket,
                    score: hit.score,
                })
            })
            .collect()
    }
}

fn summary_item(due: &DueSummary, scope: &Scope, root: &str, text: String) -> NewItem {
    let mut item = NewItem::new(text);
    item.kind = known_kind(kind::SUMMARY);
    item.scope = scope.clone();
    item.session = Some(root.to_owned());
    item.time = Some(Time::from_micros(due.bucket.start_micros()));
    item.derived_from.clone_from(&due.sources);
    let granularity = Value::from(due.bucket.granularity().name());
    drop(item.others.insert(attribute::GRANULARITY, granularity));
    // SMW-1.
    let watermark = Value::Integer(i64::try_from(due.watermark).unwrap_or(i64::MAX));
    drop(item.others.insert(attribute::WATERMARK, watermark));
    item
}

/// The best sentences of a text, as many as a summary has room for.
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

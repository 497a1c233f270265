//! The differences of two states, of a commit, or of all that a session did, in pages.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Rows;
use super::objects::lane_number;
use super::reader::Reader;
use super::shown::gist;
use super::timeline::line_of;
use crate::answers::field_changes::{FieldChange, field_changes};
use crate::answers::history::LogLine;
use crate::answers::line_diff::hunks;
use treering::ChangeCounts;
use treering::agent::Item;
use treering::inspect::engine::ChangeKind;
use treering::inspect::ingest::json::value_to_json;
use treering::{Change, Error, ErrorCode, ErrorKind, Id, Object, Origin, Result, Value, View};

/// The lines around a change of a content, and the most lines of an object.
const CONTEXT: usize = 2;
const LINES_MAX: usize = 120;
/// The most characters of a line, and of the value of a field.
const LINE_CHARS_MAX: usize = 2_000;
/// The longest time for the difference of two contents.
const PATIENCE: Duration = Duration::from_millis(100);

/// The differences that a request asks for: of a commit, of a lane, or from one state to another.
#[derive(Deserialize)]
pub(crate) struct ChangesAsked {
    commit: Option<String>,
    lane: Option<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of differences.
#[derive(Serialize)]
pub(crate) struct ChangesPage {
    /// The commit, or the newer state.
    to: Option<LogLine>,
    /// The older state. `None` for a lane, and if the commit before was thinned or there is none.
    from: Option<LogLine>,
    #[serde(flatten)]
    counts: ChangeCounts,
    total: usize,
    start: usize,
    rows: Vec<ChangeRow>,
}

/// An object that differs.
#[derive(Serialize)]
pub(crate) struct ChangeRow {
    #[serde(flatten)]
    change: Change,
    /// The classes of the two versions.
    class_old: Option<Origin>,
    class_new: Option<Origin>,
    kind: String,
    flags: Vec<String>,
    gist: String,
    fields: Vec<FieldChange>,
    lines: Vec<Line>,
    /// Whether the difference has more lines.
    cut: bool,
    /// The fate of the change: it is `current`, or the object was `replaced`, `removed` or `restored` since.
    since: &'static str,
}

/// A line of the difference of two contents.
#[derive(Serialize)]
struct Line {
    /// `+`, `-`, a blank, or `@` between two places.
    sign: char,
    text: String,
}

/// Returns a page of differences, sorted by id.
///
/// # Errors
/// `InvalidInput` (code `usage`) if the request names none of the three; `NotFound` if there is no such state or lane;
/// `Corrupt` or `Io` if a state or object cannot be read.
pub(crate) fn changes(reader: &Reader, asked: &ChangesAsked) -> Result<ChangesPage> {
    let rows = Rows {
        start: asked.start,
        count: asked.count,
    };
    let line = |view: &View| line_or_fork(reader, view);
    match (&asked.commit, &asked.lane, &asked.from) {
        (Some(commit), None, None) => {
            let newer = reader.state(Some(commit))?;
            let Some(older) = reader.memory().view_before(&newer.commit())? else {
                return page(reader, rows, (None, Some(line(&newer)?)), &[]);
            };
            let changes = reader.diff(&older, &newer)?;
            page(reader, rows, (Some(line(&older)?), Some(line(&newer)?)), &changes)
        }
        (None, Some(lane), None) => page(reader, rows, (None, None), &of_lane(reader, lane)?),
        (None, None, Some(from)) => {
            let (older, newer) = (reader.state(Some(from))?, reader.state(asked.to.as_deref())?);
            let changes = reader.diff(&older, &newer)?;
            page(reader, rows, (Some(line(&older)?), Some(line(&newer)?)), &changes)
        }
        _ => Err(Error::invalid("the request does not say what to compare")
            .with_code(ErrorCode::Usage)
            .with_hint("give commit, lane, or from and to")),
    }
}

/// Returns the commit of a state, which may be one of a fork.
fn line_or_fork(reader: &Reader, view: &View) -> Result<LogLine> {
    let info = view.commit();
    let found = line_of(reader, &info).map(|(line, _)| line);
    if !matches!(&found, Err(error) if error.kind() == ErrorKind::NotFound) {
        return found;
    }
    for fork in reader.memory().forks()? {
        let fork = reader.memory().open_fork(&fork.name)?;
        if let Ok(line) = LogLine::of(&fork, &info) {
            return Ok(line);
        }
    }
    found
}

fn page(
    reader: &Reader,
    rows: Rows,
    (from, to): (Option<LogLine>, Option<LogLine>),
    changes: &[Change],
) -> Result<ChangesPage> {
    let places = rows.of(changes.len());
    let (start, head) = (places.start, reader.head()?);
    let sides = changes
        .iter()
        .map(|change| (change.old.is_some(), change.new.is_some()));
    let rows = changes[places].iter().map(|change| row(reader, &head, change));
    Ok(ChangesPage {
        from,
        to,
        counts: ChangeCounts::of(sides),
        total: changes.len(),
        start,
        rows: rows.collect::<Result<_>>()?,
    })
}

/// Returns what a lane changed in all, sorted by id: from the version before its first change of an object to the version
/// after its last.
fn of_lane(reader: &Reader, lane: &str) -> Result<Vec<Change>> {
    let ledger = reader.ledger()?;
    let lane = lane_number(reader, &ledger, lane)? as usize;
    let mut sides: HashMap<u32, (Option<u32>, Option<u32>)> = HashMap::new();
    for change in &ledger.lanes()[lane].changes {
        sides.entry(change.id).or_insert((change.old, change.new)).1 = change.new;
    }
    let digest = |version: Option<u32>| version.map(|version| ledger.versions()[version as usize].digest);
    let mut changes = BTreeMap::new();
    for (number, (old, new)) in sides {
        // Leaves out the changes that the lane itself took back.
        let Some(id) = ledger.ids()[number as usize].id.clone().filter(|_| old != new) else {
            continue;
        };
        let change = Change {
            id: id.clone(),
            kind: ChangeKind::of(old.is_some(), new.is_some()),
            old: digest(old),
            new: digest(new),
            erased: false,
        };
        changes.insert(id, change);
    }
    Ok(changes.into_values().collect())
}

/// Returns the row of a change.
pub(super) fn row(reader: &Reader, head: &View, change: &Change) -> Result<ChangeRow> {
    let version = |digest: Option<_>| -> Result<Option<Object>> {
        let found = digest.map(|digest| reader.memory().version(digest)).transpose()?;
        Ok(found.flatten().filter(|object| !object.is_placeholder()))
    };
    let (old, new) = (version(change.old)?, version(change.new)?);
    let shown = new.as_ref().or(old.as_ref());
    let class = |object: &Option<Object>| object.as_ref().map(Object::origin);
    let content = |object: &Option<Object>| {
        let content = object.as_ref().and_then(Object::content);
        content.unwrap_or_default().to_owned()
    };
    let (lines, cut) = lines(&content(&old), &content(&new));
    Ok(ChangeRow {
        class_old: class(&old),
        class_new: class(&new),
        kind: shown.map(|object| object.kind().to_owned()).unwrap_or_default(),
        flags: shown
            .map(|object| Item::from(object.clone()).flags())
            .unwrap_or_default(),
        gist: shown.map(gist).unwrap_or_default(),
        fields: match (&old, &new) {
            (Some(old), Some(new)) => fields(old, new),
            _ => Vec::new(),
        },
        lines,
        cut,
        since: since(head, change)?,
        change: change.clone(),
    })
}

/// Returns the fate of a change.
fn since(head: &View, change: &Change) -> Result<&'static str> {
    let now = match head.get(&change.id) {
        _ if change.erased => None,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => found?.map(|object| object.digest()),
    };
    Ok(match now {
        now if now == change.new => "current",
        now if now == change.old => "restored",
        None => "removed",
        Some(_) => "replaced",
    })
}

fn cut(text: &str) -> String {
    treering_text::visible::cut(text, LINE_CHARS_MAX)
}

/// Returns the fields that differ. A row has the classes of both versions beside its fields.
fn fields(old: &Object, new: &Object) -> Vec<FieldChange> {
    let written = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        value => value_to_json(value).to_string(),
    };
    let mut fields = field_changes(old, new, false, written);
    for side in fields
        .iter_mut()
        .flat_map(|field| [&mut field.old, &mut field.new])
    {
        *side = side.as_deref().map(cut);
    }
    fields
}

/// Returns the row of an item whose text a person would replace. The new version has no digest yet, and the class `class`.
pub(super) fn edited(reader: &Reader, old: &Object, text: &str, class: Origin) -> Result<ChangeRow> {
    let change = change_of(old.id().as_str(), Some(old.digest()), Some(old.digest()))?;
    let (lines, cut) = lines(old.content().unwrap_or_default(), text);
    let mut row = ChangeRow {
        lines,
        cut,
        class_new: Some(class),
        ..row(reader, &reader.head()?, &change)?
    };
    row.change.new = None;
    Ok(row)
}

/// Returns the lines of the difference of two contents, and whether there are more.
fn lines(old: &str, new: &str) -> (Vec<Line>, bool) {
    let mut lines = Vec::new();
    for hunk in hunks(old, new, CONTEXT, PATIENCE) {
        if !lines.is_empty() {
            let text = String::new();
            lines.push(Line { sign: '@', text });
        }
        for (sign, text) in hunk.cut(LINE_CHARS_MAX) {
            if lines.len() >= LINES_MAX {
                return (lines, true);
            }
            lines.push(Line { sign, text });
        }
    }
    (lines, false)
}

/// Returns a change from one version to another.
pub(super) fn change_of(
    id: &str,
    old: Option<treering::ObjectDigest>,
    new: Option<treering::ObjectDigest>,
) -> Result<Change> {
    Ok(Change {
        id: Id::new(id)?,
        kind: ChangeKind::of(old.is_some(), new.is_some()),
        old,
        new,
        erased: false,
    })
}

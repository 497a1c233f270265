//! The objects of a state in pages, and the folders that their ids make.
//!
//! # Layer
//! Layer 9, part of serve.

use serde::{Deserialize, Serialize};

use super::Rows;
use super::reader::Reader;
use super::shown::{KEY_SIGN, gist, key_of};
use treering::agent::Item;
use treering::inspect::engine::{Ledger, SortedIds};
use treering::{Error, ErrorCode, ErrorKind, Id, Object, Origin, Result, Time};
use treering::{Root, View};

/// The largest number of folders of an answer.
const FOLDERS_MAX: usize = 500;
/// The sign that ends the name of a folder.
const SEPARATOR: char = '/';

/// An object as a row of a list.
#[derive(Serialize)]
pub(crate) struct ObjectRow {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) scope: String,
    /// The class; `None` if the object was erased.
    pub(crate) trust: Option<Origin>,
    pub(crate) flags: Vec<String>,
    pub(crate) gist: String,
    pub(crate) updated: Option<Time>,
}

impl ObjectRow {
    pub(super) fn of(view: &View, object: Object) -> Result<Self> {
        let stamps = view.stamps(object.id())?;
        Ok(Self {
            id: object.id().to_string(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            trust: Some(object.origin()),
            gist: gist(&object),
            updated: stamps.map(|(_, updated)| updated),
            flags: Item::from(object).flags(),
        })
    }

    /// Returns the row of an id. The object may have been erased since the state was made.
    pub(super) fn of_id(view: &View, id: &Id) -> Result<Self> {
        let found = match view.get(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => found?,
        };
        match found {
            Some(object) => Self::of(view, object),
            None => Ok(Self {
                id: id.to_string(),
                kind: String::new(),
                scope: String::new(),
                trust: None,
                flags: Vec::new(),
                gist: "erased".to_owned(),
                updated: None,
            }),
        }
    }
}

/// The objects that a request asks for.
#[derive(Deserialize)]
pub(crate) struct ObjectsAsked {
    /// The state.
    at: Option<String>,
    /// The start of the ids.
    #[serde(default)]
    prefix: String,
    /// Only objects of the head that are `untrusted` or `flagged`.
    only: Option<String>,
    /// Only objects of the head whose version this lane wrote.
    lane: Option<String>,
    /// Shows the page around this id.
    around: Option<String>,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of objects.
#[derive(Serialize)]
pub(crate) struct ObjectsPage {
    root: Root,
    seq: u64,
    total: usize,
    start: usize,
    /// The place of the object that the request names with `around`.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
    rows: Vec<ObjectRow>,
}

/// Returns a page of the objects of a state, sorted by id.
///
/// # Errors
/// The errors of [`Reader::state`]; `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn objects(reader: &Reader, asked: &ObjectsAsked) -> Result<ObjectsPage> {
    let rows = Rows {
        start: asked.start,
        count: asked.count,
    };
    if asked.only.is_some() || asked.lane.is_some() {
        return chosen(reader, asked, rows);
    }
    let view = reader.state(asked.at.as_deref())?;
    let ids = reader.ids(&view)?;
    let (low, high) = range(&ids, &asked.prefix);
    let total = high - low;
    let place = asked
        .around
        .as_deref()
        .map(|id| ids.place_of(id).clamp(low, high) - low);
    let rows = match place {
        Some(place) => Rows {
            start: place.saturating_sub(super::ROWS / 2),
            ..rows
        },
        None => rows,
    };
    let places = rows.of(total);
    let start = places.start;
    let found = places.filter_map(|place| ids.at(low + place));
    Ok(ObjectsPage {
        root: view.root(),
        seq: view.commit().commit.seq,
        total,
        start,
        place,
        rows: found
            .map(|id| ObjectRow::of_id(&view, &id))
            .collect::<Result<_>>()?,
    })
}

/// Returns the places of the ids that start with `prefix`.
fn range(ids: &SortedIds, prefix: &str) -> (usize, usize) {
    let low = ids.place_of(prefix);
    let high = match after(prefix) {
        Some(after) => ids.place_of(&after),
        None => ids.len(),
    };
    (low, high.max(low))
}

/// Returns the first text after all texts that start with `prefix`.
fn after(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = ((last as u32 + 1)..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

/// Returns a page of the objects of the head that a filter of the ledger selects.
fn chosen(reader: &Reader, asked: &ObjectsAsked, rows: Rows) -> Result<ObjectsPage> {
    let ledger = reader.ledger()?;
    let view = reader.head()?;
    let filter = Filter::of(reader, &ledger, asked)?;
    let seq = ledger.commits().last().map_or(0, |commit| commit.seq);
    let name = format!("{:?}\n{:?}\n{}", asked.only, asked.lane, asked.prefix);
    // A garbage collection moves no head. It thins commits, and the ledger then numbers the ids anew.
    let made_of = (name, seq, ledger.commits().len());
    let chosen = reader.derived.chosen.get(made_of, || {
        let mut chosen: Vec<u32> = (0..)
            .zip(ledger.ids())
            .filter(|(_, id)| filter.has(&ledger, id))
            .map(|(at, _)| at)
            .collect();
        chosen.sort_unstable_by(|a, b| ledger.ids()[*a as usize].id.cmp(&ledger.ids()[*b as usize].id));
        Ok(chosen)
    })?;
    let places = rows.of(chosen.len());
    let start = places.start;
    let ids: Vec<Id> = places
        .filter_map(|place| ledger.ids()[chosen[place] as usize].id.clone())
        .collect();
    drop(ledger);
    Ok(ObjectsPage {
        root: view.root(),
        seq: view.commit().commit.seq,
        total: chosen.len(),
        start,
        place: None,
        rows: ids
            .iter()
            .map(|id| ObjectRow::of_id(&view, id))
            .collect::<Result<_>>()?,
    })
}

/// A filter of the ledger.
struct Filter<'a> {
    prefix: &'a str,
    untrusted: bool,
    flagged: bool,
    lane: Option<u32>,
}

impl<'a> Filter<'a> {
    fn of(reader: &Reader, ledger: &Ledger, asked: &'a ObjectsAsked) -> Result<Self> {
        let only = asked.only.as_deref();
        if only.is_some_and(|only| !matches!(only, "untrusted" | "flagged")) {
            return Err(Error::invalid("the filter is unknown")
                .with_code(ErrorCode::Usage)
                .with_hint("give only=untrusted or only=flagged"));
        }
        Ok(Self {
            prefix: &asked.prefix,
            untrusted: only == Some("untrusted"),
            flagged: only == Some("flagged"),
            lane: asked
                .lane
                .as_deref()
                .map(|lane| lane_number(reader, ledger, lane))
                .transpose()?,
        })
    }

    fn has(&self, ledger: &Ledger, id: &treering::inspect::engine::KnownId) -> bool {
        let Some(version) = id.present.map(|present| &ledger.versions()[present as usize]) else {
            return false;
        };
        id.id
            .as_ref()
            .is_some_and(|id| id.as_str().starts_with(self.prefix))
            && (!self.untrusted || !version.origin.is_trusted())
            && (!self.flagged || version.is_flagged)
            && self.lane.is_none_or(|lane| lane == version.lane)
    }
}

/// Returns the number of the lane with this name, or with this key for a name that may look like another one.
///
/// # Errors
/// `NotFound` if no commit is of the lane.
pub(super) fn lane_number(reader: &Reader, ledger: &Ledger, name: &str) -> Result<u32> {
    let suite = reader.memory().suite();
    let is = |lane: &str| {
        if name.starts_with(KEY_SIGN) {
            key_of(suite, lane) == name
        } else {
            lane == name
        }
    };
    let found = ledger.lanes().iter().position(|lane| is(&lane.name));
    let found = found.ok_or_else(|| {
        Error::not_found(format!("no commit was made by the session '{name}'"))
            .with_code(ErrorCode::NothingSelected)
            .with_hint(
                "retention may have thinned its commits; the list of sessions has those that history keeps",
            )
    })?;
    Ok(found as u32)
}

/// The folders that a request asks for.
#[derive(Deserialize)]
pub(crate) struct FoldersAsked {
    at: Option<String>,
    #[serde(default)]
    prefix: String,
}

/// The folders below a prefix. The `/` in an id makes folders.
#[derive(Serialize)]
pub(crate) struct Folders {
    root: Root,
    /// The objects below the prefix.
    total: usize,
    /// The objects directly below it.
    direct: usize,
    folders: Vec<Folder>,
    /// Whether there are more folders than the answer names.
    more: bool,
}

/// A folder of ids.
#[derive(Serialize)]
struct Folder {
    name: String,
    prefix: String,
    objects: usize,
    /// Whether the folder contains folders.
    folders: bool,
}

/// Returns the folders below a prefix. Reads no object.
///
/// # Errors
/// The errors of [`Reader::state`] and [`Reader::ids`].
pub(crate) fn folders(reader: &Reader, asked: &FoldersAsked) -> Result<Folders> {
    let view = reader.state(asked.at.as_deref())?;
    let ids = reader.ids(&view)?;
    let (low, high) = range(&ids, &asked.prefix);
    let (mut place, mut direct, mut more) = (low, 0, false);
    let mut folders = Vec::new();
    while place < high {
        let below = ids
            .text_at(place)
            .and_then(|id| id.get(asked.prefix.len()..))
            .unwrap_or_default();
        let Some((name, _)) = below.split_once(SEPARATOR).filter(|(_, rest)| !rest.is_empty()) else {
            (place, direct) = (place + 1, direct + 1);
            continue;
        };
        if folders.len() == FOLDERS_MAX {
            more = true;
            break;
        }
        let prefix = format!("{}{name}{SEPARATOR}", asked.prefix);
        let (_, end) = range(&ids, &prefix);
        let last = end.checked_sub(1).and_then(|last| ids.text_at(last));
        let has_more = |id: Option<&str>| {
            id.and_then(|id| id.get(prefix.len()..))
                .is_some_and(|rest| rest.contains(SEPARATOR))
        };
        folders.push(Folder {
            name: name.to_owned(),
            objects: end - place,
            folders: has_more(ids.text_at(place)) || has_more(last),
            prefix,
        });
        place = end.max(place + 1);
    }
    Ok(Folders {
        root: view.root(),
        total: high - low,
        direct,
        folders,
        more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_after_a_prefix_begin_after_all_of_its_texts() {
        assert_eq!(after("a/"), Some("a0".to_owned()));
        assert_eq!(after("a\u{10FFFF}"), Some("b".to_owned()));
        assert_eq!(after("\u{D7FF}"), Some("\u{E000}".to_owned()));
        assert_eq!(after(""), None);
    }
}

//! From the data of a `memory.snap` to objects.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::{LispValue, SnapError, SnapLimits, SnapReason, read_value};

/// Seconds from 1900, where the times of Lisp begin, to 1970.
const SECONDS_FROM_1900: i64 = 2_208_988_800;

/// An object of the published core.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct SnapObject {
    /// Its name.
    pub id: String,
    /// Its type in lower case, such as `headline`.
    pub kind: Option<String>,
    /// Its attributes, names in lower case.
    pub attributes: Map<String, Json>,
    /// Its content.
    pub content: Option<String>,
    /// The name of its parent.
    pub parent: Option<String>,
    /// The names of its children, in order.
    pub children: Vec<String>,
    /// When this version was made, in microseconds since 1970.
    pub version_micros: Option<i64>,
    /// When it was last taken in, in microseconds since 1970.
    pub synced_micros: Option<i64>,
    /// The digest that the file states; it says nothing about what is read here.
    pub stated_hash: Option<String>,
    /// Its scope in lower case, such as `memex`.
    pub scope: Option<String>,
    /// Whether it has a vector, which is left out: it can be computed again.
    pub has_vector: bool,
    /// Fields that are not known, names in lower case.
    pub other: Map<String, Json>,
}

/// The two tables of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapTable {
    /// The live objects, by their names.
    Memory,
    /// All versions, by their digests.
    History,
}

impl SnapTable {
    /// The key of the table in the file, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::History => "history-store",
        }
    }
}

/// Something that was not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapFinding {
    /// The table.
    pub table: SnapTable,
    /// The entry's place in it, from 0.
    pub place: usize,
    /// What it is, as a sentence without its subject.
    pub what: &'static str,
}

impl fmt::Display for SnapFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} of `{}` {}", self.place, self.table.name(), self.what)
    }
}

/// What a file holds.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Snap {
    /// The live objects, in the order of the file.
    pub objects: Vec<SnapObject>,
    /// All versions of the history, in the order of the file.
    pub history: Vec<SnapObject>,
    /// What was not as it should be.
    pub findings: Vec<SnapFinding>,
}

/// Reads a file.
///
/// # Errors
/// A [`SnapError`] if it is not printed data, would have to be evaluated, is beyond the limits, or has no table
/// `:memory`. What is wrong with single entries is a finding.
pub fn read_snap(bytes: &[u8], limits: &SnapLimits) -> Result<Snap, SnapError> {
    let value = read_value(bytes, limits)?;
    let no_tables = || SnapError {
        offset: 0,
        reason: SnapReason::NoTables,
    };
    let pairs = value.pairs().ok_or_else(no_tables)?;
    let table = |table: SnapTable| pairs.iter().find(|(name, _)| name == table.name());
    let (_, memory) = table(SnapTable::Memory).ok_or_else(no_tables)?;
    let mut snap = Snap::default();
    snap.objects = snap.take(SnapTable::Memory, memory).ok_or_else(no_tables)?;
    if let Some((_, history)) = table(SnapTable::History) {
        snap.history = snap.take(SnapTable::History, history).ok_or_else(no_tables)?;
    }
    Ok(snap)
}

impl Snap {
    /// The objects of a table; `None` if it is not a list.
    fn take(&mut self, table: SnapTable, value: &LispValue) -> Option<Vec<SnapObject>> {
        let LispValue::List(entries) = value else {
            return None;
        };
        let mut objects = Vec::new();
        let mut keys = HashSet::new();
        for (place, entry) in entries.iter().enumerate() {
            let mut say = |what| self.findings.push(SnapFinding { table, place, what });
            let Some((key, object)) = object_under_key(entry, &mut say) else {
                say("is not an object under a name and is left out");
                continue;
            };
            // As a lookup in such a table does, the first holds.
            if !keys.insert(key.clone()) {
                say("has the name of another one before it and is left out");
                continue;
            }
            objects.push(named(table, key, object, &mut say));
        }
        Some(objects)
    }
}

/// The object under its name, which is the key of the one table and a field in the other.
fn named(
    table: SnapTable,
    key: String,
    mut object: SnapObject,
    say: &mut impl FnMut(&'static str),
) -> SnapObject {
    match table {
        SnapTable::Memory if object.id.is_empty() => object.id = key,
        SnapTable::Memory if object.id != key => {
            say("has another name than its key; the one in the object holds");
        }
        SnapTable::History if object.stated_hash.as_ref().is_some_and(|hash| *hash != key) => {
            say("has another hash than its key");
        }
        _ => {}
    }
    if object.id.is_empty() {
        say("has no name");
    }
    object
}

/// The key and the object of `(key . object)`.
fn object_under_key(entry: &LispValue, say: &mut impl FnMut(&'static str)) -> Option<(String, SnapObject)> {
    let (key, value) = entry.pair()?;
    let object = object_of(value.pairs()?, say)?;
    Some((key, object))
}

/// The object that the fields make; `None` if nothing says that it is one.
fn object_of(
    fields: Vec<(String, Cow<'_, LispValue>)>,
    say: &mut impl FnMut(&'static str),
) -> Option<SnapObject> {
    let mut object = SnapObject::default();
    let mut known = 0;
    let mut seen = HashSet::new();
    for (name, value) in fields {
        let value = &*value;
        if !seen.insert(name.clone()) {
            say("has a field twice; the first holds");
            continue;
        }
        known += 1;
        match name.as_str() {
            _ if value.is_nil() => {}
            "id" => object.id = text_of(value, say).unwrap_or_default(),
            "type" => object.kind = value.name(),
            "content" => object.content = text_of(value, say),
            "parent-id" => object.parent = text_of(value, say),
            "hash" => object.stated_hash = text_of(value, say),
            "scope" => object.scope = value.name(),
            "version" => object.version_micros = time_of(value, say),
            "last-sync" => object.synced_micros = time_of(value, say),
            "vector" => object.has_vector = true,
            "children" => object.children = names_of(value, say),
            "attributes" => object.attributes = attributes_of(value, say),
            _ => {
                known -= 1;
                object.other.insert(name, value.to_json());
            }
        }
    }
    (known > 0).then_some(object)
}

fn text_of(value: &LispValue, say: &mut impl FnMut(&'static str)) -> Option<String> {
    let text = value.name();
    if text.is_none() {
        say("has a field that is not text, which is left out");
    }
    text
}

/// A time of Lisp, in seconds since 1900.
fn time_of(value: &LispValue, say: &mut impl FnMut(&'static str)) -> Option<i64> {
    let micros = match value {
        LispValue::Integer(seconds) => {
            let seconds = seconds.checked_sub(SECONDS_FROM_1900);
            seconds.and_then(|seconds| seconds.checked_mul(1_000_000))
        }
        _ => None,
    };
    if micros.is_none() {
        say("has a time that cannot be read, which is left out");
    }
    micros
}

fn names_of(value: &LispValue, say: &mut impl FnMut(&'static str)) -> Vec<String> {
    let items = match value {
        LispValue::List(items) => items,
        // `(:children . ("a"))` is printed as `(:children "a")`.
        only => std::slice::from_ref(only),
    };
    let names = items.iter().filter_map(|item| {
        let name = item.name();
        if name.is_none() {
            say("has a child that is not a name, which is left out");
        }
        name
    });
    names.collect()
}

fn attributes_of(value: &LispValue, say: &mut impl FnMut(&'static str)) -> Map<String, Json> {
    let Some(pairs) = value.pairs() else {
        say("has attributes that are not pairs, which are left out");
        return Map::new();
    };
    let mut attributes = Map::new();
    for (name, value) in pairs {
        if attributes.contains_key(&name) {
            say("has an attribute twice; the first holds");
        } else {
            attributes.insert(name, value.to_json());
        }
    }
    attributes
}

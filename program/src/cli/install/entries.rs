//! The entries of an installation in a JSON file: adds them, finds them, and takes them out.
//!
//! # Layer
//! Layer 10, part of cli.

use serde_json::Value as Json;

use super::commands::{is_own_command, is_own_server, with_options_of};
use super::record::InstallRecord;
use super::server::Start;
use crate::cli::json_edit::{Document, Refusal, Step};

/// Why a server is not replaced.
pub(super) const OTHER_SERVER: &str = "it has a server with this name that starts another program";

/// An entry of a JSON file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    path: Vec<String>,
    value: Json,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A member of this program.
    Member,
    /// A member that the file needs, whoever uses it.
    Default,
    /// An item of a list, which has others.
    Item,
}

impl Entry {
    /// A member with this value.
    pub(crate) fn member(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Member)
    }

    /// A member that the file needs, and that stays as it is if it is there.
    pub(crate) fn default_member(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Default)
    }

    /// A hook in the list at this path.
    pub(crate) fn item(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Item)
    }

    fn of(path: &[&str], value: Json, kind: Kind) -> Self {
        let path = path.iter().map(|step| (*step).to_owned()).collect();
        Self { path, value, kind }
    }

    /// Checks whether a document has the entry, or an older one of this program.
    pub(super) fn is_in(&self, document: &Document) -> bool {
        match document.get(&self.steps()) {
            Some(Json::Array(items)) if self.kind == Kind::Item => !own_hooks(&items).is_empty(),
            Some(server) if self.kind == Kind::Member => server.is_object() && is_own_server(&server),
            _ => false,
        }
    }

    pub(super) fn steps(&self) -> Vec<Step<'_>> {
        self.path.iter().map(|step| Step::Key(step)).collect()
    }
}

/// Adds the entries to a document. A server of another program is refused, or replaced with `takes_any`.
///
/// # Errors
/// The reason, if the rest of the text cannot be kept.
pub(super) fn with_entries(
    document: &mut Document,
    entries: &[Entry],
    takes_any: bool,
    record: &mut InstallRecord,
) -> Result<(), Refusal> {
    for entry in entries {
        let steps = entry.steps();
        let known = document.get(&steps);
        match (entry.kind, known) {
            (Kind::Default, Some(_)) => {}
            (Kind::Member, Some(known @ Json::Object(_))) if !takes_any && !is_own_server(&known) => {
                return Err(OTHER_SERVER.to_owned());
            }
            (Kind::Member, Some(Json::Object(known))) => {
                let mut new = entry.value.clone();
                if !takes_any {
                    add_options_of(&Json::Object(known.clone()), &mut new);
                }
                // Other keys of the user, such as `env`, stay.
                for (key, value) in new.as_object().into_iter().flatten() {
                    if known.get(key) == Some(value) {
                        continue;
                    }
                    let step = [&steps[..], &[Step::Key(key)]].concat();
                    let done = match known.get(key) {
                        Some(_) => document.replace(&step, value),
                        None => document.insert(&steps, Some(key), value),
                    };
                    done?;
                }
            }
            (Kind::Member, Some(_)) => {
                return Err("the server is not an object".to_owned());
            }
            (Kind::Item, Some(Json::Array(items))) => {
                with_item(document, entry, &items, record)?;
            }
            (Kind::Item, Some(_)) => return Err("the hooks of an event are not a list".to_owned()),
            (Kind::Item, None) => {
                let list = Json::Array(vec![entry.value.clone()]);
                insert(document, &steps, &list, record)?;
            }
            (_, None) => insert(document, &steps, &entry.value, record)?,
        }
    }
    Ok(())
}

/// Adds a hook to a list, or gives an older hook of this program the new command.
fn with_item(
    document: &mut Document,
    entry: &Entry,
    items: &[Json],
    record: &mut InstallRecord,
) -> Result<(), Refusal> {
    let steps = entry.steps();
    let own = own_hooks(items);
    let Some((place, inner)) = own.first().copied() else {
        note_inner(document, &steps, record);
        return document.insert(&steps, None, &entry.value);
    };
    // A program with another file name may have installed them once more.
    for other in own[1..].iter().rev() {
        let path = path_of(&steps, items, *other);
        remove_empty(document, &path, record)?;
    }
    let mut path = steps.clone();
    path.push(Step::At(place));
    let mut new = &entry.value;
    if let Some(inner) = inner {
        path.extend([Step::Key("hooks"), Step::At(inner)]);
        new = &entry.value["hooks"][0];
    }
    for key in ["command", "timeout"] {
        let step = [&path[..], &[Step::Key(key)]].concat();
        let Some(known) = document.get(&step) else {
            continue;
        };
        let new = match (&known, &new[key]) {
            (Json::String(known), Json::String(new)) => Json::from(with_options_of(known, new)),
            (_, new) => new.clone(),
        };
        if known != new {
            document.replace(&step, &new)?;
        }
    }
    Ok(())
}

/// Takes the entries out of a document, as `record` says how it was.
///
/// # Errors
/// The reason, if the rest of the text cannot be kept.
pub(super) fn without_entries(
    document: &mut Document,
    entries: &[Entry],
    record: &InstallRecord,
) -> Result<(), Refusal> {
    for entry in entries.iter().rev() {
        let steps = entry.steps();
        match (entry.kind, document.get(&steps)) {
            (Kind::Item, Some(Json::Array(mut items))) => {
                while let Some(own) = own_hooks(&items).first().copied() {
                    let path = path_of(&steps, &items, own);
                    remove_empty(document, &path, record)?;
                    items = match document.get(&steps) {
                        Some(Json::Array(items)) => items,
                        _ => break,
                    };
                }
            }
            (Kind::Member, Some(known)) if is_own_server(&known) => {
                remove_empty(document, &steps, record)?;
            }
            (Kind::Default, Some(value))
                if value == entry.value && record.emptied.contains_key(&name_of(&steps)) =>
            {
                // Hooks that a user added since still need the member.
                let hooks = document.get(&[Step::Key("hooks")]);
                let has_others =
                    hooks.is_some_and(|hooks| hooks.as_object().is_none_or(|map| !map.is_empty()));
                if !has_others || !record.emptied.contains_key("/hooks") {
                    remove_empty(document, &steps, record)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds to the new entry of a server the options that only the known one has.
fn add_options_of(known: &Json, new: &mut Json) {
    let (Some(known), Some(mut start)) = (Start::of(known), Start::of(new)) else {
        return;
    };
    let count = start.args.len();
    start.add_options_of(&known, &[]);
    let place = if new["args"].is_null() { "command" } else { "args" };
    if let Some(Json::Array(list)) = new.get_mut(place) {
        list.extend(start.args.drain(count..).map(Json::from));
    }
}

/// Inserts a value, with the objects above it that are not there.
fn insert(
    document: &mut Document,
    steps: &[Step<'_>],
    value: &Json,
    record: &mut InstallRecord,
) -> Result<(), String> {
    let there = (0..steps.len())
        .rev()
        .find(|length| document.get(&steps[..*length]).is_some());
    let there = there.unwrap_or_default();
    note_inner(document, &steps[..there], record);
    // The objects above are made with the value in them, from the innermost one outwards.
    let mut value = value.clone();
    for step in steps[there + 1..].iter().rev() {
        if let Step::Key(key) = step {
            value = Json::Object([((*key).to_owned(), value)].into_iter().collect());
        }
    }
    for length in there + 1..=steps.len() {
        record.emptied.entry(name_of(&steps[..length])).or_insert(None);
    }
    match steps[there] {
        Step::Key(key) => document.insert(&steps[..there], Some(key), &value),
        Step::At(_) => Err("a list has no such item".to_owned()),
    }
}

/// Notes the white space of an object or list that an insertion replaces.
fn note_inner(document: &Document, steps: &[Step<'_>], record: &mut InstallRecord) {
    if let Some(inner) = document.inner_blank(steps) {
        record.emptied.entry(name_of(steps)).or_insert(Some(inner));
    }
}

/// Removes a value, and the objects and lists above it that are empty then, if an installation made them.
fn remove_empty(document: &mut Document, path: &[Step<'_>], record: &InstallRecord) -> Result<(), String> {
    let mut path = path;
    loop {
        let above = &path[..path.len() - 1];
        let inner = record.emptied.get(&name_of(above)).cloned().flatten();
        document.remove(path, inner.as_deref().unwrap_or_default())?;
        let is_empty = match document.get(above) {
            Some(Json::Object(map)) => map.is_empty(),
            Some(Json::Array(list)) => list.is_empty(),
            _ => false,
        };
        let was_made =
            inner.is_none() && (record.emptied.contains_key(&name_of(above)) || record.emptied.is_empty());
        let has_comment = document
            .inner_blank(above)
            .is_some_and(|inner| !inner.trim().is_empty());
        if !is_empty || !was_made || has_comment || above.is_empty() {
            return Ok(());
        }
        path = above;
    }
}

/// Returns the name of a path for a record. Items of lists count as their list.
fn name_of(steps: &[Step<'_>]) -> String {
    let keys = steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Step::At(_) => None,
    });
    keys.collect()
}

/// The place of a hook in a list of hooks, or of a group with the place in it.
type Own = (usize, Option<usize>);

/// Returns the places of the hooks of this program.
pub(super) fn own_hooks(items: &[Json]) -> Vec<Own> {
    let is_own = |hook: &Json| hook["command"].as_str().is_some_and(is_own_command);
    let mut own = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let inner = item["hooks"].as_array().into_iter().flatten().enumerate();
        own.extend(
            inner
                .filter(|(_, hook)| is_own(hook))
                .map(|(inner, _)| (place, Some(inner))),
        );
        own.extend(is_own(item).then_some((place, None)));
    }
    own
}

/// Returns the path of a hook, or of its group if nothing else is in it.
fn path_of<'a>(list: &[Step<'a>], items: &[Json], (place, inner): Own) -> Vec<Step<'a>> {
    let mut path = list.to_vec();
    path.push(Step::At(place));
    let hooks = items[place]["hooks"].as_array().map_or(0, Vec::len);
    if let Some(inner) = inner.filter(|_| hooks > 1) {
        path.extend([Step::Key("hooks"), Step::At(inner)]);
    }
    path
}

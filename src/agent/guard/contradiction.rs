//! Protects pinned items from removal, rewriting, superseding and contradiction.
//!
//! # Layer
//! L7, inside `agent`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::report::Failure;
use super::turn::Turn;
use crate::agent::Item;
use crate::agent::item::MADE_BY_VERBS;
use crate::agent::vocabulary::attribute;
use crate::engine::Query;
use crate::error::Result;
use crate::object::{NewObject, Object, Scope, Value};
use crate::recall;

/// The pinned items before the change. An untrusted pin does not bind a trusted writer.
pub(super) fn pinned(turn: &Turn<'_>) -> Result<BTreeMap<String, Item>> {
    let query = Query {
        attributes: vec![(attribute::PINNED.to_owned(), Value::Bool(true))],
        ..Query::default()
    };
    let mut found = BTreeMap::new();
    for object in turn.draft.base().query(&query)? {
        let object = object?;
        if turn.class().is_trusted() && !object.origin().is_trusted() {
            continue;
        }
        found.insert(object.id().to_owned(), Item::from(object));
    }
    Ok(found)
}

/// Whether a pinned object is unchanged, apart from the notes of verbs.
fn is_kept(old: &Object, new: Option<&Object>) -> Result<bool> {
    let stated = |object: &Object| -> Result<NewObject> {
        let mut stated = object.to_new()?;
        for name in MADE_BY_VERBS {
            drop(stated.attributes.remove(name));
        }
        stated.derived_from.clear();
        Ok(stated)
    };
    match new {
        Some(new) => Ok(stated(new)? == stated(old)?),
        None => Ok(false),
    }
}

/// Refuses to remove, rewrite or supersede a pinned item.
pub(super) fn kept(turn: &Turn<'_>, pinned: &BTreeMap<String, Item>) -> Result<Option<Failure>> {
    let mut ids = Vec::new();
    for one in &turn.changes {
        if let Some(old) = pinned.get(one.id.as_str())
            && !is_kept(old.object(), one.new.as_ref())?
        {
            ids.push(one.id.to_string());
        }
        let new = one.new.clone().map(Item::from);
        let superseded = new.map(|new| new.supersedes()).unwrap_or_default();
        ids.extend(superseded.into_iter().filter(|id| pinned.contains_key(id)));
    }
    ids.sort_unstable();
    ids.dedup();
    let advice = "leave it as it is, or ask a person to unpin it first";
    let why = "what is pinned would be removed, changed or superseded";
    Ok(Failure::about(ids, advice, || why.to_owned()))
}

/// New texts against the pinned ones of their scope and of the global one.
pub(super) fn contradictions(turn: &Turn<'_>, pinned: &BTreeMap<String, Item>) -> Option<Failure> {
    let (mut index, mut by_key) = (recall::Index::new(), HashMap::new());
    for (number, (id, item)) in (0_u128..).zip(pinned) {
        let key = recall::Key(number.to_le_bytes());
        let told = recall::Document {
            key,
            scope: item.object().scope(),
            session: None,
            speaker: "",
            time: 0,
            order: 0,
            text: item.text(),
            supersedes: &[],
        };
        // A full index has more pinned items than anybody reads.
        if index.put(&told).is_ok() {
            by_key.insert(key, (id, item));
        }
    }
    let mut scratch = recall::Scratch::default();
    let (mut ids, mut told) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (changed, object) in turn.written() {
        let text = object.content().unwrap_or_default();
        if index.is_empty() || text.is_empty() || pinned.contains_key(object.id()) {
            continue;
        }
        let scopes = [object.scope(), Scope::GLOBAL];
        let near = index.near(text, Some(&scopes), None, &mut scratch, |key| {
            by_key.get(key).map(|(_, item)| Cow::Borrowed(item.text()))
        });
        for one in near {
            let (recall::Verdict::Conflict(how), Some((id, _))) = (one.verdict, by_key.get(&one.key)) else {
                continue;
            };
            if seen.insert(changed.id.clone()) {
                ids.push(changed.id.to_string());
                told.push(format!("'{}' against '{id}' ({how})", changed.id));
            }
        }
    }
    told.truncate(3);
    let advice = "keep to what is pinned, or ask a person which holds";
    Failure::about(ids, advice, || {
        format!("what is pinned is contradicted: {}", told.join(", "))
    })
}

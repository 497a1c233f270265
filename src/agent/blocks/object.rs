//! Conversion between a block and an object.
//!
//! Tags, citations, expiry and content have lines of their own. Every other attribute is a line under its name, as JSON
//! if it is not plain text. Files omit attributes that only verbs set (levels of decay, flags, promotions).
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - BOB-1: an unedited block changes no attribute of its object, whatever its type.

use std::collections::BTreeMap;

use super::block::{Block, bare, unquoted};
use super::id::BlockId;
use crate::agent::item::{self, Item, stated_attributes};
use crate::agent::scope::Place;
use crate::agent::vocabulary::attribute;
use crate::engine::View;
use crate::error::{Error, ErrorCode, Result};
use crate::ingest::json::{parse_within, value_from_json, value_to_json};
use crate::object::{NewObject, Object, Origin, Scope, Time, Value};

/// The line for the trust of an untrusted block. A store that does not know the block, or has forgotten it, reads the
/// trust only from this line.
const TRUST: &str = "trust";
/// The deepest nesting of JSON in an attribute of a file.
const DEPTH_MAX: usize = 32;
/// The word for the current project in files.
const PROJECT: &str = "project";

/// Returns the block of an object, given its id.
pub(super) fn block_of(view: &View, place: &Place, object: &Object, id: BlockId) -> Result<Block> {
    let stamps = view.stamps(object.id())?;
    let (created, updated) = stamps.unzip();
    let own = stated_attributes(object);
    let item = Item::from(object.clone());
    let others = own.iter().filter(|(name, _)| !is_field(name));
    let mut other: Vec<_> = others.map(|(name, value)| (name.clone(), shown(value))).collect();
    if !object.origin().is_trusted() && own.get(TRUST).is_none() {
        other.push((TRUST.to_owned(), object.origin().name().to_owned()));
    }
    Ok(Block {
        id,
        scope: Some(word_of(place, object.scope())),
        created_micros: created.map(Time::as_micros),
        updated_micros: updated.map(Time::as_micros),
        expires_micros: object.expires().map(Time::as_micros),
        tags: item.tags(),
        citations: item.citations(),
        other,
        content: item.text().to_owned(),
    })
}

/// Returns the untrusted class that a file states; else the class of the person.
pub(super) fn trust_of(block: &Block) -> Origin {
    let stated = block.other.iter().find(|(key, _)| key == TRUST);
    let origin = stated.and_then(|(_, word)| Origin::from_name(word));
    origin
        .filter(|origin| !origin.is_trusted())
        .unwrap_or(Origin::DirectUser)
}

/// Returns the scope of a file; `usual` if the file names no scope.
pub(super) fn scope_of(place: &Place, block: &Block, usual: &Scope) -> Result<Scope> {
    match &block.scope {
        Some(word) => place.scope(word),
        None => Ok(usual.clone()),
    }
}

/// Whether two blocks are equal apart from times, trust, and the order of lines.
pub(super) fn say_the_same(one: &Block, other: &Block) -> bool {
    let lines = |block: &Block| {
        let stated = block.other.iter().filter(|(key, _)| key != TRUST);
        stated.cloned().collect::<BTreeMap<_, _>>()
    };
    one.content == other.content
        && one.tags == other.tags
        && one.expires_micros == other.expires_micros
        && one.citations == other.citations
        && lines(one) == lines(other)
}

/// Applies the differences between `before` and `block` to an object; without `before`, the whole block.
pub(super) fn apply(object: &mut NewObject, before: Option<&Block>, block: &Block) -> Result<()> {
    object.content = Some(block.content.clone());
    object.expires = block.expires_micros.map(Time::from_micros);
    let attributes = &mut object.attributes;
    if before.is_none_or(|before| before.tags != block.tags) {
        match item::texts(&block.tags) {
            Some(tags) => drop(attributes.insert(attribute::TAGS, tags)),
            None => drop(attributes.remove(attribute::TAGS)),
        }
    }
    if before.is_none_or(|before| before.citations != block.citations) {
        match item::citations_value(block.citations.clone()) {
            Some(citations) => drop(attributes.insert(attribute::CITATIONS, citations)),
            None => drop(attributes.remove(attribute::CITATIONS)),
        }
    }
    let lines = before.into_iter().flat_map(|before| &before.other);
    let had: BTreeMap<&str, &str> = lines.map(|(key, value)| (&**key, &**value)).collect();
    for key in had
        .keys()
        .filter(|key| !block.other.iter().any(|(own, _)| own == **key))
    {
        attributes.remove(key);
    }
    for (key, value) in &block.other {
        if key == TRUST && Origin::from_name(value).is_some() {
            continue;
        }
        // BOB-1: an unchanged value keeps its type.
        if had.get(key.as_str()) == Some(&value.as_str()) {
            continue;
        }
        if item::MADE_BY_VERBS.contains(&key.as_str()) {
            return Err(
                Error::invalid(format!("a file cannot set `{key}`")).with_code(ErrorCode::ReservedKey)
            );
        }
        drop(attributes.insert(key.as_str(), value_of(value)));
    }
    Ok(())
}

fn is_field(name: &str) -> bool {
    name == attribute::TAGS || name == attribute::CITATIONS
}

fn word_of(place: &Place, scope: &str) -> String {
    let project = place.scope(PROJECT);
    if project.is_ok_and(|project| project.as_str() == scope) {
        PROJECT.to_owned()
    } else {
        scope.to_owned()
    }
}

/// Writes a value on a line: as text if the reader gets the same value back, else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) if is_plain(text) => text.clone(),
        other => value_to_json(other).to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.contains('\n')
        && bare(text) == text
        && unquoted(text) == text
        && parse_within(text, DEPTH_MAX).is_err()
}

fn value_of(line: &str) -> Value {
    let json = parse_within(line, DEPTH_MAX).ok();
    json.and_then(|json| value_from_json(&json).ok())
        .unwrap_or_else(|| Value::from(line))
}

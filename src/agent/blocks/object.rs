//! Converts between a block and an object.
//!
//! Expiry and content have separate fields. Each attribute is a line with the name of the attribute. Files omit
//! attributes that only verbs set (levels of decay, flags, promotions).
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - BOB-1: importing an unedited block does not change any attribute of its object, of any type.

use super::block::Block;
use crate::agent::item::{Item, MADE_BY_VERBS, stated_attributes};
use crate::agent::scope::Place;
use crate::engine::View;
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Attributes, NewObject, Object, Origin, Scope, Value};

/// The key of the class of an untrusted block. A store that does not contain the block reads the class of the block
/// from this line.
const TRUST: &str = "trust";
/// The name of the current project's scope in files.
const PROJECT: &str = "project";

/// Returns the block of an object.
pub(super) fn block_of(view: &View, place: &Place, object: &Object) -> Result<Block> {
    let (created, updated) = view.stamps(object.id())?.unzip();
    let mut attributes = stated_attributes(object);
    if !object.origin().is_trusted() && attributes.get(TRUST).is_none() {
        attributes.insert(TRUST, object.origin().name());
    }
    let is_of_project = |project: Scope| project.as_str() == object.scope();
    let scope = if place.scope(PROJECT).is_ok_and(is_of_project) {
        PROJECT
    } else {
        object.scope()
    };
    Ok(Block {
        id: object.id().clone(),
        scope: Some(scope.to_owned()),
        created,
        updated,
        expires: object.expires(),
        attributes,
        content: Item::from(object.clone()).text().to_owned(),
    })
}

/// Returns the class in the line `trust`, or `None` if the line is missing or names no class.
fn stated_class(block: &Block) -> Option<Origin> {
    block
        .attributes
        .get(TRUST)
        .and_then(Value::as_text)
        .and_then(Origin::from_name)
}

/// Returns the class in the line `trust` if it is untrusted, otherwise the class of the person.
pub(super) fn trust_of(block: &Block) -> Origin {
    stated_class(block)
        .filter(|origin| !origin.is_trusted())
        .unwrap_or(Origin::DirectUser)
}

/// Returns the scope of a file. Returns `usual` if the file names no scope.
pub(super) fn scope_of(place: &Place, block: &Block, usual: &Scope) -> Result<Scope> {
    match &block.scope {
        Some(word) => place.scope(word),
        None => Ok(usual.clone()),
    }
}

/// Checks whether two blocks have equal content, expiry and attributes, except for the line `trust`.
pub(super) fn say_the_same(one: &Block, other: &Block) -> bool {
    let stated = |block: &Block| -> Attributes {
        let mut attributes = block.attributes.clone();
        attributes.remove(TRUST);
        attributes
    };
    one.content == other.content && one.expires == other.expires && stated(one) == stated(other)
}

/// Copies the content, expiry and attributes of a block to its object.
pub(super) fn apply(object: &mut NewObject, block: &Block) -> Result<()> {
    let mut attributes = block.attributes.clone();
    if let Some(name) = MADE_BY_VERBS.iter().find(|name| attributes.get(name).is_some()) {
        let error = Error::invalid(format!("a file cannot set `{name}`"));
        return Err(error.with_code(ErrorCode::ReservedKey));
    }
    // A line `trust` with the name of a class is not an attribute.
    if stated_class(block).is_some() {
        attributes.remove(TRUST);
        if let Some(own) = object.attributes.get(TRUST) {
            attributes.insert(TRUST, own.clone());
        }
    }
    object.content = Some(block.content.clone());
    object.expires = block.expires;
    object.attributes = attributes;
    Ok(())
}

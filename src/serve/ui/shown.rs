//! The escaped answers of the page. An id that escaping changes gets a second name.
//!
//! # Layer
//! Layer 9, part of serve.

use serde_json::{Map, Value as Json};

use crate::digest::{HashSuite, KeyPath, from_hex, to_hex};
use crate::engine::View;
use crate::error::{Error, Result};
use crate::object::{Id, Object, Value};
use crate::visible::{cut, one_line, printable};

/// The sign before a key path that names an object whose id cannot be shown. An id that begins with the sign is named by its
/// key path, too, so that no id can be taken for a key path.
const KEY_SIGN: char = '~';
/// The number of characters of a gist.
const GIST_CHARS: usize = 200;
/// The length of a key path in hexadecimal digits.
const KEY_DIGITS: usize = 64;

/// Returns the answer with every text escaped (PAG-1). The field `key` names an object whose `id` is not enough.
pub(crate) fn shown(document: Json, suite: HashSuite) -> Json {
    match document {
        Json::String(text) => Json::String(printable(&text)),
        Json::Array(list) => Json::Array(list.into_iter().map(|item| shown(item, suite)).collect()),
        Json::Object(map) => {
            let key = map
                .get("id")
                .and_then(Json::as_str)
                .filter(|id| printable(id) != *id || id.starts_with(KEY_SIGN));
            let key = key.map(|id| format!("{KEY_SIGN}{}", to_hex(suite.key_path(id).as_bytes())));
            let fields = map.into_iter();
            let mut fields: Map<_, _> = fields
                .map(|(name, field)| (printable(&name), shown(field, suite)))
                .collect();
            if let Some(key) = key {
                fields.insert("key".to_owned(), Json::String(key));
            }
            Json::Object(fields)
        }
        other => other,
    }
}

/// Returns the object that a request names by its id, or by its key path after a sign.
///
/// # Errors
/// `NotFound` if the state has no such object, or it was erased.
pub(super) fn object_named(view: &View, name: &str) -> Result<Object> {
    if let Some(digits) = name
        .strip_prefix(KEY_SIGN)
        .filter(|digits| digits.len() == KEY_DIGITS)
        && let Some(bytes) = from_hex(digits).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        && let Some(object) = view.object_of_key(&KeyPath::from_bytes(bytes))?
        && !object.is_placeholder()
    {
        return Ok(object);
    }
    let missing = || {
        Error::not_found(format!("the state has no object '{name}'"))
            .with_hint("its history may know it: a removed object is in the timeline")
    };
    view.get(&Id::new(name)?)?.ok_or_else(missing)
}

/// Returns the title or the start of the content of an object, on one line.
pub(super) fn gist(object: &Object) -> String {
    let text = match object.attribute("title") {
        Some(Value::Text(title)) => title,
        _ => object
            .content()
            .unwrap_or_default()
            .chars()
            .take(4 * GIST_CHARS)
            .collect(),
    };
    cut(&one_line(&text), GIST_CHARS)
}

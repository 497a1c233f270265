//! The escaped answers of the page. An id or lane that looks like another one gets a second name.
//!
//! # Layer
//! Layer 9, part of serve.

use serde_json::{Map, Value as Json};

use treering::View;
use treering::inspect::digest::{HashSuite, KeyPath, from_hex, to_hex};
use treering::{Error, Id, Object, Result, Value};
use treering_text::visible::{cut, one_line, printable};

/// The sign before a key path that names an object whose id cannot be shown. An id that begins with the sign is named by its
/// key path, too, so that no id can be taken for a key path.
pub(super) const KEY_SIGN: char = '~';
/// The number of characters of a gist.
const GIST_CHARS: usize = 200;
/// The length of a key path in hexadecimal digits.
const KEY_DIGITS: usize = 64;

/// The field of an object that has its attributes.
const ATTRIBUTES: &str = "attributes";
/// The fields that name a lane, each with the field of its second name.
const LANE_FIELDS: [(&str, &str); 3] = [
    ("lane", "lane_key"),
    ("session", "session_key"),
    ("actor", "actor_key"),
];

/// Returns the answer with every text escaped (PAG-1). The field `key` names an object whose `id` is not enough, and
/// `lane_key` a lane whose name may look like another one. The attributes of an object get no field, because their names
/// are the writer's.
pub(crate) fn shown(document: Json, suite: HashSuite) -> Json {
    escaped(document, Some(suite))
}

/// Returns the answer with every text escaped, and with the keys of names if there is a suite.
fn escaped(document: Json, suite: Option<HashSuite>) -> Json {
    match document {
        Json::String(text) => Json::String(printable(&text)),
        Json::Array(list) => Json::Array(list.into_iter().map(|item| escaped(item, suite)).collect()),
        Json::Object(map) => {
            let keys = suite.map_or_else(Vec::new, |suite| keys_of(&map, suite));
            let fields = map.into_iter();
            let mut fields: Map<_, _> = fields
                .map(|(name, field)| {
                    let suite = suite.filter(|_| name != ATTRIBUTES);
                    (printable(&name), escaped(field, suite))
                })
                .collect();
            fields.extend(keys);
            Json::Object(fields)
        }
        other => other,
    }
}

/// Returns the second names of the object and the lanes that a map names.
fn keys_of(map: &Map<String, Json>, suite: HashSuite) -> Vec<(String, Json)> {
    let id = map
        .get("id")
        .and_then(Json::as_str)
        .filter(|id| printable(id) != *id || id.starts_with(KEY_SIGN));
    let lanes = LANE_FIELDS.iter().filter_map(|(field, key)| {
        let name = map.get(*field).and_then(Json::as_str);
        name.filter(|name| !is_plain(name)).map(|name| (*key, name))
    });
    let named = id.map(|id| ("key", id)).into_iter().chain(lanes);
    named
        .map(|(field, name)| (field.to_owned(), Json::String(key_of(suite, name))))
        .collect()
}

/// Returns the second name of an id or lane.
pub(super) fn key_of(suite: HashSuite, name: &str) -> String {
    format!("{KEY_SIGN}{}", to_hex(suite.key_path(name).as_bytes()))
}

/// Returns whether no other name of a lane looks like this one. Letters outside ASCII have look-alikes, and escaping
/// writes a backslash.
fn is_plain(name: &str) -> bool {
    let is_seen = |byte: u8| byte == b' ' || byte.is_ascii_graphic() && byte != b'\\';
    let has_gaps = name.trim() != name || name.contains("  ");
    name.bytes().all(is_seen) && !has_gaps && !name.starts_with(KEY_SIGN)
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

//! The keys of objects and scopes in the rows of indexes.
//!
//! # Layer
//! Layer 7, inside `agent`.

use crate::digest::{KeyPath, keyed};
use treering_text::recall::Key;
use treering_text::tables::row;

/// Returns the hash that names a scope in a row.
pub(in crate::agent) fn scope_hash(scope: &str) -> [u8; 8] {
    row([&keyed(b"treering scopes in rows of items", scope.as_bytes())])
}

/// Returns the hash that names a value of a field in a row.
pub(in crate::agent) fn field_hash(field: u8, value: &str) -> [u8; 4] {
    let bytes = [&[field], value.as_bytes()].concat();
    row([&keyed(b"treering fields in rows of items", &bytes)])
}

/// Returns the key in a row; the key of zeros if there is none.
pub(in crate::agent) fn key_in(bytes: Option<&[u8; Key::BYTES]>) -> Key {
    bytes.map_or_else(Key::default, |bytes| Key(*bytes))
}

/// Returns the index key of an id: the first bytes of its key path.
pub(in crate::agent) fn key_at(path: &KeyPath) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&path.as_bytes()[..Key::BYTES]);
    key
}

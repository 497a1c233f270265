//! The attributes of an object: a sorted map of typed values.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Values": the field is the payload of a map.

use std::collections::{BTreeMap, btree_map};

use super::content::OBJECT_BYTES_MAX;
use super::value::{Keep, Value, put_entries, read_entries, read_key, read_value};
use crate::codec::{DecodeError, Reader};
use crate::error::Result;

/// Values by name, sorted by the bytes of the names.
///
/// A name has 1 to 256 bytes without control characters, which is checked when the object is encoded. Null means
/// absent, so no attribute is null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, Value>);

impl Attributes {
    /// Makes an empty map of attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute and returns its old value. Null removes the attribute.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let name = name.into();
        match value.into() {
            Value::Null => self.0.remove(&name),
            value => self.0.insert(name, value),
        }
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    /// Returns the value of an attribute.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns the number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates the attributes in the order of their names.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Value> {
        self.0.iter()
    }

    /// Iterates the attributes, with values that the caller can change. The caller must not set a value to null.
    pub(crate) fn entries_mut(&mut self) -> btree_map::IterMut<'_, String, Value> {
        self.0.iter_mut()
    }

    /// Returns the plain map.
    pub(crate) fn into_map(self) -> BTreeMap<String, Value> {
        self.0
    }

    /// Appends the bytes of the field.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let end = out.len() + OBJECT_BYTES_MAX;
        put_entries(out, &self.0, 1, end)
    }

    /// Decodes the bytes of the field strictly.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::read(bytes, Keep::Value)
    }

    /// Checks the bytes of the field as [`Self::decode`] does, without allocating.
    pub(super) fn check(bytes: &[u8]) -> Result<(), DecodeError> {
        Self::read(bytes, Keep::Nothing).map(drop)
    }

    fn read(bytes: &[u8], keep: Keep) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        if reader.clone().u32()? == 0 {
            return Err(DecodeError::Invalid("the attributes are empty"));
        }
        let attributes = read_entries(&mut reader, 1, keep)?;
        reader.finish()?;
        Ok(Self(attributes))
    }

    /// Decodes one attribute from the bytes of the field, without decoding the other attributes.
    pub(super) fn find(bytes: &[u8], wanted: &str) -> Option<Value> {
        let mut reader = Reader::new(bytes);
        let mut last = None;
        for _ in 0..reader.u32().ok()? {
            let name = read_key(&mut reader, &mut last).ok()?;
            if name == wanted {
                return read_value(&mut reader, 1, Keep::Value).ok();
            }
            if name > wanted {
                return None;
            }
            read_value(&mut reader, 1, Keep::Nothing).ok()?;
        }
        None
    }
}

impl FromIterator<(String, Value)> for Attributes {
    /// Collects attributes. If a name occurs twice, the last value is kept; null removes the attribute.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let mut attributes = Self::new();
        for (name, value) in entries {
            attributes.insert(name, value);
        }
        attributes
    }
}

impl From<BTreeMap<String, Value>> for Attributes {
    fn from(mut map: BTreeMap<String, Value>) -> Self {
        map.retain(|_, value| !matches!(value, Value::Null));
        Self(map)
    }
}

impl IntoIterator for Attributes {
    type Item = (String, Value);
    type IntoIter = btree_map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = (&'a String, &'a Value);
    type IntoIter = btree_map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

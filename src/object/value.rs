//! Values of attributes: typed as in JSON, with one encoding each.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! - VAL-1: equal values have equal encodings: one NaN, no negative zero, maps sorted by the bytes of keys.
//! - VAL-2: reading and writing recurse at most [`VALUE_DEPTH_MAX`] deep.
//!
//! # Format
//! docs/format.md, "Values".

use std::collections::BTreeMap;

use super::content::OBJECT_BYTES_MAX;
use super::names::Rule;
use crate::codec::{DecodeError, Reader, put_sized};
use crate::error::{Error, Result};

/// The maximal depth of nested values. The value of an attribute has depth 1. The values in a list or map are one level
/// deeper than the list or map.
pub const VALUE_DEPTH_MAX: usize = 32;

const KEY: Rule = Rule::new("an attribute name or map key", 256);

const NULL: u8 = 1;
const BOOL: u8 = 2;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const TEXT: u8 = 5;
const LIST: u8 = 6;
const MAP: u8 = 7;

/// The bits of the only accepted NaN.
const NAN_BITS: u64 = 0x7ff8_0000_0000_0000;

/// The value of an attribute.
///
/// Two values are equal if their encodings are equal. So all NaNs are equal to each other, and so are the two zeros. An
/// integer never equals a float.
#[derive(Clone, Debug)]
pub enum Value {
    /// Null. As the value of an attribute, it means that the attribute is absent.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A floating-point number of IEEE 754 double precision.
    Float(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
    /// Values by key: 1 to 256 bytes without control characters.
    Map(BTreeMap<String, Value>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => canonical_bits(*a) == canonical_bits(*b),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(value: Vec<Value>) -> Self {
        Self::List(value)
    }
}

impl From<BTreeMap<String, Value>> for Value {
    fn from(value: BTreeMap<String, Value>) -> Self {
        Self::Map(value)
    }
}

impl Value {
    /// Returns the canonical bytes: equal values have equal bytes.
    ///
    /// # Errors
    /// `InvalidInput` if the value nests too deep or a key breaks its rule.
    #[doc(hidden)]
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        put_value(&mut bytes, self, 1, OBJECT_BYTES_MAX)?;
        Ok(bytes)
    }

    /// Returns the text of a text value.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of an integer value.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(integer) => Some(*integer),
            _ => None,
        }
    }
}

fn canonical_bits(float: f64) -> u64 {
    if float.is_nan() {
        NAN_BITS
    } else if float == 0.0 {
        0
    } else {
        float.to_bits()
    }
}

fn too_large() -> Error {
    Error::invalid(format!("the attributes have more than {OBJECT_BYTES_MAX} bytes"))
        .with_hint("put long text into the content, or split the object")
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<()> {
    out.extend_from_slice(&u32::try_from(count).map_err(|_| too_large())?.to_le_bytes());
    Ok(())
}

/// Appends the type byte and payload of `value` at `depth`, up to the length `end`.
fn put_value(out: &mut Vec<u8>, value: &Value, depth: usize, end: usize) -> Result<()> {
    if depth > VALUE_DEPTH_MAX {
        return Err(
            Error::invalid(format!("a value is nested more than {VALUE_DEPTH_MAX} deep"))
                .with_hint("use fewer levels, or store the value as text in the content"),
        );
    }
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(value) => out.extend_from_slice(&[BOOL, u8::from(*value)]),
        Value::Integer(value) => {
            out.push(INTEGER);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Float(value) => {
            out.push(FLOAT);
            out.extend_from_slice(&canonical_bits(*value).to_le_bytes());
        }
        Value::Text(text) => {
            if text.len() > OBJECT_BYTES_MAX {
                return Err(too_large());
            }
            out.push(TEXT);
            put_sized(out, text.as_bytes());
        }
        Value::List(values) => {
            out.push(LIST);
            put_count(out, values.len())?;
            for value in values {
                put_value(out, value, depth + 1, end)?;
            }
        }
        Value::Map(entries) => {
            out.push(MAP);
            put_entries(out, entries, depth + 1, end)?;
        }
    }
    if out.len() > end { Err(too_large()) } else { Ok(()) }
}

/// Appends the payload of a map whose values are at `depth`, up to the length `end`.
pub(super) fn put_entries(
    out: &mut Vec<u8>,
    entries: &BTreeMap<String, Value>,
    depth: usize,
    end: usize,
) -> Result<()> {
    put_count(out, entries.len())?;
    for (key, value) in entries {
        KEY.check(key)?;
        put_sized(out, key.as_bytes());
        put_value(out, value, depth, end)?;
    }
    Ok(())
}

/// Whether a decoder builds the values, or only checks them without allocating.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Value,
    Nothing,
}

/// Reads a value at `depth`. With [`Keep::Nothing`], it returns `Null` for any value.
pub(super) fn read_value(reader: &mut Reader<'_>, depth: usize, keep: Keep) -> Result<Value, DecodeError> {
    if depth > VALUE_DEPTH_MAX {
        return Err(DecodeError::Invalid("a value is nested too deep"));
    }
    let value = match reader.u8()? {
        NULL => Value::Null,
        BOOL => match reader.u8()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return Err(DecodeError::Invalid("a boolean is neither 0 nor 1")),
        },
        INTEGER => Value::Integer(reader.i64()?),
        FLOAT => {
            let bits = reader.u64()?;
            let float = f64::from_bits(bits);
            if canonical_bits(float) != bits {
                return Err(DecodeError::Invalid("a float is not in its canonical form"));
            }
            Value::Float(float)
        }
        TEXT => {
            let text = reader.text()?;
            if keep == Keep::Nothing {
                Value::Null
            } else {
                Value::Text(text.to_owned())
            }
        }
        LIST => {
            let count = reader.u32()?;
            // Does not allocate memory for the claimed count, which may be wrong. The list grows with each value that
            // is read.
            let mut values = Vec::new();
            for _ in 0..count {
                let value = read_value(reader, depth + 1, keep)?;
                if keep == Keep::Value {
                    values.push(value);
                }
            }
            Value::List(values)
        }
        MAP => Value::Map(read_entries(reader, depth + 1, keep)?),
        _ => return Err(DecodeError::Invalid("a value has an unknown type")),
    };
    Ok(value)
}

/// Reads the payload of a map with values at `depth`. With [`Keep::Nothing`], the map stays empty. Values at depth 1
/// are attributes, so null is refused there.
pub(super) fn read_entries(
    reader: &mut Reader<'_>,
    depth: usize,
    keep: Keep,
) -> Result<BTreeMap<String, Value>, DecodeError> {
    let count = reader.u32()?;
    let mut entries = BTreeMap::new();
    let mut last = None;
    for _ in 0..count {
        let key = read_key(reader, &mut last)?;
        if depth == 1 && reader.clone().u8()? == NULL {
            return Err(DecodeError::Invalid("an attribute is null"));
        }
        let value = read_value(reader, depth, keep)?;
        if keep == Keep::Value {
            entries.insert(key.to_owned(), value);
        }
    }
    Ok(entries)
}

/// Reads a key, which must sort after `last`.
pub(super) fn read_key<'a>(
    reader: &mut Reader<'a>,
    last: &mut Option<&'a str>,
) -> Result<&'a str, DecodeError> {
    let key = KEY.decode(reader.sized()?)?;
    if last.is_some_and(|last| last >= key) {
        return Err(DecodeError::Invalid(
            "the keys of a map are not in ascending order",
        ));
    }
    *last = Some(key);
    Ok(key)
}

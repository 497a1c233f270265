//! Property drawers of Org: `:PROPERTIES:`, a line for each property, `:END:`.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::BTreeMap;

use super::super::json::Fields;
use super::super::statement::{self, NAME, OBJECTS};
use super::super::text::{at, shown};
use crate::error::Result;
use crate::object::{Id, Value};

/// The maximal length of a property name in bytes, because the name becomes the key of a map.
const NAME_BYTES_MAX: usize = 256;

/// The content of a drawer.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// The id in `:ID:`.
    pub(super) id: Option<Id>,
    /// The other properties, with their names as written. If a name is repeated, its value is a list.
    pub(super) others: BTreeMap<String, Value>,
    /// The fields in `:TREERING:`.
    pub(super) stated: Fields,
    /// Whether the drawer declares that the file is a list of objects.
    pub(super) is_list: bool,
}

/// The name and the value of a property, and its line.
type Property<'a> = (&'a str, &'a str, u64);

/// Reads the drawer at the start of `body`, if there is one. The drawer belongs to a heading, or to the file itself.
/// Returns the drawer and the text after it. `line` is the number of the first line of `body`.
///
/// The path identifies a file, so an `:ID:` in the drawer of the file is an ordinary property.
pub(super) fn read<'a>(path: &Id, line: u64, body: &'a str, of_file: bool) -> Result<(Properties, &'a str)> {
    let Some((properties, rest)) = split(line, body) else {
        return Ok((Properties::default(), body));
    };
    let mut read = Properties::default();
    for (name, value, line) in properties {
        if name.eq_ignore_ascii_case(NAME) {
            let stated = statement::read(value)
                .map_err(|error| error.context(format!("{path}:{line}: `:{NAME}:`")))?;
            if let Some(stated) = stated {
                read.stated = stated;
                continue;
            }
            if of_file && value == OBJECTS {
                read.is_list = true;
                continue;
            }
        }
        if of_file || !name.eq_ignore_ascii_case("ID") {
            if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
                let why = format!("the property name `{}` is not valid", shown(name));
                return Err(at(path, line, why).with_hint("use at most 256 bytes without control characters"));
            }
            add_value(&mut read.others, name, value);
        } else if read.id.is_some() {
            return Err(at(path, line, "a second `:ID:` in one property drawer")
                .with_hint("an object has one id: keep one of the two"));
        } else if !value.is_empty() {
            let id = Id::new(value).map_err(|error| {
                error.context(format!(
                    "{path}:{line}: the `:ID:` `{}` cannot be an id",
                    shown(value)
                ))
            })?;
            read.id = Some(id);
        }
    }
    Ok((read, rest))
}

/// Adds a value to a map. If the name is repeated, the map gets a list of its values.
pub(super) fn add_value(map: &mut BTreeMap<String, Value>, name: &str, value: &str) {
    let value = Value::from(value);
    match map.get_mut(name) {
        None => {
            map.insert(name.to_owned(), value);
        }
        Some(Value::List(values)) => values.push(value),
        Some(single) => *single = Value::List(vec![single.clone(), value]),
    }
}

/// Returns the properties of the drawer at the start of `body`, and the text after it. As in Org, a drawer is not a
/// property drawer if it is not closed or contains another kind of line.
fn split(first_line: u64, body: &str) -> Option<(Vec<Property<'_>>, &str)> {
    let mut lines = body.split_inclusive('\n');
    let mut length = 0;
    let mut next = || {
        let line = lines.next()?;
        length += line.len();
        Some((line.trim_matches([' ', '\t', '\n']), length))
    };
    if !next()?.0.eq_ignore_ascii_case(":PROPERTIES:") {
        return None;
    }
    let mut properties = Vec::new();
    for line in first_line + 1.. {
        let (text, end) = next()?;
        if text.eq_ignore_ascii_case(":END:") {
            return Some((properties, &body[end..]));
        }
        let (name, value) = name_and_value(text)?;
        properties.push((name, value, line));
    }
    None
}

/// Splits `:NAME: value`. The name ends at the first colon before white space or the end of the line.
fn name_and_value(line: &str) -> Option<(&str, &str)> {
    let word = line.split([' ', '\t']).next()?;
    let name = word.strip_prefix(':')?.strip_suffix(':')?;
    (!name.is_empty()).then(|| (name, line[word.len()..].trim_matches([' ', '\t'])))
}

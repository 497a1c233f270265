//! Reads YAML into values without loss, and writes them.
//!
//! Null and truth values follow YAML 1.2. A plain word is a number only if Treering writes a number in the same form:
//! `12`, `0.5`, `.inf`. These stay text: a postal code `012`, a version `1.10`, `0x1F`, `1e3`, `12:30`, an integer of
//! more than 64 bits, a date, and any quoted word.
//!
//! # Layer
//! Layer 6, inside `ingest`. Pure.

use std::collections::{BTreeMap, HashMap};

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use crate::object::{OBJECT_BYTES_MAX, VALUE_DEPTH_MAX, Value};

/// The line of the fault, counted from 1, and the reason why a text was refused.
pub(super) type YamlError = (u64, String);

fn refused<T>(line: u64, message: impl Into<String>) -> Result<T, YamlError> {
    Err((line, message.into()))
}

/// Reads one YAML document. An empty input is read as null.
pub(super) fn parse(text: &str) -> Result<Value, YamlError> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = error.marker().line() as u64;
            (line, format!("not valid YAML: {}", error.info()))
        })?;
        let line = span.start.line() as u64;
        documents += u64::from(matches!(event, Event::DocumentStart(..)));
        if documents > 1 {
            return refused(line, "the text contains a second YAML document");
        }
        builder.take(event, line)?;
    }
    Ok(builder.whole.unwrap_or(Value::Null))
}

/// A list or map whose end was not read yet.
enum Open {
    List(Vec<Value>),
    /// The entries so far, and the key of the next value.
    Map(BTreeMap<String, Value>, Option<String>),
}

#[derive(Default)]
struct Builder {
    /// The open lists and maps, the outermost first, each with the number of its anchor; 0 without an anchor.
    open: Vec<(Open, usize)>,
    anchors: HashMap<usize, Value>,
    /// The number of bytes that aliases have added. Without a limit, a few lines of nested aliases could expand to any
    /// size.
    repeated: usize,
    whole: Option<Value>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: u64) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.add(value, anchor, line)
            }
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor).cloned() else {
                    return refused(line, "an alias refers to a value that contains the alias");
                };
                self.repeated += weight(&value);
                if self.repeated > OBJECT_BYTES_MAX {
                    return refused(line, format!("aliases expand to over {OBJECT_BYTES_MAX} bytes"));
                }
                self.add(value, 0, line)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Open::List(Vec::new()), anchor, line),
            Event::MappingStart(_, anchor, _) => self.begin(Open::Map(BTreeMap::new(), None), anchor, line),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Open::List(values), anchor)) => self.add(Value::List(values), anchor, line),
                Some((Open::Map(entries, _), anchor)) => self.add(Value::Map(entries), anchor, line),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self, open: Open, anchor: usize, line: u64) -> Result<(), YamlError> {
        if self.open.len() >= VALUE_DEPTH_MAX {
            return refused(
                line,
                format!("values are nested more than {VALUE_DEPTH_MAX} deep"),
            );
        }
        self.open.push((open, anchor));
        Ok(())
    }

    fn add(&mut self, value: Value, anchor: usize, line: u64) -> Result<(), YamlError> {
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.whole = Some(value),
            Some((Open::List(values), _)) => values.push(value),
            Some((Open::Map(entries, key), _)) => match key.take() {
                None => match key_text(value) {
                    Some(text) if entries.contains_key(&text) => {
                        return refused(line, format!("the key `{text}` is repeated"));
                    }
                    Some(text) => *key = Some(text),
                    None => return refused(line, "a key must be text, a number or a boolean"),
                },
                Some(key) => {
                    entries.insert(key, value);
                }
            },
        }
        Ok(())
    }
}

/// Converts a key to text, the only kind of key in a map of an object.
fn key_text(key: Value) -> Option<String> {
    match key {
        Value::Text(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Float(float) => float_text(float),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Returns the approximate size of a value in bytes.
fn weight(value: &Value) -> usize {
    1 + match value {
        Value::Text(text) => text.len(),
        Value::List(values) => values.iter().map(weight).sum(),
        Value::Map(entries) => entries.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 8,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    // The tags `!` and `!!str` mean that the value is text.
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str") || tag.original() == "!");
    if style == ScalarStyle::Plain && !is_text {
        plain(text)
    } else {
        Value::from(text)
    }
}

/// Returns the value of an unquoted word.
pub(super) fn plain(word: &str) -> Value {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Value::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Value::Float(f64::NEG_INFINITY),
        _ => {}
    }
    // Returns early for most words, because a number starts with a digit or a minus sign.
    if !word.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return Value::from(word);
    }
    if let Ok(integer) = word.parse::<i64>()
        && integer.to_string() == word
    {
        return Value::Integer(integer);
    }
    match word.parse::<f64>() {
        Ok(float) if float_text(float).as_deref() == Some(word) => Value::Float(float),
        _ => Value::from(word),
    }
}

/// Returns the text of a finite float. Zero is written without a sign.
fn float_text(float: f64) -> Option<String> {
    let float = if float == 0.0 { 0.0 } else { float };
    serde_json::Number::from_f64(float).map(|number| number.to_string())
}

/// Writes a map with one entry on each line. [`parse`] reads it as the same map. The values are in flow style.
pub(in crate::ingest) fn write(map: &BTreeMap<String, Value>) -> String {
    let lines = map
        .iter()
        .map(|(key, value)| format!("{}: {}\n", text_form(key), value_form(value)));
    lines.collect()
}

fn value_form(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(integer) => integer.to_string(),
        Value::Float(float) if float.is_nan() => ".nan".to_owned(),
        Value::Float(float) => float_text(*float).unwrap_or_else(|| {
            let infinity = if *float > 0.0 { ".inf" } else { "-.inf" };
            infinity.to_owned()
        }),
        Value::Text(text) => text_form(text),
        Value::List(values) => {
            let values: Vec<String> = values.iter().map(value_form).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", text_form(key), value_form(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Returns a text as a plain word if nothing in it has a meaning in YAML, else in quotes.
fn text_form(text: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || " _-./".contains(character);
    let is_plain = text.starts_with(char::is_alphanumeric)
        && text.ends_with(char::is_alphanumeric)
        && text.chars().all(is_word)
        && plain(text) == Value::from(text);
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            ' '..='~' => quoted.push(character),
            _ if character.is_alphanumeric() => quoted.push(character),
            _ => quoted.extend(format!("\\U{:08X}", u32::from(character)).chars()),
        }
    }
    quoted + "\""
}

//! Plain JSON Schemas of arguments and answers.
//!
//! Some clients refuse references, `format`, or a list of types such as `["integer","null"]`. So a schema here has only
//! types, properties, items, enums and descriptions. A field that may be null is a field that may be absent: a call
//! leaves it out, and an answer does not contain it.
//!
//! # Layer
//! Layer 9, part of serve. Pure.
//!
//! # Invariants
//! - SCH-1: a schema has no reference, no format and no list of types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};

use super::operation::Operation;

/// The fields that every answer has, beside its own.
const OF_EVERY_ANSWER: [(&str, &str); 3] = [
    ("root", "string"),
    ("tokens", "integer"),
    ("truncated", "boolean"),
];

/// Returns the schema of the arguments of `T`, with the argument `cursor` if the answer has pages.
pub(super) fn arguments<T: JsonSchema>(is_paged: bool) -> Map<String, Json> {
    let mut schema = plain_of::<T>(&Shape {
        is_answer: false,
        paged: None,
    });
    if is_paged && let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        properties.insert("cursor".to_owned(), json!({ "type": "string" }));
    }
    schema
}

/// Returns the exact schema of the requests of `T`: which arguments may be null, the limits of numbers, and that there are
/// no others.
#[cfg(feature = "http")]
pub(super) fn request<T: JsonSchema>(is_paged: bool) -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings)
        .into_root_schema_for::<T>()
        .to_value();
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        required
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name))
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if is_paged {
            properties["cursor"] = json!({ "type": "string" });
        }
        for (name, property) in properties.as_object_mut().into_iter().flatten() {
            // `format` names a type of Rust, whose limits other tools do not know.
            if let Some(limited) = property.as_object_mut()
                && limited.remove("format").is_some_and(|format| format == "uint")
            {
                limited.insert("maximum".to_owned(), json!(u64::MAX));
            }
            // A null is as good as an argument that is left out.
            if !is_required(name) && !allows_null(property) {
                *property = json!({ "anyOf": [property.take(), { "type": "null" }] });
            }
        }
    }
    schema
}

#[cfg(feature = "http")]
fn allows_null(schema: &Json) -> bool {
    let kinds = schema.get("type").and_then(Json::as_array);
    let parts = schema.get("anyOf").and_then(Json::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
        || parts.is_some_and(|parts| parts.iter().any(is_null))
}

/// Returns the sentence that names the valid arguments of `T`.
pub(super) fn valid_arguments<T: JsonSchema>(is_paged: bool) -> String {
    let schema = arguments::<T>(is_paged);
    let names = |field: &str| -> Vec<String> {
        let field = schema.get(field);
        match field {
            Some(Json::Object(properties)) => properties.keys().cloned().collect(),
            Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    let (known, required) = (names("properties"), names("required"));
    let needed = match required.as_slice() {
        [] => String::new(),
        required => format!("; {} must be given", required.join(", ")),
    };
    match known.as_slice() {
        [] => "the tool has no arguments".to_owned(),
        known => format!("the arguments are {}{needed}", known.join(", ")),
    }
}

/// Returns the schema of an answer of `O`, with the fields of every answer. Only the rows of the paged field have their
/// fields listed, because every definition takes room in a prompt.
pub(super) fn answer<O: Operation>() -> Map<String, Json> {
    let paged = O::PAGED;
    let mut schema = plain_of::<O::Answer>(&Shape {
        is_answer: true,
        paged,
    });
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for (name, kind) in OF_EVERY_ANSWER
            .into_iter()
            .chain(paged.map(|_| ("cursor", "string")))
            .chain(O::LEAVES_OUT.then_some(("left_out", "object")))
        {
            properties.insert(name.to_owned(), json!({ "type": kind }));
        }
    }
    // An answer leaves out what is null or empty, so only these fields are always there.
    schema.insert("required".to_owned(), json!(["root", "tokens", "truncated"]));
    schema
}

/// What of a schema stays.
struct Shape<'a> {
    /// Whether it is the schema of an answer, of which a model needs no descriptions, limits and values.
    is_answer: bool,
    /// The list of an answer whose rows have their fields listed.
    paged: Option<&'a str>,
}

fn plain_of<T: JsonSchema>(shape: &Shape<'_>) -> Map<String, Json> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let mut plain = match shape.plain(schema.as_value()) {
        Json::Object(plain) => plain,
        _ => Map::new(),
    };
    // A request without arguments has no properties, but clients want an object.
    plain.insert("type".to_owned(), json!("object"));
    plain.entry("properties").or_insert_with(|| json!({}));
    plain
}

impl Shape<'_> {
    /// Returns a schema in its plain form (SCH-1).
    fn plain(&self, schema: &Json) -> Json {
        let Some(schema) = schema.as_object() else {
            return json!({});
        };
        let parts = ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|name| schema.get(name)?.as_array());
        let parts: Vec<Json> = parts
            .flatten()
            .filter(|part| !is_null(part))
            .map(|part| self.plain(part))
            .collect();
        let mut plain = merged(parts);
        if let Some(kind) = schema.get("type").map(type_of) {
            plain.insert("type".to_owned(), kind);
        }
        if let Some(value) = schema.get("const") {
            plain.insert("enum".to_owned(), json!([value]));
        }
        if self.is_answer {
            plain.remove("enum");
        } else if let Some(Json::Array(values)) = schema.get("enum") {
            let values = values.iter().filter(|value| !value.is_null()).cloned();
            plain.insert("enum".to_owned(), values.collect());
        }
        if let Some(Json::Object(properties)) = schema.get("properties") {
            let own = properties.iter();
            let own = own.map(|(name, property)| (name.clone(), self.property(name, property)));
            let all = plain.entry("properties").or_insert_with(|| json!({}));
            if let Some(all) = all.as_object_mut() {
                all.extend(own);
            }
        }
        if let Some(items) = schema.get("items") {
            plain.insert("items".to_owned(), self.plain(items));
        }
        if !self.is_answer {
            let kept = ["description", "required"].into_iter();
            for (name, value) in kept.filter_map(|name| Some((name, schema.get(name)?))) {
                plain.insert(name.to_owned(), one_line(value));
            }
        }
        Json::Object(plain)
    }
}

/// Joins the alternatives of a schema: their properties and their enums together.
fn merged(parts: Vec<Json>) -> Map<String, Json> {
    let mut merged = Map::new();
    for part in parts {
        let Json::Object(part) = part else { continue };
        for (name, value) in part {
            match (merged.get_mut(&name), value) {
                (Some(Json::Object(all)), Json::Object(more)) => all.extend(more),
                (Some(Json::Array(all)), Json::Array(more)) => all.extend(more),
                (Some(_), _) if name == "description" => {}
                (_, value) => drop(merged.insert(name, value)),
            }
        }
    }
    merged
}

impl Shape<'_> {
    fn property(&self, name: &str, property: &Json) -> Json {
        let mut plain = self.plain(property);
        let is_rows = plain.pointer("/items/properties").is_some();
        if self.is_answer && is_rows && self.paged != Some(name) {
            plain["items"] = json!({ "type": "object" });
        }
        if let (true, Some(object)) = (self.is_answer, plain.as_object_mut()) {
            drop(object.remove("properties"));
        }
        plain
    }
}

fn is_null(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("null")
}

/// Returns the type besides `null`.
fn type_of(kind: &Json) -> Json {
    match kind {
        Json::Array(kinds) => kinds
            .iter()
            .find(|kind| *kind != "null")
            .cloned()
            .unwrap_or(Json::Null),
        kind => kind.clone(),
    }
}

/// Joins the lines of a text.
fn one_line(value: &Json) -> Json {
    match value {
        Json::String(text) => json!(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        value => value.clone(),
    }
}

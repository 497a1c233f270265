//! Fits arguments to their schema: what a model writes is not always the type that an operation reads.
//!
//! # Layer
//! Layer 9, part of serve. Pure.

use serde_json::{Map, Value as Json};

use treering::{Error, ErrorCode, Result};
use treering_text::visible::{cut, printable};

/// The largest whole number that each number before it in JSON keeps apart from its neighbours: 2^53.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// The characters of a value that an error shows.
const SHOWN: usize = 40;

/// Turns whole numbers such as `5.0` into integers where the schema wants one.
///
/// # Errors
/// `InvalidInput` (code `usage`) if a value has another type than its schema says, naming the argument. Other faults are
/// left to the reader of the arguments.
pub(crate) fn fit(arguments: &mut Map<String, Json>, schema: &Map<String, Json>) -> Result<()> {
    fit_fields("", arguments, schema.get("properties"))
}

fn fit_fields(within: &str, fields: &mut Map<String, Json>, properties: Option<&Json>) -> Result<()> {
    for (name, value) in fields {
        let Some(schema) = properties.and_then(|all| all.get(name)) else {
            continue;
        };
        fit_value(&format!("{within}{name}"), value, schema)?;
    }
    Ok(())
}

fn fit_value(name: &str, value: &mut Json, schema: &Json) -> Result<()> {
    let Some(wanted) = schema.get("type").and_then(Json::as_str) else {
        return Ok(());
    };
    if let ("integer", Some(whole)) = (wanted, whole(value)) {
        *value = whole;
    }
    if !is_of(value, wanted) {
        return Err(refused(name, value, wanted));
    }
    match value {
        Json::Array(list) => {
            let items = schema.get("items").unwrap_or(&Json::Null);
            let mut list = list.iter_mut().enumerate();
            list.try_for_each(|(place, one)| fit_value(&format!("{name}[{place}]"), one, items))
        }
        Json::Object(fields) => fit_fields(&format!("{name}."), fields, schema.get("properties")),
        _ => Ok(()),
    }
}

/// Returns a number without a fraction as an integer.
fn whole(value: &Json) -> Option<Json> {
    let number = value.as_f64().filter(|_| value.is_f64())?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is whole and within the range"
    )]
    let whole = || Json::from(number as i64);
    (number.fract() == 0.0 && number.abs() <= WHOLE_MAX).then(whole)
}

/// Returns whether a value has a type of JSON Schema. A null is as good as an argument that is left out.
fn is_of(value: &Json, wanted: &str) -> bool {
    match wanted {
        "integer" => value.is_i64() || value.is_u64() || value.is_null(),
        "number" => value.is_number() || value.is_null(),
        "string" => value.is_string() || value.is_null(),
        "boolean" => value.is_boolean() || value.is_null(),
        "array" => value.is_array() || value.is_null(),
        "object" => value.is_object() || value.is_null(),
        _ => true,
    }
}

fn refused(name: &str, value: &Json, wanted: &str) -> Error {
    let named = match wanted {
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a text",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    };
    let mut inner: Option<Json> = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    if let ("integer", Some(whole)) = (wanted, inner.as_ref().and_then(whole)) {
        inner = Some(whole);
    }
    let hint = match inner.filter(|inner| is_of(inner, wanted)) {
        Some(inner) => format!(
            "the argument {name} holds JSON as a text: give the value {}",
            cut(&inner.to_string(), SHOWN)
        ),
        None => format!("give the argument {name} as {named}"),
    };
    let message = format!("the argument '{name}' is {}, but must be {named}", kind_of(value));
    Error::invalid(printable(&message))
        .with_code(ErrorCode::Usage)
        .with_hint(printable(&hint))
}

/// Returns what sort of value a JSON value is.
pub(crate) fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(number) if number.is_f64() => "a number with a fraction",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "tests give literals")]
    fn fitted(arguments: Json) -> Result<Json> {
        let text = json!({ "type": "string" });
        let schema = json!({ "properties": {
            "limit": { "type": "integer" }, "full": { "type": "boolean" }, "query": text,
            "tags": { "type": "array", "items": text },
            "range": { "type": "array", "items": { "type": "integer" } },
            "entries": { "type": "array", "items": { "type": "object", "properties": { "text": text } } },
        } });
        let mut arguments = arguments.as_object().unwrap().clone();
        fit(&mut arguments, schema.as_object().unwrap())?;
        Ok(Json::Object(arguments))
    }

    #[test]
    fn whole_numbers_become_integers() {
        let read = fitted(json!({ "limit": 5.0, "range": [1.0, -1e0], "query": "5.0", "other": 5.0 }));
        let right = json!({ "limit": 5, "range": [1, -1], "query": "5.0", "other": 5.0 });
        assert_eq!(read.unwrap().to_string(), right.to_string());
    }

    #[test]
    fn a_value_of_another_type_is_named() {
        for (arguments, name, has_json) in [
            (json!({ "limit": 5.5 }), "'limit'", false),
            (json!({ "limit": 1e300 }), "'limit'", false),
            (json!({ "limit": "5" }), "'limit'", true),
            (json!({ "limit": "5.0" }), "'limit'", true),
            (json!({ "full": "true" }), "'full'", true),
            (json!({ "full": "yes" }), "'full'", false),
            (json!({ "tags": "[\"a\"]" }), "'tags'", true),
            (json!({ "tags": "a" }), "'tags'", false),
            (json!({ "tags": [1] }), "'tags[0]'", false),
            (json!({ "query": 7 }), "'query'", false),
            (json!({ "entries": "[]" }), "'entries'", true),
            (
                json!({ "entries": [{ "text": "a" }, { "text": 1 }] }),
                "'entries[1].text'",
                false,
            ),
        ] {
            let error = fitted(arguments.clone()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Usage);
            assert!(error.message().contains(name), "{arguments}: {error}");
            assert_eq!(
                error.hint().unwrap().contains("holds JSON"),
                has_json,
                "{arguments}"
            );
        }
        assert!(fitted(json!({ "limit": null, "query": "x" })).is_ok());
    }
}

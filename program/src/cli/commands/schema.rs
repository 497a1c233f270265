//! `schema`: the JSON Schema of a verb's answers, generated from the printed types.
//!
//! # Layer
//! Layer 10, part of cli.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::prelude::*;
use crate::answers::program::{Noted, Refusal, Version};
use crate::cli::agent_context::Disabled;
use crate::cli::verb::{self, Groups};

/// The JSON documents that the program prints in addition to the answers of verbs.
const OTHERS: &[(&str, &[Form])] = &[
    (
        "disabled",
        &[form::<Disabled>(
            "the answer of an agent's writing verb while TREERING_DISABLE is set",
        )],
    ),
    ("version", &[form::<Version>("--version")]),
    (
        "error",
        &[form::<Refusal>("on standard error, when a verb fails")],
    ),
    ("note", &[form::<Noted>("on standard error, with an answer")]),
];

/// Print the JSON Schema of answers
///
/// # Notes
/// Without a verb, prints one document with the schemas of all verbs, of errors and of notes.
///
/// # Examples
/// ```text
/// treering schema log
/// treering schema --json > treering.schemas.json
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Schema {
    /// The verb, or `error` or `note`
    verb: Option<String>,
}

impl Verb for Schema {
    const ANSWERS: &'static [Form] = &[form::<Map<String, Value>>("a JSON Schema")];

    fn run(self, context: &mut Context) -> Done {
        let document = match &self.verb {
            None => {
                let names = names(context.verbs).into_iter();
                let schemas = names.filter_map(|name| Some((name.to_owned(), of(context.verbs, name)?)));
                schemas.collect()
            }
            Some(verb) => of(context.verbs, verb).ok_or_else(|| {
                let names = names(context.verbs).join(", ");
                Error::not_found(format!("'{verb}' prints no JSON document"))
                    .with_hint(format!("these verbs have schemas: {names}"))
            })?,
        };
        context.say(&document, format_args!("{document:#}"))
    }
}

/// Returns every verb or other document that has a schema.
fn names(verbs: Groups) -> Vec<&'static str> {
    let typed = verb::all(verbs).filter(|verb| !verb.answers.is_empty());
    let mut names: Vec<_> = typed.map(|verb| verb.name).collect();
    names.extend(OTHERS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the schema of all forms of an answer. Returns `None` if the answer has no JSON form.
fn of(verbs: Groups, name: &str) -> Option<Value> {
    let of_verb = verb::find(verbs, name).map_or(&[][..], |verb| verb.answers);
    let others = OTHERS.iter().filter(|(other, _)| *other == name);
    let forms = of_verb.iter().chain(others.flat_map(|(_, forms)| *forms));
    let mut forms: Vec<Value> = forms.map(of_form).collect();
    let mut schema = match forms.len() {
        0 => return None,
        1 => forms.remove(0),
        _ => json!({ "anyOf": forms }),
    };
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = format!("treering {name}").into();
    Some(schema)
}

/// Returns the schema of one form, without references to type definitions. The schema allows no other fields.
fn of_form(form: &Form) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    let mut schema = (form.schema)(&mut settings.into_generator());
    if !form.when.is_empty() {
        schema.insert("description".to_owned(), form.when.into());
    }
    let mut schema = schema.to_value();
    close(&mut schema);
    schema
}

/// Makes each object schema refuse unknown fields.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if fields.contains_key("properties") {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(close),
        _ => {}
    }
}

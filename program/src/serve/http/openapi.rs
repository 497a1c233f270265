//! The document of the JSON API in the form of `OpenAPI` 3.1, from the table of operations and the types of their requests and answers.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

use super::answer::OPERATION_STATUSES;
use super::api::path_of;
use crate::answers::program::Refusal;
use crate::serve::operations::{self, Effect, Entry, Profile};

/// Returns the document for the operations of a profile.
pub(super) fn document(profile: Profile) -> Json {
    let mut paths = Map::new();
    for operation in operations::of_profile(profile) {
        let mut path = json!({ "post": posted(operation) });
        if operation.effect == Effect::Reads {
            path["get"] = asked(operation);
        }
        paths.insert(path_of(operation), path);
    }
    let json_object = json!({ "type": "object" });
    let mut health = plain(
        "health",
        "Whether the memory can be read",
        "application/json",
        &json_object,
    );
    // It is the only path without a token.
    health["get"]["security"] = json!([]);
    paths.insert("/health".to_owned(), health);
    let text = json!({ "type": "string" });
    paths.insert(
        "/metrics".to_owned(),
        plain("metrics", "Metrics for Prometheus", "text/plain", &text),
    );
    let own = plain("openapi", "This document", "application/json", &json_object);
    paths.insert("/openapi.json".to_owned(), own);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Treering memory",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The operations of the memory of an agent. MCP is at /mcp.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": { "Session": {
                "name": "Treering-Session",
                "in": "header",
                "description": "The session of the client, which undo and revert take back",
                "schema": { "type": "string", "pattern": "^[!-~]{1,128}$" },
            } },
            "schemas": { "Error": error_schema() },
            "responses": { "Error": {
                "description": "An error with its code and the next step",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
            } },
        },
    })
}

fn error_schema() -> Json {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<Refusal>()
        .to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
    }
    schema
}

/// Returns what the two methods of an operation have in common.
fn described(operation: &Entry, id: &str) -> Json {
    let description = (operation.arguments)().get("description").cloned();
    let mut responses = json!({ "200": {
        "description": "The answer",
        "content": { "application/json": { "schema": (operation.answer)() } },
    } });
    for status in OPERATION_STATUSES {
        responses[status.as_str()] = json!({ "$ref": "#/components/responses/Error" });
    }
    json!({
        "operationId": id,
        "summary": operation.title,
        "description": description,
        "parameters": [{ "$ref": "#/components/parameters/Session" }],
        "responses": responses,
    })
}

fn posted(operation: &Entry) -> Json {
    let mut method = described(operation, operation.name);
    method["requestBody"] = json!({
        "required": true,
        "content": { "application/json": { "schema": (operation.request)() } },
    });
    method
}

fn asked(operation: &Entry) -> Json {
    let mut method = described(operation, &format!("{}_by_query", operation.name));
    let schema = (operation.arguments)();
    let required = schema.get("required").and_then(Json::as_array);
    let properties = schema.get("properties").and_then(Json::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let parameter = json!({ "name": name, "in": "query", "required": is_required, "schema": schema });
        if let Some(parameters) = method["parameters"].as_array_mut() {
            parameters.push(parameter);
        }
    }
    method
}

/// Returns a path that has only `GET` and no arguments.
fn plain(id: &str, summary: &str, kind: &str, schema: &Json) -> Json {
    let error = json!({ "$ref": "#/components/responses/Error" });
    let mut content = Map::new();
    content.insert(kind.to_owned(), json!({ "schema": schema }));
    let mut responses = json!({ "200": { "description": summary, "content": content } });
    for status in OPERATION_STATUSES {
        responses[status.as_str()] = error.clone();
    }
    json!({ "get": { "operationId": id, "summary": summary, "responses": responses } })
}

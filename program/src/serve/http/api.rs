//! The JSON API: one route for each operation of the table.
//!
//! # Layer
//! Layer 9, part of serve.

use axum::body::Bytes;
use axum::extract::{FromRequest, Query, RawQuery, Request, State};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::{Map, Value, json};

use super::admission::Admitted;
use super::answer::{self, Refusal};
use crate::serve::operations::{self, Effect, Entry, Profile};
use crate::serve::service::Form;
use crate::serve::{Caller, Server};
use treering::inspect::ingest::json::repeated_key;
use treering::{Error, ErrorCode, Result};
use treering_text::visible::printable;

/// The JSON object in the body of a request.
pub(super) struct Object(pub(super) Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Object {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> std::result::Result<Self, Refusal> {
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|failed| Refusal::of_status(failed.status(), ""))?;
        object_of(&body).map(Self).map_err(|error| Refusal::from(&error))
    }
}

/// Returns the JSON object of a body. A repeated key is refused, because a reader keeps one of its values only.
fn object_of(body: &[u8]) -> Result<Map<String, Value>> {
    let refused = |why: String| {
        let error = Error::invalid(format!("the body {why}")).with_code(ErrorCode::Usage);
        error.with_hint("send one JSON object with the arguments of the operation; see /openapi.json")
    };
    let text = std::str::from_utf8(body).map_err(|_| refused("is not UTF-8".to_owned()))?;
    let not_json = |error: serde_json::Error| {
        refused(format!(
            "is not JSON: line {}, column {}",
            error.line(),
            error.column()
        ))
    };
    let value: Value = serde_json::from_str(text).map_err(not_json)?;
    if let Some((key, _)) = repeated_key(text) {
        return Err(refused(format!("repeats the key '{}'", printable(&key))));
    }
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(refused("is not a JSON object".to_owned())),
    }
}

/// Refuses the query of a URL whose bytes are not UTF-8 once they are decoded.
fn check_query(query: &str) -> Result<()> {
    let mut bytes = query.as_bytes().iter();
    let mut decoded = Vec::with_capacity(query.len());
    while let Some(&byte) = bytes.next() {
        let digits = bytes.as_slice().get(..2).filter(|_| byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(code) => {
                decoded.push(code);
                bytes.nth(1);
            }
            None => decoded.push(byte),
        }
    }
    std::str::from_utf8(&decoded).map(drop).map_err(|_| {
        let error = Error::invalid("the query of the URL is not UTF-8").with_code(ErrorCode::Usage);
        error.with_hint("encode each text in UTF-8, then each byte with %")
    })
}

/// Returns the path of an operation.
pub(super) fn path_of(operation: &Entry) -> String {
    format!("/v1/{}", operation.name)
}

/// Returns the routes of the operations of a profile. An operation that changes nothing has `GET`, too.
pub(super) fn routes(profile: Profile) -> Router<Server> {
    let mut router = Router::new();
    for operation in operations::of_profile(profile) {
        let posted = move |state: State<Server>, from: Extension<Admitted>, Object(arguments): Object| {
            call(operation, state.0, from.0, arguments)
        };
        let asked = move |state: State<Server>,
                          from: Extension<Admitted>,
                          RawQuery(query): RawQuery,
                          Query(pairs): Query<Vec<(String, String)>>| async move {
            let checked = check_query(query.as_deref().unwrap_or_default());
            match checked.and_then(|()| arguments_of(pairs, &(operation.arguments)())) {
                Ok(arguments) => call(operation, state.0, from.0, arguments).await,
                Err(error) => {
                    let limit = caller(&state.0, from.0).tokens_max;
                    answer::of(Err(error), profile, limit)
                }
            }
        };
        let mut route = post(posted);
        if operation.effect == Effect::Reads {
            route = route.get(asked);
        }
        router = router.route(&path_of(operation), route);
    }
    router
}

async fn call(
    operation: &'static Entry,
    server: Server,
    from: Admitted,
    arguments: Map<String, Value>,
) -> Response {
    let caller = caller(&server, from);
    let limit = caller.tokens_max;
    let done = server.call(caller, operation.name, arguments).await;
    answer::of(done, server.profile(), limit)
}

/// Returns the caller of a request. Without tokens of their own, all clients are one, but for the session that each may
/// choose.
fn caller(server: &Server, from: Admitted) -> Caller {
    let mut caller = match &from.client {
        Some(client) => server.caller().of_client(client),
        None => server.caller().clone(),
    };
    caller.form = Form::Structured;
    let named = || caller.names_session.then(|| format!("http-{}", caller.session()));
    if let Some(session) = from.session.or_else(named) {
        caller.who.writer.session = Some(session);
    }
    caller.keep_session_of_client();
    caller
}

/// Returns the arguments that the query of a URL names. `schema` tells their types; a list is named several times.
fn arguments_of(pairs: Vec<(String, String)>, schema: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut arguments = Map::new();
    for (name, text) in pairs {
        let kind = schema
            .get("properties")
            .and_then(|all| all.get(&name)?.get("type"));
        let value = match kind.and_then(Value::as_str) {
            // What is no number or boolean stays a text, which the operation refuses with the name of the argument.
            Some("integer" | "boolean") => {
                let read = serde_json::from_str(&text).ok();
                read.filter(|value: &Value| !value.is_null())
                    .unwrap_or_else(|| json!(text))
            }
            _ => json!(text),
        };
        let is_list = kind.and_then(Value::as_str) == Some("array");
        match arguments.get_mut(&name) {
            None if is_list => drop(arguments.insert(name, json!([value]))),
            None => drop(arguments.insert(name, value)),
            Some(Value::Array(list)) if is_list => list.push(value),
            Some(_) => {
                let text = format!("the argument '{}' is given twice", printable(&name));
                return Err(Error::invalid(text)
                    .with_code(ErrorCode::Usage)
                    .with_hint("give it once"));
            }
        }
    }
    Ok(arguments)
}

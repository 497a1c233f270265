//! The JSON API: one route for each operation of the table.
//!
//! # Layer
//! Layer 9, part of serve.

use axum::extract::{Query, RawQuery, State};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::{Map, Value, json};

use super::admission::Admitted;
use super::answer;
use super::body::{Object, check_query};
use crate::serve::operations::{self, Effect, Entry, Profile};
use crate::serve::service::Form;
use crate::serve::{Caller, Server};
use treering::{Error, ErrorCode, Result};
use treering_text::visible::printable;

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

//! MCP at `/mcp`: rmcp answers the messages, and what is around it refuses what rmcp would refuse wrongly.
//!
//! # Layer
//! Layer 9, part of serve. Uses rmcp.

use std::sync::Arc;

use axum::Json;
use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any_service};
use rmcp::model::{Extensions, ProtocolVersion};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::admission::Admitted;
use super::answer::{Refusal, SENTENCE_BYTES_MAX};
use super::mcp_sessions::Sessions;
use crate::serve::Server;
use crate::serve::mcp::{Connection, Handler, checked_id, not_allowed};
use treering_text::visible::printable;

/// The header with the session of MCP.
pub(super) const MCP_SESSION: &str = "mcp-session-id";
/// The number of characters of an MCP session that the name of a lane keeps.
pub(super) const SUFFIX_CHARS: usize = 8;
/// The types of the answers, of which rmcp wants both by their names.
const ANSWERS: [(&str, &str); 2] = [("application", "json"), ("text", "event-stream")];
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Returns the settings of MCP. Its token ends the sessions of the protocol.
pub(super) fn config(body_bytes_max: usize) -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes_max)
        // `admission` has checked the host, with its port, and the origin.
        .disable_allowed_hosts()
}

/// Returns MCP over HTTP. The newest revision has no session; a client of an older one gets a session of the protocol.
pub(super) fn route(server: &Server, config: StreamableHttpServerConfig) -> MethodRouter<Server> {
    let sessions = Arc::new(Sessions::default());
    let server = server.clone();
    let handler = move || Ok(Handler::new(server.clone(), connection, false));
    let service = StreamableHttpService::new(handler, sessions.manager(), config);
    any_service(service)
        .layer(from_fn_with_state(sessions, with_session))
        .layer(from_fn(check_message))
}

/// Answers a body that is no valid message, which rmcp would call a wrong type (HTP-2), and names the types that wildcards
/// of the header `Accept` mean.
async fn check_message(request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    if accepts_answers(&head.method, &head.headers) {
        head.headers.insert(header::ACCEPT, BOTH);
    }
    if head.method != Method::POST {
        return next.run(Request::from_parts(head, body)).await;
    }
    // The body is already in memory, so this does not fail.
    let Ok(body) = Bytes::from_request(Request::new(body), &()).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let id = match checked_id(&body) {
        Ok(id) => id,
        Err(refusal) => return (StatusCode::BAD_REQUEST, Json(refusal)).into_response(),
    };
    let response = next.run(Request::from_parts(head, body.into())).await;
    let is_text = |kind: &HeaderValue| kind.as_bytes().starts_with(b"text/plain");
    let kind = response.headers().get(header::CONTENT_TYPE);
    if response.status() != StatusCode::BAD_REQUEST || !kind.is_none_or(is_text) {
        return response;
    }
    // rmcp says in words what the message lacks, such as a session.
    let why = to_bytes(response.into_body(), SENTENCE_BYTES_MAX)
        .await
        .unwrap_or_default();
    let refusal = not_allowed(&id, &printable(&String::from_utf8_lossy(&why)));
    (StatusCode::BAD_REQUEST, Json(refusal)).into_response()
}

/// Keeps the order in which sessions are used, and ends the one that was idle for the longest time if a request begins one
/// too many.
async fn with_session(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let newest = Some(ProtocolVersion::V_2026_07_28.as_str().as_bytes());
    let has_none = headers.get("mcp-protocol-version").map(HeaderValue::as_bytes) == newest;
    let session = headers.get(MCP_SESSION).and_then(|id| id.to_str().ok());
    if has_none || request.method() != Method::POST {
        return next.run(request).await;
    }
    if let Some(id) = session {
        let usage = Sessions::begin(&sessions, id.into());
        let response = next.run(request).await;
        return usage.until_sent(response);
    }
    let _starting = sessions.start().await;
    if !sessions.make_room().await {
        let why = "too many MCP sessions are at work";
        return Refusal::of_status(StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    }
    let response = next.run(request).await;
    let begun = response.headers().get(MCP_SESSION);
    if let Some(id) = begun.and_then(|id| id.to_str().ok()) {
        drop(Sessions::begin(&sessions, id.into()));
    }
    response
}

/// Returns whether a client accepts the answers of its request (RFC 9110, section 12.5.1). A stream of GET must be asked for.
fn accepts_answers(method: &Method, headers: &HeaderMap) -> bool {
    match *method {
        Method::GET => accepts(headers, ANSWERS[1]),
        _ if !headers.contains_key(header::ACCEPT) => true,
        _ => ANSWERS.into_iter().all(|answer| accepts(headers, answer)),
    }
}

/// Returns whether the most exact range that has the type does not exclude it.
fn accepts(headers: &HeaderMap, (kind, sub): (&str, &str)) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let ranges = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let weights = ranges.filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let (range_kind, range_sub) = parts.next()?.split_once('/')?;
        let exactness = match (range_kind, range_sub) {
            ("*", "*") => 0,
            (one, "*") if one.eq_ignore_ascii_case(kind) => 1,
            (one, other) if one.eq_ignore_ascii_case(kind) && other.eq_ignore_ascii_case(sub) => 2,
            _ => return None,
        };
        let mut weights = parts.filter_map(|part| part.split_once('='));
        let weight = weights.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let weight = weight.and_then(|(_, weight)| weight.trim().parse::<f32>().ok());
        Some((exactness, weight.is_none_or(|weight| weight > 0.0)))
    });
    weights.max().is_some_and(|(_, is_accepted)| is_accepted)
}

/// Returns what the request of a message says about its client.
fn connection(extensions: &Extensions) -> Connection {
    let Some(request) = extensions.get::<Parts>() else {
        return Connection::default();
    };
    let from = request.extensions.get::<Admitted>().cloned().unwrap_or_default();
    let suffix = request.headers.get(MCP_SESSION);
    let suffix = suffix.and_then(|id| id.to_str().ok());
    Connection {
        session: from.session,
        client: from.client,
        suffix: suffix.map(|id| id.chars().take(SUFFIX_CHARS).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_and_weights_say_which_types_are_accepted() {
        let accepted = |method: &Method, accept: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, value.parse().unwrap());
            }
            accepts_answers(method, &headers)
        };
        for (accept, is_accepted) in [
            (&["*/*"][..], true),
            (&["application/*, text/*"], true),
            (&["application/json", "text/event-stream"], true),
            (&["Application/JSON;charset=utf-8, TEXT/*;q=0.1"], true),
            (&["text/html, */*;q=0.8"], true),
            (&[], true),
            (&["application/json"], false),
            (&["text/event-stream"], false),
            (&["*/*;q=0"], false),
            (&["*/*, text/event-stream;q=0"], false),
            (&["application/*;q=0.0, application/json, text/*"], true),
            (&["nonsense"], false),
        ] {
            assert_eq!(accepted(&Method::POST, accept), is_accepted, "{accept:?}");
        }
        assert!(accepted(&Method::GET, &["*/*"]) && accepted(&Method::GET, &["text/event-stream"]));
        assert!(!accepted(&Method::GET, &[]) && !accepted(&Method::GET, &["application/json"]));
    }
}

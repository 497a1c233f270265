//! The answers of HTTP: JSON, and the status of each error.
//!
//! # Layer
//! Layer 9, part of serve.

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::answers::json::to_json;
use crate::answers::program::{self, Refused};
use crate::serve::errors::shown;
use crate::serve::operations::{Profile, Sent};
use treering::{Error, ErrorCode, ErrorKind, Result};
use treering_text::visible::printable;

/// The most bytes of a sentence that an inner service answers.
pub(super) const SENTENCE_BYTES_MAX: usize = 4_096;
/// The seconds after which a client may try again if another process holds the lock.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// The code, the usual sentence and the next step of a status that no operation chose.
const STATUSES: [(StatusCode, &str, &str, &str); 13] = [
    (
        StatusCode::BAD_REQUEST,
        "bad_request",
        "the request is not valid",
        "see /openapi.json",
    ),
    (
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the token is missing or wrong",
        "send the header Authorization: Bearer TOKEN with the token that the server printed or that --token-file has",
    ),
    (
        StatusCode::FORBIDDEN,
        "forbidden",
        "the server does not admit the request",
        "see docs/http.md",
    ),
    (
        StatusCode::NOT_FOUND,
        "no_route",
        "there is no such path or MCP session",
        "see /openapi.json; an MCP client initializes again",
    ),
    (
        StatusCode::METHOD_NOT_ALLOWED,
        "bad_method",
        "the path has no such method",
        "use a method of the header Allow",
    ),
    (
        StatusCode::NOT_ACCEPTABLE,
        "not_acceptable",
        "the client does not accept the answer",
        "send the header Accept: application/json, text/event-stream",
    ),
    (
        StatusCode::REQUEST_TIMEOUT,
        "timeout",
        "the request took too long",
        "send the whole body at once",
    ),
    (
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        "the body is larger than 1 MiB",
        "store a long text as several items",
    ),
    (
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "not_json",
        "the body is not declared as JSON",
        "send the header Content-Type: application/json",
    ),
    (
        StatusCode::UNPROCESSABLE_ENTITY,
        "bad_request",
        "the body is not a JSON object",
        "see /openapi.json",
    ),
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server failed",
        "see the standard error of the server",
    ),
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "busy",
        "the server is busy",
        "try again",
    ),
    (
        StatusCode::GATEWAY_TIMEOUT,
        "outcome_unknown",
        "the operation takes longer than 60 s",
        "it runs to its end, so read the memory before you repeat a change",
    ),
];

/// Returns the status of an error.
fn status_of(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        // The request has not the form of the operation.
        ErrorKind::InvalidInput if error.code() == ErrorCode::Usage => StatusCode::BAD_REQUEST,
        ErrorKind::InvalidInput => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::Denied => StatusCode::FORBIDDEN,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Io if error.is_disk_full() => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::UnsupportedFormat => StatusCode::NOT_IMPLEMENTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Every status of an answer of an operation, for the document of the API.
pub(super) const OPERATION_STATUSES: [StatusCode; 14] = [
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::CONFLICT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::NOT_IMPLEMENTED,
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::GATEWAY_TIMEOUT,
    StatusCode::INSUFFICIENT_STORAGE,
];

/// An answer with an error.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    refused: Refused,
}

impl Refusal {
    /// Returns the usual answer of a status, with another sentence if it is not empty.
    pub(super) fn of_status(status: StatusCode, sentence: &str) -> Self {
        let row = STATUSES.iter().find(|row| row.0 == status);
        let (code, usual, hint) =
            row.map_or(("internal", "the server failed", ""), |row| (row.1, row.2, row.3));
        let sentence = if sentence.is_empty() { usual } else { sentence };
        Self {
            status,
            refused: Refused {
                code,
                message: printable(sentence),
                hint: (!hint.is_empty()).then(|| hint.to_owned()),
                ids: Vec::new(),
            },
        }
    }

    /// Returns the answer to a request that is not admitted.
    pub(super) fn forbidden(code: &'static str, message: &str, hint: &str) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            refused: Refused {
                code,
                message: printable(message),
                hint: Some(hint.to_owned()),
                ids: Vec::new(),
            },
        }
    }
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        let mut refused = Refused::from(error);
        refused.message = printable(&refused.message);
        refused.hint = refused.hint.as_deref().map(printable);
        Self {
            status: status_of(error),
            refused,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let document = program::Refusal {
            error: self.refused,
            notes: Vec::new(),
        };
        let mut response = (self.status, json(&document)).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

/// Returns an answer in JSON.
pub(super) fn json(document: &impl Serialize) -> Response {
    match to_json(document) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns an answer as a client gets it: an error of axum, tower-http or rmcp becomes JSON (HTP-2), and no cache keeps
/// it.
pub(super) async fn finished(response: Response) -> Response {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let mut response = if (status.is_client_error() || status.is_server_error()) && !is_json {
        let (mut parts, body) = response.into_parts();
        let sentence = match status {
            // The limit of the body is that of a layer, which has other words for it.
            StatusCode::PAYLOAD_TOO_LARGE => Bytes::new(),
            _ => to_bytes(body, SENTENCE_BYTES_MAX).await.unwrap_or_default(),
        };
        let refusal = Refusal::of_status(status, String::from_utf8_lossy(&sentence).trim());
        let (refused, body) = refusal.into_response().into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.extend(refused.headers);
        Response::from_parts(parts, body)
    } else {
        response
    };
    let headers = response.headers_mut();
    // A file of the page may be kept.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Returns the answer of an operation of the profile.
pub(super) fn of(done: Result<Sent>, profile: Profile, tokens_max: usize) -> Response<Body> {
    match done {
        Ok(sent) => json(&sent.json),
        Err(error) => {
            let refused = shown(&error, profile, tokens_max);
            let status = status_of(&error);
            Refusal { status, refused }.into_response()
        }
    }
}

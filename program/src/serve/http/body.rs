//! What a request says: the JSON object of its body, and the text of its query.
//!
//! # Layer
//! Layer 9, part of serve.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use serde_json::{Map, Value};

use super::answer::Refusal;
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
pub(super) fn check_query(query: &str) -> Result<()> {
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

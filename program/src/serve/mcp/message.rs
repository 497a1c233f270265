//! One JSON-RPC message: reads it, or makes the answer to what is no valid message.
//!
//! # Layer
//! Layer 9, part of serve. Pure.
//!
//! # Invariants
//! - MSG-1: the answer to what is no valid message has the id of the message, wherever its whole text gives one.

use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Deserializer, Map, Value as Json, json};

use treering::inspect::ingest::json::whole_characters;

/// The number of messages in a batch.
pub(super) const BATCH_MAX: usize = 100;

/// The codes of JSON-RPC.
const PARSE_ERROR: i32 = -32_700;
pub(super) const INVALID_REQUEST: i32 = -32_600;

pub(super) type Message = RxJsonRpcMessage<RoleServer>;

/// Returns the id of the message in the body of a request of HTTP, which is null for a notification.
///
/// # Errors
/// The answer to a body that is not one valid message.
#[cfg(feature = "http")]
pub(crate) fn checked_id(body: &[u8]) -> Result<Json, Json> {
    let value = json_of(body)?;
    if value.is_array() {
        let why = "a request of HTTP has one message: send the messages of a batch one by one";
        return Err(refusal(&Json::Null, INVALID_REQUEST, why));
    }
    let id = value["id"].clone();
    message_of(value).map(|_| id)
}

/// Returns the answer to a message that the protocol does not allow now.
#[cfg(feature = "http")]
pub(crate) fn not_allowed(id: &Json, why: &str) -> Json {
    refusal(id, INVALID_REQUEST, why)
}

/// Returns the JSON of a line or body, or the answer to it (MSG-1). Half an emoji becomes U+FFFD.
pub(super) fn json_of(text: &[u8]) -> Result<Json, Json> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let text = whole_characters(text);
    serde_json::from_slice(&text).map_err(|error| {
        let why = format!("the message is not JSON: {error}");
        // The id of a torn text may belong to another message, whose rest came behind it.
        let id = if error.is_eof() { None } else { id_in(&text) };
        refusal(&id.unwrap_or_default(), PARSE_ERROR, &why)
    })
}

/// Returns the id of a message whose text is not JSON as a whole: the value of the field `id` at the top.
fn id_in(text: &[u8]) -> Option<Json> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    let (mut depth, mut at) = (0_u32, 0);
    loop {
        match text.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let begin = at + 1;
                at = begin;
                while *text.get(at)? != b'"' {
                    at += 1 + usize::from(text.get(at) == Some(&b'\\'));
                }
                let rest = text.get(at + 1..)?;
                let value = rest.trim_ascii_start().strip_prefix(b":");
                if let (1, Some(b"id"), Some(value)) = (depth, text.get(begin..at), value) {
                    let mut values = Deserializer::from_slice(value).into_iter();
                    let id = values.next()?.ok()?;
                    let behind = value
                        .get(values.byte_offset()..)?
                        .iter()
                        .find(|byte| !is_space(byte));
                    // A number at the end of a torn text may be torn, too.
                    return behind.is_some_and(|byte| b",}".contains(byte)).then_some(id);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Returns the message in a JSON document, or the answer to it (MSG-1).
pub(super) fn message_of(value: Json) -> Result<Message, Json> {
    let refused = |why: &str| refusal(&value["id"], INVALID_REQUEST, why);
    let Some(message) = value.as_object() else {
        let why = format!("a message is a JSON object, and a batch is an array of 1 to {BATCH_MAX} messages");
        return Err(refusal(&Json::Null, INVALID_REQUEST, &why));
    };
    if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Err(refused("a message says \"jsonrpc\": \"2.0\""));
    }
    let id = message.get("id");
    if id.is_some_and(|id| !is_id(id)) {
        return Err(refused("an id is a text or an integer"));
    }
    let is_answer = message.contains_key("result") || message.contains_key("error");
    if !is_answer && !message.get("method").is_some_and(Json::is_string) {
        return Err(refused("a request has a method, which is a text"));
    }
    if message.get("params").is_some_and(|params| !params.is_object()) {
        return Err(refused("params is an object"));
    }
    let id = id.cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| {
        refusal(
            &id,
            INVALID_REQUEST,
            &format!("the message is not valid: {error}"),
        )
    })
}

fn is_id(id: &Json) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// Returns the answer to what is no valid message. It has the id of the message; without one, it has none, because no
/// revision allows null.
pub(super) fn refusal(id: &Json, code: i32, why: &str) -> Json {
    let mut answer = Map::new();
    answer.insert("jsonrpc".to_owned(), json!("2.0"));
    if is_id(id) {
        answer.insert("id".to_owned(), id.clone());
    }
    answer.insert("error".to_owned(), json!({ "code": code, "message": why }));
    Json::Object(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_bad_message_has_its_id_or_none() {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "params": {} });
        let old = json!({ "jsonrpc": "1.0", "id": "a", "method": "ping" });
        let with = |id: Json| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        for (value, id) in [
            (request, Some(json!(7))),
            (old, Some(json!("a"))),
            (with(json!({})), None),
            (with(json!(1.5)), None),
            (with(json!(null)), None),
            (json!([]), None),
            (json!(7), None),
        ] {
            let answer = message_of(value.clone()).unwrap_err();
            assert_eq!(
                (answer.get("id"), &answer["error"]["code"]),
                (id.as_ref(), &json!(INVALID_REQUEST)),
                "{value}"
            );
        }
        let answer = json_of(br#"{"jsonrpc":"2.0","id":7"#).unwrap_err();
        assert_eq!(
            (answer.get("id"), &answer["error"]["code"]),
            (None, &json!(PARSE_ERROR))
        );
        assert!(message_of(with(json!(7))).is_ok());
    }

    /// INVARIANT MSG-1: the answer to what is no valid message has the id of the message, wherever its whole text gives one.
    #[test]
    fn an_answer_to_bad_json_has_the_id_that_can_be_read() {
        let cases: [(&[u8], Option<Json>); 9] = [
            (br#"{"id":7,"params":{"text":"\x"}}"#, Some(json!(7))),
            (
                br#"{"params":{"id":3,"text":"\x"},"id" : "a" }"#,
                Some(json!("a")),
            ),
            (b"{\"id\":8,\"params\":\"\xff\"}", Some(json!(8))),
            (br#"{"id":9,"params":{"#, None),
            (br#"{"id":9"#, None),
            (br#"{"id":{"a":1},"x"#, None),
            (br#"["id",5"#, None),
            (br#"{"a\"id":5,"#, None),
            (b"", None),
        ];
        for (text, id) in cases {
            let answer = json_of(text).unwrap_err();
            assert_eq!(answer.get("id"), id.as_ref(), "{}", String::from_utf8_lossy(text));
            assert_eq!(answer["error"]["code"], PARSE_ERROR);
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn a_request_of_http_has_one_message() {
        let half = br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud83d"}}"#;
        assert_eq!(checked_id(half), Ok(json!(1)));
        for bad in [json!([]), json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])] {
            let answer = checked_id(bad.to_string().as_bytes()).unwrap_err();
            assert_eq!(answer["error"]["code"], INVALID_REQUEST);
        }
    }
}

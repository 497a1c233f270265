//! Items, snapshots, differences and the envelope as resources with a URI.
//!
//! ```text
//! memory://status                     the head, and who reads
//! memory://object/{id}                an item
//! memory://snapshot/{revision}        what a state holds, as a list of items
//! memory://diff/{from}..{to}          what changed between two states
//! memory://envelope/{query}           the memory as one text for a prompt
//! ```
//!
//! An id and a revision are percent-encoded. A resource is the answer of an operation, so it has the same limits.
//!
//! # Layer
//! Layer 9, part of serve.

use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ReadResourceResult, Reference, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Map, Value as Json, json};

use crate::answers::json::to_json;
use crate::serve::Service;
use crate::serve::operations::{Profile, find};
use crate::serve::service::Form;
use treering::{Error, ErrorCode, Query, Result};
use treering_text::visible::printable;

const SCHEME: &str = "memory://";
const JSON: &str = "application/json";
/// The number of completions.
const COMPLETIONS_MAX: usize = 20;

/// Returns the resources that need no argument.
pub(super) fn list() -> Vec<Resource> {
    let resource = |name: &str, title: &str, mime: &str| {
        Resource::new(format!("{SCHEME}{name}"), name)
            .with_title(title)
            .with_mime_type(mime)
    };
    vec![
        resource("status", "The head of the memory, and who reads", JSON),
        resource("envelope", "The memory as one text for a prompt", "text/plain"),
    ]
}

/// Returns the templates of resources with an argument.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, mime: &str| {
        ResourceTemplate::new(format!("{SCHEME}{uri}"), name)
            .with_title(title)
            .with_mime_type(mime)
    };
    vec![
        template("object/{id}", "object", "An item by its id", JSON),
        template("snapshot/{revision}", "snapshot", "The items of a state", JSON),
        template(
            "diff/{from}..{to}",
            "diff",
            "What changed from one state to another",
            JSON,
        ),
        template(
            "envelope/{query}",
            "envelope",
            "The memory about a topic, as one text for a prompt",
            "text/plain",
        ),
    ]
}

/// Reads a resource.
///
/// # Errors
/// `NotFound` if the URI names no resource; the errors of the operation.
pub(super) fn read(service: &Service, uri: &str) -> Result<ReadResourceResult> {
    let unknown = || {
        let known = "memory://status, memory://envelope, memory://object/ID, memory://snapshot/REV, memory://diff/REV..REV";
        Error::not_found(format!("there is no resource '{}'", printable(uri)))
            .with_code(ErrorCode::Usage)
            .with_hint(format!("use {known}"))
    };
    let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (kind, argument) = path.split_once('/').unwrap_or((path, ""));
    let argument = decoded(argument).ok_or_else(unknown)?;
    let (operation, arguments) = match kind {
        "status" if argument.is_empty() => ("memory_status", json!({})),
        "object" => ("memory_get", json!({ "id": argument })),
        "snapshot" => ("memory_get", json!({ "at": argument, "limit": 200 })),
        "diff" => {
            let (from, to) = argument.split_once("..").ok_or_else(unknown)?;
            let to = if to.is_empty() { "@" } else { to };
            (
                "memory_snapshot",
                json!({ "action": "diff", "from": from, "to": to }),
            )
        }
        "envelope" if argument.is_empty() => ("memory_envelope", json!({})),
        "envelope" => ("memory_envelope", json!({ "query": argument })),
        _ => return Err(unknown()),
    };
    let arguments = match arguments {
        Json::Object(arguments) => arguments,
        _ => Map::new(),
    };
    let is_text = kind == "envelope";
    let service = service.answering(if is_text { Form::Text } else { Form::Structured });
    let sent = (find(Profile::Full, operation)?.run)(&service, arguments)?;
    let contents = if is_text {
        ResourceContents::text(sent.text, uri).with_mime_type("text/plain")
    } else {
        let text = to_json(&sent.json).map_err(|error| Error::internal(error.to_string()))?;
        ResourceContents::text(text, uri).with_mime_type(JSON)
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Decodes the percent-encoding of a URI. Returns `None` if the bytes are not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Completes an id or the name of a snapshot in a template.
///
/// # Errors
/// The errors of reading the head.
pub(super) fn complete(service: &Service, request: &CompleteRequestParams) -> Result<CompleteResult> {
    let typed = &request.argument.value;
    let values = match (&request.r#ref, request.argument.name.as_str()) {
        (Reference::Resource(_), "id") => {
            let (view, reach) = (service.head()?, service.reach(None)?);
            let mut query = Query::default();
            query.prefix = Some(typed.clone());
            // The id of an untrusted item is an untrusted text (SRV-3).
            let objects = view.query(&query)?.filter(|object| {
                object.as_ref().map_or(true, |object| {
                    reach.has(object.scope()) && object.origin().is_trusted()
                })
            });
            let ids = objects
                .take(COMPLETIONS_MAX)
                .map(|object| Ok(object?.id().to_string()));
            ids.collect::<Result<_>>()?
        }
        (Reference::Resource(_), "revision" | "from" | "to") => {
            let (snapshots, _) = service.snapshots(&service.head()?)?;
            let names = snapshots
                .into_iter()
                .map(|(snapshot, _)| snapshot.revision())
                .filter(|name| name.starts_with(typed.as_str()));
            names.take(COMPLETIONS_MAX).collect()
        }
        _ => Vec::new(),
    };
    let info = CompletionInfo::new(values).map_err(Error::internal)?;
    Ok(CompleteResult::new(info))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_decoded_once() {
        assert_eq!(decoded("facts%2Ftea%20pot").as_deref(), Some("facts/tea pot"));
        assert_eq!(decoded("100%25%").as_deref(), Some("100%%"));
        assert_eq!(decoded("%ff"), None);
    }
}

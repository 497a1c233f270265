//! The inbox as an app in a chat (MCP Apps): a page that the client shows in a sandboxed frame.
//!
//! A client that declares the extension gets one more resource, and the tool that opens it. The page asks the client to call
//! tools, and the client asks this server as it does for the model. So the page can do what the model can; and what only a
//! person may do, such as trusting a text, through a tool of its own (`decide.rs`).
//!
//! Source: the extension `io.modelcontextprotocol/ui`, revision 2026-01-26.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - UIA-1: the page is one document. Its policy allows its own script and style only, and no request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::RoleServer;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, Tool};
use rmcp::service::RequestContext;
use serde_json::{Map, Value as Json, json};

use crate::serve::Service;
use crate::serve::operations::{Profile, Sent, find};
use treering::Result;
use treering::inspect::digest::sha256;

/// The address of the page.
pub(super) const URI: &str = "ui://treering/inbox";
/// The tool that opens the page.
pub(super) const TOOL: &str = "memory_inbox";
const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";
/// The field of a request of the page.
const STRUCTURED: &str = "treering/structured";
const SCRIPT: &str = include_str!("app/inbox.js");
const STYLE: &str = include_str!("app/inbox.css");

/// Checks whether the client of a request shows apps.
pub(super) fn is_shown_by(context: &RequestContext<RoleServer>) -> bool {
    let extensions = context.client_capabilities().and_then(|all| all.extensions);
    let settings = extensions.and_then(|mut all| all.remove(EXTENSION));
    let types = settings.and_then(|mut settings| settings.remove("mimeTypes"));
    types
        .as_ref()
        .and_then(Json::as_array)
        .is_some_and(|types| types.iter().any(|one| one == MIME))
}

/// Checks whether the page sent a request. It reads the structure of an answer, and a model its text.
pub(super) fn wants_structure(meta: &MetaObject) -> bool {
    meta.get(STRUCTURED) == Some(&Json::Bool(true))
}

/// Adds the tool of the page to the tools of a profile, which may have it.
pub(super) fn with_tool(mut tools: Vec<Tool>, definition: impl Fn() -> Option<Tool>) -> Vec<Tool> {
    if tools.iter().all(|tool| tool.name != TOOL) {
        tools.extend(definition());
    }
    for tool in tools.iter_mut().filter(|tool| tool.name == TOOL) {
        tool.meta = Some(about(
            json!({ "resourceUri": URI, "visibility": ["model", "app"] }),
        ));
    }
    tools
}

/// Answers the tool of the page, in every profile.
///
/// # Errors
/// The errors of the operation.
pub(super) fn call(service: &Service, arguments: Map<String, Json>) -> Result<Sent> {
    (find(Profile::Full, TOOL)?.run)(service, arguments)
}

/// Returns the page as an entry of the list of resources.
pub(super) fn resource() -> Resource {
    Resource::new(URI, "inbox")
        .with_title("The inbox of the memory")
        .with_mime_type(MIME)
        .with_meta(rules())
}

/// Returns the page, with the ticket by which it decides.
pub(super) fn read(ticket: Option<&str>) -> ReadResourceResult {
    let contents = ResourceContents::text(page(ticket), URI).with_mime_type(MIME);
    ReadResourceResult::new(vec![contents.with_meta(rules())])
}

/// Returns what the client must know to show the page: it needs no address and no permission.
fn rules() -> MetaObject {
    about(
        json!({ "csp": { "connectDomains": [], "resourceDomains": [] }, "permissions": {}, "prefersBorder": true }),
    )
}

pub(super) fn about(ui: Json) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("ui".to_owned(), ui);
    meta
}

/// INVARIANT UIA-1: the digests of the script and the style admit these two and nothing else.
fn page(ticket: Option<&str>) -> String {
    let digest = |text: &str| STANDARD.encode(sha256(text.as_bytes()));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{}'; \
         style-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         <title>The inbox of the memory</title>\n<style>{STYLE}</style>\n</head>\n\
         <body data-ticket=\"{}\">\n<p id=\"status\" role=\"status\"></p>\n<main id=\"page\"></main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        digest(SCRIPT),
        digest(STYLE),
        ticket.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT UIA-1: the page is one document, and makes no element of a text.
    #[test]
    fn the_page_names_no_address_and_writes_no_html() {
        let page = page(Some("00ff"));
        for word in [
            "http://",
            "https://",
            "//cdn",
            "src=",
            "href=",
            "@import",
            "url(",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket",
            " style=\"",
            " onclick",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("unsafe-"));
        // The end of a block must not be in it.
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }
}

//! The page of a person: its files, which need no token, and its data under `/ui/`, which needs the token of the page.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - PGS-1: a file of the page contains no data of the memory, runs no inline script, and loads nothing from elsewhere.
//! - PGS-2: the token of the page opens nothing but `/ui/`, and the token of the API opens nothing of it.
//! - PGS-3: the token of the page is in no address. The printed address has a ticket, which is exchanged for the token once.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::admission::bearer;
use super::answer::{self, Refusal};
use super::body::Object;
use super::events::{self, Pulse};
use crate::serve::Server;
use crate::serve::http::{Ticket, Token};
use crate::serve::ui::assets::{ASSETS, Asset};
use crate::serve::ui::{
    Reader, Shared, acts, changes, conflicts, inbox, object, objects, search, sessions, shown, summary,
    timeline, ways_back,
};
use treering::agent::Agent;
use treering::{Error, ErrorCode, Result, Writer};

/// The folder of the files.
pub(super) const FILES: &str = "/assets/";
/// The folder of the data of the page.
pub(super) const DATA: &str = "/ui/";
/// The path at which a ticket is exchanged. It needs no token.
pub(super) const TICKETS: &str = "/ui/open";

/// The content security policy: no inline script, and nothing from elsewhere (PGS-1).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of each file.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // A browser keeps the file, and asks each time whether it is still the same.
    (header::CACHE_CONTROL, "no-cache"),
];

/// The page of a person.
pub(crate) struct Page {
    /// The token that a browser sends with each request for data.
    pub(crate) token: Token,
    /// The ticket of the address that was printed last.
    pub(crate) ticket: Ticket,
    /// Prints the next address of the page, and returns its ticket.
    pub(crate) reopen: Box<dyn Fn(SocketAddr) -> Result<Token> + Send + Sync>,
    /// The writer of the ways back; `None` if the page only reads.
    pub(crate) writer: Option<Writer>,
    /// The fork that the server serves; `None` for the main line.
    pub(crate) served: Option<String>,
}

/// Returns whether the page has a file at this path.
pub(super) fn is_file(path: &str) -> bool {
    path == "/" || path.starts_with(FILES)
}

/// Returns the routes of the page.
pub(super) fn routes(
    shared: &Arc<Shared>,
    pulse: &Arc<Pulse>,
    page: &Arc<Page>,
    bound: SocketAddr,
) -> Router<Server> {
    let (pulse, page) = (Arc::clone(pulse), Arc::clone(page));
    Router::new()
        .route(
            "/",
            get(|headers: HeaderMap| async move { file(&ASSETS[0], &headers) }),
        )
        .route("/assets/{name}", get(named_file))
        .route(
            TICKETS,
            post(move |State(server): State<Server>, headers: HeaderMap| open(server, page, bound, headers)),
        )
        .route("/ui/summary", read(shared, summary::summary))
        .route("/ui/snapshots", read(shared, summary::snapshots))
        .route("/ui/inbox", read(shared, inbox::inbox))
        .route("/ui/conflicts", read(shared, conflicts::conflicts))
        .route("/ui/resolve", write(shared, conflicts::resolve))
        .route("/ui/folders", read(shared, objects::folders))
        .route("/ui/objects", read(shared, objects::objects))
        .route("/ui/object", read(shared, object::object))
        .route("/ui/versions", read(shared, object::versions))
        .route("/ui/commits", read(shared, timeline::commits))
        .route("/ui/changes", read(shared, changes::changes))
        .route("/ui/sessions", read(shared, sessions::sessions))
        .route("/ui/search", read(shared, search::search))
        .route("/ui/part", read(shared, search::part))
        .route("/ui/revert", write(shared, ways_back::revert))
        .route("/ui/rollback", write(shared, ways_back::rollback))
        .route("/ui/release", write(shared, acts::release))
        .route("/ui/reject", write(shared, acts::reject))
        .route("/ui/promote", write(shared, acts::promote))
        .route("/ui/edit", write(shared, acts::edit))
        .route("/ui/forget", write(shared, acts::forget))
        .route("/ui/restore", write(shared, acts::restore))
        .route("/ui/events", get(move || async move { events::follow(&pulse) }))
}

/// Exchanges a ticket for the token of the page (PGS-3).
async fn open(server: Server, page: Arc<Page>, bound: SocketAddr, headers: HeaderMap) -> Response {
    let caller = server.caller().clone();
    let token = page.token.reveal().to_owned();
    let taken = server.run(caller, move |_| {
        let sent = bearer(&headers).unwrap_or_default();
        page.ticket.take(sent, || (page.reopen)(bound))
    });
    match taken.await {
        Ok(true) => answer::json(&json!({ "token": token })),
        Ok(false) => Refusal::forbidden(
            "used_ticket",
            "this address is incomplete, or was used before: it opens the page once",
            "use the tab that it opened, or open the newest address that treering serve --ui printed",
        )
        .into_response(),
        Err(error) => Refusal::from(&error).into_response(),
    }
}

/// Prepares the derived values for the first requests of the page.
pub(super) async fn prepare(server: &Server, shared: Arc<Shared>) {
    let caller = server.caller().clone();
    let prepared = server.run(caller, move |service| {
        Reader::new(service.agent().clone(), shared).prepare()
    });
    // A later request that needs the same values reports the error.
    drop(prepared.await);
}

/// The fork that a request asks for; none for the line that the server serves.
#[derive(Deserialize)]
struct OfFork {
    fork: Option<String>,
}

impl OfFork {
    /// Returns the agent of the fork.
    fn agent(&self, served: &Agent) -> Result<Agent> {
        match &self.fork {
            Some(name) => served.on(served.memory().open_fork(name)?),
            None => Ok(served.clone()),
        }
    }
}

fn read<Q, A>(shared: &Arc<Shared>, read: fn(&Reader, &Q) -> Result<A>) -> MethodRouter<Server>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let shared = Arc::clone(shared);
    get(
        move |State(server): State<Server>, Query(of): Query<OfFork>, Query(asked): Query<Q>| {
            answered(server, shared, read, of, asked)
        },
    )
}

fn write<Q, A>(shared: &Arc<Shared>, write: fn(&Reader, &Q) -> Result<A>) -> MethodRouter<Server>
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
{
    let shared = Arc::clone(shared);
    post(
        move |State(server): State<Server>, Query(of): Query<OfFork>, Object(asked): Object| async move {
            match serde_json::from_value(Value::Object(asked)) {
                Ok(asked) => answered(server, shared, write, of, asked).await,
                Err(error) => {
                    let error = Error::invalid(format!("the request has another form: {error}"));
                    let error = error.with_code(ErrorCode::Usage).with_hint("load the page again");
                    Refusal::from(&error).into_response()
                }
            }
        },
    )
}

/// Returns the answer of a request, with every text written out.
async fn answered<Q: Send + 'static, A: Serialize + Send + 'static>(
    server: Server,
    shared: Arc<Shared>,
    work: fn(&Reader, &Q) -> Result<A>,
    of: OfFork,
    asked: Q,
) -> Response {
    let caller = server.caller().clone();
    let done = server.run(caller, move |service| {
        let reader = Reader::new(of.agent(service.agent())?, shared);
        let document = serde_json::to_value(work(&reader, &asked)?);
        let document = document.map_err(|_| Error::internal("an answer is no JSON"))?;
        Ok(shown(document, service.memory().suite()))
    });
    match done.await {
        Ok(document) => answer::json(&document),
        Err(error) => Refusal::from(&error).into_response(),
    }
}

async fn named_file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match ASSETS.iter().skip(1).find(|asset| asset.name == name) {
        Some(asset) => file(asset, &headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns a file, or that the browser has it already.
fn file(asset: &Asset, headers: &HeaderMap) -> Response {
    let tag = format!(
        "\"{:08x}-{:x}\"",
        crc32fast::hash(asset.text.as_bytes()),
        asset.text.len()
    );
    let is_known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, asset.kind)], asset.text).into_response()
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

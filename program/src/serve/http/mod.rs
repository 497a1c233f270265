//! HTTP: the operations as routes of a JSON API, MCP at `/mcp`, and what an operator reads.
//!
//! ```text
//! connection -> request id -> answers in JSON -> admission -> time, size -> /v1/NAME   the JSON API
//!  (listen)                    (answer)          (admission)                 /mcp       MCP, with the handler of `mcp`
//!                                                                           /openapi.json  /health  /metrics
//!                                                                           /  /assets/  /ui/   the page of a person
//! ```
//!
//! # Layer
//! Layer 9, part of serve. Uses axum, tower-http and hyper.
//!
//! # Invariants
//! - HTP-1: nothing is read or done for a request before its host, origin and token were checked, and its body never is
//!   read beyond the limit.
//! - HTP-2: an answer with an error status is JSON with a code, a sentence and the next step.
//! - HTP-3: the end of the server ends no operation that runs; an answer is sent only after the commit.

mod admission;
mod answer;
mod api;
mod events;
mod listen;
mod metrics;
mod openapi;
mod page;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any_service, get};
use rmcp::model::{Extensions, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::sleep;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutLayer};

pub(crate) use self::admission::Listening;
use self::admission::{Admission, ChosenSession};
use self::answer::Refusal;
use self::events::Pulse;
use self::metrics::Metrics;
pub(crate) use self::page::Page;
pub(crate) use self::token::{Ticket, Token};
use super::mcp::{Connection, Handler};
use super::stop::{runtime, stopped};
use crate::serve::Server;
use crate::serve::ui::Shared;
use treering::{Error, Result};

/// The largest body of a request.
const BODY_BYTES_MAX: usize = 1 << 20;
/// How long a client may take to send a body.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take. A writer waits 30 s for the lock unless `--wait` says otherwise.
const ANSWER_TIME_MAX: Duration = Duration::from_mins(1);
/// How long the answer of an operation may take from its end to the network.
const ANSWER_LEAVES: Duration = Duration::from_millis(200);
/// How long an MCP session of the older revisions may be idle.
const SESSION_IDLE_MAX: Duration = Duration::from_hours(1);
/// The header with the session of MCP.
const MCP_SESSION: &str = "mcp-session-id";
/// The number of MCP sessions of the older revisions at the same time. Each takes memory until it ends.
const SESSIONS_MAX: usize = 256;
/// The number of characters of an MCP session that the name of a lane keeps.
const SUFFIX_CHARS: usize = 8;

/// Answers clients until the process gets SIGTERM or SIGINT. Then requests that are read are answered (HTP-3). Calls
/// `listens` with the bound address.
///
/// # Errors
/// `Io` if the address cannot be bound; the errors of `listens`.
pub(crate) fn serve(
    server: Server,
    listening: Listening,
    listens: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    let listener = std::net::TcpListener::bind(listening.address)
        .map_err(|error| Error::io(format_args!("listening on {}", listening.address), error))?;
    let failed = |error| Error::io("listening", error);
    let bound = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    // The runtime is dropped at the end, which waits for the operations that run (HTP-3).
    runtime()?.block_on(async {
        let stopped = stopped()?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let config = mcp_config();
        let sessions = config.cancellation_token.clone();
        let pulse = Arc::new(Pulse::new());
        let mut routes = Router::new();
        if listening.token.is_some() {
            routes = operations(&server, config);
        }
        if let Some(page) = &listening.page {
            let shared = Arc::new(Shared::new(page.writer.clone()));
            routes = routes.merge(page::routes(&shared, &pulse, page, bound));
            let (server, reading) = (server.clone(), server.clone());
            tokio::spawn(async move { page::prepare(&server, shared).await });
            tokio::spawn(Arc::clone(&pulse).run(reading));
        }
        let admission = Arc::new(Admission::new(listening, bound, server.caller()));
        let router = router(server.clone(), routes, admission);
        listens(bound)?;
        let end = async move {
            pulse.end();
            // A stream of MCP does not end by itself. It is ended when no operation runs, and the last answer has left.
            server.idle().await;
            sleep(ANSWER_LEAVES).await;
            server.idle().await;
            sessions.cancel();
        };
        listen::until(listener, router, stopped, end).await;
        Ok(())
    })
}

/// Returns the routes of MCP and of the JSON API.
fn operations(server: &Server, config: StreamableHttpServerConfig) -> Router<Server> {
    let document = openapi::document(server.profile());
    Router::new()
        .merge(api::routes(server.profile()))
        .route("/mcp", mcp(server, config))
        .route("/openapi.json", get(|| async move { answer::json(&document) }))
}

/// Returns the routes, with what is around each of them.
fn router(server: Server, routes: Router<Server>, admission: Arc<Admission>) -> Router {
    let metrics = Arc::<Metrics>::default();
    let (counted, counting) = (server.clone(), Arc::clone(&metrics));
    routes
        .route("/health", get(health))
        .route("/metrics", get(move || metrics::show(counted, counting)))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(from_fn(admission::read_body))
        // The limit of tower-http holds for every route, so axum needs none of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(RequestBodyLimitLayer::new(BODY_BYTES_MAX))
        .layer(RequestBodyDeadlineLayer::new(BODY_TIME_MAX))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::GATEWAY_TIMEOUT,
            ANSWER_TIME_MAX,
        ))
        .layer(from_fn_with_state(admission, admission::admit))
        .layer(map_response_with_state(metrics, metrics::count))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .with_state(server)
}

/// Returns the settings of MCP. Its token ends the sessions of the protocol.
fn mcp_config() -> StreamableHttpServerConfig {
    StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        // `admission` has checked the host, with its port, and the origin.
        .disable_allowed_hosts()
}

/// Returns MCP over HTTP. The newest revision has no session; a client of an older one gets a session of the protocol.
fn mcp(server: &Server, config: StreamableHttpServerConfig) -> MethodRouter<Server> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE_MAX);
    let sessions = Arc::new(sessions);
    let server = server.clone();
    let handler = move || Ok(Handler::new(server.clone(), connection));
    let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
    any_service(service).layer(from_fn_with_state(sessions, admit_session))
}

/// Refuses a request that would begin a session while [`SESSIONS_MAX`] are open.
async fn admit_session(
    State(sessions): State<Arc<LocalSessionManager>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let newest = Some(ProtocolVersion::V_2026_07_28.as_str().as_bytes());
    let has_none = headers.get("mcp-protocol-version").map(HeaderValue::as_bytes) == newest;
    let begins = !has_none && !headers.contains_key(MCP_SESSION);
    if begins && sessions.sessions.read().await.len() >= SESSIONS_MAX {
        let why = "too many MCP sessions are open";
        return Refusal::of_status(StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    }
    next.run(request).await
}

/// Returns what the request of a message says about its client.
fn connection(extensions: &Extensions) -> Connection {
    let Some(request) = extensions.get::<Parts>() else {
        return Connection::default();
    };
    let session = request.extensions.get::<ChosenSession>();
    let suffix = request.headers.get(MCP_SESSION);
    let suffix = suffix.and_then(|id| id.to_str().ok());
    Connection {
        session: session.and_then(|session| session.0.clone()),
        suffix: suffix.map(|id| id.chars().take(SUFFIX_CHARS).collect()),
    }
}

/// Says whether the memory can be read. The only route without a token, so it says nothing else.
async fn health(State(server): State<Server>) -> Response {
    let caller = server.caller().clone();
    match server.run(caller, |service| service.head().map(drop)).await {
        Ok(()) => answer::json(&serde_json::json!({ "status": "ok" })),
        // The reason may name files, which a client without the token need not know.
        Err(_) => {
            let why = "the memory cannot be read";
            Refusal::of_status(StatusCode::SERVICE_UNAVAILABLE, why).into_response()
        }
    }
}

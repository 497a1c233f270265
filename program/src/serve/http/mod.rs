//! HTTP: the operations as routes of a JSON API, MCP at `/mcp`, and what an operator reads.
//!
//! ```text
//! connection -> request id, log -> answers in JSON -> admission -> time, size -> /v1/NAME   the JSON API
//!  (listen)      (request_log)      (answer)          (admission)                /mcp       MCP, with the handler of `mcp`
//!                                                                               /openapi.json  /health  /metrics
//!                                                                               /  /assets/  /ui/   the page of a person
//! ```
//!
//! # Layer
//! Layer 9, part of serve. Uses axum, tower-http and hyper.
//!
//! # Invariants
//! - HTP-1: nothing is read or done for a request before its host, origin and token were checked, and its body never is
//!   read beyond the limit.
//! - HTP-2: an answer with an error status is JSON with a code, a sentence and the next step. What is no valid message of
//!   `/mcp` gets an error of JSON-RPC, with the id of the message if it can be read.
//! - HTP-3: the end of the server ends no operation that runs; an answer is sent only after the commit.

mod admission;
mod answer;
mod api;
mod body;
pub(crate) mod clients;
mod events;
mod listen;
mod mcp;
mod mcp_sessions;
mod metrics;
mod openapi;
mod page;
mod places;
mod request_log;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state, map_response_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio::time::sleep;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutLayer};

pub(crate) use self::admission::Listening;
use self::admission::{Admission, Admitted};
use self::answer::Refusal;
use self::events::Pulse;
use self::metrics::Metrics;
pub(crate) use self::page::Page;
pub(crate) use self::request_log::RequestLog;
pub(crate) use self::token::{Keys, Ticket, Token};
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

/// Answers clients until the process gets SIGTERM or SIGINT. Then requests that are read are answered (HTP-3). Calls
/// `listens` with the bound address.
///
/// # Errors
/// `Io` if the address cannot be bound; the errors of `listens`.
pub(crate) fn serve(
    server: Server,
    mut listening: Listening,
    listens: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    let listener = std::net::TcpListener::bind(listening.address)
        .map_err(|error| cannot_listen(listening.address, error))?;
    let failed = |error| Error::io("listening", error);
    let bound = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    // The runtime is dropped at the end, which waits for the operations that run (HTP-3).
    runtime()?.block_on(async {
        let stopped = stopped()?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let config = mcp::config(BODY_BYTES_MAX);
        let sessions = config.cancellation_token.clone();
        let pulse = Arc::new(Pulse::new());
        let mut routes = Router::new();
        if listening.keys.is_some() {
            routes = operations(&server, config);
        }
        if let Some(page) = &listening.page {
            let shared = Arc::new(Shared::new(page.writer.clone(), page.served.clone()));
            routes = routes.merge(page::routes(&shared, &pulse, page, bound));
            let (server, reading) = (server.clone(), server.clone());
            tokio::spawn(async move { page::prepare(&server, shared).await });
            tokio::spawn(Arc::clone(&pulse).run(reading));
        }
        let log = listening.log.take();
        let admission = Arc::new(Admission::new(listening, bound, server.caller()));
        let router = router(server.clone(), routes, admission, log);
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

/// Returns the error of an address at which the server cannot listen. The hint of other errors is about files.
fn cannot_listen(address: SocketAddr, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this user may not listen at this port: choose a port of 1024 or above, such as 7070, or 0 for a free one"
        }
        io::ErrorKind::AddrInUse => "another program listens there: choose another port, or 0 for a free one",
        _ => "choose an address of this machine, such as 127.0.0.1, and a free port",
    };
    Error::io(format_args!("listening on {address}"), error).with_hint(hint)
}

/// Returns the routes of MCP and of the JSON API.
fn operations(server: &Server, config: StreamableHttpServerConfig) -> Router<Server> {
    // The text is made once, because it takes milliseconds.
    let document = Bytes::from(openapi::document(server.profile()).to_string());
    Router::new()
        .merge(api::routes(server.profile()))
        .route("/mcp", mcp::route(server, config))
        .route(
            "/openapi.json",
            get(|| async move { ([(header::CONTENT_TYPE, "application/json")], document) }),
        )
}

/// Returns the routes, with what is around each of them.
fn router(
    server: Server,
    routes: Router<Server>,
    admission: Arc<Admission>,
    log: Option<RequestLog>,
) -> Router {
    let metrics = Arc::<Metrics>::default();
    let (counted, counting) = (server.clone(), Arc::clone(&metrics));
    let router = routes
        .route("/health", get(health))
        .route(
            "/metrics",
            get(move |from: Extension<Admitted>| metrics::show(counted, counting, from.0)),
        )
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
        .layer(map_response_with_state(metrics, metrics::count));
    let router = match log {
        Some(log) => router.layer(from_fn_with_state(log, request_log::write)),
        None => router,
    };
    router
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .with_state(server)
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

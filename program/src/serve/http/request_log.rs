//! The log of requests: a line for each, without texts of the memory and without tokens.
//!
//! A thread writes the lines, so that a reader that is slow or gone delays no answer. Lines that it does not take in time
//! are dropped.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - RQL-1: a line has no query, header or body of a request but the names of the client and the session, and a path only
//!   if it is one of the server's.

use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::Body as _;
use serde::Serialize;

use super::admission::Admitted;
use super::mcp::{MCP_SESSION, SUFFIX_CHARS};
use treering::{Error, Result, Time};

/// The number of lines that wait to be written.
const WAITING_MAX: usize = 1_024;
/// The longest id of a request, in characters.
const ID_CHARS_MAX: usize = 36;
/// The method of a request that HTTP does not define.
const OTHER: &str = "OTHER";
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT",
];

/// Where lines go. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RequestLog {
    lines: SyncSender<String>,
    is_json: bool,
}

/// A request and its answer.
#[derive(Serialize)]
struct Line<'a> {
    time: Time,
    method: &'static str,
    /// The route; null if there is none.
    path: Option<&'a str>,
    status: u16,
    ms: u64,
    /// The bytes of the body of the answer; null for a stream.
    bytes: Option<u64>,
    /// The client, if each has a token of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    /// The session that the client chose, or the first characters of its session of MCP.
    session: Option<&'a str>,
    /// The id that the answer has in the header `X-Request-Id`.
    id: Option<&'a str>,
}

impl RequestLog {
    /// Starts the thread that writes to `output`, as JSON or as words.
    ///
    /// # Errors
    /// `Io` if the system starts no thread.
    pub(crate) fn start(mut output: impl Write + Send + 'static, is_json: bool) -> Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING_MAX);
        let write = move || {
            for line in waiting {
                if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
        };
        let started = Builder::new().name("treering-requests".to_owned()).spawn(write);
        started.map_err(|error| Error::io("starting the log of requests", error))?;
        Ok(Self { lines, is_json })
    }

    fn add(&self, line: &Line<'_>) {
        let text = if self.is_json {
            serde_json::to_string(line).unwrap_or_default()
        } else {
            line.words()
        };
        // A full channel drops the line.
        drop(self.lines.try_send(text));
    }
}

impl Line<'_> {
    fn words(&self) -> String {
        let bytes = self.bytes.map(|bytes| bytes.to_string());
        let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let client = self.client.map(|client| format!(" client={client}"));
        format!(
            "{} {} {} {} {} ms {} bytes{} session={} id={}",
            self.time,
            self.method,
            or_none(self.path),
            self.status,
            self.ms,
            or_none(bytes.as_deref()),
            client.unwrap_or_default(),
            or_none(self.session),
            or_none(self.id),
        )
    }
}

/// Writes the line of a request once its answer is ready (RQL-1).
pub(super) async fn write(State(log): State<RequestLog>, request: Request, next: Next) -> Response {
    let (time, begun) = (Time::now(), Instant::now());
    let method = METHODS.into_iter().find(|method| request.method() == *method);
    let path = request.extensions().get::<MatchedPath>().cloned();
    let of_mcp = text_of(request.headers(), MCP_SESSION).map(|id| id.chars().take(SUFFIX_CHARS).collect());
    let id = text_of(request.headers(), "x-request-id").filter(|id| is_id(id));
    let id = id.map(str::to_owned);
    let response = next.run(request).await;
    // The answer to what is not admitted names no session.
    let admitted = response.extensions().get::<Admitted>().cloned();
    let client = admitted.as_ref().and_then(|from| from.client.clone());
    let session: Option<String> = admitted.and_then(|from| from.session.or(of_mcp));
    log.add(&Line {
        time,
        method: method.unwrap_or(OTHER),
        path: path.as_ref().map(MatchedPath::as_str),
        status: response.status().as_u16(),
        ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        bytes: response.body().size_hint().exact(),
        client: client.as_ref().map(|client| client.name.as_str()),
        session: session.as_deref(),
        id: id.as_deref(),
    });
    response
}

/// Returns whether a text has the form of an id that the server makes. A client may send another one.
fn is_id(id: &str) -> bool {
    id.len() <= ID_CHARS_MAX
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

//! JSON-RPC over two byte streams, one message a line.
//!
//! rmcp has such a transport, but it ignores a line that is not JSON, and answers one that is no message without its
//! id. A client that waits for an answer then waits for ever. This one answers every such line
//! (docs/decisions/0021-mcp-servers.md). A thread reads the input and a thread writes the output, so that the runtime
//! waits for neither.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - MCT-1: each line of the output is one JSON-RPC message.
//! - MCT-2: each line of the input that is no message is answered by an error, and the server goes on.
//! - MCT-3: no line takes more memory than [`LINE_BYTES_MAX`], and at most [`LINES_AHEAD`] lines wait to be read.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value as Json, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::answers::json::to_json;
use crate::error::{Error, Result};
use crate::threads::Builder;

/// The longest line that is read: 16 MiB.
const LINE_BYTES_MAX: usize = 16 << 20;
/// The number of lines that the reading thread reads ahead.
const LINES_AHEAD: usize = 4;
/// The number of requests that are answered at the same time.
pub(super) const REQUESTS_MAX: usize = 32;

/// The codes of JSON-RPC.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// A line of the input.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// A message to write, and whom to tell that it is written.
type Outgoing = (String, oneshot::Sender<io::Result<()>>);

/// The streams of one client.
pub(super) struct Lines {
    input: mpsc::Receiver<Line>,
    output: mpsc::Sender<Outgoing>,
    /// The answer to a line that was no message, until it is handed over.
    answer: Option<String>,
    /// A permit for each request that may run. No line is read while all are taken.
    permits: Arc<Semaphore>,
}

impl Lines {
    /// Starts to read `input` and to write `output`, each in a thread.
    ///
    /// # Errors
    /// `Io` if the system starts no thread.
    pub(super) fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        permits: Arc<Semaphore>,
    ) -> Result<Self> {
        let (lines, read) = mpsc::channel(LINES_AHEAD);
        let (write, messages) = mpsc::channel(LINES_AHEAD);
        let failed = |error| Error::io("starting a thread of the server", error);
        Builder::new()
            .spawn(move || read_lines(BufReader::new(input), &lines))
            .map_err(failed)?;
        Builder::new()
            .spawn(move || write_lines(output, messages))
            .map_err(failed)?;
        Ok(Self {
            input: read,
            output: write,
            answer: None,
            permits,
        })
    }
}

/// Reads lines until the input ends, or nobody receives them.
fn read_lines(mut input: impl BufRead, lines: &mpsc::Sender<Line>) {
    while let Ok(Some(line)) = read_line(&mut input) {
        if lines.blocking_send(line).is_err() {
            break;
        }
    }
}

/// Reads one line, and drops the rest of a line that is too long (MCT-3). Returns `None` at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let most = LINE_BYTES_MAX as u64 + 1;
    if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Line::Whole(line)));
    }
    if line.len() <= LINE_BYTES_MAX {
        // The input ended within the line.
        return Ok(Some(Line::Whole(line)));
    }
    drop(line);
    loop {
        let rest = input.fill_buf()?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let length = rest.len();
        input.consume(end.map_or(length, |end| end + 1));
        if end.is_some() || length == 0 {
            return Ok(Some(Line::TooLong));
        }
    }
}

/// Writes messages until nobody sends more, or the output fails.
fn write_lines(mut output: impl Write, mut messages: mpsc::Receiver<Outgoing>) {
    while let Some((message, written)) = messages.blocking_recv() {
        let done = output
            .write_all(message.as_bytes())
            .and_then(|()| output.write_all(b"\n"))
            .and_then(|()| output.flush());
        let has_failed = done.is_err();
        // The sender may have stopped waiting.
        drop(written.send(done));
        if has_failed {
            break;
        }
    }
}

/// Hands a message to the writing thread, and waits until it is written.
async fn write(output: mpsc::Sender<Outgoing>, message: String) -> io::Result<()> {
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (written, done) = oneshot::channel();
    output.send((message, written)).await.map_err(|_| closed())?;
    done.await.map_err(|_| closed())?
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move { write(output, to_json(&message).map_err(io::Error::other)?).await }
    }

    // rmcp drops this future whenever it has something else to do, and calls again. So nothing is lost between two waits:
    // an answer that is not handed over yet stays in `answer`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.answer.is_some() {
                let room = self.output.reserve().await.ok()?;
                let (written, _) = oneshot::channel();
                room.send((self.answer.take()?, written));
            }
            // The permit is given back at once: only the request itself takes one.
            drop(self.permits.acquire().await.ok()?);
            self.answer = match self.input.recv().await? {
                Line::TooLong => {
                    let most = LINE_BYTES_MAX >> 20;
                    let why = format!("a line is longer than {most} MiB");
                    Some(refusal(&Json::Null, INVALID_REQUEST, &why))
                }
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => None,
                Line::Whole(line) => match message_of(&line) {
                    Ok(message) => return Some(message),
                    Err(answer) => Some(answer),
                },
            };
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.input.close();
        Ok(())
    }
}

/// Returns the message in a line, or the line that answers it (MCT-2).
fn message_of(line: &[u8]) -> std::result::Result<RxJsonRpcMessage<RoleServer>, String> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let value: Json = serde_json::from_slice(line).map_err(|error| {
        refusal(
            &Json::Null,
            PARSE_ERROR,
            &format!("the line is not JSON: {error}"),
        )
    })?;
    let refused = |why: &str| refusal(&value["id"], INVALID_REQUEST, why);
    let Some(message) = value.as_object() else {
        let why = if value.is_array() {
            "send one message a line, not a batch"
        } else {
            "a message is a JSON object"
        };
        return Err(refusal(&Json::Null, INVALID_REQUEST, why));
    };
    if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Err(refused("a message says \"jsonrpc\": \"2.0\""));
    }
    let id = message.get("id");
    if id.is_some_and(|id| !id.is_string() && !id.is_i64() && !id.is_u64()) {
        return Err(refused("an id is a text or an integer"));
    }
    let is_answer = message.contains_key("result") || message.contains_key("error");
    if !is_answer && !message.get("method").is_some_and(Json::is_string) {
        return Err(refused("a request has a method, which is a text"));
    }
    if message.get("params").is_some_and(|params| !params.is_object()) {
        return Err(refused("params is an object"));
    }
    serde_json::from_slice(line).map_err(|error| refused(&format!("the message is not valid: {error}")))
}

/// Returns the line that answers a line without a valid message. `id` is that of the message if it has one.
fn refusal(id: &Json, code: i32, why: &str) -> String {
    let id = if id.is_string() || id.is_i64() || id.is_u64() {
        id
    } else {
        &Json::Null
    };
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } });
    to_json(&error).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT MCT-3: no line takes more memory than the limit.
    #[test]
    fn a_long_line_is_dropped_and_the_next_is_read() {
        let long = vec![b'x'; LINE_BYTES_MAX + 10];
        let mut input = long.clone();
        input.extend_from_slice(b"\nshort\n");
        input.extend_from_slice(&long[..LINE_BYTES_MAX]);
        let mut input = BufReader::new(&input[..]);
        let mut next = || read_line(&mut input).unwrap();
        assert!(matches!(next(), Some(Line::TooLong)));
        assert!(matches!(next(), Some(Line::Whole(line)) if line == b"short"));
        assert!(matches!(next(), Some(Line::Whole(line)) if line.len() == LINE_BYTES_MAX));
        assert!(next().is_none());
    }

    #[test]
    fn an_answer_to_a_bad_message_has_its_id() {
        let bad = [
            (
                r#"{"jsonrpc":"2.0","id":7,"params":{}}"#,
                json!(7),
                INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
                json!("a"),
                INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                Json::Null,
                INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                Json::Null,
                INVALID_REQUEST,
            ),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                Json::Null,
                INVALID_REQUEST,
            ),
            (r#"{"jsonrpc":"2.0","id":7"#, Json::Null, PARSE_ERROR),
        ];
        for (line, id, code) in bad {
            let answer: Json = serde_json::from_str(&message_of(line.as_bytes()).unwrap_err()).unwrap();
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &json!(code)),
                "{line}"
            );
        }
        assert!(message_of(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).is_ok());
    }
}

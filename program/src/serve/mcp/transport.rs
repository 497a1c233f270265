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
//! - MCT-1: each line of the output is one JSON-RPC message, or the array that answers a batch.
//! - MCT-2: each line of the input that is no message is answered by an error, and the server goes on.
//! - MCT-3: no line takes more memory than [`LINE_BYTES_MAX`], and at most [`LINES_AHEAD`] lines wait to be read.
//! - MCT-4: no line is taken while [`REQUESTS_MAX`] answers are missing or unwritten, or while the output has no room. A
//!   client that does not read stops the server, and does not fill its memory.
//! - MCT-5: after the end of the input, or a signal to stop, each request that was read is answered before the streams end,
//!   if that takes no longer than [`LAST_ANSWERS`]. Answers are dropped once the output takes no line for [`LAST_LINES`].

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value as Json;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::message::{BATCH_MAX, INVALID_REQUEST, Message, json_of, message_of, refusal};
use super::requests::Requests;
use crate::answers::json::to_json;
use crate::serve::Server;
use crate::serve::server::CALLS_MAX;
use std::thread::Builder;
use treering::{Error, Result};

/// The longest line that is read: 16 MiB.
const LINE_BYTES_MAX: usize = 16 << 20;
/// The number of lines that the reading thread reads ahead.
const LINES_AHEAD: usize = 4;
/// The number of requests that are answered at the same time.
const REQUESTS_MAX: usize = CALLS_MAX as usize;
/// How long the last answers may take. A request waits up to 30 seconds for the lock of the store.
const LAST_ANSWERS: Duration = Duration::from_mins(1);
/// How long the output may take for a line once the server ends.
const LAST_LINES: Duration = Duration::from_secs(5);

/// A line of the input.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// A line to write, and whom to tell that it is written.
type Outgoing = (String, oneshot::Sender<io::Result<()>>);

/// The streams of one client.
pub(super) struct Lines {
    input: mpsc::Receiver<Line>,
    output: Output,
    /// The answer to a line that was no message, until it is handed over.
    answer: Option<String>,
    /// The messages of a batch that are not handed over yet.
    batch: VecDeque<Message>,
    requests: Arc<Requests>,
    /// No message is handed over while as many operations run as may.
    server: Server,
    /// Tells that nothing more is read.
    stop: Arc<Notify>,
    /// When the streams end at the latest, since the input ended.
    last: Option<Instant>,
}

/// The way of a line to the client.
#[derive(Clone)]
struct Output {
    lines: mpsc::Sender<Outgoing>,
    pace: Pace,
}

/// How far the server is, which decides whether lines may wait for the client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// A line waits as long as the client likes.
    Open,
    /// The server ends, so each line has [`LAST_LINES`].
    Ending,
    /// The client does not read the last lines, so no line waits any more.
    Lost,
}

/// What tells a line whether it may wait for the client.
#[derive(Clone)]
struct Pace {
    stage: watch::Sender<Stage>,
    /// Changes with each line that is written, and closes with the writing thread.
    written: watch::Receiver<()>,
}

impl Pace {
    /// Says that the server ends.
    fn end(&self) {
        self.stage.send_if_modified(|stage| {
            let was_open = *stage == Stage::Open;
            *stage = Stage::Ending.max(*stage);
            was_open
        });
    }

    /// Does `work`, which waits for the client. Returns `None` if the lines are lost (MCT-5).
    async fn unless_lost<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.lost() => None,
        }
    }

    /// Waits until the server ends, and no line was written for [`LAST_LINES`].
    async fn lost(&self) {
        let mut stage = self.stage.subscribe();
        drop(stage.wait_for(|stage| *stage >= Stage::Ending).await);
        let mut written = self.written.clone();
        let stalls = async {
            written.mark_unchanged();
            while let Ok(Ok(())) = timeout(LAST_LINES, written.changed()).await {}
            self.stage.send_replace(Stage::Lost);
        };
        let other_stalls = async { drop(stage.wait_for(|stage| *stage == Stage::Lost).await) };
        tokio::select! {
            () = stalls => {}
            () = other_stalls => {}
        }
    }
}

/// The end of the writing thread.
pub(super) struct Written {
    ended: oneshot::Receiver<()>,
    pace: Pace,
}

impl Written {
    /// Waits until everything is written or lost. Drop the [`Lines`] before, because the thread ends with the last sender.
    pub(super) async fn wait(self) {
        self.pace.end();
        // Nothing is sent. The thread drops the other end when it ends.
        let _ = self.pace.unless_lost(self.ended).await;
    }
}

impl Lines {
    /// Starts to read `input` and to write `output`, each in a thread. `stop` ends the reading.
    ///
    /// # Errors
    /// `Io` if the system starts no thread.
    pub(super) fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        server: Server,
        stop: Arc<Notify>,
    ) -> Result<(Self, Written)> {
        let (lines, read) = mpsc::channel(LINES_AHEAD);
        let (write, messages) = mpsc::channel(LINES_AHEAD);
        let (writing, ended) = oneshot::channel();
        let (progress, written) = watch::channel(());
        let stage = watch::Sender::new(Stage::Open);
        let pace = Pace { stage, written };
        let failed = |error| Error::io("starting a thread of the server", error);
        Builder::new()
            .spawn(move || read_lines(BufReader::new(input), &lines))
            .map_err(failed)?;
        let write_all = move || {
            write_lines(output, messages, &progress);
            drop::<oneshot::Sender<()>>(writing);
        };
        Builder::new().spawn(write_all).map_err(failed)?;
        let lines = Self {
            input: read,
            output: Output {
                lines: write,
                pace: pace.clone(),
            },
            answer: None,
            batch: VecDeque::new(),
            requests: Arc::default(),
            server,
            stop,
            last: None,
        };
        Ok((lines, Written { ended, pace }))
    }

    /// Returns the next message; `None` at the end of the input.
    ///
    /// The future may be dropped and made again: an answer that is not handed over yet stays in `answer`.
    async fn next(&mut self) -> Option<Message> {
        loop {
            let Output { lines, pace } = &self.output;
            let room = pace.unless_lost(lines.reserve()).await?.ok()?;
            if let Some(answer) = self.answer.take() {
                room.send((answer, oneshot::channel().0));
                continue;
            }
            drop(room);
            self.server.ready().await;
            if let Some(message) = self.batch.pop_front() {
                return Some(message);
            }
            self.requests.fewer_than(REQUESTS_MAX).await;
            let line = self.input.recv().await?;
            if let Some(message) = self.take(&line) {
                return Some(message);
            }
        }
    }

    /// Takes a line of the input: returns its message, or keeps its batch or the answer to it.
    fn take(&mut self, line: &Line) -> Option<Message> {
        let read = match line {
            Line::TooLong => {
                let most = LINE_BYTES_MAX >> 20;
                let why = format!("a line is longer than {most} MiB");
                Err(refusal(&Json::Null, INVALID_REQUEST, &why))
            }
            Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => return None,
            Line::Whole(line) => json_of(line),
        };
        let message = match read {
            Ok(Json::Array(batch)) if (1..=BATCH_MAX).contains(&batch.len()) => {
                self.answer = self.take_batch(batch);
                return None;
            }
            Ok(value) => message_of(value),
            Err(refused) => Err(refused),
        };
        let message = message.and_then(|message| self.started(message, None));
        message
            .map_err(|refused| self.answer = Some(refused.to_string()))
            .ok()
    }

    /// Keeps the messages of a batch. Returns the answer to the batch if nothing in it is a request.
    fn take_batch(&mut self, batch: Vec<Json>) -> Option<String> {
        let number = self.requests.new_batch();
        for value in batch {
            match message_of(value).and_then(|message| self.started(message, Some(number))) {
                Ok(message) => self.batch.push_back(message),
                Err(refused) => self.requests.refused(number, refused.to_string()),
            }
        }
        self.requests.close_batch(number)
    }

    /// Registers a request, and forgets a request that the client cancels. Refuses an id that waits for an answer.
    fn started(&self, message: Message, batch: Option<u64>) -> std::result::Result<Message, Json> {
        match &message {
            JsonRpcMessage::Request(request) if !self.requests.start(request.id.clone(), batch) => {
                // With the id, this would be taken for the answer to the other request.
                let why = "a request with this id waits for its answer";
                return Err(refusal(&Json::Null, INVALID_REQUEST, why));
            }
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(answers) = self.requests.end(id, None)
                {
                    // The rest of the batch had its answers. They go out without the cancelled one.
                    let output = self.output.clone();
                    tokio::spawn(async move { write(output, answers).await });
                }
            }
            _ => {}
        }
        Ok(message)
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
fn write_lines(mut output: impl Write, mut messages: mpsc::Receiver<Outgoing>, progress: &watch::Sender<()>) {
    while let Some((mut message, written)) = messages.blocking_recv() {
        message.push('\n');
        let done = output.write_all(message.as_bytes()).and_then(|()| output.flush());
        progress.send_replace(());
        let has_failed = done.is_err();
        // The sender may have stopped waiting.
        drop(written.send(done));
        if has_failed {
            break;
        }
    }
}

/// Hands a message to the writing thread, and waits until it is written or lost.
async fn write(output: Output, message: String) -> io::Result<()> {
    let (written, done) = oneshot::channel();
    let wrote = async {
        output.lines.send((message, written)).await.ok()?;
        done.await.ok()
    };
    let wrote = output.pace.unless_lost(wrote).await.flatten();
    wrote.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, requests) = (self.output.clone(), Arc::clone(&self.requests));
        async move {
            let line = to_json(&message).map_err(io::Error::other)?;
            let id = match message {
                JsonRpcMessage::Response(answer) => Some(answer.id),
                JsonRpcMessage::Error(answer) => answer.id,
                _ => None,
            };
            let Some(id) = id else {
                return write(output, line).await;
            };
            if requests.is_in_batch(&id) {
                return match requests.end(&id, Some(line)) {
                    Some(answers) => write(output, answers).await,
                    None => Ok(()),
                };
            }
            let written = write(output, line).await;
            requests.end(&id, None);
            written
        }
    }

    // rmcp drops this future whenever it has something else to do, and calls again. So nothing is lost between two waits.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let stop = Arc::clone(&self.stop);
        if self.last.is_none() {
            tokio::select! {
                biased;
                () = stop.notified() => {}
                next = self.next() => if next.is_some() {
                    return next;
                },
            }
            self.input.close();
            self.output.pace.end();
            self.last = Some(Instant::now() + LAST_ANSWERS);
        }
        let until = self.last?;
        let last = async {
            let next = self.next().await;
            if next.is_none() {
                self.requests.fewer_than(1).await;
            }
            next
        };
        timeout_at(until, last).await.ok().flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.input.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Caller;
    use crate::serve::operations::Profile;
    use crate::serve::service::Form;
    use treering::Memory;
    use treering::agent::{Agent, Settings};
    use treering::{Origin, Writer};

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

    /// An output that takes its time.
    struct Slow(Arc<parking_lot::Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(50));
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// INVARIANT MCT-2: each line of the input that is no message is answered, also the last one.
    #[test]
    fn the_last_refusals_are_written_before_the_end() {
        let shown = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        let caller = Caller {
            who: treering::agent::Caller::here(Writer::of(Origin::Model).session("s"), None),
            names_session: false,
            follows: None,
            others: Vec::new(),
            client: None,
            forks: crate::serve::MadeForks::default(),
            form: Form::Text,
            tokens_max: 200,
        };
        let server = Server::new(
            agent,
            Box::new(|| Err(Error::internal("the store stays"))),
            caller,
            Profile::Minimal,
        );
        let (input, output) = (io::Cursor::new("x\nx\nx\n"), Slow(Arc::clone(&shown)));
        let (mut lines, written) = Lines::start(input, output, server, Arc::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            assert!(lines.receive().await.is_none());
            drop(lines);
            written.wait().await;
        });
        let shown = String::from_utf8(shown.lock().clone()).unwrap();
        assert_eq!(shown.lines().count(), 3, "{shown}");
    }
}

//! Live events of the page: a stream that reports each move of the head and of a fork, by this or another process.
//!
//! One task reads the log for all streams, and only while there is one.
//!
//! # Layer
//! Layer 9, part of serve.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::answer::Refusal;
use crate::serve::Server;

/// The time between two reads of the log.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time after which a stream without news sends a comment, so that a client whose machine has gone is noticed.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// The largest number of streams at the same time.
const STREAMS_MAX: usize = 32;

/// The newest head, as an event.
#[derive(Clone, PartialEq, Eq)]
enum Beat {
    Unknown,
    Head(String),
    /// The server ends.
    Ended,
}

/// Reports moves of the head to the streams.
pub(super) struct Pulse {
    beat: watch::Sender<Beat>,
    streams: AtomicUsize,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            beat: watch::Sender::new(Beat::Unknown),
            streams: AtomicUsize::new(0),
        }
    }

    /// Ends the streams.
    pub(super) fn end(&self) {
        self.beat.send_replace(Beat::Ended);
    }

    /// Reads the log while there is a stream.
    pub(super) async fn run(self: Arc<Self>, server: Server) {
        loop {
            sleep(INTERVAL).await;
            if self.beat.receiver_count() == 0 {
                continue;
            }
            let caller = server.caller().clone();
            let read = server.run(caller, |service| {
                let view = service.head()?;
                let forks = service.memory().live_forks();
                let newest = forks.iter().map(|fork| fork.time).max();
                Ok((view.commit(), view.len(), (forks.len(), newest)))
            });
            let beat = match read.await {
                Ok((head, objects, forks)) => {
                    let commit = &head.commit;
                    let (seq, root, op) = (commit.seq, commit.root, commit.op.as_str());
                    Beat::Head(event(
                        "head",
                        &json!({ "seq": seq, "root": root, "op": op, "objects": objects, "forks": forks }),
                    ))
                }
                Err(error) => Beat::Head(event("failed", &json!({ "code": error.code().as_str() }))),
            };
            self.beat.send_if_modified(|known| {
                let is_new = *known != beat && *known != Beat::Ended;
                if is_new {
                    *known = beat;
                }
                is_new
            });
        }
    }
}

fn event(name: &str, document: &serde_json::Value) -> String {
    format!("event: {name}\ndata: {document}\n\n")
}

/// Answers with a stream of events.
pub(super) fn follow(pulse: &Arc<Pulse>) -> Response {
    if pulse.streams.fetch_add(1, Ordering::Relaxed) >= STREAMS_MAX {
        pulse.streams.fetch_sub(1, Ordering::Relaxed);
        let why = "too many pages are open";
        return Refusal::of_status(StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    }
    let (sender, receiver) = mpsc::channel(4);
    let pulse = Arc::clone(pulse);
    tokio::spawn(async move {
        tell(&pulse, &sender).await;
        pulse.streams.fetch_sub(1, Ordering::Relaxed);
    });
    let body = Body::new(Events(receiver));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Sends the newest head, and each newer one, until the client has gone or the server ends.
async fn tell(pulse: &Pulse, sender: &mpsc::Sender<Bytes>) {
    let mut beats = pulse.beat.subscribe();
    loop {
        let beat = beats.borrow_and_update().clone();
        let text = match beat {
            Beat::Ended => return,
            Beat::Unknown => ": no news\n\n".to_owned(),
            Beat::Head(text) => text,
        };
        if sender.send(text.into()).await.is_err() {
            return;
        }
        loop {
            let news = tokio::select! {
                // The client has closed the connection, so another page may have the stream at once.
                () = sender.closed() => return,
                news = timeout(SILENCE_MAX, beats.changed()) => news,
            };
            if news.is_ok() {
                break;
            }
            if sender.send(Bytes::from_static(b": no news\n\n")).await.is_err() {
                return;
            }
        }
    }
}

/// The body of a stream.
struct Events(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(context)
            .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

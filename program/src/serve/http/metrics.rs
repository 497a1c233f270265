//! The metrics of a server as a text for Prometheus.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::answer::{Refusal, finished};
use crate::serve::Server;
use parking_lot::Mutex;

/// The type of the format of Prometheus.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answers of HTTP so far, by status.
#[derive(Default)]
pub(super) struct Metrics(Mutex<BTreeMap<u16, u64>>);

/// Finishes an answer, and counts it.
pub(super) async fn count(State(metrics): State<Arc<Metrics>>, response: Response) -> Response {
    let response = finished(response).await;
    *metrics.0.lock().entry(response.status().as_u16()).or_default() += 1;
    response
}

/// A text that grows by one metric after another.
struct Text(String);

impl Text {
    /// Adds a metric with the values of its labels.
    fn add<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        rows: impl IntoIterator<Item = (String, V)>,
    ) {
        // A write to a text never fails.
        let _ = writeln!(
            self.0,
            "# HELP treering_{name} {help}\n# TYPE treering_{name} {kind}"
        );
        for (labels, value) in rows {
            let _ = writeln!(self.0, "treering_{name}{labels} {value}");
        }
    }
}

/// Answers `/metrics`.
pub(super) async fn show(server: Server, metrics: Arc<Metrics>) -> Response {
    let caller = server.caller().clone();
    let read = server.run(caller, |service| {
        let view = service.head()?;
        Ok((view.commit().commit.seq, view.len(), service.memory().sizes()?))
    });
    let (seq, objects, (commits, bytes)) = match read.await {
        Ok(read) => read,
        Err(error) => return Refusal::from(&error).into_response(),
    };
    let mut text = Text(String::with_capacity(2_048));
    let alone = |value: u64| [(String::new(), value)];
    text.add(
        "head_seq",
        "gauge",
        "The number of the newest commit.",
        alone(seq),
    );
    text.add("objects", "gauge", "The objects of the head.", alone(objects));
    text.add(
        "commits",
        "gauge",
        "The commits that history keeps.",
        alone(commits),
    );
    text.add(
        "store_bytes",
        "gauge",
        "The bytes of all files of the store.",
        alone(bytes),
    );
    let counts = server.counts().all();
    let labels = |(operation, code): &(&str, &str)| format!("{{operation=\"{operation}\",code=\"{code}\"}}");
    let rows = counts.iter().map(|(key, calls)| (labels(key), calls.count));
    text.add(
        "requests_total",
        "counter",
        "The calls of operations, over MCP and the JSON API.",
        rows,
    );
    let rows = counts
        .iter()
        .map(|(key, calls)| (labels(key), calls.time.as_secs_f64()));
    text.add(
        "request_seconds_total",
        "counter",
        "The time of these calls.",
        rows,
    );
    let statuses = metrics.0.lock().clone();
    let rows = statuses
        .iter()
        .map(|(status, count)| (format!("{{status=\"{status}\"}}"), count));
    text.add("http_answers_total", "counter", "The answers of HTTP.", rows);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text.0).into_response()
}

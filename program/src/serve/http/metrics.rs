//! The metrics of a server as a text for Prometheus.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::admission::Admitted;
use super::answer::{Refusal, finished};
use crate::serve::Server;
use crate::serve::counts::{BOUNDS_MS, Counted, Key, Times};
use crate::verified;
use parking_lot::Mutex;
use treering::Time;
use treering::agent::Reach;

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

/// Returns the rows of the histogram of an operation.
fn buckets(operation: &str, times: &Times) -> Vec<(String, String)> {
    let bounds = BOUNDS_MS.iter().zip(times.within);
    let mut rows: Vec<_> = bounds
        .map(|(bound, count)| {
            let le = Duration::from_millis(*bound).as_secs_f64();
            (
                format!("_bucket{{operation=\"{operation}\",le=\"{le}\"}}"),
                count.to_string(),
            )
        })
        .collect();
    let all = times.all;
    rows.push((
        format!("_bucket{{operation=\"{operation}\",le=\"+Inf\"}}"),
        all.count.to_string(),
    ));
    rows.push((
        format!("_sum{{operation=\"{operation}\"}}"),
        all.time.as_secs_f64().to_string(),
    ));
    rows.push((
        format!("_count{{operation=\"{operation}\"}}"),
        all.count.to_string(),
    ));
    rows
}

impl Text {
    /// Adds the calls of operations, and their times.
    fn calls(&mut self, counted: &Counted) {
        let labels = |(operation, code, client): &Key| {
            let client = if client.is_empty() {
                String::new()
            } else {
                format!(",client=\"{client}\"")
            };
            format!("{{operation=\"{operation}\",code=\"{code}\"{client}}}")
        };
        let calls = || counted.calls.iter().map(|(key, calls)| (labels(key), calls));
        let help = "The calls of operations, over MCP and the JSON API.";
        let rows = calls().map(|(labels, calls)| (labels, calls.count));
        self.add("requests_total", "counter", help, rows);
        let rows = calls().map(|(labels, calls)| (labels, calls.time.as_secs_f64()));
        self.add(
            "request_seconds_total",
            "counter",
            "The time of these calls.",
            rows,
        );
        let rows = counted.times.iter();
        let rows = rows.flat_map(|(operation, times)| buckets(operation, times));
        self.histogram("request_duration_seconds", "The times of these calls.", rows);
    }

    /// Adds a histogram, whose rows have the rest of their names before their labels.
    fn histogram(&mut self, name: &str, help: &str, rows: impl IntoIterator<Item = (String, String)>) {
        self.add(name, "histogram", help, rows);
    }

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
pub(super) async fn show(server: Server, metrics: Arc<Metrics>, from: Admitted) -> Response {
    if from.client.is_some_and(|client| !client.scopes.is_empty()) {
        // The numbers are those of the whole store.
        return Refusal::forbidden(
            "other_scope",
            "a client of some scopes does not see the metrics of the store",
            "read them with a token without scopes",
        )
        .into_response();
    }
    let caller = server.caller().clone();
    let read = server.run(caller, |service| {
        let view = service.head()?;
        let waiting = service.agent().quarantined(&Reach::All)?.len() as u64;
        Ok((
            view.commit().commit.seq,
            view.len(),
            waiting,
            service.memory().sizes()?,
            service.memory().lock_waits(),
            service.memory().path().and_then(verified::last),
        ))
    });
    let (seq, objects, waiting, (commits, bytes), (locks, waited), verified) = match read.await {
        Ok(read) => read,
        Err(error) => return Refusal::from(&error).into_response(),
    };
    let mut text = Text(String::with_capacity(2_048));
    for (name, help, value) in [
        ("head_seq", "The number of the newest commit.", seq),
        ("objects", "The objects of the head.", objects),
        ("commits", "The commits that history keeps.", commits),
        ("store_bytes", "The bytes of all files of the store.", bytes),
        (
            "quarantine_waiting",
            "The quarantined texts and changes that wait for a person.",
            waiting,
        ),
    ] {
        text.add(name, "gauge", help, [(String::new(), value)]);
    }
    let age = verified.map(|at| (Time::now().as_micros() - at.as_micros()).max(0) / 1_000_000);
    let help = "The time since this user verified the store and it was whole; missing if that never was.";
    let age = age.map(|age| (String::new(), age));
    text.add("verify_age_seconds", "gauge", help, age);
    let help =
        "How often this server took the lock of the writer, and the time that it waited for other processes.";
    let rows = [
        ("_count".to_owned(), locks.to_string()),
        ("_sum".to_owned(), waited.as_secs_f64().to_string()),
    ];
    text.add("writer_lock_wait_seconds", "summary", help, rows);
    text.calls(&server.counts().all());
    let statuses = metrics.0.lock().clone();
    let rows = statuses
        .iter()
        .map(|(status, count)| (format!("{{status=\"{status}\"}}"), count));
    text.add("http_answers_total", "counter", "The answers of HTTP.", rows);
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text.0).into_response()
}

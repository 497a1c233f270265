//! A model behind an address: a server that answers as `OpenAI` or Ollama do.
//!
//! Only `http` is spoken. A server on another machine should be behind `https`: a local proxy or a command does that.
//!
//! # Layer
//! Layer 7, inside `agent/meaning`.
//!
//! # Invariants
//! - ADR-1: an address of another machine is asked only if a second setting repeats it.
//! - ADR-2: a request goes to the address itself: no redirect is followed, and no proxy of the environment is used.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::agent::{Embedder, MeaningProtocol, MeaningSettings};
use serde_json::{Value, json};
use ureq::Agent;

use super::Named;

/// The longest time of a request.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest reply, in bytes.
const REPLY_BYTES_MAX: u64 = 4 << 20;
/// The largest number of dimensions of a vector.
const DIMENSIONS_MAX: usize = 8_192;

/// A model behind an address.
struct Server {
    agent: Agent,
    url: String,
    model: String,
    protocol: MeaningProtocol,
    /// Whether a request failed. Then no other one is sent, because each might take as long.
    failed: AtomicBool,
}

/// Returns the model behind an address, or why it is not used.
pub(super) fn embedder(address: &str, settings: &MeaningSettings) -> Result<Named, String> {
    let host = host_of(address)?;
    let is_allowed = is_loopback(host) || settings.texts_leave_to.as_deref() == Some(address);
    if !is_allowed {
        return Err(format!(
            "{address} is on another machine, so texts would leave this one; to allow it, repeat the address as \
             meaning.texts_leave_to"
        ));
    }
    let Some(model) = settings.address_model.clone() else {
        return Err("meaning.address needs meaning.address_model, the name of the server's model".to_owned());
    };
    let (path, protocol) = match settings.protocol {
        MeaningProtocol::Openai => ("/v1/embeddings", "openai"),
        MeaningProtocol::Ollama => ("/api/embed", "ollama"),
    };
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .proxy(None)
        .build();
    let name = format!("{protocol}:{model}@{address}");
    let server = Server {
        agent: config.into(),
        url: format!("{}{path}", address.trim_end_matches('/')),
        model,
        protocol: settings.protocol,
        failed: AtomicBool::new(false),
    };
    Ok((name, Arc::new(server)))
}

/// Returns the host of an address of the form `http://HOST[:PORT][/PATH]`.
fn host_of(address: &str) -> Result<&str, String> {
    if address.starts_with("https://") {
        return Err(format!(
            "{address}: https is not spoken; use a local proxy, or meaning.command with a program that speaks it"
        ));
    }
    let rest = address.strip_prefix("http://").unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        Some((host, port)) => (host, port),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok());
    if host.is_empty() || !host.bytes().all(is_plain) || !is_port || address.chars().any(char::is_whitespace)
    {
        return Err(format!(
            "{address} is not an address of the form http://HOST:PORT"
        ));
    }
    Ok(host)
}

/// Whether a host is this machine. Only `localhost` is a name that systems reserve for it.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Server {
    fn ask(&self, text: &str) -> Option<Vec<f32>> {
        let body = json!({ "model": self.model, "input": [text] });
        let reply = self
            .agent
            .post(&self.url)
            .content_type("application/json")
            .send(body.to_string());
        let mut reply = reply.ok().filter(|reply| reply.status().is_success())?;
        let text = reply
            .body_mut()
            .with_config()
            .limit(REPLY_BYTES_MAX)
            .read_to_string()
            .ok()?;
        let reply: Value = serde_json::from_str(&text).ok()?;
        vector(match self.protocol {
            MeaningProtocol::Openai => &reply["data"][0]["embedding"],
            MeaningProtocol::Ollama => &reply["embeddings"][0],
        })
    }
}

/// Returns the numbers of a list, if they can be a vector.
pub(super) fn vector(list: &Value) -> Option<Vec<f32>> {
    let list = list.as_array()?;
    if !(1..=DIMENSIONS_MAX).contains(&list.len()) {
        return None;
    }
    let numbers = list
        .iter()
        .map(|number| number.as_f64().map(|number| number as f32));
    let numbers: Vec<f32> = numbers.collect::<Option<_>>()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

impl Embedder for Server {
    fn embed(&self, text: &str) -> Vec<f32> {
        if self.failed.load(Ordering::Relaxed) {
            return Vec::new();
        }
        self.ask(text).unwrap_or_else(|| {
            self.failed.store(true, Ordering::Relaxed);
            Vec::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Serves one request with `reply`, and returns what it got.
    fn served(protocol: MeaningProtocol, reply: &'static str) -> (Vec<f32>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let mut reader = BufReader::new(listener.accept().unwrap().0);
            let (mut head, mut size) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                let start = head.len();
                reader.read_line(&mut head).unwrap();
                if let Some(length) = head[start..].to_lowercase().strip_prefix("content-length: ") {
                    size = length.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; size];
            reader.read_exact(&mut body).unwrap();
            write!(reader.get_mut(), "{reply}").unwrap();
            head + &String::from_utf8(body).unwrap()
        });
        let settings = MeaningSettings {
            address_model: Some("m".to_owned()),
            protocol,
            ..MeaningSettings::default()
        };
        let (_, embedder) = embedder(&address, &settings).unwrap();
        let vector = embedder.embed("tea");
        (vector, server.join().unwrap())
    }

    #[test]
    fn servers_of_both_kinds_are_asked() {
        let reply =
            "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n{\"data\":[{\"embedding\":[1.0,-0.5,0.0]}]}";
        let (vector, request) = served(MeaningProtocol::Openai, reply);
        assert!(
            request.starts_with("POST /v1/embeddings HTTP/1.1") && request.contains("\"tea\""),
            "{request}"
        );
        assert_eq!(vector, [1.0, -0.5, 0.0]);
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n{\"embeddings\":[[0.5,1]]}";
        let (vector, request) = served(MeaningProtocol::Ollama, reply);
        assert!(request.starts_with("POST /api/embed "), "{request}");
        assert_eq!(vector, [0.5, 1.0]);
    }

    /// INVARIANT ADR-2: no redirect is followed.
    #[test]
    fn a_reply_of_another_kind_is_no_vector() {
        for reply in [
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://10.1.2.3/\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "nonsense\r\n\r\n",
        ] {
            assert!(served(MeaningProtocol::Openai, reply).0.is_empty(), "{reply}");
        }
    }
}

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
//! - ADR-3: a text that the server refuses has no vector, and does not end the search by meaning. A server that fails, hangs
//!   or refuses every text is not asked again by this process.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{Embedder, MeaningProtocol, MeaningSettings};
use serde_json::{Value, json};
use ureq::Agent;

use super::Named;
use super::outside::{Fault, cut, digest_of, readable, vector};

/// The longest time of a request. A person waits for it at each recall if the server hangs. A server that needs longer to
/// read its model should keep it in memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time until the server takes the connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// The largest reply, in bytes.
const REPLY_BYTES_MAX: u64 = 4 << 20;
/// The statuses that refuse one text: it is malformed for the model, too long, or not processable.
const REFUSES_TEXT: [u16; 3] = [400, 413, 422];

/// A model behind an address.
struct Server {
    agent: Agent,
    url: String,
    model: String,
    protocol: MeaningProtocol,
    fault: Fault,
}

/// Returns the model behind an address, or why it is not used.
pub(super) fn embedder(address: &str, settings: &MeaningSettings) -> Result<Named, String> {
    with_patience(address, settings, PATIENCE)
}

fn with_patience(address: &str, settings: &MeaningSettings, patience: Duration) -> Result<Named, String> {
    let (host, authority) = host_of(address)?;
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
        .timeout_global(Some(patience))
        .timeout_connect(Some(CONNECT_PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .build();
    let digest = digest_of([address, &model]);
    let name = format!("{protocol}:{}@{}@{digest}", readable(&model), readable(authority));
    let server = Server {
        agent: config.into(),
        url: format!("{}{path}", address.trim_end_matches('/')),
        model,
        protocol: settings.protocol,
        fault: Fault::default(),
    };
    Ok((name, Arc::new(server)))
}

/// Returns the host of an address of the form `http://HOST[:PORT][/PATH]`, and the host with its port.
fn host_of(address: &str) -> Result<(&str, &str), String> {
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
    Ok((host, authority))
}

/// Whether a host is this machine. Only `localhost` is a name that systems reserve for it.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Server {
    /// Returns the vector of a text, or `None` if the server refuses this text.
    ///
    /// # Errors
    /// Why the server is not asked again (ADR-3).
    fn ask(&self, text: &str) -> Result<Option<Vec<f32>>, String> {
        let body = json!({ "model": self.model, "input": [cut(text)] });
        let reply = self
            .agent
            .post(&self.url)
            .content_type("application/json")
            .send(body.to_string());
        let mut reply = reply.map_err(|error| error.to_string())?;
        let status = reply.status();
        if REFUSES_TEXT.contains(&status.as_u16()) {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(format!("it answers {status}"));
        }
        let text = reply
            .body_mut()
            .with_config()
            .limit(REPLY_BYTES_MAX)
            .read_to_string()
            .map_err(|error| error.to_string())?;
        let reply: Value = serde_json::from_str(&text).unwrap_or_default();
        let numbers = match self.protocol {
            MeaningProtocol::Openai => &reply["data"][0]["embedding"],
            MeaningProtocol::Ollama => &reply["embeddings"][0],
        };
        if numbers.is_array() {
            return Ok(vector(numbers));
        }
        Err("its reply has no vector".to_owned())
    }
}

impl Embedder for Server {
    fn embed(&self, text: &str) -> Vec<f32> {
        if self.fault.get().is_some() {
            return Vec::new();
        }
        let found = self.ask(text).unwrap_or_else(|why| {
            let text = format!("the server of meaning.address gives no vectors: {why}");
            self.fault.set(text);
            None
        });
        found.unwrap_or_default()
    }

    fn fault(&self) -> Option<String> {
        self.fault.get()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::{self, JoinHandle};

    use super::*;

    /// Starts a server that gives each reply to one connection. The thread returns the requests.
    fn server(replies: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = move |reply: String| {
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
        };
        let thread = thread::spawn(move || replies.into_iter().map(requests).collect());
        (address, thread)
    }

    fn reply(status: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    }

    fn settings(protocol: MeaningProtocol) -> MeaningSettings {
        MeaningSettings {
            address_model: Some("m".to_owned()),
            protocol,
            ..MeaningSettings::default()
        }
    }

    fn embedder_of(address: &str) -> Named {
        embedder(address, &settings(MeaningProtocol::Openai)).unwrap()
    }

    const VECTOR: &str = "{\"data\":[{\"embedding\":[1.0,-0.5,0.0]}]}";

    #[test]
    fn servers_of_both_kinds_are_asked() {
        let (address, requests) = server(vec![reply("200 OK", VECTOR)]);
        assert_eq!(embedder_of(&address).1.embed("tea"), [1.0, -0.5, 0.0]);
        let request = &requests.join().unwrap()[0];
        assert!(
            request.starts_with("POST /v1/embeddings HTTP/1.1") && request.contains("\"tea\""),
            "{request}"
        );
        let (address, requests) = server(vec![reply("200 OK", "{\"embeddings\":[[0.5,1]]}")]);
        let (_, embedder) = embedder(&address, &settings(MeaningProtocol::Ollama)).unwrap();
        assert_eq!(embedder.embed("tea"), [0.5, 1.0]);
        let request = &requests.join().unwrap()[0];
        assert!(request.starts_with("POST /api/embed "), "{request}");
    }

    #[test]
    fn a_server_gets_the_beginning_of_a_long_text() {
        let (address, requests) = server(vec![reply("200 OK", VECTOR)]);
        assert_eq!(embedder_of(&address).1.embed(&"x".repeat(100_000)).len(), 3);
        assert!(requests.join().unwrap()[0].len() < 9_000);
    }

    /// INVARIANT ADR-2, ADR-3: no redirect is followed, and a server that fails is not asked again.
    #[test]
    fn a_server_that_fails_is_not_asked_again() {
        for reply in [
            reply("307 Temporary Redirect\r\nLocation: http://10.1.2.3/", ""),
            reply("500 Internal Server Error", ""),
            reply("401 Unauthorized", ""),
            reply("404 Not Found", ""),
            reply("200 OK", "{}"),
            "nonsense\r\n\r\n".to_owned(),
        ] {
            let (address, requests) = server(vec![reply.clone()]);
            let (_, embedder) = embedder_of(&address);
            assert!(embedder.embed("tea").is_empty(), "{reply}");
            assert_eq!(requests.join().unwrap().len(), 1);
            assert!(embedder.fault().is_some(), "{reply}");
            assert!(embedder.embed("milk").is_empty(), "{reply}");
        }
    }

    /// INVARIANT ADR-3: the next text has a vector.
    #[test]
    fn a_refused_text_does_not_end_the_search() {
        for refusal in [
            reply("400 Bad Request", "{\"error\":\"too long\"}"),
            reply("413 Payload Too Large", ""),
            reply("422 Unprocessable Entity", ""),
            reply("200 OK", "{\"data\":[{\"embedding\":[null]}]}"),
        ] {
            let (address, requests) = server(vec![refusal.clone(), reply("200 OK", VECTOR)]);
            let (_, embedder) = embedder_of(&address);
            assert!(embedder.embed("tea").is_empty(), "{refusal}");
            assert_eq!(embedder.fault(), None, "{refusal}");
            assert_eq!(embedder.embed("milk").len(), 3, "{refusal}");
            drop(requests.join());
        }
    }

    /// INVARIANT ADR-3: a server that takes the connection and says nothing is given up.
    #[test]
    fn a_server_that_hangs_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let brief = Duration::from_millis(20);
        let (_, embedder) = with_patience(&address, &settings(MeaningProtocol::Openai), brief).unwrap();
        assert!(embedder.embed("tea").is_empty());
        assert!(embedder.fault().is_some());
    }
}

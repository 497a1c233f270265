//! `treering serve --http`: the built program answers many clients, and refuses those that it does not know.

mod admission;
mod ends;
mod messages;
mod openapi;
mod request_log;
mod same;
mod scopes;
mod start;
mod team;
mod ui;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::program::{Folder, text};

/// A running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
    /// What the server printed.
    pub(crate) listens: Value,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The lines of the head, with names in small letters.
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

impl Server {
    /// Starts a server at a free port.
    pub(crate) fn start(folder: &Folder, options: &[&str]) -> Self {
        let arguments = [
            &["serve", "--http", "127.0.0.1:0", "--json", "--structured"],
            options,
        ]
        .concat();
        let mut command = folder.command(&arguments);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let listens: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        let port = text(&listens["url"])
            .strip_prefix("http://127.0.0.1:")
            .unwrap()
            .parse()
            .unwrap();
        // With `--tokens`, each client has its own.
        let token = listens["token"].as_str().unwrap_or_default().to_owned();
        Self {
            child,
            port,
            token,
            listens,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends a request as it is, and returns the answer.
    pub(crate) fn raw(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Reply::read(&mut stream).unwrap()
    }

    /// Sends a request as it is, and returns the answer, of which that to HEAD has no body.
    pub(crate) fn raw_of(&self, request: &str, method: &str) -> Reply {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Reply::read_of(&mut stream, method).unwrap()
    }

    /// Returns the head of a request that the server admits.
    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        let (port, token) = (self.port, &self.token);
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n{more}"
        )
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.raw(&(self.head("GET", path, "") + "\r\n"))
    }

    /// Posts a document with more lines of the head.
    pub(crate) fn post_with(&self, path: &str, more: &str, document: &Value) -> Reply {
        self.raw(&self.posted(path, more, document))
    }

    /// Returns the request of [`Self::post_with`].
    pub(crate) fn posted(&self, path: &str, more: &str, document: &Value) -> String {
        let body = document.to_string();
        let length = body.len();
        let more = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n");
        self.head("POST", path, &more) + &body
    }

    /// Calls an operation that succeeds, and returns its answer.
    pub(crate) fn call(&self, operation: &str, arguments: &Value) -> Value {
        let reply = self.post_with(&format!("/v1/{operation}"), "", arguments);
        assert_eq!(reply.status, 200, "{operation} {arguments}: {reply:?}");
        reply.json()
    }

    /// Calls an operation that fails, and returns the status and the code.
    pub(crate) fn refused(&self, operation: &str, arguments: &Value) -> (u16, String) {
        self.post_with(&format!("/v1/{operation}"), "", arguments)
            .refusal()
    }

    /// Sends a message of MCP in the newest revision, which needs no handshake, and returns the result.
    pub(crate) fn mcp(&self, method: &str, params: Value) -> Value {
        let reply = self.raw(&self.mcp_request(method, params));
        let answer = reply.json();
        assert!(answer["result"].is_object(), "{reply:?}");
        answer["result"].clone()
    }

    /// Returns the request of [`Self::mcp`].
    pub(crate) fn mcp_request(&self, method: &str, mut params: Value) -> String {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "Tea Client", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"]
            .as_str()
            .or(params["uri"].as_str())
            .map(str::to_owned);
        let name = name
            .map(|name| format!("Mcp-Name: {name}\r\n"))
            .unwrap_or_default();
        let more = format!(
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"
        );
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.posted("/mcp", &more, &message)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &id])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Waits for the end, and returns the exit code and the standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut err = String::new();
        self.child
            .stderr
            .as_mut()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        (self.child.wait().unwrap().code(), err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Reply {
    /// Reads an answer until the server closes the connection. Returns `None` if there is no whole answer.
    pub(crate) fn read(stream: &mut TcpStream) -> Option<Self> {
        Self::read_of(stream, "GET")
    }

    fn read_of(stream: &mut TcpStream, method: &str) -> Option<Self> {
        let mut bytes = Vec::new();
        // A server may close a connection whose body it did not read.
        drop(stream.read_to_end(&mut bytes));
        let all = String::from_utf8(bytes).unwrap();
        let (head, body) = all.split_once("\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let head: Vec<String> = lines.map(lower_name).collect();
        let value = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
        let body = if method == "HEAD" {
            String::new()
        } else if value("transfer-encoding: ") == Some("chunked") {
            dechunked(body)?
        } else {
            let length: usize = value("content-length: ").map_or(0, |length| length.parse().unwrap());
            body.get(..length)?.to_owned()
        };
        Some(Self { status, head, body })
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let name = format!("{name}: ");
        self.head.iter().find_map(|line| line.strip_prefix(&name))
    }

    /// Returns the document of the body, which may be the only event of a stream.
    pub(crate) fn json(&self) -> Value {
        let mut events = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let event = events.rfind(|event| event.starts_with('{'));
        serde_json::from_str(event.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Returns the status and the code of an error, whose document is whole (HTP-2).
    pub(crate) fn refusal(&self) -> (u16, String) {
        let error = &self.json()["error"];
        assert!(
            !text(&error["message"]).is_empty() && error["hint"].is_string(),
            "{self:?}"
        );
        assert_eq!(self.value("content-type"), Some("application/json"), "{self:?}");
        (self.status, text(&error["code"]))
    }
}

fn lower_name(line: &str) -> String {
    let (name, value) = line.split_once(": ").unwrap();
    format!("{}: {value}", name.to_lowercase())
}

fn dechunked(mut body: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return Some(whole);
        }
        whole.push_str(rest.get(..length)?);
        body = rest.get(length + 2..)?;
    }
}

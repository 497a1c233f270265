//! `treering serve --mcp`: the built program answers a client on standard input and output, one JSON-RPC message a line.

mod app;
mod attacks;
mod causes;
mod definitions;
mod for_models;
mod forks;
mod ids;
mod install;
mod lines;
mod processes;
mod protocol;
mod tools;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::program::{Folder, text};

/// A client with its own server process.
pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Client {
    /// Starts a server in the folder, and greets it in the newest revision that has a handshake.
    pub(crate) fn start(folder: &Folder, options: &[&str]) -> Self {
        let mut client = Self::spawn(folder, options);
        client.greet("2025-11-25");
        client
    }

    /// Starts a server in the folder, which gives structured content, too.
    pub(crate) fn spawn(folder: &Folder, options: &[&str]) -> Self {
        Self::spawn_for_model(folder, &[&["--structured"], options].concat())
    }

    /// Starts a server in the folder, whose answers are texts, and greets it.
    pub(crate) fn start_for_model(folder: &Folder, options: &[&str]) -> Self {
        let mut client = Self::spawn_for_model(folder, options);
        client.greet("2025-11-25");
        client
    }

    /// Starts a server in the folder, whose answers are texts.
    pub(crate) fn spawn_for_model(folder: &Folder, options: &[&str]) -> Self {
        Self::of(folder.command(&[&["serve", "--mcp"], options].concat()))
    }

    /// Starts a server by its command.
    pub(crate) fn of(mut command: Command) -> Self {
        // The client's process may have any class: it does not reach the model.
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        Self {
            input: server.stdin.take(),
            output: BufReader::new(server.stdout.take().unwrap()),
            server,
            next_id: 0,
        }
    }

    /// Makes the handshake of an older revision, and returns its result.
    pub(crate) fn greet(&mut self, revision: &str) -> Value {
        let client = json!({ "name": "Tea Client", "version": "1" });
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        let greeted = self.ask("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        greeted["result"].clone()
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// Returns the next message. Every line of the output must be one (MCT-1).
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and returns the answer to it.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        request["params"] = params;
        self.send(&request.to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns its result.
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        let answer = self.ask("tools/call", params);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that succeeds, and returns its structured content. Checks the fields that every answer has.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        let content = result["structuredContent"].clone();
        assert_eq!(text(&content["root"]).len(), 64, "{content}");
        assert!(
            content["truncated"].is_boolean() && content["tokens"].is_u64(),
            "{content}"
        );
        assert!(!text(&result["content"][0]["text"]).is_empty());
        content
    }

    /// Calls a tool that is refused, and returns the parts of the error.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let error = result["_meta"]["treering/error"].clone();
        let shown = text(&result["content"][0]["text"]);
        assert!(
            shown.starts_with(&format!("{}: ", text(&error["code"]))),
            "{shown}"
        );
        error
    }

    /// Calls a tool that succeeds, and returns the text of its answer.
    pub(crate) fn told(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        text(&result["content"][0]["text"])
    }

    /// Stores a text and returns its id.
    pub(crate) fn remember(&mut self, text_: &str) -> String {
        text(&self.call("memory_remember", json!({ "text": text_ }))["id"])
    }

    /// Returns the text of the answer to a recall, and the ids of the hits.
    pub(crate) fn recall(&mut self, query: &str) -> (String, Vec<String>) {
        let result = self.result("memory_recall", json!({ "query": query }));
        assert_ne!(result["isError"], true, "{result}");
        let hits = result["structuredContent"]["hits"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ids = hits.iter().map(|hit| text(&hit["id"])).collect();
        (text(&result["content"][0]["text"]), ids)
    }

    /// Ends the input, and returns the exit code and the rest of the output.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<String>) {
        drop(self.input.take());
        let rest = self.output.by_ref().lines().map(Result::unwrap).collect();
        (self.server.wait().unwrap().code(), rest)
    }

    pub(crate) fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The server may have ended.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

//! Helpers that run the built program in a separate folder, and check its output.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder with a separate home folder. No folder above it contains a store.
pub(crate) struct Folder {
    folder: TempDir,
}

/// The result of running the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Creates a folder with a store in `.treering`.
    pub(crate) fn with_store() -> Self {
        let folder = Self::new();
        folder.json(&["init"]);
        folder
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes a named pipe in the folder. A read of the pipe never ends, because nobody writes into it.
    pub(crate) fn make_pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status().unwrap();
        assert!(made.success());
    }

    /// Returns a command that runs the program in the folder.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_treering"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear();
        command
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/bin:/bin")
            // The tests stand for a person, but run without a terminal.
            .env("TREERING_TRUST", "direct_user")
            // Most tests are about something else, and a model takes time. `cli_meaning` tests it.
            .env("TREERING_MODEL", "none")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program and returns its result, without checking the result.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// Runs the program with this standard input.
    pub(crate) fn feed(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_owned();
        // The write fails if the program ends before it reads all of its input.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::of(&output)
    }

    /// Runs the program at a terminal, whose user types `answer`. Returns its result; its messages are what the terminal
    /// shows.
    pub(crate) fn at_terminal(&self, arguments: &[&str], answer: &str) -> Ran {
        let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
        let terminal = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&terminal).unwrap();
        rustix::pty::unlockpt(&terminal).unwrap();
        let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
        let inner = fs::File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap());
        let inner = inner.unwrap();
        let mut terminal = fs::File::from(terminal);
        terminal.write_all(answer.as_bytes()).unwrap();
        let mut command = self.command(arguments);
        command
            .stdin(inner.try_clone().unwrap())
            .stderr(inner.try_clone().unwrap())
            .stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // The terminal ends once no process has it open.
        drop((command, inner));
        let output = child.wait_with_output().unwrap();
        let mut shown = Vec::new();
        // At the end of a terminal, a read fails.
        drop(terminal.read_to_end(&mut shown));
        Ran {
            err: String::from_utf8_lossy(&shown).into_owned(),
            ..Ran::of(&output)
        }
    }

    /// Runs the program with `--json`. Checks that it succeeds, and returns its only document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut documents = self.stream(arguments);
        assert_eq!(documents.len(), 1, "{arguments:?} prints {documents:?}");
        documents.remove(0)
    }

    /// Runs the program with `--json`. Checks that it succeeds, and returns its documents, one per line.
    pub(crate) fn stream(&self, arguments: &[&str]) -> Vec<Value> {
        let ran = self.run(&with_json(arguments));
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.documents()
    }

    /// Runs the program with `--json`. Checks that it fails with this exit code, and returns the error.
    pub(crate) fn refused(&self, code: i32, arguments: &[&str]) -> Value {
        self.run(&with_json(arguments)).refusal(code)
    }

    /// Stores an object with this id and content, and returns the answer.
    pub(crate) fn put(&self, id: &str, content: &str) -> Value {
        self.json(&["put", id, "--kind", "note", "--content", content])
    }

    /// Returns the root of the head.
    pub(crate) fn root(&self) -> String {
        text(&self.json(&["head"])["root"])
    }

    /// Returns the seq of the head.
    pub(crate) fn seq(&self) -> u64 {
        self.json(&["head"])["seq"].as_u64().unwrap()
    }

    /// Returns the folder of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path(".treering")
    }
}

fn with_json<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = arguments.to_vec();
    // Insert the option before `--`, because `--` ends the options.
    let at = arguments
        .iter()
        .position(|argument| *argument == "--")
        .unwrap_or(arguments.len());
    arguments.insert(at, "--json");
    arguments
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Returns the documents on standard output. Checks that every line is a document (CLI-2).
    pub(crate) fn documents(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        self.out.lines().map(parse).collect()
    }

    /// Returns the error on standard error. Checks that standard error contains nothing else.
    pub(crate) fn refusal(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        self.documents();
        let document: Value =
            serde_json::from_str(&self.err).unwrap_or_else(|_| panic!("no JSON: {}", self.err));
        let error = &document["error"];
        assert!(
            error["code"].is_string() && error["message"].is_string(),
            "{document}"
        );
        assert!(error.as_object().unwrap().contains_key("hint"), "{document}");
        error.clone()
    }
}

/// Returns the text of a JSON string.
pub(crate) fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

/// Returns the value of a text field in each document.
pub(crate) fn column(documents: &[Value], field: &str) -> Vec<String> {
    documents.iter().map(|document| text(&document[field])).collect()
}

/// Checks that a document contains these fields with these types: `d` digest, `s` text, `n` number, `t` time, `l` list,
/// `m` map, `b` boolean. A `?` after the type permits null.
pub(crate) fn check_fields(document: &Value, fields: &[(&str, &str)]) {
    let map = document
        .as_object()
        .unwrap_or_else(|| panic!("no map: {document}"));
    for (name, kind) in fields {
        let value = map
            .get(*name)
            .unwrap_or_else(|| panic!("{name} is missing in {document}"));
        if kind.ends_with('?') && value.is_null() {
            continue;
        }
        let fits = match &kind[..1] {
            "d" => value.as_str().is_some_and(is_digest),
            "s" => value.is_string(),
            "n" => value.is_u64(),
            "t" => value.as_str().is_some_and(is_time),
            "l" => value.is_array(),
            "m" => value.is_object(),
            "b" => value.is_boolean(),
            other => panic!("{other} is no type"),
        };
        assert!(fits, "{name} is not {kind} in {document}");
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks whether a text is an RFC 3339 time in UTC with six decimal places.
fn is_time(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    let fits = |(found, wanted): (char, char)| {
        if wanted == 'd' {
            found.is_ascii_digit()
        } else {
            found == wanted
        }
    };
    text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(fits)
}

/// Returns all files below a folder with their bytes, to check that no file changed.
pub(crate) fn bytes_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

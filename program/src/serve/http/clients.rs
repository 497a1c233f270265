//! The file with the clients of a team server. It holds digests of the tokens, and no token.
//!
//! A running server reads the file again when it changes, so a new client gets in, and a revoked one stays out, from the
//! next request on.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - TKC-1: the file is used only if nobody but its owner can read or write it, and no link leads to it.
//! - TKC-2: a change of the file is seen whole or not at all, also by a running server and after a crash.
//! - TKC-3: a file that cannot be read admits nobody.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::serve::Client;
use treering::inspect::digest::{from_hex, sha256, to_hex};
use treering::{Error, ErrorCode, Origin, Result};

/// The most bytes of the file: some ten thousand clients.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// The bits of a mode that let others read or write.
const OTHERS: u32 = 0o077;
/// The version of the form of the file.
const FORM: u32 = 1;
/// The longest name of a client or actor.
const NAME_BYTES_MAX: usize = 64;

/// A client of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The SHA-256 of the token, in hexadecimal.
    pub(crate) digest: String,
    pub(crate) actor: String,
    /// The scopes that the client reads and writes. Empty: those of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<String>,
    /// The class that the writes of the client have at most.
    #[serde(deserialize_with = "class")]
    pub(crate) trust_cap: Origin,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) read_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fork: Option<String>,
    /// Whether the client takes back what others wrote, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) takes_back_all: bool,
    /// When the token was made.
    pub(crate) time: String,
}

/// Reads a class by its name.
fn class<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Origin, D::Error> {
    let name = String::deserialize(from)?;
    Origin::from_text(&name).map_err(|error| D::Error::custom(error.message()))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    clients: Vec<Row>,
}

/// What tells one version of the file from another one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u64, u64, i64, i64);

/// The clients of a file, as a server reads them.
pub(crate) struct Clients {
    path: PathBuf,
    known: Mutex<Known>,
}

/// What was read of the file.
#[derive(Default)]
struct Known {
    mark: Option<Mark>,
    /// The clients with the digests of their tokens.
    clients: Vec<([u8; 32], Arc<Client>)>,
}

impl Clients {
    /// Reads a file.
    ///
    /// # Errors
    /// `NotFound`, `Denied` (TKC-1), `InvalidInput` if the file has another form; `Io`.
    pub(crate) fn of(path: PathBuf) -> Result<Self> {
        let clients = Self {
            path,
            known: Mutex::default(),
        };
        clients.refresh()?;
        Ok(clients)
    }

    /// Returns the client whose token this is. Compares digests, so the time tells nothing about a token.
    pub(super) fn with_token(&self, token: &[u8]) -> Option<Arc<Client>> {
        let digest = sha256(token);
        if self.refresh().is_err() {
            // TKC-3
            *self.known.lock() = Known::default();
        }
        let known = self.known.lock();
        let found = known.clients.iter().find(|(known, _)| *known == digest);
        found.map(|(_, client)| Arc::clone(client))
    }

    /// Reads the file again if it changed.
    fn refresh(&self) -> Result<()> {
        let file = open(&self.path)?;
        let mark = mark_of(&self.path, &file)?;
        let mut known = self.known.lock();
        if known.mark == Some(mark) {
            return Ok(());
        }
        let rows = rows_of(&self.path, file)?;
        let clients = rows
            .into_iter()
            .map(|row| Ok((row.key()?, Arc::new(row.client()))));
        *known = Known {
            mark: Some(mark),
            clients: clients.collect::<Result<_>>()?,
        };
        Ok(())
    }
}

impl Row {
    /// Returns the row for a token.
    pub(crate) fn with_token(mut self, token: &str) -> Self {
        self.digest = to_hex(&sha256(token.as_bytes()));
        self
    }

    fn key(&self) -> Result<[u8; 32]> {
        let parsed = from_hex(&self.digest).and_then(|bytes| bytes.try_into().ok());
        parsed.ok_or_else(|| {
            Error::invalid(format!("the client '{}' has no digest of a token", self.name))
                .with_hint("revoke the client, and add it again")
        })
    }

    fn client(self) -> Client {
        Client {
            name: self.name,
            actor: self.actor,
            scopes: self.scopes,
            trust_cap: self.trust_cap,
            only_reads: self.read_only,
            fork: self.fork,
            takes_back_all: self.takes_back_all,
        }
    }
}

/// Returns an error if a text cannot be the name of a client or an actor: it is part of names of sessions, of the log and
/// of metrics.
///
/// # Errors
/// `InvalidInput`.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
    let is_name =
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('-');
    if is_name {
        return Ok(());
    }
    let text = format!("{name:?} is not the name of {what}");
    Err(Error::invalid(text).with_hint(format!(
        "give 1 to {NAME_BYTES_MAX} letters, digits, or . _ - @, and no - at the start"
    )))
}

/// Returns the clients of a file, none if there is no file.
///
/// # Errors
/// The errors of [`Clients::of`], but `NotFound`.
pub(crate) fn rows(path: &Path) -> Result<Vec<Row>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        _ => rows_of(path, open(path)?),
    }
}

/// Replaces the clients of a file (TKC-2).
///
/// # Errors
/// `Io`.
pub(crate) fn write(path: &Path, clients: Vec<Row>) -> Result<()> {
    let version = FORM;
    let text = serde_json::to_string_pretty(&Form { version, clients });
    let text = text.map_err(|_| Error::internal("the clients cannot be written"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let failed = |error| failed(path, error);
    // A file of this crate is made for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    let written = file.write_all(format!("{text}\n").as_bytes());
    written.and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(failed)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(format_args!("the file of tokens {}", path.display()), error)
}

/// Opens the file (TKC-1).
fn open(path: &Path) -> Result<File> {
    // A pipe must not keep the program waiting.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("there is no file of tokens {}", path.display()))
            .with_hint("make it with: treering token add FILE NAME"),
        _ => failed(path, error),
    })?;
    let about = file.metadata().map_err(|error| failed(path, error))?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    if about.is_file() && is_own && about.mode() & OTHERS == 0 && about.len() <= FILE_BYTES_MAX {
        return Ok(file);
    }
    let name = path.display();
    let text = format!("the file of tokens {name} is not a file that only you can read");
    Err(Error::denied(ErrorCode::Refused, text).with_hint(format!("run chmod 600 {name}")))
}

fn mark_of(path: &Path, file: &File) -> Result<Mark> {
    let about = file.metadata().map_err(|error| failed(path, error))?;
    Ok(Mark(about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
}

fn rows_of(path: &Path, mut file: File) -> Result<Vec<Row>> {
    let mut text = String::new();
    file.read_to_string(&mut text)
        .map_err(|error| failed(path, error))?;
    let bad = |what: &str| {
        Error::invalid(format!("the file of tokens {} {what}", path.display()))
            .with_hint("it is made and changed with: treering token add FILE NAME")
    };
    let form: Form = serde_json::from_str(&text).map_err(|error| {
        bad(&format!(
            "cannot be read: line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    if form.version != FORM {
        return Err(bad(&format!(
            "has the version {}, which this build does not know",
            form.version
        )));
    }
    for row in &form.clients {
        check_name("a client", &row.name)?;
        check_name("an actor", &row.actor)?;
        row.key()?;
    }
    Ok(form.clients)
}

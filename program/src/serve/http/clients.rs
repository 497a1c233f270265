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
//! - TKC-3: a file that cannot be read admits nobody, and the person who runs the server is told why, once.
//! - TKC-4: no change of the file is lost to another one at the same time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, OFlags, flock};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::private_file;
use crate::serve::Client;
use treering::inspect::digest::{from_hex, sha256, to_hex};
use treering::{Error, ErrorKind, Origin, Result};

/// The most bytes of the file: some ten thousand clients.
const FILE_BYTES_MAX: u64 = 8 << 20;
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

/// What tells one version of the file from another one: the times of its last changes, its place and length; or why it
/// cannot be told.
type Mark = std::result::Result<[i64; 7], io::ErrorKind>;

/// Gets why the file admits nobody.
pub(crate) type Tell = Box<dyn Fn(&Error) + Send + Sync>;

/// The clients of a file, as a server reads them.
pub(crate) struct Clients {
    path: PathBuf,
    known: Mutex<Known>,
    tell: Tell,
}

/// What was read of the file.
#[derive(Default)]
struct Known {
    mark: Option<Mark>,
    /// The error of reading this version of the file.
    error: Option<ErrorKind>,
    /// The clients with the digests of their tokens.
    clients: Vec<([u8; 32], Arc<Client>)>,
}

impl Clients {
    /// Reads a file. `tell` gets the error of each later version that cannot be used, once.
    ///
    /// # Errors
    /// `NotFound`, `Denied` (TKC-1), `InvalidInput` if the file has another form; `Io`.
    pub(crate) fn of(path: PathBuf, tell: Tell) -> Result<Self> {
        let clients = Self {
            path,
            known: Mutex::default(),
            tell,
        };
        clients.refresh(&mut clients.known.lock())?;
        Ok(clients)
    }

    /// Returns the client whose token this is. Compares digests, so the time tells nothing about a token.
    pub(super) fn with_token(&self, token: &[u8]) -> Option<Arc<Client>> {
        let digest = sha256(token);
        // One guard over all, so that no older version takes the place of a newer one.
        let mut known = self.known.lock();
        if let Err(error) = self.refresh(&mut known) {
            (self.tell)(&error);
        }
        let found = known.clients.iter().find(|(known, _)| *known == digest);
        found.map(|(_, client)| Arc::clone(client))
    }

    /// Reads the file again if it changed.
    ///
    /// # Errors
    /// The errors of [`Self::of`], once for each version of the file.
    fn refresh(&self, known: &mut Known) -> Result<()> {
        // The mark is older than what is read, so a change between them is read at the next call.
        let mark = mark_of(&self.path);
        let is_known = known.mark == Some(mark);
        // A failed read may succeed the next time, and any other one may not.
        if is_known && known.error != Some(ErrorKind::Io) {
            return Ok(());
        }
        let keyed = |row: Row| Ok((row.key()?, Arc::new(row.client())));
        let read = rows(&self.path).and_then(|rows| rows.into_iter().map(keyed).collect::<Result<Vec<_>>>());
        let is_told = is_known && known.error.is_some();
        let (clients, error) = match read {
            Ok(clients) => (clients, None),
            // INVARIANT TKC-3: a file that cannot be read admits nobody.
            Err(error) => (Vec::new(), Some(error)),
        };
        *known = Known {
            mark: Some(mark),
            error: error.as_ref().map(Error::kind),
            clients,
        };
        error.filter(|_| !is_told).map_or(Ok(()), Err)
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
            made: self.time,
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

/// Adds a client to a file. Makes a missing file.
///
/// # Errors
/// The errors of [`change`], but `NotFound`.
pub(crate) fn add(path: &Path, change: impl FnOnce(&mut Vec<Row>) -> Result<()>) -> Result<()> {
    locked(
        path,
        |rows| match rows {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            rows => rows,
        },
        change,
    )
}

/// Changes the clients of a file that exists.
///
/// # Errors
/// The errors of [`rows`] and of `change`, after which the file is as before; `Io`.
pub(crate) fn change(path: &Path, change: impl FnOnce(&mut Vec<Row>) -> Result<()>) -> Result<()> {
    // Leaves no lock beside a file that is missing, such as one with a mistyped name.
    rows(path)?;
    locked(path, |rows| rows, change)
}

/// Changes the clients of a file, which `known` gets. Other changes wait, so that none is lost (TKC-4). The lock is a file beside it, which
/// stays.
fn locked(
    path: &Path,
    known: impl FnOnce(Result<Vec<Row>>) -> Result<Vec<Row>>,
    change: impl FnOnce(&mut Vec<Row>) -> Result<()>,
) -> Result<()> {
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(lock);
    let lock = lock.map_err(|error| failed(path, error))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed(path, error.into()))?;
    let mut clients = known(rows(path))?;
    change(&mut clients)?;
    write(path, clients)
}

/// Replaces the clients of a file (TKC-2).
///
/// # Errors
/// `Io`.
fn write(path: &Path, clients: Vec<Row>) -> Result<()> {
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

fn mark_of(path: &Path) -> Mark {
    let about = path.symlink_metadata().map_err(|error| error.kind())?;
    let [device, place, length] = [about.dev(), about.ino(), about.len()].map(u64::cast_signed);
    let changed = [
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec(),
    ];
    let [m, m_nsec, c, c_nsec] = changed;
    Ok([device, place, length, m, m_nsec, c, c_nsec])
}

/// Returns the clients of a file.
///
/// # Errors
/// The errors of [`Clients::of`].
pub(crate) fn rows(path: &Path) -> Result<Vec<Row>> {
    let text = private_file::read(
        path,
        "the file of tokens",
        private_file::READ_OR_WRITE,
        FILE_BYTES_MAX,
    )
    .map_err(|error| match error.kind() {
        ErrorKind::NotFound => error.with_hint("make it with: treering token add FILE NAME"),
        _ => error,
    })?;
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

//! The register of the remotes of this user's stores: a file of JSON lines in the XDG state folder.
//!
//! A remote does not stand in the store itself. So whoever can write to a store cannot name the place to which the user sends
//! it, nor raise the class of what comes from there.
//!
//! # Layer
//! Layer 10, part of cli.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::remote_keys;
#[cfg(feature = "signed")]
use super::signing_keys;
use treering::inspect::agent::projects::UserRegister;
use treering::inspect::digest::to_hex;
use treering::inspect::remote::without_password;
use treering::remote::Remote;
#[cfg(feature = "signed")]
use treering::signed::VerifierKey;
use treering::{Error, ErrorCode, ErrorKind, Memory, Origin, Result};

/// The name of the register.
const REGISTER: &str = "remotes";
/// The remote that a verb means without a name, if there are several.
pub(crate) const ORIGIN: &str = "origin";

/// A remote of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RemoteEntry {
    /// The id of the store, in hexadecimal digits.
    store: String,
    pub(crate) name: String,
    pub(crate) url: String,
    cap: String,
    /// The verifier keys of which one must have signed what is fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signed_by: Vec<String>,
    /// The name of the key that signs each push.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sign_key: Option<String>,
    /// The file with the keys, if the remote is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_file: Option<PathBuf>,
}

impl RemoteEntry {
    /// Returns a remote of no store yet, without keys.
    pub(crate) fn new(name: &str, url: &str, cap: Origin) -> Self {
        Self {
            store: String::new(),
            name: name.to_owned(),
            url: url.to_owned(),
            cap: cap.to_string(),
            signed_by: Vec::new(),
            sign_key: None,
            key_file: None,
        }
    }

    /// Returns the remote with the file of the keys that encrypt it.
    ///
    /// # Errors
    /// `Io` if the path of the current folder is unknown.
    pub(crate) fn encrypted(self, key_file: Option<&Path>) -> Result<Self> {
        let key_file = key_file.map(std::path::absolute).transpose();
        Ok(Self {
            key_file: key_file.map_err(|error| Error::io("cannot find the key file", error))?,
            ..self
        })
    }

    /// Returns the remote with the keys of which one must have signed what is fetched, and the key that signs each push.
    #[cfg(feature = "signed")]
    pub(crate) fn with_keys(mut self, signed_by: &[VerifierKey], sign_key: Option<String>) -> Self {
        self.signed_by = signed_by.iter().map(ToString::to_string).collect();
        self.sign_key = sign_key;
        self
    }

    /// Returns the most trusted class of what comes from the remote.
    pub(crate) fn cap(&self) -> Origin {
        Origin::from_text(&self.cap).unwrap_or(Origin::Import)
    }

    /// Opens the remote, with the keys that sign a push and those that must have signed a fetch.
    ///
    /// # Errors
    /// The errors of [`Remote::open`], and of a key.
    pub(crate) fn open(&self) -> Result<Remote> {
        let remote = Remote::open(&self.name, &self.url, self.cap());
        self.keyed(self.unlocked(remote.map_err(|error| self.unmounted(error))?)?)
    }

    /// Names the error of a registered remote whose folder is missing: its disk is probably not mounted.
    fn unmounted(&self, error: Error) -> Error {
        if self.store.is_empty() || error.code() != ErrorCode::NotFound {
            return error;
        }
        Error::new(ErrorKind::Io, error.message())
            .with_code(ErrorCode::RemoteUnreachable)
            .with_hint(
                "is its disk or share mounted? If the place has moved, remove the remote, and add it anew",
            )
    }

    /// Opens the remote, and makes a missing folder.
    ///
    /// # Errors
    /// The errors of [`Remote::create`], and of a key.
    pub(crate) fn create(&self) -> Result<Remote> {
        self.keyed(self.unlocked(Remote::create(&self.name, &self.url, self.cap())?)?)
    }

    #[cfg(feature = "signed")]
    fn keyed(&self, remote: Remote) -> Result<Remote> {
        let signers = self.sign_key.iter().map(|name| signing_keys::load(name));
        let demanded = self.signed_by.iter().map(|key| key.parse());
        Ok(remote
            .sign_with(signers.collect::<Result<_>>()?)
            .signed_by(demanded.collect::<Result<_>>()?))
    }

    /// Refuses a remote of which the user demands what this program cannot do.
    #[cfg(not(feature = "signed"))]
    fn keyed(&self, remote: Remote) -> Result<Remote> {
        if !self.signed_by.is_empty() || self.sign_key.is_some() {
            let text = "this program was built without the feature `signed`, so it neither signs nor checks signatures";
            return Err(Error::denied(ErrorCode::UnsignedRemote, text));
        }
        Ok(remote)
    }

    /// Gives a remote the keys of this entry.
    ///
    /// # Errors
    /// The errors of [`remote_keys::load`].
    pub(crate) fn unlocked(&self, remote: Remote) -> Result<Remote> {
        let keys = remote_keys::load_if(self.key_file.as_ref())?;
        Ok(match keys {
            Some(keys) => remote.with_keys(&keys),
            None => remote,
        })
    }
}

/// Returns an error if this program has no remotes with the scheme of a URL, before it asks anything.
///
/// # Errors
/// `InvalidInput` (code `unsupported_remote`).
pub(crate) fn check_scheme(url: &str) -> Result<()> {
    match Remote::open(ORIGIN, url, Origin::Import) {
        Err(error) if error.code() == ErrorCode::UnsupportedRemote => Err(error),
        _ => Ok(()),
    }
}

/// Returns an error if a URL has a password, which the register would store in clear, or a scheme that this program lacks.
///
/// # Errors
/// `InvalidInput` (code `password_in_url` or `unsupported_remote`).
pub(crate) fn check_url(url: &str) -> Result<()> {
    check_scheme(url)?;
    // A text without a scheme is refused as no URL later.
    if without_password(url) == url || !url.contains("://") {
        return Ok(());
    }
    let hint = if url.starts_with("postgres") {
        "set PGPASSWORD, or put the password into the file .pgpass"
    } else {
        "set the variables of the service, for S3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    };
    let error = Error::invalid("the URL of a remote is stored, so it must not contain a password");
    Err(error.with_code(ErrorCode::PasswordInUrl).with_hint(hint))
}

/// The remotes of one store.
pub(crate) struct Remotes {
    register: UserRegister<RemoteEntry>,
    store: String,
}

impl Remotes {
    /// Reads the register.
    ///
    /// # Errors
    /// `NotFound` if no variable names a folder; `Denied` if other users may change the register; `Io`.
    pub(crate) fn of(memory: &Memory) -> Result<Self> {
        let id = memory.path().map(Memory::id_of_store).transpose()?;
        Self::of_store(&id.unwrap_or_default())
    }

    /// Reads the register for the store with this id.
    ///
    /// # Errors
    /// The errors of [`Self::of`].
    pub(crate) fn of_store(id: &[u8; 16]) -> Result<Self> {
        let register = UserRegister::open(REGISTER, "remotes").map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                error.with_hint("set HOME or XDG_STATE_HOME: your list of remotes is there")
            }
            _ => error,
        });
        Ok(Self {
            register: register?,
            store: to_hex(id),
        })
    }

    /// Returns the remotes of the store, sorted by name.
    pub(crate) fn entries(&self) -> Vec<RemoteEntry> {
        let all = self.register.entries().iter();
        let mut own: Vec<_> = all.filter(|entry| entry.store == self.store).cloned().collect();
        own.sort_by(|one, other| one.name.cmp(&other.name));
        own
    }

    /// Returns an error that names the first damaged line of the register. It may belong to another store.
    pub(crate) fn damage(&self) -> Option<Error> {
        let line = self.register.bad_line()?;
        let file = self.register.file().display();
        let text = format!("the register of remotes is damaged: line {line} of {file} is no entry");
        let hint =
            "correct the line, or delete it and run: treering remote add NAME URL; the other remotes work";
        Some(
            Error::invalid(text)
                .with_code(ErrorCode::Unreadable)
                .with_hint(hint),
        )
    }

    /// Returns the remote with a name; without one, the only remote, or `origin`.
    ///
    /// # Errors
    /// `NotFound` (code `no_remote`); `InvalidInput` (code `unreadable`) if a damaged line of the register may have it.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<RemoteEntry> {
        let (mut own, damage) = (self.entries(), self.damage());
        if name.is_none() && own.len() == 1 && damage.is_none() {
            return Ok(own.remove(0));
        }
        let name = name.unwrap_or(ORIGIN);
        if let Some(at) = own.iter().position(|entry| entry.name == name) {
            return Ok(own.swap_remove(at));
        }
        if let Some(damage) = damage {
            return Err(damage);
        }
        let names: Vec<&str> = own.iter().map(|entry| entry.name.as_str()).collect();
        let hint = match names.as_slice() {
            [] => "treering remote add NAME URL adds one".to_owned(),
            names => format!("name one of its remotes: {}", names.join(", ")),
        };
        let error = Error::not_found(format!("this store has no remote '{name}'"));
        Err(error.with_code(ErrorCode::NoRemote).with_hint(hint))
    }

    /// Adds a remote.
    ///
    /// # Errors
    /// `InvalidInput` (code `name_taken`) if the store has a remote of this name, or (code `password_in_url`) if the URL has a
    /// password; `Io`.
    pub(crate) fn add(&mut self, new: RemoteEntry) -> Result<RemoteEntry> {
        check_url(&new.url)?;
        let entry = RemoteEntry {
            store: self.store.clone(),
            ..new
        };
        let is_same = |known: &RemoteEntry| known.store == entry.store && known.name == entry.name;
        let is_new = self.register.change(|entries| {
            let is_new = !entries.iter().any(is_same);
            entries.extend(is_new.then(|| entry.clone()));
            is_new
        })?;
        if is_new {
            Ok(entry)
        } else {
            Err(name_taken(&entry.name))
        }
    }

    /// Adds a remote to a store that is not ready yet. An interrupted call may have added it, with another cap or URL.
    ///
    /// # Errors
    /// The errors of [`Self::add`].
    pub(crate) fn replace(&mut self, new: RemoteEntry) -> Result<()> {
        self.register
            .change(|entries| entries.retain(|known| known.store != self.store || known.name != new.name))?;
        self.add(new).map(drop)
    }

    /// Returns an error if the store has a remote of this name.
    ///
    /// # Errors
    /// `InvalidInput` (code `name_taken`).
    pub(crate) fn check_free(&self, name: &str) -> Result<()> {
        if self.entries().iter().any(|entry| entry.name == name) {
            return Err(name_taken(name));
        }
        Ok(())
    }

    /// Removes a remote.
    ///
    /// # Errors
    /// `NotFound` (code `no_remote`); `Io`.
    pub(crate) fn remove(&mut self, name: &str) -> Result<RemoteEntry> {
        let found = self.find(Some(name))?;
        let store = self.store.clone();
        self.register
            .change(|entries| entries.retain(|entry| entry.store != store || entry.name != name))?;
        Ok(found)
    }
}

fn name_taken(name: &str) -> Error {
    Error::invalid(format!("this store has a remote '{name}' already"))
        .with_code(ErrorCode::NameTaken)
        .with_hint("choose another name, or remove that one: treering remote remove NAME")
}

//! The URL of a bucket in PostgreSQL, and the password that belongs to it.
//!
//! # Layer
//! Layer 7, part of `remote/bucket/postgres`.
//!
//! # Invariants
//! - PGU-1: a password goes to another machine only over TLS with a verified certificate. Without `sslmode`, a connection to
//!   another machine uses TLS, and one to this machine does not.

use std::env;
use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::super::decoded;
use super::tls::Tls;
use crate::disk::read_text;
use crate::error::{Error, ErrorCode, Result};

/// The bits of a mode that give others access.
const OTHERS: u32 = 0o077;
const PORT: u16 = 5432;
const HINT: &str = "write a URL such as postgres://user@host/database?schema=agents";

/// What a URL says.
pub(super) struct PostgresUrl {
    pub(super) config: Config,
    pub(super) tls: Option<Tls>,
    pub(super) schema: Option<String>,
}

/// The parameters that are not for `tokio-postgres`.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    ssl_mode: Option<String>,
    ssl_root_cert: Option<String>,
}

impl PostgresUrl {
    /// Parses a URL, and adds the password from `PGPASSWORD` or the file of passwords.
    ///
    /// # Errors
    /// `InvalidInput` if it is not understood, or a password would be sent without TLS (PGU-1); `Denied` if others may read the
    /// file of passwords; `Io`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (rest, own) = Own::split(url)?;
        let parsed: std::result::Result<Config, _> = rest.parse();
        let invalid = |what: String| Error::invalid(what).with_hint(HINT);
        // The error names a parameter, and never a value.
        let mut config = parsed.map_err(|error| invalid(format!("the URL is not understood: {error}")))?;
        if config.get_hosts().is_empty() {
            return Err(invalid("the URL names no host".to_owned()));
        }
        config
            .application_name("treering")
            .keepalives_idle(Duration::from_secs(30));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        if config.get_password().is_none()
            && let Some(password) =
                env::var_os("PGPASSWORD").map_or_else(|| in_file(&config), |it| Ok(Some(it)))?
        {
            config.password(password.as_encoded_bytes());
        }
        let is_here = config.get_hosts().iter().all(is_here);
        let with_tls = match own.ssl_mode.as_deref() {
            None => !is_here,
            Some("disable") if is_here || config.get_password().is_none() => false,
            Some("disable") => return Err(unsafe_password()),
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(_) => {
                return Err(invalid(
                    "the only values of sslmode are require and disable".to_owned(),
                ));
            }
        };
        config.ssl_mode(if with_tls {
            SslMode::Require
        } else {
            SslMode::Disable
        });
        let tls = with_tls.then(|| Tls::new(own.ssl_root_cert.as_deref().map(Path::new)));
        Ok(Self {
            config,
            tls: tls.transpose()?,
            schema: own.schema,
        })
    }
}

impl Own {
    /// Takes the own parameters out of a URL.
    fn split(url: &str) -> Result<(String, Self)> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut own, mut others) = (Self::default(), Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let place = match key {
                "schema" => &mut own.schema,
                "sslmode" => &mut own.ssl_mode,
                "sslrootcert" => &mut own.ssl_root_cert,
                _ => {
                    others.push(pair);
                    continue;
                }
            };
            let value = decoded(value).filter(|value| !value.is_empty());
            *place = Some(value.ok_or_else(|| {
                Error::invalid(format!("the parameter {key} of the URL has no value")).with_hint(HINT)
            })?);
        }
        Ok((format!("{base}?{}", others.join("&")), own))
    }
}

fn unsafe_password() -> Error {
    Error::invalid("a password would be sent to another machine without TLS")
        .with_code(ErrorCode::UnsupportedRemote)
        .with_hint("use sslmode=require; with an authority of your own, add sslrootcert=FILE")
}

/// Returns whether a host is this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

/// Returns the password that a file has: the one that `PGPASSFILE` names, else `.pgpass` in the home folder.
fn in_file(config: &Config) -> Result<Option<OsString>> {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home) else {
        return Ok(None);
    };
    let failed = |error| Error::io(format!("cannot read {}", path.display()), error);
    let about = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about.map_err(failed)?,
    };
    if !about.is_file() || about.mode() & OTHERS != 0 {
        let text = format!("{} is not a file that only you can read", path.display());
        let hint = format!("run chmod 600 {}", path.display());
        return Err(Error::denied(ErrorCode::Refused, text).with_hint(hint));
    }
    let text = read_text(&path).map_err(failed)?;
    Ok(password_in(&text, config).map(OsString::from))
}

/// Returns the password of the first line `host:port:database:user:password` that fits. `*` fits everything.
pub(super) fn password_in(text: &str, config: &Config) -> Option<String> {
    let here = env::var("USER").unwrap_or_default();
    let user = config.get_user().unwrap_or(&here);
    let database = config.get_dbname().unwrap_or(user);
    let port = config.get_ports().first().unwrap_or(&PORT).to_string();
    let hosts: Vec<String> = config.get_hosts().iter().map(host_name).collect();
    let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let [host, its_port, its_database, its_user, password] =
                <[String; 5]>::try_from(fields(line)).ok()?;
            let is_host = hosts.iter().any(|name| fits(&host, name));
            let is_it =
                is_host && fits(&its_port, &port) && fits(&its_database, database) && fits(&its_user, user);
            is_it.then_some(password)
        })
}

/// Returns the name of a host in a file of passwords.
fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        // The folders in which servers put their sockets.
        Host::Unix(path)
            if path == Path::new("/run/postgresql")
                || path == Path::new("/var/run/postgresql")
                || path == Path::new("/tmp") =>
        {
            "localhost".to_owned()
        }
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Splits a line at its colons. A backslash keeps the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut letters) = (vec![String::new()], line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            ':' => fields.push(String::new()),
            '\\' => fields
                .last_mut()
                .into_iter()
                .for_each(|field| field.extend(letters.next())),
            letter => fields.last_mut().into_iter().for_each(|field| field.push(letter)),
        }
    }
    fields
}

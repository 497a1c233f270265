//! A bucket in object storage: `s3://bucket/prefix`, `gs://bucket/prefix` and `az://container/prefix`.
//!
//! The client is the crate `object_store`. One thread with an async runtime serves one bucket. Callers block.
//!
//! # Layer
//! Layer 7, part of `remote/bucket`.
//!
//! # Invariants
//! - OBS-1: the client repeats no request. Its caller does, and settles what is unclear (RTR-1).
//! - OBS-2: credentials come from the environment. No text of this module has them, and a URL with a password is refused.

mod http;

use std::env;
use std::ffi::OsString;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::bounded;
use hyper::Uri;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{
    ClientConfigKey, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutResult,
    RetryConfig, UpdateVersion,
};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use self::http::{Connector, Heard, listening};
use super::{Bucket, BucketError, BucketResult, Stored, Version};
use crate::error::{Error, Result};
use crate::threads;

/// A service of object storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    S3,
    Google,
    Azure,
}

impl Scheme {
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut all = [Self::S3, Self::Google, Self::Azure].into_iter();
        all.find(|scheme| scheme.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }

    /// Returns how the names of the variables of this service begin.
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::S3 => &["AWS_"],
            Self::Google => &["GOOGLE_", "SERVICE_ACCOUNT"],
            Self::Azure => &["AZURE_", "IDENTITY_ENDPOINT"],
        }
    }

    /// Returns the variables with the credentials, for a message.
    fn variables(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Self::Google => "GOOGLE_APPLICATION_CREDENTIALS",
            Self::Azure => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        }
    }
}

/// The settings of a client.
enum Settings {
    S3(AmazonS3Builder),
    Google(GoogleCloudStorageBuilder),
    Azure(MicrosoftAzureBuilder),
}

impl Settings {
    /// Returns the settings in variables. An empty variable counts as unset.
    ///
    /// # Errors
    /// The error of [`check_address`].
    fn of(scheme: Scheme, variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Self> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let own = variables.filter_map(text).filter(|(name, value)| {
            !value.is_empty() && scheme.prefixes().iter().any(|prefix| name.starts_with(prefix))
        });
        let own: Vec<(String, String)> = own.collect();
        own.iter()
            .try_for_each(|(name, value)| check_address(name, value))?;
        Ok(match scheme {
            Scheme::S3 => Self::S3(fold(AmazonS3Builder::new(), own, AmazonS3Builder::with_config)),
            Scheme::Google => Self::Google(fold(
                GoogleCloudStorageBuilder::new(),
                own,
                GoogleCloudStorageBuilder::with_config,
            )),
            Scheme::Azure => Self::Azure(fold(
                MicrosoftAzureBuilder::new(),
                own,
                MicrosoftAzureBuilder::with_config,
            )),
        })
    }

    /// Returns an error if the service of S3 is reached by plain HTTP, and the user did not allow that.
    fn check_endpoint(&self) -> Result<()> {
        let Self::S3(builder) = self else { return Ok(()) };
        let value = |key| builder.get_config_value(&key);
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint));
        let allowed = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        if endpoint.is_some_and(|url| url.starts_with("http://")) && allowed.as_deref() != Some("true") {
            let error = Error::invalid(
                "the address of the service is plain HTTP, which everybody on the way can read",
            );
            return Err(error.with_hint("set AWS_ALLOW_HTTP=true if that is meant"));
        }
        Ok(())
    }
}

/// Gives a builder the variables that it knows.
fn fold<B, K: FromStr>(builder: B, own: Vec<(String, String)>, with: fn(B, K, String) -> B) -> B {
    own.into_iter().fold(builder, |builder, (name, value)| {
        match name.to_ascii_lowercase().parse() {
            Ok(key) => with(builder, key, value),
            Err(_) => builder,
        }
    })
}

/// Returns an error if a variable with an address, or with a part of one, has something else. The library would panic.
///
/// # Errors
/// `InvalidInput`.
fn check_address(name: &str, value: &str) -> Result<()> {
    let names = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is_url = || {
        let address: Option<Uri> = value.parse().ok();
        address.is_some_and(|address| {
            matches!(address.scheme_str(), Some("http" | "https"))
                && address.host().is_some_and(|host| !host.is_empty())
        })
    };
    let is_word = || {
        value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let (is_fine, example) = if names(&["REGION", "ACCOUNT_NAME"]) {
        (is_word(), "letters, digits and '-'")
    } else if names(&["ENDPOINT", "URL", "_HOST", "FULL_URI"]) && !matches!(value, "true" | "false") {
        (is_url(), "an address such as https://storage.example:9000")
    } else {
        (true, "")
    };
    if is_fine {
        return Ok(());
    }
    // INVARIANT OBS-2: the value may have a password.
    let error = Error::invalid(format!("the value of the variable {name} is invalid"));
    Err(error.with_hint(format!("set {name} to {example}, or unset it")))
}

/// The client of a service.
enum Client {
    S3(AmazonS3),
    Google(GoogleCloudStorage),
    Azure(MicrosoftAzure),
}

impl Client {
    /// Makes a client with the settings of a builder. Returns whether it signs its requests.
    fn of(settings: Settings, bucket: &str) -> object_store::Result<(Self, bool)> {
        // INVARIANT OBS-1
        let never = RetryConfig {
            max_retries: 0,
            ..RetryConfig::default()
        };
        let signs = |skips: Option<String>| skips.as_deref() != Some("true");
        match settings {
            Settings::S3(builder) => {
                let builder = builder
                    .with_bucket_name(bucket)
                    .with_conditional_put(S3ConditionalPut::ETagMatch)
                    .with_disable_bulk_delete(true)
                    .with_retry(never)
                    .with_http_connector(Connector);
                let signs = signs(builder.get_config_value(&AmazonS3ConfigKey::SkipSignature));
                Ok((Self::S3(builder.build()?), signs))
            }
            Settings::Google(builder) => {
                let builder = builder
                    .with_bucket_name(bucket)
                    .with_retry(never)
                    .with_http_connector(Connector);
                let signs = signs(builder.get_config_value(&GoogleConfigKey::SkipSignature));
                Ok((Self::Google(builder.build()?), signs))
            }
            Settings::Azure(builder) => {
                let builder = builder
                    .with_container_name(bucket)
                    .with_retry(never)
                    .with_http_connector(Connector);
                let signs = signs(builder.get_config_value(&AzureConfigKey::SkipSignature));
                Ok((Self::Azure(builder.build()?), signs))
            }
        }
    }

    fn objects(&self) -> &dyn ObjectStore {
        match self {
            Self::S3(client) => client,
            Self::Google(client) => client,
            Self::Azure(client) => client,
        }
    }

    fn pages(&self) -> &dyn PaginatedListStore {
        match self {
            Self::S3(client) => client,
            Self::Google(client) => client,
            Self::Azure(client) => client,
        }
    }

    /// Gets the credentials, which the client keeps until they expire.
    async fn authenticate(&self) -> object_store::Result<()> {
        match self {
            Self::S3(client) => client.credentials().get_credential().await.map(drop),
            Self::Google(client) => client.credentials().get_credential().await.map(drop),
            Self::Azure(client) => client.credentials().get_credential().await.map(drop),
        }
    }

    /// Returns the version of an object by which the service compares.
    fn version(&self, e_tag: Option<String>, version: Option<String>) -> Option<Version> {
        let compared = if matches!(self, Self::Google(_)) {
            version
        } else {
            e_tag
        };
        compared.map(Version)
    }
}

/// Why a call failed.
enum Failure {
    /// There are no credentials, so nothing was sent.
    NoCredentials(Heard),
    /// The call failed behind this answer.
    Call(Heard),
}

/// A bucket in object storage.
pub(super) struct Cloud {
    scheme: Scheme,
    url: String,
    /// The start of all names: empty, or with `/` at its end.
    prefix: String,
    client: Arc<Client>,
    signs: bool,
    /// Whether an answer had the id of a version that the service keeps.
    has_versions: AtomicBool,
    runtime: Handle,
    /// Ends the thread when the bucket is dropped.
    _alive: oneshot::Sender<()>,
}

impl Cloud {
    /// Opens the bucket at `rest`, the part of a URL behind its scheme. Sends nothing.
    ///
    /// # Errors
    /// `InvalidInput` if the URL or a variable is invalid; `Io` if no thread can be started.
    pub(super) fn open(scheme: Scheme, rest: &str) -> Result<Self> {
        Self::with(scheme, Settings::of(scheme, env::vars_os())?, rest)
    }

    fn with(scheme: Scheme, settings: Settings, rest: &str) -> Result<Self> {
        let (bucket, prefix) = parts_of(rest)?;
        let name = scheme.name();
        settings.check_endpoint()?;
        let (client, signs) = Client::of(settings, bucket).map_err(|error| {
            // The texts of the library name variables and files, but no value of a variable with a secret.
            Error::invalid(format!("the settings of {name}:// are not complete: {error}"))
                .with_hint(format!("set {}", scheme.variables()))
        })?;
        let failed = |error| Error::io("cannot start a thread for a remote", error);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel::<()>();
        let thread = threads::Builder::new().name("treering-remote".to_owned());
        let started = thread.spawn(move || drop(runtime.block_on(ended)));
        drop(started.map_err(failed)?);
        let slash = if prefix.is_empty() { "" } else { "/" };
        Ok(Self {
            scheme,
            url: format!("{name}://{bucket}{slash}{prefix}"),
            prefix: format!("{prefix}{slash}"),
            client: Arc::new(client),
            signs,
            has_versions: AtomicBool::new(false),
            runtime: handle,
            _alive: alive,
        })
    }

    /// Runs a call on the thread of this bucket, and waits for its result.
    fn run<T, F>(
        &self,
        call: impl FnOnce(Arc<Client>) -> F + Send + 'static,
    ) -> std::result::Result<T, Failure>
    where
        F: Future<Output = object_store::Result<T>> + Send,
        T: Send + 'static,
    {
        let (client, signs) = (Arc::clone(&self.client), self.signs);
        let (sender, receiver) = bounded(1);
        let task = async move {
            let credentials = async {
                if signs {
                    client.authenticate().await?;
                }
                Ok::<_, object_store::Error>(())
            };
            let done = match listening(credentials).await {
                (Err(_), heard) => Err(Failure::NoCredentials(heard)),
                (Ok(()), _) => match listening(call(Arc::clone(&client))).await {
                    (Ok(done), _) => Ok(done),
                    (Err(_), heard) => Err(Failure::Call(heard)),
                },
            };
            drop(sender.send(done));
        };
        drop(self.runtime.spawn(task));
        // Each wait of the task has a limit. Without an answer the task ended early.
        let lost = || Err(Failure::Call(Heard::Lost("the client stopped".to_owned())));
        receiver.recv().unwrap_or_else(|_| lost())
    }

    fn path(&self, name: &str) -> BucketResult<Path> {
        let path = Path::parse(format!("{}{name}", self.prefix));
        path.map_err(|error| BucketError::Failed(error.to_string()))
    }

    /// Returns the error of a failed call. `known` decides about a status that means something for this call.
    fn failed(&self, failure: Failure, known: impl FnOnce(u16) -> Option<BucketError>) -> BucketError {
        let heard = match failure {
            Failure::NoCredentials(heard) => {
                let why = answer_of(&heard);
                let variables = self.scheme.variables();
                return BucketError::Denied(format!(
                    "there are no credentials in {variables}, nor elsewhere{why}"
                ));
            }
            Failure::Call(heard) => heard,
        };
        let answer = answer_of(&heard);
        match heard {
            // BKT-3: no request was sent, so nothing changed.
            Heard::Nothing => BucketError::Failed("the client cannot make this request".to_owned()),
            Heard::Unreached(why) => BucketError::Unreachable(why),
            Heard::Lost(why) => BucketError::Unclear(why),
            Heard::Status(_, code) if matches!(code.as_str(), "NoSuchBucket" | "ContainerNotFound") => {
                BucketError::Failed(
                    "there is no such bucket: make it first, with a tool of the service".to_owned(),
                )
            }
            Heard::Status(status, code) => known(status).unwrap_or_else(|| {
                let text = format!("the service refused the request{answer}");
                match status {
                    401 | 403 => BucketError::Denied(text),
                    // The answer was not understood, the service was too busy, or it failed.
                    200..=299 | 408 | 409 | 429 => BucketError::Unclear(text),
                    500.. if status != 501 => BucketError::Unclear(text),
                    _ if code == "RequestTimeout" => BucketError::Unclear(text),
                    _ => BucketError::Failed(text),
                }
            }),
        }
    }

    fn fetch(&self, name: &str, options: GetOptions) -> BucketResult<Stored> {
        self.try_fetch(name, options)?
            .map_err(|failure| self.unread(failure))
    }

    fn try_fetch(
        &self,
        name: &str,
        options: GetOptions,
    ) -> BucketResult<std::result::Result<Stored, Failure>> {
        let (path, head) = (self.path(name)?, options.head);
        let got = self.run(move |client| async move {
            let got = client.objects().get_opts(&path, options).await?;
            let version = client.version(got.meta.e_tag.clone(), got.meta.version.clone());
            let bytes = if head {
                Vec::new()
            } else {
                got.bytes().await?.into()
            };
            Ok((bytes, version))
        });
        match got {
            Ok((bytes, Some(version))) => Ok(Ok(Stored { bytes, version })),
            Ok((_, None)) => Err(BucketError::Failed(
                "the service names no version of an object".to_owned(),
            )),
            Err(failure) => Ok(Err(failure)),
        }
    }

    fn unread(&self, failure: Failure) -> BucketError {
        self.failed(failure, |status| (status == 404).then_some(BucketError::Missing))
    }

    fn put(
        &self,
        name: &str,
        bytes: &[u8],
        mode: PutMode,
    ) -> BucketResult<std::result::Result<PutResult, Failure>> {
        let (path, bytes) = (self.path(name)?, bytes.to_vec());
        let put = self.run(move |client| async move {
            let options = PutOptions::from(mode);
            client.objects().put_opts(&path, bytes.into(), options).await
        });
        if let Ok(put) = &put
            && self.scheme != Scheme::Google
            // A bucket whose versioning was switched off names the version `null`.
            && put.version.as_ref().is_some_and(|version| version != "null")
        {
            self.has_versions.store(true, Ordering::Relaxed);
        }
        Ok(put)
    }
}

impl Bucket for Cloud {
    fn get(&self, name: &str, range: Option<Range<u64>>) -> BucketResult<Stored> {
        let Some(range) = range else {
            return self.fetch(name, GetOptions::default());
        };
        // A service has no empty range: the version alone is asked for.
        let head = || GetOptions {
            head: true,
            ..GetOptions::default()
        };
        if range.start >= range.end {
            return self.fetch(name, head());
        }
        // Services take no end that a signed number has no room for.
        let end = range.end.min(i64::MAX as u64);
        let part = GetOptions {
            range: Some(GetRange::Bounded(range.start..end)),
            ..GetOptions::default()
        };
        match self.try_fetch(name, part)? {
            Ok(stored) => Ok(stored),
            // The object ends before the range.
            Err(Failure::Call(Heard::Status(416, _))) => self.fetch(name, head()),
            // The service answers with the whole object.
            Err(Failure::Call(Heard::Status(200, _))) => {
                let mut whole = self.fetch(name, GetOptions::default())?;
                let end = (range.end.min(whole.bytes.len() as u64)) as usize;
                whole.bytes.truncate(end);
                whole.bytes.drain(..(range.start as usize).min(end));
                Ok(whole)
            }
            Err(failure) => Err(self.unread(failure)),
        }
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> BucketResult<()> {
        let put = self.put(name, bytes, PutMode::Create)?;
        put.map(drop).map_err(|failure| {
            self.failed(failure, |status| match status {
                304 | 412 => Some(BucketError::Exists),
                // The others answer so while another request for the name runs.
                409 if self.scheme == Scheme::Azure => Some(BucketError::Exists),
                404 => Some(BucketError::Failed(
                    "there is no such bucket: make it first".to_owned(),
                )),
                _ => None,
            })
        })
    }

    fn swap(&self, name: &str, version: &Version, bytes: &[u8]) -> BucketResult<Version> {
        let Version(known) = version.clone();
        let version = match self.scheme {
            Scheme::Google => UpdateVersion {
                e_tag: None,
                version: Some(known),
            },
            Scheme::S3 | Scheme::Azure => UpdateVersion {
                e_tag: Some(known),
                version: None,
            },
        };
        match self.put(name, bytes, PutMode::Update(version))? {
            Ok(put) => {
                let version = self.client.version(put.e_tag, put.version);
                version.ok_or_else(|| BucketError::Unclear("the service names no version".to_owned()))
            }
            Err(failure) => Err(self.failed(failure, |status| {
                matches!(status, 304 | 404 | 412).then_some(BucketError::Stale)
            })),
        }
    }

    fn list(&self, prefix: &str) -> BucketResult<Vec<String>> {
        let (start, prefix) = (self.prefix.clone(), format!("{}{prefix}", self.prefix));
        let listed = self.run(move |client| async move {
            let (mut names, mut page_token) = (Vec::new(), None);
            loop {
                let options = PaginatedListOptions {
                    page_token,
                    ..PaginatedListOptions::default()
                };
                let page = client.pages().list_paginated(Some(&prefix), options).await?;
                let objects = page.result.objects.into_iter();
                let name = |path: Path| Some(path.as_ref().strip_prefix(start.as_str())?.to_owned());
                names.extend(objects.filter_map(|object| name(object.location)));
                page_token = page.page_token;
                if page_token.is_none() {
                    names.sort_unstable();
                    return Ok(names);
                }
            }
        });
        listed.map_err(|failure| self.failed(failure, |_| None))
    }

    fn delete(&self, name: &str) -> BucketResult<()> {
        let path = self.path(name)?;
        let call = async move |client: Arc<Client>| match client.objects().delete(&path).await {
            // Azure deletes by a batch, which succeeds as a whole.
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            done => done,
        };
        match self.run(call) {
            Ok(()) | Err(Failure::Call(Heard::Status(404, _))) => Ok(()),
            Err(failure) => Err(self.failed(failure, |_| None)),
        }
    }

    fn describe(&self) -> String {
        self.url.clone()
    }

    fn keeps_old_bytes(&self) -> Option<bool> {
        match self.scheme {
            Scheme::S3 => Some(self.has_versions.load(Ordering::Relaxed)),
            // They may also keep what was deleted, for some days, and do not say so.
            Scheme::Google | Scheme::Azure => None,
        }
    }
}

/// Returns a note of the answer, for the end of a message.
fn answer_of(heard: &Heard) -> String {
    match heard {
        Heard::Nothing => String::new(),
        Heard::Unreached(why) | Heard::Lost(why) => format!(" ({why})"),
        Heard::Status(status, code) if code.is_empty() => format!(" (status {status})"),
        Heard::Status(status, code) => format!(" (status {status}, {code})"),
    }
}

/// Returns the bucket and the prefix in the part of a URL behind its scheme.
fn parts_of(rest: &str) -> Result<(&str, &str)> {
    // INVARIANT OBS-2: the URL is not repeated, because it may have a password or a token.
    let refused = |what: &str, hint: &str| Err(Error::invalid(what).with_hint(hint.to_owned()));
    if rest.contains(['@', '?', '#']) {
        return refused(
            "the URL of a remote contains '@', '?' or '#', as before a password or a token",
            "write s3://bucket/prefix; credentials come from the environment",
        );
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if bucket.is_empty() || !bucket.bytes().all(is_plain) {
        return refused("the URL of a remote names no bucket", "write s3://bucket/prefix");
    }
    let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['%', '\\']);
    let is_fine = prefix.is_empty() || prefix.split('/').all(is_name) && Path::parse(prefix).is_ok();
    if !is_fine {
        return refused(
            "the prefix in the URL of a remote has an empty part or an unusual character",
            "use letters, digits, '-', '_', '.' and '/'",
        );
    }
    Ok((bucket, prefix))
}

#[cfg(test)]
mod tests;

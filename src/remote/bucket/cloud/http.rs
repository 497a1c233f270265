//! HTTP for the client of object storage: `hyper` with TLS by `rustls`. It notes what the service answered.
//!
//! The client library retries nothing, and its errors do not say enough. So each call keeps the last answer, and
//! [`Heard`] tells what is certain about a request.
//!
//! # Layer
//! Layer 7, part of `remote/bucket/cloud`.
//!
//! # Invariants
//! - CHT-1: unless the user allows plain HTTP, requests go to HTTPS addresses only. A request carries a signature.
//! - CHT-2: an answer takes no more memory than was asked for, or than [`ANSWER_BYTES_MAX`].

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::http::header::RANGE;
use hyper::http::response::Parts;
use hyper::{Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Dialer;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tower_service::Service;

/// The longest time in which a connection is made.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest pause in an answer.
const PAUSE: Duration = Duration::from_secs(30);
/// The slowest line on which a request gets through, in bytes a second.
const SLOWEST: u64 = 128 << 10;
/// The time after which an idle connection is closed. Services close theirs later.
const IDLE: Duration = Duration::from_secs(15);
/// The most bytes of an answer, unless a larger part was asked for. Lists and most objects have a few megabytes.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// The longest code of an error that is kept.
const CODE_BYTES_MAX: usize = 48;

/// What is known about the last request of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Heard {
    /// No request was sent.
    #[default]
    Nothing,
    /// There was no connection, because of this, so no request was sent.
    Unreached(String),
    /// There was no whole answer, because of this.
    Lost(String),
    /// The service answered with this status. A failure has a code, such as `NoSuchBucket`.
    Status(u16, String),
}

tokio::task_local! {
    static HEARD: RefCell<Heard>;
}

/// Runs a call. Returns its result with what was heard last.
pub(super) async fn listening<T>(call: impl Future<Output = T>) -> (T, Heard) {
    let call = async {
        let done = call.await;
        (done, HEARD.with(RefCell::take))
    };
    HEARD.scope(RefCell::default(), call).await
}

type Sendable<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Makes the clients of the library.
#[derive(Debug)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let mut dialer = Dialer::new();
        dialer.enforce_http(false);
        dialer.set_connect_timeout(Some(CONNECT));
        dialer.set_nodelay(true);
        let builder = HttpsConnectorBuilder::new().with_tls_config(trusted());
        // INVARIANT CHT-1
        let builder = match allows_http.as_deref() {
            Some("true") => builder.https_or_http(),
            _ => builder.https_only(),
        };
        let proxies = Arc::new(Matcher::from_env());
        let connector = builder.enable_http1().wrap_connector(Dial { dialer, proxies });
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE);
        Ok(HttpClient::new(Http(client.build(connector))))
    }
}

/// Returns the settings of TLS, with the certificates that this machine trusts, or those in `SSL_CERT_FILE`.
fn trusted() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    // A machine without certificates may still use plain HTTP. For HTTPS, each connection fails with the cause.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("the provider has the default versions");
    builder.with_root_certificates(roots).with_no_client_auth()
}

/// Opens connections, through the proxy of the environment if there is one.
#[derive(Clone)]
struct Dial {
    dialer: Dialer,
    proxies: Arc<Matcher>,
}

impl Service<Uri> for Dial {
    type Response = <Dialer as Service<Uri>>::Response;
    type Error = AnyError;
    type Future = Sendable<Result<Self::Response, AnyError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        self.dialer.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&to) else {
            let dialed = self.dialer.call(to);
            return Box::pin(async { dialed.await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.dialer.clone());
        if let Some(user) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(user.clone());
        }
        Box::pin(async move { tunnel.call(to).await.map_err(Into::into) })
    }
}

#[derive(Debug)]
struct Http(Client<HttpsConnector<Dial>, HttpRequestBody>);

impl HttpService for Http {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let answer = self.send(request).await;
            let heard = match &answer {
                Ok((parts, body)) => Heard::Status(parts.status.as_u16(), code_in(parts, body)),
                Err(error) if error.kind() == HttpErrorKind::Connect => Heard::Unreached(causes(error)),
                Err(error) => Heard::Lost(causes(error)),
            };
            // A client may also send requests of its own, outside a call.
            drop(HEARD.try_with(|last| last.replace(heard)));
            answer.map(|(parts, body)| Response::from_parts(parts, body.into()))
        })
    }
}

impl Http {
    /// Sends a request. Returns the whole answer.
    async fn send(&self, request: HttpRequest) -> Result<(Parts, Vec<u8>), HttpError> {
        let bytes_max = asked_bytes(&request).unwrap_or_default().max(ANSWER_BYTES_MAX);
        let sending = PAUSE + Duration::from_secs(request.body().content_length() as u64 / SLOWEST);
        let response = timeout(sending, self.0.request(request)).await;
        let response = response.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?;
        let response = response.map_err(|error| {
            let kind = if error.is_connect() {
                HttpErrorKind::Connect
            } else {
                HttpErrorKind::Interrupted
            };
            HttpError::new(kind, error)
        })?;
        let (parts, mut body) = response.into_parts();
        let mut bytes = Vec::new();
        loop {
            // INVARIANT CHT-2
            if bytes.len() as u64 > bytes_max {
                return Err(HttpError::new(HttpErrorKind::Interrupted, TooLong(bytes_max)));
            }
            let frame = timeout(PAUSE, body.frame()).await;
            match frame.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))? {
                None => return Ok((parts, bytes)),
                Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
                Some(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, error)),
            }
        }
    }
}

/// The service answered with more bytes than this.
#[derive(Debug)]
struct TooLong(u64);

impl std::fmt::Display for TooLong {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the answer has more than {} bytes", self.0)
    }
}

impl std::error::Error for TooLong {}

/// Returns the number of bytes for which a request asks, if it asks for a part.
fn asked_bytes(request: &HttpRequest) -> Option<u64> {
    let range = request.headers().get(RANGE)?.to_str().ok()?;
    let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
    Some(end.saturating_sub(start).saturating_add(1))
}

/// Returns the code of a failure: from the header of Azure, or from the XML of the others. It is a word of the service, so
/// it is checked before it is printed.
fn code_in(parts: &Parts, body: &[u8]) -> String {
    if parts.status.is_success() {
        return String::new();
    }
    let header = parts.headers.get("x-ms-error-code");
    let header = header.and_then(|code| code.to_str().ok());
    let body = std::str::from_utf8(body).unwrap_or_default();
    let in_body = || Some(body.split_once("<Code>")?.1.split_once("</Code>")?.0);
    let code = header.or_else(in_body).unwrap_or_default();
    let is_word = code.len() <= CODE_BYTES_MAX && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_word { code.to_owned() } else { String::new() }
}

/// Returns the causes of an error, outermost first. They have no address and no credentials.
fn causes(error: &HttpError) -> String {
    let mut text = String::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text += if text.is_empty() { "" } else { ": " };
            text += &said;
        }
        next = cause.source();
    }
    text
}

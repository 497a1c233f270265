//! Who may send a request: the checks before anything of it is read.
//!
//! A web page in a browser of this machine can send requests to every port of it. It cannot choose the headers `Host`,
//! `Origin` and `Sec-Fetch-Site`, so these say whether a page sends the request, or a name that an attacker points to
//! this machine. Another user or program of this machine does not know the token.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - ADM-1: a request is admitted only with exactly one `Host` of the list, with no `Origin` outside the list, and with the
//!   token of its part: that of the API, or that of the page. `/health` and the files of the page need none, and the page
//!   checks its ticket itself. The `Host` of `/health` may be any, because a probe does not know the names of the server.
//!   No answer and no comparison tells how much of a token is right.
//! - ADM-2: no origin but its own reads or changes something for the page, whatever the list has.

use std::borrow::Cow;
use std::error::Error as _;
use std::iter::successors;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use tower_http::timeout::TimeoutError;

use super::answer::Refusal;
use super::page::{self, Page};
use super::places::Place;
use super::request_log::RequestLog;
use super::token::{Admits, Keys};
use crate::serve::{Caller, Client};
use treering::inspect::agent::refuse_secret_name;
use treering::inspect::ingest::json::whole_characters;
use treering::{Error, ErrorCode, Result};

/// The header with which the settings of a client choose its session.
pub(super) const SESSION_HEADER: &str = "treering-session";
/// The path that needs no token.
const OPEN_PATH: &str = "/health";
/// The names of charsets whose texts are UTF-8.
const CHARSETS: [&str; 3] = ["utf-8", "utf8", "us-ascii"];
/// The longest name of a session, in characters.
const SESSION_CHARS_MAX: usize = 128;

/// Who sends an admitted request.
#[derive(Clone, Default)]
pub(super) struct Admitted {
    /// The session that the client chose, if any.
    pub(super) session: Option<String>,
    /// The client, if each has a token of its own.
    pub(super) client: Option<Arc<Client>>,
}

/// Where a server listens, and whom it admits.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    /// What opens MCP and the JSON API; `None` if the server offers only the page.
    pub(crate) keys: Option<Keys>,
    /// The page of a person.
    pub(crate) page: Option<Arc<Page>>,
    /// The values of `Host` besides the ones of the bound address.
    pub(crate) hosts: Vec<String>,
    /// The values of `Origin` that are admitted.
    pub(crate) origins: Vec<String>,
    /// Where each request becomes a line, if anywhere.
    pub(crate) log: Option<RequestLog>,
}

/// Whom a server admits.
pub(super) struct Admission {
    hosts: Vec<String>,
    origins: Vec<String>,
    keys: Option<Keys>,
    page: Option<Arc<Page>>,
    /// The session of all clients, if the options of the server name it.
    session: Option<String>,
}

/// Admits a request, or answers it.
pub(super) async fn admit(
    State(admission): State<Arc<Admission>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let admitted = admission.check(method, uri, headers);
    let place = request.extensions_mut().remove::<Arc<Place>>();
    match admitted {
        Ok((admitted, is_known)) => {
            if place.filter(|_| is_known).is_some_and(|place| !place.keep()) {
                // The connection had to leave at this moment, so nothing may begin on it.
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            request.extensions_mut().insert(admitted.clone());
            let mut response = next.run(request).await;
            response.extensions_mut().insert(admitted);
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Reads the body within the limits of size and time, so that every route answers a bad body alike. Every body is JSON, in
/// which half an emoji becomes U+FFFD.
pub(super) async fn read_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match Bytes::from_request(Request::new(body), &()).await {
        Ok(body) => {
            let body = match whole_characters(&body) {
                Cow::Borrowed(_) => body,
                Cow::Owned(whole) => whole.into(),
            };
            next.run(Request::from_parts(head, body.into())).await
        }
        Err(failed) => {
            let mut causes = successors(failed.source(), |cause| <dyn std::error::Error>::source(*cause));
            if causes.any(<dyn std::error::Error>::is::<TimeoutError>) {
                return StatusCode::REQUEST_TIMEOUT.into_response();
            }
            Refusal::of_status(failed.into_response().status(), "").into_response()
        }
    }
}

impl Admission {
    pub(super) fn new(listening: Listening, bound: SocketAddr, caller: &Caller) -> Self {
        let port = bound.port();
        let mut hosts = listening.hosts;
        let named = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        // A server on all addresses has none of its own.
        let own = (!bound.ip().is_unspecified()).then(|| address(bound));
        for host in named.into_iter().chain(own) {
            hosts.push(format!("{host}:{port}"));
            // A client leaves out the usual port of HTTP.
            hosts.extend((port == 80).then_some(host));
        }
        Self {
            hosts,
            origins: listening.origins,
            keys: listening.keys,
            page: listening.page,
            session: (!caller.names_session).then(|| caller.session().to_owned()),
        }
    }

    /// Checks a request (ADM-1). Returns who sent it, and whether the client has sent a token.
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(Admitted, bool), Refusal> {
        let (path, has_page) = (uri.path(), self.page.is_some());
        self.check_host(uri, headers, path == OPEN_PATH)?;
        let is_of_page = has_page && (page::is_file(path) || path.starts_with(page::DATA));
        check_site(headers)?;
        self.check_origin(headers, is_of_page)?;
        let is_open = path == OPEN_PATH || has_page && (page::is_file(path) || path == page::TICKETS);
        let of_page = self.page.as_ref().filter(|_| is_of_page).map(|page| &page.token);
        let admits = |sent| match &self.keys {
            _ if is_of_page => {
                let is_open = of_page.is_some_and(|token| token.is(sent));
                is_open.then_some(Admits::Anyone)
            }
            keys => keys.as_ref().and_then(|keys| keys.admits(sent)),
        };
        let client = match bearer(headers).filter(|_| !is_open).and_then(admits) {
            Some(Admits::Client(client)) => Some(client),
            Some(Admits::Anyone) => None,
            None if is_open => None,
            None => return Err(Refusal::of_status(StatusCode::UNAUTHORIZED, "")),
        };
        // A form of a web page can send other types without asking the server first.
        if method == Method::POST && takes_json(uri.path()) {
            check_type(headers)?;
        }
        let session = self.session(headers).map_err(|error| Refusal::from(&error))?;
        Ok((Admitted { session, client }, !is_open))
    }

    /// Checks the names of the server in a request. A probe may use any, because it learns nothing about the memory.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap, is_probe: bool) -> Result<(), Refusal> {
        let Some(host) = only(headers, header::HOST.as_str()) else {
            let why = "a request has exactly one header Host";
            return Err(Refusal::of_status(StatusCode::BAD_REQUEST, why));
        };
        if is_probe {
            return Ok(());
        }
        // A request line with a whole URL names the host a second time.
        let named = uri.authority().map(|authority| authority.as_str().as_bytes());
        for host in [Some(host), named].into_iter().flatten() {
            if !self
                .hosts
                .iter()
                .any(|known| known.as_bytes().eq_ignore_ascii_case(host))
            {
                return Err(Refusal::forbidden(
                    "foreign_host",
                    &format!("the server is not called '{}'", String::from_utf8_lossy(host)),
                    "use the URL that the server printed; for another name, start it with --allow-host NAME",
                ));
            }
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap, is_of_page: bool) -> Result<(), Refusal> {
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, header::ORIGIN.as_str()).unwrap_or_default();
        // The host is one of the list, so a page of another site is of no such origin (ADM-2).
        let host = only(headers, header::HOST.as_str()).unwrap_or_default();
        let own = [b"http://", b"https://".as_slice()];
        let is_own = own
            .iter()
            .any(|scheme| origin.strip_prefix(*scheme) == Some(host));
        let is_listed = || self.origins.iter().any(|known| known.as_bytes() == origin);
        if if is_of_page { is_own } else { is_listed() } {
            return Ok(());
        }
        Err(Refusal::forbidden(
            "foreign_origin",
            &format!(
                "no web page of '{}' may use the server",
                String::from_utf8_lossy(origin)
            ),
            "if you trust the page, start the server with --allow-origin ORIGIN",
        ))
    }

    /// Returns the session that the client chose. It never comes from the body of a request, which a model writes.
    fn session(&self, headers: &HeaderMap) -> Result<Option<String>> {
        if !headers.contains_key(SESSION_HEADER) {
            return Ok(None);
        }
        let refused = |why: &str, hint: &str| {
            let error = Error::invalid(format!("the header Treering-Session {why}"));
            error.with_code(ErrorCode::Usage).with_hint(hint)
        };
        let name = only(headers, SESSION_HEADER).and_then(|name| std::str::from_utf8(name).ok());
        let is_name = |name: &&str| {
            (1..=SESSION_CHARS_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let Some(name) = name.filter(is_name) else {
            let hint = "send it once, with 1 to 128 letters, digits or signs of ASCII";
            return Err(refused("is not the name of a session", hint));
        };
        if self.session.as_deref().is_some_and(|only| only != name) {
            let hint = "leave out the header: the server was started with one session for all clients";
            return Err(refused("names another session than the server's", hint));
        }
        refuse_secret_name("the session", name)?;
        Ok(Some(name.to_owned()))
    }
}

/// Returns the token or ticket that a request sends.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let sent = only(headers, header::AUTHORIZATION.as_str())?;
    let (scheme, sent) = sent.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| sent.trim_ascii())
}

/// Refuses a request that a page of another site makes a browser send.
fn check_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut sites = headers.get_all("sec-fetch-site").iter();
    if sites.any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none")) {
        return Err(Refusal::forbidden(
            "foreign_site",
            "a web page of another site may not use the server",
            "open the page from the server itself",
        ));
    }
    Ok(())
}

/// Returns whether a path may have a body. Any other answers `POST` with the methods that it has.
fn takes_json(path: &str) -> bool {
    path == "/mcp" || path.starts_with("/v1/") || path.starts_with(page::DATA)
}

/// Refuses a body that is not declared as JSON, or whose characters are not in UTF-8.
fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let refused = |why| Refusal::of_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    let declared =
        only(headers, header::CONTENT_TYPE.as_str()).and_then(|kind| std::str::from_utf8(kind).ok());
    let mut parts = declared.unwrap_or_default().split(';').map(str::trim);
    if !parts
        .next()
        .unwrap_or_default()
        .eq_ignore_ascii_case("application/json")
    {
        return Err(refused(""));
    }
    let named = parts.filter_map(|part| part.split_once('='));
    let mut charsets = named.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let is_utf8 = |name: &str| CHARSETS.iter().any(|known| known.eq_ignore_ascii_case(name));
    if charsets.all(|(_, charset)| is_utf8(charset.trim().trim_matches('"'))) {
        return Ok(());
    }
    Err(refused("the body is declared in another charset than UTF-8"))
}

/// Returns the value of a header that is there exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value.as_bytes())
}

/// Returns the address as a URL names it.
pub(super) fn address(bound: SocketAddr) -> String {
    match bound {
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    }
}

//! `serve`: answers the clients of an agent.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fs::File;
use std::io;
#[cfg(feature = "http")]
use std::io::Write as _;
#[cfg(feature = "http")]
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
#[cfg(feature = "http")]
use std::sync::Arc;
#[cfg(feature = "http")]
use std::thread::Builder;

use super::prelude::*;
use crate::cli::agent_context::agent_with_model;
use crate::cli::args::LaneOptions;
use crate::cli::capture::Finder;
use crate::cli::plugin_folder::enter_folder_of_client;
#[cfg(feature = "http")]
use crate::cli::token_file::{new_token, token_in};
use crate::hook::HookClient;
#[cfg(feature = "http")]
use crate::serve::http::clients::{Clients, Tell};
#[cfg(feature = "http")]
use crate::serve::http::{self, Keys, Listening, Page, RequestLog, Ticket, Token};
use crate::serve::operations::Profile;
use crate::serve::server::Reopen;
use crate::serve::service::{self, TOKENS_LEAST, TOKENS_MAX};
use crate::serve::{Caller, Follows, MadeForks, Server, Service, mcp};
use treering::Writer;
use treering::agent::{self, Agent, Confinement};
use treering::inspect::agent::refuse_secret_name;
#[cfg(feature = "http")]
use treering_text::visible::printable;

/// The number of random bytes in the name of a session.
const NAME_BYTES: usize = 4;
/// The address of a page alone: a free port of this machine.
#[cfg(feature = "http")]
const PAGE_ADDRESS: &str = "127.0.0.1:0";
/// Whether the program was built without the HTTP server.
const NO_HTTP: bool = !cfg!(feature = "http");

/// Serve the memory, or show its page
///
/// With --mcp, answers one client of the Model Context Protocol on standard input and output. With --http, answers many
/// clients: MCP at /mcp, the same operations as a JSON API at /v1/, /openapi.json, /metrics and /health. With --ui, shows
/// the memory as a page in a browser.
///
/// # Notes
/// The client starts the program with --mcp. Each client has its own process; many processes share one store. The writer
/// is a model unless --trust names another class, and the client cannot change that. Without --session, each process has
/// a session of its own, named after the client; treering revert --session NAME takes back what it wrote.
///
/// A client of --http sends the token with each request, and may choose its session with the header Treering-Session.
/// With --tokens, each client has a token of its own, and what it does is done as its own actor.
/// Only programs of this machine reach the server, unless --allow-remote is given. A page in a browser does not, unless
/// --allow-origin names it. SIGTERM ends the server after the requests that are read are answered.
///
/// The page of --ui shows every object of every scope, also untrusted ones, each with its class, and follows what other
/// processes write. Its address opens the page once; then a new address is printed. Give the address to nobody. The page
/// only reads, unless --write is given: then it offers revert and rollback, and whoever opens it writes as you. Alone,
/// --ui serves nothing else and listens at a free port of this machine.
///
/// # Examples
/// ```text
/// treering serve --mcp
/// treering serve --mcp --scope project:tea --session night-run
/// treering serve --mcp --profile minimal --max-tokens 800
/// treering serve --mcp --structured
/// treering serve --http 127.0.0.1:7070 --token-file ~/.treering-token
/// treering serve --http 127.0.0.1:7070 --tokens team.json
/// treering serve --ui
/// treering serve --ui --write --http 127.0.0.1:7070
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Speak the Model Context Protocol on standard input and output
    #[arg(long)]
    mcp: bool,
    #[command(flatten)]
    http: HttpOptions,
    /// The tools that the client gets
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    profile: Profile,
    /// Write in the session that the hooks of this client name, so that one revert covers both
    #[arg(long, value_name = "CLIENT", requires = "mcp")]
    client: Option<HookClient>,
    /// The only scope that the client reads and writes: global, project, or a name such as project:tea [default: global
    /// and the project of this folder]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Answer MCP with structured content, too: for a program. A model may get such an answer twice
    #[arg(long)]
    structured: bool,
    /// The largest answer, in tokens of about four characters
    #[arg(long, value_name = "N", default_value_t = TOKENS_MAX)]
    max_tokens: usize,
}

/// The options of the HTTP server. A build without it knows them too, and says what it lacks.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Args, Debug)]
struct HttpOptions {
    /// Answer HTTP at this address, such as 127.0.0.1:7070; port 0 takes a free one
    #[arg(long, value_name = "ADDR", conflicts_with = "mcp", hide = NO_HTTP)]
    http: Option<String>,
    /// The file of the token; a missing one is made with a new token [default: a new token, which is printed]
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "mcp", hide = NO_HTTP)]
    token_file: Option<PathBuf>,
    /// Admit the clients of this file, each with its own token, actor and scopes; treering token makes it
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with_all = ["mcp", "token_file"], hide = NO_HTTP)]
    tokens: Option<PathBuf>,
    /// Admit pages of this origin, such as <http://localhost:3000>; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "http", conflicts_with = "mcp", hide = NO_HTTP)]
    allow_origin: Vec<String>,
    /// Admit requests to this name, with its port if it has one; may be repeated
    #[arg(long, value_name = "HOST", requires = "http", conflicts_with = "mcp", hide = NO_HTTP)]
    allow_host: Vec<String>,
    /// Listen to other machines, too. The traffic is not encrypted
    #[arg(long, requires = "http", conflicts_with = "mcp", hide = NO_HTTP)]
    allow_remote: bool,
    /// Print a line for each request on standard error: time, method, path, status, time taken, bytes, session
    #[arg(long, conflicts_with = "mcp", hide = NO_HTTP)]
    log_requests: bool,
    /// Show the memory as a page, whose address is printed
    #[arg(long, conflicts_with = "mcp", hide = NO_HTTP)]
    ui: bool,
    /// Let the page decide what waits, edit, and take back, each after a preview
    #[arg(long, requires = "ui", hide = NO_HTTP)]
    write: bool,
}

impl Verb for Serve {
    #[cfg(feature = "http")]
    const ANSWERS: &'static [Form] = &[form::<Listens>("with --http or --ui, once the server listens")];

    fn run(self, context: &mut Context) -> Done {
        if context.kept.is_some() {
            return Err(usage_error(
                "the shell cannot serve a client",
                "run treering serve outside of the shell",
            ));
        }
        if self.max_tokens < TOKENS_LEAST {
            let text = format!("--max-tokens {} is too small", self.max_tokens);
            return Err(usage_error(text, format!("give at least {TOKENS_LEAST}")));
        }
        if NO_HTTP && (self.http.http.is_some() || self.http.ui) {
            return Err(usage_error(
                "this build has no HTTP server",
                "install it with: cargo install --path . --features http",
            ));
        }
        #[cfg(feature = "http")]
        let address = self.http.address()?;
        if self.http.http.is_none() && !self.mcp && !self.http.ui {
            return Err(usage_error(
                "no protocol is chosen",
                "give --mcp for one client, --http ADDR for many, or --ui for a page",
            ));
        }
        enter_folder_of_client();
        let (server, agent) = self.server(context)?;
        let served = server.clone();
        #[cfg(feature = "http")]
        match address {
            Some(address) => self.http.serve(context, server, agent.memory(), address)?,
            None => mcp::serve(server, io::stdin(), output()?)?,
        }
        #[cfg(not(feature = "http"))]
        drop(agent);
        #[cfg(not(feature = "http"))]
        mcp::serve(server, io::stdin(), output()?)?;
        served.close();
        Ok(DONE)
    }
}

/// Returns the standard output without its lock: a thread that writes to a client which does not read would hold it, and
/// the end of the program waits for it.
fn output() -> Result<File> {
    let output = io::stdout().as_fd().try_clone_to_owned();
    output
        .map(File::from)
        .map_err(|error| Error::io("opening the standard output", error))
}

impl Serve {
    /// Opens the store, and returns the server with its agent.
    fn server(&self, context: &mut Context) -> Result<(Server, Agent)> {
        let LaneOptions { session, actor } = context.lane_options();
        for (what, name) in [
            ("the session", &session),
            ("the actor", &actor),
            ("the scope", &self.scope),
        ] {
            refuse_secret_name(what, name.as_deref().unwrap_or_default())?;
        }
        context.serves = true;
        let writes = self.mcp || self.http.http.is_some() || self.http.write;
        // A client starts --mcp without a terminal. A person who starts --http may have mistyped the name of a store.
        let is_created = self.mcp || self.http.http.is_some() && context.named_store().is_none();
        let agent = if is_created {
            context.agent_to_create(|_| Ok(()))?
        } else if writes {
            context.agent_to_write()?
        } else {
            context.agent_to_read()?
        };
        let reopen = reopening_store(context, writes);
        let names_session = session.is_none();
        // TREERING_TRUST is the class of the person or program that starts the server, and not that of its client.
        let mut writer = Writer::of(context.options.trust.unwrap_or(Origin::Model));
        writer.session = Some(match session {
            Some(session) => session,
            None => fresh_name(agent.memory())?,
        });
        writer.actor = actor.or_else(|| self.client.map(|client| client.name().to_owned()));
        let follows = self.client.filter(|_| names_session);
        let follows = follows.and_then(|client| {
            let finder = Finder::here(client)?;
            Some(Follows::new(move || finder.sessions(client)))
        });
        let scope = self.scope.clone().map(|scope| vec![scope]);
        let confinement = scope.map_or(Confinement::Usual, Confinement::Only);
        let caller = Caller {
            who: agent::Caller {
                confinement,
                ..context.caller_of(writer)
            },
            names_session,
            follows,
            others: Vec::new(),
            client: None,
            forks: MadeForks::default(),
            form: if self.structured {
                service::Form::Structured
            } else {
                service::Form::Text
            },
            tokens_max: self.max_tokens,
        };
        // A bad scope is an error now, not in each answer.
        Service::new(agent.clone(), caller.clone()).scope(None)?;
        Ok((Server::new(agent.clone(), reopen, caller, self.profile), agent))
    }
}

/// Returns what opens the store again after another one was put into its folder, such as a backup.
fn reopening_store(context: &Context, to_write: bool) -> Reopen {
    let (found, settings) = (context.found_store(), context.settings());
    let (is_checked, fork) = (
        !context.options.untrusted_store,
        context.fork().map(str::to_owned),
    );
    let options = if to_write {
        context.engine_options()
    } else {
        context.reading_options()
    };
    Box::new(move || {
        let (path, check) = found.clone()?;
        if is_checked {
            check(&path)?;
        }
        let memory = options.clone().open(&path)?;
        let memory = match &fork {
            Some(name) => memory.open_fork(name)?,
            None => memory,
        };
        Ok(agent_with_model(memory, settings.clone()?.0).0)
    })
}

#[cfg(feature = "http")]
impl HttpOptions {
    /// Returns the address of `--http`.
    ///
    /// # Errors
    /// `InvalidInput` (code `usage`) if it is no address, or that of a network without `--allow-remote`.
    fn address(&self) -> Result<Option<SocketAddr>> {
        let text = match &self.http {
            Some(text) => text,
            None if self.ui => PAGE_ADDRESS,
            None => return Ok(None),
        };
        let local = text
            .strip_prefix("localhost:")
            .map(|port| format!("127.0.0.1:{port}"));
        let address: SocketAddr = local.as_deref().unwrap_or(text).parse().map_err(|_| {
            let text = format!("--http {text} is no address");
            usage_error(
                text,
                "give an address and a port, such as 127.0.0.1:7070 or [::1]:7070",
            )
        })?;
        if !address.ip().is_loopback() && !self.allow_remote {
            let text = format!("--http {address} lets other machines reach the memory");
            let hint = "give 127.0.0.1, or add --allow-remote, and put a server with TLS in front";
            return Err(usage_error(text, hint));
        }
        Ok(Some(address))
    }

    /// Returns what opens the API, with the token if it is one for all clients.
    fn keys(&self, context: &Context, memory: &Memory) -> Result<(Option<Keys>, Option<Token>)> {
        if let Some(file) = &self.tokens {
            let clients = Clients::of(file.clone(), telling(context.options.json))?;
            return Ok((Some(Keys::Clients(clients)), None));
        }
        let token = match (&self.token_file, &self.http) {
            (Some(file), _) => token_in(file, memory)?,
            (None, Some(_)) => new_token(memory)?,
            (None, None) => return Ok((None, None)),
        };
        Ok((Some(Keys::One(token.clone())), Some(token)))
    }

    /// Returns the page, and the ticket of its first address.
    fn page(&self, context: &Context, memory: &Memory) -> Result<Option<(Arc<Page>, Token)>> {
        if !self.ui {
            return Ok(None);
        }
        let ticket = new_token(memory)?;
        let page = Page {
            token: new_token(memory)?,
            ticket: Ticket::new(ticket.clone()),
            reopen: reopening(memory.clone(), context.options.json)?,
            writer: self.write.then(|| context.writer()),
            served: memory.fork_name().map(str::to_owned),
        };
        Ok(Some((Arc::new(page), ticket)))
    }

    /// Serves until a signal ends the process, and prints where it listens.
    fn serve(
        self,
        context: &mut Context,
        server: Server,
        memory: &Memory,
        address: SocketAddr,
    ) -> Result<()> {
        let (keys, token) = self.keys(context, memory)?;
        let (page, ticket) = self.page(context, memory)?.unzip();
        let is_api = keys.is_some();
        let log = self
            .log_requests
            .then(|| RequestLog::start(io::stderr(), context.options.json));
        let listening = Listening {
            address,
            keys,
            page,
            hosts: self.allow_host,
            origins: self.allow_origin,
            log: log.transpose()?,
        };
        let file = self.token_file.or(self.tokens);
        http::serve(server, listening, |bound| {
            let listens = Listens {
                url: format!("http://{bound}"),
                token: token.map(|token| token.reveal().to_owned()),
                page: ticket.map(|ticket| page_address(bound, &ticket)),
                file: file.map(|file| file.display().to_string()),
            };
            context.answer(&listens, |listens, context| listens.say(is_api, context))?;
            context.output.flush()
        })
    }
}

/// Returns what prints why the file of tokens admits nobody.
#[cfg(feature = "http")]
fn telling(json: bool) -> Tell {
    Box::new(move |error| {
        let line = if json {
            let (code, message) = (error.code().as_str(), error.message());
            serde_json::json!({ "warning": { "code": code, "message": message, "hint": error.hint() } })
                .to_string()
        } else {
            let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
            printable(&format!(
                "warning: no client is admitted: {}{hint}",
                error.message()
            ))
        };
        // Nobody may read it, which must not keep a request waiting.
        let named = Builder::new().name("treering-warning".to_owned());
        drop(named.spawn(move || drop(writeln!(io::stderr(), "{line}"))));
    })
}

/// The answer of `serve --http` and `serve --ui`, once the server listens.
#[cfg(feature = "http")]
#[derive(Serialize, JsonSchema)]
struct Listens {
    url: String,
    /// What a client sends in the header `Authorization: Bearer TOKEN`. Missing with `--ui` alone and with `--tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The address that opens the page once.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    #[serde(skip)]
    file: Option<String>,
}

#[cfg(feature = "http")]
impl Listens {
    /// Prints where the server listens, for a person.
    fn say(&self, is_api: bool, context: &mut Context) -> Result<()> {
        if is_api {
            context.line(format!("listening at {}, with MCP at /mcp", self.url))?;
            match (&self.file, &self.token) {
                (Some(file), None) => context.line(format!("the clients are in {file}"))?,
                (Some(file), Some(_)) => context.line(format!("the token is in {file}"))?,
                (None, Some(token)) => context.line(format!("the token is {token}"))?,
                (None, None) => {}
            }
        }
        match &self.page {
            Some(page) => context.line(format!("the page is at {page}")),
            None => Ok(()),
        }
    }
}

/// Returns the address that opens the page with a ticket. A browser sends the part after # to nobody, so the ticket
/// reaches no log.
#[cfg(feature = "http")]
fn page_address(bound: SocketAddr, ticket: &Token) -> String {
    format!("http://{bound}/#ticket={}", ticket.reveal())
}

/// Returns what prints the next address of the page after the last one was used.
///
/// # Errors
/// `Io` if the standard output cannot be opened.
#[cfg(feature = "http")]
fn reopening(memory: Memory, json: bool) -> Result<Box<dyn Fn(SocketAddr) -> Result<Token> + Send + Sync>> {
    let output = output()?;
    Ok(Box::new(move |bound| {
        let ticket = new_token(&memory)?;
        let page = page_address(bound, &ticket);
        let line = if json {
            serde_json::json!({ "url": format!("http://{bound}"), "page": page }).to_string()
        } else {
            format!("the page was opened; to open it again: {page}")
        };
        // The page works without a reader of the output.
        drop(writeln!(&output, "{line}"));
        Ok(ticket)
    }))
}

/// Returns a name that no other process has, made of the time and random bytes.
fn fresh_name(memory: &Memory) -> Result<String> {
    let mut bytes = [0; NAME_BYTES];
    memory.random(&mut bytes)?;
    Ok(name_of(Time::now(), bytes))
}

/// Returns a name such as `20261126-101500-04821-30937`. The scan takes no such name for a secret, because its parts are
/// short numbers.
fn name_of(time: Time, [a, b, c, d]: [u8; NAME_BYTES]) -> String {
    let time = time.to_string();
    let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, hour) = digits.split_at(digits.len().min(8));
    let (one, two) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    format!("{day}-{hour}-{one:05}-{two:05}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering_text::scan::VerdictTable;

    #[test]
    fn the_scan_takes_no_fresh_name_for_a_secret() {
        let scanner = treering::inspect::agent::storeless_scanner(VerdictTable::default());
        let mut state = 7_u64;
        for number in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [_, _, _, _, bytes @ ..] = state.to_le_bytes();
            let name = name_of(
                Time::from_micros(1_795_000_000_000_000 + number * 7_919_000_000),
                bytes,
            );
            for text in [
                format!("session: {name}"),
                format!("session=claude-code-{name}"),
                format!("session_id: tea-client-{name}"),
                format!("sid=x-{name}"),
                name.clone(),
            ] {
                assert_eq!(scanner.redact(&text), text);
            }
        }
    }
}

//! `token`: the clients of a team server, and their tokens.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::context::quoted;
use crate::cli::token_file::new_token;
use crate::serve::http::clients::{Row, add, change, check_name, rows};
use treering::{Memory, Origin, Scope, Time};

/// Make tokens for clients
///
/// treering serve --http ADDR --tokens FILE admits the clients of FILE. Each writes as its own actor, within its scopes,
/// and at most as trusted as its cap. The file holds digests of the tokens, so a token is printed once.
///
/// # Notes
/// - A running server reads the file again when it changes.
/// - A client takes back only what its actor wrote, unless --takes-back all is given.
/// - A class is at most that of the server: `--trust-cap direct_user` needs a server with `--trust direct_user`.
/// - With --fork NAME, a client works on that fork. It reads main, too, when it merges main into the fork.
///
/// # Examples
/// ```text
/// treering token add team.json vera
/// treering token add team.json crawler --scope project:tea --trust-cap tool_external
/// treering token add team.json board --read-only
/// treering token list team.json
/// treering token revoke team.json crawler
/// treering serve --http 127.0.0.1:7070 --tokens team.json
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct TokenVerb {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Add a client, and print its token
    Add(Box<Add>),
    /// List the clients
    List {
        /// The file of the clients
        file: PathBuf,
    },
    /// Remove a client, so that its token opens nothing
    Revoke {
        /// The file of the clients
        file: PathBuf,
        /// The client
        name: String,
    },
}

#[derive(Args, Debug)]
#[command(args = args::describes_client())]
struct Add {
    /// The file of the clients; a missing one is made
    file: PathBuf,
    /// The name of the client, for the log and the metrics of the server
    name: String,
    /// A scope that it reads and writes, the first one for new items; may be repeated [default: those of the server]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// The class that its writes have at most
    #[arg(long, value_name = "CLASS", default_value = "model", value_parser = Origin::from_text)]
    trust_cap: Origin,
    /// Let it change nothing
    #[arg(long)]
    read_only: bool,
    /// What it takes back: what its actor wrote, or all
    #[arg(long, value_name = "WHAT", default_value = "own", value_parser = ["own", "all"])]
    takes_back: String,
}

/// A new client. Its token is printed once.
#[derive(Serialize, JsonSchema)]
struct Added {
    name: String,
    token: String,
}

/// A client that was removed.
#[derive(Serialize, JsonSchema)]
struct Revoked {
    revoked: String,
}

/// A client of the file.
#[derive(Serialize, JsonSchema)]
struct Listed {
    name: String,
    actor: String,
    scopes: Vec<String>,
    trust_cap: Origin,
    read_only: bool,
    fork: Option<String>,
    takes_back: &'static str,
    /// When the token was made.
    time: String,
}

impl Listed {
    fn of(row: Row) -> Self {
        Self {
            name: row.name,
            actor: row.actor,
            scopes: row.scopes,
            trust_cap: row.trust_cap,
            read_only: row.read_only,
            fork: row.fork,
            takes_back: if row.takes_back_all { "all" } else { "own" },
            time: row.time,
        }
    }
}

impl Verb for TokenVerb {
    const ANSWERS: &'static [Form] = &[
        form::<Added>("of add"),
        form::<Listed>("of list, one per line"),
        form::<Revoked>("of revoke"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.act {
            Act::Add(add) => add.run(context),
            Act::List { file } => {
                let listed = rows(&file)?.into_iter().map(|row| Ok(Listed::of(row)));
                let columns = [
                    "name",
                    "actor",
                    "scopes",
                    "trust_cap",
                    "read_only",
                    "fork",
                    "takes_back",
                    "time",
                ];
                context.table(listed, &columns)
            }
            Act::Revoke { file, name } => {
                change(&file, |clients| {
                    let before = clients.len();
                    clients.retain(|client| client.name != name);
                    if clients.len() < before {
                        return Ok(());
                    }
                    let text = format!("{} has no client '{name}'", file.display());
                    Err(Error::not_found(text).with_hint("treering token list FILE shows the clients"))
                })?;
                let text = format!("the token of {name} opens nothing any more");
                context.say(&Revoked { revoked: name }, text)
            }
        }
    }
}

impl Add {
    fn run(self, context: &mut Context) -> Done {
        let actor = context.lane_options().actor.clone();
        let actor = actor.unwrap_or_else(|| self.name.clone());
        check_name("a client", &self.name)?;
        check_name("an actor", &actor)?;
        for scope in &self.scopes {
            if scope != "global" && scope != "project" {
                Scope::new(scope)?;
            }
        }
        let token = new_token(&Memory::in_memory()?)?;
        let row = Row {
            name: self.name.clone(),
            digest: String::new(),
            actor,
            scopes: self.scopes,
            trust_cap: self.trust_cap,
            read_only: self.read_only,
            fork: context.options.in_fork.clone(),
            takes_back_all: self.takes_back == "all",
            time: Time::now().to_string(),
        };
        add(&self.file, |clients| {
            if clients.iter().any(|client| client.name == self.name) {
                let text = format!("{} already has a client '{}'", self.file.display(), self.name);
                return Err(Error::invalid(text).with_hint("choose another name, or revoke the client first"));
            }
            clients.push(row.with_token(token.reveal()));
            Ok(())
        })?;
        let added = Added {
            name: self.name,
            token: token.reveal().to_owned(),
        };
        // A shell takes the token from standard output.
        context.say(&added, &added.token)?;
        let text = format!("added {}; its token is shown only now", added.name);
        context.note_for_people("token", text);
        context.note_for_people(
            "next",
            format!(
                "admit it with: treering serve --http ADDR --tokens {}",
                quoted(&self.file)
            ),
        );
        Ok(DONE)
    }
}

//! A client of a team server: who it is, and what its token permits.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - TMC-1: what a client does is done as its actor, in sessions that no other client has, at most as trusted as its cap.
//!   Nothing that it sends changes this.
//! - TMC-2: a client takes back and brings back only what its own actor wrote or forgot, unless its token permits more.
//! - TMC-3: a client that only reads changes no object, reference or session.

use std::sync::Arc;

use super::{Caller, Service};
use treering::agent::Confinement;
use treering::revert::Selection;
use treering::{Error, ErrorCode, Origin, Result};

/// What stands between the name of a client and that of its session. No name of a client contains it.
const SEPARATOR: char = '/';

/// A client, as the file of tokens describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// The actor of what it writes.
    pub(crate) actor: String,
    /// The scopes that it reads and writes, the first one for new items. Without any: those of the server.
    pub(crate) scopes: Vec<String>,
    /// The class that its writes have at most.
    pub(crate) trust_cap: Origin,
    pub(crate) only_reads: bool,
    /// The line that it works on, else that of the server.
    pub(crate) fork: Option<String>,
    /// When its token was made.
    pub(crate) made: String,
    pub(crate) takes_back_all: bool,
}

impl Client {
    /// Returns the name of a session of the client (TMC-1).
    pub(crate) fn session(&self, name: &str) -> String {
        format!("{}{SEPARATOR}{name}", self.name)
    }
}

impl Caller {
    /// Returns the caller for a client (TMC-1).
    pub(crate) fn of_client(&self, client: &Arc<Client>) -> Self {
        let mut caller = self.clone();
        let writer = &mut caller.who.writer;
        writer.actor = Some(client.actor.clone());
        writer.trust = Origin::least(writer.trust, client.trust_cap);
        if !client.scopes.is_empty() {
            caller.who.confinement = Confinement::Only(client.scopes.clone());
        }
        caller.client = Some(Arc::clone(client));
        caller
    }

    /// Puts the name of the session among those of the client (TMC-1).
    pub(crate) fn keep_session_of_client(&mut self) {
        if let Some(client) = &self.client {
            self.who.writer.session = Some(client.session(self.session()));
        }
    }
}

impl Service {
    fn restricted(&self) -> Option<&Client> {
        let client = self.caller().client.as_deref();
        client.filter(|client| !client.takes_back_all)
    }

    /// Returns an error if the client only reads (TMC-3).
    ///
    /// # Errors
    /// `Denied` (code `read_only`).
    pub(crate) fn check_writes(&self) -> Result<()> {
        match &self.caller().client {
            Some(client) if client.only_reads => {
                let text = format!("the token of '{}' only reads", client.name);
                Err(Error::denied(ErrorCode::ReadOnly, text)
                    .with_hint("nothing was changed; ask whoever runs the server for a token that writes"))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if the client may not take back the work of other lanes (TMC-2).
    ///
    /// # Errors
    /// `Denied` (code `other_lanes`).
    pub(crate) fn check_takes_back_others(&self) -> Result<()> {
        match self.restricted() {
            None => Ok(()),
            Some(client) => Err(Error::denied(
                ErrorCode::OtherLanes,
                format!(
                    "the token of '{}' takes back only what {} wrote",
                    client.name, client.actor
                ),
            )
            .with_hint("nothing was changed; undo, or revert a session of your own")),
        }
    }

    /// Returns the only actor whose work the client takes back; `None` if it takes back that of others, too (TMC-2).
    pub(crate) fn own_actor(&self) -> Option<&str> {
        self.restricted().map(|client| client.actor.as_str())
    }

    /// Returns the selection of what the client may take back of it (TMC-2).
    pub(crate) fn own_of(&self, selection: Selection) -> Selection {
        match self.own_actor() {
            Some(actor) => selection.actor(actor.to_owned()),
            None => selection,
        }
    }
}

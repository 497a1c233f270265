//! An agent with its caller, which every operation gets.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Client, MadeForks};
use crate::answers::history::SnapshotLine;
use treering::agent::{self, Agent, Reach};
use treering::inspect::agent::clean_writer;
use treering::inspect::engine::is_short_id;
use treering::{Error, ErrorKind, Id, Memory, Object, Origin, Result, Revision, Scope, View, Writer};

/// The default limit on the tokens of an answer.
pub(crate) const TOKENS_MAX: usize = 2_000;
/// The smallest limit on the tokens of an answer. An answer about one item fits into it.
pub(crate) const TOKENS_LEAST: usize = 200;

/// The number of forgotten items among which a short id is looked up.
const FORGOTTEN_MAX: usize = 1_000;

/// The form of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// One text, for a model.
    #[default]
    Text,
    /// JSON for a program, beside the text for a person.
    Structured,
}

/// Why the session lowers the class of a text.
const TAINTED: &str = "this session read or stored untrusted text before";

/// The untrusted class that a text got, with the reason if its session is tainted.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Lowered {
    /// The class of what was stored, if it is untrusted.
    pub(crate) trust: Origin,
    /// Why the text got this class, if the session is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trust_reason: Option<&'static str>,
}

impl fmt::Display for Lowered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "; class {}", self.trust)?;
        self.trust_reason
            .map_or(Ok(()), |reason| write!(out, ", because {reason}"))
    }
}

/// Who calls, and what an answer may contain.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The writer, the project in which the server was started, and the scopes to which the caller is confined.
    pub(crate) who: agent::Caller,
    /// Whether the session gets the name of the client in front, because nobody chose its name.
    pub(crate) names_session: bool,
    /// What tells the present session of the client, if the hooks of the client know it.
    pub(crate) follows: Option<Follows>,
    /// The other conversations of the client from which a call may come. If one is tainted, the call is untrusted.
    pub(crate) others: Vec<String>,
    /// The forks that the sessions of the server made (SRV-6).
    pub(crate) forks: MadeForks,
    /// The client of a team server, whose token came with the call.
    pub(crate) client: Option<Arc<Client>>,
    pub(crate) form: Form,
    pub(crate) tokens_max: usize,
}

/// What tells the sessions of a client: the present one, and others that its next call may come from.
#[derive(Clone)]
pub(crate) struct Follows(Arc<FindSessions>);

type FindSessions = dyn Fn() -> Option<(String, Vec<String>)> + Send + Sync;

impl Follows {
    pub(crate) fn new(sessions: impl Fn() -> Option<(String, Vec<String>)> + Send + Sync + 'static) -> Self {
        Self(Arc::new(sessions))
    }

    /// Returns the present session, and the others.
    pub(crate) fn sessions(&self) -> Option<(String, Vec<String>)> {
        (self.0)()
    }
}

impl fmt::Debug for Follows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Follows")
    }
}

impl Caller {
    pub(crate) fn session(&self) -> &str {
        self.who.writer.session.as_deref().unwrap_or_default()
    }
}

/// Returns whether a scope is that of a session or an actor. Its name repeats theirs.
pub(crate) fn is_of_caller(scope: &str) -> bool {
    scope.starts_with("session:") || scope.starts_with("agent:")
}

/// A snapshot with the class of its name, if the store tells it.
pub(crate) type NamedState = (SnapshotLine, Option<Origin>);

/// An agent with its caller. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Service {
    agent: Agent,
    caller: Arc<Caller>,
}

impl Service {
    pub(crate) fn new(agent: Agent, mut caller: Caller) -> Self {
        let view = || agent.memory().refresh();
        let is_tainted = |session: &String| view().and_then(|view| view.is_tainted(session)).unwrap_or(true);
        if caller.others.iter().any(is_tainted) {
            let writer = &mut caller.who.writer;
            writer.trust = Origin::least(writer.trust, Origin::ToolExternal);
        }
        Self {
            agent,
            caller: Arc::new(caller),
        }
    }

    /// Returns the same service with answers of another form.
    pub(crate) fn answering(&self, form: Form) -> Self {
        let caller = Caller {
            form,
            ..self.caller().clone()
        };
        Self::new(self.agent.clone(), caller)
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.agent.memory()
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the session of the caller.
    pub(crate) fn session(&self) -> &str {
        self.caller.session()
    }

    /// Returns the writer of the caller (SRV-1), who takes back and brings back nothing outside of the caller's scopes
    /// (SRV-3).
    ///
    /// # Errors
    /// `Denied` (code `read_only`) for a client that only reads; the errors of [`Self::reach`].
    pub(crate) fn writer(&self) -> Result<Writer> {
        self.check_writes()?;
        self.caller.who.writer()
    }

    /// Returns the writer of a call that only shows what it would do, if it `is_dry`, which a client that only reads may call,
    /// too. Such a client has no session there, because a preview notes the class of its writer (TMC-3).
    ///
    /// # Errors
    /// The errors of [`Self::writer`].
    pub(crate) fn writer_of(&self, is_dry: bool) -> Result<Writer> {
        if !is_dry {
            return self.writer();
        }
        let mut writer = self.caller.who.writer()?;
        if self.check_writes().is_err() {
            writer.session = None;
        }
        Ok(writer)
    }

    /// Returns the class that a text of the caller gets: that of a tainted session is untrusted (TNT-2).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the session cannot be read.
    pub(crate) fn class(&self, view: &View) -> Result<Origin> {
        self.caller.who.class(view)
    }

    /// Taints the session, before an answer shows it untrusted texts: what it writes later may come from them (TNT-1).
    ///
    /// # Errors
    /// The errors of [`Memory::commit`].
    pub(crate) fn taint(&self) -> Result<()> {
        // A read of a tainted session writes nothing, so it does not wait for the lock.
        // A client that only reads writes nothing that could come from the text (TMC-3).
        if self.check_writes().is_err() || self.head()?.is_tainted(self.session())? {
            return Ok(());
        }
        self.memory().admit(Origin::ToolExternal, Some(self.session()))
    }

    /// Taints the session if its writer is untrusted, before a call that writes can be refused (TNT-4).
    ///
    /// # Errors
    /// The errors of [`Memory::commit`].
    pub(crate) fn admit(&self) -> Result<()> {
        if self.caller.who.writer.trust.is_trusted() {
            Ok(())
        } else {
            self.taint()
        }
    }

    /// Returns what an answer says of a text of this session that got an untrusted class. Another writer lowers nothing.
    pub(crate) fn lowered(&self, class: Origin) -> Lowered {
        let is_tainted = self.caller.who.writer.trust.is_trusted();
        Lowered {
            trust: class,
            trust_reason: is_tainted.then_some(TAINTED),
        }
    }

    /// Returns the snapshots, newest first, each with the class of its name if its session is tainted; and the number of
    /// those that stay out, because another such session named them (SRV-3).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a session or snapshot cannot be read.
    pub(crate) fn snapshots(&self, view: &View) -> Result<(Vec<NamedState>, usize)> {
        let (mut told, mut left_out) = (Vec::new(), 0);
        let mut tainted: BTreeMap<String, bool> = BTreeMap::new();
        for info in self.memory().snapshots()? {
            let session = info.session.clone().unwrap_or_default();
            let is_own = session == self.session();
            let is_tainted = match tainted.get(&session) {
                Some(known) => *known,
                None => !session.is_empty() && view.is_tainted(&session)?,
            };
            tainted.insert(session, is_tainted);
            // The name of an automatic snapshot is a number.
            if is_tainted && !is_own && info.index.is_none() {
                left_out += 1;
            } else {
                told.push((info.into(), is_tainted.then_some(Origin::ToolExternal)));
            }
        }
        Ok((told, left_out))
    }

    /// Returns the writer with markers instead of the secrets in its reason and source, for the verbs of the engine.
    ///
    /// # Errors
    /// `Denied` (code `refused`) if the actor or session contains a secret.
    pub(crate) fn clean(&self, writer: &Writer) -> Result<Writer> {
        clean_writer(self.agent.scanner(), writer)
    }

    /// Returns the state of the head, with the commits of other processes.
    ///
    /// # Errors
    /// The errors of [`Memory::refresh`].
    pub(crate) fn head(&self) -> Result<View> {
        self.memory().refresh()
    }

    /// Returns the state that `revision` names.
    ///
    /// # Errors
    /// The errors of [`Self::revision`]; `NotFound` if there is no such state.
    pub(crate) fn state(&self, revision: &str) -> Result<View> {
        match self.revision(revision)? {
            Revision::Head => Ok(self.memory().view()),
            revision => self.memory().view_at(&revision, self.session()),
        }
    }

    /// Returns the scope of a new item: the scope that `word` names, else the default scope of the caller.
    ///
    /// # Errors
    /// The errors of [`agent::Caller::scope`].
    pub(crate) fn scope(&self, word: Option<ScopeWord>) -> Result<Scope> {
        self.caller.who.scope(word.map(ScopeWord::name))
    }

    /// Returns the scopes that the caller reads: the named one, else all of its scopes.
    ///
    /// # Errors
    /// The errors of [`Self::scope`].
    pub(crate) fn reach(&self, word: Option<ScopeWord>) -> Result<Reach> {
        self.caller.who.reach(word.map(ScopeWord::name).as_slice())
    }

    /// Returns the id that a call names. A text in the form of a short id is always a short id: that of an item of a state
    /// in the caller's scopes, or of one that was forgotten there. So it names no other item that has this text as its id.
    ///
    /// # Errors
    /// `NotFound` if no item has the short id; `InvalidInput` if the text is no id, or (code `ambiguous`) if several ids
    /// have the short id.
    pub(crate) fn id(&self, view: &View, text: &str) -> Result<Id> {
        if !is_short_id(text) {
            return Id::new(text);
        }
        let reach = self.reach(None)?;
        let is_here = |object: &Object| reach.has(object.scope());
        let found = match view.of_short_id(text) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => found?.filter(is_here),
        };
        if let Some(object) = found {
            return Ok(object.id().clone());
        }
        let forgotten = self.agent.forgotten(view, &reach, FORGOTTEN_MAX)?;
        let mut ids = forgotten.iter().map(|forgotten| forgotten.item.object().id());
        let id = ids.find(|id| view.short_id(id) == text).cloned();
        id.ok_or_else(|| {
            Error::not_found(format!("no item has the short id '{text}'"))
                .with_hint("memory_recall finds items by words, and memory_get without id lists them")
        })
    }

    /// Returns the ids that a call names.
    ///
    /// # Errors
    /// The errors of [`Self::id`].
    pub(crate) fn ids(&self, view: &View, texts: &[String]) -> Result<Vec<Id>> {
        texts.iter().map(|text| self.id(view, text)).collect()
    }

    /// Returns the object of a state that a call names, if the caller's scopes contain it (SRV-3).
    ///
    /// # Errors
    /// `NotFound` if the state has no such object in these scopes.
    pub(crate) fn object(&self, view: &View, text: &str) -> Result<Object> {
        let id = self.id(view, text)?;
        let reach = self.reach(None)?;
        let found = match view.get(&id) {
            // An erased object has no scope, so its caller learns no more than that it is gone.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => found?.filter(|object| reach.has(object.scope())),
        };
        found.ok_or_else(|| {
            Error::not_found(format!("no item has the id '{text}'"))
                .with_hint("memory_recall finds items by words, and memory_get without id lists them")
        })
    }
}

named! {
    /// A scope of the caller, as a call names it.
    #[derive(serde::Deserialize)]
    pub(crate) enum ScopeWord {
        /// What holds everywhere.
        Global => "global",
        /// What belongs to the current project.
        Project => "project",
    }
}

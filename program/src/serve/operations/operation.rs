//! The trait of an operation, and its entry in the table.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

pub(super) use super::answer::Answer;
use super::answer::Sent;
use super::arguments::fit;
pub(super) use super::page::Page;
use super::schema;
use crate::serve::Service;
use treering::{Error, ErrorCode, Result};
use treering_text::visible::printable;

named! {
    /// A set of operations. Each contains the ones before it.
    #[derive(PartialOrd, Ord)]
    #[derive(clap::ValueEnum)]
    pub(crate) enum Profile {
        /// Recall, remember, undo and status.
        Minimal => "minimal",
        /// Eight operations for an agent.
        Default => "default",
        /// Every operation, and the memory tool.
        Full => "full",
    }
}

/// What an operation does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The operation changes nothing.
    Reads,
    /// The operation adds. The same call twice may add twice.
    Adds,
    /// The operation changes or brings back.
    Changes,
    /// The operation can remove items from the state. Clients call it destructive.
    Removes,
}

/// An argument that chooses what the call does, and the arguments that only some of its values use.
pub(crate) struct Choice {
    pub(super) argument: &'static str,
    /// An older name of the argument, which is still read.
    pub(super) older: Option<&'static str>,
    pub(super) default: &'static str,
    /// The arguments, each with the values that use it.
    pub(super) users: &'static [(&'static str, &'static [&'static str])],
}

impl Choice {
    /// Gives an argument with the older name its name.
    fn rename(&self, arguments: &mut Map<String, Json>) {
        let older = self.older.filter(|_| !arguments.contains_key(self.argument));
        if let Some(given) = older.and_then(|older| arguments.remove(older)) {
            arguments.insert(self.argument.to_owned(), given);
        }
    }

    /// Returns an error if an argument is given that the chosen value does not use.
    fn check(&self, arguments: &Map<String, Json>) -> Result<()> {
        let argument = self.argument;
        let value = arguments.get(argument).and_then(Json::as_str);
        let value = value.unwrap_or(self.default);
        let is_given = |name: &str| {
            let given = arguments.get(name);
            given.is_some_and(|given| *given != Json::Bool(false))
        };
        let mut users = self.users.iter();
        let Some((name, users)) = users.find(|(name, users)| is_given(name) && !users.contains(&value))
        else {
            return Ok(());
        };
        let users = users.join(" or ");
        Err(Error::invalid(format!("{argument}: {value} does not use {name}"))
            .with_code(ErrorCode::Usage)
            .with_hint(format!(
                "nothing was changed; call again with {argument}: {users}, or without {name}"
            )))
    }
}

/// A request with its work.
pub(crate) trait Operation: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const TITLE: &'static str;
    const EFFECT: Effect;
    /// Whether a second equal call changes nothing more.
    const IS_IDEMPOTENT: bool = matches!(Self::EFFECT, Effect::Reads);
    const PROFILE: Profile;
    /// The argument that chooses what the call does, if there is one.
    const CHOICE: Option<Choice> = None;
    /// The field of the answer that pages divide: a list of rows.
    const PAGED: Option<&'static str> = None;
    /// Whether an answer may leave out items, which it counts (ANS-4).
    const LEAVES_OUT: bool = false;
    /// Returns whether the arguments say that they contain a text of somebody else. Reads arguments of any form, because
    /// a call with wrong arguments taints the session too (TNT-4).
    fn gives_foreign(_: &Map<String, Json>) -> bool {
        false
    }

    /// The answer, with exactly the fields that a model gets.
    type Answer: Serialize + JsonSchema;

    /// Does the work.
    ///
    /// # Errors
    /// The errors of the verb.
    fn run(self, service: &Service, page: &Page) -> Result<Answer<Self::Answer>>;
}

/// An operation in the table.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) effect: Effect,
    pub(crate) is_idempotent: bool,
    pub(crate) profile: Profile,
    /// Returns the schema of the arguments. Its `description` is the description of the operation.
    pub(crate) arguments: fn() -> Map<String, Json>,
    /// Returns the exact schema of a request, with what a plain one leaves out.
    #[cfg(feature = "http")]
    pub(crate) request: fn() -> Json,
    /// Returns the schema of the answer.
    pub(crate) answer: fn() -> Map<String, Json>,
    /// Reads the arguments, does the work, and returns the answer within the caller's limit.
    pub(crate) run: fn(&Service, Map<String, Json>) -> Result<Sent>,
}

pub(super) const fn entry<O: Operation>() -> Entry {
    Entry {
        name: O::NAME,
        title: O::TITLE,
        effect: O::EFFECT,
        is_idempotent: O::IS_IDEMPOTENT,
        profile: O::PROFILE,
        arguments: || schema::arguments::<O>(O::PAGED.is_some()),
        #[cfg(feature = "http")]
        request: || schema::request::<O>(O::PAGED.is_some()),
        answer: schema::answer::<O>,
        run: run::<O>,
    }
}

/// Answers a call. A refused call taints the session if it gave a text of somebody else (TNT-4).
fn run<O: Operation>(service: &Service, arguments: Map<String, Json>) -> Result<Sent> {
    let is_foreign = O::gives_foreign(&arguments);
    if O::EFFECT != Effect::Reads {
        service.admit()?;
    }
    let answered = answer::<O>(service, arguments);
    if is_foreign && answered.is_err() {
        service.taint()?;
    }
    answered
}

/// Reads the arguments, does the work, and returns the answer within the caller's limit.
fn answer<O: Operation>(service: &Service, mut arguments: Map<String, Json>) -> Result<Sent> {
    if let Some(choice) = O::CHOICE {
        choice.rename(&mut arguments);
    }
    // Some clients send null for an argument that the model left out. Only a known argument may be left out (OPS-2).
    if arguments.values().any(Json::is_null) {
        let known = schema::arguments::<O>(O::PAGED.is_some());
        let is_known = |name: &String| known.get("properties").is_some_and(|all| all.get(name).is_some());
        arguments.retain(|name, value| !value.is_null() || !is_known(name));
    }
    let cursor = O::PAGED.and_then(|_| arguments.remove("cursor"));
    let request = read::<O>(&mut arguments)?;
    let page = Page::read(service, cursor.as_ref(), &arguments)?;
    // Runs after the arguments are read, so an unknown argument or value has its own error.
    O::CHOICE.map_or(Ok(()), |choice| choice.check(&arguments))?;
    let answered = request.run(service, &page);
    let sent = answered.and_then(|answer| answer.sent::<O>(service, &page, &arguments));
    sent.map_err(|error| service.told(error, &arguments))
}

/// Reads the arguments. Only those that have not the form of the request are compared with its schema, which takes time.
fn read<O: Operation>(arguments: &mut Map<String, Json>) -> Result<O> {
    let of = |arguments: &Map<String, Json>| O::deserialize(Json::Object(arguments.clone()));
    if let Ok(request) = of(arguments) {
        return Ok(request);
    }
    let known = schema::arguments::<O>(false);
    fit(arguments, &known)?;
    of(arguments).map_err(|error| {
        let is_known = |name: &str| known.get("properties").is_some_and(|all| all.get(name).is_some());
        let unknown = arguments.keys().find(|name| !is_known(name));
        // For an unknown argument, the text of serde would list the others without `cursor` (OPS-2).
        let text = unknown.map_or_else(
            || error.to_string(),
            |name| format!("there is no argument '{name}'"),
        );
        Error::invalid(printable(&text))
            .with_code(ErrorCode::Usage)
            .with_hint(schema::valid_arguments::<O>(O::PAGED.is_some()))
    })
}

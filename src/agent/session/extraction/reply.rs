//! Reads facts from a model's reply.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use super::{FactSettings, ReplyReason};
use crate::ingest::json::{JsonError, balanced_end, parse_within};

/// The keys that may contain the text of a fact. The first key that exists wins.
const TEXT_KEYS: [&str; 3] = ["fact", "text", "content"];

named! {
    /// The subject of a fact.
    pub enum FactScope {
        /// A fact about the person.
        User => "user",
        /// A fact about the project and its environment.
        Env => "env",
    }
}

/// A fact in a reply.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Fact {
    /// The subject of the fact.
    pub scope: FactScope,
    /// The text of the fact: not empty, and without white space at its ends.
    pub text: String,
}

named! {
    /// The reason why the reader skips a part of a reply.
    pub enum SkipReason {
        NotAnObject => "the entry is not a JSON object",
        NoText => "the entry has no text under the key `fact`",
        NoScope => "the fact has no scope",
        UnknownScope => "the scope is neither `user` nor `env`",
        TooLong => "the fact has more characters than allowed",
        Repeated => "the fact repeats an earlier one",
        TooMany => "the reply has more facts than allowed",
    }
}

/// A skipped part of a reply.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct SkippedFact {
    /// The index of the part in the reply, from 0.
    pub place: usize,
    /// The reason why the part is skipped.
    #[schemars(with = "String")]
    pub reason: SkipReason,
}

/// The content of a reply.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Reply {
    /// The summary of the session, if there is one.
    pub summary: Option<String>,
    /// The facts in the order of the reply, without duplicates.
    pub facts: Vec<Fact>,
    /// The parts that the reader skipped.
    pub skipped: Vec<SkippedFact>,
}

impl Reply {
    fn skip(&mut self, place: usize, reason: SkipReason) {
        self.skipped.push(SkippedFact { place, reason });
    }
}

/// Reads a model's reply: JSON alone, in a code fence or between other words. Accepts a list of `{"scope", "fact"}`,
/// one such object, `{"facts": [...], "summary"?}`, or `{"user": [texts], "env": [texts]}`.
///
/// # Errors
/// Returns a [`ReplyReason`] if the reply contains no JSON of these forms. An empty list is not an error.
pub(crate) fn read_reply(reply: &str, settings: &FactSettings) -> Result<Reply, ReplyReason> {
    if reply.len() > settings.reply_bytes_max {
        return Err(ReplyReason::TooLong);
    }
    if reply.trim().is_empty() {
        return Err(ReplyReason::Empty);
    }
    let mut reason = ReplyReason::NotJson;
    let mut without_facts = None;
    for candidate in candidates(reply) {
        let json = parse_within(candidate, settings.depth_max).map_err(|error| match error {
            JsonError::NotJson | JsonError::BadValue => ReplyReason::NotJson,
            JsonError::TooDeep => ReplyReason::TooDeep,
            JsonError::KeyTwice(_) => ReplyReason::KeyTwice,
        });
        match json.and_then(|json| reply_of(&json, settings)) {
            Ok(found) if !found.facts.is_empty() || found.summary.is_some() => return Ok(found),
            // This candidate may be bracketed words before the facts, such as `[]`, so try the next candidate.
            Ok(found) => without_facts = without_facts.or(Some(found)),
            Err(other) if reason == ReplyReason::NotJson => reason = other,
            Err(_) => {}
        }
    }
    without_facts.ok_or(reason)
}

/// Reads the facts of a JSON value.
fn reply_of(json: &Json, settings: &FactSettings) -> Result<Reply, ReplyReason> {
    let (summary, items) = items_of(json)?;
    let mut reply = Reply {
        summary,
        ..Reply::default()
    };
    let items_max = settings.items_max;
    for (place, (item, scope)) in items.iter().take(items_max).enumerate() {
        match fact_of(item, *scope, settings) {
            Ok(fact) if !reply.facts.contains(&fact) => reply.facts.push(fact),
            Ok(_) => reply.skip(place, SkipReason::Repeated),
            Err(reason) => reply.skip(place, reason),
        }
    }
    if items.len() > items_max {
        // Report one skipped part for all facts beyond the limit.
        reply.skip(items_max, SkipReason::TooMany);
    }
    Ok(reply)
}

/// An entry of a reply, with the scope of its list if the list has one.
type Entry<'a> = (&'a Json, Option<FactScope>);

/// Returns the summary and the entries of a reply in any of the accepted forms.
fn items_of(json: &Json) -> Result<(Option<String>, Vec<Entry<'_>>), ReplyReason> {
    let map = match json {
        Json::Array(list) if list.is_empty() || list.iter().any(Json::is_object) => {
            return Ok((None, list.iter().map(|item| (item, None)).collect()));
        }
        Json::Object(map) => map,
        _ => return Err(ReplyReason::NotFacts),
    };
    let summary = map.get("summary").and_then(Json::as_str).map(str::trim);
    let summary = summary.filter(|text| !text.is_empty()).map(str::to_owned);
    let facts = map
        .get("facts")
        .map(|facts| facts.as_array().ok_or(ReplyReason::NotFacts));
    let mut lists = Vec::from_iter(facts.transpose()?.map(|list| (list, None)));
    for scope in FactScope::ALL {
        let list = map.get(scope.name()).and_then(Json::as_array);
        lists.extend(list.map(|list| (list, Some(scope))));
    }
    if summary.is_none() && lists.is_empty() {
        let is_fact = TEXT_KEYS.iter().any(|key| map.contains_key(*key));
        let alone = is_fact.then(|| vec![(json, None)]);
        return Ok((None, alone.ok_or(ReplyReason::NotFacts)?));
    }
    let items = lists
        .into_iter()
        .flat_map(|(list, scope)| list.iter().map(move |item| (item, scope)));
    Ok((summary, items.collect()))
}

fn fact_of(item: &Json, scope: Option<FactScope>, settings: &FactSettings) -> Result<Fact, SkipReason> {
    let (text, scope) = match (item, scope) {
        (Json::String(text), Some(scope)) => (Some(text.as_str()), scope),
        (Json::Object(map), _) => {
            let text = TEXT_KEYS.iter().find_map(|key| map.get(*key));
            let scope = match (map.get("scope"), scope) {
                (Some(Json::String(name)), _) => {
                    FactScope::from_name(&name.trim().to_ascii_lowercase()).ok_or(SkipReason::UnknownScope)?
                }
                (None, Some(scope)) => scope,
                _ => return Err(SkipReason::NoScope),
            };
            (text.and_then(Json::as_str), scope)
        }
        _ => return Err(SkipReason::NotAnObject),
    };
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or(SkipReason::NoText)?.to_owned();
    if text.chars().count() > settings.fact_chars_max {
        return Err(SkipReason::TooLong);
    }
    Ok(Fact { scope, text })
}

/// The maximum number of parts of a reply that are tried as JSON.
const CANDIDATES_MAX: usize = 16;

/// Returns the parts of a reply that may be JSON, the likeliest first: the whole reply, then the texts between matching
/// brackets. Stops at an unmatched bracket that begins like JSON, because the reply was probably cut off.
fn candidates(reply: &str) -> Vec<&str> {
    let mut found = vec![reply.trim()];
    let mut rest = reply;
    for _ in 1..CANDIDATES_MAX {
        let Some(start) = rest.find(['[', '{']) else { break };
        rest = &rest[start..];
        match balanced_end(rest.as_bytes()) {
            Some(length) => {
                found.push(&rest[..length]);
                rest = &rest[length..];
            }
            None if rest[1..].trim_start().starts_with(['{', '[', '"']) => break,
            None => rest = &rest[1..],
        }
    }
    found
}

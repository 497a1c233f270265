//! The end of a session: builds the prompt for a model, and stores the summary and the facts of the reply.
//!
//! The summary of the reply becomes an episode. A fact is stored only if extraction is enabled, the whole session is
//! trusted, and the person spoke often enough. The fact must also be within the limits, and must not repeat words that
//! occur only in pasted text. Other facts are quarantined with the reason, or refused. An unreadable reply changes
//! nothing.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SND-1: an episode and a fact have at most the class `model`, and at most the class of the least trusted entry of the
//!   session.
//! - SND-2: a session stores at most `facts_max` facts, even if the session ends several times.

use schemars::JsonSchema;
use serde::Serialize;

use super::attribution::TurnWords;
use super::entries::{has_role_of_person, is_person};
use super::episodes::{EPISODE_CHARS_MAX, episode_of};
use super::extraction::{
    Fact, FactScope, FactSettings, GateReason, Gates, Reply, SkippedFact, gate, prompt, read_reply,
};
use super::learning::unlearnt;
use super::lineage::{check_kind, session_id};
use super::transcript::{Transcript, read_transcript};
use crate::agent::Agent;
use crate::agent::change::review::{Reviewed, review};
use crate::agent::change::{Change, Fate, Rule, admit, change};
use crate::agent::item::{Item, NewItem, known_kind};
use crate::agent::scope::Reach;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::engine::{CommitInfo, Query, View, Writer};
use crate::error::{ErrorCode, Result};
use crate::object::{Id, Origin, Scope};
use treering_text::scan::Verdict;

/// The source attribute of facts that the end of a session stores.
const SOURCE: &str = "session end";

/// The prompt for the end of a session. Contains the reason if a reply to the prompt would store no facts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndPrompt {
    /// The session.
    pub session: String,
    /// The prompt.
    pub prompt: String,
    /// The reason why a reply would store no facts; `None` if a reply can store facts.
    #[schemars(with = "Option<String>")]
    pub gate: Option<GateReason>,
    /// The number of turns in which the person speaks.
    pub turns: usize,
    /// The number of entries of the session.
    pub entries: u64,
    /// Whether every entry of the session is trusted.
    #[serde(rename = "trusted")]
    pub is_trusted: bool,
    /// Whether the episode of the session is already stored.
    #[serde(skip)]
    pub has_episode: bool,
}

named! {
    /// The result for a fact of a reply.
    pub enum FactFate {
        /// The fact is stored.
        Stored => "stored",
        /// The same fact was stored earlier.
        Known => "known",
        /// The fact is quarantined.
        Quarantined => "quarantined",
        /// The fact is refused, and not quarantined.
        Refused => "refused",
    }
}

/// A fact of a reply, and its result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndedFact {
    /// The subject of the fact.
    pub about: FactScope,
    /// The text of the fact.
    pub text: String,
    /// The result.
    pub fate: FactFate,
    /// The id of the stored fact; `None` if the fact is not stored.
    pub id: Option<Id>,
    /// The reason why the fact is quarantined or refused.
    pub reason: Option<String>,
}

/// The answer to [`end_session`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ended {
    /// The session.
    pub session: String,
    /// The reason why the reply changed nothing; `None` if the reply was readable.
    pub reason: Option<String>,
    /// The id of the episode, if it is stored.
    pub episode: Option<Id>,
    /// The facts of the reply, in the order of the reply.
    pub facts: Vec<EndedFact>,
    /// The parts of the reply that the reader skipped.
    pub skipped: Vec<SkippedFact>,
    /// The names of the references below `rejected/`, one for each of the quarantined facts.
    pub held: Vec<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

impl Ended {
    /// Returns the answer for the end of a session that stored nothing.
    pub fn without(session: &str, reason: Option<String>, commit: CommitInfo) -> Self {
        Self {
            session: session.to_owned(),
            reason,
            episode: None,
            facts: Vec::new(),
            skipped: Vec::new(),
            held: Vec::new(),
            commit,
        }
    }
}

/// Returns the prompt for a model at the end of a session. `is_enabled` overrides the setting that enables the
/// extraction of facts.
///
/// # Errors
/// `NotFound` (code `no_session`) if the session does not exist; `InvalidInput` (code `other_scope`) if the session is
/// out of reach; also the errors of [`View::query`].
pub fn end_prompt(
    agent: &Agent,
    view: &View,
    reach: &Reach,
    session: &str,
    is_enabled: Option<bool>,
) -> Result<EndPrompt> {
    let transcript = read_transcript(view, reach, session)?;
    let settings = fact_settings(agent, is_enabled);
    let items = transcript.items.iter();
    let turns: Vec<_> = items
        .map(|item| (item.speaker().unwrap_or_default(), item.text()))
        .collect();
    Ok(EndPrompt {
        session: session.to_owned(),
        prompt: prompt(&turns, &settings),
        gate: gate(transcript.state, &settings).err(),
        turns: transcript.state.turns,
        entries: transcript.entries,
        is_trusted: transcript.state.is_trusted,
        has_episode: view.contains(&episode_id(session)?)?,
    })
}

/// Ends a session with a model's reply. Without a reply, builds the episode from sentences of the session and stores no
/// facts.
///
/// # Errors
/// `NotFound` (code `no_session`) if the session does not exist; `InvalidInput` (code `other_scope`) if the session is
/// out of reach; `Denied` (code `less_trusted`): an untrusted writer ends a session whose episode is more trusted; also
/// the errors of a commit. An unreadable reply is not an error.
pub fn end_session(
    agent: &Agent,
    reach: &Reach,
    session: &str,
    reply: Option<&str>,
    is_enabled: Option<bool>,
    writer: &Writer,
) -> Result<Ended> {
    admit(agent, writer, writer.trust, Some(session))?;
    let settings = fact_settings(agent, is_enabled);
    let reply = match reply.map(|reply| read_reply(reply, &settings)).transpose() {
        Ok(reply) => reply,
        Err(reason) => {
            let view = agent.memory().view();
            read_transcript(&view, reach, session)?;
            return Ok(Ended::without(session, Some(reason.to_string()), view.commit()));
        }
    };
    let done = change(agent, writer, &Rule::END_SESSION, |change| {
        let reply = reply.clone().unwrap_or_default();
        stage_end(change, reach, session, reply, settings)
    })?;
    Ok(Ended {
        held: done.held,
        commit: done.committed.commit,
        ..done.value
    })
}

fn fact_settings(agent: &Agent, is_enabled: Option<bool>) -> FactSettings {
    let mut settings = agent.settings().facts;
    settings.is_enabled = is_enabled.unwrap_or(settings.is_enabled);
    settings
}

fn stage_end(
    change: &mut Change<'_>,
    reach: &Reach,
    session: &str,
    reply: Reply,
    settings: FactSettings,
) -> Result<Ended> {
    change.enter(Some(session));
    let view = change.base().clone();
    let transcript = read_transcript(&view, reach, session)?;
    let episode = stage_episode(change, session, &transcript, reply.summary)?;
    // The episode is derived from the entries, and the facts from the episode. So an erasure of an entry also finds the
    // facts.
    let digest = episode.as_ref().map(|id| change.digest(id)).transpose()?;
    let sources = digest.flatten().map(|digest| vec![digest]);
    let sources = sources.unwrap_or_else(|| transcript.sources.clone());
    let facts = stage_facts(change, &transcript, session, reply.facts, &sources, &settings)?;
    Ok(Ended {
        episode,
        facts,
        skipped: reply.skipped,
        ..Ended::without(session, None, view.commit())
    })
}

/// Checks each fact with the scan, the person's own words and the gates, and stages, quarantines or refuses the fact. A
/// stored fact is derived from `sources`.
fn stage_facts(
    change: &mut Change<'_>,
    transcript: &Transcript,
    session: &str,
    facts: Vec<Fact>,
    sources: &[ObjectDigest],
    settings: &FactSettings,
) -> Result<Vec<EndedFact>> {
    let mut gates = Gates::new(transcript.state, settings);
    for scope in FactScope::ALL {
        let facts = Query::default()
            .kind(known_kind(kind::FACT))
            .scope(scope_of(scope, &transcript.scope))
            .attribute(attribute::SUBJECT, scope.name());
        for object in change.base().query(&facts)? {
            let item = Item::from(object?);
            if !item.object().origin().is_trusted() {
                continue;
            }
            // SND-2: facts that earlier ends of this session stored also count against `facts_max`.
            let is_own =
                item.session().as_deref() == Some(session) && item.source().as_deref() == Some(SOURCE);
            gates.add(scope, item.text(), is_own);
        }
    }
    let words = words_of(change.agent(), transcript);
    let mut ended = Vec::with_capacity(facts.len());
    for fact in facts {
        let reviewed = review(
            change.agent(),
            fact_item(&fact, session, &transcript.scope),
            change.class_of(fact_class(transcript))?,
        )?;
        let gate = if reviewed.verdict > Verdict::Flag {
            Err((FactFate::Quarantined, reviewed.reason()))
        } else if words.is_foreign(&fact.text) {
            let reason =
                "at least a quarter of the fact's words are only in pasted or quoted text or tool output";
            Err((FactFate::Quarantined, reason.to_owned()))
        } else {
            gates
                .admit(fact.scope, &reviewed.item.text)
                .map_err(|reason| match reason {
                    GateReason::Off => (FactFate::Refused, reason.to_string()),
                    GateReason::Known => (FactFate::Known, reason.to_string()),
                    _ => (FactFate::Quarantined, reason.to_string()),
                })
        };
        let (fate, id, reason) = match gate {
            Ok(()) => store_fact(change, transcript, sources, reviewed)?,
            Err((_, reason)) if reviewed.verdict == Verdict::Block => (FactFate::Refused, None, Some(reason)),
            Err((FactFate::Quarantined, reason)) => {
                let mut item = reviewed.item;
                item.derived_from.clone_from(&transcript.sources);
                let id = change.new_id(&item.scope, &item.kind)?;
                change.hold(item.into_object(id)?, fact_class(transcript), reason.clone())?;
                (FactFate::Quarantined, None, Some(reason))
            }
            Err((fate, reason)) => (fate, None, (fate != FactFate::Known).then_some(reason)),
        };
        ended.push(EndedFact {
            about: fact.scope,
            text: fact.text,
            fate,
            id,
            reason,
        });
    }
    Ok(ended)
}

/// SND-1: returns the class of an episode, and of a fact from a model's reply.
fn fact_class(transcript: &Transcript) -> Origin {
    Origin::least(Origin::Model, transcript.class)
}

fn store_fact(
    change: &mut Change<'_>,
    transcript: &Transcript,
    sources: &[ObjectDigest],
    mut reviewed: Reviewed,
) -> Result<(FactFate, Option<Id>, Option<String>)> {
    reviewed.item.derived_from = sources.to_vec();
    let id = change.new_id(&reviewed.item.scope, &reviewed.item.kind)?;
    match change.put_reviewed(id.clone(), reviewed, fact_class(transcript), |_| {}) {
        Ok(_) => Ok((FactFate::Stored, Some(id), None)),
        // A fact that exceeds a limit must not prevent the commit of the episode.
        Err(error) if error.code() == ErrorCode::OverLimit => {
            Ok((FactFate::Refused, None, Some(error.message().to_owned())))
        }
        Err(error) => Err(error),
    }
}

/// Collects the person's own words and the foreign words of all entries. Text of tools and pages is foreign. Text of
/// the model counts as neither.
fn words_of(agent: &Agent, transcript: &Transcript) -> TurnWords {
    let mut words = TurnWords::default();
    for item in &transcript.items {
        if is_person(item, &transcript.session) {
            words.add_turn(item.text(), &agent.settings().attribution);
        } else if item.object().origin().tag() >= Origin::ToolInternal.tag() {
            words.add_foreign(item.text());
        }
    }
    words
}

/// Stages the episode: the summary of the reply, or sentences of the session if the reply has no summary.
fn stage_episode(
    change: &mut Change<'_>,
    session: &str,
    transcript: &Transcript,
    summary: Option<String>,
) -> Result<Option<Id>> {
    let id = episode_id(session)?;
    check_kind(change, &id, kind::EPISODE)?;
    let text = match summary {
        Some(summary) => summary.chars().take(EPISODE_CHARS_MAX).collect(),
        None => {
            let items = transcript.items.iter();
            // The episode is no more trusted than the least trusted entry (SND-1), so the role is enough.
            let said = items.map(|item| {
                let is_said = has_role_of_person(item, &transcript.session);
                Ok((unlearnt(change, item)?, is_said))
            });
            episode_of(&said.collect::<Result<Vec<_>>>()?)
        }
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut item = NewItem::new(text);
    item.kind = known_kind(kind::EPISODE);
    item.scope = transcript.scope.clone();
    item.session = Some(session.to_owned());
    item.derived_from.clone_from(&transcript.sources);
    let parent = session_id(session)?;
    let passed = change.put(id.clone(), item, fact_class(transcript), |object| {
        object.parent = Some(parent);
    })?;
    Ok(matches!(passed.fate, Fate::Staged(_)).then_some(id))
}

fn fact_item(fact: &Fact, session: &str, scope: &Scope) -> NewItem {
    let mut item = NewItem::new(fact.text.clone());
    item.scope = scope_of(fact.scope, scope);
    item.subject = Some(fact.scope.name().to_owned());
    item.session = Some(session.to_owned());
    item.source = Some(SOURCE.to_owned());
    item
}

fn episode_id(session: &str) -> Result<Id> {
    Id::new(&format!("{}/{session}", kind::EPISODE))
}

/// Returns the scope of a fact: `global` for a fact about the person, else the scope of the session.
fn scope_of(about: FactScope, session: &Scope) -> Scope {
    match about {
        FactScope::User => Scope::default(),
        FactScope::Env => session.clone(),
    }
}

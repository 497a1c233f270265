//! The end of a session: what the host asks a model, and what becomes of the reply.
//!
//! The reply is told as an episode, and its facts pass the gates: extraction is switched on, everything that went into
//! the session is trusted, the person spoke often enough, no fact is made of pasted words, few facts, and room for them.
//! What a gate or the scan holds back waits for a person, with the reason. A reply that cannot be read changes nothing.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - SND-1: nothing that a reply says is trusted more than a model, or more than the least trusted entry of the session.
//! - SND-2: however often a session is ended, no more facts of it are stored than `facts_max`.

use super::attribution::{Backing, Span, SpanKind, backing, spans};
use super::entries::is_person;
use super::extraction::{
    Admission, Fact, FactScope, FactSettings, GateReason, HoldReason, PresentFacts, Reply, SkippedFact, Turn,
    admit, gate, prompt, read_reply,
};
use super::lineage::session_id;
use super::summarising::sentences;
use super::transcript::{Transcript, read_transcript};
use crate::agent::Agent;
use crate::agent::item::{Item, NewItem, known_kind};
use crate::agent::remember::Names;
use crate::agent::scope::Reach;
use crate::agent::staging::{Fate, Staging, with_tries};
use crate::agent::vocabulary::{attribute, kind, op};
use crate::engine::{CommitInfo, Query, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Origin, Scope, Value};
use crate::scan::Verdict;

/// Characters of an episode.
const EPISODE_CHARS_MAX: usize = 1_024;
/// What the facts of a session say of where they come from.
const SOURCE: &str = "session end";

/// What a host needs for the end of a session.
#[derive(Clone, Debug)]
pub struct EndPrompt {
    /// What to ask a model.
    pub prompt: String,
    /// Why nothing would be learned, if that is so.
    pub gate: Option<GateReason>,
    /// How often the person spoke.
    pub turns: usize,
    /// Entries of the session.
    pub entries: u64,
    /// Whether everything that went into the session is trusted.
    pub is_trusted: bool,
    /// Whether the session has its episode already.
    pub has_episode: bool,
}

/// What became of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactFate {
    /// It is stored under this id.
    Stored(Id),
    /// It was known, word for word.
    Known,
    /// It waits for a person.
    Quarantined(String),
    /// Nothing of it is kept.
    Refused(String),
}

impl FactFate {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stored(_) => "stored",
            Self::Known => "known",
            Self::Quarantined(_) => "quarantined",
            Self::Refused(_) => "refused",
        }
    }
}

/// A session was ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Why the reply changed nothing, if that is so.
    pub reason: Option<String>,
    /// The episode.
    pub episode: Option<Id>,
    /// The facts of the reply in their order.
    pub facts: Vec<(Fact, FactFate)>,
    /// What of the reply is no fact.
    pub skipped: Vec<SkippedFact>,
    /// Under which name a person finds what is held back.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

impl Ended {
    /// A session of which nothing was taken, and why.
    pub(crate) fn without(reason: String, commit: CommitInfo) -> Self {
        Self {
            reason: Some(reason),
            episode: None,
            facts: Vec::new(),
            skipped: Vec::new(),
            held: None,
            commit,
        }
    }
}

impl Agent {
    /// Returns what to ask a model at the end of a session. With `is_enabled` the host says for this session whether facts
    /// are extracted, else the settings do.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if there is no such session; `InvalidInput` (code `other_scope`) if it is out of reach; as
    /// [`View::query`].
    pub fn end_prompt(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
        is_enabled: Option<bool>,
    ) -> Result<EndPrompt> {
        let transcript = read_transcript(view, reach, session)?;
        let settings = self.fact_settings(is_enabled);
        let speakers: Vec<String> = transcript
            .items
            .iter()
            .map(|item| item.speaker().unwrap_or_default())
            .collect();
        let turns: Vec<Turn<'_>> = transcript
            .items
            .iter()
            .zip(&speakers)
            .map(|(item, speaker)| Turn {
                speaker,
                text: item.text(),
            })
            .collect();
        Ok(EndPrompt {
            prompt: prompt(&turns, &settings),
            gate: gate(&transcript.state(), &settings).err(),
            turns: transcript.turns,
            entries: transcript.entries,
            is_trusted: transcript.is_trusted,
            has_episode: view.contains(&episode_id(session)?)?,
        })
    }

    /// Ends a session with a model's reply, or without one: then the episode is made of sentences of the session, and
    /// nothing is learned.
    ///
    /// # Errors
    /// `NotFound` (code `no_session`) if there is no such session; `InvalidInput` (code `other_scope`) if it is out of reach; as
    /// a commit; `Denied` (code `less_trusted`): an untrusted writer ends a session whose episode is more trusted. A reply that
    /// cannot be read is no error.
    pub fn end_session(
        &self,
        reach: &Reach,
        session: &str,
        reply: Option<&str>,
        is_enabled: Option<bool>,
        writer: &Writer,
    ) -> Result<Ended> {
        let settings = self.fact_settings(is_enabled);
        let reply = match reply.map(|reply| read_reply(reply, &settings)).transpose() {
            Ok(reply) => reply,
            Err(reason) => {
                let view = self.memory().view();
                read_transcript(&view, reach, session)?;
                return Ok(Ended::without(reason.to_string(), view.commit()));
            }
        };
        with_tries(|| {
            self.try_end(
                reach,
                session,
                reply.clone().unwrap_or_default(),
                settings,
                writer,
            )
        })
    }

    fn fact_settings(&self, is_enabled: Option<bool>) -> FactSettings {
        let mut settings = self.settings().facts;
        settings.is_enabled = is_enabled.unwrap_or(settings.is_enabled);
        settings
    }

    fn try_end(
        &self,
        reach: &Reach,
        session: &str,
        reply: Reply,
        settings: FactSettings,
        writer: &Writer,
    ) -> Result<Ended> {
        let mut staging = Staging::new(self, writer)?;
        let view = staging.draft.base().clone();
        let transcript = read_transcript(&view, reach, session)?;
        let episode = self.stage_episode(&mut staging, session, &transcript, reply.summary)?;
        let admissions = self.judge(&view, session, &transcript, &reply.facts, settings)?;
        let mut facts = Vec::new();
        for (fact, judged) in reply.facts.into_iter().zip(admissions) {
            let fate = self.stage_fact(
                &mut staging,
                session,
                &transcript,
                episode.as_ref(),
                &fact,
                judged,
            )?;
            facts.push((fact, fate));
        }
        let done = staging.commit(self.memory(), op::SESSION)?;
        Ok(Ended {
            reason: None,
            episode,
            facts,
            skipped: reply.skipped,
            held: done.held,
            commit: done.committed.commit,
        })
    }

    /// Stages what happened in the session, in the words of the reply, else in its own.
    fn stage_episode(
        &self,
        staging: &mut Staging,
        session: &str,
        transcript: &Transcript,
        summary: Option<String>,
    ) -> Result<Option<Id>> {
        let id = episode_id(session)?;
        if staging
            .draft
            .get(&id)?
            .is_some_and(|object| object.kind() != kind::EPISODE)
        {
            return Err(
                Error::invalid(format!("the id '{id}' belongs to something that is no episode"))
                    .with_code(ErrorCode::IdTaken)
                    .with_hint(format!("`remove {id}` takes it away, and undo brings it back")),
            );
        }
        // SND-1.
        let class = match summary {
            Some(_) => Origin::least(Origin::Model, transcript.class),
            None => transcript.class,
        };
        let text = summary.unwrap_or_else(|| {
            let lines = transcript.items.iter().map(|item| format!("{}\n", item.text()));
            sentences(&lines.collect::<String>())
        });
        let text: String = text.chars().take(EPISODE_CHARS_MAX).collect();
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut item = NewItem::new(text);
        item.kind = known_kind(kind::EPISODE);
        item.scope = transcript.scope.clone();
        item.session = Some(session.to_owned());
        item.derived_from.clone_from(&transcript.sources);
        let parent = session_id(session)?;
        let passed = staging.put(self, id.clone(), item, class, |object| {
            object.parent = Some(parent);
        })?;
        Ok(matches!(passed.fate, Fate::Staged(_)).then_some(id))
    }

    /// Says of each fact whether it may be stored: `Err` is the reason why it may not.
    fn judge(
        &self,
        view: &View,
        session: &str,
        transcript: &Transcript,
        facts: &[Fact],
        mut settings: FactSettings,
    ) -> Result<Vec<Result<Admission, String>>> {
        let present = |scope: FactScope| present_facts(view, scope, &transcript.scope);
        let (user, env) = (present(FactScope::User)?, present(FactScope::Env)?);
        // SND-2.
        let learned = [&user, &env].into_iter().flatten();
        let learned = learned.filter(|item| {
            item.session().as_deref() == Some(session) && item.source().as_deref() == Some(SOURCE)
        });
        let facts_max = settings.facts_max;
        settings.facts_max = facts_max.saturating_sub(learned.count());
        let texts = |items: &[Item]| {
            items
                .iter()
                .map(|item| item.text().to_owned())
                .collect::<Vec<_>>()
        };
        let (user, env) = (texts(&user), texts(&env));
        let (user, env): (Vec<&str>, Vec<&str>) = (
            user.iter().map(String::as_str).collect(),
            env.iter().map(String::as_str).collect(),
        );
        let present = PresentFacts {
            user: &user,
            env: &env,
        };
        let spans = self.spans_of(transcript);
        let turns: Vec<(&str, &[Span])> = spans.iter().map(|(text, spans)| (*text, &spans[..])).collect();
        let mut judged: Vec<Option<String>> = Vec::new();
        let mut passed = Vec::new();
        for fact in facts {
            let mut item = NewItem::new(fact.text.clone());
            item.source = Some(SOURCE.to_owned());
            let reviewed = self.review(item)?;
            let reason = if reviewed.verdict >= Verdict::Quarantine {
                Some(reviewed.reason())
            } else if backing(&fact.text, &turns) == Backing::Foreign {
                Some("its words stand in pasted or foreign text only".to_owned())
            } else {
                passed.push(Fact {
                    scope: fact.scope,
                    text: reviewed.item.text,
                });
                None
            };
            judged.push(reason);
        }
        let mut admissions = admit(&passed, &transcript.state(), &present, &settings).into_iter();
        let judged = judged.into_iter().map(|reason| match reason {
            Some(reason) => Some(Err(reason)),
            None => admissions.next().map(|admission| {
                Ok(match admission {
                    Admission::Hold(HoldReason::TooMany { .. }) => {
                        Admission::Hold(HoldReason::TooMany { facts_max })
                    }
                    other => other,
                })
            }),
        });
        Ok(judged.flatten().collect())
    }

    /// What of each entry are the person's own words. What tools and pages said is foreign; the model's words are nobody's.
    fn spans_of<'a>(&self, transcript: &'a Transcript) -> Vec<(&'a str, Vec<Span>)> {
        let of_item = |item: &'a Item| {
            let text = item.text();
            let found = if is_person(item, &transcript.session) {
                spans(text, &self.settings().attribution)
            } else if item.object().origin().tag() >= Origin::ToolInternal.tag() {
                vec![Span {
                    range: 0..text.len(),
                    kind: SpanKind::Paste,
                }]
            } else {
                return None;
            };
            Some((text, found))
        };
        transcript.items.iter().filter_map(of_item).collect()
    }

    fn stage_fact(
        &self,
        staging: &mut Staging,
        session: &str,
        transcript: &Transcript,
        episode: Option<&Id>,
        fact: &Fact,
        judged: Result<Admission, String>,
    ) -> Result<FactFate> {
        let scope = scope_of(fact.scope, &transcript.scope);
        let mut item = NewItem::new(fact.text.clone());
        item.scope = scope.clone();
        item.subject = Some(fact.scope.name().to_owned());
        item.session = Some(session.to_owned());
        item.source = Some(SOURCE.to_owned());
        let now = staging.draft.base().now();
        let id = Names::since(now).make(self.memory(), &scope, &known_kind(kind::FACT))?;
        // SND-1.
        let class = Origin::least(Origin::Model, transcript.class);
        let reason = match judged {
            Ok(Admission::Known) => return Ok(FactFate::Known),
            Ok(Admission::Store) => {
                // By the episode to every entry: what is derived from an entry is found when it is erased.
                let episode = episode
                    .map(|episode| staging.draft.digest(episode))
                    .transpose()?
                    .flatten();
                item.derived_from = episode.map_or_else(|| transcript.sources.clone(), |digest| vec![digest]);
                let passed = match staging.put(self, id.clone(), item, class, |_| {}) {
                    // No room for a fact is no reason to lose the episode.
                    Err(error) if error.code() == ErrorCode::OverLimit => {
                        return Ok(FactFate::Refused(error.message().to_owned()));
                    }
                    passed => passed?,
                };
                return Ok(match passed.fate {
                    Fate::Staged(_) => FactFate::Stored(id),
                    Fate::Held => FactFate::Quarantined(passed.rules.join(", ")),
                    Fate::Refused => FactFate::Refused(passed.rules.join(", ")),
                });
            }
            Ok(Admission::Hold(HoldReason::Gate(GateReason::Off))) => {
                return Ok(FactFate::Refused(GateReason::Off.to_string()));
            }
            Ok(Admission::Hold(reason)) => reason.to_string(),
            Err(reason) => reason,
        };
        item.derived_from.clone_from(&transcript.sources);
        let reviewed = self.review(item)?;
        if reviewed.verdict == Verdict::Block {
            return Ok(FactFate::Refused(reason));
        }
        staging.hold(reviewed.item.into_object(id)?, class, reason.clone())?;
        Ok(FactFate::Quarantined(reason))
    }
}

fn episode_id(session: &str) -> Result<Id> {
    Id::new(&format!("{}/{session}", kind::EPISODE))
}

/// Where a fact belongs: what is about the person to every project, the rest to that of the session.
fn scope_of(about: FactScope, session: &Scope) -> Scope {
    match about {
        FactScope::User => Scope::default(),
        FactScope::Env => session.clone(),
    }
}

/// The facts that are stored about the person or the environment; what somebody untrusted said is none.
fn present_facts(view: &View, about: FactScope, session: &Scope) -> Result<Vec<Item>> {
    let found = view.query(&Query {
        kind: Some(known_kind(kind::FACT)),
        scope: Some(scope_of(about, session)),
        attributes: vec![(attribute::SUBJECT.to_owned(), Value::from(about.name()))],
        ..Query::default()
    })?;
    let trusted = found.filter(|object| {
        object
            .as_ref()
            .map_or(true, |object| object.origin().is_trusted())
    });
    trusted.map(|object| object.map(Item::from)).collect()
}

//! Facts that a session leaves without a model: sentences of the person's prompts that state rules and decisions.
//!
//! Each fact is a whole sentence of a prompt event, and derives from that entry alone. So a page that the session read has
//! no part in it, and the taint of the session does not lower it (TNT-5).
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - LRN-1: a learnt fact has at most the class `model`, and only the words of one prompt event.
//! - LRN-2: a session learns at most `facts_max` facts, and none before the person spoke `turns_min` times.
//! - LRN-3: a fact that somebody took away is not learnt again in its session. One that went with a turn is, if its prompt is
//!   of another turn.
//! - LRN-4: what a trusted item of the same scope and kind states is not learnt again.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::entries::mark;
use super::episodes::places;
use super::prompts::{last_version, prompt_event, was_reverted};
use super::stated::{Statement, stated};
use super::transcript::read_transcript;
use crate::agent::Agent;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::item::{Item, NewItem, known_kind};
use crate::agent::remember::is_known;
use crate::agent::scope::Reach;
use crate::agent::words::{normalised, plain_statement};
use crate::engine::{CommitInfo, Writer};
use crate::error::Result;
use crate::object::{Id, Origin, Scope};

/// The source attribute of learnt facts.
const SOURCE: &str = "prompt";

/// The answer to [`learn`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Learnt {
    /// The ids of the new facts.
    pub ids: Vec<Id>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Stores what the prompts of a session state.
///
/// # Errors
/// `NotFound` (code `no_session`) if the session does not exist; `InvalidInput` (code `other_scope`) if the session is out
/// of reach; also the errors of a commit.
pub fn learn(agent: &Agent, reach: &Reach, session: &str, writer: &Writer) -> Result<Learnt> {
    let settings = agent.settings().facts;
    let done = change(agent, writer, &Rule::LEARN, |change| {
        let transcript = read_transcript(&change.base().clone(), reach, session)?;
        let is_prompt = |item: &&Item| prompt_event(item.object()).is_some();
        let prompts: Vec<&Item> = transcript.items.iter().filter(is_prompt).collect();
        // LRN-2
        if prompts.len() < settings.turns_min {
            return Ok(Vec::new());
        }
        let mut learnt = 0;
        let mut ids = Vec::new();
        for prompt in &prompts {
            for statement in stated(prompt.text()) {
                let id = id_of(agent, &transcript.scope, &statement)?;
                match known(change, &id, session)? {
                    Known::Erased => continue,
                    Known::Learnt { here } => {
                        learnt += usize::from(here);
                        continue;
                    }
                    Known::No => {}
                }
                if learnt < settings.facts_max {
                    let new = fact_of(statement.text, statement.kind, prompt, session, &transcript.scope);
                    // LRN-4
                    if !is_known(agent, change.base(), &new)? && stage(change, &id, new)? {
                        learnt += 1;
                        ids.push(id);
                    }
                }
            }
        }
        Ok(ids)
    })?;
    Ok(Learnt {
        ids: done.value,
        commit: done.committed.commit,
    })
}

/// Returns the id of the item that a statement becomes.
fn id_of(agent: &Agent, scope: &Scope, statement: &Statement<'_>) -> Result<Id> {
    let text = normalised(&plain_statement(statement.text));
    let mark = mark(agent, &["learnt", scope.as_str(), &text]);
    Id::new(&format!("{}/{mark}", statement.kind))
}

/// What the store knows of the item that a statement becomes.
enum Known {
    No,
    /// Somebody erased the text.
    Erased,
    /// It is there, or it was learnt `here` and somebody took it away.
    Learnt {
        here: bool,
    },
}

fn known(change: &Change<'_>, id: &Id, session: &str) -> Result<Known> {
    let agent = change.agent();
    let present = change.present(id)?;
    let is_there = present.is_some();
    let last = present.map_or_else(|| last_version(agent, id), |present| Ok(Some(present)))?;
    let Some(last) = last else {
        let was_there = agent.memory().has_had(id)?;
        return Ok(if was_there { Known::Erased } else { Known::No });
    };
    let here = Item::from(last).session().as_deref() == Some(session);
    // LRN-3: its prompt still stands, if only the turn that learnt it went.
    let is_learnt = is_there || (here && !was_reverted(agent, id)?);
    Ok(if is_learnt {
        Known::Learnt { here }
    } else {
        Known::No
    })
}

/// Returns the text of an entry without the sentences that its session learnt (EPI-1).
pub(super) fn unlearnt<'i>(change: &Change<'_>, entry: &'i Item) -> Result<Cow<'i, str>> {
    let (object, text) = (entry.object(), entry.text());
    let Some(session) = entry.session().filter(|_| prompt_event(object).is_some()) else {
        return Ok(Cow::Borrowed(text));
    };
    let scope = Scope::new(object.scope())?;
    let mut learnt = Vec::new();
    for statement in stated(text) {
        let id = id_of(change.agent(), &scope, &statement)?;
        if !matches!(known(change, &id, &session)?, Known::No) {
            learnt.push(statement.text);
        }
    }
    if learnt.is_empty() {
        return Ok(Cow::Borrowed(text));
    }
    let (mut rest, mut from) = (String::new(), 0);
    for (at, sentence) in places(text, learnt) {
        rest.push_str(&text[from..at]);
        from = at + sentence.len();
    }
    rest.push_str(&text[from..]);
    Ok(Cow::Owned(rest))
}

fn fact_of(text: &str, kind: &'static str, prompt: &Item, session: &str, scope: &Scope) -> NewItem {
    let mut item = NewItem::new(text.trim());
    item.kind = known_kind(kind);
    item.scope = scope.clone();
    item.session = Some(session.to_owned());
    item.source = Some(SOURCE.to_owned());
    item.derived_from = vec![prompt.object().digest()];
    item
}

/// Stages a fact. Returns whether it is stored, and not quarantined or refused.
fn stage(change: &mut Change<'_>, id: &Id, item: NewItem) -> Result<bool> {
    change.expect(id, None);
    // LRN-1: the program chose the sentence, so it is at most as trusted as a model.
    let passed = change.put_prompted(id.clone(), item, Origin::Model, |_| {})?;
    Ok(matches!(passed.fate, Fate::Staged(_)))
}

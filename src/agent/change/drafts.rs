//! Saved drafts: staged changes of the guard, and quarantined changes.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::names::admitted;
use super::rule::Rule;
use crate::agent::agent::Agent;
use crate::engine::{Attempted, Check, Committed, Draft, Refusal, Reverted, Selection, Writer};
use crate::error::{ErrorCode, Result};

/// Creates a draft on the newest state for `writer`.
///
/// # Errors
/// The errors of [`admitted`]; `Corrupt` or `Io` if the state cannot be read.
pub(in crate::agent) fn begin(agent: &Agent, writer: &Writer) -> Result<Draft> {
    let writer = admitted(agent, writer)?;
    agent.memory().admit(writer.trust, writer.session.as_deref())?;
    Ok(agent.memory().draft(&writer))
}

/// Opens the saved draft `name` for `writer`.
///
/// # Errors
/// The errors of [`admitted`] and [`Memory::open_draft`](crate::Memory::open_draft).
pub(in crate::agent) fn open(agent: &Agent, name: &str, writer: &Writer) -> Result<Draft> {
    agent.memory().open_draft(name, &admitted(agent, writer)?)
}

/// Saves a draft as `drafts/NAME`. The caller must have redacted the draft (GRD-4).
///
/// # Errors
/// The errors of [`Memory::save_draft`](crate::Memory::save_draft).
pub(in crate::agent) fn save(agent: &Agent, draft: &Draft, name: &str) -> Result<()> {
    agent.memory().save_draft(draft, name)
}

/// Deletes a draft.
///
/// # Errors
/// The errors of [`admitted`] and [`Memory::delete_draft`](crate::Memory::delete_draft).
pub(in crate::agent) fn delete(agent: &Agent, name: &str, writer: &Writer) -> Result<()> {
    agent.memory().delete_draft(name, &admitted(agent, writer)?)
}

/// Commits a draft with the authorisation of `rule`.
///
/// # Errors
/// The errors of [`Memory::commit`](crate::Memory::commit).
pub(in crate::agent) fn commit(agent: &Agent, mut draft: Draft, rule: &Rule) -> Result<Committed> {
    // STA-2: the rule authorises the commit.
    draft.authorise(rule.authorisation);
    if rule.snapshot_before {
        draft.snapshot_before();
    }
    agent.memory().commit(draft, rule.op)
}

/// Reverts what a session committed, as the actor `guard` with the class of `writer`. The commit belongs to no session, so
/// the session cannot undo it. Returns `None` if the session committed nothing that stands.
///
/// # Errors
/// The errors of [`admitted`] and [`Revert::by`](crate::revert::Revert::by).
pub(in crate::agent) fn revert_session(
    agent: &Agent,
    session: &str,
    reason: &str,
    writer: &Writer,
) -> Result<Option<Reverted>> {
    let guard = Writer::of(writer.trust).actor("guard").reason(reason);
    let revert = agent.memory().revert(Selection::default().session(session));
    match revert.by(&admitted(agent, &guard)?) {
        Err(error) if error.code() == ErrorCode::NothingSelected => Ok(None),
        reverted => Ok(Some(reverted?).filter(|reverted| reverted.committed.changed)),
    }
}

/// Runs `change` on a draft, then `check`, and commits the draft if both succeed. Otherwise saves the draft under
/// `rejected/`.
///
/// # Errors
/// The errors of [`Memory::attempt`](crate::Memory::attempt).
pub(in crate::agent) fn attempt<T>(
    agent: &Agent,
    mut draft: Draft,
    change: impl FnOnce(&mut Draft) -> Result<T>,
    check: &Check<'_>,
) -> std::result::Result<Attempted<T>, Refusal> {
    draft.authorise(Rule::GUARD.authorisation);
    let redacted = |reason: &str| agent.scanner().redact(reason).into_owned();
    let memory = agent.memory();
    memory.attempt_as(Rule::GUARD.op, draft, change, &[check], &redacted)
}

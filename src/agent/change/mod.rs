//! The only module through which the verbs of the agent change the store.
//!
//! A verb names its [`Rule`] and stages items on a [`Change`]. The change reviews every text, reserves quota for every
//! new item, and quarantines each item that a person must judge. The whole change is one commit, authorised by the
//! rule. docs/agent/write-path.md lists the verbs with their rules.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - STA-1: a change reviews every text before it stages the text. A change commits no text that the review blocked or
//!   quarantined.
//! - STA-2: every commit of the layer names its rule, and the engine authorises the commit by that rule.

pub(super) mod documents;
pub(super) mod drafts;
pub(super) mod ids;
pub(super) mod names;
pub(super) mod quota;
pub(super) mod review;
mod rule;

use self::ids::IdGenerator;
use self::quota::Quota;
use self::review::{Reviewed, review};
pub(super) use self::rule::Rule;
use super::agent::Agent;
use super::item::NewItem;
use super::remember::unless_erased;
use crate::digest::ObjectDigest;
use crate::engine::{Committed, Draft, OriginRule, Staged, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Kind, NewObject, Object, Origin, ReferenceName, Scope};
use treering_text::scan::Verdict;

/// The maximum number of attempts of a change that conflicts with other writers.
const TRIES: usize = 16;

/// A change in preparation: one draft to commit, and one draft for each quarantined item, all on the same state.
pub(super) struct Change<'a> {
    agent: &'a Agent,
    draft: Draft,
    /// Each quarantined item alone, so that a person releases one without the others, and the reason.
    held: Vec<(Draft, String)>,
    /// The session in which the change writes, besides that of its writer.
    entered: Option<String>,
    quota: Quota,
    ids: IdGenerator,
    has_expectations: bool,
    is_rehearsal: bool,
}

/// The outcome for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The item is staged.
    Staged(Staged),
    /// The item is quarantined until a person judges it.
    Held,
    /// The item is refused and not stored.
    Refused,
}

/// The result of the review and staging of an item.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) fate: Fate,
    pub(super) verdict: Verdict,
    /// The rules of the scan that the item matched.
    pub(super) rules: Vec<&'static str>,
    /// Whether a marker replaced a secret in the item.
    pub(super) is_redacted: bool,
}

/// The answer of a verb, with its commit.
pub(super) struct Outcome<T> {
    pub(super) value: T,
    /// The commit, or the head if nothing changed.
    pub(super) committed: Committed,
    /// The names of the drafts under `rejected/`, one for each quarantined item.
    pub(super) held: Vec<String>,
}

/// Taints the sessions of a call if its writer or its text is untrusted, before the verb can refuse the text (TNT-4).
/// Every verb that gets a text calls this first. `session` is the session that the call names.
///
/// # Errors
/// `Denied` (code `refused`) if the writer's session contains a secret; the errors of a commit.
pub(super) fn admit(agent: &Agent, writer: &Writer, class: Origin, session: Option<&str>) -> Result<()> {
    let class = Origin::least(writer.trust, class);
    if class.is_trusted() || agent.settings().is_disabled {
        return Ok(());
    }
    if let Some(own) = &writer.session {
        names::refuse_secret(agent.scanner(), "the session", own)?;
        agent.memory().admit(class, Some(own))?;
    }
    // A marker replaces a secret in the session of an item.
    let given = session.map(|session| agent.scanner().redact(session));
    agent.memory().admit(class, given.as_deref())
}

/// Makes a change: `stage` adds the items, and `rule` authorises the commit. If another writer changed the same ids and
/// `rule` allows a retry, runs `stage` again on the new head.
///
/// # Errors
/// The errors of `stage`; `Denied` (code `less_trusted`) if the rule does not authorise the writer, (code
/// `disabled`) if the memory is disabled, (code `refused`) if the actor or session contains a secret; also the errors
/// of [`Memory::commit`](crate::Memory::commit).
pub(super) fn change<T>(
    agent: &Agent,
    writer: &Writer,
    rule: &Rule,
    mut stage: impl FnMut(&mut Change<'_>) -> Result<T>,
) -> Result<Outcome<T>> {
    let mut once = || {
        let (value, committed, held) = change_once(agent, writer, rule, &mut stage)?;
        Ok(Outcome {
            value,
            committed,
            held: held?,
        })
    };
    if rule.retries {
        retry_on_conflict(once)
    } else {
        once()
    }
}

/// Makes a change as [`change`] does, without a retry. The last value of the result is the names of the drafts with the
/// quarantined items, or the error of saving them. The commit is made in both cases.
pub(super) fn change_once<T>(
    agent: &Agent,
    writer: &Writer,
    rule: &Rule,
    stage: impl FnOnce(&mut Change<'_>) -> Result<T>,
) -> Result<(T, Committed, Result<Vec<String>>)> {
    let mut change = Change::begin(agent, writer, rule)?;
    let staged = stage(&mut change);
    // INVARIANT TNT-4: a session is tainted when a call gives an untrusted class, even if the call is refused.
    let value = staged.or_else(|error| change.keep_taints(rule, error))?;
    let (committed, held) = change.commit(rule)?;
    let held = held.map_err(|error| {
        if committed.changed {
            error.behind_change("the quarantined content may be lost")
        } else {
            error
        }
    });
    Ok((value, committed, held))
}

impl<'a> Change<'a> {
    fn begin(agent: &'a Agent, writer: &Writer, rule: &Rule) -> Result<Self> {
        let writer = names::admitted(agent, writer)?;
        let memory = agent.memory();
        memory.refresh()?;
        let mut draft = memory.draft(&writer);
        if rule.snapshot_before {
            draft.snapshot_before();
        }
        draft.authorise(rule.authorisation);
        Ok(Self {
            held: Vec::new(),
            entered: None,
            quota: Quota::new(agent.settings().quotas.items_max),
            ids: IdGenerator::since(draft.base().now()),
            has_expectations: false,
            is_rehearsal: false,
            draft,
            agent,
        })
    }

    pub(super) fn agent(&self) -> &'a Agent {
        self.agent
    }

    /// Returns the state to which the change applies.
    pub(super) fn base(&self) -> &View {
        self.draft.base()
    }

    /// Returns the draft, for reading.
    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Returns the origin class of the writer.
    pub(super) fn class(&self) -> Origin {
        self.draft.writer().trust
    }

    /// Returns the least trusted of `class`, the class of the writer and the class of the sessions of the change.
    pub(super) fn class_of(&self, class: Origin) -> Result<Origin> {
        self.draft.class_of(class)
    }

    /// Makes the change write in `session`, besides the session of its writer.
    pub(super) fn enter(&mut self, session: Option<&str>) {
        self.draft.enter(session);
        self.entered = session.map(str::to_owned);
    }

    /// Taints the writer's session and `session`, in which the change gets a text of this class, if the class is
    /// untrusted (TNT-4). Must precede every check of the text.
    pub(super) fn admit(&mut self, class: Origin, session: Option<&str>) -> Result<()> {
        if class.is_trusted() {
            return Ok(());
        }
        let own = self.draft.writer().session.clone();
        let given = session.map(|session| self.agent.scanner().redact(session).into_owned());
        // A name that no taint can have is no name of a session, so the engine refuses every text in it.
        let is_name = |session: &String| ReferenceName::of_taint(session).is_ok();
        for session in own.into_iter().chain(given).filter(is_name) {
            self.draft.taint(&session)?;
        }
        Ok(())
    }

    /// Writes the taints of a refused change, and returns the error. A change that is repeated keeps none, because the
    /// texts before the untrusted one would lose their class.
    fn keep_taints<T>(&mut self, rule: &Rule, error: Error) -> Result<T> {
        let is_repeated = rule.retries && error.code() == ErrorCode::Conflict;
        if self.is_rehearsal || is_repeated {
            return Err(error);
        }
        let tainted = self.draft.admit();
        Err(self.agent.memory().keep_taints_behind(tainted, error))
    }

    /// Returns whether a session is tainted, after the staged changes.
    pub(super) fn is_tainted(&self, session: &str) -> Result<bool> {
        self.draft.is_tainted(session)
    }

    /// Taints a session and the sessions above it when the change is committed.
    pub(super) fn taint(&mut self, session: &str) -> Result<()> {
        self.draft.taint(session)
    }

    /// Returns the object with an id, after the staged changes.
    pub(super) fn get(&self, id: &Id) -> Result<Option<Object>> {
        self.draft.get(id)
    }

    /// Returns the object with an id as [`Self::get`] does, but returns `None` if the version was erased.
    pub(super) fn present(&self, id: &Id) -> Result<Option<Object>> {
        unless_erased(self.draft.get(id))
    }

    /// Returns the version of an id, after the staged changes.
    pub(super) fn digest(&self, id: &Id) -> Result<Option<ObjectDigest>> {
        self.draft.digest(id)
    }

    /// Returns a new id.
    pub(super) fn new_id(&mut self, scope: &Scope, kind: &Kind) -> Result<Id> {
        self.ids.new_id(self.agent.memory(), scope, kind)
    }

    /// Makes the commit fail with a conflict unless the id has this version.
    pub(super) fn expect(&mut self, id: &Id, version: Option<ObjectDigest>) {
        self.has_expectations = true;
        self.draft.expect(id, version);
    }

    /// Reviews an item and stages it under `id`, with an origin no more trusted than `class`. `place` sets the
    /// parent and the position of the object.
    pub(super) fn put(
        &mut self,
        id: Id,
        item: NewItem,
        class: Origin,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        let class = self.class_of(class)?;
        self.put_by(id, item, class, OriginRule::AtMost(class), place)
    }

    /// Reviews and stages an item as [`Self::put`] does. The taint of a session does not lower its class, because a person
    /// typed its text at the prompt of a client, or every word of it is from such texts (TNT-5).
    pub(super) fn put_prompted(
        &mut self,
        id: Id,
        item: NewItem,
        class: Origin,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        let class = Origin::least(self.class(), class);
        self.put_by(id, item, class, OriginRule::Prompted(class), place)
    }

    fn put_by(
        &mut self,
        id: Id,
        item: NewItem,
        class: Origin,
        rule: OriginRule,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        let item = NewItem {
            id: Some(id.clone()),
            ..item
        };
        let reviewed = review(self.agent, item, class)?;
        self.stage_reviewed(id, reviewed, class, rule, place)
    }

    /// Stages an item as [`Self::put`] does, without another review.
    pub(super) fn put_reviewed(
        &mut self,
        id: Id,
        reviewed: Reviewed,
        class: Origin,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        self.stage_reviewed(id, reviewed, class, OriginRule::AtMost(class), place)
    }

    fn stage_reviewed(
        &mut self,
        id: Id,
        reviewed: Reviewed,
        class: Origin,
        rule: OriginRule,
        place: impl FnOnce(&mut NewObject),
    ) -> Result<Passed> {
        let (verdict, rules, is_redacted) = (reviewed.verdict, reviewed.rules, reviewed.is_redacted);
        let mut object = reviewed.item.into_object(id)?;
        place(&mut object);
        // STA-1: the verdict decides whether the item is staged.
        let fate = match verdict {
            Verdict::Block => Fate::Refused,
            Verdict::Quarantine => {
                let reason = format!("the scan found {}", rules.join(", "));
                self.hold(object, class, reason)?;
                Fate::Held
            }
            Verdict::Allow | Verdict::Flag => {
                let present = self.present(&object.id)?;
                self.reserve(&object, present.as_ref(), class, &[])?;
                Fate::Staged(self.draft.stage(object, rule)?)
            }
        };
        Ok(Passed {
            fate,
            verdict,
            rules,
            is_redacted,
        })
    }

    /// Stages a reviewed item as a statement of class `class`. `present` is the current object with the same id. The
    /// `superseded` items free quota for the new item.
    pub(super) fn say(
        &mut self,
        object: NewObject,
        class: Origin,
        present: Option<&Object>,
        superseded: &[Object],
    ) -> Result<Staged> {
        self.reserve(&object, present, class, superseded)?;
        self.draft.stage(object, OriginRule::Said(class))
    }

    /// Reserves quota for an object in its scope (ROO-2).
    fn reserve(
        &mut self,
        object: &NewObject,
        present: Option<&Object>,
        class: Origin,
        superseded: &[Object],
    ) -> Result<()> {
        let origin = self.draft.origin_at_most(object, class)?;
        self.quota
            .reserve(self.agent, &mut self.draft, (object, present), origin, superseded)
    }

    /// Quarantines a reviewed object for the `reason` of the verb.
    pub(super) fn hold(&mut self, object: NewObject, class: Origin, reason: String) -> Result<()> {
        let mut alone = self.agent.memory().draft(self.draft.writer());
        alone.enter(self.entered.as_deref());
        alone.stage(object, OriginRule::AtMost(self.class_of(class)?))?;
        self.held.push((alone, reason));
        Ok(())
    }

    /// Discards the staged objects, but not the quarantined objects.
    pub(super) fn keep_only_held(&mut self) {
        if !self.draft.is_empty() {
            let writer = self.draft.writer().clone();
            self.draft = self.agent.memory().draft(&writer);
            self.has_expectations = false;
        }
    }

    /// Stages a reviewed earlier version. The commit adds it to history but not to the state.
    pub(super) fn put_past(&mut self, object: &NewObject, class: Origin) -> Result<()> {
        self.draft.put_past(object, class).map(drop)
    }

    /// Stages a version with a shorter text, which decay made from a reviewed text.
    pub(super) fn shorten(&mut self, object: NewObject, class: Origin) -> Result<()> {
        self.draft.stage(object, OriginRule::AtMost(class)).map(drop)
    }

    /// Stages another version of an object with the same text. The text keeps its origin, because the writer did not
    /// write it (ORI-3).
    pub(super) fn restate(&mut self, object: NewObject) -> Result<Staged> {
        self.draft.stage(object, OriginRule::Restated)
    }

    /// Stages an object without a text, such as a session.
    pub(super) fn put_plain(&mut self, object: NewObject) -> Result<Staged> {
        names::check_names(self.agent, &object)?;
        self.draft.put(object)
    }

    /// Stages an object without a text, as [`Self::put_plain`] does, but the object keeps its origin if the writer is
    /// at least as trusted (ORI-3).
    pub(super) fn restate_plain(&mut self, object: NewObject) -> Result<Staged> {
        names::check_names(self.agent, &object)?;
        self.draft.stage(object, OriginRule::Restated)
    }

    /// Stages a version that a person has promoted (ORI-2).
    pub(super) fn promote(&mut self, object: NewObject) -> Result<()> {
        self.draft.stage(object, OriginRule::Promoted).map(drop)
    }

    /// Stages the removal of an id; returns false if the id has no object.
    pub(super) fn remove(&mut self, id: &Id) -> Result<bool> {
        self.draft.remove(id)
    }

    /// Stages the version that an id has in an earlier state.
    pub(super) fn restore(&mut self, id: &Id, from: &View) -> Result<()> {
        self.draft.restore(id, from).map(drop)
    }

    /// Stages an earlier version of an id.
    pub(super) fn restore_version(&mut self, id: &Id, version: ObjectDigest) -> Result<()> {
        self.draft.restore_version(id, version).map(drop)
    }

    /// Makes the change a dry run: its authorisation is checked, and nothing is committed.
    pub(super) fn rehearse(&mut self) {
        self.is_rehearsal = true;
    }

    /// Commits the staged objects, and saves each quarantined object under `rejected/`.
    fn commit(mut self, rule: &Rule) -> Result<(Committed, Result<Vec<String>>)> {
        if self.is_rehearsal {
            self.draft.check_authorisation()?;
        } else {
            self.draft.admit()?;
        }
        let memory = self.agent.memory();
        let is_idle = self.draft.is_idle() && !self.has_expectations;
        let committed = if self.is_rehearsal || is_idle {
            Committed {
                commit: self.draft.base().commit(),
                changed: false,
            }
        } else {
            memory.commit(self.draft, rule.op)?
        };
        if self.is_rehearsal {
            return Ok((committed, Ok(Vec::new())));
        }
        let saved = self
            .held
            .iter()
            .map(|(held, reason)| memory.quarantine(held, reason));
        let names = saved.filter_map(Result::transpose).collect();
        Ok((committed, names))
    }
}

/// Makes a change, and repeats it on the new head after a conflict with another writer.
pub(super) fn retry_on_conflict<T>(mut change: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..TRIES {
        match change() {
            Err(error) if error.code() == ErrorCode::Conflict => {}
            done => return done,
        }
    }
    change()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_conflict_with_another_writer_is_tried_again() {
        let tries_of = |error: &dyn Fn() -> Error| {
            let mut tries = 0;
            let done: Result<()> = retry_on_conflict(|| {
                tries += 1;
                Err(error())
            });
            assert!(done.is_err());
            tries
        };
        assert_eq!(tries_of(&|| Error::conflict("overtaken")), TRIES);
        assert_eq!(
            tries_of(&|| Error::conflict("elsewhere").with_code(ErrorCode::OtherScope)),
            1
        );
        assert_eq!(tries_of(&|| Error::invalid("wrong")), 1);
        let mut left = 3;
        let done = retry_on_conflict(|| {
            left -= 1;
            if left > 0 {
                Err(Error::conflict("overtaken"))
            } else {
                Ok(left)
            }
        });
        assert_eq!(done.unwrap(), 0);
    }
}

//! The verbs of a draft: staged changes that become one commit, or none.
//!
//! The checks of the caller run in JavaScript, before `commit`. It hands in their verdicts.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use treering::agent::{Checks, Guarded, NewItem, Policy, Report};
use treering::{Id, NewObject, ObjectDigest};

use crate::answer::{answer, committed, maybe_object, rows};
use crate::fault::{Done, Fault};
use crate::handle::{Store, Thing};
use crate::input::{At, Texts, Writer, digest, id, kind, texts};
use crate::memory::ObjectIn;
use crate::shapes as shape;
use crate::store::OfId;
use crate::verbs::{Host, Nothing};

/// One staged call, which a guard repeats on its own draft.
#[derive(Clone)]
enum Step {
    Put(Box<NewObject>),
    Remove(Id),
    RemoveRecursive(Id),
    Restore(Id, treering::View),
    Expect(Id, Option<ObjectDigest>),
}

impl Step {
    /// Stages the call. Returns a word for the outcome of a put, or the number of removed or restored objects.
    fn apply(self, draft: &mut treering::Draft) -> treering::Result<Json> {
        Ok(match self {
            Self::Put(object) => Json::from(match draft.put(*object)? {
                treering::Staged::Created => "created",
                treering::Staged::Updated => "updated",
                treering::Staged::Unchanged => "unchanged",
            }),
            Self::Remove(id) => Json::from(u64::from(draft.remove(&id)?)),
            Self::RemoveRecursive(id) => Json::from(draft.remove_recursive(&id)?),
            Self::Restore(id, from) => Json::from(draft.restore(&id, &from)?),
            Self::Expect(id, version) => {
                draft.expect(&id, version);
                Json::Null
            }
        })
    }

    fn id(&self) -> Option<&Id> {
        match self {
            Self::Put(object) => Some(&object.id),
            Self::Remove(id) | Self::RemoveRecursive(id) | Self::Restore(id, _) => Some(id),
            Self::Expect(..) => None,
        }
    }
}

/// The staged changes of a draft.
struct Staged {
    draft: treering::Draft,
    steps: Vec<Step>,
    /// Whether checks run. Then nothing is staged any more, so that the commit has what the checks saw.
    is_checked: bool,
}

/// Staged changes that become one commit, or none.
pub(crate) struct Draft {
    pub(crate) store: Store,
    /// The operation of the commit.
    op: String,
    /// The policy of a guarded turn.
    policy: Option<Policy>,
    staged: Mutex<Option<Staged>>,
}

impl Draft {
    fn staged(&self) -> Done<std::sync::MutexGuard<'_, Option<Staged>>> {
        self.store.shared.opened()?;
        Ok(self.staged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `work` with the staged changes.
    fn with<T>(&self, work: impl FnOnce(&mut Staged) -> Done<T>) -> Done<T> {
        self.staged()?
            .as_mut()
            .map_or_else(|| Err(Fault::finished()), work)
    }

    /// Takes the staged changes out of the draft, which finishes it.
    fn take(&self) -> Done<Staged> {
        self.staged()?.take().ok_or_else(Fault::finished)
    }

    fn stage(&self, step: Step) -> Done<Json> {
        self.with(|staged| {
            if staged.is_checked {
                return Err(checked());
            }
            let done = step.clone().apply(&mut staged.draft)?;
            if self.policy.is_some() {
                staged.steps.push(step);
            }
            Ok(done)
        })
    }
}

fn checked() -> Fault {
    Fault::invalid("the checks of the draft run, so it cannot change")
        .hint("stage every change before the commit")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    /// The operation of the commit. `put` without it.
    op: Option<String>,
    /// The text of a policy file. Then the commit is a guarded turn. An empty text is the usual policy.
    #[schemars(skip)]
    policy: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn begin(store: &Store, input: Begin, host: Host<'_>) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    let policy = input.policy.map(|text| policy_of(Some(text))).transpose()?;
    let draft = memory.draft(&writer);
    add(store, draft, input.op, policy, host)
}

/// Reads a policy from the text of a policy file; the usual one without a text.
pub(crate) fn policy_of(text: Option<String>) -> Done<Policy> {
    match text {
        Some(text) if !text.is_empty() => Ok(Policy::parse(&text)?),
        _ => Ok(Policy::default()),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenDraft {
    /// The name of a saved draft, or of a refused one (`rejected/…`).
    name: String,
    /// The operation of the commit. `put` without it.
    op: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn open(store: &Store, input: OpenDraft, host: Host<'_>) -> Done<Json> {
    let writer = Writer::or(input.writer, store);
    let draft = store.memory()?.open_draft(&draft_named(&input.name), &writer)?;
    add(store, draft, input.op, None, host)
}

fn add(
    store: &Store,
    draft: treering::Draft,
    op: Option<String>,
    policy: Option<Policy>,
    host: Host<'_>,
) -> Done<Json> {
    let staged = Staged {
        draft,
        steps: Vec::new(),
        is_checked: false,
    };
    let draft = Draft {
        store: store.with_writer(staged.draft.writer().clone()),
        op: op.unwrap_or_else(|| "put".to_owned()),
        policy,
        staged: Mutex::new(Some(staged)),
    };
    Ok(host.add(Thing::Draft(draft.into())))
}

/// Returns the whole name of a draft: without a class, that of a saved one.
pub(crate) fn draft_named(name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("drafts/{name}")
    }
}

pub(crate) fn put(draft: &Draft, input: ObjectIn) -> Done<Json> {
    draft.stage(Step::Put(Box::new(input.read()?)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutItem {
    text: String,
    id: String,
    /// `fact` without it.
    kind: Option<String>,
    /// Without a scope, the item belongs to the project, as with `remember`.
    scope: Option<String>,
    tags: Option<Texts>,
    source: Option<String>,
    #[serde(default)]
    pinned: bool,
}

pub(crate) fn put_item(draft: &Draft, input: PutItem) -> Done<Json> {
    let item = NewItem {
        kind: kind(input.kind.as_deref().unwrap_or("fact"))?,
        scope: draft.store.caller.scope(input.scope.as_deref())?,
        tags: texts(input.tags),
        source: input.source,
        is_pinned: input.pinned,
        ..NewItem::new(input.text)
    };
    draft.stage(Step::Put(Box::new(item.into_object(id(&input.id)?)?)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remove {
    id: String,
    /// Whether everything below the object goes, too.
    #[serde(default)]
    recursive: bool,
}

pub(crate) fn remove(draft: &Draft, input: Remove) -> Done<Json> {
    let id = id(&input.id)?;
    draft.stage(if input.recursive {
        Step::RemoveRecursive(id)
    } else {
        Step::Remove(id)
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restore {
    id: String,
    /// The state whose version comes back.
    from: At,
}

pub(crate) fn restore(draft: &Draft, input: Restore) -> Done<Json> {
    let view = At::view(Some(&input.from), &draft.store.shared)?;
    draft.stage(Step::Restore(id(&input.id)?, view))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    id: String,
    /// The digest of the version; null means that the object must be absent.
    version: Option<String>,
}

pub(crate) fn expect(draft: &Draft, input: Expect) -> Done<Json> {
    let version = input.version.as_deref().map(digest).transpose()?;
    draft.stage(Step::Expect(id(&input.id)?, version))
}

pub(crate) fn get(draft: &Draft, input: OfId) -> Done<Json> {
    let id = id(&input.id)?;
    draft.with(|staged| maybe_object(staged.draft.get(&id)?))
}

pub(crate) fn changes(draft: &Draft, _: Nothing) -> Done<Json> {
    draft.with(|staged| rows(&staged.draft.changes(), answer))
}

pub(crate) fn base(draft: &Draft, _: Nothing, host: Host<'_>) -> Done<Json> {
    let base = draft.with(|staged| Ok(staged.draft.base().clone()))?;
    host.view(&draft.store.shared, base)
}

/// Begins the checks. Until the changes are committed or discarded, nothing more is staged.
pub(crate) fn freeze(draft: &Draft, _: Nothing) -> Done<Json> {
    draft.with(|staged| match std::mem::replace(&mut staged.is_checked, true) {
        true => Err(checked()),
        false => Ok(Json::Null),
    })
}

/// The verdict of a check of the caller.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdict {
    name: String,
    /// The reason of a refusal.
    why: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commit {
    /// The operation, instead of that of the draft.
    op: Option<String>,
    #[schemars(skip)]
    verdicts: Option<Vec<Verdict>>,
}

/// Commits the staged changes, if every verdict is good. Else keeps them under `rejected/`.
pub(crate) fn commit(draft: &Draft, input: Commit) -> Done<Json> {
    let verdicts = input.verdicts.unwrap_or_default();
    if let Some(policy) = &draft.policy {
        if input.op.is_some() {
            return Err(
                Fault::invalid("a guarded turn has the operation `guard`").hint("call commit without op")
            );
        }
        return guarded(draft, policy.clone(), verdicts);
    }
    let memory = draft.store.memory()?;
    let mut staged = draft.take()?.draft;
    let failed = verdicts
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.name, one.why.as_ref()?)));
    let why = failed.collect::<Vec<_>>().join("; ");
    if !verdicts.is_empty() {
        if !why.is_empty() {
            return Err(rejected(&memory, &staged, &why)?);
        }
        staged.snapshot_before();
    }
    let done = memory.commit(staged, input.op.as_ref().unwrap_or(&draft.op))?;
    Ok(json!({ "committed": committed(&done)?, "report": null }))
}

fn rejected(memory: &treering::Memory, staged: &treering::Draft, why: &str) -> Done<Fault> {
    let ids = staged
        .changes()
        .iter()
        .map(|change| change.id.to_string())
        .collect();
    let kept = memory.quarantine(staged, why)?;
    let mut fault = Fault::new("Denied", "rejected", format!("the change was rejected: {why}"));
    fault.hint = kept.map(|name| format!("nothing was changed; the staged change is saved as {name}"));
    fault.ids = ids;
    Ok(fault)
}

/// Commits if the checks of a policy and of the caller pass.
fn guarded(draft: &Draft, policy: Policy, verdicts: Vec<Verdict>) -> Done<Json> {
    let agent = draft.store.agent()?;
    let Staged {
        draft: staged, steps, ..
    } = draft.take()?;
    let (writer, base) = (staged.writer().clone(), staged.base().clone());
    let change = move |guard: &mut treering::Draft| {
        // The guard has a newer base, so a conflict shows only in these expectations.
        for id in steps.iter().filter_map(|step| step.id()) {
            let version = base.get(id)?.map(|object| object.digest());
            guard.expect(id, version);
        }
        steps.into_iter().try_for_each(|step| step.apply(guard).map(drop))
    };
    let checks = verdicts.into_iter().fold(Checks::new(policy), |checks, one| {
        checks.and(one.name, move |_| one.why.clone().map_or(Ok(()), Err))
    });
    let refused = match agent.attempt(&writer, change, &checks)? {
        Guarded::Kept {
            committed, report, ..
        } => {
            let committed = self::committed(&committed)?;
            return Ok(json!({ "committed": committed, "report": report_of(&report)? }));
        }
        refused @ Guarded::Refused { .. } => refused,
    };
    let report = match &refused {
        Guarded::Refused { report, .. } => report_of(report)?,
        Guarded::Kept { .. } => Json::Null,
    };
    let error = refused.into_result().err().map(Fault::from);
    // The caller gets the report with the error.
    Ok(json!({ "report": report, "refused": error }))
}

fn report_of(report: &Report) -> Done<Json> {
    answer(&shape::Report::from(report))
}

/// Runs the checks of a policy. Changes nothing.
pub(crate) fn check(store: &Store, draft: &Draft, policy: Option<String>) -> Done<Json> {
    let (agent, policy) = (store.agent()?, policy_of(policy)?);
    draft.with(|staged| report_of(&agent.check(&staged.draft, &Checks::new(policy))?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Broken {
    why: String,
}

/// Keeps the changes under `rejected/`, because a check of the caller failed. Returns the name.
pub(crate) fn quarantine(draft: &Draft, input: Broken) -> Done<Json> {
    let memory = draft.store.memory()?;
    let staged = draft.take()?.draft;
    Ok(json!(memory.quarantine(&staged, &input.why)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Save {
    name: String,
}

pub(crate) fn save(draft: &Draft, input: Save) -> Done<Json> {
    let memory = draft.store.memory()?;
    draft.with(|staged| match staged.is_checked {
        true => Err(checked()),
        false => Ok(memory.save_draft(&staged.draft, &input.name)?),
    })?;
    draft.take().map(|_| Json::Null)
}

/// Drops the staged changes. A second call does nothing.
pub(crate) fn discard(draft: &Draft, _: Nothing) -> Done<Json> {
    *draft.staged.lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(Json::Null)
}

/// Whether the draft was committed or discarded.
pub(crate) fn finished(draft: &Draft, _: Nothing) -> Done<Json> {
    Ok(Json::from(draft.staged()?.is_none()))
}

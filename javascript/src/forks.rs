//! The verbs of forks and merges: a line of its own for a task, and the merge that brings its work back.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value as Json;
use treering::Memory;
use treering::merge::{ConflictSide, OpenConflict, Resolution, Strategy};

use crate::answer::{answer, answer_with, committed, maybe_object, rows};
use crate::fault::{Done, Fault};
use crate::handle::{Opened, Store};
use crate::input::{At, Trust, Writer, digest, id};
use crate::shapes as shape;
use crate::store::Named;
use crate::verbs::{Host, Nothing};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fork {
    name: String,
    /// The state at which the fork begins. Without it, the newest one.
    at: Option<At>,
    /// The most trusted class that a write through the fork gets.
    trust_cap: Option<Trust>,
    writer: Option<Writer>,
}

pub(crate) fn fork(store: &Store, input: Fork, host: Host<'_>) -> Done<Json> {
    let (opened, writer) = (store.shared.opened()?, Writer::or(input.writer, store));
    let mut fork = opened.memory.fork(&input.name);
    if let Some(at) = input.at {
        fork = fork.at(at.revision()?);
    }
    if let Some(cap) = input.trust_cap {
        fork = fork.trust_cap(cap.0);
    }
    let fork = fork.by(&writer)?;
    of_fork(store, &opened, fork, writer, host)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenFork {
    name: String,
    writer: Option<Writer>,
}

pub(crate) fn open_fork(store: &Store, input: OpenFork, host: Host<'_>) -> Done<Json> {
    let (opened, writer) = (store.shared.opened()?, Writer::or(input.writer, store));
    let fork = opened.memory.open_fork(&input.name)?;
    of_fork(store, &opened, fork, writer, host)
}

fn of_fork(
    store: &Store,
    opened: &Opened,
    fork: Memory,
    writer: treering::Writer,
    host: Host<'_>,
) -> Done<Json> {
    let agent = opened
        .agent
        .as_ref()
        .map(|agent| agent.on(fork.clone()))
        .transpose()?;
    let mut made = store.with_writer(writer);
    made.shared = store.shared.fork(fork, agent);
    host.store(made)
}

pub(crate) fn forks(store: &Store, _: Nothing) -> Done<Json> {
    rows(&store.memory()?.forks()?, answer)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropFork {
    name: String,
    /// Whether the fork goes even if it has commits that no merge took.
    #[serde(default)]
    unmerged: bool,
    writer: Option<Writer>,
}

pub(crate) fn drop_fork(store: &Store, input: DropFork) -> Done<Json> {
    let writer = Writer::or(input.writer, store);
    answer(&store.memory()?.drop_fork(&input.name, input.unmerged, &writer)?)
}

/// Who decides what both sides changed.
pub(crate) struct Decides(pub(crate) Strategy);

impl<'de> Deserialize<'de> for Decides {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let text = String::deserialize(given)?;
        let found = Strategy::ALL.into_iter().find(|one| one.name() == text);
        found.map(Self).ok_or_else(|| {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            D::Error::custom(format!("strategy must be one of {names}"))
        })
    }
}

/// Returns the type of a strategy in TypeScript.
pub(crate) fn strategies(_: &mut SchemaGenerator) -> Schema {
    let names = Strategy::ALL.map(|one| format!("\"{}\"", one.name())).join(" | ");
    json_schema!({ "x-ts": names })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merge {
    /// The name of a fork, or `main`.
    name: String,
    /// Who decides what both sides changed. Without it, that is left open.
    #[schemars(schema_with = "strategies")]
    #[serde(default)]
    strategy: Option<Decides>,
    /// Whether to compare with the state at which the lines parted, whatever was merged since.
    #[serde(default)]
    again: bool,
    #[serde(default)]
    dry_run: bool,
    writer: Option<Writer>,
}

pub(crate) fn merge(store: &Store, input: Merge) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    let mut merge = memory.merge(&input.name);
    if input.again {
        merge = merge.again();
    }
    if let Some(strategy) = input.strategy {
        merge = merge.strategy(strategy.0);
    }
    let merged = if input.dry_run {
        merge.preview(&writer)?
    } else {
        merge.by(&writer)?
    };
    let changes = rows(&merged.changes, answer)?;
    answer_with(&shape::Merged::from(&merged), vec![("$changes", changes)])
}

pub(crate) fn conflicts(store: &Store, _: Nothing) -> Done<Json> {
    let memory = store.memory()?;
    rows(&memory.conflicts()?, |one| conflict(&memory, one))
}

/// Returns an open conflict with the versions that it names.
fn conflict(memory: &Memory, open: &OpenConflict) -> Done<Json> {
    let version = |digest: Option<treering::ObjectDigest>| {
        maybe_object(digest.map(|digest| memory.version(digest)).transpose()?.flatten())
    };
    let side = |side: &ConflictSide| {
        let object = version(side.version)?;
        answer_with(&shape::ConflictSide::from(side), vec![("object", object)])
    };
    let present = open.present.as_ref().map_or(Ok(Json::Null), side)?;
    let natives = vec![
        ("sides", rows(&open.sides, side)?),
        ("base", version(open.base)?),
        ("present", present),
    ];
    answer_with(&shape::Conflict::from(open), natives)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resolve {
    id: String,
    /// The digest of the version of a side.
    take: Option<String>,
    /// Whether the object goes.
    #[serde(default)]
    remove: bool,
    /// The text with which the object stays.
    content: Option<String>,
    /// The digest of the version that the object has now, or `removed`. Only then, the decision drops a version that
    /// somebody wrote after the merge.
    expected: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn resolve(store: &Store, input: Resolve) -> Done<Json> {
    let resolution = match (input.take, input.remove, input.content) {
        (Some(version), false, None) => Resolution::Take(digest(&version)?),
        (None, true, None) => Resolution::Remove,
        (None, false, Some(text)) => Resolution::Content(text),
        _ => {
            let hint = "give one of take, remove: true and content";
            return Err(Fault::invalid("a conflict needs exactly one decision").hint(hint));
        }
    };
    let expected = input.expected.map(|present| match present.as_str() {
        "removed" => Ok(None),
        present => digest(present).map(Some),
    });
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    committed(&memory.resolve_expecting(&id(&input.id)?, expected.transpose()?, resolution, &writer)?)
}

/// Ends a fork that a function used: merges it into this line and drops it, or only drops it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndFork {
    name: String,
    /// Whether the work of the fork is kept.
    keep: bool,
    writer: Option<Writer>,
}

pub(crate) fn end_fork(store: &Store, input: EndFork) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    // The function may have dropped the fork itself.
    if !memory.forks()?.iter().any(|fork| fork.name == input.name) {
        return Ok(Json::Null);
    }
    let mut merged = Json::Null;
    if input.keep {
        let done = memory.merge(&input.name).by(&writer)?;
        let changes = rows(&done.changes, answer)?;
        merged = answer_with(&shape::Merged::from(&done), vec![("$changes", changes)])?;
    }
    memory.drop_fork(&input.name, !input.keep, &writer)?;
    Ok(merged)
}

/// Deletes a saved draft.
pub(crate) fn delete_draft(store: &Store, input: Named) -> Done<Json> {
    let (name, writer) = input.read(store);
    store
        .memory()?
        .delete_draft(&crate::draft::draft_named(&name), &writer)?;
    Ok(Json::Null)
}

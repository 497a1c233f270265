//! The verbs that an engine handle and an agent share: states, snapshots, the ways back, and history.

use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::{Value as Json, json};
use treering::revert::{Conflicts, Selection};
use treering::upkeep::VerifyDepth;
use treering::{Error, ErrorKind, HashAlgorithm};

use crate::answer::{answer, answer_with, committed, rows, value};
use crate::fault::{Done, Fault};
use crate::handle::{Store, Thing, Watch};
use crate::host::{self, NoResult};
use crate::input::{At, Moment, Texts, Writer, id, named, texts, time};
use crate::pool;
use crate::shapes::{self as shape, hash_name};
use crate::verbs::{Host, Nothing};
use crate::view;

/// The longest wait of one call for a move of the head.
const POLL_MAX: Duration = Duration::from_secs(1);
/// The pause between two looks for a request to stop.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns what does not change while a handle is open.
pub(crate) fn info(store: &Store) -> Done<Json> {
    let memory = store.memory()?;
    let writer = &store.caller.writer;
    Ok(json!({
        "path": memory.path(),
        "hash": hash_name(memory.hash()),
        "fork_name": memory.fork_name(),
        "writer": {
            "trust": writer.trust.to_string(),
            "actor": writer.actor,
            "session": writer.session,
            "source": writer.source,
            "reason": writer.reason,
        },
    }))
}

/// Reads the name of a hash.
pub(crate) fn hash_named(name: &str) -> Done<HashAlgorithm> {
    match name {
        "blake3" => Ok(HashAlgorithm::Blake3),
        "sha256" => Ok(HashAlgorithm::Sha256),
        _ => Err(Fault::invalid("the hash is unknown").hint("use blake3 or sha256")),
    }
}

/// Returns problems that the handle noticed and that lost no data.
pub(crate) fn warnings(store: &Store, _: Nothing) -> Done<Json> {
    Ok(json!(store.memory()?.warnings()))
}

pub(crate) fn close(store: &Store, _: Nothing) -> Done<Json> {
    store.shared.close()?;
    Ok(Json::Null)
}

pub(crate) fn sync(store: &Store, _: Nothing) -> Done<Json> {
    store.memory()?.sync()?;
    Ok(Json::Null)
}

/// The input of a verb that only has a writer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct By {
    pub(crate) writer: Option<Writer>,
}

/// A handle of the same store with another usual writer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithWriter {
    writer: Writer,
}

pub(crate) fn with_writer(store: &Store, input: WithWriter, host: Host<'_>) -> Done<Json> {
    host.store(store.with_writer(input.writer.read()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithSession {
    session: String,
}

pub(crate) fn with_session(store: &Store, input: WithSession, host: Host<'_>) -> Done<Json> {
    host.store(store.with_writer(store.caller.writer.clone().session(&input.session)))
}

/// Returns another number for the store, for another environment of the process.
pub(crate) fn share(store: &Store, _: Nothing, host: Host<'_>) -> Done<Json> {
    host.store(store.clone())
}

pub(crate) fn view(store: &Store, _: Nothing, host: Host<'_>) -> Done<Json> {
    host.view(&store.shared, store.memory()?.view())
}

pub(crate) fn refresh(store: &Store, _: Nothing, host: Host<'_>) -> Done<Json> {
    host.view(&store.shared, store.memory()?.refresh()?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AtRevision {
    /// A snapshot by name, `"@-3"`, `"seq:7"`, `"fork:NAME"`, a digest, or a time.
    revision: At,
}

pub(crate) fn at(store: &Store, input: AtRevision, host: Host<'_>) -> Done<Json> {
    host.view(&store.shared, At::view(Some(&input.revision), &store.shared)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    /// Without a name, the snapshot joins the ring of the lane.
    name: Option<String>,
    writer: Option<Writer>,
}

pub(crate) fn snapshot(store: &Store, input: Snapshot) -> Done<Json> {
    let taken = store
        .memory()?
        .snapshot(input.name.as_deref(), &Writer::or(input.writer, store))?;
    answer(&shape::Snapshot::from(&taken))
}

pub(crate) fn snapshots(store: &Store, _: Nothing) -> Done<Json> {
    rows(&store.memory()?.snapshots()?, |one| {
        answer(&shape::Snapshot::from(one))
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    name: String,
    writer: Option<Writer>,
}

impl Named {
    /// Returns the name, and the writer of the call.
    pub(crate) fn read(self, store: &Store) -> (String, treering::Writer) {
        (self.name, Writer::or(self.writer, store))
    }
}

pub(crate) fn delete_snapshot(store: &Store, input: Named) -> Done<Json> {
    let (name, writer) = input.read(store);
    let deleted = store.memory()?.delete_snapshot(&name, &writer)?;
    answer(&shape::Snapshot::from(&deleted))
}

pub(crate) fn undo(store: &Store, input: By) -> Done<Json> {
    committed(&store.memory()?.undo(&Writer::or(input.writer, store))?)
}

pub(crate) fn redo(store: &Store, input: By) -> Done<Json> {
    committed(&store.memory()?.redo(&Writer::or(input.writer, store))?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rollback {
    revision: At,
    /// Whether the commits of other lanes are taken back, too.
    #[serde(default)]
    across_lanes: bool,
    writer: Option<Writer>,
}

fn planned(memory: &treering::Memory, target: At, across_lanes: bool) -> Done<treering::Rollback<'_>> {
    let rollback = memory.rollback(target.revision()?);
    Ok(if across_lanes {
        rollback.across_lanes()
    } else {
        rollback
    })
}

pub(crate) fn rollback(store: &Store, input: Rollback) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    committed(&planned(&memory, input.revision, input.across_lanes)?.by(&writer)?)
}

pub(crate) fn rollback_preview(store: &Store, input: Rollback) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    let previewed = planned(&memory, input.revision, input.across_lanes)?.preview(&writer)?;
    answer(&shape::RollbackPreview::from(&previewed))
}

fn conflicts_named<'de, D: Deserializer<'de>>(given: D) -> Result<Conflicts, D::Error> {
    named(
        given,
        "conflicts",
        &[Conflicts::Keep, Conflicts::Revert, Conflicts::Fail],
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revert {
    /// The commits to take back.
    commit: Option<Texts>,
    /// The sessions whose commits are taken back.
    session: Option<Texts>,
    /// The actors whose commits are taken back.
    actor: Option<Texts>,
    /// The sources whose commits are taken back.
    source: Option<Texts>,
    since: Option<Moment>,
    until: Option<Moment>,
    /// What happens to an object that others changed later. `keep` without it.
    #[serde(default, deserialize_with = "conflicts_named")]
    #[schemars(schema_with = "conflicts_schema")]
    conflicts: Conflicts,
    /// Whether what was derived from the taken back versions goes, too.
    #[serde(default)]
    with_derived: bool,
    #[serde(default)]
    dry_run: bool,
    writer: Option<Writer>,
}

fn conflicts_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-ts": "\"keep\" | \"revert\" | \"fail\"" })
}

pub(crate) fn revert(store: &Store, input: Revert) -> Done<Json> {
    let (memory, writer) = (store.memory()?, Writer::or(input.writer, store));
    let mut selection = Selection::default();
    for text in texts(input.commit) {
        selection = selection.commit(text.parse::<treering::Revision>()?);
    }
    selection.sessions = texts(input.session);
    selection.actors = texts(input.actor);
    selection.sources = texts(input.source);
    selection.since = time(input.since);
    selection.until = time(input.until);
    let revert = memory.revert(selection).conflicts(input.conflicts);
    let revert = if input.with_derived {
        revert.with_derived()
    } else {
        revert
    };
    let done = if input.dry_run {
        revert.preview(&writer)?
    } else {
        revert.by(&writer)?
    };
    answer(&shape::Reverted::from(&done))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diff {
    older: At,
    /// Without it, the newest state.
    newer: Option<At>,
}

pub(crate) fn diff(store: &Store, input: Diff) -> Done<Json> {
    let older = At::view(Some(&input.older), &store.shared)?;
    let newer = At::view(input.newer.as_ref(), &store.shared)?;
    rows(&store.memory()?.diff(&older, &newer)?, answer)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfId {
    pub(crate) id: String,
}

pub(crate) fn history(store: &Store, input: OfId) -> Done<Json> {
    let entries = store.memory()?.history(&id(&input.id)?)?;
    rows(&entries, |one| answer(&shape::HistoryEntry::from(one)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limit {
    limit: Option<usize>,
}

pub(crate) fn commits(store: &Store, input: Limit) -> Done<Json> {
    let memory = store.memory()?;
    let commits = memory.commits().take(input.limit.unwrap_or(usize::MAX));
    rows(commits, |info| answer(&shape::Commit::from(&info?)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blame {
    id: String,
    at: Option<At>,
}

pub(crate) fn blame(store: &Store, input: Blame) -> Done<Json> {
    let view = At::view(input.at.as_ref(), &store.shared)?;
    let parts = store.memory()?.blame(&view, &id(&input.id)?)?;
    rows(&parts, |part| {
        answer_with(
            &shape::BlamedPart::from(part),
            vec![("value", value(&part.value))],
        )
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BisectStates {
    good: At,
    bad: At,
    /// The number of the function that tests a view.
    #[schemars(skip)]
    is_bad: u32,
}

pub(crate) fn bisect_states(store: &Store, input: BisectStates, host: Host<'_>) -> Done<Json> {
    let good = At::view(Some(&input.good), &store.shared)?;
    let bad = At::view(Some(&input.bad), &store.shared)?;
    let mut failed = None;
    let found = store.memory()?.bisect(&good, &bad, |view| {
        let tested = host.view(&store.shared, view.clone()).unwrap_or_default();
        match host::ask(host.0, input.is_bad, &json!([tested])) {
            Ok(verdict) => Ok(verdict.as_bool().unwrap_or_default()),
            Err(why) => {
                failed = Some(why);
                Err(Error::new(ErrorKind::Internal, "the test of the caller failed"))
            }
        }
    });
    match failed {
        Some(NoResult::Failed(why)) => Err(Fault::new("Check", "check_failed", why)),
        _ => answer(&shape::Bisected::from(&found?)),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Text {
    digest: String,
}

pub(crate) fn text(store: &Store, input: Text) -> Done<Json> {
    let not = |_| Fault::invalid("the text is not a digest").hint("give 64 hexadecimal digits");
    let digest = input.digest.parse::<treering::TextDigest>().map_err(not)?;
    Ok(Json::from(store.memory()?.text(&digest)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {
    #[serde(default)]
    files_only: bool,
}

pub(crate) fn verify(store: &Store, input: Verify) -> Done<Json> {
    let depth = if input.files_only {
        VerifyDepth::Quick
    } else {
        VerifyDepth::Full
    };
    answer(&shape::VerifyReport::from(&store.memory()?.verify(depth)?))
}

pub(crate) fn stats(store: &Store, _: Nothing) -> Done<Json> {
    answer(&store.memory()?.stats()?)
}

pub(crate) fn watch(store: &Store, _: Nothing, host: Host<'_>) -> Done<Json> {
    let moves = store.memory()?.watch();
    let watch = Watch {
        shared: store.shared.clone(),
        moves,
    };
    Ok(host.add(Thing::Watch(watch.into())))
}

/// Waits a while for the next move of the head. JavaScript asks again.
pub(crate) fn poll(watch: &Watch, _: Nothing) -> Done<Json> {
    let end = Instant::now() + POLL_MAX;
    let moved = pool::waiting(|| {
        while watch.shared.is_open() && !host::is_asked_to_stop() && Instant::now() < end {
            match watch.moves.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Timeout) => {}
                moved => return moved.ok(),
            }
        }
        None
    });
    match moved {
        Some(moved) => answer(&moved),
        None if watch.shared.is_open() => Ok(Json::Null),
        None => Err(Fault::closed()),
    }
}

pub(crate) fn size(store: &Store, _: Nothing) -> Done<Json> {
    Ok(json!(view::size(&store.memory()?.view())))
}

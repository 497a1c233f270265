//! The answers that users of Python and JavaScript see in another shape than that of the library's JSON.
//!
//! A commit is whole, where JSON has its name. Objects are native, and some counts are computed. An answer that Python
//! shows as the library serialises it has no shape here. A field `$x` takes the place of the field `x` of a flattened
//! answer. The names of kinds of errors and of hashes are here, too.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, json};
use treering::agent::{Alike, LineVerdict, NotStored, RecallHit};
use treering::revert::KeptBecause;
use treering::upkeep::{ErasedRecord, Severity};
use treering::{
    ChangeCounts, CommitDigest, CommitInfo, ErrorKind, HashAlgorithm, Id, ObjectDigest, Origin, Root, Scope,
    TextDigest, Time,
};

/// Returns the name of the class of an error, without `Error`.
pub(crate) fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "NotFound",
        ErrorKind::InvalidInput => "InvalidInput",
        ErrorKind::Conflict => "Conflict",
        ErrorKind::Denied => "Denied",
        ErrorKind::Busy => "Busy",
        ErrorKind::Corrupt => "Corrupt",
        ErrorKind::UnsupportedFormat => "UnsupportedFormat",
        ErrorKind::Io => "Io",
        ErrorKind::Poisoned => "Poisoned",
        _ => "Internal",
    }
}

/// Returns the name of the hash of a store.
pub(crate) fn hash_name(hash: HashAlgorithm) -> &'static str {
    match hash {
        HashAlgorithm::Sha256 => "sha256",
        _ => "blake3",
    }
}

/// Declares a shape, and how it is made from an answer of the library.
macro_rules! shape {
    ($(
        $(#[$doc:meta])*
        $name:ident($from:ident: $answer:ty) {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $value:expr,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Serialize, JsonSchema)]
        pub(crate) struct $name<'a> {
            $($(#[$field_doc])* $field: $type,)*
            #[serde(skip)]
            #[schemars(skip)]
            lifetime: PhantomData<&'a ()>,
        }

        impl<'a> From<&'a $answer> for $name<'a> {
            fn from($from: &'a $answer) -> Self {
                Self { $($field: $value,)* lifetime: PhantomData }
            }
        }
    )*};
}

/// Declares the type of a field that only a Python object expresses. The caller of `answer_with` gives the object.
macro_rules! native {
    ($($name:ident: $python:literal,)*) => {$(
        #[derive(Serialize)]
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "x-python": $python })
            }
        }
    )*};
}

native! {
    AnyValue: "Any",
    NativeObject: "Object",
    NativeObjects: "Table[Object]",
    MaybeObject: "Object | None",
    NativeChanges: "Table[Change]",
    NativeSides: "Table[ConflictSide]",
    MaybeSide: "ConflictSide | None",
}

/// Returns the shapes of a list of answers.
fn rows<'a, T, S: From<&'a T>>(answers: &'a [T]) -> Vec<S> {
    answers.iter().map(S::from).collect()
}

/// The later work because of which a revert keeps an object.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Because {
    Changed,
    Below,
    NoParent,
    Other,
}

impl Because {
    fn of(because: &KeptBecause) -> (Self, Option<&Id>) {
        match because {
            KeptBecause::Changed => (Self::Changed, None),
            KeptBecause::Below(id) => (Self::Below, Some(id)),
            KeptBecause::NoParent(id) => (Self::NoParent, Some(id)),
            _ => (Self::Other, None),
        }
    }
}

shape! {
    /// A commit: one change of the state, with its writer.
    Commit(info: CommitInfo) {
        /// The digest that names the commit, as 64 hexadecimal digits.
        digest: CommitDigest = info.digest,
        /// The root that names the state after the commit.
        root: Root = info.commit.root,
        /// The number of the commit; the first commit of a store has 0.
        seq: u64 = info.commit.seq,
        time: Time = info.commit.time,
        /// The operation, such as `"put"` or `"rollback"`.
        op: &'a str = info.commit.op.as_str(),
        /// The commit that a rollback, undo or redo targets.
        target: Option<CommitDigest> = info.commit.target,
        /// The session, else the actor, else `"default"`. Each lane has its own undo and redo.
        lane: &'a str = info.lane(),
        actor: Option<&'a str> = info.commit.actor.as_deref(),
        session: Option<&'a str> = info.commit.session.as_deref(),
        trust: Origin = info.commit.trust,
        /// The digest of the source that the writer stated; `text` of the store returns it.
        source_digest: Option<TextDigest> = info.commit.source,
        /// The digest of the reason that the writer stated; `text` of the store returns it.
        reason_digest: Option<TextDigest> = info.commit.reason,
    }

    /// The result that a rollback would have.
    RollbackPreview(planned: (CommitInfo, ChangeCounts)) {
        /// The commit whose state comes back.
        target: Commit<'a> = (&planned.0).into(),
        #[serde(flatten)]
        counts: ChangeCounts = planned.1,
    }

    /// One change of an id, with the commit that made it.
    HistoryEntry(entry: treering::HistoryEntry) {
        /// The version after the change; `None` if the id was removed.
        digest: Option<ObjectDigest> = entry.digest,
        time: Time = entry.time,
        /// The first kept commit whose state has the change.
        commit: Commit<'a> = (&entry.commit).into(),
        erased: bool = entry.erased,
        lost: bool = entry.lost,
        /// Whether a thinned commit made or may have made the change, so that its writer is unknown.
        thinned: bool = entry.thinned,
    }

    /// A name for a state.
    Snapshot(info: treering::SnapshotInfo) {
        name: &'a str = &info.name,
        /// The number of an automatic snapshot in its lane: 0 is the newest.
        index: Option<usize> = info.index,
        #[serde(flatten)]
        info: &'a treering::SnapshotInfo = info,
    }

    /// A part of an object, with the change that wrote it.
    BlamedPart(blamed: treering::blame::BlamedPart) {
        /// The name of the part: `"kind"`, `"attr:todo"` or `"line:3"`.
        part: String = blamed.part.to_string(),
        value: AnyValue = AnyValue,
        change: HistoryEntry<'a> = (&blamed.change).into(),
        trust: Origin = blamed.trust,
    }

    /// The first bad commit that `bisect` found.
    Bisected(found: treering::blame::Bisected) {
        first_bad: Commit<'a> = (&found.first_bad).into(),
        last_good: Commit<'a> = (&found.last_good).into(),
        /// The number of states that were tested.
        steps: u64 = found.steps,
        /// The number of thinned commits between the two; one of them may have made the change.
        thinned: u64 = found.thinned,
    }

    /// An object that stays as it is because of later work of others.
    KeptObject(object: treering::revert::KeptObject) {
        id: &'a Id = &object.id,
        because: Because = Because::of(&object.because).0,
        /// The object below it, or the missing parent.
        other: Option<&'a Id> = Because::of(&object.because).1,
        /// The commit of the later work; `None` if that commit was thinned.
        by: Option<Commit<'a>> = object.by.as_ref().map(Commit::from),
    }

    /// The result of a revert, or of its preview.
    Reverted(done: treering::revert::Reverted) {
        /// The commit of the revert, or the head if nothing changed.
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.committed.commit).into(),
        changed: bool = done.committed.changed,
        #[serde(rename = "$kept")]
        kept: Vec<KeptObject<'a>> = rows(&done.kept),
        #[serde(flatten)]
        done: &'a treering::revert::Reverted = done,
    }

    /// The result of a merge, or of its preview.
    Merged(done: treering::merge::Merged) {
        /// The commit of the merge, or the head if there was nothing new.
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.committed.commit).into(),
        #[serde(flatten)]
        done: &'a treering::merge::Merged = done,
        /// Whether the other line had something new.
        new: bool = done.committed.changed,
        /// The changes of the merge, sorted by id.
        #[serde(rename = "$changes")]
        changes: NativeChanges = NativeChanges,
    }

    /// The result of a pull.
    Pulled(done: treering::remote::Pulled) {
        /// The commit of the merge, or the head if there was nothing new.
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.merged.committed.commit).into(),
        #[serde(flatten)]
        done: &'a treering::remote::Pulled = done,
        /// Whether the remote had something new.
        new: bool = done.merged.committed.changed,
    }

    /// The result of a sync.
    Synced(done: treering::remote::Synced) {
        /// The commit of the merge, or the head if there was nothing new.
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.pulled.merged.committed.commit).into(),
        #[serde(flatten)]
        done: &'a treering::remote::Synced = done,
        /// Whether the store or the remote changed.
        new: bool = done.changed(),
    }

    /// A version of an open conflict.
    ConflictSide(side: treering::merge::ConflictSide) {
        /// The version; `None` if the side removed the object.
        digest: Option<ObjectDigest> = side.version,
        object: MaybeObject = MaybeObject,
        trust: Option<Origin> = side.trust,
        /// The commit that wrote the version, if it is kept.
        commit: Option<Commit<'a>> = side.by.as_ref().map(Commit::from),
    }

    /// An object about which somebody must decide, because both sides of a merge changed it.
    Conflict(open: treering::merge::OpenConflict) {
        id: &'a Id = &open.id,
        /// The fields in which the sides differ. `removed`: a side removed the object. `attr:NAME`: an attribute.
        fields: &'a [String] = &open.fields,
        sides: NativeSides = NativeSides,
        /// The version from which all sides come, if it is one version and is kept.
        base: MaybeObject = MaybeObject,
        /// The version that the object has now, if it is none of the sides.
        present: MaybeSide = MaybeSide,
    }

    /// The result of an erasure, or of its preview.
    ErasedReport(report: treering::upkeep::ErasedReport) {
        records: &'a [ErasedRecord] = &report.records,
        /// The ids that the erasure removed from the newest state.
        unlinked: &'a [Id] = &report.unlinked,
        /// Other objects that lost a shared content or an earlier version.
        holders: &'a [Id] = &report.holders,
        /// `None` for a preview.
        commit: Option<Commit<'a>> = report.commit.as_ref().map(Commit::from),
    }

    /// The answer to `remember`. Look at `status`: a quarantined item is not in the memory.
    Remembered(done: treering::agent::Remembered) {
        #[serde(flatten)]
        done: &'a treering::agent::Remembered = done,
        /// The stored text, without secrets and invisible characters.
        text: &'a str = &done.text,
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.commit).into(),
        /// The items that contradict the new item.
        #[serde(rename = "$conflicts")]
        conflicts: &'a [Alike] = &done.conflicts,
    }

    /// An item that `remember_many` did not store.
    RefusedItem(line: treering::agent::RefusedLine) {
        index: u64 = line.line.saturating_sub(1),
        id: Option<&'a str> = line.id.as_deref(),
        verdict: LineVerdict = line.verdict,
        reason: &'a str = &line.reason,
    }

    /// The answer to `remember_many`.
    RememberedMany(done: treering::agent::LinesRemembered) {
        #[serde(flatten)]
        done: &'a treering::agent::LinesRemembered = done,
        #[serde(rename = "$refused")]
        refused: Vec<RefusedItem<'a>> = rows(&done.refused),
        held: &'a [String] = &done.held,
        commit: Commit<'a> = (&done.commit).into(),
    }

    /// The answer to `forget`.
    Forgot(done: treering::agent::Forgot) {
        /// The forgotten items, in their last version.
        items: NativeObjects = NativeObjects,
        /// The pinned items that met the conditions and stay.
        pinned: &'a [Id] = &done.pinned,
        /// The given ids whose items fail another condition and stay.
        others: &'a [Id] = &done.others,
        /// The episodes and summaries that may still say what an item said that was learnt from their session.
        still: &'a [Id] = &done.still,
        commit: Option<Commit<'a>> = done.commit.as_ref().map(Commit::from),
    }

    /// An item that was forgotten and not restored.
    Forgotten(found: treering::agent::Forgotten) {
        item: NativeObject = NativeObject,
        version: ObjectDigest = found.version,
        commit: Commit<'a> = (&found.commit).into(),
        reason: Option<&'a str> = found.reason.as_deref(),
    }

    /// The answer to `unforget`.
    Restored(done: treering::agent::Restored) {
        items: NativeObjects = NativeObjects,
        unchanged: &'a [Id] = &done.unchanged,
        commit: Option<Commit<'a>> = done.commit.as_ref().map(Commit::from),
    }

    /// A note of a session.
    Note(note: treering::agent::NoteRead) {
        id: &'a Id = note.item.object().id(),
        text: &'a str = note.item.text(),
        /// The root session that owns the note.
        owner: Option<&'a str> = note.owner.as_deref(),
        created: Option<Time> = note.created,
        updated: Option<Time> = note.updated,
        /// The time of the read before this one.
        read: Option<Time> = note.read,
        object: NativeObject = NativeObject,
    }

    /// A note that matches a query.
    NoteFound(found: treering::agent::NoteFound) {
        note: Note<'a> = (&found.note).into(),
        score: f64 = found.score,
        snippet: &'a str = &found.snippet,
        /// Whether the note belongs to the asking session.
        own: bool = found.is_own,
    }

    /// The answer to `write_note`.
    NoteWritten(done: treering::agent::NoteWritten) {
        #[serde(flatten)]
        done: &'a treering::agent::NoteWritten = done,
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.commit).into(),
    }

    /// The answer to `append`.
    Appended(done: treering::agent::Appended) {
        scope: &'a Scope = &done.scope,
        root_session: &'a str = &done.root_session,
        ids: &'a [Id] = &done.ids,
        not_stored: &'a [NotStored] = &done.not_stored,
        flagged: u64 = done.flagged,
        unchanged: u64 = done.unchanged,
        held_as: &'a [String] = &done.held,
        commit: Commit<'a> = (&done.commit).into(),
    }

    /// The text for a prompt. `str(envelope)` is the text.
    Envelope(found: treering::agent::EnvelopeAnswer) {
        #[serde(flatten)]
        found: &'a treering::agent::EnvelopeAnswer = found,
        /// The number of items that the envelope does not show.
        #[serde(rename = "$left_out")]
        left_out: usize = found.left_out.total(),
    }

    /// The results of the checks of a change. True if the change passed all of them.
    Report(report: treering::agent::Report) {
        passed: bool = report.is_passed(),
        #[serde(flatten)]
        report: &'a treering::agent::Report = report,
        /// The report for people.
        text: String = report.to_string(),
    }

    /// The result of a promotion.
    Promoted(done: treering::agent::Promoted) {
        #[serde(flatten)]
        done: &'a treering::agent::Promoted = done,
        #[serde(rename = "$commit")]
        commit: Commit<'a> = (&done.committed.commit).into(),
    }

    /// The result of a decay pass.
    Decayed(done: treering::agent::Decayed) {
        #[serde(flatten)]
        done: &'a treering::agent::Decayed = done,
        #[serde(rename = "$commits")]
        commits: Vec<Commit<'a>> = rows(&done.commits),
        warning: Option<&'a str> = done.warning.as_deref(),
    }

    /// The answer to a recall: a sequence of hits, the best first.
    Recalled(found: treering::agent::Recalled) {
        #[serde(flatten)]
        found: &'a treering::agent::Recalled = found,
        /// The number of matches that are left out because they are untrusted.
        #[serde(rename = "$left_out")]
        left_out: usize = found.left_out,
        /// The words that the recall searched for.
        terms: &'a [String] = &found.terms,
        /// If there is no good match: the other scopes that have matches, each with the number of matches.
        #[serde(rename = "$elsewhere")]
        elsewhere: BTreeMap<&'a str, usize> =
            found.elsewhere.iter().map(|one| (one.scope.as_str(), one.matches)).collect(),
    }

    /// The commit that changed the first hit of a recall.
    BisectedAnswer(answer: treering::agent::BisectedAnswer) {
        found: Bisected<'a> = (&answer.found).into(),
        before: Option<&'a RecallHit> = answer.before.as_ref(),
        after: Option<&'a RecallHit> = answer.after.as_ref(),
    }

    /// A fault that `verify` found in the files.
    Finding(finding: treering::upkeep::Finding) {
        severity: Severity = finding.severity,
        text: String = finding.damage.to_string(),
    }

    /// The result of `verify`.
    VerifyReport(report: treering::upkeep::VerifyReport) {
        #[serde(flatten)]
        report: &'a treering::upkeep::VerifyReport = report,
        /// Damage that loses no acknowledged data.
        #[serde(rename = "$derived")]
        derived: Vec<Finding<'a>> = rows(&report.derived),
        /// Damage to acknowledged data.
        #[serde(rename = "$damage")]
        damage: Vec<Finding<'a>> = rows(&report.damage),
    }
}

/// An answer that has a class in Python and a type in JavaScript.
pub(crate) trait OfClass: Serialize + JsonSchema {
    /// The name of the class.
    #[allow(dead_code, reason = "JavaScript has no classes")]
    const CLASS: &'static str;
}

/// Names the classes of the answers, and returns their schemas.
macro_rules! classes {
    ($($class:ident: $answer:ty,)*) => {
        $(impl OfClass for $answer {
            const CLASS: &'static str = stringify!($class);
        })*

        /// Returns the JSON schemas of the answers, from which the packages write their classes and types.
        pub(crate) fn schemas() -> String {
            let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
            let mut classes = Map::new();
            $(classes.insert(
                <$answer>::CLASS.to_owned(),
                generator.subschema_for::<$answer>().to_value(),
            );)*
            let definitions = generator.take_definitions(true);
            json!({ "classes": classes, "$defs": definitions }).to_string()
        }
    };
}

classes! {
    Commit: Commit<'_>,
    RollbackPreview: RollbackPreview<'_>,
    Change: treering::Change,
    HistoryEntry: HistoryEntry<'_>,
    Snapshot: Snapshot<'_>,
    HeadMoved: treering::HeadMoved,
    BlamedPart: BlamedPart<'_>,
    Bisected: Bisected<'_>,
    RevertedObject: treering::revert::RevertedObject,
    KeptObject: KeptObject<'_>,
    Reverted: Reverted<'_>,
    Fork: treering::fork::ForkInfo,
    MergeConflict: treering::merge::MergeConflict,
    Merged: Merged<'_>,
    ConflictSide: ConflictSide<'_>,
    Conflict: Conflict<'_>,
    BackedUp: treering::remote::BackedUp,
    Cloned: treering::remote::Cloned,
    Pushed: treering::remote::Pushed,
    Fetched: treering::remote::Fetched,
    Pulled: Pulled<'_>,
    Synced: Synced<'_>,
    Finding: Finding<'_>,
    VerifyReport: VerifyReport<'_>,
    GcReport: treering::upkeep::GcReport,
    ErasedRecord: treering::upkeep::ErasedRecord,
    ErasedReport: ErasedReport<'_>,
    Stats: treering::upkeep::Stats,
    Alike: treering::agent::Alike,
    Remembered: Remembered<'_>,
    RefusedItem: RefusedItem<'_>,
    RememberedMany: RememberedMany<'_>,
    Forgot: Forgot<'_>,
    Forgotten: Forgotten<'_>,
    Restored: Restored<'_>,
    Note: Note<'_>,
    NoteFound: NoteFound<'_>,
    NoteWritten: NoteWritten<'_>,
    NotStored: treering::agent::NotStored,
    Appended: Appended<'_>,
    Shown: treering::agent::Shown,
    Envelope: Envelope<'_>,
    Checked: treering::agent::Checked,
    Report: Report<'_>,
    Quarantined: treering::agent::Quarantined,
    HiddenItem: treering::agent::HiddenItem,
    ActingField: treering::agent::ActingField,
    Review: treering::agent::Review,
    Promoted: Promoted<'_>,
    Move: treering::agent::Move,
    Decayed: Decayed<'_>,
    Hit: treering::agent::RecallHit,
    Recalled: Recalled<'_>,
    VectorCounts: treering::agent::VectorCounts,
    BisectedAnswer: BisectedAnswer<'_>,
}

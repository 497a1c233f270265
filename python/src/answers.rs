//! Makes the dataclasses of `treering.answers` from the answers of the library.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use treering::blame::{Bisected, BlamedPart};
use treering::revert::{KeptBecause, KeptObject, Reverted, RevertedObject};
use treering::upkeep::{ErasedReport, Finding, GcReport, Severity, Stats, VerifyReport};
use treering::{Change, CommitInfo, HeadMoved, HistoryEntry, SnapshotInfo};

use crate::convert::{datetime, python_value};
use crate::exit::Inside;

static ANSWERS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static TABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) type Answer<'py> = PyResult<Bound<'py, PyAny>>;

/// Returns a class of `treering.answers`.
pub(crate) fn class<'py>(py: Python<'py>, name: &Bound<'py, PyString>) -> Answer<'py> {
    let _inside = Inside::attached(py);
    let module = ANSWERS.get_or_try_init(py, || {
        py.import("treering.answers")
            .map(|module| module.into_any().unbind())
    })?;
    module.bind(py).getattr(name)
}

/// Makes a dataclass with these fields.
macro_rules! answer {
    ($py:expr, $name:literal { $($field:ident: $value:expr),* $(,)? }) => {{
        let fields = ::pyo3::types::PyDict::new($py);
        $(fields.set_item(::pyo3::intern!($py, stringify!($field)), $value)?;)*
        $crate::answers::made($py, ::pyo3::intern!($py, $name), &fields)
    }};
}
pub(crate) use answer;

/// Makes a dataclass with these fields.
pub(crate) fn made<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyString>,
    fields: &Bound<'py, PyDict>,
) -> Answer<'py> {
    let _inside = Inside::attached(py);
    class(py, name)?.call((), Some(fields))
}

/// Returns rows as a `Table`.
pub(crate) fn table<'py, T>(
    py: Python<'py>,
    rows: impl IntoIterator<Item = T>,
    row: impl Fn(Python<'py>, T) -> Answer<'py>,
) -> Answer<'py> {
    let rows = rows.into_iter().map(|one| row(py, one));
    let rows: Vec<_> = rows.collect::<PyResult<_>>()?;
    let _inside = Inside::attached(py);
    let class = TABLE.get_or_try_init(py, || {
        py.import("treering.table")?.getattr("Table").map(Bound::unbind)
    })?;
    class.bind(py).call1((rows,))
}

/// Returns texts as a tuple.
pub(crate) fn texts<'py, T: ToString>(py: Python<'py>, texts: impl IntoIterator<Item = T>) -> Answer<'py> {
    let texts: Vec<_> = texts.into_iter().map(|one| one.to_string()).collect();
    Ok(pyo3::types::PyTuple::new(py, texts)?.into_any())
}

pub(crate) fn commit<'py>(py: Python<'py>, info: &CommitInfo) -> Answer<'py> {
    let commit = &info.commit;
    answer!(py, "Commit" {
        digest: info.digest.to_hex(),
        root: commit.root.to_hex(),
        seq: commit.seq,
        time: datetime(py, commit.time)?,
        op: commit.op.as_str(),
        target: commit.target.map(|target| target.to_hex()),
        lane: info.lane(),
        actor: commit.actor.as_deref(),
        session: commit.session.as_deref(),
        trust: commit.trust.to_string(),
        source_digest: commit.source.map(|digest| digest.to_hex()),
        reason_digest: commit.reason.map(|digest| digest.to_hex()),
    })
}

pub(crate) fn maybe_commit<'py>(
    py: Python<'py>,
    info: Option<&CommitInfo>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    info.map(|info| commit(py, info)).transpose()
}

/// Returns a change. `states` are the older and the newer state, which have the texts.
pub(crate) fn change<'py>(py: Python<'py>, change: &Change, states: &Bound<'py, PyTuple>) -> Answer<'py> {
    answer!(py, "Change" {
        id: change.id.as_str(),
        kind: change.kind.to_string(),
        old: change.old.map(|digest| digest.to_hex()),
        new: change.new.map(|digest| digest.to_hex()),
        erased: change.erased,
        _given: states,
    })
}

pub(crate) fn history_entry<'py>(py: Python<'py>, entry: &HistoryEntry) -> Answer<'py> {
    answer!(py, "HistoryEntry" {
        digest: entry.digest.map(|digest| digest.to_hex()),
        time: datetime(py, entry.time)?,
        commit: commit(py, &entry.commit)?,
        erased: entry.erased,
        lost: entry.lost,
        thinned: entry.thinned,
    })
}

pub(crate) fn snapshot<'py>(py: Python<'py>, snapshot: &SnapshotInfo) -> Answer<'py> {
    answer!(py, "Snapshot" {
        name: snapshot.name.as_str(),
        index: snapshot.index,
        root: snapshot.root.to_hex(),
        commit: snapshot.commit.to_hex(),
        time: datetime(py, snapshot.time)?,
        seq: snapshot.seq,
        lane: snapshot.lane.as_deref(),
        actor: snapshot.actor.as_deref(),
        session: snapshot.session.as_deref(),
        reason: snapshot.reason.as_deref(),
    })
}

pub(crate) fn head_moved<'py>(py: Python<'py>, moved: &HeadMoved) -> Answer<'py> {
    answer!(py, "HeadMoved" {
        commit: moved.commit.to_hex(),
        root: moved.root.to_hex(),
        seq: moved.seq,
        op: moved.op.as_str(),
    })
}

pub(crate) fn blamed<'py>(py: Python<'py>, part: &BlamedPart) -> Answer<'py> {
    answer!(py, "BlamedPart" {
        part: part.part.to_string(),
        value: python_value(py, &part.value)?,
        change: history_entry(py, &part.change)?,
        trust: part.trust.to_string(),
    })
}

pub(crate) fn bisected<'py>(py: Python<'py>, found: &Bisected) -> Answer<'py> {
    answer!(py, "Bisected" {
        first_bad: commit(py, &found.first_bad)?,
        last_good: commit(py, &found.last_good)?,
        steps: found.steps,
        thinned: found.thinned,
    })
}

fn reverted_object<'py>(py: Python<'py>, object: &RevertedObject) -> Answer<'py> {
    answer!(py, "RevertedObject" {
        id: object.id.as_str(),
        old: object.from.map(|digest| digest.to_hex()),
        new: object.to.map(|digest| digest.to_hex()),
        gone_with: object.gone_with.as_ref().map(|id| id.as_str()),
        thinned: object.thinned,
    })
}

fn kept_object<'py>(py: Python<'py>, object: &KeptObject) -> Answer<'py> {
    let (because, other) = match &object.because {
        KeptBecause::Changed => ("changed", None),
        KeptBecause::Below(id) => ("below", Some(id.as_str())),
        KeptBecause::NoParent(id) => ("no_parent", Some(id.as_str())),
        _ => ("other", None),
    };
    answer!(py, "KeptObject" {
        id: object.id.as_str(),
        because: because,
        other: other,
        by: maybe_commit(py, object.by.as_ref())?,
    })
}

pub(crate) fn reverted<'py>(py: Python<'py>, done: &Reverted) -> Answer<'py> {
    answer!(py, "Reverted" {
        commit: commit(py, &done.committed.commit)?,
        changed: done.committed.changed,
        selected: done.selected,
        reverted: table(py, &done.reverted, reverted_object)?,
        kept: table(py, &done.kept, kept_object)?,
        derived: texts(py, done.derived.iter().map(|id| id.as_str()))?,
    })
}

fn finding<'py>(py: Python<'py>, finding: &Finding) -> Answer<'py> {
    let severity = match finding.severity {
        Severity::Damage => "damage",
        Severity::Unsure => "unsure",
        Severity::Derived => "derived",
        Severity::Harmless => "harmless",
    };
    answer!(py, "Finding" {
        severity: severity,
        text: finding.damage.to_string(),
    })
}

pub(crate) fn verified<'py>(py: Python<'py>, report: &VerifyReport) -> Answer<'py> {
    answer!(py, "VerifyReport" {
        ok: report.ok,
        commits: report.commits,
        versions: report.versions,
        bytes: report.bytes,
        erased: report.erased,
        lost: report.lost,
        thinned: report.thinned,
        derived: table(py, &report.derived, finding)?,
        damage: table(py, &report.damage, finding)?,
    })
}

pub(crate) fn collected<'py>(py: Python<'py>, report: &GcReport) -> Answer<'py> {
    answer!(py, "GcReport" {
        kept: report.kept,
        thinned: report.thinned,
        versions_before: report.versions_before,
        versions: report.versions,
        bytes_before: report.bytes_before,
        bytes: report.bytes,
    })
}

pub(crate) fn erased<'py>(py: Python<'py>, report: &ErasedReport) -> Answer<'py> {
    let records = table(py, &report.records, |py, record| {
        let digest: String = record.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        answer!(py, "ErasedRecord" {
            kind: record.kind.to_string(),
            digest: digest,
            id: record.id.as_deref(),
            bytes: record.bytes,
        })
    });
    answer!(py, "ErasedReport" {
        records: records?,
        unlinked: texts(py, report.unlinked.iter().map(|id| id.as_str()))?,
        holders: texts(py, report.holders.iter().map(|id| id.as_str()))?,
        commit: maybe_commit(py, report.commit.as_ref())?,
    })
}

pub(crate) fn stats<'py>(py: Python<'py>, stats: &Stats) -> Answer<'py> {
    answer!(py, "Stats" {
        objects: stats.objects,
        history: stats.history,
        commits: stats.commits,
        thinned: stats.thinned,
        erased: stats.erased,
        snapshots: stats.snapshots,
        segments: stats.segments,
        log_bytes: stats.log_bytes,
        disk_bytes: stats.disk_bytes,
        live_bytes: stats.live_bytes,
    })
}

//! Attempts: a draft is committed only if its checks pass.
//!
//! A check of the caller is a function of the draft. It refuses the change if it raises, returns `False`, or returns a
//! text with the reason. The checks of a policy are those of `treering::agent::Checks`.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use treering::Committed;
use treering::agent::{Checks, Guarded, Policy, Report};

use crate::answers::answer;
use crate::draft::{Draft, Staged, replay};
use crate::errors::{raised, rejected};
use crate::exit::Inside;
use crate::handle::run;

/// The way in which a draft is committed.
pub(crate) enum Mode {
    /// At once, with this operation.
    Plain(String),
    /// If the checks of the caller pass.
    Attempt {
        /// The operation of the commit.
        op: String,
        /// The checks of the caller.
        checks: Vec<Py<PyAny>>,
    },
    /// If the checks of a policy and of the caller pass.
    Guard {
        /// The policy.
        policy: Policy,
        /// The checks of the caller.
        checks: Vec<Py<PyAny>>,
    },
}

impl Mode {
    /// Returns the checks of the caller.
    pub(crate) fn checks(&self) -> &[Py<PyAny>] {
        match self {
            Self::Plain(_) => &[],
            Self::Attempt { checks, .. } | Self::Guard { checks, .. } => checks,
        }
    }

    /// Returns whether the staged calls are repeated on the draft of the guard.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Guard { .. })
    }
}

/// The outcome of a finished draft.
#[derive(Default)]
pub(crate) struct Checked {
    /// The answer of the commit.
    pub(crate) committed: Option<Py<PyAny>>,
    /// The report of the guard.
    pub(crate) report: Option<Py<PyAny>>,
}

/// The name of a check, with the reason if it refuses the change.
type Verdict = (String, Option<String>);

/// Runs the checks of the caller on a draft, and finishes it. Returns the staged changes and the verdict of each check.
fn run_checks(draft: &Bound<'_, Draft>, checks: &[Py<PyAny>]) -> PyResult<(Staged, Vec<Verdict>)> {
    let py = draft.py();
    draft.get().check(py)?;
    let _inside = Inside::attached(py);
    let results: PyResult<Vec<_>> = checks
        .iter()
        .map(|check| verdict(draft, check.bind(py)))
        .collect();
    match results {
        Ok(results) => Ok((draft.get().take(py)?, results)),
        Err(error) => {
            draft.get().discard(py)?;
            Err(error)
        }
    }
}

/// Runs one check of the caller on a draft.
fn verdict(draft: &Bound<'_, Draft>, check: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    let name = check
        .getattr("__name__")
        .and_then(|name| name.extract::<String>());
    let name = name.unwrap_or_else(|_| "check".to_owned());
    let why = match check.call1((draft,)) {
        Ok(verdict) => refusal(&verdict)?,
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(draft.py()) => {
            Some(error.value(draft.py()).str()?.to_string())
        }
        // Passes on a KeyboardInterrupt or SystemExit.
        Err(error) => return Err(error),
    };
    Ok((name, why))
}

/// Returns the reason for a refusal: a text, or `False`.
fn refusal(verdict: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(text) = verdict.cast::<PyString>() {
        return Ok(Some(text.to_str()?.to_owned()));
    }
    let is_false = verdict.cast::<PyBool>().is_ok_and(|verdict| !verdict.is_true());
    Ok(is_false.then(|| "the check returned False".to_owned()))
}

/// Commits a draft if the checks of the caller pass. Otherwise keeps it under `rejected/` and raises.
pub(crate) fn attempted(draft: &Bound<'_, Draft>, op: &str, checks: &[Py<PyAny>]) -> PyResult<Committed> {
    let py = draft.py();
    let (
        Staged {
            draft: mut staged, ..
        },
        results,
    ) = run_checks(draft, checks)?;
    let memory = draft.get().handle.memory(py)?;
    let failed = results
        .into_iter()
        .filter_map(|(name, why)| why.map(|why| format!("{name}: {why}")));
    let failed: Vec<_> = failed.collect();
    if failed.is_empty() {
        staged.snapshot_before();
        return run(py, || memory.commit(staged, op));
    }
    let why = failed.join("; ");
    let (ids, kept) = run(py, || {
        let changes = staged.changes();
        let ids = changes.iter().map(|change| change.id.to_string());
        Ok((ids.collect(), memory.quarantine(&staged, &why)?))
    })?;
    let hint = kept.map(|name| format!("nothing was changed; the staged change is saved as {name}"));
    let message = format!("the change was rejected: {why}");
    Err(rejected(py, &message, hint.as_deref(), ids))
}

/// Commits a draft if the checks of a policy and of the caller pass. Also returns the report of the guard.
pub(crate) fn guarded(
    draft: &Bound<'_, Draft>,
    policy: &Policy,
    own: &[Py<PyAny>],
) -> (PyResult<Committed>, Option<Py<PyAny>>) {
    let py = draft.py();
    match outcome(draft, policy, own) {
        Ok((done, found)) => match answer(py, &crate::shapes::Report::from(&found)) {
            Ok(found) => (done.map_err(|error| raised(py, &error)), Some(found.unbind())),
            Err(error) => (Err(error), None),
        },
        Err(error) => (Err(error), None),
    }
}

fn outcome(
    draft: &Bound<'_, Draft>,
    policy: &Policy,
    own: &[Py<PyAny>],
) -> PyResult<(treering::Result<Committed>, Report)> {
    let py = draft.py();
    let (
        Staged {
            draft: staged, steps, ..
        },
        results,
    ) = run_checks(draft, own)?;
    let agent = draft.get().handle.agent(py)?;
    let policy = policy.clone();
    let guarded = run(py, move || {
        let (writer, base) = (staged.writer().clone(), staged.base().clone());
        let change = move |guard: &mut treering::Draft| {
            // The guard has a newer base, so a conflict shows only in these expectations.
            for id in steps.iter().filter_map(|step| step.id()) {
                let version = base.get(id)?.map(|object| object.digest());
                guard.expect(id, version);
            }
            replay(steps, guard)
        };
        let checks = results
            .into_iter()
            .fold(Checks::new(policy), |checks, (name, why)| {
                checks.and(name, move |_| why.clone().map_or(Ok(()), Err))
            });
        agent.attempt(&writer, change, &checks)
    })?;
    Ok(match guarded {
        Guarded::Kept {
            committed, report, ..
        } => (Ok(*committed), report),
        refused @ Guarded::Refused { .. } => {
            let report = match &refused {
                Guarded::Refused { report, .. } => report.clone(),
                Guarded::Kept { .. } => Report::default(),
            };
            (refused.into_result().map(|((), committed)| committed), report)
        }
    })
}

//! Attempts: a draft is committed only if its checks pass.
//!
//! A check of the caller is a function of the draft. It refuses the change if it returns `False` or a text with the reason,
//! or raises `AssertionError`, `DeniedError` or `InvalidInputError`. Any other exception is a fault of the check. The checks
//! of a policy are those of `treering::agent::Checks`.

use pyo3::exceptions::{PyAssertionError, PyException};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use treering::Committed;
use treering::agent::{Checks, Guarded, Policy, Report};

use crate::answers::answer;
use crate::draft::{Draft, Staged, replay};
use crate::errors::{check_failed, is_of_kind, raised, rejected};
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

/// The name of a check, with the refusal if it refuses the change.
type Verdict = (String, Option<Refused>);

/// Why a check refuses the change, with the exception by which it said so.
struct Refused {
    why: String,
    cause: Option<PyErr>,
}

/// A check that did not come to a verdict.
struct Broken {
    name: String,
    error: PyErr,
}

/// Runs the checks of the caller on a draft, and finishes it. Returns the staged changes and the verdict of each check.
///
/// # Errors
/// `CheckError` if a check is broken: it raised an exception that is no refusal. The change is then kept under `rejected/`.
fn run_checks(draft: &Bound<'_, Draft>, checks: &[Py<PyAny>]) -> PyResult<(Staged, Vec<Verdict>)> {
    let py = draft.py();
    draft.get().check(py)?;
    let inside = Inside::attached(py);
    let results: Result<Vec<_>, Broken> = checks
        .iter()
        .map(|check| verdict(draft, check.bind(py)))
        .collect();
    drop(inside);
    let Broken { name, error } = match results {
        Ok(results) => return Ok((draft.get().take(py)?, results)),
        Err(broken) => broken,
    };
    if !error.is_instance_of::<PyException>(py) {
        // Passes on a KeyboardInterrupt or SystemExit.
        draft.get().discard(py)?;
        return Err(error);
    }
    let (staged, memory) = (draft.get().take(py)?, draft.get().handle.memory(py)?);
    let kept = run(py, || {
        memory.quarantine(&staged.draft, &format!("the check {name} failed"))
    });
    let hint = kept.ok().flatten();
    let hint = hint.map(|name| format!("nothing was changed; the staged change is saved as {name}"));
    let message = format!("the check {name} failed: {error}");
    let broken = check_failed(py, &message, hint.as_deref());
    broken.set_cause(py, Some(error));
    Err(broken)
}

/// Runs one check of the caller on a draft.
fn verdict(draft: &Bound<'_, Draft>, check: &Bound<'_, PyAny>) -> Result<Verdict, Broken> {
    let py = draft.py();
    let name = check
        .getattr("__name__")
        .and_then(|name| name.extract::<String>());
    let name = name.unwrap_or_else(|_| "check".to_owned());
    let refused = match check.call1((draft,)) {
        Ok(verdict) => refusal(&verdict).map(|why| why.map(|why| Refused { why, cause: None })),
        Err(error) if is_refusal(py, &error) => {
            let why = error.value(py).str().map(|why| why.to_string());
            why.map(|why| {
                Some(Refused {
                    why,
                    cause: Some(error),
                })
            })
        }
        Err(error) => Err(error),
    };
    match refused {
        Ok(refused) => Ok((name, refused)),
        Err(error) => Err(Broken { name, error }),
    }
}

/// Returns whether an exception of a check refuses the change: an `assert`, or an error about the change itself.
fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyAssertionError>(py)
        || is_of_kind(py, error, "DeniedError")
        || is_of_kind(py, error, "InvalidInputError")
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
    let mut cause = None;
    let failed = results.into_iter().filter_map(|(name, refused)| {
        let refused = refused?;
        cause = cause.take().or(refused.cause);
        Some(format!("{name}: {}", refused.why))
    });
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
    let error = rejected(py, &message, hint.as_deref(), ids);
    error.set_cause(py, cause);
    Err(error)
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
    let results = results
        .into_iter()
        .map(|(name, refused)| (name, refused.map(|refused| refused.why)));
    let results: Vec<_> = results.collect();
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

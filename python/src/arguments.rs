//! The arguments of an agent's calls: settings, places, policies, embedders, judges, citations and entries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use treering::agent::{Caller, Citation, NewEntry, Policy, Settings};

use crate::convert::{maybe_time, one_or_many, origin, value};
use crate::errors::{OrRaise, invalid};
use crate::exit::Inside;

/// The settings of an agent: the text of a settings file, or nothing.
pub(crate) fn settings_of(py: Python<'_>, text: Option<&str>) -> PyResult<Settings> {
    let settings = text.map_or(Ok(Settings::default()), |text| {
        Settings::from_toml(text).or_raise(py)
    });
    settings.map(|settings| Settings {
        meaning: settings.meaning.clone().or_model_of_environment(),
        ..settings
    })
}

/// Returns the caller. Without a project, its project is that of the current folder.
pub(crate) fn caller_of(
    memory: &treering::Memory,
    project: Option<String>,
    writer: treering::Writer,
) -> Caller {
    match project {
        None => Caller::here(writer, memory.path()),
        Some(project) => Caller {
            project: Some(project).filter(|project| !project.is_empty()),
            ..Caller::here(writer, None)
        },
    }
}

/// Reads citations from dicts with `file`, and maybe `line` and `note`, or from names of files. One of them needs no list.
pub(crate) fn citations(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Citation>> {
    let mut read = Vec::new();
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(read);
    };
    let _inside = Inside::attached(given.py());
    for one in one_or_many(given)? {
        read.push(match one.cast::<PyDict>() {
            Ok(fields) => {
                let field = |name: &str| fields.get_item(name);
                let file =
                    field("file")?.ok_or_else(|| invalid(given.py(), "a citation needs a file", None))?;
                Citation {
                    file: value(&file)?,
                    line: field("line")?.map(|line| value(&line)).transpose()?.flatten(),
                    note: field("note")?.map(|note| value(&note)).transpose()?.flatten(),
                }
            }
            Err(_) => Citation {
                file: value(&one)?,
                line: None,
                note: None,
            },
        });
    }
    Ok(read)
}

/// Reads entries: texts, pairs of speaker and text, or dicts. One text or dict needs no list.
///
/// # Errors
/// `TypeError` for a tuple of two texts, which may be one entry or two.
pub(crate) fn entries(given: &Bound<'_, PyAny>) -> PyResult<Vec<NewEntry>> {
    let mut read = Vec::new();
    let _inside = Inside::attached(given.py());
    if given
        .extract::<(Bound<'_, PyString>, Bound<'_, PyString>)>()
        .is_ok()
    {
        return Err(pyo3::exceptions::PyTypeError::new_err(
            "a tuple of two str may be one entry or two: give a list of entries, such as [(speaker, text)]",
        ));
    }
    for one in one_or_many(given)? {
        read.push(if let Ok(fields) = one.cast::<PyDict>() {
            let field = |name: &str| {
                fields
                    .get_item(name)
                    .map(|value| value.filter(|value| !value.is_none()))
            };
            let text = field("text")?.ok_or_else(|| invalid(given.py(), "an entry needs a text", None))?;
            let trust = field("trust")?
                .map(|trust| trust.extract::<String>())
                .transpose()?;
            NewEntry {
                text: value(&text)?,
                speaker: field("speaker")?.map(|speaker| value(&speaker)).transpose()?,
                time: maybe_time(field("time")?.as_ref())?,
                order: field("order")?.map(|order| value(&order)).transpose()?,
                origin: trust.map(|trust| origin(given.py(), &trust)).transpose()?,
                key: field("id")?.map(|key| value(&key)).transpose()?,
                ..NewEntry::default()
            }
        } else if let Ok((speaker, text)) = one.extract::<(Bound<'_, PyString>, Bound<'_, PyString>)>() {
            NewEntry {
                text: value(&text)?,
                speaker: Some(value(&speaker)?),
                ..NewEntry::default()
            }
        } else {
            NewEntry {
                text: value(&one)?,
                ..NewEntry::default()
            }
        });
    }
    Ok(read)
}

/// Reads a policy from the text of a policy file; the default without a text.
pub(crate) fn policy_of(py: Python<'_>, text: Option<&str>) -> PyResult<Policy> {
    text.map_or(Ok(Policy::default()), |text| Policy::parse(text).or_raise(py))
}

/// Checks that an embedder is a function with a name.
pub(crate) fn embedder_of<'py>(
    py: Python<'py>,
    name: Option<String>,
    function: Option<Bound<'py, PyAny>>,
) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
    match (name, function) {
        (_, None) => Ok(None),
        (Some(name), Some(function)) if function.is_callable() => Ok(Some((name, function))),
        (None, Some(_)) => Err(invalid(
            py,
            "the embedder has no name",
            Some("give embedder_name, for example the name and version of the model"),
        )),
        _ => Err(pyo3::exceptions::PyTypeError::new_err(
            "the embedder must be a function of a text",
        )),
    }
}

/// Checks that a judge is a function.
pub(crate) fn judge_of(function: Option<Bound<'_, PyAny>>) -> PyResult<Option<Bound<'_, PyAny>>> {
    match function {
        Some(function) if !function.is_callable() => Err(pyo3::exceptions::PyTypeError::new_err(
            "the judge must be a function of an object and a text",
        )),
        function => Ok(function),
    }
}

/// Returns the session of a call: the given one, else that of the writer.
pub(crate) fn session_of(
    py: Python<'_>,
    given: Option<String>,
    writer: &treering::Writer,
) -> PyResult<String> {
    given.or_else(|| writer.session.clone()).ok_or_else(|| {
        invalid(
            py,
            "the call names no session",
            Some("give session=…, or use agent.with_session(…)"),
        )
    })
}

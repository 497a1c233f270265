//! `Draft`: staged changes that become one commit, or none. As a context manager, it commits at the end and discards
//! after an exception.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pyo3::{PyTraverseError, PyVisit};
use treering::agent::{Caller, Confinement, NewItem};
use treering::{Id, NewObject, ObjectDigest};

use crate::answers::{Answer, changes};
use crate::attempt::{Checked, Mode, attempted, guarded};
use crate::callbacks::Callbacks;
use crate::committed::Committed;
use crate::convert::{attributes, digest, id, kind, maybe_time, position, scope, texts, value};
use crate::errors::{OrRaise as _, invalid, unusable};
use crate::handle::{Handle, OfProcess, run};
use crate::object::Object;
use crate::store::Store;
use crate::view::{View, id_in};

/// One staged call, which a guard repeats on its own draft.
#[derive(Clone)]
pub(crate) enum Step {
    Put(Box<NewObject>),
    Remove(Id),
    RemoveRecursive(Id),
    Restore(Id, treering::View),
    Expect(Id, Option<ObjectDigest>),
}

impl Step {
    /// Stages the call. Returns a word for the outcome of a put, and the number of removed or restored objects.
    fn apply(self, draft: &mut treering::Draft) -> treering::Result<(&'static str, u64)> {
        match self {
            Self::Put(object) => Ok(match draft.put(*object)? {
                treering::Staged::Created => ("created", 1),
                treering::Staged::Updated => ("updated", 1),
                treering::Staged::Unchanged => ("unchanged", 0),
            }),
            Self::Remove(id) => Ok(("", u64::from(draft.remove(&id)?))),
            Self::RemoveRecursive(id) => Ok(("", draft.remove_recursive(&id)?)),
            Self::Restore(id, from) => Ok(("", u64::from(draft.restore(&id, &from)?))),
            Self::Expect(id, version) => {
                draft.expect(&id, version);
                Ok(("", 0))
            }
        }
    }

    /// The id that the call changes.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            Self::Put(object) => Some(&object.id),
            Self::Remove(id) | Self::RemoveRecursive(id) | Self::Restore(id, _) => Some(id),
            Self::Expect(..) => None,
        }
    }
}

/// Stages calls on another draft.
pub(crate) fn replay(steps: Vec<Step>, draft: &mut treering::Draft) -> treering::Result<()> {
    steps.into_iter().try_for_each(|step| step.apply(draft).map(drop))
}

/// The staged changes of a draft.
pub(crate) struct Staged {
    pub(crate) draft: treering::Draft,
    pub(crate) steps: Vec<Step>,
    /// Whether checks run. Then nothing is staged any more, so that the commit has what the checks saw.
    is_checked: bool,
}

/// Staged changes that become one commit, or none.
#[pyclass(frozen, module = "treering", weakref)]
pub(crate) struct Draft {
    pub(crate) handle: Arc<Handle>,
    callbacks: Option<Py<Callbacks>>,
    staged: OfProcess<Mutex<Option<Staged>>>,
    /// The writer and its place.
    caller: Caller,
    mode: Mode,
    outcome: Mutex<Checked>,
    /// The thread that uses the staged changes.
    user: Mutex<Option<ThreadId>>,
}

/// Marks the thread that uses a draft, until this value is dropped.
struct Using<'a>(&'a Mutex<Option<ThreadId>>);

impl<'a> Using<'a> {
    fn begin(user: &'a Mutex<Option<ThreadId>>, thread: ThreadId) -> Self {
        *user.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Self(user)
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Draft {
    pub(crate) fn new(py: Python<'_>, store: &Store, draft: treering::Draft, mode: Mode) -> PyResult<Self> {
        store.handle.check(py)?;
        let caller = Caller {
            project: store.project.clone(),
            writer: draft.writer().clone(),
            confinement: Confinement::None,
        };
        let staged = Staged {
            draft,
            steps: Vec::new(),
            is_checked: false,
        };
        Ok(Self {
            handle: Arc::clone(&store.handle),
            callbacks: store.callbacks.as_ref().map(|callbacks| callbacks.clone_ref(py)),
            staged: OfProcess::new(Mutex::new(Some(staged))),
            caller,
            mode,
            outcome: Mutex::default(),
            user: Mutex::default(),
        })
    }

    /// Begins the checks. Until the changes are taken or discarded, nothing more is staged.
    ///
    /// # Errors
    /// `InvalidInputError` if checks run already.
    pub(crate) fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.with(py, |staged| Ok(std::mem::replace(&mut staged.is_checked, true)))? {
            true => Err(checked(py)),
            false => Ok(()),
        }
    }

    /// Calls `work` with the staged changes, without the GIL.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Staged) -> treering::Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.check(py)?;
        let done = self.locked(py, |staged| staged.as_mut().map(work).transpose())?;
        done.ok_or_else(|| finished(py))
    }

    /// Calls `work` while no other thread uses the draft.
    ///
    /// # Errors
    /// `InvalidInputError` if this thread uses the draft already, which is so in a judge that `Agent.check` calls.
    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Staged>) -> treering::Result<T> + Send,
    ) -> PyResult<T> {
        let (staged, here) = (self.staged.get(py)?, std::thread::current().id());
        if *self.user.lock().unwrap_or_else(PoisonError::into_inner) == Some(here) {
            let message = "a call that uses the draft runs in this thread";
            return Err(invalid(
                py,
                message,
                Some("read the draft before or after the call"),
            ));
        }
        run(py, || {
            let mut staged = staged.lock().unwrap_or_else(PoisonError::into_inner);
            let _using = Using::begin(&self.user, here);
            work(&mut staged)
        })
    }

    /// Takes the staged changes out of the draft, which finishes it.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Staged> {
        self.handle.check(py)?;
        let taken = self.locked(py, |staged| Ok(staged.take()))?;
        taken.ok_or_else(|| finished(py))
    }

    fn stage(&self, py: Python<'_>, step: Step) -> PyResult<(&'static str, u64)> {
        let records = self.mode.repeats();
        let done = self.with(py, |staged| {
            if staged.is_checked {
                return Ok(None);
            }
            let done = step.clone().apply(&mut staged.draft)?;
            if records {
                staged.steps.push(step);
            }
            Ok(Some(done))
        })?;
        done.ok_or_else(|| checked(py))
    }

    fn outcome(&self) -> std::sync::MutexGuard<'_, Checked> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits as the mode says.
    fn finish<'py>(slf: &Bound<'py, Self>, op: Option<&str>) -> Answer<'py> {
        let (py, draft) = (slf.py(), slf.get());
        let done = match &draft.mode {
            Mode::Plain(usual) => {
                let memory = draft.handle.memory(py)?;
                let (staged, op) = (draft.take(py)?.draft, op.unwrap_or(usual));
                run(py, || memory.commit(staged, op))?
            }
            Mode::Attempt { op: usual, checks } => attempted(slf, op.unwrap_or(usual), checks)?,
            Mode::Guard { .. } if op.is_some() => {
                return Err(invalid(
                    py,
                    "a guarded turn has the operation `guard`",
                    Some("call commit without op"),
                ));
            }
            Mode::Guard { policy, checks } => {
                let (done, report) = guarded(slf, policy, checks);
                draft.outcome().report = report;
                done?
            }
        };
        let answer = Committed::python(py, done)?;
        draft.outcome().committed = Some(answer.clone().unbind());
        Ok(answer)
    }
}

fn finished(py: Python<'_>) -> PyErr {
    unusable(
        py,
        "the draft was already committed or discarded",
        "finished",
        "make a new draft",
    )
}

fn checked(py: Python<'_>) -> PyErr {
    invalid(
        py,
        "the checks of the draft run, so it cannot change",
        Some("stage every change before the commit"),
    )
}

/// Reads the fields of an object to put.
#[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
pub(crate) fn new_object(
    py: Python<'_>,
    name: &str,
    content: Option<String>,
    kind: &str,
    scope: Option<&str>,
    parent: Option<&str>,
    position: Option<&str>,
    attributes: Option<&Bound<'_, PyDict>>,
    event_time: Option<&Bound<'_, PyAny>>,
    expires: Option<&Bound<'_, PyAny>>,
    derived_from: Option<&Bound<'_, PyAny>>,
) -> PyResult<NewObject> {
    let mut object = NewObject::new(id(py, name)?, self::kind(py, kind)?);
    object.content = content;
    if let Some(name) = scope {
        object.scope = self::scope(py, name)?;
    }
    object.parent = parent.map(|name| id(py, name)).transpose()?;
    object.position = position.map(|text| self::position(py, text)).transpose()?;
    object.attributes = self::attributes(attributes)?;
    object.event_time = maybe_time(event_time)?;
    object.expires = maybe_time(expires)?;
    let sources = texts(derived_from, "derived_from")?;
    let sources = sources.iter().map(|text| digest(py, text));
    object.derived_from = sources.collect::<PyResult<_>>()?;
    Ok(object)
}

#[pymethods]
impl Draft {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.callbacks)?;
        self.mode.checks().iter().try_for_each(|check| visit.call(check))
    }

    /// Stages an object. Returns ``"created"``, ``"updated"`` or ``"unchanged"``.
    #[pyo3(signature = (id, content=None, *, kind="fact", scope=None, parent=None, position=None, attributes=None, event_time=None, expires=None, derived_from=None))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
    fn put(
        &self,
        py: Python<'_>,
        id: &str,
        #[pyo3(from_py_with = value)] content: Option<String>,
        kind: &str,
        scope: Option<&str>,
        parent: Option<&str>,
        position: Option<&str>,
        attributes: Option<&Bound<'_, PyDict>>,
        event_time: Option<&Bound<'_, PyAny>>,
        expires: Option<&Bound<'_, PyAny>>,
        derived_from: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<&'static str> {
        let object = new_object(
            py,
            id,
            content,
            kind,
            scope,
            parent,
            position,
            attributes,
            event_time,
            expires,
            derived_from,
        )?;
        Ok(self.stage(py, Step::Put(Box::new(object)))?.0)
    }

    /// Stages an item of the agent, as ``Agent.remember`` would store it, without the search for duplicates. Without
    /// ``scope``, the item belongs to the project, as with ``remember``.
    #[pyo3(signature = (text, *, id, kind="fact", scope=None, tags=None, source=None, pinned=false))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword")]
    fn put_item(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = value)] text: String,
        id: &str,
        kind: &str,
        scope: Option<&str>,
        tags: Option<&Bound<'_, PyAny>>,
        source: Option<String>,
        pinned: bool,
    ) -> PyResult<&'static str> {
        let item = NewItem {
            kind: self::kind(py, kind)?,
            scope: self.caller.scope(scope).or_raise(py)?,
            tags: texts(tags, "tags")?,
            source,
            is_pinned: pinned,
            ..NewItem::new(text)
        };
        let id = self::id(py, id)?;
        let object = run(py, || item.into_object(id))?;
        Ok(self.stage(py, Step::Put(Box::new(object)))?.0)
    }

    /// Stages the removal of an object, with its children if ``recursive``. Returns the number of removed objects.
    #[pyo3(signature = (id, *, recursive=false))]
    fn remove(&self, py: Python<'_>, id: &str, recursive: bool) -> PyResult<u64> {
        let id = self::id(py, id)?;
        let step = if recursive {
            Step::RemoveRecursive(id)
        } else {
            Step::Remove(id)
        };
        Ok(self.stage(py, step)?.1)
    }

    /// Stages the version that an object has in another state. Returns whether this changes anything.
    fn restore(&self, py: Python<'_>, id: &str, view: &Bound<'_, View>) -> PyResult<bool> {
        let view = view.get().open(py)?.clone();
        Ok(self.stage(py, Step::Restore(self::id(py, id)?, view))?.1 > 0)
    }

    /// Makes the commit fail if the object has another version by then. ``None`` means that the object must be absent.
    #[pyo3(signature = (id, version))]
    fn expect(&self, py: Python<'_>, id: &str, version: Option<&str>) -> PyResult<()> {
        let version = version.map(|text| digest(py, text)).transpose()?;
        self.stage(py, Step::Expect(self::id(py, id)?, version)).map(drop)
    }

    /// Returns the object as it would be after the commit, or ``None``.
    fn get<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, Object>>> {
        let id = self::id(py, id)?;
        let found = self.with(py, |staged| staged.draft.get(&id))?;
        Object::maybe(py, found)
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = id_in(id)?;
        self.with(py, |staged| match id {
            Some(id) => Ok(staged.draft.get(&id)?.is_some()),
            None => Ok(false),
        })
    }

    /// Returns the staged changes, sorted by id.
    fn changes<'py>(slf: &Bound<'py, Self>) -> Answer<'py> {
        let (py, draft) = (slf.py(), slf.get());
        let (base, found) = draft.with(py, |staged| {
            Ok((staged.draft.base().clone(), staged.draft.changes()))
        })?;
        let states = (View::new(&draft.handle, base), slf.clone()).into_pyobject(py)?;
        changes(py, &found, &states)
    }

    /// The number of staged changes.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |staged| Ok(staged.draft.changes().len()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    /// The state on which the draft is based.
    #[getter]
    fn base(&self, py: Python<'_>) -> PyResult<View> {
        let base = self.with(py, |staged| Ok(staged.draft.base().clone()))?;
        Ok(View::new(&self.handle, base))
    }

    /// The writer of the draft.
    #[getter]
    fn writer(&self) -> crate::writer::Writer {
        crate::writer::Writer {
            writer: self.caller.writer.clone(),
        }
    }

    /// The result of the commit, after it.
    #[getter]
    fn committed(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.outcome().committed.as_ref().map(|done| done.clone_ref(py))
    }

    /// The report of the guard, after a guarded turn.
    #[getter]
    fn report(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.outcome().report.as_ref().map(|report| report.clone_ref(py))
    }

    /// Whether the draft was committed or discarded.
    #[getter]
    fn finished(&self, py: Python<'_>) -> PyResult<bool> {
        self.locked(py, |staged| Ok(staged.is_none()))
    }

    /// Commits the staged changes. In an attempt, the checks run first, and nothing can be staged meanwhile.
    #[pyo3(signature = (op=None))]
    fn commit<'py>(slf: &Bound<'py, Self>, op: Option<&str>) -> Answer<'py> {
        Self::finish(slf, op)
    }

    /// Saves the staged changes under a name, for another process or a later time, and finishes the draft.
    fn save(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let memory = self.handle.memory(py)?;
        let saved = self.with(py, |staged| match staged.is_checked {
            true => Ok(false),
            false => memory.save_draft(&staged.draft, name).map(|()| true),
        })?;
        match saved {
            true => self.take(py).map(drop),
            false => Err(checked(py)),
        }
    }

    /// Drops the staged changes. A second call does nothing.
    pub(crate) fn discard(&self, py: Python<'_>) -> PyResult<()> {
        self.locked(py, |staged| {
            *staged = None;
            Ok(())
        })
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyType>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let _ = (kind, traceback);
        let (py, draft) = (slf.py(), slf.get());
        if error.is_some() {
            draft.discard(py)?;
        } else if !draft.finished(py)? {
            Self::finish(slf, None)?;
        }
        Ok(false)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.with(py, |staged| Ok(staged.draft.changes().len())) {
            Ok(changes) => format!("Draft(changes={changes})"),
            Err(_) => "Draft(finished)".to_owned(),
        }
    }
}

//! `View`: one state that never changes, with its objects.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use treering::{HashAlgorithm, Query, Root};

use crate::answers::{Answer, commit, table, texts};
use crate::convert::{conditions, datetime, id, kind, scope, time, value};
use crate::copies::copies_itself;
use crate::errors::{OrRaise, invalid};
use crate::exit::Inside;
use crate::handle::{Handle, OfProcess, run};
use crate::object::Object;

/// The number of objects that an iterator reads at once.
const BATCH: usize = 64;

/// One state of a memory: a read-only mapping of ids to objects.
#[pyclass(frozen, module = "treering", weakref, mapping)]
pub(crate) struct View {
    handle: Arc<Handle>,
    view: OfProcess<treering::View>,
}

impl View {
    pub(crate) fn new(handle: &Arc<Handle>, view: treering::View) -> Self {
        Self {
            handle: Arc::clone(handle),
            view: OfProcess::new(view),
        }
    }

    /// Returns the view, if the handle is open.
    pub(crate) fn open(&self, py: Python<'_>) -> PyResult<&treering::View> {
        let view = self.view.get(py)?;
        self.handle.check(py)?;
        Ok(view)
    }

    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Option<treering::Object>> {
        let (view, id) = (self.open(py)?, id(py, name)?);
        run(py, || view.get(&id))
    }
}

/// Returns the view that an argument `at` names: a view, a revision, a time, or the newest state.
pub(crate) fn view_at(
    py: Python<'_>,
    handle: &Arc<Handle>,
    at: Option<&Bound<'_, PyAny>>,
) -> PyResult<treering::View> {
    let memory = handle.memory(py)?;
    let Some(at) = at.filter(|at| !at.is_none()) else {
        return run(py, || Ok(memory.view()));
    };
    if let Ok(view) = at.cast::<View>() {
        return view.get().open(py).cloned();
    }
    let revision = revision(at)?;
    run(py, || memory.at(revision))
}

/// Reads the operand of `in` as an id. Returns `None` for another value, which nothing contains.
pub(crate) fn id_in(given: &Bound<'_, PyAny>) -> PyResult<Option<treering::Id>> {
    let Ok(name) = given.cast::<PyString>() else {
        return Ok(None);
    };
    Ok(treering::Id::new(name.to_str()?).ok())
}

/// Reads a revision from its text or from a time.
pub(crate) fn revision(given: &Bound<'_, PyAny>) -> PyResult<treering::Revision> {
    if let Ok(text) = given.cast::<PyString>() {
        return text.to_str()?.parse::<treering::Revision>().or_raise(given.py());
    }
    // An object of the caller may have `__getattr__`.
    let _inside = Inside::attached(given.py());
    let is_time = given.hasattr("tzinfo")?;
    if !is_time {
        let found = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a revision must be a str, a datetime or a View, not {found}"
        )));
    }
    time(given).map(treering::Revision::Time)
}

#[pymethods]
impl View {
    /// The root that names this state.
    #[getter]
    fn root(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open(py)?.root().to_hex())
    }

    /// The commit of this state.
    #[getter]
    fn commit<'py>(&self, py: Python<'py>) -> Answer<'py> {
        commit(py, &self.open(py)?.commit())
    }

    /// The time that decides which objects have expired.
    #[getter]
    fn now<'py>(&self, py: Python<'py>) -> Answer<'py> {
        datetime(py, self.open(py)?.now())
    }

    /// Returns a view of the same state for which ``now`` decides which objects have expired.
    fn with_now(&self, py: Python<'_>, now: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = self.open(py)?.clone().with_now(time(now)?);
        Ok(Self::new(&self.handle, view))
    }

    /// Returns the object, else ``default``.
    #[pyo3(signature = (id, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(py, id)? {
            Some(object) => Object::python(py, object).map(Some),
            None => Ok(default),
        }
    }

    /// Returns the object of each id, or ``None``. Several times as fast as one ``get`` after the other.
    fn get_all<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Option<Bound<'py, Object>>>> {
        let texts = crate::convert::texts(Some(ids), "ids")?;
        let (view, ids) = (self.open(py)?, crate::convert::ids(py, &texts)?);
        let found = run(py, || view.get_all(&ids))?;
        found
            .into_iter()
            .map(|object| Object::maybe(py, object))
            .collect()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, id: &str) -> Answer<'py> {
        let missing = || {
            let kind = treering::ErrorKind::NotFound;
            treering::Error::new(kind, format!("there is no object '{id}'"))
        };
        let object = self.find(py, id)?.ok_or_else(missing).or_raise(py)?;
        Object::python(py, object)
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let view = self.open(py)?;
        match id_in(id)? {
            Some(id) => run(py, || view.contains(&id)),
            None => Ok(false),
        }
    }

    /// The number of objects, including expired ones.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.open(py)?.len()).unwrap_or(usize::MAX))
    }

    /// Iterates the ids of all objects, sorted.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Ids> {
        let objects = self.all(py)?;
        Ok(Ids { objects })
    }

    /// Iterates the ids of all objects, sorted.
    fn keys(&self, py: Python<'_>) -> PyResult<Ids> {
        self.__iter__(py)
    }

    /// Iterates all objects, sorted by id.
    fn values(&self, py: Python<'_>) -> PyResult<Objects> {
        self.all(py)
    }

    /// Iterates all ids with their objects, sorted by id.
    fn items(&self, py: Python<'_>) -> PyResult<Items> {
        let objects = self.all(py)?;
        Ok(Items { objects })
    }

    /// Iterates the objects that meet every given condition, sorted by id, or by position below a parent.
    #[pyo3(signature = (*, kind=None, scope=None, prefix=None, parent=None, attributes=None, expired=false, limit=None))]
    #[expect(clippy::too_many_arguments, reason = "each condition is a keyword")]
    fn query(
        &self,
        py: Python<'_>,
        kind: Option<&str>,
        scope: Option<&str>,
        prefix: Option<String>,
        parent: Option<&str>,
        attributes: Option<&Bound<'_, PyDict>>,
        expired: bool,
        #[pyo3(from_py_with = value)] limit: Option<usize>,
    ) -> PyResult<Objects> {
        let mut query = Query::default();
        query.kind = kind.map(|name| self::kind(py, name)).transpose()?;
        query.scope = scope.map(|name| self::scope(py, name)).transpose()?;
        query.prefix = prefix;
        query.parent = parent.map(|name| id(py, name)).transpose()?;
        query.attributes = conditions(attributes)?;
        query.include_expired = expired;
        query.limit = limit;
        self.matches(py, query)
    }

    /// Returns the ids of the children of an object, in their order.
    #[pyo3(signature = (id, *, limit=None))]
    fn children<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        #[pyo3(from_py_with = value)] limit: Option<usize>,
    ) -> Answer<'py> {
        let (view, id) = (self.open(py)?, self::id(py, id)?);
        let children = run(py, || view.children(&id, limit))?;
        texts(py, children.iter().map(|id| id.as_str()))
    }

    /// Returns a proof that this state has a certain version of ``id``, or none.
    fn prove(&self, py: Python<'_>, id: &str) -> PyResult<Proof> {
        let (view, id) = (self.open(py)?, self::id(py, id)?);
        let proof = run(py, || view.prove(&id))?;
        Ok(Proof { proof })
    }

    /// Two views are equal if they have the same root.
    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(self.open(py)?.root() == other.open(py)?.root())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let root = self.open(py)?.root().to_hex();
        Ok(u64::from_str_radix(&root[..16], 16).unwrap_or_default())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.open(py) {
            Ok(view) => {
                let (commit, root) = (view.commit(), view.root().to_hex());
                format!(
                    "View(seq={}, objects={}, root={})",
                    commit.commit.seq,
                    view.len(),
                    &root[..8]
                )
            }
            Err(_) => "View(closed)".to_owned(),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut query = Query::default();
        query.include_expired = true;
        let rows = self.matches(py, query)?.list(py, Some(101))?;
        let _inside = Inside::attached(py);
        rows.call_method0("_repr_html_")?.extract()
    }
}

impl View {
    fn all(&self, py: Python<'_>) -> PyResult<Objects> {
        let mut query = Query::default();
        query.include_expired = true;
        self.matches(py, query)
    }

    fn matches(&self, py: Python<'_>, query: Query) -> PyResult<Objects> {
        let view = self.open(py)?;
        let found = run(py, || view.query(&query))?;
        let reading = Reading {
            found: Some(Box::new(found)),
            read: VecDeque::new(),
        };
        Ok(Objects {
            seq: view.commit().commit.seq,
            handle: Arc::clone(&self.handle),
            reading: OfProcess::new(Mutex::new(reading)),
        })
    }
}

type Found = Box<dyn Iterator<Item = treering::Result<treering::Object>> + Send>;

struct Reading {
    found: Option<Found>,
    read: VecDeque<treering::Object>,
}

/// An iterator of objects, which reads them in batches.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Objects {
    /// The number of the commit whose state the iterator reads.
    seq: u64,
    handle: Arc<Handle>,
    reading: OfProcess<Mutex<Reading>>,
}

impl Objects {
    fn advance(&self, py: Python<'_>) -> PyResult<Option<treering::Object>> {
        let reading = self.reading.get(py)?;
        self.handle.check(py)?;
        run(py, || {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            if reading.read.is_empty()
                && let Some(mut found) = reading.found.take()
            {
                while reading.read.len() < BATCH {
                    // The iterator is dropped at its end and after an error.
                    let Some(object) = found.next() else {
                        return Ok(reading.read.pop_front());
                    };
                    reading.read.push_back(object?);
                }
                reading.found = Some(found);
            }
            Ok(reading.read.pop_front())
        })
    }

    /// Returns the text for `repr`, which reads no object.
    fn described(&self, py: Python<'_>, class: &str, more: &str) -> String {
        let open = self.reading.get(py).and_then(|_| self.handle.check(py));
        match open {
            Ok(()) => format!("{class}(seq={}{more})", self.seq),
            Err(_) => format!("{class}(closed)"),
        }
    }

    fn list<'py>(&self, py: Python<'py>, limit: Option<usize>) -> Answer<'py> {
        let mut objects = Vec::new();
        while limit.is_none_or(|limit| objects.len() < limit) {
            let Some(object) = self.advance(py)? else { break };
            objects.push(object);
        }
        table(py, objects, Object::python)
    }
}

#[pymethods]
impl Objects {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, Object>>> {
        Object::maybe(py, self.advance(py)?)
    }

    /// Returns the remaining objects as a table.
    fn table<'py>(&self, py: Python<'py>) -> Answer<'py> {
        self.list(py, None)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.described(py, "Objects", "; table() reads the rest")
    }
}

/// An iterator of ids.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Ids {
    objects: Objects,
}

#[pymethods]
impl Ids {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let object = self.objects.advance(py)?;
        Ok(object.map(|object| object.id().as_str().to_owned()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.objects.described(py, "Ids", "")
    }
}

/// An iterator of ids with their objects.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Items {
    objects: Objects,
}

#[pymethods]
impl Items {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(String, Object)>> {
        let object = self.objects.advance(py)?;
        Ok(object.map(|object| (object.id().as_str().to_owned(), Object { object })))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.objects.described(py, "Items", "")
    }
}

/// A proof that a state has a certain version of an object, or has no object with an id.
#[pyclass(frozen, module = "treering")]
pub(crate) struct Proof {
    proof: treering::proof::Proof,
}

copies_itself!(Proof);

#[pymethods]
impl Proof {
    /// Checks the proof about ``id`` against a trusted root. Returns the digest of the object, or ``None`` if the state
    /// has no such object. Needs no store.
    #[pyo3(signature = (root, id, *, hash="blake3"))]
    fn verify(&self, py: Python<'_>, root: &str, id: &str, hash: &str) -> PyResult<Option<String>> {
        let hash = hash_named(py, hash)?;
        let given = root;
        let root: Root = root.parse().map_err(|_| {
            invalid(
                py,
                &format!("`{given}` is not a root"),
                Some("give 64 hexadecimal digits"),
            )
        })?;
        let id = self::id(py, id)?;
        match self.proof.verify(hash, &root, &id) {
            Ok(digest) => Ok(digest.map(|digest| digest.to_hex())),
            Err(error) => Err(invalid(
                py,
                &format!("the proof is invalid: {error}"),
                Some("compare the root with the root of the state that the proof is about"),
            )),
        }
    }
}

/// Reads the name of a hash.
pub(crate) fn hash_named(py: Python<'_>, name: &str) -> PyResult<HashAlgorithm> {
    match name {
        "blake3" => Ok(HashAlgorithm::Blake3),
        "sha256" => Ok(HashAlgorithm::Sha256),
        _ => Err(invalid(py, "the hash is unknown", Some("use blake3 or sha256"))),
    }
}

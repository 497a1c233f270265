//! `Object`: one version of what is remembered.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treering::agent::Item;

use crate::answers::{Answer, table, texts};
use crate::convert::{json_attributes, maybe_datetime, python_attributes, python_value, time_text};
use crate::copies::copies_itself;
use crate::exit::Inside;

/// One version of an object: its id, kind, scope, attributes and text. It never changes.
#[pyclass(frozen, module = "treering", weakref)]
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) object: treering::Object,
}

impl Object {
    pub(crate) fn python(py: Python<'_>, object: treering::Object) -> Answer<'_> {
        Ok(Bound::new(py, Self { object })?.into_any())
    }

    pub(crate) fn maybe(
        py: Python<'_>,
        object: Option<treering::Object>,
    ) -> PyResult<Option<Bound<'_, Self>>> {
        object.map(|object| Bound::new(py, Self { object })).transpose()
    }
}

copies_itself!(Object);

#[pymethods]
impl Object {
    /// The permanent name.
    #[getter]
    fn id(&self) -> &str {
        self.object.id().as_str()
    }

    /// The kind, such as ``"fact"``.
    #[getter]
    fn kind(&self) -> &str {
        self.object.kind()
    }

    #[getter]
    fn scope(&self) -> &str {
        self.object.scope()
    }

    /// The id of the parent.
    #[getter]
    fn parent(&self) -> Option<&str> {
        self.object.parent()
    }

    /// The position among the siblings.
    #[getter]
    fn position(&self) -> Option<&str> {
        self.object.position()
    }

    /// The text.
    #[getter]
    fn content(&self) -> Option<&str> {
        self.object.content()
    }

    /// The attributes. Each access builds a new dict.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        python_attributes(py, &self.object.attributes())
    }

    /// The class of trust.
    #[getter]
    fn origin(&self) -> String {
        self.object.origin().to_string()
    }

    /// Whether the class is one of the four trusted ones.
    #[getter]
    fn trusted(&self) -> bool {
        self.object.origin().is_trusted()
    }

    /// The digests of the versions from which this object is derived.
    #[getter]
    fn derived_from<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, self.object.derived_from())
    }

    /// The time of the event that the object describes.
    #[getter]
    fn event_time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        maybe_datetime(py, self.object.event_time())
    }

    /// The time from which on the object is hidden.
    #[getter]
    fn expires<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        maybe_datetime(py, self.object.expires())
    }

    /// The digest that, with the id, names this version.
    #[getter]
    fn digest(&self) -> String {
        self.object.digest().to_hex()
    }

    /// Whether the version was erased, so that only its digest is known.
    #[getter]
    fn erased(&self) -> bool {
        self.object.is_placeholder()
    }

    /// The canonical bytes, over which the digest is taken.
    fn __bytes__(&self) -> &[u8] {
        self.object.bytes()
    }

    /// Returns the attribute of this name, else ``default``, without building the other attributes.
    #[pyo3(signature = (name, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.object.attribute(name) {
            Some(value) => python_value(py, &value).map(Some),
            None => Ok(default),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> Answer<'py> {
        let value = self.object.attribute(name);
        let value = value.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        python_value(py, &value)
    }

    /// Returns the fields as a dict that ``json.dumps`` accepts, with attributes as in the JSON of the program.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("id", self.id())?;
        fields.set_item("kind", self.kind())?;
        fields.set_item("scope", self.scope())?;
        fields.set_item("parent", self.parent())?;
        fields.set_item("position", self.position())?;
        fields.set_item("content", self.content())?;
        fields.set_item("attributes", json_attributes(py, &self.object.attributes())?)?;
        fields.set_item("origin", self.origin())?;
        fields.set_item("derived_from", self.derived_from(py)?)?;
        fields.set_item("event_time", time_text(self.object.event_time()))?;
        fields.set_item("expires", time_text(self.object.expires()))?;
        fields.set_item("digest", self.digest())?;
        Ok(fields)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an Object cannot be pickled: pickle its to_dict()",
        ))
    }

    fn __str__(&self) -> &str {
        self.object.content().unwrap_or_default()
    }

    fn __repr__(&self) -> String {
        format!(
            "Object({}, kind={:?}, scope={}, content={})",
            shortened(self.id(), 36),
            self.kind(),
            shortened(self.scope(), 12),
            shortened(self.object.content().unwrap_or_default(), 24)
        )
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.object.digest() == other.object.digest() && self.object.id() == other.object.id()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.object.digest().to_hex().hash(&mut hasher);
        hasher.finish()
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        html_of(slf.as_any())
    }
}

/// Returns items as a `Table` of objects.
pub(crate) fn objects(py: Python<'_>, items: Vec<Item>) -> Answer<'_> {
    table(py, items, |py, item| Object::python(py, item.into_object()))
}

/// Returns the start of a text for `repr`.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let start: String = text.chars().take(chars_max).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{more}")
}

/// Returns an object as a table of names and values.
pub(crate) fn html_of(row: &Bound<'_, PyAny>) -> PyResult<String> {
    let _inside = Inside::attached(row.py());
    let module = row.py().import("treering.table")?;
    module.getattr("html_of")?.call1((row,))?.extract()
}

//! `Recalled` and `Hit`: the answer to a recall.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treering::agent::RecallHit;

use crate::answers::{Answer, table, texts};
use crate::convert::datetime;
use crate::copies::copies_itself;
use crate::exit::Inside;
use crate::object::{html_of, shortened};

/// One item that a recall found.
#[pyclass(frozen, module = "treering", weakref)]
#[derive(Clone)]
pub(crate) struct Hit {
    pub(crate) hit: RecallHit,
}

impl Hit {
    pub(crate) fn python(py: Python<'_>, hit: RecallHit) -> Answer<'_> {
        Ok(Bound::new(py, Self { hit })?.into_any())
    }
}

copies_itself!(Hit);

#[pymethods]
impl Hit {
    #[getter]
    fn id(&self) -> &str {
        self.hit.id.as_str()
    }

    #[getter]
    fn kind(&self) -> &str {
        &self.hit.kind
    }

    #[getter]
    fn scope(&self) -> &str {
        &self.hit.scope
    }

    /// The score. Only the order of the scores of one recall has a meaning.
    #[getter]
    fn score(&self) -> f32 {
        self.hit.score
    }

    /// The confidence that the hit answers the question, from 0 to 1.
    #[getter]
    fn confidence(&self) -> f32 {
        self.hit.confidence
    }

    /// The titles above the item, from the top down.
    #[getter]
    fn titles<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, &self.hit.titles)
    }

    /// The part of the text that matches.
    #[getter]
    fn snippet(&self) -> &str {
        &self.hit.snippet
    }

    /// The whole text, if the recall asked for it with ``full=True``.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.hit.text.as_deref()
    }

    /// The time of the event, else the time of the first write.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> Answer<'py> {
        datetime(py, self.hit.time)
    }

    /// The class of trust.
    #[getter]
    fn trust(&self) -> String {
        self.hit.trust.to_string()
    }

    /// Whether the class is one of the four trusted ones.
    #[getter]
    fn trusted(&self) -> bool {
        self.hit.trust.is_trusted()
    }

    /// The rules of the scan that the text matches.
    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, &self.hit.flags)
    }

    #[getter]
    fn tokens(&self) -> usize {
        self.hit.tokens
    }

    /// The main reasons for the score.
    #[getter]
    fn why<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, &self.hit.why)
    }

    /// All reasons for the score as ``(name, meaning, value, weight)``, if the recall asked with ``explain=True``.
    #[getter]
    fn reasons<'py>(&self, py: Python<'py>) -> Answer<'py> {
        let reasons = self.hit.reasons.as_ref().map(|reasons| {
            let reasons = reasons.iter();
            let reasons = reasons.map(|one| (one.name, one.meaning, one.value, one.weight));
            reasons.collect::<Vec<_>>()
        });
        reasons.into_bound_py_any(py)
    }

    /// The items that supersede this one.
    #[getter]
    fn superseded_by<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, self.hit.superseded_by.iter().map(|id| id.as_str()))
    }

    #[getter]
    fn speaker(&self) -> Option<&str> {
        self.hit.speaker.as_deref()
    }

    /// The session that the item belongs to, such as that of an entry of a transcript.
    #[getter]
    fn session(&self) -> Option<&str> {
        self.hit.session.as_deref()
    }

    /// The digest of the version.
    #[getter]
    fn digest(&self) -> String {
        self.hit.digest.to_hex()
    }

    /// Returns the fields as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("id", self.id())?;
        fields.set_item("score", self.score())?;
        fields.set_item("confidence", self.confidence())?;
        fields.set_item("snippet", self.snippet())?;
        fields.set_item("text", self.text())?;
        fields.set_item("kind", self.kind())?;
        fields.set_item("scope", self.scope())?;
        fields.set_item("time", self.hit.time.to_string())?;
        fields.set_item("trust", self.trust())?;
        fields.set_item("flags", self.flags(py)?)?;
        fields.set_item("titles", self.titles(py)?)?;
        fields.set_item("speaker", self.speaker())?;
        fields.set_item("session", self.session())?;
        fields.set_item("superseded_by", self.superseded_by(py)?)?;
        fields.set_item("digest", self.digest())?;
        Ok(fields)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Hit cannot be pickled: pickle its to_dict()",
        ))
    }

    fn __str__(&self) -> &str {
        self.hit.text.as_deref().unwrap_or(&self.hit.snippet)
    }

    fn __repr__(&self) -> String {
        let id = shortened(self.id(), 40);
        format!(
            "Hit({id}, {:.2}, {})",
            self.hit.score,
            shortened(&self.hit.snippet, 60)
        )
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        html_of(slf.as_any())
    }
}

/// The answer to a recall: a sequence of hits, the best first.
#[pyclass(frozen, module = "treering", weakref, sequence)]
pub(crate) struct Recalled {
    hits: Py<PyAny>,
    recalled: treering::agent::Recalled,
}

impl Recalled {
    pub(crate) fn new(py: Python<'_>, mut recalled: treering::agent::Recalled) -> PyResult<Self> {
        let hits = std::mem::take(&mut recalled.hits);
        let hits = table(py, hits, Hit::python)?.unbind();
        Ok(Self { hits, recalled })
    }
}

copies_itself!(Recalled);

#[pymethods]
impl Recalled {
    /// The hits, the best first.
    #[getter]
    fn hits<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.hits.bind(py).clone()
    }

    /// The number of matches that are left out because they are untrusted.
    #[getter]
    fn left_out(&self) -> usize {
        self.recalled.left_out
    }

    /// The number of hits that did not fit into the budget.
    #[getter]
    fn skipped(&self) -> usize {
        self.recalled.skipped
    }

    /// The size of the texts of all hits, in tokens.
    #[getter]
    fn tokens(&self) -> usize {
        self.recalled.tokens
    }

    /// The root of the state that answered.
    #[getter]
    fn root(&self) -> String {
        self.recalled.root.to_hex()
    }

    /// The words that the recall searched for.
    #[getter]
    fn terms<'py>(&self, py: Python<'py>) -> Answer<'py> {
        texts(py, &self.recalled.terms)
    }

    /// If there are no hits: the other scopes that have matches, each with the number of matches.
    #[getter]
    fn elsewhere<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scopes = PyDict::new(py);
        for found in &self.recalled.elsewhere {
            scopes.set_item(&found.scope, found.matches)?;
        }
        Ok(scopes)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.hits.bind(py).len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: Bound<'py, PyAny>) -> Answer<'py> {
        // An index of the caller may have `__index__`.
        let _inside = Inside::attached(py);
        self.hits.bind(py).get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Answer<'py> {
        Ok(self.hits.bind(py).try_iter()?.into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let _inside = Inside::attached(py);
        let hits = self.hits.bind(py).repr()?;
        Ok(format!("Recalled({hits})"))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let _inside = Inside::attached(py);
        self.hits.bind(py).call_method0("_repr_html_")?.extract()
    }
}

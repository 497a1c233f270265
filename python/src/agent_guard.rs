//! The calls of an agent about changes that a check or a person decides: attempts, quarantine and promotion.

use pyo3::prelude::*;
use treering::agent::{Checks, PersonSays};

use crate::agent::Agent;
use crate::answers::{Answer, answer, table};
use crate::arguments::policy_of;
use crate::attempt::Mode;
use crate::committed::Committed;
use crate::convert::{digest, id, texts};
use crate::draft::Draft;
use crate::handle::run;
use crate::memory::check_callables;
use crate::shapes as shape;
use crate::writer::Writer;

#[pymethods]
impl Agent {
    /// Begins a guarded turn: a draft that is committed only if the policy and the checks of the caller pass. ``policy``
    /// is the text of a policy file.
    #[pyo3(signature = (*checks, policy=None, writer=None))]
    fn attempt(
        slf: &Bound<'_, Self>,
        checks: Vec<Py<PyAny>>,
        policy: Option<&str>,
        writer: Option<&Bound<'_, Writer>>,
    ) -> PyResult<Draft> {
        let (py, store) = (slf.py(), slf.as_super().get());
        check_callables(py, &checks)?;
        let policy = policy_of(py, policy)?;
        let (memory, writer) = (store.handle.memory(py)?, store.writer(writer));
        let draft = run(py, || Ok(memory.draft(&writer)))?;
        Draft::new(py, store, draft, Mode::Guard { policy, checks })
    }

    /// Runs the checks of a policy on a draft. Changes nothing.
    #[pyo3(signature = (draft, *, policy=None))]
    fn check<'py>(slf: &Bound<'py, Self>, draft: &Bound<'py, Draft>, policy: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, policy) = (store.handle.agent(py)?, policy_of(py, policy)?);
        let found = draft
            .get()
            .with(py, |staged| agent.check(&staged.draft, &Checks::new(policy)))?;
        answer(py, &shape::Report::from(&found))
    }

    /// Returns the changes that wait for a person, newest first.
    #[pyo3(signature = (*, scopes=None))]
    fn quarantined<'py>(slf: &Bound<'py, Self>, scopes: Option<&Bound<'py, PyAny>>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, reach) = (store.handle.agent(py)?, slf.get().reach_of(py, scopes)?);
        let held = run(py, || agent.quarantined(&reach))?;
        table(py, &held, answer)
    }

    /// Commits a quarantined change because a person decided so. The writer must be a person.
    #[pyo3(signature = (name, *, writer=None))]
    fn release<'py>(slf: &Bound<'py, Self>, name: &str, writer: Option<&Bound<'py, Writer>>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        Committed::python(py, run(py, || agent.release(name, PersonSays::InHost, &writer))?)
    }

    /// Drops a quarantined change.
    #[pyo3(signature = (name, *, writer=None))]
    fn discard(slf: &Bound<'_, Self>, name: &str, writer: Option<&Bound<'_, Writer>>) -> PyResult<()> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        run(py, || agent.discard(name, &writer))
    }

    /// Returns what takes effect if a person promotes an item.
    #[pyo3(signature = (id, *, expected=None))]
    fn review<'py>(slf: &Bound<'py, Self>, id: &str, expected: Option<&str>) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let expected = expected.map(|text| digest(py, text)).transpose()?;
        let (agent, id) = (store.handle.agent(py)?, self::id(py, id)?);
        answer(py, &run(py, || agent.review(&id, expected))?)
    }

    /// Raises an item to the class of the writer, who must be a person. ``expected`` is the digest that was reviewed.
    #[pyo3(signature = (id, expected, *, keep=None, writer=None))]
    fn promote<'py>(
        slf: &Bound<'py, Self>,
        id: &str,
        expected: &str,
        keep: Option<&Bound<'py, PyAny>>,
        writer: Option<&Bound<'py, Writer>>,
    ) -> Answer<'py> {
        let (py, store) = (slf.py(), slf.as_super().get());
        let (id, expected, keep) = (self::id(py, id)?, digest(py, expected)?, texts(keep, "keep")?);
        let (agent, writer) = (store.handle.agent(py)?, store.writer(writer));
        let done = run(py, || {
            let keep: Vec<_> = keep.iter().map(String::as_str).collect();
            agent.promote(&id, expected, &keep, PersonSays::InHost, &writer)
        })?;
        answer(py, &shape::Promoted::from(&done))
    }
}

//! The native module of the Python package `treering`.
//!
//! The library does the work; these files convert arguments and answers. The classes that are used often are here
//! (`Object`, `Committed`, `View`, the handles). All other answers are dataclasses in `treering/answers.py`, which
//! `generate.py` writes, and the exceptions are in `treering/errors.py`.

mod agent;
mod agent_guard;
mod agent_items;
mod agent_sessions;
mod answers;
mod arguments;
mod attempt;
mod callbacks;
mod committed;
mod convert;
mod copies;
mod draft;
mod errors;
mod exit;
mod forks;
mod handle;
mod interrupt;
mod memory;
mod object;
mod program;
mod remotes;
mod shapes;
mod store;
mod view;
mod writer;

/// The native module of `treering`. Import the names from `treering`.
#[pyo3::pymodule]
mod _treering {
    #[pymodule_export]
    use super::agent::Agent;
    #[pymodule_export]
    use super::answers::schemas;
    #[pymodule_export]
    use super::committed::Committed;
    #[pymodule_export]
    use super::draft::Draft;
    #[pymodule_export]
    use super::exit::after_fork;
    #[pymodule_export]
    use super::handle::close_all;
    #[pymodule_export]
    use super::memory::Memory;
    #[pymodule_export]
    use super::object::Object;
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::remotes::{Remote, clone};
    #[pymodule_export]
    use super::store::{Store, Watch};
    #[pymodule_export]
    use super::view::{Ids, Items, Objects, Proof, View};
    #[pymodule_export]
    use super::writer::Writer;

    /// The version of the package.
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
}

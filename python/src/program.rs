//! The command `treering` of the package: the program, in this library.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the program, and ends the process. `command` is the file that starts it.
///
/// # Errors
/// An exception if the signal cannot be set.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, command: PathBuf, arguments: Vec<OsString>) -> PyResult<()> {
    // Python's own handler of ctrl-c would wait for the end of this call.
    let signals = py.import("_signal")?;
    signals.call_method1(
        "signal",
        (signals.getattr("SIGINT")?, signals.getattr("SIG_DFL")?),
    )?;
    py.detach(|| treering_program::cli::run_package(&command, arguments))
}

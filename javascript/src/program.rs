//! The command `treering` of the package: the program, in this library.

use std::ffi::OsString;
use std::path::Path;

use napi_derive::napi;

/// Runs the program, and ends the process. `command` is the file that starts it. Call this in the main thread only.
#[napi]
pub fn run_program(command: String, arguments: Vec<String>) {
    treering_program::cli::run_package(Path::new(&command), arguments.into_iter().map(OsString::from))
}

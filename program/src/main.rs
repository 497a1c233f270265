//! The `treering` program, which calls [`treering_program::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(treering_program::cli::run(std::env::args_os()))
}

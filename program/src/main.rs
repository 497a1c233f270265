//! The `treering` program, which calls [`treering_program::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    treering_program::cli::report_bugs_in_one_line();
    treering_program::cli::run(std::env::args_os())
}

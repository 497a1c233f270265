//! The `treering` program, which calls [`treering::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    treering::cli::report_bugs_in_one_line();
    treering::cli::run(std::env::args_os())
}

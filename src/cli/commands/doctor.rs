//! `doctor`: lists each problem of the store with the command that fixes it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::os::unix::fs::MetadataExt as _;

use super::findings::place;
use super::prelude::*;
use crate::answers::store::{ClientSetup, Diagnosis, Examined};
#[cfg(feature = "mcp")]
use crate::cli::clients::{Client, Start};
use crate::cli::context::{explain, quoted};
use crate::engine::{self, Problem, ProblemSeverity, Remedy};

/// The remedy if no state of the store is readable.
const NOTHING_LEFT: &str = "restore a backup of the store, or read an export with treering put --jsonl";

/// List problems and their remedies
///
/// Each problem is listed with the command that fixes it.
///
/// # Notes
/// For damage, run the printed command. The clients whose settings start treering serve --mcp are listed, too. A warning needs attention, a notice does not. Exit code 5: the store is
/// damaged.
///
/// # Examples
/// ```text
/// treering doctor
/// treering doctor --json
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Doctor {}

impl Verb for Doctor {
    const ANSWERS: &'static [Form] = &[form::<Examined>("")];

    fn run(self, context: &mut Context) -> Done {
        let path = context.store()?;
        let problems = engine::examine_store(&path, &context.reading_options())
            .map_err(|error| not_opened(error, &path))?;
        let is_damage = |problem: &Problem| problem.severity == ProblemSeverity::Damage;
        let ok = !problems.iter().any(is_damage);
        let diagnosis = |problem| Diagnosis {
            command: command(&problem, &path),
            problem,
        };
        let problems = problems.into_iter().map(diagnosis).collect();
        let examined = Examined {
            ok,
            problems,
            clients: clients(&path),
        };
        context.answer(&examined, show_examined)?;
        Ok(if examined.ok { DONE } else { DAMAGED })
    }
}

fn show_examined(answer: &Examined, context: &mut Context) -> Result<()> {
    let store = context.store()?;
    let output = &mut context.output;
    for (number, Diagnosis { problem, command }) in answer.problems.iter().enumerate() {
        let meaning = match problem.severity {
            ProblemSeverity::Damage => Meaning::Bad,
            _ => Meaning::Changed,
        };
        let place = place(problem.file.as_deref(), problem.offset);
        let text = format!("{place}: {}", one_line(&problem.what));
        output.labelled(meaning, problem.severity.name(), &text)?;
        if problem.remedy == Remedy::Backup {
            output.line(format_args!("no command repairs this: {NOTHING_LEFT}"))?;
        }
        // A command that fixes several consecutive problems is printed once, after the last of them.
        let next = answer.problems.get(number + 1);
        let next = next.and_then(|next| next.command.as_ref());
        if let Some(command) = command.as_ref().filter(|command| next != Some(command)) {
            output.line(format_args!("repair with: {command}"))?;
        }
    }
    for setup in &answer.clients {
        let file = one_line(&setup.file);
        match (&setup.problem, &setup.remedy) {
            (Some(problem), Some(remedy)) => {
                output.labelled(
                    Meaning::Changed,
                    setup.client,
                    &format!("{file}: {}", one_line(problem)),
                )?;
                output.line(format_args!("repair with: {remedy}"))?;
            }
            _ => output.line(format_args!("{} starts the server: {file}", setup.client))?,
        }
    }
    if answer.problems.is_empty() {
        let store = shown(&store);
        output.line(format_args!("no problems found in the store {store}"))?;
    }
    Ok(())
}

/// Returns the clients whose settings start the server, with what is wrong. `store` is the store that is examined.
#[cfg(feature = "mcp")]
fn clients(store: &Path) -> Vec<ClientSetup> {
    let setups = Client::ALL.into_iter().filter_map(|client| {
        let file = client.file().ok()?;
        let start = file.start();
        if matches!(start, Ok(None)) {
            return None;
        }
        let (command, problem) = match start {
            Err(error) => (None, Some(error.message().to_owned())),
            Ok(start) => {
                let start = start?;
                let problem = problem_of(&start, store);
                (Some(start.command), problem)
            }
        };
        let remedy = problem
            .as_ref()
            .map(|_| format!("treering mcp install --client {client}"));
        Some(ClientSetup {
            client: client.name(),
            file: shown(&file.path),
            command,
            problem,
            remedy,
        })
    });
    setups.collect()
}

/// Returns why a client cannot serve the store.
#[cfg(feature = "mcp")]
fn problem_of(start: &Start, store: &Path) -> Option<String> {
    let program = Path::new(&start.command);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_found = if program.components().count() > 1 {
        program.is_file()
    } else {
        std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
    };
    if !is_found {
        return Some(format!("the program {} does not exist", start.command));
    }
    if !start.is_server() {
        return Some("the arguments do not start serve --mcp".to_owned());
    }
    let named = start
        .args
        .iter()
        .skip_while(|arg| *arg != "--store")
        .nth(1)
        .map(PathBuf::from)?;
    let same = named.canonicalize().ok() == store.canonicalize().ok();
    (!same).then(|| format!("it serves another store, {}", shown(&named)))
}

#[cfg(not(feature = "mcp"))]
fn clients(_: &Path) -> Vec<ClientSetup> {
    Vec::new()
}

/// Returns the command that fixes a problem. Returns `None` if the problem needs no action, or if no command fixes it.
fn command(problem: &Problem, path: &Path) -> Option<String> {
    // The prefix `./` prevents a path that begins with a dash from being parsed as an option.
    let path = &if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    };
    let store = quoted(path);
    let file = |name: &str| quoted(&path.join(name));
    let name = problem.file.as_deref().unwrap_or(".");
    match problem.remedy {
        Remedy::Salvage => {
            let saved = quoted(&free_name(path, "-salvaged"));
            Some(format!("treering salvage {store} {saved}"))
        }
        Remedy::Gc => Some(format!("treering gc --store {store}")),
        Remedy::Mode => Some(format!("chmod -R go= {store}")),
        Remedy::Owner => Some(format!("chown -R {} {store}", path.metadata().ok()?.uid())),
        Remedy::MoveAway => {
            let away = free_name(path, &format!("-{}", name.replace('/', "-")));
            Some(format!("mv {} {}", file(name), quoted(&away)))
        }
        Remedy::Upgrade => Some("cargo install treering".to_owned()),
        _ => None,
    }
}

/// Returns the first unused path next to the store that ends with `suffix`.
fn free_name(path: &Path, suffix: &str) -> PathBuf {
    let mut names = (1_u64..).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    });
    let free = names.find(|name| name.symlink_metadata().is_err());
    free.unwrap_or_else(|| path.to_owned())
}

/// Adds a hint to the error of a store that cannot be opened.
pub(super) fn not_opened(error: Error, path: &Path) -> Error {
    if error.kind() == ErrorKind::NotFound {
        return explain(error.with_code(ErrorCode::NoStore), path);
    }
    if error.is_corruption() {
        return error.with_hint(NOTHING_LEFT);
    }
    error
}

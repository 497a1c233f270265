//! `doctor`: lists each problem of the store with the command that fixes it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::os::unix::fs::MetadataExt as _;

#[cfg(feature = "mcp")]
use super::doctor_clients::{clients, installations};
use super::findings::place;
use super::prelude::*;
use crate::answers::store::{ClientSetup, Diagnosis, Examined};
#[cfg(not(feature = "mcp"))]
use crate::answers::store::{HookSetup, InstalledPart};
use crate::cli::context::{as_arguments, explain, quoted, refuse_other_folder};
use crate::cli::errors::FAILED;
use crate::cli::trusted_stores::is_own;
use treering::inspect::engine;
use treering::inspect::engine::{Problem, ProblemSeverity, Remedy};

/// The remedy if no state of the store is readable.
const NOTHING_LEFT: &str = "restore a backup of the store, or read an export with treering put --jsonl";

/// The number of ids in a command that erases. The next run names the others.
const ERASED_AT_ONCE: usize = 20;

/// List problems and their remedies
///
/// Each problem is listed with the command that fixes it.
///
/// # Notes
/// For damage, run the printed command. The clients whose settings start treering serve --mcp or call treering hook are listed, too. A warning
/// needs attention, a notice does not. Exit code 5: the store is damaged. Exit code 6: only files that cannot be read. Exit
/// code 1: the settings of a client are broken, or there is no store, and no client that would create it.
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
        context.whole_store()?;
        let path = context.store()?;
        let clients = clients(context, &path);
        let diagnosis = |problem| Diagnosis {
            command: command(&problem, &path),
            problem,
        };
        let (problems, code) = match engine::examine_store(&path, &context.reading_options()) {
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && !clients.is_empty()
                    && refuse_other_folder(&path).is_ok() =>
            {
                missing(&path, &clients)
            }
            found => {
                let found = found.map_err(|error| not_opened(error, &path))?;
                let is_damage = |problem: &&Problem| problem.severity == ProblemSeverity::Damage;
                // What cannot be read may be whole.
                let is_unreadable = |problem: &Problem| problem.code == engine::UNREADABLE;
                let code = match found.iter().filter(is_damage).all(is_unreadable) {
                    true if found.iter().any(|problem| is_damage(&problem)) => FAILED,
                    true => DONE,
                    false => DAMAGED,
                };
                (found.into_iter().map(diagnosis).collect(), code)
            }
        };
        #[cfg(feature = "remote")]
        if let Ok(remotes) = crate::cli::remotes::Remotes::of_store(&[0; 16]) {
            super::remote::warn_of_damage(context, &remotes);
        }
        let (hooks, installed) = installations(context);
        let is_broken = clients.iter().any(|client| client.is_broken)
            || hooks.iter().any(|hook| hook.problem.is_some())
            || installed.iter().any(|part| part.problem.is_some());
        let code = if code == DONE && is_broken { NO } else { code };
        let examined = Examined {
            ok: code == DONE,
            problems,
            clients,
            hooks,
            installed,
        };
        context.answer(&examined, show_examined)?;
        Ok(code)
    }
}

/// Returns what is to be said of a store that does not exist, and the exit code. A client that uses the store creates it.
fn missing(path: &Path, clients: &[ClientSetup]) -> (Vec<Diagnosis>, u8) {
    let store = shown(path);
    let is_used = clients.iter().any(|client| client.serves_store);
    let (severity, what) = if is_used {
        let what =
            format!("no store exists at {store} yet; the first client that starts the server creates it");
        (ProblemSeverity::Notice, what)
    } else {
        let what = format!("no store exists at {store}, and no client here uses it");
        (ProblemSeverity::Warning, what)
    };
    let problem = Problem {
        severity,
        code: ErrorCode::NoStore.as_str(),
        file: None,
        offset: None,
        targets: Vec::new(),
        what,
        remedy: Remedy::Nothing,
    };
    let command = (!is_used).then(|| format!("treering init --store {}", quoted(path)));
    let code = if is_used { DONE } else { NO };
    (vec![Diagnosis { problem, command }], code)
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
        let Some(problem) = &setup.problem else {
            output.line(format_args!("{} starts the server: {file}", setup.client))?;
            continue;
        };
        let text = format!("{file}: {}", one_line(problem));
        output.labelled(Meaning::Changed, setup.client, &text)?;
        match (&setup.remedy, &setup.by_hand) {
            (Some(command), _) => {
                let begin = if setup.serves_store {
                    "repair"
                } else {
                    "serve this store instead"
                };
                output.line(format_args!("{begin} with: {command}"))?;
            }
            (None, Some(by_hand)) => output.line(printable(by_hand.trim_end()))?,
            (None, None) => {}
        }
    }
    for setup in &answer.hooks {
        let file = one_line(&setup.file);
        let Some(problem) = &setup.problem else {
            output.line(format_args!("{} calls the hooks: {file}", setup.client))?;
            continue;
        };
        let text = format!("{file}: {}", one_line(problem));
        output.labelled(Meaning::Changed, setup.client, &text)?;
        if let Some(command) = &setup.remedy {
            output.line(format_args!("repair with: {command}"))?;
        }
    }
    // The lines above tell of the servers and the hooks, also those that are whole.
    let servers = answer.clients.iter().map(|setup| (&setup.file, &setup.problem));
    let hooks = answer.hooks.iter().map(|setup| (&setup.file, &setup.problem));
    let told: Vec<_> = servers.chain(hooks).collect();
    for part in &answer.installed {
        let mut lines = told.iter().filter(|(file, _)| **file == part.file).peekable();
        let has_line = lines.peek().is_some();
        let Some(problem) = &part.problem else {
            if !has_line {
                output.line(format_args!(
                    "{} has what install wrote: {}",
                    part.client,
                    one_line(&part.file)
                ))?;
            }
            continue;
        };
        if lines.any(|(_, problem)| problem.is_some()) {
            continue;
        }
        let text = format!("{}: {}", one_line(&part.file), one_line(problem));
        output.labelled(Meaning::Changed, part.client, &text)?;
        if let Some(command) = &part.remedy {
            output.line(format_args!("repair with: {command}"))?;
        }
    }
    if answer.problems.is_empty() {
        let store = shown(&store);
        output.line(format_args!("no problems found in the store {store}"))?;
    }
    Ok(())
}

#[cfg(not(feature = "mcp"))]
fn installations(_: &Context) -> (Vec<HookSetup>, Vec<InstalledPart>) {
    (Vec::new(), Vec::new())
}

#[cfg(not(feature = "mcp"))]
fn clients(_: &Context, _: &Path) -> Vec<ClientSetup> {
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
        Remedy::Erase => {
            let targets = as_arguments(problem.targets.iter().take(ERASED_AT_ONCE));
            Some(format!("treering erase --store {store} {targets}"))
        }
        Remedy::Gc => Some(format!("treering gc --store {store}")),
        Remedy::Decide => Some(format!("treering conflicts --store {store}")),
        Remedy::Mode => Some(format!("chmod -R go= {store}")),
        // Only the owner can do this.
        Remedy::Access => is_own(path).then(|| format!("chmod -R u+rwX {store}")),
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

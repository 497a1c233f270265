//! `doctor`: lists each problem of the store with the command that fixes it.
//!
//! # Layer
//! Layer 10, part of cli.

use std::os::unix::fs::MetadataExt as _;

use super::findings::place;
#[cfg(feature = "mcp")]
use super::install::wanted;
#[cfg(feature = "mcp")]
use super::mcp::Plan;
use super::prelude::*;
use crate::answers::store::{ClientSetup, Diagnosis, Examined, HookSetup, InstalledPart};
#[cfg(feature = "mcp")]
use crate::cli::context::path_in;
#[cfg(feature = "mcp")]
use crate::cli::context::real_path;
use crate::cli::context::{as_arguments, explain, quoted, refuse_other_folder};
use crate::cli::errors::FAILED;
#[cfg(feature = "mcp")]
use crate::cli::install::{Client, FileChange, Standing, Start, changes, program_file, program_of};
use crate::cli::trusted_stores::is_own;
#[cfg(feature = "mcp")]
use crate::hook::HookClient;
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
    // A problem of the server or the hooks is told above.
    let servers = answer.clients.iter().map(|setup| (&setup.file, &setup.problem));
    let hooks = answer.hooks.iter().map(|setup| (&setup.file, &setup.problem));
    let told: Vec<&String> = servers
        .chain(hooks)
        .filter(|(_, problem)| problem.is_some())
        .map(|(file, _)| file)
        .collect();
    let is_told = |part: &InstalledPart| told.contains(&&part.file);
    for part in answer.installed.iter().filter(|part| !is_told(part)) {
        let Some(problem) = &part.problem else { continue };
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

/// Returns the clients whose settings start the server, with what is wrong. `store` is the store that is examined.
#[cfg(feature = "mcp")]
fn clients(context: &Context, store: &Path) -> Vec<ClientSetup> {
    let setups = Client::ALL.into_iter().filter_map(|client| {
        let place = client.place().ok()?;
        let start = place.known_start().transpose()?;
        let named = start.as_ref().ok().and_then(Start::store);
        // The client has the variable TREERING_STORE of its user, too.
        let served = named.or_else(|| path_in("TREERING_STORE"));
        let served = served.or_else(|| Some(Context::unnamed_store().ok()?.0));
        let other = served.filter(|served| real_path(served) != real_path(store));
        let fault = match &start {
            Err(error) => Some(error.message().to_owned()),
            Ok(start) => fault_of(start),
        };
        let is_broken = fault.is_some();
        let problem = fault.or_else(|| Some(other_store(client, other.as_deref()?)));
        let planned = problem.as_ref().map(|_| Plan::of(context, client, None));
        let (remedy, by_hand) = match planned {
            None => (None, None),
            Some(Ok(_)) => (Some(install(context, client)), None),
            // What the program cannot edit, a person does. Other errors have no entry to paste.
            Some(Err(error)) => {
                let has_entry = matches!(error.code(), ErrorCode::FileExists | ErrorCode::NotRegularFile);
                (None, error.hint().filter(|_| has_entry).map(str::to_owned))
            }
        };
        Some(ClientSetup {
            client: client.name(),
            file: shown(&place.path),
            is_broken,
            serves_store: other.is_none() && start.as_ref().is_ok_and(Start::is_server),
            command: start.ok().map(|start| start.command),
            problem,
            remedy,
            by_hand,
        })
    });
    setups.collect()
}

/// Returns the command that makes a client serve the store that is examined.
#[cfg(feature = "mcp")]
fn install(context: &Context, client: Client) -> String {
    let store = context.named_store().map(|store| real_path(&store));
    let store = store.map_or_else(String::new, |store| format!(" --store {}", quoted(&store)));
    format!("treering mcp install --client {client}{store}")
}

/// Returns why a client cannot start the server.
#[cfg(feature = "mcp")]
fn fault_of(start: &Start) -> Option<String> {
    let no_server = || (!start.is_server()).then(|| "the arguments do not start serve --mcp".to_owned());
    missing_program(&start.command).or_else(no_server)
}

/// Says that a client serves another store.
#[cfg(feature = "mcp")]
fn other_store(client: Client, other: &Path) -> String {
    let everywhere = if client.is_of_project() {
        ""
    } else {
        ", in every project"
    };
    format!("it serves another store, {}{everywhere}", shown(other))
}

/// Says that there is no such program.
#[cfg(feature = "mcp")]
fn missing_program(program: &str) -> Option<String> {
    let is_missing = program_file(Path::new(program)).is_none();
    is_missing.then(|| format!("the program {program} does not exist"))
}

/// Returns the coding agents whose settings call the hooks, and the files of each installation, with what is wrong.
#[cfg(feature = "mcp")]
fn installations(context: &Context) -> (Vec<HookSetup>, Vec<InstalledPart>) {
    let (mut hooks, mut parts) = (Vec::new(), Vec::new());
    for client in HookClient::ALL {
        let wanted = wanted(context, client, false);
        let files = wanted
            .and_then(|wanted| changes(client, &wanted))
            .unwrap_or_default();
        let is_installed = files.iter().any(FileChange::is_sign);
        let (client, mends) = (client.name(), format!("treering install {client}"));
        for change in files {
            let file = shown(&change.path);
            if let Some(command) = change.command_in_file() {
                let problem = missing_program(&program_of(&command));
                hooks.push(HookSetup {
                    client,
                    file: file.clone(),
                    command,
                    remedy: problem.as_ref().map(|_| mends.clone()),
                    problem,
                });
            }
            if !is_installed {
                continue;
            }
            // What the program cannot read, a person repairs.
            let (problem, is_mended) = match change.standing() {
                Standing::Absent => (Some("what install writes is not in it".to_owned()), true),
                Standing::InPart => (Some("some of what install writes is not in it".to_owned()), true),
                Standing::Unreadable(why) => (Some(why), false),
                Standing::Whole(program) => (program.as_deref().and_then(missing_program), true),
            };
            parts.push(InstalledPart {
                client,
                file,
                remedy: problem.as_ref().filter(|_| is_mended).map(|_| mends.clone()),
                problem,
            });
        }
    }
    (hooks, parts)
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

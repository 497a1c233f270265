//! The clients that `doctor` checks: the servers, the hooks and the other files of their settings.
//!
//! # Layer
//! Layer 10, part of cli.

use super::install::wanted;
use super::mcp::Plan;
use super::prelude::*;
use crate::answers::store::{ClientSetup, HookSetup, InstalledPart};
use crate::cli::context::{path_in, quoted, real_path};
use crate::cli::install::{
    Client, FileChange, ServerPlace, Standing, Start, changes, places_of_install, program_file, program_of,
};
use crate::hook::HookClient;

/// The command or the entry that fixes the settings of a client.
type Repair = (Option<String>, Option<String>);

/// Returns the clients whose settings start the server, with what is wrong. `store` is the store that is examined.
pub(super) fn clients(context: &Context, store: &Path) -> Vec<ClientSetup> {
    let alone = Client::ALL.into_iter().filter_map(|client| {
        let place = client.place().ok()?;
        let start = place.known_start().transpose()?;
        let is_of_project = client.is_of_project();
        let repair = |_| match Plan::of(context, client, None) {
            Ok(_) => (Some(install(context, client)), None),
            // If the program cannot edit the file, the user pastes the entry. Other errors have no entry.
            Err(error) => {
                let has_entry = matches!(error.code(), ErrorCode::FileExists | ErrorCode::NotRegularFile);
                (None, error.hint().filter(|_| has_entry).map(str::to_owned))
            }
        };
        Some(setup_of(
            client.name(),
            &place,
            start,
            store,
            is_of_project,
            repair,
        ))
    });
    let of_install = places_of_install().into_iter().filter_map(|(client, place)| {
        let start = place.known_start_of_install().transpose()?;
        let repair = |serves_other| repair_by_install(context, client, &place, serves_other);
        Some(setup_of(client.name(), &place, start, store, false, repair))
    });
    alone.chain(of_install).collect()
}

/// Returns the state of the server in a settings file. `repair` finds what fixes it, and knows whether it serves another store.
fn setup_of(
    client: &'static str,
    place: &ServerPlace,
    start: Result<Start>,
    store: &Path,
    is_of_project: bool,
    repair: impl FnOnce(bool) -> Repair,
) -> ClientSetup {
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
    let problem = fault.or_else(|| Some(other_store(is_of_project, other.as_deref()?)));
    let (remedy, by_hand) = match &problem {
        Some(_) => repair(other.is_some()),
        None => (None, None),
    };
    ClientSetup {
        client,
        file: shown(&place.path),
        is_broken,
        serves_store: other.is_none() && start.as_ref().is_ok_and(Start::is_server),
        command: start.ok().map(|start| start.command),
        problem,
        remedy,
        by_hand,
    }
}

/// Returns the command that writes the server of an installation again, or the entry to paste if `install` refuses the file.
fn repair_by_install(
    context: &Context,
    client: HookClient,
    place: &ServerPlace,
    serves_other: bool,
) -> Repair {
    let Ok(mut wanted) = wanted(context, client, false) else {
        return (None, None);
    };
    let store = context.named_store();
    let store = store.or_else(|| context.store().ok().filter(|_| serves_other));
    let store = store.map(|store| real_path(&store));
    wanted.store = store.as_deref().map(shown).or(wanted.store);
    let start = wanted.server(client);
    if place.shared(start.clone()).install().is_err() {
        return (None, Some(place.form.to_paste(&start)));
    }
    (
        Some(format!(
            "treering install {client}{}",
            option_of(store.as_deref())
        )),
        None,
    )
}

/// Returns the option that names a store, after a space.
fn option_of(store: Option<&Path>) -> String {
    store.map_or_else(String::new, |store| format!(" --store {}", quoted(store)))
}

/// Returns the command that makes a client serve the store that is examined.
fn install(context: &Context, client: Client) -> String {
    let store = context.named_store().map(|store| real_path(&store));
    let store = option_of(store.as_deref());
    format!("treering mcp install --client {client}{store}")
}

/// Returns why a client cannot start the server.
fn fault_of(start: &Start) -> Option<String> {
    let no_server = || (!start.is_server()).then(|| "the arguments do not start serve --mcp".to_owned());
    missing_program(&start.command).or_else(no_server)
}

/// Says that a client serves another store.
fn other_store(is_of_project: bool, other: &Path) -> String {
    let everywhere = if is_of_project { "" } else { ", in every project" };
    format!("it serves another store, {}{everywhere}", shown(other))
}

/// Says that there is no such program.
fn missing_program(program: &str) -> Option<String> {
    let is_missing = program_file(Path::new(program)).is_none();
    is_missing.then(|| format!("the program {program} does not exist"))
}

/// Returns the coding agents whose settings call the hooks, and the files of each installation, with what is wrong.
pub(super) fn installations(context: &Context) -> (Vec<HookSetup>, Vec<InstalledPart>) {
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
                Standing::Missing => (Some("the file does not exist".to_owned()), true),
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

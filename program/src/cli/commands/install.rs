//! `install` and `uninstall`: set up a coding agent, and take this back.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Duration;

use super::agent::person;
use super::prelude::*;
use crate::answers::line_diff::hunks;
use crate::cli::context::real_path;
use crate::cli::install::{FileChange, Planned, Wanted, changes, remove_folders};
use crate::cli::own_program::{Launcher, own_file};
use crate::hook::HookClient;

/// The longest time for the difference of two settings files.
const PATIENCE: Duration = Duration::from_millis(500);

/// Set up a coding agent
///
/// Writes the server, the hooks and a short skill into the client's own settings files.
///
/// # Notes
/// From then on, each session of the client begins with what matters, and what is said is kept. Shows the change, and writes
/// it after a yes. Everything else in the files stays as it is, byte for byte. The hooks name this program by its path. With
/// --learn, rules and decisions that the person states in a prompt become facts, at most five a session. Without --store,
/// the clients of a terminal use the store of the folder in which they work. treering uninstall takes all of this back.
///
/// # Examples
/// ```text
/// treering install claude-code --dry-run
/// treering install codex --learn --yes
/// treering install cursor --store ~/.local/share/treering
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Install {
    /// The client
    #[arg(value_name = "CLIENT")]
    client: HookClient,
    /// Store the rules and decisions in prompts as facts
    #[arg(long)]
    learn: bool,
    /// Print the change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without a question
    #[arg(long)]
    yes: bool,
}

/// Take back what install wrote
///
/// Everything else in the client's files stays as it is. The memory stays, too.
///
/// # Examples
/// ```text
/// treering uninstall claude-code
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Uninstall {
    /// The client
    #[arg(value_name = "CLIENT")]
    client: HookClient,
    /// Print the change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without a question
    #[arg(long)]
    yes: bool,
}

/// The answer of `install` and `uninstall`.
#[derive(Serialize, JsonSchema)]
struct Installed {
    client: HookClient,
    files: Vec<InstalledFile>,
    dry_run: bool,
}

/// The change of a file of the client.
#[derive(Serialize, JsonSchema)]
struct InstalledFile {
    path: String,
    /// `created`, `changed`, `removed` or `unchanged`.
    change: &'static str,
}

impl Verb for Install {
    const ANSWERS: &'static [Form] = &[form::<Installed>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        refuse_launcher(self.client)?;
        let learns = self.learn || (!self.yes && !self.dry_run && asks_to_learn(context)?);
        let wanted = wanted(context, self.client, learns)?;
        let planned = changes(self.client, &wanted)?
            .iter()
            .map(FileChange::install)
            .collect::<Result<Vec<_>>>()?;
        carry_out(context, self.client, &planned, self.dry_run, self.yes)
    }
}

impl Verb for Uninstall {
    const ANSWERS: &'static [Form] = &[form::<Installed>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let wanted = wanted(context, self.client, false)?;
        let planned = changes(self.client, &wanted)?
            .iter()
            .map(FileChange::uninstall)
            .collect::<Result<Vec<_>>>()?;
        carry_out(context, self.client, &planned, self.dry_run, self.yes)
    }
}

/// Refuses hooks that name a file in the cache of a launcher. The launcher itself is too slow for each event of a session.
fn refuse_launcher(client: HookClient) -> Result<()> {
    let Some(Launcher { words, install, .. }) = Launcher::of_this_process() else {
        return Ok(());
    };
    let text = format!(
        "{} runs this program from a cache, which may lose it, so no hook can name it",
        words[0]
    );
    let hint = format!(
        "run {install}, then treering install {client}; treering mcp install sets up the tools without hooks"
    );
    Err(refused(ErrorCode::NotInstalled, text, hint))
}

/// Returns what an installation writes.
pub(super) fn wanted(context: &Context, client: HookClient, learns: bool) -> Result<Wanted> {
    let program = own_file()?;
    let store = match context.named_store() {
        Some(named) => Some(named),
        // These clients may start the server in any folder.
        None if matches!(client, HookClient::Cursor | HookClient::Vscode) => context.store().ok(),
        None => None,
    };
    Ok(Wanted {
        program: shown(&real_path(&program)),
        store: store.map(|store| shown(&real_path(&store))),
        learns,
    })
}

fn asks_to_learn(context: &mut Context) -> Result<bool> {
    if !context.output.can_ask() {
        return Ok(false);
    }
    let question =
        "store the rules and decisions that you state in prompts as facts, at most five a session?";
    context.output.ask_yes(question)
}

/// Shows the change of a file.
pub(super) fn show_change(context: &mut Context, file: &Planned) {
    let name = printable(&shown(&file.path));
    let [old, new] = [&file.old, &file.new].map(|text| text.as_deref().unwrap_or_default());
    let hunks = hunks(old, new, 3, PATIENCE).into_iter();
    let hunks: String = hunks.map(|hunk| hunk.to_string()).collect();
    let diff = format!("--- {name}\n+++ {name}\n{hunks}");
    context.note_for_people("change", format!("\n{}", printable(diff.trim_end())));
}

/// Shows the changes, and writes them after a yes.
fn carry_out(
    context: &mut Context,
    client: HookClient,
    planned: &[Planned],
    dry_run: bool,
    yes: bool,
) -> Done {
    let is_changed = planned.iter().any(|file| file.old != file.new);
    if is_changed {
        for file in planned.iter().filter(|file| file.old != file.new) {
            show_change(context, file);
        }
        if !dry_run {
            person(context, yes, "write this?", "written")?;
        }
    }
    if !dry_run {
        for file in planned {
            file.write()?;
        }
        remove_folders();
    }
    let files = planned.iter().map(|file| InstalledFile {
        path: shown(&file.path),
        change: file.change(),
    });
    let answer = Installed {
        client,
        files: files.collect(),
        dry_run,
    };
    context.answer(&answer, |answer, context| {
        for file in &answer.files {
            let would = if dry_run && file.change != "unchanged" {
                "would be "
            } else {
                ""
            };
            context.line(format_args!("{}: {would}{}", printable(&file.path), file.change))?;
        }
        Ok(())
    })?;
    if is_changed && !dry_run {
        context.note_for_people("next", format!("restart {client}"));
    }
    Ok(DONE)
}

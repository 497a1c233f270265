//! `mcp`: sets up clients of the Model Context Protocol.
//!
//! # Layer
//! Layer 10, part of cli.

use treering::inspect::disk::xdg_folder;

use super::agent::person;
use super::install::show_change;
use super::prelude::*;
use crate::cli::args::LaneOptions;
use crate::cli::context::{quoted, real_path};
use crate::cli::install::{Client, Planned, SERVER, Start, program_file};
use crate::cli::own_program::{Launcher, own_file};

/// Set up an MCP client
///
/// # Examples
/// ```text
/// treering mcp install --client claude-code --dry-run
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    verb: McpVerb,
}

/// An action on the settings of clients.
#[derive(Debug, Subcommand)]
enum McpVerb {
    /// Add the server to the settings of a client
    ///
    /// # Notes
    /// Shows the change, and writes it after a yes. Everything else in the file stays, and so do the other options of the
    /// server. --scope, --session, --actor and --trust become options of the server. A client that serves many projects
    /// gets the path of the present store, and uses it in every project.
    ///
    /// # Examples
    /// ```text
    /// treering mcp install --client claude-code --dry-run
    /// treering mcp install --client cursor --scope global --yes
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Install {
        /// The client
        #[arg(long, value_name = "CLIENT")]
        client: Client,
        /// The only scope that the client reads and writes
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
        /// Print the change, and write nothing
        #[arg(long)]
        dry_run: bool,
        /// Write without a question
        #[arg(long)]
        yes: bool,
    },
}

/// The answer of `mcp install`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Installed {
    client: Client,
    file: String,
    command: String,
    args: Vec<String>,
    /// Whether the file differs, or would differ, from before.
    changed: bool,
    dry_run: bool,
}

impl Verb for Mcp {
    const ANSWERS: &'static [Form] = &[form::<Installed>("install")];

    fn run(self, context: &mut Context) -> Done {
        let McpVerb::Install {
            client,
            scope,
            dry_run,
            yes,
        } = self.verb;
        context.whole_store()?;
        let plan = Plan::of(context, client, scope)?;
        let start = plan.start.clone();
        let answer = Installed {
            client,
            file: shown(&plan.file.path),
            command: start.command,
            args: start.args,
            changed: plan.file.old != plan.file.new,
            dry_run,
        };
        if answer.changed {
            show_change(context, &plan.file);
            plan.note_store(context);
            if !dry_run {
                person(context, yes, "write this?", "written")?;
                plan.file.write()?;
            }
        }
        let line = match (answer.changed, dry_run) {
            (false, _) => format!("{} already starts the server", answer.file),
            (true, true) => format!("would add the server to {}", answer.file),
            (true, false) => format!("added the server to {}; restart {client}", answer.file),
        };
        context.say(&answer, printable(&line))
    }
}

/// A change of the settings of a client.
pub(super) struct Plan {
    client: Client,
    file: Planned,
    /// How the file starts the server now, and how it will.
    known: Option<Start>,
    start: Start,
}

impl Plan {
    /// Plans to start the server with the options of the command.
    ///
    /// # Errors
    /// `Denied` or `InvalidInput`, with the entry to paste, if the program cannot read the file or cannot keep the rest of it.
    pub(super) fn of(context: &Context, client: Client, scope: Option<String>) -> Result<Self> {
        let place = client.place()?;
        // A file that cannot be parsed is refused below, with the entry to paste.
        let known = place.known_start().ok().flatten();
        let start = start_of(context, client, scope, known.as_ref())?;
        let file = place.with(start.clone()).install()?;
        Ok(Self {
            client,
            file,
            known,
            start,
        })
    }

    /// Notes which store the client will serve, if every project is affected or the store is another than before.
    fn note_store(&self, context: &mut Context) {
        let Self {
            client, known, start, ..
        } = self;
        let store = |start: &Start| start.store();
        let Some(after) = store(start) else { return };
        let place = if client.is_of_project() {
            "here"
        } else {
            "in every project"
        };
        let new = shown(&after);
        let (code, text) = match known.as_ref().and_then(store).filter(|before| *before != after) {
            Some(before) => {
                let before = shown(&before);
                let text =
                    format!("{client} now serves {before}. After this change it serves {new} {place}.");
                ("other_store", text)
            }
            None if client.is_of_project() => return,
            None => ("store", format!("{client} will use the store {new} {place}.")),
        };
        let own = xdg_folder("XDG_DATA_HOME", ".local/share").map(|own| real_path(&own));
        let own = own.filter(|own| context.named_store().is_none() && *own != after);
        let choice = own.map_or_else(String::new, |own| {
            format!(" Choose another with --store, such as --store {}.", quoted(&own))
        });
        context.output.note(code, text + &choice);
    }
}

/// Returns how the client starts the server with the options of the command, and the other options of `known`, which is the
/// present entry.
fn start_of(
    context: &Context,
    client: Client,
    scope: Option<String>,
    known: Option<&Start>,
) -> Result<Start> {
    let program = own_file()?;
    // A team may commit the file of a project, so the command is not a path of this machine.
    let is_on_path =
        || program_file(Path::new(SERVER)).is_some_and(|file| real_path(&file) == real_path(&program));
    let launcher =
        Launcher::of_this_process().map(|launcher| launcher.words.iter().map(|word| (*word).to_owned()));
    let words: Vec<String> = match launcher {
        Some(words) => words.collect(),
        None if client.is_of_project() && is_on_path() => vec![SERVER.to_owned()],
        None => vec![shown(&program)],
    };
    let LaneOptions { session, actor } = context.lane_options();
    let store = match context.named_store() {
        Some(named) => Some(named),
        // A client of one project starts the server in the folder of the project.
        None if client.is_of_project() => None,
        None => Some(context.store()?),
    };
    // The client may start the server in another folder.
    let store = store.map(|store| real_path(&store));
    let trust = context.options.trust.map(|class| class.name().to_owned());
    let mut words = words.into_iter().chain(["serve", "--mcp"].map(str::to_owned));
    let command = words.next().unwrap_or_default();
    let mut args: Vec<String> = words.collect();
    let options = [
        ("--store", store.map(|store| shown(&store))),
        ("--scope", scope),
        ("--session", session),
        ("--actor", actor),
        ("--trust", trust),
    ];
    for (option, value) in options {
        args.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    let mut start = Start { command, args };
    if let Some(known) = known {
        // A client of one project finds the store of the project again.
        start.add_options_of(known, &["--store"]);
    }
    Ok(start)
}

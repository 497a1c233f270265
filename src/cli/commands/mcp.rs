//! `mcp`: sets up clients of the Model Context Protocol.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;

use similar::TextDiff;

use super::agent::person;
use super::prelude::*;
use crate::cli::args::LaneOptions;
use crate::cli::clients::{Client, SettingsFile, Start, real_path};

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
    /// gets the path of the present store.
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
        let plan = Plan::of(context, client, scope)?;
        let (before, new) = (plan.old.as_deref().unwrap_or_default(), &plan.new);
        let (file, start) = (&plan.file, plan.start.clone());
        let answer = Installed {
            client,
            file: shown(&file.path),
            command: start.command,
            args: start.args,
            changed: before != new.as_str(),
            dry_run,
        };
        if answer.changed {
            let name = printable(&answer.file);
            let diff = TextDiff::from_lines(before, new);
            let diff = diff
                .unified_diff()
                .context_radius(3)
                .header(&name, &name)
                .to_string();
            context
                .output
                .note_for_people("change", format!("\n{}", printable(diff.trim_end())));
            plan.note_other_store(context);
            if !dry_run {
                person(context, yes, "write this?", "written")?;
                file.write(new)?;
            }
        }
        let line = match (answer.changed, dry_run) {
            (false, _) => format!("{} already starts the server", answer.file),
            (true, true) => format!("would add the server to {}", answer.file),
            (true, false) => format!("added the server to {}; start {client} again", answer.file),
        };
        context.say(&answer, printable(&line))
    }
}

/// A change of the settings of a client.
pub(super) struct Plan {
    file: SettingsFile,
    old: Option<String>,
    new: String,
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
        let file = client.file()?;
        // A file that cannot be parsed is refused below, with the entry to paste.
        let known = file.start().ok().flatten();
        let start = start_of(context, client, scope, known.as_ref())?;
        let old = file.read().map_err(|error| match error.kind() {
            ErrorKind::Denied => error.with_hint(client.by_hand(&start)),
            _ => error,
        })?;
        let new = file.with_server(old.as_deref(), &start)?;
        Ok(Self {
            file,
            old,
            new,
            known,
            start,
        })
    }

    /// Notes that the client will serve another store than before, because every project that uses the client is affected.
    fn note_other_store(&self, context: &mut Context) {
        let store = |start: &Start| start.store().map(|store| shown(&store));
        let before = self.known.as_ref().and_then(store);
        if let (Some(before), Some(after)) = (before, store(&self.start))
            && before != after
        {
            let client = self.file.client;
            let text = format!(
                "{client} serves {before} until now; with this change it serves {after} {}",
                if client.is_of_project() {
                    "here"
                } else {
                    "in every project"
                }
            );
            context.output.note("other_store", text);
        }
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
    let program = env::current_exe().map_err(|error| Error::io("finding the program", error))?;
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
    let mut args = vec!["serve".to_owned(), "--mcp".to_owned()];
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
    for option in known.map(Start::options).unwrap_or_default() {
        let is_given = option.first().is_some_and(|name| args.contains(name));
        if !is_given {
            args.extend(option);
        }
    }
    Ok(Start {
        command: shown(&program),
        args,
    })
}

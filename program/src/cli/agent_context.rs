//! Opens a store as an agent, and determines the agent's settings and place, and the scopes that a verb reads.
//!
//! # Layer
//! Layer 10, part of cli.

use clap::Args;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use schemars::JsonSchema;
use serde::Serialize;

use super::context::{Context, path_in, shown};
use super::errors::{Done, input_error};
use super::human::{Columns, cut, plain};
use super::input::open_regular;
use super::output::printable;
use treering::Memory;
#[cfg(not(feature = "semantic"))]
use treering::agent::MeaningSettings;
#[cfg(feature = "semantic")]
use treering::agent::meaning;
use treering::agent::{Agent, Caller, Confinement, Reach, Settings, StoredText};
use treering::inspect::agent::Fault;
use treering::inspect::agent::projects::{Project, project_of};
use treering::inspect::agent::trust::held_reason;
use treering::{Error, ErrorCode, Query, Result, Scope, Writer};

/// The name of the settings file, in the parent folder of the store.
const SETTINGS_FILE: &str = "treering.toml";
/// The largest file that is read because it was found, in bytes.
const FOUND_BYTES_MAX: u64 = 1 << 20;
/// The number of faults of a found settings file that a warning tells.
const FAULTS_TOLD: usize = 5;
/// The number of quarantined changes that a note names.
const HELD_TOLD: usize = 10;

/// Returns the first of the names of quarantined changes, and the number of the others.
pub(crate) fn first_names(held: &[String]) -> String {
    let names = held[..held.len().min(HELD_TOLD)].join(", ");
    match held.len().saturating_sub(HELD_TOLD) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// The options that select the scopes to read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ScopeOptions {
    /// Read only this scope: global, project, session, agent, or a name such as project:tea; may be repeated [default:
    /// global and the current project, session and agent]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Read every scope of the store
    #[arg(long, conflicts_with = "scopes")]
    pub(crate) all_scopes: bool,
}

/// The option that shows untrusted texts (STX-2).
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct UntrustedOption {
    /// Also show the texts of items from untrusted sources, such as tools, pages and imports
    #[arg(long)]
    pub(crate) with_untrusted: bool,
}

/// The text for people instead of a withheld text.
const WITHHELD: &str = "(withheld, because it is not trusted; --with-untrusted shows it)";

/// Returns the cells of a stored text: its class, and at most `chars_max` characters of its flags and text.
pub(crate) fn text_cells(shown: &StoredText, chars_max: usize) -> Columns {
    vec![
        ("trust", plain(shown.trust.name())),
        ("text", plain(cut(&text_for_people(shown), chars_max))),
    ]
}

/// Returns a stored text after its flags, or why it is withheld.
pub(crate) fn text_for_people(shown: &StoredText) -> String {
    let flags = match shown.flags.as_slice() {
        [] => String::new(),
        flags => format!("[{}] ", flags.join(", ")),
    };
    format!("{flags}{}", shown.text.as_deref().unwrap_or(WITHHELD))
}

impl Context {
    /// Opens the store for reading and returns its agent.
    pub(crate) fn agent_to_read(&mut self) -> Result<Agent> {
        self.agent(|context, _| context.open_to_read())
    }

    /// Opens an existing store for writing and returns its agent.
    pub(crate) fn agent_to_write(&mut self) -> Result<Agent> {
        self.agent(|context, _| context.open_to_write())
    }

    /// Opens the store for writing if possible, so that a verb can record the use of items and save its indexes.
    /// Otherwise, and if the verb only looks, opens it for reading.
    pub(crate) fn agent_to_use(&mut self, looks_only: bool) -> Result<Agent> {
        let looks_only = looks_only || self.at().is_some() || self.options.degraded;
        if !looks_only && let Ok(agent) = self.agent_to_write() {
            return Ok(agent);
        }
        self.agent_to_read()
    }

    /// Opens the store as an agent. Opens it for reading in a dry run, else for writing.
    pub(crate) fn agent_to_change(&mut self, dry_run: bool) -> Result<Agent> {
        if dry_run {
            self.agent_to_read()
        } else {
            self.agent_to_write()
        }
    }

    /// Opens the store as [`Self::agent_to_write`] does, and creates a missing store as [`Self::open_or_create`] does.
    pub(crate) fn agent_to_create(&mut self, rehearse: impl FnOnce(&Agent) -> Result<()>) -> Result<Agent> {
        self.agent(|context, settings| {
            context.open_or_create(|empty| rehearse(&Agent::new(empty.clone(), settings.clone())))
        })
    }

    /// Returns an agent over the opened memory, or over an empty memory in RAM if `TREERING_DISABLE` is set.
    fn agent(&mut self, open: impl FnOnce(&mut Self, &Settings) -> Result<Memory>) -> Result<Agent> {
        if is_switched_off() {
            let text = "TREERING_DISABLE is set: the memory answers as if it were empty and stores nothing";
            self.output.note("disabled", text);
            let settings = Settings {
                is_disabled: true,
                ..Settings::default()
            };
            return Ok(Agent::new(Memory::in_memory()?, settings));
        }
        let (settings, skipped) = self.settings()?;
        if let Some(faults) = skipped {
            self.output.note("settings_ignored", faults);
        }
        let memory = open(self, &settings)?;
        Ok(self.with_model(&memory, settings))
    }

    /// Returns the agent of a memory, with the settings and the model of the user.
    pub(crate) fn agent_of(&mut self, memory: &Memory) -> Agent {
        // Without readable settings, the defaults apply.
        let (settings, _) = self.settings().unwrap_or_default();
        self.with_model(memory, settings)
    }

    /// Returns an agent with the chosen model. Without a model, the agent recalls by words.
    fn with_model(&mut self, memory: &Memory, settings: Settings) -> Agent {
        let (agent, note) = agent_with_model(memory.clone(), settings);
        if let Some(note) = note {
            self.output.note("meaning", note);
        }
        self.embedder = agent.embedder().cloned();
        agent
    }

    /// Reads the agent's settings from the file of `--settings`, else from the file next to the store. Anybody who can
    /// write into that folder may have written the file, so it can only make settings stricter, and no fault in it makes
    /// a verb fail. Also returns a warning about the skipped parts of such a file.
    ///
    /// `TREERING_MODEL` chooses the model for recall by meaning, whatever the file says.
    pub(crate) fn settings(&self) -> Result<(Settings, Option<String>)> {
        let (mut settings, warning) = self.settings_of_file()?;
        settings.meaning = settings.meaning.or_model_of_environment();
        Ok((settings, warning))
    }

    fn settings_of_file(&self) -> Result<(Settings, Option<String>)> {
        let named = self.options.settings.clone();
        if let Some(path) = named.or_else(|| path_in("TREERING_SETTINGS")) {
            let text = fs::read_to_string(&path).map_err(|error| input_error(&path, error))?;
            let settings = Settings::from_toml(&text).map_err(|error| error.context(shown(&path)))?;
            return Ok((settings, None));
        }
        let found = match self.beside_store(SETTINGS_FILE) {
            Some(path) => read_found(&path).map(|text| Settings::from_found_toml(&text)),
            None => return Ok((Settings::default(), None)),
        };
        let warning = |what: String| format!("{what}; the standard values of these settings apply");
        Ok(match found {
            Ok((settings, faults)) => (settings, told(&faults).map(warning)),
            Err(error) => (Settings::default(), Some(warning(error.message().to_owned()))),
        })
    }

    /// Returns the path of a file in the parent folder of the store, if such a file exists. An untrusted store brings no
    /// files along.
    pub(crate) fn beside_store(&self, name: &str) -> Option<PathBuf> {
        let store = self.store().ok().filter(|_| !self.options.untrusted_store)?;
        let path = store.with_file_name(name);
        path.symlink_metadata().is_ok().then_some(path)
    }

    /// Returns the caller: the writer that the options name, in the project of the current folder.
    pub(crate) fn caller(&self) -> Caller {
        self.caller_of(self.named_writer())
    }

    /// Returns a caller in the project of the current folder.
    pub(crate) fn caller_of(&self, writer: Writer) -> Caller {
        Caller {
            project: self.project().map(|project| project.name.clone()),
            writer,
            confinement: Confinement::None,
        }
    }

    /// Returns the project of the current folder in the store of the command.
    pub(crate) fn project(&self) -> Option<&Project> {
        let find = || {
            // A disabled memory, and a store that is only looked at, belong to no folder.
            let is_used = !is_switched_off() && !self.options.untrusted_store;
            let store = self.store().ok().filter(|_| is_used);
            project_of(&env::current_dir().ok()?, store.as_deref())
        };
        self.project.get_or_init(find).as_ref()
    }

    /// Says what a person must know of the project of the current folder: a damaged register, and memories of earlier
    /// days under another name.
    pub(super) fn note_project(&mut self) {
        let Some(Some(project)) = self.project.take() else {
            return;
        };
        if let Some(fault) = &project.fault {
            let hint = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            let text = format!(
                "{}; this folder has the project '{}' meanwhile{hint}",
                fault.message(),
                project.name
            );
            self.output.warn("projects", &text);
        }
        if !project.is_new || project.name == project.plain {
            return;
        }
        let scope = Scope::new(&format!("project:{}", project.plain));
        let found = self.opened.as_ref().zip(scope.ok()).map(|(memory, scope)| {
            memory
                .view()
                .query(&Query::default().scope(scope).limit(1))
                .map(|mut found| found.next().is_some())
        });
        if let Some(Ok(true)) = found {
            let (name, plain) = (printable(&project.name), printable(&project.plain));
            let text = format!(
                "this folder has the project '{name}'. There are memories in the project '{plain}': treering project join {plain} shares them, and treering project move {plain} brings them here"
            );
            self.output.note("project", text);
        }
    }

    /// Prints a note about quarantined changes, because a person must review them.
    pub(crate) fn note_held(&mut self, agent: &Agent, held: &[String]) {
        let Some(first) = held.first() else { return };
        let names = first_names(held);
        let why = match held {
            [one] => held_reason(agent, one).map(|why| format!(": {why}")),
            _ => None,
        };
        let why = printable(&why.unwrap_or_default());
        let text = format!("quarantined as {names} for a person to review{why}");
        self.output.note("quarantined", text);
        // `quarantine` alone lists only the usual scopes, and a person may have another actor than the writer.
        let next = format!("a person reviews it with: treering quarantine --release {first} --dry-run");
        self.output.note_for_people("next", next);
    }

    /// Prints a note with the command that restores the items of the last commit.
    pub(crate) fn note_unforget(&mut self, what: &str) {
        // The command covers all scopes, because an option may have changed the default scopes.
        let command = self.lane_command("unforget --last --all-scopes");
        self.output.note("undo", format!("{what}: {command}"));
    }

    /// Returns the scopes that a verb reads: all scopes, the named scopes, or the default scopes of the caller.
    pub(crate) fn reach(&self, named: &ScopeOptions) -> Result<Reach> {
        if named.all_scopes {
            return Ok(Reach::All);
        }
        self.caller().reach(&named.scopes)
    }
}

/// Reads a file beside the store, which the user did not name. Refuses a path that is not a regular file, because a read
/// of a named pipe never ends.
pub(crate) fn read_found(path: &Path) -> Result<String> {
    let mut text = String::new();
    let file = open_regular(path)?.take(FOUND_BYTES_MAX + 1);
    BufReader::new(file)
        .read_to_string(&mut text)
        .map_err(|error| input_error(path, error))?;
    if text.len() as u64 > FOUND_BYTES_MAX {
        let text = format!("{} has more than {} KiB", shown(path), FOUND_BYTES_MAX >> 10);
        return Err(Error::invalid(text).with_code(ErrorCode::OverLimit));
    }
    Ok(text)
}

/// Lists the faults of a found settings file in one sentence.
fn told(faults: &[Fault]) -> Option<String> {
    let (told, rest) = faults.split_at(faults.len().min(FAULTS_TOLD));
    let told: Vec<_> = told
        .iter()
        .map(|fault| format!("line {}: {}", fault.line, fault.why))
        .collect();
    let more = match rest.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!told.is_empty()).then(|| format!("{SETTINGS_FILE}: {}{more}", told.join("; ")))
}

/// Returns an agent with the model that the user chose, and a note if that model is missing.
pub(crate) fn agent_with_model(memory: Memory, settings: Settings) -> (Agent, Option<String>) {
    #[cfg(feature = "semantic")]
    let with_model = meaning::with_model(Agent::new(memory, settings));
    #[cfg(not(feature = "semantic"))]
    let with_model = {
        let is_asked = settings.meaning != MeaningSettings::default();
        let note = "this program was built without the feature `semantic`, so it has no models";
        (Agent::new(memory, settings), is_asked.then(|| note.to_owned()))
    };
    with_model
}

/// Returns whether `TREERING_DISABLE` disables the verbs of an agent.
pub(crate) fn is_switched_off() -> bool {
    env::var_os("TREERING_DISABLE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// The text for people if `TREERING_DISABLE` disables a verb.
pub(crate) const DISABLED: &str = "nothing was done: TREERING_DISABLE disables the memory";

/// The answer of a writing verb while `TREERING_DISABLE` disables the memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Disabled {
    status: &'static str,
    disabled: bool,
}

impl Context {
    /// Prints the answer of a writing verb while `TREERING_DISABLE` disables the memory.
    pub(crate) fn answer_disabled(&mut self) -> Done {
        let answer = Disabled {
            status: "disabled",
            disabled: true,
        };
        self.answer(&answer, |_, context| context.line(DISABLED))
    }
}

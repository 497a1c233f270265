//! `import`: imports edited blocks, and memories of other systems.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;

use super::agent_files::{CodingAgent, files_of};
use super::folder::Folder;
use crate::answers::agent::guard::Imported;
use crate::answers::commits::Ingested;
use crate::cli::commands::export::refuse_unused;
use crate::cli::commands::ingest::Ingest;
use crate::cli::commands::prelude::*;
use treering::ingest::Format;
use treering::inspect::agent::blocks::{FoundFile, TakeBlocks, Taken, TakenBlocks, TakenFile, take_blocks};
use treering::inspect::agent::import::odek::scope_of_file;
use treering::inspect::agent::import::{Foreign, ForeignFormat, ForeignTaken, take_foreign};
use treering::inspect::agent::projects::project_of;
use treering::inspect::agent::session::extraction::FactScope;

/// The largest accepted file, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// The number of findings in the output for people.
const FINDINGS_SHOWN: usize = 20;

/// The format of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// A folder of Markdown files that `export --format blocks` wrote
    #[default]
    Blocks,
    /// The graph of the MCP reference server named memory
    ServerMemory,
    /// The memories of mem0: the JSON of its call `get_all`
    Mem0,
    /// An agent file of Letta, or the JSON list of an agent's passages
    Letta,
    /// A folder of Markdown notes of basic-memory
    BasicMemory,
    /// A fact file of odek: user.md or env.md
    Odek,
    /// The file memory.snap of the published memory core
    Snap,
    /// CLAUDE.md, rules and memories of Claude Code: the user's, and those of the project in this folder
    ClaudeCode,
    /// AGENTS.md and memories of Codex: the user's, and those of the project in this folder
    Codex,
    /// GEMINI.md of Gemini CLI: the user's, and those of the project in this folder
    Gemini,
    /// The conversations.json of ChatGPT; the same as `ingest`
    Chatgpt,
    /// The conversations.json of Claude.ai; the same as `ingest`
    ClaudeAi,
}

/// Import blocks and other systems
///
/// Imports edited blocks, and memories of other systems from files in the formats of these systems.
///
/// # Notes
/// Imported items have at most the trust of a document or import, and the scan checks them. Unedited files change
/// nothing. The files of a coding agent are also read from the user's own folder, and what they no longer say is removed.
/// A file that leads out of the project is not read.
///
/// # Examples
/// ```text
/// treering import blocks/
/// treering import blocks/ --prune
/// treering import --format server-memory memory.jsonl
/// treering import --format mem0 memories.json
/// treering import --format letta agent.af
/// treering import --format basic-memory notes/
/// treering import --format odek user.md
/// treering import --format snap memory.snap
/// treering import --format claude-code .
/// treering import --format codex ~/src/tea
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Import {
    /// The folder or file to import; - reads the file from standard input
    pub(crate) path: PathBuf,
    /// The format of the imported files
    #[arg(long, value_name = "FORMAT", default_value = "blocks")]
    pub(crate) format: ImportFormat,
    /// The scope of the items [default: the scope in the file, else the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// The subject of the facts, if the file is not named user.md or env.md
    #[arg(long, value_name = "WHAT", value_parser = args::one_of(FactScope::ALL, FactScope::name))]
    pub(crate) about: Option<FactScope>,
    /// Remove blocks whose files are missing
    #[arg(long)]
    pub(crate) prune: bool,
    /// Also import files whose block in the memory changed, or may have changed, since the export
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep the trust of edited blocks, because you made the edits. A program must not pass this option on a person's
    /// behalf
    #[arg(long)]
    pub(crate) as_me: bool,
}

impl Verb for Import {
    const ANSWERS: &'static [Form] = &[
        form::<Imported<TakenBlocks>>("a folder of blocks"),
        form::<Imported<ForeignTaken>>("a file of another system"),
        form::<Ingested>("the export of a chat service"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let is_blocks = self.format == ImportFormat::Blocks;
        let options = [
            ("--prune", self.prune, is_blocks),
            ("--force", self.force, is_blocks),
            ("--as-me", self.as_me, is_blocks),
            ("--about", self.about.is_some(), self.format == ImportFormat::Odek),
        ];
        refuse_unused("import", &options)?;
        let format = match self.format {
            ImportFormat::Blocks => return blocks(context, &self),
            ImportFormat::ServerMemory => ForeignFormat::ServerMemory,
            ImportFormat::Mem0 => ForeignFormat::Mem0,
            ImportFormat::Letta => ForeignFormat::Letta,
            ImportFormat::BasicMemory => return notes(context, &self),
            ImportFormat::ClaudeCode | ImportFormat::Codex | ImportFormat::Gemini => {
                return rules(context, &self);
            }
            ImportFormat::Chatgpt | ImportFormat::ClaudeAi => return chats(context, self),
            ImportFormat::Snap => ForeignFormat::Snap,
            ImportFormat::Odek => {
                let name = self.path.file_name().map(|name| name.to_string_lossy());
                let about = self.about.or_else(|| scope_of_file(&name?));
                let about = about.ok_or_else(|| {
                    let hint = "pass --about user or --about env";
                    usage_error("the subject of the facts is unknown", hint)
                })?;
                ForeignFormat::Odek(about)
            }
        };
        let bytes = read_input(context, &self.path, FILE_BYTES_MAX)?;
        foreign(context, &self, format, &bytes, &[])
    }
}

fn blocks(context: &mut Context, verb: &Import) -> Done {
    let hint = "name the format of the file with --format; see treering import --help";
    let folder = open_folder(verb, "blocks", hint)?;
    let caller = context.caller();
    let take = TakeBlocks {
        reach: caller.reach(verb.scope.as_slice())?,
        usual_scope: caller.scope(verb.scope.as_deref())?,
        place: caller.place(),
        prune: verb.prune,
        force: verb.force,
        as_me: verb.as_me,
    };
    let (files, hidden) = folder.files()?;
    hidden.note(
        context,
        "no block has a hidden name, so rename these files to import them",
    );
    if verb.prune && !verb.force && files.is_empty() {
        let path = shown(&verb.path);
        let text = format!("{path} contains no block, and --prune would remove every block");
        let hint = "name the folder that `export --format blocks` wrote, or add --force";
        return Err(refused(ErrorCode::NothingToImport, text, hint));
    }
    let agent = context.agent_to_write()?;
    let answer = Imported {
        format: "blocks",
        taken: take_blocks(&agent, &files, &take, &context.writer())?,
    };
    context.answer(&answer, show_blocks_imported)?;
    let answer = answer.taken;
    if answer.conflicts > 0 {
        let text = "a block changed both in the memory and in its file: export to another folder, merge the two versions, and import with --force";
        context.note("conflict", text);
    }
    if !answer.missing.is_empty() {
        let what = counted(answer.missing.len() as u64, "block");
        let text = format!("kept {what} whose files are missing; --prune removes such blocks");
        context.note("missing", text);
    }
    context.note_held(&agent, &answer.held);
    if !verb.as_me {
        note_untrusted(context, (answer.created + answer.updated) as u64);
    }
    refresh(context, &folder, &files, &answer.files);
    if !answer.files.is_empty() && answer.refused == answer.files.len() {
        return Err(nothing_taken());
    }
    Ok(DONE)
}

fn show_blocks_imported(answer: &Imported<TakenBlocks>, context: &mut Context) -> Result<()> {
    let taken = &answer.taken;
    for file in &taken.files {
        if file.taken != Taken::Unchanged || !file.said.is_empty() {
            let (outcome, path, remarks) = (file.taken.name(), &file.path, file.said.join("; "));
            let colon = if remarks.is_empty() { "" } else { ": " };
            context.line(format_args!("{outcome} {path}{colon}{remarks}"))?;
        }
    }
    for id in &taken.pruned {
        context.line(format_args!("removed {id}"))?;
    }
    let (created, updated, unchanged) = (taken.created, taken.updated, taken.unchanged);
    let mut text = format!("{created} created, {updated} updated, {unchanged} unchanged");
    for (count, outcome) in [
        (taken.stale, Taken::Stale),
        (taken.conflicts, Taken::Conflict),
        (taken.quarantined, Taken::Quarantined),
        (taken.refused, Taken::Refused),
    ] {
        if count > 0 {
            text = format!("{text}, {count} {}", outcome.name());
        }
    }
    context.line(text)
}

/// Writes the time of each new version into the file from which the version was imported. Skips a file that changed
/// after the import read it.
fn refresh(context: &mut Context, folder: &Folder, files: &[FoundFile], taken: &[TakenFile]) {
    let read: HashMap<&str, &FoundFile> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let refresh = |file: &TakenFile| {
        let fresh = file.fresh.as_ref()?;
        let then = read.get(file.path.as_str())?.bytes.as_ref().ok();
        let is_same = matches!(folder.look(&file.path), Ok(Some(now)) if Some(&now) == then);
        let why = is_same.then(|| folder.write(&file.path, fresh).err())??;
        Some(format!("{}: {why}", file.path))
    };
    let failed: Vec<String> = taken.iter().filter_map(refresh).collect();
    if let [first, ..] = failed.as_slice() {
        let count = failed.len();
        let text = format!("cannot write the line `updated` into {count} files, such as {first}");
        context.note("not_refreshed", text);
    }
}

/// Opens the imported folder of `what`. Adds `hint` to the error for a file.
fn open_folder(verb: &Import, what: &str, hint: &str) -> Result<Folder> {
    if verb.path.is_file() {
        let text = format!("{} is a file, not a folder of {what}", shown(&verb.path));
        return Err(Error::invalid(text).with_hint(hint));
    }
    Folder::open(&verb.path, false)
}

/// Ingests the export of a chat service.
fn chats(context: &mut Context, verb: Import) -> Done {
    let scope = context.caller().scope(verb.scope.as_deref())?;
    let ingest = Ingest {
        paths: vec![verb.path],
        format: Format::JsonLines.name().to_owned(),
        skip_bad: false,
        hidden: false,
        as_me: false,
        scope: Some(scope.to_string()),
        prune: Vec::new(),
    };
    ingest.run(context)
}

/// Imports the notes below a folder.
fn notes(context: &mut Context, verb: &Import) -> Done {
    let hint = "name the folder of a project of basic-memory";
    let (files, hidden) = open_folder(verb, "notes", hint)?.files()?;
    hidden.note(context, "rename these files to import them");
    if files.is_empty() {
        let text = format!("{} contains no Markdown file", shown(&verb.path));
        return Err(refused(ErrorCode::NothingToImport, text, hint));
    }
    foreign(context, verb, ForeignFormat::BasicMemory, &[], &files)
}

/// Imports the rules and memories of a coding agent.
fn rules(context: &mut Context, verb: &Import) -> Done {
    let (name, agent) = match verb.format {
        ImportFormat::Codex => ("codex", CodingAgent::Codex),
        ImportFormat::Gemini => ("gemini", CodingAgent::Gemini),
        _ => ("claude-code", CodingAgent::ClaudeCode),
    };
    let files = files_of(agent, &verb.path)?;
    if files.is_empty() {
        let text = format!("{name} has no rules or memories for {}", shown(&verb.path));
        let hint = "name the folder of the project, or one of its files";
        return Err(refused(ErrorCode::NothingToImport, text, hint));
    }
    foreign(context, verb, ForeignFormat::AgentFiles(name), &[], &files)
}

fn foreign(
    context: &mut Context,
    verb: &Import,
    format: ForeignFormat,
    bytes: &[u8],
    files: &[FoundFile],
) -> Done {
    let caller = context.caller();
    let mut place = caller.place();
    if matches!(format, ForeignFormat::AgentFiles(_)) {
        let store = context.store().ok();
        let project = project_of(&verb.path, store.as_deref());
        place.project = project.map(|project| project.name).or(place.project);
    }
    let foreign = Foreign {
        format,
        bytes,
        files,
        scope: verb
            .scope
            .as_deref()
            .map(|word| caller.scope(Some(word)))
            .transpose()?,
        place,
    };
    let agent = context.agent_to_write()?;
    let answer = Imported {
        format: format.name(),
        taken: take_foreign(&agent, &foreign, &context.writer())?,
    };
    context.answer(&answer, show_file_imported)?;
    let taken = answer.taken;
    context.note_held(&agent, &taken.held);
    note_untrusted(context, taken.counts.created + taken.counts.updated);
    context.embed_after(&agent, None);
    let is_changed = taken.counts.created + taken.counts.removed > 0;
    if is_changed && matches!(format, ForeignFormat::AgentFiles(_)) {
        context.note_way_back("take the import back with");
    }
    let taken_in =
        taken.counts.created + taken.counts.updated + taken.counts.unchanged + taken.counts.quarantined;
    if taken_in == 0 && !taken.findings.is_empty() {
        return Err(nothing_taken());
    }
    Ok(DONE)
}

fn show_file_imported(answer: &Imported<ForeignTaken>, context: &mut Context) -> Result<()> {
    let taken = &answer.taken;
    for one in taken.findings.iter().take(FINDINGS_SHOWN) {
        context.line(format_args!("{}: {}", one.at, one.what))?;
    }
    let more = taken.findings.len().saturating_sub(FINDINGS_SHOWN);
    if more > 0 {
        context.line(format_args!("and {more} more"))?;
    }
    let (created, updated, unchanged) = (taken.counts.created, taken.counts.updated, taken.counts.unchanged);
    let mut counts = format!("{created} created, {updated} updated, {unchanged} unchanged");
    if taken.counts.removed > 0 {
        counts = format!("{counts}, {} removed", taken.counts.removed);
    }
    if taken.counts.quarantined > 0 {
        counts = format!("{counts}, {} quarantined", taken.counts.quarantined);
    }
    context.line(format_args!("{counts}, {} refused", taken.counts.refused))
}

/// Says what the class of new items means, and what a person does next.
fn note_untrusted(context: &mut Context, count: u64) {
    if count > 0 {
        let text = if count == 1 {
            "the imported item is not trusted yet, so no agent gets it unasked; after you have read it, trust it with: treering promote ID"
        } else {
            "the imported items are not trusted yet, so no agent gets them unasked; after you have read them, trust them with: treering promote ID..."
        };
        context.note("untrusted", text);
    }
}

fn nothing_taken() -> Error {
    let hint = "the output contains the reason for each refused file or entry";
    refused(ErrorCode::NothingTaken, "nothing was imported", hint)
}

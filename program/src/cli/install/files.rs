//! The changes of settings files: plans them, writes them, and takes them back.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - INL-1: an installation and its removal leave everything else in a file as it is, byte for byte.
//! - INL-2: an installation that is there already changes nothing.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::Value as Json;

use super::record::InstallRecord;
use crate::cli::clients::{SERVER, Start, toml_table};
use crate::cli::context::shown;
use crate::cli::errors::{input_error, refused};
use crate::cli::input::open_regular;
use crate::cli::json_edit::{Document, Step};
use treering::{Error, ErrorCode, Result};

/// The largest settings file, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The words by which a hook of this program is known, besides the name of the program.
const HOOK_WORDS: &str = " hook --client ";
/// Why a server is not replaced.
const OTHER_SERVER: &str = "it has a server with this name that starts another program";

/// An entry of a JSON file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    path: Vec<String>,
    value: Json,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A member of this program.
    Member,
    /// A member that the file needs, whoever uses it.
    Default,
    /// An item of a list, which has others.
    Item,
}

impl Entry {
    /// A member with this value.
    pub(crate) fn member(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Member)
    }

    /// A member that the file needs, and that stays as it is if it is there.
    pub(crate) fn default_member(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Default)
    }

    /// A hook in the list at this path.
    pub(crate) fn item(path: &[&str], value: Json) -> Self {
        Self::of(path, value, Kind::Item)
    }

    fn of(path: &[&str], value: Json, kind: Kind) -> Self {
        let path = path.iter().map(|step| (*step).to_owned()).collect();
        Self { path, value, kind }
    }

    /// Checks whether a document has the entry, or an older one of this program.
    fn is_in(&self, document: &Document) -> bool {
        match document.get(&self.steps()) {
            Some(Json::Array(items)) if self.kind == Kind::Item => !own_hooks(&items).is_empty(),
            Some(server) if self.kind == Kind::Member => server.is_object() && is_own_server(&server),
            _ => false,
        }
    }

    fn steps(&self) -> Vec<Step<'_>> {
        self.path.iter().map(|step| Step::Key(step)).collect()
    }
}

/// What a file has of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Absent,
    /// Not all.
    InPart,
    /// All, with the program that the server or the plugin names.
    Whole(Option<String>),
    Unreadable,
}

/// What a file gets.
#[derive(Clone, Debug)]
enum Content {
    Json(Vec<Entry>),
    /// The table of the server in a TOML file.
    Toml {
        command: String,
        args: Vec<String>,
    },
    /// The whole file, which belongs to this program.
    Whole(String),
}

/// A change of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    what: Content,
}

/// A change with the text before and after.
pub(crate) struct Planned {
    pub(crate) path: PathBuf,
    pub(crate) old: Option<String>,
    /// The text afterwards; `None` if the file goes.
    pub(crate) new: Option<String>,
    record: Option<InstallRecord>,
}

impl Planned {
    /// Returns what happens to the file, in one word.
    pub(crate) fn change(&self) -> &'static str {
        match (&self.old, &self.new) {
            (old, new) if old == new => "unchanged",
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// Writes the file, at once or not at all.
    ///
    /// # Errors
    /// `Io` if a file cannot be written; `Conflict` if the file changed since the plan.
    pub(crate) fn write(&self) -> Result<()> {
        if self.old != self.new {
            if read(&self.path)? != self.old {
                let text = format!("{} changed meanwhile", shown(&self.path));
                return Err(Error::conflict(text).with_hint("run the command again"));
            }
            match &self.new {
                Some(text) => write(&self.path, text)?,
                None => remove(&self.path)?,
            }
        }
        match &self.record {
            Some(record) => record.save(&self.path),
            None => {
                InstallRecord::delete(&self.path);
                Ok(())
            }
        }
    }
}

impl FileChange {
    pub(crate) fn json(path: PathBuf, entries: Vec<Entry>) -> Self {
        Self {
            path,
            what: Content::Json(entries),
        }
    }

    pub(crate) fn toml(path: PathBuf, command: &str, args: &[String]) -> Self {
        let what = Content::Toml {
            command: command.to_owned(),
            args: args.to_vec(),
        };
        Self { path, what }
    }

    pub(crate) fn whole(path: PathBuf, text: &str) -> Self {
        Self {
            path,
            what: Content::Whole(text.to_owned()),
        }
    }

    /// Plans to write the change.
    ///
    /// # Errors
    /// `InvalidInput` if the file cannot be edited without loss.
    pub(crate) fn install(&self) -> Result<Planned> {
        let old = read(&self.path)?;
        let text = old.as_deref().unwrap_or_default();
        // A record without its file is of an installation that somebody else removed.
        let known = InstallRecord::of(&self.path).filter(|_| old.is_some());
        let mut record = known.unwrap_or_else(|| InstallRecord {
            was_there: !text.trim().is_empty(),
            blank: old.clone().filter(|old| old.trim().is_empty()),
            ..InstallRecord::default()
        });
        let new = match &self.what {
            // A file that the user wrote or edited stays.
            Content::Whole(own) if old.is_some() && text != own && text != record.added => text.to_owned(),
            Content::Whole(own) => {
                record.added.clone_from(own);
                own.clone()
            }
            Content::Toml { command, args } => {
                if !is_own_server(&toml_server(text)) {
                    return Err(self.not_kept(OTHER_SERVER));
                }
                let known = toml_server(text);
                let known = Json::Object(known.as_object().cloned().unwrap_or_default());
                let new = Start {
                    command: command.clone(),
                    args: args.clone(),
                };
                let args = new.with_options_of(&start_in(&known));
                let new = toml_table(&self.path, text, command, &args)?;
                // A table cannot follow an inline one.
                toml::from_str::<Json>(&new).map_err(|error| self.not_kept(error.message()))?;
                if let Some(added) = new.strip_prefix(text).filter(|added| !added.is_empty()) {
                    added.clone_into(&mut record.added);
                }
                new
            }
            Content::Json(entries) => self.with_entries(text, entries, &mut record)?,
        };
        Ok(Planned {
            path: self.path.clone(),
            old,
            new: Some(new),
            record: Some(record),
        })
    }

    fn with_entries(&self, text: &str, entries: &[Entry], record: &mut InstallRecord) -> Result<String> {
        let is_blank = text.trim().is_empty();
        let start = if is_blank { "{}\n" } else { text };
        let refusal = |why: String| self.not_kept(&why);
        let mut document = Document::read(start).map_err(refusal)?;
        for entry in entries {
            let steps = entry.steps();
            let known = document.get(&steps);
            match (entry.kind, known) {
                (Kind::Default, Some(_)) => {}
                (Kind::Member, Some(known @ Json::Object(_))) if !is_own_server(&known) => {
                    return Err(self.not_kept(OTHER_SERVER));
                }
                (Kind::Member, Some(Json::Object(known))) => {
                    let Json::Object(new) = &entry.value else { continue };
                    let new = with_arguments_of(&known, new);
                    // Other keys of the user, such as `env`, stay.
                    for (key, value) in new.iter().filter(|(key, value)| known.get(*key) != Some(value)) {
                        let step = [&steps[..], &[Step::Key(key)]].concat();
                        let done = match known.get(key) {
                            Some(_) => document.replace(&step, value),
                            None => document.insert(&steps, Some(key), value),
                        };
                        done.map_err(refusal)?;
                    }
                }
                (Kind::Member, Some(_)) => {
                    return Err(self.not_kept("the server is not an object"));
                }
                (Kind::Item, Some(Json::Array(items))) => {
                    self.with_item(&mut document, entry, &items, record)?;
                }
                (Kind::Item, Some(_)) => return Err(self.not_kept("the hooks of an event are not a list")),
                (Kind::Item, None) => {
                    let list = Json::Array(vec![entry.value.clone()]);
                    insert(&mut document, &steps, &list, record).map_err(refusal)?;
                }
                (_, None) => insert(&mut document, &steps, &entry.value, record).map_err(refusal)?,
            }
        }
        Ok(document.text().to_owned())
    }

    /// Adds a hook to a list, or gives an older hook of this program the new command.
    fn with_item(
        &self,
        document: &mut Document,
        entry: &Entry,
        items: &[Json],
        record: &mut InstallRecord,
    ) -> Result<()> {
        let steps = entry.steps();
        let refusal = |why: String| self.not_kept(&why);
        let own = own_hooks(items);
        let Some((place, inner)) = own.first().copied() else {
            note_inner(document, &steps, record);
            return document.insert(&steps, None, &entry.value).map_err(refusal);
        };
        // A program with another file name may have installed them once more.
        for other in own[1..].iter().rev() {
            let path = path_of(&steps, items, *other);
            remove_empty(document, &path, record).map_err(refusal)?;
        }
        let mut path = steps.clone();
        path.push(Step::At(place));
        let mut new = &entry.value;
        if let Some(inner) = inner {
            path.extend([Step::Key("hooks"), Step::At(inner)]);
            new = &entry.value["hooks"][0];
        }
        for key in ["command", "timeout"] {
            let step = [&path[..], &[Step::Key(key)]].concat();
            let Some(known) = document.get(&step) else {
                continue;
            };
            let new = match (&known, &new[key]) {
                (Json::String(known), Json::String(new)) => Json::from(with_options_of(known, new)),
                (_, new) => new.clone(),
            };
            if known != new {
                document.replace(&step, &new).map_err(refusal)?;
            }
        }
        Ok(())
    }

    /// Plans to take the change back.
    ///
    /// # Errors
    /// The errors of [`Self::install`].
    pub(crate) fn uninstall(&self) -> Result<Planned> {
        let old = read(&self.path)?;
        let record = InstallRecord::of(&self.path);
        let known = record.clone().unwrap_or(InstallRecord {
            was_there: true,
            ..InstallRecord::default()
        });
        let text = old.as_deref().unwrap_or_default();
        let new = match &self.what {
            // The file goes only as this program wrote it.
            Content::Whole(own) => old.clone().filter(|text| text != own && *text != known.added),
            Content::Toml { .. } if !is_own_server(&toml_server(text)) => old.clone(),
            Content::Toml { .. } => Some(without_table(text, &known.added)).filter(|_| old.is_some()),
            Content::Json(entries) => match &old {
                Some(_) if !text.trim().is_empty() => Some(self.without_entries(text, entries, &known)?),
                _ => old.clone(),
            },
        };
        // A file that this program made goes, once nothing else is in it.
        let is_empty = |text: &String| text.trim().is_empty() || text.trim() == "{}";
        let new = match new {
            Some(new) if !known.was_there && record.is_some() && is_empty(&new) => known.blank,
            new => new,
        };
        Ok(Planned {
            path: self.path.clone(),
            old,
            new,
            record: None,
        })
    }

    fn without_entries(&self, text: &str, entries: &[Entry], record: &InstallRecord) -> Result<String> {
        let refusal = |why: String| self.not_kept(&why);
        let mut document = Document::read(text).map_err(refusal)?;
        for entry in entries.iter().rev() {
            let steps = entry.steps();
            match (entry.kind, document.get(&steps)) {
                (Kind::Item, Some(Json::Array(mut items))) => {
                    while let Some(own) = own_hooks(&items).first().copied() {
                        let path = path_of(&steps, &items, own);
                        remove_empty(&mut document, &path, record).map_err(refusal)?;
                        items = match document.get(&steps) {
                            Some(Json::Array(items)) => items,
                            _ => break,
                        };
                    }
                }
                (Kind::Member, Some(known)) if is_own_server(&known) => {
                    remove_empty(&mut document, &steps, record).map_err(refusal)?;
                }
                (Kind::Default, Some(value))
                    if value == entry.value && record.emptied.contains_key(&name_of(&steps)) =>
                {
                    // Hooks that a user added since still need the member.
                    let hooks = document.get(&[Step::Key("hooks")]);
                    let has_others =
                        hooks.is_some_and(|hooks| hooks.as_object().is_none_or(|map| !map.is_empty()));
                    if !has_others || !record.emptied.contains_key("/hooks") {
                        remove_empty(&mut document, &steps, record).map_err(refusal)?;
                    }
                }
                _ => {}
            }
        }
        Ok(document.text().to_owned())
    }

    fn not_kept(&self, why: &str) -> Error {
        let text = format!("{} cannot be edited without loss: {why}", shown(&self.path));
        let hint = "repair the file, then run the command again; --dry-run shows what the command writes";
        refused(ErrorCode::FileExists, text, hint)
    }

    /// Checks whether the file alone shows that the client was installed. A server alone may be of `mcp install`.
    pub(crate) fn is_sign(&self) -> bool {
        let has_more = match &self.what {
            Content::Json(entries) => entries.iter().any(|entry| entry.kind == Kind::Item),
            Content::Toml { .. } => false,
            Content::Whole(_) => true,
        };
        matches!(self.standing(), Standing::InPart | Standing::Whole(_))
            && (has_more || InstallRecord::of(&self.path).is_some())
    }

    /// Returns what is missing in the file of what an installation writes, if the file or anything in it is there.
    pub(crate) fn standing(&self) -> Standing {
        let Ok(text) = read(&self.path) else {
            return Standing::Unreadable;
        };
        let Some(text) = text else { return Standing::Absent };
        match &self.what {
            // A file that the user edited is there, too.
            Content::Whole(_) => Standing::Whole(program_in_plugin(&text)),
            Content::Toml { .. } => match toml_server(&text) {
                server if server.is_object() && is_own_server(&server) => {
                    Standing::Whole(program_of_server(&server))
                }
                _ => Standing::Absent,
            },
            Content::Json(entries) => {
                let Ok(document) = Document::read(&text) else {
                    return Standing::Unreadable;
                };
                let needed = entries.iter().filter(|entry| entry.kind != Kind::Default);
                let found: Vec<bool> = needed.map(|entry| entry.is_in(&document)).collect();
                let server = entries.iter().find(|entry| entry.kind == Kind::Member);
                let server = server.and_then(|entry| document.get(&entry.steps()));
                match found.iter().filter(|found| **found).count() {
                    0 => Standing::Absent,
                    count if count < found.len() => Standing::InPart,
                    _ => Standing::Whole(server.as_ref().and_then(program_of_server)),
                }
            }
        }
    }

    /// Returns the command that the file has for this program, if it has one.
    pub(crate) fn command_in_file(&self) -> Option<String> {
        let Content::Json(entries) = &self.what else {
            return None;
        };
        let document = Document::read(&read(&self.path).ok()??).ok()?;
        entries
            .iter()
            .filter(|entry| entry.kind == Kind::Item)
            .find_map(|entry| {
                let Some(Json::Array(items)) = document.get(&entry.steps()) else {
                    return None;
                };
                let (place, inner) = own_hooks(&items).first().copied()?;
                let hook = inner.map_or(&items[place], |inner| &items[place]["hooks"][inner]);
                hook["command"].as_str().map(str::to_owned)
            })
    }
}

/// Inserts a value, with the objects above it that are not there.
fn insert(
    document: &mut Document,
    steps: &[Step<'_>],
    value: &Json,
    record: &mut InstallRecord,
) -> Result<(), String> {
    let there = (0..steps.len())
        .rev()
        .find(|length| document.get(&steps[..*length]).is_some());
    let there = there.unwrap_or_default();
    note_inner(document, &steps[..there], record);
    // The objects above are made with the value in them, from the innermost one outwards.
    let mut value = value.clone();
    for step in steps[there + 1..].iter().rev() {
        if let Step::Key(key) = step {
            value = Json::Object([((*key).to_owned(), value)].into_iter().collect());
        }
    }
    for length in there + 1..=steps.len() {
        record.emptied.entry(name_of(&steps[..length])).or_insert(None);
    }
    match steps[there] {
        Step::Key(key) => document.insert(&steps[..there], Some(key), &value),
        Step::At(_) => Err("a list has no such item".to_owned()),
    }
}

/// Notes the white space of an object or list that an insertion replaces.
fn note_inner(document: &Document, steps: &[Step<'_>], record: &mut InstallRecord) {
    if let Some(inner) = document.inner_blank(steps) {
        record.emptied.entry(name_of(steps)).or_insert(Some(inner));
    }
}

/// Removes a value, and the objects and lists above it that are empty then, if an installation made them.
fn remove_empty(document: &mut Document, path: &[Step<'_>], record: &InstallRecord) -> Result<(), String> {
    let mut path = path;
    loop {
        let above = &path[..path.len() - 1];
        let inner = record.emptied.get(&name_of(above)).cloned().flatten();
        document.remove(path, inner.as_deref().unwrap_or_default())?;
        let is_empty = match document.get(above) {
            Some(Json::Object(map)) => map.is_empty(),
            Some(Json::Array(list)) => list.is_empty(),
            _ => false,
        };
        let was_made =
            inner.is_none() && (record.emptied.contains_key(&name_of(above)) || record.emptied.is_empty());
        let has_comment = document
            .inner_blank(above)
            .is_some_and(|inner| !inner.trim().is_empty());
        if !is_empty || !was_made || has_comment || above.is_empty() {
            return Ok(());
        }
        path = above;
    }
}

/// Returns the name of a path for a record. Items of lists count as their list.
fn name_of(steps: &[Step<'_>]) -> String {
    let keys = steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Step::At(_) => None,
    });
    keys.collect()
}

/// The place of a hook in a list of hooks, or of a group with the place in it.
type Own = (usize, Option<usize>);

/// Returns the places of the hooks of this program.
fn own_hooks(items: &[Json]) -> Vec<Own> {
    let is_own = |hook: &Json| hook["command"].as_str().is_some_and(is_own_command);
    let mut own = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let inner = item["hooks"].as_array().into_iter().flatten().enumerate();
        own.extend(
            inner
                .filter(|(_, hook)| is_own(hook))
                .map(|(inner, _)| (place, Some(inner))),
        );
        own.extend(is_own(item).then_some((place, None)));
    }
    own
}

/// Returns the path of a hook, or of its group if nothing else is in it.
fn path_of<'a>(list: &[Step<'a>], items: &[Json], (place, inner): Own) -> Vec<Step<'a>> {
    let mut path = list.to_vec();
    path.push(Step::At(place));
    let hooks = items[place]["hooks"].as_array().map_or(0, Vec::len);
    if let Some(inner) = inner.filter(|_| hooks > 1) {
        path.extend([Step::Key("hooks"), Step::At(inner)]);
    }
    path
}

/// Checks whether a path names this program: the file that runs, or one named after it, perhaps with a version.
fn is_own_program(program: &str) -> bool {
    let name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let own = env::current_exe().ok();
    let is_running = own
        .as_deref()
        .and_then(Path::file_name)
        .is_some_and(|own| *own == *name);
    let rest = name.strip_prefix(SERVER);
    let is_version = |rest: &str| {
        let version = rest.trim_start_matches(['-', '_', '.', 'v']);
        rest.is_empty() || rest == ".exe" || version.starts_with(|letter: char| letter.is_ascii_digit())
    };
    is_running || rest.is_some_and(is_version)
}

/// Checks whether a command runs a hook of this program, and nothing else. Variables may be set before it.
fn is_own_command(command: &str) -> bool {
    let Some((_, options)) = command.split_once(HOOK_WORDS) else {
        return false;
    };
    let program = program_of(command);
    let words: Vec<&str> = if command.starts_with('\'') {
        vec![&program]
    } else {
        program.split_whitespace().collect()
    };
    let Some((program, variables)) = words.split_last() else {
        return false;
    };
    is_own_program(program)
        && variables.iter().all(|word| word.contains('='))
        && !options.contains(['|', '&', ';', '>', '<', '`', '$', '\n'])
}

/// Returns a command with the options that a user gave an older hook, unless the new one has others.
fn with_options_of(known: &str, new: &str) -> String {
    let parts = |command: &str| {
        command
            .split_once(HOOK_WORDS)
            .map(|(_, options)| options.to_owned())
    };
    let (Some(old), Some(options)) = (parts(known), parts(new)) else {
        return new.to_owned();
    };
    let has_all = options
        .split(' ')
        .all(|word| old.split(' ').any(|one| one == word));
    if !has_all {
        return new.to_owned();
    }
    let program = program_of(new);
    if program_of(known).ends_with(&program) {
        return known.to_owned();
    }
    new.replacen(&options, &old, 1)
}

/// Returns the entry of the server in a TOML text, or null.
fn toml_server(text: &str) -> Json {
    let all: Json = toml::from_str(text).unwrap_or_default();
    all["mcp_servers"][SERVER].clone()
}

/// Checks whether a server in a settings file is that of this program: its command is a text, or a list with arguments.
fn is_own_server(server: &Json) -> bool {
    let command = server["command"]
        .as_str()
        .or_else(|| server["command"][0].as_str());
    command.is_none_or(is_own_program)
}

/// Returns the program that a server in a settings file runs.
fn program_of_server(server: &Json) -> Option<String> {
    let command = server["command"]
        .as_str()
        .or_else(|| server["command"][0].as_str());
    command.map(str::to_owned)
}

/// Returns the program that the plugin for opencode runs. Another file runs none.
fn program_in_plugin(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("const COMMAND = "))?;
    let words: Vec<String> = serde_json::from_str(line).ok()?;
    words.into_iter().next()
}

/// Returns the program that the command of a hook runs.
pub(crate) fn program_of(command: &str) -> String {
    let program = command
        .split_once(HOOK_WORDS)
        .map_or(command, |(program, _)| program);
    // Undoes the quotes of a shell.
    program.trim_matches('\'').replace("'\\''", "'")
}

/// Returns a TOML text without the table of the server. `added` is what an installation added.
fn without_table(text: &str, added: &str) -> String {
    if !added.is_empty()
        && let Some(at) = text.rfind(added)
    {
        return format!("{}{}", &text[..at], &text[at + added.len()..]);
    }
    let is_own = |line: &str| {
        let line = line.trim();
        line == "[mcp_servers.treering]" || line.starts_with("[mcp_servers.treering.")
    };
    let (mut kept, mut is_inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            is_inside = is_own(line);
        }
        if !is_inside {
            kept.push_str(line);
        }
    }
    kept
}

/// Returns how an entry of a client starts the server. Some clients have the program among the arguments.
fn start_in(entry: &Json) -> Start {
    let texts = |value: &Json| -> Vec<String> {
        let list = value.as_array().into_iter().flatten();
        list.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let (command, mut args) = (texts(&entry["command"]), texts(&entry["args"]));
    args.splice(0..0, command.into_iter().skip(1));
    Start {
        command: String::new(),
        args,
    }
}

/// Returns the new entry of a server with the options that only the known one has.
fn with_arguments_of(
    known: &serde_json::Map<String, Json>,
    new: &serde_json::Map<String, Json>,
) -> serde_json::Map<String, Json> {
    let mut new = new.clone();
    let known = start_in(&Json::Object(known.clone()));
    let start = start_in(&Json::Object(new.clone()));
    let args = start.with_options_of(&known);
    let place = if new.contains_key("args") {
        "args"
    } else {
        "command"
    };
    if let Some(Json::Array(list)) = new.get_mut(place) {
        list.extend(args[start.args.len()..].iter().cloned().map(Json::from));
    }
    new
}

/// Returns the text of a file, or `None` if there is none.
fn read(path: &Path) -> Result<Option<String>> {
    let found = path.symlink_metadata();
    if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let mut text = String::new();
    let file = open_regular(path)?.take(FILE_BYTES_MAX + 1);
    BufReader::new(file)
        .read_to_string(&mut text)
        .map_err(|error| input_error(path, error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let text = format!("{} has more than {FILE_BYTES_MAX} bytes", shown(path));
        return Err(Error::invalid(text).with_hint("nothing was changed"));
    }
    Ok(Some(text))
}

/// Writes a file at once or not at all, with the mode of the old file. A link stays a link to the changed file.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error| Error::io(format_args!("writing {}", shown(path)), error);
    let real = if path.is_symlink() {
        path.canonicalize().map_err(failed)?
    } else {
        path.to_owned()
    };
    let folder = real.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    if let Ok(old) = real.metadata() {
        fs::set_permissions(file.path(), old.permissions()).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&real).map_err(|error| failed(error.error)).map(drop)
}

/// Removes a file, and its folder if nothing else is in it.
fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|error| Error::io(format_args!("removing {}", shown(path)), error))?;
    drop(path.parent().map(fs::remove_dir));
    Ok(())
}

//! The memory tool that Anthropic's models know: files below `/memories`, each an item of the caller's scope.
//!
//! A file is an item of the kind `file` with an id of its scope and path. A path is never a path of the file system. Each
//! command is one commit, so `memory_undo` takes it back. The answers have the texts of the tool's documentation.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - MTL-1: a command reads and changes only items of the caller's scope below its prefix.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::agent::trust::held_back;
use crate::agent::{Forgetting, NewItem, RememberOptions, StoredText, refuse_secret_name};
use crate::engine::{Query, View};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Kind, Object};
use crate::recall::tokens;
use crate::serve::Service;
use crate::serve::operations::{Sent, printable};
use crate::{Authorisation, Origin};

/// The name of the tool, as models know it.
pub(super) const NAME: &str = "memory";
/// The folder that holds every file.
const TOP: &str = "/memories";
/// The kind of the items.
const KIND: &str = "file";
/// The lines before and after an edit that its answer shows.
const LINES_AROUND: usize = 4;
/// The commands, and the arguments that each needs.
const COMMANDS: &str = "view (path), create (path, file_text), str_replace (path, old_str, new_str), \
                        insert (path, insert_line, insert_text), delete (path), rename (old_path, new_path)";

/// A command of the tool.
#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    View {
        path: String,
        view_range: Option<[i64; 2]>,
    },
    Create {
        path: String,
        file_text: String,
    },
    StrReplace {
        path: String,
        old_str: String,
        new_str: Option<String>,
    },
    Insert {
        path: String,
        insert_line: i64,
        insert_text: String,
    },
    Delete {
        path: String,
    },
    Rename {
        old_path: String,
        new_path: String,
    },
}

/// Returns the definition of the tool.
pub(super) fn tool() -> Tool {
    let text = || json!({ "type": "string" });
    let schema = json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "enum": ["view", "create", "str_replace", "insert", "delete", "rename"],
            },
            "path": text(), "file_text": text(), "old_str": text(), "new_str": text(),
            "insert_line": { "type": "integer" }, "insert_text": text(),
            "old_path": text(), "new_path": text(),
            "view_range": { "type": "array", "items": { "type": "integer" } },
        },
        "required": ["command"],
    });
    let schema = match schema {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    let about = format!(
        "Files below {TOP} that last across sessions. Each command is one commit. Commands: {COMMANDS}"
    );
    Tool::new(NAME, about, schema)
        .with_title("Memory files")
        .with_annotations(
            ToolAnnotations::new()
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(false),
        )
}

/// Runs a command.
///
/// # Errors
/// The errors of the documentation of the tool; `Denied` if the scan stops a text or the writer may not change a file.
pub(super) fn call(service: &Service, mut arguments: Map<String, Json>) -> Result<Sent> {
    arguments.retain(|_, value| !value.is_null());
    let command = Command::deserialize(Json::Object(arguments)).map_err(|error| {
        Error::invalid(printable(&error.to_string()))
            .with_code(ErrorCode::Usage)
            .with_hint(format!("the commands are {COMMANDS}"))
    })?;
    let files = Files::of(service)?;
    let text = match command {
        Command::View { path, view_range } => files.view(&path, view_range)?,
        Command::Create { path, file_text } => files.create(&path, file_text)?,
        Command::StrReplace {
            path,
            old_str,
            new_str,
        } => files.replace(&path, &old_str, &new_str.unwrap_or_default())?,
        Command::Insert {
            path,
            insert_line,
            insert_text,
        } => files.insert(&path, insert_line, &insert_text)?,
        Command::Delete { path } => files.delete(&path)?,
        Command::Rename { old_path, new_path } => files.rename(&old_path, &new_path)?,
    };
    Ok(Sent {
        json: Map::new(),
        text: within(&text, service.caller().tokens_max),
    })
}

/// The files of a scope in one state.
struct Files<'a> {
    service: &'a Service,
    view: View,
    /// What every id of the scope begins with (MTL-1).
    prefix: String,
}

fn failed(text: String) -> Error {
    Error::invalid(text)
}

fn missing(path: &str) -> Error {
    let path = printable(path);
    Error::not_found(format!(
        "The path {path} does not exist. Please provide a valid path."
    ))
}

impl<'a> Files<'a> {
    fn of(service: &'a Service) -> Result<Self> {
        Ok(Self {
            service,
            view: service.head()?,
            prefix: format!("memories/{}/", service.scope(None)?),
        })
    }

    /// Returns the part of `path` below the top folder, without slashes at its ends.
    fn below(path: &str) -> Result<&str> {
        let refused = || {
            let hint = format!("a path is {TOP} or below it, such as {TOP}/notes.md, without . and ..");
            failed(format!("The path {} is not valid", printable(path))).with_hint(hint)
        };
        let rest = path
            .strip_prefix(TOP)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let rest = rest.ok_or_else(refused)?;
        let rest = rest.strip_prefix('/').unwrap_or(rest).trim_end_matches('/');
        let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.contains(['\\', '\0']);
        if !rest.is_empty() && rest.split('/').any(is_bad) {
            return Err(refused());
        }
        Ok(rest)
    }

    fn id(&self, path: &str) -> Result<Id> {
        match Self::below(path)? {
            "" => Err(failed(format!("The path {TOP} is a folder"))),
            rest => Id::new(&format!("{}{rest}", self.prefix)),
        }
    }

    /// Returns the file at `path`.
    fn file(&self, path: &str) -> Result<Option<Object>> {
        let found = self.view.get(&self.id(path)?)?;
        let scope = self.service.scope(None)?;
        Ok(found.filter(|object| object.scope() == scope.as_str()))
    }

    /// Returns the files below the folder `path` by their path below the top folder.
    fn within(&self, path: &str) -> Result<BTreeMap<String, Object>> {
        let rest = Self::below(path)?;
        let folder = if rest.is_empty() {
            self.prefix.clone()
        } else {
            format!("{}{rest}/", self.prefix)
        };
        let query = Query {
            prefix: Some(folder),
            scope: Some(self.service.scope(None)?),
            ..Query::default()
        };
        let found = self.view.query(&query)?.map(|object| {
            let object = object?;
            Ok((object.id().as_str()[self.prefix.len()..].to_owned(), object))
        });
        found.collect()
    }

    /// Returns the text of a file as an answer may show it.
    fn text(&self, path: &str, object: &Object) -> Result<String> {
        let shown = StoredText::of(self.service.agent(), object, false);
        shown.text.ok_or_else(|| {
            Error::denied(
                ErrorCode::LessTrusted,
                format!(
                    "The file {} is withheld, because it is not trusted",
                    printable(path)
                ),
            )
            .with_hint(format!(
                "a person reviews it with: treering promote {} --dry-run",
                object.id()
            ))
        })
    }

    fn view(&self, path: &str, range: Option<[i64; 2]>) -> Result<String> {
        if !Self::below(path)?.is_empty()
            && let Some(object) = self.file(path)?
        {
            let text = self.text(path, &object)?;
            let lines = numbered(&text);
            let (first, last) = match range {
                None => (1, lines.len()),
                Some([first, -1]) => (at_least_one(first), lines.len()),
                Some([first, last]) => (at_least_one(first), usize::try_from(last).unwrap_or_default()),
            };
            let shown = lines
                .iter()
                .take(last)
                .skip(first - 1)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n");
            return Ok(format!(
                "Here's the content of {} with line numbers:\n{shown}",
                printable(path)
            ));
        }
        let files = self.within(path)?;
        if files.is_empty() && !Self::below(path)?.is_empty() {
            return Err(missing(path));
        }
        Ok(listing(path, Self::below(path)?, &files))
    }

    fn create(&self, path: &str, text: String) -> Result<String> {
        let path = path.trim_end_matches('/');
        if self.file(path)?.is_some() || !self.within(path)?.is_empty() {
            return Err(failed(format!("Error: File {} already exists", printable(path))));
        }
        self.store(path, text, None)?;
        Ok(format!("File created successfully at: {}", printable(path)))
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<String> {
        let object = self.file(path)?.ok_or_else(|| missing(path))?;
        let text = self.text(path, &object)?;
        let places: Vec<usize> = if old.is_empty() {
            Vec::new()
        } else {
            text.match_indices(old).map(|(at, _)| at).collect()
        };
        let shown = (printable(old), printable(path));
        let line_of = |at: usize| text[..at].matches('\n').count();
        match places.as_slice() {
            [] => Err(failed(format!(
                "No replacement was performed, old_str `{}` did not appear verbatim in {}.",
                shown.0, shown.1
            ))),
            [at] => {
                let edited = format!("{}{new}{}", &text[..*at], &text[at + old.len()..]);
                let lines = numbered(&edited);
                let line = line_of(*at);
                self.store(path, edited, Some(&object))?;
                let last = line + new.matches('\n').count() + LINES_AROUND + 1;
                let around = lines.iter().take(last).skip(line.saturating_sub(LINES_AROUND));
                let around = around.cloned().collect::<Vec<_>>().join("\n");
                Ok(format!("The memory file has been edited.\n{around}"))
            }
            many => {
                let lines: Vec<_> = many.iter().map(|at| (line_of(*at) + 1).to_string()).collect();
                let lines = lines.join(", ");
                Err(failed(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{}` in lines: {lines}. Please ensure it is unique",
                    shown.0
                )))
            }
        }
    }

    fn insert(&self, path: &str, at: i64, new: &str) -> Result<String> {
        let object = self.file(path)?.ok_or_else(|| missing(path))?;
        let text = self.text(path, &object)?;
        let mut lines: Vec<&str> = text.lines().collect();
        let line = usize::try_from(at).ok().filter(|line| *line <= lines.len()).ok_or_else(|| {
            failed(format!(
                "Error: Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file: [0, {}]",
                lines.len()
            ))
        })?;
        lines.splice(line..line, new.trim_end_matches('\n').split('\n'));
        let mut edited = lines.join("\n");
        if text.ends_with('\n') {
            edited.push('\n');
        }
        self.store(path, edited, Some(&object))?;
        Ok(format!("The file {} has been edited.", printable(path)))
    }

    fn delete(&self, path: &str) -> Result<String> {
        let ids = self
            .at(path)?
            .into_values()
            .map(|object| object.id().clone())
            .collect();
        let what = Forgetting {
            ids,
            ..Forgetting::default()
        };
        drop(
            self.service
                .agent()
                .forget(&what, &self.service.writer(), false)?,
        );
        Ok(format!("Successfully deleted {}", printable(path)))
    }

    /// Returns the file at `path`, or the files of the folder, by their path below the top folder.
    fn at(&self, path: &str) -> Result<BTreeMap<String, Object>> {
        let rest = Self::below(path)?;
        if !rest.is_empty()
            && let Some(object) = self.file(path)?
        {
            return Ok(BTreeMap::from([(rest.to_owned(), object)]));
        }
        let files = self.within(path)?;
        if files.is_empty() {
            Err(missing(path))
        } else {
            Ok(files)
        }
    }

    fn rename(&self, old: &str, new: &str) -> Result<String> {
        let (from, to) = (Self::below(old)?, Self::below(new)?);
        let moved = self.at(old)?;
        if from.is_empty() || to.is_empty() || to.starts_with(&format!("{from}/")) {
            return Err(failed(format!(
                "Error: {} cannot become {}",
                printable(old),
                printable(new)
            )));
        }
        if self.file(new)?.is_some() || !self.within(new)?.is_empty() {
            return Err(failed(format!(
                "Error: The destination {} already exists",
                printable(new)
            )));
        }
        refuse_secret_name("the path", to)?;
        let mut draft = self
            .service
            .memory()
            .draft(&self.service.clean(&self.service.writer())?);
        draft.authorise(Authorisation::Everyone);
        for (path, object) in moved {
            let mut renamed = object.to_new()?;
            renamed.id = Id::new(&format!("{}{to}{}", self.prefix, &path[from.len()..]))?;
            // A text does not become more trusted by a new name.
            renamed.derived_from = vec![object.digest()];
            draft.put(renamed)?;
            draft.remove(object.id())?;
        }
        drop(self.service.memory().commit(draft, "rename")?);
        Ok(format!(
            "Successfully renamed {} to {}",
            printable(old),
            printable(new)
        ))
    }

    /// Stores the text of a file in one commit. `old` is the version that the text was made of.
    fn store(&self, path: &str, text: String, old: Option<&Object>) -> Result<()> {
        let agent = self.service.agent();
        let item = NewItem {
            id: Some(self.id(path)?),
            kind: Kind::new(KIND)?,
            scope: self.service.scope(None)?,
            session: Some(self.service.caller().session.clone()),
            origin: old
                .map(Object::origin)
                .filter(|origin: &Origin| !origin.is_trusted()),
            ..NewItem::new(text)
        };
        let options = RememberOptions {
            expected: old.map(Object::digest),
            is_quick: true,
            ..RememberOptions::default()
        };
        let stored = agent.remember(item, &options, &self.service.writer())?;
        match &stored.held_as {
            Some(held) => Err(held_back(agent, held)),
            None => Ok(()),
        }
    }
}

fn at_least_one(line: i64) -> usize {
    usize::try_from(line).unwrap_or_default().max(1)
}

/// Returns the lines of a text behind their numbers.
fn numbered(text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines
        .map(|(number, line)| format!("{number:>6}\t{}", printable(line)))
        .collect()
}

/// Returns the list of the files and folders below `path`, two levels deep, with their sizes.
fn listing(path: &str, rest: &str, files: &BTreeMap<String, Object>) -> String {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::from([(rest.to_owned(), 0)]);
    let skipped = if rest.is_empty() {
        0
    } else {
        rest.split('/').count()
    };
    for (name, object) in files {
        let size = object.content().map_or(0, str::len);
        let parts: Vec<&str> = name.split('/').collect();
        let own = parts.get(skipped..).unwrap_or_default();
        if own
            .iter()
            .any(|part| part.starts_with('.') || *part == "node_modules")
        {
            continue;
        }
        for depth in 0..=own.len().min(2) {
            *sizes.entry(parts[..skipped + depth].join("/")).or_default() += size;
        }
    }
    let shown = printable(path.trim_end_matches('/'));
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items and node_modules:"
    );
    for (name, size) in sizes {
        let name = if name.is_empty() {
            TOP.to_owned()
        } else {
            format!("{TOP}/{name}")
        };
        let _ = write!(text, "\n{}\t{}", human(size), printable(&name));
    }
    text
}

/// Formats a number of bytes as `du -h` does.
fn human(bytes: usize) -> String {
    let kibibytes = bytes as f64 / 1024.0;
    if kibibytes < 1.0 {
        format!("{bytes}B")
    } else if kibibytes < 1024.0 {
        format!("{kibibytes:.1}K")
    } else {
        format!("{:.1}M", kibibytes / 1024.0)
    }
}

/// Cuts a text at the caller's limit (SRV-2).
fn within(text: &str, tokens_max: usize) -> String {
    if tokens(text) <= tokens_max {
        return text.to_owned();
    }
    let note = "\n(shortened to the limit of tokens: view_range shows other lines)";
    let room = tokens_max.saturating_mul(4).saturating_sub(note.len());
    text.chars().take(room).chain(note.chars()).collect()
}

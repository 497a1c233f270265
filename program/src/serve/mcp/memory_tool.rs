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

use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::memory_files::{TOP, listing, numbered, page, within};
use crate::answers::program::Refused;
use crate::serve::Service;
use crate::serve::errors::REVIEW_HINT;
use crate::serve::operations::{Sent, fit};
use treering::agent::{Forgetting, ItemFields, RememberOptions, StoredText};
use treering::inspect::agent::refuse_secret_name;
use treering::inspect::agent::trust::held_back;
use treering::{Authorisation, Error, ErrorCode, Id, Object, Query, Result, View};
use treering_text::visible::printable;

/// The name of the tool, as models know it.
pub(super) const NAME: &str = "memory";
/// The kind of the items.
const KIND: &str = "file";
/// The lines before and after an edit that its answer shows.
const LINES_AROUND: usize = 4;
/// The lines of a file that a view shows.
const LINES_MAX: usize = 999_999;
/// What most errors of the documentation begin with.
const ERROR: &str = "Error: ";
/// The commands, and the arguments that each needs.
const COMMANDS: &str = "view (path, view_range?), create (path, file_text), str_replace (path, old_str, new_str), \
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
            "view_range": {
                "description": "[first, last] line; -1 is the end",
                "type": "array",
                "items": { "type": "integer" },
            },
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
    service.admit()?;
    fit(&mut arguments, &tool().input_schema)?;
    let text = run(service, &arguments).map_err(|error| service.told(error, &arguments))?;
    Ok(Sent {
        json: Map::new(),
        text: within(&text, service.caller().tokens_max),
    })
}

/// Runs a command, and returns its text.
fn run(service: &Service, arguments: &Map<String, Json>) -> Result<String> {
    let command = Command::deserialize(Json::Object(arguments.clone())).map_err(|error| {
        Error::invalid(printable(&error.to_string()))
            .with_code(ErrorCode::Usage)
            .with_hint(format!("the commands are {COMMANDS}"))
    })?;
    let files = Files::of(service)?;
    match command {
        Command::View { path, view_range } => files.view(&path, view_range),
        Command::Create { path, file_text } => files.create(&path, file_text),
        Command::StrReplace {
            path,
            old_str,
            new_str,
        } => files.replace(&path, &old_str, &new_str.unwrap_or_default()),
        Command::Insert {
            path,
            insert_line,
            insert_text,
        } => files.insert(&path, insert_line, &insert_text),
        Command::Delete { path } => files.delete(&path),
        Command::Rename { old_path, new_path } => files.rename(&old_path, &new_path),
    }
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

/// Returns the error of a path that names nothing, in the words of the command.
fn missing(path: &str, begin: &str, end: &str) -> Error {
    let path = printable(path);
    // The code keeps the hints about items away.
    Error::not_found(format!("{begin}The path {path} does not exist{end}")).with_code(ErrorCode::NoFile)
}

/// Returns the answer of a command that failed. Its text begins as the documentation says, without a code.
pub(super) fn failure(shown: Refused) -> CallToolResult {
    let next = shown.hint.map(|hint| format!("\nnext: {hint}"));
    let text = shown.message + &next.unwrap_or_default();
    CallToolResult::error(vec![ContentBlock::text(text)])
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
        Id::new(&format!("{}{}", self.prefix, Self::below(path)?))
    }

    /// Returns the file at `path`.
    fn file(&self, path: &str) -> Result<Option<Object>> {
        let found = self.view.get(&self.id(path)?)?;
        let scope = self.service.scope(None)?;
        Ok(found.filter(|object| object.scope() == scope.as_str()))
    }

    /// Returns what `take` takes of each file below the folder `path`, by the path of the file below the top folder.
    fn within<T>(
        &self,
        path: &str,
        limit: Option<usize>,
        take: impl Fn(Object) -> T,
    ) -> Result<BTreeMap<String, T>> {
        let rest = Self::below(path)?;
        let folder = if rest.is_empty() {
            self.prefix.clone()
        } else {
            format!("{}{rest}/", self.prefix)
        };
        let mut query = Query::default();
        query.prefix = Some(folder);
        query.scope = Some(self.service.scope(None)?);
        query.limit = limit;
        let found = self.view.query(&query)?.map(|object| {
            let object = object?;
            let name = object.id().as_str()[self.prefix.len()..].to_owned();
            Ok((name, take(object)))
        });
        found.collect()
    }

    /// Whether `path` is a file or a folder.
    fn is_taken(&self, path: &str) -> Result<bool> {
        Ok(Self::below(path)?.is_empty()
            || self.file(path)?.is_some()
            || !self.within(path, Some(1), drop)?.is_empty())
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
            .with_hint(REVIEW_HINT)
        })
    }

    fn view(&self, path: &str, range: Option<[i64; 2]>) -> Result<String> {
        if let Some(object) = self.file(path)? {
            let text = self.text(path, &object)?;
            let shown = printable(path);
            if text.lines().nth(LINES_MAX).is_some() {
                let text = format!("File {shown} exceeds maximum line limit of 999,999 lines.");
                return Err(failed(text));
            }
            let lines = numbered(&text);
            let (first, last) = in_range(range, lines.len())?;
            let head = format!("Here's the content of {shown} with line numbers:");
            let tokens_max = self.service.caller().tokens_max;
            return Ok(page(&head, &lines[first..last], first, object.id(), tokens_max));
        }
        // Only the sizes are kept, so that one text at a time is in memory.
        let files = self.within(path, None, |object| {
            let size = object.content().map_or(0, str::len);
            object.origin().is_trusted().then_some(size)
        })?;
        if files.is_empty() && !Self::below(path)?.is_empty() {
            return Err(missing(path, "", ". Please provide a valid path."));
        }
        Ok(listing(path, Self::below(path)?, &files))
    }

    fn create(&self, path: &str, text: String) -> Result<String> {
        let path = path.trim_end_matches('/');
        if self.is_taken(path)? {
            return Err(failed(format!("Error: File {} already exists", printable(path))));
        }
        self.refuse_below_file(path)?;
        self.store(path, text, None)?;
        Ok(format!("File created successfully at: {}", printable(path)))
    }

    /// Refuses a path below a file, so that no path is a file and a folder.
    fn refuse_below_file(&self, path: &str) -> Result<()> {
        let rest = Self::below(path)?;
        for (at, _) in rest.match_indices('/') {
            let folder = format!("{TOP}/{}", &rest[..at]);
            if self.file(&folder)?.is_some() {
                let text = format!("{ERROR}The path {} is a file, not a folder", printable(&folder));
                return Err(failed(text));
            }
        }
        Ok(())
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<String> {
        let object = self
            .file(path)?
            .ok_or_else(|| missing(path, ERROR, ". Please provide a valid path."))?;
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
        let object = self.file(path)?.ok_or_else(|| missing(path, ERROR, ""))?;
        let text = self.text(path, &object)?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let line = usize::try_from(at).ok().filter(|line| *line <= lines.len()).ok_or_else(|| {
            failed(format!(
                "Error: Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file: [0, {}]",
                lines.len()
            ))
        })?;
        let (before, after) = text.split_at(lines[..line].iter().map(|line| line.len()).sum());
        let is_open = |text: &str| !text.is_empty() && !text.ends_with('\n');
        let first_end = if is_open(before) { "\n" } else { "" };
        // The last line of a file ends as before.
        let is_last = after.is_empty() && !text.ends_with('\n');
        let end = if is_last || new.ends_with('\n') { "" } else { "\n" };
        let edited = [before, first_end, new, end, after].concat();
        self.store(path, edited, Some(&object))?;
        Ok(format!("The file {} has been edited.", printable(path)))
    }

    fn delete(&self, path: &str) -> Result<String> {
        if Self::below(path)?.is_empty() {
            return Err(failed(format!(
                "{ERROR}The folder {TOP} itself cannot be deleted"
            )));
        }
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
                .forget(&what, &self.service.writer()?, false)?,
        );
        Ok(format!("Successfully deleted {}", printable(path)))
    }

    /// Returns the file at `path`, or the files of the folder, by their path below the top folder.
    fn at(&self, path: &str) -> Result<BTreeMap<String, Object>> {
        let rest = Self::below(path)?;
        if let Some(object) = self.file(path)? {
            return Ok(BTreeMap::from([(rest.to_owned(), object)]));
        }
        let files = self.within(path, None, |object| object)?;
        if files.is_empty() {
            Err(missing(path, ERROR, ""))
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
        if self.is_taken(new)? {
            return Err(failed(format!(
                "Error: The destination {} already exists",
                printable(new)
            )));
        }
        self.refuse_below_file(new)?;
        refuse_secret_name("the path", to)?;
        let mut draft = self
            .service
            .memory()
            .draft(&self.service.clean(&self.service.writer()?)?);
        draft.authorise(Authorisation::Everyone);
        for (path, object) in moved {
            let mut renamed = object.to_new()?;
            renamed.id = Id::new(&format!("{}{to}{}", self.prefix, &path[from.len()..]))?;
            // A text does not become more trusted by a new name.
            renamed.derived_from = vec![object.digest()];
            // Another writer may have changed the file, or taken the name, since this state.
            draft.expect(object.id(), Some(object.digest()));
            draft.expect(&renamed.id, None);
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
        let class = old.map(Object::origin).filter(|class| !class.is_trusted());
        let fields = ItemFields {
            text,
            id: Some(self.id(path)?.to_string()),
            kind: Some(KIND.to_owned()),
            session: Some(self.service.session().to_owned()),
            origin: class.map(|class| class.to_string()),
            ..ItemFields::default()
        };
        let item = fields.into_item(&self.service.caller().who)?;
        let options = RememberOptions {
            expected: old.map(Object::digest),
            is_quick: true,
            may_be_empty: true,
            ..RememberOptions::default()
        };
        let stored = agent.remember(item, &options, &self.service.writer()?)?;
        match &stored.held_as {
            Some(held) => Err(held_back(agent, held)),
            None => Ok(()),
        }
    }
}

/// Returns the lines of a range as the documentation counts them, `[first, last]` from 1 on, out of `count` lines.
fn in_range(range: Option<[i64; 2]>, count: usize) -> Result<(usize, usize)> {
    let [from, to] = range.unwrap_or([1, -1]);
    let first = usize::try_from(from).unwrap_or_default().saturating_sub(1);
    let last = if to == -1 {
        count
    } else {
        usize::try_from(to).unwrap_or_default().min(count)
    };
    // An empty file has no line, and its view is empty.
    if first <= last && (first < last || count == 0) {
        return Ok((first, last));
    }
    Err(failed(format!(
        "{ERROR}Invalid `view_range` parameter: [{from}, {to}]. It should be within the range of lines of the file: [1, {count}]"
    )))
}

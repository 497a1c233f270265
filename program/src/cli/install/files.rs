//! The one editor of settings files: plans a change, writes it, and takes it back.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - INL-1: an installation and its removal leave everything else in a file as it is, byte for byte.
//! - INL-2: an installation that is there already changes nothing.
//! - CLT-2: no link leads a write of `mcp install` out of the home folder or the current folder.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value as Json;

use super::commands::{is_own_server, program_in_plugin, with_program_of};
use super::entries::{Entry, Kind, OTHER_SERVER, own_hooks, with_entries, without_entries};
use super::record::{InstallRecord, note_folders};
use super::server::{ServerForm, Start, toml_server, with_toml_server, without_toml_server};
use crate::cli::context::shown;
use crate::cli::errors::{input_error, refused};
use crate::cli::input::open_regular;
use crate::cli::json_edit::{Document, Refusal};
use treering::{Error, ErrorCode, Result};

/// The folder of the skill.
const SKILL_FOLDER: &str = "treering-memory";
/// The largest settings file, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a file has of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The file does not exist.
    Missing,
    /// Nothing.
    Absent,
    /// Not all.
    InPart,
    /// All, with the program that the server or the plugin names.
    Whole(Option<String>),
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

/// What a file gets.
#[derive(Clone, Debug)]
enum Content {
    Json(Vec<Entry>),
    /// The table of the server in a TOML file.
    Toml(Start),
    /// The whole file, which belongs to this program.
    Whole(String),
}

/// A server without hooks, as `mcp install` writes it.
#[derive(Clone, Debug)]
struct Alone {
    /// The folder that no link may leave (CLT-2).
    base: PathBuf,
    form: ServerForm,
    start: Start,
}

/// A change of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    what: Content,
    alone: Option<Alone>,
}

/// A change with the text before and after.
pub(crate) struct Planned {
    pub(crate) path: PathBuf,
    pub(crate) old: Option<String>,
    /// The text afterwards; `None` if the file goes.
    pub(crate) new: Option<String>,
    record: Recorded,
    /// The folder that no link may leave (CLT-2).
    base: Option<PathBuf>,
}

/// What happens to the record of an installation.
enum Recorded {
    Same,
    Saved(InstallRecord),
    Gone,
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
            if let Some(base) = &self.base {
                check_links(&self.path, base)?;
            }
            if read(&self.path)? != self.old {
                let text = format!("{} changed meanwhile", shown(&self.path));
                return Err(Error::conflict(text).with_hint("run the command again"));
            }
            match &self.new {
                Some(text) => {
                    if let Recorded::Saved(_) = self.record {
                        note_folders(&self.path)?;
                    }
                    write(&self.path, text)?;
                }
                None => remove(&self.path)?,
            }
        }
        match &self.record {
            Recorded::Same => {}
            Recorded::Saved(record) => record.save(&self.path)?,
            Recorded::Gone => InstallRecord::delete(&self.path),
        }
        Ok(())
    }
}

impl FileChange {
    pub(crate) fn json(path: PathBuf, entries: Vec<Entry>) -> Self {
        Self::of(path, Content::Json(entries))
    }

    pub(crate) fn whole(path: PathBuf, text: &str) -> Self {
        Self::of(path, Content::Whole(text.to_owned()))
    }

    /// The server in a settings file, in the form of its client.
    pub(crate) fn server(path: PathBuf, form: ServerForm, start: Start) -> Self {
        Self::of(path, content_of(form, start))
    }

    /// The server without hooks. It takes the place of any server with this name. A link that leads out of `base` is refused,
    /// and so is a file in which JSON forbids something, because its client may not read that.
    pub(crate) fn server_alone(path: PathBuf, base: PathBuf, form: ServerForm, start: Start) -> Self {
        let what = content_of(form, start.clone());
        let alone = Some(Alone { base, form, start });
        Self { path, what, alone }
    }

    fn of(path: PathBuf, what: Content) -> Self {
        let alone = None;
        Self { path, what, alone }
    }

    /// Plans to write the change.
    ///
    /// # Errors
    /// `InvalidInput` if the file cannot be edited without loss; `Denied` if a link leads out of the base folder (CLT-2).
    pub(crate) fn install(&self) -> Result<Planned> {
        let old = self.read()?;
        let text = old.as_deref().unwrap_or_default();
        // A record without its file is of an installation that somebody else removed.
        let known = InstallRecord::of(&self.path).filter(|_| old.is_some());
        let mut record = known.unwrap_or_else(|| InstallRecord {
            was_there: !text.trim().is_empty(),
            blank: old.clone().filter(|old| old.trim().is_empty()),
            ..InstallRecord::default()
        });
        let new = match &self.what {
            // A file that the user wrote or edited stays, but for a program that does not exist.
            Content::Whole(own) if old.is_some() && text != own && text != record.added => {
                with_program_of(text, own).unwrap_or_else(|| text.to_owned())
            }
            Content::Whole(own) => {
                record.added.clone_from(own);
                own.clone()
            }
            Content::Toml(start) => {
                let new = self.with_table(text, start).map_err(|why| self.not_kept(&why))?;
                if let Some(added) = new.strip_prefix(text).filter(|added| !added.is_empty()) {
                    added.clone_into(&mut record.added);
                }
                new
            }
            Content::Json(entries) => self
                .with_entries(text, entries, &mut record)
                .map_err(|why| self.not_kept(&why))?,
        };
        Ok(Planned {
            path: self.path.clone(),
            old,
            new: Some(new),
            record: match &self.alone {
                Some(_) => Recorded::Same,
                None => Recorded::Saved(record),
            },
            base: self.alone.as_ref().map(|alone| alone.base.clone()),
        })
    }

    fn with_table(&self, text: &str, start: &Start) -> Result<String, Refusal> {
        let known = toml_server(text)?;
        let mut start = start.clone();
        if self.alone.is_none() {
            if !is_own_server(&known) {
                return Err(OTHER_SERVER.to_owned());
            }
            if let Some(known) = Start::of(&known) {
                start.add_options_of(&known, &[]);
            }
        }
        with_toml_server(text, &known, &start)
    }

    fn with_entries(
        &self,
        text: &str,
        entries: &[Entry],
        record: &mut InstallRecord,
    ) -> Result<String, Refusal> {
        let is_blank = text.trim().is_empty();
        let mut document = Document::read(if is_blank { "{}\n" } else { text })?;
        if let (Some(alone), Some(odd)) = (&self.alone, document.odd()) {
            let is_there = entries.iter().all(|entry| {
                document.get(&entry.steps()).as_ref().and_then(Start::of) == Some(alone.start.clone())
            });
            return if is_there {
                Ok(text.to_owned())
            } else {
                Err(odd.clone())
            };
        }
        with_entries(&mut document, entries, self.alone.is_some(), record)?;
        Ok(document.text().to_owned())
    }

    /// Plans to take the change back.
    ///
    /// # Errors
    /// The errors of [`Self::install`].
    pub(crate) fn uninstall(&self) -> Result<Planned> {
        let old = self.read()?;
        let record = InstallRecord::of(&self.path);
        let is_recorded = record.is_some();
        let known = record.unwrap_or(InstallRecord {
            was_there: true,
            ..InstallRecord::default()
        });
        let text = old.as_deref().unwrap_or_default();
        let new = match &self.what {
            // The file goes only as this program wrote it.
            Content::Whole(own) => old.clone().filter(|text| text != own && *text != known.added),
            Content::Toml(_) => {
                let removed = without_table(text, &known).map_err(|why| self.not_kept(&why))?;
                Some(removed).filter(|_| old.is_some())
            }
            Content::Json(_) if text.trim().is_empty() => old.clone(),
            Content::Json(entries) => {
                let removed = Document::read(text).and_then(|mut document| {
                    without_entries(&mut document, entries, &known)?;
                    Ok(document.text().to_owned())
                });
                Some(removed.map_err(|why| self.not_kept(&why))?)
            }
        };
        // A file that this program made goes, once nothing else is in it.
        let is_empty = |text: &String| text.trim().is_empty() || text.trim() == "{}";
        let new = match new {
            Some(new) if !known.was_there && is_recorded && is_empty(&new) => known.blank,
            new => new,
        };
        Ok(Planned {
            path: self.path.clone(),
            old,
            new,
            record: Recorded::Gone,
            base: None,
        })
    }

    fn not_kept(&self, why: &str) -> Error {
        let text = format!("{} cannot be edited without loss: {why}", shown(&self.path));
        let hint = match self.to_paste() {
            Some(entry) => entry,
            None => "repair the file, then run the command again; --dry-run shows what the command writes"
                .to_owned(),
        };
        refused(ErrorCode::FileExists, text, hint)
    }

    /// Returns what a person does with a file that the program cannot read or keep whole.
    fn to_paste(&self) -> Option<String> {
        let Alone { form, start, .. } = self.alone.as_ref()?;
        Some(form.to_paste(start))
    }

    /// Returns how the file starts the server; `None` if the file has no such server.
    ///
    /// # Errors
    /// The errors of [`Self::install`].
    pub(crate) fn known_start(&self) -> Result<Option<Start>> {
        let Some(text) = self.read()? else { return Ok(None) };
        self.start_in(&text).map_err(Error::invalid)
    }

    fn start_in(&self, text: &str) -> Result<Option<Start>, Refusal> {
        match &self.what {
            Content::Toml(_) => Ok(Start::of(&toml_server(text)?)),
            Content::Json(entries) if !text.trim().is_empty() => {
                let document = Document::read(text)?;
                let mut servers = entries.iter().filter(|entry| entry.kind == Kind::Member);
                Ok(servers.find_map(|entry| Start::of(&document.get(&entry.steps())?)))
            }
            _ => Ok(None),
        }
    }

    /// Checks whether the file alone shows that the client was installed. A server alone may be of `mcp install`.
    pub(crate) fn is_sign(&self) -> bool {
        let is_own = match &self.what {
            Content::Json(_) => self.command_in_file().is_some(),
            Content::Toml(_) => false,
            // An edited file without a record is what a removal left to the user.
            Content::Whole(own) => self.read().is_ok_and(|text| text.as_ref() == Some(own)),
        };
        let is_there = || !matches!(self.standing(), Standing::Missing | Standing::Absent);
        is_own || InstallRecord::of(&self.path).is_some() && is_there()
    }

    /// Returns what the file has of what an installation writes.
    pub(crate) fn standing(&self) -> Standing {
        let text = match self.read() {
            Ok(Some(text)) => text,
            Ok(None) => return Standing::Missing,
            Err(error) => return Standing::Unreadable(error.message().to_owned()),
        };
        let start = match self.start_in(&text) {
            Ok(start) => start,
            Err(why) => return Standing::Unreadable(why),
        };
        match &self.what {
            // A file that the user edited is there, too.
            Content::Whole(_) => Standing::Whole(program_in_plugin(&text)),
            Content::Toml(_) => match toml_server(&text) {
                Ok(server) if server.is_object() && is_own_server(&server) => {
                    Standing::Whole(start.map(|start| start.command))
                }
                _ => Standing::Absent,
            },
            Content::Json(entries) => {
                let Ok(document) = Document::read(&text) else {
                    return Standing::Absent;
                };
                let needed = entries.iter().filter(|entry| entry.kind != Kind::Default);
                let found: Vec<bool> = needed.map(|entry| entry.is_in(&document)).collect();
                match found.iter().filter(|found| **found).count() {
                    0 => Standing::Absent,
                    count if count < found.len() => Standing::InPart,
                    _ => Standing::Whole(start.map(|start| start.command)),
                }
            }
        }
    }

    /// Returns the command of a hook that the file has for this program, if it has one.
    pub(crate) fn command_in_file(&self) -> Option<String> {
        let Content::Json(entries) = &self.what else {
            return None;
        };
        let document = Document::read(&self.read().ok()??).ok()?;
        let hooks = entries.iter().filter(|entry| entry.kind == Kind::Item);
        hooks.into_iter().find_map(|entry| {
            let Some(Json::Array(items)) = document.get(&entry.steps()) else {
                return None;
            };
            let (place, inner) = own_hooks(&items).first().copied()?;
            let hook = inner.map_or(&items[place], |inner| &items[place]["hooks"][inner]);
            hook["command"].as_str().map(str::to_owned)
        })
    }

    /// Returns the text of the file; `None` if there is none.
    fn read(&self) -> Result<Option<String>> {
        if let Some(alone) = &self.alone {
            check_links(&self.path, &alone.base).map_err(|error| {
                match self
                    .to_paste()
                    .filter(|_| error.code() == ErrorCode::NotRegularFile)
                {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                }
            })?;
        }
        read(&self.path)
    }
}

/// Returns a TOML text without the server of this program.
fn without_table(text: &str, known: &InstallRecord) -> Result<String, Refusal> {
    if is_own_server(&toml_server(text)?) {
        return without_toml_server(text, &known.added);
    }
    Ok(text.to_owned())
}

/// Refuses a link that leads out of the base folder.
fn check_links(path: &Path, base: &Path) -> Result<()> {
    let is_there = |path: &&Path| path.symlink_metadata().is_ok();
    let Some(there) = path.ancestors().find(is_there).filter(|_| base.exists()) else {
        return Ok(());
    };
    let failed = |error| Error::io(format_args!("reading {}", shown(there)), error);
    let real = there.canonicalize().map_err(failed)?;
    if real.starts_with(base.canonicalize().map_err(failed)?) && !path.is_symlink() {
        return Ok(());
    }
    let text = format!("{} is a link, or a link leads to it from elsewhere", shown(path));
    Err(Error::denied(ErrorCode::NotRegularFile, text))
}

fn content_of(form: ServerForm, start: Start) -> Content {
    match form {
        ServerForm::Toml => Content::Toml(start),
        form => {
            let (path, entry) = form.entry(&start);
            Content::Json(vec![Entry::member(&path, entry)])
        }
    }
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

/// Removes a file, and the folder that has the name of its skill.
fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|error| Error::io(format_args!("removing {}", shown(path)), error))?;
    if let Some(folder) = path.parent().filter(|folder| folder.ends_with(SKILL_FOLDER)) {
        drop(fs::remove_dir(folder));
    }
    Ok(())
}

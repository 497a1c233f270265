//! `export`: writes every object, as lines that `put --jsonl` reads or as files that `ingest` reads. Also writes
//! diagrams.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-7: an export writes nothing outside the given path. Without `--force`, it overwrites no regular file.

use super::prelude::*;
use crate::answers::json::to_json;
use crate::answers::objects::StoredLine;
use crate::answers::program::{BlocksWritten, Drawn, Exported};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};

use super::diagrams;
use crate::cli::errors::output_error;
use treering::ingest::Format;
use treering::inspect::ingest;
use treering::inspect::ingest::{Piece, json as lines};

/// The formats of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    #[default]
    Jsonl,
    Org,
    Markdown,
    /// A diagram, for Graphviz
    Dot,
    /// A diagram
    Svg,
    /// An interactive page with all diagrams
    Html,
    /// A folder with one Markdown file for each block, to edit and import again
    Blocks,
}

impl ExportFormat {
    fn is_diagram(self) -> bool {
        matches!(self, Self::Dot | Self::Svg | Self::Html)
    }
}

/// The subject of a diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagramOf {
    /// The tree of objects
    Tree,
    /// Commits, snapshots, rollbacks and undos
    History,
    /// The trie nodes of two states, which shows the shared nodes
    Trie,
}

/// Write every object to a file
///
/// The default output is JSON lines that `put --jsonl` reads. Other formats are documents and diagrams.
///
/// # Notes
/// The page of --format html needs no network and no other file; open it in a browser. A killed export leaves a partial
/// file .treering-unfinished-XXXXXX in the folder. No later export removes that file.
///
/// # Examples
/// ```text
/// treering export > memory.jsonl
/// treering export memory.jsonl --at release-1
/// treering export --format html memory.html
/// treering export --format svg --picture trie --from snap:0 turn.svg
/// treering export --format dot --under notes/plan | dot -Tpng > plan.png
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Export {
    /// The file to write, or a folder for Org and Markdown [default: standard output]
    pub(crate) path: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// The subject of the diagram; a page shows all three subjects [default: tree]
    #[arg(long = "picture", value_name = "WHAT")]
    pub(crate) diagram: Option<DiagramOf>,
    /// The older state of a trie diagram [default: the newest earlier snapshot]
    #[arg(long, value_name = "REV")]
    pub(crate) from: Option<String>,
    /// Draw only this object and the objects below it
    #[arg(long, value_name = "ID")]
    pub(crate) under: Option<String>,
    /// The largest number of rows in a diagram [default: 2000]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// The scope of the blocks [default: global, and the current project, session and agent]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

impl Verb for Export {
    const ANSWERS: &'static [Form] = &[
        form::<StoredLine>("one per line, in the form of put --jsonl"),
        form::<Exported>("into a file"),
        form::<Drawn>("a diagram into a file"),
        form::<BlocksWritten>("blocks into a folder"),
    ];

    fn run(self, context: &mut Context) -> Done {
        check_options(&self)?;
        if self.format == ExportFormat::Blocks {
            return super::agent::blocks::export(context, &self);
        }
        if self.format.is_diagram() {
            return diagrams::export(context, &self);
        }
        let (memory, view) = context.open_view()?;
        note_left_out(context, &view)?;
        let format = match self.format {
            ExportFormat::Org => Some(Format::Org),
            ExportFormat::Markdown => Some(Format::Markdown),
            _ => None,
        };
        let mut lowered = Vec::new();
        let mut write = |put: Put<'_>| match format {
            None => ingest::for_each_version::<Error>(&memory, &view, &mut |version| {
                let line = to_json(&line_of(&version)?).map_err(|error| output_error(error.into()))?;
                put(&format!("{line}\n"))
            }),
            Some(format) => {
                let mut put = |piece| match piece {
                    Piece::Document { text, .. } | Piece::Objects(text) => put(&text),
                };
                lowered = ingest::for_each_piece::<Error>(&memory, &view, format, true, &mut put)?;
                Ok(())
            }
        };
        match (self.named_path(), format) {
            (None, None) => write(&mut |line| context.line(line.trim_end()))?,
            (None, Some(_)) => {
                context.output.check_form()?;
                write(&mut |text| context.output.text(text))?;
                note_lowered(context, &lowered);
            }
            (Some(path), Some(format)) if is_folder(path) => {
                export_folder(context, &memory, &view, path, format, self.force)?;
            }
            (Some(path), _) => {
                refuse_existing(path, self.force)?;
                write_file(path, write)?;
                note_lowered(context, &lowered);
                print(context, &view, path, 1)?;
            }
        }
        context.note_unreadable(&memory);
        Ok(DONE)
    }
}

impl Export {
    /// Returns the path of the output. Returns `None` for standard output.
    pub(in crate::cli) fn named_path(&self) -> Option<&Path> {
        self.path.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// Prints notes about the objects and contents that the export omits because they were erased or lost.
fn note_left_out(context: &mut Context, view: &View) -> Result<()> {
    let left_out = ingest::omitted(view)?;
    let mut note = |count, what, code, how: &str| {
        if count > 0 {
            context.note(code, format!("{how}: {}", counted(count, what)));
        }
    };
    let objects = "omitted, because erased or lost";
    let contents = "written without content, because the content was erased or lost";
    let parents = "not in this export, so their children are written without a parent";
    note(left_out.objects, "object", "erased", objects);
    note(left_out.contents, "object", "erased", contents);
    note(left_out.parents, "parent", "orphans", parents);
    Ok(())
}

/// Refuses options that have no effect in the selected format.
fn check_options(verb: &Export) -> Result<()> {
    let is_page = verb.format == ExportFormat::Html;
    let diagram = verb.format.is_diagram();
    let drawn = |what| diagram && (is_page || verb.diagram.unwrap_or(DiagramOf::Tree) == what);
    let is_text = matches!(
        verb.format,
        ExportFormat::Jsonl | ExportFormat::Org | ExportFormat::Markdown
    );
    let blocks = !diagram && !is_text;
    let options = [
        ("--picture", verb.diagram.is_some(), diagram && !is_page),
        ("--scope", verb.scope.is_some(), blocks),
        ("--rows", verb.rows.is_some(), diagram),
        ("--under", verb.under.is_some(), drawn(DiagramOf::Tree)),
        ("--from", verb.from.is_some(), drawn(DiagramOf::Trie)),
    ];
    refuse_unused("export", &options)
}

/// Refuses the first option that the user typed and the verb does not use. Each entry of `options` contains the name of
/// an option, whether the user typed the option, and whether the verb uses the option.
pub(super) fn refuse_unused(verb: &str, options: &[(&str, bool, bool)]) -> Result<()> {
    let mut options = options.iter();
    let unused = options.find(|(_, is_given, is_used)| *is_given && !is_used);
    let Some((option, ..)) = unused else {
        return Ok(());
    };
    let hint = format!("see treering {verb} --help");
    Err(usage_error(format!("{option} has no effect in this call"), hint))
}

/// Returns the JSON line of a version. Omits a parent that is not exported, because an import would refuse the line.
fn line_of(version: &ingest::Version) -> Result<serde_json::Value> {
    let mut line = lines::stored_object_to_json(&version.object, version.past)?;
    if let Some(fields) = line.as_object_mut().filter(|_| version.is_orphan) {
        drop(fields.shift_remove("parent"));
    }
    Ok(line)
}

/// Writes each document to its path below the folder, and all other objects to one more file.
fn export_folder(
    context: &mut Context,
    memory: &Memory,
    view: &View,
    folder: &Path,
    format: Format,
    force: bool,
) -> Result<()> {
    let mut objects = String::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let lowered = ingest::for_each_piece::<Error>(memory, view, format, false, &mut |piece| {
        match piece {
            Piece::Document { path, text } => files.push((PathBuf::from(path), text)),
            Piece::Objects(text) => objects.push_str(&text),
        }
        Ok(())
    })?;
    if !objects.is_empty() {
        let ending = if format == Format::Org { "org" } else { "md" };
        let numbered = (2..).map(|number| format!("objects-{number}.{ending}"));
        let mut names = std::iter::once(format!("objects.{ending}")).chain(numbered);
        let is_free = |name: &String| files.iter().all(|(path, _)| !path.starts_with(name));
        let name = names.find(is_free).unwrap_or_default();
        files.push((name.into(), objects));
    }
    // The checks of all paths precede the first write, so a refused export writes nothing.
    for (path, _) in &files {
        refuse_links(folder, path)?;
        refuse_existing(&folder.join(path), force)?;
    }
    for (path, text) in &files {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).map_err(|error| not_written(above, error))?;
        }
        write_file(&path, |put| put(text))?;
    }
    note_lowered(context, &lowered);
    print(context, view, folder, files.len())?;
    Ok(())
}

fn print(context: &mut Context, view: &View, path: &Path, files: usize) -> Done {
    let (objects, path) = (view.len(), shown(path));
    let into = match files {
        1 => String::new(),
        _ => format!(" in {}", counted(files as u64, "file")),
    };
    let text = format!("wrote {}{into} to {path}", counted(objects, "object"));
    context.say(&Exported { objects, path, files }, text)
}

/// Prints a note about the objects that will have lower trust after an import of this export.
fn note_lowered(context: &mut Context, lowered: &[Id]) {
    if let [first, ..] = lowered {
        let what = counted(lowered.len() as u64, "object");
        let note = format!(
            "{what}, such as {first}, came from versions outside this state. An import of this export gives these objects the origin `import`; an export as JSON Lines preserves the origins"
        );
        context.note("origins", note);
    }
}

/// Returns whether a path names a folder: an existing folder, or a new path without an extension or with a final slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir()
        || (!path.exists() && path.extension().is_none())
        || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses a folder, and a regular file without `force` (CLI-7). Allows a pipe or a device.
fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(());
    }
    if fs::symlink_metadata(path).is_ok_and(|there| there.is_dir() || !force) {
        let text = format!("{} already exists; nothing was written", shown(path));
        let hint = "choose another path, or overwrite it with --force";
        return Err(refused(ErrorCode::FileExists, text, hint));
    }
    Ok(())
}

/// Refuses a path if a part below the folder is a symlink or a file. A symlink may lead outside the folder (CLI-7).
fn refuse_links(folder: &Path, path: &Path) -> Result<()> {
    let mut below = folder.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        below.push(part);
        if fs::symlink_metadata(&below).is_ok_and(|there| !there.is_dir()) {
            let text = format!("{} exists and is not a folder", shown(&below));
            return Err(refused(ErrorCode::NotAFolder, text, "write to an empty folder"));
        }
    }
    Ok(())
}

fn not_written(path: &Path, error: io::Error) -> Error {
    Error::io(format_args!("writing {}", shown(path)), error)
}

/// A function that writes the next part of a text.
pub(super) type Put<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

/// Writes a temporary file, syncs it, and renames it to `path` in the same folder. If `path` is a symlink, replaces the
/// file to which the symlink leads. The new file has the permissions of the replaced file. Writes directly to a pipe or
/// a device.
pub(super) fn write_file(path: &Path, write: impl FnOnce(Put<'_>) -> Result<()>) -> Result<()> {
    let failed = |error| not_written(path, error);
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let file = File::options().write(true).open(path).map_err(failed)?;
        return write_all(path, file, write).map(drop);
    }
    let target = match there {
        Some(_) => fs::canonicalize(path).map_err(failed)?,
        None => path.to_owned(),
    };
    let beside = target.parent().unwrap_or(Path::new(""));
    let unfinished = tempfile::Builder::new()
        .prefix(".treering-unfinished-")
        .make_in(beside, |path| File::create_new(path));
    // Dropping `unfinished` removes the file.
    let (file, unfinished) = unfinished.map_err(failed)?.into_parts();
    let file = write_all(path, file, write)?;
    let kept = there.map_or(Ok(()), |there| file.set_permissions(there.permissions()));
    kept.and_then(|()| file.sync_all()).map_err(failed)?;
    unfinished.persist(&target).map_err(|error| failed(error.error))
}

/// Writes the text into an open file.
fn write_all(path: &Path, file: File, write: impl FnOnce(Put<'_>) -> Result<()>) -> Result<File> {
    let failed = |error| not_written(path, error);
    let mut out = BufWriter::new(file);
    write(&mut |text| out.write_all(text.as_bytes()).map_err(failed))?;
    out.into_inner().map_err(|error| failed(error.into_error()))
}

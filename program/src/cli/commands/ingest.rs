//! `ingest`: turns documents into objects, in one commit.
//!
//! The verb reads all files before it opens the store. One unreadable file makes the whole call fail, so the store
//! never contains a part of the input without a warning. The error names each unreadable file.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::commits::{Ingested, Renamed, SkippedFile, Tally};
use std::collections::HashSet;
use std::io::{self, Read as _};
use std::{env, fs};

use unicode_normalization::UnicodeNormalization as _;
use walkdir::{DirEntry, WalkDir};

use super::document_review::Review;
use super::ingest_notes::{self, Found, form_of, format_of, parts_skipped};
use super::ingest_seen::Seen;
use super::left_out::{is_hidden, is_never_read};
use super::put::tally_text;
use super::tainting::tainting;
use crate::cli::errors::input_error;
use crate::cli::input::open_regular;
use treering::Writer;
use treering::ingest::{Document, Format, IngestOptions};
use treering::inspect::engine::Progress;
use treering::inspect::ingest;

/// The largest accepted file, in bytes.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// The largest number of missing documents that a note names.
const NAMED_MAX: usize = 20;
/// The hint for unreadable files.
const LEAVE_OUT: &str = "correct these files, or skip them with --skip-bad";
/// The message about a file without a known extension.
const SUPPORTED: &str =
    ".org, .md, .txt, .mdx, .mdc and .jsonl are supported; pass the format of another file with --format";

/// Turn documents into objects
///
/// The formats are Org, Markdown, plain text, JSON Lines with objects or transcripts (also of Claude Code and Codex), and
/// the exports of ChatGPT and Claude.ai.
///
/// # Notes
/// Reads every .org, .md, .mdx, .mdc, .txt and .jsonl file below a folder, and conversations.json. Leaves out hidden names
/// (without --hidden), links, special files and other endings, and names them. A renamed or moved file is recognised by
/// its ids or its text. Ingesting a document again updates its changed objects and
/// removes the objects that the document no longer contains; unchanged input makes no commit. All changes are one
/// commit, after a snapshot in the ring of your lane (snap:0). After its answer, the verb computes the vectors of new texts;
/// Ctrl-C stops that, and later recalls go on. Ingested objects have the class document, so they are
/// untrusted and recall omits them. With --as-me, they have your own class, also if they were ingested before.
///
/// # Examples
/// ```text
/// treering ingest notes/ README.md
/// treering ingest --as-me --scope work journal.org
/// treering ingest notes/ --prune notes/old.org
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Ingest {
    /// The files to ingest, and folders of files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The format of the documents
    #[arg(long, default_value = "auto", value_parser = ["auto", "org", "markdown", "jsonl"])]
    pub(crate) format: String,
    /// Skip and report unreadable files; without this option, an unreadable file makes the whole call fail
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Also read hidden files and folders, whose names begin with a dot
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Vouch for the documents: their objects have the class of the writer and not the class document
    #[arg(long)]
    pub(crate) as_me: bool,
    /// The scope of the objects
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Remove this document, or the documents below this folder, if their files are missing; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) prune: Vec<PathBuf>,
}

impl Verb for Ingest {
    const ANSWERS: &'static [Form] = &[form::<Ingested>("")];

    fn run(self, context: &mut Context) -> Done {
        // `auto` yields `None`: the extension of each file then selects the format.
        let format = Format::from_name(&self.format);
        let rehearsing = self.writer(context);
        let session = rehearsing
            .session
            .clone()
            .filter(|_| !rehearsing.trust.is_trusted());
        let mut read = match read_documents(context, &self, format) {
            Ok(read) => read,
            Err(error) => return Err(tainting(context, rehearsing.trust, error)),
        };
        let unreadable = read.skipped.len();
        let mut options = IngestOptions {
            scope: self.scope.as_deref().map(Scope::new).transpose()?,
            gone: Vec::new(),
            absent: Vec::new(),
            // Only the person or the host raises what is stored already.
            is_vouched: self.as_me && !Origin::Host.is_above(rehearsing.trust),
        };
        let rehearse = |empty: &Memory| {
            // The store must note that the session read the documents, even if it refuses all of them.
            if session.is_some() {
                return Ok(());
            }
            let ingest = |documents: &[Document]| ingest::ingest(empty, documents, &options, &rehearsing);
            without_bad(&mut read, self.skip_bad, ingest).map(drop)
        };
        let memory = context.open_or_create(rehearse)?;
        memory.admit(rehearsing.trust, session.as_deref())?;
        let writer = self.writer(context);
        let order: Vec<Id> = read
            .documents
            .iter()
            .map(|document| document.id().clone())
            .collect();
        let mut seen = Seen::open(context, &memory, &options, &writer)?;
        let known = seen.take(&mut read.documents, &memory.view())?;
        let mut review = Review::of(context, &memory, &mut read.documents, &writer)?;
        options.absent = absent(&memory, &read, writer.trust)?;
        let meant = self.prune.iter().map(|path| known_path(path));
        let meant = meant.collect::<Result<Vec<_>>>()?;
        let is_meant = |id: &Id| meant.iter().any(|path| is_below(id, path));
        let (mut pruned, mut missing): (Vec<Id>, Vec<Id>) =
            missing(&memory, &read)?.into_iter().partition(is_meant);
        options.gone.clone_from(&pruned);
        let ingest = |documents: &[Document]| review.ingest(documents, &options, &writer);
        let written = without_bad(&mut read, self.skip_bad, ingest);
        let (change, committed) = written.map_err(|error| with_way_out(error, self.as_me))?;
        for (_, why) in &read.skipped[unreadable..] {
            context.note("bad_document", why.message());
        }
        seen.add(&memory, &read.documents, &review.withheld)?;
        let counts = known.iter().filter_map(Document::fingerprint);
        let of_known: u64 = counts.map(|(_, count)| count).sum();
        let mut roots: HashSet<&Id> = change.roots.iter().collect();
        roots.extend(known.iter().map(Document::id));
        let roots: Vec<Id> = order.iter().filter(|id| roots.contains(id)).cloned().collect();
        let is_renamed = |id: &Id| change.renamed.iter().any(|(former, _)| former == id);
        pruned.retain(|id| !is_renamed(id));
        missing.retain(|id| !is_renamed(id));
        let renamed = change.renamed.iter().map(|(from, to)| Renamed {
            from: from.to_string(),
            to: to.to_string(),
        });
        let answer = Ingested {
            tally: Tally {
                objects: memory.view().len(),
                created: change.created,
                updated: change.updated,
                unchanged: change.unchanged + of_known,
                removed: change.removed,
            },
            roots: texts(&roots),
            commit: committed.commit.clone(),
            documents: read.documents.len() + known.len(),
            missing: texts(&missing),
            pruned: texts(&pruned),
            renamed: renamed.collect(),
            skipped: read.skipped.iter().map(skipped_file).collect(),
            left_out: read.left_out.answer(),
            parts_skipped: parts_skipped(read.documents.iter().chain(&known)),
            flagged: review.flagged,
            redacted: review.redacted,
            withheld: review.withheld.clone(),
            held: review.held.clone(),
        };
        context.answer(&answer, |answer, context| {
            show_ingested(answer, context)?;
            if committed.changed {
                context.note_way_back("reverse the change with");
            }
            Ok(())
        })?;
        ingest_notes::note(context, &answer);
        review.note(context);
        context.embed_all_after(&memory);
        Ok(DONE)
    }
}

fn texts(ids: &[Id]) -> Vec<String> {
    ids.iter().map(Id::to_string).collect()
}

fn skipped_file((path, why): &(String, Error)) -> SkippedFile {
    SkippedFile {
        path: path.clone(),
        code: why.code().as_str(),
        message: why.message().to_owned(),
    }
}

impl Ingest {
    /// Returns the writer, whose class is at most `document` unless the user vouches for the documents.
    fn writer(&self, context: &Context) -> Writer {
        let mut writer = context.writer();
        if !self.as_me {
            writer.trust = Origin::least(writer.trust, Origin::Document);
        }
        writer
    }
}

/// Adds the ways out to the error for documents that would replace trusted objects.
fn with_way_out(error: Error, as_me: bool) -> Error {
    if error.code() != ErrorCode::LessTrusted || as_me {
        return error;
    }
    error.with_hint(
        "nothing was changed; if you vouch for the documents, ingest them with --as-me, or remove the objects first",
    )
}

fn show_ingested(answer: &Ingested, context: &mut Context) -> Result<()> {
    let tally = answer.tally;
    let head = context.head_line(&answer.commit);
    let documents = counted(answer.documents as u64, "document");
    let counts = tally_text(&tally);
    context.line(format_args!(
        "{documents}: {counts}, {} removed; {head}",
        tally.removed
    ))?;
    if !answer.missing.is_empty() {
        let note = format!(
            "the files of {} are missing; the documents may belong to another folder that uses this memory. The option --prune PATH removes the objects of a missing document, or of all missing documents below a folder",
            looked_for(&answer.missing)?
        );
        context.note("missing", note);
    }
    if !answer.pruned.is_empty() {
        let pruned = looked_for(&answer.pruned)?;
        let note = format!("removed, because their files are missing: {pruned}");
        context.note("pruned", note);
    }
    Ok(())
}

/// Writes the documents with `ingest`. If the memory refuses a document, skips that document if `skip_bad` is set.
/// Otherwise fails without a commit.
fn without_bad<T>(
    read: &mut Read,
    skip_bad: bool,
    mut ingest: impl FnMut(&[Document]) -> Result<T>,
) -> Result<T> {
    loop {
        let why = match ingest(&read.documents) {
            Err(why) if why.kind() == ErrorKind::InvalidInput => why,
            done => return done,
        };
        let is_named = |document: &Document| why.ids().iter().any(|id| id == document.id().as_str());
        match read.documents.iter().position(is_named) {
            Some(bad) if skip_bad => {
                let path = read.documents.remove(bad).id().to_string();
                read.skipped.push((path, why));
            }
            Some(_) if read.documents.len() > 1 => return Err(or_left_out(why)),
            _ => return Err(why),
        }
    }
}

/// Adds the hint about `--skip-bad` to the error of one document among several.
fn or_left_out(why: Error) -> Error {
    let hint = match why.hint() {
        None => LEAVE_OUT.to_owned(),
        Some(hint) => format!("{hint}, or skip the document with --skip-bad"),
    };
    why.with_hint(hint)
}

/// Formats documents for a sentence: their number, the current folder and their names.
fn looked_for(ids: &[String]) -> Result<String> {
    let folder = env::current_dir().map_err(|error| Error::io("reading the current folder", error))?;
    let what = counted(ids.len() as u64, "document");
    let more = match ids.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more, which --json names"),
    };
    let named = ids.get(..NAMED_MAX).unwrap_or(ids).join(", ");
    Ok(format!("{what} in {} ({named}{more})", shown(&folder)))
}

/// The input, which the verb reads before it opens the store.
#[derive(Default)]
struct Read {
    documents: Vec<Document>,
    /// The paths of the files that `--skip-bad` skipped, with the reasons.
    skipped: Vec<(String, Error)>,
    /// The folders of the command line, as document paths.
    folders: Vec<String>,
    /// The paths of all documents in these folders, including skipped documents.
    found: HashSet<String>,
    /// What these folders have beside documents.
    left_out: Found,
}

/// Returns the stored documents whose files are missing from the given folders. Document paths are relative to the
/// current folder, and the store does not record that folder. So a missing document may belong to another folder of the
/// same name.
fn missing(memory: &Memory, input: &Read) -> Result<Vec<Id>> {
    if input.folders.is_empty() {
        return Ok(Vec::new());
    }
    let mut documents = ingest::documents(&memory.view())?;
    documents.retain(|id| {
        let path = id.as_str();
        let is_below = input.folders.iter().any(|folder| is_below(id, folder));
        is_below && !input.found.contains(path) && is_gone(path)
    });
    Ok(documents)
}

/// Returns whether no file has this path.
fn is_gone(path: &str) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| absent.contains(&error.kind()))
}

/// Returns the stored documents whose files are missing anywhere, and which a writer of the class `trust` may move. A new
/// file may be one of them under another name. Without a new file, returns none.
fn absent(memory: &Memory, input: &Read, trust: Origin) -> Result<Vec<Id>> {
    let view = memory.view();
    let mut has_new = false;
    for document in &input.documents {
        has_new |= view.get(document.id())?.is_none();
    }
    let mut absent = Vec::new();
    for id in has_new
        .then(|| ingest::documents(&view))
        .transpose()?
        .unwrap_or_default()
    {
        if is_gone(id.as_str())
            && view
                .get(&id)?
                .is_some_and(|object| !object.origin().is_above(trust))
        {
            absent.push(id);
        }
    }
    Ok(absent)
}

/// Returns whether a document's path is `folder` or is below `folder`.
fn is_below(id: &Id, folder: &str) -> bool {
    let (path, folder) = (Path::new(id.as_str()), Path::new(folder));
    path.starts_with(folder) && path.is_absolute() == folder.is_absolute()
}

/// Returns the path that identifies a file or folder as a document in the store.
fn known_path(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::invalid(format!("the name of {} is not UTF-8", shown(path))).with_hint("rename the file")
    })?;
    let current = env::current_dir().map_err(|error| Error::io("reading the current folder", error))?;
    // If the name of the current folder is not UTF-8, the document path is the typed path.
    let known = match current.to_str() {
        Some(current) => ingest::document_path(current, text),
        None => text.to_owned(),
    };
    Ok(known.nfc().collect())
}

fn read_documents(context: &mut Context, verb: &Ingest, format: Option<Format>) -> Result<Read> {
    let mut read = Read::default();
    let files = files_of(context, verb, format, &mut read)?;
    let progress = context.output.progress();
    let mut seen = HashSet::new();
    for (done, file) in (0..).zip(&files) {
        if let Some(progress) = &progress {
            progress(Progress {
                doing: "reading",
                done,
                total: files.len() as u64,
            });
        }
        match read_document(file, format) {
            Ok(document) if seen.insert(document.id().clone()) => read.documents.push(document),
            Ok(_) => {}
            Err(why) => read.skipped.push((shown(file), why)),
        }
    }
    ingest::drop_copies(&mut read.documents);
    if read.skipped.len() == 1 && !verb.skip_bad {
        let (_, why) = read.skipped.remove(0);
        return Err(if files.len() == 1 { why } else { or_left_out(why) });
    }
    for (_, why) in &read.skipped {
        context.note("bad_document", why.message());
    }
    if read.skipped.is_empty() || verb.skip_bad {
        return Ok(read);
    }
    let (bad, all) = (read.skipped.len(), counted(files.len() as u64, "document"));
    let paths = read.skipped.into_iter().map(|(path, _)| path).collect();
    let text = format!("cannot read {bad} of {all}; nothing was written");
    Err(refused(ErrorCode::BadDocuments, text, LEAVE_OUT).with_names(paths))
}

/// Returns the files at the given paths, and the documents below given folders.
fn files_of(
    context: &mut Context,
    verb: &Ingest,
    format: Option<Format>,
    read: &mut Read,
) -> Result<Vec<PathBuf>> {
    let (mut files, mut left_out) = (Vec::new(), Found::default());
    for path in &verb.paths {
        let metadata = fs::metadata(path).map_err(|error| input_error(path, error))?;
        if metadata.is_dir() {
            let mut below = Vec::new();
            add_folder(path, verb.hidden, &mut below, &mut left_out)?;
            read.folders.push(known_path(path)?);
            let known = below.iter().filter_map(|file| known_path(file).ok());
            read.found.extend(known);
            below.retain(|file| format.is_none_or(|wanted| form_of(file) == Some(wanted)));
            if below.is_empty() {
                let note = format!("nothing to ingest in {}: {SUPPORTED}", shown(path));
                context.note("nothing_found", note);
            }
            files.extend(below);
        } else if format.is_some() || format_of(path).is_some() {
            files.push(path.clone());
        } else {
            // Fails first if the name is not UTF-8, because the error for an unknown format would hide that cause.
            known_path(path)?;
            let text = format!("{} has an unknown format", shown(path));
            return Err(refused(ErrorCode::UnsupportedDocument, text, SUPPORTED));
        }
    }
    left_out.note(context);
    read.left_out = left_out;
    Ok(files)
}

/// Adds the documents below a folder in the order of their names. Leaves out symlinks, special files and, without
/// `with_hidden`, hidden names.
fn add_folder(
    folder: &Path,
    with_hidden: bool,
    files: &mut Vec<PathBuf>,
    left_out: &mut Found,
) -> Result<()> {
    let mut hidden = Vec::new();
    let is_read = |entry: &DirEntry| {
        let name = entry.file_name();
        let is_never = is_never_read(name);
        if entry.depth() == 0 || !is_never && (with_hidden || !is_hidden(name)) {
            return true;
        }
        if !is_never && (entry.file_type().is_dir() || form_of(entry.path()).is_some()) {
            hidden.push(shown(entry.path()));
        }
        false
    };
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    for entry in entries.filter_entry(is_read) {
        let entry = entry.map_err(|error| {
            let at = shown(error.path().unwrap_or(folder));
            let cause = error.into_io_error().unwrap_or(io::ErrorKind::Other.into());
            Error::io(format_args!("reading the folder {at}"), cause)
        })?;
        let (kind, is_document) = (entry.file_type(), form_of(entry.path()).is_some());
        if kind.is_file() && is_document {
            left_out.add_read(entry.path());
            files.push(entry.into_path());
        } else if kind.is_file() {
            left_out.add_ending(entry.path());
        } else if kind.is_symlink() && (is_document || entry.path().is_dir()) {
            left_out.add(&shown(entry.path()), "a symbolic link");
        } else if is_document && !kind.is_dir() && !kind.is_file() {
            left_out.add(&shown(entry.path()), "a special file");
        }
    }
    for path in &hidden {
        left_out.add(path, "hidden");
    }
    Ok(())
}

fn read_document(file: &Path, format: Option<Format>) -> Result<Document> {
    let name = known_path(file)?;
    let mut bytes = Vec::new();
    let read = open_regular(file)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| input_error(file, error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let text = format!("{name} has more than {} MiB", FILE_BYTES_MAX >> 20);
        return Err(refused(
            ErrorCode::OverLimit,
            text,
            "split the file, or use put --jsonl",
        ));
    }
    Document::read(&name, &bytes, format.or_else(|| format_of(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_their_documents_in_name_order_without_hidden_files_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("b/deep")).unwrap();
        fs::create_dir_all(at(".hidden")).unwrap();
        for name in [
            "z.org",
            "a.md",
            "b/deep/x.jsonl",
            "b/c.org",
            "note.pdf",
            ".secret.org",
            ".hidden/y.org",
        ] {
            fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("z.org"), at("link.org")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("loop")).unwrap();
        fs::create_dir_all(at(".git")).unwrap();
        let walk = |with_hidden| {
            let (mut files, mut left_out) = (Vec::new(), Found::default());
            add_folder(folder.path(), with_hidden, &mut files, &mut left_out).unwrap();
            let below = |path: &Path| shown(path.strip_prefix(folder.path()).unwrap());
            let names: Vec<_> = files.iter().map(|file| below(file)).collect();
            let left_out: Vec<_> = left_out
                .answer()
                .paths
                .iter()
                .map(|path| below(Path::new(path)))
                .collect();
            (names, left_out)
        };
        let (names, left_out) = walk(false);
        assert_eq!(names, ["a.md", "b/c.org", "b/deep/x.jsonl", "z.org"]);
        let links = ["link.org (a symbolic link)", "loop (a symbolic link)"];
        assert_eq!(
            left_out,
            [&links[..], &[".hidden (hidden)", ".secret.org (hidden)"]].concat()
        );
        let (names, left_out) = walk(true);
        assert_eq!(names.len(), 6, "{names:?}");
        assert_eq!(left_out, links);
    }
}

//! `put`: stores one object from the command line, or many from JSON Lines.
//!
//! The verb reads lines one by one and commits them in batches. A stream of any length needs memory for one batch only.
//! The batches before a refused line stay committed.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLI-5: a batch that contains a refused line stores nothing; the message names the line.

use super::prelude::*;
use crate::answers::commits::{Put as PutAnswer, PutLines, Tally};
use std::collections::{BTreeSet, HashMap};

use super::attributes::attribute;
use super::progress::BatchProgress;
use super::tainting::tainting;
use crate::cli::input::{at_line, content_from_input};
use treering::inspect::engine::OriginRule;
use treering::inspect::ingest::json as lines;
use treering::inspect::ingest::json::ObjectLine;
use treering::inspect::object::object_class;
use treering::inspect::threads::in_parallel;
use treering::{Authorisation, Draft, NewObject, Position, Staged, Value, Writer};

/// The largest number of earlier versions that wait for the line of their object. A larger `--batch` raises the limit.
const PAST_LINES_MAX: usize = 10_000;

/// The number of objects that the note about newer versions names.
const NAMED_MAX: usize = 5;
/// The number of lines that all processors parse together.
const LINES_TOGETHER: usize = 4_096;
/// The number of bytes after which the lines that were read so far are parsed.
const BYTES_TOGETHER: usize = 8 << 20;

/// Store one object, or many
///
/// Replaces an existing object completely: fields that you omit are removed.
///
/// # Notes
/// With --jsonl, the answer counts the newer versions that lines replaced: those of objects that changed after FILE was
/// written, or whose line has an earlier version of this store. A line has no time of its own.
///
/// # Examples
/// ```text
/// treering put tea --kind fact --content 'Ada drinks green tea'
/// treering put task/7 --kind task --attr state=open --attr 'tags:=["a","b"]'
/// git log -1 | treering put last-commit --kind note --content -
/// treering export | treering --store copy put --jsonl - --batch 1000
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Put {
    /// The permanent id of the object
    #[arg(required_unless_present = "jsonl", value_name = "ID")]
    id: Option<String>,
    /// The kind of the object
    #[arg(long, required_unless_present = "jsonl", value_name = "KIND")]
    kind: Option<String>,
    /// An attribute: k=text, or k:=JSON (null sets no attribute); may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    attributes: Vec<String>,
    /// The scope [default: global]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// The parent of the object
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The key that orders the object among the children of its parent
    #[arg(long, value_name = "KEY")]
    position: Option<String>,
    /// The text of the object; - reads the text from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// Read objects from FILE, one JSON object on each line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "kind", "attributes", "scope", "parent", "position", "content"])]
    jsonl: Option<PathBuf>,
    /// Commit after every N lines [default: one commit for all]
    #[arg(long, value_name = "N", requires = "jsonl", conflicts_with = "id", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
}

impl Verb for Put {
    const ANSWERS: &'static [Form] = &[form::<PutAnswer>("one object"), form::<PutLines>("with --jsonl")];

    fn run(self, context: &mut Context) -> Done {
        match self.jsonl {
            Some(file) => {
                let done = put_lines(context, &file, self.batch.unwrap_or(u64::MAX));
                done.map_err(|error| tainting(context, context.writer().trust, error))
            }
            None => put_one(context, self),
        }
    }
}

fn put_one(context: &mut Context, verb: Put) -> Done {
    let object = object_of(context, verb)?;
    let id = object.id.clone();
    let rehearsing = context.writer();
    let write = |memory: &Memory, writer: &Writer| -> Result<_> {
        let mut draft = memory.draft(writer);
        draft.authorise(Authorisation::Replacements);
        let rule = OriginRule::AtMost(object_class(&object, None));
        let staged = match draft.stage(object.clone(), rule) {
            Ok(staged) => staged,
            Err(error) => {
                return Err(memory.abandon(draft, error));
            }
        };
        let digest = draft.digest(&id)?;
        let drafted = draft.counts();
        let committed = memory.commit(draft, "put")?;
        let staged = match memory.done_by_others(drafted, &committed)?.total() {
            0 => staged,
            _ => Staged::Unchanged,
        };
        let answer = PutAnswer {
            id: id.to_string(),
            digest,
            commit: committed.commit,
        };
        Ok((answer, staged, committed.changed))
    };
    let memory = context.open_or_create(|empty| write(empty, &rehearsing).map(drop))?;
    let (answer, staged, is_new) = write(&memory, &context.writer())?;
    let what = match staged {
        Staged::Created => "created",
        Staged::Updated => "updated",
        Staged::Unchanged => "unchanged:",
    };
    context.say_commit(&answer, &format!("{what} {}", answer.id), &answer.commit, is_new)
}

/// Formats the counts, for example `3 created, 1 updated, 0 unchanged`.
pub(super) fn tally_text(tally: &Tally) -> String {
    let (created, updated, unchanged) = (tally.created, tally.updated, tally.unchanged);
    format!("{created} created, {updated} updated, {unchanged} unchanged")
}

/// Returns the object that the command line describes.
fn object_of(context: &Context, verb: Put) -> Result<NewObject> {
    let (id, kind) = (verb.id.unwrap_or_default(), verb.kind.unwrap_or_default());
    let mut object = NewObject::new(Id::new(&id)?, Kind::new(&kind)?);
    if let Some(scope) = verb.scope {
        object.scope = Scope::new(&scope)?;
    }
    object.parent = verb.parent.as_deref().map(Id::new).transpose()?;
    object.position = verb.position.as_deref().map(Position::new).transpose()?;
    for text in &verb.attributes {
        let (name, value) = attribute(text)?;
        if value == Value::Null {
            object.attributes.remove(&name);
        } else if object.attributes.insert(name.clone(), value).is_some() {
            let text = format!("the attribute '{name}' occurs twice in --attr");
            return Err(usage_error(text, "pass each attribute once"));
        }
    }
    object.content = match verb.content.as_deref() {
        Some("-") => Some(content_from_input(context)?),
        other => other.map(str::to_owned),
    };
    Ok(object)
}

/// The totals of a stream of lines so far.
#[derive(Default)]
struct Sums {
    tally: Tally,
    last: Option<CommitInfo>,
    /// The objects whose newer versions were replaced.
    newer: BTreeSet<Id>,
}

fn put_lines(context: &mut Context, file: &Path, size: u64) -> Done {
    let written = written_at(file);
    let mut input = open_input(context, file)?;
    let mut reader = Lines::of(&mut *input);
    let rehearsing = context.writer();
    // The verb reads the first batch before it opens the store, so a refused batch creates no store.
    let first = Batch::read(&mut reader, size, Vec::new())?;
    let memory = context.open_or_create(|empty| {
        let staged = first.clone().stage(
            empty,
            &rehearsing,
            &Since {
                written,
                view: empty.view(),
            },
        )?;
        let checked = empty.check(&staged.draft);
        checked.map_err(|error| at_named_line(&staged.numbers, error))
    })?;
    let writer = context.writer();
    let since = Since {
        written,
        view: memory.refresh()?,
    };
    let mut sums = Sums::default();
    let mut progress = BatchProgress::default();
    let mut batch = first;
    let mut put_all = || loop {
        progress.begin(batch.lines.len(), reader.number(), batch.is_last);
        let left = std::mem::take(&mut batch).write(&memory, &writer, &since, &mut sums)?;
        let seq = sums.last.as_ref().map(|info| info.commit.seq);
        progress.end(seq, left.iter().map(|(number, _)| *number));
        let waiting = left.len();
        batch = Batch::read(&mut reader, size, left)?;
        if batch.lines.len() == waiting {
            return Ok(std::mem::take(&mut batch.lines));
        }
    };
    // `left` contains the earlier versions that no commit stored.
    let left = put_all().map_err(|error| progress.failed(context, error))?;
    if let [(number, _), ..] = left[..] {
        let what = counted(left.len() as u64, "earlier version");
        let rule = "a commit stores earlier versions only if it also changes an object";
        let note = format!("not stored: {what}, from line {number} on; {rule}");
        context.note("past", note);
    }
    let view = memory.view();
    let answer = PutLines {
        tally: Tally {
            objects: view.len(),
            ..sums.tally
        },
        newer_replaced: sums.newer.len() as u64,
        commit: view.commit(),
    };
    let (tally, head) = (answer.tally, context.head_line(&answer.commit));
    context.say(&answer, format_args!("{}; {head}", tally_text(&tally)))?;
    note_newer(context, &sums.newer);
    if tally.created + tally.updated > 0 {
        context.note_way_back("reverse the last batch with");
    }
    Ok(DONE)
}

/// Names the objects whose newer versions were replaced.
fn note_newer(context: &mut Context, newer: &BTreeSet<Id>) {
    if newer.is_empty() {
        return;
    }
    let named = newer.iter().take(NAMED_MAX).map(|id| one_line(id.as_str()));
    let named: Vec<_> = named.collect();
    let more = match newer.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = counted(newer.len() as u64, "newer version");
    let named = named.join(", ");
    let text = format!("the lines replaced {what}: {named}{more}; treering history ID shows what was there");
    context.output.note("newer_replaced", text);
}

/// When the file was written, and the state before the first line.
struct Since {
    written: Option<Time>,
    view: View,
}

/// Returns whether the version of `now` is newer than the staged one, and this run did not write it.
fn is_newer(memory: &Memory, draft: &Draft, since: &Since, now: &View, id: &Id) -> Result<bool> {
    let version = |view: &View| Ok::<_, Error>(view.get(id)?.map(|object| object.digest()));
    if version(&since.view)? != version(now)? {
        return Ok(false);
    }
    let updated = now.stamps(id)?.map(|(_, updated)| updated);
    if since.written.is_some() && updated > since.written {
        return Ok(true);
    }
    let digest = draft.digest(id)?;
    Ok(digest
        .map_or(Ok(None), |digest| memory.version(digest))?
        .is_some())
}

/// Returns the time at which a file was written last. Standard input has none.
fn written_at(file: &Path) -> Option<Time> {
    let written = file
        .metadata()
        .ok()
        .filter(std::fs::Metadata::is_file)?
        .modified();
    written.ok().map(Time::from)
}

/// A line with its number.
type Line = (u64, ObjectLine);

/// The lines of one commit.
#[derive(Clone, Default)]
struct Batch {
    lines: Vec<Line>,
    /// Whether the input ends with this batch.
    is_last: bool,
}

impl Batch {
    /// Reads lines until the batch, including the waiting lines, has `size` lines. A commit needs an object besides
    /// earlier versions, so the batch ends with an object.
    fn read(reader: &mut Lines<'_>, size: u64, waiting: Vec<Line>) -> Result<Self> {
        let most = usize::try_from(size).unwrap_or(usize::MAX);
        let mut past = waiting.len();
        let (mut read, mut is_last) = (waiting, false);
        while !is_last && (read.len() < most || read.last().is_some_and(|(_, line): &Line| line.past)) {
            let some = some_lines(reader, most.saturating_sub(read.len()).max(1));
            is_last = some.is_empty();
            let parse = |line: Result<(u64, String)>| {
                let (number, text) = line?;
                let parsed = lines::parse(&text).and_then(lines::object_from_json);
                parsed
                    .map(|line| (number, line))
                    .map_err(|error| at_line(number, error))
            };
            for line in in_parallel(some, &parse) {
                let (number, line) = line?;
                past += usize::from(line.past);
                if past > most.max(PAST_LINES_MAX) {
                    let text = format!(
                        "a batch must end with a line of a current object, but {past} lines of earlier versions precede that line"
                    );
                    let refused = refused(ErrorCode::OverLimit, text, "use a larger --batch");
                    return Err(at_line(number, refused));
                }
                read.push((number, line));
            }
        }
        Ok(Self { lines: read, is_last })
    }

    /// Stages the lines. An error names the line of the refused object.
    fn stage(self, memory: &Memory, writer: &Writer, since: &Since) -> Result<StagedBatch> {
        let mut draft = memory.draft(writer);
        draft.authorise(Authorisation::Replacements);
        let mut staged = StagedBatch {
            draft,
            tally: Tally::default(),
            numbers: Vec::new(),
            past: Vec::new(),
            newer: BTreeSet::new(),
        };
        match self.stage_in(memory, &mut staged, since) {
            Ok(()) => Ok(staged),
            Err(error) => Err(memory.abandon(staged.draft, error)),
        }
    }

    fn stage_in(self, memory: &Memory, staged: &mut StagedBatch, since: &Since) -> Result<()> {
        let now = memory.refresh()?;
        let StagedBatch {
            draft,
            tally,
            numbers,
            past,
            newer,
        } = staged;
        let mut lines = self.lines.into_iter().peekable();
        while let Some(is_past) = lines.peek().map(|(_, line)| line.past) {
            let run = std::iter::from_fn(|| lines.next_if(|(_, line)| line.past == is_past));
            if is_past {
                for (number, line) in run {
                    let origin = line.origin.unwrap_or(Origin::Import);
                    let kept = draft.put_past(&line.object, origin);
                    past.push((kept.map_err(|error| at_line(number, error))?, (number, line)));
                }
                continue;
            }
            let object = |(number, line): Line| {
                let rule = OriginRule::AtMost(object_class(&line.object, line.origin));
                ((line.object.id.clone(), number), (line.object, rule))
            };
            let (named, objects): (Vec<_>, Vec<_>) = run.map(object).unzip();
            let mut updated = Vec::new();
            for (stored, (id, number)) in draft.stage_all(objects).zip(&named) {
                match stored.map_err(|error| at_line(*number, error))? {
                    Staged::Created => tally.created += 1,
                    Staged::Updated => {
                        tally.updated += 1;
                        updated.push(id);
                    }
                    Staged::Unchanged => tally.unchanged += 1,
                }
            }
            for id in updated {
                if is_newer(memory, draft, since, &now, id)? {
                    newer.insert(id.clone());
                }
            }
            numbers.extend(named);
        }
        Ok(())
    }

    /// Commits the lines as one commit. An error names the line of the refused object. If the commit changes nothing,
    /// returns the lines of the earlier versions that are not in history yet.
    fn write(self, memory: &Memory, writer: &Writer, since: &Since, sums: &mut Sums) -> Result<Vec<Line>> {
        let staged = self.stage(memory, writer, since)?;
        let drafted = staged.draft.counts();
        let committed = memory.commit(staged.draft, "put");
        let committed = committed.map_err(|error| at_named_line(&staged.numbers, error))?;
        let (tally, others) = (staged.tally, memory.done_by_others(drafted, &committed)?);
        sums.tally.created += tally.created.saturating_sub(others.added);
        sums.tally.updated += tally.updated.saturating_sub(others.changed);
        sums.tally.unchanged += tally.unchanged + others.added + others.changed;
        let mut left = Vec::new();
        if committed.changed {
            sums.newer.extend(staged.newer);
            sums.last = Some(committed.commit);
        } else {
            for (digest, line) in staged.past {
                if memory.version(digest)?.is_none() {
                    left.push(line);
                }
            }
        }
        Ok(left)
    }
}

/// The staged lines of one commit.
struct StagedBatch {
    draft: Draft,
    tally: Tally,
    /// The ids with the numbers of their lines.
    numbers: Vec<(Id, u64)>,
    /// The lines of earlier versions, with their digests.
    past: Vec<(ObjectDigest, Line)>,
    /// The objects whose present version is newer than their line.
    newer: BTreeSet<Id>,
}

/// Adds the number of a line to an error of a commit: the first of the last lines of each id that the error names.
fn at_named_line(numbers: &[(Id, u64)], error: Error) -> Error {
    let last: HashMap<&str, u64> = numbers
        .iter()
        .map(|(id, number)| (id.as_str(), *number))
        .collect();
    let named = error.ids().iter().filter_map(|id| last.get(id.as_str()));
    match named.min().copied() {
        Some(number) => at_line(number, error),
        None => error,
    }
}

/// Reads at most `most` lines, as many as are parsed at the same time. An error is the last item.
fn some_lines(reader: &mut Lines<'_>, most: usize) -> Vec<Result<(u64, String)>> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while lines.len() < most.min(LINES_TOGETHER) && bytes < BYTES_TOGETHER {
        let line = reader.next_line();
        let Some(line) = line
            .map(|line| line.map(|(number, text)| (number, text.to_owned())))
            .transpose()
        else {
            break;
        };
        bytes = line.as_ref().map_or(usize::MAX, |(_, text)| bytes + text.len());
        lines.push(line);
    }
    lines
}

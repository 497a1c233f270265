//! `remember`: a text that recall finds again, or many from JSON Lines.
//!
//! # Layer
//! L10, part of cli.

use crate::agent::OnDuplicate;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::{Args, ValueEnum};
use std::cell::RefCell;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::note::{note_held, scope};
use crate::agent::{
    Agent, Alike, Citation, LinesOptions, LinesRemembered, NewItem, RefusedLine, RememberOptions, Remembered,
    Sensitivity, Status,
};
use crate::cli::agent_context::DISABLED;
use crate::cli::commands::closing::head_line;
use crate::cli::commands::closing::note_undo;
use crate::cli::commands::input::{Lines, content_from_input, open_input};
use crate::cli::commands::progress::{BatchProgress, REFUSED_SHOWN};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{counted, cut};
use crate::cli::output::{Meaning, printable};
use crate::cli::time;
use crate::digest::ObjectDigest;
use crate::engine::{Committed, Memory};
use crate::error::{Error, Result};
use crate::object::{Id, Kind, Time};
use crate::recall::MERGE;

/// Characters of another item that people are shown.
const SHOWN_CHARS: usize = 300;

/// Remember a text, or many
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "The answer names items of the same scope and kind that say the same or contradict it. Secrets are stored as markers; \
                  what the scan holds back is kept under rejected/ for a person.\n\n\
                  Examples:\n  treering remember 'Ada drinks green tea' --tag tea --speaker Ada\n  \
                  git log -1 | treering remember - --kind note --ttl 30d\n  \
                  treering remember 'The office moved to Bergen' --supersedes facts/office --cite mail.txt:12\n  \
                  treering remember --jsonl memories.jsonl --scope project"
)]
pub(crate) struct Remember {
    /// The text; - reads it from standard input
    #[arg(
        value_name = "TEXT",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    pub(crate) text: Option<String>,
    /// Its name [default: one is made]
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) id: Option<String>,
    /// What sort of item: fact, decision, note, block, or any other word
    #[arg(long, value_name = "KIND", default_value = "fact")]
    pub(crate) kind: String,
    /// Where it belongs: global, project, session, agent, project:NAME, or any other text [default: the project of this folder, else global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// A word to find it by; may be repeated
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "jsonl")]
    pub(crate) tags: Vec<String>,
    /// Who said it
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// Who or what it is about
    #[arg(long, visible_alias = "about", value_name = "WHAT", conflicts_with = "jsonl")]
    pub(crate) subject: Option<String>,
    /// Its place in the session
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        conflicts_with = "jsonl"
    )]
    pub(crate) order: Option<i64>,
    /// When it happened: a time, a date, or how long ago (2h, 3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// How long it is shown: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = time::span, conflicts_with_all = ["expires", "jsonl"])]
    pub(crate) ttl: Option<Duration>,
    /// Until when it is shown
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) expires: Option<String>,
    /// Where it is written; may be repeated
    #[arg(long = "cite", value_name = "FILE[:LINE[:NOTE]]", conflicts_with = "jsonl")]
    pub(crate) citations: Vec<String>,
    /// How sure it is, 0 to 1
    #[arg(long, value_name = "P", conflicts_with = "jsonl")]
    pub(crate) confidence: Option<f64>,
    /// Who may see it: none, pii, internal or credentials
    #[arg(long, value_name = "LEVEL", conflicts_with = "jsonl")]
    pub(crate) sensitivity: Option<String>,
    /// Never shorten it, and never forget it by age
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) pin: bool,
    /// An item that it takes the place of; may be repeated
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) supersedes: Vec<String>,
    /// What to do if another item surely says the same
    #[arg(long, value_name = "CHOICE", default_value = "warn", conflicts_with = "jsonl")]
    pub(crate) on_duplicate: DuplicateChoice,
    /// Makes the id: the same key again stores nothing new
    #[arg(long, value_name = "KEY", conflicts_with_all = ["id", "jsonl"])]
    pub(crate) key: Option<String>,
    /// Store it only if the id has this version
    #[arg(long, value_name = "DIGEST", requires = "id", conflicts_with = "jsonl")]
    pub(crate) expected: Option<String>,
    /// Read items from FILE, one a line: {"id"?, "text", "kind"?, "scope"?, "tags"?, ...}; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines
    #[arg(long, value_name = "N", requires = "jsonl", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: u64,
}

impl Verb for Remember {
    const NAME: &'static str = "remember";

    fn run(self, context: &mut Context) -> Done {
        remember(context, self)
    }
}

/// What to do with an item that surely says what another one says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicateChoice {
    /// Store it, and say so
    Warn,
    /// Store nothing
    Skip,
    /// Put what it adds into the other one
    Merge,
    /// Store it in the other one's place
    Supersede,
}

impl From<DuplicateChoice> for OnDuplicate {
    fn from(choice: DuplicateChoice) -> Self {
        match choice {
            DuplicateChoice::Warn => Self::Warn,
            DuplicateChoice::Skip => Self::Skip,
            DuplicateChoice::Merge => Self::Merge,
            DuplicateChoice::Supersede => Self::Supersede,
        }
    }
}

fn remember(context: &mut Context, verb: Remember) -> Done {
    match &verb.jsonl {
        Some(file) => remember_lines(context, &verb, file),
        None => remember_one(context, verb),
    }
}

fn remember_one(context: &mut Context, mut verb: Remember) -> Done {
    if verb.text.as_deref() == Some("-") {
        let text = content_from_input(context)?;
        // What a pipe ends with is no part of what it says.
        verb.text = Some(text.trim_end().to_owned());
    }
    let scope = scope(context, verb.scope.as_deref())?;
    let options = RememberOptions {
        on_duplicate: verb.on_duplicate.into(),
        key: verb.key.clone(),
        ..RememberOptions::default()
    };
    let (writer, lane) = (context.writer(), context.lane_options().session);
    let source = context.options.commit.source.clone();
    let remember = |agent: &Agent| -> Result<Remembered> {
        let mut item = item_of(&verb, agent.memory().view().now())?;
        item.scope = scope.clone();
        item.session.clone_from(&lane);
        item.source.clone_from(&source);
        let mut options = options.clone();
        options.expected = expected(agent.memory(), &verb)?;
        agent.remember(item, &options, &writer)
    };
    let agent = context.agent_to_create(|empty| remember(empty).map(drop))?;
    let answer = remember(&agent)?;
    let now = agent.memory().view().now();
    let is_over = item_of(&verb, now)?.expires.is_some_and(|end| end <= now);
    if context.output.is_json() {
        context.output.document(&document(&answer))?;
    } else {
        print(context, agent.memory(), &answer)?;
    }
    if let Some(held) = &answer.held_as {
        note_held(context, &agent, held);
    }
    if is_over {
        let text = "its end has passed, so nothing shows it; --ttl takes a length such as 30d";
        context.output.note("expired", text);
    }
    Ok(DONE)
}

/// The item that the command line describes.
fn item_of(verb: &Remember, now: Time) -> Result<NewItem> {
    let mut item = NewItem::new(verb.text.clone().unwrap_or_default());
    if item.text.trim().is_empty() {
        return Err(Error::invalid("there is no text to remember"));
    }
    item.id = verb.id.as_deref().map(Id::new).transpose()?;
    item.kind = Kind::new(&verb.kind)?;
    item.tags.clone_from(&verb.tags);
    item.speaker.clone_from(&verb.speaker);
    item.subject.clone_from(&verb.subject);
    item.order = verb.order;
    let moment = |text: &Option<String>| text.as_deref().map(|text| time::moment(text, now)).transpose();
    item.time = moment(&verb.time)?;
    item.expires = moment(&verb.expires)?;
    if let Some(ttl) = verb.ttl {
        // What lasts for ever has no end.
        item.expires = i64::try_from(ttl.as_micros())
            .ok()
            .map(|micros| now.plus_micros(micros));
    }
    let citations = verb.citations.iter().map(|text| Citation::from_text(text));
    item.citations = citations.collect::<Result<_>>()?;
    item.confidence = verb.confidence;
    item.sensitivity = verb
        .sensitivity
        .as_deref()
        .map(Sensitivity::from_text)
        .transpose()?;
    item.is_pinned = verb.pin;
    item.supersedes = verb
        .supersedes
        .iter()
        .map(|id| Id::new(id))
        .collect::<Result<_>>()?;
    Ok(item)
}

/// The version that was typed, which may be the beginning of its digest.
fn expected(memory: &Memory, verb: &Remember) -> Result<Option<ObjectDigest>> {
    let (Some(typed), Some(id)) = (&verb.expected, &verb.id) else {
        return Ok(None);
    };
    if let Ok(digest) = typed.parse() {
        return Ok(Some(digest));
    }
    let is_hex = typed
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if typed.len() < 8 || !is_hex {
        return Err(Error::invalid(format!("'{typed}' is no digest"))
            .with_hint("a digest is 64 hexadecimal digits, or the first 8 or more of them"));
    }
    let found = memory.view().get(&Id::new(id)?)?.map(|object| object.digest());
    found
        .filter(|digest| digest.to_hex().starts_with(typed.as_str()))
        .map(Some)
        .ok_or_else(|| {
            Error::conflict(format!("'{id}' does not have the version {typed}"))
                .with_ids(vec![id.clone()])
                .with_hint("read it again and repeat the change")
        })
}

fn document(answer: &Remembered) -> Json {
    let alike = |one: &Alike| {
        json!({
            "id": one.id.as_str(),
            // Six digits: the rest is noise of a number of 32 bits.
            "similarity": (f64::from(one.similarity) * 1e6).round() / 1e6,
            "text": one.text,
        })
    };
    let conflict = |one: &Alike| {
        let mut conflict = alike(one);
        conflict["new_text"] = answer.text.as_str().into();
        conflict
    };
    let commit = (answer.status != Status::Disabled).then_some(&answer.commit);
    json!({
        "id": answer.id.as_str(),
        "digest": answer.digest.map(ObjectDigest::to_hex),
        "commit": commit.map(|info| info.digest.to_hex()),
        "seq": commit.map(|info| info.commit.seq),
        "root": commit.map(|info| info.commit.root.to_hex()),
        "status": answer.status.name(),
        "disabled": answer.status == Status::Disabled,
        "scope": answer.scope.as_str(),
        "duplicates": answer.duplicates.iter().map(alike).collect::<Vec<_>>(),
        "conflicts": answer.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        "verdict": answer.verdict.name(),
        "rules": answer.rules,
        "redacted": answer.is_redacted,
        "held_as": answer.held_as,
    })
}

fn print(context: &mut Context, memory: &Memory, answer: &Remembered) -> Result<(), Failure> {
    let id = context.output.paint(Meaning::Name, printable(answer.id.as_str()));
    let head = head_line(&context.output, memory, &answer.commit);
    let scope = printable(answer.scope.as_str());
    let line = match answer.status {
        Status::Created => format!("remembered {id} in {scope}; {head}"),
        Status::Updated => format!("updated {id} in {scope}; {head}"),
        Status::Unchanged => format!("unchanged: {id} says this already"),
        Status::Duplicate => format!("not stored: {id} says this already"),
        Status::Merged => format!("merged into {id} in {scope}; {head}"),
        Status::Superseded => format!("remembered {id} in {scope}, in place of others; {head}"),
        Status::Quarantined => "not stored".to_owned(),
        Status::Disabled => DISABLED.to_owned(),
    };
    context.output.line(line)?;
    let is_stored = answer.status != Status::Duplicate;
    for one in answer.duplicates.iter().filter(|_| is_stored) {
        let is_sure = one.similarity >= MERGE;
        let what = if is_sure { "says the same" } else { "is like it" };
        let label = format!("{what} ({:.2})", one.similarity);
        context.output.labelled(Meaning::Changed, &label, &shown(one))?;
    }
    for one in &answer.conflicts {
        let label = format!("contradicts it ({:.2})", one.similarity);
        context.output.labelled(Meaning::Bad, &label, &shown(one))?;
    }
    if answer.is_redacted {
        context
            .output
            .note("redacted", "secrets in it were stored as markers");
    } else if !answer.rules.is_empty() && answer.status != Status::Quarantined {
        let text = format!("the scan found {}", answer.rules.join(", "));
        context.output.note("flagged", text);
    }
    let is_written = matches!(
        answer.status,
        Status::Created | Status::Updated | Status::Merged | Status::Superseded
    );
    if is_written {
        let changed = Committed {
            commit: answer.commit.clone(),
            changed: true,
        };
        note_undo(context, &changed);
    }
    Ok(())
}

/// Another item on a line: its id and the beginning of what it says, safe for a terminal.
fn shown(one: &Alike) -> String {
    let words = one.text.split_whitespace();
    let text = words.take(SHOWN_CHARS).collect::<Vec<_>>().join(" ");
    printable(&format!("{}: {}", one.id, cut(&text, SHOWN_CHARS)))
}

fn remember_lines(context: &mut Context, verb: &Remember, file: &Path) -> Done {
    let options = LinesOptions {
        place: context.place(),
        scope: scope(context, verb.scope.as_deref())?,
        kind: Kind::new(&verb.kind)?,
        session: context.lane_options().session,
        source: context.options.commit.source.clone(),
        batch_lines: usize::try_from(verb.batch).unwrap_or(usize::MAX),
    };
    let writer = context.writer();
    let mut input = open_input(context, file)?;
    let agent = context.agent_to_create(|_| Ok(()))?;
    let (mut reader, progress) = (Lines::of(&mut *input), RefCell::new(BatchProgress::new()));
    let lines = std::iter::from_fn(|| {
        let read = reader.next_bytes();
        progress.borrow_mut().follow(&read);
        read.map(|line| line.map(|(number, bytes)| (number, bytes.to_vec())))
            .transpose()
    });
    let answer = agent.follow_lines(lines, &options, &writer, |batch| {
        let mut progress = progress.borrow_mut();
        let Some(info) = batch.commit else {
            let refused = batch.refused.iter();
            return progress.stage(batch.flagged, refused.map(|one| (one.line, why(one))));
        };
        progress.hold(batch.held);
        progress.end(Some(info.commit.seq), std::iter::empty());
    });
    let progress = progress.into_inner();
    let answer = answer.map_err(|error| progress.failed(context, error, (file, &mut reader)))?;
    if context.output.is_json() {
        context.output.document(&lines_document(&answer))?;
    } else {
        print_lines(context, agent.memory(), &answer)?;
    }
    for held in &answer.held {
        note_held(context, &agent, held);
    }
    Ok(DONE)
}

/// Why a line was not stored.
fn why(one: &RefusedLine) -> String {
    format!("{}: {}", one.verdict, one.reason)
}

fn lines_document(answer: &LinesRemembered) -> Json {
    let refused = answer
        .refused
        .iter()
        .map(|one| json!({ "line": one.line, "id": one.id, "verdict": one.verdict, "reason": one.reason }));
    let commit = (!answer.is_disabled).then_some(&answer.commit);
    json!({
        "stored": answer.stored,
        "unchanged": answer.unchanged,
        "duplicates": answer.duplicates,
        "refused": refused.collect::<Vec<_>>(),
        "flagged": answer.flagged,
        "unknown": answer.unknown,
        "commit": commit.map(|info| info.digest.to_hex()),
        "seq": commit.map(|info| info.commit.seq),
        "root": commit.map(|info| info.commit.root.to_hex()),
        "disabled": answer.is_disabled,
    })
}

fn print_lines(context: &mut Context, memory: &Memory, answer: &LinesRemembered) -> Result<(), Failure> {
    if answer.is_disabled {
        return context.output.line(DISABLED);
    }
    let head = head_line(&context.output, memory, &answer.commit);
    let refused = answer.refused.len() as u64;
    context.output.line(format_args!(
        "{} stored ({} flagged), {} unchanged, {refused} not stored; {head}",
        answer.stored, answer.flagged, answer.unchanged
    ))?;
    if !answer.unknown.is_empty() {
        let names: Vec<&str> = answer.unknown.iter().map(String::as_str).collect();
        let text = format!("items have no field {}; stored as attributes", names.join(", "));
        context.output.note("unknown_fields", text);
    }
    for one in answer.refused.iter().take(REFUSED_SHOWN) {
        let label = format!("line {}", one.line);
        context.output.labelled(Meaning::Bad, &label, &why(one))?;
    }
    let more = refused.saturating_sub(REFUSED_SHOWN as u64);
    if more > 0 {
        context.output.line(format_args!(
            "and {} more; --json has them all",
            counted(more, "line")
        ))?;
    }
    Ok(())
}

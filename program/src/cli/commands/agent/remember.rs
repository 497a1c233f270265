//! `remember`: stores a text for `recall`, or many texts from JSON Lines.
//!
//! # Layer
//! Layer 10, part of cli.

use std::cell::RefCell;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::answers::agent::items::ItemsRemembered;
use crate::cli::agent_context::{DISABLED, text_for_people};
use crate::cli::commands::prelude::*;
use crate::cli::commands::progress::{BatchProgress, REFUSED_SHOWN};
use crate::cli::commands::tainting::tainting;
use crate::cli::embedding::OF_ONE;
use crate::cli::input::content_from_input;
use treering::agent::{
    Agent, Alike, Caller, Citation, ItemFields, LinesOptions, NewItem, OnDuplicate, RefusedLine,
    RememberOptions, Remembered, Status,
};
use treering::inspect::agent::trust::held_back;
use treering::inspect::agent::{expected_version, follow_lines};
use treering_text::recall::MERGE;

/// The number of characters of another item in the output for people.
const SHOWN_CHARS: usize = 300;

/// Remember a text, or many
///
/// # Notes
/// The answer lists similar and contradicting items of the same scope and kind. A stored text contains markers instead
/// of secrets. A quarantined text is stored under rejected/ until a person reviews it, and the exit code is 4.
///
/// # Examples
/// ```text
/// treering remember 'Ada drinks green tea' --tag tea --speaker Ada
/// git log -1 | treering remember - --kind note --ttl 30d
/// treering remember 'The office moved to Bergen' --supersedes facts/office --cite mail.txt:12
/// treering remember --jsonl memories.jsonl --scope project
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Remember {
    /// The text to remember, quoted or as separate words; - reads the text from standard input
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    pub(crate) text: Vec<String>,
    /// The id of the item [default: a generated id]
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) id: Option<String>,
    /// The kind of item: fact, decision, note, block, or any other word
    #[arg(long, value_name = "KIND", default_value = "fact")]
    pub(crate) kind: String,
    /// The scope: global, project, session, agent, project:NAME, or any other text [default: the project of this
    /// folder, else global]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// A tag of the item; may be repeated
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "jsonl")]
    pub(crate) tags: Vec<String>,
    /// The speaker of the text
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// The person or topic that the item is about
    #[arg(long, visible_alias = "about", value_name = "WHAT", conflicts_with = "jsonl")]
    pub(crate) subject: Option<String>,
    /// The position of the item in the session
    #[arg(long, allow_negative_numbers = true, conflicts_with = "jsonl")]
    pub(crate) order: Option<i64>,
    /// The time of the event that the text describes: a time, a date, or an age (2h, 3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// The duration until the item expires: 12h, 30d
    #[arg(long, value_name = "DURATION", value_parser = time::span, conflicts_with_all = ["expires", "jsonl"])]
    pub(crate) ttl: Option<Duration>,
    /// The time when the item expires
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) expires: Option<String>,
    /// A document or page that the item cites; may be repeated
    #[arg(long = "cite", value_name = "FILE[:LINE[:NOTE]]", conflicts_with = "jsonl")]
    pub(crate) citations: Vec<String>,
    /// The confidence that the text is true, 0 to 1
    #[arg(long, value_name = "P", conflicts_with = "jsonl")]
    pub(crate) confidence: Option<f64>,
    /// The sensitivity of the text: none, pii, internal or credentials
    #[arg(long, value_name = "LEVEL", conflicts_with = "jsonl")]
    pub(crate) sensitivity: Option<String>,
    /// Never shorten the item, and never forget it because of its age
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) pin: bool,
    /// An item that the new item supersedes; may be repeated
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) supersedes: Vec<String>,
    /// The action if another item has the same meaning
    #[arg(long, value_name = "CHOICE", default_value = "warn", conflicts_with = "jsonl", value_parser = on_duplicate())]
    pub(crate) on_duplicate: OnDuplicate,
    /// A key that determines the id; a repeated call with the same key stores nothing new
    #[arg(long, value_name = "KEY", conflicts_with_all = ["id", "jsonl"])]
    pub(crate) key: Option<String>,
    /// Store the text only if the current version of the id has this digest
    #[arg(long, value_name = "DIGEST", requires = "id", conflicts_with = "jsonl")]
    pub(crate) expected: Option<String>,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
    /// Read items from FILE, one JSON object on each line: {"id"?, "text", "kind"?, "scope"?, "tags"?, ...}; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines
    #[arg(long, value_name = "N", requires = "jsonl", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) batch: u64,
}

/// Returns the parser of `--on-duplicate`, with the help of each choice.
fn on_duplicate() -> impl TypedValueParser<Value = OnDuplicate> {
    let help = |choice| match choice {
        OnDuplicate::Warn => "Store the new item, and report the duplicate",
        OnDuplicate::Skip => "Do not store the new item",
        OnDuplicate::Merge => "Merge the new item into the existing item",
        OnDuplicate::Supersede => "Store the new item, and supersede the existing item",
    };
    let choices = OnDuplicate::ALL.map(|choice| PossibleValue::new(choice.name()).help(help(choice)));
    PossibleValuesParser::new(choices).try_map(|name| OnDuplicate::from_name(&name).ok_or("unknown choice"))
}

impl Verb for Remember {
    const ANSWERS: &'static [Form] = &[
        form::<Remembered>("one item"),
        form::<ItemsRemembered>("with --jsonl"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match &self.jsonl {
            // A line that cannot be read may be of the class of the writer.
            Some(file) => remember_lines(context, &self, file)
                .map_err(|error| tainting(context, context.writer().trust, error)),
            None => remember_one(context, self),
        }
    }
}

fn remember_one(context: &mut Context, mut verb: Remember) -> Done {
    if verb.text == ["-"] {
        let text = content_from_input(context)?;
        // The blanks and line breaks at the end of piped input are not part of the text.
        verb.text = vec![text.trim_end().to_owned()];
    }
    let (writer, caller) = (context.writer(), context.caller());
    let remember = |agent: &Agent| -> Result<(Remembered, Option<Time>)> {
        let item = item_of(&verb, &caller, agent.memory().view().now())?;
        let expires = item.expires;
        let named = verb.id.as_deref().zip(verb.expected.as_deref());
        let expected = named.map(|(id, typed)| expected_version(agent.memory(), &Id::new(id)?, typed));
        let options = RememberOptions {
            on_duplicate: verb.on_duplicate,
            key: verb.key.clone(),
            expected: expected.transpose()?,
            with_untrusted: verb.shown.with_untrusted,
            ..RememberOptions::default()
        };
        Ok((agent.remember(item, &options, &writer)?, expires))
    };
    let agent = context.agent_to_create(|empty| remember(empty).map(drop))?;
    if verb.on_duplicate != OnDuplicate::Warn {
        // The comparison needs the model, so its weights are read meanwhile.
        agent.prepare_for(&verb.text.join(" "));
    }
    let (answer, expires) = remember(&agent)?;
    let is_over = expires.is_some_and(|end| end <= agent.memory().view().now());
    context.answer(&answer, show_item_remembered)?;
    // The indexes are derived, so a failed save only makes the next run slower.
    drop(agent.keep_indexes());
    context.embed_after(&agent, Some(OF_ONE));
    if let Some(held) = &answer.held_as {
        return Err(held_back(&agent, held));
    }
    if is_over {
        let text = "the item has already expired, so no answer contains it; pass a future time with --expires, or a duration such as 30d with --ttl";
        context.note("expired", text);
    }
    note_class(context, &agent, &answer)?;
    Ok(DONE)
}

/// Says that the item is untrusted although its writer is trusted.
fn note_class(context: &mut Context, agent: &Agent, answer: &Remembered) -> Result<()> {
    let stored = agent.memory().view().get(&answer.id)?;
    let class = stored.map(|object| object.origin());
    let class = class.filter(|class| !class.is_trusted() && context.writer().trust.is_trusted());
    if let Some(class) = class {
        let why = "because of its speaker, session or sources";
        let text =
            format!("the item has the class {class} {why}; recall shows it only with --with-untrusted");
        context.note("untrusted", text);
    }
    Ok(())
}

/// Returns the item that the command line describes.
fn item_of(verb: &Remember, caller: &Caller, now: Time) -> Result<NewItem> {
    let text = verb.text.join(" ");
    if text.trim().is_empty() {
        return Err(Error::invalid("the text to remember is empty"));
    }
    let moment = |option: &str, text: &Option<String>| {
        time::given(text.as_deref(), now).map_err(|error| error.context(option))
    };
    let citations = verb.citations.iter().map(|text| Citation::from_text(text));
    let fields = ItemFields {
        text,
        id: verb.id.clone(),
        kind: Some(verb.kind.clone()),
        scope: verb.scope.clone(),
        tags: verb.tags.clone(),
        speaker: verb.speaker.clone(),
        subject: verb.subject.clone(),
        session: caller.writer.session.clone(),
        order: verb.order,
        time: moment("--time", &verb.time)?,
        expires: match verb.ttl {
            // With `--ttl forever`, the item never expires.
            Some(ttl) => time::after(ttl, now),
            None => moment("--expires", &verb.expires)?,
        },
        citations: citations.collect::<Result<_>>()?,
        confidence: verb.confidence,
        sensitivity: verb.sensitivity.clone(),
        pinned: verb.pin,
        supersedes: verb.supersedes.clone(),
        ..ItemFields::default()
    };
    fields.into_item(caller)
}

fn show_item_remembered(answer: &Remembered, context: &mut Context) -> Result<()> {
    let id = context.output.paint(Meaning::Name, printable(answer.id.as_str()));
    let head = context.head_line(&answer.commit);
    let scope = printable(answer.scope.as_str());
    let line = match answer.status {
        Status::Created => format!("remembered {id} in {scope}; {head}"),
        Status::Updated => format!("updated {id} in {scope}; {head}"),
        Status::Unchanged => format!("unchanged: {id} already contains this text"),
        Status::Duplicate => format!("not stored, because {id} has the same meaning"),
        Status::Merged => format!("merged into {id} in {scope}; {head}"),
        Status::Superseded => format!("remembered {id} in {scope}, superseding other items; {head}"),
        Status::Quarantined => "not stored".to_owned(),
        Status::Disabled => DISABLED.to_owned(),
    };
    context.line(line)?;
    let is_stored = answer.status != Status::Duplicate;
    for one in answer.duplicates.iter().filter(|_| is_stored) {
        let is_sure = one.similarity >= MERGE;
        let what = if is_sure { "means the same" } else { "is similar" };
        let label = format!("{what} ({:.2})", one.similarity);
        context.output.labelled(Meaning::Changed, &label, &shown(one))?;
    }
    for item in &answer.conflicts {
        let label = format!("contradicts the new text ({:.2})", item.similarity);
        context.output.labelled(Meaning::Bad, &label, &shown(item))?;
    }
    if answer.is_redacted {
        context.note("redacted", "secrets in the text were replaced by markers");
    } else if !answer.rules.is_empty() && answer.status != Status::Quarantined {
        let rules = answer.rules.join(", ");
        context.note(
            "flagged",
            format!("the text is stored with flags; the scan found {rules}"),
        );
    }
    let is_written = matches!(
        answer.status,
        Status::Created | Status::Updated | Status::Merged | Status::Superseded
    );
    if is_written {
        context.note_way_back("reverse the change with");
    }
    Ok(())
}

/// Formats a similar item as one line: its id and the beginning of its text, safe for a terminal.
fn shown(one: &Alike) -> String {
    let text = text_for_people(&one.shown);
    let words = text.split_whitespace();
    let text = words.take(SHOWN_CHARS).collect::<Vec<_>>().join(" ");
    let id_and_class = match one.shown.trust {
        trust if trust.is_trusted() => one.id.to_string(),
        trust => format!("{} ({trust}, not trusted)", one.id),
    };
    printable(&format!("{id_and_class}: {}", cut(&text, SHOWN_CHARS)))
}

fn remember_lines(context: &mut Context, verb: &Remember, file: &Path) -> Done {
    let caller = context.caller();
    let options = LinesOptions {
        place: caller.place(),
        scope: caller.scope(verb.scope.as_deref())?,
        kind: Kind::new(&verb.kind)?,
        session: caller.writer.session.clone(),
        batch_lines: usize::try_from(verb.batch).unwrap_or(usize::MAX),
    };
    let writer = context.writer();
    let mut input = open_input(context, file)?;
    let agent = context.agent_to_create(|_| Ok(()))?;
    let (mut reader, progress) = (Lines::of(&mut *input), RefCell::new(BatchProgress::default()));
    let lines = std::iter::from_fn(|| {
        let read = reader.next_bytes();
        progress.borrow_mut().follow(&read);
        read.map(|line| line.map(|(number, bytes)| (number, bytes.to_vec())))
            .transpose()
    });
    let answer = follow_lines(&agent, lines, &options, &writer, |batch| {
        let mut progress = progress.borrow_mut();
        let Some(info) = batch.commit else {
            let refused = batch.refused.iter();
            return progress.stage(batch.flagged, refused.map(|one| (one.line, why(one))));
        };
        progress.hold(batch.held);
        progress.end(Some(info.commit.seq), std::iter::empty());
    });
    let mut progress = progress.into_inner();
    let answer = answer.map_err(|error| progress.failed(context, error))?;
    let held = answer.held.clone();
    context.answer(&ItemsRemembered::from(answer), show_items_remembered)?;
    context.note_held(&agent, &held);
    context.embed_after(&agent, None);
    Ok(DONE)
}

/// Returns the reason why a line was not stored.
fn why(one: &RefusedLine) -> String {
    format!("{}: {}", one.verdict, one.reason)
}

fn show_items_remembered(answer: &ItemsRemembered, context: &mut Context) -> Result<()> {
    if answer.disabled {
        return context.line(DISABLED);
    }
    let (head, answer) = (context.head_line(&answer.lines.commit), &answer.lines);
    let refused = answer.refused.len() as u64;
    let stored = format!("{} stored ({} flagged)", answer.stored, answer.flagged);
    let unchanged = answer.unchanged;
    context.line(format_args!(
        "{stored}, {unchanged} unchanged, {refused} not stored; {head}"
    ))?;
    if !answer.unknown.is_empty() {
        let names: Vec<&str> = answer.unknown.iter().map(String::as_str).collect();
        let names = names.join(", ");
        let text = format!("stored as attributes, because items have no such fields: {names}");
        context.note("unknown_fields", text);
    }
    for one in answer.refused.iter().take(REFUSED_SHOWN) {
        let label = format!("line {}", one.line);
        context.output.labelled(Meaning::Bad, &label, &why(one))?;
    }
    let more = refused.saturating_sub(REFUSED_SHOWN as u64);
    if more > 0 {
        let more = counted(more, "line");
        context.line(format_args!("and {more} more; --json lists all of them"))?;
    }
    Ok(())
}

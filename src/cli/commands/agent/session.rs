//! `session`: transcripts, their summaries, and what is learned at the end.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::agent_context::ScopeOptions;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::{Args, Subcommand};
use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::command;
use super::note::{note_held, scope, text_or_input};
use crate::agent::session::{
    Append, Appended, Ended, FactFate, NewEntry, NotStored, parent_session, root_session, session_of,
};
use crate::agent::{Agent, Reach};
use crate::cli::commands::input::{Lines, at_line, open_input};
use crate::cli::commands::progress::BatchProgress;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure, input_error};
use crate::cli::human::{Table, coloured, plain};
use crate::cli::json::with_commit;
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::engine::{Query, View};
use crate::error::{Error, Result};
use crate::ingest::json::{loose_time_from_json, parse};
use crate::object::{Kind, Origin, Time};

/// The longest reply that is read; what of it is taken, the settings say.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// Keep transcripts and summaries
///
/// The end of a session may add facts.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  treering session append 'Which Rust do we need?' --speaker user --session s1\n  \
                  treering session summaries --session s1\n  treering session end --session s1 --no-model"
)]
pub(crate) struct Session {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

impl Verb for Session {
    const NAME: &'static str = "session";

    fn run(self, context: &mut Context) -> Done {
        session(context, self)
    }
}

/// What is done with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Append to the transcript of a session
    #[command(
        after_help = "A line of --jsonl is {\"text\",\"speaker\"?,\"time\"?,\"order\"?,\"origin\"?}. What nobody, user or --user says is the \
                      person's, the roles assistant and system are trusted less, and any other name is a tool's that brings in what \
                      others wrote, unless the line says an origin. Nothing is trusted more than --trust.\n\n\
                      Examples:\n  treering session append 'green tea, please' --speaker user --session s1\n  \
                      treering session append --jsonl turns.jsonl --session s2 --parent s1"
    )]
    Append(SessionAppend),
    /// End a session: the prompt for a model, or what becomes of its reply
    #[command(
        after_help = "Without --reply, --command or --no-model it prints the prompt and writes nothing. Facts are taken only if the settings \
                      or --learn say so, and pass the gates; what a gate holds back is quarantined.\n\n\
                      Examples:\n  treering session end --session s1 > prompt.txt\n  \
                      treering session end --session s1 --learn --reply reply.json\n  \
                      treering session end --session s1 --learn --command llm -m small"
    )]
    End(SessionEnd),
    /// Show the summaries of a session in order of time, or what is to be summarised
    #[command(after_help = "Examples:\n  treering session summaries --session s1\n  \
                      treering session summaries --session s1 --when 2026-04-21T00:00:00Z\n  \
                      treering session summaries --session s1 --due --json")]
    Summaries(SessionSummaries),
    /// Write the summaries of days, weeks and months that are over
    #[command(
        after_help = "A line of --texts is {\"bucket\",\"text\"}, with a bucket as `session summaries --due` names it. What has no text there is \
                      summarised by its own sentences.\n\n\
                      Examples:\n  treering session summarise --session s1\n  \
                      treering session summarise --session s1 --texts summaries.jsonl"
    )]
    Summarise(SessionSummarise),
    /// List the sessions of the project
    #[command(after_help = "Examples:\n  treering session list\n  treering session list --all-scopes --json")]
    List(SessionList),
}

/// `session append`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct SessionAppend {
    /// The text; - reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present = "jsonl")]
    pub(crate) text: Option<String>,
    /// Who said it: user, assistant, tool, system, or a name
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// The name under which the person speaks in this session, from now on
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// When it was said: a date, a time, or how long ago (3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// The session that this one was started from
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The scope of the session [default: its own, that of its parent, else the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Append a line each of this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Lines of a commit
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) batch: u64,
}

/// `session end`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct SessionEnd {
    /// What a model replied; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: Option<PathBuf>,
    /// End it without a model: the episode is made of sentences of the session
    #[arg(long, conflicts_with_all = ["reply", "command"])]
    pub(crate) no_model: bool,
    /// Extract facts from the reply
    #[arg(long)]
    pub(crate) learn: bool,
    /// How long the command may take: 60s, 5m
    #[arg(long, value_name = "DURATION", value_parser = time::duration, default_value = "120s")]
    pub(crate) time_limit: Duration,
    /// A command that reads the prompt on its standard input and prints the reply; it is run without a shell, and takes the
    /// rest of the line
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with = "reply")]
    pub(crate) command: Vec<String>,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `session summaries`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct SessionSummaries {
    /// Only summaries with these words
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub(crate) query: String,
    /// Only what lies around this time: before, then, after
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// What is to be summarised instead
    #[arg(long, conflicts_with_all = ["query", "when"])]
    pub(crate) due: bool,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `session summarise`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct SessionSummarise {
    /// Texts of summaries, a line each; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) texts: Option<PathBuf>,
    /// The scope of the session, if it is none of those at work here
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// `session list`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct SessionList {
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
}

fn session(context: &mut Context, verb: Session) -> Done {
    match verb.verb {
        SessionVerb::Append(verb) => append(context, verb),
        SessionVerb::End(verb) => end(context, &verb),
        SessionVerb::Summaries(verb) => summaries(context, &verb),
        SessionVerb::Summarise(verb) => summarise(context, &verb),
        SessionVerb::List(verb) => list(context, &verb),
    }
}

/// The session that the shared option names.
fn named(context: &Context) -> Result<String, Failure> {
    let session = context.options.lane.session.clone();
    session.ok_or_else(|| Failure::usage("the session is not named", "name it with --session S"))
}

/// The scopes in which a session may be: those at work here, and the one that is named.
fn reach(context: &Context, named: Option<&str>) -> Result<Reach> {
    let place = context.place();
    let named = named.map(|word| place.scope(word)).transpose()?;
    Ok(place.usual_reach()?.with(&named))
}

fn append(context: &mut Context, verb: SessionAppend) -> Done {
    let session = named(context)?;
    let named_scope = verb
        .scope
        .as_deref()
        .map(|word| scope(context, Some(word)))
        .transpose()?;
    let mut request = Append {
        session,
        parent: verb.parent,
        scope: named_scope,
        usual_scope: scope(context, None)?,
        reach: context.place().usual_reach()?,
        user: verb.user,
        entries: Vec::new(),
    };
    let writer = context.writer();
    let Some(file) = verb.jsonl else {
        let agent = context.agent_to_write()?;
        let now = agent.memory().view().now();
        let time = verb
            .time
            .as_deref()
            .map(|text| time::moment(text, now))
            .transpose()?;
        request.entries.push(NewEntry {
            text: text_or_input(context, verb.text.unwrap_or_default())?,
            speaker: verb.speaker,
            time,
            ..NewEntry::default()
        });
        let appended = agent.append(&request, &writer)?;
        print_appended(
            context,
            &agent,
            &request.session,
            &Sums::of(&appended, 0),
            &appended,
        )?;
        return Ok(DONE);
    };
    let mut input = open_input(context, &file)?;
    let mut lines = Lines::of(&mut *input);
    let agent = context.agent_to_write()?;
    let (mut sums, mut progress) = (Sums::default(), BatchProgress::new());
    loop {
        // The first one is made even of nothing, so that there is an answer.
        let appended = batch(&mut lines, verb.batch, entry_of).and_then(|entries| {
            let is_last = (entries.len() as u64) < verb.batch;
            progress.begin(entries.len(), lines.number(), is_last);
            let numbers: Vec<u64>;
            (numbers, request.entries) = entries.into_iter().unzip();
            agent.follow_append(&request, &writer, |staged| {
                let refused = staged.not_stored.iter();
                let line = |one: &NotStored| (numbers[one.place], why(one));
                progress.stage(staged.flagged, refused.map(line));
            })
        });
        let appended = match appended {
            Ok(appended) => appended,
            Err(error) => return Err(progress.failed(context, error, (&file, &mut lines)).into()),
        };
        progress.hold(appended.held.as_deref());
        progress.end(Some(appended.commit.commit.seq), std::iter::empty());
        sums.add(&appended);
        if (request.entries.len() as u64) < verb.batch {
            print_appended(context, &agent, &request.session, &sums, &appended)?;
            break;
        }
    }
    Ok(DONE)
}

/// Why an entry was not stored.
fn why(one: &NotStored) -> String {
    format!("{}: the scan found {}", one.verdict.name(), one.rules.join(", "))
}

/// What the batches of a call came to.
#[derive(Default)]
struct Sums {
    seen: usize,
    first: Option<String>,
    last: Option<String>,
    appended: u64,
    flagged: u64,
    not_stored: Vec<Json>,
    held: Vec<String>,
}

impl Sums {
    fn of(appended: &Appended, seen: usize) -> Self {
        let mut sums = Self {
            seen,
            ..Self::default()
        };
        sums.add(appended);
        sums
    }

    fn add(&mut self, appended: &Appended) {
        let ids = &appended.ids;
        self.first = self.first.take().or_else(|| ids.first().map(ToString::to_string));
        self.last = ids.last().map(ToString::to_string).or_else(|| self.last.take());
        self.appended += ids.len() as u64;
        self.flagged += appended.flagged;
        for one in &appended.not_stored {
            self.not_stored.push(json!({
                "place": self.seen + one.place,
                "verdict": one.verdict.name(),
                "rules": one.rules,
            }));
        }
        self.held.extend(appended.held.clone());
        self.seen += ids.len() + appended.not_stored.len();
    }
}

fn print_appended(
    context: &mut Context,
    agent: &Agent,
    session: &str,
    sums: &Sums,
    last: &Appended,
) -> Result<(), Failure> {
    if context.output.is_json() {
        let document = json!({
            "session": session,
            "root_session": last.root_session,
            "scope": last.scope.as_str(),
            "appended": sums.appended,
            "flagged": sums.flagged,
            "first": sums.first,
            "last": sums.last,
            "not_stored": sums.not_stored,
            "held": sums.held,
        });
        context.output.document(&with_commit(document, &last.commit))?;
    } else {
        let what = if sums.appended == 1 { "entry" } else { "entries" };
        context
            .output
            .line(format_args!("appended {} {what} to '{session}'", sums.appended))?;
    }
    for held in &sums.held {
        note_held(context, agent, held);
    }
    Ok(())
}

/// An entry as a line states it.
fn entry_of(json: &Json) -> Result<NewEntry> {
    let fields = json
        .as_object()
        .ok_or_else(|| Error::invalid("it is not a JSON object"))?;
    let mut entry = NewEntry::default();
    let mut has_text = false;
    for (name, value) in fields {
        let text = || {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| Error::invalid(format!("`{name}` is not text")))
        };
        match name.as_str() {
            _ if value.is_null() => {}
            "text" => {
                entry.text = text()?;
                has_text = true;
            }
            "speaker" => entry.speaker = Some(text()?),
            "time" => entry.time = Some(loose_time_from_json(value)?),
            "order" => {
                let order = value.as_i64();
                entry.order = Some(order.ok_or_else(|| Error::invalid("`order` is not an integer"))?);
            }
            "origin" => {
                let name = text()?;
                let origin = Origin::from_name(&name);
                entry.origin = Some(origin.ok_or_else(|| Error::invalid(format!("`{name}` is no origin")))?);
            }
            other => {
                return Err(Error::invalid(format!("`{other}` means nothing in an entry"))
                    .with_hint("an entry has text, speaker, time, order and origin"));
            }
        }
    }
    if !has_text {
        return Err(Error::invalid("it has no `text`"));
    }
    Ok(entry)
}

fn end(context: &mut Context, verb: &SessionEnd) -> Done {
    let session = named(context)?;
    let reach = reach(context, verb.scope.as_deref())?;
    let agent = context.agent_to_write()?;
    let learn = verb.learn.then_some(true);
    let prompt = agent.end_prompt(&agent.memory().view(), &reach, &session, learn)?;
    let reply = match (&verb.reply, verb.command.as_slice()) {
        (Some(file), _) => Some(read_reply(context, file)?),
        (None, [program, arguments @ ..]) => {
            // A model is not asked for what would not be taken.
            match &prompt.gate {
                // Nor does anything else take the place of what it said before.
                Some(gate) if prompt.has_episode => {
                    let ended = Ended::without(Some(gate.to_string()), agent.memory().view().commit());
                    print_ended(context, &agent, &session, &ended)?;
                    return Ok(DONE);
                }
                Some(_) => None,
                None => Some(command::reply(
                    program,
                    arguments,
                    prompt.prompt.clone(),
                    verb.time_limit,
                    REPLY_BYTES_MAX,
                )?),
            }
        }
        (None, []) if verb.no_model => None,
        (None, []) => {
            let gate = prompt.gate.map(|gate| gate.to_string());
            if context.output.is_json() {
                context.output.document(&json!({
                    "session": session,
                    "prompt": prompt.prompt,
                    "gate": gate,
                    "turns": prompt.turns,
                    "entries": prompt.entries,
                    "trusted": prompt.is_trusted,
                }))?;
            } else {
                context.output.text(&prompt.prompt)?;
                if let Some(gate) = gate {
                    context
                        .output
                        .note("gate", format!("nothing would be learned: {gate}"));
                }
            }
            return Ok(DONE);
        }
    };
    let ended = agent.end_session(&reach, &session, reply.as_deref(), learn, &context.writer())?;
    print_ended(context, &agent, &session, &ended)?;
    if let Some(gate) = prompt.gate.filter(|_| !verb.command.is_empty()) {
        context
            .output
            .note("gate", format!("the command was not run: {gate}"));
    }
    Ok(DONE)
}

fn print_ended(context: &mut Context, agent: &Agent, session: &str, ended: &Ended) -> Result<(), Failure> {
    if context.output.is_json() {
        let facts = ended.facts.iter().map(|(fact, fate)| {
            let (id, reason) = match fate {
                FactFate::Stored(id) => (Some(id.as_str()), None),
                FactFate::Known => (None, None),
                FactFate::Quarantined(reason) | FactFate::Refused(reason) => (None, Some(reason.as_str())),
            };
            json!({ "about": fact.scope.name(), "text": fact.text, "fate": fate.name(), "id": id, "reason": reason })
        });
        let skipped = ended.skipped.iter();
        let skipped = skipped.map(|one| json!({ "place": one.place, "reason": one.reason.to_string() }));
        let document = json!({
            "session": session,
            "reason": ended.reason,
            "episode": ended.episode.as_ref().map(crate::object::Id::as_str),
            "facts": facts.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "held": ended.held,
        });
        return context.output.document(&with_commit(document, &ended.commit));
    }
    if let Some(reason) = &ended.reason {
        return context.output.line(format_args!("nothing was taken: {reason}"));
    }
    if let Some(episode) = &ended.episode {
        context.output.line(format_args!("episode {episode}"))?;
    }
    for (fact, fate) in &ended.facts {
        let why = match fate {
            FactFate::Quarantined(reason) | FactFate::Refused(reason) => format!(" ({reason})"),
            FactFate::Stored(_) | FactFate::Known => String::new(),
        };
        context.output.line(format_args!(
            "{} {}: {}{why}",
            fate.name(),
            fact.scope.name(),
            fact.text
        ))?;
    }
    if let Some(held) = &ended.held {
        note_held(context, agent, held);
    }
    Ok(())
}

fn read_reply(context: &Context, file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = open_input(context, file)?
        .take(REPLY_BYTES_MAX as u64)
        .read_to_end(&mut bytes);
    read.map_err(|error| input_error(file, error))?;
    // What is no text is no reply either: the reader says so.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn summaries(context: &mut Context, verb: &SessionSummaries) -> Done {
    let session = named(context)?;
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let reach = reach(context, verb.scope.as_deref())?;
    if verb.due {
        return due(context, &agent, &view, &reach, &session);
    }
    let when = verb
        .when
        .as_deref()
        .map(|text| time::moment(text, view.now()))
        .transpose()?;
    let found = agent.session_summaries(&view, &reach, &session, &verb.query, when)?;
    for summary in &found {
        let object = summary.item.object();
        if context.output.is_json() {
            context.output.document(&json!({
                "id": object.id(),
                "bucket": summary.bucket.to_string(),
                "granularity": summary.bucket.granularity().name(),
                "text": summary.item.text(),
                "score": summary.score,
                "origin": object.origin().name(),
                "time": object.event_time().map(|time| time.to_string()),
            }))?;
        } else {
            let mark = if object.origin().is_trusted() {
                ""
            } else {
                ", not trusted"
            };
            context.output.line(format_args!(
                "{}{mark}\n{}\n",
                summary.bucket,
                summary.item.text()
            ))?;
        }
    }
    if found.is_empty() {
        context.output.nothing_found();
    }
    Ok(DONE)
}

fn due(context: &mut Context, agent: &Agent, view: &View, reach: &Reach, session: &str) -> Done {
    let due = agent.due_summaries(view, reach, session)?;
    for one in &due {
        if context.output.is_json() {
            context.output.document(&json!({
                "bucket": one.bucket.to_string(),
                "granularity": one.bucket.granularity().name(),
                "text": one.text,
                "entries": one.entries,
                "unseen": one.unseen,
                "left_out": one.left_out,
            }))?;
        } else {
            context.output.line(format_args!(
                "{}: {}, {} new",
                one.bucket, one.entries, one.unseen
            ))?;
        }
    }
    if due.is_empty() {
        context.output.nothing_found();
    }
    Ok(DONE)
}

fn summarise(context: &mut Context, verb: &SessionSummarise) -> Done {
    let session = named(context)?;
    let mut texts = HashMap::new();
    if let Some(file) = &verb.texts {
        let mut input = open_input(context, file)?;
        let read = batch(&mut Lines::of(&mut *input), u64::MAX, text_of_bucket)?;
        texts.extend(read.into_iter().map(|(_, text)| text));
    }
    let reach = reach(context, verb.scope.as_deref())?;
    let agent = context.agent_to_write()?;
    let mut host = |due: &crate::agent::session::DueSummary| Ok(texts.get(&due.bucket.to_string()).cloned());
    let done = agent.summarise(&reach, &session, &mut host, &context.writer())?;
    if context.output.is_json() {
        let written = done.written.iter().map(|one| {
            json!({
                "bucket": one.bucket.to_string(),
                "id": one.id.as_str(),
                "host": one.is_of_host,
                "stored": one.is_stored,
                "rules": one.rules,
            })
        });
        let document = json!({
            "root_session": done.root_session,
            "written": written.collect::<Vec<_>>(),
            "held": done.held,
        });
        context.output.document(&with_commit(document, &done.commit))?;
    } else {
        context.output.line(format_args!(
            "wrote {} summaries of '{}'",
            done.written.len(),
            done.root_session
        ))?;
    }
    for unknown in texts
        .keys()
        .filter(|bucket| done.written.iter().all(|one| one.bucket.to_string() != **bucket))
    {
        context
            .output
            .note("not_due", format!("{unknown} is not due; its text was not taken"));
    }
    if let Some(held) = &done.held {
        note_held(context, &agent, held);
    }
    Ok(DONE)
}

fn text_of_bucket(json: &Json) -> Result<(String, String)> {
    let field = |name: &str| {
        let text = json.get(name).and_then(Json::as_str).map(str::to_owned);
        text.ok_or_else(|| Error::invalid(format!("it has no text in `{name}`")))
    };
    Ok((field("bucket")?, field("text")?))
}

fn list(context: &mut Context, verb: &SessionList) -> Done {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let reach = context.reach(&verb.scopes)?;
    let sessions = view.query(&Query {
        kind: Some(Kind::new(crate::agent::vocabulary::kind::SESSION)?),
        ..Query::default()
    })?;
    let mut table = Table::new(&["session", "scope", "objects"]);
    for object in sessions {
        let object = object?;
        let Some(session) = session_of(&object).filter(|_| reach.has(object.scope())) else {
            continue;
        };
        let id = crate::object::Id::new(object.id())?;
        let objects = view.child_count(&id)?;
        if context.output.is_json() {
            let (created, updated) = view.stamps(&id)?.unzip();
            let time = |time: Option<Time>| time.map(|time| time.to_string());
            context.output.document(&json!({
                "session": session,
                "scope": object.scope(),
                "parent": parent_session(Some(&object)),
                "root_session": root_session(&view, session)?,
                "objects": objects,
                "created": time(created),
                "updated": time(updated),
            }))?;
        } else {
            let cells = vec![
                coloured(Meaning::Name, session),
                plain(object.scope()),
                plain(objects.to_string()),
            ];
            table.row(&mut context.output, cells)?;
        }
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

/// The next lines with their numbers, at most `size` of them; a bad one is refused with its number.
fn batch<T>(lines: &mut Lines<'_>, size: u64, read: impl Fn(&Json) -> Result<T>) -> Result<Vec<(u64, T)>> {
    let mut batch = Vec::new();
    while (batch.len() as u64) < size {
        let Some((number, line)) = lines.next_line()? else {
            break;
        };
        let one = parse(line).and_then(|json| read(&json));
        batch.push((number, one.map_err(|error| at_line(number, error))?));
    }
    Ok(batch)
}

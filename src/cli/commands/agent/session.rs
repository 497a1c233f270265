//! `session`: transcripts, their summaries, and the facts learned at the end.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;
use std::io::Read as _;
use std::time::Duration;

use serde_json::Value as Json;

use super::command;
use crate::agent::session::{
    Append, DueSummary, EndPrompt, Ended, NewEntry, NotStored, Summarised, due_summaries, parent_session,
    root_session, session_of, session_summaries,
};
use crate::agent::vocabulary::kind;
use crate::agent::{Agent, Reach};
use crate::answers::agent::sessions::{EntriesAppended, SessionLine, SummaryLine};
use crate::cli::agent_context::ScopeOptions;
use crate::cli::commands::prelude::*;
use crate::cli::commands::progress::BatchProgress;
use crate::cli::errors::input_error;
use crate::cli::input::{Lines, at_line, open_input, text_or_input, time_of};
use crate::engine::Query;
use crate::ingest::json::parse;
use crate::object::Origin;

/// The longest reply that is read. The settings limit how much of it is stored.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// Keep transcripts and summaries
///
/// The end of a session may add facts.
///
/// # Examples
/// ```text
/// treering session append 'Which Rust do we need?' --speaker user --session s1
/// treering session summaries --session s1
/// treering session end --session s1 --no-model
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Session {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

impl Verb for Session {
    const NAME: &'static str = "session";
    const ANSWERS: &'static [Form] = &[
        form::<EntriesAppended>("append"),
        form::<EndPrompt>("end, without a reply"),
        form::<Ended>("end"),
        form::<SummaryLine>("summaries, one per line"),
        form::<DueSummary>("summaries --due, one per line"),
        form::<Summarised>("summarise"),
        form::<SessionLine>("list, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.verb {
            SessionVerb::Append(verb) => append(context, verb),
            SessionVerb::End(verb) => end(context, &verb),
            SessionVerb::Summaries(verb) => summaries(context, &verb),
            SessionVerb::Summarise { texts, scope } => summarise(context, texts.as_deref(), scope.as_deref()),
            SessionVerb::List(scopes) => list(context, &scopes),
        }
    }
}

/// An action on sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Append to the transcript of a session
    ///
    /// # Notes
    /// A line of --jsonl is {"text","speaker"?,"time"?,"order"?,"origin"?}. Without a speaker, or with user or the name
    /// of --user, the person speaks. The roles assistant and system are trusted less. Any other name is an untrusted
    /// tool, unless the line has an origin. --trust is the upper limit.
    ///
    /// # Examples
    /// ```text
    /// treering session append 'green tea, please' --speaker user --session s1
    /// treering session append --jsonl turns.jsonl --session s2 --parent s1
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Append(SessionAppend),
    /// End a session: print the prompt for a model, or store its reply
    ///
    /// # Notes
    /// Without --reply, --command or --no-model it prints the prompt and writes nothing. It stores facts only if the
    /// settings or --learn allow it. Facts that fail a gate are quarantined.
    ///
    /// # Examples
    /// ```text
    /// treering session end --session s1 > prompt.txt
    /// treering session end --session s1 --learn --reply reply.json
    /// treering session end --session s1 --learn --command llm -m small
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    End(SessionEnd),
    /// Show the summaries of a session in order of time, or list the missing ones
    ///
    /// # Examples
    /// ```text
    /// treering session summaries --session s1
    /// treering session summaries --session s1 --when 2026-04-21T00:00:00Z
    /// treering session summaries --session s1 --due --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Summaries(SessionSummaries),
    /// Write the summaries of past days, weeks and months
    ///
    /// # Notes
    /// A line of --texts is {"bucket","text"}, with a bucket as `session summaries --due` names it. A bucket without a
    /// text is summarised by its own sentences.
    ///
    /// # Examples
    /// ```text
    /// treering session summarise --session s1
    /// treering session summarise --session s1 --texts summaries.jsonl
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Summarise {
        /// The texts of summaries, one on each line; - is standard input
        #[arg(long, value_name = "FILE")]
        texts: Option<PathBuf>,
        /// The scope of the session, if it is not one of the current scopes
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
    },
    /// List the sessions of the project
    ///
    /// # Examples
    /// ```text
    /// treering session list
    /// treering session list --all-scopes --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    List(ScopeOptions),
}

/// The arguments of `session append`
#[derive(Args, Debug)]
pub(crate) struct SessionAppend {
    /// The text; - reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present = "jsonl")]
    pub(crate) text: Option<String>,
    /// The speaker: user, assistant, tool, system, or a name
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// The user's name as a speaker in this session, from now on
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The time of speaking: a date, a time, or an age (3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// The session that started this one
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The scope of the session [default: its current scope, else that of its parent, else the project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Append each line of this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) jsonl: Option<PathBuf>,
    /// The number of lines in each commit
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) batch: u64,
}

/// The arguments of `session end`
#[derive(Args, Debug)]
pub(crate) struct SessionEnd {
    /// The reply of a model; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: Option<PathBuf>,
    /// End it without a model: the episode consists of sentences from the session
    #[arg(long, conflicts_with_all = ["reply", "command"])]
    pub(crate) no_model: bool,
    /// Extract facts from the reply
    #[arg(long)]
    pub(crate) learn: bool,
    /// The time limit of the command: 60s, 5m
    #[arg(long, value_name = "DURATION", value_parser = time::duration, default_value = "120s")]
    pub(crate) time_limit: Duration,
    /// A command that reads the prompt from standard input and prints the reply; it runs without a shell, and takes the
    /// rest of the line
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with = "reply")]
    pub(crate) command: Vec<String>,
    /// The scope of the session, if it is not one of the current scopes
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// The arguments of `session summaries`
#[derive(Args, Debug)]
pub(crate) struct SessionSummaries {
    /// Only summaries with these words
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub(crate) query: String,
    /// Only summaries around this time: the nearest before, those of its day, the nearest after
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// List the missing summaries instead
    #[arg(long, conflicts_with_all = ["query", "when"])]
    pub(crate) due: bool,
    /// The scope of the session, if it is not one of the current scopes
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// Returns the session of the shared option.
fn named(context: &Context) -> Result<String, Failure> {
    let session = context.options.lane.session.clone();
    session.ok_or_else(|| Failure::usage("the session is not named", "name it with --session S"))
}

/// Returns the scopes that may hold a session: the current scopes, and the named one.
fn reach(context: &Context, named: Option<&str>) -> Result<Reach> {
    let place = context.place();
    let named = named.map(|word| place.scope(word)).transpose()?;
    Ok(place.usual_reach()?.with(&named))
}

fn append(context: &mut Context, verb: SessionAppend) -> Done {
    let session = named(context)?;
    let place = context.place();
    let named_scope = verb.scope.as_deref().map(|word| place.scope(word));
    let mut request = Append {
        session,
        parent: verb.parent,
        scope: named_scope.transpose()?,
        usual_scope: place.usual_scope()?,
        reach: place.usual_reach()?,
        user: verb.user,
        entries: Vec::new(),
    };
    let writer = context.writer();
    let Some(file) = verb.jsonl else {
        let agent = context.agent_to_write()?;
        let now = agent.memory().view().now();
        let time = verb.time.as_deref().map(|text| time::moment(text, now));
        request.entries.push(NewEntry {
            text: text_or_input(context, verb.text.unwrap_or_default())?,
            speaker: verb.speaker,
            time: time.transpose()?,
            ..NewEntry::default()
        });
        let appended = agent.append(&request, &writer)?;
        return answer_appended(context, &agent, &EntriesAppended::new(request.session, appended));
    };
    let mut input = open_input(context, &file)?;
    let mut lines = Lines::of(&mut *input);
    let agent = context.agent_to_write()?;
    let (mut all, mut progress) = (None, BatchProgress::new());
    loop {
        // The first batch is committed even if it is empty, so that there is an answer.
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
        let all = match &mut all {
            None => all.insert(EntriesAppended::new(request.session.clone(), appended)),
            Some(all) => {
                all.add(appended);
                all
            }
        };
        if (request.entries.len() as u64) < verb.batch {
            return answer_appended(context, &agent, all);
        }
    }
}

fn answer_appended(context: &mut Context, agent: &Agent, all: &EntriesAppended) -> Done {
    context.answer(all, show_entries_appended)?;
    for held in &all.held {
        context.note_held(agent, Some(held));
    }
    Ok(DONE)
}

fn show_entries_appended(answer: &EntriesAppended, context: &mut Context) -> Result<(), Failure> {
    let what = if answer.appended == 1 { "entry" } else { "entries" };
    let (count, session) = (answer.appended, &answer.session);
    context.line(format_args!("appended {count} {what} to '{session}'"))
}

/// Returns the reason why an entry was not stored.
fn why(one: &NotStored) -> String {
    format!("{}: the scan found {}", one.verdict.name(), one.rules.join(", "))
}

/// Reads an entry from a line. No error quotes a value, which may be a secret.
fn entry_of(json: &Json) -> Result<NewEntry> {
    let fields = json
        .as_object()
        .ok_or_else(|| Error::invalid("the line is not a JSON object"))?;
    let mut entry = NewEntry::default();
    let mut has_text = false;
    for (name, value) in fields {
        let text = || {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| Error::invalid(format!("the field `{name}` is not text")))
        };
        match name.as_str() {
            "text" | "speaker" | "time" | "order" | "origin" if value.is_null() => {}
            "text" => {
                entry.text = text()?;
                has_text = true;
            }
            "speaker" => entry.speaker = Some(text()?),
            "time" => entry.time = Some(time_of("time", value)?),
            "order" => {
                let order = value.as_i64();
                entry.order = Some(order.ok_or_else(|| Error::invalid("`order` is not an integer"))?);
            }
            "origin" => {
                let origin = Origin::from_name(&text()?);
                let names = Origin::ALL.map(Origin::name).join(", ");
                let refused =
                    || Error::invalid("`origin` is not a known origin").with_hint(format!("one of {names}"));
                entry.origin = Some(origin.ok_or_else(refused)?);
            }
            other => {
                return Err(Error::invalid(format!("the field `{other}` is unknown"))
                    .with_hint("an entry has text, speaker, time, order and origin"));
            }
        }
    }
    if !has_text {
        return Err(Error::invalid("the field `text` is missing"));
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
            // The command does not run for facts that a gate would refuse.
            match &prompt.gate {
                // The earlier episode stays unchanged.
                Some(gate) if prompt.has_episode => {
                    let head = agent.memory().view().commit();
                    return context.answer(
                        &Ended::without(&session, Some(gate.to_string()), head),
                        show_ended,
                    );
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
            return context.answer(&prompt, show_end_prompt);
        }
    };
    let ended = agent.end_session(&reach, &session, reply.as_deref(), learn, &context.writer())?;
    context.answer(&ended, show_ended)?;
    if ended.reason.is_none() {
        context.note_held(&agent, ended.held.as_deref());
    }
    if let Some(gate) = prompt.gate.filter(|_| !verb.command.is_empty()) {
        let text = format!("the command was not run: {gate}");
        context.output.note("gate", text);
    }
    Ok(DONE)
}

fn show_end_prompt(answer: &EndPrompt, context: &mut Context) -> Result<(), Failure> {
    context.output.text(&answer.prompt)?;
    if let Some(gate) = &answer.gate {
        let text = format!("a reply would store no facts: {gate}");
        context.output.note("gate", text);
    }
    Ok(())
}

fn show_ended(answer: &Ended, context: &mut Context) -> Result<(), Failure> {
    if let Some(reason) = &answer.reason {
        return context.line(format_args!("no fact was stored: {reason}"));
    }
    if let Some(episode) = &answer.episode {
        context.line(format_args!("episode {episode}"))?;
    }
    for fact in &answer.facts {
        let why = fact.reason.as_ref().map(|reason| format!(" ({reason})"));
        let (fate, about, text) = (fact.fate.name(), fact.about.name(), &fact.text);
        let why = why.unwrap_or_default();
        context.line(format_args!("{fate} {about}: {text}{why}"))?;
    }
    Ok(())
}

fn read_reply(context: &Context, file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = open_input(context, file)?
        .take(REPLY_BYTES_MAX as u64)
        .read_to_end(&mut bytes);
    read.map_err(|error| input_error(file, error))?;
    // Bytes that are not UTF-8 become replacement characters.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn summaries(context: &mut Context, verb: &SessionSummaries) -> Done {
    let session = named(context)?;
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let reach = reach(context, verb.scope.as_deref())?;
    if verb.due {
        let due = due_summaries(&view, &reach, &session)?;
        return answer_each(context, due.into_iter(), show_due_summary);
    }
    let when = verb.when.as_deref();
    let when = when.map(|text| time::moment(text, view.now())).transpose()?;
    let found = session_summaries(&view, &reach, &session, &verb.query, when)?;
    answer_each(
        context,
        found.into_iter().map(SummaryLine::from),
        show_summary_line,
    )
}

fn answer_each<A: Serialize>(
    context: &mut Context,
    answers: impl ExactSizeIterator<Item = A>,
    show: fn(&A, &mut Context) -> Result<(), Failure>,
) -> Done {
    if answers.len() == 0 {
        context.output.nothing_found();
    }
    for answer in answers {
        context.answer(&answer, show)?;
    }
    Ok(DONE)
}

fn show_summary_line(answer: &SummaryLine, context: &mut Context) -> Result<(), Failure> {
    let is_trusted = answer.origin.is_trusted();
    let mark = if is_trusted { "" } else { ", not trusted" };
    context.line(format_args!("{}{mark}\n{}\n", answer.bucket, answer.text))
}

fn show_due_summary(answer: &DueSummary, context: &mut Context) -> Result<(), Failure> {
    let (entries, new) = (answer.entries, answer.unseen);
    context.line(format_args!("{}: {entries}, {new} new", answer.bucket))
}

fn summarise(context: &mut Context, file: Option<&Path>, scope: Option<&str>) -> Done {
    let session = named(context)?;
    let mut texts = HashMap::new();
    if let Some(file) = file {
        let mut input = open_input(context, file)?;
        let read = batch(&mut Lines::of(&mut *input), u64::MAX, text_of_bucket)?;
        texts.extend(read.into_iter().map(|(_, text)| text));
    }
    let reach = reach(context, scope)?;
    let agent = context.agent_to_write()?;
    let host = |due: &DueSummary| texts.get(&due.bucket.to_string()).cloned();
    let done = agent.summarise(&reach, &session, &host, &context.writer())?;
    context.answer(&done, show_summarised)?;
    for unknown in texts
        .keys()
        .filter(|bucket| done.written.iter().all(|one| one.bucket.to_string() != **bucket))
    {
        context.output.note(
            "not_due",
            format!("{unknown} is not due; its text was not stored"),
        );
    }
    context.note_held(&agent, done.held.as_deref());
    Ok(DONE)
}

fn show_summarised(answer: &Summarised, context: &mut Context) -> Result<(), Failure> {
    let (count, session) = (answer.written.len(), &answer.root_session);
    context.line(format_args!("wrote {count} summaries of '{session}'"))
}

fn text_of_bucket(json: &Json) -> Result<(String, String)> {
    let field = |name: &str| {
        let text = json.get(name).and_then(Json::as_str).map(str::to_owned);
        text.ok_or_else(|| Error::invalid(format!("the field `{name}` is missing or not text")))
    };
    Ok((field("bucket")?, field("text")?))
}

fn list(context: &mut Context, scopes: &ScopeOptions) -> Done {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let reach = context.reach(scopes)?;
    let sessions = view.query(&Query::default().kind(Kind::new(kind::SESSION)?))?;
    let line = |object: Result<Object>| -> Result<Option<SessionLine>> {
        let object = object?;
        let Some(session) = session_of(&object).filter(|_| reach.has(object.scope())) else {
            return Ok(None);
        };
        let id = object.id().clone();
        let (created, updated) = view.stamps(&id)?.unzip();
        Ok(Some(SessionLine {
            session: session.to_owned(),
            scope: object.scope().to_owned(),
            parent: parent_session(Some(&object)).map(str::to_owned),
            root_session: root_session(&view, session)?,
            objects: view.child_count(&id)?,
            created,
            updated,
        }))
    };
    context.rows(sessions.filter_map(|object| line(object).transpose()), columns)
}

fn columns(row: &SessionLine, _: &Context) -> Columns {
    vec![
        ("session", coloured(Meaning::Name, &row.session)),
        ("scope", plain(&row.scope)),
        ("objects", plain(row.objects.to_string())),
    ]
}

/// Reads the next lines with their numbers, at most `size` of them. The error for a bad line names its number.
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

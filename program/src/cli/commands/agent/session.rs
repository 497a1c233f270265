//! `session`: stores transcripts, their summaries, and the facts learned at the end of a session.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::command;
use crate::answers::agent::sessions::{EntriesAppended, SessionLine, SummaryLine};
use crate::cli::agent_context::text_for_people;
use crate::cli::commands::prelude::*;
use crate::cli::commands::progress::BatchProgress;
use crate::cli::commands::tainting::tainting;
use crate::cli::embedding::OF_ONE;
use crate::cli::input::{text_or_input, time_of};
use treering::Query;
use treering::agent::{Agent, Append, NewEntry, NotStored, Reach};
use treering::inspect::agent::session;
use treering::inspect::agent::session::{
    DueSummary, EndPrompt, Ended, Summarised, due_summaries, end_prompt, end_session, follow_append,
    parent_session, root_session, session_of, session_summaries,
};
use treering::inspect::agent::vocabulary::kind;
use treering::inspect::ingest::json::{parse, whole_characters};

/// The longest accepted reply, in bytes. The settings limit how much of the reply is stored.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// Keep transcripts and summaries
///
/// The end of a session may also store facts from it.
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
    /// A line of --jsonl is {"text","speaker"?,"time"?,"order"?,"id"?,"origin"?}. An entry that the
    /// session already has changes nothing: the same speaker and text, with the same id or time. The speaker user, the name of --user, or no
    /// speaker means the person. The speakers assistant and system are trusted less. Any other speaker is an untrusted
    /// tool. The origin of a line and --trust only lower the trust. After an untrusted entry, the session and all that
    /// is written in it are untrusted for good.
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
    /// Without --reply, --command or --no-model, prints the prompt and writes nothing. Stores facts only if the
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
    /// Show the summaries of a session in order of time, or list the missing summaries
    ///
    /// # Examples
    /// ```text
    /// treering session summaries --session s1
    /// treering session summaries --session s1 --when 2026-04-21T00:00:00Z
    /// treering session summaries --session s1 --due --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Summaries(SessionSummaries),
    /// Write the summaries of the days until now, and of past weeks and months
    ///
    /// # Notes
    /// A line of --texts is {"bucket","text"}, with a bucket that `session summaries --due` lists. Without a text for a
    /// bucket, the summary consists of sentences from the bucket.
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
        /// The scope of the session, if not one of the current scopes
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
    /// The text of the entry; - reads the text from standard input
    #[arg(value_name = "TEXT", required_unless_present = "jsonl")]
    pub(crate) text: Option<String>,
    /// The speaker: user, assistant, tool, system, or a name
    #[arg(long, value_name = "WHO", conflicts_with = "jsonl")]
    pub(crate) speaker: Option<String>,
    /// A further speaker name, besides user, that means the person in this session, from this call on
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The time of the entry: a date, a time, or an age (3d)
    #[arg(long, value_name = "TIME", conflicts_with = "jsonl")]
    pub(crate) time: Option<String>,
    /// Your id of the entry; the same entry with the same id again changes nothing
    #[arg(long, value_name = "ID", conflicts_with = "jsonl")]
    pub(crate) id: Option<String>,
    /// The parent session, which started this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The scope of the session [default: the current scope of the session, else the scope of the parent, else the
    /// project]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Append each line of this file; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Commit after every N lines
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) batch: u64,
}

/// The arguments of `session end`
#[derive(Args, Debug)]
pub(crate) struct SessionEnd {
    /// The file with the reply of a model; - reads the reply from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: Option<PathBuf>,
    /// End the session without a model; the episode consists of sentences from the session
    #[arg(long, conflicts_with_all = ["reply", "command"])]
    pub(crate) no_model: bool,
    /// Extract facts from the reply
    #[arg(long)]
    pub(crate) learn: bool,
    /// The time limit of the command: 60s, 5m
    #[arg(long, value_name = "DURATION", value_parser = time::duration, default_value = "120s")]
    pub(crate) time_limit: Duration,
    /// A command that reads the prompt from standard input and prints the reply; it runs without a shell, and all
    /// following words are its arguments
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, conflicts_with = "reply")]
    pub(crate) command: Vec<String>,
    /// The scope of the session, if not one of the current scopes
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// The arguments of `session summaries`
#[derive(Args, Debug)]
pub(crate) struct SessionSummaries {
    /// Only summaries that contain these words
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub(crate) query: String,
    /// Only summaries around this time: the summaries of that day, the nearest earlier and the nearest later summary
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// List the missing summaries instead of the stored summaries
    #[arg(long, conflicts_with_all = ["query", "when"])]
    pub(crate) due: bool,
    /// The scope of the session, if not one of the current scopes
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
}

/// Returns the session that `--session` names.
fn named_session(context: &Context) -> Result<String> {
    let session = context.options.lane.session.clone();
    session.ok_or_else(|| usage_error("the session is missing", "name the session with --session S"))
}

/// Returns the scopes in which to look for a session: the current scopes, and the named scope.
fn reach(context: &Context, named: Option<&str>) -> Result<Reach> {
    let caller = context.caller();
    let named = named.map(|word| caller.scope(Some(word))).transpose()?;
    Ok(caller.usual_reach()?.with(&named))
}

fn append(context: &mut Context, verb: SessionAppend) -> Done {
    let session = named_session(context)?;
    let caller = context.caller();
    let scope = verb.scope.as_deref().map(|word| caller.scope(Some(word)));
    let mut request = Append {
        session: session.clone(),
        parent: verb.parent,
        scope: scope.transpose()?,
        usual_scope: caller.scope(None)?,
        reach: caller.usual_reach()?,
        user: verb.user,
        entries: Vec::new(),
    };
    let writer = context.writer();
    let limit = verb.jsonl.is_none().then_some(OF_ONE);
    let (agent, all) = match verb.jsonl {
        None => {
            let agent = context.agent_to_write()?;
            request.entries.push(NewEntry {
                text: text_or_input(context, verb.text.unwrap_or_default())?,
                speaker: verb.speaker,
                time: time::given(verb.time.as_deref(), agent.memory().view().now())?,
                key: verb.id,
                ..NewEntry::default()
            });
            let appended = agent.append(&request, &writer)?;
            (agent, EntriesAppended::new(session, appended))
        }
        // A line that cannot be read may be the text of a tool.
        Some(file) => append_lines(context, &file, request, verb.batch)
            .map_err(|error| tainting(context, Origin::ToolExternal, error))?,
    };
    let what = if all.appended == 1 { "entry" } else { "entries" };
    let (count, session) = (all.appended, &all.session);
    let known = match all.unchanged {
        0 => String::new(),
        known => format!(", {known} already there"),
    };
    context.say(
        &all,
        format_args!("appended {count} {what} to '{session}'{known}"),
    )?;
    context.note_held(&agent, &all.held);
    context.embed_after(&agent, limit);
    Ok(DONE)
}

/// Appends the lines of a file in batches. Commits even an empty first batch, because the answer needs a commit.
fn append_lines(
    context: &mut Context,
    file: &Path,
    mut request: Append,
    size: u64,
) -> Result<(Agent, EntriesAppended)> {
    let writer = context.writer();
    let mut input = open_input(context, file)?;
    let mut lines = Lines::of(&mut *input);
    let agent = context.agent_to_write()?;
    let (mut all, mut progress) = (None::<EntriesAppended>, BatchProgress::default());
    let most = usize::try_from(size).unwrap_or(usize::MAX);
    loop {
        let entries = lines.read(|line| entry_of(&json_of(line)?)).take(most);
        let entries: Result<Vec<_>> = entries.collect();
        let appended = entries.and_then(|entries| {
            progress.begin(entries.len(), lines.number(), entries.len() < most);
            let numbers: Vec<u64>;
            (numbers, request.entries) = entries.into_iter().unzip();
            follow_append(&agent, &request, &writer, |staged| {
                let refused = staged.not_stored.iter();
                let line = |one: &NotStored| (numbers[one.place], why(one));
                progress.stage(staged.flagged, refused.map(line));
            })
        });
        let appended = appended.map_err(|error| progress.failed(context, error))?;
        progress.hold(&appended.held);
        progress.end(Some(appended.commit.commit.seq), std::iter::empty());
        match &mut all {
            Some(all) => all.add(appended),
            None => all = Some(EntriesAppended::new(request.session.clone(), appended)),
        }
        if let Some(all) = all.take_if(|_| request.entries.len() < most) {
            return Ok((agent, all));
        }
    }
}

/// Returns the reason why an entry was not stored.
fn why(one: &NotStored) -> String {
    format!("{}: the scan found {}", one.verdict.name(), one.rules.join(", "))
}

/// Parses the JSON of a line. Half an emoji becomes U+FFFD, as in the requests of a server.
fn json_of(line: &str) -> Result<Json> {
    let whole = whole_characters(line.as_bytes());
    parse(&String::from_utf8_lossy(&whole))
}

/// Parses an entry from a line. No error quotes a value, because the value may be a secret.
fn entry_of(json: &Json) -> Result<NewEntry> {
    let fields = json.as_object();
    let fields = fields.ok_or_else(|| Error::invalid("the line is not a JSON object"))?;
    let mut text = None;
    let mut entry = NewEntry::default();
    for (name, value) in fields {
        let refused = |what: &str| Error::invalid(format!("the field `{name}` is not {what}"));
        let read = || value.as_str().ok_or_else(|| refused("text"));
        match name.as_str() {
            "text" | "speaker" | "time" | "order" | "origin" | "trust" | "id" | "key" if value.is_null() => {}
            "text" => text = Some(read()?.to_owned()),
            "speaker" => entry.speaker = Some(read()?.to_owned()),
            "id" | "key" if entry.key.is_some() => {
                return Err(Error::invalid("the fields `id` and `key` name the entry twice"));
            }
            "id" | "key" => entry.key = Some(read()?.to_owned()),
            "time" => entry.time = Some(time_of("time", value)?),
            "order" => entry.order = Some(value.as_i64().ok_or_else(|| refused("an integer"))?),
            "origin" | "trust" => {
                let stated = Origin::from_text(read()?)
                    .map_err(|error| refused("a known class").with_hint(error.hint().unwrap_or_default()))?;
                entry.origin = Some(Origin::least(entry.origin.unwrap_or(stated), stated));
            }
            other => {
                return Err(
                    Error::invalid(format!("the field `{other}` is unknown")).with_hint(
                        "the fields of an entry are text, speaker, time, order, id or key, and origin or trust",
                    ),
                );
            }
        }
    }
    entry.text = text.ok_or_else(|| Error::invalid("the field `text` is missing"))?;
    Ok(entry)
}

fn end(context: &mut Context, verb: &SessionEnd) -> Done {
    let session = named_session(context)?;
    let reach = reach(context, verb.scope.as_deref())?;
    let agent = context.agent_to_write()?;
    let learn = verb.learn.then_some(true);
    let prompt = end_prompt(&agent, &agent.memory().view(), &reach, &session, learn)?;
    let reply = match (&verb.reply, verb.command.as_slice()) {
        (Some(file), _) => Some(read_reply(context, file)?),
        (None, []) if verb.no_model => None,
        (None, []) => return context.answer(&prompt, show_end_prompt),
        // If a gate would refuse the facts, the command does not run.
        (None, _) if prompt.gate.is_some() => {
            if prompt.has_episode {
                // The session already has an episode, so ending it without a reply changes nothing.
                let gate = prompt.gate.map(|gate| gate.to_string());
                let ended = Ended::without(&session, gate, agent.memory().view().commit());
                return context.answer(&ended, show_ended);
            }
            None
        }
        (None, [program, arguments @ ..]) => {
            let (prompt, limit) = (prompt.prompt.clone(), verb.time_limit);
            let reply = command::reply(program, arguments, prompt, limit, REPLY_BYTES_MAX);
            Some(reply?)
        }
    };
    let ended = end_session(
        &agent,
        &reach,
        &session,
        reply.as_deref(),
        learn,
        &context.writer(),
    )?;
    context.answer(&ended, show_ended)?;
    if ended.reason.is_none() {
        context.note_held(&agent, &ended.held);
    }
    if let Some(gate) = prompt.gate.filter(|_| !verb.command.is_empty()) {
        context.note("gate", format!("the command did not run: {gate}"));
    }
    Ok(DONE)
}

fn show_end_prompt(answer: &EndPrompt, context: &mut Context) -> Result<()> {
    context.output.text(&answer.prompt)?;
    if let Some(gate) = &answer.gate {
        context.note("gate", format!("no facts would be stored from a reply: {gate}"));
    }
    Ok(())
}

fn show_ended(answer: &Ended, context: &mut Context) -> Result<()> {
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

fn read_reply(context: &Context, file: &Path) -> Result<String> {
    let bytes = read_input(context, file, REPLY_BYTES_MAX as u64)?;
    // Bytes that are not UTF-8 become replacement characters.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn summaries(context: &mut Context, verb: &SessionSummaries) -> Done {
    let session = named_session(context)?;
    let (agent, view) = context.agent_view()?;
    let reach = reach(context, verb.scope.as_deref())?;
    let mut is_empty = true;
    if verb.due {
        for due in due_summaries(&view, &reach, &session)? {
            is_empty = false;
            let (bucket, entries, new) = (&due.bucket, due.entries, due.unseen);
            context.say(
                &due,
                format_args!("{bucket}: {entries} texts to summarise, {new} of them new"),
            )?;
        }
    } else {
        let when = time::given(verb.when.as_deref(), view.now())?;
        for found in session_summaries(&view, &reach, &session, &verb.query, when)? {
            is_empty = false;
            let row = SummaryLine::of(&agent, &found, verb.shown.with_untrusted);
            let mark = match row.origin {
                class if class.is_trusted() => String::new(),
                class => format!(", not trusted ({class})"),
            };
            let text = printable(&text_for_people(&row.shown));
            context.say(&row, format_args!("{}{mark}\n{text}\n", row.bucket))?;
        }
    }
    if is_empty {
        context.output.nothing_found();
    }
    Ok(DONE)
}

fn summarise(context: &mut Context, file: Option<&Path>, scope: Option<&str>) -> Done {
    let session = named_session(context)?;
    let mut texts = HashMap::new();
    if let Some(file) = file {
        let mut input = open_input(context, file)?;
        for line in Lines::of(&mut *input).read(|line| text_of_bucket(&parse(line)?)) {
            let (_, (bucket, text)) = line?;
            texts.insert(bucket, text);
        }
    }
    let reach = reach(context, scope)?;
    let agent = context.agent_to_write()?;
    let host = |due: &DueSummary| texts.get(&due.bucket.to_string()).cloned();
    let done = session::summarise(&agent, &reach, &session, &host, &context.writer())?;
    let (count, root) = (counted(done.written.len() as u64, "summary"), &done.root_session);
    context.say(&done, format_args!("wrote {count} of '{root}'"))?;
    for written in &done.written {
        texts.remove(&written.bucket.to_string());
    }
    for unknown in texts.keys() {
        let note = format!("no summary of {unknown} is due, so the text for {unknown} was not stored");
        context.note("not_due", note);
    }
    context.note_held(&agent, &done.held);
    Ok(DONE)
}

fn text_of_bucket(json: &Json) -> Result<(String, String)> {
    let field = |name: &str| {
        let text = json.get(name).and_then(Json::as_str).map(str::to_owned);
        text.ok_or_else(|| Error::invalid(format!("the field `{name}` is missing or not text")))
    };
    Ok((field("bucket")?, field("text")?))
}

fn list(context: &mut Context, scopes: &ScopeOptions) -> Done {
    let (_, view) = context.agent_view()?;
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
    let lines = sessions.filter_map(|object| line(object).transpose());
    context.table(lines, &["session", "scope", "objects"])
}

//! Handles the events of a coding agent: gives the agent context, and stores prompts, answers, and what tools read.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - HKC-1: only the text of a prompt event is stored as the person's, and none that a command of the agent sends.
//! - HKC-2: a text that a tool read from outside taints the session, whether the event or the transcript reports it.
//! - HKC-3: a repeated event, and an event in another order, stores nothing twice, and brings nothing back that was undone.

mod deadline;
mod sessions;
mod state;

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, thread};

pub(crate) use self::deadline::Deadline;
#[cfg(feature = "mcp")]
pub(crate) use self::sessions::Finder;
use self::state::{State, length};
use crate::cli::args::named_class;
use crate::cli::context::Context;
use crate::cli::embedding::OF_ONE;
use crate::hook::{Call, Event, Happened, HookClient, Said, Spoken, source_of};
use treering::agent::{Agent, Append, EnvelopeRequest, NewEntry, Reach, RecallQuery};
use treering::inspect::agent::session::{Captured, end_session, learn, summarise};
use treering::inspect::digest::{sha256, to_hex};
use treering::inspect::ingest::is_of_program;
use treering::{Error, ErrorCode, Memory, Origin, Result};
use treering_text::recall::WEAK;

/// The variables that a client sets for the commands of its agent, and not for hooks. The plugin for opencode takes
/// `OPENCODE` away, and Copilot CLI sets `COPILOT_CLI` for its hooks, too.
const OF_AGENT: [&str; 9] = [
    "CLAUDECODE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "COPILOT_AGENT",
    "COPILOT_AGENT_SESSION_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
];
/// The number of answers after which a client without an event for the end of a session gets an episode in any case, and the
/// steps in which later ones do. The next session makes up for the rest.
const EPISODE_AT: (u64, u64) = (4, 8);
/// The longest time that the end of a session waits for a client that writes its transcript late.
const LATE_MAX: Duration = Duration::from_millis(400);
/// The longest question for recall, in bytes.
const QUESTION_BYTES_MAX: usize = 2_000;
/// The longest text of an entry, in bytes.
const TEXT_BYTES_MAX: usize = 512 << 10;
/// How many more items are asked for than shown, because the conversation may have some of them.
const SPARE: usize = 20;

/// The options of `hook`.
pub(crate) struct Capture {
    pub(crate) client: HookClient,
    /// The size of the context at the start of a session, in tokens.
    pub(crate) budget: usize,
    /// The number of items that a prompt gets.
    pub(crate) hits: usize,
    /// The size of the context of a prompt, in tokens.
    pub(crate) hits_budget: usize,
    /// Whether rules and decisions in prompts become facts.
    pub(crate) learns: bool,
    /// Whether the texts that tools read from outside are stored.
    pub(crate) with_tool_texts: bool,
    pub(crate) deadline: Deadline,
}

impl Capture {
    /// Handles an event. Returns the context for the agent, if there is one.
    ///
    /// # Errors
    /// The errors of the store. `Denied` for an event that comes from a command of the agent (HKC-1).
    pub(crate) fn handle(&self, context: &mut Context, event: &Event) -> Result<Option<String>> {
        let mut set = OF_AGENT.iter().filter(|name| is_set(name));
        if let Some(variable) = set.find(|name| !is_of_hook(self.client, name)) {
            // INVARIANT HKC-1: a command of the agent can send events, too, and its texts are not the person's.
            let text = format!("{variable} is set, so this event comes from a command of the agent");
            return Err(Error::denied(ErrorCode::NotAPerson, text));
        }
        if matches!(event.what, Happened::Other) {
            return Ok(None);
        }
        let mut state = State::of(self.client, &event.session, &self.deadline)?;
        let folder = state.enter(self.client, event)?;
        let is_prompt = matches!(event.what, Happened::Prompt { .. });
        let class = if is_prompt {
            Origin::DirectUser
        } else {
            Origin::Host
        };
        let options = &mut context.options;
        options.lane.session = Some(event.session.clone());
        options.lane.actor = Some(self.client.name().to_owned());
        options.trust = Some(named_class()?.map_or(class, |named| Origin::least(named, class)));
        options.wait.get_or_insert(self.deadline.left());
        if let Some(folder) = folder {
            env::set_current_dir(folder)
                .map_err(|error| Error::io("entering the folder of the client", error))?;
        }
        match &event.what {
            Happened::Other => Ok(None),
            Happened::Start => self.start(context, event, &mut state),
            Happened::Prompt { text, name } => self.prompt(context, event, &mut state, text, name.as_deref()),
            Happened::Tool(call) => self.tool(context, event, &mut state, call).map(|()| None),
            Happened::Stop { said, name } => {
                let said = said.as_deref().map(|said| (said, name.as_deref()));
                self.keep(context, event, &mut state, said).map(|()| None)
            }
            Happened::Compact => self.keep(context, event, &mut state, None).map(|()| None),
            Happened::End => {
                self.wait_for_transcript(event, &state);
                self.keep(context, event, &mut state, None)?;
                sessions::end_session(self.client, &event.session, &here()?).map(|()| None)
            }
        }
    }

    /// Returns what matters at the start of a context.
    fn start(&self, context: &mut Context, event: &Event, state: &mut State) -> Result<Option<String>> {
        let earlier = sessions::note_session(self.client, &event.session, &here()?)?;
        let agent = match context.agent_to_use(false) {
            Err(error) if error.code() == ErrorCode::NoStore => return Ok(None),
            agent => agent?,
        };
        state.use_store(&context.store()?);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != event.session) {
            // What cannot be summarised now does not keep the session from its context.
            drop(self.conclude_earlier(context, &agent, &earlier));
        }
        let view = agent.memory().view();
        let mut request = EnvelopeRequest::new(context.caller().usual_reach()?);
        request.budget_tokens = self.budget;
        request.all_notes = true;
        let envelope = agent.envelope(&view, &request)?;
        state.begin(event.transcript.as_deref());
        for shown in &envelope.shown {
            let version = treering::Id::new(&shown.id).ok().map(|id| view.get(&id));
            state.shown.extend(
                version
                    .transpose()?
                    .flatten()
                    .map(|object| object.digest().to_hex()),
            );
        }
        drop(agent.keep_indexes());
        state.save()?;
        Ok(Some(envelope.text).filter(|text| !text.is_empty()))
    }

    /// Stores a prompt, and returns what answers it well.
    fn prompt(
        &self,
        context: &mut Context,
        event: &Event,
        state: &mut State,
        text: &str,
        name: Option<&str>,
    ) -> Result<Option<String>> {
        // A client also sends its own notes as prompts.
        if text.trim().is_empty() || is_of_program(text) {
            return Ok(None);
        }
        sessions::note_session(self.client, &event.session, &here()?)?;
        let agent = context.agent_to_create(|_| Ok(()))?;
        state.use_store(&context.store()?);
        let found = self.found(context, &agent, event, state, text);
        state.turns += 1;
        state.turn_from = agent.memory().view().commit().commit.seq;
        let length = event.transcript.as_deref().map_or(0, length);
        let name = name.map_or_else(|| format!("at {length}"), str::to_owned);
        let entry = NewEntry {
            text: cut(text),
            speaker: Some("user".to_owned()),
            captured: Captured::AtPrompt(name),
            ..NewEntry::default()
        };
        append(context, &agent, event, vec![entry])?;
        // Else each prompt builds the index again, until a session ends.
        drop(agent.keep_indexes());
        state.save()?;
        found
    }

    /// Returns the items that answer a prompt well and that the conversation does not have.
    fn found(
        &self,
        context: &Context,
        agent: &Agent,
        event: &Event,
        state: &mut State,
        text: &str,
    ) -> Result<Option<String>> {
        if !self.client.takes_context_at_prompt() || self.hits == 0 {
            return Ok(None);
        }
        let view = agent.memory().view();
        let reach = context.caller().usual_reach()?;
        let question = &text[..text.floor_char_boundary(QUESTION_BYTES_MAX)];
        let mut query = RecallQuery::new(question, reach.clone()).limit(self.hits + SPARE);
        query.full = true;
        query.touch = false;
        // Only the question is embedded, so the prompt does not wait for the model.
        query.embeds = false;
        let recalled = agent.recall(&view, &query)?;
        let conversation = state.conversation(event.transcript.as_deref());
        let (mut ids, mut digests) = (Vec::new(), Vec::new());
        // The score of a hit is relative to the best one, which is often an earlier prompt in the same words.
        for hit in recalled.hits.iter().filter(|hit| hit.confidence >= WEAK) {
            let whole = hit.text.as_deref().unwrap_or(&hit.snippet).trim();
            let escaped = serde_json::Value::from(whole).to_string();
            let is_there = conversation.contains(escaped.trim_matches('"')) || text.contains(whole);
            let is_of_transcript = ["entry", "episode", "summary"].contains(&&*hit.kind);
            let is_own = hit.session.as_deref() == Some(&event.session) || is_of_transcript;
            let digest = hit.digest.to_hex();
            if !is_there && !is_own && !state.shown.contains(&digest) && ids.len() < self.hits {
                ids.push(hit.id.clone());
                digests.push(digest);
            }
        }
        if ids.is_empty() {
            return Ok(None);
        }
        let mut request = EnvelopeRequest::new(reach);
        request.budget_tokens = self.hits_budget;
        request.only = Some(ids);
        let envelope = agent.envelope(&view, &request)?;
        state.shown.extend(digests);
        Ok(Some(envelope.text).filter(|text| !text.is_empty()))
    }

    /// Notes what a tool read from outside of the workspace (HKC-2).
    fn tool(&self, context: &mut Context, event: &Event, state: &mut State, call: &Call) -> Result<()> {
        let Some(entry) = self.read(event, state, call) else {
            return Ok(());
        };
        let agent = context.agent_to_create(|_| Ok(()))?;
        if call.name.is_none() && state.unnamed.insert(name_of(call)) {
            state.use_store(&context.store()?);
            state.save()?;
        }
        append(context, &agent, event, vec![entry])
    }

    /// Returns the entry that notes what a tool read from outside.
    fn read(&self, event: &Event, state: &State, call: &Call) -> Option<NewEntry> {
        let source = source_of(self.client, call, &state.workspace(event))?;
        let digest = to_hex(&sha256(call.output.as_bytes()));
        let name = call.name.clone().unwrap_or_else(|| name_of(call));
        let text = match call.output.trim() {
            text if self.with_tool_texts && !text.is_empty() => cut(text),
            _ => format!("read {source} with {}", call.tool),
        };
        Some(NewEntry {
            text,
            speaker: Some("tool".to_owned()),
            source: Some(source),
            digest: Some(digest),
            captured: Captured::Read(name),
            ..NewEntry::default()
        })
    }

    /// Waits until the client has written the last answer, which no later event would keep. The client also writes that
    /// this event began, so the transcript grows in any case.
    fn wait_for_transcript(&self, event: &Event, state: &State) {
        let Some(path) = event.transcript.as_deref().or(state.named.as_deref()) else {
            return;
        };
        let until = Instant::now() + LATE_MAX;
        while self.client.writes_late() && state.has_read(path) && Instant::now() < until {
            thread::sleep(LATE_MAX / 20);
        }
    }

    /// Keeps what is new in the client's transcript, and what the turn leaves. `said` is the last text of the agent with the
    /// name of the turn, for a client without a transcript.
    fn keep(
        &self,
        context: &mut Context,
        event: &Event,
        state: &mut State,
        said: Option<(&str, Option<&str>)>,
    ) -> Result<()> {
        let agent = context.agent_to_create(|_| Ok(()))?;
        state.use_store(&context.store()?);
        if let Some((text, name)) =
            said.filter(|(text, _)| event.transcript.is_none() && !text.trim().is_empty())
        {
            let name = name.map_or_else(|| to_hex(&sha256(text.as_bytes())[..16]), str::to_owned);
            let entry = model_said(text, format!("stop {name}"), None);
            append(context, &agent, event, vec![entry])?;
        }
        state.named = event.transcript.clone().or(state.named.take());
        let transcript = state.named.clone();
        // A transcript that cannot be read costs the transcript only.
        while let Some((read, has_more)) = transcript.as_deref().and_then(|path| state.read(path).ok()) {
            let mut entries = Vec::new();
            for said in &read.said {
                entries.extend(self.entry(event, state, said));
            }
            if !entries.is_empty() {
                append(context, &agent, event, entries)?;
            }
            state.save()?;
            // HKC-4: the next event goes on from here.
            if !has_more || !self.deadline.has_time() {
                break;
            }
        }
        state.is_pending = true;
        let done = self.conclude(context, &agent, event, state);
        drop(agent.keep_indexes());
        state.save()?;
        done?;
        // The server of the client embeds new texts meanwhile. At the end of a session nobody waits.
        if matches!(event.what, Happened::End) && self.deadline.has_time() {
            context.embed_after(&agent, Some(OF_ONE));
        }
        Ok(())
    }

    fn entry(&self, event: &Event, state: &mut State, said: &Said) -> Option<NewEntry> {
        let elsewhere = said.session.clone().filter(|session| *session != event.session);
        let of = elsewhere.clone().unwrap_or_default();
        let entry = match &said.what {
            Spoken::Person { text, time } => NewEntry {
                text: cut(text),
                speaker: Some("user".to_owned()),
                time: *time,
                captured: Captured::AsPrompt(state.number(&format!("user {of}"), text)),
                ..NewEntry::default()
            },
            Spoken::Model { text, name, time } => {
                let number = || format!("said {}", state.number(&format!("assistant {of}"), text));
                model_said(text, name.clone().unwrap_or_else(number), *time)
            }
            Spoken::Called(call) if state.unnamed.contains(&name_of(call)) => return None,
            Spoken::Called(call) => self.read(event, state, call)?,
        };
        Some(NewEntry { elsewhere, ..entry })
    }

    /// Learns from the prompts, summarises at an end, and takes a snapshot if the turn changed the memory.
    fn conclude(&self, context: &Context, agent: &Agent, event: &Event, state: &mut State) -> Result<()> {
        let (session, writer) = (event.session.as_str(), context.writer());
        let mut done = Ok(());
        if self.learns {
            let learnt = learn(agent, &Reach::All, session, &writer).map(drop);
            done = done.and(unless_unknown(learnt));
        }
        let is_step = state.turns <= EPISODE_AT.0 || state.turns.is_multiple_of(EPISODE_AT.1);
        let is_last = match event.what {
            Happened::Stop { .. } => !self.client.has_end() && is_step,
            _ => true,
        };
        if is_last {
            done = done.and(summarise_session(context, agent, session));
            state.is_pending = false;
        }
        let memory = agent.memory();
        if is_changed(memory, session, state.turn_from)? {
            memory.snapshot(None, &writer)?;
            state.turn_from = memory.view().commit().commit.seq;
        }
        done
    }

    /// Summarises the session before this one, if its client did not tell its end.
    fn conclude_earlier(&self, context: &mut Context, agent: &Agent, earlier: &str) -> Result<()> {
        if State::peek(self.client, earlier).is_pending && self.deadline.has_time() {
            let present = context.options.lane.session.replace(earlier.to_owned());
            let done = summarise_session(context, agent, earlier);
            context.options.lane.session = present;
            done?;
        }
        Ok(())
    }
}

/// Makes the episode of a session, and the summaries of its past days.
fn summarise_session(context: &Context, agent: &Agent, session: &str) -> Result<()> {
    let writer = context.writer();
    let no_text = |_: &_| None;
    let summarised = summarise(agent, &Reach::All, session, &no_text, &writer).map(drop);
    // The episode is the newer one, so the next session begins with it.
    let ended = end_session(agent, &Reach::All, session, None, Some(false), &writer).map(drop);
    unless_unknown(summarised).and(unless_unknown(ended))
}

/// Returns the folder in which the session works.
fn here() -> Result<PathBuf> {
    env::current_dir().map_err(|error| Error::io("reading the current folder", error))
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Checks whether a client sets a variable for its hooks, too, and this process is one. Claude Code 2.1.332 does: `AI_AGENT`
/// then ends with `_harness`, and for a command of the agent with `_agent`. Only hooks have `CLAUDE_PROJECT_DIR`.
fn is_of_hook(client: HookClient, variable: &str) -> bool {
    let agent = env::var("AI_AGENT").unwrap_or_default();
    client == HookClient::ClaudeCode
        && variable == "CLAUDECODE"
        && is_set("CLAUDE_PROJECT_DIR")
        && (agent.is_empty() || agent.ends_with("_harness"))
}

/// Appends entries to the session of an event.
fn append(context: &Context, agent: &Agent, event: &Event, entries: Vec<NewEntry>) -> Result<()> {
    let append = Append {
        session: event.session.clone(),
        usual_scope: context.caller().scope(None)?,
        // The client may have changed its folder since the session began.
        reach: Reach::All,
        entries,
        ..Append::default()
    };
    agent.append(&append, &context.writer()).map(drop)
}

/// Returns a name for a call without one. Copilot CLI writes the name of a tool in capitals or not.
fn name_of(call: &Call) -> String {
    let text = format!("{} {}", call.tool.to_lowercase(), call.input);
    to_hex(&sha256(text.as_bytes())[..16])
}

fn model_said(text: &str, name: String, time: Option<treering::Time>) -> NewEntry {
    NewEntry {
        text: cut(text),
        speaker: Some("assistant".to_owned()),
        time,
        key: Some(name),
        captured: Captured::Said,
        ..NewEntry::default()
    }
}

/// Checks whether the session has committed since the turn began.
fn is_changed(memory: &Memory, session: &str, since: u64) -> Result<bool> {
    for info in memory.commits() {
        let info = info?;
        if info.commit.seq <= since {
            break;
        }
        if info.lane() == session {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A session of which nothing was kept yet has no object, so there is nothing to conclude.
fn unless_unknown(done: Result<()>) -> Result<()> {
    done.or_else(|error| match error.code() {
        ErrorCode::NoSession => Ok(()),
        _ => Err(error),
    })
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

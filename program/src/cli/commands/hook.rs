//! `hook`: handles an event of a coding agent.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::agent_context::is_switched_off;
use crate::cli::capture::{Capture, Deadline};
use crate::cli::commands::prelude::*;
use crate::cli::output;
use crate::hook::{HookClient, json_of};

/// The largest event in bytes. A tool may give back a large page.
const EVENT_BYTES_MAX: u64 = 64 << 20;

/// Handle an event of a coding agent
///
/// Reads one event of the client as JSON on standard input, and prints the client's answer. `treering install CLIENT`
/// makes the client call this.
///
/// # Notes
/// At the start of a session, the agent gets the context of `envelope`. With a prompt, it gets the items that answer the
/// prompt well. The prompts and the answers become entries of the session, whose name is the client's. Each text that
/// a tool reads from outside the folder is noted with its source, and taints the session. Any fault is one line on
/// standard error and an empty answer, and the exit code is always 0. `TREERING_DISABLE` switches hooks off.
///
/// # Examples
/// ```text
/// treering hook --client claude-code < event.json
/// treering hook --client codex --learn --budget 800 < event.json
/// ```
#[derive(Args, Debug)]
#[command(args = args::waits(), hide = true, verbatim_doc_comment)]
pub(crate) struct Hook {
    /// The client whose event it is
    #[arg(long, value_name = "CLIENT")]
    client: HookClient,
    /// Give at most TOKENS tokens at the start of a session
    #[arg(long, value_name = "TOKENS", default_value_t = 1_500)]
    budget: usize,
    /// Give at most K items with a prompt; 0 gives none
    #[arg(long, value_name = "K", default_value_t = 3)]
    hits: usize,
    /// Give at most TOKENS tokens with a prompt
    #[arg(long, value_name = "TOKENS", default_value_t = 400)]
    hits_budget: usize,
    /// Store the rules and decisions in prompts as facts, at most five a session
    #[arg(long)]
    learn: bool,
    /// Also store the texts that tools read from outside, not only their digests
    #[arg(long)]
    tool_texts: bool,
}

impl Verb for Hook {
    fn run(self, context: &mut Context) -> Done {
        context.output.is_quiet = true;
        let nothing = self.client.wants_document().then_some("{}");
        let deadline = Deadline::start(nothing);
        let answer = match self.given(context, deadline) {
            Ok(given) => given.map(|given| given.to_string()),
            Err(error) => {
                output::fault(error.message());
                None
            }
        };
        if let Some(answer) = answer.as_deref().or(nothing) {
            context.output.text(&format!("{answer}\n"))?;
        }
        Ok(DONE)
    }
}

impl Hook {
    /// Handles the event. Returns the answer of the client, if there is one.
    fn given(&self, context: &mut Context, deadline: Deadline) -> Result<Option<serde_json::Value>> {
        let bytes = read_input(context, Path::new("-"), EVENT_BYTES_MAX)?;
        if is_switched_off() {
            return Ok(None);
        }
        let json =
            json_of(&bytes).map_err(|error| Error::invalid(format!("standard input is no JSON: {error}")))?;
        let event = self.client.event(json)?;
        let capture = Capture {
            client: self.client,
            budget: self.budget,
            hits: self.hits,
            hits_budget: self.hits_budget,
            learns: self.learn,
            with_tool_texts: self.tool_texts,
            deadline,
        };
        let given = capture.handle(context, &event)?;
        Ok(given.and_then(|given| self.client.answer(&event.what, &given)))
    }
}

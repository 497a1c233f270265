//! `serve`: answers the clients of an agent.
//!
//! # Layer
//! Layer 10, part of cli.

use std::io;

use super::prelude::*;
use crate::agent::refuse_secret_name;
use crate::cli::args::LaneOptions;
use crate::serve::mcp::{self, Serving};
use crate::serve::operations::Profile;
use crate::serve::service::{TOKENS_LEAST, TOKENS_MAX};
use crate::serve::{Caller, Service};

/// The number of random bytes in the name of a session.
const NAME_BYTES: usize = 4;

/// Serve the memory to an agent
///
/// With --mcp, answers one client of the Model Context Protocol on standard input and output.
///
/// # Notes
/// The client starts the program. Each client has its own process; many processes share one store. The writer is a
/// model unless --trust names another class, and the client cannot change that. Without --session, each process has a
/// session of its own, named after the client; treering revert --session NAME takes back what it wrote.
///
/// # Examples
/// ```text
/// treering serve --mcp
/// treering serve --mcp --scope project:tea --session night-run
/// treering serve --mcp --profile minimal --max-tokens 800
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Speak the Model Context Protocol on standard input and output
    #[arg(long, required = true)]
    mcp: bool,
    /// The tools: minimal (4), default (8) or full (15)
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    profile: Profile,
    /// The only scope that the client reads and writes: global, project, or a name such as project:tea [default: global
    /// and the project of this folder]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// The largest answer, in tokens of about four characters
    #[arg(long, value_name = "N", default_value_t = TOKENS_MAX)]
    max_tokens: usize,
}

impl Verb for Serve {
    fn run(self, context: &mut Context) -> Done {
        if context.kept.is_some() {
            return Err(usage_error(
                "the shell cannot serve a client",
                "run treering serve outside of the shell",
            ));
        }
        if self.max_tokens < TOKENS_LEAST {
            let text = format!("--max-tokens {} is too small", self.max_tokens);
            return Err(usage_error(text, format!("give at least {TOKENS_LEAST}")));
        }
        let LaneOptions { session, actor } = context.lane_options();
        for (what, name) in [
            ("the session", &session),
            ("the actor", &actor),
            ("the scope", &self.scope),
        ] {
            refuse_secret_name(what, name.as_deref().unwrap_or_default())?;
        }
        context.serves = true;
        let agent = context.agent_to_create(|_| Ok(()))?;
        let caller = Caller {
            place: context.place(),
            scope: self.scope,
            names_session: session.is_none(),
            session: match session {
                Some(session) => session,
                None => fresh_name(agent.memory())?,
            },
            actor,
            // TREERING_TRUST is the class of the person or program that starts the server, and not that of its client.
            trust: context.options.trust.unwrap_or(Origin::Model),
            tokens_max: self.max_tokens,
        };
        // A bad scope is an error now, not in each answer.
        Service::new(agent.clone(), caller.clone()).scope(None)?;
        let serving = Serving {
            agent: agent.clone(),
            caller,
            profile: self.profile,
        };
        mcp::serve(serving, io::stdin(), io::stdout())?;
        // The indexes are derived, so a failed save only makes the next run slower.
        drop(agent.keep_indexes());
        Ok(DONE)
    }
}

/// Returns a name that no other process has, made of the time and random bytes.
fn fresh_name(memory: &Memory) -> Result<String> {
    let mut bytes = [0; NAME_BYTES];
    memory.random(&mut bytes)?;
    Ok(name_of(Time::now(), bytes))
}

/// Returns a name such as `20261126-101500-04821-30937`. The scan takes no such name for a secret, because its parts are
/// short numbers.
fn name_of(time: Time, [a, b, c, d]: [u8; NAME_BYTES]) -> String {
    let time = time.to_string();
    let digits: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, hour) = digits.split_at(digits.len().min(8));
    let (one, two) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    format!("{day}-{hour}-{one:05}-{two:05}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Scanner, VerdictTable};

    #[test]
    fn the_scan_takes_no_fresh_name_for_a_secret() {
        let scanner = Scanner::new(VerdictTable::default(), [0; 32]);
        let mut state = 7_u64;
        for number in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [bytes @ .., _, _, _, _] = state.to_be_bytes();
            let name = name_of(
                Time::from_micros(1_795_000_000_000_000 + number * 7_919_000_000),
                bytes,
            );
            for text in [
                format!("session: {name}"),
                format!("session=claude-code-{name}"),
                format!("session_id: tea-client-{name}"),
                format!("sid=x-{name}"),
                name.clone(),
            ] {
                assert_eq!(scanner.redact(&text), text);
            }
        }
    }
}

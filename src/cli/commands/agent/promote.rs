//! `promote`: a person trusts an item.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::io::{self, IsTerminal as _};

use serde_json::json;

use crate::agent::trust::PersonSays;
use crate::cli::commands::closing::print_committed;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::one_line;
use crate::cli::json::with_commit;
use crate::cli::output::Meaning;
use crate::digest::ObjectDigest;
use crate::error::Error;
use crate::object::Id;

/// Trust an item, as a person
///
/// A person does it who has read the item.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "It becomes a new version that names the one that was looked at. At a terminal it is shown, and you are asked; \
                  elsewhere --yes is needed. A program must not do it for a person.\n\n\
                  Examples:\n  treering promote facts/office\n  \
                  treering promote facts/office --digest 5f0c... --yes -m 'I checked it'"
)]
pub(crate) struct Promote {
    /// The item
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The version that you looked at, all 64 digits; another one is not promoted [default: the present one]
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// Do it without asking: a person gives this, not a program for one
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Verb for Promote {
    const NAME: &'static str = "promote";

    fn run(self, context: &mut Context) -> Done {
        promote(context, &self)
    }
}

fn promote(context: &mut Context, verb: &Promote) -> Done {
    let id = Id::new(&verb.id)?;
    let agent = context.agent_to_write()?;
    let expected = match &verb.digest {
        Some(text) => text.parse::<ObjectDigest>().map_err(|_| {
            Failure::usage(
                "--digest is not 64 hexadecimal digits",
                "get shows the digest of an item",
            )
        })?,
        None => {
            let found = agent.memory().view().get(&id)?;
            let found = found.ok_or_else(|| Error::not_found(format!("there is no item '{id}'")))?;
            found.digest()
        }
    };
    let question = match agent.memory().version(expected)? {
        Some(object) => {
            let text = one_line(object.content().unwrap_or_default());
            format!("{id}, {}: {text}\npromote it?", object.origin())
        }
        None => format!("promote {id}?"),
    };
    let says = person(context, verb.yes, &question, "promoted")?;
    let promoted = agent.promote(&id, expected, says, &context.writer())?;
    if context.output.is_json() {
        let document = json!({
            "id": id.as_str(),
            "digest": promoted.digest.to_hex(),
            "promoted": expected.to_hex(),
            "from": promoted.from.name(),
            "to": promoted.to.name(),
        });
        context
            .output
            .document(&with_commit(document, &promoted.committed.commit))?;
    } else {
        let name = context.output.paint(Meaning::Name, &id);
        let what = if promoted.committed.changed {
            format!("{name}: from {} to {}", promoted.from, promoted.to)
        } else {
            format!("{name} is {} already", promoted.from)
        };
        print_committed(context, agent.memory(), &promoted.committed, &what)?;
    }
    Ok(DONE)
}

/// How it is known that a person asks: by `--yes`, or because somebody at a terminal answers the question.
pub(super) fn person(
    context: &mut Context,
    yes: bool,
    question: &str,
    done: &str,
) -> Result<PersonSays, Failure> {
    if yes {
        return Ok(PersonSays::ByOption);
    }
    let refused = || {
        Failure::usage(
            format!("nothing was {done}: a person has to say so"),
            "answer at a terminal, or give --yes if you are that person",
        )
    };
    let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal() && !context.output.is_json();
    if !is_asked {
        return Err(refused());
    }
    context.output.note("question", format!("{question} [y/N]"));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Error::io("reading the answer", error))?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(PersonSays::AtTerminal)
    } else {
        Err(refused())
    }
}

//! `promote`: a person marks an item as trusted.
//!
//! # Layer
//! Layer 10, part of cli.

use std::io;

use crate::agent::trust::PersonSays;
use crate::answers::agent::items::ItemPromoted;
use crate::cli::commands::prelude::*;

/// Trust an item, as a person
///
/// Run this verb only after a person has read the item.
///
/// # Notes
/// Writes a new version that refers to the reviewed version. At a terminal, shows the item and asks for consent;
/// elsewhere --yes is needed. A program must not promote on a person's behalf.
///
/// # Examples
/// ```text
/// treering promote facts/office
/// treering promote facts/office --digest 5f0c... --yes -m 'I checked it'
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Promote {
    /// The id of the item
    pub(crate) id: String,
    /// The digest of the version that you read, all 64 digits; only this version is promoted [default: the current
    /// version]
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<ObjectDigest>,
    /// Skip the question. Only a person may pass this option, not a program on a person's behalf
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Verb for Promote {
    const ANSWERS: &'static [Form] = &[form::<ItemPromoted>("")];

    fn run(self, context: &mut Context) -> Done {
        let id = Id::new(&self.id)?;
        let agent = context.agent_to_write()?;
        let seen = match self.digest {
            Some(digest) => digest,
            None => {
                let found = agent.memory().view().get(&id)?;
                let found = found.ok_or_else(|| Error::not_found(format!("there is no item '{id}'")))?;
                found.digest()
            }
        };
        let question = match agent.memory().version(seen)? {
            Some(object) => {
                let text = one_line(object.content().unwrap_or_default());
                format!("{id}, {}: {text}\npromote it?", object.origin())
            }
            None => format!("promote {id}?"),
        };
        let says = person(context, self.yes, &question, "promoted")?;
        let promoted = agent.promote(&id, seen, says, &context.writer())?;
        let name = context.output.paint(Meaning::Name, &id);
        let is_new = promoted.committed.changed;
        let what = match (promoted.from, promoted.to) {
            (from, to) if is_new => format!("{name}: raised the origin from {from} to {to}"),
            (from, _) => format!("{name} already has the origin {from}"),
        };
        let answer = ItemPromoted {
            id,
            digest: promoted.digest,
            promoted: seen,
            from: promoted.from,
            to: promoted.to,
            commit: promoted.committed.commit,
        };
        context.say_commit(&answer, &what, &answer.commit, is_new)
    }
}

/// Returns the consent of a person, from `--yes` or from an answer at the terminal. Fails without consent.
pub(super) fn person(context: &mut Context, yes: bool, question: &str, done: &str) -> Result<PersonSays> {
    if yes {
        return Ok(PersonSays::ByOption);
    }
    let refused = || {
        usage_error(
            format!("nothing was {done}: a person must confirm this action"),
            "answer y at a terminal; a person, but not a program, may pass --yes instead",
        )
    };
    if !context.output.can_ask() {
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

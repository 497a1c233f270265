//! `promote`: a person marks an item as trusted.
//!
//! # Layer
//! Layer 10, part of cli.

use super::review::review_lines;
use crate::cli::commands::prelude::*;
use treering::agent::{PersonSays, Promoted, Review};

/// Trust an item, as a person
///
/// Run this verb only after a person has read the item.
///
/// # Notes
/// Shows the whole text, with invisible characters written out, and every field that takes effect on its own, such as
/// pinned, supersedes, source or expires. Writes a new version with the text and the fields of --keep, which refers to
/// the reviewed version. At a terminal, asks for consent; elsewhere --yes is needed. A program must not promote on a
/// person's behalf.
///
/// # Examples
/// ```text
/// treering promote facts/office --dry-run
/// treering promote facts/office --keep pinned
/// treering promote facts/office --digest 5f0c... --yes -m 'I checked it'
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Promote {
    /// The id of the item
    pub(crate) id: String,
    /// Keep a field that takes effect on its own; may be repeated. Other such fields are dropped
    #[arg(long, value_name = "FIELD")]
    pub(crate) keep: Vec<String>,
    /// Print what would take effect, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The digest of the version that you read, all 64 digits; only this version is promoted [default: the current
    /// version]
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<ObjectDigest>,
    /// Skip the question. Only a person may pass this option, not a program on a person's behalf
    #[arg(long)]
    pub(crate) yes: bool,
}

impl Verb for Promote {
    const ANSWERS: &'static [Form] = &[form::<Promoted>(""), form::<Review>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_change(self.dry_run)?;
        let named_by = context.by_hand(agent.memory(), &agent.memory().view(), &self.id, "review")?;
        let id = named_by.id.clone();
        let review = agent.review(&id, self.digest);
        let review = review.map_err(|error| named_by.told(error))?;
        if self.dry_run {
            return context.answer(&review, |review, context| {
                let lines = review_lines(review);
                lines.iter().try_for_each(|line| context.line(line))
            });
        }
        context.note_for_people("review", review_lines(&review).join("\n"));
        let says = person(context, self.yes, &format!("promote {id}?"), "promoted")?;
        let keep: Vec<&str> = self.keep.iter().map(String::as_str).collect();
        let promoted = agent.promote(&id, review.digest, &keep, says, &context.writer())?;
        let name = context.output.paint(Meaning::Name, &id);
        let is_new = promoted.committed.changed;
        let what = match (promoted.from, promoted.to) {
            (from, to) if is_new => format!("{name}: raised the origin from {from} to {to}"),
            (from, _) => format!("{name} already has the origin {from}"),
        };
        context.say_commit(&promoted, &what, &promoted.committed.commit, is_new)?;
        if !promoted.dropped.is_empty() {
            let dropped = promoted.dropped.join(", ");
            let text = format!("the promoted version lacks the fields {dropped}; --keep FIELD keeps a field");
            context.note("dropped", text);
        }
        Ok(DONE)
    }
}

/// Returns the consent of a person, from `--yes` or from an answer at the terminal. Fails without consent.
pub(in crate::cli) fn person(
    context: &mut Context,
    yes: bool,
    question: &str,
    done: &str,
) -> Result<PersonSays> {
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
    if context.output.ask_yes(question)? {
        Ok(PersonSays::AtTerminal)
    } else {
        Err(refused())
    }
}

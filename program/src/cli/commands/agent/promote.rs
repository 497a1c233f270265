//! `promote`: a person marks an item as trusted.
//!
//! # Layer
//! Layer 10, part of cli.

use super::review::review_lines;
use crate::cli::commands::prelude::*;
use treering::agent::{Agent, PersonSays, Promoted, Review};

/// Trust items, as a person
///
/// Run this verb only after a person has read the items.
///
/// # Notes
/// Without an id, --session names a session, and every item that the session wrote and that is less trusted is meant, without
/// its transcript. Each item is one commit.
///
/// Shows the whole text, with invisible characters written out, and every field that takes effect on its own, such as
/// pinned, supersedes, source or expires. Writes a new version with the kind, the text and the fields of --keep, which
/// refers to the reviewed version. At a terminal, asks for consent; elsewhere --yes is needed. A program must not promote on a
/// person's behalf.
///
/// # Examples
/// ```text
/// treering promote facts/office --dry-run
/// treering promote facts/office --keep pinned
/// treering promote facts/office --digest 5f0c... --yes -m 'I checked it'
/// treering promote facts/office facts/phone
/// treering promote --session 7f3c0a52 --dry-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Promote {
    /// The ids of the items [default: with --session, what the session wrote]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
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
    const ANSWERS: &'static [Form] = &[
        form::<Promoted>("one per item"),
        form::<Review>("with --dry-run, one per item"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_change(self.dry_run)?;
        let reviews = self.reviews(context, &agent)?;
        if self.dry_run {
            return reviews
                .iter()
                .try_for_each(|review| {
                    let shown = context.answer(review, |review, context| {
                        let lines = review_lines(review);
                        lines.iter().try_for_each(|line| context.line(line))
                    });
                    shown.map(drop)
                })
                .map(|()| DONE);
        }
        let unknown = self.keep.iter().find(|field| {
            let mut acts = reviews.iter().flat_map(|review| &review.acts);
            // Every item keeps its kind.
            *field != "kind" && !acts.any(|act| act.field == **field)
        });
        if let Some(unknown) = unknown.filter(|_| reviews.len() > 1) {
            let text = format!("no item has the field '{}' to keep", one_line(unknown));
            return Err(usage_error(text, "use a field that --dry-run names"));
        }
        for review in &reviews {
            context.note_for_people("review", review_lines(review).join("\n"));
        }
        let what = match reviews.as_slice() {
            [one] => one.id.to_string(),
            more => counted(more.len() as u64, "item"),
        };
        let says = person(context, self.yes, &format!("promote {what}?"), "promoted")?;
        for review in &reviews {
            self.promote(context, &agent, review, says)?;
        }
        Ok(DONE)
    }
}

impl Promote {
    /// Returns the reviews of the named items, or of what the session wrote.
    fn reviews(&self, context: &mut Context, agent: &Agent) -> Result<Vec<Review>> {
        if self.digest.is_some() && self.ids.len() != 1 {
            let text = "--digest names the version of one item";
            return Err(usage_error(text, "name one id, or omit --digest"));
        }
        if self.ids.is_empty() {
            let Some(session) = context.lane_options().session else {
                return Err(usage_error(
                    "no item is named",
                    "name an id, or a session with --session",
                ));
            };
            let reviews = agent.reviews_of_session(&session)?;
            if reviews.is_empty() {
                let text = format!(
                    "the session '{}' wrote no item that is less trusted",
                    one_line(&session)
                );
                return Err(Error::not_found(text).with_code(ErrorCode::NothingSelected));
            }
            return Ok(reviews);
        }
        let view = agent.memory().view();
        let mut reviews = Vec::new();
        for id in &self.ids {
            let named_by = context.by_hand(agent.memory(), &view, id, "review")?;
            let review = agent.review(&named_by.id, self.digest);
            reviews.push(review.map_err(|error| named_by.told(error))?);
        }
        Ok(reviews)
    }

    fn promote(&self, context: &mut Context, agent: &Agent, review: &Review, says: PersonSays) -> Result<()> {
        // What only some of the items have is kept where it is.
        let acts = |field: &str| self.ids.len() == 1 || review.acts.iter().any(|act| act.field == field);
        let keep: Vec<&str> = self
            .keep
            .iter()
            .map(String::as_str)
            .filter(|field| acts(field))
            .collect();
        let promoted = agent.promote(&review.id, review.digest, &keep, says, &context.writer())?;
        let name = context.output.paint(Meaning::Name, &review.id);
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
        Ok(())
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
        let text = format!("nothing was {done}: the answer was no");
        Err(Error::invalid(text).with_code(ErrorCode::Usage))
    }
}

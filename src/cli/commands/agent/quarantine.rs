//! `quarantine`: lists quarantined changes, and releases or discards a change for a person.
//!
//! # Layer
//! Layer 10, part of cli.

use super::promote::person;
use super::recall::note_reach;
use crate::agent::Agent;
use crate::agent::guard::ChangedObject;
use crate::agent::trust::{Quarantined, held_objects, preview};
use crate::answers::agent::items::{HeldDiscarded, HeldReleased};
use crate::cli::agent_context::is_switched_off;
use crate::cli::commands::prelude::*;

/// The number of objects that the question before a release shows.
const ASKED_MAX: usize = 200;
/// The number of characters of each text that the question before a release shows.
const ASKED_CHARS: usize = 100;

/// List the quarantined changes
///
/// Also releases or discards a quarantined change.
///
/// # Notes
/// The quarantine stores equal changes once, and at most 200 entries. A further entry replaces the oldest entry of the
/// writer with the most entries, and the reason of the new entry names the replaced entry. gc drops entries older than
/// 7 days. A release does not raise the trust of an entry; promote does.
///
/// # Examples
/// ```text
/// treering quarantine
/// treering quarantine --release 17 --yes
/// treering quarantine --discard 17
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Quarantine {
    /// Commit the quarantined change with this name, with its original trust
    #[arg(long, value_name = "NAME", conflicts_with_all = ["discard", "scopes", "all_scopes"])]
    pub(crate) release: Option<String>,
    /// Discard the quarantined change with this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) discard: Option<String>,
    /// Release without asking. Only a person may pass this option, not a program on a person's behalf
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
}

impl Verb for Quarantine {
    const ANSWERS: &'static [Form] = &[
        form::<Quarantined>("one per line"),
        form::<HeldReleased>("with --release"),
        form::<HeldDiscarded>("with --discard"),
    ];

    fn run(self, context: &mut Context) -> Done {
        if is_switched_off() && (self.release.is_some() || self.discard.is_some()) {
            return context.answer_disabled();
        }
        if let Some(name) = self.release {
            return release(context, name, self.yes);
        }
        if let Some(name) = self.discard {
            let agent = context.agent_to_write()?;
            agent.discard(&name, &context.writer())?;
            let (text, discarded) = (format!("discarded {name}"), true);
            return context.say(&HeldDiscarded { name, discarded }, text);
        }
        let agent = context.agent_to_read()?;
        let reach = context.reach(&self.scopes)?;
        let all = agent.quarantined(&reach)?;
        if all.is_empty() {
            note_reach(context, &reach, "");
        }
        context.table(
            all.into_iter().map(Ok),
            &["name", "ids_total", "time", "reason", "preview"],
        )
    }
}

fn release(context: &mut Context, name: String, yes: bool) -> Done {
    let agent = context.agent_to_write()?;
    let objects = held_objects(&agent, &name)?;
    let says = person(context, yes, &question(&agent, &name, &objects), "released")?;
    let committed = agent.release(&name, says, &context.writer())?;
    let answer = HeldReleased {
        name,
        released: true,
        ids: objects.into_iter().map(|one| one.id).collect(),
        commit: committed.commit,
    };
    let count = counted(answer.ids.len() as u64, "object");
    let what = format!("released {} with {count}", answer.name);
    context.say_commit(&answer, &what, &answer.commit, committed.changed)
}

/// Returns the question to a person. The question shows the first objects of the change, and the number of the other
/// objects.
fn question(agent: &Agent, name: &str, objects: &[ChangedObject]) -> String {
    let mut lines = vec![format!("{name}: {}", counted(objects.len() as u64, "object"))];
    lines.extend(objects.iter().take(ASKED_MAX).map(|one| {
        let text = match one.new {
            Some(_) => cut(&preview(agent, one.text()), ASKED_CHARS),
            None => "is removed".to_owned(),
        };
        printable(&format!("{} ({}): {text}", one.id, one.scope()))
    }));
    if let more @ 1.. = objects.len().saturating_sub(ASKED_MAX) {
        lines.push(format!(
            "and {} more, which are not shown",
            counted(more as u64, "object")
        ));
    }
    lines.push("release the whole change?".to_owned());
    lines.join("\n")
}

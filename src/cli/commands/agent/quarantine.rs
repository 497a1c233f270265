//! `quarantine`: lists quarantined texts, for a person to release or discard.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fmt::Write as _;

use super::promote::person;
use crate::agent::trust::{HeldObject, Quarantined};
use crate::answers::agent::items::{HeldDiscarded, HeldReleased};
use crate::cli::agent_context::{Disabled, ScopeOptions, is_switched_off, show_disabled};
use crate::cli::commands::prelude::*;
use crate::cli::output::printable;

/// The number of objects that a person sees before a release, and the number of characters of each text.
const ASKED_MAX: usize = 200;
const ASKED_CHARS: usize = 100;

/// List what is in quarantine
///
/// Quarantined texts can be released or discarded.
///
/// # Notes
/// Equal changes are kept once. The quarantine holds 200 entries; then the writer with most entries loses the oldest,
/// and the reason of the newest names it. gc drops entries older than 7 days. Releasing an entry does not raise its
/// trust; promote does.
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
    /// Commit the quarantined change with this name, with the trust that it had
    #[arg(long, value_name = "NAME", conflicts_with_all = ["discard", "scopes", "all_scopes"])]
    pub(crate) release: Option<String>,
    /// Discard the quarantined change with this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) discard: Option<String>,
    /// Release without asking. Only a person may pass this, not a program on a person's behalf
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
}

impl Verb for Quarantine {
    const NAME: &'static str = "quarantine";
    const ANSWERS: &'static [Form] = &[
        form::<Quarantined>("one per line"),
        form::<HeldReleased>("with --release"),
        form::<HeldDiscarded>("with --discard"),
    ];

    fn run(self, context: &mut Context) -> Done {
        if is_switched_off() && (self.release.is_some() || self.discard.is_some()) {
            return context.answer(&Disabled::new(), show_disabled);
        }
        if let Some(name) = self.release {
            return release(context, name, self.yes);
        }
        if let Some(name) = self.discard {
            let agent = context.agent_to_write()?;
            agent.discard(&name, &context.writer())?;
            let discarded = true;
            return context.answer(&HeldDiscarded { name, discarded }, show_held_discarded);
        }
        let agent = context.agent_to_read()?;
        let reach = context.reach(&self.scopes)?;
        let all = agent.quarantined(&reach)?;
        if let Some(scopes) = reach.names().filter(|_| all.is_empty()) {
            let text = format!("searched {}; --all-scopes searches all", scopes.join(", "));
            context.output.note("scopes", text);
        }
        context.rows(all.into_iter().map(Ok), columns)
    }
}

fn columns(row: &Quarantined, context: &Context) -> Columns {
    vec![
        ("held back", coloured(Meaning::Name, &row.name)),
        ("objects", number(row.ids_total as u64)),
        ("when", context.when(row.time)),
        ("reason", plain(row.reason.as_deref().unwrap_or_default())),
        ("text", plain(&row.preview)),
    ]
}

fn release(context: &mut Context, name: String, yes: bool) -> Done {
    let agent = context.agent_to_write()?;
    let objects = agent.held_objects(&name)?;
    let says = person(context, yes, &question(&name, &objects), "released")?;
    let committed = agent.release(&name, says, &context.writer())?;
    let answer = HeldReleased {
        name,
        released: true,
        ids: objects.into_iter().map(|one| one.id).collect(),
        commit: committed.commit,
        changed: committed.changed,
    };
    context.answer(&answer, show_held_released)
}

fn show_held_released(answer: &HeldReleased, context: &mut Context) -> Result<(), Failure> {
    let count = counted(answer.ids.len() as u64, "object");
    let what = format!("released {} with {count}", answer.name);
    context.show_commit(&what, &answer.commit, answer.changed)
}

/// Returns the question to a person. It shows everything that would be written, as far as it fits, and the count of the
/// rest.
fn question(name: &str, objects: &[HeldObject]) -> String {
    let mut text = format!("{name}: {}\n", counted(objects.len() as u64, "object"));
    for one in objects.iter().take(ASKED_MAX) {
        let preview = if one.is_removed {
            "is removed"
        } else {
            &one.preview
        };
        let line = format!("{} ({}): {}", one.id, one.scope, cut(preview, ASKED_CHARS));
        text.push_str(&printable(&line));
        text.push('\n');
    }
    let more = objects.len().saturating_sub(ASKED_MAX);
    if more > 0 {
        let more = counted(more as u64, "object");
        let _infallible = writeln!(text, "and {more} that are not shown here");
    }
    text.push_str("release the whole change?");
    text
}

fn show_held_discarded(answer: &HeldDiscarded, context: &mut Context) -> Result<(), Failure> {
    context.line(format_args!("discarded {}", answer.name))
}

//! `quarantine`: lists quarantined changes, and releases or discards a change for a person.
//!
//! # Layer
//! Layer 10, part of cli.

use super::promote::person;
use super::recall::note_reach;
use super::review::review_lines;
use crate::answers::agent::held::HeldReviewed;
use crate::answers::agent::items::{HeldDiscarded, HeldReleased};
use crate::cli::agent_context::is_switched_off;
use crate::cli::commands::prelude::*;
use treering::agent::Quarantined;

/// The number of objects that the question before a release shows.
const ASKED_MAX: usize = 200;

/// List the quarantined changes
///
/// Also releases or discards a quarantined change.
///
/// # Notes
/// Each quarantined object is an entry of its own. The quarantine stores equal changes once, and at most 1,000 entries.
/// A further entry replaces the oldest entry of the writer with the most entries, and the reason of the new entry names
/// the replaced entry. gc drops entries older than 7 days. A release shows the whole texts, with invisible characters written out, and every field that takes effect on
/// its own. It does not raise the trust of an entry; promote does.
///
/// # Examples
/// ```text
/// treering quarantine
/// treering quarantine --release 17 --dry-run
/// treering quarantine --release 17 18 19 --yes
/// treering quarantine --discard 17
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Quarantine {
    /// Commit the quarantined changes with these names, with their original trust
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with_all = ["discard", "scopes", "all_scopes"])]
    pub(crate) release: Vec<String>,
    /// Discard the quarantined changes with these names
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) discard: Vec<String>,
    #[command(flatten)]
    pub(crate) releasing: Releasing,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
}

/// The options of a release.
#[derive(Args, Debug)]
pub(crate) struct Releasing {
    /// Print what the release would change, and change nothing
    #[arg(long, requires = "release", conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Release without asking. Only a person may pass this option, not a program on a person's behalf
    #[arg(long, requires = "release")]
    pub(crate) yes: bool,
}

impl Verb for Quarantine {
    const ANSWERS: &'static [Form] = &[
        form::<Quarantined>("one per line"),
        form::<HeldReleased>("with --release, one per line"),
        form::<HeldReviewed>("with --release --dry-run, one per line"),
        form::<HeldDiscarded>("with --discard, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        if is_switched_off() && !(self.release.is_empty() && self.discard.is_empty()) {
            return context.answer_disabled();
        }
        if !self.release.is_empty() {
            return release(context, self.release, &self.releasing);
        }
        if !self.discard.is_empty() {
            let agent = context.agent_to_write()?;
            for name in self.discard {
                agent.discard(&name, &context.writer())?;
                let (text, discarded) = (format!("discarded {name}"), true);
                context.say(&HeldDiscarded { name, discarded }, text)?;
            }
            return Ok(DONE);
        }
        let agent = context.agent_to_read()?;
        let reach = context.reach(&self.scopes)?;
        let all = agent.quarantined(&reach)?;
        if all.is_empty() {
            note_reach(context, &reach, "");
        }
        let mut all = all;
        for held in &mut all {
            // INVARIANT STX-2: an untrusted text is shown only where asked for.
            held.is_withheld =
                !self.shown.with_untrusted && held.trust.is_some_and(|class| !class.is_trusted());
            if held.is_withheld {
                held.preview = String::new();
            }
        }
        if all.iter().any(|held| held.is_withheld) {
            let text = "untrusted texts are withheld; --with-untrusted shows them, and --release NAME --dry-run shows a whole change";
            context.output.note_for_people("withheld", text);
        }
        let fields = ["name", "ids_total", "time", "trust", "reason", "preview"];
        context.table(all.into_iter().map(Ok), &fields)
    }
}

fn release(context: &mut Context, names: Vec<String>, verb: &Releasing) -> Done {
    let agent = context.agent_to_change(verb.dry_run)?;
    // A name that is not there is told before anything is released.
    let all = names.into_iter().map(|name| HeldReviewed::of(&agent, name));
    let all = all.collect::<Result<Vec<_>>>()?;
    if verb.dry_run {
        for held in &all {
            context.answer(held, |held, context| {
                let lines = held_lines(held, usize::MAX);
                lines.iter().try_for_each(|line| context.line(line))
            })?;
        }
        return Ok(DONE);
    }
    for held in &all {
        context.note_for_people("review", held_lines(held, ASKED_MAX).join("\n"));
    }
    let what = match &all[..] {
        [_] => "release the whole change?",
        _ => "release all of these changes?",
    };
    let says = person(context, verb.yes, what, "released")?;
    for held in all {
        let committed = agent.release(&held.name, says, &context.writer())?;
        let answer = HeldReleased {
            name: held.name,
            released: true,
            ids: held.objects.into_iter().map(|one| one.id).collect(),
            commit: committed.commit,
        };
        let count = counted(answer.ids.len() as u64, "object");
        let what = format!("released {} with {count}", answer.name);
        context.say_commit(&answer, &what, &answer.commit, committed.changed)?;
    }
    Ok(DONE)
}

/// Returns what a release changes as lines: the first `most` objects, and the number of the others.
fn held_lines(held: &HeldReviewed, most: usize) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {}",
        held.name,
        counted(held.objects.len() as u64, "object")
    )];
    lines.extend(held.reason.as_deref().map(one_line));
    for one in held.objects.iter().take(most) {
        lines.push(one_line(&format!("{} {}", one.change.name(), one.id)));
        lines.extend(one.new.iter().flat_map(review_lines));
        if let Some(old) = &one.old {
            lines.push(format!(
                "{} this version:",
                if one.new.is_some() { "replaces" } else { "removes" }
            ));
            lines.extend(review_lines(old));
        }
    }
    if let more @ 1.. = held.objects.len().saturating_sub(most) {
        let more = counted(more as u64, "object");
        lines.push(format!("and {more} more; --dry-run shows all of them"));
    }
    lines
}

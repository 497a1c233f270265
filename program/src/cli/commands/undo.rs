//! `undo` reverses the newest commit of a lane, and `redo` repeats the reversed commit.
//!
//! # Layer
//! Layer 10, part of cli.

use super::diff::show_changes;
use super::gists::Gists;
use super::prelude::*;
use super::rollback::answer_moved;
use crate::answers::commits::{Moved, ReversalPreview};
use crate::cli::human::heading;
use crate::cli::turns::undo_turn;
use treering::inspect::engine::Reversing;
use treering::revert::Reverted;

/// The number of objects that `undo --turn` lists.
const OBJECTS_TOLD: usize = 20;

/// Reverse your last change
///
/// Your last change is the newest commit of your lane. treering redo repeats what was undone.
///
/// # Notes
/// With --turn, all commits of a turn are taken back as one: from a prompt of the person to the next one, as the hooks of a
/// coding agent store them. Without --session, it is the newest turn of any session. If others changed since what the turn
/// wrote, nothing happens, and the exit code is 3.
///
/// # Examples
/// ```text
/// treering undo --dry-run
/// treering undo --session night-run
/// treering undo --turn
/// treering undo --turn=seq:17
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Undo {
    /// Take back the newest turn that stands, or this one
    #[arg(long, value_name = "TURN", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    turn: Option<String>,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Undo {
    const ANSWERS: &'static [Form] = &[
        form::<Moved>(""),
        form::<ReversalPreview>("with --dry-run"),
        form::<UndoneTurn>("with --turn"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match &self.turn {
            Some(turn) => undo_one_turn(context, turn, self.dry_run),
            None => reverse(context, Op::UNDO, self.dry_run),
        }
    }
}

/// The answer of `undo --turn`.
#[derive(Serialize, JsonSchema)]
struct UndoneTurn {
    turn: String,
    session: String,
    #[serde(flatten)]
    counts: ChangeCounts,
    #[serde(flatten)]
    reverted: Reverted,
}

fn undo_one_turn(context: &mut Context, turn: &str, dry_run: bool) -> Done {
    let memory = context.open_to_plan(dry_run)?;
    let session = context.lane_options().session;
    let name = Some(turn).filter(|turn| !turn.is_empty());
    let (turn_read, reverted) = undo_turn(&memory, session.as_deref(), name, dry_run, &context.writer())?;
    let sides = reverted.reverted.iter();
    let answer = UndoneTurn {
        counts: ChangeCounts::of(sides.map(|object| (object.from.is_some(), object.to.is_some()))),
        turn: turn_read.turn.clone(),
        session: turn_read.session.clone(),
        reverted,
    };
    let counts = context.counts_line(answer.counts);
    let gists = Gists::new(context, &memory, None);
    let prompt = turn_read
        .prompt
        .as_ref()
        .map(|prompt| format!(" ({})", cut(&gists.of(prompt), GIST_CHARS)));
    let prompt = prompt.unwrap_or_default();
    let what = if dry_run { "would take back" } else { "took back" };
    let (turn, session) = (&answer.turn, one_line(&answer.session));
    let text = format!("{what} the turn {turn}{prompt} of {session}: {counts}");
    context.answer(&answer, |answer, context| {
        context.line(&text)?;
        for object in answer.reverted.reverted.iter().take(OBJECTS_TOLD) {
            let (sign, meaning) = match (object.from, object.to) {
                (Some(_), None) => ("-", Meaning::Bad),
                (None, _) => ("+", Meaning::Good),
                _ => ("~", Meaning::Changed),
            };
            let version = object
                .from
                .or(object.to)
                .map(|digest| memory.version(digest))
                .transpose()?
                .flatten();
            let gist = version.map(|version| gists.of(&version)).unwrap_or_default();
            let sign = context.output.paint(meaning, sign);
            context.line(format_args!("{sign} {}  {gist}", object.id))?;
        }
        let more = answer.reverted.reverted.len().saturating_sub(OBJECTS_TOLD);
        if more > 0 {
            context.line(format_args!("... and {more} more"))?;
        }
        Ok(())
    })?;
    context.note_dry_run(dry_run);
    if answer.reverted.committed.changed {
        context.note_way_back("reverse the change with");
    }
    Ok(DONE)
}

/// Repeat the change that was undone
///
/// # Examples
/// ```text
/// treering redo --dry-run
/// treering redo --session night-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Redo {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Redo {
    const ANSWERS: &'static [Form] = &[form::<Moved>(""), form::<ReversalPreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        reverse(context, Op::REDO, self.dry_run)
    }
}

/// Undoes or redoes a change. With `dry_run`, only prints a preview.
fn reverse(context: &mut Context, op: &'static str, dry_run: bool) -> Done {
    if !dry_run {
        let memory = context.open_to_plan(false)?;
        let writer = context.writer();
        let committed = match op {
            Op::UNDO => memory.undo(&writer)?,
            _ => memory.redo(&writer)?,
        };
        return answer_moved(context, &memory, &committed);
    }
    let memory = context.open_to_read()?;
    let reversing = memory.reverse_preview(op, &context.writer())?;
    let head = memory.view();
    let answer = ReversalPreview::of(op, &head, &reversing);
    let Reversing {
        target,
        state,
        changes,
    } = reversing;
    context.answer(&answer, |_, context| {
        context.line(format_args!("would {op} {}:", heading(&target)))?;
        show_changes(&mut context.output, &head, &state, &changes, usize::MAX)
    })?;
    context.note_dry_run(true);
    Ok(DONE)
}

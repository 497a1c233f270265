//! Changes: what a commit changed, what differs between two states, what going back would do.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::arguments::Arguments;
use super::history::before;
use super::shell::Shell;
use super::table::{Command, Completes};
use crate::cli::commands::show_changes;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{counted, heading};
use crate::cli::revision;
use crate::error::ErrorCode;

pub(super) const COMMANDS: &[Command] = &[
    Command::own(
        "changes",
        "[REV] [--limit N]",
        "What a commit changed: the newest, or REV",
        changes,
    )
    .examples(&[
        ("changes", "what the last turn changed"),
        ("changes @-2", "what the one two before it changed"),
    ])
    .completes(Completes::Revision),
    Command::verb("diff")
        .examples(&[
            ("diff snap:0", "what changed since the newest snapshot"),
            ("diff seq:2 seq:5", "between any two states"),
        ])
        .completes(Completes::Revision),
    Command::own(
        "would",
        "WHAT [REV] [--all] [--limit N]",
        "What a rollback REV, an undo or a redo would change; changes nothing",
        would,
    )
    .examples(&[
        ("would rollback snap:0", "what going back would undo"),
        ("would undo", "what the lane's last change was"),
    ])
    .completes(Completes::Words(&["rollback", "undo", "redo"])),
];

/// What changes the store: the verbs of the program.
pub(super) const WRITING: &[Command] = &[
    Command::verb("snapshot")
        .examples(&[(
            "snapshot -m 'before the refactoring'",
            "a name for the present state",
        )])
        .writes(),
    Command::verb("rollback")
        .examples(&[("rollback snap:0", "back to an earlier state, as a new commit")])
        .completes(Completes::Revision)
        .writes(),
    Command::verb("undo")
        .examples(&[("undo", "reverse the last change of the lane")])
        .writes(),
    Command::verb("redo")
        .examples(&[("redo", "bring back what undo reversed")])
        .writes(),
    Command::verb("put")
        .examples(&[(
            "put tea --kind fact --content 'Ada drinks green tea'",
            "store one object",
        )])
        .completes(Completes::Id)
        .writes(),
    Command::verb("remove")
        .examples(&[("remove tea -m 'no longer true'", "take one out; history keeps it")])
        .completes(Completes::Id)
        .writes(),
    Command::verb("gc")
        .examples(&[("gc --dry-run", "what thinning history would keep and free")])
        .writes(),
    Command::verb("erase")
        .examples(&[("erase facts/password --dry-run", "what would go for good")])
        .completes(Completes::Id)
        .writes(),
];

fn changes(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let limit = arguments.limit()?;
    let memory = shell.memory()?;
    let newer = match arguments.word(0) {
        Some(revision) => shell.view_of(revision)?,
        None => shell.view()?,
    };
    let info = newer.commit();
    let Some(older) = before(shell, &info)? else {
        let told = match info.commit.seq {
            0 => "the first commit has none before it to differ from".to_owned(),
            seq => {
                format!("the commits before seq:{seq} were thinned: what it changed is not known any more")
            }
        };
        shell.context.output.note("first", told);
        return Ok(DONE);
    };
    let changes = memory.diff(&older, &newer)?;
    let output = &mut shell.context.output;
    if !output.is_json() {
        output.line(heading(&info))?;
    }
    show_changes(output, &older, &newer, &changes, limit)?;
    Ok(DONE)
}

fn would(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let memory = shell.memory()?;
    let limit = arguments.limit()?;
    let writer = shell.context.writer();
    let head = memory.view();
    let revision = arguments.word(1);
    let mut needs = None;
    let (told, target, state, changes) = match (arguments.needed(0)?, revision) {
        ("rollback", Some(revision)) => {
            let revision = revision::parse(revision)?;
            let preview = |all| memory.rollback_preview(&revision, all, &writer);
            let (info, _) = match preview(arguments.has("--all")) {
                Err(refused) if refused.code() == ErrorCode::OtherLanes => {
                    needs = Some(refused);
                    preview(true)?
                }
                previewed => previewed?,
            };
            let state = memory.view_at(&revision, writer.lane())?;
            let changes = memory.diff(&head, &state)?;
            let seq = head.commit().commit.seq;
            let undone = counted(seq.saturating_sub(info.commit.seq), "commit");
            let told = format!("rollback from seq:{seq} to {}, {undone} back:", heading(&info));
            (told, info, state, changes)
        }
        ("undo" | "redo", None) if arguments.has("--all") => {
            return Err(arguments.refuse("--all belongs to rollback"));
        }
        ("undo", None) => {
            let plan = memory.undo_preview(&writer)?;
            (
                format!("undo of {}:", heading(&plan.target)),
                plan.target,
                plan.state,
                plan.changes,
            )
        }
        ("redo", None) => {
            let plan = memory.redo_preview(&writer)?;
            (
                format!("redo of {}:", heading(&plan.target)),
                plan.target,
                plan.state,
                plan.changes,
            )
        }
        _ => return Err(arguments.refuse("say rollback REV, undo or redo")),
    };
    let output = &mut shell.context.output;
    let needs = needs.map(|refused| format!("this needs --all: {refused}"));
    if output.is_json() {
        output.document(&json!({
            "would": arguments.word(0), "seq": target.commit.seq, "commit": target.digest.to_hex(),
            "root": target.commit.root.to_hex(), "needs": needs, "changes": changes.len(),
        }))?;
    } else {
        output.line(told)?;
    }
    show_changes(output, &head, &state, &changes, limit)?;
    if let Some(needs) = needs.filter(|_| !output.is_json()) {
        output.note("needs", needs);
    }
    Ok(DONE)
}

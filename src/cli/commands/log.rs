//! `log`, `diff`: what happened, and what is different.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure, NO};
use crate::cli::human::{self, Table, coloured, number, plain, short};
use crate::cli::json;
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::cli::verbs::{Diff, Log};
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::{Change, ChangeKind, View};
use crate::error::Result;
use crate::object::{Commit, Time};

/// Fields of one changed object that people see.
const FIELDS_SHOWN: usize = 8;

pub(super) fn log(context: &mut Context, verb: &Log) -> Done {
    if verb.refs {
        return references(context, verb);
    }
    let memory = context.open_to_read()?;
    let newest = context.view(&memory)?.commit().commit.seq;
    let now = memory.view().now();
    let mut table = Table::new(&["seq", "commit", "op", "+", "~", "-", "lane", "when", "reason"]);
    let wanted = Wanted::new(context, verb, now)?;
    let commits = memory
        .commits()
        .filter(|info| info.commit.seq <= newest && wanted.has_commit(&info.commit));
    for info in commits.take(verb.limit.unwrap_or(usize::MAX)) {
        let counts = memory.commit_counts(&info)?;
        if context.output.is_json() {
            context.output.document(&json::commit(&memory, &info, counts)?)?;
            continue;
        }
        let commit = &info.commit;
        let reason = json::text(&memory, commit.reason)?;
        let cells = vec![
            number(commit.seq),
            coloured(Meaning::Name, short(info.digest.as_bytes())),
            plain(commit.op.as_str()),
            coloured(Meaning::Good, format!("+{}", counts.added)),
            coloured(Meaning::Changed, format!("~{}", counts.changed)),
            coloured(Meaning::Bad, format!("-{}", counts.removed)),
            plain(info.lane()),
            coloured(Meaning::Quiet, time::ago(commit.time, now)),
            plain(reason.unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

/// What of the log is asked for.
struct Wanted {
    actor: Option<String>,
    session: Option<String>,
    op: Option<String>,
    since: Option<Time>,
    until: Option<Time>,
}

impl Wanted {
    fn new(context: &Context, verb: &Log, now: Time) -> Result<Self> {
        let moment = |text: &Option<String>| text.as_deref().map(|text| time::moment(text, now)).transpose();
        Ok(Self {
            actor: context.options.lane.actor.clone(),
            session: context.options.lane.session.clone(),
            op: verb.op.clone(),
            since: moment(&verb.since)?,
            until: moment(&verb.until)?,
        })
    }

    fn has(&self, actor: Option<&str>, session: Option<&str>, time: Time) -> bool {
        let fits =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        fits(&self.actor, actor)
            && fits(&self.session, session)
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time <= until)
    }

    fn has_commit(&self, commit: &Commit) -> bool {
        self.has(commit.actor.as_deref(), commit.session.as_deref(), commit.time)
            && self.op.as_ref().is_none_or(|op| commit.op.as_str() == op)
    }
}

fn references(context: &mut Context, verb: &Log) -> Done {
    let memory = context.open_to_read()?;
    let until = context.view(&memory)?.commit().commit.time;
    let now = memory.view().now();
    let wanted = Wanted::new(context, verb, now)?;
    let of_the_past = context.options.at.is_some();
    let mut table = Table::new(&["reference", "commit", "made", "reason"]);
    let found = memory
        .references()
        .into_iter()
        .filter(|info| !of_the_past || info.time <= until)
        .filter(|info| wanted.has(info.actor.as_deref(), info.session.as_deref(), info.time));
    for info in found.take(verb.limit.unwrap_or(usize::MAX)) {
        if context.output.is_json() {
            context.output.document(&json!({
                "name": info.name,
                "commit": info.commit.map(CommitDigest::to_hex),
                "time": info.time.to_string(),
                "actor": info.actor,
                "session": info.session,
                "reason": info.reason,
            }))?;
            continue;
        }
        let commit = info
            .commit
            .map_or_else(|| "deleted".to_owned(), |commit| short(commit.as_bytes()));
        let cells = vec![
            coloured(Meaning::Name, &info.name),
            plain(commit),
            coloured(Meaning::Quiet, time::ago(info.time, now)),
            plain(info.reason.as_deref().unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

pub(super) fn diff(context: &mut Context, verb: &Diff) -> Done {
    if verb.to.is_some() && context.options.at.is_some() {
        return Err(Failure::usage(
            "--at and a second revision both say where to look",
            "write treering diff REV REV2",
        ));
    }
    let memory = context.open_to_read()?;
    let older = context.view_of(&memory, &verb.from)?;
    let newer = match &verb.to {
        Some(to) => context.view_of(&memory, to)?,
        None => context.view(&memory)?,
    };
    let changes = memory.diff(&older, &newer)?;
    let limit = verb.limit.unwrap_or(usize::MAX);
    show_changes(&mut context.output, &older, &newer, &changes, limit)?;
    Ok(if verb.exit_code && !changes.is_empty() {
        NO
    } else {
        DONE
    })
}

/// What changed between two states: at most `limit` changes, then how many there are.
pub(in crate::cli) fn show_changes(
    output: &mut Output,
    older: &View,
    newer: &View,
    changes: &[Change],
    limit: usize,
) -> Result<(), Failure> {
    for change in changes.iter().take(limit) {
        if output.is_json() {
            output.document(&json!({
                "id": change.id.as_str(),
                "change": change.kind().name(),
                "old": change.old.map(ObjectDigest::to_hex),
                "new": change.new.map(ObjectDigest::to_hex),
            }))?;
        } else {
            show_change(output, older, newer, change)?;
        }
    }
    if !output.is_json() {
        summary(output, changes);
    }
    Ok(())
}

/// One change for people: the id, then what is different in it.
pub(in crate::cli) fn show_change(
    output: &mut Output,
    older: &View,
    newer: &View,
    change: &Change,
) -> Result<(), Failure> {
    let (mark, meaning) = match change.kind() {
        ChangeKind::Added => ('+', Meaning::Good),
        ChangeKind::Changed => ('~', Meaning::Changed),
        ChangeKind::Removed => ('-', Meaning::Bad),
    };
    let old = older.get(&change.id)?;
    let new = newer.get(&change.id)?;
    let gist = match (&old, &new) {
        (Some(_), Some(_)) => String::new(),
        (one, other) => one
            .as_ref()
            .or(other.as_ref())
            .map(human::gist)
            .unwrap_or_default(),
    };
    let room = output.width().unwrap_or(usize::MAX);
    let id = human::one_line(change.id.as_str());
    let text = format!("{mark} {id}");
    let gist = human::cut(&gist, room.saturating_sub(text.chars().count() + 2).min(100));
    let line = format!(
        "{}  {}",
        output.paint(meaning, text),
        output.paint(Meaning::Quiet, gist)
    );
    output.line(line.trim_end())?;
    if let (Some(old), Some(new)) = (&old, &new) {
        let fields = human::field_changes(old, new);
        for field in fields.iter().take(FIELDS_SHOWN) {
            output.line(format_args!("    {}", human::cut(field, room.saturating_sub(4))))?;
        }
        if fields.len() > FIELDS_SHOWN {
            output.line(format_args!(
                "    and {} more fields",
                fields.len() - FIELDS_SHOWN
            ))?;
        }
    }
    Ok(())
}

fn summary(output: &mut Output, changes: &[Change]) {
    if changes.is_empty() {
        output.note("no_difference", "no difference");
        return;
    }
    let count = |kind| changes.iter().filter(|change| change.kind() == kind).count();
    let (added, changed) = (count(ChangeKind::Added), count(ChangeKind::Changed));
    let removed = count(ChangeKind::Removed);
    output.note(
        "summary",
        format!("{added} added, {changed} changed, {removed} removed"),
    );
}

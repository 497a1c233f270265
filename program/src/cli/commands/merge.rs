//! `merge` brings in what another line wrote, `conflicts` lists what it left open, and `resolve` decides.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::human::{change_lines, erased_line};
use crate::cli::input::content_from_input;
use treering::inspect::agent::expected_version;
use treering::inspect::engine::ChangeKind;
use treering::merge::{self, ConflictSide, Merged, OpenConflict, Resolution, Strategy};
use treering::{Change, Draft};

/// The number of lines of each list, except in a dry run.
const LINES: usize = 20;
/// The side of a conflict that lacks the object.
const REMOVED: &str = "removed";

/// Bring in what a fork wrote
///
/// The merge takes what one side changed alone. It merges what both sides changed field by field, and texts line by
/// line. It leaves open what it cannot decide: treering conflicts lists the versions, and treering resolve decides. The
/// merge is one commit, so treering undo takes it back.
///
/// # Notes
/// - No version takes the place of a more trusted one. Such a change is a conflict.
/// - A rule of --strategy drops no version that is more trusted than you. Such a conflict stays open.
/// - Of two equally trusted texts, a rule decides only the lines that both sides changed. Lines that touch are one group.
/// - Meanwhile, the object shows the more trusted version, or the one with the larger digest.
///
/// # Examples
/// ```text
/// treering merge task-7 --dry-run
/// treering merge task-7
/// treering merge task-7 --strategy trusted
/// treering --fork task-7 merge main
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Merge {
    /// The fork, or `main`
    name: String,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Compare with the state at which the lines parted, whatever was merged since
    #[arg(long)]
    again: bool,
    /// Decide about conflicts by a rule
    #[arg(long, value_name = "RULE", value_parser = args::one_of(Strategy::ALL, Strategy::name))]
    strategy: Option<Strategy>,
}

impl Verb for Merge {
    const ANSWERS: &'static [Form] = &[form::<WithChanges<Merged>>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = if self.dry_run {
            context.open_to_read()?
        } else {
            context.open_to_write()?
        };
        let writer = context.writer();
        if self.dry_run {
            let (merged, draft) = self.merge(&memory).preview_draft(&writer)?;
            return self.answer(context, &merged, Some(&draft));
        }
        let merged = self.merge(&memory).by(&writer)?;
        self.answer(context, &merged, None)
    }
}

impl Merge {
    fn merge<'a>(&'a self, memory: &'a Memory) -> merge::Merge<'a> {
        let mut merge = memory.merge(&self.name);
        if self.again {
            merge = merge.again();
        }
        match self.strategy {
            Some(strategy) => merge.strategy(strategy),
            None => merge,
        }
    }

    /// Prints the result. A dry run has a draft, and prints the changes as `diff` does.
    fn answer(&self, context: &mut Context, merged: &Merged, draft: Option<&Draft>) -> Done {
        context.answer(&WithChanges::of(merged, merged), |answer, context| {
            let merged = answer.answer;
            let counts = context.counts_line(merged.counts);
            let head = context.head_line(&merged.committed.commit);
            let name = &self.name;
            context.line(match (merged.committed.changed, draft) {
                (false, _) => format!("{name} has nothing new; {head}"),
                (true, Some(_)) => format!("would merge {name}: {counts}"),
                (true, None) => format!("merged {name}: {counts}; {head}"),
            })?;
            change_list(context, merged, draft)?;
            for conflict in &merged.conflicts {
                let (id, fields) = (one_line(conflict.id.as_str()), fields_line(&conflict.fields));
                let mark = context.output.paint(Meaning::Bad, format_args!("! {id}"));
                context.line(format_args!("{mark}  conflict: {fields}"))?;
            }
            Ok(())
        })?;
        context.note_dry_run(self.dry_run);
        if merged.committed.changed && draft.is_none() {
            if !merged.conflicts.is_empty() {
                let command = context.lane_command("conflicts");
                context.note_for_people("next", format!("see the versions with: {command}"));
            }
            context.note_way_back("reverse the merge with");
        }
        Ok(DONE)
    }
}

/// The answer of a verb that merges, with the changes of the merge.
#[derive(Serialize, JsonSchema)]
pub(super) struct WithChanges<'a, T> {
    #[serde(flatten)]
    pub(super) answer: &'a T,
    /// The changes, sorted by id, as `diff` prints them: the first 20, or all in a dry run. The numbers count all.
    changes: &'a [Change],
}

impl<'a, T> WithChanges<'a, T> {
    pub(super) fn of(answer: &'a T, merged: &'a Merged) -> Self {
        let most = if merged.dry_run { usize::MAX } else { LINES };
        let changes = &merged.changes[..merged.changes.len().min(most)];
        Self { answer, changes }
    }
}

/// Prints the changes of a merge for people. With the draft of a dry run, prints them as `diff` does.
pub(super) fn change_list(context: &mut Context, merged: &Merged, draft: Option<&Draft>) -> Result<()> {
    let lines = changes(context, merged, draft)?;
    lines.into_iter().try_for_each(|line| context.line(line))
}

fn changes(context: &Context, merged: &Merged, draft: Option<&Draft>) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let most = draft.map_or(LINES, |_| usize::MAX);
    for change in merged.changes.iter().take(most) {
        if change.erased || change.id.erased_key().is_some() {
            lines.push(erased_line(context.output.style(), change));
            continue;
        }
        if let Some(draft) = draft {
            let (old, new) = (draft.base().get(&change.id)?, draft.get(&change.id)?);
            let style = context.output.style();
            lines.extend(change_lines(
                style,
                change.id.as_str(),
                old.as_ref(),
                new.as_ref(),
            ));
            continue;
        }
        let (mark, meaning) = match change.kind {
            ChangeKind::Added => ("+", Meaning::Good),
            ChangeKind::Changed => ("~", Meaning::Changed),
            ChangeKind::Removed => ("-", Meaning::Bad),
        };
        let id = one_line(change.id.as_str());
        lines.push(context.output.paint(meaning, format_args!("{mark} {id}")));
    }
    let more = merged.changes.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    Ok(lines)
}

/// Returns the fields of a conflict on one line. The name of an attribute may contain anything.
pub(super) fn fields_line(fields: &[String]) -> String {
    one_line(&fields.join(", "))
}

/// List the open conflicts of merges
///
/// # Examples
/// ```text
/// treering conflicts
/// treering --fork task-7 conflicts
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Conflicts {}

/// An open conflict.
#[derive(Serialize, JsonSchema)]
struct ConflictRow {
    id: Id,
    /// The fields in which the sides differ. `removed`: a side removed the object. `attr:NAME`: an attribute.
    fields: Vec<String>,
    sides: Vec<Side>,
    /// The version from which all sides come; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<ObjectDigest>,
    /// The version that the object has now; absent if that is one of the sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<Side>,
}

/// A version of an open conflict.
#[derive(Serialize, JsonSchema)]
struct Side {
    /// The version, or `removed`.
    digest: String,
    /// The session that wrote it.
    session: Option<String>,
    /// The class of the version; absent for a removal.
    trust: Option<Origin>,
    /// When it was written.
    time: Option<Time>,
}

impl Side {
    fn of(side: &ConflictSide) -> Self {
        let by = side.by.as_ref();
        Self {
            digest: side
                .version
                .map_or_else(|| REMOVED.to_owned(), ObjectDigest::to_hex),
            session: by.and_then(|by| by.commit.session.clone()),
            trust: side.trust,
            time: by.map(|by| by.commit.time),
        }
    }
}

impl ConflictRow {
    fn of(conflict: &OpenConflict) -> Self {
        Self {
            id: conflict.id.clone(),
            fields: conflict.fields.clone(),
            sides: conflict.sides.iter().map(Side::of).collect(),
            base: conflict.base,
            present: conflict.present.as_ref().map(Side::of),
        }
    }
}

impl Verb for Conflicts {
    const ANSWERS: &'static [Form] = &[form::<ConflictRow>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let conflicts = memory.conflicts()?;
        for conflict in &conflicts {
            let row = ConflictRow::of(conflict);
            if context.output.json(&row)? {
                continue;
            }
            for line in lines_of(context, &memory, &row, conflict)? {
                context.line(line)?;
            }
        }
        match conflicts.first() {
            None => context.note_for_people("none", "no merge left a conflict open"),
            Some(_) => {
                let command = context.lane_command("resolve");
                let text = format!(
                    "decide with: {command} ID --take DIGEST, or --take {REMOVED}, --content TEXT or --remove"
                );
                context.note_for_people("next", text);
            }
        }
        Ok(DONE)
    }
}

/// Returns the versions of a conflict as lines for people. Each side is shown as its difference to the base.
fn lines_of(
    context: &Context,
    memory: &Memory,
    row: &ConflictRow,
    conflict: &OpenConflict,
) -> Result<Vec<String>> {
    let version = |digest: Option<ObjectDigest>| -> Result<Option<Object>> {
        Ok(digest.map(|digest| memory.version(digest)).transpose()?.flatten())
    };
    let id = one_line(row.id.as_str());
    let mut lines = vec![format!("{id}  {}", fields_line(&row.fields))];
    let base = version(row.base)?;
    let sides = row.sides.iter().chain(&row.present);
    for (number, (side, of)) in sides
        .zip(conflict.sides.iter().chain(&conflict.present))
        .enumerate()
    {
        let name = of
            .version
            .map_or_else(|| REMOVED.to_owned(), |version| short(version.as_bytes()));
        let mut line = format!("  {}", context.output.paint(Meaning::Name, name));
        if let Some(by) = &of.by {
            // A commit of another line came by a merge.
            let own = memory.resolve(&Revision::Seq(by.commit.seq), "");
            let whose = if number == row.sides.len() {
                "present"
            } else if own.is_ok_and(|own| own.digest == by.digest) {
                "ours"
            } else {
                "theirs"
            };
            let who = by
                .commit
                .session
                .as_deref()
                .or(by.commit.actor.as_deref())
                .unwrap_or("-");
            let when = time::ago(by.commit.time, context.now());
            line.extend([format!("  {whose}  {}  {when}", one_line(who))]);
        }
        line.extend(side.trust.map(|trust| format!("  {trust}")));
        lines.push(line);
        let new = version(of.version)?;
        let changes = change_lines(
            context.output.style(),
            row.id.as_str(),
            base.as_ref(),
            new.as_ref(),
        );
        lines.extend(changes.into_iter().skip(1).map(|line| format!("    {line}")));
    }
    Ok(lines)
}

/// Decide about an open conflict
///
/// # Notes
/// If somebody changed the object after the merge, treering conflicts shows that version as the present one. --take keeps
/// it, too. Another decision drops it only with --expected and its digest.
///
/// # Examples
/// ```text
/// treering resolve facts/office --take 3f9c2a11
/// treering resolve facts/office --remove
/// treering resolve facts/office --content 'The office is in Oslo.'
/// ```
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    group(clap::ArgGroup::new("how").required(true)),
    verbatim_doc_comment
)]
pub(crate) struct Resolve {
    /// The object with the conflict
    id: String,
    /// Take this version, one of the sides or the present one: its digest, or the first digits
    #[arg(long, value_name = "DIGEST", group = "how")]
    take: Option<String>,
    /// Remove the object
    #[arg(long, group = "how")]
    remove: bool,
    /// Keep the object, with this text; - reads standard input
    #[arg(long, value_name = "TEXT", group = "how")]
    content: Option<String>,
    /// Decide only if the object has this version now, or is removed; the decision may drop it
    #[arg(long, value_name = "DIGEST")]
    expected: Option<String>,
    /// Print how the object would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `resolve`.
#[derive(Serialize, JsonSchema)]
struct Resolved {
    id: Id,
    #[serde(flatten)]
    commit: CommitInfo,
}

/// The answer of `resolve --dry-run`.
#[derive(Serialize, JsonSchema)]
struct ResolvePreview {
    id: Id,
    /// The change of the object, as `diff` prints it. Null if the decision keeps the present version.
    change: Option<Change>,
    dry_run: bool,
}

impl Verb for Resolve {
    const ANSWERS: &'static [Form] = &[form::<Resolved>(""), form::<ResolvePreview>("with --dry-run")];

    fn run(self, context: &mut Context) -> Done {
        let memory = if self.dry_run {
            context.open_to_read()?
        } else {
            context.open_to_write()?
        };
        let id = Id::new(&self.id)?;
        let (resolution, what) = match (&self.take, self.content) {
            (Some(digest), _) => (side(&memory, &id, digest)?, "decided"),
            (None, Some(text)) if text == "-" => {
                (Resolution::Content(content_from_input(context)?), "decided")
            }
            (None, Some(text)) => (Resolution::Content(text), "decided"),
            (None, None) => (Resolution::Remove, "removed"),
        };
        let expected = self.expected.as_deref().map(|typed| match typed {
            REMOVED => Ok(None),
            typed => expected_version(&memory, &id, typed).map(Some),
        });
        let mut draft = memory.draft(&context.writer());
        if let Some(present) = expected.transpose()? {
            draft.expect(&id, present);
        }
        draft.resolve_conflict(&id, None, resolution)?;
        if self.dry_run {
            return preview(context, id, &draft);
        }
        let committed = memory.commit(draft, Op::RESOLVE)?;
        let text = format!("{what} {}", one_line(id.as_str()));
        let (commit, changed) = (committed.commit, committed.changed);
        let answer = Resolved { id, commit };
        context.say_commit(&answer, &text, &answer.commit, changed)
    }
}

/// Prints a decision that is not committed.
fn preview(context: &mut Context, id: Id, draft: &Draft) -> Done {
    let answer = ResolvePreview {
        change: draft.changes().into_iter().find(|change| change.id == id),
        id,
        dry_run: true,
    };
    context.answer(&answer, |answer, context| {
        let (old, new) = (draft.base().get(&answer.id)?, draft.get(&answer.id)?);
        if answer.change.is_none() {
            let id = one_line(answer.id.as_str());
            return context.line(format_args!("{id} stays as it is, and the conflict is closed"));
        }
        let style = context.output.style();
        let lines = change_lines(style, answer.id.as_str(), old.as_ref(), new.as_ref());
        lines.into_iter().try_for_each(|line| context.line(line))
    })?;
    context.note_dry_run(true);
    Ok(DONE)
}

/// Returns the side of a conflict, or the present version, that a digest or its first digits name.
fn side(memory: &Memory, id: &Id, digest: &str) -> Result<Resolution> {
    let conflict = memory.view().open_conflict(id)?;
    let sides: Vec<_> = conflict.sides.into_iter().chain(conflict.present).collect();
    if digest == REMOVED && sides.iter().any(|side| side.version.is_none()) {
        return Ok(Resolution::Remove);
    }
    let named = sides.iter().filter_map(|side| side.version);
    let named: Vec<_> = named
        .filter(|version| version.to_hex().starts_with(digest))
        .collect();
    match named.as_slice() {
        [version] if !digest.is_empty() => Ok(Resolution::Take(*version)),
        _ => Err(Error::invalid(format!(
            "no single version in the conflict about '{id}' has the digest {digest}"
        ))
        .with_hint("treering conflicts lists the versions")),
    }
}

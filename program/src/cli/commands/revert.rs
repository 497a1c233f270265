//! `revert`: takes back what selected commits wrote, while the later work of others stays.
//!
//! # Layer
//! Layer 10, part of cli.

use super::gists::Gists;
use super::prelude::*;
use super::written_by::check_known;
use crate::cli::human::change_lines;
use treering::inspect::engine::ChangeKind;
use treering::revert::{Conflicts, KeptBecause, Reverted, RevertedObject, Selection};

/// The number of lines of each list, except in a dry run.
const LINES: usize = 20;

/// Take back what a session wrote
///
/// Each object that the selected commits wrote gets its newest version by anybody else, or is removed if there is none.
/// An object that they removed comes back. Later versions by others stay.
///
/// # Notes
/// A commit is selected if it meets every given condition. A repeated option selects the commits of each value. A
/// version that undo, redo, rollback, restore, revert or unforget brought back counts as written by whoever wrote it
/// first, and what these verbs replaced does not return. An object whose earlier parent was removed by others stays. An
/// untrusted writer takes back no later or derived work of others.
///
/// The revert is one commit without a session, so treering undo takes it back.
///
/// # Examples
/// ```text
/// treering revert --session night-run --dry-run
/// treering revert --session night-run -m 'the page was wrong'
/// treering revert --source https://example.org/news --with-derived
/// treering revert --commit seq:3 --commit seq:7
/// treering revert --actor crawler --since 2d --conflicts fail
/// ```
#[derive(Args, Debug)]
#[command(args = args::selects_and_writes(), verbatim_doc_comment)]
pub(crate) struct Revert {
    /// This commit; may be repeated
    #[arg(long, value_name = "REV")]
    commit: Vec<String>,
    /// The commits of this session; may be repeated
    #[arg(long, value_name = "S")]
    session: Vec<String>,
    /// The commits that state this source; may be repeated
    #[arg(long, value_name = "SRC")]
    source: Vec<String>,
    /// The commits of this actor; may be repeated
    #[arg(long, value_name = "A")]
    actor: Vec<String>,
    /// Only commits since this time: a date, a time, an age (3d), or words (yesterday, last week, 2026-11)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only commits until this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Also take back what others derived from the selected versions
    #[arg(long)]
    with_derived: bool,
    /// Later work of others stays (keep), is taken back too (revert), or stops the revert (fail)
    #[arg(long, value_name = "WHAT", default_value = "keep", value_parser = args::one_of(Conflicts::ALL, Conflicts::name))]
    conflicts: Conflicts,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for Revert {
    const ANSWERS: &'static [Form] = &[form::<Reverted>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_plan(self.dry_run)?;
        let selection = self.selection(context, &memory)?;
        let reverted = self.revert(context, &memory, selection.clone());
        let reverted = reverted.map_err(|error| with_nearest(&memory, &selection, error))?;
        context.answer(&reverted, |reverted, context| {
            context.line(self.headline(context, reverted))?;
            let lines = lines(context, &memory, reverted, self.dry_run, self.with_derived)?;
            lines.iter().try_for_each(|line| context.line(line))
        })?;
        context.note_dry_run(self.dry_run);
        if reverted.committed.changed {
            let lane = context.kept.as_ref().map(|kept| kept.lane.clone());
            let back = lane.unwrap_or_default().command("undo");
            context.note_for_people("undo", format!("reverse the change with: {back}"));
        }
        Ok(DONE)
    }
}

impl Revert {
    fn revert(&self, context: &Context, memory: &Memory, selection: Selection) -> Result<Reverted> {
        let revert = memory.revert(selection).conflicts(self.conflicts);
        let revert = if self.with_derived {
            revert.with_derived()
        } else {
            revert
        };
        let writer = context.selecting_writer();
        if self.dry_run {
            revert.preview(&writer)
        } else {
            revert.by(&writer)
        }
    }

    /// Returns the selection. It names each commit by its digest and each time as such, because `@` and `2d` mean something
    /// else after the next commit. Without another reason, the reason of the writer describes the selection.
    fn selection(&self, context: &mut Context, memory: &Memory) -> Result<Selection> {
        let now = memory.view().now();
        let commits = self.commit.iter();
        let commits = commits.map(|text| {
            let view = context.view_of(memory, text)?;
            if memory.has_commit_of(&view)? {
                return Ok(view.commit());
            }
            let message = format!("{} is a commit of another line", one_line(text));
            let hint = "revert it there with --fork NAME, or select by session: treering revert --session S";
            Err(refused(ErrorCode::OtherLine, message, hint))
        });
        let commits = commits.collect::<Result<Vec<_>>>()?;
        let [since, until] = [&self.since, &self.until].map(|time| time::given(time.as_deref(), now));
        let (since, until) = (since?, until?);
        let mut parts: Vec<String> = commits
            .iter()
            .map(|commit| format!("commit seq:{}", commit.commit.seq))
            .collect();
        for (what, names) in [
            ("session", &self.session),
            ("source", &self.source),
            ("actor", &self.actor),
        ] {
            parts.extend(names.iter().map(|name| format!("{what} {name}")));
        }
        let times = [("since", since), ("until", until)].into_iter();
        parts.extend(times.filter_map(|(what, time)| Some(format!("{what} {}", time?))));
        let reason = || format!("reverts {}", parts.join(", "));
        context.options.reason.get_or_insert_with(reason);
        let mut selection = Selection::default();
        selection.commits = commits.iter().map(|commit| commit.digest.into()).collect();
        selection.sessions.clone_from(&self.session);
        selection.actors.clone_from(&self.actor);
        selection.sources.clone_from(&self.source);
        (selection.since, selection.until) = (since, until);
        Ok(selection)
    }

    fn headline(&self, context: &Context, reverted: &Reverted) -> String {
        let commits = counted(reverted.selected, "commit");
        let sides = reverted.reverted.iter();
        let counts = ChangeCounts::of(sides.map(|object| (object.from.is_some(), object.to.is_some())));
        let counts = context.counts_line(counts);
        let head = &reverted.committed.commit;
        match (self.dry_run, reverted.reverted.is_empty()) {
            (_, true) => format!("nothing to revert: no version of {commits} stands any more"),
            (true, false) => format!("would revert {commits}: {counts}"),
            (false, false) => format!("reverted {commits}: {counts}; {}", context.head_line(head)),
        }
    }
}

/// Adds the most similar names to the error for an unknown name.
fn with_nearest(memory: &Memory, selection: &Selection, error: Error) -> Error {
    if error.code() != ErrorCode::NothingSelected {
        return error;
    }
    match check_known(memory, selection) {
        Err(unknown) => unknown.with_code(ErrorCode::NothingSelected),
        Ok(()) => error,
    }
}

/// Returns the lines of the changed, kept and derived objects, for people.
fn lines(
    context: &Context,
    memory: &Memory,
    reverted: &Reverted,
    dry_run: bool,
    with_derived: bool,
) -> Result<Vec<String>> {
    let gists = Gists::new(context, memory, None);
    let changed = reverted.reverted.iter().map(|object| {
        let lines = if dry_run && !context.output.is_compact() {
            whole(context, memory, object)?.join("\n")
        } else {
            short_line(context, memory, &gists, object)?
        };
        Ok([lines]
            .into_iter()
            .chain(why(object))
            .collect::<Vec<_>>()
            .join("\n"))
    });
    let most = if dry_run { usize::MAX } else { LINES };
    let mut lines = some_of(changed, most)?;
    let kept = reverted.kept.iter().map(|object| {
        let by = object.by.as_ref();
        let by = by.map(|by| format!("{}, seq {}", by.lane(), by.commit.seq));
        let by = by.unwrap_or_else(|| "a thinned commit".to_owned());
        let why = match &object.because {
            KeptBecause::Below(other) => format!(" (put {other} below it)"),
            KeptBecause::NoParent(other) => format!(" (removed its parent {other})"),
            _ => String::new(),
        };
        Ok(one_line(&format!("= {}  {by}{why}", object.id)))
    });
    if !reverted.kept.is_empty() {
        lines.push("kept, because of later work of others:".to_owned());
        lines.extend(some_of(kept, most)?);
    }
    if !reverted.derived.is_empty() {
        let what = if with_derived {
            "derived from what the commits wrote, and reverted too:"
        } else {
            "derived from what the commits wrote; --with-derived reverts it too:"
        };
        lines.push(what.to_owned());
        let derived = reverted.derived.iter();
        let derived = derived.map(|id| Ok(one_line(&format!("? {id}"))));
        lines.extend(some_of(derived, most)?);
    }
    Ok(lines)
}

/// Returns the first `most` lines, and a line with the number of the others.
fn some_of(lines: impl ExactSizeIterator<Item = Result<String>>, most: usize) -> Result<Vec<String>> {
    let more = lines.len().saturating_sub(most);
    let mut some = lines.take(most).collect::<Result<Vec<_>>>()?;
    if more > 0 {
        some.push(format!("  and {more} more; --json lists all"));
    }
    Ok(some)
}

/// Returns why an object is removed, or gets an old version, although others wrote a newer one.
fn why(object: &RevertedObject) -> Option<String> {
    let removed = |parent: &Id| {
        format!(
            "    removed, because its parent {} is gone",
            one_line(parent.as_str())
        )
    };
    let missing = || "    thinned commits may have written a newer version, which is lost".to_owned();
    let why = object.gone_with.as_ref().map(removed);
    why.or_else(|| object.thinned.then(missing))
}

fn version(memory: &Memory, digest: Option<ObjectDigest>) -> Result<Option<Object>> {
    Ok(digest.map(|digest| memory.version(digest)).transpose()?.flatten())
}

/// Returns the whole difference of an object.
fn whole(context: &Context, memory: &Memory, object: &RevertedObject) -> Result<Vec<String>> {
    let (old, new) = (version(memory, object.from)?, version(memory, object.to)?);
    let style = context.output.style();
    Ok(change_lines(
        style,
        object.id.as_str(),
        old.as_ref(),
        new.as_ref(),
    ))
}

/// Returns a line with the text that the object has after the revert.
fn short_line(context: &Context, memory: &Memory, gists: &Gists, object: &RevertedObject) -> Result<String> {
    let (mark, meaning) = match ChangeKind::of(object.from.is_some(), object.to.is_some()) {
        ChangeKind::Added => ("+", Meaning::Good),
        ChangeKind::Changed => ("~", Meaning::Changed),
        ChangeKind::Removed => ("-", Meaning::Bad),
    };
    let text = version(memory, object.to)?.map_or_else(String::new, |object| gists.of(&object));
    let id = one_line(object.id.as_str());
    let line = format!(
        "{}  {}",
        context.output.paint(meaning, format_args!("{mark} {id}")),
        cut(&text, 100)
    );
    Ok(line.trim_end().to_owned())
}

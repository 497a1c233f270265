//! `show`: shows one commit and its changes.
//!
//! # Layer
//! Layer 10, part of cli.

use super::cells::recorded;
use super::diff::show_changes;
use super::prelude::*;
use crate::answers::history::LogLine;
use treering::Change;
use treering::inspect::digest::HistoryRoot;

/// Show a commit and its changes
///
/// # Examples
/// ```text
/// treering show
/// treering show @-3
/// treering show seq:7 --limit 20 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Show {
    /// The commit [default: @]
    #[arg(value_name = "REV")]
    revision: Option<String>,
    /// Print at most N changes
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// A commit with its changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown {
    #[serde(flatten)]
    commit: LogLine,
    /// The root of the history tree before the commit.
    history_root: HistoryRoot,
    /// The digests that the commit erased.
    erased: Vec<String>,
    /// The first changes. Null if the changes are unknown, because the previous commit was thinned.
    changes: Option<Vec<Change>>,
}

impl Verb for Show {
    const ANSWERS: &'static [Form] = &[form::<Shown>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let view_in = |memory: &Memory, context: &Context| match &self.revision {
            Some(revision) => context.view_of(memory, revision),
            None => context.view(memory),
        };
        let memory = memory.on_line_of(&view_in(&memory, context)?)?;
        let newer = view_in(&memory, context)?;
        let info = newer.commit();
        let limit = self.limit.unwrap_or(usize::MAX);
        let older = memory.view_before(&info)?;
        let changes = older.as_ref().map(|older| memory.diff(older, &newer));
        let changes = changes.transpose()?;
        let erased = match info.commit.op.as_str() {
            Op::ERASE => memory.erased_in(info.digest)?,
            _ => Vec::new(),
        };
        let lines = |changes: &Vec<Change>| changes.iter().take(limit).cloned().collect();
        let answer = Shown {
            commit: LogLine::of(&memory, &info)?,
            history_root: info.commit.history_root,
            erased: erased.iter().map(|digest| to_hex(digest)).collect(),
            // The first commit has no predecessor, so it changed nothing.
            changes: changes
                .as_ref()
                .map(lines)
                .or((info.commit.seq == 0).then(Vec::new)),
        };
        context.answer(&answer, |answer, context| {
            show_fields(answer, info.lane(), context)?;
            if let (Some(older), Some(changes)) = (&older, &changes) {
                show_changes(&mut context.output, older, &newer, changes, limit)?;
            } else if info.commit.seq > 0 {
                let note = "the previous commit was thinned, so the changes of this commit are unknown";
                context.note("first", note);
            }
            Ok(())
        })
    }
}

fn show_fields(answer: &Shown, lane: &str, context: &mut Context) -> Result<()> {
    let (commit, output) = (&answer.commit, &context.output);
    let time = time::with_age(commit.time, context.now(), output);
    let source = recorded(commit.source.as_deref(), commit.source_erased, commit.source_lost);
    let reason = recorded(commit.reason.as_deref(), commit.reason_erased, commit.reason_lost);
    let fields = [
        ("commit", Some(output.paint(Meaning::Name, commit.commit))),
        ("seq", Some(commit.seq.to_string())),
        ("root", Some(output.paint(Meaning::Name, commit.root))),
        ("op", Some(commit.op.clone())),
        ("time", Some(time)),
        ("lane", Some(one_line(lane))),
        ("trust", Some(commit.trust.name().to_owned())),
        ("actor", commit.actor.as_deref().map(one_line)),
        ("session", commit.session.as_deref().map(one_line)),
        ("source", source),
        ("reason", reason),
        ("target", commit.target.map(CommitDigest::to_hex)),
    ];
    let erased = answer
        .erased
        .iter()
        .map(|digest| ("erased", Some(digest.clone())));
    let parents = commit
        .parents
        .iter()
        .map(|parent| ("parent", Some(parent.to_hex())));
    let root = ("history root", Some(answer.history_root.to_hex()));
    context.fields(0, fields.into_iter().chain(erased).chain(parents).chain([root]))
}

//! `show`: one commit, and its changes.
//!
//! # Layer
//! Layer 10, part of cli.

use super::diff::show_changes;
use super::prelude::*;
use crate::answers::history::{ChangeLine, LogLine};
use crate::digest::{CommitDigest, HistoryRoot, to_hex};
use crate::engine::Change;
use crate::object::Op;

/// The width of the column of field names.
const FIELD: usize = 14;

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
    /// At most N changes
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// A commit with its changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown {
    #[serde(flatten)]
    commit: LogLine,
    /// The history root before the commit.
    history_root: HistoryRoot,
    /// The digests that the commit erased.
    erased: Vec<String>,
    /// The first changes; null if they are unknown because the commit before was thinned.
    changes: Option<Vec<ChangeLine>>,
    #[serde(skip)]
    lane: String,
    #[serde(skip)]
    difference: Option<Difference>,
}

/// The states before and after a commit.
struct Difference {
    older: View,
    newer: View,
    changes: Vec<Change>,
    limit: usize,
}

impl Verb for Show {
    const NAME: &'static str = "show";
    const ANSWERS: &'static [Form] = &[form::<Shown>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let newer = match &self.revision {
            Some(revision) => context.view_of(&memory, revision)?,
            None => context.view(&memory)?,
        };
        let info = newer.commit();
        let limit = self.limit.unwrap_or(usize::MAX);
        let difference = match memory.view_before(&info)? {
            Some(older) => Some(Difference {
                changes: memory.diff(&older, &newer)?,
                older,
                newer,
                limit,
            }),
            None => None,
        };
        let erased = match info.commit.op.as_str() {
            Op::ERASE => memory.erased_in(info.digest)?,
            _ => Vec::new(),
        };
        let changes = difference.as_ref().map(|difference| {
            let changes = difference.changes.iter().take(limit);
            changes.map(ChangeLine::from).collect()
        });
        let answer = Shown {
            commit: LogLine::of(&memory, &info)?,
            history_root: info.commit.history_root,
            erased: erased.iter().map(|digest| to_hex(digest)).collect(),
            // The first commit has no predecessor, so it changed nothing.
            changes: changes.or((info.commit.seq == 0).then(Vec::new)),
            lane: info.lane().to_owned(),
            difference,
        };
        context.answer(&answer, show_shown)
    }
}

fn show_shown(answer: &Shown, context: &mut Context) -> Result<(), Failure> {
    let commit = &answer.commit;
    let time = time::with_age(commit.time, context.now(), &context.output);
    let text = |text: &Option<String>, is_erased, is_lost| match text {
        Some(text) => Some(one_line(text)),
        None if is_erased => Some("(erased)".to_owned()),
        None if is_lost => Some("(lost)".to_owned()),
        None => None,
    };
    let output = &mut context.output;
    let fields = [
        (
            "commit",
            Some(output.paint(Meaning::Name, commit.commit.to_hex())),
        ),
        ("seq", Some(commit.seq.to_string())),
        ("root", Some(output.paint(Meaning::Name, commit.root.to_hex()))),
        ("op", Some(commit.op.clone())),
        ("time", Some(time)),
        ("lane", Some(one_line(&answer.lane))),
        ("trust", Some(commit.trust.name().to_owned())),
        ("actor", commit.actor.as_deref().map(one_line)),
        ("session", commit.session.as_deref().map(one_line)),
        (
            "source",
            text(&commit.source, commit.source_erased, commit.source_lost),
        ),
        (
            "reason",
            text(&commit.reason, commit.reason_erased, commit.reason_lost),
        ),
        ("target", commit.target.map(CommitDigest::to_hex)),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let erased = answer.erased.iter().map(|digest| ("erased", digest.clone()));
    let parents = commit.parents.iter().map(|parent| ("parent", parent.to_hex()));
    let root = std::iter::once(("history root", answer.history_root.to_hex()));
    for (name, value) in fields.chain(erased).chain(parents).chain(root) {
        output.field(0, FIELD, name, value)?;
    }
    let Some(Difference {
        older,
        newer,
        changes,
        limit,
    }) = &answer.difference
    else {
        if answer.commit.seq > 0 {
            let note = "the commit before was thinned, so the changes of this one are unknown";
            output.note("first", note);
        }
        return Ok(());
    };
    show_changes(output, older, newer, changes, *limit)
}

//! `audit`: lists the commits as a log of actors, actions and reasons.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::answers::history::LogLine;
use crate::cli::commands::cells::{trust_column, writer_columns};
use crate::cli::commands::prelude::*;
use crate::cli::human::spare;
use treering::inspect::agent::{AuditRequest, Audited, audit};
use treering::inspect::object::lane_of;

/// The number of ids on a line for people.
const IDS_A_LINE: usize = 3;

/// List changes with actor and reason
///
/// Prints one line for each commit, newest first.
///
/// # Notes
/// --actor A, --session S and --source SRC list only the commits of that writer. The mark ! stands before an untrusted
/// writer: a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering audit --limit 10
/// treering audit --session night-run --kind fact --json
/// treering audit --id facts/office --since 2d
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_by_writer(), mut_arg("source", |source| source.alias("from")), verbatim_doc_comment)]
pub(crate) struct Audit {
    /// Only commits that changed an object of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only commits of this operation: remember, forget, decay, promote, guard, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only commits that changed this object
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only commits since this time: a date, a time, an age (3d), or words (yesterday, last week, 2026-11)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only commits until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// A commit of the audit log.
#[derive(Serialize, JsonSchema)]
struct AuditLine {
    #[serde(flatten)]
    commit: LogLine,
    /// The changed ids, at most 20.
    ids: Vec<String>,
    /// The number of all changed ids.
    ids_total: u64,
}

impl Verb for Audit {
    const ANSWERS: &'static [Form] = &[form::<AuditLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (agent, view) = context.agent_view()?;
        let now = agent.memory().view().now();
        let mut by = context.written_by();
        by.since = time::given(self.since.as_deref(), now)?;
        by.until = time::given(self.until.as_deref(), now)?;
        let request = AuditRequest {
            by: by.clone(),
            id: self.id.as_deref().map(Id::new).transpose()?,
            kind: self.kind,
            op: self.op,
        };
        let lines = audit(&agent, &view, request);
        let line = |audited: Result<Audited>| {
            let Audited { info, ids } = audited?;
            let commit = LogLine::of(agent.memory(), &info)?;
            Ok(AuditLine {
                ids_total: commit.counts.total(),
                commit,
                ids,
            })
        };
        let lines = lines.take(self.limit.unwrap_or(usize::MAX)).map(line);
        context.rows_by(agent.memory(), &by, lines, cells_of)
    }
}

fn cells_of(row: &AuditLine, context: &Context) -> Columns {
    let mut objects = row.ids[..row.ids.len().min(IDS_A_LINE)].join(", ");
    let more = row.ids_total.saturating_sub(IDS_A_LINE as u64);
    if more > 0 {
        objects = format!("{objects} and {more} more");
    }
    let commit = &row.commit;
    let lane = lane_of(commit.session.as_deref(), commit.actor.as_deref());
    let mut cells = columns(row, &["seq", "op"], context);
    cells.extend(count_columns(commit.counts));
    cells.push(trust_column(commit.trust, context));
    cells.extend(writer_columns(
        lane,
        commit.actor.as_deref(),
        commit.source.as_deref(),
    ));
    cells.extend([
        ("when", minor(3, context.when(commit.time))),
        ("objects", minor(1, spare(named(objects)))),
        ("reason", minor(2, spare(optional(commit.reason.as_deref())))),
    ]);
    cells
}

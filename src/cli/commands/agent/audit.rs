//! `audit`: the chain of commits as a log of who did what.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::{Value, json};

use crate::agent::{AuditLine, AuditRequest};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{Table, coloured, minor, number, plain};
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::digest::CommitDigest;
use crate::object::Id;

/// Ids that people see of a line.
const IDS_A_LINE: usize = 3;

/// List who did what, and why
///
/// The lines are the commits, newest first.
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering audit --limit 10\n  treering audit --session night-run --kind fact --json\n  \
                  treering audit --id facts/office --since 2d"
)]
pub(crate) struct Audit {
    /// Only what came from this source
    #[arg(long = "from", value_name = "SRC")]
    pub(crate) source: Option<String>,
    /// Only what changed an object of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only this operation: remember, forget, decay, promote, guard, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only what changed this object
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or how long ago (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// At most N
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Audit {
    const NAME: &'static str = "audit";

    fn run(self, context: &mut Context) -> Done {
        audit(context, self)
    }
}

fn audit(context: &mut Context, verb: Audit) -> Done {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let now = agent.memory().view().now();
    let moment = |text: &Option<String>| text.as_deref().map(|text| time::moment(text, now)).transpose();
    let request = AuditRequest {
        actor: context.options.lane.actor.clone(),
        session: context.options.lane.session.clone(),
        since: moment(&verb.since)?,
        until: moment(&verb.until)?,
        id: verb.id.as_deref().map(Id::new).transpose()?,
        source: verb.source,
        kind: verb.kind,
        op: verb.op,
    };
    let mut table = Table::new(&[
        "seq", "when", "op", "+", "~", "-", "who", "trust", "objects", "reason",
    ]);
    for line in agent.audit(&view, request).take(verb.limit.unwrap_or(usize::MAX)) {
        let line = line?;
        if context.output.is_json() {
            context.output.document(&document(&line))?;
            continue;
        }
        let commit = &line.info.commit;
        let counts = line.counts;
        let cells = vec![
            number(commit.seq),
            coloured(
                Meaning::Quiet,
                time::in_column(commit.time, now, context.output.style()),
            ),
            plain(commit.op.as_str()),
            minor(coloured(Meaning::Good, format!("+{}", counts.added))),
            minor(coloured(Meaning::Changed, format!("~{}", counts.changed))),
            minor(coloured(Meaning::Bad, format!("-{}", counts.removed))),
            plain(line.info.lane()),
            plain(commit.trust.name()),
            coloured(Meaning::Name, named(&line)),
            plain(line.reason.as_deref().unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

/// The first ids, and how many more there are.
fn named(line: &AuditLine) -> String {
    let mut named = line
        .ids
        .iter()
        .take(IDS_A_LINE)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = (line.counts.total() as usize).saturating_sub(IDS_A_LINE);
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    named
}

fn document(line: &AuditLine) -> Value {
    let commit = &line.info.commit;
    json!({
        "commit": line.info.digest.to_hex(),
        "seq": commit.seq,
        "time": commit.time.to_string(),
        "op": commit.op.as_str(),
        "target": commit.target.map(CommitDigest::to_hex),
        "actor": commit.actor,
        "session": commit.session,
        "source": line.source,
        "trust": commit.trust.name(),
        "reason": line.reason,
        "added": line.counts.added,
        "changed": line.counts.changed,
        "removed": line.counts.removed,
        "ids": line.ids,
        "ids_total": line.counts.total(),
    })
}

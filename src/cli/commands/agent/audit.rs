//! `audit`: the chain of commits as a log of who did what.
//!
//! # Layer
//! L9, part of cli.

use serde_json::{Value, json};

use crate::agent::{AuditLine, AuditRequest};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::cli::human::{Table, coloured, minor, number, plain};
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::cli::verbs::Audit;
use crate::digest::CommitDigest;
use crate::object::Id;

/// Ids that people see of a line.
const IDS_A_LINE: usize = 3;

pub(super) fn audit(context: &mut Context, verb: Audit) -> Done {
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
                time::told(commit.time, now, context.output.style()),
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

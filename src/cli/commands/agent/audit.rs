//! `audit`: lists the commits as a log of actors, actions and reasons.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::agent::{AuditLine, AuditRequest};
use crate::cli::commands::prelude::*;

/// The number of ids that people see on a line.
const IDS_A_LINE: usize = 3;

/// List who did what, and why
///
/// One line for each commit, newest first.
///
/// # Examples
/// ```text
/// treering audit --limit 10
/// treering audit --session night-run --kind fact --json
/// treering audit --id facts/office --since 2d
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Audit {
    /// Only commits from this source
    #[arg(long = "from", value_name = "SRC")]
    pub(crate) source: Option<String>,
    /// Only commits that changed an object of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only this operation: remember, forget, decay, promote, guard, ...
    #[arg(long, value_name = "OP")]
    pub(crate) op: Option<String>,
    /// Only commits that changed this object
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only from this time on: an RFC 3339 time, a date, or an age (90s, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Audit {
    const NAME: &'static str = "audit";
    const ANSWERS: &'static [Form] = &[form::<AuditLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_read()?;
        let view = context.view(agent.memory())?;
        let now = agent.memory().view().now();
        let moment = |text: &Option<String>| text.as_deref().map(|text| time::moment(text, now)).transpose();
        let request = AuditRequest {
            actor: context.options.lane.actor.clone(),
            session: context.options.lane.session.clone(),
            since: moment(&self.since)?,
            until: moment(&self.until)?,
            id: self.id.as_deref().map(Id::new).transpose()?,
            source: self.source,
            kind: self.kind,
            op: self.op,
        };
        let lines = agent.audit(&view, request);
        let lines = lines.take(self.limit.unwrap_or(usize::MAX));
        context.rows(lines, columns)
    }
}

fn columns(row: &AuditLine, context: &Context) -> Columns {
    let mut objects = row.ids[..row.ids.len().min(IDS_A_LINE)].join(", ");
    let more = row.ids_total.saturating_sub(IDS_A_LINE as u64);
    if more > 0 {
        objects = format!("{objects} and {more} more");
    }
    let [added, changed, removed] = human::change_counts(row.counts);
    vec![
        ("seq", number(row.seq)),
        ("when", context.when(row.time)),
        ("op", plain(&row.op)),
        added,
        changed,
        removed,
        ("who", plain(&row.lane)),
        ("trust", plain(row.trust.name())),
        ("objects", coloured(Meaning::Name, objects)),
        ("reason", plain(row.reason.as_deref().unwrap_or_default())),
    ]
}

//! `forget`, `unforget`, `forgotten`, `expire`: what leaves memory, and comes back.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::agent_context::ScopeOptions;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

use super::super::closing::head_line;
use crate::agent::forget::Forgetting;
use crate::agent::{Agent, Item};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{Table, coloured, counted, gist, plain};
use crate::cli::json::with_commit;
use crate::cli::output::{Meaning, Output};
use crate::cli::time;
use crate::engine::CommitInfo;
use crate::error::{Error, Result};
use crate::object::{Id, Kind, Time};

/// Take items out of memory
///
/// `unforget` brings them back.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "What meets all conditions goes, in one commit; of ids and of scopes, one has to fit. A pinned item goes only by its id. \
                  History keeps what was forgotten: `forgotten` lists it, `gc` leaves it for 30 days, and only `erase` takes it for good.\n\n\
                  Examples:\n  treering forget facts/office -m 'they moved'\n  treering forget --tag draft --older-than 30d --dry-run\n  \
                  treering forget --in-session night-run"
)]
pub(crate) struct Forget {
    /// Items by their ids, also pinned ones
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Items with this tag; with all of them, if given again
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Items with one of these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) any_tag: Vec<String>,
    /// Items stored before this: a time, a date, or how long ago (30d)
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Items said in this session
    #[arg(long, value_name = "S")]
    pub(crate) in_session: Option<String>,
    /// Items from this source
    #[arg(long, value_name = "SRC")]
    pub(crate) from_source: Option<String>,
    /// Items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Say what would go, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Forget {
    const NAME: &'static str = "forget";

    fn run(self, context: &mut Context) -> Done {
        forget(context, &self)
    }
}

/// Bring back what was forgotten
///
/// It comes back byte for byte, also what was shortened.
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering unforget facts/office\n  treering unforget --last --dry-run"
)]
pub(crate) struct Unforget {
    /// Items that were forgotten or shortened
    #[arg(value_name = "ID", required_unless_present = "last", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) ids: Vec<String>,
    /// All that was forgotten or shortened last in the scopes at work here
    #[arg(long, conflicts_with = "ids")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Say what would come back, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Unforget {
    const NAME: &'static str = "unforget";

    fn run(self, context: &mut Context) -> Done {
        unforget(context, &self)
    }
}

/// List what was forgotten
///
/// The newest comes first: when, by whom, and why.
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering forgotten\n  treering forgotten --all-scopes --limit 10 --json"
)]
pub(crate) struct Forgotten {
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Forgotten {
    const NAME: &'static str = "forgotten";

    fn run(self, context: &mut Context) -> Done {
        forgotten(context, &self)
    }
}

/// Set until when an item is shown
#[derive(Args, Debug)]
#[command(
    args = args::writes(),
    after_help = "Examples:\n  treering expire facts/office --at 2027-01-01\n  treering expire facts/office --in 30d\n  \
                  treering expire facts/office --never"
)]
pub(crate) struct Expire {
    /// The item
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// From this time or date on it is no longer shown
    #[arg(long, value_name = "TIME", required_unless_present_any = ["in_", "never"])]
    pub(crate) at: Option<String>,
    /// After this long it is no longer shown: 12h, 30d, 8w
    #[arg(long = "in", id = "in_", value_name = "DURATION", value_parser = time::span, conflicts_with = "at")]
    pub(crate) after: Option<Duration>,
    /// It stays
    #[arg(long, conflicts_with_all = ["at", "in_"])]
    pub(crate) never: bool,
}

impl Verb for Expire {
    const NAME: &'static str = "expire";

    fn run(self, context: &mut Context) -> Done {
        expire(context, &self)
    }
}

fn forget(context: &mut Context, verb: &Forget) -> Done {
    let agent = opened(context, verb.dry_run)?;
    let now = agent.memory().view().now();
    let before = verb.older_than.as_deref();
    let mut what = Forgetting {
        ids: ids_of(&verb.ids)?,
        all_tags: verb.tag.clone(),
        any_tags: verb.any_tag.clone(),
        before: before.map(|text| time::moment(text, now)).transpose()?,
        session: verb.in_session.clone(),
        source: verb.from_source.clone(),
        kind: verb.kind.as_deref().map(Kind::new).transpose()?,
        reach: None,
    };
    // Whoever names an item means it wherever it is; to work somewhere says nothing of what is to go.
    let is_said = !verb.scopes.scopes.is_empty() || (!what.is_empty() && what.ids.is_empty());
    if is_said && !verb.scopes.all_scopes {
        what.reach = Some(context.reach(&verb.scopes)?);
    }
    let forgot = agent.forget(&what, &context.writer(), verb.dry_run)?;
    let output = &mut context.output;
    if output.is_json() {
        output.document(&json!({
            "forgotten": items(&forgot.items),
            "pinned": texts(&forgot.pinned),
            "others": texts(&forgot.others),
            "dry_run": verb.dry_run,
            "commit": forgot.commit.as_ref().map(|info| info.digest.to_hex()),
            "seq": forgot.commit.as_ref().map(|info| info.commit.seq),
            "root": agent.memory().view().root().to_hex(),
        }))?;
    } else {
        let said = if verb.dry_run { "would forget" } else { "forgot" };
        print(output, &agent, said, &forgot.items, forgot.commit.as_ref())?;
        if forgot.commit.is_some() {
            // Whatever scopes it was in: where somebody works may have been said by an option.
            let way_back = "bring it back with: treering unforget --last --all-scopes";
            output.note("undo", way_back);
        }
    }
    note_left(output, &forgot.pinned, "pinned: forget it by its id");
    note_left(output, &forgot.others, "it does not meet the other conditions");
    dry_run(output, verb.dry_run);
    Ok(DONE)
}

fn unforget(context: &mut Context, verb: &Unforget) -> Done {
    let agent = opened(context, verb.dry_run)?;
    let back = if verb.last {
        agent.unforget_last(&context.reach(&verb.scopes)?, &context.writer(), verb.dry_run)?
    } else {
        agent.unforget(&ids_of(&verb.ids)?, &context.writer(), verb.dry_run)?
    };
    let output = &mut context.output;
    if output.is_json() {
        output.document(&json!({
            "restored": items(&back.items),
            "unchanged": texts(&back.unchanged),
            "dry_run": verb.dry_run,
            "commit": back.commit.as_ref().map(|info| info.digest.to_hex()),
            "seq": back.commit.as_ref().map(|info| info.commit.seq),
            "root": agent.memory().view().root().to_hex(),
        }))?;
    } else {
        let said = if verb.dry_run {
            "would bring back"
        } else {
            "brought back"
        };
        print(output, &agent, said, &back.items, back.commit.as_ref())?;
    }
    note_left(output, &back.unchanged, "it is there, whole");
    dry_run(output, verb.dry_run);
    Ok(DONE)
}

fn forgotten(context: &mut Context, verb: &Forgotten) -> Done {
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let reach = context.reach(&verb.scopes)?;
    let list = agent.forgotten(&view, &reach, verb.limit.unwrap_or(usize::MAX))?;
    let (now, output) = (view.now(), &mut context.output);
    let mut table = Table::new(&["id", "by", "lane", "when", "why", "text"]);
    for one in &list {
        let (object, commit) = (one.item.object(), &one.commit.commit);
        if output.is_json() {
            output.document(&json!({
                "id": object.id(),
                "kind": object.kind(),
                "scope": object.scope(),
                "digest": one.version.to_hex(),
                "time": commit.time.to_string(),
                "op": commit.op.as_str(),
                "actor": commit.actor,
                "session": commit.session,
                "reason": one.reason,
                "commit": one.commit.digest.to_hex(),
                "seq": commit.seq,
            }))?;
            continue;
        }
        let cells = vec![
            coloured(Meaning::Name, object.id()),
            plain(commit.op.as_str()),
            plain(one.commit.lane()),
            coloured(Meaning::Quiet, time::in_column(commit.time, now, output.style())),
            plain(one.reason.as_deref().unwrap_or_default()),
            plain(gist(object)),
        ];
        table.row(output, cells)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn expire(context: &mut Context, verb: &Expire) -> Done {
    let agent = context.agent_to_write()?;
    let id = Id::new(&verb.id)?;
    let now = agent.memory().view().now();
    let at = match (&verb.at, verb.after) {
        (Some(text), _) => Some(time::moment(text, now)?),
        (None, Some(after)) => {
            let after = i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
            Some(Time::from_micros(now.as_micros().saturating_add(after)))
        }
        (None, None) => None,
    };
    let commit = agent.expire(&id, at, &context.writer())?;
    let head = agent.memory().view().commit();
    let output = &mut context.output;
    if output.is_json() {
        let document = json!({
            "id": id.as_str(),
            "expires": at.map(|at| at.to_string()),
            "changed": commit.is_some(),
        });
        output.document(&with_commit(document, &head))?;
    } else {
        let until = match at {
            Some(at) => format!("is shown until {at}"),
            None => "stays".to_owned(),
        };
        let was = if commit.is_some() { "" } else { " as before" };
        output.line(format_args!("{id} {until}{was}"))?;
    }
    Ok(DONE)
}

pub(super) fn opened(context: &mut Context, dry_run: bool) -> Result<Agent> {
    if dry_run {
        context.agent_to_read()
    } else {
        context.agent_to_write()
    }
}

fn ids_of(texts: &[String]) -> Result<Vec<Id>, Error> {
    texts.iter().map(|text| Id::new(text)).collect()
}

fn texts(ids: &[Id]) -> Vec<&str> {
    ids.iter().map(Id::as_str).collect()
}

fn items(items: &[Item]) -> Vec<Value> {
    let objects = items.iter().map(Item::object);
    objects
        .map(|object| {
            json!({
                "id": object.id(),
                "kind": object.kind(),
                "scope": object.scope(),
                "digest": object.digest().to_hex(),
            })
        })
        .collect()
}

/// Tells people what moved, and the head where something did.
fn print(
    output: &mut Output,
    agent: &Agent,
    said: &str,
    items: &[Item],
    commit: Option<&CommitInfo>,
) -> Result<(), Failure> {
    let mut table = Table::new(&["id", "kind", "scope", "text"]);
    for item in items {
        let object = item.object();
        let cells = vec![
            coloured(Meaning::Name, object.id()),
            plain(object.kind()),
            plain(object.scope()),
            plain(gist(object)),
        ];
        table.row(output, cells)?;
    }
    if !items.is_empty() {
        table.finish(output)?;
    }
    let count = counted(items.len() as u64, "item");
    match commit {
        Some(info) => {
            let head = head_line(output, agent.memory(), info);
            output.line(format_args!("{said} {count}; {head}"))
        }
        None => output.line(format_args!("{said} {count}")),
    }
}

fn note_left(output: &mut Output, ids: &[Id], why: &str) {
    for id in ids {
        output.note("left", format!("{id} stays as it is: {why}"));
    }
}

pub(super) fn dry_run(output: &mut Output, is_so: bool) {
    if is_so {
        output.note("dry_run", "nothing was changed");
    }
}

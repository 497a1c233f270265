//! `forget` removes items, `unforget` restores them, `forgotten` lists them, and `expire` sets the time of expiry.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Duration;

use super::forget_about;
use crate::answers::agent::items::{
    Expires, ForgottenLine, ItemLine, ItemsAbout, ItemsForgotten, ItemsRestored, Outcome,
};
use crate::cli::commands::prelude::*;
use treering::agent::Forgetting;
use treering::inspect::object::lane_of;

/// Remove items from the memory
///
/// `unforget` restores them.
///
/// # Notes
/// Removes the items that meet all conditions, in one commit. Several ids or several scopes are alternatives. A pinned
/// item is removed only by its id. History keeps forgotten items: `forgotten` lists them, `gc` keeps them for 30 days,
/// and `erase` removes them permanently. --about shows the items that answer a question, and asks which of them to
/// forget; without a terminal it only shows them.
///
/// # Examples
/// ```text
/// treering forget facts/office -m 'they moved'
/// treering forget --tag draft --older-than 30d --dry-run
/// treering forget --in-session night-run
/// treering forget --about 'where is the office?'
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Forget {
    /// Items with these ids, including pinned items
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Items with this tag; if repeated, items that have all these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Items with this tag; if repeated, items that have at least one of these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) any_tag: Vec<String>,
    /// Items stored before this time: a time, a date, or an age (30d)
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<String>,
    /// Items of this session
    #[arg(long, value_name = "S")]
    pub(crate) in_session: Option<String>,
    /// Items from this source
    #[arg(long, value_name = "SRC")]
    pub(crate) from_source: Option<String>,
    /// Items of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Show the items that answer this question, and forget those that you choose
    #[arg(long, value_name = "QUESTION", conflicts_with_all = ["ids", "tag", "any_tag", "older_than", "in_session", "from_source", "kind"])]
    pub(crate) about: Option<String>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --about, forget the item without asking if exactly one item is a good match
    #[arg(long, requires = "about")]
    pub(crate) yes: bool,
}

impl Verb for Forget {
    const ANSWERS: &'static [Form] = &[
        form::<ItemsForgotten>("commit is null if nothing was forgotten"),
        form::<ItemsAbout>("with --about"),
    ];

    fn run(self, context: &mut Context) -> Done {
        if let Some(question) = &self.about {
            return forget_about::run(context, &self, question);
        }
        let agent = context.agent_to_change(self.dry_run)?;
        let view = agent.memory().view();
        let now = view.now();
        let named_by = context.all_by_hand(agent.memory(), &view, &self.ids, "forget")?;
        let mut what = Forgetting {
            ids: named_by.iter().map(|named| named.id.clone()).collect(),
            versions: Vec::new(),
            all_tags: self.tag,
            any_tags: self.any_tag,
            before: time::given(self.older_than.as_deref(), now)?,
            session: self.in_session,
            source: self.from_source,
            kind: self.kind.as_deref().map(Kind::new).transpose()?,
            reach: None,
        };
        // An id matches an item in any scope. The default scopes limit only other conditions, so default scopes alone
        // never select items to forget.
        let is_limited = !self.scopes.scopes.is_empty() || (!what.is_empty() && what.ids.is_empty());
        if is_limited && !self.scopes.all_scopes {
            what.reach = Some(context.reach(&self.scopes)?);
        }
        let forgot = agent.forget(&what, &context.writer(), self.dry_run);
        let forgot = forgot.map_err(|error| {
            let missing = named_by
                .iter()
                .find(|named| error.ids().contains(&named.id.to_string()));
            missing
                .or(named_by.first())
                .map_or(error.clone(), |named| named.told(error))
        })?;
        let answer = ItemsForgotten::of(&agent, forgot, self.dry_run, self.shown.with_untrusted);
        context.answer(&answer, |answer, context| {
            let items: Vec<_> = answer.forgotten.iter().collect();
            show_moved(context, ["would forget", "forgot"], &items, &answer.outcome)?;
            if answer.outcome.commit.is_some() {
                context.note_unforget("restore the items with");
            }
            Ok(())
        })?;
        note_left(
            context,
            &answer.pinned,
            "the item is pinned, so only its id selects the item",
        );
        note_left(
            context,
            &answer.others,
            "the item does not meet the other conditions",
        );
        note_still(context, &answer.still);
        context.note_dry_run(self.dry_run);
        Ok(DONE)
    }
}

/// Restore forgotten items
///
/// Restores every byte, also of shortened items.
///
/// # Examples
/// ```text
/// treering unforget facts/office
/// treering unforget --last --dry-run
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Unforget {
    /// Forgotten or shortened items to restore
    #[arg(value_name = "ID", required_unless_present = "last", conflicts_with_all = ["scopes", "all_scopes"])]
    pub(crate) ids: Vec<String>,
    /// Restore all items of the last forget or decay in the current scopes
    #[arg(long, conflicts_with = "ids")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
    /// Print what would be restored, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Verb for Unforget {
    const ANSWERS: &'static [Form] = &[form::<ItemsRestored>("commit is null if nothing was restored")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_change(self.dry_run)?;
        let back = if self.last {
            agent.unforget_last(&context.reach(&self.scopes)?, &context.writer(), self.dry_run)?
        } else {
            agent.unforget(&ids_of(&self.ids)?, &context.writer(), self.dry_run)?
        };
        let answer = ItemsRestored::of(&agent, back, self.dry_run, self.shown.with_untrusted);
        context.answer(&answer, |answer, context| {
            let verbs = ["would restore", "restored"];
            let items: Vec<_> = answer.restored.iter().collect();
            show_moved(context, verbs, &items, &answer.outcome)
        })?;
        note_left(
            context,
            &answer.unchanged,
            "the memory contains the item with its full text, so there is nothing to restore",
        );
        context.note_dry_run(self.dry_run);
        Ok(DONE)
    }
}

/// List the forgotten items
///
/// Lists the newest item first, each with its time, author and reason.
///
/// # Examples
/// ```text
/// treering forgotten
/// treering forgotten --all-scopes --limit 10 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Forgotten {
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    #[command(flatten)]
    pub(crate) shown: UntrustedOption,
    /// Print at most N items
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

impl Verb for Forgotten {
    const ANSWERS: &'static [Form] = &[form::<ForgottenLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (agent, view) = context.agent_view()?;
        let reach = context.reach(&self.scopes)?;
        let list = agent.forgotten(&view, &reach, self.limit.unwrap_or(usize::MAX))?;
        let lines = list.into_iter();
        let lines = lines.map(|one| Ok(ForgottenLine::of(&agent, one, self.shown.with_untrusted)));
        context.rows(lines, |row, context| {
            let mut cells = vec![
                ("id", named(&row.item.id)),
                ("by", plain(&row.op)),
                (
                    "lane",
                    plain(lane_of(row.session.as_deref(), row.actor.as_deref())),
                ),
                ("when", context.when(row.time)),
                ("why", optional(row.reason.as_deref())),
            ];
            cells.extend(text_cells(&row.item.shown, GIST_CHARS));
            cells
        })
    }
}

/// Set the time when an item expires
///
/// # Examples
/// ```text
/// treering expire facts/office --at 2027-01-01
/// treering expire facts/office --in 30d
/// treering expire facts/office --never
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Expire {
    /// The id of the item
    pub(crate) id: String,
    /// The item expires at this time or date
    #[arg(long, value_name = "TIME", required_unless_present_any = ["in_", "never"])]
    pub(crate) at: Option<String>,
    /// The item expires after this duration: 12h, 30d, 8w; --ttl is the same
    #[arg(long = "in", id = "in_", alias = "ttl", value_name = "DURATION", value_parser = time::span, conflicts_with = "at")]
    pub(crate) after: Option<Duration>,
    /// The item never expires
    #[arg(long, conflicts_with_all = ["at", "in_"])]
    pub(crate) never: bool,
}

impl Verb for Expire {
    const ANSWERS: &'static [Form] = &[form::<Expires>("")];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_write()?;
        let view = agent.memory().view();
        let named_by = context.by_hand(agent.memory(), &view, &self.id, "set the expiry of")?;
        let id = named_by.id.clone();
        let now = view.now();
        let at = match (&self.at, self.after) {
            (Some(text), _) => Some(time::moment(text, now)?),
            (None, Some(after)) => {
                let after = i64::try_from(after.as_micros()).unwrap_or(i64::MAX);
                Some(Time::from_micros(now.as_micros().saturating_add(after)))
            }
            (None, None) => None,
        };
        let commit = agent.expire(&id, at, &context.writer());
        let commit = commit.map_err(|error| named_by.told(error))?;
        let answer = Expires {
            id,
            expires: at,
            changed: commit.is_some(),
            commit: agent.memory().view().commit(),
        };
        let until = at.map_or_else(|| "never expires".to_owned(), |at| format!("expires at {at}"));
        let was = if answer.changed { "" } else { " as before" };
        context.say(&answer, format_args!("{} {until}{was}", answer.id))
    }
}

fn ids_of(texts: &[String]) -> Result<Vec<Id>> {
    texts.iter().map(|text| Id::new(text)).collect()
}

/// Prints the items, and the new head if the verb made a commit.
pub(super) fn show_moved(
    context: &mut Context,
    [would, did]: [&str; 2],
    items: &[&ItemLine],
    outcome: &Outcome,
) -> Result<()> {
    context.write_rows(items.iter().map(Ok), |item, context| {
        let mut cells = columns(item, &["id", "kind", "scope"], context);
        cells.extend(text_cells(&item.shown, GIST_CHARS));
        cells
    })?;
    let verb = if outcome.dry_run { would } else { did };
    let head = outcome.seq.map(|seq| context.state_line(seq, outcome.root));
    let head = head.map(|head| format!("; {head}")).unwrap_or_default();
    let count = counted(items.len() as u64, "item");
    context.line(format_args!("{verb} {count}{head}"))
}

/// Names the texts that tell of the session from which a forgotten item was learnt.
pub(super) fn note_still(context: &mut Context, still: &[Id]) {
    for id in still {
        let message =
            format!("{id} tells of the same session, and may still say it; read it with: treering get {id}");
        context.note("still", message);
    }
}

pub(super) fn note_left(context: &mut Context, ids: &[Id], why: &str) {
    for id in ids {
        context.note("left", format!("{id} is unchanged: {why}"));
    }
}

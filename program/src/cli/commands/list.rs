//! `list`: lists the objects that match the filters.
//!
//! # Layer
//! Layer 10, part of cli.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::attributes::attribute;
use super::cells::trust_column;
use super::gists::Gists;
use super::marks::Marks;
use super::prelude::*;
use crate::answers::objects::Listed;
use crate::cli::human::spare;
use treering::Query;
use treering::merge::MERGE_CONFLICT;

/// The number of objects that `--recent` lists without `--limit`.
const RECENT: usize = 10;

/// List objects that match filters
///
/// # Notes
/// --actor A, --session S and --source SRC list only the objects whose version that writer wrote. The
/// mark ! stands before an untrusted object: of a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering list --kind task --attr state=open
/// treering list --prefix notes/ --limit 20 --json
/// treering list --at 2026-11-21T09:00:00Z
/// treering list --session night-run
/// ```
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Args, Debug)]
#[command(args = args::reads_by_writer(), verbatim_doc_comment)]
pub(crate) struct List {
    /// Only objects of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only objects in this scope
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Objects in all scopes, as without --scope
    #[arg(long, conflicts_with = "scope")]
    all_scopes: bool,
    /// Only ids that start with this text
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Only the children of this object
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Only objects whose attribute has this value: k=text, or k:=JSON; may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    attributes: Vec<String>,
    /// Only objects last written in or after this commit, or at or after this time
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Only objects last written in or before this commit, or at or before this time
    #[arg(long, value_name = "REV")]
    until: Option<String>,
    /// Sort by the last change, newest first [default limit: 10]
    #[arg(long)]
    recent: bool,
    /// Also list expired items
    #[arg(long)]
    include_expired: bool,
    /// With --agent, also show the texts of objects from untrusted sources
    #[arg(long)]
    with_untrusted: bool,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for List {
    const ANSWERS: &'static [Form] = &[form::<Listed>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let by = context.written_by();
        let query = self.query(!by.is_everyone())?;
        let (memory, view) = context.open_view()?;
        let since = moment(context, &memory, self.since.as_deref())?;
        let until = moment(context, &memory, self.until.as_deref())?;
        let is_wanted = |row: &Listed| {
            (since.is_none() || since <= row.updated)
                && until.is_none_or(|until| row.updated.is_some_and(|updated| updated <= until))
        };
        let mut found = false;
        let mut matches = view.query(&query)?;
        let rows = matches.by_ref().inspect(|_| found = true);
        let is_by = |object: &Object| by.wrote(&memory, &view, &Id::new(object.id().as_str())?);
        let rows = rows.filter_map(|object| match object {
            Ok(object) => is_by(&object).map(|is_by| is_by.then_some(object)).transpose(),
            error => Some(error),
        });
        let rows = rows.map(|object| Listed::of(&view, object?));
        let rows = rows.filter(|row| row.as_ref().map_or(true, is_wanted));
        let gists = Gists::new(context, &memory, Some(self.with_untrusted));
        let marks = Marks::new(context, &memory, &view);
        let cells = |row: &Listed, context: &Context| {
            let mark = marks.of(&view, &row.object).ok().flatten();
            cells_of(row, &gists, mark, self.recent, context)
        };
        let shown = if self.recent {
            let newest = newest(rows, self.limit.unwrap_or(RECENT))?;
            context.write_rows(newest.into_values().map(Ok), cells)?
        } else {
            context.write_rows(rows.take(self.limit.unwrap_or(usize::MAX)), cells)?
        };
        if matches.erased() > 0 {
            let count = counted(matches.erased(), "object");
            let note = format!("not listed, because erased or lost: {count} of this state");
            context.output.note("erased", note);
        }
        context.note_unreadable(&memory);
        if !found && !query.include_expired && self.limit != Some(0) && has_expired(&view, query)? {
            let note = "all matching objects have expired; --include-expired also lists expired objects";
            context.output.note("expired", note);
        } else if shown == 0 {
            context.nothing_by(&memory, &by)?;
        }
        Ok(DONE)
    }
}

impl List {
    fn query(&self, by_writer: bool) -> Result<Query> {
        let is_filtered = by_writer || self.since.is_some() || self.until.is_some() || self.recent;
        let attributes = self.attributes.iter().map(|text| attribute(text));
        let mut query = Query::default();
        query.kind = self.kind.as_deref().map(Kind::new).transpose()?;
        if query.kind.is_none() {
            query.not_kinds.push(Kind::new(MERGE_CONFLICT)?);
        }
        let scope = self.scope.as_deref().filter(|_| !self.all_scopes);
        query.scope = scope.map(Scope::new).transpose()?;
        query.prefix.clone_from(&self.prefix);
        query.parent = self.parent.as_deref().map(Id::new).transpose()?;
        query.attributes = attributes.collect::<Result<_>>()?;
        query.include_expired = self.include_expired;
        // With filters or `--recent`, the limit applies after filtering and sorting, not in the query.
        query.limit = self.limit.filter(|_| !is_filtered);
        Ok(query)
    }
}

/// Returns the columns of an object. The last column is the time of the change with `--recent`, else the scope.
fn cells_of(
    row: &Listed,
    gists: &Gists,
    mark: Option<String>,
    is_recent: bool,
    context: &Context,
) -> Columns {
    let (id, kind) = (("id", named(&row.id)), ("kind", plain(&row.kind)));
    let trust = trust_column(row.origin, context);
    let mark = mark.map(|mark| format!("({mark}) ")).unwrap_or_default();
    let gist = mark + &gists.of(&row.object);
    let gist = ("gist", spare(coloured(Meaning::Quiet, gist)));
    if is_recent {
        let updated = row.updated.map_or_else(|| plain(""), |time| context.when(time));
        return vec![("updated", updated), trust, id, kind, gist];
    }
    vec![trust, id, kind, ("scope", plain(&row.scope)), gist]
}

/// Objects by the time of their change, newest first, then by id.
type Newest = BTreeMap<(Reverse<Option<Time>>, String), Listed>;

/// Returns the objects that changed last, newest first.
fn newest(rows: impl Iterator<Item = Result<Listed>>, limit: usize) -> Result<Newest> {
    let mut newest = BTreeMap::new();
    for listed in rows {
        let listed = listed?;
        newest.insert((Reverse(listed.updated), listed.id.clone()), listed);
        if newest.len() > limit {
            newest.pop_last();
        }
    }
    Ok(newest)
}

/// Returns whether any object is hidden only because it has expired.
fn has_expired(view: &View, query: Query) -> Result<bool> {
    let mut expired = view.query(&query.with_expired().limit(1))?;
    Ok(expired.next().transpose()?.is_some())
}

/// Parses a time, or resolves a revision and returns the time of its commit.
fn moment(context: &Context, memory: &Memory, text: Option<&str>) -> Result<Option<Time>> {
    let Some(text) = text else { return Ok(None) };
    // A snapshot may be called like a day.
    if matches!(text.parse(), Ok(Revision::Name(_)))
        && let Ok(commit) = context.resolve(memory, text)
    {
        return Ok(Some(commit.commit.time));
    }
    match time::moment(text, memory.view().now()) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Ok(Some(context.resolve(memory, text)?.commit.time)),
    }
}

//! `history`: lists the changes of one object.
//!
//! # Layer
//! Layer 10, part of cli.

use super::cells::trust_column;
use super::prelude::*;
use crate::answers::history::HistoryLine;
use crate::cli::human::spare;
use treering::HistoryEntry;
use treering::inspect::object::lane_of;

/// List the changes of one object
///
/// Lists the newest change first.
///
/// # Notes
/// --actor A, --session S and --source SRC list only the changes by that writer. The mark ! stands before an untrusted
/// writer: a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering history tea
/// treering history tea --long
/// treering history tea --session night-run
/// treering history tea --limit 3 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_by_writer(), verbatim_doc_comment)]
pub(crate) struct History {
    /// The object whose changes are listed
    id: String,
    /// Also show the trust and reason of each change
    #[arg(long)]
    long: bool,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for History {
    const ANSWERS: &'static [Form] = &[form::<HistoryLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_line_to_read()?;
        let view = context.view(&memory)?;
        let named_by = context.by_hand(&memory, &view, &self.id, "show the history of")?;
        let id = named_by.id.clone();
        let newest = view.commit().commit.seq;
        let is_later =
            |entry: &Result<HistoryEntry>| entry.as_ref().is_ok_and(|entry| entry.commit.commit.seq > newest);
        let mut entries = memory.changes_of(&id).skip_while(is_later).peekable();
        if entries.peek().is_none() {
            let error = no_object(&memory, &id, &view, memory.history(&id)?.last());
            return Err(named_by.told(error));
        }
        let by = context.written_by();
        let is_by = |entry: &HistoryEntry| {
            by.is_everyone() || entry.maker().is_some_and(|maker| by.made(&memory, &maker.commit))
        };
        let entries = entries.filter(|entry| entry.as_ref().map_or(true, is_by));
        let entries = entries.take(self.limit.unwrap_or(usize::MAX));
        // A text of the object is not for a model that did not ask for it.
        let is_for_model = context.output.is_compact();
        let lines = entries.map(|entry| match HistoryLine::of(&memory, &entry?)? {
            line if is_for_model => Ok(line),
            line => line.with_source_of_version(&memory),
        });
        context.rows_by(&memory, &by, lines, |line, context| {
            let mut cells = cells_of(line, context);
            if self.long {
                cells.push(("class", optional(line.trust.map(Origin::name))));
                cells.push(("reason", spare(optional(line.reason.as_deref()))));
            }
            cells
        })
    }
}

fn cells_of(row: &HistoryLine, context: &Context) -> Columns {
    // If a thinned commit made the change, the commit's number and author are unknown.
    let lane = lane_of(row.session.as_deref(), row.actor.as_deref());
    let lane = if row.thinned { "-" } else { lane };
    let seq = if row.thinned { "<=" } else { "" };
    let version = match row.digest {
        Some(digest) if row.erased || row.lost => {
            let why = if row.lost { "lost" } else { "erased" };
            coloured(Meaning::Bad, format!("{} ({why})", short(digest.as_bytes())))
        }
        Some(digest) => named(short(digest.as_bytes())),
        None => coloured(Meaning::Bad, "removed"),
    };
    vec![
        ("seq", right(format!("{seq}{}", row.seq))),
        ("version", version),
        ("op", plain(row.op.as_deref().unwrap_or("thinned"))),
        trust_column(row.trust.unwrap_or(Origin::DirectUser), context),
        ("lane", plain(lane)),
        ("source", minor(1, optional(row.source.as_deref()))),
        ("when", context.when(row.time)),
    ]
}

//! `blame`: lists who wrote each part of an object.
//!
//! # Layer
//! Layer 10, part of cli.

use super::cells::{trust_column, writer_columns};
use super::prelude::*;
use crate::answers::history::BlameLine;
use crate::cli::human::{WITHHELD, spare};
use treering::inspect::object::lane_of;

/// List who wrote each part
///
/// Lists the fields, attributes and lines of an object, each with the commit that wrote it.
///
/// # Notes
/// A version that an undo, a rollback or a restore brought back counts for its first writer. The mark ! stands before
/// what came from a tool, a document or an import.
///
/// # Examples
/// ```text
/// treering blame facts/office
/// treering blame facts/office --at snap:0
/// treering blame plans/today --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Blame {
    /// The object whose parts are listed
    id: String,
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for Blame {
    const ANSWERS: &'static [Form] = &[form::<BlameLine>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let named_by = context.by_hand(&memory, &view, &self.id, "blame")?;
        let id = named_by.id.clone();
        let parts = memory.blame(&view, &id)?;
        if parts.is_empty() {
            let change = memory.changes_of(&id).next().transpose()?;
            return Err(named_by.told(no_object(&memory, &id, &view, change.as_ref())));
        }
        let parts = parts.iter().take(self.limit.unwrap_or(usize::MAX));
        let is_trusted = view.get(&id)?.is_some_and(|object| object.origin().is_trusted());
        let is_for_model = context.output.is_compact();
        let lines = parts.map(|blamed| {
            let mut line = BlameLine::of(&memory, blamed)?;
            if !is_for_model {
                line.by = line.by.with_source_of_version(&memory)?;
            }
            if is_for_model && !(is_trusted && line.by.trust.is_some_and(Origin::is_trusted)) {
                WITHHELD.clone_into(&mut line.text);
                // The name of an attribute is a text, too.
                if let Some((sort, _)) = line.part.split_once("attr:") {
                    line.part = format!("{sort}attr");
                }
            }
            Ok(line)
        });
        context.rows(lines, cells_of)
    }
}

fn cells_of(line: &BlameLine, context: &Context) -> Columns {
    let by = &line.by;
    // If a thinned commit wrote the part, the commit's number and author are unknown.
    let lane = lane_of(by.session.as_deref(), by.actor.as_deref());
    let (before, lane) = if by.thinned { ("<=", "-") } else { ("", lane) };
    let mut cells = vec![
        ("part", named(&line.part)),
        ("seq", right(format!("{before}{}", by.seq))),
        trust_column(by.trust.unwrap_or(Origin::Import), context),
    ];
    cells.extend(writer_columns(lane, by.actor.as_deref(), by.source.as_deref()));
    cells.push(("when", context.when(by.time)));
    cells.push(("text", spare(plain(&line.text))));
    cells
}

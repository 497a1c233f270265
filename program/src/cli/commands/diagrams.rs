//! `export --format dot|svg|html`: writes diagrams of the store.
//!
//! # Layer
//! Layer 10, part of cli.

use super::export::{DiagramOf, Export, ExportFormat, write_file};
use super::prelude::*;
use crate::answers::program::Drawn;
use crate::cli::diagram::{self, Diagram, ROWS_DRAWN};

pub(super) fn export(context: &mut Context, verb: &Export) -> Done {
    let (memory, view) = context.open_view()?;
    let (one, all) = (
        verb.diagram.unwrap_or(DiagramOf::Tree),
        DiagramOf::value_variants(),
    );
    let is_page = verb.format == ExportFormat::Html;
    let drawn = if is_page { all } else { &[one] };
    let diagrams = drawn
        .iter()
        .map(|what| draw(context, &memory, &view, verb, *what));
    let diagrams = diagrams.collect::<Result<Vec<_>>>()?;
    let rows: usize = diagrams.iter().map(|diagram| diagram.rows.len()).sum();
    let text = match verb.format {
        ExportFormat::Dot => diagram::dot(&diagrams[0]),
        ExportFormat::Svg => diagram::svg(&diagrams[0]),
        _ => {
            let (store, seq) = (shown(&context.store()?), view.commit().commit.seq);
            let title = format!("{store} at seq {seq}, {}", counted(view.len(), "object"));
            diagram::html(&title, &diagrams)
        }
    };
    let Some(path) = verb.named_path() else {
        context.output.check_form()?;
        context.line(text.trim_end())?;
        return Ok(DONE);
    };
    write_file(path, |put| put(&text))?;
    let (bytes, path) = (text.len(), shown(path));
    let text = format!("drew {} in {path}", counted(rows as u64, "row"));
    context.say(&Drawn { rows, bytes, path }, text)
}

fn draw(context: &Context, memory: &Memory, view: &View, verb: &Export, what: DiagramOf) -> Result<Diagram> {
    let rows = verb.rows.unwrap_or(ROWS_DRAWN).max(1);
    match what {
        DiagramOf::Tree => {
            let under = verb.under.as_deref().map(Id::new).transpose()?;
            diagram::tree(memory, view, under.as_ref(), rows)
        }
        DiagramOf::History => diagram::history(memory, view, rows),
        DiagramOf::Trie => {
            let older = match &verb.from {
                Some(from) => context.view_of(memory, from)?,
                None => newest_snapshot_before(memory, view)?,
            };
            diagram::trie(memory, &older, view, rows)
        }
    }
}

/// Returns the state of the newest earlier snapshot whose root differs from the root of `view`. Without such a
/// snapshot, returns the state of the previous commit, or `view` if `view` is the first state.
fn newest_snapshot_before(memory: &Memory, view: &View) -> Result<View> {
    let commit = view.commit().commit;
    let snapshots = memory.snapshots()?;
    let snapshot = snapshots
        .iter()
        .find(|snapshot| snapshot.seq < commit.seq && snapshot.root != commit.root);
    let seq = snapshot.map_or(commit.seq.saturating_sub(1), |snapshot| snapshot.seq);
    memory.view_at(&Revision::Seq(seq), "")
}

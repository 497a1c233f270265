//! `tree`: lists the objects as an indented tree.
//!
//! # Layer
//! Layer 10, part of cli.

use super::cells::trust_column;
use super::gists::Gists;
use super::prelude::*;
use crate::cli::diagram::tops;
use crate::cli::human::spare;

/// The largest number of indented levels.
const INDENT_MAX: u64 = 64;

/// List the objects as a tree
///
/// Lists all objects, or only ID and the objects below it. treering conflicts lists the open conflicts of merges.
///
/// # Examples
/// ```text
/// treering tree
/// treering tree notes --depth 2 --at snap:0
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Tree {
    /// The object at the top of the tree
    id: Option<String>,
    /// Print at most N levels below the top
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    depth: u64,
    /// Print at most N objects
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    limit: usize,
}

/// An object, and its depth below the top.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Node {
    id: String,
    depth: u64,
    parent: Option<String>,
    kind: String,
    children: u64,
    gist: String,
    origin: Origin,
}

impl Verb for Tree {
    const ANSWERS: &'static [Form] = &[form::<Node>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let gists = Gists::new(context, &memory, None);
        let tops = match &self.id {
            Some(id) => vec![Id::new(id)?],
            None => tops(&view, self.limit)?,
        };
        // The loop pops from the end of the stack, so the first object is its last element.
        let mut waiting: Vec<_> = tops.into_iter().rev().map(|id| (id, 0)).collect();
        let mut next = || -> Result<Option<Node>> {
            let Some((id, depth)) = waiting.pop() else {
                return Ok(None);
            };
            let missing = || no_object(&memory, &id, &view, None);
            let object = view.get(&id)?.ok_or_else(missing)?;
            if depth < self.depth {
                let below = view.children(&id, Some(self.limit))?;
                waiting.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
            }
            Ok(Some(Node {
                depth,
                parent: object.parent().map(str::to_owned),
                kind: object.kind().to_owned(),
                children: view.child_count(&id)?,
                gist: gists.of(&object),
                origin: object.origin(),
                id: id.to_string(),
            }))
        };
        let nodes = std::iter::from_fn(|| next().transpose());
        context.rows(nodes.take(self.limit), cells_of)?;
        if !waiting.is_empty() {
            let note = format!(
                "only the first {} objects are shown; a larger --limit shows more",
                self.limit
            );
            context.note("more", note);
        }
        Ok(DONE)
    }
}

fn cells_of(row: &Node, context: &Context) -> Columns {
    let indent = "  ".repeat(row.depth.min(INDENT_MAX) as usize);
    let children = Some(row.children).filter(|children| *children > 0);
    vec![
        trust_column(row.origin, context),
        ("object", named(format!("{indent}{}", one_line(&row.id)))),
        ("kind", plain(&row.kind)),
        ("children", children.map_or_else(|| plain(""), number)),
        ("gist", spare(coloured(Meaning::Quiet, &row.gist))),
    ]
}

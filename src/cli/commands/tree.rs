//! `tree`: the objects as an indented tree.
//!
//! # Layer
//! L10, part of cli.

use std::collections::BinaryHeap;

use super::absent::no_object;
use super::prelude::*;

/// The largest number of indented levels.
const INDENT_MAX: u64 = 64;

/// List the objects as a tree
///
/// It lists all objects, or those below ID.
///
/// # Examples
/// ```text
/// treering tree
/// treering tree notes --depth 2 --at snap:0
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Tree {
    /// The object at the top
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// At most N levels below the top
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    depth: u64,
    /// At most N objects
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
}

impl Verb for Tree {
    const NAME: &'static str = "tree";
    const ANSWERS: &'static [Form] = &[form::<Node>("a line each")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let view = context.view(&memory)?;
        let mut walk = Walk {
            waiting: self.tops(&view)?,
            depth: self.depth,
            limit: self.limit,
            memory,
            view,
        };
        context.rows(walk.by_ref().take(self.limit))?;
        if !walk.waiting.is_empty() {
            let note = format!(
                "the first {} objects: --limit and --depth show others",
                self.limit
            );
            context.output.note("more", note);
        }
        Ok(DONE)
    }
}

impl Tree {
    /// Returns the objects at the top, in reverse order.
    fn tops(&self, view: &View) -> Result<Vec<(Id, u64)>> {
        let tops = match &self.id {
            Some(id) => vec![Id::new(id)?],
            None => without_parent(view, self.limit)?,
        };
        Ok(tops.into_iter().rev().map(|id| (id, 0)).collect())
    }
}

/// Returns the first `limit` ids without a parent, and one more if there are more.
fn without_parent(view: &View, limit: usize) -> Result<Vec<Id>> {
    let mut found: BinaryHeap<Id> = BinaryHeap::new();
    for object in view.objects() {
        let object = object?;
        if object.parent().is_none() && !object.is_placeholder() {
            found.push(Id::new(object.id())?);
            if found.len() > limit.saturating_add(1) {
                found.pop();
            }
        }
    }
    Ok(found.into_sorted_vec())
}

/// A walk from the top that visits parents before their children.
struct Walk {
    memory: Memory,
    view: View,
    /// The stack of ids to visit, with their levels; the next id is the last element.
    waiting: Vec<(Id, u64)>,
    depth: u64,
    limit: usize,
}

impl Iterator for Walk {
    type Item = Result<Node>;

    fn next(&mut self) -> Option<Self::Item> {
        let (id, level) = self.waiting.pop()?;
        Some(self.node(&id, level))
    }
}

impl Walk {
    fn node(&mut self, id: &Id, depth: u64) -> Result<Node> {
        let missing = || no_object(&self.memory, id, &self.view, None);
        let object = self.view.get(id)?.ok_or_else(missing)?;
        if depth < self.depth {
            let below = self.view.children(id, Some(self.limit))?;
            self.waiting
                .extend(below.into_iter().rev().map(|child| (child, depth + 1)));
        }
        Ok(Node {
            id: id.to_string(),
            depth,
            parent: object.parent().map(str::to_owned),
            kind: object.kind().to_owned(),
            children: self.view.child_count(id)?,
            gist: gist(&object),
        })
    }
}

impl Row for Node {
    const COLUMNS: &'static [&'static str] = &["object", "kind", "children", "gist"];

    fn cells(&self, _: &Context) -> Vec<Cell> {
        let indent = "  ".repeat(self.depth.min(INDENT_MAX) as usize);
        let children = Some(self.children).filter(|children| *children > 0);
        vec![
            coloured(Meaning::Name, format!("{indent}{}", one_line(&self.id))),
            plain(&self.kind),
            children.map_or_else(|| plain(""), number),
            coloured(Meaning::Quiet, &self.gist),
        ]
    }
}

//! Draws the tries of two states as one diagram, which distinguishes shared nodes from nodes of one state only.
//!
//! The diagram contains a shared node once, without its children. The shared children of a branch are one row. Shared
//! nodes show why a snapshot needs little space.
//!
//! # Layer
//! Layer 10, part of cli.

use super::{Diagram, Mark, Row};
use crate::cli::human::{counted, gist, nibbles, short};
use treering::inspect::digest::to_hex;
use treering::inspect::trie::{Node, NodeKind};
use treering::{Memory, View};
use treering::{ObjectDigest, Result};

/// A path to draw, with the node of each state at this path.
struct Waiting {
    parent: Option<usize>,
    path: Vec<u8>,
    older: Option<Node>,
    newer: Option<Node>,
}

/// Draws the nodes that differ between `newer` and `older`. Draws at most `most` rows, plus one row per branch for its
/// shared children.
///
/// # Errors
/// Returns `Corrupt` or `Io` if a node or an object cannot be read.
pub(in crate::cli) fn trie(memory: &Memory, older: &View, newer: &View, most: usize) -> Result<Diagram> {
    let name = |view: &View| {
        let root = short(view.root().as_bytes());
        format!("seq {} (root {root})", view.commit().commit.seq)
    };
    let title = format!("Trie nodes of {} and of {}", name(older), name(newer));
    let mut diagram = Diagram::new("trie", title);
    let mut waiting = vec![Waiting {
        parent: None,
        path: Vec::new(),
        older: older.trie_node(&[])?,
        newer: newer.trie_node(&[])?,
    }];
    while let Some(next) = waiting.pop() {
        if diagram.rows.len() >= most {
            let rest = counted(waiting.len() as u64 + 1, "more node");
            diagram.push_left_out(next.parent, &format!("{rest} with their subtrees, not drawn"));
            break;
        }
        let Some(row) = row(memory, &next)? else {
            diagram.push_left_out(next.parent, "both states are empty");
            continue;
        };
        let shared = row.mark == Mark::Shared;
        let number = diagram.push(row);
        if !shared {
            push_children(&mut diagram, &mut waiting, number, &next, [older, newer])?;
        }
    }
    Ok(diagram)
}

/// Returns the child of `node` whose path is `path`. `other` is the node of the other state at the place of `node`. If
/// `node` is a leaf and `other` is a branch, the leaf counts as its own child, at the digit of its key path.
fn child(view: &View, node: Option<&Node>, other: Option<&Node>, path: &[u8]) -> Result<Option<Node>> {
    let Some(leaf) = node.filter(|node| matches!(node.kind, NodeKind::Leaf(_))) else {
        return view.trie_node(path);
    };
    let is_opened = other.is_some_and(|other| matches!(other.kind, NodeKind::Branch(_)));
    let level = path.len() - 1;
    let is_at_path =
        matches!(&leaf.kind, NodeKind::Leaf(entry) if entry.key.nibble(level) == usize::from(path[level]));
    Ok((is_opened && is_at_path).then(|| leaf.clone()))
}

/// Draws the shared children of a branch as one row, and adds all other children to `waiting`.
fn push_children(
    diagram: &mut Diagram,
    waiting: &mut Vec<Waiting>,
    parent: usize,
    at: &Waiting,
    [older, newer]: [&View; 2],
) -> Result<()> {
    let (old, new) = (at.older.as_ref(), at.newer.as_ref());
    let (mut digits, mut leaves) = (Vec::new(), 0);
    // The loop pops from the end of the stack, so the highest digit is pushed first.
    for digit in (0..16).rev() {
        let path = [&at.path[..], &[digit]].concat();
        match (child(older, old, new, &path)?, child(newer, new, old, &path)?) {
            (Some(old), Some(new)) if old.digest == new.digest => {
                digits.insert(0, format!("{digit:x}"));
                leaves += new.count;
            }
            (None, None) => {}
            (older, newer) => waiting.push(Waiting {
                parent: Some(parent),
                path,
                older,
                newer,
            }),
        }
    }
    if !digits.is_empty() {
        let name = format!("{} shared", counted(digits.len() as u64, "child node"));
        let text = format!("{} below digits {}", counted(leaves, "object"), digits.join(" "));
        diagram.push(Row::new(Some(parent), Mark::Shared, name, &text));
    }
    Ok(())
}

fn row(memory: &Memory, next: &Waiting) -> Result<Option<Row>> {
    let (old, new) = (next.older.as_ref(), next.newer.as_ref());
    let Some(node) = new.or(old) else { return Ok(None) };
    let mark = match (old, new) {
        (Some(old), Some(new)) if old.digest == new.digest => Mark::Shared,
        (Some(_), Some(_)) => Mark::Changed,
        (None, _) => Mark::New,
        (_, None) => Mark::Old,
    };
    let path = match next.path.as_slice() {
        [] => "top".to_owned(),
        path => nibbles(path),
    };
    let (name, text) = match &node.kind {
        NodeKind::Leaf(entry) => {
            let object = memory.version(ObjectDigest::from_bytes(entry.digest))?;
            let id = object.as_ref().map_or("(erased)", |object| object.id().as_str());
            let text = object.as_ref().map(gist).unwrap_or_default();
            (format!("{path}: {id}"), text)
        }
        NodeKind::Branch(children) => {
            let holds = counted(node.count, "object");
            (path, format!("branch of {} with {holds}", children.len()))
        }
    };
    let mut row = Row::new(next.parent, mark, name, &text);
    for (name, node) in [("older node", old), ("newer node", new)] {
        if let Some(node) = node {
            row.detail(name, &to_hex(&node.digest));
        }
    }
    for (name, node) in [("older object", old), ("newer object", new)] {
        if let Some(NodeKind::Leaf(entry)) = node.map(|node| &node.kind) {
            row.detail(name, &to_hex(&entry.digest));
        }
    }
    Ok(Some(row))
}

//! The tries of two states as one diagram, with the nodes of one state and the shared nodes.
//!
//! A node that both states share is drawn once, without its children. The shared children of a branch are drawn as one
//! row. Shared nodes are the reason why a snapshot takes little space.
//!
//! # Layer
//! Layer 10, part of cli.

use super::{Diagram, Mark, Row};
use crate::cli::human::{counted, gist, nibbles, short};
use crate::digest::{ObjectDigest, to_hex};
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::trie::{ChildNode, Node, NodeKind};

/// A pair of nodes at one path that is still to be drawn.
struct Waiting {
    parent: Option<usize>,
    path: Vec<u8>,
    older: Side,
    newer: Side,
}

/// The node of one state at a path.
#[derive(Clone)]
enum Side {
    Nothing,
    Node,
    /// A leaf at a higher level, where the other state has a branch.
    Leaf(Node),
}

impl Side {
    fn node(&self, view: &View, path: &[u8]) -> Result<Option<Node>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Node => view.trie_node(path),
            Self::Leaf(leaf) => Ok(Some(leaf.clone())),
        }
    }
}

/// Draws the nodes that differ between `newer` and `older`: at most `most` rows, plus one row per branch for its shared
/// children.
///
/// # Errors
/// `Corrupt` or `Io` if a node or an object cannot be read.
pub(in crate::cli) fn trie(memory: &Memory, older: &View, newer: &View, most: usize) -> Result<Diagram> {
    let name = |view: &View| {
        let root = short(view.root().as_bytes());
        format!("seq {} (root {root})", view.commit().commit.seq)
    };
    let title = format!("Trie nodes of {} and of {}", name(older), name(newer));
    let mut diagram = Diagram::new("trie", title);
    let top = Waiting {
        parent: None,
        path: Vec::new(),
        older: Side::Node,
        newer: Side::Node,
    };
    let mut waiting = vec![top];
    while let Some(next) = waiting.pop() {
        if diagram.rows.len() >= most {
            let rest = counted(waiting.len() as u64 + 1, "more node");
            diagram.push_left_out(next.parent, &format!("{rest} with their subtrees, not drawn"));
            break;
        }
        let old = next.older.node(older, &next.path)?;
        let new = next.newer.node(newer, &next.path)?;
        let Some(row) = row(memory, &next, old.as_ref(), new.as_ref())? else {
            diagram.push_left_out(next.parent, "both states are empty");
            continue;
        };
        let shared = row.mark == Mark::Shared;
        let number = diagram.push(row);
        if !shared {
            push_children(
                &mut diagram,
                &mut waiting,
                number,
                &next.path,
                old.as_ref(),
                new.as_ref(),
            );
        }
    }
    Ok(diagram)
}

/// Returns the children of a node by digit. If the other state has a branch where this one has a leaf, the leaf counts
/// as its own child.
fn children(node: Option<&Node>, other: Option<&Node>, level: usize) -> Vec<(ChildNode, Side)> {
    match node.map(|node| (&node.kind, node)) {
        Some((NodeKind::Branch(children), _)) => children.iter().map(|child| (*child, Side::Node)).collect(),
        Some((NodeKind::Leaf(entry), leaf))
            if other.is_some_and(|other| matches!(other.kind, NodeKind::Branch(_))) =>
        {
            let child = ChildNode {
                digit: entry.key.nibble(level) as u8,
                digest: leaf.digest,
                count: 1,
            };
            vec![(child, Side::Leaf(leaf.clone()))]
        }
        _ => Vec::new(),
    }
}

/// Draws the shared children of a branch as one row, and queues the others.
fn push_children(
    diagram: &mut Diagram,
    waiting: &mut Vec<Waiting>,
    parent: usize,
    path: &[u8],
    old: Option<&Node>,
    new: Option<&Node>,
) {
    let level = path.len();
    let (older, newer) = (children(old, new, level), children(new, old, level));
    let at = |children: &[(ChildNode, Side)], digit: u8| {
        children.iter().find(|child| child.0.digit == digit).cloned()
    };
    let (mut digits, mut leaves) = (Vec::new(), 0);
    // The stack is read from its end, so the highest digit is pushed first.
    for digit in (0..16).rev() {
        let (old, new) = (at(&older, digit), at(&newer, digit));
        match (&old, &new) {
            (Some((old, _)), Some((new, _))) if old.digest == new.digest => {
                digits.insert(0, format!("{digit:x}"));
                leaves += new.count;
            }
            (None, None) => {}
            _ => waiting.push(Waiting {
                parent: Some(parent),
                path: [path, &[digit]].concat(),
                older: old.map_or(Side::Nothing, |(_, side)| side),
                newer: new.map_or(Side::Nothing, |(_, side)| side),
            }),
        }
    }
    if !digits.is_empty() {
        let name = format!("{} shared", counted(digits.len() as u64, "child node"));
        let text = format!("{} below digits {}", counted(leaves, "object"), digits.join(" "));
        diagram.push(Row::new(Some(parent), Mark::Shared, name, &text));
    }
}

fn row(memory: &Memory, next: &Waiting, old: Option<&Node>, new: Option<&Node>) -> Result<Option<Row>> {
    let Some(node) = new.or(old) else { return Ok(None) };
    let mark = match (old, new) {
        (Some(old), Some(new)) if old.digest == new.digest => Mark::Shared,
        (Some(_), Some(_)) => Mark::Changed,
        (None, _) => Mark::New,
        (_, None) => Mark::Old,
    };
    let digits = nibbles(&next.path);
    let path = if digits.is_empty() {
        "top".to_owned()
    } else {
        digits
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

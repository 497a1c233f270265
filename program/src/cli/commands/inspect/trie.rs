//! `inspect trie`: shows a node of the state trie, or the path to an id.
//!
//! # Layer
//! Layer 10, part of cli.

use super::parts::{Part, show_parts};
use crate::cli::commands::prelude::*;
use crate::cli::human::nibbles;
use treering::inspect::log;
use treering::inspect::trie::{Node, NodeKind};

/// Show a node of the state trie, or the path to an id
///
/// # Examples
/// ```text
/// treering inspect trie
/// treering inspect trie 3a
/// treering inspect trie --path tea --at snap:0
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Trie {
    /// The hexadecimal digits of the path to the node [default: the top node, whose digest is the root]
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true, value_parser = digits)]
    node: Path,
    /// Show every node from the top to the leaf of this id
    #[arg(long, value_name = "ID", conflicts_with = "node")]
    path: Option<String>,
}

/// Hexadecimal digits of a key path, each in the range 0 to 15.
#[derive(Clone, Debug)]
struct Path(Vec<u8>);

/// The contents of a node.
#[derive(Serialize, JsonSchema)]
pub(super) struct NodeBytes {
    digits: String,
    digest: String,
    leaves: u64,
    /// The id, if the node is a leaf.
    id: Option<String>,
    /// The children, if the node is a branch.
    children: Option<Vec<Child>>,
    /// The bytes that the digest covers.
    preimage: String,
    #[serde(skip)]
    parts: Vec<Part>,
}

/// A child of a branch.
#[derive(Serialize, JsonSchema)]
struct Child {
    digit: u8,
    digest: String,
    leaves: u64,
}

/// A node on the path to an id.
#[derive(Serialize, JsonSchema)]
pub(super) struct Step {
    level: u64,
    digits: String,
    node: String,
    is_a: &'static str,
    children: Option<u64>,
    leaves: u64,
    /// The digit that leads to the next node.
    next: Option<String>,
}

impl Trie {
    pub(super) fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        if let Some(id) = &self.path {
            let (steps, end) = way_to(&view, &Id::new(id)?)?;
            let fields = ["level", "digits", "node", "is_a", "children", "leaves", "next"];
            context.table(steps.into_iter().map(Ok), &fields)?;
            context.note("path", end);
            return Ok(DONE);
        }
        let digits = nibbles(&self.node.0);
        let node = view.trie_node(&self.node.0)?.ok_or_else(|| {
            Error::not_found(format!("the trie has no node at '{digits}'"))
                .with_hint("treering inspect trie --path ID shows the path to an id")
        })?;
        let leaf = match &node.kind {
            NodeKind::Leaf(entry) => memory.version(ObjectDigest::from_bytes(entry.digest))?,
            NodeKind::Branch(_) => None,
        };
        context.answer(&NodeBytes::of(digits, &node, leaf.as_ref()), show_node_bytes)
    }
}

/// Parses the hexadecimal digits of a key path.
fn digits(text: &str) -> Result<Path> {
    let digits = text.chars().map(|digit| Some(digit.to_digit(16)? as u8));
    let digits: Option<Vec<u8>> = digits.collect();
    let refused = || Error::invalid(format!("'{}' is not hexadecimal", one_line(text)));
    digits.map(Path).ok_or_else(refused)
}

/// Returns the nodes from the top towards an id, and a description of the last node.
fn way_to(view: &View, id: &Id) -> Result<(Vec<Step>, String)> {
    let digits = view.path_of(id);
    let mut steps = Vec::new();
    let mut end = "an empty trie";
    for level in 0..=digits.len() {
        let above = digits.get(..level).unwrap_or_default();
        let Some(node) = view.trie_node(above)? else {
            break;
        };
        let (children, found) = match &node.kind {
            NodeKind::Branch(children) => (
                Some(children.len() as u64),
                "a branch without a child for the next digit",
            ),
            NodeKind::Leaf(entry) if entry.key.to_hex() == nibbles(&digits) => (None, "the leaf of the id"),
            NodeKind::Leaf(_) => (None, "the leaf of another id"),
        };
        end = found;
        let next = digits.get(level..=level).filter(|_| children.is_some());
        steps.push(Step {
            level: level as u64,
            digits: nibbles(above),
            node: to_hex(&node.digest),
            is_a: if children.is_some() { "branch" } else { "leaf" },
            children,
            leaves: node.count,
            next: next.map(nibbles),
        });
        if children.is_none() {
            break;
        }
    }
    Ok((steps, format!("key path {}\nends at {end}", nibbles(&digits))))
}

impl NodeBytes {
    fn of(digits: String, node: &Node, leaf: Option<&Object>) -> Self {
        let children = match &node.kind {
            NodeKind::Leaf(_) => None,
            NodeKind::Branch(children) => Some(children.iter().map(|child| Child {
                digit: child.digit,
                digest: to_hex(&child.digest),
                leaves: child.count,
            })),
        };
        let mut offset = 0;
        let parts = node.parts().into_iter().map(|(name, bytes)| {
            let part = log::Part {
                name,
                offset,
                bytes: bytes.to_vec(),
                may_be_text: false,
            };
            offset += bytes.len() as u64;
            Part::new(part)
        });
        Self {
            parts: parts.collect(),
            digits,
            digest: to_hex(&node.digest),
            leaves: node.count,
            id: leaf.map(|leaf| leaf.id().to_string()),
            children: children.map(Iterator::collect),
            preimage: to_hex(&node.preimage),
        }
    }
}

fn show_node_bytes(answer: &NodeBytes, context: &mut Context) -> Result<()> {
    let output = &mut context.output;
    let sort = answer.children.as_ref().map_or("leaf", |_| "branch");
    let level = answer.digits.len();
    output.line(format_args!("{sort} at level {level}, digest {}", answer.digest))?;
    output.line(format_args!("leaves in its subtree: {}", answer.leaves))?;
    if let Some(id) = &answer.id {
        output.line(format_args!("id {}", one_line(id)))?;
    }
    let bytes = answer.preimage.len() / 2;
    output.line(format_args!("the digest covers these {bytes} bytes:"))?;
    show_parts(&answer.parts, output, usize::MAX)
}

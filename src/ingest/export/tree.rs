//! An object with all that is below it, in the order of a file.
//!
//! # Layer
//! L6, inside `ingest`.

use crate::digest::ObjectDigest;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin};

/// An object of a tree.
pub(super) struct Node {
    pub(super) object: NewObject,
    pub(super) origin: Origin,
    pub(super) digest: ObjectDigest,
    /// Place of the parent; nothing for the root.
    pub(super) parent: Option<usize>,
    /// Places of the children, in order.
    pub(super) children: Vec<usize>,
}

/// Nodes, each after its parent, a subtree without a gap.
pub(super) struct Tree(pub(super) Vec<Node>);

impl Tree {
    /// Reads the tree below a root.
    pub(super) fn read(view: &View, root: &Object) -> Result<Self> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut waiting = vec![(root.clone(), None)];
        while let Some((object, parent)) = waiting.pop() {
            let place = nodes.len();
            if let Some(parent) = parent {
                let above: &mut Node = &mut nodes[parent];
                above.children.push(place);
            }
            for child in view.children(&Id::new(object.id())?, None)?.into_iter().rev() {
                if let Some(child) = view.get(&child)? {
                    waiting.push((child, Some(place)));
                }
            }
            nodes.push(Node {
                object: object.to_new()?,
                origin: object.origin(),
                digest: object.digest(),
                parent,
                children: Vec::new(),
            });
        }
        Ok(Self(nodes))
    }
}

//! An object and its subtree, in the order of a file.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use crate::digest::{HashSuite, ObjectDigest};
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Kind, NewObject, Object, Origin};

/// The kind of the object that replaces an erased or lost object with children.
const ERASED: &str = "erased";
/// The content of the object that replaces an erased or lost object.
const ERASED_CONTENT: &str = "This object was erased or lost to damage. The objects below are its children.";

/// An object of a tree.
pub(super) struct Node {
    pub(super) object: NewObject,
    pub(super) origin: Origin,
    pub(super) digest: ObjectDigest,
    /// The index of the parent; `None` for the root.
    pub(super) parent: Option<usize>,
    /// The indexes of the children, in order.
    pub(super) children: Vec<usize>,
}

/// The nodes of a tree in preorder: each follows its parent, and each subtree is contiguous.
pub(super) type Tree = Vec<Node>;

/// Reads the tree below a root.
pub(super) fn read(view: &View, root: Object) -> Result<Tree> {
    with_subtrees(Vec::new(), view, vec![(root, None)])
}

/// Reads the children of a missing object with their subtrees. A new object replaces the missing object as their
/// parent.
pub(super) fn read_below_missing(view: &View, suite: HashSuite, id: &Id) -> Result<Tree> {
    let mut stand_in = NewObject::new(id.clone(), Kind::new(ERASED)?);
    stand_in.content = Some(ERASED_CONTENT.to_owned());
    let encoded = stand_in.encode(Origin::Import, suite)?;
    let top = Node {
        digest: Object::hash(&encoded.bytes, suite),
        object: stand_in,
        origin: Origin::Import,
        parent: None,
        children: Vec::new(),
    };
    let mut waiting = Vec::new();
    for child in view.children(id, None)?.into_iter().rev() {
        waiting.extend(view.get(&child)?.map(|child| (child, Some(0))));
    }
    with_subtrees(vec![top], view, waiting)
}

/// Adds the objects in `waiting`, each with the index of its parent, and their subtrees. Processes `waiting` from its
/// end.
fn with_subtrees(mut nodes: Tree, view: &View, mut waiting: Vec<(Object, Option<usize>)>) -> Result<Tree> {
    while let Some((object, parent)) = waiting.pop() {
        let place = nodes.len();
        if let Some(parent) = parent {
            nodes[parent].children.push(place);
        }
        for child in view.children(object.id(), None)?.into_iter().rev() {
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
    Ok(nodes)
}

//! The tree of a file's objects: each parent is in the file, and no object is below itself.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::{HashMap, HashSet};

use super::SnapObject;
use crate::agent::import::mapped::Mapped;
use crate::object::Id;

/// The parent of each object: the one it names, else the first one that lists it as a child. Drops parents that are not
/// in the file.
pub(super) fn parents(
    objects: &[SnapObject],
    ids: &HashMap<String, Id>,
    mapped: &mut Mapped,
) -> HashMap<String, String> {
    let listed = objects.iter().flat_map(|object| {
        let children = object.children.iter();
        children.map(|child| (child.clone(), object.id.clone()))
    });
    let own = objects
        .iter()
        .filter_map(|object| Some((object.id.clone(), object.parent.clone()?)));
    let mut parents: HashMap<String, String> = HashMap::new();
    for (child, parent) in own.chain(listed) {
        if child.is_empty() || !ids.contains_key(&child) || parents.contains_key(&child) {
            continue;
        }
        if ids.contains_key(&parent) {
            parents.insert(child, parent);
        } else {
            mapped.say(
                child,
                format!("its parent '{parent}' is not in the file; it has none"),
            );
        }
    }
    parents
}

/// How deep each object is below its root. One parent of every circle is dropped.
pub(super) fn depths(
    objects: &[SnapObject],
    parents: &mut HashMap<String, String>,
    mapped: &mut Mapped,
) -> HashMap<String, usize> {
    let mut depths: HashMap<String, usize> = HashMap::new();
    for object in objects {
        // The walk upwards ends at a root, or at an object whose depth is known.
        let (mut path, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(object.id.clone());
        while let Some(at) = next.take_if(|at| !depths.contains_key(at)) {
            seen.insert(at.clone());
            next = parents.get(&at).cloned();
            if let Some(parent) = next.take_if(|parent| seen.contains(parent)) {
                let what = format!("it would be below itself by '{parent}'; it has no parent");
                mapped.say(&at, what);
                parents.remove(&at);
            }
            path.push(at);
        }
        let mut depth = next
            .and_then(|known| depths.get(&known))
            .map_or(0, |above| above + 1);
        for id in path.into_iter().rev() {
            depths.insert(id, depth);
            depth += 1;
        }
    }
    depths
}

//! The tree of a file's objects: each parent is in the file, and no object is below itself.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::{HashMap, HashSet};

use super::SnapObject;
use crate::agent::import::mapped::Mapped;
use crate::object::Id;

/// The parent of each object: the one it names, else the first one that lists it as a child. Drops parents that are not
/// in the file, and one parent of every circle.
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
    cut_circles(objects, &mut parents, mapped);
    parents
}

fn cut_circles(objects: &[SnapObject], parents: &mut HashMap<String, String>, mapped: &mut Mapped) {
    // The walk from each object ends at an object that another walk visited, or at its own first one.
    let mut visited: HashSet<String> = HashSet::new();
    for object in objects {
        let mut path = HashSet::new();
        let mut at = object.id.clone();
        while !visited.contains(&at) && path.insert(at.clone()) {
            match parents.get(&at) {
                Some(parent) if path.contains(parent) => {
                    let what = format!("it would be below itself by '{parent}'; it has no parent");
                    mapped.say(&at, what);
                    parents.remove(&at);
                }
                Some(parent) => at.clone_from(parent),
                None => break,
            }
        }
        visited.extend(path);
    }
}

/// How deep each object is below its root.
pub(super) fn depths<'a>(
    objects: &'a [SnapObject],
    parents: &'a HashMap<String, String>,
) -> HashMap<&'a str, usize> {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    for object in objects {
        let (mut path, mut at) = (Vec::new(), object.id.as_str());
        while !depths.contains_key(at) {
            path.push(at);
            match parents.get(at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        for id in path.into_iter().rev() {
            let above = parents.get(id).and_then(|parent| depths.get(parent.as_str()));
            let depth = above.map_or(0, |depth| depth + 1);
            depths.insert(id, depth);
        }
    }
    depths
}

//! Links in the place of files of a store: where they lead, and whether that may be moved back.
//!
//! # Layer
//! L5. Part of the doctor.
//!
//! # Invariants
//! - LNK-1: only what is of this store, and of no other place that may be a store, is ever told to be moved.

use std::path::Path;

use crate::disk::FileDisk;
use crate::log;

use super::doctor::{Problem, Remedy};

/// What to do with a link that leads to nothing of use.
const LOOK_AGAIN: &str = "remove the link and look again, which says what is left to do";

/// The files of a store that say which it is.
const SAYING: [&str; 3] = ["format", "manifest", log::LOG_FOLDER];

/// Says where the link leads that stands in the place of a file, and leaves it to be put back only if it may be.
pub(crate) fn follow(disk: &FileDisk, problem: &mut Problem) {
    let name = problem.file.clone().unwrap_or_default();
    let link = disk.path().join(&name);
    let what_to_do = match link.canonicalize() {
        Err(_) => {
            let target = link.read_link().unwrap_or_default();
            format!(
                "it leads to {}, which is not there: mount or find that; if it is lost, {LOOK_AGAIN}",
                target.display()
            )
        }
        Ok(target) if target.starts_with(disk.path()) => {
            format!(
                "it leads to {} of the store itself: {LOOK_AGAIN}",
                target.display()
            )
        }
        // INVARIANT LNK-1.
        Ok(target) if is_ours(disk, &name, &target) => return,
        Ok(target) => format!(
            "it leads to {}, which is not known to be of this store alone: put back what was here, or {LOOK_AGAIN}",
            target.display()
        ),
    };
    problem.what = format!("{}; {what_to_do}", problem.what);
    problem.remedy = Remedy::Nothing;
}

/// Whether what stands at `target` is what this store had under `name`, and there is nothing of a store around it.
fn is_ours(disk: &FileDisk, name: &str, target: &Path) -> bool {
    // A command names it, so its path has to be text.
    let (Some(_), Some(folder), Some(place)) = (
        target.to_str(),
        target.parent(),
        target.file_name().and_then(|place| place.to_str()),
    ) else {
        return false;
    };
    let ours = SAYING
        .iter()
        .filter(|saying| **saying != name)
        .find_map(|saying| log::instance_of(disk, saying, saying));
    let found = FileDisk::open(folder)
        .ok()
        .and_then(|elsewhere| log::instance_of(&elsewhere, place, name));
    let is_store = |folder: &Path| {
        let Ok(disk) = FileDisk::open(folder) else {
            return true;
        };
        let mut others = SAYING.iter().filter(|saying| folder.join(saying) != target);
        others.any(|saying| log::instance_of(&disk, saying, saying).is_some())
    };
    // A segment of another store has that store above its folder.
    let is_beside = target.ancestors().skip(1).take(2).any(is_store);
    ours.is_some() && found == ours && !is_beside
}

//! The systems whose work Treering does, each by its own documented examples, run through the built program.

mod altimate;
mod distill;
mod graphiti;
mod odek;
mod passepartout;

use crate::program::Folder;

/// A folder with a store, in which `tea` is the project.
fn project() -> Folder {
    let folder = Folder::with_store();
    std::fs::create_dir(folder.path(".git")).unwrap();
    folder
}

/// A folder whose name is the project's name, for `git` and the like.
fn project_scope(folder: &Folder) -> String {
    let name = folder.path("").canonicalize().unwrap();
    format!("project:{}", name.file_name().unwrap().to_string_lossy())
}

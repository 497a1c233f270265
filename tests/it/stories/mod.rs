//! Tests of the features of the systems that Treering replaces. Each file runs the documented examples of one system
//! with the built program.

mod altimate;
mod distill;
mod graphiti;
mod odek;
mod passepartout;

use crate::program::Folder;

/// Returns a folder with a store, in which `tea` is the project.
fn project() -> Folder {
    let folder = Folder::with_store();
    std::fs::create_dir(folder.path(".git")).unwrap();
    folder
}

/// Returns the project scope, which is the name of the folder.
fn project_scope(folder: &Folder) -> String {
    let name = folder.path("").canonicalize().unwrap();
    format!("project:{}", name.file_name().unwrap().to_string_lossy())
}

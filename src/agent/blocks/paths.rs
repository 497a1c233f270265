//! The path of a block's file, and the id of a path.
//!
//! # Layer
//! L7, inside `agent`. Pure: nothing here looks up a path, so links are up to the caller.

use std::fmt;

use super::id::{BlockId, BlockIdError};

/// The extension of a block's file.
const ENDING: &str = ".md";

/// The fault of a path without a block, or of an id without a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathReason {
    /// It does not end in `.md`, such as the leftover of a crashed write.
    NotMarkdown,
    /// A part of it begins with a dot: hidden, or upward.
    Hidden,
    /// It is absolute, or holds a character that leads elsewhere on some system.
    Outside,
    /// Its name is no id.
    NoId(BlockIdError),
    /// One of its folders ends in `.md`, like the file of another block.
    FolderLikeFile,
}

impl fmt::Display for PathReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMarkdown => f.write_str("the path does not end in `.md`"),
            Self::Hidden => f.write_str("a part of the path begins with `.`"),
            Self::Outside => f.write_str("the path leads out of the folder"),
            Self::NoId(error) => write!(f, "the path is no id: {error}"),
            Self::FolderLikeFile => f.write_str("a folder of the path has the name of a block file"),
        }
    }
}

/// Returns the path of a block's file below the folder of blocks, with `/`.
///
/// # Errors
/// `FolderLikeFile`: the block `a.md/b` would need a folder where the block `a` has its file.
pub fn path_of(id: &BlockId) -> Result<String, PathReason> {
    let is_like_file = |folders: &str| folders.split('/').any(|folder| folder.ends_with(ENDING));
    if id
        .as_str()
        .rsplit_once('/')
        .is_some_and(|(folders, _)| is_like_file(folders))
    {
        return Err(PathReason::FolderLikeFile);
    }
    Ok(format!("{id}{ENDING}"))
}

/// Returns the id of a path below the folder of blocks.
///
/// # Errors
/// A [`PathReason`] for a path that no block has.
pub fn id_of_path(path: &str) -> Result<BlockId, PathReason> {
    // BLF-2.
    if path.starts_with('/') || path.contains(['\\', ':', '\0']) {
        return Err(PathReason::Outside);
    }
    if path.split('/').any(|part| part.starts_with('.')) {
        return Err(PathReason::Hidden);
    }
    let text = path.strip_suffix(ENDING).ok_or(PathReason::NotMarkdown)?;
    let id = BlockId::new(text).map_err(PathReason::NoId)?;
    path_of(&id).map(|_| id)
}

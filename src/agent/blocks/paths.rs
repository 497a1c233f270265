//! The path of a block's file, and the id that a path stands for.
//!
//! # Layer
//! L7, inside `agent`. Pure: no path is looked up, so that links are the caller's business.

use std::fmt;

use super::id::{BlockId, BlockIdError};

/// How a block's file ends.
const ENDING: &str = ".md";

/// Why a path stands for no block, or an id for no path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathReason {
    /// It does not end in `.md`; what a crashed write left behind does not either.
    NotMarkdown,
    /// A part of it begins with a stop: hidden, or leading upward.
    Hidden,
    /// It begins at the root, or holds a sign that leads elsewhere on some system.
    Outside,
    /// What it stands for is no id.
    NoId(BlockIdError),
    /// A folder of it ends in `.md`, where the file of another block would be.
    FolderLikeFile,
}

impl fmt::Display for PathReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMarkdown => f.write_str("the path does not end in `.md`"),
            Self::Hidden => f.write_str("a part of the path begins with `.`"),
            Self::Outside => f.write_str("the path leads out of the folder"),
            Self::NoId(error) => write!(f, "the path stands for no id: {error}"),
            Self::FolderLikeFile => f.write_str("a folder of the path is named like the file of a block"),
        }
    }
}

/// Returns the path of a block's file, with `/`, below the folder of the blocks.
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

/// Returns the id that a path below the folder of the blocks stands for.
///
/// # Errors
/// A [`PathReason`] for every path that no block has.
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

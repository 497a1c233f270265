//! Writes blocks as files, and compares files with their blocks.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::block::{Block, Unfit};
use super::id::{block_id, id_of_path, path_of};
use super::object::{block_of, say_the_same};
use super::reader::{BlockFile, read_block};
use super::writer::write_block;
use crate::agent::fault::Fault;
use crate::agent::item::{known_kind, unless_erased};
use crate::agent::scope::{Place, Reach};
use crate::agent::vocabulary::kind;
use crate::engine::{Memory, Query, Revision, View};
use crate::error::Result;
use crate::object::{Id, Object};

/// The file of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockText {
    /// The path below the folder of blocks, with `/`.
    pub path: String,
    /// The id of the block.
    pub id: Id,
    /// The content of the file.
    pub text: String,
}

/// The files of the blocks of some scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTexts {
    /// The files, sorted by path.
    pub files: Vec<BlockText>,
    /// The ids of blocks that cannot be written to a file, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// Returns the files of the blocks in `reach`.
///
/// # Errors
/// The errors of [`View::query`].
pub fn texts(view: &View, place: &Place, reach: &Reach) -> Result<BlockTexts> {
    let mut texts = BlockTexts::default();
    for object in blocks_in(view, reach)? {
        let object = object?;
        match text_of(view, place, &object)? {
            Ok(text) => texts.files.push(text),
            Err(why) => texts.left_out.push((object.id().to_string(), why.to_string())),
        }
    }
    texts.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(texts)
}

/// Checks whether a block file can be overwritten without losing an edit. The file must equal its block in `view`, or
/// the earlier version of its block at the time in the line `updated` of the file.
///
/// # Errors
/// The errors of [`View::get`].
pub fn is_unedited(memory: &Memory, view: &View, place: &Place, path: &str, bytes: &[u8]) -> Result<bool> {
    let file = id_of_path(path).and_then(|path_id| read_block(bytes, &path_id));
    let Ok(BlockFile { block, .. }) = file else {
        return Ok(false);
    };
    if let Some(object) = unless_erased(view.get(&block.id))?
        && say_the_same(&block_of(view, place, &object)?, &block)
    {
        return Ok(true);
    }
    let written = as_written(memory, place, &block)?;
    Ok(written.is_some_and(|written| say_the_same(&written, &block) && written.scope == block.scope))
}

/// Returns the block at the time in the line `updated` of its file, if history still contains that state.
pub(super) fn as_written(memory: &Memory, place: &Place, block: &Block) -> Result<Option<Block>> {
    let written = |time| memory.view_at(&Revision::Time(time), "").ok();
    let Some(view) = block.updated.and_then(written) else {
        return Ok(None);
    };
    let object = view.get(&block.id).ok().flatten();
    let object = object.filter(|object| object.kind() == kind::BLOCK);
    object.map(|object| block_of(&view, place, &object)).transpose()
}

/// Iterates the blocks in `reach` by id. Includes expired blocks, because they may still have files.
pub(super) fn blocks_in(view: &View, reach: &Reach) -> Result<impl Iterator<Item = Result<Object>>> {
    let found = view.query(&Query::default().kind(known_kind(kind::BLOCK)).with_expired())?;
    Ok(found.filter(move |object| object.as_ref().map_or(true, |object| reach.has(object.scope()))))
}

/// Returns the file of a block, or the reason why the block cannot be written to a file.
pub(super) fn text_of(
    view: &View,
    place: &Place,
    object: &Object,
) -> Result<std::result::Result<BlockText, Fault<Unfit>>> {
    let block = block_of(view, place, object)?;
    let fit = |id: Id| {
        let path = path_of(&id)?;
        let text = write_block(&block)?;
        Ok(BlockText { path, id, text })
    };
    let id = block_id(object.id().as_str()).ok_or(Unfit::NotAnId.into());
    Ok(id.and_then(fit))
}

//! Blocks as files.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::block::{Block, Unfit};
use super::id::BlockId;
use super::id::{id_of_path, path_of};
use super::object::{block_of, say_the_same};
use super::reader::read_block;
use super::writer::write_block;
use crate::agent::item::known_kind;
use crate::agent::remember::unless_erased;
use crate::agent::scope::{Place, Reach};
use crate::agent::vocabulary::kind;
use crate::engine::{Memory, Query, Revision, View};
use crate::error::Result;
use crate::object::{Id, Object, Time};

/// The file of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockText {
    /// Its path below the folder of blocks, with `/`.
    pub path: String,
    /// The id of the block.
    pub id: BlockId,
    /// The content of the file.
    pub text: String,
}

/// Blocks as files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockTexts {
    /// The files, by path.
    pub files: Vec<BlockText>,
    /// Blocks that do not fit into a file, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// Returns the files of the blocks in `reach`.
///
/// # Errors
/// The errors of [`View::query`].
pub(crate) fn texts(view: &View, place: &Place, reach: &Reach) -> Result<BlockTexts> {
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

/// Returns whether overwriting a block file loses no edit. The file must equal its block in `view`, or the block at
/// the time in its line `updated`.
///
/// # Errors
/// The errors of [`View::get`].
pub(crate) fn is_unedited(
    memory: &Memory,
    view: &View,
    place: &Place,
    path: &str,
    bytes: &[u8],
) -> Result<bool> {
    let path_id = id_of_path(path).ok();
    let Ok(file) = read_block(bytes, path_id.as_ref()) else {
        return Ok(false);
    };
    let object = unless_erased(view.get(&Id::new(file.block.id.as_str())?))?;
    if let Some(object) = object
        && say_the_same(
            &block_of(view, place, &object, file.block.id.clone())?,
            &file.block,
        )
    {
        return Ok(true);
    }
    let Some(written) = as_written(memory, place, &file.block)? else {
        return Ok(false);
    };
    Ok(say_the_same(&written, &file.block) && written.scope == file.block.scope)
}

/// Returns the block at the time of its file, if history keeps that state.
pub(super) fn as_written(memory: &Memory, place: &Place, block: &Block) -> Result<Option<Block>> {
    let Some(updated) = block.updated_micros else {
        return Ok(None);
    };
    let time = Revision::Time(Time::from_micros(updated));
    // History does not keep the state any more.
    let Ok(view) = memory.view_at(&time, "") else {
        return Ok(None);
    };
    let object = view.get(&Id::new(block.id.as_str())?).ok().flatten();
    let object = object.filter(|object| object.kind() == kind::BLOCK);
    object
        .map(|object| block_of(&view, place, &object, block.id.clone()))
        .transpose()
}

/// Iterates the blocks of some scopes, by id, including expired ones, because their files remain valid.
pub(super) fn blocks_in(view: &View, reach: &Reach) -> Result<impl Iterator<Item = Result<Object>>> {
    let found = view.query(&Query::default().kind(known_kind(kind::BLOCK)).with_expired())?;
    Ok(found.filter(move |object| object.as_ref().map_or(true, |object| reach.has(object.scope()))))
}

pub(super) fn text_of(
    view: &View,
    place: &Place,
    object: &Object,
) -> Result<std::result::Result<BlockText, Unfit>> {
    let id = match BlockId::new(object.id().as_str()) {
        Ok(id) => id,
        Err(error) => return Ok(Err(Unfit::ObjectNoId(error))),
    };
    let block = block_of(view, place, object, id)?;
    let text = write_block(&block);
    Ok(path_of(&block.id).and_then(|path| {
        Ok(BlockText {
            path,
            text: text?,
            id: block.id,
        })
    }))
}

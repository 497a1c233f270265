//! Memory blocks as Markdown files with front matter, in both directions.
//!
//! A file is `---`, lines of `key: value`, `---`, an empty line and the content. People edit such files, with editors
//! that change line ends and add byte order marks, so reading takes what can be taken and says everything that was not
//! as it should be. Where the content begins or ends with white space, the line `whitespace: kept` says that it is part
//! of it; else it is trimmed.
//!
//! # Layer
//! L7, inside `agent`. Paths are texts with `/`, relative to the folder of the blocks; no file is touched here.
//!
//! # Invariants
//! - BLF-1: what is written is read back as the same block, without a finding.
//! - BLF-2: a path that is given for an id, or taken for one, never leads out of its folder.

mod block;
mod edits;
mod files;
pub mod id;
mod object;
mod paths;
mod reader;
mod writer;

pub use self::block::Block;
pub(super) use self::edits::take;
pub use self::edits::{FoundFile, TakeBlocks, Taken, TakenBlocks, TakenFile};
pub use self::files::{BlockText, BlockTexts};
pub(super) use self::files::{is_unedited, texts};
pub use self::paths::{PathReason, id_of_path, path_of};
pub use self::reader::{BlockFile, BlockReason, Finding, read_block};
pub use self::writer::{Unwritable, write_block};

#[cfg(test)]
mod tests;

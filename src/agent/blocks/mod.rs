//! Memory blocks as Markdown files with front matter, in both directions.
//!
//! A file is `---`, lines of `key: value`, `---`, an empty line and the content. People edit these files with editors
//! that change line ends and add byte order marks. So the reader accepts as much as possible, and reports each fault as
//! a finding. The line `whitespace: kept` keeps white space at the ends of the content; otherwise the reader trims it.
//!
//! # Layer
//! Layer 7, inside `agent`. Paths are texts with `/`, relative to the folder of blocks; nothing here touches a file.
//!
//! # Limits
//! - `import DIR` reads 256 MiB of files at once. An edited file is a document until a person imports it `--as-me`
//!   or promotes it.
//!
//! # Invariants
//! - BLF-1: the reader reads every written block back as the same block, without a finding.
//! - BLF-2: the path of an id, and a path that is read as an id, never leaves its folder.

mod block;
mod edits;
mod files;
pub(crate) mod id;
mod object;
mod reader;
mod writer;

#[cfg(test)]
use self::block::Block;
pub(crate) use self::edits::{FoundFile, TakeBlocks, Taken, TakenBlocks, TakenFile, take_blocks};
pub(crate) use self::files::{is_unedited, texts};
#[cfg(test)]
use self::id::{id_of_path, path_of};
#[cfg(test)]
use self::reader::{BlockFile, FileFault, read_block};
#[cfg(test)]
use self::writer::write_block;

#[cfg(test)]
mod tests;

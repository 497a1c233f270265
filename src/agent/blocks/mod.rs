//! Exports memory blocks as Markdown files with front matter, and imports such files.
//!
//! A file consists of `---`, lines of `key: value`, `---`, an empty line and the content. People edit these files with
//! editors that change line ends and add byte order marks. So the reader accepts as much as possible, and reports each
//! fault. The reader trims white space at the ends of the content, unless the file contains the line `whitespace:
//! kept`.
//!
//! # Layer
//! Layer 7, inside `agent`. Paths are strings with `/`, relative to the folder of blocks. This module does no file I/O.
//!
//! # Limits
//! - `import DIR` reads at most 256 MiB of files. An edited block has the origin `document`, unless a person imports it
//!   with `--as-me` or promotes it.
//!
//! # Invariants
//! - BLF-1: the reader returns every written block unchanged, and reports no fault.
//! - BLF-2: the path of an id never leaves the folder of blocks, and a path that leaves it is never read as an id.

mod block;
mod edits;
mod files;
pub(crate) mod id;
mod object;
mod reader;
mod writer;

#[cfg(test)]
use self::block::Block;
pub use self::edits::{FoundFile, TakeBlocks, Taken, TakenBlocks, TakenFile, take_blocks};
pub use self::files::{is_unedited, texts};
#[cfg(test)]
use self::id::{id_of_path, path_of};
#[cfg(test)]
use self::reader::{BlockFile, FileFault, read_block};
#[cfg(test)]
use self::writer::write_block;

#[cfg(test)]
mod tests;

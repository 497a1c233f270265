//! Tables in bytes that are read where they lie: an index can be mapped instead of decoded.
//!
//! An [`Image`] is a sequence of sections. A reader checks each block of an image at its first access, so opening an
//! image takes the same time for any number of rows. [`SortedRows`] is a set of rows of one width: the rows of an image,
//! and the changes since the image was written.
//!
//! # Damage
//! A read of a damaged block returns nothing, and marks the image as damaged. So a caller reads as if every byte were
//! good, asks [`Image::is_damaged`] at the end, and then discards what it read.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.
//!
//! # Invariants
//! - TAB-1: no input makes a read panic, read outside of the image, or loop without end.
//! - TAB-2: a byte of a block that does not match its checksum is never returned, and marks the image as damaged.
//! - TAB-3: a [`SortedRows`] contains the same rows, whether an image holds them or not.
//!
//! # Format
//! docs/format.md, "Derived files".

mod image;
mod rising;
mod sorted;

pub use image::{Builder, Image, TRAILER, u32_at, u64_at};
pub use rising::{i64_of_rising, rising_i64, rising_u32, rising_u64, u32_of_rising};
pub use sorted::{SortedRows, begin_with, partition_point, row};

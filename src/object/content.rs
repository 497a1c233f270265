//! Texts that are separate records, named by digest: large contents, and the reasons and sources of commits. Also the
//! limits of an object's size.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Digests" and "Object", tags 7 and 8.

use crate::digest::{ContentDigest, Domain, HashSuite, TextDigest};

/// The maximal length of an inline content in bytes. A longer content is a separate record (OBJ-5).
///
/// The limit is part of the format, because an object must always have the same digest.
pub const CONTENT_INLINE_MAX: usize = 4096;

/// The maximal length of a content in bytes: 16 MiB.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The maximal length of an object's canonical encoding in bytes: 1 MiB. A content in a separate record is not counted.
pub const OBJECT_BYTES_MAX: usize = 1024 * 1024;

/// Returns the digest of a content record.
pub fn hash_content(suite: HashSuite, content: &[u8]) -> ContentDigest {
    ContentDigest::from_bytes(suite.hash_bytes(Domain::Content, content))
}

/// Returns the digest of the text of a reason or source.
pub fn hash_text(suite: HashSuite, text: &[u8]) -> TextDigest {
    TextDigest::from_bytes(suite.hash_bytes(Domain::Text, text))
}

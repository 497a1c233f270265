//! Texts that are records of their own, named by digest: large contents, and the reasons and sources of
//! commits; and the limits of an object's bytes.
//!
//! # Layer
//! L3, inside `object`.
//!
//! # Format
//! docs/format.md, "Digests" and "Object", tags 7 and 8.

use crate::digest::{ContentDigest, Domain, HashSuite, TextDigest};

/// Maximal bytes of inline content; a longer content is a record of its own (OBJ-5).
///
/// The format fixes this limit, so that an object has one digest.
pub const CONTENT_INLINE_MAX: usize = 4096;

/// Maximal bytes of content: 16 MiB.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Maximal bytes of an object's canonical encoding: 1 MiB. A large content does not count.
pub const OBJECT_BYTES_MAX: usize = 1024 * 1024;

/// Returns the digest of a content record.
pub fn hash_content(suite: HashSuite, content: &[u8]) -> ContentDigest {
    ContentDigest::from_bytes(suite.hash_bytes(Domain::Content, content))
}

/// Returns the digest of the text of a reason or source.
pub fn hash_text(suite: HashSuite, text: &[u8]) -> TextDigest {
    TextDigest::from_bytes(suite.hash_bytes(Domain::Text, text))
}

//! The kept commits below those that a store has in memory: of a checkpoint, or of another line up to its fork.
//!
//! # Layer
//! Layer 4.
//!
//! # Invariants
//! - ROW-1: the rows never change. So the index of a commit in a store never changes either.

use std::sync::Arc;

use crate::digest::{CommitDigest, DIGEST_LEN, KeyPath};
use crate::error::Result;
use crate::trie::{NodeSource, StoredNode, Trie};

use super::commits::CommitEntry;

/// The kept commits up to a point of a line, oldest first, with their states.
pub(super) trait Rows: NodeSource + Send + Sync {
    /// Returns the number of kept commits.
    fn len(&self) -> usize;

    /// Returns the number of the last batch that the rows cover.
    fn last_batch(&self) -> u64;

    /// Returns the commit at `index`, which must be below [`Self::len`].
    fn commit(&self, index: usize) -> Result<Arc<CommitEntry>>;

    /// Returns the seq and the digest of the commit at `index`, without reading the commit.
    fn digest(&self, index: usize) -> Result<(u64, CommitDigest)>;

    /// Returns the index of commit `seq`. If the commit is thinned, or follows these rows, returns the index of the next
    /// kept commit as the inner `Err`.
    fn position(&self, seq: u64) -> Result<std::result::Result<usize, usize>>;

    /// Returns the newest commit before the index `end` whose root is `digest` if `by_root` is true, or else whose own
    /// digest is `digest`.
    fn newest(&self, by_root: bool, digest: &[u8; DIGEST_LEN], end: usize) -> Result<Option<usize>>;

    /// Returns the digests of commits between `low` and `high` in rising order, each with the index of the commit. If
    /// `by_root` is true, returns roots instead. The last of several equal roots has the highest index.
    fn between(
        &self,
        by_root: bool,
        low: &[u8; DIGEST_LEN],
        high: &[u8; DIGEST_LEN],
    ) -> Result<Vec<([u8; DIGEST_LEN], usize)>>;

    /// Returns whether the commit at `index` may be of a lane with this number, without reading the commit.
    fn may_be_of_lane(&self, index: usize, number: u64) -> Result<bool>;

    /// Returns the state of a commit of these rows.
    fn state(&self, entry: &CommitEntry) -> Result<Trie>;

    /// Returns the state of a checkpoint, for [`Self::covered_children`]. Returns `None` if there is no checkpoint.
    fn covered_head(&self) -> Result<Option<Trie>>;

    /// Returns the objects that may be children of `parent` in the state of [`Self::covered_head`].
    fn covered_children(&self, parent: &KeyPath) -> Result<Option<Vec<KeyPath>>>;

    /// Returns the time of the first write of an id that the state of the last row lacks.
    fn first_written(&self, key: &KeyPath) -> Result<Option<i64>>;

    /// Returns whether these rows contain the node.
    fn has_node(&self, stored: &StoredNode) -> bool;
}

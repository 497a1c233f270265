//! The sizes at which a store divides its work, and frees states.
//!
//! # Layer
//! Layer 4.

/// The sizes of a store. Tests choose small ones, so that small stores divide their work, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The number of records that are decoded together.
    pub(super) records_together: usize,
    /// The number of bytes of records from which on they are decoded, so that they do not stay in memory.
    pub(super) bytes_together: usize,
    /// The minimal number of records for each thread that decodes batches.
    pub(super) records_a_thread: usize,
    /// The minimal number of changes that justify one more thread.
    pub(super) changes_a_thread: usize,
    /// The number of roots that are computed together.
    pub(super) roots_together: usize,
    /// A commit keeps its state in memory until this many changes follow the next commit.
    pub(super) recent_changes: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            records_together: 1 << 15,
            bytes_together: 64 << 20,
            records_a_thread: 512,
            changes_a_thread: 1 << 12,
            roots_together: 256,
            recent_changes: 4_096,
        }
    }
}

impl Sizes {
    /// The sizes for the small stores of tests.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) const SMALL: Self = Self {
        records_together: 64,
        bytes_together: 16 << 10,
        records_a_thread: 48,
        changes_a_thread: 32,
        roots_together: 4,
        recent_changes: 24,
    };
}

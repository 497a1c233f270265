//! Counts and sizes of a store.
//!
//! # Layer
//! Layer 5.

/// Counts and sizes of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Stats {
    /// The number of objects in the state at the head.
    pub objects: u64,
    /// The number of versions of objects that history keeps.
    pub history: u64,
    /// The number of kept commits.
    pub commits: u64,
    /// The number of commits that retention thinned; their digests stay in the chain.
    pub thinned: u64,
    /// The number of runs of thinned commits.
    pub gaps: u64,
    /// The number of versions of which the store keeps only the digest: erased versions, and lost versions that salvage
    /// could not restore. `verify` counts the two separately.
    pub erased: u64,
    /// The number of snapshots, named and automatic.
    pub snapshots: u64,
    /// The number of segments of the log.
    pub segments: u64,
    /// The size of the log's batches in bytes, as garbage collection counts them.
    pub log_bytes: u64,
    /// The size of all files of the store in bytes, including preallocated space.
    pub disk_bytes: u64,
    /// The size of the checkpoint files in bytes; a part of `disk_bytes`.
    pub checkpoint_bytes: u64,
    /// The preallocated bytes of the log's files; a part of `disk_bytes`.
    pub set_aside_bytes: u64,
    /// The size of the objects and contents of the head's state, in bytes.
    pub live_bytes: u64,
    /// The number of objects whose parent does not exist: 0 unless the store is damaged.
    pub orphans: u64,
}

/// Whether a commit or root is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Containment {
    /// The commit or root is kept.
    Kept,
    /// Retention thinned the commit; its digest is still in the chain.
    Thinned,
    /// This history never contained the commit or root.
    Absent,
}

/// The space that records of one kind use in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct KindSpace {
    /// The kind of the records.
    pub kind: &'static str,
    /// The number of records of this kind.
    pub records: u64,
    /// The size of the records' bodies in bytes.
    pub bytes: u64,
}

/// The bytes of a log, divided by the reason why they are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Space {
    /// The space by kind of record, the largest kind first.
    pub kinds: Vec<KindSpace>,
    /// The bytes of the log that the state at the head needs.
    pub present_bytes: u64,
    /// Additional bytes that no retention removes, because snapshots, other references, erasures, rollbacks, undos or
    /// redos need them.
    pub named_bytes: u64,
    /// Additional bytes that the standard retention keeps because they are recent enough.
    pub policy_bytes: u64,
    /// The bytes that garbage collection with the standard retention would free.
    pub dead_bytes: u64,
}

//! Sets of suspicious characters, grouped by sort, and of the neighbours that make them legitimate.
//!
//! # Layer
//! Pure: outside `scan` it imports only the sets of characters of layer 0.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::scan::finding::Severity;
use crate::visible::{JOINING, RIGHTWARD, Ranges};

/// A sort of suspicious characters.
#[derive(Deserialize)]
pub(super) struct Sort {
    pub(super) id: &'static str,
    pub(super) severity: Severity,
    pub(super) set: Ranges,
}

/// Neighbours that make the characters of a set legitimate.
#[derive(Deserialize)]
pub(super) struct Excuse {
    pub(super) set: Ranges,
    pub(super) after: Ranges,
    pub(super) before: Option<Ranges>,
}

/// The sets in `characters.toml`; the file describes them.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(super) struct Classes {
    pub(super) suspicious: Ranges,
    pub(super) joined_first: Ranges,
    pub(super) joined_second: Ranges,
    pub(super) modifier: Ranges,
    pub(super) sort: Vec<Sort>,
    pub(super) excuse: Vec<Excuse>,
}

pub(super) static CLASSES: LazyLock<Classes> =
    LazyLock::new(|| toml::from_str(include_str!("characters.toml")).expect("a test reads the sets"));

/// Characters that joiners may follow.
pub(super) static JOINING_SET: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(&format!("[{JOINING}]")));
/// The characters next to which marks of direction are legitimate.
pub(super) static RIGHTWARD_SET: LazyLock<Ranges> = LazyLock::new(|| Ranges::of(&format!("[{RIGHTWARD}]")));

//! Answers about the store as a whole.
//!
//! # Layer
//! Layer 8, part of answers.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use treering::inspect::engine::{Containment, KindSpace, Problem, SalvageReport, Space};
use treering::upkeep::{Stats, VerifyReport};
use treering::{CommitDigest, HashAlgorithm, Memory, Root, View};
use treering::{Result, Time};

/// The version of the store format that this program writes.
pub(crate) const FORMAT: u32 = 1;

/// Returns the absolute path, or the unchanged path if the system cannot resolve it.
pub(crate) fn absolute(path: &Path) -> String {
    let absolute = path.canonicalize();
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// The answer of `init`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Created {
    pub(crate) store: String,
    pub(crate) hash: HashAlgorithm,
    pub(crate) format: u32,
}

/// The answer of `head`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Head {
    pub(crate) root: Root,
    pub(crate) commit: CommitDigest,
    pub(crate) seq: u64,
    pub(crate) objects: u64,
    /// The number of kept versions of all objects. Null for a past state.
    pub(crate) history: Option<u64>,
    pub(crate) hash: HashAlgorithm,
    pub(crate) time: Time,
    pub(crate) store: Option<String>,
}

impl Head {
    /// Returns the answer for a state. The number of versions is that of the whole store, so a past state has none.
    pub(crate) fn of(memory: &Memory, view: &View, is_present: bool) -> Self {
        let info = view.commit();
        Self {
            root: info.commit.root,
            commit: info.digest,
            seq: info.commit.seq,
            objects: view.len(),
            history: is_present.then(|| memory.history_len()),
            hash: memory.hash(),
            time: info.commit.time,
            store: memory.path().map(absolute),
        }
    }
}

/// The answer of `stats`. Some fields are null for a past state, or without `--space`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Statistics {
    /// The number of objects, those of open conflicts too.
    pub(crate) objects: u64,
    /// The number of conflicts that merges left open.
    pub(crate) merge_conflicts: usize,
    pub(crate) history: Option<u64>,
    /// The number of commits up to this state, including thinned commits.
    pub(crate) commits: u64,
    /// The number of thinned commits.
    pub(crate) thinned: Option<u64>,
    pub(crate) gaps: Option<u64>,
    pub(crate) erased: Option<u64>,
    pub(crate) snapshots: usize,
    pub(crate) segments: Option<u64>,
    pub(crate) log_bytes: Option<u64>,
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) checkpoint_bytes: Option<u64>,
    pub(crate) set_aside_bytes: Option<u64>,
    pub(crate) live_bytes: Option<u64>,
    pub(crate) present_bytes: Option<u64>,
    pub(crate) named_bytes: Option<u64>,
    pub(crate) policy_bytes: Option<u64>,
    pub(crate) dead_bytes: Option<u64>,
    pub(crate) orphans: Option<u64>,
    pub(crate) hash: HashAlgorithm,
    pub(crate) format: u32,
    pub(crate) store: Option<String>,
    /// The space of the records of each kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<Vec<KindSpace>>,
}

impl Statistics {
    /// Returns the counts of a state. Other fields describe the whole store, and come from `stats` and `space`.
    pub(crate) fn of(
        memory: &Memory,
        view: &View,
        stats: Option<Stats>,
        space: Option<Space>,
    ) -> Result<Self> {
        let seq = view.commit().commit.seq;
        let snapshots = memory.snapshots()?;
        let sizes = space.as_ref();
        Ok(Self {
            objects: view.len(),
            merge_conflicts: view.open_conflicts()?.len(),
            history: stats.map(|stats| stats.history),
            commits: seq + 1,
            thinned: stats.map(|stats| stats.thinned),
            gaps: stats.map(|stats| stats.gaps),
            erased: stats.map(|stats| stats.erased),
            snapshots: snapshots.iter().filter(|info| info.seq <= seq).count(),
            segments: stats.map(|stats| stats.segments),
            log_bytes: stats.map(|stats| stats.log_bytes),
            disk_bytes: stats.map(|stats| stats.disk_bytes),
            checkpoint_bytes: stats.map(|stats| stats.checkpoint_bytes),
            set_aside_bytes: stats.map(|stats| stats.set_aside_bytes),
            live_bytes: stats.map(|stats| stats.live_bytes),
            present_bytes: sizes.map(|space| space.present_bytes),
            named_bytes: sizes.map(|space| space.named_bytes),
            policy_bytes: sizes.map(|space| space.policy_bytes),
            dead_bytes: sizes.map(|space| space.dead_bytes),
            orphans: stats.map(|stats| stats.orphans),
            hash: memory.hash(),
            format: FORMAT,
            store: memory.path().map(absolute),
            space: space.map(|space| space.kinds),
        })
    }
}

/// The answer of `verify`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Verified {
    #[serde(flatten)]
    pub(crate) report: VerifyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<StateAt>,
}

/// The state that `--at` selects.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StateAt {
    pub(crate) seq: u64,
    pub(crate) root: Root,
    pub(crate) objects: u64,
}

/// The answer of `doctor`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Examined {
    pub(crate) ok: bool,
    pub(crate) problems: Vec<Diagnosis>,
    /// The clients of the Model Context Protocol that start the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) clients: Vec<ClientSetup>,
    /// The coding agents whose settings call the hooks.
    pub(crate) hooks: Vec<HookSetup>,
    /// The files that `treering install` writes, of each coding agent that has one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) installed: Vec<InstalledPart>,
}

/// A file of an installation in a coding agent: its server, hooks, skill or plugin.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InstalledPart {
    pub(crate) client: &'static str,
    pub(crate) file: String,
    /// What is wrong. Null if the file has all that `treering install` writes.
    pub(crate) problem: Option<String>,
    /// The command that mends it.
    pub(crate) remedy: Option<String>,
}

/// A client whose settings start the server.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ClientSetup {
    pub(crate) client: &'static str,
    pub(crate) file: String,
    pub(crate) command: Option<String>,
    /// Whether the entry starts the server with the examined store.
    pub(crate) serves_store: bool,
    /// Whether the client cannot start the server at all.
    #[serde(skip)]
    pub(crate) is_broken: bool,
    /// The problem of the set-up. Null if the client can start the server with the examined store.
    pub(crate) problem: Option<String>,
    /// The command that mends it.
    pub(crate) remedy: Option<String>,
    /// The entry to paste, if no command can fix the file.
    pub(crate) by_hand: Option<String>,
}

/// A coding agent whose settings call the hooks.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HookSetup {
    pub(crate) client: &'static str,
    pub(crate) file: String,
    pub(crate) command: String,
    /// Why the hooks do not run. Null if they do.
    pub(crate) problem: Option<String>,
    /// The command that mends it.
    pub(crate) remedy: Option<String>,
}

/// A problem of the store, with the command that fixes it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Diagnosis {
    #[serde(flatten)]
    pub(crate) problem: Problem,
    /// The command. Null if the problem needs no action, or if no command fixes it.
    pub(crate) command: Option<String>,
}

/// The answer of `salvage`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Salvaged {
    #[serde(flatten)]
    pub(crate) report: SalvageReport,
    pub(crate) store: String,
}

/// The answer of `contains`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Contained {
    pub(crate) state: Containment,
}

//! Treering: the memory of a long-running AI agent.
//!
//! A store contains **objects**. An object has an id, a kind, a scope, attributes and a text. All objects at one moment
//! form a **state**, which a Merkle root identifies. Every change is a **commit** in a hash chain, so the program can
//! read, compare and restore any past state.
//!
//! ```
//! use treering::{Id, Kind, Memory, NewObject, Query, Writer};
//!
//! # let folder = std::env::temp_dir().join(format!("treering-front-page-{}", std::process::id()));
//! # drop(std::fs::remove_dir_all(&folder));
//! let memory = Memory::create(&folder)?;
//!
//! // Write. The commit is durable when the call returns.
//! let id = Id::new("facts/editor")?;
//! let mut fact = NewObject::new(id.clone(), Kind::new("fact")?);
//! fact.content = Some("The user edits with Helix.".to_owned());
//! memory.put(fact, &Writer::person("vera"))?;
//!
//! // Make several changes as one atomic commit.
//! let mut draft = memory.draft(&Writer::user().reason("tidying up"));
//! draft.put(NewObject::new(Id::new("plans/today")?, Kind::new("plan")?))?;
//! draft.remove(&id)?;
//! memory.commit(draft, "tidy")?;
//!
//! // Read. A view is one state and never changes.
//! let view = memory.view();
//! assert!(view.get(&id)?.is_none());
//! let plans = Query::default().kind(Kind::new("plan")?);
//! assert_eq!(view.query(&plans)?.count(), 1);
//!
//! // Undo the change. An undo is a new commit, so another undo can reverse it.
//! memory.undo(&Writer::user())?;
//! assert!(memory.view().contains(&id)?);
//! memory.close()?;
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), treering::Error>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | open or create a store | [`Memory::open`], [`Memory::create`], [`Options`] |
//! | read a state | [`Memory::view`], [`Memory::at`], [`View`], [`Query`] |
//! | change a state | [`Memory::put`], [`Draft`], [`Memory::commit`], [`Memory::attempt`] |
//! | name the writer, and restrict what it may change | [`Writer`], [`Authorisation`] |
//! | go back | [`Memory::undo`], [`Memory::rollback`], [`Memory::revert`], [`Draft::restore`], [`Memory::snapshot`] |
//! | look back | [`Memory::commits`], [`Memory::history`], [`Memory::diff`] |
//! | find who caused what | [`Memory::blame`], [`Memory::bisect`] |
//! | prove that a state contains an object | [`View::prove`], [`proof::Proof::verify`] |
//! | sign how long the history is, and check later that nobody rewrote it | the module `signed` |
//! | keep a store in order | [`Memory::gc`], [`Memory::erase`], [`Memory::verify`] |
//!
//! The feature `agent` adds the verbs of an agent in the module `agent`, and `ingest` reads and writes documents. Both are
//! default features; `default-features = false` selects only the engine. The feature `semantic` adds `agent::meaning`: sentence
//! models for recall by meaning, one of them bundled. The feature `remote` adds the module `remote`: backups, clones and
//! remotes. The feature `signed` adds signed heads. The feature `tokio` adds `Async`, a handle for hosts that run on Tokio, and
//! `tracing` emits events of the engine. The program with its servers is the package `treering-program`.
//!
//! Every error is an [`Error`]. Its [`ErrorKind`] determines the next action of the caller, and its [`ErrorCode`]
//! identifies the exact case.

// With the features `testing` and `agent`, all that other packages use is public.
#![cfg_attr(
    not(all(feature = "testing", feature = "agent")),
    allow(unreachable_pub, unused_imports, reason = "checked with all features")
)]
// The agent uses parts of the engine that the library alone does not use.
#![cfg_attr(
    not(feature = "agent"),
    allow(dead_code, reason = "checked with the feature `agent`")
)]

#[macro_use(named, text_in_json)]
extern crate treering_text;

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "tokio")]
mod asynchronous;
mod codec;
mod digest;
mod disk;
mod engine;
mod error;
#[cfg(feature = "ingest")]
pub mod ingest;
#[doc(hidden)]
pub mod inspect;
mod log;
mod object;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "signed")]
pub mod signed;
mod slots;
mod store;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod threads;
mod trie;

// Doctests compile and run the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../docs/async.md")]
struct AsyncPage;

#[cfg(feature = "tokio")]
pub use asynchronous::Async;
pub use digest::{CommitDigest, HashAlgorithm, ObjectDigest, Root, TextDigest};
pub use engine::{
    Attempted, Authorisation, Change, Clock, CommitInfo, Committed, Draft, Durability, HeadMoved,
    HistoryEntry, Limits, Memory, Options, PolicyVerdict, Query, Revision, Rollback, SnapshotInfo, Staged,
    View, WritePolicy, Writer,
};
pub use error::{Error, ErrorCode, ErrorKind, Result};
pub use object::{Attributes, Commit, Id, Kind, NewObject, Object, Origin, Position, Scope, Time, Value};
pub use store::ChangeCounts;

pub mod blame {
    //! The answers of [`Memory::blame`](crate::Memory::blame) and [`Memory::bisect`](crate::Memory::bisect).

    pub use crate::engine::{Bisected, BlamedPart, Part};
}

pub mod fork {
    //! A fork of a memory; see [`Memory::fork`](crate::Memory::fork).

    pub use crate::engine::{Fork, ForkInfo};
}

pub mod merge {
    //! The merge of two lines, its conflicts and the decisions about them; see [`Memory::merge`](crate::Memory::merge).

    pub use crate::engine::{
        Choice, ConflictSide, Conflicting, MERGE_CONFLICT, Merge, MergeConflict, Merged, OpenConflict,
        Resolution, Strategy,
    };
}

pub mod proof {
    //! Proofs that a state contains a certain version of an object, or contains no object with a certain id. Checking a
    //! proof needs no store.

    pub use crate::trie::{Proof, ProofError};
}

pub mod revert {
    //! The selection, options and result of a revert; see [`Memory::revert`](crate::Memory::revert).

    pub use crate::engine::{
        Conflicts, KeptBecause, KeptObject, Revert, Reverted, RevertedObject, Selection,
    };
}

pub mod upkeep {
    //! The options and reports of garbage collection, erasure, verification and salvage.

    pub use crate::engine::{
        ErasedKind, ErasedRecord, ErasedReport, Erasing, Finding, FindingKind, GcReport, Retention, Severity,
        Stats, VerifyDepth, VerifyReport,
    };
}

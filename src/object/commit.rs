//! Commits: the records of changes to the state, chained by their digests.
//!
//! A commit contains neither file positions nor a list of changes, so moving records never changes its digest. The
//! changes of a commit are the difference between its parent's root and its own root.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! - COM-1: `seq` is 0 exactly when there are no parents.
//!
//! # Format
//! docs/format.md, "Commit".

use std::collections::BTreeMap;
use std::fmt;

use super::names::Rule;
use super::origin::Origin;
use super::reserved;
use super::time::Time;
use crate::codec::{DecodeError, FieldWriter, Fields, as_array, as_arrays, as_text};
use crate::digest::{CommitDigest, DIGEST_LEN, Domain, HashSuite, HistoryRoot, Root, TextDigest};
use crate::error::{Error, Result};

pub(super) const VERSION: u8 = 1;

pub(super) const ACTOR: Rule = Rule::new("an actor", 256);
pub(super) const SESSION: Rule = Rule::new("a session", 256);

tags! {
    PARENTS = 0x0001, "parents";
    ROOT = 0x0002, "root";
    SEQ = 0x0003, "seq";
    HISTORY_ROOT = 0x0004, "history root";
    TIME = 0x0005, "time";
    OP = 0x0006, "op";
    TARGET = 0x0007, "target";
    ACTOR = 0x0008, "actor";
    SESSION = 0x0009, "session";
    SOURCE = 0x000a, "source";
    TRUST = 0x000b, "trust";
    REASON = 0x000c, "reason";
}

/// The operation of a commit, such as `put` or `rollback`: 1 to 32 of the letters `a` to `z` and `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(String);

impl Op {
    /// The maximal number of characters in an operation.
    pub const BYTES_MAX: usize = 32;
    /// The first commit of a store.
    pub const INIT: &str = "init";
    /// The commit restored an earlier state.
    pub const ROLLBACK: &str = "rollback";
    /// The commit reversed an earlier commit.
    pub const UNDO: &str = "undo";
    /// The commit reversed an undo.
    pub const REDO: &str = "redo";
    /// The commit took back what earlier commits wrote.
    pub const REVERT: &str = "revert";
    /// The commit brought in what another line wrote.
    pub const MERGE: &str = "merge";
    /// The commit decided about what a merge left open.
    pub const RESOLVE: &str = "resolve";
    /// The commit of a remote brought in what a machine pushed.
    pub const PUSH: &str = "push";
    /// The commit restored single objects.
    pub const RESTORE: &str = "restore";
    /// The commit restored forgotten items.
    pub const UNFORGET: &str = "unforget";
    /// The commit stored a prompt of the person, which begins a turn of a session.
    pub const PROMPT: &str = "prompt";
    /// The commit erased content from every file.
    pub const ERASE: &str = "erase";
    /// Salvage wrote the readable part of a damaged store as a new store.
    pub const SALVAGE: &str = "salvage";

    /// Makes an operation from `name` after checking it.
    ///
    /// # Errors
    /// `InvalidInput` if `name` breaks the rule.
    #[doc(hidden)]
    pub fn new(name: &str) -> Result<Self> {
        let is_valid = (1..=Self::BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if is_valid {
            Ok(Self(name.to_owned()))
        } else {
            Err(Error::invalid(
                "the name of an operation has 1 to 32 letters a to z and _",
            ))
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether commits of this operation bring earlier versions back, and write none of their own.
    pub(crate) fn goes_back(&self) -> bool {
        [
            Self::UNDO,
            Self::REDO,
            Self::ROLLBACK,
            Self::RESTORE,
            Self::REVERT,
            Self::UNFORGET,
        ]
        .contains(&self.as_str())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The record of one change of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The commits that this commit follows; empty for the first commit of a store. The `seq` and `history_root` of
    /// this commit continue the values of the first parent.
    pub parents: Vec<CommitDigest>,
    /// The root of the state.
    pub root: Root,
    /// The number of first-parent ancestors.
    pub seq: u64,
    /// The head of the history tree over the first-parent ancestors, oldest first.
    pub history_root: HistoryRoot,
    /// The time of the commit, which is later than its parent's time.
    pub time: Time,
    /// The operation.
    pub op: Op,
    /// The commit that a rollback, undo or redo targets.
    pub target: Option<CommitDigest>,
    /// The author: 1 to 256 bytes without control characters.
    pub actor: Option<String>,
    /// The session: 1 to 256 bytes without control characters.
    pub session: Option<String>,
    /// The digest of the source's text, which is a separate record.
    pub source: Option<TextDigest>,
    /// The trust class of the author.
    pub trust: Origin,
    /// The digest of the reason's text, which is a separate record.
    pub reason: Option<TextDigest>,
    /// The ignorable fields by tag. These fields are kept byte for byte.
    pub reserved: BTreeMap<u16, Vec<u8>>,
}

/// Returns the lane of a commit or reference: its session, else its actor, else `default`.
pub fn lane_of<'a>(session: Option<&'a str>, actor: Option<&'a str>) -> &'a str {
    session.or(actor).unwrap_or("default")
}

impl Commit {
    /// Returns the lane of the commit.
    pub(crate) fn lane(&self) -> &str {
        lane_of(self.session.as_deref(), self.actor.as_deref())
    }

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// `InvalidInput` if the actor or session breaks its rule, or a reserved tag is not ignorable;
    /// `Internal` if `seq` and `parents` contradict each other (COM-1).
    #[doc(hidden)]
    pub fn encode(&self) -> Result<Vec<u8>> {
        if (self.seq == 0) != self.parents.is_empty() {
            return Err(Error::internal(format!(
                "a commit with {} parents cannot have the seq {}",
                self.parents.len(),
                self.seq
            )));
        }
        for (rule, text) in [(ACTOR, &self.actor), (SESSION, &self.session)] {
            text.as_deref().map_or(Ok(()), |text| rule.check(text))?;
        }
        reserved::check(&self.reserved)?;

        let parents: Vec<_> = self.parents.iter().map(|parent| *parent.as_bytes()).collect();
        let mut bytes = Vec::with_capacity(256);
        let mut writer = FieldWriter::new(&mut bytes, VERSION);
        writer.put_some(
            tag::PARENTS,
            (!parents.is_empty()).then_some(parents.as_flattened()),
        );
        writer.put(tag::ROOT, self.root.as_bytes());
        writer.put(tag::SEQ, &self.seq.to_le_bytes());
        writer.put(tag::HISTORY_ROOT, self.history_root.as_bytes());
        writer.put(tag::TIME, &self.time.encode());
        writer.put(tag::OP, self.op.as_str().as_bytes());
        writer.put_some(tag::TARGET, self.target.as_ref().map(CommitDigest::as_bytes));
        writer.put_some(tag::ACTOR, self.actor.as_ref());
        writer.put_some(tag::SESSION, self.session.as_ref());
        writer.put_some(tag::SOURCE, self.source.as_ref().map(TextDigest::as_bytes));
        writer.put(tag::TRUST, &[self.trust.tag()]);
        writer.put_some(tag::REASON, self.reason.as_ref().map(TextDigest::as_bytes));
        reserved::put(&mut writer, &self.reserved);
        Ok(bytes)
    }

    /// Decodes canonical bytes strictly.
    ///
    /// # Errors
    /// The first rule that the bytes break.
    #[doc(hidden)]
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        // The loop below replaces these placeholders: a commit is refused unless it has every required field.
        let mut commit = Self {
            parents: Vec::new(),
            root: Root::from_bytes([0; DIGEST_LEN]),
            seq: 0,
            history_root: HistoryRoot::from_bytes([0; DIGEST_LEN]),
            time: Time::from_micros(0),
            op: Op(String::new()),
            target: None,
            actor: None,
            session: None,
            source: None,
            trust: Origin::Import,
            reason: None,
            reserved: BTreeMap::new(),
        };
        let mut fields = Fields::new(bytes, VERSION)?;
        while let Some((tag, field)) = fields.next_field()? {
            commit.read(tag, field)?;
        }
        fields.require(&[
            tag::ROOT,
            tag::SEQ,
            tag::HISTORY_ROOT,
            tag::TIME,
            tag::OP,
            tag::TRUST,
        ])?;
        // INVARIANT COM-1: `seq` is 0 exactly when there are no parents.
        if (commit.seq == 0) != commit.parents.is_empty() {
            return Err(DecodeError::Invalid(
                "the seq of a commit contradicts its parents",
            ));
        }
        Ok(commit)
    }

    /// Decodes a field, and sets the value with its tag in this commit.
    fn read(&mut self, tag: u16, field: &[u8]) -> Result<(), DecodeError> {
        match tag {
            tag::PARENTS => {
                if field.is_empty() {
                    return Err(DecodeError::Invalid("the parents are empty"));
                }
                let parents = as_arrays::<DIGEST_LEN>(field)?;
                self.parents = parents.into_iter().map(CommitDigest::from_bytes).collect();
            }
            tag::ROOT => self.root = Root::from_bytes(as_array(field)?),
            tag::SEQ => self.seq = u64::from_le_bytes(as_array(field)?),
            tag::HISTORY_ROOT => self.history_root = HistoryRoot::from_bytes(as_array(field)?),
            tag::TIME => self.time = Time::decode(field)?,
            tag::OP => {
                self.op = Op::new(as_text(field)?)
                    .map_err(|_| DecodeError::Invalid("the name of an operation breaks its rule"))?;
            }
            tag::TARGET => self.target = Some(CommitDigest::from_bytes(as_array(field)?)),
            tag::ACTOR => self.actor = Some(ACTOR.decode(field)?.to_owned()),
            tag::SESSION => self.session = Some(SESSION.decode(field)?.to_owned()),
            tag::SOURCE => self.source = Some(TextDigest::from_bytes(as_array(field)?)),
            tag::TRUST => self.trust = Origin::decode(field)?,
            tag::REASON => self.reason = Some(TextDigest::from_bytes(as_array(field)?)),
            _ => reserved::keep(&mut self.reserved, tag, field)?,
        }
        Ok(())
    }

    /// Returns the digest of the canonical bytes.
    ///
    /// # Errors
    /// The errors of [`Self::encode`].
    #[doc(hidden)]
    pub fn digest(&self, suite: HashSuite) -> Result<CommitDigest> {
        Ok(Self::hash(&self.encode()?, suite))
    }

    /// Returns the digest of canonical commit bytes.
    #[doc(hidden)]
    pub fn hash(bytes: &[u8], suite: HashSuite) -> CommitDigest {
        CommitDigest::from_bytes(suite.hash_bytes(Domain::Commit, bytes))
    }
}

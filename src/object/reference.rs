//! References: names for commits. References change no state and make no commit.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! - REF-1: a reference without a commit deletes its name and contains no data about a commit.
//! - REF-2: only drafts and rejected changes have a root and a list of changes, and a list of changes requires a root.
//! - REF-3: only a snapshot is in a lane's ring.
//! - REF-5: only the head of a line, of a fork or of a remote, has a base and a cap of trust, and it has both. It is in a
//!   record of its own kind, which a program that knows no lines refuses.
//! - REF-4: a taint is a pin, so older builds read and keep it. The commits of taints and of signatures are for information,
//!   and may be thinned.
//!
//! # Format
//! docs/format.md, "Reference".

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::commit::{ACTOR, SESSION};
use super::names::Rule;
use super::origin::Origin;
use super::reserved;
use super::time::Time;
use crate::codec::{DecodeError, FieldWriter, Fields, as_array, as_arrays};
use crate::digest::{CommitDigest, DIGEST_LEN, Domain, HashSuite, KeyPath, ObjectDigest, Root, TextDigest};
use crate::error::{Error, Result};

pub(super) const VERSION: u8 = 1;

const NAME: Rule = Rule::new("a reference name", 512);
const LANE: Rule = Rule::new("a lane", 256);
const LINE: Rule = Rule::new("a line", 64);

/// The number of bytes in an entry of the changes: a key path and an object digest.
const CHANGE_LEN: usize = 2 * DIGEST_LEN;

/// The start of the name of a taint, after its class.
const TAINT: &str = "tainted:";

/// The all-zero digest, which means that the change removes the id.
const UNLINK: [u8; DIGEST_LEN] = [0; DIGEST_LEN];

tags! {
    NAME = 0x0001, "name";
    COMMIT = 0x0002, "commit";
    TIME = 0x0003, "time";
    ACTOR = 0x0004, "actor";
    SESSION = 0x0005, "session";
    REASON = 0x0006, "reason";
    ROOT = 0x0007, "root";
    CHANGES = 0x0008, "changes";
    LANE = 0x0009, "lane";
    CAP = 0x000a, "cap";
    LINE = 0x000b, "line";
    BASE = 0x000d, "base";
}

/// The ignorable tags of references, with their names.
pub(in crate::object) const RESERVED: [(u16, &str); 3] = [SEEN, SENT, FROM];

const SEEN: (u16, &str) = (0x8001, "seen");
const SENT: (u16, &str) = (0x8002, "sent");
const FROM: (u16, &str) = (0x8003, "from");

named! {
    /// The purpose of a reference: the part of its name before the first `/`.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum ReferenceClass {
        /// A name for a state to restore later.
        Snapshots => "snapshots",
        /// Saved changes that wait for a decision.
        Drafts => "drafts",
        /// Changes that a check refused.
        Rejected => "rejected",
        /// A commit that must be kept.
        Pins => "pins",
        /// The last known head of another store.
        Remotes => "remotes",
        /// A signature over a commit.
        Signatures => "signatures",
        /// The newest commit of a line: of a fork.
        Heads => "heads",
    }
}

/// The name of a reference: its class, a `/` and a free part. The name has at most 512 bytes, without control
/// characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReferenceName(Arc<str>);

impl ReferenceName {
    /// Checks a whole name, such as `snapshots/before-import`, and stores it.
    ///
    /// # Errors
    /// `InvalidInput`, naming the broken rule.
    pub fn new(name: &str) -> Result<Self> {
        NAME.check(name)?;
        split(name).ok_or_else(|| {
            Error::invalid(format!(
                "the reference name \"{name}\" does not start with a known class and /"
            ))
            .with_hint("start it with snapshots/, drafts/, rejected/, pins/, remotes/, signatures/ or heads/")
        })?;
        Ok(Self(name.into()))
    }

    /// Makes the name that consists of `class`, a `/` and `rest`.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn of(class: ReferenceClass, rest: &str) -> Result<Self> {
        Self::new(&format!("{}/{rest}", class.name()))
    }

    /// Makes the name of the automatic snapshot of batch number `batch`.
    pub fn of_ring(batch: u64) -> Self {
        Self(format!("{}/ring:{batch}", ReferenceClass::Snapshots.name()).into())
    }

    /// Makes the name of the taint of a session (REF-4).
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub(crate) fn of_taint(session: &str) -> Result<Self> {
        Self::of(ReferenceClass::Pins, &format!("{TAINT}{session}"))
    }

    /// Returns whether this is the name of a taint.
    #[cfg(feature = "remote")]
    pub(crate) fn is_taint(&self) -> bool {
        let (class, rest) = self.parts();
        class == ReferenceClass::Pins && rest.starts_with(TAINT)
    }

    /// Returns whether the commit that the reference names must be kept (REF-4).
    pub(crate) fn keeps_commit(&self) -> bool {
        match self.parts() {
            (ReferenceClass::Pins, rest) => !rest.starts_with(TAINT),
            (class, _) => class != ReferenceClass::Signatures,
        }
    }

    /// Returns the class of the reference.
    pub fn class(&self) -> ReferenceClass {
        self.parts().0
    }

    /// Returns the part of the name after the class and its `/`.
    pub fn rest(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (ReferenceClass, &str) {
        split(&self.0).expect("every constructor of a reference name checks its class")
    }

    /// Returns the whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn split(name: &str) -> Option<(ReferenceClass, &str)> {
    let (class, rest) = name.split_once('/')?;
    let class = ReferenceClass::from_name(class)?;
    (!rest.is_empty()).then_some((class, rest))
}

impl fmt::Display for ReferenceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One change in a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The key path of the id.
    pub key: KeyPath,
    /// The new version of the id; `None` removes the id.
    pub digest: Option<ObjectDigest>,
}

/// A name for a commit, or its deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name. If several references have the same name, the newest reference is valid.
    pub name: ReferenceName,
    /// The commit that the reference names; `None` deletes the name.
    pub commit: Option<CommitDigest>,
    /// The time at which the reference was written.
    pub time: Time,
    /// The author: 1 to 256 bytes without control characters.
    pub actor: Option<String>,
    /// The session: 1 to 256 bytes without control characters.
    pub session: Option<String>,
    /// The digest of the reason's text, which is a separate record.
    pub reason: Option<TextDigest>,
    /// For drafts and rejected drafts: the root of the commit's state after the changes.
    pub root: Option<Root>,
    /// For drafts and rejected drafts: the changes, in ascending order of their key paths.
    pub changes: Vec<StagedChange>,
    /// The lane whose ring contains this automatic snapshot: 1 to 256 bytes without control characters.
    pub lane: Option<String>,
    /// The fork of an automatic snapshot or a draft, if it is not of the main line.
    pub line: Option<String>,
    /// For the head of a line: the commit at which the line leaves another line.
    pub base: Option<CommitDigest>,
    /// For the head of a line: the most trusted class that a write through the line gets.
    pub cap: Option<Origin>,
    /// The ignorable fields by tag. These fields are kept byte for byte.
    pub reserved: BTreeMap<u16, Vec<u8>>,
}

impl Reference {
    /// The ignorable field that says how far a remote was read.
    #[cfg(feature = "remote")]
    pub(crate) const SEEN: u16 = SEEN.0;
    /// The ignorable field that names the remote from which a taint came.
    #[cfg(feature = "remote")]
    pub(crate) const FROM: u16 = FROM.0;

    /// Makes a reference that has only a name, a commit and a time.
    pub fn new(name: ReferenceName, commit: Option<CommitDigest>, time: Time) -> Self {
        Self {
            name,
            commit,
            time,
            actor: None,
            session: None,
            reason: None,
            root: None,
            changes: Vec::new(),
            lane: None,
            line: None,
            base: None,
            cap: None,
            reserved: BTreeMap::new(),
        }
    }

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// `InvalidInput` if the actor, session or lane breaks its rule or a reserved tag is not ignorable;
    /// `Internal` if the fields contradict each other (REF-1 to REF-3) or the changes are not in ascending order.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let texts = [
            (ACTOR, &self.actor),
            (SESSION, &self.session),
            (LANE, &self.lane),
            (LINE, &self.line),
        ];
        for (rule, text) in texts {
            text.as_deref().map_or(Ok(()), |text| rule.check(text))?;
        }
        if let Some(broken) = self.contradiction() {
            return Err(Error::internal(format!("reference {}: {broken}", self.name)));
        }
        reserved::check(&self.reserved)?;

        let mut bytes = Vec::with_capacity(128 + self.changes.len() * CHANGE_LEN);
        let mut writer = FieldWriter::new(&mut bytes, VERSION);
        writer.put(tag::NAME, self.name.as_str().as_bytes());
        writer.put_some(tag::COMMIT, self.commit.as_ref().map(CommitDigest::as_bytes));
        writer.put(tag::TIME, &self.time.encode());
        writer.put_some(tag::ACTOR, self.actor.as_ref());
        writer.put_some(tag::SESSION, self.session.as_ref());
        writer.put_some(tag::REASON, self.reason.as_ref().map(TextDigest::as_bytes));
        writer.put_some(tag::ROOT, self.root.as_ref().map(Root::as_bytes));
        if !self.changes.is_empty() {
            let changes = self.changes.iter().flat_map(|change| {
                let digest = change.digest.as_ref().map_or(&UNLINK, ObjectDigest::as_bytes);
                [*change.key.as_bytes(), *digest]
            });
            writer.put(tag::CHANGES, changes.collect::<Vec<_>>().as_flattened());
        }
        writer.put_some(tag::LANE, self.lane.as_ref());
        writer.put_some(tag::CAP, self.cap.map(|cap| [cap.tag()]));
        writer.put_some(tag::LINE, self.line.as_ref());
        writer.put_some(tag::BASE, self.base.as_ref().map(CommitDigest::as_bytes));
        reserved::put(&mut writer, &self.reserved);
        Ok(bytes)
    }

    /// Decodes canonical bytes strictly.
    ///
    /// # Errors
    /// The first rule that the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(bytes, VERSION)?;
        // The loop below replaces the name and the time.
        let mut reference = Self::new(ReferenceName(Arc::default()), None, Time::from_micros(0));
        while let Some((tag, field)) = fields.next_field()? {
            match tag {
                tag::NAME => {
                    let text = NAME.decode(field)?;
                    split(text).ok_or(DecodeError::Invalid("a reference name has no known class"))?;
                    reference.name = ReferenceName(text.into());
                }
                tag::COMMIT => reference.commit = Some(CommitDigest::from_bytes(as_array(field)?)),
                tag::TIME => reference.time = Time::decode(field)?,
                tag::ACTOR => reference.actor = Some(ACTOR.decode(field)?.to_owned()),
                tag::SESSION => reference.session = Some(SESSION.decode(field)?.to_owned()),
                tag::REASON => reference.reason = Some(TextDigest::from_bytes(as_array(field)?)),
                tag::ROOT => reference.root = Some(Root::from_bytes(as_array(field)?)),
                tag::CHANGES => reference.changes = read_changes(field)?,
                tag::LANE => reference.lane = Some(LANE.decode(field)?.to_owned()),
                tag::CAP => reference.cap = Some(Origin::decode(field)?),
                tag::LINE => reference.line = Some(LINE.decode(field)?.to_owned()),
                tag::BASE => reference.base = Some(CommitDigest::from_bytes(as_array(field)?)),
                _ => reserved::keep(&mut reference.reserved, tag, field)?,
            }
        }
        fields.require(&[tag::NAME, tag::TIME])?;
        match reference.contradiction() {
            Some(broken) => Err(DecodeError::Invalid(broken)),
            None => Ok(reference),
        }
    }

    /// Returns the digest of the canonical bytes.
    ///
    /// # Errors
    /// The errors of [`Self::encode`].
    pub fn digest(&self, suite: HashSuite) -> Result<[u8; DIGEST_LEN]> {
        Ok(suite.hash_bytes(Domain::Reference, &self.encode()?))
    }

    /// Returns the first contradiction between the fields.
    fn contradiction(&self) -> Option<&'static str> {
        let class = self.name.class();
        let about_a_commit = self.root.is_some() || !self.changes.is_empty() || self.lane.is_some();
        // INVARIANT REF-1: a reference without a commit deletes its name and contains no data about a commit.
        if self.commit.is_none() && about_a_commit {
            return Some("a deleted reference has data about a commit");
        }
        // INVARIANT REF-2: only drafts and rejected changes have a root and a list of changes, and a list of changes
        // requires a root.
        let holds_changes = matches!(class, ReferenceClass::Drafts | ReferenceClass::Rejected);
        if self.root.is_some() && !holds_changes {
            return Some("a reference that is not a draft has a root");
        }
        if self.root.is_none() && !self.changes.is_empty() {
            return Some("a reference has changes without a root");
        }
        if !self.changes.is_sorted_by(|a, b| a.key < b.key) {
            return Some("the changes of a reference are not in ascending order");
        }
        if self
            .changes
            .iter()
            .any(|change| change.digest.is_some_and(|digest| *digest.as_bytes() == UNLINK))
        {
            return Some("a change has the all-zero digest, which is reserved for removals");
        }
        // INVARIANT REF-3: only a snapshot is in a lane's ring.
        if self.lane.is_some() && class != ReferenceClass::Snapshots {
            return Some("a reference that is not a snapshot has a lane");
        }
        let is_draft = matches!(class, ReferenceClass::Drafts | ReferenceClass::Rejected);
        if self.line.is_some() && self.lane.is_none() && !is_draft {
            return Some("a reference of the whole store names a line");
        }
        // INVARIANT REF-5: only the head of a line has a base and a cap of trust, and it has both.
        let has_both = self.base.is_some() && self.cap.is_some();
        let is_head = match class {
            ReferenceClass::Heads => true,
            // In a record of another kind, it only names the newest commit that is known of a remote.
            ReferenceClass::Remotes => has_both,
            _ => false,
        };
        if has_both != is_head || self.base.is_some() != self.cap.is_some() {
            return Some("a base or a cap does not belong to the head of a line");
        }
        None
    }
}

fn read_changes(field: &[u8]) -> Result<Vec<StagedChange>, DecodeError> {
    if field.is_empty() {
        return Err(DecodeError::Invalid("the changes are empty"));
    }
    let pairs = as_arrays::<CHANGE_LEN>(field)?;
    pairs
        .iter()
        .map(|pair| {
            let (key, digest) = pair.split_at(DIGEST_LEN);
            let digest: [u8; DIGEST_LEN] = as_array(digest)?;
            Ok(StagedChange {
                key: KeyPath::from_bytes(as_array(key)?),
                digest: (digest != UNLINK).then(|| ObjectDigest::from_bytes(digest)),
            })
        })
        .collect()
}

/// The maximal number of characters in the name of a snapshot or a fork.
const SHORT_NAME_MAX: usize = 64;

/// Checks the name of a snapshot: 1 to 64 ASCII letters, digits, `.`, `_`, `-` and `/`. The name must not read as
/// another form of a revision.
///
/// # Errors
/// `InvalidInput`, naming the broken rule.
pub fn check_snapshot_name(name: &str) -> Result<()> {
    check_short_name("snapshot", name)
}

/// Checks the name of a fork: as that of a snapshot, and no option of a command line.
///
/// # Errors
/// `InvalidInput`, naming the broken rule.
pub(crate) fn check_fork_name(name: &str) -> Result<()> {
    if name.starts_with('-') {
        return Err(Error::invalid(format!("the fork name \"{name}\" begins with -"))
            .with_hint("start it with a letter or a digit"));
    }
    check_short_name("fork", name)
}

/// Checks the name of a thing of the kind `what`.
fn check_short_name(what: &str, name: &str) -> Result<()> {
    let bytes = name.as_bytes();
    let other = name
        .char_indices()
        .find(|(_, c)| !c.is_ascii_alphanumeric() && !"._-/".contains(*c));
    let (why, hint) = if bytes.is_empty() {
        (
            format!("a {what} name is empty"),
            "use a name of 1 to 64 characters",
        )
    } else if let Some((at, character)) = other {
        (
            format!("a {what} name contains {character:?} at byte {at}"),
            "use the letters a to z and A to Z, digits and the characters . _ - /",
        )
    } else if bytes.len() > SHORT_NAME_MAX {
        (
            format!("a {what} name of {} characters is too long", bytes.len()),
            "use at most 64 characters",
        )
    } else if bytes.len() >= 8 && bytes.iter().all(u8::is_ascii_hexdigit) {
        (
            format!("the {what} name \"{name}\" looks like a digest"),
            "use fewer than 8 characters, or at least one character that is not a hexadecimal digit",
        )
    } else if starts_like_a_time(bytes) {
        (
            format!("the {what} name \"{name}\" looks like a time"),
            "start it with a letter, such as v2026-01-31",
        )
    } else {
        return Ok(());
    };
    Err(Error::invalid(why).with_hint(hint))
}

/// Returns whether `name` starts with a date, with or without hyphens. A time of day may follow the date. The other
/// forms of a revision contain `@` or `:`, which a name cannot contain.
fn starts_like_a_time(name: &[u8]) -> bool {
    let follows = |shape: &[u8]| {
        let date = name.len() >= shape.len()
            && shape.iter().zip(name).all(|(&shape, &byte)| match shape {
                b'0' => byte.is_ascii_digit(),
                _ => byte == shape,
            });
        date && matches!(name.get(shape.len()), None | Some(b'T' | b't'))
    };
    follows(b"0000-00-00") || follows(b"00000000")
}

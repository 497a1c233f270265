//! Revisions: the ways to name a point in history.
//!
//! # Layer
//! Layer 5.

use std::fmt;
use std::sync::Arc;

use crate::digest::{CommitDigest, Root, from_hex};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{ReferenceClass, ReferenceName, Time};
use crate::store::{CommitEntry, REMOTE, ReferenceEntry, Store};

/// The name of the main line.
pub const MAIN_LINE: &str = "main";

/// A point in history as a person or program names it.
///
/// Calls with a revision as argument also accept the text of a revision, the digest of a commit, or a root.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Writer};
///
/// let memory = Memory::in_memory()?;
/// let before = memory.snapshot(Some("before"), &Writer::user())?;
/// memory.put(NewObject::new(Id::new("plan")?, Kind::new("note")?), &Writer::user())?;
///
/// assert!(memory.at("before")?.is_empty());
/// assert!(memory.at("@-1")?.is_empty());
/// assert!(memory.at(before.commit)?.is_empty());
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revision {
    /// `@`: the head.
    Head,
    /// `@-3`: the commit three before the head.
    Ancestor(u64),
    /// `snap:0`: the newest automatic snapshot of the lane; `snap:1`: the second newest.
    Ring(usize),
    /// The name of a snapshot.
    Name(String),
    /// `seq:7`: the commit with this seq.
    Seq(u64),
    /// The first 8 to 64 hexadecimal digits of a commit's digest, or of a root.
    Prefix(String),
    /// The last commit made at or before this time.
    Time(Time),
    /// `fork:task-7`: the newest commit of a fork.
    Fork(String),
    /// `remote:origin/main`: the newest commit of a line of a remote that was fetched.
    Remote(String),
}

impl std::str::FromStr for Revision {
    type Err = Error;

    /// Parses a revision as a person writes it.
    ///
    /// # Errors
    /// `InvalidInput` if the text starts like a form of [`Revision`] but is not valid in that form.
    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            Error::invalid(format!("`{text}` is not a revision: {what}")).with_hint(
                "use @, @-3, snap:0, a snapshot's name, seq:7, fork:NAME, remote:NAME/main, 8 or more digits of a commit or root, or an RFC 3339 time",
            )
        };
        match text {
            "@" => return Ok(Self::Head),
            "" => return Err(bad("the text is empty")),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix('@') {
            let count = rest.strip_prefix('-').and_then(|digits| digits.parse().ok());
            return count.map(Self::Ancestor).ok_or_else(|| bad("write -N after @"));
        }
        if let Some(rest) = text.strip_prefix("snap:") {
            let index = rest.parse().map_err(|_| bad("write a number after snap:"));
            return index.map(Self::Ring);
        }
        if let Some(rest) = text.strip_prefix("seq:") {
            let seq = rest.parse().map_err(|_| bad("write a number after seq:"));
            return seq.map(Self::Seq);
        }
        if let Some(name) = text.strip_prefix("fork:") {
            return Ok(Self::Fork(name.to_owned()));
        }
        if let Some(line) = text.strip_prefix(REMOTE) {
            return Ok(Self::Remote(line.to_owned()));
        }
        if (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Prefix(text.to_ascii_lowercase()));
        }
        if let Ok(time) = text.parse() {
            return Ok(Self::Time(time));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("@"),
            Self::Ancestor(count) => write!(f, "@-{count}"),
            Self::Ring(index) => write!(f, "snap:{index}"),
            Self::Name(name) => f.write_str(name),
            Self::Seq(seq) => write!(f, "seq:{seq}"),
            Self::Prefix(prefix) => f.write_str(prefix),
            Self::Time(time) => write!(f, "{time}"),
            Self::Fork(name) => write!(f, "fork:{name}"),
            Self::Remote(line) => write!(f, "{REMOTE}{line}"),
        }
    }
}

impl TryFrom<&str> for Revision {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        text.parse()
    }
}

impl From<&Self> for Revision {
    fn from(revision: &Self) -> Self {
        revision.clone()
    }
}

impl From<CommitDigest> for Revision {
    fn from(commit: CommitDigest) -> Self {
        Self::Prefix(commit.to_hex())
    }
}

impl From<Root> for Revision {
    fn from(root: Root) -> Self {
        Self::Prefix(root.to_hex())
    }
}

/// Returns the lowest and the highest digest that start with these hexadecimal digits.
pub(crate) fn digest_range(prefix: &str) -> Option<([u8; 32], [u8; 32])> {
    let fill = |digit: char| {
        let mut text = prefix.to_owned();
        text.extend(std::iter::repeat_n(digit, 64_usize.checked_sub(prefix.len())?));
        from_hex(&text)?.try_into().ok()
    };
    Some((fill('0')?, fill('f')?))
}

/// Finds the kept commits whose digest starts with `prefix`. If there are no such commits, finds the kept commits whose
/// root starts with `prefix`. Returns the indexes of the found commits among all kept commits.
pub(crate) fn by_prefix(store: &Store, prefix: &str) -> Result<Vec<usize>> {
    let Some((low, high)) = digest_range(prefix) else {
        return Ok(Vec::new());
    };
    let commits = store.commits_between(false, low, high)?;
    if commits.is_empty() {
        store.commits_between(true, low, high)
    } else {
        Ok(commits)
    }
}

/// Returns the commit that a reference names, if history keeps it.
pub(crate) fn named_by(store: &Store, commit: Option<CommitDigest>) -> Result<Option<Arc<CommitEntry>>> {
    commit.map_or(Ok(None), |commit| store.by_digest(commit))
}

/// Returns the commit that `revision` names, and the store of its line. A revision such as `snap:0` refers to the snapshots
/// of `lane` in the line of `store`.
pub(crate) fn resolve_in(
    store: &Arc<Store>,
    revision: &Revision,
    lane: &str,
) -> Result<(Arc<Store>, Arc<CommitEntry>)> {
    let named = match revision {
        Revision::Fork(name) if name == MAIN_LINE => {
            let main = store.main_line();
            return main.head().map(|head| (main, head));
        }
        Revision::Fork(name) => match store.main_line().line(name)? {
            Some(fork) => return fork.head().map(|head| (Arc::clone(&fork), head)),
            None => return Err(missing(store, revision, lane)?),
        },
        Revision::Remote(line) => {
            let name = ReferenceName::of(ReferenceClass::Remotes, line).ok();
            let named = name.and_then(|name| commit_of(store.references().get(&name)));
            let name = format!("{REMOTE}{line}");
            let named = named.or_else(|| store.lines().named(&name).map(|line| line.head));
            named.or_else(|| {
                let snapshot = ReferenceName::of(ReferenceClass::Snapshots, &name).ok()?;
                commit_of(store.references().get(&snapshot))
            })
        }
        Revision::Ring(index) => commit_of(store.references().ring(store.line_name(), lane).nth(*index)),
        Revision::Name(name) => {
            let name = ReferenceName::of(ReferenceClass::Snapshots, name).ok();
            name.and_then(|name| commit_of(store.references().get(&name)))
        }
        _ => return resolve(store, revision, lane).map(|found| (Arc::clone(store), found)),
    };
    // A snapshot may name a commit of another line.
    let found = named.map_or(Ok(None), |commit| store.commit_of_any(commit))?;
    found.map_or_else(|| Err(missing(store, revision, lane)?), Ok)
}

fn commit_of(entry: Option<&ReferenceEntry>) -> Option<CommitDigest> {
    entry?.reference.commit
}

/// Returns the commit of this line that `revision` names. A revision such as `snap:0` refers to the snapshots of `lane`.
pub(crate) fn resolve(store: &Store, revision: &Revision, lane: &str) -> Result<Arc<CommitEntry>> {
    let head = store.head()?;
    let found = match revision {
        Revision::Fork(_) | Revision::Remote(_) => None,
        Revision::Ancestor(count) => head
            .seq()
            .checked_sub(*count)
            .map_or(Ok(None), |seq| store.by_seq(seq))?,
        Revision::Head => Some(head),
        Revision::Ring(index) => {
            let commit = commit_of(store.references().ring(store.line_name(), lane).nth(*index));
            named_by(store, commit)?
        }
        Revision::Name(name) => {
            let name = ReferenceName::of(ReferenceClass::Snapshots, name).ok();
            let commit = name.and_then(|name| commit_of(store.references().get(&name)));
            named_by(store, commit)?
        }
        Revision::Seq(seq) => store.by_seq(*seq)?,
        Revision::Prefix(prefix) => match by_prefix(store, prefix)?[..] {
            // A snapshot can have a name that looks like a digest prefix only if another program wrote it. In that
            // case, the commit takes precedence.
            [] => None,
            [index] => store.commit_at(index)?,
            ref several => {
                let count = several.len();
                return Err(Error::invalid(format!("{prefix} matches {count} commits"))
                    .with_code(ErrorCode::Ambiguous)
                    .with_hint("give more digits"));
            }
        },
        Revision::Time(time) => store.at_time(*time)?,
    };
    match found {
        Some(found) => Ok(found),
        None => Err(missing(store, revision, lane)?),
    }
}

/// Returns the error for a revision that names no kept commit.
fn missing(store: &Store, revision: &Revision, lane: &str) -> Result<Error> {
    let error = |what: String| Error::not_found(what).with_code(ErrorCode::NoRevision);
    let newest = store.head()?.seq();
    let thinned = |seq: u64| {
        let mut gaps = store.gaps().into_iter();
        gaps.find(|gap| (gap.first..gap.first + gap.count).contains(&seq))
    };
    let seq = match revision {
        Revision::Seq(seq) => Some(*seq),
        Revision::Ancestor(count) => newest.checked_sub(*count),
        // Every kept commit is newer than this time. A thinned commit of this time would be in the gap at the start of
        // history.
        Revision::Time(_) => Some(0),
        _ => None,
    };
    if let Some(gap) = seq.and_then(thinned) {
        let (first, next) = (gap.first, gap.first + gap.count);
        let nearest = match first.checked_sub(1) {
            Some(before) => format!("the nearest kept commits are seq:{before} and seq:{next}"),
            None => format!("the oldest kept commit is seq:{next}"),
        };
        let hint = format!("retention thinned seq:{first} to seq:{}; {nearest}", next - 1);
        let which = match revision {
            Revision::Time(time) => format!("at {time}"),
            _ => format!("of commit {revision}"),
        };
        return Ok(error(format!("the state {which} was thinned"))
            .with_code(ErrorCode::Thinned)
            .with_hint(hint));
    }
    let listed = |what: String| (what, "`log` lists the commits".to_owned());
    let (what, hint) = match revision {
        Revision::Ring(index) => {
            let held = store.references().ring(store.line_name(), lane).count();
            let what = format!("lane {lane} has {held} automatic snapshots, so snap:{index} does not exist");
            let hint = "`snapshots` lists the snapshots of a lane; choose the lane with --session or --actor";
            (what, hint.to_owned())
        }
        Revision::Name(name) => {
            let is_time = name.starts_with(|first: char| first.is_ascii_digit());
            let time = "; a time must be complete, such as 2026-11-23T12:00:00Z";
            let hint = format!(
                "`snapshots` lists the snapshots{}",
                if is_time { time } else { "" }
            );
            (format!("no snapshot is named '{name}'"), hint)
        }
        Revision::Fork(name) => (
            format!("there is no fork '{name}'"),
            "`forks` lists the forks".to_owned(),
        ),
        Revision::Remote(line) => (
            format!("nothing named '{line}' was fetched from a remote"),
            "`remote list` lists the remotes, and `fetch` reads one".to_owned(),
        ),
        Revision::Time(_) => listed("no commit was made at or before this time".to_owned()),
        Revision::Prefix(prefix) => listed(format!("no kept commit or root starts with {prefix}")),
        _ => {
            let hint = format!("the newest commit is seq:{newest}");
            (format!("commit {revision} does not exist"), hint)
        }
    };
    let is_name = matches!(
        revision,
        Revision::Name(_) | Revision::Fork(_) | Revision::Remote(_)
    );
    let names = is_name.then(|| revision.to_string()).into_iter().collect();
    Ok(error(what).with_names(names).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_it_shows() {
        for text in [
            "@",
            "@-3",
            "snap:0",
            "snap:19",
            "before-lunch",
            "seq:12",
            "fork:task-7",
            "remote:origin/main",
            "0123abcd",
            "2026-11-21T22:20:00.000000Z",
        ] {
            assert_eq!(text.parse::<Revision>().unwrap().to_string(), text);
        }
        assert_eq!(
            "0123ABCD".parse::<Revision>().unwrap(),
            Revision::Prefix("0123abcd".to_owned())
        );
        for text in ["", "@x", "@-", "snap:", "snap:x", "seq:-1"] {
            assert!(text.parse::<Revision>().is_err(), "{text}");
        }
        assert_eq!(
            "0123abc".parse::<Revision>().unwrap(),
            Revision::Name("0123abc".to_owned())
        );
    }

    #[test]
    fn a_prefix_spans_all_digests_that_start_with_it() {
        let (low, high) = digest_range("0123456789abcdef0").unwrap();
        assert_eq!(low[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x00]);
        assert_eq!(high[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x0f]);
        assert!(digest_range(&"0".repeat(65)).is_none());
    }
}

//! Clone: makes a new store of a backup or a remote.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - CLE-1: a batch is written only after the digest of its segment matched the manifest, and its own digest its bytes.
//! - CLE-2: each batch is written with the cap, before the folder is a store.
//! - CLE-3: a clone knows its remote, and the user's register knows the clone, before the folder is a store. So a clone that
//!   was killed is no store and goes on, or is whole.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::bucket::{Counted, check_apart};
use super::cache::seen_in;
use super::keys::Keys;
use super::place::Place;
use super::remote::Remote;
use crate::digest::{CommitDigest, Root};
use crate::disk::{Disk, FileDisk};
use crate::engine::{Known, Memory, Options};
use crate::error::{Error, Result};
use crate::log::closed::{ClosedLog, Group, Purpose, Target};
use crate::log::{Batch, BatchBuilder, RecordKind, cap_in};
use crate::object::{Origin, Reference, ReferenceClass, ReferenceName};
use crate::store::{ForeignCommit, capped, check_time};
use crate::threads::beside;

/// The result of a clone.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Cloned {
    /// The folder of the new store.
    pub store: String,
    /// The number of commits of the main line that the new store has.
    pub commits: u64,
    /// The number of objects.
    pub objects: u64,
    /// The root of the newest state.
    pub root: Root,
    /// The name by which the new store knows the remote; none if it is the clone of a backup.
    pub remote: Option<String>,
}

/// How a clone copies.
#[derive(Clone, Copy)]
pub(super) struct CopyRules<'a> {
    pub(super) cap: Origin,
    pub(super) options: &'a Options,
    /// Whether a signature was demanded. It covers no taint and no snapshot (RSG-2).
    pub(super) is_signed: bool,
}

/// Accepts or refuses what a clone would copy, before anything is written.
type Check<'a> = &'a dyn Fn(&ClosedLog) -> Result<()>;

/// Notes the instance of a new clone of a remote, before its folder is a store (CLE-3).
#[doc(hidden)]
pub type Register<'a> = &'a dyn Fn([u8; 16]) -> Result<()>;

/// The name of the remote from which a store was cloned.
pub(super) const ORIGIN: &str = "origin";

/// Makes a store in the folder `path` of the backup or remote at `url`, and opens it. In the new store, no object is of a more
/// trusted class than `cap`; other machines see no difference. A call that was interrupted goes on where it stopped. The clone
/// of a remote knows it by the name `origin`.
///
/// # Errors
/// `NotFound` (code `not_a_remote`) if nothing is there; `Corrupt` if a segment is damaged: then the folder contains no
/// store; `InvalidInput` (codes `store_exists` and `exists`) if the folder contains other files; `Io`.
///
/// # Durability
/// When the call returns, the store is durable. After a crash before that, the folder contains no store, or a whole one in
/// which nothing is above the cap (CLE-2).
pub fn clone(url: &str, path: impl AsRef<Path>, cap: Origin, options: &Options) -> Result<(Memory, Cloned)> {
    clone_with(url, path, cap, options, None)
}

/// Clones as [`clone`] does, with the keys of an encrypted place.
///
/// # Errors
/// The errors of [`clone`]; `InvalidInput` (code `no_key`, `wrong_key` or `not_encrypted`) if the keys do not fit. Nothing was
/// made then.
///
/// # Durability
/// As [`clone`].
pub fn clone_with(
    url: &str,
    path: impl AsRef<Path>,
    cap: Origin,
    options: &Options,
    keys: Option<&Keys>,
) -> Result<(Memory, Cloned)> {
    check_apart(url, path.as_ref())?;
    let place = Place::open(url, false, keys, options.settings.wait)?;
    clone_from(&place, path.as_ref(), cap, options)
}

impl Remote {
    /// Makes a store of the remote in the folder `path`, as [`clone`] does, if a demanded key signed its newest commit. The
    /// new store knows the remote by the name `origin`.
    ///
    /// # Errors
    /// The errors of [`clone`] and of `register`; `Denied` (code `unsigned_remote`) and the other errors of a signature. Then
    /// the folder contains no store.
    #[doc(hidden)]
    pub fn clone_to(
        &self,
        path: impl AsRef<Path>,
        options: &Options,
        register: Register<'_>,
    ) -> Result<(Memory, Cloned)> {
        let place = Place::of(Counted::new(Arc::clone(&self.bucket)).waiting(options.settings.wait));
        // The manifest has the digests of the segments. So the clone copies the bytes that the check reads.
        #[cfg(feature = "signed")]
        let check = |log: &ClosedLog| self.check_signed(&place, log);
        #[cfg(not(feature = "signed"))]
        let check: Option<Check<'_>> = None;
        #[cfg(feature = "signed")]
        let check: Option<Check<'_>> = self.demands().then_some(&check);
        clone_checked(
            &place,
            path.as_ref(),
            (self.known().cap, options),
            check,
            register,
        )
    }
}

pub(super) fn clone_from(
    place: &Place,
    path: &Path,
    cap: Origin,
    options: &Options,
) -> Result<(Memory, Cloned)> {
    clone_checked(place, path, (cap, options), None, &|_| Ok(()))
}

/// Clones as [`clone_from`] does, if `check` accepts what is published.
fn clone_checked(
    place: &Place,
    path: &Path,
    (cap, options): (Origin, &Options),
    check: Option<Check<'_>>,
    register: Register<'_>,
) -> Result<(Memory, Cloned)> {
    let rules = CopyRules {
        cap,
        options,
        is_signed: check.is_some(),
    };
    // A refused clone leaves no folder.
    let disk = |log: &ClosedLog| -> Result<Arc<dyn Disk>> {
        check.map_or(Ok(()), |check| check(log))?;
        Ok(Arc::new(FileDisk::create(path)?))
    };
    let log = copy(place, rules, &disk, register)?;
    let memory = options.clone().open(path)?;
    let view = memory.view();
    let cloned = Cloned {
        store: path.display().to_string(),
        commits: memory.inner.store().kept() as u64,
        objects: view.len(),
        root: view.root(),
        remote: (log.purpose == Purpose::Shared).then(|| ORIGIN.to_owned()),
    };
    Ok((memory, cloned))
}

/// Clones a remote in a bucket to any disk.
///
/// # Errors
/// The errors of [`clone`].
#[cfg(any(test, feature = "testing"))]
pub(crate) fn clone_on(
    bucket: Arc<dyn super::bucket::Bucket>,
    disk: &Arc<dyn Disk>,
    cap: Origin,
    options: &Options,
) -> Result<Memory> {
    let place = Place::of(Counted::new(bucket).impatient());
    let rules = CopyRules {
        cap,
        options,
        is_signed: false,
    };
    copy(&place, rules, &|_| Ok(Arc::clone(disk)), &|_| Ok(()))?;
    Memory::on_disk(Arc::clone(disk), options.clone(), false, None)
}

/// Writes the batches of the closed log to a new store on `disk`. Returns the log.
fn copy(
    place: &Place,
    rules: CopyRules<'_>,
    disk: &dyn Fn(&ClosedLog) -> Result<Arc<dyn Disk>>,
    register: Register<'_>,
) -> Result<ClosedLog> {
    let mut copied = None;
    place.reading(place.read()?, &mut |published| {
        copy_log(place, &published.log, &disk(&published.log)?, rules, register)?;
        copied = Some(published.log.clone());
        Ok(())
    })?;
    copied.ok_or_else(|| Error::internal("a clone copied nothing"))
}

pub(super) fn copy_log(
    place: &Place,
    log: &ClosedLog,
    disk: &Arc<dyn Disk>,
    rules: CopyRules<'_>,
    register: Register<'_>,
) -> Result<()> {
    let (CopyRules { cap, options, .. }, mut commits) = (rules, HashSet::new());
    // CLE-2: the interrupted call may have had another cap.
    let mut fits = |batch: &Batch| {
        let found = ForeignCommit::of(batch, log.suite()).ok().flatten();
        commits.extend(found.map(|found| found.digest));
        let mut records = batch.records.iter();
        records.all(|record| {
            let class = cap_in(record.flags);
            record.flags == capped(record, cap) && (class == 0 || class == cap.tag())
        })
    };
    let mut target = Target::begin(Arc::clone(disk), log, &mut fits)?;
    let total: u64 = log.segments.iter().map(|segment| segment.length).sum();
    let mut done: u64 = log
        .segments
        .iter()
        .take(target.found)
        .map(|segment| segment.length)
        .sum();
    let settings = &options.settings;
    let mut head = log.head;
    let mut left = (target.found..log.segments.len()).peekable();
    let read = |index: Option<&usize>| index.map(|index| place.batches(log, *index));
    let mut next = read(left.peek());
    while let Some((batches, index)) = next.take().zip(left.next()) {
        settings.check_stop()?;
        settings.tell("clone", done, total);
        // CLE-1
        let (batches, segment) = (batches?, &log.segments[index]);
        head = batches.last().map_or(head, |batch| batch.commit);
        if log.purpose == Purpose::Shared {
            for batch in &batches {
                // No fetch would take a commit that is later.
                if let Some(found) = ForeignCommit::of(batch, log.suite())? {
                    check_time(&found.commit, settings.latest())?;
                    commits.insert(found.digest);
                }
            }
        }
        let group: Group = batches
            .iter()
            .map(|batch| Ok((of_target(batch, log.purpose, rules, &commits)?, batch.commit)))
            .collect::<Result<_>>()?;
        // The next segment is read and checked while this one is written.
        let added;
        (added, next) = beside(|| target.add(segment, group), || read(left.peek()));
        added?;
        done += segment.length;
    }
    if head != log.head {
        return Err(Error::corrupt(
            "the newest batch of the remote has another head than its manifest",
        ));
    }
    settings.tell("clone", total, total);
    let mut own = Group::new();
    if log.purpose == Purpose::Shared {
        // INVARIANT CLE-3
        let known = Known { name: ORIGIN, cap };
        own.push((known.seen_at(seen_in(log), settings.clock.now())?, log.head));
        register(target.instance())?;
    }
    target.finish(log.head, own)
}

/// Returns a batch of the clone, whose versions are at most of the class `cap` (RCS-3). The side lines of a remote become
/// lines of the remote `origin`, and its references get the names that a fetch gives them. A snapshot of none of the
/// `commits` before it stays away.
fn of_target(
    batch: &Batch,
    purpose: Purpose,
    rules: CopyRules<'_>,
    commits: &HashSet<CommitDigest>,
) -> Result<BatchBuilder> {
    let cap = rules.cap;
    let known = Known { name: ORIGIN, cap };
    let mut copy = BatchBuilder::new();
    for record in &batch.records {
        let decoded = || {
            let decoded = Reference::decode(&record.body);
            decoded.map_err(|error| Error::corrupt(format!("a reference of the remote is damaged: {error}")))
        };
        match record.kind {
            _ if purpose == Purpose::Backup => copy.add(record.kind, capped(record, cap), &record.body),
            RecordKind::Line => {
                let mut line = decoded()?;
                line.name =
                    ReferenceName::of(ReferenceClass::Remotes, &format!("{ORIGIN}/{}", line.name.rest()))?;
                line.cap = line.cap.map(|own| Origin::least(own, cap));
                copy.add(RecordKind::Line, 0, &line.encode()?);
            }
            RecordKind::Reference => {
                let is_there = |own: &Reference| match own.name.class() {
                    ReferenceClass::Signatures => true,
                    _ if rules.is_signed => false,
                    ReferenceClass::Snapshots => own.commit.is_some_and(|commit| commits.contains(&commit)),
                    _ => true,
                };
                if let Some(reference) = known.of_remote(decoded()?)?.filter(is_there) {
                    copy.add(RecordKind::Reference, 0, &reference.encode()?);
                }
            }
            kind => copy.add(kind, capped(record, cap), &record.body),
        }
    }
    Ok(copy)
}

//! Clone: makes a new store of a backup or a remote.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - CLE-1: a batch is written only after the digest of its segment matched the manifest, and its own digest its bytes.
//! - CLE-2: each batch is written with the cap, before the folder is a store.
//! - CLE-3: a clone knows its remote before the folder is a store, and so does the caller's register, if there is one. So a
//!   clone that was killed is no store and goes on, or is whole.
//! - CLE-4: the memory of a clone has taken in the batches as they are in the files.
//! - CLE-5: the folder becomes a store only after its memory has taken in all batches. So what no store can read makes none.

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
use crate::engine::{Known, Memory, Options, ReadLog, body_bytes, has_signature};
use crate::error::{Error, Result};
use crate::log::closed::{ClosedLog, ClosedSegment, Group, Purpose, ReadSegment, Target};
use crate::log::{Batch, BatchBuilder, Record, RecordKind, cap_in};
use crate::object::{Origin, Reference, ReferenceClass, ReferenceName, Time};
use crate::store::{Bulk, ForeignCommit, GoOn, Store, capped, check_time};
use crate::threads::{BESIDE_BYTES, beside_if};

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
    let (log, read) = copy(place, rules, &disk, register)?;
    let memory = options.clone().open_written(path, read)?;
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
    let (_, read) = copy(&place, rules, &|_| Ok(Arc::clone(disk)), &|_| Ok(()))?;
    Memory::on_written_disk(Arc::clone(disk), options.clone(), read, None)
}

/// Writes the batches of the closed log to a new store on `disk`. Returns the closed log, and that of the store.
fn copy(
    place: &Place,
    rules: CopyRules<'_>,
    disk: &dyn Fn(&ClosedLog) -> Result<Arc<dyn Disk>>,
    register: Register<'_>,
) -> Result<(ClosedLog, ReadLog)> {
    let mut copied = None;
    place.reading(place.read()?, &mut |published| {
        let read = copy_log(place, &published.log, &disk(&published.log)?, rules, register)?;
        copied = Some((published.log.clone(), read));
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
) -> Result<ReadLog> {
    let settings = &rules.options.settings;
    let (mut target, mut known) = begin(log, disk, rules)?;
    let lengths = log.segments.iter().map(|segment| segment.length);
    let total: u64 = lengths.clone().sum();
    let is_much = total >= BESIDE_BYTES;
    let mut done: u64 = lengths.take(target.found).sum();
    let (store, go_on) = (settings.empty_store(target.reader()), || settings.check_stop());
    let mut memory = CloneMemory::new(&store, &go_on)?;
    for index in 0..target.found {
        memory.take_in(target.read_found(index)?)?;
    }
    let mut left = (target.found..log.segments.len()).peekable();
    let read = |index: Option<&usize>| index.map(|index| place.read_segment(log, *index));
    let (mut next, mut written) = (read(left.peek()), Vec::new());
    while let Some((found, index)) = next.take().zip(left.next()) {
        settings.check_stop()?;
        settings.tell("clone", done, total);
        // CLE-1
        let (found, segment) = (found?, &log.segments[index]);
        known.add(&found, log, settings.latest())?;
        let write = |target| write_segment(target, segment, found, (log.purpose, rules, &known.commits));
        let before = std::mem::take(&mut written);
        // The next segment is read and checked while this one is written, and the one before it becomes part of the store.
        let (added, taken);
        (added, (taken, next)) = beside_if(
            is_much,
            || write(&mut target),
            || beside_if(is_much, || memory.take_in(before), || read(left.peek())),
        );
        written = added?;
        taken.map_err(|error| place.damaged(error))?;
        done += segment.length;
    }
    if known.head.is_some_and(|head| head != log.head) {
        return Err(Error::corrupt(
            "the newest batch of the remote has another head than its manifest",
        ));
    }
    settings.tell("clone", total, total);
    if log.purpose == Purpose::Shared {
        // INVARIANT CLE-3
        let origin = Known {
            name: ORIGIN,
            cap: rules.cap,
        };
        let mut seen = seen_in(log);
        seen.is_signed = known.is_signed;
        let seen = origin.seen_at(seen, settings.clock.now())?;
        let own = target.add_own(Group::from([(seen, log.head)]))?;
        written.extend(own);
        register(target.instance())?;
    }
    // INVARIANT CLE-5
    let bytes = memory.finish(written).map_err(|error| place.damaged(error))?;
    Ok((target.finish(log.head)?, store, bytes))
}

/// Begins a clone, or goes on with an interrupted one. Also returns what the segments of that one have.
fn begin(log: &ClosedLog, disk: &Arc<dyn Disk>, rules: CopyRules<'_>) -> Result<(Target, Copied)> {
    let mut copied = Copied::default();
    let mut fits = |batch: &Batch| {
        let found = ForeignCommit::of(batch, log.suite()).ok().flatten();
        copied.commits.extend(found.map(|found| found.digest));
        copied.head = Some(batch.commit);
        // A signature covers only what this call reads (RSG-2).
        !rules.is_signed
            && batch
                .records
                .iter()
                .all(|record| has_cap(record, rules.cap) && !is_own(record, log.purpose))
    };
    let options = rules.options.settings.log_options();
    let target = Target::begin(Arc::clone(disk), log, options, &mut fits)?;
    copied.head = copied.head.filter(|_| target.found > 0);
    Ok((target, copied))
}

/// The commits of the segments that were copied so far, and the newest head.
#[derive(Default)]
struct Copied {
    commits: HashSet<CommitDigest>,
    /// The head behind the last batch.
    head: Option<CommitDigest>,
    /// Whether one has a signature of the newest commit.
    is_signed: bool,
}

impl Copied {
    /// Adds the next segment, none of whose commits may be later than `latest`: no fetch would take one that is.
    fn add(&mut self, found: &ReadSegment, log: &ClosedLog, latest: Time) -> Result<()> {
        self.head = found.batches.last().map(|batch| batch.commit).or(self.head);
        if log.purpose == Purpose::Backup {
            return Ok(());
        }
        for batch in &found.batches {
            self.is_signed |= has_signature(batch, log.head)?;
            if let Some(found) = ForeignCommit::of(batch, log.suite())? {
                check_time(&found.commit, latest)?;
                self.commits.insert(found.digest);
            }
        }
        Ok(())
    }
}

/// Writes the next segment of a closed log. Returns its batches as they are written.
fn write_segment(
    target: &mut Target,
    segment: &ClosedSegment,
    found: ReadSegment,
    (purpose, rules, commits): (Purpose, CopyRules<'_>, &HashSet<CommitDigest>),
) -> Result<Vec<Batch>> {
    let mut records = found.batches.iter().flat_map(|batch| &batch.records);
    if target.continues(&found) && records.all(|record| stays(record, purpose, rules.cap)) {
        return target.copy(segment, found);
    }
    let batches = found.batches.iter();
    let group = batches.map(|batch| Ok((of_target(batch, purpose, rules, commits)?, batch.commit)));
    target.add(segment, group.collect::<Result<_>>()?)
}

/// Returns whether a record of an interrupted call has this cap. That call may have had another one (CLE-2).
fn has_cap(record: &Record, cap: Origin) -> bool {
    let class = cap_in(record.flags);
    record.flags == capped(record, cap) && (class == 0 || class == cap.tag())
}

/// Returns whether an interrupted call wrote a record for the clone itself. Such a segment has the number of the next push.
fn is_own(record: &Record, purpose: Purpose) -> bool {
    purpose == Purpose::Shared
        && record.kind == RecordKind::Reference
        && Reference::decode(&record.body).is_ok_and(|own| own.name.class() == ReferenceClass::Remotes)
}

/// The store in memory of a clone that is being written.
struct CloneMemory<'a> {
    bulk: Bulk<'a>,
    bytes: u64,
}

impl<'a> CloneMemory<'a> {
    fn new(store: &'a Store, go_on: GoOn<'a>) -> Result<Self> {
        let bulk = Bulk::new(store, go_on)?.newest_root();
        Ok(Self { bulk, bytes: 0 })
    }

    /// Takes in batches whose segment is durable.
    fn take_in(&mut self, batches: Vec<Batch>) -> Result<()> {
        self.bytes += batches.iter().map(body_bytes).sum::<u64>();
        batches.into_iter().try_for_each(|batch| self.bulk.add(batch))
    }

    /// Takes in the last batches. Returns the bytes of all records.
    fn finish(mut self, last: Vec<Batch>) -> Result<u64> {
        self.take_in(last)?;
        self.bulk.finish()?;
        Ok(self.bytes)
    }
}

/// Returns whether [`of_target`] leaves a record as it is.
fn stays(record: &Record, purpose: Purpose, cap: Origin) -> bool {
    let is_renamed = matches!(record.kind, RecordKind::Line | RecordKind::Reference);
    record.flags == capped(record, cap) && !(is_renamed && purpose == Purpose::Shared)
}

/// Returns a batch of the clone, whose versions are at most of the class `cap` (RCS-3). The side lines of a remote become
/// lines of the remote `origin`, and its references get the names that a fetch gives them. Leaves out snapshots whose
/// commit is not among `commits`, those of the batches before it.
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

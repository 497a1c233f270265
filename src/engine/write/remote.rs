//! The lines of remotes: takes in what was fetched, and makes the batches of a push.
//!
//! What was fetched stands in this log as lines of its own, named `remote:NAME/LINE`, which nobody writes to. A reference
//! `remotes/NAME/main` names the newest commit of the remote that is known here, and how far the remote was read.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - RML-1: what was fetched is checked whole before the first batch is written, and the reference is written last. So after
//!   a crash, the next fetch finds a part of it and takes in the rest.
//! - RML-2: a commit that this store has, kept or thinned, is not taken in again.
//! - RML-3: a push never changes what the remote has: commits on its main line are continued, or stay and get one commit more
//!   that has both sides as parents.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::fork::line_record;
use super::{Authorisation, LogHandle, Writer, body_bytes};
use crate::digest::CommitDigest;
use crate::engine::inner::Inner;
use crate::engine::memory::Memory;
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, BatchBuilder, RecordKind};
use crate::object::{Origin, Reference, ReferenceClass, ReferenceName, Time};
use crate::store::{
    ForeignCommit, ForeignLine, LineInfo, REMOTE, Store, Supply, reference_of_line, taints_in,
};

/// The main line of a remote.
pub(crate) const MAIN: &str = "main";
/// The start of the name of a side line.
pub(crate) const SIDE: &str = "at-";
/// The most bytes of batches that are written at once.
const WRITTEN_TOGETHER: u64 = 8 << 20;

/// How far a remote was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The instance of the remote.
    pub(crate) instance: [u8; 16],
    pub(crate) generation: u64,
    /// The number of the newest batch.
    pub(crate) batch: u64,
    /// The newest commit of the main line of the remote.
    pub(crate) head: CommitDigest,
}

/// A remote as the store knows it.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) name: &'a str,
    /// The most trusted class of what comes from it.
    pub(crate) cap: Origin,
}

impl Known<'_> {
    /// Returns the name of a line of the remote in this store.
    pub(crate) fn line(&self, line: &str) -> String {
        format!("{REMOTE}{}/{line}", self.name)
    }

    /// Returns the name of the reference to a line of the remote.
    fn reference(&self, line: &str) -> Result<ReferenceName> {
        ReferenceName::of(ReferenceClass::Remotes, &format!("{}/{line}", self.name))
    }
}

impl Seen {
    fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.generation.to_le_bytes(), self.batch.to_le_bytes()];
        [&self.instance[..], numbers.as_flattened()].concat()
    }

    fn of(reference: &Reference) -> Option<Self> {
        let bytes = reference.reserved.get(&Reference::SEEN)?;
        let (instance, rest) = bytes.split_first_chunk::<16>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (batch, _) = rest.split_first_chunk::<8>()?;
        Some(Self {
            instance: *instance,
            generation: u64::from_le_bytes(*generation),
            batch: u64::from_le_bytes(*batch),
            head: reference.commit?,
        })
    }
}

/// What a fetch brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// The number of commits that this store did not have.
    pub(crate) commits: u64,
}

/// Makes an error about a remote that has less than this store has seen of it.
pub(crate) fn went_back(what: &str) -> Error {
    Error::corrupt(format!("the remote went back: {what}"))
        .with_code(ErrorCode::RemoteWentBack)
        .with_hint("an older copy of it was restored, or somebody else replaced it: `remote remove` and `remote add --trust-cap CLASS` accept it as it is; nothing was changed")
}

impl Inner {
    /// Returns how far a remote was read; `None` if it never was.
    pub(crate) fn seen(&self, known: Known<'_>) -> Result<Option<Seen>> {
        let (store, name) = (self.main().store(), known.reference(MAIN)?);
        let references = store.references();
        Ok(references.get(&name).and_then(|entry| Seen::of(&entry.reference)))
    }

    /// Begins the check of what a remote has behind what was read before (RML-1). The check takes no lock, because it may
    /// take long.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the store cannot be read.
    pub(crate) fn intake<'a>(&'a self, known: Known<'a>) -> Result<Intake<'a>> {
        // The epoch is read first. So a store that is newer shows as changed.
        let epoch = self.log.lock().log.epoch();
        let main = self.main();
        Ok(Intake::new(main, known, main.relied_on(known, epoch)?))
    }

    /// Returns what the check of a fetch relies on.
    fn relied_on(&self, known: Known<'_>, epoch: u32) -> Result<ReliedOn> {
        let (store, start) = (self.store(), known.line(""));
        let lines = store.lines();
        let own = lines.live().filter(|line| line.name.starts_with(&start));
        Ok(ReliedOn {
            seen: self.seen(known)?,
            lines: own.map(|line| (Arc::clone(&line.name), line.head)).collect(),
            epoch,
        })
    }

    /// Takes in the batches that were checked. Returns `None`, and writes nothing, if another process changed meanwhile what
    /// the check relied on.
    ///
    /// # Errors
    /// `Corrupt` if the remote names another newest commit; the errors of a write.
    ///
    /// # Durability
    /// When the call returns, what was fetched is as durable as a commit.
    pub(crate) fn take_remote(
        &self,
        intake: Intake<'_>,
        seen: Seen,
        writer: &Writer,
    ) -> Result<Option<Taken>> {
        let Intake {
            mut group,
            commits,
            heads,
            known,
            relied_on,
            ..
        } = intake;
        if heads.get(MAIN) != Some(&seen.head) {
            return Err(Error::corrupt(
                "the remote names another newest commit than its batches have",
            ));
        }
        self.main().write_as(writer, |writing| {
            if self.main().relied_on(known, writing.log.epoch())? != relied_on {
                return Ok(None);
            }
            group.push(self.note_seen(known, MAIN, seen.head, Some(seen))?);
            self.write_remote(writing, group)?;
            Ok(Some(Taken { commits }))
        })
    }

    /// Returns a batch with the reference to a line of a remote.
    pub(super) fn note_seen(
        &self,
        known: Known<'_>,
        line: &str,
        head: CommitDigest,
        seen: Option<Seen>,
    ) -> Result<BatchBuilder> {
        let time = self.settings().clock.now();
        let mut reference = Reference::new(known.reference(line)?, Some(head), time);
        if let Some(seen) = seen {
            reference.reserved.insert(Reference::SEEN, seen.to_bytes());
        }
        let mut batch = BatchBuilder::new();
        batch.add(RecordKind::Reference, 0, &reference.encode()?);
        Ok(batch)
    }

    /// Writes batches that leave the head of the main line as it is.
    pub(super) fn write_remote(&self, writing: &mut LogHandle, group: Vec<BatchBuilder>) -> Result<()> {
        if group.iter().any(BatchBuilder::has_line) {
            writing.declare_lines()?;
        }
        let store = self.main().store();
        let mark = store.head()?.mark();
        let mut left = group.into_iter().peekable();
        while left.peek().is_some() {
            let (mut part, mut bytes) = (Vec::new(), 0);
            while let Some(batch) =
                left.next_if(|batch| part.is_empty() || bytes + batch.encoded_bytes() <= WRITTEN_TOGETHER)
            {
                bytes += batch.encoded_bytes();
                part.push((batch, mark));
            }
            let written = writing.append(part, self.settings().durability)?;
            for batch in &written {
                writing.tail_bytes += body_bytes(batch);
                // After a failed `apply`, the log contains a batch that the store in memory lacks.
                store.apply(batch, None).inspect_err(|_| writing.log.poison())?;
            }
        }
        Ok(())
    }

    /// Notes in a clone of a remote that it has all of the remote.
    ///
    /// # Errors
    /// The errors of a write.
    pub(crate) fn note_clone(&self, known: Known<'_>, seen: Seen, writer: &Writer) -> Result<()> {
        self.write_as(writer, |writing| {
            let batch = self.note_seen(known, MAIN, seen.head, Some(seen))?;
            self.write_remote(writing, vec![batch])
        })
    }

    /// Gives every object of the newest state at most the class `cap`, in one commit.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; the errors of a write.
    pub(crate) fn stamp_all(self: &Arc<Self>, cap: Origin, writer: &Writer) -> Result<()> {
        if cap == Origin::DirectUser {
            return Ok(());
        }
        let memory = Memory {
            inner: Arc::clone(self),
        };
        let mut draft = memory.draft(writer);
        draft.authorise(Authorisation::Decided);
        let state = draft.base().state.clone();
        for entry in state.entries() {
            let object = state.load(&entry?)?;
            if object.stored_origin().is_above(cap) && !object.is_placeholder() && !object.lacks_content() {
                draft.stamp(&object, cap)?;
            }
        }
        if draft.is_empty() {
            return Ok(());
        }
        memory.commit(draft, "clone").map(drop)
    }

    /// Forgets a remote: drops its lines and references. What was merged stays.
    ///
    /// # Errors
    /// The errors of a write.
    pub(crate) fn forget_remote(&self, known: Known<'_>, writer: &Writer) -> Result<()> {
        self.main().write_as(writer, |writing| {
            let (store, start) = (self.main().store(), known.line(""));
            let lines: Vec<LineInfo> = {
                let lines = store.lines();
                let own = lines.live().filter(|line| line.name.starts_with(&start));
                own.cloned().collect()
            };
            let names: Vec<ReferenceName> = {
                let (references, start) = (store.references(), format!("{}/", known.name));
                let own = references.iter().map(|entry| &entry.reference.name);
                own.filter(|name| name.class() == ReferenceClass::Remotes && name.rest().starts_with(&start))
                    .cloned()
                    .collect()
            };
            let mut group = Vec::new();
            for name in names {
                let mut batch = BatchBuilder::new();
                let gone = Reference::new(name, None, self.settings().clock.now());
                batch.add(RecordKind::Reference, 0, &gone.encode()?);
                group.push(batch);
            }
            for line in lines {
                group.push(of_line(
                    BatchBuilder::new(),
                    &line,
                    None,
                    self.time_after(line.time),
                )?);
            }
            self.write_remote(writing, group)
        })
    }
}

/// Adds the record of a line to a batch.
fn of_line(
    mut batch: BatchBuilder,
    line: &LineInfo,
    commit: Option<CommitDigest>,
    time: Time,
) -> Result<BatchBuilder> {
    batch.add(RecordKind::Line, 0, &line_record(line, commit, time)?.encode()?);
    Ok(batch)
}

/// What the check of a fetch relies on. If it is the same later, the check holds: the store has at least what it had.
#[derive(PartialEq, Eq)]
struct ReliedOn {
    seen: Option<Seen>,
    lines: Vec<(Arc<str>, CommitDigest)>,
    /// The number of rewrites of the log.
    epoch: u32,
}

/// The check of what was fetched.
pub(crate) struct Intake<'a> {
    inner: &'a Inner,
    relied_on: ReliedOn,
    known: Known<'a>,
    store: Arc<Store>,
    /// The newest commit of each line of the remote, as far as its batches were read.
    heads: BTreeMap<String, CommitDigest>,
    /// The lines that grow here, by the name of the line in the remote.
    lines: BTreeMap<String, (LineInfo, ForeignLine)>,
    /// The lines as they are after each commit of the group, at which another line may begin.
    marks: HashMap<CommitDigest, ForeignLine>,
    supply: Supply,
    /// The thinned commits of the main line, if somebody asked.
    thinned: Option<HashSet<CommitDigest>>,
    latest: Time,
    group: Vec<BatchBuilder>,
    commits: u64,
}

impl<'a> Intake<'a> {
    fn new(inner: &'a Inner, known: Known<'a>, relied_on: ReliedOn) -> Self {
        let heads = relied_on.seen.map(|seen| (MAIN.to_owned(), seen.head));
        Self {
            inner,
            relied_on,
            known,
            store: inner.store(),
            heads: heads.into_iter().collect(),
            lines: BTreeMap::new(),
            marks: HashMap::new(),
            supply: Supply::default(),
            thinned: None,
            latest: inner.settings().latest(),
            group: Vec::new(),
            commits: 0,
        }
    }

    /// Returns how far the remote was read before.
    pub(crate) fn seen(&self) -> Option<Seen> {
        self.relied_on.seen
    }

    /// Checks a batch of the remote, and adds what this store lacks to the group.
    ///
    /// # Errors
    /// `Corrupt` if a batch contradicts the others or what is known, or (code `remote_went_back`) does not continue it;
    /// `InvalidInput` (code `unrelated`) if the remote has no commit in common.
    pub(crate) fn take(&mut self, batch: &Batch) -> Result<()> {
        self.inner.settings().check_stop()?;
        let suite = self.store.suite;
        let Some(commit) = ForeignCommit::of(batch, suite)? else {
            return self.take_taints(batch);
        };
        let line = commit.line.as_ref().map_or(MAIN, |(line, _)| line).to_owned();
        if line != MAIN && !is_side_line(&line) {
            return Err(Error::corrupt(
                "a line of the remote has a name that no program gives",
            ));
        }
        // INVARIANT RML-2
        if self.has(commit.digest)? {
            self.supply.add(batch, suite);
            self.heads.insert(line, commit.digest);
            return Ok(());
        }
        let base = commit.line.as_ref().map(|(_, base)| *base);
        let before = self.before(&line, base)?;
        let (info, mut foreign) = self.growing(&line, before)?;
        let mut built = foreign.take(batch, &commit, self.latest, &mut self.supply)?;
        built = of_line(built, &info, Some(commit.digest), commit.commit.time)?;
        self.group.push(built);
        self.marks.insert(commit.digest, foreign.mark());
        self.lines.insert(line.clone(), (info, foreign));
        self.heads.insert(line, commit.digest);
        self.commits += 1;
        Ok(())
    }

    /// Returns the newest commit of a line of the remote before the next batch. `base` is the commit at which a side line
    /// begins.
    fn before(&self, line: &str, base: Option<CommitDigest>) -> Result<CommitDigest> {
        if let Some(head) = self.heads.get(line) {
            return Ok(*head);
        }
        let known = {
            let lines = self.store.lines();
            lines.named(&self.known.line(line)).map(|line| line.head)
        };
        known.or(base).ok_or_else(|| self.unrelated())
    }

    fn unrelated(&self) -> Error {
        let name = self.known.name;
        Error::invalid(format!(
            "the remote {name} has no commit in common with this store"
        ))
        .with_code(ErrorCode::Unrelated)
        .with_hint("`clone URL DIR` makes a store of it")
    }

    /// Returns the line that the next batch continues. Begins it, or begins it again at a newer commit of this store.
    fn growing(&mut self, line: &str, before: CommitDigest) -> Result<(LineInfo, ForeignLine)> {
        if let Some(known) = self.lines.remove(line) {
            if known.1.head == before {
                return Ok(known);
            }
            return Err(went_back("a line does not continue itself"));
        }
        let name = self.known.line(line);
        let known = self.store.lines().named(&name).cloned();
        if let Some(known) = known.clone().filter(|known| known.head == before) {
            let store = self.store.main_line().line(&name)?;
            let store = store.ok_or_else(|| Error::internal("a line of a remote is missing"))?;
            let head = store.head()?;
            return Ok((known, ForeignLine::behind(&store, &head, self.known.cap)?));
        }
        let foreign = match (self.marks.get(&before), self.store.commit_of_any(before)?) {
            (Some(mark), _) => mark.mark(),
            (None, Some((store, base))) => ForeignLine::behind(&store, &base, self.known.cap)?,
            (None, None) => return Err(Self::lacks_base(before)),
        };
        if let Some(known) = known {
            // A line with commits of its own never joins the main line again.
            if known.commits() > 0 {
                return Err(went_back(
                    "its main line does not continue the commits that were fetched before",
                ));
            }
            self.group.push(of_line(
                BatchBuilder::new(),
                &known,
                None,
                self.inner.time_after(known.time),
            )?);
        }
        let info = LineInfo::at(&name, (before, foreign.time), self.known.cap);
        // A name that is too long for a reference is refused before anything is written.
        drop(reference_of_line(&name)?);
        let time = self.inner.time_after(foreign.time);
        let begins = of_line(BatchBuilder::new(), &info, Some(before), time)?;
        self.group.push(begins);
        Ok((info, foreign))
    }

    fn lacks_base(base: CommitDigest) -> Error {
        let text = format!("the remote continues commit {base}, which this store does not keep");
        Error::not_found(text)
            .with_code(ErrorCode::Thinned)
            .with_hint("retention thinned the commit: `clone` the remote anew")
    }

    /// Returns whether this store has a commit: on the main line, kept or thinned, or on a line of this remote.
    fn has(&mut self, digest: CommitDigest) -> Result<bool> {
        if self.store.by_digest(digest)?.is_some() {
            return Ok(true);
        }
        let names: Vec<Arc<str>> = {
            let (lines, start) = (self.store.lines(), self.known.line(""));
            let own = lines.live().filter(|line| line.name.starts_with(&start));
            own.map(|line| Arc::clone(&line.name)).collect()
        };
        for name in names {
            let line = self.store.main_line().line(&name)?;
            if line.map_or(Ok(false), |line| {
                Ok::<_, Error>(line.by_digest(digest)?.is_some())
            })? {
                return Ok(true);
            }
        }
        if self.thinned.is_none() {
            let mut thinned = HashSet::new();
            for gap in self.store.gaps() {
                thinned.extend(self.store.records.gap(gap.place)?);
            }
            self.thinned = Some(thinned);
        }
        Ok(self
            .thinned
            .as_ref()
            .is_some_and(|thinned| thinned.contains(&digest)))
    }

    /// Takes over the taints of sessions. They only add to those of this store. A remote that nobody trusts like a host
    /// taints nothing: all that it wrote is capped, and it could name the sessions of this machine.
    fn take_taints(&mut self, batch: &Batch) -> Result<()> {
        let mut builder = BatchBuilder::new();
        if !self.known.cap.is_above(Origin::Model) {
            return Ok(());
        }
        for mut taint in taints_in(batch)? {
            if self.store.references().get(&taint.name).is_none() {
                // The commit is for information, and this store may not have it.
                taint.commit = Some(self.store.head()?.digest);
                taint.reason = None;
                builder.add(RecordKind::Reference, 0, &taint.encode()?);
            }
        }
        if !builder.is_empty() {
            self.group.push(builder);
        }
        Ok(())
    }
}

/// Returns whether a line has the name of the side line of a machine.
fn is_side_line(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(SIDE) else {
        return false;
    };
    let (instance, number) = rest.split_at_checked(32).unwrap_or((rest, ""));
    let is_number = |text: &str| {
        let number = text.parse::<u32>();
        number.is_ok_and(|number| number > 0 && number.to_string() == text)
    };
    instance.len() == 32
        && instance
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && (number.is_empty() || number.strip_prefix('-').is_some_and(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_line_has_the_name_that_its_machine_gives() {
        let own = format!("{SIDE}{}", "0a".repeat(16));
        for (rest, is_fine) in [
            ("", true),
            ("-1", true),
            ("-12", true),
            ("-0", false),
            ("-+1", false),
            ("-007", false),
            ("-", false),
            ("1", false),
        ] {
            assert_eq!(is_side_line(&format!("{own}{rest}")), is_fine, "{rest}");
        }
        assert!(!is_side_line(&own.to_uppercase().replace("AT-", SIDE)));
        assert!(!is_side_line("main") && !is_side_line(&own[..own.len() - 1]));
    }
}

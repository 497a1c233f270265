//! Takes in what was fetched from a remote: checks it, erases what it erased, and writes its lines.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - RML-1: each part of what was fetched is checked whole before its first batch is written, and the reference is written
//!   last. So after a crash, the next fetch finds a part of it and takes in the rest.
//! - RML-2: a commit that this store has, kept or thinned, is not taken in again. Nor is a side line that begins at a
//!   thinned commit: the main line of the remote brings what it merged of it. But of the commits of the main line that
//!   this store had, the newest ones are taken in also if they were thinned: the next push, or another machine, continues
//!   them.
//! - RML-4: a store erases what a remote erased before it takes in the commit of the erasure. So after a crash, the next
//!   fetch erases the rest. Only a remote whose cap is a person or a host can erase.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Writer;
use super::remote::{Known, MAIN, SIDE, Seen, of_line, went_back};
use crate::digest::{CommitDigest, DIGEST_LEN, TextDigest, to_hex};
use crate::engine::inner::Inner;
use crate::engine::upkeep::erase::{Elsewhere, FoundHere};
use crate::error::{Error, ErrorCode, Result};
use crate::log::{Batch, BatchBuilder, RecordKind};
use crate::object::{Op, Origin, Reference, ReferenceClass, Time};
use crate::store::{
    Checked, ForeignCommit, ForeignLine, LineInfo, Store, Supply, gaps_in, may_erase, needed_by,
    reference_of_line, references_in,
};

/// A part of what was fetched. It is taken in as a whole.
pub(crate) struct FetchedPart {
    /// How far the remote was read before.
    pub(crate) after: Option<Seen>,
    /// The batches behind that.
    pub(crate) batches: Vec<Batch>,
    /// How far the remote is read with this part.
    pub(crate) seen: Seen,
    /// The records of earlier batches that this part needs and the store lacks.
    pub(crate) supply: Supply,
    /// The erasing commits that a signature covers. `None` if none is demanded. If one is, no taint and no snapshot is taken
    /// in, and nothing is erased that another commit erased.
    pub(crate) signed: Option<Arc<HashSet<CommitDigest>>>,
}

/// What a part of a fetch brought.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// The number of commits that this store did not have, without those that only bring the work of a machine.
    pub(crate) commits: u64,
    /// The number of records that the remote erased, and that were erased here.
    pub(crate) erased: u64,
    /// The number of records that the remote erased, and that stay here because it is not trusted enough or not signed.
    pub(crate) not_erased: u64,
    /// What `erase` takes to erase those.
    pub(crate) kept: BTreeSet<String>,
    /// Whether the part was taken in. Otherwise another process changed meanwhile what the check relied on.
    pub(crate) is_whole: bool,
}

impl Inner {
    /// Takes in a part of a remote behind what was read before (RML-1). The check takes no lock, because it may take long.
    /// Writes no commit if another process changed meanwhile what the check relied on.
    ///
    /// # Errors
    /// `Corrupt` if a batch contradicts the others or what is known, or (code `remote_went_back`) does not continue it;
    /// `InvalidInput` (code `unrelated`) if the remote has no commit in common; the errors of a write.
    ///
    /// # Durability
    /// When the call returns, what was fetched is as durable as a commit.
    pub(crate) fn take_remote(&self, known: Known<'_>, part: &FetchedPart, writer: &Writer) -> Result<Taken> {
        let mut taken = self.take_erasure(known, part, writer)?;
        // What was erased stays erased. The rest counts when it is taken in.
        let not_erased = std::mem::take(&mut taken.not_erased);
        let kept = std::mem::take(&mut taken.kept);
        let mut intake = self.intake(known, &part.supply, &part.batches)?;
        if intake.relied_on.seen != part.after {
            return Ok(taken);
        }
        intake.take_all(part)?;
        let Intake {
            mut group,
            commits,
            relied_on,
            ..
        } = intake;
        self.main().write_as(writer, |writing| {
            if self.main().relied_on(known, writing.log.epoch())? != relied_on {
                return Ok(taken);
            }
            group.push(self.note_seen(known, MAIN, part.seen.head, Some(part.seen))?);
            self.write_remote(writing, group)?;
            Ok(Taken {
                commits,
                not_erased,
                kept,
                is_whole: true,
                ..taken
            })
        })
    }

    /// Returns the lines of a remote here.
    fn lines_of(&self, known: Known<'_>) -> Result<Vec<Arc<Store>>> {
        let (main, start) = (self.main().store(), known.line(""));
        let lines: Vec<_> = main.lines().live().map(|line| Arc::clone(&line.name)).collect();
        let own = lines.iter().filter(|name| name.starts_with(&start));
        own.filter_map(|name| main.line(name).transpose()).collect()
    }

    fn intake<'a>(&'a self, known: Known<'a>, supply: &'a Supply, batches: &[Batch]) -> Result<Intake<'a>> {
        // The epoch is read first. So a store that is newer shows as changed.
        let epoch = self.log.lock().log.epoch();
        let main = self.main();
        let mut intake = Intake::new(main, known, main.relied_on(known, epoch)?, supply);
        intake.note_continued(batches)?;
        Ok(intake)
    }

    /// Returns what the check of a fetch relies on.
    fn relied_on(&self, known: Known<'_>, epoch: u32) -> Result<ReliedOn> {
        let (store, start) = (self.store(), known.line(""));
        let seen = self.seen(known)?;
        let lines = store.lines();
        let own = lines.live().filter(|line| line.name.starts_with(&start));
        Ok(ReliedOn {
            seen,
            lines: own.map(|line| (Arc::clone(&line.name), line.head)).collect(),
            epoch,
        })
    }

    /// Erases what new commits of the remote erased (RML-4).
    fn take_erasure(&self, known: Known<'_>, part: &FetchedPart, writer: &Writer) -> Result<Taken> {
        let mut intake = self.intake(known, &part.supply, &part.batches)?;
        let suite = self.store().suite;
        let signed = part.signed.as_deref();
        let is_signed = |by: CommitDigest| signed.is_none_or(|signed| signed.contains(&by));
        let elsewhere = Elsewhere::of(&part.batches, suite, &mut |by| {
            Ok(!is_signed(by) || intake.has_erased(by)?)
        })?;
        let found = self.erased_elsewhere(&elsewhere)?;
        let mut stays = FoundHere::default();
        if signed.is_some() {
            let mut is_known = |by| Ok(is_signed(by) || intake.has_erased(by)?);
            let unsigned = Elsewhere::of(&part.batches, suite, &mut is_known)?;
            stays = self.erased_elsewhere(&unsigned)?;
            stays
                .erasure
                .retain(|digest, _| !found.erasure.contains_key(digest));
            stays.targets.retain(|target| !found.targets.contains(target));
        }
        let count = found.erasure.len() as u64;
        let mut taken = Taken {
            not_erased: stays.erasure.len() as u64,
            kept: stays.targets,
            ..Taken::default()
        };
        if !may_erase(known.cap) {
            taken.not_erased += count;
            taken.kept.extend(found.targets);
            return Ok(taken);
        }
        if count == 0 {
            return Ok(taken);
        }
        // A part that is refused erases nothing.
        intake.take_all(part)?;
        drop(intake);
        self.main().erase_as_elsewhere(&found.erasure, writer)?;
        taken.erased = count;
        Ok(taken)
    }

    /// Returns the records of these batches, and the digests of what their new commits need and neither the batches nor
    /// this store have.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a record cannot be read.
    pub(crate) fn supply(
        &self,
        known: Known<'_>,
        batches: &[Batch],
    ) -> Result<(Supply, HashSet<[u8; DIGEST_LEN]>)> {
        let (store, none) = (self.store(), Supply::default());
        let (mut supply, mut needed) = (Supply::default(), HashSet::new());
        let mut intake = self.intake(known, &none, batches)?;
        for batch in batches {
            supply.add(batch, store.suite, &|_| true)?;
            if let Some(commit) = ForeignCommit::of(batch, store.suite)?
                && !intake.has(commit.digest)?
            {
                needed.extend(needed_by(batch));
            }
        }
        let mut lacking = HashSet::new();
        for digest in needed {
            let is_here = |kind| store.is_stored(&digest, kind);
            if !supply.has(&digest) && !is_here(RecordKind::Object)? && !is_here(RecordKind::Content)? {
                lacking.insert(digest);
            }
        }
        Ok((supply, lacking))
    }
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
struct Intake<'a> {
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
    supply: &'a Supply,
    /// The commits of the batches that were read so far.
    links: HashMap<CommitDigest, Links>,
    /// The lines of the remote here, and the thinned commits of the main line, if somebody asked.
    own: Option<(Vec<Arc<Store>>, HashSet<CommitDigest>)>,
    /// The thinned commits of the main line of the remote that are taken in again (RML-2).
    again: HashSet<CommitDigest>,
    latest: Time,
    group: Vec<BatchBuilder>,
    commits: u64,
}

/// The commits from which a commit comes directly.
#[derive(Clone)]
struct Links {
    time: Time,
    parents: Vec<CommitDigest>,
    /// The thinned commits before it.
    gap: Vec<CommitDigest>,
}

impl<'a> Intake<'a> {
    fn new(inner: &'a Inner, known: Known<'a>, relied_on: ReliedOn, supply: &'a Supply) -> Self {
        let heads = relied_on.seen.map(|seen| (MAIN.to_owned(), seen.head));
        Self {
            inner,
            relied_on,
            known,
            store: inner.store(),
            heads: heads.into_iter().collect(),
            lines: BTreeMap::new(),
            marks: HashMap::new(),
            supply,
            links: HashMap::new(),
            own: None,
            again: HashSet::new(),
            latest: inner.settings().latest(),
            group: Vec::new(),
            commits: 0,
        }
    }

    /// Checks batches, and adds what this store lacks to the group.
    fn take_all(&mut self, part: &FetchedPart) -> Result<()> {
        for batch in &part.batches {
            self.inner.settings().check_stop()?;
            self.take(batch, part.signed.is_some())?;
        }
        if self.heads.get(MAIN) == Some(&part.seen.head) {
            return Ok(());
        }
        Err(Error::corrupt(
            "the remote names another newest commit than its batches have",
        ))
    }

    /// Checks a batch of the remote, and adds what this store lacks to the group. If `is_signed`, it takes over no taint and no
    /// snapshot.
    fn take(&mut self, batch: &Batch, is_signed: bool) -> Result<()> {
        let suite = self.store.suite;
        let Some(commit) = ForeignCommit::of(batch, suite)? else {
            return self.take_references(batch, is_signed);
        };
        let line = commit.line.as_ref().map_or(MAIN, |(line, _)| line).to_owned();
        if line != MAIN && !is_side_line(&line) {
            return Err(Error::corrupt(
                "a line of the remote has a name that no program gives",
            ));
        }
        self.note_links(batch, &commit, &line)?;
        // INVARIANT RML-2
        if self.has(commit.digest)? {
            self.heads.insert(line, commit.digest);
            return Ok(());
        }
        let base = commit.line.as_ref().map(|(_, base)| *base);
        let before = self.before(&line, base)?;
        let Some((info, mut foreign)) = self.growing(&line, before)? else {
            self.heads.insert(line, commit.digest);
            return Ok(());
        };
        // The first commit behind what was seen. An older copy of the remote went on otherwise.
        let is_next = line == MAIN && self.relied_on.seen.is_some_and(|seen| seen.head == before);
        if is_next && commit.commit.parents.first() != Some(&before) && gaps_in(batch)?.is_empty() {
            return Err(went_back(
                "its main line does not continue the newest commit that was seen before",
            ));
        }
        let mut built = foreign.take(&Checked {
            batch,
            commit: &commit,
            latest: self.latest,
            supply: self.supply,
            comes_from: &|by| self.comes_from(commit.digest, by),
        })?;
        built = of_line(built, &info, Some(commit.digest), commit.commit.time)?;
        self.group.push(built);
        self.marks.insert(commit.digest, foreign.mark());
        self.lines.insert(line.clone(), (info, foreign));
        self.heads.insert(line, commit.digest);
        self.commits += u64::from(commit.commit.op.as_str() != Op::PUSH);
        Ok(())
    }

    /// Notes the thinned commits that something continues (RML-2): the newest ones that this store had.
    fn note_continued(&mut self, batches: &[Batch]) -> Result<()> {
        if self.store.gaps().is_empty() {
            return Ok(());
        }
        for batch in batches.iter().rev() {
            let commit = ForeignCommit::of(batch, self.store.suite)?.filter(|commit| commit.line.is_none());
            let Some(ForeignCommit { digest, commit, .. }) = commit else {
                continue;
            };
            // No commit is left here before the first one of all, on which it could be taken in.
            if self.is_thinned(digest)? && !commit.parents.is_empty() {
                self.again.insert(digest);
            } else if !self.again.is_empty() || self.has(digest)? {
                break;
            }
        }
        Ok(())
    }

    fn note_links(&mut self, batch: &Batch, commit: &ForeignCommit, line: &str) -> Result<()> {
        let gap = gaps_in(batch)?;
        let mut parents = commit.commit.parents.clone();
        if !gap.is_empty() {
            parents.extend(self.heads.get(line));
        }
        let time = commit.commit.time;
        self.links.insert(commit.digest, Links { time, parents, gap });
        Ok(())
    }

    /// Returns whether a commit comes from another one.
    fn comes_from(&self, commit: CommitDigest, other: CommitDigest) -> Result<bool> {
        // A commit is later than those from which it comes (CMT-3).
        let time = match self.links.get(&other) {
            Some(links) => Some(links.time),
            None => self
                .store
                .commit_of_any(other)?
                .map(|(_, entry)| entry.commit.time),
        };
        let (mut open, mut seen) = (vec![commit], HashSet::new());
        while let Some(next) = open.pop() {
            let links = match self.links.get(&next) {
                Some(links) => Some(links.clone()),
                None => self.stored_links(next)?,
            };
            let Some(links) = links else { continue };
            if links.gap.contains(&other) || links.parents.contains(&other) {
                return Ok(true);
            }
            if time.is_none_or(|time| links.time > time) {
                open.extend(links.parents.into_iter().filter(|parent| seen.insert(*parent)));
            }
        }
        Ok(false)
    }

    /// Returns the time, the parents and the thinned commits before a commit of this store.
    fn stored_links(&self, digest: CommitDigest) -> Result<Option<Links>> {
        let Some((store, entry)) = self.store.commit_of_any(digest)? else {
            return Ok(None);
        };
        let (mut parents, mut gap) = (entry.commit.parents.clone(), Vec::new());
        let before = store.before(&entry)?;
        let next = before.as_ref().map_or(0, |before| before.seq() + 1);
        if next < entry.seq() {
            gap = store.thinned_before(next, entry.seq())?;
            parents.extend(before.map(|before| before.digest));
        }
        let time = entry.commit.time;
        Ok(Some(Links { time, parents, gap }))
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
        // The remote begins with a commit of ours that was thinned.
        let thinned = self.again.iter().next().filter(|_| line == MAIN);
        known
            .or(base)
            .ok_or_else(|| thinned.map_or_else(|| self.unrelated(), |thinned| Self::lacks_base(*thinned)))
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
    /// Returns `None` for a side line whose begin this store does not keep (RML-2).
    fn growing(&mut self, line: &str, before: CommitDigest) -> Result<Option<(LineInfo, ForeignLine)>> {
        if let Some(known) = self.lines.remove(line) {
            if known.1.head == before {
                return Ok(Some(known));
            }
            return Err(went_back("a line does not continue itself"));
        }
        let name = self.known.line(line);
        let known = self.store.lines().named(&name).cloned();
        if let Some(known) = known.clone().filter(|known| known.head == before) {
            let store = self.store.main_line().line(&name)?;
            let store = store.ok_or_else(|| Error::internal("a line of a remote is missing"))?;
            let head = store.head()?;
            return Ok(Some((known, ForeignLine::behind(&store, &head, self.known.cap)?)));
        }
        let foreign = match (self.marks.get(&before), self.store.commit_of_any(before)?) {
            (Some(mark), _) => mark.mark(),
            (None, Some((store, base))) => ForeignLine::behind(&store, &base, self.known.cap)?,
            (None, None) if line != MAIN => return Ok(None),
            (None, None) => return Err(Self::lacks_base(before)),
        };
        if let Some(known) = known {
            // A line with commits of its own never joins the main line again, unless they were thinned there.
            if known.commits() > 0 && !self.is_thinned(known.head)? {
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
        Ok(Some((info, foreign)))
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
        if self.is_thinned(digest)? && !self.again.contains(&digest) {
            return Ok(true);
        }
        for line in &self.own()?.0 {
            if line.by_digest(digest)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether this store has done what a commit erased, also if another remote brought it. Then what it has of that
    /// was put again.
    fn has_erased(&mut self, by: CommitDigest) -> Result<bool> {
        Ok(self.has(by)? || self.store.has_erased(by)?)
    }

    /// Returns whether the main line had a commit that was thinned.
    fn is_thinned(&mut self, digest: CommitDigest) -> Result<bool> {
        Ok(self.store.by_digest(digest)?.is_none() && self.own()?.1.contains(&digest))
    }

    fn own(&mut self) -> Result<&(Vec<Arc<Store>>, HashSet<CommitDigest>)> {
        match &mut self.own {
            Some(own) => Ok(own),
            own => {
                let mut thinned = HashSet::new();
                for gap in self.store.gaps() {
                    thinned.extend(self.store.records.gap(gap.place)?);
                }
                Ok(own.insert((self.inner.lines_of(self.known)?, thinned)))
            }
        }
    }

    /// Takes over snapshots, taints and signatures (TRV-1, TRV-2).
    fn take_references(&mut self, batch: &Batch, is_signed: bool) -> Result<()> {
        let mut builder = BatchBuilder::new();
        for found in references_in(batch)? {
            let Some(mut reference) = self.known.of_remote(found)? else {
                continue;
            };
            let is_newer = {
                let references = self.store.references();
                let known = references.get(&reference.name);
                known.is_none_or(|known| known.reference.time < reference.time)
            };
            let commit = reference.commit;
            let is_taken = match reference.name.class() {
                ReferenceClass::Snapshots | ReferenceClass::Pins if is_signed => false,
                ReferenceClass::Snapshots => {
                    is_newer && commit.map_or(Ok(false), |commit| self.is_readable(commit))?
                }
                ReferenceClass::Signatures => is_newer && !self.is_own(&reference),
                // A remote that nobody trusts like a host taints nothing: all that it wrote is capped, and it could name the
                // sessions of this machine.
                _ if !self.known.cap.is_above(Origin::Model) => false,
                _ => {
                    // The commit is for information, and this store may not have it.
                    reference.commit = Some(self.store.head()?.digest);
                    self.store.references().get(&reference.name).is_none()
                }
            };
            if !is_taken {
                continue;
            }
            let reason = reference.reason;
            let text = batch.records.iter().find(|record| {
                let digest = self.store.erasable(record);
                record.kind == RecordKind::Text
                    && digest.as_ref() == reason.as_ref().map(TextDigest::as_bytes)
            });
            match text {
                Some(text) => builder.add(RecordKind::Text, 0, &text.body),
                None => reference.reason = None,
            }
            builder.add(RecordKind::Reference, 0, &reference.encode()?);
        }
        if !builder.is_empty() {
            self.group.push(builder);
        }
        Ok(())
    }

    /// Returns whether this store has a commit, or gets it with this part.
    fn is_readable(&self, commit: CommitDigest) -> Result<bool> {
        Ok(self.marks.contains_key(&commit) || self.store.commit_of_any(commit)?.is_some())
    }

    /// Returns whether this store made a signature.
    fn is_own(&self, signature: &Reference) -> bool {
        let own = format!("{SIDE}{}/", to_hex(&self.inner.opened().instance));
        signature.name.rest().starts_with(&own)
    }
}

/// Returns whether a line has the name of the side line of a machine.
pub(super) fn is_side_line(name: &str) -> bool {
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

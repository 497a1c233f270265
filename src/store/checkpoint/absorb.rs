//! Absorbs the newest files of a checkpoint into a new file: decides which ones, and collects their rows.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - ABS-1: a new file absorbs the newest files that are not larger than the bytes that it contains anyway. So the sizes
//!   of the files of a chain fall by half or more, except for files below [`SMALL_BYTES`].

use std::collections::HashSet;
use std::sync::Arc;

use super::chain::Checkpoint;
use super::files::{CheckpointFile, list};
use super::header::{LINKS_MAX, Section};
use super::part::{Part, link_of};
use super::rows::{ChildRow, StateRow};
use super::writer::{Contents, State};
use crate::digest::KeyPath;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::log::Fixed;
use crate::trie::Trie;

/// A file below this size is always absorbed.
const SMALL_BYTES: u64 = 64 << 10;
/// A chain with this many files is merged even if that takes long.
const FILES_MAX: usize = 24;

/// Returns the number of files of a checkpoint that stay if a new file with `bytes` bytes of its own absorbs the others
/// (ABS-1). At least `floor` files stay. The absorbed files together have at most `limit` bytes, unless the chain is
/// too long.
pub(crate) fn plan(chain: &Checkpoint, bytes: u64, limit: u64, floor: usize) -> usize {
    let parts = chain.parts();
    let limit = if parts.len() >= FILES_MAX { u64::MAX } else { limit };
    let (mut stay, mut absorbed) = (parts.len(), 0);
    while stay > floor {
        let next = parts[stay - 1].size();
        if next > (bytes + absorbed).max(SMALL_BYTES) || absorbed + next > limit {
            break;
        }
        absorbed += next;
        stay -= 1;
    }
    // A file cannot name more files.
    stay.min(LINKS_MAX).max(floor)
}

/// Returns the rows of the files of a checkpoint behind the first `stay` ones, and their states of commits whose seq is
/// `wanted`, for a file that replaces them. `nodes` contains the nodes of these states.
///
/// # Errors
/// `Corrupt` or `Io` if a file cannot be read.
pub(crate) fn absorbed<'a>(
    chain: &'a Checkpoint,
    stay: usize,
    nodes: &Checkpoint,
    wanted: &mut dyn FnMut(u64) -> bool,
) -> Result<Contents<'a>> {
    let parts = &chain.parts()[stay..];
    let header = chain.newest().header();
    let mut states = Vec::new();
    for row in rows::<StateRow>(parts, Section::States) {
        let row = row?;
        if wanted(row.seq) {
            states.push(State {
                seq: row.seq,
                trie: Trie::from_stored(row.top(), nodes)?,
                position: row.position,
            });
        }
    }
    let mut references = Vec::new();
    for part in parts {
        references.append(&mut part.references()?);
    }
    let (children, replaced) = children(parts)?;
    // Nothing is left to replace in earlier files if there are none.
    let replaced = replaced.into_iter().filter(move |_| stay > 0).map(Ok);
    Ok(Contents {
        log: header.log,
        onto: chain.parts()[..stay].to_vec(),
        position: header.position,
        versions: header.versions,
        erased: header.erased,
        states,
        objects: Box::new(rows(parts, Section::Objects)),
        texts: Box::new(rows(parts, Section::Texts)),
        commits: Box::new(rows(parts, Section::Commits)),
        first_written: Box::new(rows(parts, Section::FirstWritten)),
        replaced: Box::new(replaced),
        children,
        gaps: rows(parts, Section::Gaps).collect::<Result<_>>()?,
        references,
        history: chain.history()?,
        lines: chain.lines()?.into_iter().map(<[u8]>::to_vec).collect(),
    })
}

fn rows<R: Fixed>(parts: &[Arc<Part>], section: Section) -> impl Iterator<Item = Result<R>> {
    parts.iter().flat_map(move |part| part.rows::<R>(section).iter())
}

/// Returns the pairs of parent and child that hold after these files, and the objects whose pairs in earlier files do
/// not hold.
fn children(parts: &[Arc<Part>]) -> Result<(Vec<ChildRow>, HashSet<KeyPath>)> {
    let (mut found, mut replaced) = (Vec::new(), HashSet::new());
    for part in parts.iter().rev() {
        for row in part.rows::<ChildRow>(Section::Children).iter() {
            found.extend(Some(row?).filter(|row| !replaced.contains(&row.child)));
        }
        for key in part.rows::<KeyPath>(Section::Replaced).iter() {
            replaced.insert(key?);
        }
    }
    Ok((found, replaced))
}

/// Returns whether a checkpoint is the newest one in its folder, and its files are there.
pub(crate) fn is_newest(disk: &dyn Disk, checkpoint: &Checkpoint) -> bool {
    let files = list(disk).unwrap_or_default();
    let is_there = |number| files.iter().any(|file| file.is_finished && file.number == number);
    let newest = files.iter().rev().find(|file| file.is_finished);
    let is_same = |file: &CheckpointFile| {
        let link = checkpoint.newest().header().link();
        file.number == link.number && link_of(disk, &file.name).is_ok_and(|found| found == link)
    };
    newest.is_some_and(is_same)
        && checkpoint
            .parts()
            .iter()
            .all(|part| is_there(part.header().number))
}

impl Checkpoint {
    /// Returns the number of files that stay if the newest files should be merged into one (ABS-1).
    pub(crate) fn to_merge(&self) -> Option<usize> {
        let newest = self.newest().size();
        let stay = plan(self, newest, u64::MAX, 0);
        (stay + 1 < self.files()).then_some(stay)
    }

    /// Returns whether the first files of this checkpoint are the files of `other`.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        let pairs = self.parts().iter().zip(other.parts());
        self.files() >= other.files() && pairs.into_iter().all(|(one, two)| Arc::ptr_eq(one, two))
    }

    /// Returns the files of this checkpoint, followed by those of another one behind its first `count`.
    pub(crate) fn with_files_of(&self, other: &Self, count: usize) -> Self {
        let mut joined = self.clone();
        joined.extend(&other.parts()[count..]);
        joined
    }

    /// Returns the newest state in the first `count` files.
    ///
    /// # Errors
    /// `Corrupt` if its row is damaged.
    pub(crate) fn last_state(&self, count: usize) -> Result<Option<StateRow>> {
        let states = |part: &Arc<Part>| {
            let states = part.rows::<StateRow>(Section::States);
            states.len().checked_sub(1).map(|last| states.row(last))
        };
        self.parts()[..count].iter().rev().find_map(states).transpose()
    }

    /// Returns the number of the last batch that the first `count` files cover.
    pub(crate) fn batch_of(&self, count: usize) -> u64 {
        let part = count.checked_sub(1).map(|last| &self.parts()[last]);
        part.map_or(0, |part| part.header().position.batch)
    }

    /// Returns the seq that follows the newest commit of the checkpoint.
    ///
    /// # Errors
    /// `Corrupt` if its row is damaged.
    pub(crate) fn seq_after(&self) -> Result<u64> {
        let commits = self.commits();
        let newest = commits.len().checked_sub(1).map(|last| commits.row(last));
        Ok(newest.transpose()?.map_or(0, |newest| newest.seq + 1))
    }

    /// Returns the number of files.
    pub(crate) fn files(&self) -> usize {
        self.parts().len()
    }

    /// Opens the checkpoint that consists of the first `stay` files of this one and a new file.
    ///
    /// # Errors
    /// The errors of [`Part::open`].
    pub(crate) fn followed_by(
        chain: Option<&Self>,
        stay: usize,
        disk: &dyn Disk,
        file: &CheckpointFile,
        map: bool,
    ) -> Result<Self> {
        let part = Arc::new(Part::open(disk, &file.name, map)?);
        let stays = chain
            .map_or(&[][..], |chain| &chain.parts()[..stay])
            .iter()
            .cloned();
        let parts = stays.chain([part]).collect();
        Self::of(parts).ok_or_else(|| Error::internal("a checkpoint without a file"))
    }
}

//! Damages a store in a random way.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::BTreeMap;
use std::ops::Range;

use super::store::{Extent, Whole};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;

const PAGE: usize = 4096;
/// The longest range of bytes that is overwritten.
const RANGE_MAX: usize = 12_000;

/// A damage that was done.
pub(super) struct Spoiled {
    pub(super) what: String,
    /// The bytes that are lost. Bytes that a moved or copied file still contains are not lost.
    pub(super) touched: Vec<Extent>,
    /// Whether `verify` must report the damage. False for a damage of bytes that hold nothing: files whose bytes are
    /// never read (the locks), zeros behind the end of a segment that are cut or added, copies and new files that belong
    /// to nothing, a derived file that is missing or replaced by an older copy of itself, and a manifest replaced by an
    /// older one if a reader still finds the whole newest state.
    pub(super) must_be_told: bool,
    /// Whether bytes behind the end of a segment are no longer zero. A writer may overwrite them, which the simulated
    /// disk takes for an error (SIM-3).
    pub(super) fills_zeros: bool,
    /// Whether an older copy replaced the manifest.
    pub(super) is_older_manifest: bool,
}

/// Damages the files of `disk`, a copy of the disk of `whole`.
pub(super) fn spoil(disk: &SimDisk, whole: &Whole, random: &mut SplitMix64) -> Spoiled {
    let before = disk.files();
    let names: Vec<String> = before.keys().cloned().collect();
    let segments: Vec<&String> = names.iter().filter(|name| name.starts_with("log/")).collect();
    // Half of the damages are in segments.
    let name = if random.one_in(2) {
        (*random.pick(&segments)).clone()
    } else {
        random.pick(&names).clone()
    };
    let bytes = &before[&name];
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    // Most bytes of a new segment are zeros, so most places are among the used ones.
    let length = if random.one_in(8) { bytes.len() } else { used };
    let at = random.below(length.max(1));
    let end = (at + 1 + random.below(RANGE_MAX)).min(bytes.len());
    let range = at.min(end)..end;
    let mut unreadable = Vec::new();
    let target = Target {
        name: &name,
        bytes,
        length,
        at,
        range,
    };
    let what = match random.below(13) {
        kind @ 0..6 => spoil_bytes(disk, &target, kind, random),
        kind @ 6..11 => spoil_names(disk, &target, kind, (&before, whole), random),
        11 => {
            disk.deny(&name);
            unreadable.push((name.clone(), 0..u64::MAX));
            format!("denies {name}")
        }
        _ => {
            let Range { start, end } = target.range;
            disk.break_bytes(&name, start..end);
            // Salvage passes over whole pages.
            let pages = start / PAGE * PAGE..end.next_multiple_of(PAGE);
            unreadable.push((name.clone(), pages.start as u64..pages.end as u64));
            format!("breaks {start}..{end} of {name}")
        }
    };
    judge(what, &before, &disk.files(), &unreadable, whole)
}

/// A file to damage, and a random place in it.
struct Target<'a> {
    name: &'a str,
    bytes: &'a [u8],
    /// The length of the part in which places are chosen.
    length: usize,
    at: usize,
    range: Range<usize>,
}

/// Changes bytes or the length of a file. Returns what it did.
fn spoil_bytes(disk: &SimDisk, target: &Target<'_>, kind: usize, random: &mut SplitMix64) -> String {
    let Target {
        name,
        length,
        at,
        range,
        ..
    } = target;
    match kind {
        0 | 1 => {
            let bits: Vec<_> = (0..=random.below(3))
                .map(|_| random.below(8 * (*length).max(1)))
                .collect();
            change(disk, name, |bytes| {
                for bit in &bits {
                    if let Some(byte) = bytes.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                }
            });
            format!("flips bits {bits:?} of {name}")
        }
        2 => {
            change(disk, name, |bytes| bytes[range.clone()].fill(0));
            format!("zeroes {range:?} of {name}")
        }
        3 => {
            change(disk, name, |bytes| {
                bytes[range.clone()].fill_with(|| random.byte());
            });
            format!("overwrites {range:?} of {name}")
        }
        4 => {
            change(disk, name, |bytes| bytes.truncate(*at));
            format!("cuts {name} at {at}")
        }
        _ => {
            let count = 1 + random.below(300);
            let more = random.bytes(count);
            let more = if random.one_in(2) {
                vec![0; more.len()]
            } else {
                more
            };
            change(disk, name, |bytes| bytes.extend(&more));
            format!("adds {} bytes to {name}", more.len())
        }
    }
}

/// Removes, swaps, renames or copies a file, or brings back an older one. Returns what it did.
fn spoil_names(
    disk: &SimDisk,
    target: &Target<'_>,
    kind: usize,
    (before, whole): (&BTreeMap<String, Vec<u8>>, &Whole),
    random: &mut SplitMix64,
) -> String {
    let Target { name, bytes, .. } = target;
    let names: Vec<&String> = before.keys().collect();
    match kind {
        6 => {
            disk.remove_file(name);
            format!("removes {name}")
        }
        7 => {
            let other = (*random.pick(&names)).clone();
            disk.put_file(name, before[&other].clone());
            disk.put_file(&other, bytes.to_vec());
            format!("swaps {name} and {other}")
        }
        8 => {
            let to = new_name(name, random);
            disk.remove_file(name);
            disk.put_file(&to, bytes.to_vec());
            format!("renames {name} to {to}")
        }
        9 => {
            let to = new_name(name, random);
            disk.put_file(&to, bytes.to_vec());
            format!("copies {name} to {to}")
        }
        _ => {
            // A name that both moments have.
            let both: Vec<_> = names
                .iter()
                .filter(|name| whole.older.contains_key(name.as_str()))
                .collect();
            let older = match random.below(3) {
                0 => "manifest",
                1 => "live",
                _ => random.pick(&both).as_str(),
            };
            let old = whole.older.get(older).cloned();
            disk.put_file(older, old.unwrap_or_else(|| before[older].clone()));
            format!("brings back an older {older}")
        }
    }
}

fn change(disk: &SimDisk, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.files()[name].clone();
    change(&mut bytes);
    disk.put_file(name, bytes);
}

/// Returns a name that no file of the store has: beside the file, or in another folder.
fn new_name(name: &str, random: &mut SplitMix64) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    match random.below(4) {
        0 => format!("{name}.old"),
        1 => format!("{file}.bak"),
        2 => format!("checkpoint/{file}.x"),
        _ => "derived/words".to_owned(),
    }
}

/// Compares the files before and after a damage.
fn judge(
    what: String,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    unreadable: &[Extent],
    whole: &Whole,
) -> Spoiled {
    let is_lock = |name: &str| name.ends_with("lock");
    let is_derived =
        |name: &str| name == "live" || name.starts_with("checkpoint/") || name.starts_with("derived/");
    let mut touched = unreadable.to_vec();
    let mut must_be_told = unreadable
        .iter()
        .any(|(name, range)| !is_lock(name) && range.start < before[name].len() as u64);
    let (mut is_older_manifest, mut fills_zeros) = (false, false);
    for (name, old) in before.iter().filter(|(name, _)| !is_lock(name)) {
        let new = after.get(name);
        if new.is_none_or(|new| new != old) && !after.values().any(|other| other == old) {
            touched.extend(differences(name, old, new.map_or(&[], |new| new.as_slice())));
        }
        let is_older = new.is_some_and(|new| whole.older.get(name) == Some(new));
        let is_longer = |new: &Vec<u8>| trimmed(new).len() > trimmed(old).len();
        fills_zeros |= name.starts_with("log/") && new.is_some_and(is_longer);
        is_older_manifest |= name == "manifest" && is_older;
        must_be_told |= match new {
            None => !is_derived(name) && (name == "format" || name == "manifest" || is_listed(name, whole)),
            Some(new) if new == old => false,
            Some(new) if name.starts_with("log/") => trimmed(new) != trimmed(old) || !holds_zeros(new, old),
            Some(_) => !(is_derived(name) && is_older),
        };
    }
    Spoiled {
        what,
        touched,
        must_be_told,
        fills_zeros,
        is_older_manifest,
    }
}

fn is_listed(name: &str, whole: &Whole) -> bool {
    let places = whole.places.values().flatten().flatten();
    places.into_iter().any(|(file, _)| file == name)
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    &bytes[..used]
}

/// Returns whether two segments differ only in the number of zeros at their end. A sealed segment that is cut below its
/// sealed length may lose zeros that a seal ends with.
fn holds_zeros(new: &[u8], old: &[u8]) -> bool {
    let used = trimmed(old).len();
    new.len() >= (used + 64).min(old.len())
}

/// Returns the ranges in which the bytes of a file differ.
fn differences(name: &str, old: &[u8], new: &[u8]) -> Vec<Extent> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for (at, byte) in old.iter().enumerate() {
        if new.get(at) == Some(byte) {
            continue;
        }
        let at = at as u64;
        match found.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = at + 1,
            None => found.push(at..at + 1),
        }
    }
    found.into_iter().map(|range| (name.to_owned(), range)).collect()
}

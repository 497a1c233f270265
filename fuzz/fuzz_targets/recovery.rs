//! A store with changed files returns an error or a state that it once had. It never panics.

#![no_main]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use treering::testing::digest::Root;
use treering::testing::opening::memory_on;
use treering::testing::sim_disk::SimDisk;
use treering::{Id, Kind, Memory, NewObject, Options, Result, Writer};

/// One change of the files.
#[derive(Arbitrary, Debug)]
enum Damage {
    Flip { file: u8, at: u32, mask: u8 },
    Cut { file: u8, at: u32 },
    Write { file: u8, at: u32, bytes: [u8; 8] },
    Copy { file: u8, from: u32, to: u32, count: u8 },
    Remove { file: u8 },
}

/// A store of a few commits, and the root after each.
static VALID: LazyLock<(SimDisk, Vec<Root>)> =
    LazyLock::new(|| build().expect("a store can be created on a disk without faults"));

fn build() -> Result<(SimDisk, Vec<Root>)> {
    let disk = SimDisk::new(7);
    let memory = memory_on(Arc::new(disk.clone()), Options::new(), true)?;
    let mut roots = vec![memory.view().root()];
    for number in 0..6 {
        put(&memory, number)?;
        roots.push(memory.view().root());
        if number == 2 {
            memory.snapshot(Some("middle"), &Writer::user())?;
        }
    }
    memory.rollback("middle").across_lanes().by(&Writer::user())?;
    memory.close()?;
    Ok((disk, roots))
}

fn put(memory: &Memory, number: usize) -> Result<()> {
    let mut object = NewObject::new(Id::new(&format!("note/{number}"))?, Kind::new("note")?);
    // Some contents are long enough for a separate record.
    object.content = Some("text ".repeat(if number % 3 == 2 { 1_000 } else { number }));
    memory.put(object, &Writer::user()).map(drop)
}

fn apply(disk: &SimDisk, files: &[String], damage: &Damage) {
    let (Damage::Flip { file, .. }
    | Damage::Cut { file, .. }
    | Damage::Write { file, .. }
    | Damage::Copy { file, .. }
    | Damage::Remove { file }) = damage;
    let name = &files[usize::from(*file) % files.len()];
    if matches!(damage, Damage::Remove { .. }) {
        disk.remove_file(name);
        return;
    }
    if !disk.files().contains_key(name) {
        return;
    }
    disk.overwrite(name, |content| {
        let length = content.len().max(1);
        let place = |at: &u32| *at as usize % length;
        match damage {
            Damage::Flip { at, mask, .. } => {
                if let Some(byte) = content.get_mut(place(at)) {
                    *byte ^= mask;
                }
            }
            Damage::Cut { at, .. } => content.truncate(place(at)),
            Damage::Write { at, bytes, .. } => {
                for (to, from) in content.iter_mut().skip(place(at)).zip(bytes) {
                    *to = *from;
                }
            }
            Damage::Copy { from, to, count, .. } => {
                let copied: Vec<u8> = content
                    .iter()
                    .skip(place(from))
                    .take(usize::from(*count))
                    .copied()
                    .collect();
                for (to, from) in content.iter_mut().skip(place(to)).zip(copied) {
                    *to = from;
                }
            }
            Damage::Remove { .. } => {}
        }
    });
}

fuzz_target!(|damages: Vec<Damage>| {
    let (valid, roots) = &*VALID;
    let disk = valid.copy();
    disk.reboot();
    let files: Vec<String> = disk.files().keys().cloned().collect();
    for damage in damages.iter().take(8) {
        apply(&disk, &files, damage);
    }
    for options in [
        Options::new(),
        Options::new().read_only(true),
        Options::new().degraded(true),
    ] {
        let Ok(memory) = memory_on(Arc::new(disk.copy()), options, false) else {
            continue;
        };
        let view = memory.view();
        assert!(roots.contains(&view.root()), "a state that never was");
        let mut seen = BTreeMap::new();
        for object in view.objects() {
            // A read may fail because of damage. An object that it returns must be as written.
            let Ok(object) = object else { break };
            let number: usize = object.id().as_str()["note/".len()..]
                .parse()
                .expect("only notes were written");
            if let Some(content) = object.content() {
                let times = if number % 3 == 2 { 1_000 } else { number };
                assert_eq!(content, "text ".repeat(times));
            }
            seen.insert(object.id().to_string(), object.digest());
        }
        assert!(seen.len() as u64 <= view.len());
        // A write is refused or succeeds. If it succeeds, the store must open again.
        if put(&memory, 9).is_ok() {
            let id = Id::new("note/9").expect("the id is valid");
            assert!(
                memory
                    .view()
                    .contains(&id)
                    .expect("the new object can be read")
            );
        }
    }
});

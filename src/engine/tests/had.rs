//! An id that a state ever contained is known for good, whatever took it away.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::note;
use crate::Result;
use crate::engine::{Memory, Options, Writer};
use crate::object::Id;
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;

#[test]
fn every_id_that_was_ever_there_is_known_and_no_other() -> Result<()> {
    let me = Writer::person("a");
    for seed in 0..8 {
        let mut random = SplitMix64::new(seed);
        let disk = Arc::new(SimDisk::new(seed));
        let mut memory = Memory::on_disk(disk.clone(), Options::new(), true, None)?;
        let mut had = BTreeSet::new();
        for step in 0..40 {
            match random.below(6) {
                0 => drop(memory.undo(&me)),
                1 => drop(memory.redo(&me)),
                2 => {
                    let seq = random.below(step + 1);
                    drop(memory.rollback(format!("seq:{seq}").as_str()).by(&me));
                }
                3 => {
                    // Some of it comes from a checkpoint now.
                    memory.close()?;
                    memory = Memory::on_disk(disk.clone(), Options::new(), false, None)?;
                }
                4 => {
                    let id = Id::new(&format!("o/{}", random.below(step + 1)))?;
                    drop(memory.remove(&id, &me));
                }
                _ => {
                    memory.put(note(&format!("o/{step}"), ""), &me)?;
                    had.insert(step);
                }
            }
            for number in 0..=step {
                let known = memory.has_had(&Id::new(&format!("o/{number}"))?)?;
                assert_eq!(known, had.contains(&number), "seed {seed}, step {step}, {number}");
            }
        }
    }
    Ok(())
}

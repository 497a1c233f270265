//! A rollback names every other lane that committed since, whatever the order of the lanes.

use std::collections::BTreeSet;

use super::note;
use crate::engine::{Memory, Options, Writer};
use crate::testing::random::SplitMix64;
use crate::testing::sim_disk::SimDisk;
use crate::{ErrorCode, Result};

#[test]
fn a_rollback_names_the_lanes_of_all_later_commits_of_others() -> Result<()> {
    let lanes = ["a", "b", "c"];
    for seed in 0..12 {
        let mut random = SplitMix64::new(seed);
        let disk = std::sync::Arc::new(SimDisk::new(seed));
        let mut memory = Memory::on_disk(disk.clone(), Options::new(), true, None)?;
        // The commit 0 makes the store, in the lane `default`.
        let mut made = vec!["default"];
        for number in 0..24 {
            let lane = if random.one_in(3) {
                lanes[random.below(3)]
            } else {
                *made.last().unwrap_or(&"a")
            };
            let lane = if lane == "default" { "a" } else { lane };
            memory.put(note(&format!("o/{number}"), ""), &Writer::person(lane))?;
            made.push(lane);
            if number == 12 && seed % 2 == 0 {
                // The commits up to here come from a checkpoint.
                memory.close()?;
                memory = Memory::on_disk(disk.clone(), Options::new(), false, None)?;
            }
        }
        for lane in lanes {
            for seq in 0..made.len() {
                let others: BTreeSet<_> = made[seq + 1..].iter().filter(|other| **other != lane).collect();
                let found = memory
                    .rollback(format!("seq:{seq}").as_str())
                    .preview(&Writer::person(lane));
                match found {
                    Ok(_) => assert!(others.is_empty(), "seed {seed}, lane {lane}, seq {seq}"),
                    Err(error) => {
                        assert_eq!(error.code(), ErrorCode::OtherLanes);
                        let named: BTreeSet<_> = error.ids().iter().map(String::as_str).collect();
                        assert_eq!(
                            named,
                            others.into_iter().copied().collect(),
                            "seed {seed}, lane {lane}, seq {seq}"
                        );
                    }
                }
                assert!(
                    memory
                        .rollback(format!("seq:{seq}").as_str())
                        .across_lanes()
                        .preview(&Writer::person(lane))
                        .is_ok()
                );
            }
        }
    }
    Ok(())
}

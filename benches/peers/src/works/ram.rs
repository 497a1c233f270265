//! The RAM of stores and maps, measured in a process of its own for each, because the reuse of freed memory would hide
//! an increase.

use std::process::Command;

use super::Run;
use crate::maps::{Kind, PERSISTENT, PLAIN, TREERING};
use crate::objects::{CANONICAL, objects, one_percent};
use crate::table::Role;

/// The option that makes such a process.
pub const OPTION: &str = "ram-of";
const SNAPSHOTS: u64 = 20;

fn kinds() -> impl Iterator<Item = (Kind, Role)> {
    let peers = PLAIN.iter().chain(PERSISTENT);
    std::iter::once((TREERING, Role::Treering)).chain(peers.map(|kind| (*kind, Role::Peer)))
}

/// Returns the anonymous memory of this process in bytes: the heap, without mapped files. Gives the free pages of the heap
/// back first.
#[expect(
    unsafe_code,
    reason = "malloc_trim of glibc takes no pointer and has no condition"
)]
fn anonymous_bytes() -> u64 {
    unsafe extern "C" {
        safe fn malloc_trim(padding: usize) -> i32;
    }
    malloc_trim(0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .expect("the kernel tells RssAnon");
    let number = line
        .split_whitespace()
        .next()
        .and_then(|number| number.parse::<u64>().ok());
    number.expect("RssAnon is a number of KiB") * 1024
}

/// Fills one map and prints its bytes per object; then changes 1 % after each of some snapshots, and prints the bytes per
/// changed object, or `NaN`.
#[expect(clippy::print_stdout, reason = "the parent reads the result")]
pub fn child(name: &str, n: u64) {
    let (kind, _) = kinds()
        .find(|(kind, _)| kind.name == name)
        .expect("the parent names a map");
    let empty = anonymous_bytes();
    let mut map = kind.filled(n);
    let filled = anonymous_bytes();
    let mut changed = 0;
    for round in 1..=SNAPSHOTS {
        if map.snapshot() {
            let numbers = one_percent(n, round);
            changed += numbers.len();
            map.put(objects(numbers, round));
        }
    }
    let each = |from: u64, to: u64, count: f64| (to as f64 - from as f64) / count;
    println!(
        "{} {}",
        each(empty, filled, n as f64),
        each(filled, anonymous_bytes(), changed as f64)
    );
    drop(map);
}

pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("ram", n, 1, 1);
    let kinds: Vec<_> = kinds()
        .filter(|(kind, role)| *role == Role::Treering || run.wants(kind.name))
        .collect();
    for (kind, role) in kinds {
        let program = std::env::current_exe().unwrap();
        let output = Command::new(program)
            .args([format!("--{OPTION}"), kind.name.to_owned(), n.to_string()])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        let values = text.split_whitespace().map(|value| value.parse::<f64>().unwrap());
        for (work, value) in ["ram", "ram-snapshots"].into_iter().zip(values) {
            if value.is_finite() {
                run.table.enter(work, n, role, kind.name, value);
            }
        }
    }
    run.table.limit("ram", n, "raw bytes", CANONICAL as f64);
    run.table.limit("ram-snapshots", n, "raw bytes", CANONICAL as f64);
}

//! Compares Treering with its peers: all do the same work, in one process, taking turns.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml -- [OPTIONS] [SIZES...]`
//!
//! The sizes are numbers of objects; 10000, 100000, 300000 and 1000000 if none is given. A million needs 8 GB of disk.
//! Ten million need 24 GiB of memory and 80 GB of disk, or less with few peers.
//!
//! | option | effect |
//! |---|---|
//! | `--quick` | the size 10000 alone, in about a minute |
//! | `--only GROUP` | only this group of works: durable, maps, ram, root, history, agent, git, forks or remote; may be repeated |
//! | `--peer NAME` | only Treering and this peer, such as LMDB or hashbrown; may be repeated |
//! | `--json FILE` | writes the rows as JSON |
//! | `--docs FOLDER` | writes the tables and charts, as in docs/performance |
//! | `--folder FOLDER` | keeps the stores under this folder, which must be on a real disk; default: `target` of this package |
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failure ends the run, and the program prints its results"
)]

mod goals;
mod machine;
mod maps;
mod objects;
mod peers;
mod progress;
mod race;
mod report;
mod table;
mod works;

use std::error::Error;
use std::path::PathBuf;

use lexopt::ValueExt as _;

use works::{GROUPS, Run, peer_names, ram};

const SIZES: [u64; 4] = [10_000, 100_000, 300_000, 1_000_000];

/// What the caller asked for.
#[derive(Default)]
struct Arguments {
    sizes: Vec<u64>,
    only: Vec<String>,
    peers: Vec<String>,
    json: Option<PathBuf>,
    docs: Option<PathBuf>,
    folder: Option<PathBuf>,
    /// The name of a map whose RAM this process measures.
    ram_of: Option<String>,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    use lexopt::Arg::{Long, Value};
    let mut arguments = Arguments::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("quick") => arguments.sizes = vec![SIZES[0]],
            Long("only") => arguments.only.push(parser.value()?.string()?),
            Long("peer") => arguments.peers.push(parser.value()?.string()?),
            Long("json") => arguments.json = Some(parser.value()?.into()),
            Long("docs") => arguments.docs = Some(parser.value()?.into()),
            Long("folder") => arguments.folder = Some(parser.value()?.into()),
            Long(ram::OPTION) => arguments.ram_of = Some(parser.value()?.string()?),
            Value(size) => arguments.sizes.push(size.parse()?),
            _ => return Err(argument.unexpected().into()),
        }
    }
    if let Some(name) = arguments
        .only
        .iter()
        .find(|name| GROUPS.iter().all(|group| group.name != **name))
    {
        return Err(format!("there is no group of works named {name}").into());
    }
    if let Some(name) = arguments
        .peers
        .iter()
        .find(|name| !peer_names().any(|peer| peer == *name))
    {
        let known: Vec<_> = peer_names().collect();
        return Err(format!("there is no peer named {name}, only {}", known.join(", ")).into());
    }
    if let Some(size) = arguments.sizes.iter().find(|size| **size < 1_000) {
        return Err(format!("a size is at least 1000, not {size}").into());
    }
    if arguments.sizes.is_empty() {
        arguments.sizes = SIZES.to_vec();
    }
    Ok(arguments)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    if let Some(name) = &arguments.ram_of {
        ram::child(name, arguments.sizes[0]);
        return Ok(());
    }
    objects::check();
    let folder = arguments
        .folder
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/target").into());
    std::fs::create_dir_all(&folder)?;
    let machine = machine::Machine::new();
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    let mut run = Run {
        folder,
        only: arguments.peers,
        progress: progress::Progress::new(),
        table: table::Table::default(),
    };
    for &n in &arguments.sizes {
        for group in GROUPS {
            if arguments.only.is_empty() || arguments.only.iter().any(|name| name == group.name) {
                group.measure(&mut run, n);
            }
        }
        // After each size, because the next one takes much longer.
        if let Some(file) = &arguments.json {
            std::fs::write(file, format!("{:#}\n", report::json(&run.table)))?;
        }
        if let Some(folder) = &arguments.docs {
            report::write_docs(folder, &machine, &run.table);
        }
    }
    run.progress.end();
    print!("{}", report::table(&run.table));
    Ok(())
}

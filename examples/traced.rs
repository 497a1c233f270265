//! Prints the events of the engine, as a host with `tracing` sees them.
//!
//! `cargo run --release --features tracing --example traced`
#![expect(clippy::print_stdout, reason = "the program prints its results")]

use std::error::Error;

use tracing_subscriber::filter::LevelFilter;
use treering::upkeep::VerifyDepth;
use treering::{Draft, Id, Kind, Memory, NewObject, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    // A host has its own subscriber. This one prints everything, without times and colours.
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .without_time();
    lines.with_writer(std::io::stdout).init();

    let folder = std::env::temp_dir().join(format!("treering-traced-{}", std::process::id()));
    let memory = Memory::create(&folder)?;
    let model = Writer::model("agent").session("monday");
    let plan = |text: &str| -> treering::Result<NewObject> {
        let mut plan = NewObject::new(Id::new("plan")?, Kind::new("note")?);
        plan.content = Some(text.to_owned());
        Ok(plan)
    };
    memory.put(plan("No event has this text.")?, &model)?;
    memory.snapshot(Some("before"), &model)?;
    memory.put(plan("Nor this one.")?, &model)?;

    // A refused change: the check of the host does not allow removals.
    let no_removals = |draft: &Draft| match draft.counts().removed {
        0 => Ok(()),
        count => Err(format!("it removes {count} objects")),
    };
    let id = Id::new("plan")?;
    let refused = memory.attempt(&model, |draft| draft.remove(&id), &[&no_removals]);
    println!("the host's check says: {}", refused.is_err());

    memory.rollback("before").by(&model)?;
    memory.verify(VerifyDepth::Full)?;
    memory.close()?;
    drop(Memory::open(&folder)?);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

//! An orchestrator with three sub-agents on one store, each on a fork of its own.
//!
//! `cargo run --release --example many_agents [FOLDER]`
//!
//! The sub-agents work at the same time, and none sees the work of another. They count their steps in one object of the
//! main line, where no write is lost. Then the orchestrator looks at each fork. One is merged clean. One changed what the
//! main line changed too, so its merge leaves a conflict, which a person decides. One went wrong, and is dropped. FOLDER
//! keeps the store; without it, the store is in a temporary folder.
#![expect(clippy::print_stdout, reason = "the program prints what happens")]

use std::error::Error;
use std::path::PathBuf;
use std::thread;

use treering::merge::{Merged, Resolution};
use treering::upkeep::VerifyDepth;
use treering::{ErrorKind, Id, Kind, Memory, NewObject, Origin, Result, Writer};

/// The sub-agents. The last one goes wrong.
const AGENTS: [&str; 3] = ["ada", "bo", "mallory"];
/// The number of facts that each sub-agent writes.
const FACTS: u64 = 20;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = std::env::temp_dir().join(format!("treering-many-agents-{}", std::process::id()));
    let named = std::env::args().nth(1).map(PathBuf::from);
    let folder = named.clone().unwrap_or_else(|| temporary.clone());
    let memory = Memory::create(&folder)?;
    let lead = Writer::model("lead").session("lead");
    memory.put(note("shared/lunch", "Lunch is at noon.")?, &lead)?;
    memory.put(note("shared/office", "The office is in Oslo.")?, &lead)?;
    memory.put(note("shared/door", "The door code is in the safe.")?, &lead)?;
    memory.put(note("shared/count", "0")?, &lead)?;

    run_all(&memory, &lead)?;
    for agent in AGENTS {
        take_or_drop(&memory, agent, &lead)?;
    }
    decide(&memory, &Writer::person("vera").session("vera"))?;
    undo_a_merge(&memory, &lead)?;

    let report = memory.verify(VerifyDepth::Full)?;
    println!("verify: {}", if report.ok { "ok" } else { "damaged" });
    memory.close()?;
    if named.is_none() {
        std::fs::remove_dir_all(&temporary)?;
    }
    Ok(())
}

/// Gives each sub-agent a fork, runs all at the same time, and waits for them.
fn run_all(memory: &Memory, lead: &Writer) -> Result<()> {
    let forks = AGENTS.map(|agent| memory.fork(agent).trust_cap(Origin::Model).by(lead));
    thread::scope(|scope| -> Result<()> {
        let mut threads = Vec::new();
        for (agent, fork) in AGENTS.into_iter().zip(forks) {
            let fork = fork?;
            threads.push(scope.spawn(move || work(&fork, memory, agent)));
        }
        let mut threads = threads.into_iter();
        threads.try_for_each(|thread| thread.join().expect("a sub-agent does not panic"))
    })?;
    memory.put(note("shared/office", "The office is in Paris.")?, lead)?;
    let facts: u64 = memory.forks()?.iter().map(|fork| fork.commits).sum();
    println!(
        "{} sub-agents made {facts} commits on forks, and counted to {}",
        AGENTS.len(),
        text(memory, "shared/count")?
    );
    println!("the main line has {} objects", memory.view().len());
    Ok(())
}

/// Runs one sub-agent. Its work goes into its fork, and each step is counted in the main line.
fn work(fork: &Memory, main: &Memory, agent: &str) -> Result<()> {
    let writer = Writer::model(agent).session(agent);
    for number in 1..=FACTS {
        let fact = format!("Fact {number} of {agent}.");
        fork.put(note(&format!("{agent}/{number}"), &fact)?, &writer)?;
        count(main, &writer)?;
    }
    match agent {
        "ada" => drop(fork.put(note("shared/lunch", "Lunch is at one.")?, &writer)?),
        "bo" => drop(fork.put(note("shared/office", "The office is in Bergen.")?, &writer)?),
        _ => drop(fork.remove(&Id::new("shared/door")?, &writer)?),
    }
    Ok(())
}

/// Adds 1 to the shared count. If another agent committed a new count meanwhile, the commit is refused and repeated.
fn count(memory: &Memory, writer: &Writer) -> Result<()> {
    let id = Id::new("shared/count")?;
    loop {
        let mut draft = memory.draft(writer);
        let old = draft.get(&id)?;
        let number: u64 = old
            .as_ref()
            .and_then(|old| old.content()?.parse().ok())
            .unwrap_or(0);
        // Two agents may write the same new count, which is no conflict by itself.
        draft.expect(&id, old.map(|old| old.digest()));
        draft.put(note("shared/count", &(number + 1).to_string())?)?;
        match memory.commit(draft, "count") {
            Err(error) if error.kind() == ErrorKind::Conflict => drop(memory.refresh()?),
            committed => return committed.map(drop),
        }
    }
}

/// Merges the fork of a sub-agent, unless the merge would remove something.
fn take_or_drop(memory: &Memory, agent: &str, lead: &Writer) -> Result<()> {
    let preview = memory.merge(agent).preview(lead)?;
    if preview.counts.removed > 0 {
        let dropped = memory.drop_fork(agent, true, lead)?;
        println!(
            "{agent}: {}; dropped with {} commits",
            told(&preview),
            dropped.commits
        );
        return Ok(());
    }
    let merged = memory.merge(agent).by(lead)?;
    memory.drop_fork(agent, false, lead)?;
    println!("{agent}: {}; merged", told(&merged));
    Ok(())
}

/// Shows the open conflict, and takes the version of the sub-agent.
fn decide(memory: &Memory, vera: &Writer) -> Result<()> {
    for conflict in memory.conflicts()? {
        println!("{} is open in {}", conflict.id, conflict.fields.join(", "));
        let by = |name: &str| {
            let of = |by: &treering::CommitInfo| by.commit.session.as_deref() == Some(name);
            conflict
                .sides
                .iter()
                .find(|side| side.by.as_ref().is_some_and(of))
        };
        let chosen = by("bo").and_then(|side| side.version);
        let decision = chosen.map_or(Resolution::Remove, Resolution::Take);
        memory.resolve_conflict(&conflict.id, decision, vera)?;
        println!("vera decides: {}", text(memory, conflict.id.as_str())?);
    }
    Ok(())
}

/// Takes back the newest merge, and makes it again: a merge is one commit.
fn undo_a_merge(memory: &Memory, lead: &Writer) -> Result<()> {
    let before = memory.view().len();
    memory
        .fork("late")
        .by(lead)?
        .put(note("late/1", "A late fact.")?, lead)?;
    memory.merge("late").by(lead)?;
    memory.undo(lead)?;
    println!("after an undo of the last merge: {} objects", memory.view().len());
    assert_eq!(memory.view().len(), before);
    memory.merge("late").by(lead)?;
    memory.drop_fork("late", false, lead)?;
    println!("after merging again: {} objects", memory.view().len());
    Ok(())
}

fn told(merged: &Merged) -> String {
    let (counts, open) = (merged.counts, merged.conflicts.len());
    format!(
        "{} added, {} changed, {} removed, {open} in conflict",
        counts.added, counts.changed, counts.removed
    )
}

fn note(id: &str, text: &str) -> Result<NewObject> {
    let mut note = NewObject::new(Id::new(id)?, Kind::new("note")?);
    note.content = Some(text.to_owned());
    Ok(note)
}

fn text(memory: &Memory, id: &str) -> Result<String> {
    let object = memory.view().get(&Id::new(id)?)?;
    Ok(object
        .and_then(|object| object.content().map(str::to_owned))
        .unwrap_or_default())
}

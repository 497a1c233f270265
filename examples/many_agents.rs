//! Several agents write into one store at the same time: three threads of this program, and two other processes.
//!
//! `cargo run --release --example many_agents [FOLDER]`
//!
//! Each agent has a session, which is its lane: `undo` takes back the newest commit of the own lane only. No write is
//! lost, although all agents count in one object. One agent goes wrong, and one revert takes back what its session
//! wrote, while the work of the others stays. FOLDER keeps the store; without it, the store is in a temporary folder.
#![expect(clippy::print_stdout, reason = "the program prints what happens")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use treering::revert::Selection;
use treering::upkeep::VerifyDepth;
use treering::{ErrorKind, Id, Kind, Memory, NewObject, Result, Writer};

/// The agents that are threads of this process.
const THREADS: [&str; 3] = ["ada", "bo", "cem"];
/// The agents that are processes of their own. The last one goes wrong.
const PROCESSES: [&str; 2] = ["dora", "mallory"];
/// The number of facts that each agent writes.
const FACTS: u64 = 20;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, folder, agent] = arguments.as_slice()
        && word == "--agent"
    {
        return Ok(work(&Memory::open(folder)?, agent)?);
    }
    let temporary = std::env::temp_dir().join(format!("treering-many-agents-{}", std::process::id()));
    let named = arguments.first().map(PathBuf::from);
    let folder = named.clone().unwrap_or_else(|| temporary.clone());
    let memory = Memory::create(&folder)?;
    let vera = Writer::person("vera").session("setup");
    memory.put(note("shared/lunch", "Lunch is at noon.")?, &vera)?;
    memory.put(note("shared/door", "The door code is in the safe.")?, &vera)?;
    memory.put(note("shared/count", "0")?, &vera)?;

    run_all(&memory, &folder)?;
    check_nothing_is_lost(&memory)?;
    undo_in_one_lane(&memory)?;
    revert_one_session(&memory)?;

    let report = memory.verify(VerifyDepth::Full)?;
    println!("verify: {}", if report.ok { "ok" } else { "damaged" });
    memory.close()?;
    if named.is_none() {
        std::fs::remove_dir_all(&temporary)?;
    }
    Ok(())
}

/// Runs all agents at the same time, and waits for them.
fn run_all(memory: &Memory, folder: &Path) -> std::result::Result<(), Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let start = |agent| {
        Command::new(&program)
            .arg("--agent")
            .arg(folder)
            .arg(agent)
            .spawn()
    };
    let processes = PROCESSES.map(start);
    thread::scope(|scope| -> Result<()> {
        // A clone of the handle copies no data.
        let threads = THREADS.map(|agent| scope.spawn(move || work(&memory.clone(), agent)));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("an agent does not panic"))
    })?;
    for process in processes {
        let status = process?.wait()?;
        assert!(status.success(), "an agent ended with {status}");
    }
    memory.refresh()?; // Reads what the other processes committed.
    Ok(())
}

/// Runs one agent. It writes facts of its own, and counts each of them in an object that all agents share.
fn work(memory: &Memory, agent: &str) -> Result<()> {
    let writer = Writer::model(agent).session(agent);
    for number in 1..=FACTS {
        memory.put(
            note(
                &format!("{agent}/{number}"),
                &format!("Fact {number} of {agent}."),
            )?,
            &writer,
        )?;
        count(memory, &writer)?;
    }
    if agent == "mallory" {
        memory.put(note("shared/lunch", "Lunch is cancelled for ever.")?, &writer)?;
        memory.put(note("shared/door", "The door code is 1234.")?, &writer)?;
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

fn check_nothing_is_lost(memory: &Memory) -> Result<()> {
    let agents = (THREADS.len() + PROCESSES.len()) as u64;
    let (facts, commits) = (memory.view().len() - 3, memory.view().commit().commit.seq);
    println!(
        "{agents} agents wrote {facts} facts in {commits} commits, and counted to {}",
        text(memory, "shared/count")?
    );
    assert_eq!(facts, agents * FACTS);
    assert_eq!(text(memory, "shared/count")?, facts.to_string());
    Ok(())
}

/// Takes back the newest commit of one agent, although others committed later.
fn undo_in_one_lane(memory: &Memory) -> Result<()> {
    let bo = Writer::model("bo").session("bo");
    memory.put(note("bo/21", "One fact too many.")?, &bo)?;
    memory.put(
        note("cem/21", "A later fact of another agent.")?,
        &Writer::model("cem").session("cem"),
    )?;
    memory.undo(&bo)?;
    let stands = |id: &str| memory.view().contains(&Id::new(id)?);
    println!(
        "bo undoes his newest commit: bo/21 {}, cem/21 {}",
        shown(stands("bo/21")?),
        shown(stands("cem/21")?)
    );
    Ok(())
}

/// Takes back everything that one session wrote, except what others changed since.
fn revert_one_session(memory: &Memory) -> Result<()> {
    println!("mallory made vera's note say: {}", text(memory, "shared/lunch")?);
    let vera = Writer::person("vera").session("repair");
    memory.put(note("shared/door", "The door code is in the new safe.")?, &vera)?;

    let revert = memory.revert(Selection::default().session("mallory"));
    let preview = revert.preview(&vera)?;
    println!(
        "a revert of mallory's {} commits would change {} objects, and keep {}",
        preview.selected,
        preview.reverted.len(),
        preview.kept.len()
    );
    revert.by(&vera)?;
    println!("lunch: {}", text(memory, "shared/lunch")?);
    println!("door: {}", text(memory, "shared/door")?);
    for agent in THREADS.into_iter().chain(PROCESSES) {
        let own = memory.view().objects().filter(|object| {
            let is_own = |id: &str| id.starts_with(&format!("{agent}/"));
            object.as_ref().is_ok_and(|object| is_own(object.id().as_str()))
        });
        println!("{agent} has {} facts", own.count());
    }
    Ok(())
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

fn shown(stands: bool) -> &'static str {
    if stands { "stays" } else { "is gone" }
}

//! A second process that writes until it is killed, and a count of its commits that the store kept.
//!
//! # Layer
//! L10, part of cli.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done};
use crate::engine::{Memory, Revision};
use crate::error::{Error, Result};
use crate::object::{Id, Kind, NewObject};

/// The number of acknowledged commits before the process is killed.
const ACKNOWLEDGED: usize = 100;
/// The number of commits after which the writer ends by itself, if it is not killed.
const COMMITS_MAX: u64 = 20_000;
/// The kind of the objects that it writes.
const KIND: &str = "tick";

/// Runs the hidden verb: commits objects one by one, and acknowledges each commit.
pub(in crate::cli) fn write_until_killed(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    for number in 0..COMMITS_MAX {
        let id = tick(number)?;
        let mut object = NewObject::new(id, Kind::new(KIND)?);
        object.content = Some(format!("observation {number} of a process that is about to die. ").repeat(12));
        let committed = memory.put(object, &context.writer())?;
        let info = committed.commit;
        context
            .output
            .document(&json!({ "seq": info.commit.seq, "commit": info.digest.to_hex() }))?;
        // The acknowledgement follows the durable commit: the tour checks that the commit is kept.
        context.output.flush()?;
    }
    memory.close()?;
    Ok(DONE)
}

fn tick(number: u64) -> Result<Id> {
    Id::new(&format!("tick/{number:06}"))
}

/// The commits that a killed process acknowledged.
pub(super) struct Killed {
    /// The number and digest of each acknowledged commit.
    acknowledged: Vec<(u64, String)>,
    /// A text about the end of the process, such as its signal.
    pub(super) ended: String,
}

/// Starts a second process of this program that writes into the store, and kills it without warning.
pub(super) fn kill_a_writer(store: &Path) -> Result<Killed> {
    let failed = |error| Error::io("running a second process of treering", error);
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(["tour-writer", "--json", "--session", "second-process", "--store"])
        .arg(store)
        .env_remove("TREERING_STORE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let acknowledged = listen_and_kill(&mut child);
    let status = child.wait().map_err(failed)?;
    let acknowledged = acknowledged?;
    if acknowledged.len() < ACKNOWLEDGED {
        return Err(Error::internal(format!(
            "the second process ended by itself ({status})"
        )));
    }
    Ok(Killed {
        acknowledged,
        ended: status.to_string(),
    })
}

fn listen_and_kill(child: &mut Child) -> Result<Vec<(u64, String)>> {
    let failed = |error| Error::io("listening to the second process", error);
    let output = child
        .stdout
        .take()
        .ok_or_else(|| Error::internal("the second process has no output"))?;
    let mut acknowledged = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        // The kill may tear the last line: only a whole line is an acknowledgement.
        let line = line.map_err(failed)?;
        let Ok(said) = serde_json::from_slice::<Value>(&line) else {
            continue;
        };
        if let (Some(seq), Some(commit)) = (said["seq"].as_u64(), said["commit"].as_str()) {
            acknowledged.push((seq, commit.to_owned()));
        }
        if acknowledged.len() == ACKNOWLEDGED {
            child.kill().map_err(failed)?;
        }
    }
    Ok(acknowledged)
}

impl Killed {
    /// Returns the number of acknowledged commits.
    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Returns how many of the acknowledged commits are in the store, with their object.
    pub(super) fn kept(&self, memory: &Memory) -> Result<usize> {
        let view = memory.view();
        let mut kept = 0;
        for (number, (seq, commit)) in self.acknowledged.iter().enumerate() {
            let found = memory.resolve(&Revision::Seq(*seq), "default")?;
            if found.digest.to_hex() == *commit && view.contains(&tick(number as u64)?)? {
                kept += 1;
            }
        }
        Ok(kept)
    }
}

//! `crash-test`: kills a second process during its writes, and checks that the store contains its acknowledged commits.
//!
//! # Layer
//! Layer 10, part of cli.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::cli::commands::prelude::*;
use crate::cli::context::AT_VARIABLE;
use crate::cli::own_program::own_file;
use treering::NewObject;

/// The number of acknowledged commits before the process is killed.
const ACKNOWLEDGED: usize = 100;
/// The number of commits after which the writer exits if nobody killed the writer.
const COMMITS_MAX: u64 = 20_000;

/// The snapshot that permits the test in a store, because the test fills the store with commits. The tour creates this
/// snapshot.
const PERMIT: &str = "crash-test";

/// Kill a writing process, and check its acknowledged commits (for the tour)
///
/// The store must have a snapshot named crash-test.
#[derive(Args, Debug)]
#[command(args = args::writes(), hide = true)]
pub(crate) struct CrashTest {
    /// Run as the writing process: commit until killed, and acknowledge each commit
    #[arg(long)]
    writer: bool,
}

/// A commit that the killed process acknowledged.
#[derive(Serialize, Deserialize)]
struct Acknowledged {
    id: String,
    seq: u64,
    commit: String,
}

/// The acknowledged commits of a killed process.
#[derive(Serialize, JsonSchema)]
struct Killed {
    acknowledged: usize,
    kept: usize,
    /// The exit status of the process, such as its signal.
    ended: String,
}

impl Verb for CrashTest {
    fn run(self, context: &mut Context) -> Done {
        if self.writer {
            return write_until_killed(context);
        }
        let store = context.store()?;
        check_permit(&context.reading_options().open(&store)?)?;
        let (acknowledged, ended) = kill_a_writer(&store)?;
        let memory = context.open_to_write()?;
        let mut kept = 0;
        for commit in &acknowledged {
            kept += usize::from(is_kept(&memory, commit)?);
        }
        let acknowledged = acknowledged.len();
        if kept < acknowledged {
            let lost = acknowledged - kept;
            let text = format!("{lost} of {acknowledged} acknowledged commits are lost");
            return Err(Error::corrupt(text));
        }
        let answer = Killed {
            acknowledged,
            kept,
            ended,
        };
        context.answer(&answer, show_killed)
    }
}

fn show_killed(answer: &Killed, context: &mut Context) -> Result<()> {
    let (acknowledged, kept) = (answer.acknowledged, answer.kept);
    context.line(format_args!("the process ended with {}", answer.ended))?;
    context.line(format_args!(
        "the process acknowledged {acknowledged} commits, and the store contains {kept} of them"
    ))
}

/// Refuses a store without the snapshot that permits the test.
fn check_permit(memory: &Memory) -> Result<()> {
    let permit = memory.resolve(&Revision::Name(PERMIT.to_owned()), "");
    permit.map_err(|error| error.with_hint("run `treering tour`, which creates a store for this test"))?;
    Ok(())
}

fn write_until_killed(context: &mut Context) -> Done {
    let memory = context.open_to_write()?;
    check_permit(&memory)?;
    for number in 0..COMMITS_MAX {
        let id = Id::new(&format!("tick/{number:06}"))?;
        let mut object = NewObject::new(id.clone(), Kind::new("tick")?);
        object.content = Some(format!("observation {number} of a process that is about to die. ").repeat(12));
        let info = memory.put(object, &context.writer())?.commit;
        context.output.document(&Acknowledged {
            id: id.to_string(),
            seq: info.commit.seq,
            commit: info.digest.to_hex(),
        })?;
        // The commit is durable before its acknowledgement, so the store must contain each acknowledged commit.
        context.output.flush()?;
    }
    Ok(DONE)
}

/// Returns whether the store contains the acknowledged commit and its object.
fn is_kept(memory: &Memory, acknowledged: &Acknowledged) -> Result<bool> {
    let found = memory.resolve(&Revision::Seq(acknowledged.seq), "")?;
    let is_same = found.digest.to_hex() == acknowledged.commit;
    Ok(is_same && memory.view().contains(&Id::new(&acknowledged.id)?)?)
}

/// Starts a second process of this program that writes into the store, and kills it. Returns the acknowledged commits,
/// and the exit status of the process.
fn kill_a_writer(store: &Path) -> Result<(Vec<Acknowledged>, String)> {
    let failed = |error| Error::io("running a second process of treering", error);
    let mut child = Command::new(own_file()?)
        .env_remove(AT_VARIABLE)
        .args("crash-test --writer --json --session second-process --store".split(' '))
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut acknowledged = Vec::new();
    let output = child.stdout.take().into_iter();
    for line in output.flat_map(|output| BufReader::new(output).split(b'\n')) {
        // The kill may cut the last line, and only a complete line is an acknowledgement.
        acknowledged.extend(serde_json::from_slice::<Acknowledged>(&line.map_err(failed)?).ok());
        if acknowledged.len() == ACKNOWLEDGED {
            child.kill().map_err(failed)?;
        }
    }
    let status = child.wait().map_err(failed)?;
    if acknowledged.len() < ACKNOWLEDGED {
        let text = format!("the second process ended before it was killed ({status})");
        return Err(Error::internal(text));
    }
    Ok((acknowledged, status.to_string()))
}

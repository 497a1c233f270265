//! `sync`: pulls and pushes, once or with `--watch` until the user ends it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - SYW-1: with `--watch`, a fault that can pass ends nothing: a remote that is offline, races that were lost, a locked
//!   store. It is reported once. Damage ends the verb.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

use super::merge::{WithChanges, change_list};
use super::prelude::*;
use super::remote::{
    conflict_lines, fetched_line, note_conflicts, note_kept, note_merge, note_unsigned, pushed_line,
};
use crate::answers::program::Refused;
use crate::cli::open_store::StoreFolder;
use crate::cli::remotes::RemoteEntry;
use treering::inspect::remote::folder_of;
use treering::remote::{Remote, Synced};

/// The time between two looks at the local head.
const LOCAL_INTERVAL: Duration = Duration::from_millis(100);

/// Pull, then push
///
/// Afterwards, the remote and this store have the same. If another machine pushes meanwhile, it does both again. Conflicts stay
/// open (treering conflicts), and so does what your policy refuses.
///
/// # Notes
/// --watch goes on until Ctrl-C. It sends each new commit at once, and asks the remote every few seconds. It reports once that
/// a remote is offline, and tries again. A damaged remote ends it (exit code 5).
///
/// # Examples
/// ```text
/// treering sync
/// treering sync --watch --interval 30s
/// treering undo --session remote/origin
/// ```
#[derive(Args, Debug)]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Sync {
    /// The remote [default: the only one, or origin]
    name: Option<String>,
    /// Go on until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// The time between two questions to the remote
    #[arg(long, value_name = "DURATION", default_value = "5s", requires = "watch", value_parser = time::duration)]
    interval: Duration,
}

/// A failed round of `sync --watch`.
#[derive(Serialize, JsonSchema)]
struct SyncFailed {
    remote: String,
    /// The fault. Only the first of several rounds that fail is printed.
    error: Refused,
}

impl Verb for Sync {
    const ANSWERS: &'static [Form] = &[
        form::<WithChanges<Synced>>("one per round"),
        form::<SyncFailed>("--watch: a round that failed"),
    ];

    fn run(self, context: &mut Context) -> Done {
        context.main_line_to_send()?;
        if self.interval.is_zero() {
            let hint = "write a time such as --interval 5s";
            return Err(usage_error("the interval of sync must not be zero", hint));
        }
        let memory = context.open_to_write()?;
        let entry = context.remote_of(&memory, self.name.as_deref())?;
        if !self.watch {
            let synced = entry.open()?.sync(&memory, &context.writer())?;
            let done = say(context, &synced, entry.sign_key.is_some())?;
            note_merge(context, &entry.name, &synced.pulled.merged);
            return Ok(done);
        }
        let stop = context.output.stop();
        let caught = |error| Error::io("waiting for Ctrl-C", error);
        for signal in [SIGINT, SIGTERM] {
            // The second one ends the process at once, also in a request to a service that does not answer.
            signal_hook::flag::register_conditional_default(signal, context.output.stop()).map_err(caught)?;
            signal_hook::flag::register(signal, context.output.stop()).map_err(caught)?;
        }
        let done = Watching::new(self.interval, entry).run(context, &memory);
        if stop.swap(false, Ordering::Relaxed) {
            // Ctrl-C is how the user ends the verb.
            return done.map_or_else(
                |error| match error.code() {
                    ErrorCode::Interrupted => Ok(DONE),
                    _ => Err(error),
                },
                Ok,
            );
        }
        done
    }
}

/// Prints a round. `signs` says that each push signs.
fn say(context: &mut Context, synced: &Synced, signs: bool) -> Done {
    let done = context.answer(
        &WithChanges::of(synced, &synced.pulled.merged),
        |answer, context| {
            let synced = answer.answer;
            let (merged, pushed) = (&synced.pulled.merged, &synced.pushed);
            let head = context.head_line(&merged.committed.commit);
            if !synced.changed() {
                return context.line(format_args!(
                    "{} has nothing new, and you have nothing to send; {head}",
                    pushed.remote
                ));
            }
            let mut parts = Vec::new();
            if synced.pulled.fetched.commits > 0 {
                parts.push(fetched_line(&synced.pulled.fetched, merged.committed.changed));
            }
            if merged.committed.changed {
                parts.push(format!("merged: {}", context.counts_line(merged.counts)));
            }
            if pushed.commits > 0 || signs && pushed.bytes > 0 {
                parts.push(pushed_line(pushed, signs));
            }
            parts.push(head);
            context.line(parts.join("; "))?;
            change_list(context, merged, None)?;
            conflict_lines(context, &merged.conflicts)
        },
    )?;
    note_conflicts(context, &synced.pulled.merged);
    note_kept(context, &synced.pulled.fetched);
    note_unsigned(context, &synced.pushed);
    Ok(done)
}

/// The loop of `--watch`.
struct Watching {
    interval: Duration,
    entry: RemoteEntry,
    remote: Option<Remote>,
    /// Whether the newest round failed.
    is_failing: bool,
}

impl Watching {
    fn new(interval: Duration, entry: RemoteEntry) -> Self {
        Self {
            interval: interval.max(LOCAL_INTERVAL),
            entry,
            remote: None,
            is_failing: false,
        }
    }

    fn run(&mut self, context: &mut Context, memory: &Memory) -> Done {
        let folder = StoreFolder::new(context.store()?);
        let note = format!("syncing with {}; Ctrl-C stops", self.entry.name);
        context.output.note("watching", note);
        // Prints without the pager, which would wait for the end of the output.
        context.output.redirect(None)?;
        loop {
            folder.check()?;
            let head = match self.round(context, memory) {
                Ok(synced) => {
                    self.passed(context, &synced)?;
                    synced.pulled.merged.committed.commit.digest
                }
                Err(error) if can_pass(&error) => {
                    self.failed(context, &error)?;
                    memory.view().commit().digest
                }
                Err(error) => return Err(error),
            };
            context.output.flush()?;
            self.wait(context, memory, head)?;
        }
    }

    fn round(&mut self, context: &Context, memory: &Memory) -> Result<Synced> {
        // An open folder stays in reach when its disk or its name goes.
        let kept = self
            .remote
            .take()
            .filter(|_| folder_of(&self.entry.url).is_none());
        let remote = match kept {
            Some(remote) => remote,
            None => self.entry.open()?,
        };
        let synced = remote.sync(memory, &context.writer());
        match synced {
            Ok(synced) => {
                self.remote = Some(remote);
                Ok(synced)
            }
            Err(error) if error.code() == ErrorCode::RemoteWentBack => {
                // A folder whose disk was taken away looks like one that lost everything.
                self.entry.open()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Prints a round, for people only if it changed something.
    fn passed(&mut self, context: &mut Context, synced: &Synced) -> Result<()> {
        if std::mem::take(&mut self.is_failing) {
            let text = format!("{} answers again", self.entry.name);
            context.output.note_for_people("online", text);
        }
        if context.output.is_json() || synced.changed() {
            say(context, synced, self.entry.sign_key.is_some())?;
        }
        Ok(())
    }

    /// Reports the first of several failed rounds (SYW-1).
    fn failed(&mut self, context: &mut Context, error: &Error) -> Result<()> {
        if std::mem::replace(&mut self.is_failing, true) {
            return Ok(());
        }
        let failed = SyncFailed {
            remote: self.entry.name.clone(),
            error: error.into(),
        };
        if !context.output.json(&failed)? {
            let text = format!(
                "{}; trying again every {} s",
                error.message(),
                self.interval.as_secs_f32()
            );
            context.output.warn(error.code().as_str(), &text);
        }
        Ok(())
    }

    /// Waits for the next round, or for a commit behind `head`.
    fn wait(&self, context: &Context, memory: &Memory, head: CommitDigest) -> Result<()> {
        let since = Instant::now();
        while since.elapsed() < self.interval {
            context.output.check_stop()?;
            sleep(LOCAL_INTERVAL);
            if memory.refresh()?.commit().digest != head {
                break;
            }
        }
        Ok(())
    }
}

/// Returns whether a later round can succeed without anybody's help in this store (SYW-1).
fn can_pass(error: &Error) -> bool {
    match error.code() {
        // Another machine may sign it.
        ErrorCode::RemoteUnreachable | ErrorCode::RemoteAhead | ErrorCode::UnsignedRemote => true,
        _ => error.kind() == ErrorKind::Busy,
    }
}

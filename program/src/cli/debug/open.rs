//! Opens the store for a shell: for writing, for reading, or degraded if the store is damaged.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::commands::prelude::*;
use crate::cli::context::{explain, looks_like_store};
use crate::cli::nearest::with_nearest_name;
use crate::cli::open_store::OpenStore;

/// Opens the store and keeps the open store in the context. `--at`, `--fork`, `--session` and `--actor` become defaults of the
/// shell. Only an interactive shell waits for indexes.
///
/// # Errors
/// Fails if the store cannot be opened. Damage is an error only if `writable` is set.
pub(super) fn keep_open(context: &mut Context, writable: bool, interactive: bool) -> Result<()> {
    if writable {
        context.check_may_write()?;
    }
    let path = context.store()?;
    let open = |context: &Context| {
        let options = if writable {
            context.engine_options()
        } else {
            context.reading_options()
        };
        options.indexes(interactive).open(&path)
    };
    let memory = match open(context) {
        Ok(memory) => {
            context.print_warnings(&memory);
            Ok(memory)
        }
        Err(error) if !writable && is_damage(&error, &path) => {
            context.options.degraded = true;
            let memory = open(context);
            note_damage(context, &error, memory.as_ref().ok());
            memory
        }
        Err(error) => return Err(explain(error, &path)),
    };
    let mut kept = OpenStore::new(path, memory, writable);
    kept.fork = context.fork().map(str::to_owned);
    if let (Some(fork), Ok(memory)) = (&kept.fork, kept.memory()) {
        let opened = memory.open_fork(fork);
        opened.map_err(|error| with_nearest_name(error, memory))?;
    }
    context.options.in_fork = None;
    kept.lane = std::mem::take(&mut context.options.lane);
    let at = context.take_at();
    context.kept = Some(kept);
    context.output.store = None;
    at.map_or(Ok(()), |at| context.pin(&at))
}

fn is_damage(error: &Error, path: &Path) -> bool {
    error.is_damage() || error.code() == ErrorCode::NoStore && looks_like_store(path)
}

/// Prints the damage, and the state that the shell reads.
fn note_damage(context: &mut Context, damage: &Error, memory: Option<&Memory>) {
    let (code, state) = match memory {
        Some(memory) => {
            let commit = memory.view().commit().commit;
            let (seq, time) = (commit.seq, commit.time);
            let state = format!(
                "the shell reads the state at seq:{seq} of {time}\nlater commits cannot be read; the commands `verify` and `inspect recovery` show why"
            );
            ("degraded", state)
        }
        None => {
            let state = "no state can be read, but the commands `inspect`, `verify` and `doctor` work";
            ("unreadable", state.to_owned())
        }
    };
    let damage = damage.message();
    context.output.note(code, format!("damaged: {damage}\n{state}"));
}

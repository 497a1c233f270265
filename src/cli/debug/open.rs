//! Opens the store for a shell: for writing, for reading, or degraded if it is damaged.
//!
//! # Layer
//! Layer 10, part of cli.

use std::path::Path;

use crate::cli::context::{Context, explain, looks_like_store};
use crate::cli::open_store::OpenStore;
use crate::engine::Memory;
use crate::error::{ErrorCode, Result};

/// Opens the store of the context and keeps it in the context. `--at`, `--session` and `--actor` become defaults. Only
/// an interactive shell waits for indexes.
///
/// # Errors
/// The errors of opening the store. A damaged store opens too, unless `writable` is set.
pub(super) fn keep_open(context: &mut Context, writable: bool, interactive: bool) -> Result<()> {
    let path = context.store()?;
    let memory = if writable {
        let options = context.engine_options().indexes(interactive);
        let memory = options.open(&path).map_err(|error| explain(error, &path))?;
        context.print_warnings(&memory);
        Ok(memory)
    } else {
        open_to_read(context, &path, interactive)?
    };
    let mut kept = OpenStore::new(path, memory, writable);
    kept.lane = std::mem::take(&mut context.options.lane);
    let at = context.options.at.take();
    context.kept = Some(kept);
    match at {
        Some(at) => context.pin(&at),
        None => Ok(()),
    }
}

/// Opens the store for reading, degraded if it is damaged. The inner error is the reason why no state can be read.
fn open_to_read(context: &mut Context, path: &Path, interactive: bool) -> Result<Result<Memory>> {
    let open = |context: &Context| context.reading_options().indexes(interactive).open(path);
    let error = match open(context) {
        Ok(memory) => {
            context.print_warnings(&memory);
            return Ok(Ok(memory));
        }
        Err(error) => error,
    };
    let is_damaged = error.is_corruption() || error.code() == ErrorCode::NoStore && looks_like_store(path);
    if !is_damaged {
        return Err(explain(error, path));
    }
    context.options.degraded = true;
    let opened = open(context);
    let (code, state) = match &opened {
        Ok(memory) => {
            let commit = memory.view().commit().commit;
            let (seq, time) = (commit.seq, commit.time);
            let state = format!(
                "the shell reads the state at seq:{seq} of {time}\nlater commits cannot be read: see verify and inspect recovery"
            );
            ("degraded", state)
        }
        Err(_) => (
            "unreadable",
            "no state can be read, but inspect, verify and doctor work".to_owned(),
        ),
    };
    let damage = error.message();
    context.output.note(code, format!("damaged: {damage}\n{state}"));
    Ok(opened)
}

//! `export --format blocks`: writes one Markdown file for each block into a folder, so that people can edit the blocks.
//!
//! # Layer
//! Layer 10, part of cli.

use super::folder::Folder;
use crate::answers::program::{BlockLeftOut, BlocksWritten};
use crate::cli::commands::export::Export;
use crate::cli::commands::prelude::*;
use treering::inspect::agent::blocks;

/// Writes the blocks. Without `--force`, does not overwrite an edited file or a file that is not a block.
pub(in crate::cli) fn export(context: &mut Context, verb: &Export) -> Done {
    let Some(path) = verb.named_path() else {
        let hint = "write treering export --format blocks DIR";
        return Err(usage_error("--format blocks needs a folder", hint));
    };
    let (agent, view) = context.agent_view()?;
    let caller = context.caller();
    let (place, reach) = (caller.place(), caller.reach(verb.scope.as_slice())?);
    let texts = blocks::texts(&view, &place, &reach)?;
    let folder = Folder::open(path, true)?;
    let (mut written, mut unchanged) = (0_u64, 0_u64);
    let mut left_out = texts.left_out;
    for file in texts.files {
        let why = match folder.look(&file.path) {
            Ok(Some(bytes)) if bytes == file.text.as_bytes() => {
                unchanged += 1;
                continue;
            }
            Ok(Some(bytes))
                if !verb.force
                    && !blocks::is_unedited(agent.memory(), &view, &place, &file.path, &bytes)? =>
            {
                Some(format!(
                    "{} was edited: import the file first, or overwrite the edits with --force",
                    file.path
                ))
            }
            Ok(_) => folder.write(&file.path, file.text.as_bytes()).err(),
            Err(why) => Some(format!("{}: {why}", file.path)),
        };
        match why {
            None => written += 1,
            Some(why) => left_out.push((file.id.as_str().to_owned(), why)),
        }
    }
    let left_out = left_out.into_iter().map(|(id, why)| BlockLeftOut { id, why });
    let answer = BlocksWritten {
        written,
        unchanged,
        left_out: left_out.collect(),
        path: shown(path),
    };
    context.answer(&answer, |answer, context| {
        for BlockLeftOut { id, why } in &answer.left_out {
            context.line(format_args!("{id} was not written: {why}"))?;
        }
        let (what, path) = (counted(written, "file"), &answer.path);
        context.line(format_args!("wrote {what} to {path}, {unchanged} unchanged"))
    })
}

//! `inspect files`: lists the files of a store, with details of segments and checkpoints.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use crate::cli::commands::prelude::*;
use treering::inspect::engine;
use treering::inspect::log::SegmentStanding;

/// List the files, the segments of the log and the checkpoints
///
/// # Examples
/// ```text
/// treering inspect files
/// treering inspect files --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Files {}

/// A file of the store.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct File {
    /// The path of the file in the folder of the store.
    file: String,
    /// The length of the file. Null if the file is missing although the manifest lists it.
    bytes: Option<u64>,
    /// The state of a segment in the manifest, or the use of a checkpoint when the store is opened.
    state: Option<String>,
    /// The length at which a segment was sealed.
    sealed_at: Option<u64>,
    first_batch: Option<u64>,
    /// The last batch of a sealed segment, or the last batch that a checkpoint covers.
    last_batch: Option<u64>,
    /// The number of commits in a checkpoint.
    commits: Option<u64>,
    /// Whether the file is an unlisted segment or an unusable checkpoint.
    #[serde(skip)]
    is_doubtful: bool,
}

impl Files {
    pub(super) fn run(context: &mut Context) -> Done {
        let inspection = engine::inspection(context.store()?)?;
        let mut files: BTreeMap<String, File> = BTreeMap::new();
        for (file, bytes) in inspection.files()? {
            files.entry(file).or_default().bytes = Some(bytes);
        }
        for segment in inspection.segments()? {
            let file = files.entry(segment.file).or_default();
            file.bytes = segment.file_bytes;
            file.state = Some(segment.state.name().to_owned());
            file.is_doubtful = segment.state == SegmentStanding::Unlisted;
            file.sealed_at = segment.sealed_bytes;
            file.first_batch = segment.first_batch;
            file.last_batch = segment.last_batch;
        }
        for checkpoint in engine::checkpoints_in(context.store()?)? {
            let file = files.entry(checkpoint.file).or_default();
            file.bytes = Some(checkpoint.bytes);
            file.last_batch = checkpoint.batch;
            file.commits = checkpoint.commits;
            file.is_doubtful = checkpoint.unusable.is_some();
            // The newest usable file names the files that it builds on, so opening the store reads them all.
            file.state = Some(match checkpoint.unusable {
                Some(why) => why.to_string(),
                None => "read when the store is opened".to_owned(),
            });
        }
        let files = files.into_iter().map(|(file, rest)| Ok(File { file, ..rest }));
        context.rows(files, cells_of)
    }
}

fn cells_of(row: &File, context: &Context) -> Columns {
    let bytes = match row.bytes {
        Some(bytes) => right(human::bytes(bytes)),
        None => coloured(Meaning::Bad, "missing"),
    };
    let state = row.state.as_deref().unwrap_or_default();
    let state = if row.is_doubtful {
        coloured(Meaning::Changed, state)
    } else {
        plain(state)
    };
    let mut cells = vec![("file", named(&row.file)), ("bytes", bytes), ("state", state)];
    let numbers = ["sealed_at", "first_batch", "last_batch", "commits"];
    cells.extend(columns(row, &numbers, context));
    cells
}

//! `inspect files`: the files of a store, with details of segments and checkpoints.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use crate::cli::commands::prelude::*;
use crate::log::SegmentStanding;

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
#[expect(clippy::struct_field_names, reason = "the fields of the JSON document")]
pub(super) struct File {
    /// Its path in the folder of the store.
    file: String,
    /// Its length; null if the file is missing although the manifest lists it.
    bytes: Option<u64>,
    /// The state of a segment in the manifest, or whether opening reads a checkpoint.
    state: Option<String>,
    /// The length at which a segment was sealed.
    sealed_at: Option<u64>,
    first_batch: Option<u64>,
    /// The last batch of a sealed segment, or the last batch that a checkpoint covers.
    last_batch: Option<u64>,
    /// The number of commits in a checkpoint.
    commits: Option<u64>,
    #[serde(skip)]
    meaning: Option<Meaning>,
}

impl Files {
    pub(super) fn run(context: &mut Context) -> Done {
        let inspection = Memory::inspection(context.store()?)?;
        let mut files = BTreeMap::new();
        for (file, bytes) in inspection.files()? {
            let found = File {
                file: file.clone(),
                bytes: Some(bytes),
                ..File::default()
            };
            files.insert(file, found);
        }
        for segment in inspection.segments()? {
            let file = files.entry(segment.file.clone()).or_default();
            file.file = segment.file;
            file.bytes = segment.file_bytes;
            file.state = Some(segment.state.name().to_owned());
            file.meaning = (segment.state == SegmentStanding::Unlisted).then_some(Meaning::Changed);
            file.sealed_at = segment.sealed_bytes;
            file.first_batch = segment.first_batch;
            file.last_batch = segment.last_batch;
        }
        add_checkpoints(context, &mut files)?;
        context.rows(files.into_values().map(Ok), columns)
    }
}

fn add_checkpoints(context: &Context, files: &mut BTreeMap<String, File>) -> Result<()> {
    let mut usable = 0;
    // The newest comes first. Opening reads the first usable one.
    for checkpoint in Memory::checkpoints_in(context.store()?)? {
        let file = files.entry(checkpoint.file.clone()).or_default();
        file.file = checkpoint.file;
        file.bytes = Some(checkpoint.bytes);
        file.last_batch = checkpoint.batch;
        file.commits = checkpoint.commits;
        file.meaning = checkpoint.unusable.as_ref().map(|_| Meaning::Changed);
        usable += u64::from(checkpoint.unusable.is_none());
        file.state = Some(match checkpoint.unusable {
            Some(why) => why.to_string(),
            None if usable == 1 => "opening reads it".to_owned(),
            None => "kept in case the newer one is damaged".to_owned(),
        });
    }
    Ok(())
}

fn columns(row: &File, _: &Context) -> Columns {
    let optional = |count: Option<u64>| count.map_or_else(|| plain(""), number);
    let state = row.state.as_deref().unwrap_or_default();
    vec![
        ("file", coloured(Meaning::Name, &row.file)),
        (
            "bytes",
            row.bytes.map_or_else(
                || coloured(Meaning::Bad, "missing"),
                |bytes| right(human::bytes(bytes)),
            ),
        ),
        (
            "state",
            row.meaning
                .map_or_else(|| plain(state), |meaning| coloured(meaning, state)),
        ),
        ("sealed at", optional(row.sealed_at)),
        ("first batch", optional(row.first_batch)),
        ("last batch", optional(row.last_batch)),
        ("commits", optional(row.commits)),
    ]
}

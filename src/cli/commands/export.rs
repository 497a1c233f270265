//! `export`: every object, one a line, in the form that `put --jsonl` reads.
//!
//! # Layer
//! L9, part of cli.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::pictures;
use crate::cli::context::{Context, shown};
use crate::cli::errors::{DONE, Done};
use crate::cli::human::counted;
use crate::cli::verbs::{Export, ExportFormat};
use crate::engine::View;
use crate::error::{Error, Result};
use crate::ingest::json as lines;
use crate::object::Object;

pub(super) fn export(context: &mut Context, verb: &Export) -> Done {
    if let Some(drawing) = pictures::Drawing::of(verb.format) {
        return pictures::export(context, verb, drawing);
    }
    if verb.format != ExportFormat::Jsonl {
        let refused = Error::invalid("this version exports JSON Lines only").with_code("unsupported_format");
        return Err(refused
            .with_hint("leave --format out, or say --format jsonl")
            .into());
    }
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let objects = sources_first(parents_first(&view)?);
    let Some(path) = verb.path.as_deref().filter(|path| *path != Path::new("-")) else {
        for object in &objects {
            context.output.document(&lines::stored_object_to_json(object)?)?;
        }
        return Ok(DONE);
    };
    write_file(path, |out| {
        for object in &objects {
            let line = lines::stored_object_to_json(object)?;
            serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "objects": objects.len(), "path": shown(path) }))?;
    } else {
        let what = counted(objects.len() as u64, "object");
        context
            .output
            .line(format_args!("wrote {what} to {}", shown(path)))?;
    }
    Ok(DONE)
}

/// All objects so that a parent stands before its children, siblings by position and then id: the order is
/// the same for the same state, and batches of any size can be read back.
fn parents_first(view: &View) -> Result<Vec<Object>> {
    let mut below: BTreeMap<Option<String>, Vec<Object>> = BTreeMap::new();
    for object in view.objects() {
        let object = object?;
        below
            .entry(object.parent().map(str::to_owned))
            .or_default()
            .push(object);
    }
    for siblings in below.values_mut() {
        // Read from the end, so the first sibling stands last.
        siblings.sort_unstable_by(|one, other| sibling_order(other).cmp(&sibling_order(one)));
    }
    let mut ordered = Vec::new();
    let mut waiting = below.remove(&None).unwrap_or_default();
    while let Some(object) = waiting.pop() {
        if let Some(children) = below.remove(&Some(object.id().to_owned())) {
            waiting.extend(children);
        }
        ordered.push(object);
    }
    if below.is_empty() {
        Ok(ordered)
    } else {
        Err(Error::corrupt("some objects name a parent that is not there").with_hint("see treering verify"))
    }
}

/// The same objects with what they are derived from before them, where that is among them: read back in this
/// order, each finds its sources.
fn sources_first(objects: Vec<Object>) -> Vec<Object> {
    let by_digest: HashMap<_, _> = objects
        .iter()
        .enumerate()
        .map(|(at, object)| (object.digest(), at))
        .collect();
    let by_id: HashMap<_, _> = objects
        .iter()
        .enumerate()
        .map(|(at, object)| (object.id(), at))
        .collect();
    let (mut begun, mut order) = (vec![false; objects.len()], Vec::with_capacity(objects.len()));
    for first in 0..objects.len() {
        let mut waiting = vec![(first, false)];
        while let Some((at, ready)) = waiting.pop() {
            if ready {
                order.push(at);
            } else if !std::mem::replace(&mut begun[at], true) {
                waiting.push((at, true));
                let sources = objects[at]
                    .derived_from()
                    .filter_map(|digest| by_digest.get(&digest));
                let parent = objects[at].parent().and_then(|parent| by_id.get(parent));
                waiting.extend(sources.chain(parent).map(|&before| (before, false)));
            }
        }
    }
    let mut objects: Vec<_> = objects.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| objects[at].take()).collect()
}

/// Positions by their bytes, absent ones after all others, then ids.
fn sibling_order(object: &Object) -> (bool, &str, &str) {
    (
        object.position().is_none(),
        object.position().unwrap_or_default(),
        object.id(),
    )
}

/// Why writing a file stopped.
pub(super) enum Stopped {
    Reading(Error),
    Writing(io::Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Reading(error)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Writing(error)
    }
}

/// Writes the file beside its place and moves it there when it is whole.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Stopped>,
) -> Result<()> {
    let failed = |error| Error::io(format_args!("writing {}", shown(path)), error);
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let whole = || -> Result<(), Stopped> {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        write(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        Ok(())
    };
    whole().map_err(|stopped| {
        // What failed is told; that the unfinished file may stay behind is not worth a second message.
        drop(fs::remove_file(&unfinished));
        match stopped {
            Stopped::Reading(error) => error,
            Stopped::Writing(error) => failed(error),
        }
    })
}

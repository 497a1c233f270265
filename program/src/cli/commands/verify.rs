//! `verify`: checks every byte, digest and commit of the store.
//!
//! # Layer
//! Layer 10, part of cli.

use super::findings::show_finding;
use super::prelude::*;
use crate::answers::store::{StateAt, Verified};
use crate::cli::context::explain;
use crate::verified;
use treering::inspect::engine;
use treering::upkeep::{FindingKind, Severity, VerifyDepth, VerifyReport};

/// The files without which even a degraded reader cannot open the store.
const NEEDED_TO_READ: [&str; 2] = ["format", "manifest"];

/// Check every byte of the store
///
/// Also checks each digest and commit.
///
/// # Notes
/// Writes nothing to the store, and also checks a store that cannot be opened. Each finding is corrupt, missing, cut (too short),
/// older, foreign (of another store) or unproven (perhaps never acknowledged). Harmless findings do not change the exit
/// code. Exit code 5: the store is damaged.
///
/// # Examples
/// ```text
/// treering verify
/// treering verify --quick --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Verify {
    /// Check only the checksums of frames and seals, not the digests of objects
    #[arg(long)]
    quick: bool,
}

impl Verb for Verify {
    const ANSWERS: &'static [Form] = &[form::<Verified>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let path = context.store()?;
        let depth = if self.quick {
            VerifyDepth::Quick
        } else {
            VerifyDepth::Full
        };
        let report = engine::verify_store(&path, &context.reading_options(), depth);
        let report = report.map_err(|error| match error.kind() {
            ErrorKind::NotFound => explain(error.with_code(ErrorCode::NoStore), &path),
            _ => explain(error, &path),
        })?;
        if report.ok && !self.quick && !context.is_temporary {
            // The age of the last one is among the metrics of a server. Without a state folder, it is not known.
            drop(verified::note(&path, Time::now()));
        }
        let at = match context.at() {
            Some(_) if report.ok => Some(read_state(context)?),
            _ => None,
        };
        let verified = Verified { report, at };
        context.answer(&verified, show_verified)?;
        if verified.report.ok {
            Ok(DONE)
        } else {
            Err(damaged(&path, &verified.report))
        }
    }
}

/// Reads every object in the state of `--at`, with its content, to verify it.
fn read_state(context: &Context) -> Result<StateAt> {
    // The report already contains every warning, so this call opens the store without printing warnings.
    let memory = context.reading_options().open(context.store()?)?;
    let view = context.view(&memory)?;
    for object in view.objects() {
        object?;
    }
    Ok(StateAt {
        seq: view.commit().commit.seq,
        root: view.root(),
        objects: view.len(),
    })
}

fn show_verified(answer: &Verified, context: &mut Context) -> Result<()> {
    let path = shown(&context.store()?);
    let (output, report) = (&mut context.output, &answer.report);
    let (meaning, verdict) = if report.ok {
        (Meaning::Good, "ok")
    } else {
        (Meaning::Bad, "damaged")
    };
    let (verdict, size) = (output.paint(meaning, verdict), bytes(report.bytes));
    let commits = counted(report.commits, "commit");
    let versions = counted(report.versions, "version");
    output.line(format_args!(
        "{verdict}: {commits}, {versions}, {size} read in {path}"
    ))?;
    if let Some(StateAt { seq, root, objects }) = &answer.at {
        let (root, objects) = (short(root.as_bytes()), counted(*objects, "object"));
        output.line(format_args!(
            "the state at seq {seq}, root {root}, is intact: {objects}"
        ))?;
    }
    let some = |count, what, how| (count > 0).then(|| format!("{} {how}", counted(count, what)));
    let erased = some(report.erased, "version", "erased");
    let lost = some(report.lost, "version", "lost");
    let thinned = some(report.thinned, "commit", "thinned");
    let gone: Vec<_> = [erased, lost, thinned].into_iter().flatten().collect();
    if !gone.is_empty() {
        output.line(gone.join(", "))?;
    }
    for finding in &report.damage {
        show_finding(output, Meaning::Bad, "damage", finding)?;
    }
    for finding in &report.derived {
        let label = match (finding.severity, finding.kind()) {
            (Severity::Unsure, _) | (_, FindingKind::Older) => "unsure",
            _ => "harmless",
        };
        show_finding(output, Meaning::Changed, label, finding)?;
    }
    Ok(())
}

fn damaged(path: &Path, report: &VerifyReport) -> Error {
    let places = counted(report.damage.len() as u64, "place");
    let mut files = report.damage.iter().map(|finding| &finding.damage.file);
    let hint = match files.find(|file| NEEDED_TO_READ.contains(&file.as_str())) {
        Some(file) => format!(
            "{file} is needed to write and to read; --degraded and treering salvage read the store without this file, and salvage writes a new store"
        ),
        None => {
            "treering doctor prints the repair command; --degraded reads the newest state before the damage"
                .to_owned()
        }
    };
    Error::corrupt(format!("the store in {} is damaged in {places}", shown(path)))
        .with_code(ErrorCode::Damaged)
        .with_hint(hint)
}

//! `salvage`: writes a new store with everything that still verifies.
//!
//! # Layer
//! Layer 10, part of cli.

use super::doctor::not_opened;
use super::findings::show_finding;
use super::prelude::*;
use crate::answers::store::Salvaged;
use crate::cli::context::quoted;

/// The number of lost objects that people see.
const LOST_SHOWN: usize = 20;

/// Save intact data in a new store
///
/// The new store gets everything in the damaged store that still verifies.
///
/// # Notes
/// Salvage only reads FROM, and TO must not exist; --store has no effect. If the newest version of an object is lost,
/// the object gets an earlier one (older), or is missing (lost). Exit code 5: something is lost.
///
/// # Examples
/// ```text
/// treering salvage .treering saved
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Salvage {
    /// The folder of the damaged store
    from: PathBuf,
    /// The folder of the new store
    to: PathBuf,
}

impl Verb for Salvage {
    const NAME: &'static str = "salvage";
    const ANSWERS: &'static [Form] = &[form::<Salvaged>("")];

    fn run(self, context: &mut Context) -> Done {
        let report = Memory::salvage_store(&self.from, &self.to, &context.engine_options())
            .map_err(|error| not_opened(error, &self.from))?;
        let salvaged = Salvaged {
            report,
            store: shown(&self.to),
        };
        context.answer(&salvaged, show_salvaged)?;
        Ok(if salvaged.report.is_whole() { DONE } else { DAMAGED })
    }
}

fn show_salvaged(answer: &Salvaged, context: &mut Context) -> Result<(), Failure> {
    let (report, output) = (&answer.report, &mut context.output);
    output.line(format_args!(
        "saved {}, {}, {} into {}",
        counted(report.objects, "object"),
        counted(report.versions, "version"),
        counted(report.commits, "commit"),
        answer.store,
    ))?;
    for found in &report.lost {
        show_finding(output, Meaning::Bad, "lost", found)?;
    }
    for found in &report.unsure {
        show_finding(output, Meaning::Changed, "unsure", found)?;
    }
    let lost = output.paint(Meaning::Bad, "lost");
    if report.lost_commits > 0 {
        output.line(format_args!(
            "{lost}  {}: their changes may be missing",
            counted(report.lost_commits, "commit")
        ))?;
    }
    if report.lost_records > 0 {
        output.line(format_args!(
            "{lost}  {} of earlier states, such as contents and reasons",
            counted(report.lost_records, "record")
        ))?;
    }
    let older = output.paint(Meaning::Changed, "older");
    for id in &report.older_ids {
        output.line(format_args!(
            "{older}  object {}: its newest version is lost, so it gets an earlier one",
            one_line(id)
        ))?;
    }
    let known = report
        .lost_ids
        .iter()
        .map(|id| format!("object {}", one_line(id)));
    let nameless = report
        .lost_keys
        .iter()
        .map(|key| format!("an object whose id is lost, key path {key}"));
    let contents = report
        .lost_contents
        .iter()
        .map(|id| format!("the content of object {}", one_line(id)));
    for object in known.chain(nameless).chain(contents).take(LOST_SHOWN) {
        output.line(format_args!("{lost}  {object}"))?;
    }
    let all = report.lost_ids.len() + report.lost_keys.len() + report.lost_contents.len();
    let more = all.saturating_sub(LOST_SHOWN);
    if more > 0 {
        let objects = counted(more as u64, "more object");
        output.line(format_args!("{lost}  {objects}: --json lists all"))?;
    }
    for name in &report.lost_references {
        output.line(format_args!("{lost}  {}", one_line(name)))?;
    }
    if report.is_whole() {
        output.line(if report.unsure.is_empty() {
            "nothing is lost"
        } else {
            "nothing else is lost"
        })?;
    }
    let to = quoted(Path::new(&answer.store));
    output.note(
        "next",
        format!("next: treering verify --store {to}; keep the damaged folder until it succeeds"),
    );
    Ok(())
}

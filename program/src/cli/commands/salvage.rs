//! `salvage`: writes a new store with all data that still verifies.
//!
//! # Layer
//! Layer 10, part of cli.

use super::doctor::not_opened;
use super::findings::show_finding;
use super::prelude::*;
use crate::answers::store::Salvaged;
use crate::cli::context::quoted;
use crate::cli::trusted_stores::TrustedStores;
use treering::inspect::engine;

/// The number of lost objects in the output for people.
const LOST_SHOWN: usize = 20;

/// Save intact data into a new store
///
/// The new store gets all data of the damaged store that still verifies.
///
/// # Notes
/// Salvage does not change FROM, and TO must not exist; --store has no effect. If the newest version of an object is
/// lost, the new store contains an earlier version (older) or no version (lost). Exit code 5: some data is lost.
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
    const ANSWERS: &'static [Form] = &[form::<Salvaged>("")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        // The new store has the classes of the damaged one.
        context.options.check_may_write()?;
        let report = engine::salvage_store(&self.from, &self.to, &context.engine_options())
            .map_err(|error| not_opened(error, &self.from))?;
        // The new store is as trusted as the damaged one.
        if TrustedStores::of_user().is_ok_and(|stores| stores.has(&self.from)) {
            context.register(&self.to);
        }
        let salvaged = Salvaged {
            report,
            store: shown(&self.to),
        };
        context.answer(&salvaged, show_salvaged)?;
        Ok(if salvaged.report.is_whole() { DONE } else { DAMAGED })
    }
}

fn show_salvaged(answer: &Salvaged, context: &mut Context) -> Result<()> {
    let (report, output) = (&answer.report, &mut context.output);
    let objects = counted(report.objects, "object");
    let versions = counted(report.versions, "version");
    let (commits, store) = (counted(report.commits, "commit"), &answer.store);
    output.line(format_args!(
        "saved {objects}, {versions}, {commits} into {store}"
    ))?;
    for found in &report.lost {
        show_finding(output, Meaning::Bad, "lost", found)?;
    }
    for found in &report.unsure {
        show_finding(output, Meaning::Changed, "unsure", found)?;
    }
    let older = output.paint(Meaning::Changed, "older");
    for id in &report.older_ids {
        let id = one_line(id);
        output.line(format_args!(
            "{older}  object {id}: its newest version is lost, so an earlier version replaces it"
        ))?;
    }
    let some = |count, what, how| (count > 0).then(|| format!("{}{how}", counted(count, what)));
    let mut objects: Vec<String> = Vec::new();
    objects.extend(report.lost_ids.iter().map(|id| format!("object {id}")));
    let keys = report.lost_keys.iter();
    objects.extend(keys.map(|key| format!("an object with a lost id, key path {key}")));
    let contents = report.lost_contents.iter();
    objects.extend(contents.map(|id| format!("the content of object {id}")));
    let more = objects.len().saturating_sub(LOST_SHOWN) as u64;
    objects.truncate(LOST_SHOWN);
    objects.extend(some(more, "more object", "; --json lists all lost objects"));
    let of_earlier = " of earlier states, such as contents and reasons";
    let records = some(report.lost_records, "record", of_earlier);
    let commits = some(report.lost_commits, "commit", ": their changes may be missing");
    let lost = commits.into_iter().chain(records).chain(objects);
    let label = output.paint(Meaning::Bad, "lost");
    for lost in lost.chain(report.lost_references.iter().cloned()) {
        output.line(format_args!("{label}  {}", one_line(&lost)))?;
    }
    if report.is_whole() {
        let else_ = if report.unsure.is_empty() { "" } else { " else" };
        output.line(format_args!("nothing{else_} is lost"))?;
    }
    let to = quoted(Path::new(store));
    let next = format!("next: treering verify --store {to}; keep the damaged folder until verify succeeds");
    output.note("next", next);
    Ok(())
}

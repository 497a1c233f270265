//! `erase`: removes objects, versions and texts from every file, permanently.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::commits::{ErasePreview, Erased, ErasedParts};
use treering::upkeep::{ErasedKind, Erasing};

/// The number of records in the output for people.
const RECORDS_SHOWN: usize = 20;

/// Erase data from every file
///
/// Objects, versions, contents or reasons are removed permanently.
///
/// # Notes
/// For an ID, removes the object and erases all its versions from history, drafts and snapshots. A DIGEST (8 digits or
/// more) names one earlier version, a content, a reason or a source. Roots and digests of commits do not change, and
/// the history still verifies. Later reads report who erased the data, and why. Erasure cannot reach backups and freed
/// blocks of the device.
///
/// # Examples
/// ```text
/// treering erase facts/password --dry-run
/// treering erase facts/password -m 'a secret' --yes
/// treering erase 5f0c81d2 --yes
/// ```
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent option")]
#[command(args = args::writes(), verbatim_doc_comment)]
pub(crate) struct Erase {
    /// Objects, or digests of versions, contents, reasons or sources
    #[arg(value_name = "ID|DIGEST", required = true)]
    targets: Vec<String>,
    /// Also erase contents that other objects share, and earlier versions that name an erased parent
    #[arg(long)]
    everywhere: bool,
    /// Also erase every version that was derived from an erased version
    #[arg(long)]
    derived: bool,
    /// Print what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Confirm the erasure, which cannot be undone
    #[arg(long)]
    yes: bool,
}

impl Verb for Erase {
    const ANSWERS: &'static [Form] = &[
        form::<Erased>(""),
        form::<ErasePreview>("without --yes, or with --dry-run"),
    ];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let erasing = Erasing {
            targets: self.targets.clone(),
            everywhere: self.everywhere,
            derived: self.derived,
        };
        if self.yes && !self.dry_run {
            return erase(context, &erasing);
        }
        let sum = preview(context, erasing)?;
        if self.dry_run {
            context.note_dry_run(true);
            return Ok(DONE);
        }
        let text = format!("nothing was erased; with --yes, {sum} would be erased permanently");
        Err(usage_error(text, "add --yes to confirm"))
    }
}

/// Prints a preview of the erasure, and returns its counts as text.
fn preview(context: &mut Context, mut erasing: Erasing) -> Result<String> {
    let memory = context.open_to_read()?;
    let (report, refused) = match memory.erase_preview(&erasing) {
        Err(refused) if refused.code() == ErrorCode::Shared => {
            erasing.everywhere = true;
            (memory.erase_preview(&erasing)?, Some(refused))
        }
        previewed => (previewed?, None),
    };
    let preview = ErasePreview {
        parts: ErasedParts::from(&report),
        dry_run: true,
        needs: refused.map(|refused| format!("this erasure needs --everywhere: {refused}")),
    };
    context.answer(&preview, |preview, context| preview.parts.show(context, true))?;
    if let Some(needs) = &preview.needs {
        context.note("needs", needs);
    }
    Ok(preview.parts.sum())
}

fn erase(context: &mut Context, erasing: &Erasing) -> Done {
    let memory = context.open_to_write()?;
    let report = context.agent_of(&memory).erase(erasing, &context.writer())?;
    context.print_warnings(&memory);
    let commit = report.commit.as_ref();
    let commit = commit.ok_or_else(|| Error::internal("the erasure made no commit"))?;
    let answer = Erased {
        parts: ErasedParts::from(&report),
        commit: commit.clone(),
    };
    context.answer(&answer, |answer, context| {
        answer.parts.show(context, false)?;
        let head = context.head_line(&answer.commit);
        context.line(head)
    })?;
    let note = "erased data cannot be restored; backups of this folder may still contain the data";
    context.note("gone", note);
    #[cfg(feature = "remote")]
    if let Ok(remotes) = crate::cli::remotes::Remotes::of(&memory) {
        for remote in remotes.entries() {
            let text = format!(
                "the remote {0} may have the data until you run: treering push {0}",
                remote.name
            );
            context.note("next", text);
        }
    }
    Ok(DONE)
}

impl ErasedParts {
    /// Formats the counts, for example `3 versions and 1 content, 4.1 KiB`.
    fn sum(&self) -> String {
        let kinds = [ErasedKind::Version, ErasedKind::Content, ErasedKind::Text];
        let counts = kinds.into_iter().filter_map(|kind| {
            let count = self.records.iter().filter(|record| record.kind == kind).count();
            (count > 0).then(|| counted(count as u64, kind.name()))
        });
        let counts: Vec<_> = counts.collect();
        format!("{}, {}", counts.join(" and "), bytes(self.bytes))
    }

    fn show(&self, context: &mut Context, is_preview: bool) -> Result<()> {
        let words = if is_preview {
            [
                "would be removed from the state",
                "would also be erased in other objects",
                "would erase",
            ]
        } else {
            ["removed from the state", "also erased in other objects", "erased"]
        };
        let output = &mut context.output;
        for record in self.records.iter().take(RECORDS_SHOWN) {
            let digest = output.paint(Meaning::Name, human::short_hex(&to_hex(&record.digest)));
            let size = bytes(record.bytes);
            let subject = match (record.kind, &record.id) {
                (ErasedKind::Version, Some(id)) => one_line(id),
                (ErasedKind::Content, _) => "a content".to_owned(),
                _ => "a reason or source".to_owned(),
            };
            output.line(format_args!("  {digest}  {subject}  {size}"))?;
        }
        if let more @ 1.. = self.records.len().saturating_sub(RECORDS_SHOWN) {
            output.line(format_args!("  and {more} more"))?;
        }
        for (label, ids) in [(words[0], &self.unlinked), (words[1], &self.holders)] {
            if !ids.is_empty() {
                output.line(format_args!("{label}: {}", named(ids)))?;
            }
        }
        let label = output.paint(Meaning::Bad, words[2]);
        output.line(format_args!("{label}: {}", self.sum()))
    }
}

/// Formats the first ids, and the number of the remaining ids.
fn named(ids: &[String]) -> String {
    let shown = ids.iter().take(RECORDS_SHOWN).map(|id| one_line(id));
    let mut named: Vec<_> = shown.collect();
    if ids.len() > named.len() {
        named.push(format!("{} more", ids.len() - named.len()));
    }
    named.join(", ")
}

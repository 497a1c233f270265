//! `prove`: prints a proof about one object.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::proof::ProofDocument;

/// Prove if an object is in a state
///
/// The proof shows that one object is in the state of a root, or that it is absent.
///
/// # Examples
/// ```text
/// treering prove tea --json > tea.proof
/// treering prove tea --at release-1 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Prove {
    /// The id of an object, which may be absent
    id: String,
}

impl Verb for Prove {
    const ANSWERS: &'static [Form] = &[form::<ProofDocument>("")];

    fn run(self, context: &mut Context) -> Done {
        let id = Id::new(&self.id)?;
        let (memory, view) = context.open_view()?;
        let answer = ProofDocument::of(&memory, &view, &id)?;
        // Other programs read the proof, so it is JSON in every output mode.
        context.output.document(&answer)?;
        let what = if answer.object.is_some() { "is" } else { "is not" };
        let note = format!(
            "proves that '{id}' {what} in the state; check the proof with: treering check-proof FILE"
        );
        context.output.note_for_people("proven", note);
        Ok(DONE)
    }
}

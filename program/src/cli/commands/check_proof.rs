//! `check-proof`: checks a proof without the store.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::proof::{self, ProofFails, ProofHolds};
use treering::Root;

/// The largest accepted document, in bytes. A proof of 64 levels with 15 siblings each needs less than a tenth.
const DOCUMENT_BYTES_MAX: u64 = 1 << 20;

/// Check a proof; needs no store
///
/// # Notes
/// Exit code 0: the proof holds. 5: the proof does not hold.
///
/// # Examples
/// ```text
/// treering check-proof tea.proof --root 5f0c...
/// treering prove tea --json | treering check-proof -
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckProof {
    /// The proof document; - is standard input
    file: PathBuf,
    /// The expected root of the state, all 64 digits
    #[arg(long, value_name = "ROOT")]
    root: Option<Root>,
}

impl Verb for CheckProof {
    const ANSWERS: &'static [Form] = &[
        form::<ProofHolds>("the proof holds"),
        form::<ProofFails>("the proof does not hold"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let bytes = read_input(context, &self.file, DOCUMENT_BYTES_MAX)?;
        let checked = String::from_utf8(bytes)
            .map_err(|_| "the document is not UTF-8 text".to_owned())
            .and_then(|text| proof::check(&text))
            .and_then(|checked| match self.root {
                Some(root) if root.to_hex() != checked.root => {
                    let root = checked.root;
                    Err(format!(
                        "the document is for the root {root}, not for the requested root"
                    ))
                }
                _ => Ok(checked),
            });
        match checked {
            Ok(answer) => context.answer(&answer, |answer, context| {
                let holds = context.output.paint(Meaning::Good, "the proof holds");
                let what = match &answer.object {
                    Some(object) => format!("is in the state, with the digest {object}"),
                    None => "is not in the state".to_owned(),
                };
                context.line(format_args!("{holds}: '{}' {what}", one_line(&answer.id)))?;
                context.line(format_args!("root {}", answer.root))?;
                if self.root.is_none() {
                    let note = "compare the root above with a root that you trust, or pass the trusted root with --root";
                    context.note("root", note);
                }
                Ok(())
            }),
            Err(reason) => {
                let failed = Error::corrupt(format!("the proof does not hold: {}", one_line(&reason)));
                // The error contains the reason for people, so only the JSON answer repeats it.
                context.output.json(&ProofFails { ok: false, reason })?;
                Err(failed.with_code(ErrorCode::ProofFailed))
            }
        }
    }
}

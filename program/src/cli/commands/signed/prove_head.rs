//! `prove-head`: prints the request to a witness.
//!
//! # Layer
//! Layer 10, part of cli.

use super::super::prelude::*;
use super::{in_one_line, read_note};
use treering::signed::{SignedHead, commit_tree, prove_head};

/// Prove that a head extends another
///
/// Prints the newest signed head with the proof, as C2SP's witnesses take it. Sign the head first: treering sign.
///
/// # Examples
/// ```text
/// treering prove-head monday.head > request
/// treering prove-head 0 | treering witness - --state heads
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct ProveHead {
    /// The file of an older signed head, or - for standard input, or its number of commits
    old: String,
}

/// The answer of `prove-head`.
#[derive(Serialize, JsonSchema)]
struct HeadProved {
    origin: String,
    /// The number of commits of the older head.
    old: u64,
    /// The number of commits of the signed head.
    size: u64,
    root: String,
    /// The whole request.
    request: String,
}

impl Verb for ProveHead {
    const ANSWERS: &'static [Form] = &[form::<HeadProved>("")];

    fn run(self, context: &mut Context) -> Done {
        let size = self.old.parse::<u64>().ok();
        let old = match size {
            Some(_) => None,
            None => Some(read_note(context, Path::new(&self.old))?),
        };
        let memory = context.open_to_read()?;
        if let Some(old) = &old {
            check_old(&memory, old)?;
        }
        let request = prove_head(&memory, size.or(old.map(|old| old.size)).unwrap_or_default())?;
        let answer = HeadProved {
            origin: request.head.origin.clone(),
            old: request.old,
            size: request.head.size,
            root: to_hex(&request.head.root),
            request: request.to_string(),
        };
        context.answer(&answer, |answer, context| {
            context.output.text(&answer.request)?;
            let text = format!(
                "proves that {} continues {}",
                in_one_line(&request.head),
                counted(request.old, "commit")
            );
            context.output.note_for_people("proven", text);
            Ok(())
        })
    }
}

/// Checks that the line has every commit of an older head.
fn check_old(memory: &Memory, old: &SignedHead) -> Result<()> {
    if old.is_in(&commit_tree(memory)?) {
        return Ok(());
    }
    let text = format!("this history does not continue {}", in_one_line(old));
    Err(Error::corrupt(text)
        .with_code(ErrorCode::HistoryRewritten)
        .with_hint("treering check-head FILE tells more"))
}

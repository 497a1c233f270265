//! `head`: shows the root, which identifies the whole state.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::store::Head as HeadAnswer;

/// Show the root of the state
///
/// # Examples
/// ```text
/// treering head
/// treering head --at @-3 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Head {}

impl Verb for Head {
    const ANSWERS: &'static [Form] = &[form::<HeadAnswer>("")];

    fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let answer = HeadAnswer::of(&memory, &view, context.at().is_none());
        context.answer(&answer, |answer, context| {
            let is_compact = context.output.is_compact();
            let digits = |digest: &[u8; 32]| {
                if is_compact {
                    context.short(digest)
                } else {
                    to_hex(digest)
                }
            };
            let digits = |digest| context.output.paint(Meaning::Name, digits(digest));
            let root = format!("{}  ({})", digits(answer.root.as_bytes()), answer.hash);
            let time = time::with_age(answer.time, context.now(), &context.output);
            let fields = [
                ("root", Some(root)),
                ("commit", Some(digits(answer.commit.as_bytes()))),
                ("seq", Some(answer.seq.to_string())),
                ("time", Some(time)),
                ("objects", Some(answer.objects.to_string())),
                (
                    "history",
                    answer.history.map(|history| counted(history, "version")),
                ),
                ("store", answer.store.clone()),
            ];
            context.fields(0, fields)
        })
    }
}

//! `head`: the root that names the whole state.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::answers::store::{Head as HeadAnswer, absolute};
use crate::digest::to_hex;

/// The width of the column of field names.
const FIELD: usize = 9;

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
    const NAME: &'static str = "head";
    const ANSWERS: &'static [Form] = &[form::<HeadAnswer>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_to_read()?;
        let view = context.view(&memory)?;
        let info = view.commit();
        let answer = HeadAnswer {
            root: info.commit.root,
            commit: info.digest,
            seq: info.commit.seq,
            objects: view.len(),
            history: memory.history_len(),
            hash: memory.hash(),
            time: info.commit.time,
            store: memory.path().map(absolute),
        };
        context.answer(&answer, show_head)
    }
}

fn show_head(answer: &HeadAnswer, context: &mut Context) -> Result<(), Failure> {
    let digits = |digest: &[u8; 32]| {
        if context.output.is_compact() {
            return context.short(digest);
        }
        context.output.paint(Meaning::Name, to_hex(digest))
    };
    let (root, commit) = (digits(answer.root.as_bytes()), digits(answer.commit.as_bytes()));
    let fields = [
        ("root", format!("{root}  ({})", answer.hash)),
        ("commit", commit),
        ("seq", answer.seq.to_string()),
        (
            "time",
            time::with_age(answer.time, context.now(), &context.output),
        ),
        ("objects", answer.objects.to_string()),
        ("history", counted(answer.history, "version")),
    ];
    let store = answer.store.iter().map(|store| ("store", store.clone()));
    for (name, value) in fields.into_iter().chain(store) {
        context.output.field(0, FIELD, name, value)?;
    }
    Ok(())
}

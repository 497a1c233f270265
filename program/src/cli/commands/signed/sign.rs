//! `sign`: signs the head of a line.
//!
//! # Layer
//! Layer 10, part of cli.

use super::super::prelude::*;
use crate::cli::signing_keys;
use treering::signed::{SigningKey, sign_head};

/// Sign the head: how long history is
///
/// The printed note is a checkpoint of C2SP. With it, treering check-head finds out later whether anybody rewrote the
/// commits before it. The store keeps the note, too. --fork NAME signs the head of a fork.
///
/// # Notes
/// treering keygen NAME makes a key. Without --key, your only key signs. Several keys sign the same head: do that once when you change your key. The
/// key `witness` signs what treering witness prints, and is not meant.
///
/// # Examples
/// ```text
/// treering sign > monday.head
/// treering sign --key vera --key vera-2027 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::signs(), verbatim_doc_comment)]
pub(crate) struct Sign {
    /// The name of a key of yours; may be repeated
    #[arg(long, value_name = "NAME")]
    key: Vec<String>,
}

/// The answer of `sign`.
#[derive(Serialize, JsonSchema)]
struct HeadSigned {
    /// Which line of which store this is.
    origin: String,
    /// The number of commits: the seq of the head, plus 1.
    size: u64,
    /// The root of RFC 6962's tree over the digests of the commits.
    root: String,
    /// The whole note.
    note: String,
}

impl Verb for Sign {
    const ANSWERS: &'static [Form] = &[form::<HeadSigned>("")];

    fn run(self, context: &mut Context) -> Done {
        let keys = match &self.key[..] {
            [] => vec![signing_keys::load_only()?],
            names => names
                .iter()
                .map(|name| signing_keys::load(name))
                .collect::<Result<_>>()?,
        };
        let memory = context.open_to_write()?;
        let head = sign_head(
            &memory,
            &keys.iter().collect::<Vec<&SigningKey>>(),
            &context.writer(),
        )?;
        let answer = HeadSigned {
            origin: head.origin.clone(),
            size: head.size,
            root: to_hex(&head.root),
            note: head.to_string(),
        };
        context.answer(&answer, |answer, context| {
            // Other programs read the note, so it has nothing around it.
            context.output.text(&answer.note)?;
            let text = format!(
                "signed {}; check it with: treering check-head FILE",
                super::in_one_line(&head)
            );
            context.output.note_for_people("signed", text);
            Ok(())
        })
    }
}

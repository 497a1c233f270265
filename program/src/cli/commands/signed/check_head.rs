//! `check-head`: compares a signed head with the store, or with a newer one.
//!
//! # Layer
//! Layer 10, part of cli.

use super::super::prelude::*;
use super::{in_one_line, note_bytes, read_note};
use crate::cli::signing_keys::{self, Trusted};
use treering::signed::{Checked, NoteError, SignedHead, State, WitnessRequest, check_head, commit_tree};

/// Check if history has a signed head
///
/// The file is what treering sign printed, or a request of treering prove-head. A request with --old needs no store. Without
/// --key, a key of your list trusted-keys must have signed it.
///
/// # Notes
/// Exit code 0: the history is the signed one (same), or continues it (extends). 5: it is shorter, rewritten or other, or
/// the file is not what the key signed. treering prove-head prints what a witness needs. treering witness keeps the heads of others and signs that it saw them.
///
/// # Examples
/// ```text
/// treering check-head monday.head
/// treering check-head monday.head --key vera+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
/// treering check-head request --old monday.head
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckHead {
    /// The signed head or the request; - is standard input
    file: PathBuf,
    /// A verifier key that may have signed it; may be repeated
    #[arg(long, value_name = "VKEY")]
    key: Vec<String>,
    /// Also accept the head of another store, such as the one of which this is a copy
    #[arg(long)]
    any_origin: bool,
    /// The older signed head that a request continues
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
}

/// The answer of `check-head`.
#[derive(Serialize, JsonSchema)]
struct HeadChecked {
    ok: bool,
    state: State,
    origin: String,
    /// The number of commits of the signed head.
    size: u64,
    root: String,
    /// The number of commits of the history that was compared.
    history: u64,
    /// If the history was rewritten: the first rewritten commit is one of these.
    rewritten: Option<RewrittenIn>,
    signers: Vec<SignerLine>,
}

/// The seqs among which the first rewritten commit is.
#[derive(Serialize, JsonSchema)]
struct RewrittenIn {
    from: u64,
    to: u64,
}

/// A known key that signed.
#[derive(Serialize, JsonSchema)]
struct SignerLine {
    key: String,
    /// The time at which a witness saw the head; null for a signer.
    time: Option<Time>,
}

/// The answer of `check-head` if no known key signed the file.
#[derive(Serialize, JsonSchema)]
struct HeadRefused {
    ok: bool,
    /// Always `other`.
    state: State,
    /// Why no known key signed it, such as `bad_note`, `bad_signature` or `not_signed`.
    code: &'static str,
    reason: String,
}

impl Verb for CheckHead {
    const ANSWERS: &'static [Form] = &[
        form::<HeadChecked>(""),
        form::<HeadRefused>("the file is no head that a known key signed"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let keys = signing_keys::trusted(&self.key)?;
        let checked = self.compare(context, &keys);
        let (head, checked) = match checked {
            Err(error) if error.is_corruption() => {
                let reason = error.message().to_owned();
                let code = error.code().as_str();
                context.output.json(&HeadRefused {
                    ok: false,
                    state: State::Other,
                    code,
                    reason,
                })?;
                return Err(error);
            }
            checked => checked?,
        };
        let keys = keys.of(&head.origin);
        let signers = head.verify(&keys)?.into_iter();
        let answer = HeadChecked {
            ok: matches!(checked.state, State::Same | State::Extends),
            state: checked.state,
            origin: head.origin.clone(),
            size: head.size,
            root: to_hex(&head.root),
            history: checked.size,
            rewritten: checked.rewritten.map(|range| RewrittenIn {
                from: *range.start(),
                to: *range.end(),
            }),
            signers: signers
                .map(|signer| SignerLine {
                    key: signer.key.name().to_owned(),
                    time: signer.time,
                })
                .collect(),
        };
        if !answer.ok {
            context.output.json(&answer)?;
            return Err(failed(&answer));
        }
        context.answer(&answer, |answer, context| {
            let word = context.output.paint(Meaning::Good, answer.state);
            context.line(format_args!("{word}: {}", in_one_line(&head)))?;
            for signer in &answer.signers {
                let act = signer
                    .time
                    .map_or("signed".to_owned(), |time| format!("saw it by {time}"));
                context.line(format_args!("{} {act}", signer.key))?;
            }
            Ok(())
        })
    }
}

impl CheckHead {
    fn compare(&self, context: &mut Context, keys: &Trusted) -> Result<(SignedHead, Checked)> {
        let bytes = note_bytes(context, &self.file)?;
        let request = WitnessRequest::is_request(&bytes)
            .then(|| WitnessRequest::parse(&bytes))
            .transpose()?;
        if let Some(file) = &self.old {
            let request = request.ok_or_else(|| {
                usage_error(
                    "--old belongs to a request",
                    "treering prove-head FILE prints a request",
                )
            })?;
            let old = read_note(context, file)?;
            old.verify(&keys.of(&old.origin))?;
            request.head.verify(&keys.of(&request.head.origin))?;
            if request.old != old.size {
                return Err(NoteError::Proof.into());
            }
            let checked = self.continues(&request, &old);
            return Ok((request.head, checked));
        }
        let head = request
            .as_ref()
            .map_or_else(|| SignedHead::parse(&bytes), |request| Ok(request.head.clone()))?;
        let keys = keys.of(&head.origin);
        head.verify(&keys)?;
        let memory = context.open_to_read()?;
        let checked = check_head(&memory, &head, &keys, self.any_origin)?;
        if let Some(request) = request.filter(|_| matches!(checked.state, State::Same | State::Extends)) {
            let root = commit_tree(&memory)?.root_at(request.old);
            request.follows(root.map(|root| (request.old, root)))?;
        }
        Ok((head, checked))
    }

    /// Compares the head of a request with the older one.
    fn continues(&self, request: &WitnessRequest, old: &SignedHead) -> Checked {
        let head = &request.head;
        let holds = request.follows(Some((old.size, old.root)));
        let state = if !self.any_origin && head.origin != old.origin {
            State::Other
        } else if holds.is_err() {
            State::Rewritten
        } else if head.size == old.size {
            State::Same
        } else {
            State::Extends
        };
        Checked {
            state,
            size: head.size,
            rewritten: None,
        }
    }
}

/// Returns the error for a history that does not have the signed head.
fn failed(answer: &HeadChecked) -> Error {
    let (signed, history) = (counted(answer.size, "commit"), counted(answer.history, "commit"));
    let (code, text, hint) = match (answer.state, &answer.rewritten) {
        (State::Shorter, _) => (
            ErrorCode::HistoryShorter,
            format!("{signed} were signed, but the history has {history}"),
            "an older copy of the store was put back: look for the newer one",
        ),
        (State::Other, _) => (
            ErrorCode::OtherOrigin,
            format!("the head is of {}, which this is not", one_line(&answer.origin)),
            "name its store with --store; for a clone, a restored backup or a salvaged store add --any-origin",
        ),
        (_, range) => {
            let range = range.as_ref().map_or(String::new(), |range| {
                format!(": the first rewritten one is seq {} to {}", range.from, range.to)
            });
            let text = format!("the history was rewritten since {signed} were signed{range}");
            (
                ErrorCode::HistoryRewritten,
                text,
                "do not trust the store: compare it with a backup of that time",
            )
        }
    };
    Error::corrupt(text).with_code(code).with_hint(hint)
}

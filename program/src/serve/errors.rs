//! The parts of an error as a model sees them.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - SRE-1: the parts of an error have at most the caller's tokens, and no invisible character raw.
//! - SRE-2: a hint names tools of the profile. It names verbs of the command line only for a person.

use super::operations::{Profile, offers};
use crate::answers::program::Refused;
use treering::{Error, ErrorCode};
use treering_text::recall::CHARS_A_TOKEN;
use treering_text::visible::{cut, printable};

/// How a person reviews a withheld text. A stored id is never part of a command.
pub(crate) const REVIEW_HINT: &str = "a person reviews it with: treering promote ID --dry-run";

/// Returns the parts of an error within the limit: half of it for the message, and a quarter each for the hint and the ids.
pub(crate) fn shown(error: &Error, profile: Profile, tokens_max: usize) -> Refused {
    let quarter = tokens_max.saturating_mul(CHARS_A_TOKEN) / 4;
    // The names of the fields and the code take room, too.
    let room = quarter.saturating_sub(20);
    let mut left = room;
    let ids = error.ids().iter().map(|id| printable(id));
    let ids = ids.take_while(|id| {
        let needed = id.chars().count() + 3;
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    });
    Refused {
        code: error.code().as_str(),
        message: cut(&printable(error.message()), room * 2),
        ids: ids.collect(),
        hint: next_step(error, profile).map(|hint| cut(&printable(&hint), room)),
    }
}

/// Returns what a model can do about an error (SRE-2).
fn next_step(error: &Error, profile: Profile) -> Option<String> {
    let next = match error.code() {
        ErrorCode::NotFound => {
            "memory_recall finds items by words; memory_get without id lists them; memory_snapshot lists the names of states"
        }
        ErrorCode::NothingToUndo | ErrorCode::NothingToRedo => {
            "memory_undo takes back only what this session did; action: rollback returns to an older state"
        }
        ErrorCode::NothingSelected => {
            "memory_get names the session of an item; memory_status names that of this connection; give a session or source that wrote something"
        }
        ErrorCode::ChangedSince => {
            "somebody changed these items later; memory_recall shows them as they are, memory_remember corrects one"
        }
        ErrorCode::HasChildren => {
            "forget the items below it in the same call: memory_get names those of these scopes as children, and a person removes the others"
        }
        ErrorCode::HeadMoved | ErrorCode::Changed => "the memory changed meanwhile: call again",
        ErrorCode::NoSession => "memory_status names the session",
        ErrorCode::IdTaken => "choose another id",
        ErrorCode::Thinned | ErrorCode::Erased => "this state is no longer kept; choose a newer one",
        // The engine names a verb of the command line.
        ErrorCode::NoFork if error.hint().is_none_or(|hint| !is_for_a_client(hint)) => {
            "the fork was dropped; a person gives this client another one"
        }
        _ => error.hint()?,
    };
    let steps = next.split("; ");
    let steps = steps.filter(|step| is_for_a_client(step) && offers(profile, step));
    let steps: Vec<_> = steps.collect();
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// Returns whether a step names no verb or option of the command line, except for a person.
fn is_for_a_client(step: &str) -> bool {
    let is_for_a_person = step.contains("treering ") || step.contains("person");
    is_for_a_person || !(step.contains('`') || step.contains("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT SRE-1: the parts of an error have at most the caller's tokens, and no invisible character raw.
    #[test]
    fn an_error_is_cut_and_escaped() {
        let long = "\u{202E}".repeat(100_000);
        let error = Error::invalid(long.clone())
            .with_hint(long.clone())
            .with_ids(vec!["a\u{202E}".to_owned(), "b".repeat(300), long]);
        for tokens_max in [200, 2_000] {
            let Refused {
                code,
                message,
                hint,
                ids,
            } = shown(&error, Profile::Default, tokens_max);
            let all = format!("{code}{message}{}{}", hint.unwrap(), ids.concat());
            assert!(all.chars().count() <= tokens_max * CHARS_A_TOKEN);
            assert!(
                message.starts_with("\\u{202e}") && message.ends_with("..."),
                "{message}"
            );
            assert!(!all.contains('\u{202E}'));
            assert_eq!(ids[0], "a\\u{202e}");
        }
    }

    /// INVARIANT SRE-2: a hint names tools of the profile. It names verbs of the command line only for a person.
    #[test]
    fn a_hint_of_the_command_line_becomes_one_of_tools() {
        let error = Error::not_found("there is no object").with_hint("`list` shows the objects");
        let next = |profile| next_step(&error, profile).unwrap();
        assert!(next(Profile::Default).contains("memory_get"));
        assert_eq!(next(Profile::Minimal), "memory_recall finds items by words");
        for (hint, shown) in [
            (
                "give to, such as snap:0; memory_snapshot lists snapshots",
                Some("give to, such as snap:0"),
            ),
            (
                "choose another name, or delete it: `snapshot --delete NAME`",
                None,
            ),
            ("store the new item in that scope (--scope)", None),
            (
                "run `lanes`; a person reviews it with: treering promote x --dry-run",
                Some("a person reviews it with: treering promote x --dry-run"),
            ),
        ] {
            let error = Error::invalid("no").with_hint(hint);
            assert_eq!(next_step(&error, Profile::Minimal).as_deref(), shown);
        }
    }
}

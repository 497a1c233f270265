//! Finds the kind of answer that a question asks for, by its phrases. Supports only English.
//!
//! # Layer
//! Uses runs and folding, but not the index.

use crate::recall::text::runs::{RunKind, Runs};
use crate::recall::text::terms::fold;

/// A piece of the question: a sequence of letters and digits.
pub(crate) struct Piece<'a> {
    pub(crate) raw: &'a str,
    pub(crate) folded: String,
    /// The text between the previous piece and this piece.
    pub(crate) gap: &'a str,
    pub(crate) start: usize,
}

/// Returns the pieces of a question.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for run in Runs::new(text).filter(|run| run.kind == RunKind::Word) {
        for (start, raw) in run.pieces() {
            let mut folded = String::new();
            fold(raw, &mut folded);
            pieces.push(Piece {
                raw,
                folded,
                gap: &text[end..start],
                start,
            });
            end = start + raw.len();
        }
    }
    pieces
}

/// The kinds of answer that a question asks for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a question may ask for several")]
pub(crate) struct Asks {
    /// Whether the question asks for a time.
    pub(crate) when: bool,
    /// Whether the question asks for a number.
    pub(crate) many: bool,
    /// Whether the question asks for a current state.
    pub(crate) state: bool,
    /// Whether the question asks what was said in a conversation.
    pub(crate) said: bool,
}

/// Pairs for questions that ask for a state. The first text is a question word. The second text lists the words that
/// may follow it in such a question.
const STATE_HEADS: &[(&str, &str)] = &[
    ("what", "is are"),
    ("when", "is are do will"),
    ("where", "is are do does"),
    ("who", "is are"),
    ("has", "my the i we"),
    ("have", "my the i we"),
];
const SPEAKERS: &str = "i we you my our your me us";
const SAID: &str = "conversation conversations chat chats session sessions mention mentioned told said discussed brought talked";
const NOW: &str = "current currently now latest still newest";
const PHRASES: [&str; 4] = ["most recent", "most recently", "these days", "at the moment"];

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

/// Returns the kinds of answer that a question asks for.
pub(crate) fn asks(pieces: &[Piece<'_>]) -> Asks {
    let mut asks = Asks::default();
    let is_among = |list: &str| pieces.iter().any(|piece| is_in(list, &piece.folded));
    asks.said = is_among(SAID) && is_among(SPEAKERS);
    for (at, piece) in pieces.iter().enumerate() {
        let word = piece.folded.as_str();
        let next = pieces.get(at + 1);
        let spaced = next
            .filter(|next| next.gap == " ")
            .map_or("", |next| next.folded.as_str());
        match word {
            "how" => {
                asks.when |= is_in("long often", spaced);
                asks.many |= is_in("many much old tall far long often big large fast", spaced);
                asks.state |= is_in("many much long often old tall far large big high fast", spaced);
            }
            "what" | "which" => asks.when |= is_in("date day month year time", spaced),
            "when" => asks.when = true,
            _ => {}
        }
        asks.state |= is_in(NOW, word) || PHRASES.iter().any(|phrase| follows(pieces, at, phrase));
        for (head, after) in STATE_HEADS {
            asks.state |= word == *head && is_in(after, spaced) && !spaced.is_empty();
        }
        let contracted = next.is_some_and(|next| next.gap == "'" && next.folded == "s");
        asks.state |= contracted && is_in("what when where who", word);
        asks.state |= word == "what" && verb_follows(&pieces[at + 1..]);
    }
    asks
}

/// Returns whether the pieces from `at` on are the words of `phrase`.
fn follows(pieces: &[Piece<'_>], at: usize, phrase: &str) -> bool {
    let mut pieces = pieces[at..].iter().enumerate();
    phrase.split(' ').all(|word| {
        let next = pieces.next();
        next.is_some_and(|(place, piece)| piece.folded == word && (place == 0 || piece.gap == " "))
    })
}

/// Returns whether a verb follows within four pieces, but not as the first piece, as in "what kind of car is".
fn verb_follows(after: &[Piece<'_>]) -> bool {
    let joined = after.iter().take(4).take_while(|piece| piece.gap == " ");
    joined
        .skip(1)
        .any(|piece| is_in("is are do does have has can will should must", &piece.folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_a_conversation_are_known() {
        for text in [
            "In what order did I bring up the themes of our conversations?",
            "What have I said?",
        ] {
            assert!(asks(&pieces(text)).said, "{text}");
        }
        for text in [
            "In what order are the aspects listed?",
            "Which aspects were discussed?",
        ] {
            assert!(!asks(&pieces(text)).said, "{text}");
        }
    }

    #[test]
    fn questions_ask_for_what_the_table_says() {
        let cases: &[(&str, bool, bool, bool)] = &[
            ("", false, false, false),
            ("When did Anna leave?", true, false, false),
            ("What date is it", true, false, true),
            ("How often do they meet", true, true, true),
            ("how  many", false, false, false),
            ("What's my limit?", false, false, true),
            ("what did she say", false, false, false),
            ("What kind of car does he drive", false, false, true),
            ("What is left", false, false, true),
            ("which of these days", false, false, true),
            ("Where does he live at the moment", false, false, true),
            ("have we met", false, false, true),
            ("tell me of it", false, false, false),
        ];
        for &(text, when, many, state) in cases {
            let asks = asks(&pieces(text));
            assert_eq!(
                (asks.when, asks.many, asks.state),
                (when, many, state),
                "of {text:?}"
            );
        }
    }
}

//! Splits a text into the word pieces of a model.
//!
//! # Layer
//! Layer 0, inside `model`.

pub(crate) mod unigram;
pub(crate) mod vocabulary;
pub(crate) mod word_pieces;

use serde::{Deserialize, Serialize};

use self::unigram::Unigram;
use self::word_pieces::WordPieces;

/// How a model splits a text.
pub(crate) enum Tokenizer {
    WordPieces(WordPieces),
    Unigram(Unigram),
}

/// The kind of a tokenizer with its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Kind {
    /// The longest pieces of a word, from its start on (BERT).
    WordPieces {
        lower_case: bool,
        strip_accents: bool,
        ends: Ends,
    },
    /// The most probable pieces of a word (`SentencePiece`, XLM-R).
    Unigram { ends: Ends },
}

/// The numbers of special pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ends {
    /// The piece before each text.
    pub(crate) start: u32,
    /// The piece behind each text.
    pub(crate) end: u32,
    /// The piece for what has no piece.
    pub(crate) unknown: u32,
}

impl Tokenizer {
    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::WordPieces(pieces) => pieces.len(),
            Self::Unigram(unigram) => unigram.len(),
        }
    }

    /// Returns the numbers of the pieces of `text`, at most `max` of them, with start and end.
    pub(crate) fn split(&self, text: &str, max: usize) -> Vec<u32> {
        match self {
            Self::WordPieces(pieces) => pieces.split(text, max),
            Self::Unigram(unigram) => unigram.split(text, max),
        }
    }
}

//! Splits a text into its most probable pieces, as `SentencePiece` does for XLM-R.
//!
//! First the text is normalised: at each place, the longest key of a table becomes its replacement. The words of the
//! result are split one by one. A word gets a mark before it, and is then cut so that the sum of the pieces' scores is
//! largest. A character without a piece is unknown, and unknown characters in a row are one piece.
//!
//! # Layer
//! Layer 0, inside `model`.

use super::Ends;
use super::vocabulary::Vocabulary;

/// The mark before each word.
const MARK: char = '\u{2581}';
/// How much worse than the worst piece an unknown character is.
const UNKNOWN_PENALTY: f64 = 10.0;
/// The longest word that is split, in bytes. The rest of a longer one is another word.
const WORD_BYTES_MAX: usize = 1_024;

/// The table of a normaliser: keys, and the replacement of each.
pub(crate) struct Replacements {
    pub(crate) keys: Vocabulary,
    /// The replacements, by the number of their key.
    pub(crate) values: Vocabulary,
}

/// The vocabulary, the scores and the normaliser.
pub(crate) struct Unigram {
    pieces: Vocabulary,
    scores: Vec<f32>,
    unknown_score: f64,
    replacements: Replacements,
    ends: Ends,
}

/// The best way to a place in a word.
#[derive(Clone, Copy)]
struct Step {
    score: f64,
    from: usize,
    piece: u32,
}

impl Unigram {
    /// There is a score for each piece.
    pub(crate) fn new(pieces: Vocabulary, scores: Vec<f32>, replacements: Replacements, ends: Ends) -> Self {
        let worst = scores.iter().copied().fold(0.0, f32::min);
        Self {
            pieces,
            scores,
            unknown_score: f64::from(worst) - UNKNOWN_PENALTY,
            replacements,
            ends,
        }
    }

    /// The number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Returns the numbers of the pieces of `text`, at most `max` of them, with start and end.
    pub(crate) fn split(&self, text: &str, max: usize) -> Vec<u32> {
        let mut found = vec![self.ends.start];
        // A piece has at least a byte. Normalising shortens a text at most eighteen times.
        let text = self.normalise(first_bytes(text, 64 * max));
        for word in text.split_whitespace() {
            let mut rest = word;
            while !rest.is_empty() && found.len() < max {
                let part = first_bytes(rest, WORD_BYTES_MAX);
                self.split_word(&format!("{MARK}{part}"), &mut found);
                rest = &rest[part.len()..];
            }
        }
        found.truncate(max - 1);
        found.push(self.ends.end);
        found
    }

    fn normalise(&self, text: &str) -> String {
        let Replacements { keys, values } = &self.replacements;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let length = match keys.beginnings(keys.all(), rest.as_bytes()).last() {
                Some((key, length)) if rest.is_char_boundary(length) => {
                    out.push_str(&String::from_utf8_lossy(values.piece(key)));
                    length
                }
                _ => {
                    out.push(char);
                    char.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        out
    }

    fn split_word(&self, word: &str, found: &mut Vec<u32>) {
        let mut steps: Vec<Option<Step>> = vec![None; word.len() + 1];
        let take = |steps: &mut Vec<Option<Step>>, end: usize, step: Step| {
            if steps[end].is_none_or(|best| step.score > best.score) {
                steps[end] = Some(step);
            }
        };
        for (from, char) in word.char_indices() {
            let before = match steps[from] {
                Some(step) => step.score,
                None if from == 0 => 0.0,
                None => continue,
            };
            let mut has_single = false;
            for (piece, length) in self
                .pieces
                .beginnings(self.pieces.all(), &word.as_bytes()[from..])
            {
                if self.is_special(piece) || !word.is_char_boundary(from + length) {
                    continue;
                }
                has_single |= length == char.len_utf8();
                let score = before + f64::from(self.scores[piece as usize]);
                take(&mut steps, from + length, Step { score, from, piece });
            }
            if !has_single {
                let step = Step {
                    score: before + self.unknown_score,
                    from,
                    piece: self.ends.unknown,
                };
                take(&mut steps, from + char.len_utf8(), step);
            }
        }
        let first = found.len();
        let mut end = word.len();
        while let Some(step) = steps[end].filter(|_| end > 0) {
            let repeats = step.piece == self.ends.unknown
                && found.len() > first
                && found.last() == Some(&self.ends.unknown);
            if !repeats {
                found.push(step.piece);
            }
            end = step.from;
        }
        found[first..].reverse();
    }

    fn is_special(&self, piece: u32) -> bool {
        [self.ends.start, self.ends.end, self.ends.unknown].contains(&piece)
    }
}

/// Returns the start of `text`, at most `max` bytes.
fn first_bytes(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::vocabulary::SEPARATOR;

    fn vocabulary(pieces: &[&str]) -> Vocabulary {
        let (text, order) = Vocabulary::arrange(pieces.iter().map(|piece| piece.as_bytes()));
        Vocabulary::new(text, SEPARATOR, order).unwrap()
    }

    fn split(text: &str) -> Vec<u32> {
        let pieces = ["<s>", "</s>", "<unk>", "▁", "▁te", "▁tea", "a", "s", "ea", "▁t"];
        let scores = vec![0.0, 0.0, 0.0, -5.0, -3.0, -7.0, -2.0, -2.5, -2.2, -4.0];
        let replacements = Replacements {
            keys: vocabulary(&["Ⅱ", "\n"]),
            values: vocabulary(&["as", " "]),
        };
        let ends = Ends {
            start: 0,
            end: 1,
            unknown: 2,
        };
        Unigram::new(vocabulary(&pieces), scores, replacements, ends).split(text, 32)
    }

    #[test]
    fn the_most_probable_pieces_win() {
        assert_eq!(split("tea"), [0, 4, 6, 1]);
        assert_eq!(split(" tea\nas "), [0, 4, 6, 3, 6, 7, 1]);
        assert_eq!(split("Ⅱ"), [0, 3, 6, 7, 1]);
        assert_eq!(split(""), [0, 1]);
    }

    #[test]
    fn unknown_characters_in_a_row_are_one_piece() {
        assert_eq!(split("xyza"), [0, 3, 2, 6, 1]);
        assert_eq!(split("<s>"), [0, 3, 2, 7, 2, 1]);
    }

    #[test]
    fn a_long_text_is_cut_and_still_ends() {
        let found = split(&"a".repeat(100_000));
        assert_eq!((found.len(), found[31]), (32, 1));
    }
}

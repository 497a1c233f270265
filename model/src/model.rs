//! A sentence model with its weights.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::path::Path;
use std::sync::OnceLock;

use super::bundled;
use super::config::Config;
use super::encoder::Encoder;
use super::error::{ModelError, Result};
use super::file;
use super::linear::Way;
use super::tokens::vocabulary::Vocabulary;
use super::tokens::word_pieces::WordPieces;
use super::tokens::{Ends, Tokenizer};
use super::words::Words;

/// The name and the version of the bundled model. The version is the start of the SHA-256 of the digests of all data files,
/// in the order of the test that compares them.
pub const BUNDLED_ID: &str = "all-MiniLM-L6-v2@8fd2a97ad98d06b7";

/// A sentence model. It answers from many threads at once.
pub struct SentenceModel {
    pub(crate) id: String,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) words: Words,
    pub(crate) encoder: Encoder,
}

impl std::fmt::Debug for SentenceModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentenceModel")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl SentenceModel {
    /// Returns the model that this package contains. The first call of a process reads its weights.
    pub fn bundled() -> &'static Self {
        static BUNDLED: OnceLock<SentenceModel> = OnceLock::new();
        BUNDLED.get_or_init(|| Self {
            id: BUNDLED_ID.to_owned(),
            tokenizer: Tokenizer::WordPieces(bundled_pieces()),
            words: Words::Bundled {
                bytes: treering_model_table::WORDS,
                count: treering_model_table::ORDER.len() / 2,
            },
            encoder: bundled::encoder(treering_model_layers::LAYERS),
        })
    }

    /// Opens the file of an installed model. The embeddings of the words stay in the file.
    ///
    /// # Errors
    /// `Io`; `Damaged` if a checksum or a size does not fit; `Unsupported` if a newer version wrote the file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path).map_err(|source| ModelError::Io {
            doing: "opening",
            path: path.to_owned(),
            source,
        })?;
        file::read(file, path)
    }

    /// The name of the model and its version, which changes with its weights and prefixes.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.encoder.config
    }

    /// Returns the vector of a text that is searched, with length one. Returns an empty vector if the file of the model
    /// became unreadable.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        self.vector(&self.encoder.config.text_prefix, text, Way::Best)
    }

    /// Returns the vector of a question. It is that of a text, unless the model has prefixes.
    pub fn embed_question(&self, text: &str) -> Vec<f32> {
        self.vector(&self.encoder.config.question_prefix, text, Way::Best)
    }

    pub(crate) fn vector(&self, prefix: &str, text: &str, way: Way) -> Vec<f32> {
        let Config { width, positions, .. } = self.encoder.config;
        let pieces = if prefix.is_empty() {
            self.tokenizer.split(text, positions)
        } else {
            self.tokenizer.split(&format!("{prefix}{text}"), positions)
        };
        let mut state = vec![0.0; pieces.len() * width];
        for (piece, sum) in pieces.iter().zip(state.chunks_exact_mut(width)) {
            if !self.words.add(*piece as usize, sum) {
                return Vec::new();
            }
        }
        self.encoder.run(state, way)
    }
}

/// Returns the tokenizer of the bundled model.
pub(crate) fn bundled_pieces() -> WordPieces {
    let (order, _) = treering_model_table::ORDER.as_chunks::<2>();
    let order = order
        .iter()
        .map(|bytes| u16::from_le_bytes(*bytes).into())
        .collect();
    let pieces = Vocabulary::new(treering_model_table::VOCABULARY.as_bytes(), b'\n', order)
        .expect("a test compares the order with the vocabulary");
    // The lines of [CLS], [SEP] and [UNK]. A test compares them.
    let ends = Ends {
        start: 101,
        end: 102,
        unknown: 100,
    };
    WordPieces::new(pieces, ends, true, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT SEN-1: the result does not depend on the instructions of the machine.
    #[test]
    fn every_way_of_computing_has_the_same_vectors() {
        let model = SentenceModel::bundled();
        for text in [
            "",
            "tea",
            "Deploys happen on Friday at 15:00.",
            &"Ünïcode 日本 words ".repeat(40),
        ] {
            let best = model.vector("", text, Way::Best);
            for way in [Way::Avx2, Way::Plain] {
                let other = model.vector("", text, way);
                assert!(
                    best.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "{way:?} {text}"
                );
            }
        }
    }

    #[test]
    fn the_bundled_vocabulary_is_in_order() {
        let text = treering_model_table::VOCABULARY;
        let (_, order) = Vocabulary::arrange(text.lines().map(str::as_bytes));
        let stored: Vec<u8> = order
            .iter()
            .flat_map(|number| (*number as u16).to_le_bytes())
            .collect();
        assert!(stored == treering_model_table::ORDER);
        let line = |piece| text.lines().position(|line| line == piece);
        assert_eq!(
            ["[CLS]", "[SEP]", "[UNK]"].map(line),
            [Some(101), Some(102), Some(100)]
        );
    }
}

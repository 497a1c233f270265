//! Reads the tokenizer of a published model from its `tokenizer.json`.
//!
//! # Layer
//! Layer 0, inside `model`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::replacements;
use crate::error::{ModelError, Result};
use crate::tokens::vocabulary::SEPARATOR;
use crate::tokens::{Ends, Kind};

/// The piece at a number that no piece has. UTF-8 has no such byte, so no text contains it.
const NO_PIECE: &[u8] = &[0xfe];
/// The largest number of pieces.
const PIECES_MAX: usize = 1 << 20;
/// The names of the pieces before and behind a text.
const STARTS: [&str; 2] = ["[CLS]", "<s>"];
const ENDS: [&str; 2] = ["[SEP]", "</s>"];

/// The parts of a tokenizer.
pub(super) struct Read {
    pub(super) kind: Kind,
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) scores: Vec<f32>,
    pub(super) replacements: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Deserialize)]
struct File {
    model: Model,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    #[serde(default)]
    added_tokens: Vec<Added>,
}

#[derive(Deserialize)]
struct Added {
    id: usize,
    content: String,
}

#[derive(Deserialize)]
struct Model {
    // Files of old versions have no type.
    r#type: Option<String>,
    vocab: Value,
    unk_token: Option<String>,
    unk_id: Option<u32>,
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
}

fn unsupported(what: impl Into<String>) -> ModelError {
    ModelError::Unsupported(what.into())
}

/// Reads `tokenizer.json`.
pub(super) fn read(bytes: &[u8]) -> Result<Read> {
    let file: File = serde_json::from_slice(bytes)
        .map_err(|error| ModelError::damaged(format_args!("tokenizer.json: {error}")))?;
    let kind = match (&file.model.r#type, &file.model.vocab) {
        (Some(kind), _) => kind.as_str(),
        (None, Value::Array(_)) => "Unigram",
        (None, _) => "WordPiece",
    };
    match kind {
        "WordPiece" => word_pieces(&file),
        "Unigram" => unigram(&file),
        other => Err(unsupported(format!(
            "its tokenizer is {other}; WordPiece and Unigram are supported"
        ))),
    }
}

fn word_pieces(file: &File) -> Result<Read> {
    if file.model.continuing_subword_prefix.as_deref().unwrap_or("##") != "##" {
        return Err(unsupported(
            "its tokenizer marks pieces inside words in another way than ##",
        ));
    }
    let vocabulary: BTreeMap<String, usize> = Deserialize::deserialize(&file.model.vocab)
        .map_err(|error| ModelError::damaged(format_args!("tokenizer.json: the vocabulary: {error}")))?;
    let pieces = by_number(
        vocabulary
            .into_iter()
            .map(|(piece, number)| (number, piece.into_bytes())),
    )?;
    let normalizer = file
        .normalizer
        .as_ref()
        .filter(|one| one["type"] == "BertNormalizer");
    let normalizer = normalizer.ok_or_else(|| unsupported("its tokenizer has no BertNormalizer"))?;
    let lower_case = normalizer["lowercase"].as_bool().unwrap_or(true);
    let strip_accents = normalizer["strip_accents"].as_bool().unwrap_or(lower_case);
    let unknown = file.model.unk_token.as_deref().unwrap_or("[UNK]");
    let ends = ends(&pieces, |pieces| number(pieces, &[unknown]))?;
    Ok(Read {
        kind: Kind::WordPieces {
            lower_case,
            strip_accents,
            ends,
        },
        pieces,
        scores: Vec::new(),
        replacements: Vec::new(),
    })
}

fn unigram(file: &File) -> Result<Read> {
    if file.model.byte_fallback {
        return Err(unsupported(
            "its tokenizer takes unknown characters apart into bytes",
        ));
    }
    let listed: Vec<(String, f32)> = Deserialize::deserialize(&file.model.vocab)
        .map_err(|error| ModelError::damaged(format_args!("tokenizer.json: the vocabulary: {error}")))?;
    let mut scores: Vec<f32> = listed.iter().map(|(_, score)| *score).collect();
    let own = listed
        .into_iter()
        .map(|(piece, _)| piece.into_bytes())
        .enumerate();
    let added = file
        .added_tokens
        .iter()
        .filter(|added| added.id >= scores.len())
        .map(|added| (added.id, added.content.clone().into_bytes()));
    let pieces = by_number(own.chain(added))?;
    scores.resize(pieces.len(), 0.0);
    if !has_kind(file.pre_tokenizer.as_ref(), "Metaspace") {
        return Err(unsupported(
            "its tokenizer does not mark words as SentencePiece does",
        ));
    }
    let mut table = Vec::new();
    for step in steps(file.normalizer.as_ref(), "normalizers") {
        match step["type"].as_str().unwrap_or_default() {
            "Precompiled" => {
                let map = step["precompiled_charsmap"].as_str().unwrap_or_default();
                table = replacements::read(map)?;
            }
            // Words are split at spaces in any case.
            "Replace" | "Strip" => {}
            other => return Err(unsupported(format!("its tokenizer has a normalizer {other}"))),
        }
    }
    let unknown = file.model.unk_id;
    let ends = ends(&pieces, |_| unknown)?;
    Ok(Read {
        kind: Kind::Unigram { ends },
        pieces,
        scores,
        replacements: table,
    })
}

/// Returns the steps of a sequence, or the only step.
fn steps<'a>(value: Option<&'a Value>, list: &str) -> Vec<&'a Value> {
    match value {
        Some(value) if value["type"] == "Sequence" => value[list].as_array().into_iter().flatten().collect(),
        Some(value) if !value.is_null() => vec![value],
        _ => Vec::new(),
    }
}

fn has_kind(value: Option<&Value>, kind: &str) -> bool {
    steps(value, "pretokenizers")
        .iter()
        .any(|step| step["type"] == kind)
}

/// Returns the pieces by number.
fn by_number(numbered: impl Iterator<Item = (usize, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for (number, piece) in numbered {
        if number >= PIECES_MAX || piece.contains(&SEPARATOR) {
            return Err(unsupported(format!(
                "its tokenizer has a piece with the number {number}"
            )));
        }
        if pieces.len() <= number {
            pieces.resize(number + 1, NO_PIECE.to_vec());
        }
        pieces[number] = piece;
    }
    Ok(pieces)
}

fn number(pieces: &[Vec<u8>], names: &[&str]) -> Option<u32> {
    let at = pieces
        .iter()
        .position(|piece| names.iter().any(|name| name.as_bytes() == piece));
    at.map(|at| at as u32)
}

fn ends(pieces: &[Vec<u8>], unknown: impl Fn(&[Vec<u8>]) -> Option<u32>) -> Result<Ends> {
    let found = number(pieces, &STARTS)
        .zip(number(pieces, &ENDS))
        .zip(unknown(pieces));
    let ((start, end), unknown) =
        found.ok_or_else(|| unsupported("its tokenizer has no pieces for start, end and unknown"))?;
    Ok(Ends { start, end, unknown })
}

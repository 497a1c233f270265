//! Proof documents, which convince a reader who does not trust the store.
//!
//! The checker checks every field of a proof document and refuses unknown fields. So an accepted document cannot
//! contain an unchecked claim.
//!
//! # Layer
//! Layer 8, part of answers. Pure, except for [`ProofDocument::of`].
//!
//! # Invariants
//! - CLI-6: `check-proof` checks every value of a document that it accepts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use treering::Id;
use treering::inspect::digest::{HashSuite, KeyPath, from_hex, to_hex};
use treering::inspect::ingest::json as lines;
use treering::inspect::trie::{ProofLevel, Proven, Terminal, verify_proof};
use treering::proof::Proof;
use treering::{Error, HashAlgorithm, Memory, Result, Root, View};

/// The version of the document format.
const VERSION: u32 = 1;

/// The answer of `check-proof` if the proof holds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProofHolds {
    pub(crate) ok: bool,
    pub(crate) id: String,
    pub(crate) root: String,
    /// The digest of the object. Null if the proof shows that the object is absent.
    pub(crate) object: Option<String>,
    pub(crate) present: bool,
}

/// The answer of `check-proof` if the proof does not hold.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProofFails {
    pub(crate) ok: bool,
    pub(crate) reason: String,
}

/// The JSON document of a proof. `check` checks every field.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProofDocument {
    version: u32,
    hash: String,
    root: String,
    pub(crate) id: String,
    key_path: String,
    /// The digest of the object. Null if the proof shows that the object is absent.
    pub(crate) object: Option<String>,
    levels: Vec<LevelDocument>,
    terminal: TerminalDocument,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LevelDocument {
    bitmap: u16,
    count: u64,
    siblings: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TerminalDocument {
    Leaf { key_path: String, object: String },
    EmptySlot {},
    EmptyTrie {},
}

impl ProofDocument {
    /// Returns a proof about `id` in the state of `view`.
    pub(crate) fn of(memory: &Memory, view: &View, id: &Id) -> Result<Self> {
        Self::new(&view.prove(id)?, memory.suite(), &view.root(), id)
    }

    /// Converts a proof about `id` to a document, and checks that the proof holds for `root`.
    fn new(proof: &Proof, suite: HashSuite, root: &Root, id: &Id) -> Result<Self> {
        let key = suite.key_path(id.as_str());
        let proven = verify_proof(proof, suite, root, &key)
            .map_err(|error| Error::internal(format!("the new proof does not verify: {error}")))?;
        Ok(Self {
            version: VERSION,
            hash: suite.algorithm().name().to_owned(),
            root: root.to_hex(),
            id: id.as_str().to_owned(),
            key_path: key.to_hex(),
            object: match proven {
                Proven::Present(digest) => Some(to_hex(&digest)),
                Proven::Absent => None,
            },
            levels: proof.levels.iter().map(LevelDocument::new).collect(),
            terminal: TerminalDocument::new(&proof.terminal),
        })
    }

    /// Checks every field of the document. The error states why the proof does not hold.
    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!(
                "the document has version {}, but this program checks only version {VERSION}",
                self.version
            ));
        }
        let algorithm = HashAlgorithm::from_name(&self.hash)
            .ok_or_else(|| format!("the document has an unknown hash algorithm '{}'", self.hash))?;
        let suite = HashSuite::new(algorithm);
        let id = Id::new(&self.id).map_err(|error| format!("the id in the document is invalid: {error}"))?;
        let key = suite.key_path(id.as_str());
        if digest(&self.key_path, "key_path")? != *key.as_bytes() {
            return Err("the field `key_path` is not the key path of the field `id`".to_owned());
        }
        let root = Root::from_bytes(digest(&self.root, "root")?);
        let proof = self.proof(algorithm)?;
        let proven = verify_proof(&proof, suite, &root, &key).map_err(|error| error.to_string())?;
        let stated = self
            .object
            .as_deref()
            .map(|object| digest(object, "object"))
            .transpose()?;
        let proven = match proven {
            Proven::Present(digest) => Some(digest),
            Proven::Absent => None,
        };
        if proven == stated {
            return Ok(());
        }
        Err("the field `object` does not contain the digest that the other fields prove".to_owned())
    }

    fn proof(&self, algorithm: HashAlgorithm) -> Result<Proof, String> {
        let levels = self
            .levels
            .iter()
            .map(LevelDocument::level)
            .collect::<Result<_, _>>()?;
        Ok(Proof {
            algorithm,
            levels,
            terminal: self.terminal.terminal()?,
        })
    }
}

impl LevelDocument {
    fn new(level: &ProofLevel) -> Self {
        let siblings = level.siblings.iter().map(|sibling| to_hex(sibling)).collect();
        Self {
            bitmap: level.bitmap,
            count: level.count,
            siblings,
        }
    }

    fn level(&self) -> Result<ProofLevel, String> {
        let siblings = self
            .siblings
            .iter()
            .map(|sibling| digest(sibling, "sibling"))
            .collect::<Result<_, _>>()?;
        Ok(ProofLevel {
            bitmap: self.bitmap,
            count: self.count,
            siblings,
        })
    }
}

impl TerminalDocument {
    fn new(terminal: &Terminal) -> Self {
        match terminal {
            Terminal::Leaf { key, digest } => Self::Leaf {
                key_path: key.to_hex(),
                object: to_hex(digest),
            },
            Terminal::EmptySlot => Self::EmptySlot {},
            Terminal::EmptyTrie => Self::EmptyTrie {},
        }
    }

    fn terminal(&self) -> Result<Terminal, String> {
        Ok(match self {
            Self::Leaf { key_path, object } => Terminal::Leaf {
                key: KeyPath::from_bytes(digest(key_path, "key_path")?),
                digest: digest(object, "object")?,
            },
            Self::EmptySlot {} => Terminal::EmptySlot,
            Self::EmptyTrie {} => Terminal::EmptyTrie,
        })
    }
}

/// Parses a digest of exactly 64 lower-case hexadecimal digits, its only valid form.
fn digest(text: &str, what: &str) -> Result<[u8; 32], String> {
    from_hex(text)
        .filter(|bytes| to_hex(bytes) == text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| format!("the field `{what}` is not a digest of 64 lower-case hexadecimal digits"))
}

/// Parses a proof document and checks every field. The error states why the proof does not hold.
pub(crate) fn check(text: &str) -> Result<ProofHolds, String> {
    let read = lines::parse(text).map_err(|error| format!("the document cannot be read ({error})"))?;
    let document = ProofDocument::deserialize(&read)
        .map_err(|error| format!("the document cannot be read ({error})"))?;
    // Only one JSON form of a document is valid. `deserialize` also accepts lists in place of maps, and missing
    // optional fields.
    if serde_json::to_value(&document).ok().as_ref() != Some(&read) {
        return Err(
            "a field of the document is missing, unknown or not in the form that a proof requires".to_owned(),
        );
    }
    document.check()?;
    Ok(ProofHolds {
        ok: true,
        id: document.id,
        root: document.root,
        present: document.object.is_some(),
        object: document.object,
    })
}

#[cfg(test)]
mod tests;

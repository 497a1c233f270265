//! The parts of a proof, its bytes, and its construction from a trie.
//!
//! A proof shows what a state with a known root has at one key path: an object digest, or nothing. The proof contains
//! the branches on the path and the digests of all children next to the path. A verifier computes the root from these
//! parts. The verifier needs neither an object nor an id.
//!
//! # Layer
//! Layer 3. Part of trie/.
//!
//! # Invariants
//! - PRF-1: a proof has exactly one encoding, and the verification covers every byte of it.
//!
//! # Format
//! docs/proofs.md, "Bytes of a proof".

use super::digest::{NodeHasher, child_digest};
use super::entry::{LEVELS, Shape};
use super::node::Child;
use super::stored::NodeSource;
use crate::codec::{DecodeError, Reader};
use crate::digest::{HashAlgorithm, HashSuite, KeyPath};
use crate::error::Result;

/// The version of the encoding.
const VERSION: u8 = 1;
/// The byte for a path that ends at a leaf. Zero is unused.
const TERMINAL_LEAF: u8 = 1;
/// The byte for a path that ends at an empty slot.
const TERMINAL_SLOT: u8 = 2;
/// The byte for a path in an empty trie.
const TERMINAL_EMPTY: u8 = 3;

/// A proof of inclusion or exclusion. [`Self::verify`] returns whether the proof shows inclusion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The hash of the state's digests.
    pub algorithm: HashAlgorithm,
    /// The branches on the path, from the root.
    pub levels: Vec<ProofLevel>,
    /// The end of the path.
    pub terminal: Terminal,
}

/// One branch on the path of a proof. Its level is its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofLevel {
    /// The digits for which a child exists, as bits.
    pub bitmap: u16,
    /// The number of leaves below the branch. The digest of the branch covers this number.
    pub count: u64,
    /// The digests of the children that are not on the path, in ascending order of their bits.
    pub siblings: Vec<[u8; 32]>,
}

/// The end of the path of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminal {
    /// The path ends at a leaf: the leaf of the key (inclusion), or the only leaf at that position, with another key
    /// (exclusion).
    Leaf {
        /// The key path of the leaf.
        key: KeyPath,
        /// The object digest of the leaf.
        digest: [u8; 32],
    },
    /// The path ends at a branch without a child for the key (exclusion).
    EmptySlot,
    /// The state is empty (exclusion).
    EmptyTrie,
}

pub(super) fn prove(
    top: Option<&Child>,
    key: &KeyPath,
    suite: HashSuite,
    source: &dyn NodeSource,
) -> Result<Proof> {
    let hasher = NodeHasher::new(suite, Shape::State);
    let mut proof = Proof {
        algorithm: suite.algorithm(),
        levels: Vec::new(),
        terminal: Terminal::EmptyTrie,
    };
    let Some(mut child) = top else { return Ok(proof) };
    // These levels always suffice, because there are only leaves below the last level.
    for level in 0..=LEVELS {
        if let Some(entry) = child.entry() {
            proof.terminal = Terminal::Leaf {
                key: entry.key,
                digest: entry.digest,
            };
        }
        let Some(branch) = child.branch(level, source)? else {
            break;
        };
        let on_path = key.nibble(level);
        let mut siblings = Vec::with_capacity(branch.slots().len());
        for (digit, sibling) in branch.digits() {
            if digit != on_path {
                siblings.push(child_digest(sibling, level + 1, hasher, source)?);
            }
        }
        proof.levels.push(ProofLevel {
            bitmap: branch.bitmap(),
            count: branch.count(),
            siblings,
        });
        let Some(next) = branch.child(on_path) else {
            proof.terminal = Terminal::EmptySlot;
            break;
        };
        child = next;
    }
    Ok(proof)
}

impl Proof {
    /// Encodes this proof.
    pub fn encode(&self) -> Vec<u8> {
        let terminal = match self.terminal {
            Terminal::Leaf { .. } => TERMINAL_LEAF,
            Terminal::EmptySlot => TERMINAL_SLOT,
            Terminal::EmptyTrie => TERMINAL_EMPTY,
        };
        let mut out = vec![VERSION, self.algorithm.tag(), terminal, self.levels.len() as u8];
        for level in &self.levels {
            out.extend_from_slice(&level.bitmap.to_le_bytes());
            out.extend_from_slice(&level.count.to_le_bytes());
            out.extend_from_slice(level.siblings.as_flattened());
        }
        if let Terminal::Leaf { key, digest } = &self.terminal {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(digest);
        }
        out
    }

    /// Decodes a proof. Encoding the result gives the same bytes again. Only [`Self::verify`] checks whether the proof
    /// is valid.
    ///
    /// # Errors
    /// Returns the rule that the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let algorithm =
            HashAlgorithm::from_tag(reader.u8()?).ok_or(DecodeError::Invalid("the hash is unknown"))?;
        let terminal = reader.u8()?;
        let depth = usize::from(reader.u8()?);
        if depth > LEVELS {
            return Err(DecodeError::Invalid("a path has at most 64 branches"));
        }
        let mut levels = Vec::with_capacity(depth);
        for level in 0..depth {
            let ends_here = terminal == TERMINAL_SLOT && level + 1 == depth;
            levels.push(decode_level(&mut reader, ends_here)?);
        }
        let terminal = match terminal {
            TERMINAL_LEAF => Terminal::Leaf {
                key: KeyPath::from_bytes(reader.array()?),
                digest: reader.array()?,
            },
            TERMINAL_SLOT => Terminal::EmptySlot,
            TERMINAL_EMPTY => Terminal::EmptyTrie,
            _ => return Err(DecodeError::Invalid("the kind of the path's end is unknown")),
        };
        reader.finish()?;
        Ok(Self {
            algorithm,
            levels,
            terminal,
        })
    }
}

/// Reads one branch of the path. The siblings of the branch include the child on the path only if the path ends here at
/// an empty slot.
fn decode_level(reader: &mut Reader<'_>, ends_here: bool) -> Result<ProofLevel, DecodeError> {
    let bitmap = reader.u16()?;
    let count = reader.u64()?;
    let children = bitmap.count_ones() as usize;
    let siblings = if ends_here {
        Some(children)
    } else {
        children.checked_sub(1)
    };
    let siblings = siblings.ok_or(DecodeError::Invalid("a branch on the path has no child"))?;
    let siblings = (0..siblings).map(|_| reader.array()).collect::<Result<_, _>>()?;
    Ok(ProofLevel {
        bitmap,
        count,
        siblings,
    })
}

//! What a proof is made of, its bytes, and how one is taken from a trie.
//!
//! A proof tells what a state with a known root holds at one key path: an object digest, or nothing. It
//! repeats the branches on the path with the digests of all children but the one on the path, so that a
//! verifier can compute the root again. It needs no object and no id.
//!
//! # Layer
//! L3. Part of trie/.
//!
//! # Invariants
//! - PRF-1: a proof has one encoding, and every byte of it takes part in the verification.
//!
//! # Format
//! docs/proofs.md, "Bytes of a proof".

use super::digest::{NodeHasher, child_digest};
use super::node::{Child, Kind};
use super::{LEVELS, NodeSource, Shape};
use crate::codec::{DecodeError, Reader};
use crate::digest::{HashAlgorithm, HashSuite, KeyPath};
use crate::error::Result;

/// The version of the encoding.
const VERSION: u8 = 1;
/// How the path ends, in the encoding. Zero is not used.
const TERMINAL_LEAF: u8 = 1;
const TERMINAL_SLOT: u8 = 2;
const TERMINAL_EMPTY: u8 = 3;

/// A proof of inclusion or exclusion; [`super::verify_proof`] says which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The hash of the state's digests.
    pub algorithm: HashAlgorithm,
    /// The branches on the path, from the root.
    pub levels: Vec<ProofLevel>,
    /// Where the path ends.
    pub terminal: Terminal,
}

/// One branch on the path of a proof. Its level is its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofLevel {
    /// Which children the branch has.
    pub bitmap: u16,
    /// Leaves below the branch, as its digest says.
    pub count: u64,
    /// The digests of the children that are not on the path, in rising order of their bits.
    pub siblings: Vec<[u8; 32]>,
}

/// How the path of a proof ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminal {
    /// At a leaf: that of the key (inclusion), or another one that is alone in the key's place (exclusion).
    Leaf {
        /// The key path of the leaf.
        key: KeyPath,
        /// The object digest of the leaf.
        digest: [u8; 32],
    },
    /// At a branch that has no child on the path (exclusion).
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
    // The bound holds by construction: below the last level there are only leaves.
    for level in 0..=LEVELS {
        let branch = match child.get() {
            Kind::Leaf(entry) => {
                proof.terminal = Terminal::Leaf {
                    key: entry.key,
                    digest: entry.digest,
                };
                break;
            }
            Kind::Branch(branch) => branch.loaded(level, source)?,
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
    /// The bytes of this proof.
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

    /// Reads the bytes of a proof. What is accepted encodes to the same bytes again; whether it proves
    /// anything is for [`super::verify_proof`] to say.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let algorithm =
            HashAlgorithm::from_tag(reader.u8()?).ok_or(DecodeError::Invalid("the hash is not known"))?;
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
            _ => return Err(DecodeError::Invalid("how the path ends is not known")),
        };
        reader.finish()?;
        Ok(Self {
            algorithm,
            levels,
            terminal,
        })
    }
}

/// Reads one branch of the path. Unless the path ends here at an empty slot, one child of the branch is on
/// the path and its digest left out.
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

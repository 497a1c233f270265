//! Digests: their domains, their padding, and one type for each meaning.
//!
//! A digest covers a preimage, padded with zeros to a multiple of 64 bytes, under the context of its [`Domain`]. So a
//! digest of one domain can never be mistaken for a digest of another domain. Different preimages stay different after
//! padding, because each preimage either has a fixed length or starts with its own length ([`HashSuite::hash_bytes`]).
//!
//! # Layer
//! Layer 0. The only folder that names blake3 and sha2.
//!
//! # Invariants
//! - DIG-1: equal digests of one domain mean equal preimages (collision resistance of the hash).
//! - DIG-2: every variable-length preimage starts with its length as u64, so two padded preimages are never equal.
//!
//! # Format
//! docs/format.md, "Digests".

mod batch;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::str::FromStr;
use std::sync::LazyLock;

use sha2::Digest as _;

pub(crate) use batch::{HashBatch, hash_each};

/// The number of bytes in a digest.
pub const DIGEST_LEN: usize = 32;

named! {
    /// The kind of data that a digest covers. Each domain has its own context string, which is shorter than 64 bytes.
    #[repr(usize)]
    #[non_exhaustive]
    pub enum Domain {
        /// An id; the digest is its key path.
        Key => "treering v1 key",
        /// The canonical bytes of an object.
        Object => "treering v1 object",
        /// The text of an object, if that text is a separate record.
        Content => "treering v1 content",
        /// A reason or source text of a commit.
        Text => "treering v1 text",
        /// A leaf of the state trie.
        Leaf => "treering v1 leaf",
        /// A branch of the state trie.
        Branch => "treering v1 branch",
        /// An object together with all objects below it.
        Subtree => "treering v1 subtree",
        /// A leaf of the trie over children that a subtree digest covers.
        SubtreeLeaf => "treering v1 subtree leaf",
        /// A branch of the trie over children that a subtree digest covers.
        SubtreeBranch => "treering v1 subtree branch",
        /// A leaf of the history tree.
        HistoryLeaf => "treering v1 history leaf",
        /// An inner node of the history tree.
        HistoryNode => "treering v1 history node",
        /// The canonical bytes of a commit.
        Commit => "treering v1 commit",
        /// The canonical bytes of a reference.
        Reference => "treering v1 reference",
        /// A batch of the log with its seal.
        Batch => "treering v1 batch",
        /// The file of a segment of a remote or backup.
        Segment => "treering v1 segment",
    }
}

/// Returns the SHA-256 of the bytes, without domain or padding, as other standards require. No digest of a store uses
/// this function.
pub fn sha256(bytes: &[u8]) -> [u8; DIGEST_LEN] {
    sha2::Sha256::digest(bytes).into()
}

/// Derives a secret key for the purpose `context` from a secret key and other bytes.
#[cfg(feature = "remote")]
pub(crate) fn derive_key(context: &'static str, parts: &[&[u8]]) -> [u8; DIGEST_LEN] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The derived keys of the contexts, in the order of [`Domain`], computed once.
static CONTEXT_KEYS: LazyLock<[blake3::hazmat::ContextKey; Domain::ALL.len()]> =
    LazyLock::new(|| Domain::ALL.map(|domain| blake3::hazmat::hash_derive_key_context(domain.name())));

const BLOCK: usize = 64;
const ZEROS: [u8; BLOCK] = [0; BLOCK];

impl Domain {
    /// Returns the context string of this domain.
    pub fn context(self) -> &'static str {
        self.name()
    }
}

named! {
    /// The hash of a store, chosen at its creation. The numbers are part of the format.
    #[repr(u8)]
    #[non_exhaustive]
    pub enum HashAlgorithm {
        /// BLAKE3 in key derivation mode: the default.
        Blake3 = 1 => "blake3",
        /// SHA-256, with a block for the domain before the preimage. The performance goals do not apply to SHA-256.
        Sha256 = 2 => "sha256",
    }
}

impl HashAlgorithm {
    /// Returns the byte for the format file. Zero is unused.
    pub(crate) fn tag(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.tag() == tag)
    }
}

/// Computes the digests of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashSuite {
    algorithm: HashAlgorithm,
    /// The number of leading bits of a key path that are used; all later bits are zero. Only tests of collisions and
    /// depth use fewer than 256.
    key_bits: u16,
}

impl HashSuite {
    /// Makes the suite of a store with `algorithm`.
    pub const fn new(algorithm: HashAlgorithm) -> Self {
        Self {
            algorithm,
            key_bits: 256,
        }
    }

    /// Makes a suite whose key paths keep only their first `bits` bits, so that tests can make ids collide.
    #[cfg(any(test, feature = "testing"))]
    pub const fn with_weak_keys(algorithm: HashAlgorithm, bits: u16) -> Self {
        Self {
            algorithm,
            key_bits: bits,
        }
    }

    /// Returns the algorithm.
    pub const fn algorithm(self) -> HashAlgorithm {
        self.algorithm
    }

    /// Returns the digest of a preimage of fixed length. The preimage is passed in parts and padded with zeros to a
    /// multiple of 64 bytes.
    pub fn hash_fixed(self, domain: Domain, parts: &[&[u8]]) -> [u8; DIGEST_LEN] {
        use blake3::hazmat::HasherExt as _;
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let padding = &ZEROS[..length.next_multiple_of(BLOCK) - length];
        let padded = parts.iter().copied().chain([padding]);
        match self.algorithm {
            HashAlgorithm::Blake3 if (1..=batch::CHUNK).contains(&length) => {
                batch::hash_short(domain, parts, length)
            }
            HashAlgorithm::Blake3 => {
                let mut hasher = blake3::Hasher::new_from_context_key(&CONTEXT_KEYS[domain as usize]);
                for part in padded {
                    hasher.update(part);
                }
                *hasher.finalize().as_bytes()
            }
            HashAlgorithm::Sha256 => {
                let mut block = ZEROS;
                let context = domain.context().as_bytes();
                block[..context.len()].copy_from_slice(context);
                let mut hasher = sha2::Sha256::new();
                hasher.update(block);
                for part in padded {
                    hasher.update(part);
                }
                hasher.finalize().into()
            }
        }
    }

    /// Returns the digest of a preimage of variable length: its length as u64, then its bytes.
    pub fn hash_bytes(self, domain: Domain, bytes: &[u8]) -> [u8; DIGEST_LEN] {
        self.hash_fixed(domain, &[&(bytes.len() as u64).to_le_bytes(), bytes])
    }

    /// Returns the key path of an id: the position of its leaf in the trie.
    pub fn key_path(self, id: &str) -> KeyPath {
        self.path_of(self.hash_bytes(Domain::Key, id.as_bytes()))
    }

    /// Returns the key paths of many ids, in their order.
    pub(crate) fn key_paths<'a>(self, ids: impl Iterator<Item = &'a str>) -> Vec<KeyPath> {
        let digests = hash_each(self, Domain::Key, ids.map(str::as_bytes));
        digests.into_iter().map(|digest| self.path_of(digest)).collect()
    }

    fn path_of(self, digest: [u8; DIGEST_LEN]) -> KeyPath {
        let mut path = digest;
        if self.key_bits < 256 {
            for (index, byte) in path.iter_mut().enumerate() {
                let kept = (usize::from(self.key_bits)).saturating_sub(index * 8).min(8);
                *byte &= !(0xff_u16 >> kept) as u8;
            }
        }
        KeyPath(path)
    }
}

/// The error for a text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestTextError;

impl fmt::Display for DigestTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is 64 hexadecimal digits")
    }
}

impl std::error::Error for DigestTextError {}

/// Writes `bytes` as lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Reads hexadecimal digits of either case. Returns `None` for an odd number of digits or another character.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    let (pairs, rest) = digits.as_ref()?.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high * 16 + low).collect())
}

/// Returns the first eight bytes as a number that sorts as they do, and the other bytes.
#[inline]
fn first_word(digest: &[u8; DIGEST_LEN]) -> (u64, &[u8]) {
    let (first, rest) = digest
        .split_first_chunk()
        .expect("a digest has more than 8 bytes");
    (u64::from_le_bytes(*first).swap_bytes(), rest)
}

/// Hashes the digests in a hash table: a table of digests needs no stronger mixing than the digests already have.
///
/// The seed is drawn once for each process, so nobody can choose texts whose digests meet in one bucket.
#[derive(Clone, Copy, Default)]
pub(crate) struct DigestHasher(u64);

/// Builds the hasher of a table whose keys are digests.
pub(crate) type DigestHash = BuildHasherDefault<DigestHasher>;

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);
        let (words, _) = bytes.as_chunks::<8>();
        let first = words.first().map_or(0, |word| u64::from_le_bytes(*word));
        let product = u128::from(self.0 ^ first) * u128::from(*SEED);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    // The length, which is the same for all digests.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

macro_rules! digest_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name([u8; DIGEST_LEN]);

        impl Ord for $name {
            // Digests are spread evenly, so their first eight bytes nearly always decide.
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                let (mine, my_rest) = first_word(&self.0);
                let (others, other_rest) = first_word(&other.0);
                mine.cmp(&others).then_with(|| my_rest.cmp(other_rest))
            }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl $name {
            /// Wraps the 32 bytes of a digest.
            pub const fn from_bytes(bytes: [u8; DIGEST_LEN]) -> Self {
                Self(bytes)
            }

            /// Returns the 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; DIGEST_LEN] {
                &self.0
            }

            /// Returns the 64 hexadecimal digits.
            pub fn to_hex(self) -> String {
                to_hex(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        text_in_json!($name, { "type": "string", "pattern": "^[0-9a-f]{64}$" });

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), to_hex(&self.0[..6]))
            }
        }

        impl FromStr for $name {
            type Err = DigestTextError;

            fn from_str(text: &str) -> Result<Self, DigestTextError> {
                let bytes = from_hex(text).ok_or(DigestTextError)?;
                Ok(Self(bytes.try_into().map_err(|_| DigestTextError)?))
            }
        }
    };
}

digest_type! {
    /// The position of an id's leaf in the trie: the digest of the id.
    KeyPath
}
digest_type! {
    /// The digest of an object's canonical bytes; together with the id, it names a version.
    ObjectDigest
}
digest_type! {
    /// The digest of a content that is stored as a separate record.
    ContentDigest
}
digest_type! {
    /// The digest of a reason or source text.
    TextDigest
}
digest_type! {
    /// The digest of the top node of a trie; it names a whole state.
    Root
}
digest_type! {
    /// The digest of a commit.
    CommitDigest
}

impl CommitDigest {
    /// The digest in a marker that names no erasing commit, because the record was lost in a damaged store and not
    /// erased.
    pub(crate) const NOBODY: Self = Self([0; DIGEST_LEN]);
}

digest_type! {
    /// The digest of an object and of all objects below that object.
    SubtreeDigest
}
digest_type! {
    /// The head of the history tree: the digest over all first-parent ancestors of a commit.
    HistoryRoot
}
digest_type! {
    /// The digest of a batch of the log and its seal.
    BatchDigest
}

impl KeyPath {
    /// Returns the four bits that choose the child at `level` (0 is the root).
    #[inline]
    pub fn nibble(&self, level: usize) -> usize {
        let byte = self.0[level / 2];
        usize::from(if level.is_multiple_of(2) {
            byte >> 4
        } else {
            byte & 15
        })
    }
}

#[cfg(test)]
mod tests;

/// Returns the BLAKE3 digest of `bytes` under `key`. To a reader without the key, the digest reveals nothing about the
/// bytes. The agent uses this digest as the fingerprint of a secret. The digest is not part of the format.
#[cfg(feature = "agent")]
pub(crate) fn keyed(key: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    *blake3::keyed_hash(key, bytes).as_bytes()
}

//! The check of a proof about an id, without a store.
//!
//! # Layer
//! Layer 5.
//!
//! # Format
//! docs/proofs.md, "Verification".

use crate::digest::{HashAlgorithm, HashSuite, ObjectDigest, Root};
use crate::object::Id;
use crate::trie::{Proof, ProofError, Proven, verify_proof};

impl Proof {
    /// Checks this proof about `id` in the state with `root`, for a store with the hash algorithm `hash`. Returns the
    /// digest of the object, or `None` if the state has no object of this id. Needs no store. The caller must get the
    /// root from a trusted source.
    ///
    /// # Errors
    /// The reason why the proof is invalid for this state and id.
    ///
    /// ```
    /// use treering::{HashAlgorithm, Id, Kind, Memory, NewObject, Writer};
    ///
    /// let memory = Memory::in_memory()?;
    /// let id = Id::new("facts/tea")?;
    /// let fact = NewObject::new(id.clone(), Kind::new("fact")?);
    /// memory.put(fact, &Writer::person("vera"))?;
    /// let view = memory.view();
    /// let proof = view.prove(&id)?;
    ///
    /// let proven = proof.verify(HashAlgorithm::Blake3, &view.root(), &id).unwrap();
    /// assert_eq!(proven, Some(view.get(&id)?.unwrap().digest()));
    /// memory.put(NewObject::new(Id::new("facts/coffee")?, Kind::new("fact")?), &Writer::user())?;
    /// assert!(proof.verify(HashAlgorithm::Blake3, &memory.view().root(), &id).is_err(), "another state");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn verify(
        &self,
        hash: HashAlgorithm,
        root: &Root,
        id: &Id,
    ) -> Result<Option<ObjectDigest>, ProofError> {
        let suite = HashSuite::new(hash);
        match verify_proof(self, suite, root, &suite.key_path(id.as_str()))? {
            Proven::Present(digest) => Ok(Some(ObjectDigest::from_bytes(digest))),
            Proven::Absent => Ok(None),
        }
    }
}

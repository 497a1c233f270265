//! Signed heads: a person signs how long a line is and what its commits are, and an auditor checks later that nobody
//! rewrote them.
//!
//! A signed head is a checkpoint of the Community Cryptography Specification Project (C2SP): a note of three lines with
//! the origin, the number of commits and a root. The tree is that of RFC 6962 with SHA-256 over the digests of the
//! commits, oldest first. The tree is derived and never stored. Garbage collection and erasure keep every digest, so a
//! root stays what it was. A witness adds a line that says when it saw the head.
//!
//! ```
//! use treering::signed::{SigningKey, State, check_head, sign_head};
//! use treering::{Id, Kind, Memory, NewObject, Writer};
//!
//! let memory = Memory::in_memory()?;
//! let key = SigningKey::generate("vera")?;
//! let head = sign_head(&memory, &[&key], &Writer::user())?;
//!
//! memory.put(NewObject::new(Id::new("tea")?, Kind::new("fact")?), &Writer::user())?;
//! let checked = check_head(&memory, &head, &[key.verifier()], false)?;
//! assert_eq!(checked.state, State::Extends);
//! # Ok::<(), treering::Error>(())
//! ```
//!
//! # Layer
//! Layer 6. The notes, keys and trees know no store; only `head.rs` reads and writes one.
//!
//! # Invariants
//! - SGN-1: a line signs no head from which a head that it signed earlier does not follow.
//! - SGN-2: only durable commits are signed, and the signed tree is over the digests that the head commit binds.
//! - SGN-3: a note, a request or a key is accepted only if it encodes to the same bytes again.
//!
//! # Format
//! docs/proofs.md, "Signed heads"; C2SP: `signed-note`, `tlog-checkpoint`, `tlog-cosignature`, `tlog-witness`.

mod head;
mod key;
mod note;
mod request;
mod tree;

pub use head::{Checked, State, check_head, commit_tree, newest_head, prove_head, sign_head};
#[cfg(feature = "remote")]
pub(crate) use head::{origin_of_line, sign_tree};
pub use key::{SigningKey, VerifierKey};
pub use note::{NoteError, SignedHead, Signer};
pub use request::WitnessRequest;
pub use tree::{CommitTree, TreeRoot, verify_consistency, verify_inclusion};

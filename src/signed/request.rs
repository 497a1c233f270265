//! The request to a witness: a signed head, with the proof that it follows an older one.
//!
//! # Layer
//! Layer 6, inside `signed`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::note::{NoteError, SignedHead, decimal, root_in, text_in};
use super::tree::{TreeRoot, verify_consistency};
use crate::digest::sha256;
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// The most digests of a proof.
const PROOF_MAX: usize = 63;

/// A request to a witness, as C2SP's `add-checkpoint` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessRequest {
    /// The number of commits of the older head; 0 if the witness knows none.
    pub old: u64,
    /// The proof that the new tree begins with the old one.
    pub proof: Vec<TreeRoot>,
    /// The new head.
    pub head: SignedHead,
}

impl WitnessRequest {
    /// Returns whether the bytes begin like a request, and not like a signed head.
    pub fn is_request(bytes: &[u8]) -> bool {
        let first = bytes.split(|byte| *byte == b'\n').next();
        let first = first.and_then(|line| std::str::from_utf8(line).ok());
        first.is_some_and(|line| old_in(line).is_some())
    }

    /// Reads a request (SGN-3).
    ///
    /// # Errors
    /// [`NoteError::Form`].
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        let text = text_in(bytes)?;
        let (first, note) = text
            .split_once("\n\n")
            .ok_or(NoteError::Form("it has no empty line"))?;
        let mut lines = first.split('\n');
        let old = lines.next().and_then(old_in);
        let old = old.ok_or(NoteError::Form("its first line is not `old` and a number"))?;
        let proof: Option<Vec<_>> = lines.map(root_in).collect();
        let proof = proof.filter(|proof| proof.len() <= PROOF_MAX);
        let proof = proof.ok_or(NoteError::Form("its proof is no list of digests"))?;
        let head = SignedHead::parse(note.as_bytes())?;
        if old > head.size {
            return Err(NoteError::Form("its old size is larger than its head"));
        }
        let request = Self { old, proof, head };
        // INVARIANT SGN-3
        if request.to_string() == text {
            Ok(request)
        } else {
            Err(NoteError::Form("it can be written in another way"))
        }
    }

    /// Checks that the head follows the newest one that the witness knows of the origin. The caller has checked the
    /// signature, and keeps the new size and root before it signs.
    ///
    /// # Errors
    /// `Corrupt` (code `history_rewritten` or `proof_failed`) if the head is of another history; `Conflict` if the request is not
    /// about the head that the witness knows.
    pub fn follows(&self, known: Option<(u64, TreeRoot)>) -> Result<()> {
        let (size, root) = known.unwrap_or_else(|| (0, sha256(&[])));
        let head = &self.head;
        if head.size == size && head.root != root {
            let text = format!(
                "the witness knows another history of {size} commits from {}",
                head.origin
            );
            return Err(Error::new(ErrorKind::Corrupt, text)
                .with_code(ErrorCode::HistoryRewritten)
                .with_hint("keep both heads: together they prove that the origin signed two histories"));
        }
        if self.old != size {
            let text = format!(
                "the request is about {} commits, but the witness knows {size}",
                self.old
            );
            return Err(
                Error::conflict(text).with_hint(format!("send what treering prove-head {size} prints"))
            );
        }
        if size == 0 {
            return if self.proof.is_empty() {
                Ok(())
            } else {
                Err(NoteError::Proof.into())
            };
        }
        Ok(verify_consistency(
            (size, &root),
            (head.size, &head.root),
            &self.proof,
        )?)
    }
}

fn old_in(line: &str) -> Option<u64> {
    line.strip_prefix("old ").and_then(decimal)
}

impl fmt::Display for WitnessRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old)?;
        self.proof
            .iter()
            .try_for_each(|digest| writeln!(f, "{}", STANDARD.encode(digest)))?;
        write!(f, "\n{}", self.head)
    }
}

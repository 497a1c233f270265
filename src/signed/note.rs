//! Signed notes and checkpoints, as text.
//!
//! # Layer
//! Layer 6, inside `signed`.

use std::fmt;
use std::str;

use super::key::{SigningKey, VerifierKey};
use super::tree::{CommitTree, TreeRoot};
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::object::Time;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most bytes of a note or a request.
pub(super) const BYTES_MAX: usize = 1 << 20;
/// The most signatures of a note. Verifiers must accept 16.
const SIGNATURES_MAX: usize = 100;
/// The beginning of a line with a signature: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// The reason why a note, a request or a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteError {
    /// The bytes break this rule of the form.
    Form(&'static str),
    /// The signature that a known key is said to have made is not by that key.
    Signature(String),
    /// No known key signed the head.
    NotSigned,
    /// The proof does not hold.
    Proof,
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(rule) => write!(f, "this is not a signed head: {rule}"),
            Self::Signature(key) => write!(f, "the signature is not by the key '{key}'"),
            Self::NotSigned => f.write_str("no trusted key signed the head"),
            Self::Proof => f.write_str("the proof of the older head does not hold"),
        }
    }
}

impl std::error::Error for NoteError {}

impl From<NoteError> for Error {
    fn from(error: NoteError) -> Self {
        let (code, hint) = match error {
            NoteError::Form(_) => (
                ErrorCode::BadNote,
                "`sign` prints a signed head, and `prove-head` a request; keep every byte",
            ),
            NoteError::Signature(_) => (
                ErrorCode::BadSignature,
                "the text or the signature was changed, or the key is another one of the same name",
            ),
            NoteError::NotSigned => (
                ErrorCode::NotSigned,
                "name the verifier key of the signer with --key, or add it to the file `trusted-keys`",
            ),
            NoteError::Proof => (
                ErrorCode::ProofFailed,
                "the new head does not continue the old one: the history was rewritten, or the proof is for another head",
            ),
        };
        Self::new(ErrorKind::Corrupt, error.to_string())
            .with_code(code)
            .with_hint(hint)
    }
}

/// A line with a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SignatureLine {
    name: String,
    id: [u8; 4],
    signature: Vec<u8>,
}

/// A known key that signed a note, with the time that a witness states.
#[derive(Clone, Copy, Debug)]
pub struct Signer<'a> {
    /// The key.
    pub key: &'a VerifierKey,
    /// The time of a witness; `None` for the signature of a log.
    pub time: Option<Time>,
}

/// A checkpoint with its signatures. Nothing in it is true before [`Self::verify`] says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    /// The first line: which line of which store this is.
    pub origin: String,
    /// The number of commits: the seq of the head, plus 1.
    pub size: u64,
    /// The root over the digests of these commits.
    pub root: TreeRoot,
    /// Further lines of the note. Treering writes none.
    extension: String,
    signatures: Vec<SignatureLine>,
}

impl SignedHead {
    /// Signs the head of a tree.
    pub(super) fn sign(origin: String, size: u64, root: TreeRoot, keys: &[&SigningKey]) -> Self {
        let mut head = Self {
            origin,
            size,
            root,
            extension: String::new(),
            signatures: Vec::new(),
        };
        let text = head.text();
        for key in keys {
            let line = line_of(&key.verifier(), key.sign(&text));
            if !head.signatures.contains(&line) {
                head.signatures.push(line);
            }
        }
        head
    }

    /// Reads a note of a checkpoint (SGN-3).
    ///
    /// # Errors
    /// [`NoteError::Form`].
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        let text = text_in(bytes)?;
        let (body, lines) = text
            .rsplit_once("\n\n")
            .ok_or(NoteError::Form("it has no empty line"))?;
        let mut parts = body.splitn(4, '\n');
        let mut next = || parts.next().filter(|line| !line.is_empty());
        let (Some(origin), Some(size), Some(root)) = (next(), next(), next()) else {
            return Err(NoteError::Form("it has fewer than three lines"));
        };
        let extension = parts.next().map_or(String::new(), |rest| format!("{rest}\n"));
        if extension.starts_with('\n') || extension.contains("\n\n") {
            return Err(NoteError::Form("it has an empty line"));
        }
        let lines = lines
            .strip_suffix('\n')
            .ok_or(NoteError::Form("it does not end with a line"))?;
        let mut signatures = Vec::new();
        for line in lines.split('\n') {
            let line = read_line(line).ok_or(NoteError::Form("a line is no signature"))?;
            if signatures.contains(&line) || signatures.len() == SIGNATURES_MAX {
                return Err(NoteError::Form(
                    "a signature is there twice, or there are too many",
                ));
            }
            signatures.push(line);
        }
        let head = Self {
            origin: origin.to_owned(),
            size: decimal(size).ok_or(NoteError::Form("its second line is no number"))?,
            root: root_in(root).ok_or(NoteError::Form("its third line is no root"))?,
            extension,
            signatures,
        };
        // INVARIANT SGN-3
        if head.to_string() == text {
            Ok(head)
        } else {
            Err(NoteError::Form("it can be written in another way"))
        }
    }

    /// Returns what the keys of logs sign: the note without its signatures.
    pub fn text(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}",
            self.origin,
            self.size,
            STANDARD.encode(self.root),
            self.extension
        )
    }

    /// Checks every signature by one of `keys`. Returns the keys that signed, of which at least one is a log's.
    ///
    /// # Errors
    /// [`NoteError::Signature`] if a signature is not by the key that it names; [`NoteError::NotSigned`].
    pub fn verify<'a>(&self, keys: &'a [VerifierKey]) -> Result<Vec<Signer<'a>>, NoteError> {
        let (text, mut signers) = (self.text(), Vec::new());
        for line in &self.signatures {
            // Unknown keys must be ignored.
            let Some(key) = keys
                .iter()
                .find(|key| key.name() == line.name && key.id() == line.id)
            else {
                continue;
            };
            let time = key.check(&text, &line.signature)?;
            signers.push(Signer { key, time });
        }
        if signers.iter().all(|signer| signer.time.is_some()) {
            return Err(NoteError::NotSigned);
        }
        Ok(signers)
    }

    /// Returns the line that a witness adds to the note: its statement that at `time` this was the largest head of the
    /// origin that it had seen. The caller must have checked that ([`WitnessRequest::follows`](super::WitnessRequest::follows)).
    pub fn cosign(&self, key: &SigningKey, time: Time) -> String {
        line_of(&key.cosigner(), key.cosign(&self.text(), time)).to_string()
    }

    /// Adds the signatures of another note of the same checkpoint.
    pub(super) fn add(&mut self, other: Self) {
        let new = other
            .signatures
            .into_iter()
            .filter(|line| !self.signatures.contains(line));
        let new: Vec<_> = new.collect();
        self.signatures.extend(new);
    }

    /// Returns whether this note has every signature of another note of the same checkpoint.
    pub(super) fn has_signatures_of(&self, other: &Self) -> bool {
        other.text() == self.text() && other.signatures.iter().all(|line| self.signatures.contains(line))
    }

    /// Returns whether a tree has every commit of this head, or more.
    pub fn is_in(&self, tree: &CommitTree) -> bool {
        tree.root_at(self.size) == Some(self.root)
    }
}

impl fmt::Display for SignedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text())?;
        self.signatures.iter().try_for_each(|line| write!(f, "{line}"))
    }
}

impl fmt::Display for SignatureLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.id[..], &self.signature].concat();
        writeln!(f, "{DASH}{} {}", self.name, STANDARD.encode(bytes))
    }
}

fn line_of(key: &VerifierKey, signature: Vec<u8>) -> SignatureLine {
    SignatureLine {
        name: key.name().to_owned(),
        id: key.id(),
        signature,
    }
}

fn read_line(line: &str) -> Option<SignatureLine> {
    let (name, signature) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = STANDARD.decode(signature).ok()?;
    let (id, signature) = bytes.split_first_chunk()?;
    let is_whole = is_key_name(name) && !signature.is_empty();
    is_whole.then(|| SignatureLine {
        name: name.to_owned(),
        id: *id,
        signature: signature.to_vec(),
    })
}

/// Returns the text in the bytes of a note or a request.
pub(super) fn text_in(bytes: &[u8]) -> Result<&str, NoteError> {
    if bytes.len() > BYTES_MAX {
        return Err(NoteError::Form("it is too long"));
    }
    let text = str::from_utf8(bytes).map_err(|_| NoteError::Form("it is not UTF-8"))?;
    if text.bytes().any(|byte| byte < b' ' && byte != b'\n') {
        return Err(NoteError::Form("it has a control character"));
    }
    Ok(text)
}

/// Reads a decimal number without a sign and leading zeros.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Reads a root in base64.
pub(super) fn root_in(text: &str) -> Option<TreeRoot> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

/// Returns whether a key may have the name.
pub(super) fn is_key_name(name: &str) -> bool {
    let is_wrong = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    !name.is_empty() && !name.contains(is_wrong)
}

#[cfg(test)]
mod tests;

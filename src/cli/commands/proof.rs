//! `prove`, `check-proof`, `contains`: what can be shown to somebody who does not trust the store.
//!
//! A proof document holds nothing that is not checked: a field that the checker does not know is refused, so
//! nobody can smuggle a claim into a document that "holds".
//!
//! # Layer
//! L10, part of cli.
//!
//! # Invariants
//! - CLI-6: a document that `check-proof` accepts says nothing that was not checked.

use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

use super::input::read_input;
use super::objects::cannot_be_said;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure, NO};
use crate::cli::human::one_line;
use crate::cli::output::Meaning;
use crate::digest::{HashAlgorithm, HashSuite, KeyPath, Root, from_hex, to_hex};
use crate::engine::Containment;
use crate::error::{Error, ErrorCode, Result};
use crate::ingest::json as lines;
use crate::object::Id;
use crate::trie::{Proof, ProofLevel, Proven, Terminal, verify_proof};

/// The version of the document.
const VERSION: u32 = 1;
/// The largest document that is read: 64 levels of 15 siblings take less than a tenth of it.
const DOCUMENT_BYTES_MAX: u64 = 1 << 20;

/// The document. Every field is checked.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct ProofDocument {
    version: u32,
    hash: String,
    root: String,
    id: String,
    key_path: String,
    /// The object's digest; null when the proof is that there is none.
    object: Option<String>,
    levels: Vec<LevelDocument>,
    terminal: TerminalDocument,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct LevelDocument {
    bitmap: u16,
    count: u64,
    siblings: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum TerminalDocument {
    Leaf { key_path: String, object: String },
    EmptySlot {},
    EmptyTrie {},
}

impl ProofDocument {
    /// The document of a proof about `id` that holds against `root`.
    fn new(proof: &Proof, suite: HashSuite, root: &Root, id: &Id) -> Result<Self> {
        let key = suite.key_path(id.as_str());
        let proven = verify_proof(proof, suite, root, &key)
            .map_err(|error| Error::internal(format!("a proof that was just made does not hold: {error}")))?;
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

    /// Checks everything that the document says. Returns the reason where it does not hold.
    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!(
                "its version is {}, this program checks version {VERSION}",
                self.version
            ));
        }
        let algorithm = HashAlgorithm::from_name(&self.hash)
            .ok_or_else(|| format!("its hash '{}' is not known", self.hash))?;
        let suite = HashSuite::new(algorithm);
        let id = Id::new(&self.id).map_err(|error| format!("its id is not one: {error}"))?;
        let key = suite.key_path(id.as_str());
        if digest(&self.key_path, "key_path")? != *key.as_bytes() {
            return Err("its key path is not that of its id".to_owned());
        }
        let root = Root::from_bytes(digest(&self.root, "root")?);
        let proof = self.proof(algorithm)?;
        let proven = verify_proof(&proof, suite, &root, &key).map_err(|error| error.to_string())?;
        let stated = self
            .object
            .as_deref()
            .map(|object| digest(object, "object"))
            .transpose()?;
        match (proven, stated) {
            (Proven::Present(proven), Some(stated)) if proven == stated => Ok(()),
            (Proven::Absent, None) => Ok(()),
            (Proven::Present(_), None) => {
                Err("it says that the object is absent, but proves it present".to_owned())
            }
            (Proven::Absent, Some(_)) => {
                Err("it says that the object is present, but proves it absent".to_owned())
            }
            (Proven::Present(_), Some(_)) => {
                Err("it proves another version of the object than it says".to_owned())
            }
        }
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

/// Reads a digest in its one written form, 64 lower-case digits.
fn digest(text: &str, what: &str) -> Result<[u8; 32], String> {
    from_hex(text)
        .filter(|bytes| to_hex(bytes) == text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| format!("its {what} is not a digest of 64 lower-case hexadecimal digits"))
}

/// The proof document of `id` in the state of `view`, as JSON, and whether the object is there.
pub(in crate::cli) fn document(
    memory: &crate::engine::Memory,
    view: &crate::engine::View,
    id: &Id,
) -> Result<(serde_json::Value, bool)> {
    let proof = memory.prove(id, view)?;
    let document = ProofDocument::new(&proof, memory.suite(), &view.root(), id)?;
    let present = document.object.is_some();
    let document = serde_json::to_value(document)
        .map_err(|error| Error::internal(format!("a proof cannot be written as JSON: {error}")))?;
    Ok((document, present))
}

/// What a proof document shows, or why nothing.
pub(in crate::cli) fn check(text: &str) -> Result<Checked, String> {
    let read = lines::parse(text).map_err(|error| format!("it cannot be read: {error}"))?;
    let document =
        ProofDocument::deserialize(&read).map_err(|error| format!("it cannot be read: {error}"))?;
    // A document has one form: lists in the place of maps, or a field that is implied, would be another.
    if serde_json::to_value(&document).ok().as_ref() != Some(&read) {
        return Err("it is not written as a proof document is".to_owned());
    }
    document.check()?;
    Ok(Checked {
        id: document.id,
        root: document.root,
        object: document.object,
    })
}

/// What a valid proof document shows.
pub(in crate::cli) struct Checked {
    pub(in crate::cli) id: String,
    pub(in crate::cli) root: String,
    pub(in crate::cli) object: Option<String>,
}

/// Prove that an object is, or is not, in the state of a root
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Examples:\n  treering prove tea --json > tea.proof\n  treering prove tea --at release-1 --json"
)]
pub(crate) struct Prove {
    /// The object, present or not
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

impl Verb for Prove {
    const NAME: &'static str = "prove";

    fn run(self, context: &mut Context) -> Done {
        prove(context, &self)
    }
}

/// Check a proof; needs no store
#[derive(Args, Debug)]
#[command(after_help = "Exit code 0: the proof holds. 5: it does not.\n\n\
                  Examples:\n  treering check-proof tea.proof --root 5f0c...\n  \
                  treering prove tea --json | treering check-proof -")]
pub(crate) struct CheckProof {
    /// The proof document; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The root that it must be a proof against, all 64 digits
    #[arg(long, value_name = "ROOT")]
    pub(crate) root: Option<String>,
}

impl Verb for CheckProof {
    const NAME: &'static str = "check-proof";

    fn run(self, context: &mut Context) -> Done {
        check_proof(context, &self)
    }
}

/// Say whether a commit or root is kept here
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Exit code 0: kept or thinned. 1: absent.\n\nExamples:\n  treering contains 5f0c81d2\n  \
                  treering contains 5f0c81d2 --json"
)]
pub(crate) struct Contains {
    /// A commit's or root's digest, or 8 or more digits of it
    #[arg(value_name = "DIGEST")]
    pub(crate) digest: String,
}

impl Verb for Contains {
    const NAME: &'static str = "contains";

    fn run(self, context: &mut Context) -> Done {
        contains(context, &self)
    }
}

fn prove(context: &mut Context, verb: &Prove) -> Done {
    let id = Id::new(&verb.id)?;
    let memory = context.open_to_read()?;
    let view = context.view(&memory)?;
    let (document, present) = document(&memory, &view, &id)?;
    context.output.document(&document)?;
    if !context.output.is_json() {
        let what = if present { "is" } else { "is not" };
        context.output.note(
            "proven",
            format!("proves that '{id}' {what} in the state; check it with: treering check-proof FILE"),
        );
    }
    Ok(DONE)
}

fn check_proof(context: &mut Context, verb: &CheckProof) -> Done {
    let wanted = verb.root.as_deref().map(root_option).transpose()?;
    let bytes = read_input(context, &verb.file, DOCUMENT_BYTES_MAX)?;
    let checked = String::from_utf8(bytes)
        .map_err(|_| "it is not text".to_owned())
        .and_then(|text| check(&text))
        .and_then(|checked| match wanted {
            Some(wanted) if wanted != checked.root => Err(format!(
                "it is about the root {}, not the one that was asked for",
                checked.root
            )),
            _ => Ok(checked),
        });
    let checked = match checked {
        Ok(checked) => checked,
        Err(why) => {
            if context.output.is_json() {
                context.output.document(&json!({ "ok": false, "reason": why }))?;
            }
            return Err(
                Error::corrupt(format!("the proof does not hold: {}", one_line(&why)))
                    .with_code(ErrorCode::ProofFailed)
                    .into(),
            );
        }
    };
    if context.output.is_json() {
        context.output.document(&json!({
            "ok": true,
            "id": checked.id,
            "root": checked.root,
            "object": checked.object,
            "present": checked.object.is_some(),
        }))?;
    } else {
        let holds = context.output.paint(Meaning::Good, "the proof holds");
        let what = match &checked.object {
            Some(object) => format!("is in the state as {object}"),
            None => "is not in the state".to_owned(),
        };
        context
            .output
            .line(format_args!("{holds}: '{}' {what}", one_line(&checked.id)))?;
        context.output.line(format_args!("root {}", checked.root))?;
        if verb.root.is_none() {
            context.output.note(
                "root",
                "compare that root with the one you trust, or name it with --root",
            );
        }
    }
    Ok(DONE)
}

fn root_option(text: &str) -> Result<String, Failure> {
    let root: Root = text.parse().map_err(|_| {
        Failure::usage(
            "--root takes all 64 digits of a root",
            "a prefix is easy to forge, and there is no store here to complete it",
        )
    })?;
    Ok(root.to_hex())
}

fn contains(context: &mut Context, verb: &Contains) -> Done {
    let memory = context.open_to_read()?;
    // With --at the question is whether the state was kept by then.
    let newest = context.view(&memory)?.commit().commit.seq;
    let mut state = memory.contains(&verb.digest)?;
    if context.options.at.is_some() && state == Containment::Kept {
        let commit = context.resolve(&memory, &verb.digest)?;
        if commit.commit.seq > newest {
            state = Containment::Absent;
        }
    }
    if let (Containment::Absent, Some(damage)) = (state, memory.damage()) {
        return Err(cannot_be_said(&format!("{} is kept", verb.digest), damage).into());
    }
    let name = match state {
        Containment::Kept => "kept",
        Containment::Thinned => "thinned",
        Containment::Absent => "absent",
    };
    if context.output.is_json() {
        context.output.document(&json!({ "state": name }))?;
    } else {
        context.output.line(name)?;
    }
    Ok(if state == Containment::Absent { NO } else { DONE })
}

#[cfg(test)]
mod tests;

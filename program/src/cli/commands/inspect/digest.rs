//! `inspect digest`: lists everything that a full or abbreviated digest may name.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::commands::prelude::*;
use crate::cli::human::heading;
use treering::inspect::engine::Meaning as Found;

/// The largest number of listed meanings of each sort.
const MEANINGS_MAX: usize = 20;

/// List everything that a full or abbreviated digest may name
///
/// # Examples
/// ```text
/// treering inspect digest 5f0c
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(super) struct Digest {
    /// The first 1 to 64 hexadecimal digits of the digest
    digits: String,
}

/// One meaning of the digits.
#[derive(Serialize, JsonSchema)]
pub(super) struct DigestRow {
    /// The sort of meaning: `commit`, `root`, `version`, `key path`, `node`, `erased` or `lost`.
    is_a: &'static str,
    digest: String,
    of: String,
}

impl Digest {
    pub(super) fn run(self, context: &mut Context) -> Done {
        let (memory, view) = context.open_view()?;
        let found = memory.meanings(&self.digits, &view, MEANINGS_MAX)?;
        let is_cut = found.len() >= MEANINGS_MAX;
        let rows = found.iter().map(|meaning| Ok(DigestRow::of(meaning)));
        context.table(rows, &["is_a", "digest", "of"])?;
        if is_cut {
            let note = format!(
                "at most {MEANINGS_MAX} matches of each kind are listed; type more digits to see fewer matches"
            );
            context.note("more", note);
        }
        Ok(DONE)
    }
}

impl DigestRow {
    fn of(meaning: &Found) -> Self {
        let seq = |info: &CommitInfo| info.commit.seq;
        let row = |is_a, digest: &[u8; 32], of| Self {
            is_a,
            digest: to_hex(digest),
            of,
        };
        match meaning {
            Found::Commit(info) => row("commit", info.digest.as_bytes(), heading(info)),
            Found::Root(info) => {
                let of = format!("the state of seq:{}", seq(info));
                row("root", info.commit.root.as_bytes(), of)
            }
            Found::Version(digest, id, info) => {
                let of = format!("{id}, last written by commit seq:{}", seq(info));
                row("version", digest.as_bytes(), of)
            }
            Found::KeyPath(key, id) if id.erased_key() == Some(key.to_string().as_str()) => {
                row("key path", key.as_bytes(), human::without_id(id))
            }
            Found::KeyPath(key, id) => row("key path", key.as_bytes(), id.to_string()),
            Found::Erased(digest, Some(by)) => row("erased", digest, format!("erased by commit {by}")),
            Found::Erased(digest, None) => {
                row("lost", digest, "salvage could not recover the record".to_owned())
            }
            Found::Node(digest, path) => row("node", digest, format!("node {}", human::nibbles(path))),
        }
    }
}

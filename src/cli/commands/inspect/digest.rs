//! `inspect digest`: every meaning of a full or abbreviated digest.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::cli::commands::prelude::*;
use crate::cli::human::heading;
use crate::cli::output;
use crate::digest::to_hex;
use crate::engine::Meaning;

/// The largest number of meanings of each sort that are listed.
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
    /// 1 to 64 hexadecimal digits
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
        let memory = context.open_to_read()?;
        let view = context.view(&memory)?;
        let found = memory.meanings(&self.digits, &view, MEANINGS_MAX)?;
        let is_cut = found.len() >= MEANINGS_MAX;
        context.rows(found.iter().map(|meaning| Ok(DigestRow::of(meaning))), columns)?;
        if is_cut {
            let note = format!("at most {MEANINGS_MAX} of each sort are listed: give more digits");
            context.output.note("more", note);
        }
        Ok(DONE)
    }
}

impl DigestRow {
    fn of(meaning: &Meaning) -> Self {
        let (is_a, bytes, of) = match meaning {
            Meaning::Commit(info) => ("commit", info.digest.as_bytes(), heading(info)),
            Meaning::Root(info) => {
                let of = format!("the state of seq:{}", info.commit.seq);
                ("root", info.commit.root.as_bytes(), of)
            }
            Meaning::Version(digest, id, info) => {
                let of = format!("{id}, last written by seq:{}", info.commit.seq);
                ("version", digest.as_bytes(), of)
            }
            Meaning::KeyPath(key, id) if *id.as_str() == format!("erased:{}", key.to_hex()) => {
                ("key path", key.as_bytes(), human::without_id(id.as_str()))
            }
            Meaning::KeyPath(key, id) => ("key path", key.as_bytes(), id.to_string()),
            Meaning::Erased(digest, Some(by)) => ("erased", digest, format!("erased by commit {by}")),
            Meaning::Erased(digest, None) => ("lost", digest, "could not be salvaged".to_owned()),
            Meaning::Node(digest, path) => ("node", digest, format!("node {}", human::nibbles(path))),
        };
        Self {
            is_a,
            digest: to_hex(bytes),
            of,
        }
    }
}

fn columns(row: &DigestRow, _: &Context) -> Columns {
    vec![
        ("is a", plain(row.is_a)),
        (
            "digest",
            coloured(output::Meaning::Name, row.digest.get(..12).unwrap_or_default()),
        ),
        ("of", plain(&row.of)),
    ]
}

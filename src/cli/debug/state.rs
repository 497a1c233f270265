//! The engine above the files: roots, the trie node by node, proofs, and what digits mean.
//!
//! # Layer
//! L9, part of cli.

use serde_json::json;

use super::arguments::Arguments;
use super::hex;
use super::rows::{Rows, absent, count, digest, name, text};
use super::shell::Shell;
use super::table::{Command, Completes};
use crate::cli::errors::{DONE, Done};
use crate::cli::human;
use crate::digest::{ObjectDigest, to_hex};
use crate::engine::{Meaning, Revision};
use crate::error::{Error, ErrorCode, Result};
use crate::log::Part;
use crate::object::{Id, Object};
use crate::trie::{Node, NodeKind};

/// Meanings of each sort that are shown.
const MEANINGS: usize = 20;

pub(super) const COMMANDS: &[Command] = &[
    Command::verb("head").examples(&[("head", "the root that names the whole state")]),
    Command::verb("stats").examples(&[("stats", "counts and sizes")]),
    Command::verb("verify").examples(&[
        ("verify", "every byte, digest and commit"),
        ("verify --quick", "frames and seals only"),
    ]),
    Command::own(
        "roots",
        "[--limit N]",
        "The root after each commit, and which came back",
        roots,
    )
    .examples(&[("roots --limit 10", "a rollback brings an old root back")]),
    Command::own(
        "what",
        "DIGITS",
        "What a digest, or its first digits, may mean",
        what,
    )
    .examples(&[("what 5f0c", "commit, root, version, key path or node")])
    .completes(Completes::Digest),
    Command::own(
        "version",
        "DIGEST",
        "One version of an object by its digest, current or not",
        version,
    )
    .examples(&[("version 5f0c81d2", "as history keeps it")])
    .completes(Completes::Digest),
    Command::verb("contains")
        .examples(&[("contains 5f0c81d2", "whether a commit or root is kept")])
        .completes(Completes::Digest),
    Command::own(
        "path",
        "ID",
        "The way through the trie to an id, node by node",
        path,
    )
    .examples(&[("path tea", "every digest from the root to the leaf")])
    .completes(Completes::Id),
    Command::own(
        "node",
        "[DIGITS]",
        "A node of the trie by its digits: children, and the bytes it is a digest of",
        node,
    )
    .examples(&[
        ("node", "the top, whose digest is the root"),
        ("node 3a", "two digits down"),
    ]),
    Command::verb("prove")
        .aliases(&["proof"])
        .examples(&[("prove tea", "a proof that the object is, or is not, in the state")])
        .completes(Completes::Id),
    Command::verb("check-proof").examples(&[("check-proof tea.proof", "needs no store")]),
];

fn roots(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let memory = shell.memory()?;
    let limit = arguments.limit()?;
    let commits: Vec<_> = shell.commits()?.collect::<Result<_>>()?;
    let mut first = std::collections::HashMap::new();
    for info in commits.iter().rev() {
        first.entry(info.commit.root).or_insert(info.commit.seq);
    }
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["seq", "root", "objects", "op", "same as"]);
    for info in commits.iter().take(limit) {
        let commit = &info.commit;
        let objects = memory.view_at(&Revision::Seq(commit.seq), "")?.len();
        let same = first.get(&commit.root).filter(|seq| **seq != commit.seq);
        let fields = vec![
            count(commit.seq),
            digest(commit.root.as_bytes()),
            count(objects),
            text(commit.op.as_str()),
            same.map_or_else(absent, |seq| name(format!("seq:{seq}"))),
        ];
        table.row(output, fields)?;
    }
    table.finish(output)?;
    Ok(DONE)
}

fn what(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let digits = arguments.needed(0)?;
    let (memory, view) = (shell.memory()?, shell.view()?);
    let found = memory.meanings(digits, &view, MEANINGS)?;
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["is a", "digest", "of"]);
    for meaning in &found {
        let (sort, bytes, of) = match meaning {
            Meaning::Commit(info) => {
                let commit = &info.commit;
                (
                    "commit",
                    *info.digest.as_bytes(),
                    format!("seq:{} {} by {}", commit.seq, commit.op.as_str(), info.lane()),
                )
            }
            Meaning::Root(info) => (
                "root",
                *info.commit.root.as_bytes(),
                format!("the state of seq:{}", info.commit.seq),
            ),
            Meaning::Version(digest, id, info) => (
                "version",
                *digest.as_bytes(),
                format!("{id}, last given in seq:{}", info.commit.seq),
            ),
            Meaning::KeyPath(key, id) if *id.as_str() == format!("erased:{}", key.to_hex()) => {
                ("key path", *key.as_bytes(), human::without_id(id.as_str()))
            }
            Meaning::Erased(digest, Some(by)) => ("erased", *digest, format!("erased by commit {by}")),
            Meaning::Erased(digest, None) => ("lost", *digest, "could not be salvaged".to_owned()),
            Meaning::KeyPath(key, id) => ("key path", *key.as_bytes(), id.to_string()),
            Meaning::Node(digest, path) => ("node", *digest, format!("node {}", written(path))),
        };
        table.row(output, vec![text(sort), digest(&bytes), text(of)])?;
    }
    table.finish(output)?;
    if found.len() >= MEANINGS {
        output.note(
            "more",
            format!("at most {MEANINGS} of each sort are shown: give more digits"),
        );
    }
    Ok(DONE)
}

/// The version that a digest, or its first digits, names.
pub(super) fn version_of(shell: &Shell<'_>, digits: &str) -> Result<Object> {
    let memory = shell.memory()?;
    let unknown = || {
        Error::not_found(format!(
            "no version of an object starts with {}",
            human::one_line(digits)
        ))
        .with_hint("what DIGITS says what they may mean")
    };
    if let Ok(digest) = digits.parse::<ObjectDigest>() {
        memory.check_kept(digest)?;
        return memory.version(digest)?.ok_or_else(unknown);
    }
    let meanings = memory.meanings(digits, &shell.view()?, MEANINGS)?;
    let mut versions = meanings.into_iter().filter_map(|meaning| match meaning {
        Meaning::Version(digest, _, _) => Some(digest),
        _ => None,
    });
    match (versions.next(), versions.next()) {
        (Some(digest), None) => memory.version(digest)?.ok_or_else(unknown),
        (None, _) => Err(unknown()),
        (Some(_), Some(_)) => Err(Error::invalid(format!("{digits} may mean several versions"))
            .with_code(ErrorCode::Ambiguous)
            .with_hint("give more digits; what DIGITS lists them")),
    }
}

fn version(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let object = version_of(shell, arguments.needed(0)?)?;
    let output = &mut shell.context.output;
    if output.is_json() {
        let attributes = object.attributes();
        let attributes: serde_json::Map<_, _> = attributes
            .iter()
            .map(|(name, held)| (name.clone(), crate::cli::json::value(held)))
            .collect();
        output.document(&json!({
            "id": object.id(), "kind": object.kind(), "scope": object.scope(), "parent": object.parent(),
            "position": object.position(), "attributes": attributes, "content": object.content(),
            "origin": object.origin().name(), "digest": object.digest().to_hex(),
        }))?;
        return Ok(DONE);
    }
    let mut fields = vec![
        ("id", name(object.id())),
        ("kind", text(object.kind())),
        ("scope", text(object.scope())),
        ("origin", text(object.origin().name())),
        ("digest", text(object.digest().to_hex())),
    ];
    fields.extend(object.parent().map(|parent| ("parent", text(parent))));
    super::rows::document(output, fields)?;
    for (name, held) in &object.attributes() {
        output.line(format_args!("{} = {}", human::one_line(name), human::value(held)))?;
    }
    if let Some(content) = object.content() {
        output.line("")?;
        output.line(crate::cli::output::printable(content.trim_end_matches('\n')))?;
    }
    Ok(DONE)
}

/// Digits of a path as they are typed.
fn written(path: &[u8]) -> String {
    let digits = path
        .iter()
        .filter_map(|digit| char::from_digit(u32::from(*digit), 16));
    digits.collect()
}

fn path(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let id = Id::new(arguments.needed(0)?)?;
    let view = shell.view()?;
    let digits = view.path_of(&id);
    let output = &mut shell.context.output;
    let mut table = Rows::new(&["level", "digits", "node", "is a", "children", "leaves", "next"]);
    let mut ends = "an empty trie";
    for level in 0..=digits.len() {
        let below = digits.get(..level).unwrap_or_default();
        let Some(node) = view.trie_node(below)? else {
            break;
        };
        let next = digits
            .get(level)
            .and_then(|digit| char::from_digit(u32::from(*digit), 16));
        let (sort, children) = match &node.kind {
            NodeKind::Branch(children) => {
                ends = "a branch without a child there";
                ("branch", count(children.len() as u64))
            }
            NodeKind::Leaf(entry) => {
                let own = entry.key.to_hex() == written(&digits);
                ends = if own {
                    "its own leaf"
                } else {
                    "the leaf of another id"
                };
                ("leaf", absent())
            }
        };
        let is_leaf = sort == "leaf";
        let fields = vec![
            count(level as u64),
            text(written(below)),
            digest(&node.digest),
            text(sort),
            children,
            count(node.count),
            next.filter(|_| !is_leaf)
                .map_or_else(absent, |digit| text(digit.to_string())),
        ];
        table.row(output, fields)?;
        if is_leaf {
            break;
        }
    }
    table.finish(output)?;
    output.note(
        "path",
        format!(
            "key path {}
ends at {ends}",
            written(&digits)
        ),
    );
    Ok(DONE)
}

fn node(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let typed = arguments.word(0).unwrap_or_default();
    let path: Option<Vec<u8>> = typed
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let path = path.ok_or_else(|| arguments.refuse(&format!("'{typed}' is not hexadecimal digits")))?;
    let view = shell.view()?;
    let node = view.trie_node(&path)?.ok_or_else(|| {
        Error::not_found(format!("the trie has no node at '{typed}'"))
            .with_hint("path ID shows the way to an id")
    })?;
    let entry = match &node.kind {
        NodeKind::Leaf(entry) => Some(entry),
        NodeKind::Branch(_) => None,
    };
    let id = entry
        .map(|entry| shell.memory()?.version(ObjectDigest::from_bytes(entry.digest)))
        .transpose()?
        .flatten();
    let id = id.as_ref().map(Object::id);
    let output = &mut shell.context.output;
    if output.is_json() {
        output.document(&node_document(typed, &node, id))?;
        return Ok(DONE);
    }
    let sort = if entry.is_some() { "leaf" } else { "branch" };
    let level = path.len();
    output.line(format_args!(
        "{sort} at level {level}, digest {}",
        to_hex(&node.digest)
    ))?;
    output.line(format_args!("leaves at and below it: {}", node.count))?;
    if let Some(id) = id {
        output.line(format_args!("id {}", human::one_line(id)))?;
    }
    output.line(format_args!(
        "the digest is over these {} bytes:",
        node.preimage.len()
    ))?;
    hex::show_parts(output, &parts_of(&node), usize::MAX)
}

fn node_document(typed: &str, node: &Node, id: Option<&str>) -> serde_json::Value {
    let children = match &node.kind {
        NodeKind::Leaf(_) => None,
        NodeKind::Branch(children) => Some(children.iter().map(
            |child| json!({ "digit": child.digit, "digest": to_hex(&child.digest), "leaves": child.count }),
        )),
    };
    json!({
        "digits": typed, "digest": to_hex(&node.digest), "leaves": node.count, "id": id,
        "children": children.map(Iterator::collect::<Vec<_>>), "preimage": to_hex(&node.preimage),
    })
}

/// The bytes that a node's digest covers, named.
fn parts_of(node: &Node) -> Vec<Part> {
    let mut offset = 0;
    let parts = node.parts().into_iter().map(|(name, bytes)| {
        let part = Part {
            name,
            offset,
            bytes: bytes.to_vec(),
            may_be_text: false,
        };
        offset += bytes.len() as u64;
        part
    });
    parts.collect()
}

//! The documents that programs read, field by field as the command line promises them.
//!
//! # Layer
//! L10, part of cli.

use serde_json::{Value, json};

use crate::digest::{CommitDigest, ObjectDigest, SubtreeDigest, TextDigest};
use crate::engine::{CommitInfo, Committed, Finding, HistoryEntry, Memory, SnapshotInfo, VerifyReport, View};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::ingest::json as lines;
use crate::object::{self, Id, Object};
use crate::store::ChangeCounts;

/// Children that `get` lists.
const CHILDREN_LISTED: usize = 1_000;

/// The number of the format that this program writes.
pub(crate) const FORMAT: u32 = 1;

/// What `--version` says.
pub(crate) fn version() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION"), "format": FORMAT })
}

/// A document with the commit that it tells of, as every writing verb names it.
pub(crate) fn with_commit(mut document: Value, info: &CommitInfo) -> Value {
    document["commit"] = info.digest.to_hex().into();
    document["seq"] = info.commit.seq.into();
    document["root"] = info.commit.root.to_hex().into();
    document
}

/// An attribute's value.
pub(crate) fn value(value: &object::Value) -> Value {
    lines::value_to_json(value)
}

/// The attributes of an object.
fn attributes(object: &Object) -> Value {
    object
        .attributes()
        .iter()
        .map(|(name, held)| (name.clone(), value(held)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// An object as a line of `list`: without content, children and subtree digest.
pub(crate) fn listed(view: &View, object: &Object) -> Result<Value> {
    let stamps = view.stamps(&Id::new(object.id())?)?;
    let (created, updated) = stamps
        .map(|(created, updated)| (created.to_string(), updated.to_string()))
        .unzip();
    let derived_from: Vec<String> = object.derived_from().map(ObjectDigest::to_hex).collect();
    Ok(json!({
        "id": object.id(),
        "kind": object.kind(),
        "scope": object.scope(),
        "parent": object.parent(),
        "position": object.position(),
        "attributes": attributes(object),
        "origin": object.origin().name(),
        "digest": object.digest().to_hex(),
        "created": created,
        "updated": updated,
        "derived_from": derived_from,
        "event_time": object.event_time().map(|time| time.to_string()),
        "expires": object.expires().map(|time| time.to_string()),
    }))
}

/// An object with everything that belongs to it, for `get`.
pub(crate) fn object(view: &View, object: &Object) -> Result<Value> {
    let id = Id::new(object.id())?;
    let children = view.children(&id, Some(CHILDREN_LISTED))?;
    let mut document = listed(view, object)?;
    document["children"] = children.iter().map(Id::as_str).collect();
    document["children_total"] = view.child_count(&id)?.into();
    document["content"] = object.content().into();
    document["content_erased_by"] = object.erased_by().map(CommitDigest::to_hex).into();
    document["subtree_digest"] = view.subtree_digest(&id)?.map(SubtreeDigest::to_hex).into();
    Ok(document)
}

/// A commit, as a line of `log`.
pub(crate) fn commit(memory: &Memory, info: &CommitInfo, counts: ChangeCounts) -> Result<Value> {
    let commit = &info.commit;
    let (source, source_gone) = text_or_why(memory, commit.source)?;
    let (reason, reason_gone) = text_or_why(memory, commit.reason)?;
    let parents: Vec<String> = commit.parents.iter().map(|parent| parent.to_hex()).collect();
    Ok(json!({
        "commit": info.digest.to_hex(),
        "seq": commit.seq,
        "parents": parents,
        "root": commit.root.to_hex(),
        "time": commit.time.to_string(),
        "op": commit.op.as_str(),
        "target": commit.target.map(CommitDigest::to_hex),
        "actor": commit.actor,
        "session": commit.session,
        "source": source,
        "source_digest": commit.source.map(TextDigest::to_hex),
        "source_erased": source_gone == Some(ErrorCode::Erased),
        "source_lost": source_gone == Some(ErrorCode::Lost),
        "trust": commit.trust.name(),
        "reason": reason,
        "reason_digest": commit.reason.map(TextDigest::to_hex),
        "reason_erased": reason_gone == Some(ErrorCode::Erased),
        "reason_lost": reason_gone == Some(ErrorCode::Lost),
        "added": counts.added,
        "changed": counts.changed,
        "removed": counts.removed,
    }))
}

/// How much a verb changed: nothing if it made no commit.
pub(crate) fn counts(memory: &Memory, committed: &Committed) -> Result<ChangeCounts> {
    if committed.changed {
        memory.commit_counts(&committed.commit)
    } else {
        Ok(ChangeCounts::default())
    }
}

/// A reason or source; `None` too where it was erased or lost.
pub(crate) fn text(memory: &Memory, digest: Option<TextDigest>) -> Result<Option<String>> {
    Ok(text_or_why(memory, digest)?.0)
}

/// A reason or source for people, who are told if it was erased or lost.
pub(crate) fn told_text(memory: &Memory, digest: Option<TextDigest>) -> Result<Option<String>> {
    let (text, gone) = text_or_why(memory, digest)?;
    Ok(text.or_else(|| gone.map(|code| format!("({code})"))))
}

/// A reason or source, or the code that says why it is not there: `erased` or `lost`.
fn text_or_why(memory: &Memory, digest: Option<TextDigest>) -> Result<(Option<String>, Option<ErrorCode>)> {
    let Some(digest) = digest else {
        return Ok((None, None));
    };
    match memory.text(&digest) {
        Ok(text) => Ok((Some(text), None)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((None, Some(error.code()))),
        Err(error) => Err(error),
    }
}

/// A change of one object, as a line of `history`.
pub(crate) fn history_entry(entry: &HistoryEntry) -> Value {
    json!({
        "digest": entry.digest.map(ObjectDigest::to_hex),
        "erased": entry.erased,
        "lost": entry.lost,
        "commit": entry.commit.digest.to_hex(),
        "seq": entry.commit.commit.seq,
        "time": entry.time.to_string(),
        "op": entry.maker().map(|made| made.commit.op.as_str()),
        "thinned": entry.thinned,
    })
}

/// A snapshot, as a line of `snapshots`.
pub(crate) fn snapshot(info: &SnapshotInfo) -> Value {
    json!({
        "index": info.index,
        "name": if info.index.is_some() { None } else { Some(&info.name) },
        "root": info.root.to_hex(),
        "commit": info.commit.to_hex(),
        "time": info.time.to_string(),
        "seq": info.seq,
        "lane": info.lane,
        "actor": info.actor,
        "session": info.session,
        "reason": info.reason,
    })
}

/// What `verify` found.
pub(crate) fn verify_report(report: &VerifyReport) -> Value {
    json!({
        "ok": report.ok,
        "commits": report.commits,
        "versions": report.versions,
        "bytes": report.bytes,
        "erased": report.erased,
        "lost": report.lost,
        "thinned": report.thinned,
        "derived": findings(&report.derived),
        "damage": findings(&report.damage),
    })
}

pub(crate) fn findings(findings: &[Finding]) -> Value {
    findings
        .iter()
        .map(|finding| {
            let damage = &finding.damage;
            json!({
                "kind": finding.kind().name(),
                "file": damage.file,
                "offset": damage.offset,
                "what": damage.cause.to_string(),
            })
        })
        .collect()
}

//! The documents that programs read, field by field as the command line promises them.
//!
//! # Layer
//! L10, part of cli.

use serde_json::Value;

use crate::engine::CommitInfo;
use crate::ingest::json as lines;
use crate::object;

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

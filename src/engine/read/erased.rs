//! The error for content that was erased or lost.
//!
//! # Layer
//! Layer 5.

use crate::digest::{CommitDigest, DIGEST_LEN, TextDigest};
use crate::error::{Error, ErrorCode, Result};
use crate::store::{Store, erased_error};

/// Returns the error for reading erased content. The error names the author, time and reason of the erasure, if history
/// keeps them.
pub(crate) fn erased_by(store: &Store, what: &str, by: Option<CommitDigest>) -> Error {
    let Some(by) = by.filter(|by| *by != CommitDigest::NOBODY) else {
        return Error::not_found(format!("{what} was lost to damage and could not be salvaged"))
            .with_code(ErrorCode::Lost)
            .with_hint("the data was damaged, not erased: an earlier backup or export may contain the data");
    };
    let Ok(Some(commit)) = store.by_digest(by) else {
        return erased_error(what).with_hint(format!(
            "the erasing commit was {by}; it is thinned, or of another line"
        ));
    };
    let commit = &commit.commit;
    let reason = text_of(store, commit.reason).map_or_else(String::new, |text| format!(": {text}"));
    let lane = commit.lane();
    let who = match commit.actor.as_deref() {
        Some(actor) if actor != lane => format!("{actor} in {lane}"),
        _ => lane.to_owned(),
    };
    erased_error(what).with_hint(format!(
        "{who} erased it at {}, seq:{}{reason}",
        commit.time, commit.seq
    ))
}

/// Returns the error for a digest that history does not keep, which may have been erased.
pub(crate) fn not_kept(store: &Store, digest: &[u8; DIGEST_LEN], what: &str) -> Result<Error> {
    Ok(match store.records.erasure(digest)? {
        Some(by) => erased_by(store, what, Some(by)),
        None => Error::not_found(format!("history does not contain {what}")),
    })
}

/// Returns the text of a reason or source. Returns `None` if the text was thinned or erased.
pub(crate) fn text_of(store: &Store, digest: Option<TextDigest>) -> Option<String> {
    let text = store.records.find_text(digest?).ok().flatten()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

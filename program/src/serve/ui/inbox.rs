//! The front page: what waits for the person, what was learned, and what the memory says.
//!
//! # Layer
//! Layer 9, part of serve.

use serde::Deserialize;

use super::ROWS_MAX;
use super::reader::Reader;
use crate::answers::agent::inbox::{ITEMS, Inbox, InboxAsked};
use treering::Result;
use treering::agent::Reach;
use treering::inspect::ingest::moment;

/// The request for the inbox.
#[derive(Default, Deserialize)]
pub(crate) struct AskedInbox {
    /// What was learned since this time: the midnight of the person [default: one day ago].
    since: Option<String>,
    count: Option<usize>,
}

/// Returns the inbox of every scope, with untrusted texts, because its reader is a person.
///
/// # Errors
/// `InvalidInput` if the time is none; `Corrupt` or `Io` if an object cannot be read.
pub(crate) fn inbox(reader: &Reader, asked: &AskedInbox) -> Result<Inbox> {
    let view = reader.head()?;
    let asked = InboxAsked {
        reach: &Reach::All,
        since: moment::given(asked.since.as_deref(), view.now())?,
        limit: asked.count.unwrap_or(ITEMS).clamp(1, ROWS_MAX),
        with_untrusted: true,
    };
    Inbox::of(&reader.agent, &view, &asked)
}

//! The manifest of a remote that this store read or wrote last. It saves requests.
//!
//! # Layer
//! Layer 7, part of `remote`.

use super::bucket::Version;
use super::place::Published;
use super::remote::Remote;
use crate::codec::{Reader, put_sized};
use crate::digest::{sha256, to_hex};
use crate::engine::{Memory, Seen};
use crate::error::Result;
use crate::log::Format;
use crate::log::closed::ClosedLog;

impl Remote {
    /// Returns the name of the derived file with the newest manifest of this remote.
    fn cache_name(&self) -> String {
        // A manifest that was read with another key must not stand for one that this key reads.
        let key = self
            .sealed
            .as_ref()
            .map_or_else(String::new, |sealed| sealed.key_id());
        let name = format!("{}{key}", self.name);
        format!("remote-{}", &to_hex(&sha256(name.as_bytes()))[..8])
    }

    /// Returns the manifest that this store read or wrote last; `None` if it is not at hand.
    pub(super) fn cached(&self, memory: &Memory) -> Result<Option<Published>> {
        let Some(bytes) = memory.derived(&self.cache_name())? else {
            return Ok(None);
        };
        let mut reader = Reader::new(&bytes);
        let parts = reader
            .text()
            .and_then(|version| Ok((version.to_owned(), reader.sized()?)));
        let Ok((version, format)) = parts else {
            return Ok(None);
        };
        let manifest = reader.bytes(reader.left()).unwrap_or_default();
        let log = Format::of_bytes(format).and_then(|format| ClosedLog::decode(format, manifest));
        // The file is derived, so what is wrong with it is read again.
        Ok(log.ok().flatten().map(|log| Published {
            log,
            version: Some(Version(version)),
        }))
    }

    /// Keeps a manifest for the next call. It only saves requests, so an error does not matter.
    pub(super) fn cache(&self, memory: &Memory, published: &Published) {
        let Some(Version(version)) = &published.version else {
            return;
        };
        let mut bytes = Vec::new();
        put_sized(&mut bytes, version.as_bytes());
        put_sized(&mut bytes, &published.log.format.to_bytes());
        bytes.extend_from_slice(&published.log.encode());
        drop(memory.keep_derived(&self.cache_name(), &bytes, &memory.view()));
    }
}

/// Returns how far a reader of this log has read.
pub(super) fn seen_in(log: &ClosedLog) -> Seen {
    Seen {
        instance: log.format.instance,
        generation: log.generation,
        batch: log.last_batch(),
        head: log.head,
        is_signed: false,
    }
}

/// Returns whether a reader that has read so far has read all of this log.
pub(super) fn has_read(seen: Option<Seen>, log: &ClosedLog) -> bool {
    seen.is_some_and(|seen| {
        seen_in(log)
            == Seen {
                is_signed: false,
                ..seen
            }
    })
}

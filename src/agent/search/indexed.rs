//! The recall index of one state: the entries of each object, and their updates.
//!
//! The index contains every object with a text, except objects of kind `session`. The speaker is the attribute
//! `speaker`, else `subject`. The words are the words of the text, of the tags, and of the subject if the subject is
//! not used as the speaker. The time is the event time, else the time of the first commit with the id. Objects of the
//! same time are ordered by the attribute `order`, else by the time in a `UUIDv7` id, else by the number at the end of
//! the id.
//!
//! # Layer
//! Layer 7, inside `agent`. Derived: it can be rebuilt at any time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::vectors::{TextKey, Vectors};
use crate::agent::followed::{Followed, key_at};
use crate::agent::item::Item;
use crate::agent::vocabulary::kind;
use crate::engine::{Derive, Keep, Memory, Version};
use crate::error::{Error, ErrorCode, Result};
use crate::object::Object;
use crate::recall::{self, Full, Index, Key};
use crate::tables::{Builder, Image};

/// The index of one state, with the view of the state.
pub(crate) type Indexed = Followed<Content>;

/// The entries of the index. Each entry depends on one object only.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) index: Index,
    /// The expiry times of the objects that expire, in microseconds since 1970.
    pub(crate) expiries: HashMap<Key, i64>,
    /// The keys of the untrusted objects.
    pub(crate) untrusted: HashSet<Key>,
    /// The vectors of the host's embedder; `None` if the host set no embedder. `embedded` contains the keys of the
    /// texts with a vector.
    #[serde(skip)]
    vectors: Option<Arc<Vectors>>,
    #[serde(skip)]
    pub(super) embedded: HashMap<Key, TextKey>,
}

impl Content {
    /// Returns an empty index.
    pub(super) fn new(vectors: Option<Arc<Vectors>>) -> Self {
        Self {
            vectors,
            ..Self::default()
        }
    }
}

impl Keep for Content {
    const NAME: &'static str = "recall";
    const VERSION: u8 = 1;

    fn len(&self) -> u64 {
        self.index.len() as u64
    }

    fn write(&self, image: &mut Builder) {
        image.section(|bytes| bytes.extend(postcard::to_allocvec(self).unwrap_or_default()));
    }

    fn read(image: &Arc<Image>, first: usize) -> Option<Self> {
        postcard::from_bytes(image.read(first, 0, image.length(first))?).ok()
    }
}

impl Derive for Content {
    fn remove(&mut self, old: &Version<'_>) -> Result<bool> {
        let key = key_at(&old.key());
        self.index.remove(&key);
        self.expiries.remove(&key);
        self.untrusted.remove(&key);
        self.embedded.remove(&key);
        Ok(true)
    }

    fn add(&mut self, new: &Version<'_>) -> Result<()> {
        let Some(object) = new.object()? else {
            return Ok(());
        };
        let Some(text) = text_of(&object) else {
            return Ok(());
        };
        let key = key_at(&new.key());
        let time = object.event_time().unwrap_or_else(|| new.created());
        let item = Item::from(object.clone());
        let subject = item.subject();
        let (speaker, about) = match item.speaker() {
            Some(speaker) => (Some(speaker), subject),
            None => (subject, None),
        };
        let more = [item.tags(), about.into_iter().collect()].concat();
        let with_more = (!more.is_empty()).then(|| format!("{text}\n{}", more.join("\n")));
        let path = |id: &String| key_at(&new.suite().key_path(id));
        let superseded: Vec<Key> = item.supersedes().iter().map(path).collect();
        let session = item.session();
        let vector = self.vectors.as_ref().map(|vectors| {
            let text_key = Vectors::key(new.suite(), text);
            self.embedded.insert(key, text_key);
            vectors.vector(text_key, text)
        });
        let found_by = recall::Document {
            key,
            scope: object.scope(),
            session: session.as_deref(),
            speaker: speaker.as_deref().unwrap_or_default(),
            time: time.as_micros().div_euclid(1_000_000),
            order: order_of(&item),
            text: with_more.as_deref().unwrap_or(text),
            supersedes: &superseded,
            vector: vector.as_deref(),
        };
        self.index.put(&found_by).map_err(|Full| {
            let error = Error::invalid("the recall index is full, so it cannot add the words of the text");
            error.with_code(ErrorCode::OverLimit)
        })?;
        if let Some(expires) = object.expires() {
            self.expiries.insert(key, expires.as_micros());
        }
        if !object.origin().is_trusted() {
            self.untrusted.insert(key);
        }
        Ok(())
    }
}

/// Returns the text of an object for the index, or `None` if the object has no entry.
pub(super) fn text_of(object: &Object) -> Option<&str> {
    let is_indexed = !object.is_placeholder() && object.kind() != kind::SESSION;
    object.content().filter(|text| is_indexed && !text.is_empty())
}

/// Returns the key of an id in the indexes of this layer.
pub(in crate::agent) fn key_of(memory: &Memory, id: &str) -> Key {
    key_at(&memory.suite().key_path(id))
}

/// Returns the number by which an item is ordered among the items of the same time.
fn order_of(item: &Item) -> u32 {
    match item.order() {
        Some(order) => u32::try_from(order.max(0)).unwrap_or(u32::MAX),
        None => order_in_id(item.object().id().as_str()),
    }
}

/// Returns the order that an id contains: the low bits of the time of a `UUIDv7`, which repeat after 17 minutes, else
/// the number at the end of the id.
pub(super) fn order_in_id(id: &str) -> u32 {
    let name = id.rsplit('/').next().unwrap_or(id);
    let hexadecimal: Vec<u8> = name.bytes().filter(|&byte| byte != b'-').collect();
    let is_v7 = name.len() == 36 && hexadecimal.len() == 32 && hexadecimal[12] == b'7';
    if is_v7
        && let Ok(text) = std::str::from_utf8(&hexadecimal)
        && let Ok(uuid) = u128::from_str_radix(text, 16)
    {
        // Combine the low 20 bits of the milliseconds with the 12 bits after the version.
        let millis = (uuid >> 80) as u32;
        return millis << 12 | (uuid >> 64) as u32 & 0xfff;
    }
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
    name[name.len() - digits..].parse().unwrap_or(0)
}

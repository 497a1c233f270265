//! The recall index of one state: which objects it holds, and how it follows the state.
//!
//! The index holds every object with a text, except those of kind `session`. The speaker is the attribute `speaker`, else
//! `subject`. The words are the text, the tags, and the subject if it is not the speaker already. The time is the event
//! time, else the time of the first commit with the id. The place among objects of one time is the attribute `order`,
//! else the time in an id that is a `UUIDv7`, else the number at the end of the id.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping it costs time only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::found::time_of;
use super::vectors::{TextKey, Vectors};
use crate::agent::item::Item;
use crate::agent::vocabulary::kind;
use crate::digest::KeyPath;
use crate::engine::{Change, Memory, View};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::Object;
use crate::recall::{Full, Index, Key};

/// How the index got to the state of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// It was at this state.
    AtHand,
    /// It followed this many changes.
    Followed(u64),
    /// It was built of this many objects.
    Built(u64),
}

/// An index and the state that it stands for.
#[derive(Clone)]
pub(crate) struct Indexed {
    pub(super) view: View,
    pub(crate) content: Content,
    /// The maker of vectors, and the texts with vectors.
    vectors: Option<Arc<Vectors>>,
    pub(super) embedded: HashMap<Key, TextKey>,
}

/// The part of an index that is kept on disk.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) index: Index,
    /// When the objects expire that do, in microseconds since 1970.
    pub(crate) expiries: HashMap<Key, i64>,
    /// The untrusted objects.
    pub(crate) untrusted: HashSet<Key>,
}

impl Indexed {
    /// The empty index of a state.
    pub(super) fn empty(view: &View, vectors: Option<Arc<Vectors>>) -> Self {
        Self {
            view: view.clone(),
            content: Content::default(),
            vectors,
            embedded: HashMap::new(),
        }
    }

    /// Adds all objects of the state.
    pub(super) fn build(mut self, memory: &Memory) -> Result<(Arc<Self>, Reached)> {
        for object in self.view.objects() {
            let object = object?;
            let key = key_of(memory, object.id());
            self.put(memory, key, &object)?;
        }
        let count = self.content.index.len() as u64;
        Ok((Arc::new(self), Reached::Built(count)))
    }

    /// Moves an index to a state; a copy of it if others read it.
    pub(super) fn follow(
        mut kept: Arc<Self>,
        memory: &Memory,
        view: &View,
        changes: &[Change],
    ) -> Result<(Arc<Self>, Reached)> {
        let indexed = Arc::make_mut(&mut kept);
        indexed.view = view.clone();
        for change in changes {
            indexed.apply(memory, change)?;
        }
        Ok((kept, Reached::Followed(changes.len() as u64)))
    }

    fn apply(&mut self, memory: &Memory, change: &Change) -> Result<()> {
        let key = key_of_change(memory, change);
        self.content.index.remove(&key);
        self.content.expiries.remove(&key);
        self.content.untrusted.remove(&key);
        self.embedded.remove(&key);
        if change.new.is_none() || change.erased {
            return Ok(());
        }
        match self.view.get(&change.id) {
            Ok(Some(object)) => self.put(memory, key, &object),
            Ok(None) => Ok(()),
            // The version was erased later; an older version gave the id.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn put(&mut self, memory: &Memory, key: Key, object: &Object) -> Result<()> {
        let Some(text) = text_of(object) else {
            return Ok(());
        };
        let time = time_of(&self.view, object)?;
        let item = Item::from(object.clone());
        let subject = item.subject();
        let (speaker, about) = match item.speaker() {
            Some(speaker) => (Some(speaker), subject),
            None => (subject, None),
        };
        let more = [item.tags(), about.into_iter().collect()].concat();
        let with_more = (!more.is_empty()).then(|| format!("{text}\n{}", more.join("\n")));
        let superseded: Vec<Key> = item.supersedes().iter().map(|id| key_of(memory, id)).collect();
        let session = item.session();
        let found_by = crate::recall::Memory {
            key,
            scope: object.scope(),
            session: session.as_deref(),
            speaker: speaker.as_deref().unwrap_or_default(),
            time: time.as_micros().div_euclid(1_000_000),
            order: order_of(&item),
            text: with_more.as_deref().unwrap_or(text),
            supersedes: &superseded,
        };
        if let Some(vectors) = &self.vectors {
            let text_key = Vectors::key(memory.suite(), text);
            let vector = vectors.vector(text_key, text);
            self.content
                .index
                .put_with_vector(&found_by, &vector)
                .map_err(full)?;
            self.embedded.insert(key, text_key);
        } else {
            self.content.index.put(&found_by).map_err(full)?;
        }
        if let Some(expires) = object.expires() {
            self.content.expiries.insert(key, expires.as_micros());
        }
        if !object.origin().is_trusted() {
            self.content.untrusted.insert(key);
        }
        Ok(())
    }
}

/// The text of an object in the index; `None` for an object without an entry.
pub(super) fn text_of(object: &Object) -> Option<&str> {
    let is_indexed = !object.is_placeholder() && object.kind() != kind::SESSION;
    object.content().filter(|text| is_indexed && !text.is_empty())
}

fn full(_: Full) -> Error {
    Error::invalid("there are more words than the index of recall can hold").with_code(ErrorCode::OverLimit)
}

/// The name of an id in the recall index.
pub(in crate::agent) fn key_of(memory: &Memory, id: &str) -> Key {
    key_at(&memory.suite().key_path(id))
}

fn key_at(path: &KeyPath) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&path.as_bytes()[..Key::BYTES]);
    key
}

fn key_of_change(memory: &Memory, change: &Change) -> Key {
    // An erased version has a made-up id that holds the key path.
    let told = change.id.as_str().strip_prefix("erased:");
    let path = told
        .filter(|_| change.erased)
        .and_then(|path| path.parse::<KeyPath>().ok());
    path.map_or_else(|| key_of(memory, change.id.as_str()), |path| key_at(&path))
}

/// The place of an item among those of one time.
fn order_of(item: &Item) -> u32 {
    match item.order() {
        Some(order) => u32::try_from(order.max(0)).unwrap_or(u32::MAX),
        None => order_in_id(item.object().id()),
    }
}

/// The order in an id: the time of a `UUIDv7`, to 17 minutes; else the number at its end.
pub(super) fn order_in_id(id: &str) -> u32 {
    let name = id.rsplit('/').next().unwrap_or(id);
    let hexadecimal: Vec<u8> = name.bytes().filter(|&byte| byte != b'-').collect();
    let is_v7 = name.len() == 36 && hexadecimal.len() == 32 && hexadecimal[12] == b'7';
    if is_v7
        && let Ok(text) = std::str::from_utf8(&hexadecimal)
        && let Ok(uuid) = u128::from_str_radix(text, 16)
    {
        // The low 20 bits of the milliseconds, and the 12 bits after the version.
        let millis = (uuid >> 80) as u32;
        return millis << 12 | (uuid >> 64) as u32 & 0xfff;
    }
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
    name[name.len() - digits..].parse().unwrap_or(0)
}

//! The recall index follows the states of memory.
//!
//! One index stands for the newest state that was asked about, another for the last older one. Each is brought to
//! the state of a question by what differs, so that a commit costs what it changed and a rollback as much; where there
//! is nothing near, it is built of the whole state. Who asks holds the index as it was handed out: nobody waits while
//! it is read, and who moves it on meanwhile moves a copy. What takes long is made beside the index that is there, and
//! texts are embedded before anything is locked: whoever asks about a state that is at hand waits for neither, and an
//! embedder may itself recall.
//!
//! # What is indexed
//! Every object with a text, but for those of kind `session`. Its speaker is the attribute `speaker`, else `subject`;
//! its words are the text, the tags, and the subject if that is not the speaker already; its time is the event time,
//! else when the id was first written; its place among those of one time is the attribute `order`, else the time in an
//! id that is a `UUIDv7`, else the number that the id ends with.
//!
//! # Layer
//! L7, inside `agent`. Derived: dropping it costs time only.
//!
//! # Invariants
//! - RIX-1: an index handed out for a view holds the texts of that view's state and no other, whatever was indexed
//!   before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::kept;
use super::vectors::{TextKey, Vectors, is_embedding};
use crate::agent::agent::Agent;
use crate::agent::item::Item;
use crate::agent::vocabulary::kind;
use crate::digest::KeyPath;
use crate::engine::{Change, Memory, View};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Id, Object, Time};
use crate::recall::{Embedder, Full, Index, Key, Scratch};
use crate::threads::Mutex;

/// So many changes are made to an index in its place; more to a copy, so that nobody waits for them.
const IN_PLACE_MAX: usize = 500;
/// Scratches kept for the next readers.
const SCRATCHES_KEPT: usize = 8;

/// How an index came to stand for the state of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// It stood for it already.
    AtHand,
    /// It was brought there by this many changes.
    Followed(u64),
    /// It was built of this many memories.
    Built(u64),
}

/// An index and the state that it stands for.
#[derive(Clone)]
pub(crate) struct Indexed {
    view: View,
    /// The index.
    pub(crate) index: Index,
    /// When those expire that do.
    pub(crate) expiries: HashMap<Key, Time>,
    /// What is not trusted.
    pub(crate) untrusted: HashSet<Key>,
    /// What makes vectors, and of which texts they are here.
    vectors: Option<Arc<Vectors>>,
    embedded: HashMap<Key, TextKey>,
}

/// The indexes of an agent.
#[derive(Default)]
pub(crate) struct RecallIndex {
    slots: Mutex<Slots>,
    /// Held by the one who makes an index. No embedder runs meanwhile.
    making: Mutex<()>,
    scratches: Mutex<Vec<Scratch>>,
    vectors: Option<Arc<Vectors>>,
}

impl RecallIndex {
    /// Indexes with vectors beside words.
    pub(crate) fn with_vectors(vectors: Vectors) -> Self {
        Self {
            vectors: Some(Arc::new(vectors)),
            ..Self::default()
        }
    }

    /// How much changed since the newest index was kept on disk, and that index.
    pub(super) fn unkept(&self) -> (u64, Option<Arc<Indexed>>) {
        let slots = self.slots.lock();
        (slots.unkept, slots.newest.clone())
    }

    /// The newest index is on disk now.
    pub(super) fn was_kept(&self) {
        self.slots.lock().unkept = 0;
    }
}

#[derive(Default)]
struct Slots {
    newest: Option<Arc<Indexed>>,
    past: Option<Arc<Indexed>>,
    /// Whether what an earlier process kept was looked for.
    was_loaded: bool,
    /// Changes of the newest one that are not on disk.
    unkept: u64,
}

impl Agent {
    /// Gives `read` the recall index of the state of `view`. Others may read and write meanwhile.
    ///
    /// # Errors
    /// Those of `read`; `Corrupt` or `Io` if an object cannot be read; `InvalidInput` (code `over_limit`) after some
    /// thousand million words.
    pub fn with_index<T>(
        &self,
        view: &View,
        read: impl FnOnce(&Index, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        let (indexed, _) = self.indexed(view)?;
        self.with_scratch(|scratch| read(&indexed.index, scratch))
    }

    /// The index of the state of `view`, and how it came there.
    pub(crate) fn indexed(&self, view: &View) -> Result<(Arc<Indexed>, Reached)> {
        let (recall_index, memory) = (self.recall_index(), self.memory());
        let at_hand = || {
            let mut slots = recall_index.slots.lock();
            if !std::mem::replace(&mut slots.was_loaded, true) {
                let loaded = kept::load(memory, recall_index.vectors.as_ref());
                slots.newest = loaded.map(Arc::new);
            }
            slots.at_hand(view)
        };
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        let vectors = recall_index.vectors.clone();
        if is_embedding() {
            // An embedder asks, for what is being embedded: it is answered by words.
            return Indexed::empty(view, None).build(memory);
        }
        let newest = recall_index.slots.lock().newest.clone();
        if let Some(vectors) = &vectors {
            vectors.embed_new(memory, newest.as_deref().map(Indexed::view), view)?;
        }
        drop(newest);
        let _alone = recall_index.making.lock();
        if let Some(found) = at_hand() {
            return Ok((found, Reached::AtHand));
        }
        recall_index.make(memory, view, &|| Indexed::empty(view, vectors.clone()))
    }

    /// What makes vectors of questions, if the host gave something, and it is not the one who asks.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        let vectors = self.recall_index().vectors.as_deref();
        vectors
            .filter(|_| !is_embedding())
            .map(|vectors| vectors as &dyn Embedder)
    }

    /// Lends a scratch.
    pub(crate) fn with_scratch<T>(&self, work: impl FnOnce(&mut Scratch) -> T) -> T {
        let scratches = &self.recall_index().scratches;
        let mut scratch = scratches.lock().pop().unwrap_or_default();
        let worked = work(&mut scratch);
        let mut kept = scratches.lock();
        if kept.len() < SCRATCHES_KEPT {
            kept.push(scratch);
        }
        worked
    }

    /// The name of an id in the recall index.
    pub(crate) fn recall_key(&self, id: &str) -> Key {
        key_of(&self.memory().suite().key_path(id))
    }
}

impl Slots {
    fn at_hand(&self, view: &View) -> Option<Arc<Indexed>> {
        let mut kept = [&self.newest, &self.past].into_iter().flatten();
        kept.find(|kept| kept.view.root() == view.root()).cloned()
    }
}

impl RecallIndex {
    /// Makes the index of a state that is not at hand. Nobody else makes one at the same time.
    fn make(
        &self,
        memory: &Memory,
        view: &View,
        empty: &dyn Fn() -> Indexed,
    ) -> Result<(Arc<Indexed>, Reached)> {
        let seq = |view: &View| view.commit().commit.seq;
        let newest = self.slots.lock().newest.clone();
        let is_newest = newest
            .as_ref()
            .is_none_or(|newest| seq(&newest.view) <= seq(view));
        if !is_newest {
            let past = self.slots.lock().past.take();
            let (indexed, reached) = reach_past(memory, view, [past, newest], empty)?;
            self.slots.lock().past = Some(Arc::clone(&indexed));
            return Ok((indexed, reached));
        }
        let (indexed, reached) = match newest {
            Some(newest) => {
                let changes = memory.diff(&newest.view, view)?;
                if changes.len() <= IN_PLACE_MAX {
                    // Taken out: what nobody else holds is changed in its place, and what fails half-way does not stay.
                    self.slots.lock().newest = None;
                }
                Indexed::follow(newest, memory, view, &changes)?
            }
            None => empty().build(memory)?,
        };
        let mut slots = self.slots.lock();
        slots.newest = Some(Arc::clone(&indexed));
        slots.unkept += match reached {
            Reached::AtHand => 0,
            Reached::Followed(changes) | Reached::Built(changes) => changes,
        };
        drop(slots);
        if let Some(vectors) = &self.vectors {
            vectors.forget_others(&indexed.embedded);
        }
        Ok((indexed, reached))
    }
}

/// Brings the nearest of `kept` to an older state, or builds one where all are far.
fn reach_past(
    memory: &Memory,
    view: &View,
    kept: [Option<Arc<Indexed>>; 2],
    empty: &dyn Fn() -> Indexed,
) -> Result<(Arc<Indexed>, Reached)> {
    let mut nearest: Option<(u64, Arc<Indexed>)> = None;
    for kept in kept.into_iter().flatten() {
        let counts = memory.counts(&kept.view, view)?;
        let distance = counts.added + counts.changed + counts.removed;
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, kept));
        }
    }
    match nearest {
        Some((distance, kept)) if distance <= view.len() / 2 => {
            let changes = memory.diff(&kept.view, view)?;
            Indexed::follow(kept, memory, view, &changes)
        }
        _ => empty().build(memory),
    }
}

impl Indexed {
    /// The index of a state, still without what is in it.
    pub(super) fn empty(view: &View, vectors: Option<Arc<Vectors>>) -> Self {
        Self {
            view: view.clone(),
            index: Index::new(),
            expiries: HashMap::new(),
            untrusted: HashSet::new(),
            vectors,
            embedded: HashMap::new(),
        }
    }

    /// One that was read from disk.
    pub(super) fn read(
        view: &View,
        index: Index,
        expiries: HashMap<Key, Time>,
        untrusted: HashSet<Key>,
    ) -> Self {
        Self {
            index,
            expiries,
            untrusted,
            ..Self::empty(view, None)
        }
    }

    /// The state that it stands for.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// What makes vectors, if there is something.
    pub(super) fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_deref()
    }

    /// The texts that have vectors.
    pub(super) fn embedded(&self) -> impl Iterator<Item = TextKey> {
        self.embedded.values().copied()
    }

    /// Puts in all that there is.
    pub(super) fn build(mut self, memory: &Memory) -> Result<(Arc<Self>, Reached)> {
        for object in self.view.objects() {
            let object = object?;
            let key = key_of(&memory.suite().key_path(object.id()));
            self.put(memory, key, &object)?;
        }
        let count = self.index.len() as u64;
        Ok((Arc::new(self), Reached::Built(count)))
    }

    /// Brings an index to a state; a copy of it, if somebody else reads it.
    fn follow(
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
        self.index.remove(&key);
        self.expiries.remove(&key);
        self.untrusted.remove(&key);
        self.embedded.remove(&key);
        if change.new.is_none() || change.erased {
            return Ok(());
        }
        match self.view.get(&change.id) {
            Ok(Some(object)) => self.put(memory, key, &object),
            Ok(None) => Ok(()),
            // The version was erased since; an older one told the id.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn put(&mut self, memory: &Memory, key: Key, object: &Object) -> Result<()> {
        let Some(text) = text_of(object) else {
            return Ok(());
        };
        let time = match object.event_time() {
            Some(time) => time,
            None => self.created(object)?,
        };
        let item = Item::from(object.clone());
        let subject = item.subject();
        let (speaker, about) = match item.speaker() {
            Some(speaker) => (Some(speaker), subject),
            None => (subject, None),
        };
        let more = [item.tags(), about.into_iter().collect()].concat();
        let with_more = (!more.is_empty()).then(|| format!("{text}\n{}", more.join("\n")));
        let superseded: Vec<Key> = item
            .supersedes()
            .iter()
            .map(|id| key_of(&memory.suite().key_path(id)))
            .collect();
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
            self.index.put_with_vector(&found_by, &vector).map_err(full)?;
            self.embedded.insert(key, text_key);
        } else {
            self.index.put(&found_by).map_err(full)?;
        }
        if let Some(expires) = object.expires() {
            self.expiries.insert(key, expires);
        }
        if !object.origin().is_trusted() {
            self.untrusted.insert(key);
        }
        Ok(())
    }

    /// When an object was first written.
    fn created(&self, object: &Object) -> Result<Time> {
        let stamps = self.view.stamps(&Id::new(object.id())?)?;
        // A damaged store may not know it: then it is as old as the state.
        Ok(stamps.map_or_else(|| self.view.commit().commit.time, |(created, _)| created))
    }
}

/// The text that an object is found by; nothing if it is not indexed.
pub(super) fn text_of(object: &Object) -> Option<&str> {
    let is_indexed = !object.is_placeholder() && object.kind() != kind::SESSION;
    object.content().filter(|text| is_indexed && !text.is_empty())
}

fn full(_: Full) -> Error {
    Error::invalid("there are more words than the index of recall can hold").with_code(ErrorCode::OverLimit)
}

fn key_of(path: &KeyPath) -> Key {
    let mut key = Key::default();
    key.0.copy_from_slice(&path.as_bytes()[..Key::BYTES]);
    key
}

fn key_of_change(memory: &Memory, change: &Change) -> Key {
    // Nothing tells the id of what was erased; the made-up one tells the key path.
    let told = change.id.as_str().strip_prefix("erased:");
    let path = told
        .filter(|_| change.erased)
        .and_then(|path| path.parse::<KeyPath>().ok());
    key_of(&path.unwrap_or_else(|| memory.suite().key_path(change.id.as_str())))
}

/// Where an item stands among those of one time.
fn order_of(item: &Item) -> u32 {
    match item.order() {
        Some(order) => u32::try_from(order.max(0)).unwrap_or(u32::MAX),
        None => order_in_id(item.object().id()),
    }
}

/// The order that an id tells: of a `UUIDv7` the time it was made at, to 17 minutes; else the number at its end.
fn order_in_id(id: &str) -> u32 {
    let name = id.rsplit('/').next().unwrap_or(id);
    let hexadecimal: Vec<u8> = name.bytes().filter(|&byte| byte != b'-').collect();
    let is_v7 = name.len() == 36 && hexadecimal.len() == 32 && hexadecimal[12] == b'7';
    if is_v7
        && let Ok(text) = std::str::from_utf8(&hexadecimal)
        && let Ok(uuid) = u128::from_str_radix(text, 16)
    {
        // The low 20 bits of the milliseconds, and the 12 bits behind the version.
        let millis = (uuid >> 80) as u32;
        return millis << 12 | (uuid >> 64) as u32 & 0xfff;
    }
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
    name[name.len() - digits..].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests;

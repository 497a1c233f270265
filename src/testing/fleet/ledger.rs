//! Notes what the machines wrote, so that a schedule can check in the end what must still be there.
//!
//! # Layer
//! For tests.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::Origin;

/// Who wrote something, and as what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrote {
    pub(super) by: usize,
    pub(super) class: Origin,
}

/// A text that a machine wrote in an object that all machines write.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) wrote: Wrote,
    /// Whether somebody who saw the text replaced it, removed it, or decided against it.
    pub(super) is_replaced: bool,
}

/// What one intended change did.
#[derive(Clone, Debug, Default)]
pub(super) struct Effect {
    /// The texts that the change replaced, each with its id.
    pub(super) replaced: Vec<(String, String)>,
    pub(super) written: Vec<Text>,
    /// New objects that only one machine writes.
    pub(super) added: Vec<(String, Wrote)>,
    /// The ids of all objects that it removed.
    pub(super) removed: Vec<String>,
    /// The id of an object that got an earlier version.
    pub(super) restored: Option<String>,
}

/// What the machines wrote.
#[derive(Default)]
pub(super) struct Ledger {
    /// The ids that every machine must have in the end.
    pub(super) wanted: BTreeMap<String, Wrote>,
    pub(super) texts: Vec<Text>,
    /// The objects that got an earlier version. A text of theirs may be current again without a write, so nothing is known.
    pub(super) restored: BTreeSet<String>,
    /// The texts of secrets by id, and those that were erased.
    pub(super) secrets: BTreeMap<String, Vec<String>>,
    pub(super) erased: Vec<(String, String)>,
}

impl Ledger {
    pub(super) fn want(&mut self, id: &str, by: usize, class: Origin) {
        self.wanted.insert(id.to_owned(), Wrote { by, class });
    }

    /// Notes a change on a main line. Those of a fork follow each other when it is merged.
    pub(super) fn note(&mut self, effect: Effect) {
        for id in &effect.removed {
            self.wanted.remove(id);
        }
        self.wanted.extend(effect.added);
        for known in &mut self.texts {
            let is_it = |(id, text): &(String, String)| *id == known.id && *text == known.text;
            known.is_replaced |= effect.replaced.iter().any(is_it);
        }
        for new in effect.written {
            // A decision or a restore that brings a text back writes none.
            let is_new = |known: &Text| (&known.id, &known.text) != (&new.id, &new.text);
            if self.texts.iter().all(is_new) {
                self.texts.push(new);
            }
        }
        self.restored.extend(effect.restored);
    }

    /// Notes the erasure of an id: all its texts so far must go.
    pub(super) fn note_erased(&mut self, id: &str) {
        let texts = self.secrets.remove(id).unwrap_or_default();
        self.erased
            .extend(texts.into_iter().map(|text| (id.to_owned(), text)));
    }

    /// Returns the ids that were erased and not put again.
    pub(super) fn gone(&self) -> BTreeSet<&String> {
        let ids = self.erased.iter().map(|(id, _)| id);
        ids.filter(|id| !self.secrets.contains_key(*id)).collect()
    }
}

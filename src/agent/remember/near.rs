//! Items near a new one: those that say the same, and those that contradict it.
//!
//! # Layer
//! L7, inside `agent`.

use std::borrow::Cow;
use std::collections::HashMap;

use super::known_texts::unless_erased;
use super::staging::Staging;
use super::{Agent, Alike};
use crate::agent::item::{Item, NewItem, texts};
use crate::agent::settings::Quotas;
use crate::agent::vocabulary::attribute;
use crate::agent::words::collapsed;
use crate::error::Result;
use crate::object::{Id, NewObject, Object};
use crate::recall::{Key, Verdict};

/// What stands near a new item.
#[derive(Default)]
pub(super) struct Near {
    /// What says the same, the likest first.
    pub(super) duplicates: Vec<Alike>,
    /// What contradicts it.
    pub(super) conflicts: Vec<Alike>,
    /// What says the same so surely that the caller's choice applies.
    pub(super) surest: Option<Object>,
}

impl Agent {
    /// Finds what stands near an item: of its scope and kind, not expired and not superseded.
    pub(super) fn near(&self, staging: &Staging<'_>, id: &Id, item: &NewItem) -> Result<Near> {
        let view = staging.view();
        let now = view.now();
        let mut objects = HashMap::new();
        let mut failed = None;
        let scope = item.scope.as_str();
        let itself = self.recall_key(id.as_str());
        let found = self.with_index(view, |index, scratch| {
            let text_of = |key: &Key| {
                let object = match unless_erased(view.object_at(&key.0)) {
                    Ok(object) => object?,
                    Err(error) => {
                        failed.get_or_insert(error);
                        return None;
                    }
                };
                let is_expired = object.expires().is_some_and(|expires| expires <= now);
                if object.kind() != item.kind.as_str() || is_expired {
                    return None;
                }
                let text = object.content().unwrap_or_default().to_owned();
                objects.insert(*key, object);
                Some(Cow::Owned(text))
            };
            Ok(index.near(&item.text, Some(&[scope]), Some(&itself), scratch, text_of))
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let mut near = Near::default();
        for one in found {
            let Some(object) = objects.remove(&one.key) else {
                continue;
            };
            if item.supersedes.iter().any(|old| old.as_str() == object.id())
                || self.with_known_texts(view, |known| Ok(known.is_superseded(&one.key.0)))?
            {
                continue;
            }
            let alike = Alike {
                id: Id::new(object.id())?,
                similarity: one.similarity.likeness,
                text: object.content().unwrap_or_default().to_owned(),
            };
            match one.verdict {
                Verdict::Different => {}
                Verdict::Conflict(_) => near.conflicts.push(alike),
                Verdict::Same | Verdict::Duplicate => {
                    near.duplicates.push(alike);
                    if one.verdict == Verdict::Same && near.surest.is_none() {
                        near.surest = Some(object);
                    }
                }
            }
        }
        Ok(near)
    }
}

/// An object with what an item adds to it, derived from its version before; `None` if that is over a quota.
pub(super) fn merged(object: &Object, item: &NewItem, quotas: Quotas) -> Result<Option<NewObject>> {
    let mut merged = object.to_new()?;
    let (old, new) = (object.content().unwrap_or_default(), item.text.as_str());
    let (even_old, even_new) = (collapsed(old), collapsed(new));
    let text = if even_old.contains(&*even_new) {
        old.to_owned()
    } else if even_new.contains(&*even_old) {
        new.to_owned()
    } else {
        format!("{old}\n{new}")
    };
    let before = Item::from(object.clone());
    let (mut tags, mut flags) = (before.tags(), before.flags());
    add_new(&mut tags, &item.tags);
    add_new(&mut flags, &item.flags());
    if text.chars().count() > quotas.text_chars_max || tags.len() > quotas.tags_max {
        return Ok(None);
    }
    merged.content = Some(text);
    for (name, list) in [(attribute::TAGS, texts(&tags)), (attribute::FLAGS, texts(&flags))] {
        if let Some(list) = list {
            drop(merged.attributes.insert(name, list));
        }
    }
    merged.derived_from = vec![object.digest()];
    merged.derived_from.extend(&item.derived_from);
    Ok(Some(merged))
}

fn add_new(list: &mut Vec<String>, more: &[String]) {
    for text in more {
        if !list.contains(text) {
            list.push(text.clone());
        }
    }
}

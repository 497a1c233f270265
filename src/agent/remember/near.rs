//! Finds items that are similar to a new item: duplicates and contradictions.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - A merged item does not record the session of each sentence. The log contains these sessions.

use super::intake::{Intake, owner_of};
use super::{Agent, Alike, OnDuplicate, RememberOptions};
use crate::agent::change::review::{Reviewed, review};
use crate::agent::decay::original_of;
use crate::agent::item::{Item, NewItem, Sensitivity, add_new, citations_value, texts};
use crate::agent::judge::relation;
use crate::agent::search::key_of;
use crate::agent::stored_text::StoredText;
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::vocabulary::attribute;
use crate::agent::words::collapsed;
use crate::error::{ErrorCode, Result};
use crate::object::{Id, NewObject, Object, Origin, Value};
use treering_text::recall::{self, ByMeaning, Compare, Key};
use treering_text::scan::Verdict;

/// The items that are similar to a new item.
#[derive(Default)]
pub(super) struct Near {
    /// The duplicates, the most similar first.
    pub(super) duplicates: Vec<Alike>,
    /// The items that contradict the new item.
    pub(super) conflicts: Vec<Alike>,
    /// The most similar duplicate, if it is similar enough for the caller's choice in `OnDuplicate`.
    pub(super) surest: Option<Object>,
}

/// Finds the items of the same scope and kind that are similar to a new item. Ignores expired and superseded items.
/// Shows untrusted texts only with `with_untrusted`.
///
/// A caller that acts on duplicates waits for the meaning of the text. One that is only warned waits for it if the words
/// leave a doubt, because its vector takes longer than all else.
pub(super) fn near(
    agent: &Agent,
    intake: &Intake<'_, '_>,
    id: &Id,
    item: &NewItem,
    options: &RememberOptions,
) -> Result<Near> {
    let view = intake.change.base();
    let now = view.now();
    let mut failed = None;
    let scope = item.scope.as_str();
    let itself = key_of(agent.memory(), id.as_str());
    let model = agent.comparing(view);
    let by_meaning = model.as_ref().map(|model| ByMeaning {
        model,
        always: acts_on_duplicates(item, options),
    });
    let found = agent.with_index(view, |index, scratch| {
        let relate = |key: &Key, compare: Compare<'_>| -> Result<_> {
            let Some(object) = object_at(view, key)? else {
                return Ok(None);
            };
            let is_expired = object.expires().is_some_and(|expires| expires <= now);
            if object.kind() != item.kind.as_str() || is_expired {
                return Ok(None);
            }
            let similarity = compare(object.content().unwrap_or_default());
            Ok(Some((similarity, relation(agent, &object, item, similarity)?)))
        };
        let mut relate = |key: &Key, compare: Compare<'_>| {
            // After a failure, no other item is compared.
            let related = if failed.is_none() {
                relate(key, compare)
            } else {
                Ok(None)
            };
            related.unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        };
        Ok(index.compared(
            &item.text,
            Some(&[scope]),
            &|key| *key != itself,
            by_meaning,
            scratch,
            &mut relate,
        ))
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let mut near = Near::default();
    let mut superseding = Superseding::new(view);
    for one in found {
        let Some(object) = object_at(view, &one.key)? else {
            continue;
        };
        if item.supersedes.contains(object.id())
            || agent.with_duplicate_index(view, |known| known.is_superseded(&one.key, &mut superseding))?
        {
            continue;
        }
        let alike = Alike {
            id: object.id().clone(),
            similarity: shown_similarity(&one),
            shown: StoredText::start_of(agent, &object, options.with_untrusted),
        };
        match one.relation {
            recall::Relation::Different => {}
            recall::Relation::Conflict(_) => near.conflicts.push(alike),
            recall::Relation::Same | recall::Relation::Duplicate => {
                near.duplicates.push(alike);
                // Never use an item of a session (RMB-3), and never use an untrusted item instead of the new item of a
                // trusted writer.
                let is_free = owner_of(&object).is_none() && !intake.is_of_outsider(&object);
                if one.relation == recall::Relation::Same && near.surest.is_none() && is_free {
                    near.surest = Some(object);
                }
            }
        }
    }
    Ok(near)
}

/// Checks whether a duplicate changes what is stored. An item with an id is always stored under that id.
fn acts_on_duplicates(item: &NewItem, options: &RememberOptions) -> bool {
    match options.on_duplicate {
        OnDuplicate::Warn => false,
        OnDuplicate::Skip | OnDuplicate::Merge => item.id.is_none(),
        OnDuplicate::Supersede => true,
    }
}

/// Returns the similarity that an answer shows. Texts that differ in a detail are not similar enough for a merge.
fn shown_similarity(near: &recall::Near) -> f32 {
    match near.relation {
        recall::Relation::Duplicate => near.similarity.likeness.min(recall::MERGE - 0.005),
        _ => near.similarity.likeness,
    }
}

/// Merges the text and fields of an item into an object, and reviews the joined text. Merges into the full text of a
/// shortened object. Returns `None` if that full text is lost, the merge would lose a field or exceed a quota, or the
/// scan rejects the joined text.
pub(super) fn merged(
    agent: &Agent,
    object: &Object,
    item: &NewItem,
    class: Origin,
) -> Result<Option<(NewObject, Reviewed)>> {
    let before = Item::from(object.clone());
    let full = original_of(agent.memory(), &before)?;
    if loses(&before, item) || (before.level().is_some() && full.is_none()) {
        return Ok(None);
    }
    let old = full.as_ref().unwrap_or(object).content().unwrap_or_default();
    let mut together = NewItem::new(joined(old, &item.text));
    (together.tags, together.citations) = (before.tags(), before.citations());
    add_new(&mut together.tags, item.tags.iter().cloned());
    add_new(&mut together.citations, item.citations.iter().cloned());
    // Two harmless texts can form a hostile text when they are joined.
    let reviewed = match review(agent, together, class) {
        Err(error) if error.code() == ErrorCode::OverLimit => return Ok(None),
        reviewed => reviewed?,
    };
    if reviewed.verdict > Verdict::Flag {
        return Ok(None);
    }
    let mut flags = before.flags();
    add_new(&mut flags, item.flags());
    add_new(&mut flags, reviewed.item.flags());
    let mut merged = object.to_new()?;
    let attributes = &mut merged.attributes;
    for name in [attribute::LEVEL, attribute::ORIGINAL, attribute::WRITTEN] {
        drop(attributes.remove(name));
    }
    if let Some(flags) = texts(&flags) {
        drop(attributes.insert(attribute::FLAGS, flags));
    }
    unite(&mut merged, &before, item);
    merged.content = Some(reviewed.item.text.clone());
    merged.derived_from = vec![object.digest()];
    merged.derived_from.extend(full.map(|full| full.digest()));
    merged.derived_from.extend(&item.derived_from);
    Ok(Some((merged, reviewed)))
}

/// Checks whether a merge would lose a field or an expiry of the new item. Ignores the session and order of the new
/// item, because the log contains them.
fn loses(before: &Item, item: &NewItem) -> bool {
    fn differs<T: PartialEq>(new: Option<&T>, old: Option<&T>) -> bool {
        new.is_some() && new != old
    }
    let object = before.object();
    let names = [
        (&item.source, before.source()),
        (&item.speaker, before.speaker()),
        (&item.subject, before.subject()),
    ];
    let mut others = item.others.iter().filter(|(name, _)| *name != attribute::FLAGS);
    item.expires != object.expires()
        || !item.supersedes.is_empty()
        || differs(item.time.as_ref(), object.event_time().as_ref())
        || differs(item.confidence.as_ref(), before.confidence().as_ref())
        || names.iter().any(|(new, old)| differs(new.as_ref(), old.as_ref()))
        || others.any(|(name, value)| object.attribute(name).as_ref() != Some(value))
}

/// Returns both texts joined, or only the longer text if it contains the other text.
fn joined(old: &str, new: &str) -> String {
    let (even_old, even_new) = (collapsed(old), collapsed(new));
    if even_old.contains(&*even_new) {
        old.to_owned()
    } else if even_new.contains(&*even_old) {
        new.to_owned()
    } else {
        format!("{old}\n{new}")
    }
}

/// Merges tags, citations and the pin of an item into an object, and sets the stricter of their two sensitivities.
pub(super) fn unite(object: &mut NewObject, before: &Item, item: &NewItem) {
    let (mut tags, mut citations) = (before.tags(), before.citations());
    add_new(&mut tags, item.tags.iter().cloned());
    add_new(&mut citations, item.citations.iter().cloned());
    let stricter = before.sensitivity().max(item.sensitivity.unwrap_or_default());
    for (name, value) in [
        (attribute::TAGS, texts(&tags)),
        (attribute::CITATIONS, citations_value(citations)),
        (attribute::PINNED, item.is_pinned.then_some(Value::Bool(true))),
        (
            attribute::SENSITIVITY,
            (stricter > Sensitivity::None).then(|| stricter.name().into()),
        ),
    ] {
        if let Some(value) = value {
            drop(object.attributes.insert(name, value));
        }
    }
}

#[cfg(test)]
mod tests;

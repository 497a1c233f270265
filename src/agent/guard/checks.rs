//! The built-in checks of a change: kinds, trust, scan, quotas, and pinned items.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeMap;

use super::policy::{KindRules, QuotaLimits};
use super::report::Failure;
use super::turn::Turn;
use crate::agent::agent::author_of;
use crate::agent::change::names::{keys_of, texts_of_object};
use crate::agent::item::{MADE_BY_VERBS, add_new, counts_in_quota};
use crate::agent::remember::unless_erased;
use crate::agent::vocabulary::attribute;
use crate::agent::{Agent, Item};
use crate::engine::Query;
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope};
use treering_text::scan::Verdict;

/// Checks that each object has the attributes and the length of text that its kind requires.
pub(super) fn kinds(turn: &Turn<'_>, kinds: &BTreeMap<String, KindRules>) -> Option<Failure> {
    let broken = turn.written().filter_map(|(changed, object)| {
        let broken = broken_rule(object, kinds.get(object.kind())?)?;
        let why = format!("'{}' of kind {} {broken}", changed.id, object.kind());
        Some((changed.id.to_string(), why))
    });
    let (ids, whys): (Vec<_>, Vec<_>) = broken.unzip();
    let advice = "change the object to follow the rules of its kind, then try again";
    Failure::about(ids, whys.into_iter().next().unwrap_or_default(), advice)
}

fn broken_rule(object: &Object, rules: &KindRules) -> Option<String> {
    for (name, wanted) in &rules.required {
        match object.attribute(name) {
            None => return Some(format!("lacks the attribute '{name}' ({})", wanted.name())),
            Some(value) if !wanted.fits(&value) => {
                return Some(format!(
                    "has an attribute '{name}' that is not a {}",
                    wanted.name()
                ));
            }
            Some(_) => {}
        }
    }
    let count = chars_of(object);
    if rules.text_chars_min.is_some_and(|least| count < least) {
        return Some(format!(
            "has a text of {count} characters, too short for this kind"
        ));
    }
    if rules.text_chars_max.is_some_and(|most| count > most) {
        return Some(format!(
            "has a text of {count} characters, too long for this kind"
        ));
    }
    None
}

fn chars_of(object: &Object) -> usize {
    object.content().map_or(0, |text| text.chars().count())
}

/// Refuses to rewrite or supersede an object by a less trusted object. Also refuses to remove an object that is more
/// trusted than the writer.
pub(super) fn trust(turn: &Turn<'_>) -> Result<Option<Failure>> {
    let is_below = |new: Origin, old: Origin| old.is_above(new);
    let mut ids = Vec::new();
    for one in &turn.changes {
        let new = one.new.as_ref().map_or(turn.class(), Object::origin);
        if one.old.as_ref().is_some_and(|old| is_below(new, old.origin())) {
            ids.push(one.id.to_string());
        }
    }
    for (_, object) in turn.written() {
        for old in Item::from(object.clone()).supersedes() {
            let Ok(id) = Id::new(&old) else { continue };
            let old = unless_erased(turn.draft.base().get(&id))?;
            if old.is_some_and(|old| is_below(object.origin(), old.origin())) {
                ids.push(id.to_string());
            }
        }
    }
    let advice = "write a new object instead, or let a more trusted writer make the change";
    let class = turn.class();
    let why = format!("the writer has the class {class}, but the change affects more trusted objects");
    Ok(Failure::about(ids, why, advice))
}

/// Scans every written text, and refuses texts whose verdict is `worst` or stricter.
pub(super) fn scan(agent: &Agent, turn: &Turn<'_>, worst: Verdict) -> Result<Option<Failure>> {
    let (mut ids, mut seen) = (Vec::new(), Vec::new());
    for (changed, object) in turn.written() {
        let mut new = object.to_new()?;
        let attributes = new.attributes.clone();
        let keys = keys_of(&attributes).map(|key| ("id", key));
        let texts = texts_of_object(&mut new);
        let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let fields = [("id", object.id().as_str())]
            .into_iter()
            .chain(keys)
            .chain(texts);
        let scanned = agent.scanner().scan_fields(author_of(object.origin()), fields);
        if scanned.verdict >= worst {
            ids.push(changed.id.to_string());
            add_new(
                &mut seen,
                scanned.findings.into_iter().map(|finding| finding.rule),
            );
        }
    }
    let advice = "omit these texts, or ask a person to review them";
    let why = format!("the scan found {}", seen.join(", "));
    Ok(Failure::about(ids, why, advice))
}

/// Returns the scope of an object and whether it is trusted, which together determine its quota (ROO-3). Returns `None`
/// if the object counts towards no quota.
fn place(object: &Object) -> Option<(&str, bool)> {
    let counts = counts_in_quota(object.kind(), object.parent().is_some());
    counts.then(|| (object.scope(), object.origin().is_trusted()))
}

/// Checks the number of items in each scope and the length of each text.
pub(super) fn quota(agent: &Agent, turn: &Turn<'_>, limits: &QuotaLimits) -> Result<Option<Failure>> {
    let quotas = agent.settings().quotas;
    let chars_max = limits.text_chars_max.unwrap_or(quotas.text_chars_max);
    let items_max = limits.items_max.unwrap_or(quotas.items_max);
    let long = turn.written().filter(|(_, object)| chars_of(object) > chars_max);
    let long = long.map(|(one, _)| one.id.to_string()).collect();
    let why = format!("some texts have more than {chars_max} characters");
    let too_long = Failure::about(long, why, "shorten these texts, or split each of them");
    if too_long.is_some() {
        return Ok(too_long);
    }
    let mut gained: BTreeMap<(&str, bool), i64> = BTreeMap::new();
    for one in &turn.changes {
        for (version, gain) in [(&one.new, 1), (&one.old, -1)] {
            if let Some(place) = version.as_ref().and_then(place) {
                *gained.entry(place).or_default() += gain;
            }
        }
    }
    for ((scope, is_trusted), more) in gained {
        let more = usize::try_from(more).unwrap_or(0);
        // If all objects of the store together are within the limit, no scope exceeds it.
        if more == 0 || turn.draft.base().len() + more as u64 <= items_max as u64 {
            continue;
        }
        let query = Query::default().scope(Scope::new(scope)?);
        let mut after = more;
        for object in turn.draft.base().query(&query)? {
            after += usize::from(place(&object?) == Some((scope, is_trusted)));
        }
        if after > items_max {
            let why =
                format!("the scope {scope} would contain {after} items; at most {items_max} are allowed");
            let advice = "forget unneeded items, or write fewer items";
            return Ok(Some(Failure::new(why, advice)));
        }
    }
    Ok(None)
}

/// Returns the items that were pinned before the change. For a trusted writer, ignores pins of untrusted items.
pub(super) fn pinned(turn: &Turn<'_>) -> Result<BTreeMap<String, Item>> {
    let query = Query::default().attribute(attribute::PINNED, true);
    let mut found = BTreeMap::new();
    for object in turn.draft.base().query(&query)? {
        let object = object?;
        if turn.class().is_trusted() && !object.origin().is_trusted() {
            continue;
        }
        found.insert(object.id().to_string(), Item::from(object));
    }
    Ok(found)
}

/// Checks whether a pinned object is unchanged. Ignores its sources, and attributes that only verbs set.
fn is_kept(old: &Object, new: Option<&Object>) -> Result<bool> {
    let stated = |object: &Object| -> Result<NewObject> {
        let mut stated = object.to_new()?;
        for name in MADE_BY_VERBS {
            drop(stated.attributes.remove(name));
        }
        stated.derived_from.clear();
        Ok(stated)
    };
    match new {
        Some(new) => Ok(stated(new)? == stated(old)?),
        None => Ok(false),
    }
}

/// Refuses to remove, rewrite or supersede a pinned item.
pub(super) fn kept(turn: &Turn<'_>, pinned: &BTreeMap<String, Item>) -> Result<Option<Failure>> {
    let mut ids = Vec::new();
    for one in &turn.changes {
        if let Some(old) = pinned.get(one.id.as_str())
            && !is_kept(old.object(), one.new.as_ref())?
        {
            ids.push(one.id.to_string());
        }
        let new = one.new.clone().map(Item::from);
        let superseded = new.map(|new| new.supersedes()).unwrap_or_default();
        ids.extend(superseded.into_iter().filter(|id| pinned.contains_key(id)));
    }
    let advice = "leave the pinned items unchanged, or ask a person to unpin them first";
    let why = "a pinned item would be removed, changed or superseded".to_owned();
    Ok(Failure::about(ids, why, advice))
}

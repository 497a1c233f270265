//! Checks of single objects: the rules of their kind, their trust, and the scan of their texts.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::BTreeMap;

use super::policy::KindRules;
use super::report::Failure;
use super::turn::Turn;
use crate::agent::change::texts::{each_text, keys_of};
use crate::agent::remember::unless_erased;
use crate::agent::{Agent, Item};
use crate::error::Result;
use crate::object::{Id, Object, Origin};
use crate::scan::Verdict;

/// Checks that each object has the attributes and the length of text that its kind requires.
pub(super) fn kinds(turn: &Turn<'_>, kinds: &BTreeMap<String, KindRules>) -> Option<Failure> {
    let mut ids = Vec::new();
    let mut first = String::new();
    for (changed, object) in turn.written() {
        let rules = kinds.get(object.kind());
        if let Some(broken) = rules.and_then(|rules| broken_rule(object, rules)) {
            if ids.is_empty() {
                first = format!("'{}' of the kind {} {broken}", changed.id, object.kind());
            }
            ids.push(changed.id.to_string());
        }
    }
    Failure::about(ids, "write the object as its kind asks, then try again", || first)
}

fn broken_rule(object: &Object, rules: &KindRules) -> Option<String> {
    for (name, wanted) in &rules.required {
        match object.attribute(name) {
            None => return Some(format!("lacks the attribute '{name}' ({})", wanted.name())),
            Some(value) if !wanted.fits(&value) => {
                return Some(format!("has an attribute '{name}' that is no {}", wanted.name()));
            }
            Some(_) => {}
        }
    }
    let count = object.content().map_or(0, |text| text.chars().count());
    if rules.text_chars_min.is_some_and(|least| count < least) {
        return Some(format!("has a text of {count} characters, which is too short"));
    }
    if rules.text_chars_max.is_some_and(|most| count > most) {
        return Some(format!("has a text of {count} characters, which is too long"));
    }
    None
}

/// Refuses to rewrite, remove or supersede an object that is more trusted than its replacement.
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
    ids.sort_unstable();
    ids.dedup();
    let advice = "write a new object beside it, or let somebody of that class do it";
    let why = || format!("{} is to rewrite what is trusted more", turn.class());
    Ok(Failure::about(ids, advice, why))
}

/// Scans every written text, and refuses verdicts from `worst` on.
pub(super) fn scan(agent: &Agent, turn: &Turn<'_>, worst: Verdict) -> Result<Option<Failure>> {
    let (mut ids, mut seen) = (Vec::new(), Vec::new());
    for (changed, object) in turn.written() {
        let mut new = object.to_new()?;
        let mut fields = vec![("id".to_owned(), object.id().to_owned())];
        fields.extend(keys_of(&new.attributes).map(|key| (String::new(), key.to_owned())));
        each_text(&mut new, |name, text| {
            fields.push((name.to_owned(), text.clone()))
        });
        let fields = fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let scanned = agent.scanner().scan_fields(fields);
        if scanned.verdict >= worst {
            ids.push(changed.id.to_string());
            for finding in scanned.findings {
                if !seen.contains(&finding.rule) {
                    seen.push(finding.rule);
                }
            }
        }
    }
    let advice = "leave these texts out, or ask a person to look at them";
    Ok(Failure::about(ids, advice, || {
        format!("the scan found {}", seen.join(", "))
    }))
}

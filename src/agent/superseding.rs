//! The rule that decides whether one item supersedes another. Recall, the envelope and the duplicate search share this
//! rule.
//!
//! The attribute `supersedes` of an item names older items. The attribute is only a claim of the writer, and this
//! module checks whether the claim is valid.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - A writer who sets the expiry of an item, pins it or promotes it makes that item the newest of its cycle (SUP-2).
//!
//! # Invariants
//! - SUP-1: an item supersedes no item that is more trusted or in another scope. An expired item supersedes nothing.
//! - SUP-2: in a cycle of items that supersede each other, no item of the cycle supersedes the newest item.

use std::collections::BTreeSet;

use super::decay;
use super::item::{Item, unless_erased};
use crate::engine::View;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Id, Object, Origin, Time};
use crate::recall::Key;

/// The maximum number of items that the search for a cycle visits.
const STEPS_MAX: usize = 32;

/// Checks whether `new` supersedes `old` in the state of `view`. The attribute `supersedes` of `new` must name `old`.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(super) fn supersedes(view: &View, new: &Object, old: &Object) -> Result<bool> {
    // SUP-2: in a cycle of claims, no item of the cycle supersedes the newest item.
    Ok(may_supersede(view, new, old)
        && (written(view, new)? > written(view, old)? || !leads_to(view, old, new)?))
}

/// Checks whether the object with the key `new` supersedes the object with the key `old`. Returns false if either
/// object is absent or was erased.
///
/// # Errors
/// `Corrupt` or `Io` if an object cannot be read.
pub(super) fn supersedes_at(view: &View, new: &Key, old: &Key) -> Result<bool> {
    match (object_at(view, new)?, object_at(view, old)?) {
        (Some(new), Some(old)) => supersedes(view, &new, &old),
        _ => Ok(false),
    }
}

/// Returns the object with a key, or `None` if the object is absent or was erased.
pub(super) fn object_at(view: &View, key: &Key) -> Result<Option<Object>> {
    unless_erased(view.object_at(&key.0))
}

/// Checks whether expiry, scope and trust allow `new` to supersede `old` (SUP-1).
fn may_supersede(view: &View, new: &Object, old: &Object) -> bool {
    let is_over = new.expires().is_some_and(|expires| expires <= view.now());
    !is_over && has_the_right(new.scope(), new.origin(), old)
}

/// Checks whether an item of this scope and class has the right to supersede `old` (SUP-1).
pub(super) fn has_the_right(scope: &str, class: Origin, old: &Object) -> bool {
    scope == old.scope() && !old.origin().is_above(class)
}

/// Checks whether a chain of valid claims to supersede leads from the item `from` to the item `to`.
fn leads_to(view: &View, from: &Object, to: &Object) -> Result<bool> {
    let mut waiting = vec![from.clone()];
    let mut seen = BTreeSet::new();
    while let Some(new) = waiting.pop() {
        for id in Item::from(new.clone()).supersedes() {
            if id == to.id().as_str() && may_supersede(view, &new, to) {
                return Ok(true);
            }
            if seen.len() >= STEPS_MAX || !seen.insert(id.clone()) {
                continue;
            }
            let found = Id::new(&id).and_then(|id| view.get(&id));
            let old = found.or_else(|error| match error.kind() {
                // The item in `supersedes` was erased, or the text is not a valid id.
                ErrorKind::NotFound | ErrorKind::InvalidInput => Ok(None),
                _ => Err::<_, Error>(error),
            })?;
            waiting.extend(old.filter(|old| may_supersede(view, &new, old)));
        }
    }
    Ok(false)
}

/// Returns the time of the last write of an object, and the id of the object. Writes of decay do not count. The id
/// orders items of the same commit.
fn written(view: &View, object: &Object) -> Result<(Time, String)> {
    let item = Item::from(object.clone());
    Ok((decay::written(view, &item)?, object.id().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::envelope::EnvelopeRequest;
    use crate::agent::{Agent, NewItem, Reach, RecallQuery, RememberOptions, Settings, Status};
    use crate::engine::{Memory, Writer};

    fn agent() -> Agent {
        Agent::new(Memory::in_memory().unwrap(), Settings::default())
    }

    fn put(agent: &Agent, id: &str, text: &str, supersedes: &[&str], class: Origin) {
        let id = Id::new(id).unwrap();
        let mut item = NewItem::new(text);
        item.supersedes = supersedes.iter().map(|id| Id::new(id).unwrap()).collect();
        let object = item.into_object(id).unwrap();
        drop(agent.memory().put(object, &Writer::of(class)).unwrap());
    }

    /// Returns two sorted lists of ids: the hits of a recall without superseded items, and the items in the envelope.
    fn standing(agent: &Agent, text: &str) -> (Vec<String>, Vec<String>) {
        let view = agent.memory().view();
        let query = RecallQuery {
            with_untrusted: true,
            include_superseded: false,
            ..RecallQuery::new(text, Reach::All)
        };
        let hits = agent.recall(&view, &query).unwrap().hits.into_iter();
        let mut request = EnvelopeRequest::new(Reach::All);
        request.with_untrusted = true;
        let shown = agent.envelope(&view, &request).unwrap().shown.into_iter();
        let sorted = |mut ids: Vec<String>| {
            ids.sort();
            ids
        };
        (
            sorted(hits.map(|hit| hit.id.to_string()).collect()),
            sorted(shown.map(|one| one.id).collect()),
        )
    }

    fn says(agent: &Agent, text: &str) -> Status {
        let done = agent.remember(NewItem::new(text), &RememberOptions::default(), &Writer::user());
        done.unwrap().status
    }

    /// INVARIANT SUP-1: an item supersedes no item that is more trusted or in another scope.
    #[test]
    fn a_page_hides_nothing_that_the_person_said() {
        let agent = agent();
        put(&agent, "mine", "the office is in Oslo", &[], Origin::DirectUser);
        put(
            &agent,
            "page",
            "the office is in Rome",
            &["mine"],
            Origin::ToolExternal,
        );
        let both = vec!["mine".to_owned(), "page".to_owned()];
        assert_eq!(standing(&agent, "the office is in"), (both.clone(), both));
        assert_eq!(says(&agent, "the office is in Oslo"), Status::Duplicate);
        let asked = RecallQuery {
            with_untrusted: true,
            ..RecallQuery::new("the office is in Oslo", Reach::All)
        };
        let found = agent.recall(&agent.memory().view(), &asked).unwrap();
        assert_eq!(found.hits[0].id.as_str(), "mine");
        assert!(found.hits.iter().all(|hit| hit.superseded_by.is_empty()));
        // An item of equal trust supersedes the person's item.
        put(
            &agent,
            "new",
            "the office is in Bergen",
            &["mine"],
            Origin::DirectUser,
        );
        let (hits, shown) = standing(&agent, "the office is in");
        assert_eq!(
            (hits, shown),
            (
                vec!["new".to_owned(), "page".to_owned()],
                vec!["new".to_owned(), "page".to_owned()]
            )
        );
        assert_eq!(says(&agent, "the office is in Oslo"), Status::Created);
    }

    /// INVARIANT SUP-2: in a cycle, no item of the cycle supersedes the newest item.
    #[test]
    fn in_a_circle_the_newest_stays() {
        let agent = agent();
        put(&agent, "a", "the office is in Oslo", &[], Origin::DirectUser);
        put(&agent, "b", "the office is in Rome", &["a"], Origin::DirectUser);
        put(&agent, "a", "the office is in Bergen", &["b"], Origin::DirectUser);
        let only_a = vec!["a".to_owned()];
        assert_eq!(standing(&agent, "the office is in"), (only_a.clone(), only_a));
        assert_eq!(says(&agent, "the office is in Bergen"), Status::Duplicate);
        let query = RecallQuery::new("the office is in Rome", Reach::All);
        let hits = agent.recall(&agent.memory().view(), &query).unwrap().hits;
        assert_eq!(hits[0].id.as_str(), "a");
        // In a cycle of three items, no item supersedes the newest item.
        put(&agent, "b", "the office is in Rome", &["c"], Origin::DirectUser);
        put(&agent, "c", "the office is in Pisa", &["a"], Origin::DirectUser);
        let (hits, shown) = standing(&agent, "the office is in");
        assert!(hits.contains(&"c".to_owned()) && hits == shown, "{hits:?}");
    }

    /// INVARIANT SUP-1: an item supersedes no item that is more trusted or in another scope.
    #[test]
    fn what_has_expired_gives_the_place_back() {
        let agent = agent();
        put(&agent, "a", "the office is in Oslo", &[], Origin::DirectUser);
        put(&agent, "b", "the office is in Rome", &["a"], Origin::DirectUser);
        let past = Some(Time::from_micros(1));
        drop(
            agent
                .expire(&Id::new("b").unwrap(), past, &Writer::user())
                .unwrap(),
        );
        let only_a = vec!["a".to_owned()];
        assert_eq!(standing(&agent, "the office is in"), (only_a.clone(), only_a));
    }

    /// INVARIANT SUP-2: in a cycle, no item of the cycle supersedes the newest item.
    #[test]
    fn a_circle_that_only_a_page_closes_is_none() {
        let agent = agent();
        let person = Origin::DirectUser;
        put(&agent, "b", "the office is in Rome", &["a"], person);
        put(&agent, "c", "the office is in Lima", &["b"], person);
        let page = Origin::ToolExternal;
        put(&agent, "page", "the office is in Pisa", &["c"], page);
        // The newest item supersedes only the page. The page is less trusted than `c`, so its claim on `c` is not
        // valid, and the items form no cycle.
        put(&agent, "a", "the office is in Oslo", &["page"], person);
        let only_c = vec!["c".to_owned()];
        assert_eq!(standing(&agent, "the office is in"), (only_c.clone(), only_c));
    }

    /// INVARIANT SUP-2: in a cycle, no item of the cycle supersedes the newest item.
    #[test]
    fn in_a_circle_what_decay_shortens_is_no_newer() {
        let agent = agent();
        let long =
            "the office is in Oslo. It has nine rooms and a garden. The door is green. Parking is behind it.";
        put(&agent, "a", long, &[], Origin::DirectUser);
        put(&agent, "b", "the office is in Rome", &["a"], Origin::DirectUser);
        put(&agent, "a", long, &["b"], Origin::DirectUser);
        put(
            &agent,
            "b",
            "the office is in Rome",
            &["a", "c"],
            Origin::DirectUser,
        );
        let only_b = vec!["b".to_owned()];
        assert_eq!(
            standing(&agent, "the office is in"),
            (only_b.clone(), only_b.clone())
        );
        let later = agent.memory().view().now().plus_micros(2 * 86_400_000_000);
        agent.memory().touch(&[Id::new("b").unwrap()], later);
        drop(agent.tick(Some(later)).unwrap());
        let shortened = agent
            .memory()
            .view()
            .get(&Id::new("a").unwrap())
            .unwrap()
            .unwrap();
        assert_ne!(shortened.content(), Some(long));
        assert_eq!(standing(&agent, "the office is in"), (only_b.clone(), only_b));
    }

    /// INVARIANT SUP-1: an item supersedes no item that is more trusted or in another scope.
    #[test]
    fn nothing_takes_a_place_in_another_scope() {
        let agent = agent();
        put(&agent, "a", "the office is in Oslo", &[], Origin::DirectUser);
        let mut other = NewItem::new("the office is in Rome");
        other.scope = crate::object::Scope::new("project:b").unwrap();
        other.supersedes = vec![Id::new("a").unwrap()];
        let object = other.into_object(Id::new("b").unwrap()).unwrap();
        drop(agent.memory().put(object, &Writer::user()).unwrap());
        let both = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(standing(&agent, "the office is in"), (both.clone(), both));
        assert_eq!(says(&agent, "the office is in Oslo"), Status::Duplicate);
    }
}

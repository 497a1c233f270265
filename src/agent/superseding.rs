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
//! - SUP-3: a [`Superseding`] reads each item and follows each claim at most once.

use std::collections::HashMap;

use super::decay;
use super::index_keys::key_at;
use super::item::{Item, unless_erased};
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Object, Origin, Time};
use treering_text::recall::Key;

/// Returns the object with a key, or `None` if the object is absent or was erased.
pub(super) fn object_at(view: &View, key: &Key) -> Result<Option<Object>> {
    unless_erased(view.object_at(&key.0))
}

/// Checks whether an item of this scope and class has the right to supersede `old` (SUP-1).
pub(super) fn has_the_right(scope: &str, class: Origin, old: &Object) -> bool {
    is_allowed((scope, class), (old.scope(), old.origin()))
}

/// INVARIANT SUP-1: an item supersedes no item that is more trusted or in another scope.
fn is_allowed(new: (&str, Origin), old: (&str, Origin)) -> bool {
    new.0 == old.0 && !old.1.is_above(new.1)
}

/// Decides which items of one state supersede which, and remembers what it has read.
pub(super) struct Superseding<'a> {
    view: &'a View,
    /// The place of each item in `items`; `None` for an item that is absent or was erased.
    places: HashMap<Key, Option<usize>>,
    items: Vec<Known>,
    /// The number of items that the search for cycles has entered.
    entered: usize,
}

/// What is known of an item.
struct Known {
    key: Key,
    scope: String,
    origin: Origin,
    is_expired: bool,
    /// The time of the last write and the id. Writes of decay do not count. The id orders items of the same commit.
    written: (Time, Id),
    /// The place of the item in the order of the search for cycles; `None` before the search.
    order: Option<usize>,
    /// The least order that the search reached from the item so far.
    reached: usize,
    /// The number of the item's cycle; `None` before the search has finished. An item in no cycle has a number of its
    /// own.
    cycle: Option<usize>,
}

/// An item whose claims the search for cycles is following.
struct Step {
    place: usize,
    claimed: Vec<Key>,
}

impl<'a> Superseding<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        Self {
            view,
            places: HashMap::new(),
            items: Vec::new(),
            entered: 0,
        }
    }

    /// Checks whether the item `new` supersedes the item `old`. The attribute `supersedes` of `new` must name `old`.
    /// Returns false if either item is absent or was erased.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(super) fn supersedes(&mut self, new: &Key, old: &Key) -> Result<bool> {
        let (Some(new), Some(old)) = (self.place(new)?, self.place(old)?) else {
            return Ok(false);
        };
        if !self.may_supersede(new, old) {
            return Ok(false);
        }
        if self.items[new].written > self.items[old].written {
            return Ok(true);
        }
        // SUP-2: `new` claims `old`, so both are in one cycle exactly if claims lead from `old` back to `new`.
        if self.items[old].cycle.is_none()
            && let Err(error) = self.find_cycles(old)
        {
            self.forget_search();
            return Err(error);
        }
        Ok(self.items[new].cycle != self.items[old].cycle)
    }

    /// Checks whether expiry, scope and trust allow `new` to supersede `old` (SUP-1).
    fn may_supersede(&self, new: usize, old: usize) -> bool {
        let (new, old) = (&self.items[new], &self.items[old]);
        !new.is_expired && is_allowed((&new.scope, new.origin), (&old.scope, old.origin))
    }

    fn place(&mut self, key: &Key) -> Result<Option<usize>> {
        if let Some(place) = self.places.get(key) {
            return Ok(*place);
        }
        let place = match object_at(self.view, key)? {
            Some(object) => {
                self.items.push(self.known(key, object)?);
                Some(self.items.len() - 1)
            }
            None => None,
        };
        self.places.insert(*key, place);
        Ok(place)
    }

    fn known(&self, key: &Key, object: Object) -> Result<Known> {
        let item = Item::from(object);
        let object = item.object();
        Ok(Known {
            key: *key,
            scope: object.scope().to_owned(),
            origin: object.origin(),
            is_expired: object.expires().is_some_and(|expires| expires <= self.view.now()),
            written: (decay::written(self.view, &item)?, object.id().clone()),
            order: None,
            reached: 0,
            cycle: None,
        })
    }

    /// Returns the keys of the items that an item claims to supersede.
    fn claimed(&self, place: usize) -> Result<Vec<Key>> {
        let object = object_at(self.view, &self.items[place].key)?;
        let ids = object
            .map(|object| Item::from(object).supersedes())
            .unwrap_or_default();
        let ids = ids.iter().filter_map(|id| Id::new(id).ok());
        Ok(ids.map(|id| key_at(&self.view.key(&id))).collect())
    }

    /// Finds the cycles of all items to which valid claims lead from `start`: the strongly connected components, by
    /// Tarjan's algorithm without recursion.
    fn find_cycles(&mut self, start: usize) -> Result<()> {
        let mut open = Vec::new();
        let mut steps = vec![self.enter(start, &mut open)?];
        while let Some(step) = steps.last_mut() {
            let place = step.place;
            if let Some(key) = step.claimed.pop() {
                let Some(old) = self.place(&key)? else { continue };
                if self.items[old].cycle.is_some() || !self.may_supersede(place, old) {
                    continue;
                }
                match self.items[old].order {
                    Some(order) => self.items[place].reached = self.items[place].reached.min(order),
                    None => steps.push(self.enter(old, &mut open)?),
                }
                continue;
            }
            steps.pop();
            let (order, reached) = (self.items[place].order, self.items[place].reached);
            if let Some(step) = steps.last() {
                let before = &mut self.items[step.place].reached;
                *before = reached.min(*before);
            }
            // Nothing leads further back, so the items since this one are its cycle.
            while order == Some(reached)
                && let Some(member) = open.pop()
            {
                self.items[member].cycle = order;
                if member == place {
                    break;
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, place: usize, open: &mut Vec<usize>) -> Result<Step> {
        let claimed = self.claimed(place)?;
        let item = &mut self.items[place];
        (item.order, item.reached) = (Some(self.entered), self.entered);
        self.entered += 1;
        open.push(place);
        Ok(Step { place, claimed })
    }

    /// Forgets a search that failed, so that the next one begins anew.
    fn forget_search(&mut self) {
        for item in &mut self.items {
            if item.cycle.is_none() {
                item.order = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    /// INVARIANT SUP-2: in a cycle of any length, no item of the cycle supersedes the newest item.
    #[test]
    fn in_a_long_circle_the_newest_stays() {
        let agent = agent();
        let person = Origin::DirectUser;
        let name = |number: usize| format!("n{number:03}");
        // Each item supersedes the one before, and the oldest supersedes the newest.
        for number in 0..100 {
            let before = name((number + 99) % 100);
            put(&agent, &name(number), "the office is in Oslo", &[&before], person);
        }
        let newest = vec![name(99)];
        assert_eq!(standing(&agent, "the office is in"), (newest.clone(), newest));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// INVARIANTS SUP-1 and SUP-2 on random claims, against a search of all paths.
        #[test]
        fn claims_count_as_the_rules_say(
            items in prop::collection::vec((0..2_usize, any::<bool>(), prop::collection::vec(0..8_usize, 0..4)), 1..8)
        ) {
            let agent = agent();
            let name = |number: usize| format!("n{number}");
            let class = |number: usize| [Origin::DirectUser, Origin::ToolExternal][items[number].0];
            for (number, (_, is_over, claims)) in items.iter().enumerate() {
                let mut item = NewItem::new("text");
                item.supersedes = claims.iter().map(|old| Id::new(&name(*old)).unwrap()).collect();
                item.expires = is_over.then_some(Time::from_micros(1));
                let object = item.into_object(Id::new(&name(number)).unwrap()).unwrap();
                drop(agent.memory().put(object, &Writer::of(class(number))).unwrap());
            }
            let claims = |new: usize, old: usize| {
                let (_, is_over, claims) = &items[new];
                !is_over && claims.contains(&old) && !class(old).is_above(class(new))
            };
            // `leads[from][to]`: whether valid claims lead from one item to the other.
            let count = items.len();
            let mut leads: Vec<Vec<bool>> = (0..count).map(|from| (0..count).map(|to| claims(from, to)).collect()).collect();
            for middle in 0..count {
                for from in 0..count {
                    for to in 0..count {
                        leads[from][to] |= leads[from][middle] && leads[middle][to];
                    }
                }
            }
            let view = agent.memory().view();
            let key = |number: usize| key_at(&view.key(&Id::new(&name(number)).unwrap()));
            let mut superseding = Superseding::new(&view);
            for new in 0..count {
                for old in (0..count).filter(|old| items[new].2.contains(old)) {
                    // The items were written in the order of their numbers.
                    let expected = claims(new, old) && (new > old || !leads[old][new]);
                    prop_assert_eq!(superseding.supersedes(&key(new), &key(old)).unwrap(), expected, "{} {}", new, old);
                }
            }
            prop_assert!(superseding.items.len() <= count, "SUP-3");
        }
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

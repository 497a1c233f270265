//! Matches the sections of documents with objects of the memory.
//!
//! A section with a stated id matches the object with that id, in any document. The other children of a matched pair
//! are matched by content. Sections with an equal title and text match first, then sections with an equal title, then
//! similar sections between the same neighbours.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::{HashMap, HashSet, VecDeque};

use super::super::document::{Document, Section, SectionKind};
use super::super::order::longest_rise;
use super::known::Known;
use crate::digest::{ContentDigest, HashSuite};
use crate::object::{Attributes, Object, Time, Value, hash_content};

/// For each document, the indexes in [`Known`] of the objects that match its sections.
pub(super) type Matched = Vec<Vec<Option<usize>>>;

/// Finds the matching object of each section.
pub(super) fn match_all(documents: &[Document], known: &Known, suite: HashSuite) -> Matched {
    let mut claimed = vec![false; known.objects.len()];
    let mut matched = Matched::with_capacity(documents.len());
    for document in documents {
        let stated = document
            .sections
            .iter()
            .map(|section| known.place(section.id.as_ref()?))
            .collect::<Vec<_>>();
        stated.iter().flatten().for_each(|place| claimed[*place] = true);
        matched.push(stated);
    }
    for (document, matched) in documents.iter().zip(&mut matched) {
        // Parents come before their children (ING-2), so the match of the parent is known here.
        for (parent, children) in children_by_parent(document) {
            let above = match parent {
                None => known.place_of_document(&document.path),
                Some(parent) => matched[parent],
            };
            let Some(above) = above else { continue };
            let new: Vec<usize> = children
                .into_iter()
                .filter(|place| matched[*place].is_none())
                .collect();
            let old = known.objects[above].children.iter().copied();
            let old: Vec<usize> = old.filter(|place| !claimed[*place]).collect();
            if new.is_empty() || old.is_empty() {
                continue;
            }
            let of_new = |place: &usize| Marks::of_section(&document.sections[*place], suite);
            let of_old = |place: &usize| Marks::of_object(&known.objects[*place].object, suite);
            let siblings = Siblings {
                new: new.iter().map(of_new).collect(),
                old: old.iter().map(of_old).collect(),
            };
            for (new, pair) in new.iter().zip(siblings.pairs()) {
                matched[*new] = pair.map(|pair| old[pair]);
                if let Some(old) = matched[*new] {
                    claimed[old] = true;
                }
            }
        }
    }
    matched
}

/// Adds the matches of the same sections with other texts, where a section and an object have no match yet.
pub(super) fn add(matched: &mut Matched, others: Matched) {
    let mut claimed: HashSet<usize> = matched.iter().flatten().flatten().copied().collect();
    for (matched, others) in matched.iter_mut().zip(others) {
        for (matched, other) in matched.iter_mut().zip(others) {
            if matched.is_none() {
                *matched = other.filter(|other| claimed.insert(*other));
            }
        }
    }
}

/// Returns the indexes of the children of the document, and of each section that has children, in order.
pub(super) fn children_by_parent(document: &Document) -> Vec<(Option<usize>, Vec<usize>)> {
    let mut lists = vec![Vec::new(); document.sections.len() + 1];
    for (place, section) in document.sections.iter().enumerate() {
        lists[section.parent.map_or(0, |parent| parent + 1)].push(place);
    }
    let parents = [None].into_iter().chain((0..).map(Some));
    parents
        .zip(lists)
        .filter(|(_, children)| !children.is_empty())
        .collect()
}

/// The features by which a section or an object is recognised.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Marks {
    label: Label,
    /// The digest of the text.
    text: Option<ContentDigest>,
}

/// The title of a heading, or the role, speaker and time of an entry.
type Label = (SectionKind, [Option<String>; 2], Option<Time>);

impl Marks {
    fn new(
        kind: SectionKind,
        attributes: &Attributes,
        time: Option<Time>,
        text: Option<ContentDigest>,
    ) -> Self {
        let named = |name| attributes.get(name).and_then(Value::as_text).map(str::to_owned);
        let label = match kind {
            SectionKind::Document | SectionKind::Heading => (kind, [named("title"), None], None),
            SectionKind::Entry => (kind, [named("role"), named("speaker")], time),
        };
        Self { label, text }
    }

    fn of_section(section: &Section, suite: HashSuite) -> Self {
        let text = section.content.as_ref();
        let text = text.map(|text| hash_content(suite, text.as_bytes()));
        Self::new(section.kind, &section.attributes, section.event_time, text)
    }

    fn of_object(object: &Object, suite: HashSuite) -> Self {
        let kind = SectionKind::from_name(object.kind()).unwrap_or(SectionKind::Heading);
        let stored = object.content_digest().map(|(digest, _)| digest);
        let text = stored.or_else(|| Some(hash_content(suite, object.content()?.as_bytes())));
        Self::new(kind, &object.attributes(), object.event_time(), text)
    }

    /// Returns the label if two objects with this label match without further conditions.
    fn identity(&self) -> Option<&Label> {
        let (kind, _, time) = &self.label;
        (*kind == SectionKind::Heading || time.is_some()).then_some(&self.label)
    }

    /// Returns whether one of two objects is probably an edited form of the other.
    fn is_like(&self, other: &Self) -> bool {
        if self.text.is_some() && self.text == other.text {
            return true;
        }
        match (&self.label, &other.label) {
            ((SectionKind::Heading, [one, _], _), (SectionKind::Heading, [two, _], _)) => {
                let title = |title: &Option<String>| title.clone().unwrap_or_default();
                share_half_their_words(&title(one), &title(two))
            }
            (one, two) => one == two,
        }
    }

    /// Returns whether two objects are similar enough for a match if neither has another candidate.
    fn may_be(&self, other: &Self) -> bool {
        self.is_like(other) || (self.text.is_none() && other.text.is_none())
    }
}

fn share_half_their_words(one: &str, two: &str) -> bool {
    let words =
        |title: &str| -> HashSet<String> { title.split_whitespace().map(str::to_lowercase).collect() };
    let (one, two) = (words(one), words(two));
    let shared = one.intersection(&two).count();
    shared > 0 && shared * 2 >= one.len().max(two.len())
}

/// The sections and the objects below one matched pair, each in order.
struct Siblings {
    new: Vec<Marks>,
    old: Vec<Marks>,
}

impl Siblings {
    /// Returns the index of the matching old object for each new section.
    fn pairs(&self) -> Vec<Option<usize>> {
        let mut pairs = vec![None; self.new.len()];
        let mut free = vec![true; self.old.len()];
        self.pair_equal_ends(&mut pairs, &mut free);
        self.pair_equal(&mut pairs, &mut free, Some);
        self.pair_equal(&mut pairs, &mut free, Marks::identity);
        self.pair_between(&mut pairs, &free);
        pairs
    }

    /// Pairs equal sections and objects from the start and from the end. After a small edit, this pairs nearly all
    /// sections.
    fn pair_equal_ends(&self, pairs: &mut [Option<usize>], free: &mut [bool]) {
        let (new, old) = (&self.new, &self.old);
        let start = new.iter().zip(old).take_while(|(new, old)| new == old).count();
        let end = new[start..].iter().rev().zip(old[start..].iter().rev());
        let end = end.take_while(|(new, old)| new == old).count();
        let starts = (0..start).map(|place| (place, place));
        for (new, old) in starts.chain((1..=end).map(|back| (new.len() - back, old.len() - back))) {
            pairs[new] = Some(old);
            free[old] = false;
        }
    }

    /// Pairs the remaining sections and objects with equal keys, in order.
    fn pair_equal<'a, K: std::hash::Hash + Eq + 'a>(
        &'a self,
        pairs: &mut [Option<usize>],
        free: &mut [bool],
        key: impl Fn(&'a Marks) -> Option<&'a K>,
    ) {
        let mut waiting: HashMap<&K, VecDeque<usize>> = HashMap::new();
        for (place, marks) in self.old.iter().enumerate() {
            if let (true, Some(key)) = (free[place], key(marks)) {
                waiting.entry(key).or_default().push_back(place);
            }
        }
        for (pair, marks) in pairs.iter_mut().zip(&self.new) {
            if pair.is_none() {
                *pair = key(marks).and_then(|key| waiting.get_mut(key)?.pop_front());
                if let Some(place) = *pair {
                    free[place] = false;
                }
            }
        }
    }

    /// Pairs the remaining sections and objects that have the same neighbours.
    fn pair_between(&self, pairs: &mut [Option<usize>], free: &[bool]) {
        let kept = longest_rise(pairs);
        let mut new_start = 0;
        let mut old_start = 0;
        for anchor in kept.into_iter().map(Some).chain([None]) {
            let new_end = anchor.unwrap_or(pairs.len());
            let old_end = anchor.and_then(|anchor| pairs[anchor]).unwrap_or(self.old.len());
            let new: Vec<usize> = (new_start..new_end)
                .filter(|place| pairs[*place].is_none())
                .collect();
            let old: Vec<usize> = (old_start..old_end).filter(|place| free[*place]).collect();
            for (new, old) in self.pair_gap(&new, &old) {
                pairs[new] = Some(old);
            }
            (new_start, old_start) = (new_end + 1, old_end + 1);
        }
    }

    /// Pairs the remaining sections and objects between the same neighbours. If there are only one section and one
    /// object, they are paired unless they differ too much. Otherwise each section is paired with the next similar
    /// object.
    fn pair_gap(&self, new: &[usize], old: &[usize]) -> Vec<(usize, usize)> {
        /// The maximal number of old objects that are compared with a section. Without this limit, a rewritten file
        /// would take quadratic time.
        const COMPARED_MAX: usize = 32;
        if let ([new], [old]) = (new, old) {
            return if self.new[*new].may_be(&self.old[*old]) {
                vec![(*new, *old)]
            } else {
                Vec::new()
            };
        }
        let mut pairs = Vec::new();
        let mut rest = old;
        for new in new {
            let next = rest
                .iter()
                .take(COMPARED_MAX)
                .position(|old| self.new[*new].is_like(&self.old[*old]));
            if let Some(at) = next {
                pairs.push((*new, rest[at]));
                rest = &rest[at + 1..];
            }
        }
        pairs
    }
}

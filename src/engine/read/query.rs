//! Finds objects by kind, scope, id prefix, parent and attributes.
//!
//! # Layer
//! Layer 5.

use crate::error::Result;
use crate::object::{Id, Kind, Object, Scope, Value};
use crate::trie::Entry;

use super::index::{Family, Index, attribute_group};
use super::view::View;

/// The conditions of a search. An object must meet every condition that is set.
///
/// ```
/// use treering::{Id, Kind, Memory, NewObject, Query, Writer};
///
/// let memory = Memory::in_memory()?;
/// let mut task = NewObject::new(Id::new("tasks/tea")?, Kind::new("task")?);
/// task.attributes.insert("state", "open");
/// memory.put(task, &Writer::user())?;
///
/// let open = Query::default().kind(Kind::new("task")?).attribute("state", "open").limit(10);
/// for object in memory.view().query(&open)? {
///     assert_eq!(object?.id().as_str(), "tasks/tea");
/// }
/// # Ok::<(), treering::Error>(())
/// ```
#[must_use]
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Query {
    /// The kind of the objects.
    pub kind: Option<Kind>,
    /// Kinds to leave out. With indexes, objects of these kinds are not even read.
    pub not_kinds: Vec<Kind>,
    /// The scope of the objects.
    pub scope: Option<Scope>,
    /// The text with which the ids start.
    pub prefix: Option<String>,
    /// The parent of the objects. The matches are then in sibling order.
    pub parent: Option<Id>,
    /// Attributes that the objects have, with these values.
    pub attributes: Vec<(String, Value)>,
    /// Whether expired objects match too.
    pub include_expired: bool,
    /// The maximal number of matches.
    pub limit: Option<usize>,
}

impl Query {
    /// Finds objects of this kind.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Finds objects of this scope.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Finds children of this object, in sibling order.
    pub fn parent(mut self, parent: Id) -> Self {
        self.parent = Some(parent);
        self
    }

    /// Finds objects with this attribute, and with the other attributes that are named.
    pub fn attribute(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Finds expired objects too.
    pub fn with_expired(mut self) -> Self {
        self.include_expired = true;
        self
    }

    /// Limits the matches.
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = Some(matches);
        self
    }

    fn accepts(&self, object: &Object, now: crate::object::Time) -> bool {
        if object.is_placeholder() {
            return false;
        }
        let expired = object.expires().is_some_and(|expires| expires <= now);
        (self.include_expired || !expired)
            && self
                .kind
                .as_ref()
                .is_none_or(|kind| object.kind() == kind.as_str())
            && !self.not_kinds.iter().any(|kind| kind.as_str() == object.kind())
            && self
                .scope
                .as_ref()
                .is_none_or(|scope| object.scope() == scope.as_str())
            && self
                .prefix
                .as_ref()
                .is_none_or(|prefix| object.id().as_str().starts_with(prefix.as_str()))
            && self
                .parent
                .as_ref()
                .is_none_or(|parent| object.parent() == Some(parent.as_str()))
            && self
                .attributes
                .iter()
                .all(|(name, value)| object.attribute(name).as_ref() == Some(value))
    }

    /// Returns the index that leaves the fewest objects to filter, with the group to read and where in it to start.
    fn best_index(&self) -> Result<(Family, Vec<u8>, Vec<u8>)> {
        Ok(if let Some(parent) = &self.parent {
            (Family::Children, parent.as_str().as_bytes().to_vec(), Vec::new())
        } else if let Some((name, value)) = self.attributes.first() {
            (Family::Attributes, attribute_group(name, value)?, Vec::new())
        } else if let Some(prefix) = &self.prefix {
            (Family::Ids, Vec::new(), prefix.as_bytes().to_vec())
        } else if let Some(kind) = &self.kind {
            (Family::Kinds, kind.as_str().as_bytes().to_vec(), Vec::new())
        } else if let Some(scope) = &self.scope {
            (Family::Scopes, scope.as_str().as_bytes().to_vec(), Vec::new())
        } else {
            (Family::Ids, Vec::new(), Vec::new())
        })
    }
}

impl View {
    /// Finds the objects that match `query`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn query(&self, query: &Query) -> Result<Matches> {
        Matches::find(self, query)
    }
}

enum Candidates {
    /// Ids from an index, which are not yet loaded or filtered, and the number of erased objects of the state.
    Indexed(Box<dyn Iterator<Item = Id> + Send>, u64),
    /// Entries found by a scan, which are already filtered.
    Scanned(Window),
}

/// The next matches of a scan, by id, already filtered. A scan keeps one window of matches in memory at a time, and
/// reads the whole state for each window.
struct Window {
    entries: std::vec::IntoIter<(Id, Entry)>,
    last: Option<Id>,
    /// Whether further matches follow after the window.
    has_more: bool,
    /// The number of erased objects, which might have matched.
    erased: u64,
}

/// The objects that match a [`Query`], sorted by id, or by position under a parent. The iterator ends after an error.
pub struct Matches {
    view: View,
    query: Query,
    now: crate::object::Time,
    candidates: Candidates,
    /// The index of kinds, if it can exclude candidates without reading them.
    kinds: Option<Index>,
    left: usize,
}

impl Matches {
    pub(crate) fn find(view: &View, query: &Query) -> Result<Self> {
        let now = view.now();
        let (family, group, start) = query.best_index()?;
        let is_head = view.store.head()?.commit.root == view.root();
        let indexed = family == Family::Children
            || view.settings().indexes && (is_head || view.source.indexes.holds(family, view.root()));
        let candidates = if indexed {
            let index = view.index(family)?;
            Candidates::Indexed(Box::new(index.from(&group, &start)), index.erased())
        } else {
            Candidates::Scanned(Window::after(view, query, now, None)?)
        };
        let left = query.limit.unwrap_or(usize::MAX);
        let has_kinds = is_head || view.source.indexes.holds(Family::Kinds, view.root());
        let kinds = if indexed && !query.not_kinds.is_empty() && view.settings().indexes && has_kinds {
            Some(view.index(Family::Kinds)?)
        } else {
            None
        };
        Ok(Self {
            view: view.clone(),
            query: query.clone(),
            now,
            candidates,
            kinds,
            left,
        })
    }

    /// Returns whether every object was read because no index of this state was cached.
    pub fn scanned(&self) -> bool {
        matches!(self.candidates, Candidates::Scanned(_))
    }

    /// Returns the number of erased objects seen so far in the state; they never match.
    pub fn erased(&self) -> u64 {
        match &self.candidates {
            Candidates::Scanned(window) => window.erased,
            Candidates::Indexed(_, erased) => *erased,
        }
    }

    /// Returns whether objects of excluded kinds are skipped without reading them.
    #[cfg(test)]
    pub(crate) fn knows_kinds(&self) -> bool {
        self.kinds.is_some()
    }

    fn advance(&mut self) -> Result<Option<Object>> {
        loop {
            match &mut self.candidates {
                Candidates::Scanned(window) => match window.entries.next() {
                    Some((_, entry)) => return self.view.load(&entry).map(Some),
                    None if window.has_more => {
                        let last = window.last.take();
                        *window = Window::after(&self.view, &self.query, self.now, last.as_ref())?;
                    }
                    None => return Ok(None),
                },
                Candidates::Indexed(ids, _) => {
                    let Some(id) = ids.next() else { return Ok(None) };
                    let mut passed_over = self.query.not_kinds.iter();
                    let is_of = |index: &Index, kind: &Kind| index.has(kind.as_str().as_bytes(), &id);
                    if self
                        .kinds
                        .as_ref()
                        .is_some_and(|index| passed_over.any(|kind| is_of(index, kind)))
                    {
                        continue;
                    }
                    let found = self.view.get(&id)?;
                    if let Some(object) = found.filter(|object| self.query.accepts(object, self.now)) {
                        return Ok(Some(object));
                    }
                }
            }
        }
    }
}

impl Iterator for Matches {
    type Item = Result<Object>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let found = self.advance().transpose();
        if !matches!(found, Some(Ok(_))) {
            self.left = 0;
        }
        found
    }
}

impl Window {
    /// Returns the matches with the smallest ids after `after`, as many as a window or the query's limit allows.
    fn after(view: &View, query: &Query, now: crate::object::Time, after: Option<&Id>) -> Result<Self> {
        let options = &view.settings();
        // A window holds at least an eighth of the state, so a scan needs at most nine passes.
        let eighth = usize::try_from(view.len() / 8).unwrap_or(usize::MAX);
        let window = options.scan_window.max(eighth);
        let most = query.limit.unwrap_or(usize::MAX).clamp(1, window);
        let by_id = |(one, _): &(Id, Entry), (other, _): &(Id, Entry)| one.cmp(other);
        let mut found: Vec<(Id, Entry)> = Vec::new();
        let (mut has_more, mut erased) = (false, 0);
        for (done, entry) in (1..).zip(view.trie.iter(&*view.store)) {
            options.step("look through", done, view.len())?;
            let entry = entry?;
            let Some(object) = view.source.opened.or_passed_over(entry.key, view.load(&entry))? else {
                continue;
            };
            erased += u64::from(object.is_placeholder());
            if after.is_none_or(|after| object.id() > after) && query.accepts(&object, now) {
                found.push((object.id().clone(), entry));
            }
            if found.len() >= most.saturating_mul(2) {
                found.select_nth_unstable_by(most - 1, by_id);
                found.truncate(most);
                has_more = true;
            }
        }
        found.sort_unstable_by(by_id);
        has_more |= found.len() > most;
        found.truncate(most);
        Ok(Self {
            last: found.last().map(|(id, _)| id.clone()),
            entries: found.into_iter(),
            has_more,
            erased,
        })
    }
}

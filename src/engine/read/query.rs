//! Finds objects by kind, scope, id prefix, parent and attributes.
//!
//! # Layer
//! Layer 5.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::object::{Id, Kind, Object, Scope, Time, Value};

use super::{Family, Index, View, attribute_group};

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
    /// Kinds to exclude. With indexes, the query does not read objects of these kinds.
    pub not_kinds: Vec<Kind>,
    /// The scope of the objects.
    pub scope: Option<Scope>,
    /// The prefix of the ids.
    pub prefix: Option<String>,
    /// The parent of the objects. The matches are then in sibling order.
    pub parent: Option<Id>,
    /// Attributes and their values that a matching object must have.
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

    /// Finds objects that have this attribute. Several calls add up: an object must have all of the attributes.
    pub fn attribute(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Finds expired objects too.
    pub fn with_expired(mut self) -> Self {
        self.include_expired = true;
        self
    }

    /// Limits the number of matches.
    pub fn limit(mut self, matches: usize) -> Self {
        self.limit = Some(matches);
        self
    }

    fn accepts(&self, object: &Object, now: Time) -> bool {
        let expired = object.expires().is_some_and(|expires| expires <= now);
        let fits = |wanted: Option<&str>, found: Option<&str>| wanted.is_none() || wanted == found;
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let mut attributes = self.attributes.iter();
        !object.is_placeholder()
            && (self.include_expired || !expired)
            && fits(self.kind.as_ref().map(Kind::as_str), Some(object.kind()))
            && !self.not_kinds.iter().any(|kind| kind.as_str() == object.kind())
            && fits(self.scope.as_ref().map(Scope::as_str), Some(object.scope()))
            && fits(self.parent.as_ref().map(Id::as_str), object.parent())
            && object.id().as_str().starts_with(prefix)
            && attributes.all(|(name, value)| object.attribute(name).as_ref() == Some(value))
    }

    /// Returns the index that should leave the fewest objects to filter, with the group to read and the prefix at which
    /// to start in the group.
    fn best_index(&self) -> Result<(Family, Vec<u8>, &str)> {
        let whole = |family, group: &str| Ok((family, group.as_bytes().to_vec(), ""));
        if let Some(parent) = &self.parent {
            return whole(Family::Children, parent.as_str());
        }
        if let Some((name, value)) = self.attributes.first() {
            return Ok((Family::Attributes, attribute_group(name, value)?, ""));
        }
        match (&self.prefix, &self.kind, &self.scope) {
            (None, Some(kind), _) => whole(Family::Kinds, kind.as_str()),
            (None, None, Some(scope)) => whole(Family::Scopes, scope.as_str()),
            (prefix, ..) => Ok((Family::Ids, Vec::new(), prefix.as_deref().unwrap_or_default())),
        }
    }
}

impl View {
    /// Finds the objects that match `query`.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn query(&self, query: &Query) -> Result<Matches> {
        let now = self.now();
        let (family, group, start) = query.best_index()?;
        let is_head = self.state.store.head()?.commit.root == self.root();
        let has = |family| is_head || self.source.index_at_hand(family, &self.state).is_some();
        let has_indexes = self.settings().indexes;
        let indexed = family == Family::Children || has_indexes && has(family);
        let (candidates, erased): (Box<dyn Iterator<Item = Id> + Send>, _) = if indexed {
            let index = self.index(family)?;
            (Box::new(index.from(&group, start.as_bytes())), index.erased())
        } else {
            let (found, erased) = scan(self, query, now)?;
            (Box::new(found.into_iter()), erased)
        };
        let has_kinds = indexed && !query.not_kinds.is_empty() && has_indexes && has(Family::Kinds);
        Ok(Matches {
            view: self.clone(),
            query: query.clone(),
            now,
            candidates,
            scanned: !indexed,
            erased,
            kinds: has_kinds.then(|| self.index(Family::Kinds)).transpose()?,
            left: query.limit.unwrap_or(usize::MAX),
        })
    }
}

/// The objects that match a [`Query`], sorted by id, or by position under a parent. The iterator ends after an error.
pub struct Matches {
    view: View,
    query: Query,
    now: Time,
    /// Ids of objects that are not yet loaded or filtered.
    candidates: Box<dyn Iterator<Item = Id> + Send>,
    scanned: bool,
    erased: u64,
    /// The index of kinds, if it can exclude candidates without reading them.
    kinds: Option<Index>,
    left: usize,
}

impl Matches {
    /// Returns whether the query read every object of the state because no index was cached.
    pub fn scanned(&self) -> bool {
        self.scanned
    }

    /// Returns the number of erased objects in the state, which never match a query.
    pub fn erased(&self) -> u64 {
        self.erased
    }

    /// Returns whether objects of excluded kinds are skipped without reading them.
    #[cfg(test)]
    pub(crate) fn knows_kinds(&self) -> bool {
        self.kinds.is_some()
    }

    fn advance(&mut self) -> Result<Option<Object>> {
        for id in &mut self.candidates {
            let mut excluded = self.query.not_kinds.iter();
            if let Some(index) = &self.kinds
                && excluded.any(|kind| index.has(kind.as_str().as_bytes(), &id))
            {
                continue;
            }
            let found = self.view.get(&id)?;
            if let Some(object) = found.filter(|object| self.query.accepts(object, self.now)) {
                return Ok(Some(object));
            }
        }
        Ok(None)
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

/// Reads every object of the state. Returns the ids of the first matches, as many as the query's limit allows, and the
/// number of erased objects.
fn scan(view: &View, query: &Query, now: Time) -> Result<(BTreeSet<Id>, u64)> {
    let (mut found, mut erased) = (BTreeSet::new(), 0);
    for object in view.objects() {
        let object = object?;
        erased += u64::from(object.is_placeholder());
        if query.accepts(&object, now) {
            found.insert(object.id().clone());
        }
        if query.limit.is_some_and(|limit| found.len() > limit) {
            found.pop_last();
        }
    }
    Ok((found, erased))
}

//! Forgetting: items leave the state in one commit, and history keeps them until they are erased or collected.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - FGT-1: a pinned item is forgotten only by its id.
//! - FGT-2: what comes back is the version that was forgotten, byte for byte; of a shortened item the one with the full text.
//! - FGT-3: nobody takes away or ends what is more trusted than the writer, and an end changes no origin.

mod back;

use std::collections::BTreeSet;

pub use back::{Back, Forgotten};

use super::agent::Agent;
use super::decay::written;
use super::item::Item;
use super::scope::Reach;
use super::vocabulary::{attribute, op};
use crate::engine::{Authorisation, CommitInfo, Query, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Kind, Time, Value};

/// What is to be forgotten: what meets every condition that is given.
#[derive(Clone, Debug, Default)]
pub struct Forgetting {
    /// One of these ids; empty for any.
    pub ids: Vec<Id>,
    /// All of these tags.
    pub all_tags: Vec<String>,
    /// One of these tags; empty for any.
    pub any_tags: Vec<String>,
    /// Stored before this moment.
    pub before: Option<Time>,
    /// Said in this session.
    pub session: Option<String>,
    /// From this source.
    pub source: Option<String>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// In these scopes; `None` for any.
    pub reach: Option<Reach>,
}

impl Forgetting {
    /// Whether nothing is said that tells items apart.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.has_no_condition() && self.reach.is_none()
    }

    fn has_no_condition(&self) -> bool {
        self.all_tags.is_empty()
            && self.any_tags.is_empty()
            && self.before.is_none()
            && self.session.is_none()
            && self.source.is_none()
            && self.kind.is_none()
    }

    fn accepts(&self, view: &View, item: &Item) -> Result<bool> {
        let tags = item.tags();
        let has = |tag: &String| tags.contains(tag);
        let is_same = |wanted: &Option<String>, found: Option<String>| wanted.is_none() || *wanted == found;
        let object = item.object();
        let fits = self.all_tags.iter().all(has)
            && (self.any_tags.is_empty() || self.any_tags.iter().any(has))
            && is_same(&self.session, item.session())
            && is_same(&self.source, item.source())
            && self
                .kind
                .as_ref()
                .is_none_or(|kind| object.kind() == kind.as_str())
            && self.reach.as_ref().is_none_or(|reach| reach.has(object.scope()));
        Ok(match self.before {
            Some(before) if fits => written(view, item)? < before,
            _ => fits,
        })
    }

    /// Where to look, if no ids are given.
    fn query(&self) -> Query {
        let mut query = Query {
            kind: self.kind.clone(),
            include_expired: true,
            ..Query::default()
        };
        for (name, value) in [
            (attribute::SESSION, &self.session),
            (attribute::SOURCE, &self.source),
        ] {
            let value = value.as_deref().map(Value::from);
            query
                .attributes
                .extend(value.map(|value| (name.to_owned(), value)));
        }
        if let Some(Reach::Scopes(scopes)) = &self.reach
            && let [scope] = scopes.as_slice()
        {
            query.scope = Some(scope.clone());
        }
        query
    }
}

/// What [`Agent::forget`] did, or would do.
#[derive(Clone, Debug, Default)]
pub struct Forgot {
    /// The items, as they were.
    pub items: Vec<Item>,
    /// Items that met the conditions and stay, because they are pinned.
    pub pinned: Vec<Id>,
    /// Items whose ids were given and that do not meet the other conditions.
    pub others: Vec<Id>,
    /// The commit; `None` if nothing was forgotten.
    pub commit: Option<CommitInfo>,
}

impl Agent {
    /// Takes items out of memory, in one commit. History has them, [`Self::forgotten`] lists them and [`Self::unforget`] brings them
    /// back; `dry_run` changes nothing.
    ///
    /// # Errors
    /// `InvalidInput`: nothing says what to forget (code `no_criteria`), or something stays that is below a forgotten one.
    /// `NotFound`: there is no item of a given id. `Denied` (code `less_trusted`): one of them is more trusted than the writer.
    /// Nothing is forgotten then. Else as [`Memory::commit`](crate::Memory::commit).
    pub fn forget(&self, what: &Forgetting, writer: &Writer, dry_run: bool) -> Result<Forgot> {
        if what.is_empty() {
            return Err(Error::invalid("nothing says what to forget")
                .with_code(ErrorCode::NoCriteria)
                .with_hint("name ids, or give tags, an age, a session, a source, a kind or a scope"));
        }
        drop(self.memory().refresh()?);
        // Of one state, so that nothing is lost that another thread writes meanwhile.
        let mut draft = self.draft(writer)?;
        let view = draft.base().clone();
        let mut forgot = if what.ids.is_empty() {
            found(&view, what)?
        } else {
            named(&view, what)?
        };
        if forgot.items.is_empty() {
            return Ok(forgot);
        }
        for item in &forgot.items {
            draft.remove(&Id::new(item.object().id())?)?;
        }
        // INVARIANT FGT-3.
        draft.authorise(Authorisation::Everyone);
        draft.check_authorisation()?;
        if dry_run {
            return Ok(forgot);
        }
        forgot.commit = Some(self.memory().commit(draft, op::FORGET)?.commit);
        Ok(forgot)
    }

    /// Sets when an item is no longer shown; `None` for never. Returns the commit, if that changed something.
    ///
    /// # Errors
    /// `NotFound` if there is no such item; `Denied` (code `less_trusted`) if it is more trusted than the writer; as
    /// [`Memory::commit`](crate::Memory::commit).
    pub fn expire(&self, id: &Id, at: Option<Time>, writer: &Writer) -> Result<Option<CommitInfo>> {
        drop(self.memory().refresh()?);
        let mut draft = self.draft(writer)?;
        let object = draft.get(id)?.ok_or_else(|| missing(std::slice::from_ref(id)))?;
        let mut new = object.to_new()?;
        new.expires = at;
        // INVARIANT FGT-3. Whoever says when it ends has not said what it says.
        draft.put_restated(new)?;
        draft.authorise(Authorisation::Everyone);
        let committed = self.memory().commit(draft, op::EXPIRE)?;
        Ok(committed.changed.then_some(committed.commit))
    }
}

fn found(view: &View, what: &Forgetting) -> Result<Forgot> {
    let mut forgot = Forgot::default();
    for object in view.query(&what.query())? {
        let item = Item::from(object?);
        if !what.accepts(view, &item)? {
            continue;
        }
        // INVARIANT FGT-1.
        if item.is_pinned() {
            forgot.pinned.push(Id::new(item.object().id())?);
        } else {
            forgot.items.push(item);
        }
    }
    Ok(forgot)
}

fn named(view: &View, what: &Forgetting) -> Result<Forgot> {
    let (mut forgot, mut absent) = (Forgot::default(), Vec::new());
    for id in what.ids.iter().collect::<BTreeSet<_>>() {
        match view.get(id)?.map(Item::from) {
            None => absent.push(id.clone()),
            Some(item) if what.accepts(view, &item)? => forgot.items.push(item),
            Some(_) => forgot.others.push(id.clone()),
        }
    }
    if absent.is_empty() {
        Ok(forgot)
    } else {
        Err(missing(&absent))
    }
}

fn missing(ids: &[Id]) -> Error {
    let names: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    Error::not_found(format!("there is no item {}", names.join(", ")))
        .with_ids(ids.iter().map(Id::to_string).collect())
        .with_hint("`list` shows what there is, `forgotten` what was forgotten")
}

#[cfg(test)]
pub(super) mod tests;

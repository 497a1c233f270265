//! What is about to be remembered in one commit, and what it may not replace.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::known_texts::{KnownTexts, fingerprint, key_of, unless_erased};
use super::names::{self, Names};
use super::near::unite;
use crate::agent::agent::Agent;
use crate::agent::decay::original_of;
use crate::agent::item::{Item, NewItem, Sensitivity, item_of};
use crate::agent::room::{Rooms, takes_room};
use crate::agent::session::{SESSION_PREFIX, session_of};
use crate::agent::vocabulary::{kind, op};
use crate::agent::words::collapsed;
use crate::engine::{CommitInfo, Committed, Draft, Staged, View, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Object, Origin};

/// Items on their way into one commit.
pub(super) struct Intake<'a> {
    pub(super) draft: Draft,
    agent: &'a Agent,
    names: Names,
    rooms: Rooms,
    /// What gave its place, and so its room, to something that is staged here.
    gave_way: BTreeSet<Id>,
    /// The ids of what is staged here by the text; texts of the state are known by the agent.
    texts: HashMap<u64, Id>,
    /// The ids of all that is staged here.
    ids: Vec<Id>,
}

impl<'a> Intake<'a> {
    /// Starts at the newest state there is.
    pub(super) fn new(agent: &'a Agent, writer: &Writer) -> Result<Self> {
        let memory = agent.memory();
        memory.refresh()?;
        let draft = agent.draft(writer)?;
        Ok(Self {
            names: Names::since(draft.base().now()),
            rooms: Rooms::new(agent.settings().quotas.items_max),
            gave_way: BTreeSet::new(),
            texts: HashMap::new(),
            ids: Vec::new(),
            draft,
            agent,
        })
    }

    /// The state that everything is compared with.
    pub(super) fn view(&self) -> &View {
        self.draft.base()
    }

    pub(super) fn head(&self) -> CommitInfo {
        self.view().commit()
    }

    /// The id that an item gets.
    pub(super) fn id_of(&mut self, item: &NewItem, key: Option<&str>) -> Result<Id> {
        self.names.of(self.agent, item, key)
    }

    /// The id that an item gets which is held back: the same for the same text, so that a change which is held back again is known.
    pub(super) fn held_id(&self, item: &NewItem) -> Result<Id> {
        match &item.id {
            Some(id) => Ok(id.clone()),
            None => names::of_key(
                self.agent.names_key(),
                &item.scope,
                &item.kind,
                // No key of a caller begins like this: it would be longer than a key may be.
                &format!("{}{}", "held".repeat(64), item.text),
            ),
        }
    }

    /// The object of an id, with what is staged.
    pub(super) fn present(&self, id: &Id) -> Result<Option<Object>> {
        unless_erased(self.draft.get(id))
    }

    /// Whether an object is no less trusted than the writer: it may stand for what the writer says.
    pub(super) fn is_trusted_enough(&self, object: &Object) -> bool {
        let class = self.draft.writer().trust;
        Origin::least(class, object.origin()) == class
    }

    /// Whether the writer is no less trusted than an object.
    pub(super) fn is_replaceable(&self, object: &Object) -> bool {
        Origin::least(object.origin(), self.draft.writer().trust) == object.origin()
    }

    /// Whether both are trusted alike: then neither gains or loses by being joined.
    pub(super) fn is_as_trusted(&self, object: &Object) -> bool {
        self.is_trusted_enough(object) && self.is_replaceable(object)
    }

    /// Whether an object was said by somebody untrusted, and the writer is not: it stands for nothing that the writer says.
    pub(super) fn is_of_outsider(&self, object: &Object) -> bool {
        self.draft.writer().trust.is_trusted() && !object.origin().is_trusted()
    }

    /// The object that an item would replace; refuses what is another scope's, or more trusted than the writer (RMB-2).
    pub(super) fn check_replaced(&self, id: &Id, item: &NewItem) -> Result<Option<Object>> {
        let Some(object) = self.present(id)? else {
            return Ok(None);
        };
        if object.scope() != item.scope.as_str() {
            let error = Error::conflict(format!("'{id}' is an item of another scope"));
            return Err(error
                .with_code(ErrorCode::OtherScope)
                .with_ids(vec![id.to_string()])
                .with_hint("choose another id, or leave it out and let one be made"));
        }
        // RMB-3
        if let Some(session) = owner_of(&object) {
            let error = format!("'{id}' belongs to the session '{session}'");
            return Err(Error::new(ErrorKind::Denied, error)
                .with_code(ErrorCode::NotOwner)
                .with_ids(vec![id.to_string()])
                .with_hint("`note write --replace` and `session append` write what a session has; else choose another id"));
        }
        self.check_trust(&object, "replace")?;
        Ok(Some(object))
    }

    /// Refuses to supersede what is not there, the item itself, or what is more trusted than the writer (RMB-2).
    pub(super) fn check_superseded(&self, id: &Id, item: &NewItem) -> Result<()> {
        for old in &item.supersedes {
            if old == id {
                return Err(Error::invalid(format!("'{id}' cannot supersede itself"))
                    .with_hint("a new version of it keeps the old one in history"));
            }
            let Some(object) = self.present(old)? else {
                return Err(Error::not_found(format!("there is no '{old}' to supersede"))
                    .with_ids(vec![old.to_string()]));
            };
            if object.scope() != item.scope.as_str() {
                let told = format!(
                    "'{old}' is of the scope '{}', and what takes its place has to be of the same",
                    object.scope()
                );
                return Err(Error::conflict(told)
                    .with_code(ErrorCode::OtherScope)
                    .with_ids(vec![old.to_string()])
                    .with_hint("remember it in that scope (--scope)"));
            }
            self.check_trust(&object, "supersede")?;
        }
        Ok(())
    }

    fn check_trust(&self, object: &Object, what: &str) -> Result<()> {
        if self.is_replaceable(object) {
            return Ok(());
        }
        let class = self.draft.writer().trust;
        let error = format!(
            "a writer of class {class} does not {what} '{}', which is {}",
            object.id(),
            object.origin()
        );
        Err(Error::new(ErrorKind::Denied, error)
            .with_code(ErrorCode::LessTrusted)
            .with_ids(vec![object.id().to_owned()])
            .with_hint("store it under an id of its own"))
    }

    /// The item that says this already, in what is staged and in the state. One that supersedes others is said only by what
    /// supersedes them.
    pub(super) fn said_by(&self, item: &NewItem, print: u64) -> Result<Option<Object>> {
        let (scope, kind) = (item.scope.as_str(), item.kind.as_str());
        let takes_all = |object: &Object| {
            let superseded = Item::from(object.clone()).supersedes();
            let mut asked = item.supersedes.iter();
            asked.all(|old| superseded.iter().any(|id| id == old.as_str()))
        };
        let staged = match self.texts.get(&print) {
            Some(id) => self.present(id)?.filter(|object| {
                object.scope() == scope
                    && object.kind() == kind
                    && collapsed(object.content().unwrap_or_default()) == collapsed(&item.text)
                    && takes_all(object)
            }),
            None => None,
        };
        if staged.is_some() {
            return Ok(staged);
        }
        self.agent.with_known_texts(self.view(), |known| {
            known.find(print, (scope, kind, &item.text), |object| {
                self.stands_for_writer(object) && takes_all(object)
            })
        })
    }

    /// Stages what an item asks of the one that says the same already: to last longer, to be pinned, to be more sensitive, to have
    /// tags and citations. `Unchanged` if that is so, or the other one is trusted otherwise or belongs to a session.
    pub(super) fn restate(&mut self, said: &Object, item: &NewItem) -> Result<Staged> {
        if !self.is_as_trusted(said) || owner_of(said).is_some() {
            return Ok(Staged::Unchanged);
        }
        let before = Item::from(said.clone());
        let mut object = said.to_new()?;
        object.expires = object
            .expires
            .zip(item.expires)
            .map(|(one, other)| one.max(other));
        unite(&mut object, &before, item);
        let after = item_of(object.clone())?;
        let quotas = &self.agent.settings().quotas;
        if after.tags.len() > quotas.tags_max || after.citations.len() > quotas.citations_max {
            return Ok(Staged::Unchanged);
        }
        self.draft.put_restated(object)
    }

    /// Gives an item the sensitivity of what it replaces or supersedes, unless it says its own: what was not for everybody does not come
    /// to be so by being said anew.
    fn inherit_sensitivity(&self, item: &mut NewItem, present: Option<&Object>) -> Result<()> {
        if item.sensitivity.is_some() {
            return Ok(());
        }
        let of = |object: &Object| Item::from(object.clone()).sensitivity();
        let mut strictest = present.map(of).unwrap_or_default();
        for old in &item.supersedes {
            strictest = strictest.max(self.present(old)?.as_ref().map(of).unwrap_or_default());
        }
        item.sensitivity = Some(strictest).filter(|one| *one > Sensitivity::None);
        Ok(())
    }

    /// Whether an object of the state still is what its id has, and is trusted as the writer is.
    fn stands_for_writer(&self, object: &Object) -> bool {
        let staged = Id::new(object.id()).and_then(|id| self.draft.digest(&id));
        self.is_trusted_enough(object) && staged.is_ok_and(|digest| digest == Some(object.digest()))
    }

    /// Makes the object, if its scope has room for it; `present` is what its id has.
    pub(super) fn admit(&mut self, id: Id, mut item: NewItem, present: Option<&Object>) -> Result<NewObject> {
        self.inherit_sensitivity(&mut item, present)?;
        let old = self.first_to_supersede(&item)?;
        let object = item.into_object(id)?;
        let origin = self.draft.origin_at_most(&object, self.draft.writer().trust)?;
        let is_alike = |(id, old): (Id, Origin)| (old.is_trusted() == origin.is_trusted()).then_some(id);
        let give_way: BTreeSet<Id> = old.into_iter().filter_map(is_alike).collect();
        self.rooms.enter(
            self.agent,
            &mut self.draft,
            (&object, present),
            origin,
            give_way.len(),
        )?;
        self.gave_way.extend(give_way);
        Ok(object)
    }

    /// The items of its scope that give their place to a new one, and gave it to no other before, in the state or here; with
    /// their origins.
    fn first_to_supersede(&self, item: &NewItem) -> Result<BTreeMap<Id, Origin>> {
        let mut first = BTreeMap::new();
        for old in &item.supersedes {
            if self.gave_way.contains(old) {
                continue;
            }
            let Some(object) = self.present(old)? else {
                continue;
            };
            let is_live = object.expires().is_none_or(|expires| expires > self.view().now())
                && takes_room(object.kind(), object.parent().is_some());
            let key = key_of(self.agent.memory(), old.as_str());
            if is_live
                && !self
                    .agent
                    .with_known_texts(self.view(), |known| known.is_superseded(&key))?
            {
                first.insert(old.clone(), object.origin());
            }
        }
        Ok(first)
    }

    /// Stages an item; `present` is what its id has, and `print` what its text is known by.
    pub(super) fn put(
        &mut self,
        id: Id,
        item: NewItem,
        present: Option<&Object>,
        print: u64,
    ) -> Result<Staged> {
        let object = self.admit(id.clone(), item, present)?;
        let staged = self.draft.put_said(object, present.map(Object::origin))?;
        if staged != Staged::Unchanged {
            self.ids.push(id.clone());
        }
        self.texts.insert(print, id);
        Ok(staged)
    }

    /// Commits what is staged.
    pub(super) fn commit(self) -> Result<Committed> {
        self.agent.memory().commit(self.draft, op::REMEMBER)
    }
}

/// What the text of an item is known by.
pub(super) fn print_of(item: &NewItem) -> u64 {
    fingerprint(item.scope.as_str(), item.kind.as_str(), &item.text)
}

/// The session that an object belongs to: as a note of it, as what is below it, or as the session itself.
pub(super) fn owner_of(object: &Object) -> Option<String> {
    let item = Item::from(object.clone());
    let note = item.owner().filter(|_| object.kind() == kind::NOTE);
    let above = object
        .parent()
        .and_then(|parent| parent.strip_prefix(SESSION_PREFIX));
    note.or_else(|| session_of(object).or(above).map(str::to_owned))
}

impl Agent {
    /// Gives `read` the texts of the state of `view`. Others wait meanwhile.
    pub(in crate::agent) fn with_known_texts<T>(
        &self,
        view: &View,
        read: impl FnOnce(&KnownTexts) -> Result<T>,
    ) -> Result<T> {
        let mut kept = self.known_texts().lock();
        // Taken out first: what fails half-way must not stay.
        let known = KnownTexts::of(kept.take(), view)?;
        let done = read(&known);
        *kept = Some(known);
        done
    }

    /// Whether an object says this text, be it in the version that decay shortened.
    pub(super) fn says(&self, object: &Object, text: &str) -> Result<bool> {
        let full = original_of(self.memory(), &Item::from(object.clone()))?;
        let said = full.as_ref().unwrap_or(object).content();
        Ok(said.is_some_and(|said| collapsed(said) == collapsed(text)))
    }
}

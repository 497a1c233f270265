//! What was forgotten, and its way back.
//!
//! # Layer
//! L7, inside `agent`.

use std::collections::BTreeSet;

use super::super::agent::Agent;
use super::super::decay::original_of;
use super::super::item::Item;
use super::super::scope::Reach;
use super::super::vocabulary::op;
use super::missing;
use crate::digest::ObjectDigest;
use crate::engine::{ChangeKind, CommitInfo, Draft, Memory, View, Writer, forgets};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Id;

/// An item that was forgotten and is not back.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The item, as it was last.
    pub item: Item,
    /// The version that [`Agent::unforget`] brings back.
    pub version: ObjectDigest,
    /// The commit that forgot it: who, when, and by which operation.
    pub commit: CommitInfo,
    /// Why.
    pub reason: Option<String>,
}

/// What [`Agent::unforget`] did, or would do.
#[derive(Clone, Debug, Default)]
pub struct Back {
    /// The items, as they are again.
    pub items: Vec<Item>,
    /// Ids that memory has, whole.
    pub unchanged: Vec<Id>,
    /// The commit; `None` if nothing came back.
    pub commit: Option<CommitInfo>,
}

impl Agent {
    /// What was forgotten by the state `view`, newest first, at most `limit`: by somebody, or because nobody used it. Not what was erased since, nor
    /// what garbage collection took, a month after it was forgotten at the earliest.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if history cannot be read.
    pub fn forgotten(&self, view: &View, reach: &Reach, limit: usize) -> Result<Vec<Forgotten>> {
        let (memory, newest) = (self.memory(), view.commit().commit.seq);
        let (mut seen, mut list) = (BTreeSet::new(), Vec::new());
        for info in taking(memory) {
            let info = info?;
            if info.commit.seq > newest {
                continue;
            }
            let Some(before) = memory.view_before(&info)? else {
                continue;
            };
            let mut reason = None;
            for id in removed(memory, &before, &info)? {
                if list.len() >= limit {
                    return Ok(list);
                }
                if view.contains(&id)? || !seen.insert(id.clone()) {
                    continue;
                }
                let Some(item) = kept(&before, &id)?.filter(|item| reach.has(item.object().scope())) else {
                    continue;
                };
                if reason.is_none() {
                    reason = info.commit.reason.and_then(|digest| memory.text(&digest).ok());
                }
                list.push(Forgotten {
                    version: original_of(memory, &item)?
                        .map_or_else(|| item.object().digest(), |original| original.digest()),
                    item,
                    commit: info.clone(),
                    reason: reason.clone(),
                });
            }
        }
        Ok(list)
    }

    /// Brings back what was forgotten or shortened, in one commit: the very version that was there, with its own trust. An id that
    /// memory has whole stays as it is.
    ///
    /// # Errors
    /// `NotFound` if an id is neither there nor among what was forgotten, or its version was erased since: nothing comes back then. Else as
    /// [`Memory::commit`](crate::Memory::commit).
    pub fn unforget(&self, ids: &[Id], writer: &Writer, dry_run: bool) -> Result<Back> {
        drop(self.memory().refresh()?);
        let mut draft = self.draft(writer)?;
        let view = draft.base().clone();
        let (mut back, mut wanted) = (Back::default(), BTreeSet::new());
        for id in ids {
            match view.get(id)?.map(Item::from) {
                None => {
                    wanted.insert(id.clone());
                }
                Some(item) => match original_of(self.memory(), &item)? {
                    Some(original) => drop(draft.restore_version(id, original.digest())?),
                    None => {
                        if let Some(named) = item.original() {
                            self.memory().check_kept(named)?;
                        }
                        back.unchanged.push(id.clone());
                    }
                },
            }
        }
        for info in taking(self.memory()) {
            if wanted.is_empty() {
                break;
            }
            let info = info?;
            let Some(before) = self.memory().view_before(&info)? else {
                continue;
            };
            let after = self.memory().view_of(&info)?;
            let mut found = Vec::new();
            for id in &wanted {
                if before.contains(id)? && !after.contains(id)? {
                    self.restore(&mut draft, id, &before)?;
                    found.push(id.clone());
                }
            }
            wanted.retain(|id| !found.contains(id));
        }
        if !wanted.is_empty() {
            let ids: Vec<Id> = wanted.into_iter().collect();
            return Err(missing(&ids).with_hint(
                "`forgotten` lists what can come back, `restore REV ID` brings back what was removed",
            ));
        }
        self.bring_back(draft, back, dry_run)
    }

    /// Brings back what was forgotten or shortened last in these scopes: all that one commit took there and that is not back yet.
    ///
    /// # Errors
    /// `NotFound` if there is nothing to bring back; else as [`Self::unforget`].
    pub fn unforget_last(&self, reach: &Reach, writer: &Writer, dry_run: bool) -> Result<Back> {
        let (memory, head) = (self.memory(), self.memory().refresh()?);
        for info in taking(memory) {
            let info = info?;
            let Some(before) = memory.view_before(&info)? else {
                continue;
            };
            let mut draft = self.draft(writer)?;
            for change in memory.diff(&before, &memory.view_of(&info)?)? {
                let id = change.id;
                let is_so = match change.new {
                    None => !head.contains(&id)?,
                    // A note that was replaced was not forgotten.
                    Some(new) if info.commit.op.as_str() == op::DECAY && change.old.is_some() => {
                        kept(&head, &id)?.is_some_and(|item| item.object().digest() == new)
                    }
                    Some(_) => false,
                };
                let is_here = |item: &Item| reach.has(item.object().scope());
                if is_so && kept(&before, &id)?.as_ref().is_some_and(is_here) {
                    self.restore(&mut draft, &id, &before)?;
                }
            }
            if !draft.is_empty() {
                return self.bring_back(draft, Back::default(), dry_run);
            }
        }
        Err(Error::not_found("nothing was forgotten that is not back"))
    }

    /// Stages the item as it was before it was shortened, else as the state `from` has it (FGT-2).
    fn restore(&self, draft: &mut Draft, id: &Id, from: &View) -> Result<()> {
        let shortened = from.get(id)?.map(Item::from);
        let original = shortened
            .map(|item| original_of(self.memory(), &item))
            .transpose()?;
        match original.flatten() {
            Some(original) => draft.restore_version(id, original.digest()).map(drop),
            // Also where it was collected, or erased by its digest: what was made of it is still there.
            None => draft.restore(id, from).map(drop),
        }
    }

    fn bring_back(&self, draft: Draft, mut back: Back, dry_run: bool) -> Result<Back> {
        for change in draft.changes() {
            back.items.extend(draft.get(&change.id)?.map(Item::from));
        }
        if !dry_run && !draft.is_empty() {
            let ids: Vec<Id> = draft.changes().into_iter().map(|change| change.id).collect();
            back.commit = Some(self.memory().commit(draft, op::UNFORGET)?.commit);
            // The version is as old as it was; without this it would go again at the next pass of decay.
            self.memory().touch(&ids, self.memory().view().now());
        }
        Ok(back)
    }
}

/// The commits that took items out of memory, newest first.
fn taking(memory: &Memory) -> impl Iterator<Item = Result<CommitInfo>> {
    memory.commits().filter_map(|info| {
        let taken = info.and_then(|info| {
            let takes = forgets(info.commit.op.as_str(), || memory.commit_counts(&info))?;
            Ok(takes.then_some(info))
        });
        taken.transpose()
    })
}

fn removed(memory: &Memory, before: &View, info: &CommitInfo) -> Result<Vec<Id>> {
    let changes = memory.diff(before, &memory.view_of(info)?)?;
    let removed = changes
        .into_iter()
        .filter(|change| change.kind() == ChangeKind::Removed && !change.erased);
    Ok(removed.map(|change| change.id).collect())
}

/// The item, unless it was erased since.
fn kept(view: &View, id: &Id) -> Result<Option<Item>> {
    match view.get(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?.map(Item::from)),
    }
}

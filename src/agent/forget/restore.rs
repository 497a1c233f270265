//! Lists forgotten items, and restores them.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::collections::BTreeSet;

use super::super::agent::Agent;
use super::super::change::{self, Rule, change};
use super::super::decay::original_of;
use super::super::item::Item;
use super::super::scope::Reach;
use super::missing;
use crate::digest::ObjectDigest;
use crate::engine::{Change, ChangeKind, CommitInfo, Memory, View, Writer, forgets};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::Id;

/// An item that was forgotten and not restored.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The last version of the item.
    pub item: Item,
    /// The version that [`Agent::unforget`] restores.
    pub version: ObjectDigest,
    /// The commit that removed the item, with its actor, time and operation.
    pub commit: CommitInfo,
    /// The reason that `commit` states; `None` if the commit states no reason.
    pub reason: Option<String>,
}

/// The result of [`Agent::unforget`], or of its dry run.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// The restored items.
    pub items: Vec<Item>,
    /// The ids of the items that were already present with their full text.
    pub unchanged: Vec<Id>,
    /// The commit; `None` in a dry run, or if no item was restored.
    pub commit: Option<CommitInfo>,
}

/// Implements [`Agent::forgotten`].
pub(in crate::agent) fn forgotten(
    agent: &Agent,
    view: &View,
    reach: &Reach,
    limit: usize,
) -> Result<Vec<Forgotten>> {
    let (memory, newest) = (agent.memory(), view.commit().commit.seq);
    let (mut seen, mut list) = (BTreeSet::new(), Vec::new());
    for taken in taking(memory) {
        let (info, before, changes) = taken?;
        if info.commit.seq > newest {
            continue;
        }
        let reason = info.commit.reason.and_then(|digest| memory.text(&digest).ok());
        let removed = |change: &Change| change.kind == ChangeKind::Removed && !change.erased;
        for Change { id, .. } in changes.into_iter().filter(removed) {
            if list.len() >= limit {
                return Ok(list);
            }
            if view.contains(&id)? || !seen.insert(id.clone()) {
                continue;
            }
            let Some(item) = kept(&before, &id)?.filter(|item| reach.has(item.object().scope())) else {
                continue;
            };
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

/// Implements [`Agent::unforget`], and [`Agent::unforget_own`] with the actor `by`.
pub(in crate::agent) fn unforget(
    agent: &Agent,
    ids: &[Id],
    by: Option<&str>,
    writer: &Writer,
    dry_run: bool,
) -> Result<Restored> {
    bring_back(agent, writer, dry_run, |change, back| {
        let view = change.base().clone();
        let mut wanted = BTreeSet::new();
        for id in ids {
            let Some(item) = view.get(id)?.map(Item::from) else {
                wanted.insert(id.clone());
                continue;
            };
            if let Some(original) = original_of(agent.memory(), &item)? {
                // Decay shortened it, which is the work of no client.
                by.map_or(Ok(()), |by| Err(of_others(by)))?;
                change.restore_version(id, original.digest())?;
                continue;
            }
            if let Some(named) = item.original() {
                agent.memory().check_kept(named)?;
            }
            back.unchanged.push(id.clone());
        }
        for taken in taking(agent.memory()) {
            if wanted.is_empty() {
                break;
            }
            let (info, before, changes) = taken?;
            for Change { id, .. } in changes.iter().filter(|change| change.new.is_none()) {
                if wanted.remove(id) {
                    if let Some(by) = by.filter(|by| !is_of(&info, by)) {
                        return Err(of_others(by));
                    }
                    restore(agent, change, id, &before)?;
                }
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let ids: Vec<Id> = wanted.into_iter().collect();
        Err(missing(&ids)
            .with_hint("`forgotten` lists the forgotten items, and `restore REV ID` restores a removed item"))
    })
}

/// Implements [`Agent::unforget_last`], and [`Agent::unforget_own`] with the actor `by`.
pub(in crate::agent) fn unforget_last(
    agent: &Agent,
    reach: &Reach,
    by: Option<&str>,
    writer: &Writer,
    dry_run: bool,
) -> Result<Restored> {
    let memory = agent.memory();
    bring_back(agent, writer, dry_run, |change, _| {
        let (head, mut others) = (change.base().clone(), BTreeSet::new());
        for taken in taking(memory) {
            let (info, before, changes) = taken?;
            let is_own = by.is_none_or(|by| is_of(&info, by));
            for taken in changes {
                let id = taken.id;
                let is_so = match taken.new {
                    None => !head.contains(&id)?,
                    // Decay shortened the item. It is not restored if a later commit replaced it.
                    Some(new) if info.commit.op.as_str() == Rule::DECAY.op && taken.old.is_some() => {
                        kept(&head, &id)?.is_some_and(|item| item.object().digest() == new)
                    }
                    Some(_) => false,
                };
                let is_here = |item: &Item| reach.has(item.object().scope());
                if !is_so || others.contains(&id) || !kept(&before, &id)?.as_ref().is_some_and(is_here) {
                    continue;
                }
                if is_own {
                    restore(agent, change, &id, &before)?;
                } else {
                    others.insert(id);
                }
            }
            if !change.draft().is_empty() {
                return Ok(());
            }
        }
        if let Some(by) = by.filter(|_| !others.is_empty()) {
            return Err(of_others(by));
        }
        Err(Error::not_found("there is no forgotten item to restore"))
    })
}

fn is_of(info: &CommitInfo, actor: &str) -> bool {
    info.commit.actor.as_deref() == Some(actor)
}

fn of_others(by: &str) -> Error {
    Error::denied(
        ErrorCode::OtherLanes,
        format!("another writer than {by} forgot it"),
    )
    .with_hint("nothing was changed; who forgot it restores it, or a person")
}

/// Stages the version of an item in the state `from`. If that version is shortened, stages the full version (FGT-2).
fn restore(agent: &Agent, change: &mut change::Change<'_>, id: &Id, from: &View) -> Result<()> {
    if let Some(item) = from.get(id)?.map(Item::from)
        && let Some(original) = original_of(agent.memory(), &item)?
    {
        return change.restore_version(id, original.digest());
    }
    // The item is not shortened, or garbage collection or an erasure removed its full version.
    change.restore(id, from)
}

fn bring_back(
    agent: &Agent,
    writer: &Writer,
    dry_run: bool,
    mut stage: impl FnMut(&mut change::Change<'_>, &mut Restored) -> Result<()>,
) -> Result<Restored> {
    let done = change(agent, writer, &Rule::UNFORGET, |change| {
        let mut back = Restored::default();
        stage(change, &mut back)?;
        for staged in change.draft().changes() {
            back.items.extend(change.get(&staged.id)?.map(Item::from));
        }
        if dry_run {
            change.rehearse();
        }
        Ok(back)
    })?;
    let mut back = done.value;
    if done.committed.changed {
        back.commit = Some(done.committed.commit);
        let ids = back.items.iter().map(|item| item.object().id());
        // A restored version is as old as before. Record a use, so that the next decay pass does not forget the version
        // again.
        agent.memory().touch(ids, agent.memory().view().now());
    }
    Ok(back)
}

/// A commit that forgot or shortened items, with the state before it and its changes.
type Taking = (CommitInfo, View, Vec<Change>);

/// Returns the commits that forgot or shortened items, newest first.
fn taking(memory: &Memory) -> impl Iterator<Item = Result<Taking>> {
    let taken = |info: CommitInfo| -> Result<Option<Taking>> {
        if !forgets(info.commit.op.as_str(), || memory.commit_counts(&info))? {
            return Ok(None);
        }
        let Some(before) = memory.view_before(&info)? else {
            return Ok(None);
        };
        let changes = memory.diff(&before, &memory.at(info.digest)?)?;
        Ok(Some((info, before, changes)))
    };
    memory
        .commits()
        .filter_map(move |info| info.and_then(taken).transpose())
}

/// Returns the item with this id, or `None` if it is absent or was erased.
fn kept(view: &View, id: &Id) -> Result<Option<Item>> {
    match view.get(id) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?.map(Item::from)),
    }
}

//! Objects that all machines edit, remove and restore, each also below another one, and decisions about their conflicts.
//!
//! # Layer
//! For tests.

use std::collections::BTreeMap;

use super::ledger::{Effect, Text, Wrote};
use super::{Schedule, id_of, object, said, writer};
use crate::engine::{Memory, Resolution, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, Object, Origin};

const SHARED: [&str; 3] = ["common/0", "common/1", "common/2"];

/// How many commits back a restored version may be.
const BACK: usize = 6;

/// The texts of the shared objects that a line shows.
pub(super) type Shown = BTreeMap<&'static str, String>;

/// Returns what a line shows of the shared objects.
pub(super) fn shown(memory: &Memory) -> Result<Shown> {
    let view = memory.refresh()?;
    let mut shown = Shown::new();
    for id in SHARED {
        if let Some(object) = view.get(&id_of(id))? {
            shown.insert(id, object.content().unwrap_or_default().to_owned());
        }
    }
    Ok(shown)
}

/// Returns the texts of the versions between which a conflict is.
pub(super) fn texts_of(
    memory: &Memory,
    sides: impl Iterator<Item = crate::digest::ObjectDigest>,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for version in sides {
        if let Some(object) = memory.version(version)? {
            texts.push(object.content().unwrap_or_default().to_owned());
        }
    }
    Ok(texts)
}

/// Returns whether an error says that the change does not fit what the line shows.
pub(super) fn is_foreseen(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::HasChildren
            | ErrorCode::NoParent
            | ErrorCode::Cycle
            | ErrorCode::ParentCycle
            | ErrorCode::Changed
            | ErrorCode::LessTrusted
    )
}

impl Schedule {
    pub(super) fn any_shared(&mut self) -> &'static str {
        SHARED[self.random.below(SHARED.len())]
    }

    pub(super) fn shared_step(&mut self, at: usize, kind: usize) -> std::result::Result<(), String> {
        let has_fork = self.machines[at].fork.is_some();
        let on_fork = has_fork && self.random.one_in(3);
        match kind {
            0..=2 => self.put_shared(at, on_fork),
            3 => self.remove_shared(at, on_fork),
            4 => self.restore_shared(at, on_fork),
            _ => self.decide(at),
        }
    }

    /// Writes a new text, another parent, or both.
    pub(super) fn put_shared(&mut self, at: usize, on_fork: bool) -> std::result::Result<(), String> {
        let id = self.any_shared();
        self.tell(&format!(" put {id}"));
        let parent = self.random.one_in(3).then(|| self.any_shared());
        let machine = &mut self.machines[at];
        machine.written += 1;
        let new = format!("text {} of m{}", machine.written, machine.number);
        let keeps = self.random.one_in(5);
        let done = self.change(at, on_fork, &mut |memory, writer| {
            let view = memory.view();
            // A person who puts a text of a less trusted writer says it, too.
            let is_own = |old: &Object| keeps && old.origin() == Origin::DirectUser;
            let old = view.get(&id_of(id))?.filter(is_own);
            let text = old.as_ref().and_then(|old| old.content());
            let mut object = object(id, text.unwrap_or(&new));
            if let Some(parent) = parent.filter(|parent| *parent != id) {
                object.parent = view.contains(&id_of(parent))?.then(|| id_of(parent));
            }
            memory.put(object, writer).map(|_| Effect::default())
        })?;
        self.counts.shared += u64::from(done);
        Ok(())
    }

    /// Removes a shared object, with all below it or if nothing is.
    fn remove_shared(&mut self, at: usize, on_fork: bool) -> std::result::Result<(), String> {
        let (id, is_recursive) = (id_of(self.any_shared()), self.random.one_in(2));
        self.tell(&format!(" remove {id}, with all below {is_recursive}"));
        let mut removed = 0;
        self.change(at, on_fork, &mut |memory, writer| {
            if memory.view().contains(&id)? {
                let remove = if is_recursive {
                    Memory::remove_recursive
                } else {
                    Memory::remove
                };
                remove(memory, &id, writer)?;
                removed += 1;
            }
            Ok(Effect::default())
        })?;
        self.counts.removals += removed;
        Ok(())
    }

    /// Restores a shared object as it was some commits ago.
    fn restore_shared(&mut self, at: usize, on_fork: bool) -> std::result::Result<(), String> {
        let (id, back) = (self.any_shared(), self.random.below(BACK));
        self.tell(&format!(" restore {id} of {back} commits ago"));
        let done = self.change(at, on_fork, &mut |memory, writer| {
            let Some(commit) = memory.commits().nth(back).transpose()? else {
                return Ok(Effect::default());
            };
            let Some(before) = memory.view_before(&commit)? else {
                return Ok(Effect::default());
            };
            let mut draft = memory.draft(writer);
            let restored = draft.restore(&id_of(id), &before)?.then(|| id.to_owned());
            memory.commit(draft, "restore")?;
            Ok(Effect {
                restored,
                ..Effect::default()
            })
        })?;
        self.counts.restores += u64::from(done);
        Ok(())
    }

    /// Decides about a conflict of a shared object.
    pub(super) fn decide(&mut self, at: usize) -> std::result::Result<(), String> {
        let memory = self.machines[at].memory.clone();
        memory.refresh().map_err(said)?;
        let mut conflicts = memory.conflicts().map_err(said)?;
        conflicts.retain(|open| SHARED.contains(&open.id.as_str()));
        if conflicts.is_empty() {
            return Ok(());
        }
        let open = self.random.pick(&conflicts).clone();
        let versions: Vec<_> = open.sides.iter().filter_map(|side| side.version).collect();
        self.machines[at].written += 1;
        let new = format!("decision {} of m{at}", self.machines[at].written);
        let resolution = match self.random.below(6) {
            0 => Resolution::Remove,
            1 => Resolution::Content(new),
            _ if versions.is_empty() => Resolution::Remove,
            _ => Resolution::Take(*self.random.pick(&versions)),
        };
        self.tell(&format!(" decide {}: {resolution:?}", open.id));
        let done = self.change(at, false, &mut |memory, writer| {
            let texts = texts_of(memory, versions.iter().copied())?;
            memory.resolve_conflict(&open.id, resolution.clone(), writer)?;
            let view = memory.view();
            let kept = view.get(&open.id)?;
            let kept = kept.as_ref().and_then(|kept| kept.content());
            let dropped = texts.into_iter().filter(|text| Some(text.as_str()) != kept);
            Ok(Effect {
                replaced: dropped.map(|text| (open.id.to_string(), text)).collect(),
                ..Effect::default()
            })
        })?;
        self.counts.resolved += u64::from(done);
        Ok(())
    }

    /// Makes a change on a line of a machine, and notes what it did. Returns false if the change did not fit the line.
    pub(super) fn change(
        &mut self,
        at: usize,
        on_fork: bool,
        change: &mut dyn FnMut(&Memory, &Writer) -> Result<Effect>,
    ) -> std::result::Result<bool, String> {
        let machine = &self.machines[at];
        let fork = machine.fork.as_ref().filter(|_| on_fork);
        let memory = fork.map_or(&machine.memory, |fork| &fork.memory);
        let class = fork.map_or(Origin::DirectUser, |fork| fork.cap);
        let line = fork.map_or("", |_| " on the fork");
        let effect = match self.effect(memory, Wrote { by: at, class }, change) {
            Ok(effect) => effect,
            Err(error) if is_foreseen(&error) => return Ok(false),
            Err(error) => return Err(said(error)),
        };
        self.tell(&format!("{line}: {effect:?}"));
        match self.machines[at].fork.as_mut().filter(|_| on_fork) {
            Some(fork) => {
                fork.effects.push(effect);
                self.counts.fork_writes += 1;
            }
            None => self.ledger.note(effect),
        }
        Ok(true)
    }

    /// Makes a change, and returns what it did.
    fn effect(
        &self,
        memory: &Memory,
        wrote: Wrote,
        change: &mut dyn FnMut(&Memory, &Writer) -> Result<Effect>,
    ) -> Result<Effect> {
        let before = shown(memory)?;
        let had = self.present(memory)?;
        let mut effect = change(memory, &writer(wrote.by))?;
        let (after, has) = (shown(memory)?, self.present(memory)?);
        for (id, text) in &before {
            if after.get(id) != Some(text) {
                effect.replaced.push(((*id).to_owned(), text.clone()));
            }
        }
        for (id, text) in after {
            if before.get(id) != Some(&text) {
                effect.written.push(Text {
                    id: id.to_owned(),
                    text,
                    wrote,
                    is_replaced: false,
                });
            }
        }
        effect
            .removed
            .extend(had.into_iter().filter(|id| !has.contains(id)));
        Ok(effect)
    }

    /// Returns the wanted ids that a line has.
    fn present(&self, memory: &Memory) -> Result<Vec<String>> {
        let (view, mut present) = (memory.refresh()?, Vec::new());
        for id in self.ledger.wanted.keys() {
            if view.contains(&Id::new(id)?)? {
                present.push(id.clone());
            }
        }
        Ok(present)
    }
}

//! The operations on forks of a campaign.
//!
//! # Layer
//! For tests. Uses the engine.

use std::collections::BTreeMap;

use super::workload::{LANES, NAMES, Operation, content, note, object_id};
use crate::engine::{Memory, Revision, Strategy, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::testing::model::{Model, ModelObject, ModelState, Outcome};

/// The forks of the model by name: the number of the base commit, and the newest state.
pub(super) type Forks = BTreeMap<usize, (usize, ModelState)>;

/// Returns whether the workload of a seed has forks.
pub(super) fn has_forks(seed: u64) -> bool {
    seed % 3 == 1
}

/// Returns the operation on a fork that replaces this one in a workload with forks.
pub(super) fn beside_main(operation: &Operation) -> Option<Operation> {
    match *operation {
        Operation::KeepDraft { name, .. } | Operation::Snapshot { name: Some(name), .. } => {
            Some(Operation::Fork { name })
        }
        Operation::DeleteDraft { name } => Some(Operation::DropFork { name }),
        Operation::Undo { lane } => Some(Operation::ForkBack { lane, name: lane }),
        Operation::Redo { lane } => Some(Operation::Merge { lane, name: lane }),
        Operation::Put { lane, id, length, .. } if id % 2 == 0 => Some(Operation::ForkPut {
            lane,
            name: id % NAMES,
            id: id / 2,
            length,
        }),
        _ => None,
    }
}

pub(super) fn fork_name(number: usize) -> String {
    format!("fork-{number}")
}

/// Applies an operation on a fork.
pub(super) fn act(memory: &Memory, step: usize, operation: &Operation) -> Result<Outcome> {
    let writer = |lane: &usize| Writer::user().session(LANES[*lane]);
    match operation {
        Operation::Fork { name } => drop(memory.fork(&fork_name(*name)).by(&Writer::user())?),
        Operation::ForkPut {
            lane,
            name,
            id,
            length,
        } => {
            let fork = memory.open_fork(&fork_name(*name))?;
            fork.put(
                note(&object_id(*id), None, content(step, *id, *length))?,
                &writer(lane),
            )?;
        }
        Operation::ForkBack { lane, name } => {
            let fork = memory.open_fork(&fork_name(*name))?;
            let base = fork.fork_base()?.map_or(0, |base| base.commit.seq);
            let back = fork.rollback(Revision::Seq(base)).across_lanes();
            if !back.by(&writer(lane))?.changed {
                return Ok(Outcome::Unchanged);
            }
        }
        Operation::Merge { lane, name } => {
            let (name, writer) = (fork_name(*name), writer(lane));
            let merge = memory.merge(&name).again().strategy(Strategy::Theirs);
            // The model knows no commits without a change.
            if merge.preview(&writer)?.changes.is_empty() || !merge.by(&writer)?.committed.changed {
                return Ok(Outcome::Unchanged);
            }
            return Ok(Outcome::Committed);
        }
        Operation::DropFork { name } => drop(memory.drop_fork(&fork_name(*name), true, &Writer::user())?),
        other => return Err(Error::internal(format!("another function applies {other:?}"))),
    }
    Ok(Outcome::Referenced)
}

/// Applies an operation on a fork to the model.
pub(super) fn specify(forks: &mut Forks, model: &mut Model, step: usize, operation: &Operation) -> Outcome {
    let object = |id: usize, length: usize| ModelObject {
        parent: None,
        content: content(step, id, length),
    };
    match operation {
        Operation::Fork { name } if forks.contains_key(name) => Outcome::Refused(ErrorCode::NameTaken),
        Operation::Fork { name } => {
            let base = (model.commits.len() - 1, model.head().clone());
            forks.insert(*name, base);
            Outcome::Referenced
        }
        Operation::ForkPut { name, id, length, .. } => match forks.get_mut(name) {
            None => Outcome::Refused(ErrorCode::NoFork),
            Some((_, state)) => {
                state.insert(object_id(*id), object(*id, *length));
                Outcome::Referenced
            }
        },
        Operation::ForkBack { name, .. } => match forks.get_mut(name) {
            None => Outcome::Refused(ErrorCode::NoFork),
            Some((base, state)) => {
                let before = std::mem::replace(state, model.commits[*base].state.clone());
                if before == *state {
                    Outcome::Unchanged
                } else {
                    Outcome::Referenced
                }
            }
        },
        Operation::Merge { lane, name } => match forks.get(name) {
            None => Outcome::Refused(ErrorCode::NoFork),
            Some((base, theirs)) => {
                let state = merged(&model.commits[*base].state, model.head(), theirs);
                model.commit(LANES[*lane], state)
            }
        },
        Operation::DropFork { name } => match forks.remove(name) {
            None => Outcome::Refused(ErrorCode::NoFork),
            Some(_) => Outcome::Referenced,
        },
        _ => Outcome::Unchanged,
    }
}

/// Returns the state after a merge that prefers their versions.
fn merged(base: &ModelState, ours: &ModelState, theirs: &ModelState) -> ModelState {
    let mut state = ours.clone();
    for id in base.keys().chain(theirs.keys()) {
        if base.get(id) == theirs.get(id) {
            continue;
        }
        match theirs.get(id) {
            Some(object) => drop(state.insert(id.clone(), object.clone())),
            None => drop(state.remove(id)),
        }
    }
    state
}

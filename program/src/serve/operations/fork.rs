//! `memory_fork` makes a line of its own, and `memory_merge` brings in what was written there.
//!
//! A call never chooses the line in which it works: the host does, with `serve --fork NAME`.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{Line, Row};
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::inbox::seen_fields;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::naming::LeftOut;
use treering::agent::Reach;
use treering::inspect::agent::refuse_secret_name;
use treering::inspect::engine::{ChangeKind, MAIN_LINE};
use treering::merge::{MergeConflict, Merged, Strategy};
use treering::{Change, Draft, Id, Object, Origin, Result, Root, View};

/// The number of objects that the text names.
const TOLD: usize = 20;

/// Make a fork of the memory for a sub-agent: a line that begins at the present state and that nobody else sees. The host
/// starts the sub-agent with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MakeFork {
    name: String,
}

/// The answer of `memory_fork`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ForkMade {
    name: String,
    root: Root,
    seq: u64,
    /// The most trusted class of what the fork gets: that of this session.
    trust_cap: Origin,
}

impl Operation for MakeFork {
    const NAME: &'static str = "memory_fork";
    const TITLE: &'static str = "Fork for a sub-agent";
    const EFFECT: Effect = Effect::Adds;
    const PROFILE: Profile = Profile::Full;
    type Answer = ForkMade;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<ForkMade>> {
        refuse_secret_name("the name of the fork", &self.name)?;
        let class = service.class(&service.head()?)?;
        let writer = service.clean(&service.writer()?)?;
        let fork = service.memory().fork(&self.name).trust_cap(class);
        let fork = service.make_fork(|| fork.by(&writer))?;
        let view = fork.view();
        let made = ForkMade {
            root: view.root(),
            seq: view.commit().commit.seq,
            trust_cap: class,
            name: self.name,
        };
        let line = format!(
            "fork {} begins at seq {}; the host starts a server in it with --fork",
            quoted(&made.name),
            made.seq
        );
        Ok(Answer::new(view, made, line))
    }
}

named! {
    /// What decides about conflicts.
    #[derive(Deserialize)]
    enum Rule {
        Ours => "ours",
        Theirs => "theirs",
        Newer => "newer",
        Trusted => "trusted",
    }
}

impl Rule {
    fn strategy(self) -> Strategy {
        match self {
            Self::Ours => Strategy::Ours,
            Self::Theirs => Strategy::Theirs,
            Self::Newer => Strategy::Newer,
            Self::Trusted => Strategy::Trusted,
        }
    }
}

/// Bring in what a fork wrote, as one change. What both sides changed is merged by field; what cannot be decided is left
/// open for a person. `memory_undo` takes it back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeFork {
    /// A fork of this session, or `main`
    name: String,
    /// Decide conflicts by this rule
    strategy: Option<Rule>,
    /// Only show it
    dry_run: Option<bool>,
}

/// The answer of `memory_merge`.
#[derive(Serialize, JsonSchema)]
pub(super) struct MergedFork {
    root: Root,
    seq: u64,
    added: u64,
    changed: u64,
    removed: u64,
    changes: Vec<MergedObject>,
    conflicts: Vec<OpenObject>,
    dry_run: bool,
}

/// An object that a merge changes.
#[derive(Serialize, JsonSchema)]
struct MergedObject {
    id: Id,
    change: ChangeKind,
    trust: Origin,
}

/// An object about which somebody must decide.
#[derive(Serialize, JsonSchema)]
struct OpenObject {
    id: Id,
    fields: Vec<String>,
}

impl Row for MergedObject {
    fn line(&self, view: &View) -> Line {
        Line::of_id(view, &self.id).says([self.trust]).says([self.change])
    }
}

impl Row for OpenObject {
    fn line(&self, view: &View) -> Line {
        Line::of_id(view, &self.id)
            .says(["conflict"])
            .says([self.fields.join(", ")])
    }
}

impl Operation for MergeFork {
    const NAME: &'static str = "memory_merge";
    const TITLE: &'static str = "Merge a fork";
    const EFFECT: Effect = Effect::Removes;
    const IS_IDEMPOTENT: bool = true;
    const PROFILE: Profile = Profile::Full;
    const LEAVES_OUT: bool = true;
    type Answer = MergedFork;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<MergedFork>> {
        service.head()?;
        let memory = service.memory();
        if self.name != MAIN_LINE {
            service.check_line(&self.name)?;
        }
        let dry_run = self.dry_run.unwrap_or_default();
        let writer = service.clean(&service.writer_of(dry_run)?)?;
        let merge = memory.merge(&self.name);
        let merge = match self.strategy {
            Some(rule) => merge.strategy(rule.strategy()),
            None => merge,
        };
        let (merged, draft) = if dry_run {
            let (merged, draft) = merge.preview_draft(&writer)?;
            (merged, Some(draft))
        } else {
            (merge.by(&writer)?, None)
        };
        let view = memory.view();
        let mut telling = Telling {
            reach: service.reach(None)?,
            service,
            view: &view,
            draft: draft.as_ref(),
            left_out: LeftOut::default(),
        };
        let changes = telling.changes(&merged.changes)?;
        let conflicts = telling.conflicts(&merged.conflicts)?;
        let left_out = telling.left_out;
        let line = self.line(&merged, merged.conflicts.len());
        let open = conflicts.iter().map(|one| one.line(&view).to_string());
        let notes = open.chain(changes.iter().map(|one| one.line(&view).to_string()));
        let notes: Vec<_> = notes.take(TOLD).collect();
        let answer = MergedFork {
            root: view.root(),
            seq: view.commit().commit.seq,
            added: merged.counts.added,
            changed: merged.counts.changed,
            removed: merged.counts.removed,
            changes,
            conflicts,
            dry_run: merged.dry_run,
        };
        Ok(Answer::new(view, answer, line)
            .with_notes(notes)
            .leaving_out(left_out))
    }
}

impl MergeFork {
    fn line(&self, merged: &Merged, open: usize) -> String {
        let name = quoted(&self.name);
        if !merged.committed.changed {
            return format!("{name} has nothing new");
        }
        let counts = merged.counts;
        let verb = if merged.dry_run { "would merge" } else { "merged" };
        let line = format!(
            "{verb} {name}: {} added, {} changed, {} removed",
            counts.added, counts.changed, counts.removed
        );
        match open {
            0 => line,
            open => format!(
                "{line}; {} left open, which a person decides with treering conflicts",
                counted(open as u64, "conflict")
            ),
        }
    }
}

/// Decides which objects of a merge an answer names (SRV-3).
struct Telling<'a> {
    service: &'a Service,
    /// The state after the merge, or before it in a dry run.
    view: &'a View,
    /// The changes of a dry run.
    draft: Option<&'a Draft>,
    reach: Reach,
    left_out: LeftOut,
}

impl Telling<'_> {
    /// Returns the object after the merge.
    fn merged(&self, id: &Id) -> Result<Option<Object>> {
        match self.draft {
            Some(draft) => draft.get(id),
            None => self.view.get(id),
        }
    }

    /// Returns whether the object is named. Counts it if not.
    fn has(&mut self, object: Option<&Object>) -> bool {
        match object.filter(|object| self.reach.has(object.scope())) {
            None => self.left_out.other_scopes += 1,
            Some(object) if !object.origin().is_trusted() => self.left_out.untrusted += 1,
            Some(_) => return true,
        }
        false
    }

    fn changes(&mut self, changes: &[Change]) -> Result<Vec<MergedObject>> {
        let mut told = Vec::new();
        for change in changes {
            let object = match change.new {
                Some(_) => self.merged(&change.id)?,
                None => {
                    let old = change.old.map(|old| self.service.memory().version(old));
                    old.transpose()?.flatten()
                }
            };
            if self.has(object.as_ref())
                && let Some(object) = object
            {
                told.push(MergedObject {
                    id: change.id.clone(),
                    change: change.kind,
                    trust: self.service.memory().seen_origin(object.origin()),
                });
            }
        }
        Ok(told)
    }

    fn conflicts(&mut self, conflicts: &[MergeConflict]) -> Result<Vec<OpenObject>> {
        let mut told = Vec::new();
        for conflict in conflicts {
            let object = self.merged(&conflict.id)?;
            if !self.has(object.as_ref()) {
                continue;
            }
            told.push(OpenObject {
                id: conflict.id.clone(),
                fields: seen_fields(conflict, object.as_ref()),
            });
        }
        Ok(told)
    }
}

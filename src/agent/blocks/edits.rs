//! The import of edited block files.
//!
//! The caller reads and writes the files. An unedited file changes nothing, even if its block changed meanwhile. An edited file
//! becomes a new version with the origin `document`, because other people may write into the folder; a person may declare the
//! edits their own. If the block changed too, or the edited version is unknown, the file is a conflict unless the caller forces it.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - BEX-1: a file changes only the block of its id, and only if that block is in reach.
//! - BEX-2: of two files with one id, only the one at the path of the id counts.
//! - BEX-3: a block without a file stays, unless the caller prunes. The block of an unreadable file stays.
//! - BEX-4: no writer edits or prunes a block that is more trusted than the writer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::block::Block;
use super::files::{as_written, blocks_in, text_of};
use super::id::id_of_path;
use super::object::{apply, block_of, say_the_same, scope_of, trust_of};
use super::reader::{BlockFile, read_block};
use super::writer::with_updated;
use crate::agent::Agent;
use crate::agent::change::names::refuse_secret;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::item::{item_of, known_kind};
use crate::agent::scope::{Place, Reach};
use crate::agent::vocabulary::kind;
use crate::engine::{CommitInfo, Staged, View, Writer};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// A file in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// Its content; `Err` is the reason why it was not read.
    pub bytes: std::result::Result<Vec<u8>, String>,
}

/// The options of an import.
#[derive(Clone, Debug)]
pub(crate) struct TakeBlocks {
    /// The place of the caller, which gives `project` in a file its meaning.
    pub place: Place,
    /// The scopes whose blocks the files may change.
    pub reach: Reach,
    /// The scope of a new block whose file names no scope.
    pub usual_scope: Scope,
    /// Whether blocks without a file are removed.
    pub prune: bool,
    /// Whether a file is imported even if its block changed too, or may have changed.
    pub force: bool,
    /// Whether a person declares the edits their own. Then a new block is as trusted as the writer, and an edited block
    /// keeps its trust, up to that of the writer. Otherwise both get the trust of a document.
    pub as_me: bool,
}

named! {
    /// The outcome for a file.
    pub(crate) enum Taken {
        /// The block is new.
        Created => "created",
        /// The block has a new version.
        Updated => "updated",
        /// The file equals the block.
        Unchanged => "unchanged",
        /// The file is unedited, and the block changed.
        Stale => "stale",
        /// The file and the block both changed.
        Conflict => "conflict",
        /// The scan quarantined the text.
        Quarantined => "quarantined",
        /// The file was refused.
        Refused => "refused",
    }
}

/// A file and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct TakenFile {
    /// Its path.
    pub path: String,
    /// The id of the file, or of its path.
    pub id: Option<String>,
    /// The outcome.
    pub taken: Taken,
    /// Remarks about the faults of the file.
    pub said: Vec<String>,
    /// The file with the time of its new version. The caller should overwrite the file with it; otherwise the next edit
    /// would look like an edit of an older version.
    #[serde(skip)]
    pub fresh: Option<Vec<u8>>,
}

/// The answer to an import: the number of files for each outcome, and the files.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct TakenBlocks {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub stale: usize,
    pub conflicts: usize,
    pub quarantined: usize,
    pub refused: usize,
    /// The files, in the order of the call.
    pub files: Vec<TakenFile>,
    /// Blocks without a file that stay.
    pub missing: Vec<Id>,
    /// Blocks without a file that were removed.
    pub pruned: Vec<Id>,
    /// The name of the quarantine draft.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Imports edited block files, in one commit of the operation `import`.
///
/// # Errors
/// The errors of a commit; `Denied` (code `less_trusted`): the writer would prune blocks that are more trusted. A
/// fault in one file does not affect the others.
pub(crate) fn take_blocks(
    agent: &Agent,
    files: &[FoundFile],
    take: &TakeBlocks,
    writer: &Writer,
) -> Result<TakenBlocks> {
    let done = change(agent, writer, &Rule::IMPORT, |change| {
        let view = change.base().clone();
        let read: Vec<_> = files.iter().map(read_found).collect();
        // The number of files that state each id. BEX-3: a block whose file exists is not pruned, whatever the file
        // contains now.
        let mut kept = BTreeMap::new();
        for (file, read) in files.iter().zip(&read) {
            if let Ok(id) = id_of_path(&file.path) {
                kept.entry(id).or_insert(0);
            }
            if let Ok(read) = read {
                *kept.entry(read.block.id.clone()).or_insert(0) += 1;
            }
        }
        let mut taken = Vec::new();
        for (file, read) in files.iter().zip(read) {
            let id = match &read {
                Ok(read) => Some(read.block.id.clone()),
                Err(_) => id_of_path(&file.path).ok(),
            };
            let mut one = TakenFile {
                path: file.path.clone(),
                id: id.as_ref().map(Id::to_string),
                taken: Taken::Refused,
                said: Vec::new(),
                fresh: None,
            };
            match read {
                Err(why) => one.said.push(why),
                // BEX-2: the path decides between two files with one id.
                Ok(read) if kept[&read.block.id] > 1 && id_of_path(&file.path).ok() != id => {
                    let why = "another file has the same id, and this path does not match it";
                    one.said.push(why.to_owned());
                }
                Ok(read) => {
                    one.said.extend(read.faults.iter().map(ToString::to_string));
                    let mut edit = Edit {
                        change,
                        view: &view,
                        take,
                        said: &mut one.said,
                    };
                    one.taken = edit.take(&read.block)?;
                }
            }
            taken.push(one);
        }
        let (missing, pruned) = prune(change, &view, take, &kept)?;
        Ok((taken, missing, pruned))
    })?;
    let (mut taken, missing, pruned) = done.value;
    let view = agent.memory().view();
    for (file, found) in taken.iter_mut().zip(files) {
        if let (Taken::Created | Taken::Updated, Some(id), Ok(bytes)) = (file.taken, &file.id, &found.bytes)
            && let Some((_, updated)) = view.stamps(&Id::new(id)?)?
        {
            file.fresh = with_updated(bytes, updated);
        }
        // An answer names rules, never the matching text (RMB-1).
        file.id
            .take_if(|id| refuse_secret(agent.scanner(), "the id", id).is_err());
        for remark in &mut file.said {
            *remark = agent.scanner().redact(remark).into_owned();
        }
    }
    let count = |what: Taken| taken.iter().filter(|file| file.taken == what).count();
    Ok(TakenBlocks {
        created: count(Taken::Created),
        updated: count(Taken::Updated),
        unchanged: count(Taken::Unchanged),
        stale: count(Taken::Stale),
        conflicts: count(Taken::Conflict),
        quarantined: count(Taken::Quarantined),
        refused: count(Taken::Refused),
        files: taken,
        missing,
        pruned,
        held: done.held,
        commit: done.committed.commit,
    })
}

/// Reads the block of a file, or the reason why the file has none. A path that cannot have a block is not read (BLF-2).
fn read_found(file: &FoundFile) -> std::result::Result<BlockFile, String> {
    let bytes = file.bytes.as_ref().map_err(String::clone)?;
    let read = id_of_path(&file.path).and_then(|path_id| read_block(bytes, &path_id));
    read.map_err(|why| why.to_string())
}

/// Removes the blocks without a file if the caller prunes. Returns the blocks that stay and those that are removed
/// (BEX-3).
fn prune(
    change: &mut Change<'_>,
    view: &View,
    take: &TakeBlocks,
    kept: &BTreeMap<Id, usize>,
) -> Result<(Vec<Id>, Vec<Id>)> {
    let (mut missing, mut pruned) = (Vec::new(), Vec::new());
    for object in blocks_in(view, &take.reach)? {
        let object = object?;
        // A block that cannot be written as a file never has one.
        if kept.contains_key(object.id()) || text_of(view, &take.place, &object)?.is_err() {
            continue;
        }
        let id = object.id().clone();
        if take.prune && view.child_count(&id)? == 0 {
            change.remove(&id)?;
            pruned.push(id);
        } else {
            missing.push(id);
        }
    }
    Ok((missing, pruned))
}

/// The import of one file.
struct Edit<'a, 'c> {
    change: &'a mut Change<'c>,
    view: &'a View,
    take: &'a TakeBlocks,
    /// Remarks for the owner of the file.
    said: &'a mut Vec<String>,
}

impl Edit<'_, '_> {
    fn refuse(&mut self, why: impl Into<String>) -> Taken {
        self.said.push(why.into());
        Taken::Refused
    }

    /// Stages the block of a file. A fault refuses only this file.
    fn take(&mut self, block: &Block) -> Result<Taken> {
        match self.apply(block) {
            Err(error) if error.kind() == ErrorKind::InvalidInput || error.code() == ErrorCode::Erased => {
                Ok(self.refuse(error.message()))
            }
            taken => taken,
        }
    }

    fn apply(&mut self, block: &Block) -> Result<Taken> {
        let scope = scope_of(&self.take.place, block, &self.take.usual_scope)?;
        // BEX-1: a file changes no block outside the reach.
        if !self.take.reach.has(scope.as_str()) {
            return Ok(self.refuse(format!("this import may not change the scope '{scope}'")));
        }
        let present = self.view.get(&block.id)?;
        let mut object = match &present {
            None => {
                let mut object = NewObject::new(block.id.clone(), known_kind(kind::BLOCK));
                object.scope = scope;
                object
            }
            Some(present) => {
                if present.kind() != kind::BLOCK || !self.take.reach.has(present.scope()) {
                    return Ok(self.refuse("the id belongs to an object that is not a block of these scopes"));
                }
                if block.scope.is_some() && present.scope() != scope.as_str() {
                    return Ok(self.refuse(format!(
                        "a file cannot change the scope of a block, which is '{}'",
                        present.scope()
                    )));
                }
                if let Some(taken) = self.outdated(present, block)? {
                    return Ok(taken);
                }
                present.to_new()?
            }
        };
        apply(&mut object, block)?;
        self.stage(object, block, present.as_ref().map(Object::origin))
    }

    /// Returns the outcome of a file that must not be applied; `None` if it may be applied.
    fn outdated(&mut self, present: &Object, block: &Block) -> Result<Option<Taken>> {
        let before = block_of(self.view, &self.take.place, present)?;
        if say_the_same(&before, block) {
            return Ok(Some(Taken::Unchanged));
        }
        if !self.take.force && block.updated < before.updated {
            let written = as_written(self.change.agent().memory(), &self.take.place, block)?;
            let (why, taken) = if block.updated.is_none() {
                (
                    "the file has no line `updated`, so the edited version of the block is unknown",
                    Taken::Conflict,
                )
            } else if written.is_some_and(|written| say_the_same(&written, block)) {
                (
                    "the block changed after the file was written, and nobody edited the file",
                    Taken::Stale,
                )
            } else {
                (
                    "the block changed in memory after the file was written",
                    Taken::Conflict,
                )
            };
            self.said.push(why.to_owned());
            return Ok(Some(taken));
        }
        // BEX-4: no writer edits a block that is more trusted than the writer.
        let class = self.change.class();
        if present.origin().is_above(class) {
            let of = present.origin();
            let why = format!("a writer of class {class} may not edit a block of class {of}");
            return Ok(Some(self.refuse(why)));
        }
        Ok(None)
    }

    /// Stages the new version of a block that had the origin `had`.
    fn stage(&mut self, object: NewObject, block: &Block, had: Option<Origin>) -> Result<Taken> {
        let class = if self.take.as_me {
            let own = Origin::least(self.change.class(), trust_of(block));
            had.map_or(own, |had| Origin::least(own, had))
        } else {
            Origin::Document
        };
        let (parent, position) = (object.parent.clone(), object.position.clone());
        let reserved = object.reserved.clone();
        let passed = self
            .change
            .put(object.id.clone(), item_of(object), class, |object| {
                object.parent = parent;
                object.position = position;
                object.reserved = reserved;
            })?;
        if passed.fate != Fate::Staged(Staged::Unchanged) {
            let rules = passed.rules.iter().map(|rule| format!("the scan found {rule}"));
            self.said.extend(rules);
        }
        let is_lower = had.is_some_and(Origin::is_trusted) && !class.is_trusted();
        Ok(match passed.fate {
            Fate::Staged(Staged::Created) => Taken::Created,
            Fate::Staged(Staged::Updated) => {
                if is_lower {
                    let lower =
                        "it now has the trust of a document; --as-me keeps the trust of your own edits";
                    self.said.push(lower.to_owned());
                }
                Taken::Updated
            }
            Fate::Staged(Staged::Unchanged) => Taken::Unchanged,
            Fate::Held => Taken::Quarantined,
            Fate::Refused => Taken::Refused,
        })
    }
}

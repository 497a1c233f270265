//! Imports edited block files.
//!
//! The caller reads and writes the files. An unedited file changes nothing, even if its block changed after the export.
//! An edited file becomes a new version with the origin `document`, because other people may write into the folder. A
//! person may declare that the edits are their own. If both the file and the block changed, or the edited version is
//! unknown, the file is a conflict, unless the caller forces the import.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - BEX-1: a file changes only the block of its id, and only if that block is in reach.
//! - BEX-2: if several files contain the same id, only the file whose path matches the id is imported.
//! - BEX-3: a block without a file stays, unless the caller prunes. The block of an unreadable file always stays.
//! - BEX-4: a writer cannot edit or prune a block that is more trusted than the writer.

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
use crate::agent::change::{Change, Fate, Rule, admit, change};
use crate::agent::item::{item_of, known_kind};
use crate::agent::scope::{Place, Reach};
use crate::agent::vocabulary::kind;
use crate::engine::{CommitInfo, Staged, View, Writer};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// A file in the folder of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path below the folder, with `/`.
    pub path: String,
    /// The content of the file, or the reason why the caller could not read it.
    pub bytes: std::result::Result<Vec<u8>, String>,
}

/// The options of an import.
#[derive(Clone, Debug)]
pub struct TakeBlocks {
    /// The place of the caller, which resolves the scope `project` in a file.
    pub place: Place,
    /// The scopes whose blocks the files may change.
    pub reach: Reach,
    /// The scope of a new block whose file names no scope.
    pub usual_scope: Scope,
    /// Whether to remove blocks without a file.
    pub prune: bool,
    /// Whether to import a file even if its block changed after the file was written, or may have changed.
    pub force: bool,
    /// Whether a person declares that the edits are their own. Then the new version of a block gets the least trusted
    /// of three classes: the class of the writer, the class in the line `trust`, and the class of the old version.
    /// Otherwise the new version gets the class `document`.
    pub as_me: bool,
}

named! {
    /// The result for a file.
    pub enum Taken {
        /// The block is new.
        Created => "created",
        /// The block has a new version.
        Updated => "updated",
        /// The file is equal to the block.
        Unchanged => "unchanged",
        /// Only the block changed since the file was written.
        Stale => "stale",
        /// The file and the block both changed since the file was written.
        Conflict => "conflict",
        /// The change is quarantined because of the scan.
        Quarantined => "quarantined",
        /// The file is refused.
        Refused => "refused",
    }
}

/// A file and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TakenFile {
    /// The path of the file.
    pub path: String,
    /// The id in the file. For an unreadable file, the id of its path.
    pub id: Option<String>,
    /// The result.
    pub taken: Taken,
    /// Messages about the faults of the file.
    pub said: Vec<String>,
    /// The content of the file with the time of the new version. The caller should overwrite the file with this
    /// content. Otherwise the next edit would look like an edit of an older version.
    #[serde(skip)]
    pub fresh: Option<Vec<u8>>,
}

/// The answer to an import: the number of files with each result, and the files.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TakenBlocks {
    /// The number of files that became new blocks.
    pub created: usize,
    /// The number of files that changed their block.
    pub updated: usize,
    /// The number of files that changed nothing.
    pub unchanged: usize,
    /// The number of files that are older than their block.
    pub stale: usize,
    /// The number of files that conflict with their block.
    pub conflicts: usize,
    /// The number of files that were quarantined.
    pub quarantined: usize,
    /// The number of files that were refused.
    pub refused: usize,
    /// The results of the files, in the order of the call.
    pub files: Vec<TakenFile>,
    /// The ids of the blocks that have no file and stay in the state.
    pub missing: Vec<Id>,
    /// The ids of the blocks that had no file and were removed from the state.
    pub pruned: Vec<Id>,
    /// The names of the references below `rejected/`, one for each of the quarantined blocks.
    pub held: Vec<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Imports edited block files, in one commit of the operation `import`.
///
/// # Errors
/// The errors of a commit; `Denied` (code `less_trusted`): the writer would prune more trusted blocks. A fault in one
/// file is not an error, and does not affect the other files.
pub fn take_blocks(
    agent: &Agent,
    files: &[FoundFile],
    take: &TakeBlocks,
    writer: &Writer,
) -> Result<TakenBlocks> {
    let stated = if take.as_me {
        writer.trust
    } else {
        Origin::Document
    };
    admit(agent, writer, stated, None)?;
    let done = change(agent, writer, &Rule::IMPORT, |change| {
        let view = change.base().clone();
        let read: Vec<_> = files.iter().map(read_found).collect();
        // The number of readable files with each id. BEX-3: `kept` also contains the ids of the paths, because a block
        // whose file exists is not pruned, even if the file is unreadable.
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
                // BEX-2: if several files contain the same id, only the file whose path matches the id is imported.
                Ok(read) if kept[&read.block.id] > 1 && id_of_path(&file.path).ok() != id => {
                    let why = "another file has the same id, and the path of this file does not match the id";
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
        // RMB-1: an answer never contains a text that the scan stopped.
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

/// Reads the block of a file. Returns the reason if the file contains no block, or if its path is not a path of a block
/// (BLF-2).
fn read_found(file: &FoundFile) -> std::result::Result<BlockFile, String> {
    let bytes = file.bytes.as_ref().map_err(String::clone)?;
    let read = id_of_path(&file.path).and_then(|path_id| read_block(bytes, &path_id));
    read.map_err(|why| why.to_string())
}

/// Removes the blocks without a file if the caller prunes (BEX-3). Returns the blocks that stay, and the removed
/// blocks.
fn prune(
    change: &mut Change<'_>,
    view: &View,
    take: &TakeBlocks,
    kept: &BTreeMap<Id, usize>,
) -> Result<(Vec<Id>, Vec<Id>)> {
    let (mut missing, mut pruned) = (Vec::new(), Vec::new());
    for object in blocks_in(view, &take.reach)? {
        let object = object?;
        // Skip a block that cannot be written to a file, because it never has a file.
        if kept.contains_key(object.id()) || text_of(view, &take.place, &object)?.is_err() {
            continue;
        }
        let id = object.id().clone();
        if take.prune && view.children(&id, Some(1))?.is_empty() {
            change.remove(&id)?;
            pruned.push(id);
        } else {
            missing.push(id);
        }
    }
    Ok((missing, pruned))
}

/// Imports one file: stages its block, or refuses the file.
struct Edit<'a, 'c> {
    change: &'a mut Change<'c>,
    view: &'a View,
    take: &'a TakeBlocks,
    /// Messages about the file.
    said: &'a mut Vec<String>,
}

impl Edit<'_, '_> {
    fn refuse(&mut self, why: impl Into<String>) -> Taken {
        self.said.push(why.into());
        Taken::Refused
    }

    /// Stages the block of a file. If the block is invalid, refuses only this file.
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
        // BEX-1: a file cannot change a block outside the reach.
        if !self.take.reach.has(scope.as_str()) {
            return Ok(self.refuse(format!(
                "the block belongs to the scope '{scope}', which this import may not change"
            )));
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
                    return Ok(self.refuse(
                        "the id belongs to an object of another kind, or to a block outside the scopes of this import",
                    ));
                }
                if block.scope.is_some() && present.scope() != scope.as_str() {
                    return Ok(self.refuse(format!(
                        "a file cannot change the scope of a block; this block has the scope '{}'",
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

    /// Checks whether a file may change its block. If not, returns the result for the file, otherwise `None`.
    fn outdated(&mut self, present: &Object, block: &Block) -> Result<Option<Taken>> {
        let before = block_of(self.view, &self.take.place, present)?;
        if say_the_same(&before, block) {
            return Ok(Some(Taken::Unchanged));
        }
        if !self.take.force && block.updated < before.updated {
            let written = as_written(self.change.agent().memory(), &self.take.place, block)?;
            let (why, taken) = if block.updated.is_none() {
                (
                    "the file has no line `updated`, so it is unknown which version of the block was edited",
                    Taken::Conflict,
                )
            } else if written.is_some_and(|written| say_the_same(&written, block)) {
                (
                    "the file contains an older version of the block, without edits",
                    Taken::Stale,
                )
            } else {
                (
                    "the file was edited, and after it was written the block in the store changed too",
                    Taken::Conflict,
                )
            };
            self.said.push(why.to_owned());
            return Ok(Some(taken));
        }
        // BEX-4: a writer cannot edit a block that is more trusted than the writer.
        let class = self.change.class();
        if present.origin().is_above(class) {
            let of = present.origin();
            let why = format!("a writer of class {class} may not edit a block of class {of}");
            return Ok(Some(self.refuse(why)));
        }
        Ok(None)
    }

    /// Stages the new version of a block. `had` is the origin of its old version.
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
                    let lower = "the edit lowered the block to the class `document`; import your own edits with --as-me to keep the class";
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

//! Blocks out of the memory into files, and edits of people back into it.
//!
//! The caller reads and writes the files. A file that nobody edited changes nothing, also if the block was changed in the
//! memory since. An edited one becomes a new version, with the origin `document`: who may write into a folder is not
//! known here, unless a person says that the edits are theirs. If the block changed on both sides, or the file does not say
//! which version it was made of, the file is refused unless the caller insists.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - BEX-1: a file changes the block of its id and nothing else, and never what is no block or is out of reach.
//! - BEX-2: two files that say one id change nothing, but for the one that has the path of the id.
//! - BEX-3: a block whose file is gone stays, unless the caller prunes; a file that is there and cannot be read keeps its
//!   block.
//! - BEX-4: no block is edited or pruned by a writer who is less trusted than it.

use std::collections::{BTreeMap, BTreeSet};

use super::id::BlockId;
use super::of_object::{apply, block_of, say_the_same, scope_of, trust_of};
use super::write::with_updated;
use super::{Block, BlockFile, id_of_path, path_of, read_block, write_block};
use crate::agent::Agent;
use crate::agent::item::item_of;
use crate::agent::item::known_kind;
use crate::agent::remember::unless_erased;
use crate::agent::scope::{Place, Reach};
use crate::agent::staging::{Fate, Staging, with_tries};
use crate::agent::vocabulary::{kind, op};
use crate::engine::{CommitInfo, Query, Revision, Staged, View, Writer};
use crate::error::{ErrorCode, ErrorKind, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope, Time};

/// The file of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockText {
    /// Its path below the folder of the blocks, with `/`.
    pub path: String,
    /// The block.
    pub id: BlockId,
    /// What is in the file.
    pub text: String,
}

/// Blocks as files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTexts {
    /// The files, by path.
    pub files: Vec<BlockText>,
    /// Blocks that no file can hold, and why.
    pub left_out: Vec<(String, String)>,
}

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// What is in it; `Err` is why it was not read.
    pub bytes: std::result::Result<Vec<u8>, String>,
}

/// How files are taken in.
#[derive(Clone, Debug)]
pub struct TakeBlocks {
    /// What `project` in a file stands for.
    pub place: Place,
    /// The scopes whose blocks the files may change.
    pub reach: Reach,
    /// The scope of a new block whose file names none.
    pub usual_scope: Scope,
    /// Remove blocks that have no file.
    pub prune: bool,
    /// Take files also where the memory changed the same block since, or may have.
    pub force: bool,
    /// A person says that the edits are the writer's own: a new block is trusted as the writer is, and an edited one keeps its trust
    /// as far as the writer has it. Else both are documents.
    pub as_me: bool,
}

/// What a file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// There is a new block.
    Created,
    /// The block has a new version.
    Updated,
    /// The file says what the block says.
    Unchanged,
    /// Nobody edited the file, and the block was changed since it was written.
    Stale,
    /// Both the file and the block were changed.
    Conflict,
    /// The scan holds the text back for a person.
    Quarantined,
    /// The file was not taken.
    Refused,
}

impl Taken {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Stale => "stale",
            Self::Conflict => "conflict",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
        }
    }
}

/// A file, and what it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFile {
    /// Its path.
    pub path: String,
    /// The id that it says, or its path stands for.
    pub id: Option<String>,
    /// What was done.
    pub taken: Taken,
    /// What was not as it should be.
    pub said: Vec<String>,
    /// The file with the time of the version that it became, to be written in its place: without it the next edit would look
    /// like one of an older version.
    pub fresh: Option<Vec<u8>>,
}

/// Files were taken in.
#[derive(Clone, Debug)]
pub struct TakenBlocks {
    /// The files, by path.
    pub files: Vec<TakenFile>,
    /// Blocks without a file, which stay.
    pub missing: Vec<Id>,
    /// Blocks without a file, which went.
    pub pruned: Vec<Id>,
    /// Under which name a person finds what is held back.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

impl Agent {
    /// Returns the files of the blocks in `reach`.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn block_texts(&self, view: &View, place: &Place, reach: &Reach) -> Result<BlockTexts> {
        let mut texts = BlockTexts::default();
        for object in blocks_in(view, reach)? {
            let object = object?;
            match text_of(view, place, &object)? {
                Ok(text) => texts.files.push(text),
                Err(why) => texts.left_out.push((object.id().to_owned(), why)),
            }
        }
        texts.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(texts)
    }

    /// Whether a file says what its block says in `view`, or is as it was written once, so that nothing is lost if it is written
    /// anew.
    ///
    /// # Errors
    /// As [`View::get`].
    pub fn is_unedited(&self, view: &View, place: &Place, path: &str, bytes: &[u8]) -> Result<bool> {
        let path_id = id_of_path(path).ok();
        let Ok(file) = read_block(bytes, path_id.as_ref()) else {
            return Ok(false);
        };
        let object = unless_erased(view.get(&Id::new(file.block.id.as_str())?))?;
        if let Some(object) = object
            && let Ok(block) = block_of(view, place, &object)?
            && say_the_same(&block, &file.block)
        {
            return Ok(true);
        }
        let Some(written) = self.as_written(place, &file.block)? else {
            return Ok(false);
        };
        Ok(say_the_same(&written, &file.block) && written.scope == file.block.scope)
    }

    /// The block as it was when a file of it was written, if that state is kept.
    fn as_written(&self, place: &Place, block: &Block) -> Result<Option<Block>> {
        let Some(updated) = block.updated_micros else {
            return Ok(None);
        };
        let time = Revision::Time(Time::from_micros(updated));
        // A state that is not kept any more says nothing.
        let Ok(view) = self.memory().view_at(&time, "") else {
            return Ok(None);
        };
        let object = view.get(&Id::new(block.id.as_str())?).ok().flatten();
        let object = object.filter(|object| object.kind() == kind::BLOCK);
        let block = object.map(|object| block_of(&view, place, &object)).transpose()?;
        Ok(block.and_then(Result::ok))
    }

    /// Takes edited files back into the memory, in one commit of the operation `import`.
    ///
    /// # Errors
    /// As a commit; `Denied` (code `less_trusted`): blocks that are more trusted than the writer would be pruned. What is
    /// wrong with a file is said of it and costs no other one.
    pub fn take_blocks(
        &self,
        files: &[FoundFile],
        take: &TakeBlocks,
        writer: &Writer,
    ) -> Result<TakenBlocks> {
        with_tries(|| self.try_take(files, take, writer))
    }

    fn try_take(&self, files: &[FoundFile], take: &TakeBlocks, writer: &Writer) -> Result<TakenBlocks> {
        let mut staging = Staging::new(self, writer)?;
        let view = staging.draft.base().clone();
        let mut taken = Vec::new();
        let mut kept = BTreeSet::new();
        let read = read_files(files, &mut taken, &mut kept);
        for (path, file) in read {
            let mut said: Vec<String> = file.findings.iter().map(ToString::to_string).collect();
            let id = file.block.id.clone();
            kept.insert(id.as_str().to_owned());
            let became = match self.take_one(&mut staging, &view, &file.block, take) {
                Ok((became, more)) => {
                    said.extend(more);
                    became
                }
                Err(error)
                    if error.kind() == ErrorKind::InvalidInput || error.code() == ErrorCode::Erased =>
                {
                    said.push(error.message().to_owned());
                    Taken::Refused
                }
                Err(error) => return Err(error),
            };
            taken.push(TakenFile {
                path,
                id: Some(id.as_str().to_owned()),
                taken: became,
                said,
                fresh: None,
            });
        }
        taken.sort_by(|one, other| one.path.cmp(&other.path));
        let (mut missing, mut pruned) = (Vec::new(), Vec::new());
        for object in blocks_in(&view, &take.reach)? {
            let object = object?;
            // BEX-3. A block that no file can hold has none.
            if kept.contains(object.id()) || text_of(&view, &take.place, &object)?.is_err() {
                continue;
            }
            let id = Id::new(object.id())?;
            if take.prune && view.child_count(&id)? == 0 {
                staging.draft.remove(&id)?;
                pruned.push(id);
            } else {
                missing.push(id);
            }
        }
        staging.draft.check_standing()?;
        let done = staging.commit(self.memory(), op::IMPORT)?;
        let bytes_of: BTreeMap<&str, &FoundFile> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        for file in &mut taken {
            if let (Taken::Created | Taken::Updated, Some(id)) = (file.taken, &file.id)
                && let Some(Ok(bytes)) = bytes_of.get(file.path.as_str()).map(|file| &file.bytes)
                && let Some((_, updated)) = self.memory().view().stamps(&Id::new(id)?)?
            {
                file.fresh = with_updated(bytes, updated.as_micros());
            }
        }
        Ok(TakenBlocks {
            files: taken,
            missing,
            pruned,
            held: done.held,
            commit: done.committed.commit,
        })
    }

    fn take_one(
        &self,
        staging: &mut Staging,
        view: &View,
        block: &Block,
        take: &TakeBlocks,
    ) -> Result<(Taken, Vec<String>)> {
        let id = Id::new(block.id.as_str())?;
        let refused = |why: String| Ok((Taken::Refused, vec![why]));
        let scope = scope_of(&take.place, block, &take.usual_scope)?;
        // BEX-1.
        if !take.reach.has(scope.as_str()) {
            return refused(format!("the scope '{scope}' is out of reach here"));
        }
        let present = view.get(&id)?;
        let (mut object, before) = match &present {
            None => {
                let mut object = NewObject::new(id.clone(), known_kind(kind::BLOCK));
                object.scope = scope;
                (object, None)
            }
            Some(present) if present.kind() != kind::BLOCK || !take.reach.has(present.scope()) => {
                return refused("the id belongs to something that is no block here".to_owned());
            }
            Some(present) if block.scope.is_some() && present.scope() != scope.as_str() => {
                return refused(format!(
                    "the block is in the scope '{}', which a file does not change",
                    present.scope()
                ));
            }
            Some(present) => {
                let before = match block_of(view, &take.place, present)? {
                    Ok(before) => before,
                    Err(why) => return refused(why),
                };
                if say_the_same(&before, block) {
                    return Ok((Taken::Unchanged, Vec::new()));
                }
                if block.updated_micros.is_none() && !take.force {
                    let why = "the block is there, and the file has no line `updated` that says which version of it was edited";
                    return Ok((Taken::Conflict, vec![why.to_owned()]));
                }
                let is_older = block.updated_micros < before.updated_micros && block.updated_micros.is_some();
                if is_older && !take.force {
                    let written = self.as_written(&take.place, block)?;
                    if written.is_some_and(|written| say_the_same(&written, block)) {
                        return Ok((
                            Taken::Stale,
                            vec!["the block was changed since; nobody edited the file".to_owned()],
                        ));
                    }
                    let why = "the block was changed in the memory since the file was written".to_owned();
                    return Ok((Taken::Conflict, vec![why]));
                }
                let class = staging.draft.writer().trust;
                if present.origin().is_above(class) {
                    return refused(format!(
                        "a writer of class {class} does not edit a block of class {}",
                        present.origin()
                    ));
                }
                (present.to_new()?, Some(before))
            }
        };
        for name in crate::agent::item::MADE_BY_VERBS {
            object.attributes.remove(name);
        }
        apply(&mut object, before.as_ref(), block)?;
        let (parent, position) = (object.parent.clone(), object.position.clone());
        let reserved = object.reserved.clone();
        let item = item_of(object)?;
        let had = present.as_ref().map(Object::origin);
        let class = if take.as_me {
            let own = Origin::least(staging.draft.writer().trust, trust_of(block));
            had.map_or(own, |had| Origin::least(own, had))
        } else {
            Origin::Document
        };
        let passed = staging.put(self, id, item, class, |object| {
            object.parent = parent;
            object.position = position;
            object.reserved = reserved;
        })?;
        let is_lower = had.is_some_and(Origin::is_trusted) && !class.is_trusted();
        let lower = "it is trusted as a document now; --as-me keeps the trust of what you edited yourself";
        let rules = || passed.rules.iter().map(|rule| format!("the scan found {rule}"));
        Ok(match passed.fate {
            Fate::Staged(Staged::Created) => (Taken::Created, rules().collect()),
            Fate::Staged(Staged::Updated) => {
                let lower = is_lower.then(|| lower.to_owned());
                (Taken::Updated, rules().chain(lower).collect())
            }
            Fate::Staged(Staged::Unchanged) => (Taken::Unchanged, Vec::new()),
            Fate::Held => (Taken::Quarantined, rules().collect()),
            Fate::Refused => (Taken::Refused, rules().collect()),
        })
    }
}

/// Reads files, and leaves out those that hold no block or say the id of another one (BEX-2).
fn read_files(
    files: &[FoundFile],
    taken: &mut Vec<TakenFile>,
    kept: &mut BTreeSet<String>,
) -> Vec<(String, BlockFile)> {
    let mut by_id: BTreeMap<BlockId, Vec<(String, BlockFile, bool)>> = BTreeMap::new();
    for file in files {
        let path_id = id_of_path(&file.path);
        let read = match (&file.bytes, &path_id) {
            (Err(why), _) => Err(why.clone()),
            // BLF-2: a file where no block can be is not looked into.
            (Ok(_), Err(why)) => Err(why.to_string()),
            (Ok(bytes), Ok(path_id)) => read_block(bytes, Some(path_id)).map_err(|why| why.to_string()),
        };
        match read {
            Ok(read) => {
                let is_at_home = path_id.as_ref().is_ok_and(|path_id| *path_id == read.block.id);
                // The block that has its file here keeps it, whatever the file says now.
                kept.extend(path_id.iter().map(|id| id.as_str().to_owned()));
                let id = read.block.id.clone();
                by_id
                    .entry(id)
                    .or_default()
                    .push((file.path.clone(), read, is_at_home));
            }
            Err(why) => {
                let id = path_id.ok().map(|id| id.as_str().to_owned());
                kept.extend(id.clone());
                taken.push(TakenFile {
                    path: file.path.clone(),
                    id,
                    taken: Taken::Refused,
                    said: vec![why],
                    fresh: None,
                });
            }
        }
    }
    let mut read = Vec::new();
    for (id, mut same) in by_id {
        let home = same.iter().position(|(.., is_at_home)| *is_at_home);
        let chosen = match home {
            Some(home) => Some(same.remove(home)),
            None if same.len() == 1 => same.pop(),
            None => None,
        };
        let holds = chosen.as_ref().map(|(path, ..)| path.clone());
        read.extend(chosen.map(|(path, file, _)| (path, file)));
        kept.insert(id.as_str().to_owned());
        taken.extend(same.into_iter().map(|(path, ..)| TakenFile {
            path,
            id: Some(id.as_str().to_owned()),
            taken: Taken::Refused,
            said: vec![match &holds {
                Some(holds) => format!("{holds} says the same id, and is where its file belongs"),
                None => "another file says the same id, and neither is where its file belongs".to_owned(),
            }],
            fresh: None,
        }));
    }
    read
}

/// The blocks of some scopes, by id, expired ones too: what a file says of a block does not end with it.
fn blocks_in(view: &View, reach: &Reach) -> Result<impl Iterator<Item = Result<Object>>> {
    let found = view.query(&Query {
        kind: Some(known_kind(kind::BLOCK)),
        include_expired: true,
        ..Query::default()
    })?;
    Ok(found.filter(move |object| object.as_ref().map_or(true, |object| reach.has(object.scope()))))
}

fn text_of(view: &View, place: &Place, object: &Object) -> Result<std::result::Result<BlockText, String>> {
    let block = match block_of(view, place, object)? {
        Ok(block) => block,
        Err(why) => return Ok(Err(why)),
    };
    let path = match path_of(&block.id) {
        Ok(path) => path,
        Err(why) => return Ok(Err(why.to_string())),
    };
    Ok(match write_block(&block) {
        Ok(text) => Ok(BlockText {
            path,
            id: block.id,
            text,
        }),
        Err(why) => Err(why.to_string()),
    })
}

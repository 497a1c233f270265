//! The projects of a store: which folder belongs to which project.
//!
//! A register of the user names each folder by facts that its file system keeps, and that no file in the folder states:
//! the inode, and the time at which the folder was made. So a folder keeps its project when it is renamed or moved, and
//! another folder of the same name gets a project of its own. A linked git worktree has the project of its repository.
//! Only a person lets a folder join another project.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - Without the time at which a folder was made, which some file systems lack, a renamed folder is another folder.
//! - A folder that was copied, restored or cloned again is another folder, and joins its project by hand.
//! - A register with more than 5,000 entries loses those of folders that do not exist.
//!
//! # Invariants
//! - PRJ-1: a folder has the project of another folder only if it is a worktree of the same repository (PRJ-3), or if a
//!   person joined them.
//! - PRJ-2: a damaged register is not written. A folder that is not in its readable part gets a project of its own, because
//!   the damaged part may name the project of another folder.

mod moving;
mod register;
mod worktree;

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

pub use self::moving::{Moved, move_scope};
pub use self::register::UserRegister;
use super::scope::Place;
use crate::digest::{sha256, to_hex};
use crate::engine::Memory;
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// The name of the register.
const REGISTER: &str = "projects";
/// The number of entries above which those of missing folders are removed.
const ENTRIES_KEPT: usize = 5_000;
/// The number of digits that tell projects of one name apart.
const DIGITS: usize = 6;

/// A folder, by facts that survive a rename.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Folder {
    /// Its path, without symbolic links, when it was last seen.
    folder: String,
    device: u64,
    inode: u64,
    /// The time at which it was made, in nanoseconds since 1970.
    born: Option<u64>,
}

impl Folder {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let born = found
            .created()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
        Some(Self {
            folder: path.to_string_lossy().into_owned(),
            device: found.dev(),
            inode: found.ino(),
            // A file of an image may have no time.
            born: born.filter(|born| *born != 0),
        })
    }

    /// Whether `self`, which was seen earlier, is the present folder `now`.
    fn is(&self, now: &Self) -> bool {
        if self.inode != now.inode || self.born != now.born {
            return false;
        }
        // The number of a device may change when the machine starts. A snapshot of a file system has the same inodes.
        let is_moved = || self.born.is_some() && (self.device == now.device || !self.is_there());
        self.folder == now.folder || is_moved()
    }

    /// Whether the folder is still where it was last seen.
    fn is_there(&self) -> bool {
        let now = Self::of(Path::new(&self.folder));
        now.is_some_and(|now| (now.inode, now.born) == (self.inode, self.born))
    }
}

/// An entry of the register: a folder of a project of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    store: String,
    project: String,
    #[serde(flatten)]
    folder: Folder,
}

/// The project of a folder.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// The name of its folder, which other projects may have, too.
    pub plain: String,
    /// The top folder.
    pub folder: PathBuf,
    /// Whether this call added the folder to the register.
    pub is_new: bool,
    /// Why the register could not be read or written.
    pub fault: Option<Error>,
}

/// What is asked about a folder.
struct Asked {
    /// The id of the store; empty if there is no store yet.
    store: String,
    folder: Folder,
    plain: String,
    /// The repository of a linked worktree, with the name of its folder.
    repository: Option<(Folder, String)>,
    /// Whether the folder may get its plain name.
    may_claim: bool,
}

/// Returns the project of a folder in a store, and adds the folder to the register. Without a store, the project has the
/// name that it would get first in a new store.
pub fn project_of(folder: &Path, store: Option<&Path>) -> Option<Project> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = Place::top_of(&folder)?;
    let plain = plain_name(top)?;
    let mut project = Project {
        name: plain.clone(),
        plain,
        folder: top.to_owned(),
        ..Project::default()
    };
    let Some(mut asked) = asked(top, &project.plain, store) else {
        return Some(project);
    };
    project.name = settle(&mut Vec::new(), &asked).name;
    if asked.store.is_empty() {
        return Some(project);
    }
    let opened = UserRegister::open(REGISTER, "projects");
    let mut register = match opened {
        // Without a home folder, there is no register.
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(project),
        Err(error) => {
            project.name = own_name(&[], &asked, &asked.folder, &asked.plain);
            project.fault = Some(error);
            return Some(project);
        }
        Ok(register) => register,
    };
    project.fault = damage(&register);
    asked.may_claim &= project.fault.is_none();
    let mut entries = register.entries().to_vec();
    let seen = settle(&mut entries, &asked);
    project.name = seen.name;
    if seen.is_changed && project.fault.is_none() {
        match register.change(|entries| settle(entries, &asked)) {
            Ok(settled) => (project.name, project.is_new) = (settled.name, settled.is_new),
            Err(error) => project.fault = Some(error),
        }
    }
    Some(project)
}

fn asked(top: &Path, plain: &str, store: Option<&Path>) -> Option<Asked> {
    let named = worktree::repository_of(top).and_then(|repository| {
        let plain = plain_name(&repository)?;
        let plain = plain.strip_suffix(".git").unwrap_or(&plain).to_owned();
        Some((Folder::of(&repository)?, plain))
    });
    Some(Asked {
        store: store
            .and_then(|store| Memory::id_of_store(store).ok())
            .map_or_else(String::new, |id| to_hex(&id)),
        folder: Folder::of(top)?,
        plain: plain.to_owned(),
        repository: named,
        may_claim: !is_content(top, store),
    })
}

fn plain_name(top: &Path) -> Option<String> {
    Some(top.file_name()?.to_string_lossy().into_owned())
}

/// Whether the folder is a project only by a mark that a cloned repository may have brought along. Git itself keeps no
/// `.git` in a repository.
fn is_content(top: &Path, store: Option<&Path>) -> bool {
    let home = env::var_os("HOME").map(PathBuf::from);
    let store = store.and_then(|store| store.canonicalize().ok());
    let is_store = store.is_some_and(|store| store.parent() == Some(top));
    let mut above = top.ancestors().skip(1);
    let mut in_repository =
        || above.any(|folder| Some(folder) != home.as_deref() && folder.join(".git").exists());
    !is_store && !top.join(".git").exists() && in_repository()
}

struct Settled {
    name: String,
    is_changed: bool,
    is_new: bool,
}

/// Returns the project of a folder, and adds a folder that has none.
fn settle(entries: &mut Vec<Entry>, asked: &Asked) -> Settled {
    if let Some(known) = find(entries, &asked.store, &asked.folder) {
        let entry = &mut entries[known];
        let is_changed = entry.folder != asked.folder
            && (entry.folder.folder == asked.folder.folder || !entry.folder.is_there());
        if is_changed {
            entry.folder = asked.folder.clone();
        }
        return Settled {
            name: entry.project.clone(),
            is_changed,
            is_new: false,
        };
    }
    let name = match &asked.repository {
        None => free_name(entries, asked, &asked.folder, &asked.plain),
        Some((repository, plain)) => match find(entries, &asked.store, repository) {
            Some(known) => entries[known].project.clone(),
            None => {
                let name = free_name(entries, asked, repository, plain);
                entries.push(entry_of(asked, repository, &name));
                name
            }
        },
    };
    entries.push(entry_of(asked, &asked.folder, &name));
    if entries.len() > ENTRIES_KEPT {
        entries.retain(|entry| Path::new(&entry.folder.folder).exists());
    }
    Settled {
        name,
        is_changed: true,
        is_new: true,
    }
}

fn entry_of(asked: &Asked, folder: &Folder, name: &str) -> Entry {
    Entry {
        store: asked.store.clone(),
        project: name.to_owned(),
        folder: folder.clone(),
    }
}

fn find(entries: &[Entry], store: &str, folder: &Folder) -> Option<usize> {
    let is_it = |entry: &Entry| entry.store == store && entry.folder.is(folder);
    entries.iter().position(is_it)
}

fn is_taken(entries: &[Entry], store: &str, name: &str) -> bool {
    entries
        .iter()
        .any(|entry| entry.store == store && entry.project == name)
}

/// Returns a name that no other project has: the name of the folder, if it is free and the folder may claim it.
fn free_name(entries: &[Entry], asked: &Asked, folder: &Folder, plain: &str) -> String {
    if asked.may_claim && !is_taken(entries, &asked.store, plain) {
        return plain.to_owned();
    }
    own_name(entries, asked, folder, plain)
}

/// Returns the name of a folder with digits of its own.
fn own_name(entries: &[Entry], asked: &Asked, folder: &Folder, plain: &str) -> String {
    let facts = format!("{}\n{:?}", folder.inode, folder.born);
    let digits = to_hex(&sha256(facts.as_bytes()));
    let names = (DIGITS..digits.len()).map(|length| format!("{plain}~{}", &digits[..length]));
    let mut free = names.filter(|name| !is_taken(entries, &asked.store, name));
    free.next().unwrap_or_else(|| format!("{plain}~{digits}"))
}

fn damage(register: &UserRegister<Entry>) -> Option<Error> {
    let line = register.bad_line()?;
    let file = register.file().display();
    let text = format!("the register of projects is damaged: line {line} of {file} is no entry");
    let hint = "remove the line, or move the file away: then each folder gets the project of its name again, first come, first served";
    Some(
        Error::invalid(text)
            .with_code(ErrorCode::Unreadable)
            .with_hint(hint),
    )
}

/// The projects of a store, for a person who looks at them and changes them.
#[derive(Debug)]
pub struct Projects {
    store: String,
    register: UserRegister<Entry>,
}

impl Projects {
    /// Reads the projects of a store.
    ///
    /// # Errors
    /// The errors of [`Memory::id_of_store`] and of [`UserRegister::open`].
    pub fn of_store(store: &Path) -> Result<Self> {
        Ok(Self {
            store: to_hex(&Memory::id_of_store(store)?),
            register: UserRegister::open(REGISTER, "projects")?,
        })
    }

    /// Returns the name of the project and the folder of each entry, oldest first.
    pub fn folders(&self) -> impl Iterator<Item = (&str, &Path)> {
        let own = self
            .register
            .entries()
            .iter()
            .filter(|entry| entry.store == self.store);
        own.map(|entry| (entry.project.as_str(), Path::new(&entry.folder.folder)))
    }

    /// Gives a folder the project `name`, or without a name a project of its own. Returns the name. The caller has asked
    /// the person before a folder joins a project (PRJ-1).
    ///
    /// # Errors
    /// `InvalidInput` (code `unreadable`) if the register is damaged (PRJ-2); `Io` if it cannot be written.
    pub fn set(&mut self, top: &Path, store: &Path, name: Option<&str>) -> Result<String> {
        if let Some(error) = damage(&self.register) {
            return Err(error);
        }
        let plain = plain_name(top).unwrap_or_default();
        let asked = asked(top, &plain, Some(store));
        let asked = asked.ok_or_else(|| Error::not_found(format!("{} is no folder", top.display())))?;
        self.register.change(|entries| {
            while let Some(known) = find(entries, &asked.store, &asked.folder) {
                entries.remove(known);
            }
            let name = match name {
                Some(name) => name.to_owned(),
                None if asked.repository.is_some() => own_name(entries, &asked, &asked.folder, &plain),
                None => free_name(entries, &asked, &asked.folder, &plain),
            };
            entries.push(entry_of(&asked, &asked.folder, &name));
            name
        })
    }
}

#[cfg(test)]
mod tests;

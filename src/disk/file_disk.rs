//! The real disk: one folder of a local file system.
//!
//! The disk holds the folder open, and every name is relative to the open folder. So the disk still refers to the same
//! store if the folder is moved or the working directory changes. The disk does not follow symlinks inside the folder.
//!
//! A lock file stays open between two turns, because opening it again for each turn would cost as much as all other
//! calls of a short turn.
//!
//! # Layer
//! Layer 1.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::lock::HOLDER_BYTES;
use super::{Access, Disk, DiskFile, Holder, LockGuard, check_name, if_there, map};
use crate::error::{Cause, Damage, Error, ErrorCode, ErrorKind, OrIo as _, Result};
use crate::threads::Mutex;

/// A folder of a local file system.
#[derive(Debug)]
pub struct FileDisk {
    path: PathBuf,
    folder: Arc<OwnedFd>,
    identity: (u64, u64),
    boot: OnceLock<[u8; 16]>,
    locks: Locks,
}

/// The locks that this disk acquired before, by name.
type Locks = Arc<Mutex<BTreeMap<String, Turns>>>;

/// The state of one lock between the turns of this process.
#[derive(Debug, Default)]
struct Turns {
    /// The open lock file, while nobody in this process has the lock.
    file: Option<LockFile>,
    /// The random number by which a waiting process announced itself in the lock file: the last such number that this
    /// process wrote or read.
    note: Option<u64>,
    /// Whether another process announced itself before the last turn.
    somebody_waits: bool,
}

#[derive(Debug)]
struct LockFile {
    file: OpenFile,
    identity: (u64, u64),
    /// The process that opened the file. A forked child shares the open file and its lock, so it must not use them.
    process: u32,
}

/// The folder of a file.
enum Folder<'a> {
    OfStore(BorrowedFd<'a>),
    Within(OwnedFd),
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::OfStore(folder) => *folder,
            Self::Within(folder) => folder.as_fd(),
        }
    }
}

impl FileDisk {
    /// Opens an existing folder. Changes no file.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist; `Io` if the folder is on a network file system or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opening = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::not_found(format!("the folder {} does not exist", path.display())).with_source(error)
            }
            _ => Error::io(format!("cannot open {}", path.display()), error),
        };
        let path = std::fs::canonicalize(path).map_err(opening)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| opening(error.into()))?;
        refuse_network(&folder, &path)?;
        let stat = rustix::fs::fstat(&folder).map_err(|error| opening(error.into()))?;
        Ok(Self {
            path,
            folder: Arc::new(folder),
            identity: (stat.st_dev, stat.st_ino),
            boot: OnceLock::new(),
            locks: Locks::default(),
        })
    }

    /// Opens a folder. If necessary, creates the folder and its missing parents (mode 0700).
    ///
    /// # Errors
    /// The errors of [`FileDisk::open`], and `Io` if a folder cannot be created.
    ///
    /// # Durability
    /// When the call returns, the names of the created folders are durable.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let create = || {
            let absolute = std::path::absolute(path)?;
            let missing = absolute.ancestors().take_while(|folder| !folder.exists());
            for folder in missing.collect::<Vec<_>>().into_iter().rev() {
                match DirBuilder::new().mode(0o700).create(folder) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => sync_above(folder)?,
                }
            }
            Ok(())
        };
        create().or_io(format_args!("cannot create {}", path.display()))?;
        Self::open(path)
    }

    /// Renames a folder. The new name must not exist.
    ///
    /// # Errors
    /// `Io` if the folder was not renamed, or was renamed but its new name could not be made durable.
    ///
    /// # Durability
    /// When the call returns, the new name is durable.
    pub fn rename_folder(from: &Path, to: &Path) -> Result<()> {
        let here = rustix::fs::CWD;
        rustix::fs::renameat_with(here, from, here, to, RenameFlags::NOREPLACE)
            .map_err(io::Error::from)
            .and_then(|()| sync_above(to))
            .or_io(format_args!("cannot rename the folder to {}", to.display()))
    }

    /// Removes a folder and its content. Removes the file `last` after all other files. Does nothing if the folder does
    /// not exist.
    ///
    /// # Errors
    /// `Io` if a file cannot be removed.
    pub fn remove_folder(path: &Path, last: &str) -> Result<()> {
        let removing = || {
            for entry in std::fs::read_dir(path)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    std::fs::remove_dir_all(entry.path())?;
                } else if entry.file_name() != last {
                    std::fs::remove_file(entry.path())?;
                }
            }
            File::open(path)?.sync_all()?;
            std::fs::remove_dir_all(path)
        };
        let removed = if_there(removing()).or_io(format_args!("cannot remove {}", path.display()));
        removed.map(|_| ())
    }

    /// Returns the names in the folder that other users can access. Returns `None` if the mode of the folder denies
    /// access to other users.
    pub fn open_to_others(&self) -> Option<Vec<String>> {
        // A path is open if its mode allows any access to the group or to other users. The mode of a subfolder also
        // protects the files in it.
        let is_open = |name: &str, stat: &Stat| !name.contains('/') && !stat.st_mode.is_multiple_of(0o100);
        is_open(".", &rustix::fs::fstat(&self.folder).ok()?).then(|| self.entries(is_open))
    }

    /// Returns the paths in the folder whose owner differs from the folder's owner.
    pub fn not_the_owners(&self) -> Vec<String> {
        rustix::fs::fstat(&self.folder).map_or_else(|_| Vec::new(), |folder| self.not_owned_by(folder.st_uid))
    }

    pub(super) fn not_owned_by(&self, owner: u32) -> Vec<String> {
        self.entries(|_, stat| stat.st_uid != owner)
    }

    /// Returns the paths in the folder and its subfolders for which `wanted` returns true.
    fn entries(&self, wanted: impl Fn(&str, &Stat) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        for name in self.list("").unwrap_or_default() {
            let within = self.list(&name).unwrap_or_default();
            let within: Vec<_> = within.iter().map(|inner| format!("{name}/{inner}")).collect();
            found.extend(std::iter::once(name).chain(within));
        }
        found.retain(|name| {
            let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| wanted(name, &stat))
        });
        found
    }

    /// Returns whether a process holds a lock. Acquires a shared lock for a moment to test this. Creates and writes no
    /// file.
    pub fn is_locked(&self, name: &str) -> bool {
        let file = self.open_with(name, OFlags::RDONLY);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns whether this process may read a path, and also write it with `to_write`. Opens nothing. A missing path is no
    /// matter of permission.
    pub fn may_open(&self, name: &str, to_write: bool) -> bool {
        let access = if to_write {
            rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK
        } else {
            rustix::fs::Access::READ_OK
        };
        let asked = rustix::fs::accessat(&self.folder, name, access, AtFlags::EACCESS);
        !matches!(asked, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
    }

    /// Returns the path of the folder, with all symlinks resolved.
    #[cfg(test)]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a path is inside this folder. The path may end with names that do not exist yet.
    pub fn contains(&self, path: &Path) -> bool {
        let absolute = std::path::absolute(path);
        let known = absolute
            .ok()
            .and_then(|path| path.ancestors().find_map(|above| above.canonicalize().ok()));
        known.is_some_and(|known| known.starts_with(&self.path))
    }

    /// Returns the open folder that contains `name`, and the last part of the name.
    fn place<'a>(&self, name: &'a str) -> io::Result<(Folder<'_>, &'a str)> {
        check_name(name)?;
        match name.rsplit_once('/') {
            None => Ok((Folder::OfStore(self.folder.as_fd()), name)),
            Some((folder, last)) => Ok((Folder::Within(self.subfolder(folder)?), last)),
        }
    }

    fn subfolder(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        with_more_descriptors(|| {
            let mut folder = self.folder.try_clone()?;
            for part in name.split('/').filter(|part| !part.is_empty()) {
                check_name(part)?;
                folder = rustix::fs::openat(&folder, part, flags, Mode::empty())?;
            }
            Ok(folder)
        })
    }

    /// Opens a regular file. Returns an error if the path is not a regular file.
    fn open_with(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let file = with_more_descriptors(|| self.open_once(name, flags))
            .map_err(|error| self.refused(name, false, error))?;
        // Checks the file type, because a read from a pipe would block for ever.
        if !file.metadata()?.file_type().is_file() {
            return Err(self.refused(name, false, io::ErrorKind::InvalidInput.into()));
        }
        Ok(file)
    }

    /// Locks the file of a lock: `known`, the file of the turn before, if the path still refers to that file, and otherwise the
    /// file at the path. Returns `None` if the lock is not free.
    fn locked(&self, name: &str, process: u32, known: Option<LockFile>) -> io::Result<Option<LockFile>> {
        let is_known = known.is_some();
        let lock = known.map_or_else(|| self.open_lock(name, process), Ok)?;
        match lock.file.0.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // INVARIANT LCK-1: someone may have replaced the lock file since it was opened.
        if is_current(self.folder.as_fd(), name, &lock)? {
            return Ok(Some(lock));
        }
        if is_known {
            return self.locked(name, process, None);
        }
        Ok(None)
    }

    fn open_lock(&self, name: &str, process: u32) -> io::Result<LockFile> {
        let file = self.open_with(name, OFlags::RDWR | OFlags::CREATE)?;
        let stat = rustix::fs::fstat(&file)?;
        Ok(LockFile {
            file: OpenFile(file),
            identity: (stat.st_dev, stat.st_ino),
            process,
        })
    }

    /// Converts the error of a call on `name`. If a part of the path has the wrong file type, returns damage that names
    /// this part.
    fn refused(&self, name: &str, is_folder: bool, error: io::Error) -> io::Error {
        if check_name(name).is_err()
            || matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
            )
        {
            return error;
        }
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        for part in ends.filter_map(|end| name.get(..end)) {
            let (kind, wanted) = if is_folder || part.len() < name.len() {
                (FileType::Directory, "folder")
            } else {
                (FileType::RegularFile, "regular file")
            };
            let Ok(found) = rustix::fs::statat(&self.folder, part, AtFlags::SYMLINK_NOFOLLOW) else {
                break;
            };
            if FileType::from_raw_mode(found.st_mode) != kind {
                let damage = Damage::new(part, 0, Cause::NotRegular { wanted });
                return io::Error::new(io::ErrorKind::InvalidInput, damage);
            }
        }
        error
    }

    fn open_once(&self, name: &str, flags: OFlags) -> io::Result<File> {
        check_name(name)?;
        // Without O_NONBLOCK, opening a pipe would block for ever.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        #[cfg(target_os = "linux")]
        if name.contains('/') && !flags.contains(OFlags::CREATE) {
            // Opens the file with one system call instead of three, because opening a store opens every segment.
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match rustix::fs::openat2(&self.folder, name, flags, Mode::empty(), resolve) {
                // If an older kernel or a sandbox does not support the call, uses `openat` below.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                other => return Ok(File::from(other?)),
            }
        }
        let ((folder, last), mode) = (self.place(name)?, Mode::RUSR | Mode::WUSR);
        Ok(File::from(rustix::fs::openat(folder, last, flags, mode)?))
    }
}

/// Calls `open`. If the process has no free file descriptors, raises the limit to the hard limit and tries again. A
/// store needs many descriptors, because every segment is open.
fn with_more_descriptors<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
            let limit = getrlimit(Resource::Nofile);
            let all = Rlimit {
                current: limit.maximum,
                ..limit
            };
            // Ignores a failure, because the second `open` then returns an error.
            let _ = setrlimit(Resource::Nofile, all);
            open()
        }
        other => other,
    }
}

/// Makes the name of a folder durable: syncs its parent folder.
fn sync_above(folder: &Path) -> io::Result<()> {
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
    File::open(above.unwrap_or(Path::new(".")))?.sync_all()
}

impl Disk for FileDisk {
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        Ok(Arc::new(OpenFile(self.open_with(name, flags)?)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.open_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        Ok(Arc::new(OpenFile(file)))
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        let (folder, last) = self.place(name)?;
        match rustix::fs::mkdirat(folder, last, Mode::RWXU) {
            Err(error) if error != Errno::EXIST => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let (old_folder, old) = self.place(from)?;
        let (new_folder, new) = self.place(to)?;
        match rustix::fs::renameat_with(&old_folder, old, &new_folder, new, RenameFlags::NOREPLACE) {
            // Some file systems do not support the flag `NOREPLACE`. A hard link and the removal of the old name have
            // the same effect. After a crash between these two calls, both names refer to the same complete file.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(&old_folder, old, &new_folder, new, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(&old_folder, old, AtFlags::empty())?)
            }
            other => Ok(other?),
        }
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        let (old_folder, old) = self.place(from)?;
        let (new_folder, new) = self.place(to)?;
        rustix::fs::renameat(&old_folder, old, &new_folder, new)
            .map_err(|error| self.refused(to, false, error.into()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (folder, last) = self.place(name)?;
        rustix::fs::unlinkat(folder, last, AtFlags::empty())
            .map_err(|error| self.refused(name, false, error.into()))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = self
            .subfolder(folder)
            .map_err(|error| self.refused(folder, true, error))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        File::from(self.subfolder(folder)?).sync_all()
    }

    fn sync_parent(&self) -> io::Result<()> {
        sync_above(&self.path)
    }

    fn try_lock(&self, name: &str, holder: &Holder) -> io::Result<Option<Box<dyn LockGuard>>> {
        let process = std::process::id();
        let known = self
            .locks
            .lock()
            .get_mut(name)
            .and_then(|turns| turns.file.take());
        let known = known.filter(|known| known.process == process);
        let Some(lock) = self.locked(name, process, known)? else {
            return Ok(None);
        };
        let mut found = [0; HOLDER_BYTES + 8];
        let count = lock.file.read_at(0, &mut found)?;
        let (before, note) = found.split_at(HOLDER_BYTES);
        let had_no_other_holder = before == holder.as_bytes();
        if !had_no_other_holder
            && let Err(error) = lock.file.write_at(0, holder.as_bytes())
            && count > 0
        {
            // INVARIANT LCK-2: a holder has the lock only after the lock file names that holder. A new lock file names
            // nobody, so nobody relies on the name in it: a full disk does not refuse the lock then.
            return Err(error);
        }
        let note = note.try_into().map_or(0, u64::from_le_bytes);
        let mut locks = self.locks.lock();
        if !locks.contains_key(name) {
            locks.insert(name.to_owned(), Turns::default());
        }
        if let Some(turns) = locks.get_mut(name) {
            turns.somebody_waits = turns.note.replace(note).is_some_and(|before| before != note);
        }
        drop(locks);
        Ok(Some(Box::new(FileLock {
            lock: Some(lock),
            folder: Arc::clone(&self.folder),
            name: name.to_owned(),
            locks: Arc::clone(&self.locks),
            had_no_other_holder,
        })))
    }

    fn is_locked_by(&self, name: &str, process: u32) -> bool {
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let file = self
            .open_with(name, OFlags::RDONLY)
            .and_then(|file| file.metadata());
        let files = std::fs::read_dir(format!("/proc/{process}/fd"));
        let (Ok(file), Ok(files)) = (file.map(identity), files) else {
            // The process has ended, belongs to another user, or is hidden by the system.
            return false;
        };
        files.flatten().any(|entry| {
            let number = entry.file_name();
            let about = format!("/proc/{process}/fdinfo/{}", number.to_string_lossy());
            // Checks the identity of the file and the lock, because a process may have the file open without the lock.
            std::fs::metadata(entry.path()).is_ok_and(|found| identity(found) == file)
                && std::fs::read_to_string(about).is_ok_and(|about| about.contains("\nlock:"))
        })
    }

    fn announce_waiting(&self, name: &str) {
        let mut note = [0; 8];
        // Ignores a failed write, which only makes the lock less fair.
        if self.random(&mut note).is_ok()
            && let Ok(file) = self.open_with(name, OFlags::RDWR)
            && file.write_all_at(&note, HOLDER_BYTES as u64).is_ok()
        {
            self.locks.lock().entry(name.to_owned()).or_default().note = Some(u64::from_le_bytes(note));
        }
    }

    fn somebody_waits(&self, name: &str) -> bool {
        let mut locks = self.locks.lock();
        let turns = locks.get_mut(name);
        turns.is_some_and(|turns| std::mem::take(&mut turns.somebody_waits))
    }

    fn boot_id(&self) -> [u8; 16] {
        let read = || {
            let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
            let digits = crate::digest::from_hex(&text.trim().replace('-', ""));
            digits.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
        };
        // A process ends before the next boot.
        *self.boot.get_or_init(read)
    }

    fn identity(&self) -> (u64, u64) {
        self.identity
    }

    fn is_in_place(&self) -> bool {
        match rustix::fs::stat(&self.path) {
            Ok(found) => (found.st_dev, found.st_ino) == self.identity,
            // The open folder keeps its number, so no new folder can have it. A removed folder has no names.
            Err(_) => rustix::fs::fstat(&self.folder).is_ok_and(|folder| folder.st_nlink > 0),
        }
    }

    fn free_bytes(&self) -> Option<u64> {
        let found = rustix::fs::fstatvfs(&self.folder).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

#[derive(Debug)]
struct OpenFile(File);

impl DiskFile for OpenFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // `write_all_at` continues after short writes and interruptions. The call returns an error if a write adds no
        // bytes.
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn map(&self, length: u64) -> io::Result<Bytes> {
        map::map_sealed(&self.0, length)
    }
}

struct FileLock {
    /// The locked file; `None` only while the guard is dropped.
    lock: Option<LockFile>,
    folder: Arc<OwnedFd>,
    name: String,
    locks: Locks,
    had_no_other_holder: bool,
}

/// Returns whether `name` in `folder` still refers to the open lock file.
fn is_current(folder: BorrowedFd<'_>, name: &str, lock: &LockFile) -> io::Result<bool> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok(lock.identity == (named.st_dev, named.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl LockGuard for FileLock {
    fn is_current(&self) -> io::Result<bool> {
        let lock = self.lock.as_ref();
        lock.map_or(Ok(false), |lock| {
            is_current(self.folder.as_fd(), &self.name, lock)
        })
    }

    fn had_no_other_holder(&self) -> bool {
        self.had_no_other_holder
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        // Unlocks explicitly, because closing the file does not release the lock while a forked child has the file
        // open. A forked child must not release the lock of its parent.
        if lock.process == std::process::id() && lock.file.0.unlock().is_ok() {
            // Keeps the file open for the next turn. If unlocking fails, closing the file releases the lock.
            if let Some(turns) = self.locks.lock().get_mut(&self.name) {
                turns.file = Some(lock);
            }
        }
    }
}

/// File systems whose locks, renames or maps violate the contract of `Disk`.
#[cfg(target_os = "linux")]
const NETWORK: [(u32, &str); 12] = [
    (0x0000_6969, "NFS"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x0000_517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
];

#[cfg(target_os = "linux")]
fn refuse_network(folder: &OwnedFd, path: &Path) -> Result<()> {
    let found = rustix::fs::fstatfs(folder).map_err(io::Error::from);
    let found = found.or_io(format_args!(
        "cannot determine the file system of {}",
        path.display()
    ))?;
    let Some(name) = network_name(u32::try_from(found.f_type & 0xffff_ffff).unwrap_or_default()) else {
        return Ok(());
    };
    let path = path.display();
    let message = format!("{path} is on a network file system ({name}), which is not safe for a store");
    Err(Error::new(ErrorKind::Io, message)
        .with_code(ErrorCode::NetworkFileSystem)
        .with_hint("copy the whole store to a local disk while no process writes, and use the copy"))
}

#[cfg(target_os = "linux")]
pub(super) fn network_name(magic: u32) -> Option<&'static str> {
    let known = NETWORK.iter().find(|(number, _)| *number == magic);
    known.map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
fn refuse_network(_folder: &OwnedFd, _path: &Path) -> Result<()> {
    Ok(())
}

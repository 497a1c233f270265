//! Derived files of the upper layers. Each file stores a value that takes time to build from the state.
//!
//! A derived file stores bytes under a name. Reading a damaged file, or a file of another store, returns `None` as for
//! a missing file. Erasure removes all derived files, because an index contains words of objects.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - DER-1: a read returns the bytes that were written under that name in this store, or `None`. The blocks of an
//!   [`Image`] are checked when they are read.
//! - DER-2: after an erasure, no derived file remains that was built from an earlier state.
//!
//! # After a crash
//! The file has either its old or its new content. An unfinished file stays under its temporary name until the next
//! write replaces it.
//!
//! # Format
//! docs/format.md, "Derived files".

#[cfg(feature = "agent")]
use std::sync::Arc;

use bytes::Bytes;

#[cfg(feature = "agent")]
use crate::digest::{CommitDigest, DIGEST_LEN};
use crate::disk::{self, Access, Disk, if_there, read_bytes, read_whole};
use crate::error::{Cause, Error, Finding, Result, Severity};
use treering_text::tables::{Image, TRAILER};

use crate::engine::opened::Opened;
#[cfg(feature = "agent")]
use crate::engine::read::derived::{Derived, Keep};
#[cfg(feature = "agent")]
use crate::engine::read::state::State;

/// The folder of derived files.
pub(crate) const FOLDER: &str = "derived";
const MAGIC: &[u8; 8] = b"TRderiv1";
/// The maximal length of a name in bytes.
const NAME_BYTES: usize = 32;
/// The length of the header in bytes.
pub(crate) const HEADER_BYTES: usize = 76;

/// The part of a content that the checksum in the header covers. The number is the version of the file layout; files of
/// other versions are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// All bytes, which are checked when the file is opened.
    Whole = 1,
    /// The last [`TRAILER`] bytes of an [`Image`], which checks its other bytes when they are read.
    Image = 2,
}

impl Layout {
    fn of(file: &[u8]) -> Self {
        match file.get(8..12) {
            Some(version) if version == (Self::Image as u32).to_le_bytes() => Self::Image,
            _ => Self::Whole,
        }
    }

    fn sum(self, content: &[u8]) -> u32 {
        let start = match self {
            Self::Whole => 0,
            Self::Image => content.len().saturating_sub(TRAILER),
        };
        crc32c::crc32c(&content[start..])
    }
}

#[cfg(feature = "agent")]
impl<T: Keep> Derived<T> {
    /// Returns the value that an earlier process wrote, with the state from which it was built. Returns `None` if there
    /// is no file of this version and store, or if history no longer keeps that state.
    pub(crate) fn load(opened: &Opened) -> Option<Self> {
        let file = derived(opened, T::NAME).ok()??;
        if Layout::of(&file) != Layout::Image {
            return None;
        }
        let image = Arc::new(Image::open(file.slice(HEADER_BYTES..))?);
        let (version, commit) = image.read(0, 0, 1 + DIGEST_LEN)?.split_first()?;
        if *version != T::VERSION {
            return None;
        }
        let store = opened.store();
        // INVARIANT DRV-2: a value from a file is used only for the state that the file names.
        let commit = CommitDigest::from_bytes(commit.try_into().ok()?);
        let commit = store.by_digest(commit).ok()??;
        let value = T::read(&image, 1)?;
        Some(Self::new(State::of(&store, &commit).ok()?, value))
    }
}

/// Returns what `Memory::derived` returns.
pub(crate) fn derived_content(opened: &Opened, name: &str) -> Result<Option<Bytes>> {
    let bytes = derived(opened, name)?;
    let bytes = bytes.filter(|bytes| bytes.len() >= HEADER_BYTES);
    Ok(bytes.map(|bytes| bytes.slice(HEADER_BYTES..)))
}

/// Returns the whole derived file of this name, with its header. The blocks of an image are not checked yet.
pub(crate) fn derived(opened: &Opened, name: &str) -> Result<Option<Bytes>> {
    check_name(name)?;
    match read(opened, name) {
        // To a reader, an unreadable file is a missing one. A writer would replace the file.
        Err(error) if error.is_unreadable() && opened.settings.read_only => Ok(None),
        bytes => bytes,
    }
}

fn read(opened: &Opened, name: &str) -> Result<Option<Bytes>> {
    let path = format!("{FOLDER}/{name}");
    let reading = |error| Error::unreadable(&path, error);
    let Some(file) = if_there(opened.disk.open(&path, Access::Read)).map_err(reading)? else {
        return Ok(None);
    };
    let length = file.length().map_err(reading)?;
    // Mapping the file is safe, because the file never changes: a write replaces the file by a new file.
    let bytes = if opened.settings.map {
        file.map(length).map_err(reading)?
    } else {
        let Ok(length) = usize::try_from(length) else {
            return Ok(None);
        };
        Bytes::from(read_bytes(&*file, 0, length).map_err(reading)?)
    };
    // INVARIANT DER-1: a read returns the bytes that were written under that name in this store, or `None`.
    Ok(examine(&bytes, name, &opened.instance).is_ok().then_some(bytes))
}

/// Replaces the file of this name. The caller must ensure that no other process writes the file at the same time.
pub(crate) fn write_derived(opened: &Opened, name: &str, bytes: &[u8], layout: Layout) -> Result<()> {
    let path = format!("{FOLDER}/{name}");
    let writing = |error| Error::io(format!("cannot write {path}"), error);
    if matches!(if_there(opened.disk.list(FOLDER)), Ok(None)) {
        let made = opened.disk.create_dir(FOLDER);
        made.and_then(|()| opened.disk.sync_dir("")).map_err(writing)?;
    }
    let file = [&header(&opened.instance, name, bytes, layout), bytes].concat();
    disk::replace(&*opened.disk, &path, &file).map_err(writing)
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the name of a derived file must have 1 to {NAME_BYTES} of the characters a to z, 0 to 9 and -; {name:?} does not"
    )))
}

/// Returns the header of a file with this content.
fn header(instance: &[u8; 16], name: &str, content: &[u8], layout: Layout) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&(layout as u32).to_le_bytes());
    header[12..28].copy_from_slice(instance);
    header[28..28 + name.len()].copy_from_slice(name.as_bytes());
    header[60..68].copy_from_slice(&(content.len() as u64).to_le_bytes());
    header[68..72].copy_from_slice(&layout.sum(content).to_le_bytes());
    let sum = crc32c::crc32c(&header[..72]);
    header[72..].copy_from_slice(&sum.to_le_bytes());
    header
}

fn examine(file: &[u8], name: &str, instance: &[u8; 16]) -> std::result::Result<(), Cause> {
    let Some((found, content)) = file.split_first_chunk::<HEADER_BYTES>() else {
        return Err(Cause::DerivedCut);
    };
    let expected = header(instance, name, content, Layout::of(file));
    let sum = crc32c::crc32c(&found[..72]).to_le_bytes();
    let differs = |part: std::ops::Range<usize>| found[part.clone()] != expected[part];
    let causes = [
        (differs(0..8) || found[72..] != sum, Cause::DerivedChecksum),
        (differs(8..12), Cause::DerivedVersion),
        (differs(12..60), Cause::DerivedForeign),
        (differs(60..68), Cause::DerivedCut),
        (differs(68..72), Cause::DerivedChecksum),
    ];
    let cause = causes.into_iter().find(|(applies, _)| *applies);
    cause.map_or(Ok(()), |(_, cause)| Err(cause))
}

/// Checks a file with all blocks of its content.
fn examine_all(file: Vec<u8>, name: &str, instance: &[u8; 16]) -> std::result::Result<(), Cause> {
    examine(&file, name, instance)?;
    if Layout::of(&file) == Layout::Image {
        let image = Image::open(Bytes::from(file).slice(HEADER_BYTES..));
        image.filter(Image::is_whole).ok_or(Cause::DerivedChecksum)?;
    }
    Ok(())
}

/// Checks every derived file of the store `instance`.
pub(crate) fn check(disk: &dyn Disk, instance: &[u8; 16]) -> Result<Vec<Finding>> {
    let failed = |error| Error::io(format!("cannot read {FOLDER}"), error);
    let names = if_there(disk.list(FOLDER)).map_err(failed)?;
    let mut found = Vec::new();
    for name in names.unwrap_or_default() {
        let path = format!("{FOLDER}/{name}");
        let finished = name.strip_suffix(".tmp");
        if check_name(finished.unwrap_or(&name)).is_err() {
            continue;
        }
        let read = read_whole(disk, &path, usize::MAX).map_err(|error| Error::unreadable(&path, error));
        let wrong = match read {
            Err(error) if error.is_unreadable() => Err(error.cause()),
            Err(error) => return Err(error),
            Ok(_) if finished.is_some() => Err(Cause::Unfinished),
            Ok(Some(bytes)) => examine_all(bytes, &name, instance),
            Ok(None) => Ok(()),
        };
        let finding = |cause| Finding::new(Severity::Derived, &path, 0, cause);
        found.extend(wrong.err().map(finding));
    }
    Ok(found)
}

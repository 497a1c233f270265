//! Writes a file of a checkpoint, reads it back, verifies it, and then renames it to its final name.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKW-1: a checkpoint gets its final name only after its file was synced, read back and completely verified.
//!
//! # After a crash
//! An unfinished file retains its temporary name, and no reader opens it. The next checkpoint removes it. A crash before
//! older files are removed leaves files that the newest file does not name; no reader uses them.

use std::sync::Arc;

use super::blocks::{BlockWriter, write_error};
use super::chain::Checkpoint;
use super::check::verify_file;
use super::files::{CheckpointFile, FOLDER, file_name, list, next_number, remove_old};
use super::header::{Extent, Header, LogId, Section, node_place};
use super::part::Part;
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, StateRow, prefix_of};
use crate::codec;
use crate::digest::{KeyPath, Root};
use crate::disk::{Disk, DiskFile, MemDisk, unfinished_name};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::{Fixed, Position};
use crate::object::HistoryTree;
use crate::store::commits::Gap;
use crate::trie::{Kept, NodeSource, Saver, StoredNode, Trie};

/// The rows to write to a section. A row may be an error, because the writer reads some rows from an older checkpoint.
pub(crate) type Source<'a, R> = Box<dyn Iterator<Item = Result<R>> + 'a>;

/// A state to write to a checkpoint.
#[derive(Clone)]
pub(crate) struct State {
    /// The seq of the state's commit.
    pub(crate) seq: u64,
    /// The trie of the state. An older checkpoint may contain some or all of its nodes.
    pub(crate) trie: Trie,
    /// The position in the log after the commit's batch.
    pub(crate) position: Position,
}

/// The content of a checkpoint file: what is new since the files on which it builds.
pub(crate) struct Contents<'a> {
    pub(crate) log: LogId,
    /// The files on which the file builds. They stay.
    pub(super) onto: Vec<Arc<Part>>,
    /// The position up to which the checkpoint covers the log. The log must be durable up to this position.
    pub(crate) position: Position,
    /// The number of kept versions of objects.
    pub(crate) versions: u64,
    /// The number of erased versions.
    pub(crate) erased: u64,
    /// The states to store, by rising `seq`. The head's state is last.
    pub(crate) states: Vec<State>,
    /// The locators of object records, in any order.
    pub(crate) objects: Source<'a, DigestRow>,
    pub(crate) texts: Source<'a, DigestRow>,
    /// The commits, by rising `seq`.
    pub(crate) commits: Source<'a, CommitRow>,
    /// The first write times of ids that the newest state lacks, in any order. If a key occurs twice, the earlier time
    /// is used.
    pub(crate) first_written: Source<'a, FirstWritten>,
    /// The objects whose rows in `children` of earlier files no longer hold, in any order.
    pub(crate) replaced: Source<'a, KeyPath>,
    /// The pairs of parent and child in the newest state, in any order.
    pub(crate) children: Vec<ChildRow>,
    /// The gaps, in rising order.
    pub(crate) gaps: Vec<Gap>,
    /// The references, in the order of the log: batch number and canonical bytes.
    pub(crate) references: Vec<(u64, Vec<u8>)>,
    /// The history tree over all commits up to the position.
    pub(crate) history: HistoryTree,
    /// All lines besides the main one, each as bytes.
    pub(crate) lines: Vec<Vec<u8>>,
}

/// The other writers of checkpoint files.
pub(crate) struct Around<'a> {
    /// The number of an unfinished file that this process is writing. It stays.
    pub(crate) busy: Option<u64>,
    /// Receives the number of the new file when it exists.
    pub(crate) started: &'a mut dyn FnMut(u64),
    /// Returns whether the log was not rewritten.
    pub(crate) is_current: &'a dyn Fn() -> bool,
}

impl Contents<'_> {
    /// Returns the content of a checkpoint of an empty log.
    pub(crate) fn empty(log: LogId, history: HistoryTree) -> Self {
        Self {
            log,
            onto: Vec::new(),
            position: Position::START,
            versions: 0,
            erased: 0,
            states: Vec::new(),
            objects: no_rows(),
            texts: no_rows(),
            commits: no_rows(),
            first_written: no_rows(),
            replaced: no_rows(),
            children: Vec::new(),
            gaps: Vec::new(),
            references: Vec::new(),
            history,
            lines: Vec::new(),
        }
    }
}

fn no_rows<'a, R: 'a>() -> Source<'a, R> {
    Box::new(std::iter::empty())
}

/// Adds rows to the end of others.
pub(crate) fn append<'a, R: 'a>(rows: &mut Source<'a, R>, newer: Vec<R>) {
    let older = std::mem::replace(rows, no_rows());
    *rows = Box::new(older.chain(newer.into_iter().map(Ok)));
}

/// Receives the number of bytes of each finished step. If the function returns an error, the operation stops with that
/// error.
pub(crate) type Progress<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Writes a checkpoint file, and removes all older files except those on which the file builds, and except the unfinished
/// file `busy`. If a newer file exists, that file decides which files stay.
///
/// `source` must contain the stored nodes of the states. Calls `progress` with the number of bytes after each write,
/// and after each read of the verification.
///
/// # Errors
/// `Io`. `Busy` if another process is writing a checkpoint. `Conflict` if the log was rewritten. `Corrupt` if the source is damaged, or if the verification
/// of the new file fails. After an error, no new file remains.
///
/// # Durability
/// When the call returns, the checkpoint is durable.
pub(crate) fn write(
    disk: &dyn Disk,
    contents: Contents<'_>,
    source: &dyn NodeSource,
    around: &mut Around<'_>,
    progress: &mut Progress<'_>,
) -> Result<CheckpointFile> {
    let listed = disk.list(FOLDER);
    if listed.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        let created = disk.create_dir(FOLDER).and_then(|()| disk.sync_dir(""));
        created.map_err(write_error)?;
    }
    let files = list(disk)?;
    let number = next_number(&files)?;
    let name = file_name(number);
    let unfinished = unfinished_name(&name);
    let file = disk.create(&unfinished).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::new(ErrorKind::Busy, "another process is writing a checkpoint").with_source(error)
        }
        _ => write_error(error),
    })?;
    (around.started)(number);
    let onto = contents.onto.clone();
    let written = write_file(&*file, number, contents, source, progress).and_then(|header| {
        drop(file);
        // INVARIANT CKW-1: a checkpoint gets its final name only after its file was synced, read back and completely
        // verified.
        verify_file(disk, &unfinished, &header, &onto, progress)?;
        disk.rename_new(&unfinished, &name).map_err(write_error)
    });
    // After an error, removes the file to free space on a full disk. If the removal also fails, an unused file remains.
    written.inspect_err(|_| drop(disk.remove(&unfinished)))?;
    if let Err(error) = disk.sync_dir(FOLDER) {
        drop(disk.remove(&name));
        return Err(write_error(error));
    }
    // The files of a rewritten log must be gone, because they may name what was erased. The process that rewrote it removes
    // only the files that are there then.
    if !(around.is_current)() {
        drop(disk.remove(&name));
        let message = "the log was rewritten while a checkpoint of it was written";
        return Err(Error::conflict(message).with_code(ErrorCode::Rewritten));
    }
    let stay: Vec<u64> = onto.iter().map(|part| part.header().number).collect();
    remove_old(disk, number, &stay, around.busy);
    Ok(CheckpointFile {
        name,
        number,
        is_finished: true,
    })
}

/// Creates a checkpoint in memory. `source` must contain the stored nodes of the states.
///
/// # Errors
/// `Corrupt` or `Io` if the source cannot be read.
pub(crate) fn make(contents: Contents<'_>, source: &dyn NodeSource) -> Result<Checkpoint> {
    const NAME: &str = "a checkpoint in memory";
    let disk = MemDisk::new();
    let file = disk.create(NAME).map_err(write_error)?;
    write_file(&*file, 0, contents, source, &mut |_| Ok(()))?;
    let part = Arc::new(Part::open(&disk, NAME, true)?);
    Checkpoint::of(vec![part]).ok_or_else(|| Error::internal("a checkpoint without a file"))
}

/// Writes the sections, then the header, and syncs the file.
fn write_file(
    file: &dyn DiskFile,
    number: u64,
    contents: Contents<'_>,
    source: &dyn NodeSource,
    progress: &mut Progress<'_>,
) -> Result<Header> {
    let links = Checkpoint::links(&contents.onto);
    let mut header = Header {
        links: links.ok_or_else(|| Error::internal("a checkpoint file builds on too many files"))?,
        commits_before: contents.onto.last().map_or(0, |part| part.commits_until()),
        log: contents.log,
        position: contents.position,
        versions: contents.versions,
        erased: contents.erased,
        number,
        sections: Default::default(),
        lines: Extent::default(),
        table_sum: 0,
    };
    let mut sections = Sections {
        out: BlockWriter::new(file, progress),
        extents: &mut header.sections,
        lines: &mut header.lines,
    };
    put_sections(&mut sections, number, header.commits_before, contents, source)?;
    header.table_sum = sections.out.finish()?;
    if header.lines.rows == 0 {
        header.lines = Extent::default();
    }
    file.write_at(0, &header.encode()).map_err(write_error)?;
    file.sync().map_err(write_error)?;
    Ok(header)
}

/// Writes the sections in order.
struct Sections<'a> {
    out: BlockWriter<'a>,
    extents: &'a mut [Extent],
    lines: &'a mut Extent,
}

impl Sections<'_> {
    /// Writes the next section, and records its extent. `put` writes the rows and returns their number.
    fn section(
        &mut self,
        section: Section,
        put: impl FnOnce(&mut BlockWriter<'_>) -> Result<u64>,
    ) -> Result<()> {
        let offset = self.out.offset();
        let rows = put(&mut self.out)?;
        let length = self.out.offset() - offset;
        let extent = Extent { offset, length, rows };
        *self.extents.get_mut(section as usize).unwrap_or(self.lines) = extent;
        Ok(())
    }

    /// Writes a section of rows with equal lengths, in the given order.
    fn rows<R: Fixed>(&mut self, section: Section, rows: impl IntoIterator<Item = Result<R>>) -> Result<()> {
        self.section(section, |out| {
            let mut count = 0;
            let mut bytes = Vec::with_capacity(R::BYTES);
            for row in rows {
                bytes.clear();
                row?.put(&mut bytes);
                out.put(&bytes)?;
                count += 1;
            }
            Ok(count)
        })
    }

    /// Sorts the rows and writes them (CKR-1). If a key occurs twice, writes only the lower row.
    fn sorted<R: Fixed + Ord, K: PartialEq>(
        &mut self,
        section: Section,
        rows: impl IntoIterator<Item = Result<R>>,
        key: fn(&R) -> K,
    ) -> Result<()> {
        let mut rows: Vec<R> = rows.into_iter().collect::<Result<_>>()?;
        // The rows consist of a few sorted runs, which a stable sort merges.
        rows.sort();
        rows.dedup_by_key(|row| key(row));
        self.rows(section, rows.into_iter().map(Ok))
    }
}

fn put_sections(
    sections: &mut Sections<'_>,
    number: u64,
    commits_before: u64,
    contents: Contents<'_>,
    source: &dyn NodeSource,
) -> Result<()> {
    let before = Checkpoint::of(contents.onto);
    let top = before.as_ref().map_or(Ok(None), Checkpoint::head)?;
    let holds = |node: &StoredNode| before.as_ref().is_some_and(|before| before.has_node(node));
    let mut states = Vec::new();
    sections.section(Section::Nodes, |out| {
        let mut count = 0;
        let mut write = |node: &[u8]| {
            let place = node_place(contents.log, number, out.offset())
                .map_err(|error| Error::invalid(error.to_string()))?;
            let length = u16::try_from(node.len()).map_err(|_| Error::internal("a node is too long"))?;
            out.put(&length.to_le_bytes())?;
            out.put(node)?;
            count += 1;
            Ok(place)
        };
        let mut saver = Saver::new(source, &mut write);
        if let (Some(before), Some(top)) = (&before, top) {
            saver = saver.beside(Kept {
                source: before,
                top: top.top(),
                holds: &holds,
            });
        }
        for state in &contents.states {
            let top = saver.save(&state.trie)?;
            states.push(Ok(StateRow {
                seq: state.seq,
                root: Root::from_bytes(top.digest),
                count: top.count,
                place: top.place,
                position: state.position,
            }));
        }
        Ok(count)
    })?;
    sections.rows(Section::States, states)?;
    sections.sorted(Section::Objects, contents.objects, |row| *row)?;
    sections.sorted(Section::Texts, contents.texts, |row| *row)?;
    let mut indexes = [Vec::new(), Vec::new()];
    let commits = contents.commits.zip(commits_before..).map(|(row, value)| {
        let row = row?;
        for (index, by_root) in indexes.iter_mut().zip([false, true]) {
            let prefix = prefix_of(row.indexed(by_root));
            index.push(Ok(DigestRow { prefix, value }));
        }
        Ok(row)
    });
    sections.rows(Section::Commits, commits)?;
    let [by_digest, by_root] = indexes;
    sections.sorted(Section::CommitsByDigest, by_digest, |row| *row)?;
    sections.sorted(Section::CommitsByRoot, by_root, |row| *row)?;
    sections.sorted(Section::FirstWritten, contents.first_written, |row| row.key)?;
    sections.sorted(Section::Replaced, contents.replaced, |row| *row)?;
    sections.sorted(Section::Children, contents.children.into_iter().map(Ok), |row| {
        *row
    })?;
    sections.rows(Section::Gaps, contents.gaps.into_iter().map(Ok))?;
    sections.section(Section::References, |out| {
        for (batch, bytes) in &contents.references {
            let mut row = batch.to_le_bytes().to_vec();
            codec::put_sized(&mut row, bytes);
            out.put(&row)?;
        }
        Ok(contents.references.len() as u64)
    })?;
    sections.section(Section::History, |out| {
        out.put(&contents.history.size().to_le_bytes())?;
        out.put(contents.history.peaks().as_flattened())?;
        Ok(contents.history.peaks().len() as u64)
    })?;
    sections.section(Section::Lines, |out| {
        for line in &contents.lines {
            let mut row = Vec::with_capacity(4 + line.len());
            codec::put_sized(&mut row, line);
            out.put(&row)?;
        }
        Ok(contents.lines.len() as u64)
    })
}

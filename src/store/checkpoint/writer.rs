//! Writes a checkpoint, reads it back and verifies it, and only then gives it its final name.
//!
//! # Layer
//! Layer 4. Part of checkpoint/.
//!
//! # Invariants
//! - CKW-1: a checkpoint gets its final name only after its file was synced, read back and completely verified.
//!
//! # After a crash
//! An unfinished file stays under its temporary name and is never read; the next checkpoint removes it.

use super::blocks::{BlockWriter, write_error};
use super::check::verify_file;
use super::files::{CheckpointFile, FOLDER, file_name, list, next_number, remove_old};
use super::header::{Extent, Header, LogId, Section, node_place};
use super::reader::NODE_LENGTH_BYTES;
use super::rows::{ChildRow, CommitRow, DigestRow, FirstWritten, Row, StateRow, prefix_of};
use crate::codec;
use crate::digest::HashSuite;
use crate::disk::{Disk, DiskFile, unfinished_name};
use crate::error::{Error, ErrorKind, Result};
use crate::log::Position;
use crate::object::HistoryTree;
use crate::store::commits::Gap;
use crate::trie::{NodeSource, Saver, Shape, Trie};

/// Rows for a checkpoint. Some may have to be read from an older one, so each may be an error.
pub(crate) type Source<'a, R> = Box<dyn Iterator<Item = Result<R>> + 'a>;

/// A state to write to a checkpoint.
pub(crate) struct State {
    /// The seq of the state's commit.
    pub(crate) seq: u64,
    /// The trie of the state. An older checkpoint may store it or parts of it.
    pub(crate) trie: Trie,
    /// The position in the log after the commit's batch.
    pub(crate) position: Position,
}

/// The content of a checkpoint.
pub(crate) struct Contents<'a> {
    pub(crate) log: LogId,
    /// The position up to which the checkpoint covers the log. The log must be durable up to there.
    pub(crate) position: Position,
    /// The number of kept versions of objects.
    pub(crate) versions: u64,
    /// The number of erased versions.
    pub(crate) erased: u64,
    /// The states, by rising `seq`; the head's is last.
    pub(crate) states: &'a [State],
    /// The places of object records. These rows, `texts` and `first_written` may be in any order.
    pub(crate) objects: Source<'a, DigestRow>,
    pub(crate) texts: Source<'a, DigestRow>,
    /// The commits, by rising `seq`.
    pub(crate) commits: Source<'a, CommitRow>,
    /// The times of first writes. If a key occurs twice, the earlier time is kept.
    pub(crate) first_written: Source<'a, FirstWritten>,
    /// The parents of objects, in any order.
    pub(crate) children: Source<'a, ChildRow>,
    /// The gaps, in rising order.
    pub(crate) gaps: &'a [Gap],
    /// The references, in the order of the log: batch number and canonical bytes.
    pub(crate) references: Source<'a, (u64, Vec<u8>)>,
    /// The history tree over all commits up to the position.
    pub(crate) history: &'a HistoryTree,
}

/// Gets the number of bytes done. If it returns an error, the work ends with that error.
pub(crate) type Progress<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Writes a checkpoint, and removes all but the two newest.
///
/// `source` must have the stored nodes of the states. `progress` gets the number of bytes of each piece that was
/// written or read back.
///
/// # Errors
/// `Io`. `Busy` if another process is writing a checkpoint. `Corrupt` if the source is damaged, or if the new file
/// differs when it is read back or contradicts itself. After an error, no new file is left.
///
/// # Durability
/// When the call returns, the checkpoint is durable.
pub(crate) fn write(
    disk: &dyn Disk,
    contents: Contents<'_>,
    source: &dyn NodeSource,
    progress: &mut Progress<'_>,
) -> Result<CheckpointFile> {
    make_folder(disk)?;
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
    let written = write_file(&*file, number, contents, source, progress).and_then(|header| {
        drop(file);
        // INVARIANT CKW-1: a checkpoint gets its final name only after its file was synced, read back and completely
        // verified.
        verify_file(disk, &unfinished, &header, progress)?;
        disk.rename_new(&unfinished, &name).map_err(write_error)
    });
    // Removing the file frees space on a full disk. If this fails too, an unread file is left.
    written.inspect_err(|_| drop(disk.remove(&unfinished)))?;
    if let Err(error) = disk.sync_dir(FOLDER) {
        drop(disk.remove(&name));
        return Err(write_error(error));
    }
    remove_old(disk, number);
    Ok(CheckpointFile {
        name,
        number,
        is_finished: true,
    })
}

fn make_folder(disk: &dyn Disk) -> Result<()> {
    match disk.list(FOLDER) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        _ => return Ok(()),
    }
    disk.create_dir(FOLDER)
        .and_then(|()| disk.sync_dir(""))
        .map_err(write_error)
}

/// Writes and syncs the whole file, the header last.
fn write_file(
    file: &dyn DiskFile,
    number: u64,
    contents: Contents<'_>,
    source: &dyn NodeSource,
    progress: &mut Progress<'_>,
) -> Result<Header> {
    let Contents {
        log,
        position,
        versions,
        erased,
        ..
    } = contents;
    let mut sections = Sections {
        out: BlockWriter::new(file, progress),
        done: Vec::new(),
    };
    put_sections(&mut sections, number, contents, source)?;
    let done = sections.done;
    let table = sections.out.finish()?;
    let header = Header {
        log,
        position,
        versions,
        erased,
        number,
        sections: done
            .try_into()
            .map_err(|_| Error::internal("the number of sections in a checkpoint is wrong"))?,
        table_sum: crc32c::crc32c(&table),
    };
    file.write_at(0, &header.encode()).map_err(write_error)?;
    file.sync().map_err(write_error)?;
    Ok(header)
}

/// Writes the sections in order.
struct Sections<'a> {
    out: BlockWriter<'a>,
    done: Vec<Extent>,
}

impl Sections<'_> {
    /// Writes the next section by calling `put`, which returns the number of its rows.
    fn section(
        &mut self,
        section: Section,
        put: impl FnOnce(&mut BlockWriter<'_>) -> Result<u64>,
    ) -> Result<()> {
        debug_assert_eq!(section as usize, self.done.len(), "CKH-1");
        let offset = self.out.offset();
        let rows = put(&mut self.out)?;
        let length = self.out.offset() - offset;
        self.done.push(Extent { offset, length, rows });
        Ok(())
    }

    /// Writes rows in the given order.
    fn rows<R: Row>(&mut self, section: Section, rows: impl Iterator<Item = Result<R>>) -> Result<()> {
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
}

fn put_sections(
    sections: &mut Sections<'_>,
    number: u64,
    contents: Contents<'_>,
    source: &dyn NodeSource,
) -> Result<()> {
    let suite = HashSuite::new(contents.log.hash);
    let mut states = Vec::new();
    sections.section(Section::Nodes, |out| {
        put_nodes(
            out,
            contents.log,
            number,
            contents.states,
            suite,
            source,
            &mut states,
        )
    })?;
    sections.rows(Section::States, states.into_iter().map(Ok))?;
    sections.rows(Section::Objects, sorted(contents.objects, |row| *row)?)?;
    sections.rows(Section::Texts, sorted(contents.texts, |row| *row)?)?;
    let (mut by_digest, mut by_root) = (Vec::new(), Vec::new());
    let commits = contents.commits.zip(0..).map(|(row, value)| {
        let row = row?;
        for (index, digest) in [
            (&mut by_digest, row.digest.as_bytes()),
            (&mut by_root, row.root.as_bytes()),
        ] {
            let prefix = prefix_of(digest);
            index.push(DigestRow { prefix, value });
        }
        Ok(row)
    });
    sections.rows(Section::Commits, commits)?;
    sections.rows(
        Section::CommitsByDigest,
        sorted(by_digest.into_iter().map(Ok), |row| *row)?,
    )?;
    sections.rows(
        Section::CommitsByRoot,
        sorted(by_root.into_iter().map(Ok), |row| *row)?,
    )?;
    let first_written = sorted(contents.first_written, |row| row.key)?;
    sections.rows(Section::FirstWritten, first_written)?;
    sections.rows(Section::Children, sorted(contents.children, |row| *row)?)?;
    sections.rows(Section::Gaps, contents.gaps.iter().copied().map(Ok))?;
    sections.section(Section::References, |out| {
        put_references(out, contents.references)
    })?;
    sections.section(Section::History, |out| put_history(out, contents.history))
}

fn put_nodes(
    out: &mut BlockWriter<'_>,
    log: LogId,
    number: u64,
    states: &[State],
    suite: HashSuite,
    source: &dyn NodeSource,
    rows: &mut Vec<StateRow>,
) -> Result<u64> {
    if !states.is_empty() && source.suite().algorithm() != suite.algorithm() {
        return Err(Error::invalid(
            "the hash of the states differs from that of the log",
        ));
    }
    let mut count = 0;
    let mut write = |node: &[u8]| {
        let place =
            node_place(log, number, out.offset()).map_err(|error| Error::invalid(error.to_string()))?;
        let length = u16::try_from(node.len()).map_err(|_| Error::internal("a node is too long"))?;
        debug_assert_eq!(length.to_le_bytes().len(), NODE_LENGTH_BYTES);
        out.put(&length.to_le_bytes())?;
        out.put(node)?;
        count += 1;
        Ok(place)
    };
    let mut saver = Saver::new(source, &mut write);
    for state in states {
        let top = saver.save(&state.trie)?;
        rows.push(StateRow {
            seq: state.seq,
            root: state.trie.root(suite, Shape::State, source)?,
            count: top.count,
            place: top.place,
            position: state.position,
        });
    }
    Ok(count)
}

fn put_references(out: &mut BlockWriter<'_>, references: Source<'_, (u64, Vec<u8>)>) -> Result<u64> {
    let mut count = 0;
    let mut row = Vec::new();
    for reference in references {
        let (batch, bytes) = reference?;
        row.clear();
        row.extend_from_slice(&batch.to_le_bytes());
        codec::put_sized(&mut row, &bytes);
        out.put(&row)?;
        count += 1;
    }
    Ok(count)
}

fn put_history(out: &mut BlockWriter<'_>, history: &HistoryTree) -> Result<u64> {
    out.put(&history.size().to_le_bytes())?;
    out.put(history.peaks().as_flattened())?;
    Ok(history.peaks().len() as u64)
}

/// Sorts the rows by their key (CKR-1). If a key occurs twice, keeps the first row.
fn sorted<R: Ord, K: PartialEq>(
    rows: impl IntoIterator<Item = Result<R>>,
    key: fn(&R) -> K,
) -> Result<impl Iterator<Item = Result<R>>> {
    let mut rows: Vec<R> = rows.into_iter().collect::<Result<_>>()?;
    rows.sort_unstable();
    rows.dedup_by_key(|row| key(row));
    Ok(rows.into_iter().map(Ok))
}

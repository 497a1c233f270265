//! The head of the page: the state of the memory in numbers.
//!
//! # Layer
//! Layer 9, part of serve.

use std::path::absolute;

use serde::{Deserialize, Serialize};

use super::ROWS_MAX;
use super::reader::Reader;
use crate::answers::history::{LogLine, SnapshotLine};
use treering::fork::ForkInfo;
use treering::{Origin, Result, Time};

/// The request for the summary, which has no arguments.
#[derive(Deserialize)]
pub(crate) struct Nothing {}

/// The state of the memory in numbers.
#[derive(Serialize)]
pub(crate) struct Summary {
    /// The absolute path of the store, so that a command of the page finds it from any folder.
    store: Option<String>,
    version: &'static str,
    head: LogLine,
    objects: u64,
    commits: usize,
    snapshots: usize,
    /// The time from which the page computes ages.
    now: Time,
    /// The numbers of the ledger; `None` while the history is read for the first time.
    work: Option<Work>,
    /// The writer of the ways back; `None` if the page only reads.
    writer: Option<Writes>,
    warnings: Vec<String>,
    /// The fork that the page shows; `None` for the main line.
    fork: Option<String>,
    /// The fork that the server serves; `None` for the main line.
    served: Option<String>,
    forks: Vec<ForkRow>,
}

/// A fork that the page can show.
#[derive(Serialize)]
struct ForkRow {
    name: String,
    /// The number of commits since the base.
    commits: u64,
}

/// The counts of the ledger.
#[derive(Serialize)]
struct Work {
    sessions: usize,
    classes: Vec<ClassCount>,
    untrusted: u64,
    flagged: u64,
}

/// The number of objects of one class.
#[derive(Serialize)]
struct ClassCount {
    trust: Origin,
    objects: u64,
}

/// The writer of the page.
#[derive(Serialize)]
struct Writes {
    trust: Origin,
    actor: Option<String>,
    session: Option<String>,
}

impl From<ForkInfo> for ForkRow {
    fn from(fork: ForkInfo) -> Self {
        Self {
            name: fork.name,
            commits: fork.commits,
        }
    }
}

/// Returns the state of the memory in numbers.
///
/// # Errors
/// `Corrupt` or `Io` if a commit cannot be read.
pub(crate) fn summary(reader: &Reader, _: &Nothing) -> Result<Summary> {
    let (view, memory) = (reader.head()?, reader.memory());
    let work = reader.ledger_at_hand()?.map(|ledger| {
        let mut classes = Origin::ALL.map(|trust| ClassCount { trust, objects: 0 });
        let mut flagged = 0;
        let present = ledger.ids().iter().filter_map(|id| id.present);
        for version in present.map(|present| &ledger.versions()[present as usize]) {
            flagged += u64::from(version.is_flagged);
            for class in classes.iter_mut().filter(|class| class.trust == version.origin) {
                class.objects += 1;
            }
        }
        let untrusted = classes.iter().filter(|class| !class.trust.is_trusted());
        Work {
            sessions: ledger.lanes().len(),
            untrusted: untrusted.map(|class| class.objects).sum(),
            flagged,
            classes: classes.into_iter().filter(|class| class.objects > 0).collect(),
        }
    });
    Ok(Summary {
        store: memory.path().map(|path| {
            let absolute = absolute(path).unwrap_or_else(|_| path.to_path_buf());
            absolute.display().to_string()
        }),
        version: env!("CARGO_PKG_VERSION"),
        head: LogLine::of(memory, &view.commit())?,
        objects: view.len(),
        commits: memory.kept_commits(),
        snapshots: memory.snapshots()?.len(),
        now: view.now(),
        work,
        writer: reader.writer().map(|writer| Writes {
            trust: writer.trust,
            actor: writer.actor.clone(),
            session: writer.session.clone(),
        }),
        warnings: memory.warnings(),
        fork: memory.fork_name().map(str::to_owned),
        served: reader.shared.served.clone(),
        forks: memory
            .forks()?
            .into_iter()
            .take(ROWS_MAX)
            .map(ForkRow::from)
            .collect(),
    })
}

/// Returns the newest snapshots.
///
/// # Errors
/// `Corrupt` or `Io` if a snapshot cannot be read.
pub(crate) fn snapshots(reader: &Reader, _: &Nothing) -> Result<Vec<SnapshotLine>> {
    reader.head()?;
    let newest = reader.memory().snapshots()?.into_iter().take(ROWS_MAX);
    Ok(newest.map(SnapshotLine::from).collect())
}

//! Checks a whole remote or backup.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - RVE-1: a check reads every listed segment, goes on behind damage, and writes nothing.

use std::sync::Arc;

use super::bucket::Counted;
use super::place::{Place, Published};
use super::remote::Remote;
use crate::engine::Options;
use crate::error::{Cause, Damage, Error, Finding, Result, Severity};
use crate::log::closed::MANIFEST_FILE;
use crate::store::{ForeignCommit, references_in};

/// The result of a check of a remote or backup.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct VerifiedRemote {
    /// The place.
    pub place: String,
    /// Whether nothing is damaged.
    pub ok: bool,
    /// The number of segments that the manifest lists.
    pub segments: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The number of commits, those of side lines too.
    pub commits: u64,
    /// The damaged places.
    pub damage: Vec<Finding>,
}

impl VerifiedRemote {
    /// Notes damage. Returns other errors.
    fn note(&mut self, file: &str, error: Error) -> Result<()> {
        if !error.is_corruption() {
            return Err(error);
        }
        let contradiction = || Damage::new(file, 0, Cause::Contradiction(error.message().to_owned()));
        self.damage.push(Finding {
            severity: Severity::Damage,
            damage: error.damage().cloned().unwrap_or_else(contradiction),
        });
        Ok(())
    }
}

impl Remote {
    /// Checks every file of the remote, or of a backup: its length and digest, the digest of each batch, and that the
    /// newest segment continues the one before. Others may push meanwhile. Only a clone and its `verify` also check the states of commits.
    ///
    /// # Errors
    /// `NotFound` (code `not_a_remote`) if nothing is there; `InvalidInput` if the keys do not fit; `Io`. Damage is no error.
    pub fn verify(&self, options: &Options) -> Result<VerifiedRemote> {
        let place = Place::of(Counted::new(Arc::clone(&self.bucket)).waiting(options.settings.wait));
        let mut report = VerifiedRemote::default();
        let read = place.read().and_then(|published| {
            place.reading(published, &mut |published| {
                report = read_all(&place, published, options)?;
                match report.damage.first() {
                    // If another manifest is published by now, that one counts.
                    Some(found) => Err(Error::damaged(found.damage.clone())),
                    None => Ok(()),
                }
            })
        });
        match read {
            Err(error) if report.damage.is_empty() => report.note(MANIFEST_FILE, error)?,
            Err(error) if !error.is_corruption() => return Err(error),
            _ => {}
        }
        report.place = self.bucket.describe();
        report.ok = report.damage.is_empty();
        Ok(report)
    }
}

/// Reads all that a manifest lists (RVE-1).
fn read_all(place: &Place, published: &Published, options: &Options) -> Result<VerifiedRemote> {
    let (log, settings) = (&published.log, &options.settings);
    let mut report = VerifiedRemote {
        segments: log.segments.len() as u64,
        bytes: log.segments.iter().map(|segment| segment.length).sum(),
        ..VerifiedRemote::default()
    };
    let (mut done, mut head) = (0, log.head);
    for (index, segment) in log.segments.iter().enumerate() {
        settings.check_stop()?;
        settings.tell("verify", done, report.bytes);
        done += segment.length;
        let read = || {
            let bytes = place.segment(log, index)?;
            if bytes.is_empty() {
                return Err(Error::damaged(Damage::new(segment.name(), 0, Cause::Missing)));
            }
            let (batches, mut commits) = (log.read(index, bytes)?.batches, 0);
            for batch in &batches {
                commits += u64::from(ForeignCommit::of(batch, log.suite())?.is_some());
                references_in(batch)?;
            }
            Ok((batches.last().map_or(log.head, |batch| batch.commit), commits))
        };
        match read() {
            Ok((newest, commits)) => {
                head = newest;
                report.commits += commits;
            }
            Err(error) => {
                head = log.head;
                report.note(&segment.name(), error)?;
            }
        }
    }
    if head != log.head {
        let text = "it names another newest commit than the newest batch";
        report.note(MANIFEST_FILE, Error::corrupt(text))?;
    }
    Ok(report)
}

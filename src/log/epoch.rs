//! Epochs: an epoch is the number of rewrites of the log so far. Also detects that another process has rewritten the
//! log.
//!
//! A rewrite replaces the segments with the oldest batches. A handle that delivered batches of an earlier epoch reports
//! an error, and must be reopened. Those batches stay readable, because the handle keeps the old files open.
//!
//! # Layer
//! Layer 2.
//!
//! # Invariants
//! - EPO-1: all batches that a handle delivers between two openings belong to one epoch.

use super::batch::Position;
use super::files::{damage, read_manifest};
use super::handle::Log;
use super::manifest::{MANIFEST_NAME, Manifest, SegmentEntry};
use crate::error::{Cause, Error, ErrorCode, Result};

impl Log {
    /// Returns the number of rewrites of the log. Batch numbers, segments and positions are valid only within their
    /// epoch.
    pub fn epoch(&self) -> u32 {
        self.manifest.epoch
    }

    /// Returns whether recovery moved batches that this handle had delivered. Their records are still readable at the
    /// old places, which no longer belong to the log. [`Log::reopen`] delivers the batches from the new places.
    pub fn has_moved(&self) -> bool {
        self.moved > 0
    }

    /// Reads the manifest again. A handle that has delivered nothing yet opens every listed segment first, so no
    /// rewrite can remove them.
    ///
    /// # Errors
    /// As [`Log::take_manifest`]; `Corrupt` if a listed segment is missing or damaged.
    pub(super) fn take_listed(&mut self) -> Result<()> {
        loop {
            self.take_manifest(read_manifest(&*self.disk, &self.format)?)?;
            if self.cursor != Position::START {
                return Ok(());
            }
            match self.open_listed() {
                // A newer manifest may no longer list the missing segment.
                Err(error) if error.is_corruption() && self.is_outdated()? => {}
                other => return other,
            }
        }
    }

    /// Returns whether the manifest was replaced since this handle read it.
    pub(super) fn is_outdated(&self) -> Result<bool> {
        let manifest = read_manifest(&*self.disk, &self.format)?;
        Ok(manifest.generation > self.manifest.generation)
    }

    /// Continues with the manifest that was just read.
    ///
    /// # Errors
    /// [`ErrorCode::Rewritten`] if delivered batches belong to another epoch (EPO-1); `Corrupt` if the manifest is
    /// older than the previous one.
    pub(super) fn take_manifest(&mut self, manifest: Manifest) -> Result<()> {
        if manifest.generation < self.manifest.generation {
            return Err(damage(MANIFEST_NAME, 0, Cause::OlderManifest));
        }
        if manifest.epoch != self.manifest.epoch && self.cursor != Position::START {
            return Err(rewritten());
        }
        self.keep_manifest(manifest);
        Ok(())
    }

    /// Makes `manifest` the current one of this handle.
    pub(super) fn keep_manifest(&mut self, manifest: Manifest) {
        if manifest != self.manifest {
            self.segments.keep_manifest(&manifest);
            self.manifest = manifest;
        }
    }

    /// Opens every listed segment, because an open file stays readable after a rewrite unlinks it. Sealed segments are
    /// mapped at their first read.
    ///
    /// # Errors
    /// `Corrupt` if a segment is missing, damaged or shorter than its sealed length. A degraded log records the damage
    /// and reports it when the segment is read. `Io`.
    pub(super) fn open_listed(&mut self) -> Result<()> {
        let mut passed_over = Vec::new();
        for entry in self.manifest.entries() {
            match self.open_entry(entry) {
                // The segment may also be missing because a rewrite has replaced it.
                Err(error) if self.may_pass_over(&error) && !self.is_outdated()? => passed_over.push(error),
                other => other?,
            }
        }
        self.passed_over = passed_over;
        Ok(())
    }

    /// Returns whether reading continues after this error, because the log is degraded.
    pub(super) fn may_pass_over(&self, error: &Error) -> bool {
        self.options.degraded && error.is_corruption() && error.code() != ErrorCode::NoLog
    }

    /// Returns the damage of listed segments that a degraded log could not open completely.
    pub fn passed_over(&self) -> &[Error] {
        &self.passed_over
    }

    fn open_entry(&self, entry: &SegmentEntry) -> Result<()> {
        let segment = self.segment(entry.id)?;
        if entry.is_active() {
            return Ok(());
        }
        self.seal(&segment, entry.length);
        segment.check_length(entry.length)
    }
}

/// Returns the error for a handle that has delivered batches of another epoch.
pub(super) fn rewritten() -> Error {
    Error::conflict("the log was rewritten since this handle read it")
        .with_code(ErrorCode::Rewritten)
        .with_hint("open the store again")
}

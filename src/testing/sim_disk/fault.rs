//! How calls of the simulated disk fail.
//!
//! # Layer
//! For tests.

use std::io;

/// How a changing or syncing call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device failed (EIO); nothing was done.
    Device,
    /// No space (ENOSPC); a write did its first half.
    Full,
    /// Over the quota (EDQUOT); a write did its first half.
    Quota,
    /// Interrupted by a signal (EINTR); nothing was done.
    Interrupted,
    /// The device failed after the first bytes of a write.
    ShortWrite,
    /// The system took no byte and said so.
    ZeroWrite,
}

/// How a reading call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// The device failed (EIO).
    Device,
    /// Half of the bytes asked for, and no error; nothing where no bytes are asked for.
    Short,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Full,
        Self::Quota,
        Self::Interrupted,
        Self::ShortWrite,
        Self::ZeroWrite,
    ];

    /// Bytes of a write of `length` that are written before it fails.
    pub(super) fn written(self, length: usize) -> usize {
        match self {
            Self::Device | Self::Interrupted | Self::ZeroWrite => 0,
            Self::Full | Self::Quota => length / 2,
            Self::ShortWrite => length.min(16),
        }
    }

    /// Whether it lets calls pass that need no space.
    fn is_of_space(self) -> bool {
        matches!(self, Self::Full | Self::Quota)
    }

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Device | Self::ShortWrite => io::Error::other("simulated device error"),
            Self::Full => io::ErrorKind::StorageFull.into(),
            Self::Quota => io::ErrorKind::QuotaExceeded.into(),
            Self::Interrupted => io::ErrorKind::Interrupted.into(),
            Self::ZeroWrite => io::ErrorKind::WriteZero.into(),
        }
    }
}

/// Whether and how far a call takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Crashed,
    Failed(Fault),
}

/// The calls that fail.
#[derive(Clone, Default)]
pub(super) struct Faults {
    /// The first call that fails, the number of those after it that do too, and how.
    call: Option<(u64, u64, Fault)>,
    read: Option<(u64, ReadFault)>,
    met: bool,
    /// Whether a call failed on anything but checkpoints, derived files and a segment that may be made smaller.
    pub(super) met_primary: bool,
}

impl Faults {
    pub(super) fn set(&mut self, first: u64, lasting: u64, fault: Fault) {
        self.call = Some((first, lasting, fault));
    }

    pub(super) fn set_read(&mut self, read: u64, fault: ReadFault) {
        self.read = Some((read, fault));
    }

    /// Nothing fails any more; says whether something did.
    pub(super) fn heal(&mut self) -> bool {
        std::mem::take(self).met
    }

    pub(super) fn of_call(&mut self, call: u64, needs_space: bool, name: &str) -> Outcome {
        match self.call {
            Some((first, lasting, fault)) if (first..=first.saturating_add(lasting)).contains(&call) => {
                if call > first && fault.is_of_space() && !needs_space {
                    return Outcome::Done;
                }
                self.met = true;
                // A segment for which there is no room is made smaller.
                let is_tried_again = fault.is_of_space() && name.ends_with(".seg.tmp");
                let is_derived = name.starts_with("checkpoint") || name.starts_with("derived");
                self.met_primary |= !is_derived && !is_tried_again;
                Outcome::Failed(fault)
            }
            _ => Outcome::Done,
        }
    }

    pub(super) fn of_read(&mut self, read: u64) -> Option<ReadFault> {
        let (at, fault) = self.read?;
        self.met |= at == read;
        (at == read).then_some(fault)
    }
}

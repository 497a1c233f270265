//! The ways in which calls of the simulated disk fail.
//!
//! # Layer
//! For tests.

use std::io;

/// A failure of a changing or syncing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device fails (EIO). The call has no effect.
    Device,
    /// The disk is full (ENOSPC). A write writes its first half.
    Full,
    /// The quota is exceeded (EDQUOT). A write writes its first half.
    Quota,
    /// A signal interrupts the call (EINTR). The call has no effect.
    Interrupted,
    /// The device fails after the first bytes of a write.
    ShortWrite,
    /// The system writes no byte and returns that number.
    ZeroWrite,
}

/// A failure of a reading call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFault {
    /// The device fails (EIO).
    Device,
    /// The call returns half of the requested bytes and no error. A call that does not request bytes returns nothing.
    Short,
}

impl Fault {
    /// All variants.
    pub const ALL: [Self; 6] = [
        Self::Device,
        Self::Full,
        Self::Quota,
        Self::Interrupted,
        Self::ShortWrite,
        Self::ZeroWrite,
    ];

    /// Returns the number of bytes of a write of `length` that reach the disk before the write fails.
    pub(super) fn written(self, length: usize) -> usize {
        match self {
            Self::Device | Self::Interrupted | Self::ZeroWrite => 0,
            Self::Full | Self::Quota => length / 2,
            Self::ShortWrite => length.min(16),
        }
    }

    /// Returns whether calls that need no space succeed despite this fault.
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

/// Whether a call needs free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    None,
    Needed,
    /// The call adds zeros to a file for later writes. The engine may do without them.
    Ahead,
}

impl Space {
    pub(super) fn needed(needed: bool) -> Self {
        if needed { Self::Needed } else { Self::None }
    }
}

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Crashed,
    Failed(Fault),
}

/// The calls that fail, and their faults.
#[derive(Clone, Default)]
pub(super) struct Faults {
    /// The first call that fails, the number of calls after it that also fail, and the fault.
    call: Option<(u64, u64, Fault)>,
    read: Option<(u64, ReadFault)>,
    met: bool,
    /// Whether a call failed in a way that the engine must report. The engine may ignore failures of checkpoints and
    /// derived files, and a lack of space for zeros that only save time and for a segment, because it then tries a smaller
    /// one.
    pub(super) met_primary: bool,
}

impl Faults {
    pub(super) fn set(&mut self, first: u64, lasting: u64, fault: Fault) {
        self.call = Some((first, lasting, fault));
    }

    pub(super) fn set_read(&mut self, read: u64, fault: ReadFault) {
        self.read = Some((read, fault));
    }

    /// Ends all faults. Returns whether a fault occurred.
    pub(super) fn heal(&mut self) -> bool {
        std::mem::take(self).met
    }

    pub(super) fn of_call(&mut self, call: u64, space: Space, name: &str) -> Outcome {
        match self.call {
            Some((first, lasting, fault)) if (first..=first.saturating_add(lasting)).contains(&call) => {
                if call > first && fault.is_of_space() && space == Space::None {
                    return Outcome::Done;
                }
                self.met = true;
                // If space is short, the writer tries again with a smaller segment.
                let is_spared = fault.is_of_space() && (space == Space::Ahead || name.ends_with(".seg.tmp"));
                let is_derived = name.starts_with("checkpoint") || name.starts_with("derived");
                self.met_primary |= !is_derived && !is_spared;
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

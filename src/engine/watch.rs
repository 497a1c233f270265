//! Notifies hosts that the head moved, so that they can update derived data.
//!
//! # Layer
//! L5.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::digest::{CommitDigest, Root};
use crate::threads::Mutex;

/// Maximal number of moves waiting in a channel; newer ones are dropped.
const WAITING_MAX: usize = 256;

/// A move of the head to another commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMoved {
    /// The new head.
    pub commit: CommitDigest,
    /// The root of its state.
    pub root: Root,
    /// Its number.
    pub seq: u64,
    /// Its operation: `put`, `rollback` and so on.
    pub op: String,
}

/// The channels of the watchers.
#[derive(Default)]
pub(crate) struct Watchers {
    senders: Mutex<Vec<Sender<HeadMoved>>>,
}

impl Watchers {
    pub(crate) fn add(&self) -> Receiver<HeadMoved> {
        let (sender, receiver) = bounded(WAITING_MAX);
        self.senders.lock().push(sender);
        receiver
    }

    pub(crate) fn send(&self, moved: impl Fn() -> HeadMoved) {
        let gone = |sender: &Sender<HeadMoved>| {
            matches!(sender.try_send(moved()), Err(TrySendError::Disconnected(_)))
        };
        self.senders.lock().retain(|sender| !gone(sender));
    }
}

//! Notifies hosts that the store has a new head, so that they can update derived data.
//!
//! # Layer
//! Layer 5.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::digest::{CommitDigest, Root};
use crate::threads::Mutex;

/// The maximal number of notifications waiting in a channel; further ones are dropped.
const WAITING_MAX: usize = 256;

/// A notification that the store has a new head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMoved {
    /// The new head.
    pub commit: CommitDigest,
    /// The root of the new head's state.
    pub root: Root,
    /// The seq of the new head.
    pub seq: u64,
    /// The operation of the new head: `put`, `rollback` and so on.
    pub op: String,
}

/// The channels of the hosts that watch for a new head.
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

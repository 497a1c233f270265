//! The thread of a handle that writes checkpoints, so that no commit waits for one.
//!
//! The thread first writes a small file with what is new, and then merges files if the chain has too many. While it merges,
//! it goes on writing small files, so that little of the log is uncovered at any time. It also drops what the handle no
//! longer uses: a system frees the bytes of a removed file when the last map of the file ends, which takes milliseconds.
//!
//! # Layer
//! Layer 5. Never takes the writer's mutex or the lock: a writer may wait for the end of the thread.
//!
//! # Invariants
//! - BGR-1: ending the thread stops a merge, and waits for a small file.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::disk::Disk;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::store::{Checkpoint, Cut, Store, Work};
use crate::threads::{Builder, Mutex};

/// The maximal size in bytes of the files that a small file absorbs.
const ABSORBED_BYTES: u64 = 4 << 20;

/// A request for a checkpoint up to a cut.
pub(crate) struct Job {
    pub(crate) store: Arc<Store>,
    pub(crate) cut: Cut,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) map: bool,
    /// The size of the log at the cut, as `LogHandle::tail_bytes`.
    pub(crate) bytes: u64,
}

/// A checkpoint that the thread wrote, or its failure.
pub(crate) struct Finished {
    pub(crate) outcome: Result<Checkpoint>,
    /// The size up to which the checkpoint covers the log.
    pub(crate) bytes: u64,
}

/// The thread, for the writer that asks it.
pub(crate) struct Background {
    shared: Arc<Shared>,
    wake: Option<Sender<()>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
    /// The process that started the thread. A forked process has the handle, but not the thread.
    process: u32,
}

#[derive(Default)]
struct Shared {
    /// The newest request, if the thread has not begun it.
    job: Mutex<Option<Job>>,
    finished: Mutex<Vec<Finished>>,
    /// What the thread drops next.
    unused: Mutex<Vec<Box<dyn Any + Send>>>,
    is_stopped: AtomicBool,
}

impl Background {
    /// Starts the thread. `known` is the newest checkpoint, which covers the log up to `covered`.
    ///
    /// # Errors
    /// `Io` if the system starts no thread.
    pub(crate) fn start(known: Option<Checkpoint>, covered: u64) -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let ((wake, woken), (is_alive, ended)) = (bounded(1), bounded(1));
        let mut writer = Writer {
            shared: Arc::clone(&shared),
            chain: known,
            covered,
        };
        let work = move || {
            let _is_alive: Sender<()> = is_alive;
            writer.run(&woken);
        };
        let started = Builder::new().name("treering-checkpoint".to_owned()).spawn(work);
        started.map_err(|error| Error::io("cannot start the thread that writes checkpoints", error))?;
        Ok(Self {
            shared,
            wake: Some(wake),
            ended,
            process: std::process::id(),
        })
    }

    /// Asks for a checkpoint. Replaces an older request that the thread has not begun.
    pub(crate) fn ask(&self, job: Job) {
        *self.shared.job.lock() = Some(job);
        self.wake();
    }

    /// Lets the thread drop a value, so that the caller does not wait until its memory and its files are free.
    pub(crate) fn drop_later(&self, unused: impl Any + Send) {
        self.shared.unused.lock().push(Box::new(unused));
        self.wake();
    }

    fn wake(&self) {
        // If the channel is full, the thread is about to look for work.
        let _ = self.wake.as_ref().map(|wake| wake.try_send(()));
    }

    /// Returns what the thread finished since the last call, in order.
    pub(crate) fn finished(&self) -> Vec<Finished> {
        std::mem::take(&mut *self.shared.finished.lock())
    }

    /// Ends the thread (BGR-1) and returns what it finished. Drops a request that the thread has not begun.
    pub(crate) fn end(mut self) -> Vec<Finished> {
        self.stop();
        self.finished()
    }

    fn stop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        self.shared.job.lock().take();
        if self.wake.take().is_some() && self.process == std::process::id() {
            // The thread sends nothing, so this waits until it drops its end of the channel.
            let _ = self.ended.recv();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The state of the thread.
struct Writer {
    shared: Arc<Shared>,
    chain: Option<Checkpoint>,
    covered: u64,
}

impl Writer {
    fn run(&mut self, woken: &Receiver<()>) {
        while woken.recv().is_ok() {
            while let Some(job) = self.next_job() {
                self.cover(&job, 0, None);
                if let Err(error) = self.merge(&job)
                    && error.code() != ErrorCode::Interrupted
                {
                    self.finish(Err(error));
                }
            }
        }
    }

    /// Returns the newest request. If there is none, drops what the handle no longer uses. A merge calls this often,
    /// because a removed file occupies the disk until its map is dropped.
    fn next_job(&self) -> Option<Job> {
        let job = self.shared.job.lock().take();
        if job.is_none() {
            let unused = std::mem::take(&mut *self.shared.unused.lock());
            drop(unused);
        }
        job
    }

    fn finish(&self, outcome: Result<Checkpoint>) {
        let bytes = self.covered;
        self.shared.finished.lock().push(Finished { outcome, bytes });
    }

    /// Writes a small file up to the cut of the job. The first `floor` files of the chain stay.
    fn cover(&mut self, job: &Job, floor: usize, busy: Option<u64>) {
        let work = Work {
            disk: &*job.disk,
            map: job.map,
            tail_bytes: job.bytes.saturating_sub(self.covered),
            limit: ABSORBED_BYTES,
            floor,
            busy,
        };
        let chain = self.chain.take();
        let written = job
            .store
            .write_checkpoint(&job.cut, chain, &work, &mut |_| Ok(()));
        if let Ok(chain) = &written {
            self.chain = Some(chain.clone());
            self.covered = job.bytes;
        }
        self.finish(written);
    }

    /// Merges the newest files of the chain if it has too many. Meanwhile covers what is new.
    fn merge(&mut self, job: &Job) -> Result<()> {
        let Some((chain, stay)) = self
            .chain
            .clone()
            .and_then(|chain| chain.to_merge().map(|stay| (chain, stay)))
        else {
            return Ok(());
        };
        let work = Work {
            disk: &*job.disk,
            map: job.map,
            tail_bytes: 0,
            limit: 0,
            floor: 0,
            busy: None,
        };
        let busy = Cell::new(None);
        let shared = Arc::clone(&self.shared);
        let check = || {
            if shared.is_stopped.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Io, "stopped").with_code(ErrorCode::Interrupted));
            }
            Ok(())
        };
        let mut cover_newer = |_| {
            check()?;
            if let Some(next) = self.next_job() {
                self.cover(&next, chain.files(), busy.get());
            }
            Ok(())
        };
        let mut started = |number| busy.set(Some(number));
        let store = &job.store;
        let mut merged = store.merge_checkpoint(&chain, stay, &work, &mut started, &mut cover_newer)?;
        let newest = self.chain.clone().filter(|newest| newest.begins_with(&chain));
        // Another process replaced the chain, so nobody will use the merged file, and the next checkpoint removes it.
        let Some(newest) = newest else { return Ok(()) };
        if newest.files() > chain.files() {
            merged = store.move_checkpoint(&newest, chain.files(), &merged, &work, &mut |_| check())?;
        }
        self.chain = Some(merged.clone());
        self.finish(Ok(merged));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    /// Sends the name of the thread that drops it.
    struct Dropped(Sender<Option<String>>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            drop(self.0.send(current().name().map(str::to_owned)));
        }
    }

    #[test]
    fn the_thread_drops_what_the_handle_no_longer_uses() {
        let background = Background::start(None, 0).unwrap();
        let (sender, dropped) = bounded(1);
        background.drop_later(Dropped(sender));
        assert_eq!(dropped.recv().unwrap().as_deref(), Some("treering-checkpoint"));
    }

    #[test]
    fn nothing_that_waits_to_be_dropped_outlives_the_thread() {
        let background = Background::start(None, 0).unwrap();
        let (sender, dropped) = bounded(1);
        background.drop_later(Dropped(sender));
        assert_eq!(background.end().len(), 0);
        assert!(dropped.try_recv().is_ok());
    }
}

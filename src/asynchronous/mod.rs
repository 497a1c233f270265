//! A handle for hosts that run on Tokio. Every call runs on a thread for blocking work, so no call blocks the runtime.
//!
//! # Layer
//! Layer 8. Only `close` knows which handles there are.
//!
//! # Invariants
//! - ASY-1: no call waits for a disk or a lock on a thread that runs tasks, not even the drop of the last handle.
//! - ASY-2: a call that has got its turn runs to its end, even if its future is dropped. A call that still waits for its
//!   turn never starts after that.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::engine::Memory;
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// The number of calls that run at the same time unless the host chooses another number.
const CALLS: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not zero");

/// A [`Memory`] or an `Agent` for a host that runs on Tokio, with the feature `tokio`. The handle is cheap to clone.
///
/// [`Self::call`] runs any method of the wrapped handle on a thread for blocking work. Calls that commit at the same
/// time share one sync of the disk. A view that has been read answers most questions from memory, so a host may also
/// use it directly.
///
/// # Cancellation
/// A call gets its turn at the first poll of its future, or later if many calls are running. From then on it runs to its
/// end, even if its future is dropped: its change may be committed. If the future is dropped before, nothing happens. To
/// learn what happened, read the head, or give the change an id of its own and read that.
///
/// # Example
/// ```
/// use treering::{Async, Id, Kind, Memory, NewObject, Writer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> treering::Result<()> {
/// let memory = Async::open(Memory::in_memory).await?;
/// let vera = Writer::person("vera");
/// let tea = NewObject::new(Id::new("facts/tea")?, Kind::new("fact")?);
/// memory.call(move |memory| memory.put(tea, &vera)).await?;
/// let objects = memory.call(|memory| Ok(memory.view().len())).await?;
/// assert_eq!(objects, 1);
/// memory.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct Async<H: Send + Sync + 'static> {
    held: Arc<Held<H>>,
    turns: Arc<Semaphore>,
}

/// The wrapped handle. The drop of the last reference may write and sync.
struct Held<H: Send + 'static>(Option<H>);

impl<H: Send + Sync + 'static> Async<H> {
    /// Wraps `handle`.
    pub fn new(handle: H) -> Self {
        Self::with_calls(handle, CALLS)
    }

    /// Wraps `handle`, and runs at most `calls` calls at the same time. Each running call needs a thread. The standard
    /// number is 64.
    pub fn with_calls(handle: H, calls: NonZeroUsize) -> Self {
        Self {
            held: Arc::new(Held(Some(handle))),
            turns: Arc::new(Semaphore::new(calls.get().min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Wraps the handle that `open` returns. `open` runs on a thread for blocking work.
    ///
    /// # Errors
    /// The errors of `open`, and those of [`Self::call`].
    pub async fn open(open: impl FnOnce() -> Result<H> + Send + 'static) -> Result<Self> {
        // Wrapped at once, so that a handle that nobody waits for is dropped as ASY-1 demands.
        blocking(move || open().map(Self::new)).await
    }

    /// Calls `work` with the wrapped handle on a thread for blocking work. Waits first if many calls are running.
    ///
    /// # Errors
    /// The errors of `work`. `InvalidInput` (code `no_runtime`): the future does not run on Tokio, or the runtime was shut
    /// down before the call started.
    ///
    /// # Panics
    /// Only if `work` panics.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&H) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let held = Arc::clone(&self.held);
        blocking(move || {
            let result = work(held.get());
            // Other calls may start only when this call no longer uses the handle.
            drop((held, turn));
            result
        })
        .await
    }

    /// Waits until `calls` more calls may run.
    #[doc(hidden)]
    pub async fn ready(&self, calls: u32) {
        drop(self.turns.acquire_many(calls).await);
    }
}

impl Async<Memory> {
    /// Closes the memory as [`Memory::close`] does.
    ///
    /// # Errors
    /// The errors of [`Memory::close`], and those of [`Self::call`].
    pub async fn close(self) -> Result<()> {
        self.call(|memory| memory.clone().close()).await
    }
}

#[cfg(feature = "agent")]
impl Async<crate::agent::Agent> {
    /// Saves the indexes and closes the memory as [`Agent::close`](crate::agent::Agent::close) does.
    ///
    /// # Errors
    /// The errors of [`Memory::close`], and those of [`Self::call`].
    pub async fn close(self) -> Result<()> {
        self.call(|agent| agent.clone().close()).await
    }
}

impl<H: Send + Sync + 'static> Clone for Async<H> {
    fn clone(&self) -> Self {
        Self {
            held: Arc::clone(&self.held),
            turns: Arc::clone(&self.turns),
        }
    }
}

impl<H: Send + 'static> Held<H> {
    fn get(&self) -> &H {
        self.0.as_ref().expect("only `drop` takes the handle")
    }
}

impl<H: Send + 'static> Drop for Held<H> {
    fn drop(&mut self) {
        let handle = self.0.take();
        // INVARIANT ASY-1. Without a runtime, the thread may block.
        if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn_blocking(move || drop(handle)));
        }
    }
}

/// The result of a call, whatever its type is.
type Outcome = Box<dyn Any + Send>;

/// Runs `work` on a thread for blocking work.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let outcome = on_thread(Box::new(move || Box::new(work()))).await?;
    let result = outcome.downcast::<Result<T>>();
    *result.expect("the closure returns this type")
}

/// Runs a closure on a thread for blocking work. All calls share this one type of task, because Tokio compiles a
/// thousand lines for each type.
async fn on_thread(work: Box<dyn FnOnce() -> Outcome + Send>) -> Result<Outcome> {
    let Ok(runtime) = Handle::try_current() else {
        return Err(no_runtime("the future does not run on a Tokio runtime"));
    };
    match runtime.spawn_blocking(work).await {
        Ok(outcome) => Ok(outcome),
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(no_runtime(
                "the Tokio runtime was shut down before the call started",
            )),
        },
    }
}

fn no_runtime(text: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, text)
        .with_code(ErrorCode::NoRuntime)
        .with_hint("await the call inside a running Tokio runtime")
}

#[cfg(test)]
mod tests;

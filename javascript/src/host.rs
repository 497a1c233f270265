//! The JavaScript environments that loaded the module, and the functions in them that the library calls.
//!
//! The main thread and each worker have an environment. The end of an environment ends its calls and drops its handles.
//!
//! # Invariants
//! - ENV-1: after the end of an environment, no call of it runs and no handle of it is open.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use serde_json::{Value as Json, json};

use crate::pool;

/// The pause between two looks for a request to stop.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest wait for the calls of an environment that ends.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The function of an environment that receives the requests of the library. It does not keep the process alive.
pub(crate) type Receive = ThreadsafeFunction<String, (), String, Status, false, true>;

/// One JavaScript environment.
pub(crate) struct Host {
    pub(crate) number: u32,
    receive: Receive,
    is_ending: AtomicBool,
    running: AtomicUsize,
    /// The calls that can be cancelled, by their number.
    calls: Mutex<HashMap<u32, Arc<AtomicBool>>>,
}

/// Why a function of the host has no result.
pub(crate) enum NoResult {
    /// The call was cancelled, or the environment ends.
    Stopped,
    /// The function raised an error with this text.
    Failed(String),
}

static HOSTS: LazyLock<Mutex<HashMap<u32, Arc<Host>>>> = LazyLock::new(Mutex::default);
static REPLIES: LazyLock<Mutex<HashMap<u32, Sender<Json>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The call of this thread: its environment, and whether somebody cancelled it.
    static CALL: RefCell<Option<(Arc<Host>, Arc<AtomicBool>)>> = const { RefCell::new(None) };
}

fn hosts() -> std::sync::MutexGuard<'static, HashMap<u32, Arc<Host>>> {
    HOSTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an environment that has not ended.
pub(crate) fn host(number: u32) -> Option<Arc<Host>> {
    hosts().get(&number).cloned()
}

/// Begins an environment.
pub(crate) fn begin(receive: Receive) -> Arc<Host> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let host = Arc::new(Host {
        number,
        receive,
        is_ending: AtomicBool::new(false),
        running: AtomicUsize::new(0),
        calls: Mutex::default(),
    });
    hosts().insert(number, Arc::clone(&host));
    host
}

/// Ends an environment: stops its calls, and waits for them.
pub(crate) fn end(number: u32) {
    let Some(host) = hosts().remove(&number) else {
        return;
    };
    host.is_ending.store(true, Ordering::SeqCst);
    let end = Instant::now() + WAIT_MAX;
    while host.running.load(Ordering::SeqCst) > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A call in progress. Its end frees its number.
pub(crate) struct Running {
    host: Arc<Host>,
    call: u32,
    is_cancelled: Arc<AtomicBool>,
}

impl Running {
    /// Announces a call, which may be cancelled at once. The number 0 is that of a call that nobody cancels.
    pub(crate) fn announce(host: &Arc<Host>, call: u32) -> Self {
        host.running.fetch_add(1, Ordering::SeqCst);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        if call != 0 {
            let mut calls = host.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.insert(call, Arc::clone(&is_cancelled));
        }
        Self {
            host: Arc::clone(host),
            call,
            is_cancelled,
        }
    }

    /// Does the work of the call on this thread.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let outer = CALL.replace(Some((Arc::clone(&self.host), Arc::clone(&self.is_cancelled))));
        let done = work();
        CALL.set(outer);
        done
    }

    /// Returns whether the call need not begin.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst) || self.host.is_ending.load(Ordering::SeqCst)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.call != 0 {
            let mut calls = self.host.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.remove(&self.call);
        }
        self.host.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Asks a call to stop.
pub(crate) fn cancel(host: &Host, call: u32) {
    let calls = host.calls.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(is_cancelled) = calls.get(&call) {
        is_cancelled.store(true, Ordering::SeqCst);
    }
}

/// Returns whether the call of this thread must stop. The library asks this often.
pub(crate) fn is_asked_to_stop() -> bool {
    CALL.with_borrow(|call| {
        call.as_ref().is_some_and(|(host, is_cancelled)| {
            is_cancelled.load(Ordering::Relaxed) || host.is_ending.load(Ordering::Relaxed)
        })
    })
}

/// Calls a function of an environment, and waits for its result.
pub(crate) fn ask(host: &Host, function: u32, arguments: &Json) -> Result<Json, NoResult> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = bounded(1);
    REPLIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(number, sender);
    let request = json!({ "reply": number, "function": function, "arguments": arguments });
    let status = host
        .receive
        .call(request.to_string(), ThreadsafeFunctionCallMode::NonBlocking);
    let reply = pool::waiting(|| {
        while status == Status::Ok && !is_asked_to_stop() && !host.is_ending.load(Ordering::SeqCst) {
            match receiver.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Timeout) => {}
                reply => return reply.ok(),
            }
        }
        None
    });
    REPLIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&number);
    let mut reply = reply.ok_or(NoResult::Stopped)?;
    match reply.get("error").and_then(Json::as_str) {
        Some(text) => Err(NoResult::Failed(text.replace(['\r', '\n'], " "))),
        None => Ok(reply.get_mut("value").map(Json::take).unwrap_or_default()),
    }
}

/// Hands in the result of a function of the host.
pub(crate) fn reply(number: u32, reply: Json) {
    let sender = REPLIES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&number);
    if let Some(sender) = sender {
        drop(sender.send(reply));
    }
}

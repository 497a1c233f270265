//! Tests of the handle for Tokio: nothing blocks the runtime, cancelled calls, shared syncs, and drops inside a runtime.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use super::*;
use crate::engine::{Options, VerifyDepth, Writer};
use crate::object::{Id, Kind, NewObject};
use crate::testing::sim_disk::SimDisk;

fn note(id: &str) -> NewObject {
    NewObject::new(Id::new(id).unwrap(), Kind::new("note").unwrap())
}

fn put(memory: &Memory, id: &str) -> Result<()> {
    memory.put(note(id), &Writer::user()).map(drop)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Polls `future` once.
fn poll_once(future: impl Future) {
    let mut future = pin!(future);
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
}

#[test]
fn other_tasks_run_while_a_call_blocks() {
    // Tests ASY-1: the runtime has one thread, so a blocked thread would end in a deadlock.
    runtime().block_on(async {
        let memory = Async::open(Memory::in_memory).await.unwrap();
        let (send, receive) = mpsc::channel();
        let waiting = memory.call(move |memory| {
            receive.recv().unwrap();
            put(memory, "a")
        });
        let (waited, ()) = tokio::join!(waiting, async move { send.send(()).unwrap() });
        waited.unwrap();
        assert_eq!(memory.call(|memory| Ok(memory.view().len())).await.unwrap(), 1);
        memory.close().await.unwrap();
    });
}

#[test]
fn a_started_call_ends_and_a_call_that_waits_never_starts() {
    // Tests ASY-2.
    let plain = Memory::in_memory().unwrap();
    let memory = Async::with_calls(plain.clone(), NonZeroUsize::MIN);
    runtime().block_on(async {
        let (send, receive) = mpsc::channel();
        poll_once(memory.call(move |memory| {
            receive.recv().unwrap();
            put(memory, "started")
        }));
        // The only turn is taken, so this call waits for it until its future is dropped.
        poll_once(memory.call(|memory| put(memory, "waiting")));
        drop(memory.call(|memory| put(memory, "never polled")));
        send.send(()).unwrap();
        // The next call gets the turn after the first call.
        assert_eq!(memory.call(|memory| Ok(memory.view().len())).await.unwrap(), 1);
    });
    assert!(plain.view().contains(&Id::new("started").unwrap()).unwrap());
    assert_eq!(plain.view().len(), 1);
}

#[test]
fn calls_at_the_same_time_share_syncs() {
    const CALLS: usize = 32;
    let disk = SimDisk::new(3);
    let memory = Memory::on_disk(Arc::new(disk.clone()), Options::new(), true, None).unwrap();
    put(&memory, "first").unwrap();
    let before = disk.calls();
    put(&memory, "alone").unwrap();
    let calls_alone = disk.calls() - before;

    // The first commit waits in its first call of the disk until the other calls have entered the queue.
    let entered = Arc::new(AtomicUsize::new(0));
    let waited = Arc::clone(&entered);
    disk.observe(Arc::new(move |_| {
        while waited.load(Ordering::SeqCst) < CALLS {
            thread::yield_now();
        }
        if waited.fetch_add(1, Ordering::SeqCst) == CALLS {
            thread::sleep(Duration::from_millis(200));
        }
    }));
    let before = disk.calls();
    runtime().block_on(async {
        let memory = Async::new(memory.clone());
        let tasks: Vec<_> = (0..CALLS)
            .map(|number| {
                let (memory, entered) = (memory.clone(), Arc::clone(&entered));
                tokio::spawn(async move {
                    let call = memory.call(move |memory| {
                        entered.fetch_add(1, Ordering::SeqCst);
                        put(memory, &number.to_string())
                    });
                    call.await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    disk.observe_no_more();
    let shared = disk.calls() - before;
    assert!(
        shared * 4 < calls_alone * CALLS as u64,
        "{shared} calls, {calls_alone} for one commit"
    );
    assert_eq!(memory.view().len(), CALLS as u64 + 2);
    assert!(memory.verify(VerifyDepth::Full).unwrap().ok);
}

/// A handle whose drop reports its thread.
struct Probe(mpsc::Sender<thread::ThreadId>);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.send(thread::current().id()).unwrap();
    }
}

#[test]
fn a_handle_is_dropped_off_the_runtime() {
    // Tests ASY-1.
    let (send, receive) = mpsc::channel();
    let (ready, wait) = mpsc::channel();
    let other = send.clone();
    runtime().block_on(async {
        drop(Async::new(Probe(send)));
        // Nobody waits for the handle that this call opens.
        poll_once(Async::open(move || {
            wait.recv().unwrap();
            Ok(Probe(other))
        }));
        ready.send(()).unwrap();
    });
    // The end of the runtime waits for both drops.
    for _ in 0..2 {
        assert_ne!(receive.try_recv().unwrap(), thread::current().id());
    }
}

#[test]
fn a_memory_that_is_dropped_in_a_runtime_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    runtime().block_on(async {
        let path = store.clone();
        let memory = Async::open(move || Memory::create(path)).await.unwrap();
        memory.call(|memory| put(memory, "a")).await.unwrap();
    });
    let memory = Options::new().exclusive(true).open(&store).unwrap();
    assert_eq!(memory.view().len(), 1);
}

#[test]
fn without_a_runtime_a_call_is_an_error_and_a_drop_is_not() {
    let memory = Async::new(Memory::in_memory().unwrap());
    {
        let mut call = pin!(memory.call(|memory| put(memory, "a")));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(error)) = polled else {
            panic!("the call runs without a runtime");
        };
        assert_eq!(error.code(), "no_runtime");
    }
    // Tokio drops the work of a runtime that was shut down.
    let ended = runtime();
    let handle = ended.handle().clone();
    ended.shutdown_background();
    let error = handle
        .block_on(memory.call(|memory| put(memory, "a")))
        .unwrap_err();
    assert_eq!(error.code(), "no_runtime");
    let _entered = handle.enter();
    drop(memory);
}

#[test]
#[should_panic(expected = "work has panicked")]
fn a_panic_of_the_work_reaches_the_caller() {
    runtime().block_on(async {
        let memory = Async::new(Memory::in_memory().unwrap());
        let call = memory.call(|_| -> Result<()> { panic!("work has panicked") });
        drop(call.await);
    });
}

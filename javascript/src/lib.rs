//! The native module of the npm package `treering`.
//!
//! The library does the work. JavaScript calls every verb through [`call`], with an input of JSON, and gets a promise of an
//! answer of JSON. Threads of the module run the calls, so the event loop never waits. `verbs.rs` is the table of the verbs.

mod answer;
mod draft;
mod fault;
mod forks;
mod guard;
mod handle;
mod host;
mod input;
mod items;
mod memory;
mod open;
mod pool;
mod program;
mod remotes;
mod sessions;
#[path = "../../python/src/shapes.rs"]
mod shapes;
mod store;
mod verbs;
mod view;

use napi::bindgen_prelude::{Function, Object};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::host::Running;

/// Begins an environment. `receive` gets the requests of the library. Returns the number of the environment.
///
/// # Errors
/// An error of Node if it cannot call the function.
#[napi]
pub fn begin(env: Env, receive: Function<'_, String, ()>) -> Result<u32> {
    let receive = receive
        .build_threadsafe_function::<String>()
        .weak::<true>()
        .callee_handled::<false>()
        .build()?;
    let number = host::begin(receive).number;
    env.add_env_cleanup_hook(number, end)?;
    Ok(number)
}

/// Ends an environment. A second call does nothing. Node runs no cleanup hook of the main thread after `process.exit`, so
/// JavaScript calls this function, too.
#[napi]
pub fn end(host: u32) {
    host::end(host);
    // INVARIANT ENV-1: the calls have ended, so nobody uses the handles.
    drop(handle::release_all(host));
}

/// Calls a verb on a thread of the module. The handle 0 is for verbs that need none. Only a call with another number than 0
/// can be cancelled.
///
/// # Errors
/// An error if the environment has ended.
#[napi]
pub fn call(
    env: &Env,
    host: u32,
    handle: u32,
    class: String,
    name: String,
    input: String,
    call: u32,
) -> Result<Object<'_>> {
    let ended = || Error::new(Status::Closing, "the environment has ended");
    let host = host::host(host).ok_or_else(ended)?;
    let running = Running::announce(&host, call);
    // The handle may be released while the call waits for a thread.
    let thing = handle::get(handle).ok();
    let (deferred, promise) = env.create_deferred::<String, Box<dyn FnOnce(Env) -> Result<String>>>()?;
    pool::run(Box::new(move || {
        let answer = match running.is_stopped() {
            true => verbs::stopped(),
            false => running.run(|| verbs::call(&class, &name, thing, &input, verbs::Host(&host))),
        };
        deferred.resolve(Box::new(move |_| Ok(answer)));
    }));
    Ok(promise)
}

/// Asks a call to stop. It ends with an error if it waits for the lock or reads for long.
#[napi]
pub fn cancel(host: u32, call: u32) {
    if let Some(host) = host::host(host) {
        host::cancel(&host, call);
    }
}

/// Hands in the result of a function that the library called, as JSON with `value` or `error`.
#[napi]
pub fn reply(number: u32, result: String) {
    host::reply(number, serde_json::from_str(&result).unwrap_or_default());
}

/// Forgets a handle that JavaScript does not use any more.
#[napi]
pub fn release(handle: u32) {
    if let Some(thing) = handle::release(handle) {
        // The last holder of a store writes to the disk.
        pool::run(Box::new(move || drop(thing)));
    }
}

/// Returns whether a handle is open.
#[napi]
pub fn is_open(handle: u32) -> bool {
    handle::is_open(handle)
}

/// Returns the schemas of the verbs, from which `generate.mjs` writes the types and methods.
#[napi]
pub fn schemas() -> String {
    verbs::schemas()
}

/// Returns the version of the package.
#[napi]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

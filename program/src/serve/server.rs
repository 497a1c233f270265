//! The agent of a server, which all of its clients share, with the caller and the operations that each gets.
//!
//! # Layer
//! Layer 9, part of serve. Knows no protocol.
//!
//! # Invariants
//! - SRV-4: an operation never blocks the runtime, and its panic is an error of that call alone.
//! - SRV-5: an operation uses the store of the folder that its path names when it begins. If another folder was put there,
//!   its store is opened first. Files that change inside the folder are not noticed.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
#[cfg(feature = "http")]
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Map, Value as Json};

use super::Client;
#[cfg(feature = "http")]
use super::counts::Counts;
use super::operations::{self, Profile, Sent};
use super::service::{Caller, Service};
use treering::Async;
use treering::agent::{Agent, Embedding};
use treering::inspect::engine::{LiveFork, MAIN_LINE};
use treering::{Error, ErrorCode, Result, Time};

/// The number of operations that run at the same time.
pub(crate) const CALLS_MAX: u32 = 32;
const CALLS: NonZeroUsize = NonZeroUsize::new(CALLS_MAX as usize).expect("32 is not zero");

/// Opens the store again.
pub(crate) type Reopen = Box<dyn Fn() -> Result<Agent> + Send + Sync>;

/// An agent, with the thread that computes the vectors of its new texts. Field order: the thread ends first.
struct Serving {
    embedding: Embedding,
    agent: Agent,
}

impl Serving {
    fn of(agent: Agent) -> Self {
        Self {
            embedding: agent.embed_in_background(),
            agent,
        }
    }
}

/// The agent over the present store, and how to open the one that replaces it.
struct Current {
    /// `None` after the server was closed.
    serving: Mutex<Option<Serving>>,
    reopen: Reopen,
    /// The agents over the forks of clients, by name.
    forks: Mutex<BTreeMap<String, Serving>>,
    /// When the fork of each client was made.
    bound: Mutex<BTreeMap<ClientKey, Time>>,
}

/// The name of a client, and the time at which its token was made.
type ClientKey = (String, String);

impl Current {
    /// Returns the agent over the line of a client: that of the server, or a fork.
    ///
    /// # Errors
    /// `NotFound` (code `no_fork`) if there is no such fork, or another one than at the first call; the errors of
    /// [`Self::agent`].
    fn agent_of(&self, caller: &Caller) -> Result<Agent> {
        let agent = self.agent()?;
        let Some((client, name)) = caller
            .client
            .as_ref()
            .and_then(|of| Some((of, of.fork.as_ref()?)))
        else {
            return Ok(agent);
        };
        let memory = agent.memory().open_fork(name)?;
        // Read after the fork was opened: a handle of a fork that was dropped meanwhile refuses each call.
        let live = memory.live_forks();
        if name != MAIN_LINE {
            self.check_bound(client, name, &live)?;
        }
        let mut forks = self.forks.lock();
        if let Some(known) = forks.get(name).filter(|one| one.agent.memory().is_same(&memory)) {
            return Ok(known.agent.clone());
        }
        let agent = agent.on(memory)?;
        let replaced = forks.insert(name.clone(), Serving::of(agent.clone()));
        let is_live = |name: &str| live.iter().any(|fork| fork.name == name);
        let (kept, ended) = std::mem::take(&mut *forks)
            .into_iter()
            .partition(|(known, _)| known == name || is_live(known));
        *forks = kept;
        drop(forks);
        // Their threads end outside of the lock.
        let ended: BTreeMap<String, Serving> = ended;
        drop((replaced, ended));
        Ok(agent)
    }

    /// Checks that the fork of a client is that of its first call. A token opens no other fork that gets the name later.
    fn check_bound(&self, client: &Client, name: &str, live: &[LiveFork]) -> Result<()> {
        let dropped = |hint: &str| {
            Error::not_found(format!("the fork '{name}' was dropped"))
                .with_code(ErrorCode::NoFork)
                .with_hint(hint)
        };
        let fork = live.iter().find(|fork| fork.name == name);
        let fork = fork.ok_or_else(|| dropped("ask whoever runs the server for another token"))?;
        let key = (client.name.clone(), client.made.clone());
        if *self.bound.lock().entry(key).or_insert(fork.created) == fork.created {
            return Ok(());
        }
        Err(dropped(
            "another fork has its name now, for which the client needs a new token",
        ))
    }

    /// Returns the agent over the store in the folder (SRV-5).
    ///
    /// # Errors
    /// The errors of opening the store that replaced the one before.
    fn agent(&self) -> Result<Agent> {
        let mut serving = self.serving.lock();
        let closed = || Error::internal("the server has closed its store");
        let agent = &serving.as_ref().ok_or_else(closed)?.agent;
        if agent.memory().is_in_place() {
            return Ok(agent.clone());
        }
        let agent = (self.reopen)()?;
        let old = serving.replace(Serving::of(agent.clone()));
        drop(serving);
        // They keep the old store open, whose forks are others.
        let forks = std::mem::take(&mut *self.forks.lock());
        drop((old, forks));
        Ok(agent)
    }
}

/// What the clients of a server share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server {
    agent: Async<Arc<Current>>,
    current: Arc<Current>,
    caller: Arc<Caller>,
    profile: Profile,
    #[cfg(feature = "http")]
    counts: Arc<Counts>,
}

impl Server {
    /// Returns a server. A missing actor of `caller`, and a session that nobody named, are named after each client.
    pub(crate) fn new(agent: Agent, reopen: Reopen, caller: Caller, profile: Profile) -> Self {
        let current = Arc::new(Current {
            serving: Mutex::new(Some(Serving::of(agent))),
            reopen,
            forks: Mutex::default(),
            bound: Mutex::default(),
        });
        Self {
            agent: Async::with_calls(Arc::clone(&current), CALLS),
            current,
            caller: Arc::new(caller),
            profile,
            #[cfg(feature = "http")]
            counts: Arc::default(),
        }
    }

    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    #[cfg(feature = "http")]
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Ends the work on vectors, and saves the indexes for the next process. No call succeeds from now on.
    pub(crate) fn close(&self) {
        let serving = self.current.serving.lock().take();
        let forks = std::mem::take(&mut *self.current.forks.lock());
        for Serving { embedding, agent } in serving.into_iter().chain(forks.into_values()) {
            drop(embedding);
            // The indexes are derived, so a failed save only makes the next run slower.
            drop(agent.keep_indexes());
        }
    }

    /// Waits until fewer than [`CALLS_MAX`] operations run.
    pub(crate) async fn ready(&self) {
        self.agent.ready(1).await;
    }

    /// Waits until no operation runs.
    #[cfg(feature = "http")]
    pub(crate) async fn idle(&self) {
        self.agent.ready(CALLS_MAX).await;
    }

    /// Does `work` for a client off the runtime (SRV-4).
    ///
    /// # Errors
    /// The errors of `work`; `Internal` if it panics; those of opening a store that replaced the one before (SRV-5).
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: Caller,
        work: impl FnOnce(&Service) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let call = move |current: &Arc<Current>| {
            let service = Service::new(current.agent_of(&caller)?, caller);
            // The locks are never poisoned, and a change is committed whole or not at all.
            catch_unwind(AssertUnwindSafe(|| work(&service)))
                .unwrap_or_else(|_| Err(Error::internal("an operation failed")))
        };
        self.agent.call(call).await
    }

    /// Calls the operation `name` of the profile, and counts the call.
    ///
    /// # Errors
    /// The errors of [`operations::find`] and of the operation.
    pub(crate) async fn call(
        &self,
        caller: Caller,
        name: &str,
        arguments: Map<String, Json>,
    ) -> Result<Sent> {
        let operation = operations::find(self.profile, name)?;
        let run = move |service: &Service| (operation.run)(service, arguments);
        self.count(caller, operation.name, run).await
    }

    /// Does `work` off the runtime, and counts it as a call of `name`, for the metrics of HTTP.
    ///
    /// # Errors
    /// The errors of [`Self::run`].
    #[cfg_attr(
        not(feature = "http"),
        expect(unused_variables, reason = "only the metrics of HTTP name the call")
    )]
    pub(crate) async fn count<T: Send + 'static>(
        &self,
        caller: Caller,
        name: &'static str,
        work: impl FnOnce(&Service) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        #[cfg(feature = "http")]
        let (begun, client) = (Instant::now(), caller.client.clone());
        let done = self.run(caller, work).await;
        #[cfg(feature = "http")]
        {
            let code = done.as_ref().err().map_or("ok", |error| error.code().as_str());
            let client = client.as_ref().map(|client| client.name.as_str());
            self.counts.add(name, code, client, begun.elapsed());
        }
        done
    }
}

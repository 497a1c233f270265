//! The MCP sessions of the older revisions: their number, and which of them ends for a new one.
//!
//! # Layer
//! Layer 9, part of serve. Uses rmcp.
//!
//! # Invariants
//! - MPS-1: at most [`SESSIONS_MAX`] sessions are open. A new one ends the one whose last request was answered first, and
//!   none whose request still runs.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// How long an MCP session of the older revisions may be idle.
const SESSION_IDLE_MAX: Duration = Duration::from_hours(1);
/// The number of MCP sessions of the older revisions at the same time. Each takes memory until it ends.
const SESSIONS_MAX: usize = 256;

/// The number of sessions whose use is known. A client may name sessions that there are not.
const USES_MAX: usize = 4 * SESSIONS_MAX;

/// The id of a session, as rmcp has it.
type SessionId = Arc<str>;

/// The sessions, with the order of their use.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    uses: Mutex<Uses>,
    /// Held from the search for room until the new session is counted.
    starting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Uses {
    /// Counts the uses, as a clock.
    count: u64,
    of: HashMap<SessionId, Use>,
}

#[derive(Clone, Copy, Default)]
struct Use {
    last: u64,
    /// The number of requests that are not answered yet.
    running: u32,
}

impl Uses {
    fn of(&self, id: &SessionId) -> Use {
        self.of.get(id).copied().unwrap_or_default()
    }
}

/// A request of a session, which is not idle until this is dropped.
pub(super) struct Usage {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Default for Sessions {
    fn default() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(SESSION_IDLE_MAX);
        Self {
            manager: Arc::new(manager),
            uses: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        }
    }
}

impl Sessions {
    /// Returns what holds the sessions for rmcp.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Begins a request of a session.
    pub(super) fn begin(sessions: &Arc<Self>, id: SessionId) -> Usage {
        sessions.change(&id, |one| one.running += 1);
        Usage {
            sessions: Arc::clone(sessions),
            id,
        }
    }

    fn change(&self, id: &SessionId, change: impl FnOnce(&mut Use)) {
        let mut uses = self.uses.lock();
        uses.count += 1;
        if uses.of.len() > USES_MAX {
            uses.of.retain(|_, one| one.running > 0);
        }
        let last = uses.count;
        let one = uses.of.entry(Arc::clone(id)).or_default();
        one.last = last;
        change(one);
    }

    /// Waits until no other session starts (MPS-1).
    pub(super) async fn start(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.starting.lock().await
    }

    /// Ends an idle session if no further one may begin (MPS-1). Returns false if all are at work.
    pub(super) async fn make_room(&self) -> bool {
        let open: Vec<SessionId> = self.manager.sessions.read().await.keys().cloned().collect();
        if open.len() < SESSIONS_MAX {
            return true;
        }
        let oldest = {
            let mut uses = self.uses.lock();
            // Other sessions have ended by themselves, or never were.
            uses.of.retain(|id, one| one.running > 0 || open.contains(id));
            let idle = open.iter().filter(|id| uses.of(id).running == 0);
            idle.min_by_key(|id| uses.of(id).last).cloned()
        };
        let Some(oldest) = oldest else { return false };
        // A session that has ended meanwhile makes room, too.
        drop(self.manager.close_session(&oldest).await);
        true
    }
}

impl Usage {
    /// Returns the response, with which the request ends once it is sent.
    pub(super) fn until_sent(self, response: Response) -> Response {
        response.map(|body| Body::new(Using { body, _usage: self }))
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        self.sessions
            .change(&self.id, |one| one.running = one.running.saturating_sub(1));
    }
}

/// The body of an answer, until which its session is at work.
struct Using {
    body: Body,
    _usage: Usage,
}

impl HttpBody for Using {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT MPS-1: a new session ends the one whose last request was answered first, and none whose request still runs.
    #[tokio::test]
    async fn the_session_that_is_idle_for_the_longest_time_ends() {
        let sessions = Arc::new(Sessions::default());
        let mut ids = Vec::new();
        for _ in 0..SESSIONS_MAX {
            assert!(sessions.make_room().await);
            // The other half belongs to the service of the session.
            let (id, service) = sessions.manager.create_session().await.unwrap();
            drop(Sessions::begin(&sessions, Arc::clone(&id)));
            ids.push((id, service));
        }
        let is_open = async |place: usize| sessions.manager.has_session(&ids[place].0).await.unwrap();
        // The first one is used again, and the second one is at work.
        drop(Sessions::begin(&sessions, Arc::clone(&ids[0].0)));
        let works = Sessions::begin(&sessions, Arc::clone(&ids[1].0));
        assert!(sessions.make_room().await);
        assert!(is_open(0).await && is_open(1).await && !is_open(2).await && is_open(3).await);
        assert!(sessions.make_room().await, "there is room");
        assert!(is_open(3).await);
        drop(works);
    }
}

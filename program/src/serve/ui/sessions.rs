//! The sessions: who wrote what, how much of it is untrusted or flagged, and what of it is alive.
//!
//! # Layer
//! Layer 9, part of serve.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::Rows;
use super::objects::lane_number;
use super::reader::Reader;
use treering::Result;
use treering::inspect::engine::{LaneWork, Ledger};
use treering::{Origin, Time};

named! {
    /// An order of the sessions.
    #[derive(Default, Deserialize)]
    pub(crate) enum Order {
        /// Those that a person should look at first: what they replaced of others, what is flagged, what is untrusted.
        #[default]
        Signs => "signs",
        /// The newest commit first.
        Recent => "recent",
        /// The most changes first.
        Changes => "changes",
        /// The most objects that are alive first.
        Alive => "alive",
    }
}

/// The sessions that a request asks for.
#[derive(Deserialize)]
pub(crate) struct SessionsAsked {
    #[serde(default)]
    order: Order,
    /// Only this lane.
    lane: Option<String>,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of sessions.
#[derive(Serialize)]
pub(crate) struct SessionsPage {
    total: usize,
    start: usize,
    rows: Vec<SessionRow>,
}

/// A lane: a session, else an actor, else the default lane.
#[derive(Serialize)]
pub(crate) struct SessionRow {
    lane: String,
    lane_number: u32,
    /// The session; `None` for commits without one.
    session: Option<String>,
    actors: Vec<String>,
    commits: usize,
    first: Time,
    last: Time,
    /// The least trusted class of the writers.
    trust: Origin,
    /// Whether untrusted text entered the session.
    tainted: bool,
    /// The changes of objects.
    changes: usize,
    written: u64,
    written_untrusted: u64,
    written_flagged: u64,
    /// The versions of others that the session replaced or removed.
    replaced_others: u64,
    alive: u64,
    alive_untrusted: u64,
    alive_flagged: u64,
    /// The parts of documents among `alive_untrusted`.
    alive_documents: u64,
}

/// Returns a page of sessions.
///
/// # Errors
/// `NotFound` if the lane is unknown; the errors of [`Reader::ledger`].
pub(crate) fn sessions(reader: &Reader, asked: &SessionsAsked) -> Result<SessionsPage> {
    let ledger = reader.ledger()?;
    let mut lanes: Vec<u32> = match &asked.lane {
        Some(lane) => vec![lane_number(reader, &ledger, lane)?],
        None => (0..ledger.lanes().len() as u32).collect(),
    };
    let lane = |number: u32| &ledger.lanes()[number as usize];
    match asked.order {
        Order::Signs => lanes.sort_by_key(|number| Reverse((weight(lane(*number)), lane(*number).last))),
        Order::Recent => lanes.sort_by_key(|number| Reverse(lane(*number).last)),
        Order::Changes => lanes.sort_by_key(|number| Reverse(lane(*number).changes.len())),
        Order::Alive => lanes.sort_by_key(|number| Reverse(lane(*number).alive)),
    }
    let rows = Rows {
        start: asked.start,
        count: asked.count,
    };
    let places = rows.of(lanes.len());
    let start = places.start;
    let rows = lanes[places].iter().map(|number| row(reader, &ledger, *number));
    Ok(SessionsPage {
        total: lanes.len(),
        start,
        rows: rows.collect::<Result<_>>()?,
    })
}

/// Returns the rank of a lane for a person who looks for a bad turn. Only living objects count: the others are taken back
/// already.
fn weight(lane: &LaneWork) -> u64 {
    let is_alive = u64::from(lane.alive > 0);
    // A folder of thousands of documents is as conspicuous as one untrusted text, and as one flagged text.
    let apart = |all: u64, documents: u64| all - documents + documents.min(1);
    4 * apart(lane.alive_flagged, lane.flagged_documents)
        + 2 * lane.replaced_others.min(lane.alive)
        + apart(lane.alive_untrusted, lane.alive_documents)
        + is_alive
}

fn row(reader: &Reader, ledger: &Ledger, number: u32) -> Result<SessionRow> {
    let lane = &ledger.lanes()[number as usize];
    let session = lane.session.as_deref();
    let is_tainted = session.map_or(Ok(false), |session| reader.memory().view().is_tainted(session))?;
    Ok(SessionRow {
        lane: lane.name.clone(),
        lane_number: number,
        session: lane.session.clone(),
        actors: lane.actors.iter().take(super::ROWS_MAX).cloned().collect(),
        commits: lane.commits.len(),
        first: lane.first,
        last: lane.last,
        trust: reader.memory().seen_origin(lane.trust),
        tainted: is_tainted,
        changes: lane.changes.len(),
        written: lane.written,
        written_untrusted: lane.written_untrusted,
        written_flagged: lane.written_flagged,
        replaced_others: lane.replaced_others,
        alive: lane.alive,
        alive_untrusted: lane.alive_untrusted,
        alive_flagged: lane.alive_flagged,
        alive_documents: lane.alive_documents,
    })
}

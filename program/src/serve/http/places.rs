//! The places of connections: how many there are, and which connection leaves for a new one.
//!
//! Whoever can connect can open a socket and send nothing. Such a socket takes the place of a client, so a connection is a
//! guest until a request with a token arrives on it. A full server sends away the guest that waits longest, of the machine
//! that has most guests. Each guest has a short time first, in which a client sends its request.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - PLC-1: at most [`PLACES`] connections have a place. While there is a guest, a new connection waits for a place at most
//!   [`GUEST_TIME`] after the connections before it have theirs.
//! - PLC-2: no connection loses its place after a request with a token, nor in the first [`GUEST_TIME`].

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep_until;

/// The number of connections at the same time. More wait until one ends.
pub(super) const PLACES: usize = 512;
/// How long a guest keeps its place while others wait.
const GUEST_TIME: Duration = Duration::from_millis(250);

/// The places of a server.
#[derive(Default)]
pub(super) struct Places {
    taken: Mutex<Taken>,
    /// Tells that a place is free.
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    /// The number of connections with a place.
    count: usize,
    newest: u64,
    /// The guests, oldest first.
    guests: BTreeMap<u64, Guest>,
}

struct Guest {
    peer: IpAddr,
    since: Instant,
    leave: Arc<Notify>,
}

/// The place of a connection, which it has until this is dropped or until it must leave.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    leave: Arc<Notify>,
    is_kept: AtomicBool,
}

impl Places {
    /// Waits for a place for a connection of `peer`.
    pub(super) async fn take(places: &Arc<Self>, peer: IpAddr) -> Arc<Place> {
        loop {
            let freed = places.freed.notified();
            let entered = places.taken.lock().enter(peer, Instant::now());
            match entered {
                Ok((number, leave)) => {
                    return Arc::new(Place {
                        places: Arc::clone(places),
                        number,
                        leave,
                        is_kept: AtomicBool::new(false),
                    });
                }
                Err(Some(next)) => tokio::select! {
                    () = freed => {}
                    () = sleep_until(next.into()) => {}
                },
                Err(None) => freed.await,
            }
        }
    }
}

impl Taken {
    /// Gives a place to a guest, if necessary that of another guest (PLC-1). If no guest may leave yet, returns when the
    /// next one may.
    fn enter(&mut self, peer: IpAddr, now: Instant) -> Result<(u64, Arc<Notify>), Option<Instant>> {
        if self.count >= PLACES {
            let leaves = self.leaves(now);
            let oldest = || self.guests.values().next().map(|guest| guest.since + GUEST_TIME);
            let guest = self.guests.remove(&leaves.ok_or_else(oldest)?);
            guest.ok_or(None)?.leave.notify_one();
            self.count -= 1;
        }
        self.count += 1;
        self.newest += 1;
        let leave = Arc::new(Notify::new());
        let guest = Guest {
            peer,
            since: now,
            leave: Arc::clone(&leave),
        };
        self.guests.insert(self.newest, guest);
        Ok((self.newest, leave))
    }

    /// Returns the oldest guest of the machine with most guests, among those that have had their time (PLC-2).
    fn leaves(&self, now: Instant) -> Option<u64> {
        let mut of_peers: HashMap<IpAddr, usize> = HashMap::new();
        for guest in self.guests.values() {
            *of_peers.entry(guest.peer).or_default() += 1;
        }
        let waiting = self
            .guests
            .iter()
            .filter(|(_, guest)| guest.since + GUEST_TIME <= now);
        // Of equal ones the last is chosen, so the oldest comes last.
        let leaves = waiting.rev().max_by_key(|(_, guest)| of_peers.get(&guest.peer));
        leaves.map(|(number, _)| *number)
    }

    /// Frees the place of a connection that ended. Returns false if the place belongs to another connection already.
    fn free(&mut self, number: u64, is_kept: bool) -> bool {
        let has_place = is_kept || self.guests.remove(&number).is_some();
        self.count -= usize::from(has_place);
        has_place
    }
}

impl Place {
    /// Keeps the place, because a request with a token arrived (PLC-2). Returns false if the guest must leave at this
    /// moment and has no place to keep.
    pub(super) fn keep(&self) -> bool {
        if self.places.taken.lock().guests.remove(&self.number).is_some() {
            self.is_kept.store(true, Ordering::Release);
        }
        self.is_kept.load(Ordering::Acquire)
    }

    /// Waits until the connection must leave.
    pub(super) async fn left(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_kept = self.is_kept.load(Ordering::Acquire);
        if self.places.taken.lock().free(self.number, is_kept) {
            self.places.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    /// Returns places that are full of guests since `now`, each of the machine that `of` names.
    fn full(now: Instant, of: impl Fn(u64) -> u8) -> Taken {
        let mut taken = Taken::default();
        for number in 1..=PLACES as u64 {
            assert_eq!(taken.enter(peer(of(number)), now).unwrap().0, number);
        }
        taken
    }

    /// INVARIANT PLC-1: while there is a guest, a new connection waits for a place at most [`GUEST_TIME`].
    /// INVARIANT PLC-2: no connection loses its place after a request with a token, nor in the first [`GUEST_TIME`].
    #[test]
    fn the_guest_that_waits_longest_leaves() {
        let now = Instant::now();
        let mut taken = full(now, |_| 1);
        assert!(
            taken.guests.remove(&1).is_some(),
            "the first one has sent a token"
        );
        let later = now + GUEST_TIME;
        let early = taken.enter(peer(1), later.checked_sub(Duration::from_millis(1)).unwrap());
        assert_eq!(early.unwrap_err(), Some(later));
        for number in 2..=PLACES as u64 {
            assert!(taken.guests.contains_key(&number));
            assert!(taken.enter(peer(1), later).is_ok());
            assert!(!taken.guests.contains_key(&number) && taken.count == PLACES);
        }
        assert_eq!(taken.enter(peer(1), later).unwrap_err(), Some(later + GUEST_TIME));
    }

    #[test]
    fn the_machine_with_most_guests_gives_a_place() {
        let now = Instant::now();
        let mut taken = full(now, |number| if number < 4 { 1 } else { 2 });
        assert!(taken.enter(peer(3), now + GUEST_TIME).is_ok());
        assert!(taken.guests.contains_key(&1) && !taken.guests.contains_key(&4));
    }

    #[tokio::test]
    async fn a_place_is_freed_once() {
        let places = Arc::default();
        let mut all = Vec::new();
        for _ in 0..PLACES {
            all.push(Places::take(&places, peer(1)).await);
        }
        for place in &all {
            assert!(place.keep());
        }
        let full = places.taken.lock().enter(peer(1), Instant::now() + GUEST_TIME);
        assert_eq!(full.unwrap_err(), None, "nobody is a guest");
        drop(all.pop());
        let guest = Places::take(&places, peer(1)).await;
        let sent = places.taken.lock().enter(peer(1), Instant::now() + GUEST_TIME);
        assert!(sent.is_ok());
        // It left its place to the new one, and must not free it again.
        guest.left().await;
        guest.keep();
        drop(guest);
        assert_eq!(places.taken.lock().count, PLACES);
        drop(all);
        assert_eq!(places.taken.lock().count, 1);
    }
}

//! Push: sends the commits of a store to a remote.
//!
//! # Layer
//! Layer 7, part of `remote`.
//!
//! # Invariants
//! - PUS-1: what a push erased is gone from the remote before the commit of the erasure is there.
//! - PUS-2: in a remote where something was erased, a push deletes the segments that nobody lists, as of a list from before
//!   its swap. So no segment of a store that lost keeps what was erased.
//! - PUS-3: a push notes no batch as read that this store has not read. Batches with only references move no head, so a push
//!   may go on over them; the next fetch reads them.
//! - PUS-4: a push that erases an id first erases here what came from a remote behind the erasure, and was written before it
//!   (EID-1).
//! - PUS-5: a push that lists the place anyhow sends nothing if a listed segment is missing.

use super::cache::{has_read, seen_in};
use super::place::{Outcome, Place, Published, head_of, highest_number};
use super::remote::Remote;
use super::{Pushed, join, rewrite};
use crate::engine::{Memory, Outgoing, PushPlan, PushTarget, Seen, Writer, went_back};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::closed::{
    CLOSED_HEADER_BYTES, CLOSED_SEGMENT_BYTES, ClosedLine, Group, Leaving, Purpose, Source,
};

impl Remote {
    /// Sends the commits of the main line that the remote lacks. If it lacks none, sends the signatures that it lacks.
    ///
    /// # Errors
    /// `Denied` (code `unsigned_remote`) if this store demands signatures of the remote and has no key that signs;
    /// `Conflict` (code `remote_ahead`) if the remote has commits that were not pulled; `Corrupt` (code `remote_went_back`)
    /// if the remote has less than this store has seen; `InvalidInput` if the place is for something else; `Io`. After
    /// `Io`, the push may have succeeded, and the next call finds out.
    ///
    /// # Durability
    /// When the call returns, what was sent is as durable as the bucket promises.
    pub fn push(&self, memory: &Memory, writer: &Writer) -> Result<Pushed> {
        self.push_signed(memory, writer, false)
    }

    /// Pushes as [`Self::push`] does. `is_read` says that the caller has just read the manifest.
    pub(super) fn push_signed(&self, memory: &Memory, writer: &Writer, is_read: bool) -> Result<Pushed> {
        let pushed = self.push_behind(memory, writer, is_read)?;
        #[cfg(feature = "signed")]
        if pushed.bytes == 0 {
            return self.push_signatures(memory, writer, pushed, is_read);
        }
        Ok(pushed)
    }

    /// Sends the signatures that the remote lacks, behind a push that had nothing to send.
    #[cfg(feature = "signed")]
    fn push_signatures(
        &self,
        memory: &Memory,
        writer: &Writer,
        pushed: Pushed,
        is_read: bool,
    ) -> Result<Pushed> {
        let (place, writer) = (self.place(memory), &self.lane_of(writer));
        let seen = memory.inner.seen(self.known())?;
        if !self.signs() || seen.is_some_and(|seen| self.knows_signed(seen.head)) {
            return Ok(pushed);
        }
        let cached = self.cached(memory)?;
        let is_newest = |known: &Published| is_read && has_read(seen, &known.log);
        let published = match cached.clone().filter(is_newest) {
            Some(newest) => newest,
            None => Self::read_on(memory, &place, cached, seen)?,
        };
        let mut outgoing = Outgoing::at(published.log.head);
        if self.is_signed(memory, &place, &published.log, &outgoing)? {
            self.note_signed(outgoing.head);
            let requests = pushed.requests + place.bucket.requests();
            return Ok(Pushed { requests, ..pushed });
        }
        self.sign(memory, &published.log, &mut outgoing, writer)?;
        let sent = self.deliver(memory, &place, published, outgoing, writer)?;
        sent.ok_or_else(|| self.ahead())
    }

    fn push_behind(&self, memory: &Memory, writer: &Writer, is_read: bool) -> Result<Pushed> {
        let (place, writer) = (self.place(memory), &self.lane_of(writer));
        memory.inner.check_main()?;
        memory.sync()?;
        // The note of the push would bring in what an interrupted writer left, and the push would not have sent it.
        memory.recover()?;
        let _open = memory.inner.main().store().hold_lines();
        let seen = memory.inner.seen(self.known())?;
        // The manifest that this store read or wrote last saves the requests for it.
        let cached = self.cached(memory)?;
        let newest = cached.clone().filter(|known| has_read(seen, &known.log));
        if let Some(newest) = newest
            && let Some(pushed) = self.push_on(memory, &place, newest, !is_read, writer)?
        {
            return Ok(pushed);
        }
        let published = if seen.is_some() {
            // INVARIANT REM-1: a place that lost its remote is not begun again.
            Self::read_on(memory, &place, cached, seen)?
        } else {
            let own = memory.inner.log.lock().log.format().to_owned();
            place.read_or_begin(&own, Purpose::Shared, Source::default())?
        };
        self.push_on(memory, &place, published, false, writer)?
            .ok_or_else(|| self.ahead())
    }

    /// Returns what is published, if it continues what this store has seen (REM-1).
    pub(super) fn read_on(
        memory: &Memory,
        place: &Place,
        cached: Option<Published>,
        seen: Option<Seen>,
    ) -> Result<Published> {
        let published = place.read_with(cached.map(|cached| cached.log.format));
        let published = published.map_err(|error| match seen {
            Some(_) if error.kind() == ErrorKind::NotFound => went_back("nothing is there any more")
                .with_hint("is the disk or the share mounted? If the remote is lost, `remote remove` and `remote add --trust-cap CLASS` begin it again"),
            _ => error,
        })?;
        place.check_purpose(&published.log, Purpose::Shared)?;
        Self::check_seen(memory, &published.log, seen)?;
        Ok(published)
    }

    /// Pushes on a manifest. Returns `None` if the remote has another one by now. A manifest that `is_cached` does not show
    /// that the remote still has everything, so then the caller reads the manifest.
    fn push_on(
        &self,
        memory: &Memory,
        place: &Place,
        published: Published,
        is_cached: bool,
        writer: &Writer,
    ) -> Result<Option<Pushed>> {
        let target = PushTarget {
            head: (published.log.last_batch() > 0).then_some(published.log.head),
            lines: &published.log.lines,
        };
        let mut is_erased = false;
        let outgoing = loop {
            let outgoing = match memory.inner.plan_push(self.known(), &target, writer)? {
                PushPlan::Behind => return Err(self.ahead()),
                PushPlan::Nothing if is_cached => return Ok(None),
                PushPlan::Nothing => return Ok(Some(self.pushed(place, 0))),
                PushPlan::Send(outgoing) => outgoing,
            };
            // INVARIANT PUS-4
            if is_erased || !memory.inner.erase_ids_here(&outgoing.erased_ids, writer)? {
                break outgoing;
            }
            is_erased = true;
        };
        #[cfg(feature = "signed")]
        let outgoing = {
            if outgoing.commits > 0 {
                // INVARIANT RSG-3
                self.check_signs()?;
            }
            let mut outgoing = outgoing;
            self.sign(memory, &published.log, &mut outgoing, writer)?;
            outgoing
        };
        self.deliver(memory, place, published, *outgoing, writer)
    }

    /// Sends a push and notes it. Returns `None` if another writer published first.
    fn deliver(
        &self,
        memory: &Memory,
        place: &Place,
        published: Published,
        outgoing: Outgoing,
        writer: &Writer,
    ) -> Result<Option<Pushed>> {
        let (commits, is_signed) = (outgoing.commits, outgoing.is_signed);
        let (format, version) = (published.log.format, published.version.clone());
        // INVARIANT PUS-3
        let known = memory.inner.seen(self.known())?;
        let read = known.map_or(0, |seen| seen.batch);
        let is_unread = published.log.last_batch() > read;
        let was_signed = known.is_some_and(|seen| seen.is_signed);
        let sent = Self::erase_and_send(place, published, &outgoing);
        let Some(published) = place.unless_outdated((format, version.as_ref()), sent)? else {
            return Ok(None);
        };
        let mut seen = seen_in(&published.log);
        // A push without a commit leaves the newest one, and so its signature.
        seen.is_signed = is_signed || was_signed && commits == 0;
        if is_unread {
            (seen.generation, seen.batch) = (seen.generation - 1, read);
        }
        let noted = memory.inner.note_push(self.known(), outgoing, seen, writer);
        noted.map_err(|error| error.behind_change("the next `fetch` notes the push in this store"))?;
        self.cache(memory, &published);
        let mut pushed = self.pushed(place, commits);
        pushed.unsigned = was_signed && !seen.is_signed;
        Ok(Some(pushed))
    }

    fn pushed(&self, place: &Place, commits: u64) -> Pushed {
        Pushed {
            remote: self.name.clone(),
            commits,
            bytes: place.bucket.sent(),
            requests: place.bucket.requests(),
            unsigned: false,
        }
    }

    fn ahead(&self) -> Error {
        let name = &self.name;
        Error::conflict(format!("the remote {name} has commits that were not pulled"))
            .with_code(ErrorCode::RemoteAhead)
            .with_hint("`treering pull` brings them in; then push again")
    }

    /// Erases what the push erased, and then sends it. Returns `None` if another writer published first.
    fn erase_and_send(place: &Place, published: Published, outgoing: &Outgoing) -> Result<Option<Published>> {
        // INVARIANT PUS-1
        let erased = if outgoing.erases() {
            let erasure = rewrite::erased_in(place, &published.log, &outgoing.erasure, &outgoing.erased_ids)?;
            rewrite::erase(place, published, &erasure)?
        } else {
            Some(published)
        };
        erased.map_or(Ok(None), |published| Self::send(place, published, outgoing))
    }

    /// Stores the batches of a push in segments, and publishes each segment. The commit that moves the main line of the
    /// remote to a merge is in the last batch, so no reader sees half of a push there. Returns `None` if another writer
    /// published first.
    fn send(place: &Place, mut published: Published, outgoing: &Outgoing) -> Result<Option<Published>> {
        let mut left = outgoing.batches.iter().cloned().peekable();
        // INVARIANT PUS-2
        published.log.has_erased |= outgoing.erases();
        let listed = if published.log.has_erased {
            let listed = place.segment_names()?;
            // INVARIANT PUS-5
            place.check_listed(&listed, &published.log)?;
            listed
        } else {
            Vec::new()
        };
        // INVARIANT RPL-2: the new numbers are above those of all files that are deleted.
        let floor = highest_number(&listed);
        let before = published.log.clone();
        let own: u64 = outgoing
            .batches
            .iter()
            .map(|sent| sent.batch.encoded_bytes())
            .sum();
        let mut log = join::with_join(place, &before, floor, CLOSED_HEADER_BYTES + own)?;
        while left.peek().is_some() {
            let (mut group, mut bytes, mut side) = (Group::new(), 0, None);
            while let Some(sent) = left.next_if(|sent| {
                group.is_empty() || bytes + sent.batch.encoded_bytes() <= CLOSED_SEGMENT_BYTES
            }) {
                bytes += sent.batch.encoded_bytes();
                side = sent.side.or(side);
                group.push((sent.batch, sent.head));
            }
            let head = head_of(&group).unwrap_or(log.head);
            let segment = place.put(&log, floor, log.last_batch() + 1, group)?;
            let mut next = log.with(&segment, head);
            if let Some((line, head)) = outgoing.line.as_ref().zip(side) {
                next.lines.retain(|known| known.name != line.name);
                next.lines.push(ClosedLine { head, ..line.clone() });
            }
            // INVARIANT RRW-2: nothing is deleted before the swap.
            match place.publish(&published, next)? {
                Outcome::Done(done) => published = done,
                Outcome::Lost => return Ok(None),
            }
            log = published.log.clone();
        }
        // The list also has the segments that earlier joins replaced.
        let gone = if log.has_erased {
            listed
        } else {
            before.leaving.iter().map(Leaving::name).collect()
        };
        place.collect(&gone, &log)?;
        Ok(Some(published))
    }
}

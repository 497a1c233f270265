//! A remote of a store, and the calls about it.
//!
//! # Layer
//! Layer 7.
//!
//! # Invariants
//! - REM-1: a remote whose generation is lower than one that was seen, or that another remote replaced, is refused before
//!   anything of it is used.

use std::sync::Arc;

use super::bucket::{Bucket, BucketError, Counted, KeyFault, Sealed, Version, open_bucket, probe};
use super::keys::Keys;
use super::place::{Outcome, Place, Published, head_of};
use super::{Fetched, Pulled, Pushed, RemoteState};
use crate::codec::{Reader, put_sized};
use crate::digest::{sha256, to_hex};
use crate::disk::random_bytes;
use crate::engine::{
    Known, Memory, Outgoing, PushPlan, PushTarget, RemoteLine, Seen, Strategy, Writer, went_back,
};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::log::Format;
use crate::log::closed::{
    CLOSED_SEGMENT_BYTES, ClosedLine, ClosedLog, FORMAT_FILE, Group, MANIFEST_FILE, Purpose, Source,
};
use crate::object::{Origin, check_snapshot_name};

/// How often a fetch checks what it got.
const TAKE_TRIES: u32 = 4;

/// A remote: a closed log in a bucket, to which several stores push their main line, and from which they pull what others
/// pushed.
///
/// ```
/// use treering::remote::Remote;
/// use treering::{Id, Kind, Memory, NewObject, Origin, Writer};
///
/// # let folder = std::env::temp_dir().join(format!("treering-remote-{}", std::process::id()));
/// # drop(std::fs::remove_dir_all(&folder));
/// let url = format!("file://{}", folder.join("shared").display());
/// let (laptop, ann) = (Memory::create(folder.join("laptop"))?, Writer::person("ann"));
/// laptop.put(NewObject::new(Id::new("plan")?, Kind::new("note")?), &ann)?;
///
/// let remote = Remote::create("origin", &url, Origin::DirectUser)?;
/// remote.push(&laptop, &ann)?;
/// assert_eq!(remote.pull(&laptop, &ann)?.fetched.commits, 0, "nobody else pushed");
/// # drop(laptop);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), treering::Error>(())
/// ```
pub struct Remote {
    name: String,
    cap: Origin,
    bucket: Arc<dyn Bucket>,
    #[cfg(feature = "signed")]
    pub(super) keys: super::signing::Keys,
    /// The same bucket, if it is encrypted, and the id of the key that encrypts.
    sealed: Option<(Arc<Sealed>, String)>,
    #[cfg(any(test, feature = "testing"))]
    pub(super) is_patient: bool,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("name", &self.name)
            .field("cap", &self.cap)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Opens the remote at `url`, whose lines this store names `remote:NAME/LINE`. `cap` is the most trusted class of what
    /// comes from it.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the URL is invalid; `NotFound` if the folder of the remote does not exist; `Io`.
    pub fn open(name: &str, url: &str, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Self::on(name, open_bucket(url, false).map_err(unreachable)?, cap)
    }

    /// Opens the remote at `url` as [`Self::open`] does, and makes a missing folder.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the URL is invalid; `Io`.
    pub fn create(name: &str, url: &str, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Self::on(name, open_bucket(url, true).map_err(unreachable)?, cap)
    }

    /// Opens the remote in a bucket.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid.
    #[doc(hidden)]
    pub fn on(name: &str, bucket: Arc<dyn Bucket>, cap: Origin) -> Result<Self> {
        check_name(name)?;
        Ok(Self {
            name: name.to_owned(),
            cap,
            bucket,
            #[cfg(feature = "signed")]
            keys: super::signing::Keys::default(),
            sealed: None,
            #[cfg(any(test, feature = "testing"))]
            is_patient: true,
        })
    }

    /// Encrypts what this store sends with the first of the keys, and decrypts what it gets. The remote must be empty or
    /// encrypted with one of them.
    ///
    /// Every call returns `InvalidInput` (code `wrong_key` or `not_encrypted`) if the keys do not fit. Without keys, the code
    /// is `no_key`.
    #[must_use]
    pub fn with_keys(self, keys: &Keys) -> Self {
        let sealed = Arc::new(Sealed::new(self.bucket, keys.clone()));
        Self {
            bucket: Arc::clone(&sealed) as Arc<dyn Bucket>,
            sealed: Some((sealed, keys.ids().swap_remove(0))),
            ..self
        }
    }

    /// Returns whether the remote is encrypted with the first of the keys.
    ///
    /// # Errors
    /// `InvalidInput` (code `not_encrypted`); `Io`.
    #[doc(hidden)]
    pub fn has_newest_key(&self) -> Result<bool> {
        let (sealed, _) = self.sealed()?;
        let current = sealed.is_current(FORMAT_FILE);
        Ok(current.map_err(|error| error.at(&**sealed, "cannot read"))? == Some(true))
    }

    /// Encrypts all files of the remote anew with the first of the keys. Returns their number. Others may push meanwhile.
    /// A call that was interrupted goes on where it stopped.
    ///
    /// # Errors
    /// `InvalidInput` (code `wrong_key` or `not_encrypted`); `Corrupt` if a file is damaged; `Io`.
    pub fn rotate(&self, memory: &Memory) -> Result<u64> {
        let (sealed, _) = self.sealed()?;
        let (place, mut rotated) = (self.place(memory), 0);
        let bucket = &place.bucket;
        let failed = |error: BucketError| error.at(bucket.bucket(), "cannot rewrite");
        loop {
            let before = rotated;
            let mut names = place.segment_names()?;
            // A reader begins with the format file, so it is last.
            names.extend([MANIFEST_FILE.to_owned(), FORMAT_FILE.to_owned()]);
            for name in names {
                if sealed.is_current(&name).map_err(failed)? != Some(false) {
                    continue;
                }
                let Some(stored) = bucket.find(&name, u64::MAX).map_err(failed)? else {
                    continue;
                };
                match bucket.swap(&name, &stored.version, &stored.bytes) {
                    // Another client replaced it meanwhile. The next round looks again.
                    Ok(_) | Err(BucketError::Stale) => rotated += 1,
                    Err(error) => return Err(failed(error)),
                }
            }
            if rotated == before {
                return Ok(rotated);
            }
        }
    }

    fn sealed(&self) -> Result<&(Arc<Sealed>, String)> {
        let fault = || KeyFault::NotEncrypted.at(&self.bucket.describe());
        self.sealed.as_ref().ok_or_else(fault)
    }

    /// Makes the calls repeat a request once and at once, for a simulated service.
    #[cfg(any(test, feature = "testing"))]
    #[doc(hidden)]
    #[must_use]
    pub fn impatient(self) -> Self {
        Self {
            is_patient: false,
            ..self
        }
    }

    /// Tests whether the store of the remote honours conditional writes, and whether it can be a remote of `memory`.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_conditional_writes`, `not_a_remote` or `unrelated`); `Io`.
    #[doc(hidden)]
    pub fn check(&self, memory: &Memory) -> Result<RemoteState> {
        let place = self.place(memory);
        place.check_closed()?;
        let (probed, found) = (probe(&*self.bucket, random_bytes()?), place.format()?);
        match probed {
            // Who may only read there can pull.
            Err(error) if found.is_some() && is_denied(&error) => {}
            probed => probed?,
        }
        let format = memory.inner.log.lock().log.format().to_owned();
        if let Some(found) = found {
            place.check_related(&found, &format)?;
            if let Some(published) = place.published(found)? {
                place.check_purpose(&published.log, Purpose::Shared)?;
            }
        }
        Self::known_state(&self.name, memory)
    }

    /// Returns whether the bucket keeps the bytes of what was replaced or deleted, as far as [`Self::check`] saw; `None` if
    /// that is unknown.
    #[doc(hidden)]
    pub fn keeps_old_bytes(&self) -> Option<bool> {
        self.bucket.keeps_old_bytes()
    }

    /// Returns how many commits of this store a remote lacks, and how many of the remote were fetched and not merged. Asks no
    /// remote.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if a commit cannot be read.
    #[doc(hidden)]
    pub fn known_state(name: &str, memory: &Memory) -> Result<RemoteState> {
        let known = Known {
            name,
            cap: Origin::Import,
        };
        let (ahead, behind) = memory.inner.distance_to_remote(known)?;
        Ok(RemoteState { ahead, behind })
    }

    /// Forgets what was fetched from the remote and not merged. The remote stays as it is.
    ///
    /// # Errors
    /// The errors of [`Memory::commit`].
    #[doc(hidden)]
    pub fn forget(name: &str, memory: &Memory, writer: &Writer) -> Result<()> {
        let known = Known {
            name,
            cap: Origin::Import,
        };
        memory.inner.forget_remote(known, writer)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this store has read or written the remote before.
    pub(super) fn is_known(&self, memory: &Memory) -> Result<bool> {
        Ok(memory.inner.seen(self.known())?.is_some())
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known {
            name: &self.name,
            cap: self.cap,
        }
    }

    fn place(&self, memory: &Memory) -> Place {
        let counted = Counted::new(Arc::clone(&self.bucket));
        #[cfg(any(test, feature = "testing"))]
        let counted = if self.is_patient {
            counted
        } else {
            counted.impatient()
        };
        Place::of(counted).waiting(memory.inner.settings().wait)
    }

    /// Returns the writer of the commits of this remote (lane `remote/NAME`).
    fn lane_of(&self, writer: &Writer) -> Writer {
        writer.clone().session(format!("remote/{}", self.name))
    }

    /// Returns an error if the remote has less than this store has seen of it (REM-1).
    fn check_seen(log: &ClosedLog, seen: Option<Seen>) -> Result<()> {
        let Some(seen) = seen else { return Ok(()) };
        if log.format.instance != seen.instance {
            return Err(went_back("another remote took its place"));
        }
        if log.generation < seen.generation || log.last_batch() < seen.batch {
            return Err(went_back(
                "its manifest is older than the one that was seen before",
            ));
        }
        if log.generation == seen.generation && log.head != seen.head {
            return Err(went_back(
                "its manifest has the number of another one that was seen before",
            ));
        }
        Ok(())
    }

    /// Sends the commits of the main line that the remote lacks.
    ///
    /// # Errors
    /// `Conflict` (code `remote_ahead`) if the remote has commits that were not pulled; `Corrupt` (code `remote_went_back`)
    /// if the remote has less than this store has seen; `InvalidInput` if the place is for something else; `Io`. After
    /// `Io`, the push may have succeeded, and the next call finds out.
    ///
    /// # Durability
    /// When the call returns, what was sent is as durable as the bucket promises.
    pub fn push(&self, memory: &Memory, writer: &Writer) -> Result<Pushed> {
        self.push_behind(memory, writer, false)
    }

    /// Pushes as [`Self::push`] does. `is_read` says that the caller has just read the manifest.
    pub(super) fn push_behind(&self, memory: &Memory, writer: &Writer, is_read: bool) -> Result<Pushed> {
        let (place, writer) = (self.place(memory), &self.lane_of(writer));
        memory.inner.check_main()?;
        memory.sync()?;
        memory.refresh()?;
        let seen = memory.inner.seen(self.known())?;
        // The manifest that this store read or wrote last saves the requests for it.
        let cached = self.cached(memory)?;
        let newest = cached.clone().filter(|known| Some(seen_in(&known.log)) == seen);
        if let Some(newest) = newest
            && let Some(pushed) = self.push_on(memory, &place, newest, !is_read, writer)?
        {
            return Ok(pushed);
        }
        let published = if seen.is_some() {
            // INVARIANT REM-1: a place that lost its remote is not begun again.
            Self::read_on(&place, cached, seen)?
        } else {
            let own = memory.inner.log.lock().log.format().to_owned();
            place.read_or_begin(&own, Purpose::Shared, Source::default())?
        };
        self.push_on(memory, &place, published, false, writer)?
            .ok_or_else(|| self.ahead())
    }

    /// Returns what is published, if it continues what this store has seen (REM-1).
    fn read_on(place: &Place, cached: Option<Published>, seen: Option<Seen>) -> Result<Published> {
        let published = place.read_with(cached.map(|cached| cached.log.format));
        let published = published.map_err(|error| match seen {
            Some(_) if error.kind() == ErrorKind::NotFound => went_back("nothing is there any more")
                .with_hint("is the disk or the share mounted? If the remote is lost, `remote remove` and `remote add` begin it again"),
            _ => error,
        })?;
        place.check_purpose(&published.log, Purpose::Shared)?;
        Self::check_seen(&published.log, seen)?;
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
        let lines: Vec<RemoteLine> = published.log.lines.iter().map(of_closed).collect();
        let target = PushTarget {
            head: (published.log.last_batch() > 0).then_some(published.log.head),
            lines: &lines,
        };
        let outgoing = match memory.inner.plan_push(self.known(), &target, writer)? {
            PushPlan::Behind => return Err(self.ahead()),
            PushPlan::Nothing if is_cached => return Ok(None),
            PushPlan::Nothing => return Ok(Some(self.pushed(place, 0))),
            PushPlan::Send(outgoing) => outgoing,
        };
        #[cfg(feature = "signed")]
        let outgoing = {
            let mut outgoing = outgoing;
            self.sign(memory, &published.log, &mut outgoing, writer)?;
            outgoing
        };
        let commits = outgoing.commits;
        let Some(published) = Self::send(place, published, &outgoing)? else {
            return Ok(None);
        };
        let seen = seen_in(&published.log);
        let noted = memory.inner.note_push(self.known(), *outgoing, seen, writer);
        noted.map_err(|error| error.behind_change("the next `fetch` notes the push in this store"))?;
        self.cache(memory, &published);
        Ok(Some(self.pushed(place, commits)))
    }

    /// Returns the name of the derived file with the newest manifest of this remote.
    fn cache_name(&self) -> String {
        // A manifest that was read with another key must not stand for one that this key reads.
        let key = self.sealed.as_ref().map_or("", |(_, id)| id);
        let name = format!("{}{key}", self.name);
        format!("remote-{}", &to_hex(&sha256(name.as_bytes()))[..8])
    }

    /// Returns the manifest that this store read or wrote last; `None` if it is not at hand.
    fn cached(&self, memory: &Memory) -> Result<Option<Published>> {
        let Some(bytes) = memory.derived(&self.cache_name())? else {
            return Ok(None);
        };
        let mut reader = Reader::new(&bytes);
        let parts = reader
            .text()
            .and_then(|version| Ok((version.to_owned(), reader.sized()?)));
        let Ok((version, format)) = parts else {
            return Ok(None);
        };
        let manifest = reader.bytes(reader.left()).unwrap_or_default();
        let log = Format::of_bytes(format).and_then(|format| ClosedLog::decode(format, manifest));
        // The file is derived, so what is wrong with it is read again.
        Ok(log.ok().flatten().map(|log| Published {
            log,
            version: Some(Version(version)),
        }))
    }

    /// Keeps a manifest for the next call. It only saves requests, so an error does not matter.
    fn cache(&self, memory: &Memory, published: &Published) {
        let Some(Version(version)) = &published.version else {
            return;
        };
        let mut bytes = Vec::new();
        put_sized(&mut bytes, version.as_bytes());
        put_sized(&mut bytes, &published.log.format.to_bytes());
        bytes.extend_from_slice(&published.log.encode());
        drop(memory.keep_derived(&self.cache_name(), &bytes, &memory.view()));
    }

    fn pushed(&self, place: &Place, commits: u64) -> Pushed {
        Pushed {
            remote: self.name.clone(),
            commits,
            bytes: place.bucket.sent(),
            requests: place.bucket.requests(),
        }
    }

    fn ahead(&self) -> Error {
        let name = &self.name;
        Error::conflict(format!("the remote {name} has commits that were not pulled"))
            .with_code(ErrorCode::RemoteAhead)
            .with_hint("`treering pull` brings them in; then push again")
    }

    /// Stores the batches of a push in segments, and publishes each segment. The commit that moves the main line of the
    /// remote to a merge is in the last batch, so no reader sees half of a push there. Returns `None` if another writer
    /// published first.
    fn send(place: &Place, mut published: Published, outgoing: &Outgoing) -> Result<Option<Published>> {
        let mut left = outgoing.batches.iter().cloned().peekable();
        while left.peek().is_some() {
            let (mut group, mut bytes, mut side) = (Group::new(), 0, None);
            while let Some(sent) = left.next_if(|sent| {
                group.is_empty() || bytes + sent.batch.encoded_bytes() <= CLOSED_SEGMENT_BYTES
            }) {
                bytes += sent.batch.encoded_bytes();
                side = sent.side.or(side);
                group.push((sent.batch, sent.head));
            }
            let head = head_of(&group).unwrap_or(published.log.head);
            let first = published.log.last_batch() + 1;
            let segment = place.put(&published.log, 0, first, group)?;
            let mut next = published.log.with(&segment, head);
            if let Some((line, head)) = outgoing.line.as_ref().zip(side) {
                next.lines.retain(|known| known.name != line.name);
                next.lines.push(ClosedLine {
                    name: line.name.clone(),
                    base: line.base,
                    head,
                });
            }
            match place.publish(&published, next)? {
                Outcome::Done(done) => published = done,
                Outcome::Lost => return Ok(None),
            }
        }
        Ok(Some(published))
    }

    /// Takes in what others pushed, as lines `remote:NAME/LINE`. Merges nothing.
    ///
    /// # Errors
    /// `Corrupt` if the remote is damaged, or (code `remote_went_back`) has less than this store has seen: then nothing is
    /// taken in; `InvalidInput` (code `unrelated`); `NotFound` (code `not_a_remote`); `Io`.
    pub fn fetch(&self, memory: &Memory, writer: &Writer) -> Result<Fetched> {
        let (place, writer) = (self.place(memory), &self.lane_of(writer));
        memory.inner.check_main()?;
        memory.refresh()?;
        let seen = memory.inner.seen(self.known())?;
        let published = Self::read_on(&place, self.cached(memory)?, seen)?;
        let log = &published.log;
        let mut commits = 0;
        if seen.is_none_or(|seen| seen.generation < log.generation) {
            let own = memory.inner.log.lock().log.format().to_owned();
            place.check_related(&log.format, &own)?;
            commits = self.take(memory, &place, log, writer)?;
            self.cache(memory, &published);
        }
        Ok(Fetched {
            remote: self.name.clone(),
            commits,
            bytes: place.bucket.received(),
            requests: place.bucket.requests(),
            head: log.head,
        })
    }

    /// Takes in the batches behind those that were read before, and returns the number of new commits. Nobody waits while
    /// they are read and checked, so another process may change what the check relies on. Then it begins again.
    fn take(&self, memory: &Memory, place: &Place, log: &ClosedLog, writer: &Writer) -> Result<u64> {
        // An error with a file is about this store.
        let of_remote = |error: Error| match error.damage() {
            Some(_) => error,
            None => place.damaged(error),
        };
        for _ in 0..TAKE_TRIES {
            let mut intake = memory.inner.intake(self.known())?;
            let seen = intake.seen();
            if seen.is_some_and(|seen| seen.generation >= log.generation) {
                return Ok(0);
            }
            #[cfg(feature = "signed")]
            let mut signatures = self.signatures(memory, log, seen)?;
            let after = seen.map_or(0, |seen| seen.batch);
            for (index, segment) in log.segments.iter().enumerate() {
                if segment.last_batch <= after {
                    continue;
                }
                for batch in place.batches(log, index)? {
                    if batch.number > after {
                        #[cfg(feature = "signed")]
                        signatures.add(&batch).map_err(of_remote)?;
                        intake.take(&batch).map_err(of_remote)?;
                    }
                }
            }
            #[cfg(feature = "signed")]
            signatures.check(self)?;
            let taken = memory.inner.take_remote(intake, seen_in(log), writer);
            if let Some(taken) = taken.map_err(of_remote)? {
                return Ok(taken.commits);
            }
            memory.refresh()?;
        }
        let text = format!(
            "other processes fetched from {} or rewrote the log meanwhile",
            self.name
        );
        Err(Error::conflict(text).with_hint("try again"))
    }

    /// Takes in what others pushed, and merges it into the main line. What comes from the remote gets at most its class.
    ///
    /// # Errors
    /// The errors of [`Self::fetch`] and of [`Merge::by`](crate::merge::Merge::by).
    pub fn pull(&self, memory: &Memory, writer: &Writer) -> Result<Pulled> {
        self.pull_by(memory, writer, None)
    }

    /// Pulls as [`Self::pull`] does, and decides about conflicts by a rule.
    ///
    /// # Errors
    /// The errors of [`Self::pull`].
    #[doc(hidden)]
    pub fn pull_by(&self, memory: &Memory, writer: &Writer, strategy: Option<Strategy>) -> Result<Pulled> {
        let fetched = self.fetch(memory, writer)?;
        let merged = memory
            .inner
            .merge_remote(memory, self.known(), strategy, &self.lane_of(writer))?;
        Ok(Pulled { merged, fetched })
    }

    /// Returns what [`Self::pull_by`] would do after a fetch. Fetches, and merges nothing.
    ///
    /// # Errors
    /// The errors of [`Self::pull`].
    #[doc(hidden)]
    pub fn pull_preview(
        &self,
        memory: &Memory,
        writer: &Writer,
        strategy: Option<Strategy>,
    ) -> Result<Pulled> {
        let fetched = self.fetch(memory, writer)?;
        let merged = memory
            .inner
            .preview_remote(memory, self.known(), strategy, &self.lane_of(writer))?;
        Ok(Pulled { merged, fetched })
    }
}

/// Names the error of a folder that cannot be opened: its disk may not be mounted.
fn unreachable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Io => error.with_code(ErrorCode::RemoteUnreachable),
        _ => error,
    }
}

/// Returns whether a service refused the caller.
fn is_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    matches!(source, Some(BucketError::Denied(_)))
}

fn check_name(name: &str) -> Result<()> {
    if check_snapshot_name(name).is_err() || name.contains('/') {
        let text = format!("a remote cannot have the name {name:?}");
        let hint = "use 1 to 64 letters, digits, `.`, `_` and `-`, and no form of a revision";
        return Err(Error::invalid(text).with_hint(hint));
    }
    Ok(())
}

/// Returns how far a reader of this log has read.
pub(super) fn seen_in(log: &ClosedLog) -> Seen {
    Seen {
        instance: log.format.instance,
        generation: log.generation,
        batch: log.last_batch(),
        head: log.head,
    }
}

fn of_closed(line: &ClosedLine) -> RemoteLine {
    RemoteLine {
        name: line.name.clone(),
        base: line.base,
        head: line.head,
    }
}

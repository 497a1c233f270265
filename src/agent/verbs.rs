//! The methods of [`Agent`] for recall, envelopes, lines, sessions, forgetting and decay. The modules of these verbs do
//! the work.
//!
//! # Layer
//! Layer 7, inside `agent`.

use super::agent::Agent;
use super::index_keys::key_at;
use super::item::known_kind;
use super::vocabulary::kind;
use super::{
    Append, Appended, BisectedAnswer, Decayed, EnvelopeAnswer, EnvelopeRequest, Forgetting, Forgot,
    Forgotten, Item, LinesOptions, LinesRemembered, Pass, Reach, RecallQuery, Recalled, Restored, bisect,
    change, decay, envelope, forget, remember, search, session,
};
use crate::engine::{CommitInfo, Query, View, Writer};
use crate::error::Result;
use crate::object::{Id, Origin, Time, quoted_class};

impl Agent {
    /// Taints the session of a call that gives a text by an untrusted `speaker`, or of an untrusted class `trust`. A
    /// binding calls this before it reads the other arguments, which may be wrong (TNT-4).
    ///
    /// # Errors
    /// The errors of [`Memory::commit`](crate::Memory::commit).
    #[doc(hidden)]
    pub fn admit(
        &self,
        speaker: Option<&str>,
        trust: Option<&str>,
        session: Option<&str>,
        writer: &Writer,
    ) -> Result<()> {
        let stated = trust.and_then(|trust| Origin::from_text(trust).ok());
        change::admit(self, writer, quoted_class(speaker, stated), session)
    }

    /// Answers `query` from the state of `view`. The time of the view decides which items have expired.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn recall(&self, view: &View, query: &RecallQuery) -> Result<Recalled> {
        let recalled = if query.text.trim().is_empty() {
            search::reflect(self, view, query)?
        } else {
            search::search(self, view, query, None)?
        };
        if query.touch && view.root() == self.memory().view().root() {
            let ids = recalled.hits.iter().map(|hit| &hit.id);
            self.memory().touch(ids, view.now());
        }
        Ok(recalled)
    }

    /// Finds the commit between the states `good` and `bad` that changed the first hit of `query`. Every state is asked at
    /// the time of its commit. With `expect`, a state is bad if the text of its first hit lacks `expect`. Otherwise it is
    /// bad if its first hit is another item than in `good`, or has another text. The search assumes that bad states stay
    /// bad, as [`Memory::bisect`](crate::Memory::bisect) does. It changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_text`) if the question is empty; the errors of `Memory::bisect` and [`Self::recall`].
    ///
    /// # Example
    /// ```
    /// use treering::agent::{Agent, NewItem, Reach, RecallQuery, RememberOptions, Settings};
    /// use treering::{Id, Memory, Writer};
    ///
    /// let agent = Agent::new(Memory::in_memory()?, Settings::default());
    /// let office = Id::new("facts/office")?;
    /// let remember = |text: &str, session: &str| {
    ///     let item = NewItem {
    ///         id: Some(office.clone()),
    ///         ..NewItem::new(text)
    ///     };
    ///     agent.remember(item, &RememberOptions::default(), &Writer::user().session(session))
    /// };
    /// remember("The office is in Bremen.", "monday")?;
    /// let good = agent.memory().view();
    /// remember("The office is in Frankfurt.", "tuesday")?;
    ///
    /// let question = RecallQuery::new("where is the office?", Reach::All);
    /// let bisected = agent.bisect(&good, &agent.memory().view(), &question, Some("Bremen"))?;
    /// assert_eq!(bisected.found.first_bad.lane(), "tuesday");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn bisect(
        &self,
        good: &View,
        bad: &View,
        query: &RecallQuery,
        expect: Option<&str>,
    ) -> Result<BisectedAnswer> {
        bisect::bisect(self, good, bad, query, expect)
    }

    /// Renders the selected items of one state as one text for a prompt.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub fn envelope(&self, view: &View, request: &EnvelopeRequest) -> Result<EnvelopeAnswer> {
        envelope::envelope(self, view, request)
    }

    /// Stores items from lines of JSON, with one commit of op `remember` for each batch.
    ///
    /// A line with an id is stored even if another item has the same text. A line without an id is not stored if
    /// another item has the same text, and counts as unchanged. The call does not search for near duplicates.
    ///
    /// # Errors
    /// The errors of `lines`, and of [`Memory::commit`](crate::Memory::commit). After an error, earlier batches stay
    /// stored.
    pub fn remember_lines(
        &self,
        lines: impl IntoIterator<Item = Result<(u64, Vec<u8>)>>,
        options: &LinesOptions,
        writer: &Writer,
    ) -> Result<LinesRemembered> {
        remember::follow_lines(self, lines, options, writer, |_| ())
    }

    /// Appends entries to the transcript of a session, in one commit.
    ///
    /// # Errors
    /// `InvalidInput`: the call has too many entries for one commit, or the session has another scope or parent, or too
    /// many ancestors (`other_scope`, `other_parent`, `cycle`, `over_limit`). `Denied` (code `less_trusted`): the
    /// writer is neither the person nor the host, but names the person, or sets the parent of a session that the person
    /// or the host created. `Denied` (code `refused`): the review rejects a name. Also the errors of a commit.
    ///
    /// # Example
    /// ```
    /// use treering::agent::{Agent, Append, NewEntry, Reach, Settings};
    /// use treering::{Memory, Writer};
    ///
    /// let agent = Agent::new(Memory::in_memory()?, Settings::default());
    /// let said = |speaker: &str, text: &str| NewEntry {
    ///     text: text.to_owned(),
    ///     speaker: Some(speaker.to_owned()),
    ///     ..NewEntry::default()
    /// };
    /// let append = Append {
    ///     session: "monday".to_owned(),
    ///     entries: vec![said("user", "Which tea is left?"), said("assistant", "Only green tea.")],
    ///     ..Append::default()
    /// };
    /// assert_eq!(agent.append(&append, &Writer::model("agent"))?.ids.len(), 2);
    ///
    /// let view = agent.memory().view();
    /// let entries: Vec<_> = agent.entries(&view, &Reach::All, "monday")?.collect::<treering::Result<_>>()?;
    /// assert_eq!(entries[1].text(), "Only green tea.");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn append(&self, append: &Append, writer: &Writer) -> Result<Appended> {
        session::follow_append(self, append, writer, |_| ())
    }

    /// Returns the entries of a session in their order.
    ///
    /// # Errors
    /// `InvalidInput` (code `other_scope`) if the scope of the session is not in `reach`; also the errors of
    /// [`View::query`].
    pub fn entries(
        &self,
        view: &View,
        reach: &Reach,
        session: &str,
    ) -> Result<impl Iterator<Item = Result<Item>> + use<>> {
        session::check_reach(view, reach, session)?;
        let entries = Query::default().kind(known_kind(kind::ENTRY));
        let found = view.query(&entries.parent(session::session_id(session)?))?;
        Ok(found.map(|object| object.map(Item::from)))
    }

    /// Removes items from the state in one commit. History keeps the removed items: [`Self::forgotten`] lists them and
    /// [`Self::unforget`] restores them. With `dry_run`, the call changes nothing.
    ///
    /// # Errors
    /// `InvalidInput`: no condition is given (code `no_criteria`), or a removed item has a child that would stay.
    /// `NotFound`: a given id has no item. `Denied` (code `less_trusted`): an item is more trusted than the writer.
    /// Otherwise the errors of [`Memory::commit`](crate::Memory::commit). After an error, no item is removed.
    ///
    /// # Example
    /// ```
    /// use treering::agent::{Agent, Forgetting, NewItem, RememberOptions, Settings};
    /// use treering::{Memory, Writer};
    ///
    /// let agent = Agent::new(Memory::in_memory()?, Settings::default());
    /// let vera = Writer::person("vera");
    /// let item = NewItem {
    ///     tags: vec!["tea".to_owned()],
    ///     ..NewItem::new("Vera drinks green tea.")
    /// };
    /// agent.remember(item, &RememberOptions::default(), &vera)?;
    ///
    /// let about_tea = Forgetting {
    ///     all_tags: vec!["tea".to_owned()],
    ///     ..Forgetting::default()
    /// };
    /// let forgot = agent.forget(&about_tea, &vera, false)?;
    /// let id = forgot.items[0].object().id().clone();
    /// assert!(!agent.memory().view().contains(&id)?);
    ///
    /// // History keeps the item.
    /// agent.unforget(&[id.clone()], &vera, false)?;
    /// assert!(agent.memory().view().contains(&id)?);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn forget(&self, what: &Forgetting, writer: &Writer, dry_run: bool) -> Result<Forgot> {
        forget::forget(self, what, writer, dry_run)
    }

    /// Returns the ids of the items that supersede an item in a state. The first call for a state may read all its texts.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    #[doc(hidden)]
    pub fn successors(&self, view: &View, id: &Id) -> Result<Vec<Id>> {
        let key = key_at(&view.key(id));
        self.with_duplicate_index(view, |known| known.successors(view, &key))
    }

    /// Sets the time at which an item expires. With `None`, the item never expires. Returns the commit, or `None` if
    /// the call did not change the item.
    ///
    /// # Errors
    /// `NotFound` if the item does not exist; `Denied` (code `less_trusted`) if the item is more trusted than the
    /// writer; also the errors of [`Memory::commit`](crate::Memory::commit).
    pub fn expire(&self, id: &Id, at: Option<Time>, writer: &Writer) -> Result<Option<CommitInfo>> {
        forget::expire(self, id, at, writer)
    }

    /// Returns at most `limit` forgotten items, the last forgotten first. `forget`, decay or another verb of the agent
    /// removed each item, and the state of `view` does not contain it. Erased items are omitted. Garbage collection may
    /// delete an item a month after it was forgotten.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if history cannot be read.
    pub fn forgotten(&self, view: &View, reach: &Reach, limit: usize) -> Result<Vec<Forgotten>> {
        forget::forgotten(self, view, reach, limit)
    }

    /// Restores the earlier versions of forgotten or shortened items in one commit. A restored version has the same
    /// origin as before. An item that is present with its full text stays unchanged.
    ///
    /// # Errors
    /// `NotFound` if an id has no present or forgotten item, or its version was erased. Then no item is restored.
    /// Otherwise the errors of [`Memory::commit`](crate::Memory::commit).
    pub fn unforget(&self, ids: &[Id], writer: &Writer, dry_run: bool) -> Result<Restored> {
        forget::unforget(self, ids, None, writer, dry_run)
    }

    /// Restores the items that the last `forget` or `decay` commit removed or shortened. Only items in the scopes of
    /// `reach` that are still missing or shortened are restored. Commits without such items are skipped.
    ///
    /// # Errors
    /// `NotFound` if no commit has an item to restore; otherwise the errors of [`Self::unforget`].
    pub fn unforget_last(&self, reach: &Reach, writer: &Writer, dry_run: bool) -> Result<Restored> {
        forget::unforget_last(self, reach, None, writer, dry_run)
    }

    /// Does what [`Self::unforget`] does, or without ids [`Self::unforget_last`], with what `actor` forgot.
    ///
    /// # Errors
    /// `Denied` (code `other_lanes`) if another writer forgot it; else the errors of these calls.
    #[doc(hidden)]
    pub fn unforget_own(
        &self,
        actor: &str,
        ids: Option<&[Id]>,
        reach: &Reach,
        writer: &Writer,
    ) -> Result<Restored> {
        match ids {
            Some(ids) => forget::unforget(self, ids, Some(actor), writer, false),
            None => forget::unforget_last(self, reach, Some(actor), writer, false),
        }
    }

    /// Moves every item down one level if it was unused for the time in the settings. Reads all items. Pinned items,
    /// expired items, and items with a parent or children stay unchanged.
    ///
    /// A text that cannot be shortened stays the same, and its item still moves to the level below.
    ///
    /// # Errors
    /// The errors of [`Memory::commit`](crate::Memory::commit); after an error, earlier commits of the pass stay.
    ///
    /// # Example
    /// ```
    /// use treering::agent::{Agent, Level, NewItem, Pass, RememberOptions, Settings};
    /// use treering::{Memory, Time, Writer};
    ///
    /// let agent = Agent::new(Memory::in_memory()?, Settings::default());
    /// let story = "The kettle was bought in Porto in 2011. It is made of copper and it leaks. Nobody remembers why. \
    ///              There was a market on that day, and rain. The receipt must be somewhere in the cellar.";
    /// let vera = Writer::person("vera");
    /// agent.remember(NewItem::new(story), &RememberOptions::default(), &vera)?;
    ///
    /// // Reports what a pass would do in two days.
    /// let in_two_days = Time::from_micros(Time::now().as_micros() + 48 * 3_600_000_000);
    /// let pass = Pass {
    ///     now: Some(in_two_days),
    ///     dry_run: true,
    ///     ..Pass::default()
    /// };
    /// let decayed = agent.decay(&pass, &vera)?;
    /// assert_eq!((decayed.moves[0].from, decayed.moves[0].to), (Level::Full, Level::Summary));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn decay(&self, pass: &Pass<'_>, writer: &Writer) -> Result<Decayed> {
        decay::decay(self, pass, writer)
    }

    /// Runs a decay pass at the time `now`, as the actor `decay`.
    ///
    /// # Errors
    /// The errors of [`Self::decay`].
    #[cfg(test)]
    pub(crate) fn tick(&self, now: Option<Time>) -> Result<Decayed> {
        let pass = Pass {
            now,
            ..Pass::default()
        };
        self.decay(&pass, &Writer::user().actor("decay"))
    }
}

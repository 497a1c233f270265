//! Runs a decay pass. The pass moves every item that was unused for long enough one level down: from the full text to a
//! summary, then to keywords, then out of the state.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - DEC-1: an item moves at most one level per pass, even if the clock is wrong.
//! - DEC-2: a pinned item never moves.
//! - DEC-3: the new version is not more trusted than its source, and names it in `derived_from`.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::super::agent::Agent;
use super::super::change::review::review;
use super::super::change::{Rule, change};
use super::super::item::{Item, NewItem, add_new, texts};
use super::super::settings::DecaySettings;
use super::super::vocabulary::{attribute, kind};
use super::extract;
use super::original::{original_of, written};
use crate::digest::{CommitDigest, ObjectDigest};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::Result;
use crate::object::{Id, NewObject, Object, Origin, Scope, Time};
use treering_text::calendar::DAY_MICROS;
use treering_text::scan::Verdict;

/// The maximum number of items of one commit.
const ITEMS_A_COMMIT: usize = 10_000;
/// The difference between the given time and the clock above which a pass warns, in microseconds: a day.
const JUMP_MICROS: i64 = DAY_MICROS;
/// Kinds that decay only on request, because their texts must stay verbatim or are already short.
const LASTING: [&str; 7] = [
    kind::BLOCK,
    kind::DECISION,
    kind::ENTRY,
    kind::MERGE_CONFLICT,
    kind::NOTE,
    kind::SESSION,
    kind::SUMMARY,
];

named! {
    /// A level of decay.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// The full text.
        Full => "full",
        /// About a fifth of the text.
        Summary => "summary",
        /// Some words of the text.
        Keywords => "keywords",
        /// The item is removed from the state. History retains it.
        Gone => "gone",
    }
}

impl Level {
    fn of(item: &Item) -> Self {
        let level = item.level().and_then(|name| Self::from_name(&name));
        level.filter(|level| *level != Self::Gone).unwrap_or(Self::Full)
    }

    /// Returns the next lower level, and the time without use after which an item moves to that level.
    fn below(self, settings: &DecaySettings) -> (Self, i64) {
        match self {
            Self::Full => (Self::Summary, settings.summary_after_micros),
            Self::Summary => (Self::Keywords, settings.keywords_after_micros),
            Self::Keywords | Self::Gone => (Self::Gone, settings.forget_after_micros),
        }
    }
}

/// A summarizer that the host provides, for example a model.
pub trait Summarizer: Send + Sync {
    /// Returns a shorter text for `level`, which is [`Level::Summary`] or [`Level::Keywords`]. `None` requests the
    /// built-in extract. The pass uses the built-in extract too if the text is not shorter or does not pass the scan.
    fn shorten(&self, item: &Item, level: Level) -> Option<String>;
}

/// The options of a pass.
#[derive(Clone, Copy, Default)]
pub struct Pass<'a> {
    /// The current time for computing ages; `None` means the time of the clock.
    pub now: Option<Time>,
    /// Whether kinds such as entries, notes, sessions and summaries decay too.
    pub everything: bool,
    /// Whether the pass reports the moves without committing them.
    pub dry_run: bool,
    /// The summarizer of the host; `None` means the built-in extract.
    pub summarizer: Option<&'a dyn Summarizer>,
}

/// An item that moved one level down.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Move {
    /// The id of the item.
    pub id: Id,
    /// The level of the item before the move.
    pub from: Level,
    /// The level of the item after the move.
    pub to: Level,
    /// The version with the full text, which [`Agent::unforget`] restores.
    pub original: ObjectDigest,
    /// The number of characters of the item's text before the move.
    pub chars_before: usize,
    /// The number of characters of the item's text after the move; 0 if the item is removed.
    pub chars_after: usize,
}

/// The result of a decay pass or a dry run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Decayed {
    /// The current time that was used for computing ages.
    pub now: Time,
    /// The number of items that were read.
    pub items: u64,
    /// The moves of items, or the planned moves of a dry run.
    pub moves: Vec<Move>,
    /// The commits, oldest first.
    #[serde(serialize_with = "digests")]
    #[schemars(with = "Vec<CommitDigest>")]
    pub commits: Vec<CommitInfo>,
    /// A warning if the given time differs much from the clock.
    #[serde(skip)]
    pub warning: Option<String>,
}

fn digests<S: Serializer>(commits: &[CommitInfo], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(commits.iter().map(|info| info.digest))
}

impl Decayed {
    /// Returns the result of a pass that read no items.
    pub(super) fn nothing(now: Time, warning: Option<String>) -> Self {
        Self {
            now,
            items: 0,
            moves: Vec::new(),
            commits: Vec::new(),
            warning,
        }
    }
}

/// A planned move of an item.
struct Planned {
    moved: Move,
    /// The version that the pass read. If the item has another version at commit, the pass skips the item.
    seen: ObjectDigest,
    /// The new version and the upper bound of its origin; `None` removes the item from the state.
    new: Option<(NewObject, Origin)>,
}

/// Implements [`Agent::decay`].
pub(in crate::agent) fn decay(agent: &Agent, pass: &Pass<'_>, writer: &Writer) -> Result<Decayed> {
    let view = agent.memory().refresh()?;
    let now = pass.now.unwrap_or_else(|| view.now());
    let mut decayed = Decayed::nothing(now, off(view.now(), now));
    let view = view.with_now(now);
    let run = Run {
        agent,
        view: &view,
        pass,
        writer,
    };
    let mut planned = Vec::new();
    for object in view.kept_objects() {
        let object = object?;
        decayed.items += 1;
        planned.extend(run.plan(object)?);
        if planned.len() >= ITEMS_A_COMMIT {
            run.carry_out(std::mem::take(&mut planned), &mut decayed)?;
        }
    }
    run.carry_out(planned, &mut decayed)?;
    decayed.moves.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(decayed)
}

/// The inputs of a pass.
struct Run<'a> {
    agent: &'a Agent,
    view: &'a View,
    pass: &'a Pass<'a>,
    writer: &'a Writer,
}

impl Run<'_> {
    /// Returns the planned move of an item. Returns `None` if the item stays at its level.
    fn plan(&self, object: Object) -> Result<Option<Planned>> {
        let (view, now) = (self.view, self.view.now());
        let lasts = !self.pass.everything && LASTING.contains(&object.kind());
        let is_over = object.expires().is_some_and(|expires| expires <= now);
        let is_plain = object.content().is_some_and(|text| !text.is_empty()) && object.parent().is_none();
        let item = Item::from(object);
        // INVARIANT DEC-2: a pinned item never moves.
        if lasts || is_over || !is_plain || item.is_pinned() {
            return Ok(None);
        }
        let from = Level::of(&item);
        // INVARIANT DEC-1: an item moves at most one level per pass.
        let (to, after) = from.below(&self.agent.settings().decay);
        let stored = written(view, &item)?;
        let age = |since: Time| now.as_micros().saturating_sub(since.as_micros()).max(0);
        if age(stored) < after {
            return Ok(None);
        }
        let id = item.object().id().clone();
        // Ignore a last-access time more than a day in the future, because a wrong clock caused it.
        let latest = now.as_micros().saturating_add(JUMP_MICROS);
        let used = view.last_used(&id)?.filter(|used| used.as_micros() <= latest);
        if used.is_some_and(|used| age(used) < after) || !view.children(&id, Some(1))?.is_empty() {
            return Ok(None);
        }
        let original = original_of(self.agent.memory(), &item)?;
        let chars_before = item.text().chars().count();
        let mut moved = Move {
            id,
            from,
            to,
            original: original.as_ref().unwrap_or(item.object()).digest(),
            chars_before,
            chars_after: 0,
        };
        let mut new = None;
        if to != Level::Gone {
            let mut shorter = item.object().to_new()?;
            let origin = self.shorten(&item, original.as_ref(), to, &mut shorter)?;
            moved.chars_after = shorter.content.as_ref().map_or(0, |text| text.chars().count());
            // INVARIANT DEC-3: the new version is not more trusted than its source, and names it.
            shorter.derived_from = vec![moved.original];
            drop(shorter.attributes.insert(attribute::LEVEL, to.name()));
            drop(
                shorter
                    .attributes
                    .insert(attribute::ORIGINAL, moved.original.to_hex()),
            );
            drop(shorter.attributes.insert(attribute::WRITTEN, stored.as_micros()));
            new = Some((shorter, Origin::least(item.object().origin(), origin)));
        }
        let seen = item.object().digest();
        Ok(Some(Planned { moved, seen, new }))
    }

    /// Sets the content of `shorter` to the text for level `to`, which is never longer than the current text. Returns
    /// the origin of the new text.
    fn shorten(
        &self,
        item: &Item,
        original: Option<&Object>,
        to: Level,
        shorter: &mut NewObject,
    ) -> Result<Origin> {
        let length = item.text().chars().count();
        if let Some(text) = self.pass.summarizer.and_then(|host| host.shorten(item, to)) {
            let mut given = NewItem::new(text);
            given.scope = Scope::new(item.object().scope())?;
            // If the host's text exceeds a quota, the review fails, and the built-in extract is used. The review is as
            // strict as for a stranger, because the extract costs nothing.
            let reviewed = review(self.agent, given, Origin::ToolExternal).ok();
            let fits = reviewed.filter(|one| {
                one.verdict <= Verdict::Flag
                    && !one.item.text.trim().is_empty()
                    && one.item.text.chars().count() < length
            });
            if let Some(reviewed) = fits {
                let mut flags = item.flags();
                add_new(&mut flags, reviewed.item.flags());
                if let Some(flags) = texts(&flags) {
                    drop(shorter.attributes.insert(attribute::FLAGS, flags));
                }
                shorter.content = Some(reviewed.item.text);
                // The host's summarizer may be a model, so the text is trusted only as a model's text.
                return Ok(Origin::Model);
            }
        }
        let extract = |text: &str| match to {
            Level::Keywords => extract::keyword_text(text).into_owned(),
            _ => extract::summary(text).into_owned(),
        };
        let whole = original.and_then(Object::content).unwrap_or_else(|| item.text());
        let text = Some(extract(whole)).filter(|text| text.chars().count() <= length);
        shorter.content = text.or_else(|| Some(extract(item.text())));
        Ok(Origin::DirectUser)
    }

    /// Commits the planned moves. Skips items that changed since the pass read them, because a change is a use.
    fn carry_out(&self, planned: Vec<Planned>, decayed: &mut Decayed) -> Result<()> {
        if self.pass.dry_run {
            decayed.moves.extend(planned.into_iter().map(|one| one.moved));
            return Ok(());
        }
        let done = change(self.agent, self.writer, &Rule::DECAY, |change| {
            let mut moves = Vec::with_capacity(planned.len());
            for one in &planned {
                if change.digest(&one.moved.id)? != Some(one.seen) {
                    continue;
                }
                match &one.new {
                    Some((new, origin)) => change.shorten(new.clone(), *origin)?,
                    None => drop(change.remove(&one.moved.id)?),
                }
                moves.push(one.moved.clone());
            }
            Ok(moves)
        })?;
        if !done.value.is_empty() {
            decayed.commits.push(done.committed.commit);
            decayed.moves.extend(done.value);
        }
        Ok(())
    }
}

/// Returns a warning if `now` differs from the clock by more than a day.
fn off(clock: Time, now: Time) -> Option<String> {
    let ahead = now.as_micros().saturating_sub(clock.as_micros());
    if ahead.abs() <= JUMP_MICROS {
        return None;
    }
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    Some(format!(
        "the time of this pass is more than a day {side} the clock; each pass lowers an item by at most one level"
    ))
}

#[cfg(test)]
mod tests;

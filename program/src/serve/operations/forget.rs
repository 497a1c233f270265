//! `memory_forget`: removes items from the state. History keeps them.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{ItemShown, Line};
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::words::counted;
use crate::serve::Service;
use treering::Id;
use treering::agent::Forgetting;
use treering::{Error, ErrorCode, Result};

/// Why an item stays that a call names.
const NOT_HERE: &str = "not in these scopes";
/// The same, of an item in these scopes.
const NO_TAGS: &str = "without these tags";

/// Remove items that are wrong or no longer needed. `memory_undo` brings them back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Forget {
    ids: Option<Vec<String>>,
    /// Items with all of them
    tags: Option<Vec<String>>,
    reason: Option<String>,
    /// Only show it
    dry_run: Option<bool>,
}

/// The answer of `memory_forget`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Forgotten {
    forgotten: Vec<ItemShown>,
    pinned: Vec<Id>,
    others: Vec<Id>,
    /// Episodes and summaries that may still say it
    still: Vec<Id>,
    dry_run: bool,
}

impl Operation for Forget {
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget";
    const EFFECT: Effect = Effect::Removes;
    const PROFILE: Profile = Profile::Default;
    type Answer = Forgotten;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<Forgotten>> {
        let view = service.head()?;
        let ids = service.ids(&view, &self.ids.unwrap_or_default())?;
        let tags = self.tags.unwrap_or_default();
        if ids.is_empty() && tags.is_empty() {
            return Err(Error::invalid("the call names nothing to forget")
                .with_code(ErrorCode::NoCriteria)
                .with_hint("give ids or tags"));
        }
        let what = Forgetting {
            ids,
            all_tags: tags,
            // An item of another scope does not meet this condition, whoever names its id (SRV-3).
            reach: Some(service.reach(None)?),
            ..Forgetting::default()
        };
        let dry_run = self.dry_run.unwrap_or_default();
        let mut writer = service.writer_of(dry_run)?;
        writer.reason = self.reason;
        let forgot = service.agent().forget(&what, &writer, dry_run)?;
        let verb = if dry_run { "would forget" } else { "forgot" };
        let mut line = format!("{verb} {}", counted(forgot.items.len() as u64, "item"));
        // INVARIANT SRV-3: an item of another scope is told as such, whatever its tags are.
        let reach = service.reach(None)?;
        let (mut tagless, mut elsewhere) = (Vec::new(), Vec::new());
        for id in &forgot.others {
            match view.get(id)?.filter(|object| reach.has(object.scope())) {
                Some(_) => tagless.push(id),
                None => elsewhere.push(id),
            }
        }
        let others = [(NOT_HERE, elsewhere), (NO_TAGS, tagless)];
        for (why, ids) in others.iter().filter(|(_, ids)| !ids.is_empty()) {
            line.extend(["; ", why, ": ", &ids.len().to_string()]);
        }
        if !forgot.pinned.is_empty() {
            line.extend(["; pinned and kept: ", &forgot.pinned.len().to_string()]);
        }
        let items = forgot.items.iter();
        let forgotten: Vec<_> = items.map(|item| ItemShown::of(service.agent(), item)).collect();
        let removed = forgotten.iter().map(|item| item.line(&view));
        let others = others
            .iter()
            .flat_map(|(why, ids)| ids.iter().map(|id| Line::of_id(&view, id).says([*why])));
        let pinned = forgot.pinned.iter();
        let pinned = pinned.map(|id| Line::of_id(&view, id).says(["pinned"]));
        let still = forgot.still.iter();
        let still = still.map(|id| Line::of_id(&view, id).says(["may still say it"]));
        let notes: Vec<_> = removed
            .chain(others)
            .chain(pinned)
            .chain(still)
            .map(|line| line.to_string())
            .collect();
        let answer = Forgotten {
            forgotten,
            pinned: forgot.pinned,
            others: forgot.others,
            still: forgot.still,
            dry_run,
        };
        Ok(Answer::new(service.memory().view(), answer, line).with_notes(notes))
    }
}

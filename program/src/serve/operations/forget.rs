//! `memory_forget`: removes items from the state. History keeps them.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::line_of;
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::items::ItemsForgotten;
use crate::answers::words::counted;
use crate::serve::Service;
use treering::Id;
use treering::agent::Forgetting;
use treering::{Error, ErrorCode, Result};

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

impl Operation for Forget {
    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget";
    const EFFECT: Effect = Effect::Removes;
    const PROFILE: Profile = Profile::Default;
    const HIDDEN: &'static [&'static str] = &["digest", "commit", "seq", "kind"];
    type Answer = ItemsForgotten;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<ItemsForgotten>> {
        let ids = self.ids.unwrap_or_default();
        let ids = ids.iter().map(|id| Id::new(id)).collect::<Result<Vec<_>>>()?;
        let tags = self.tags.unwrap_or_default();
        if ids.is_empty() && tags.is_empty() {
            return Err(Error::invalid("the call names nothing to forget")
                .with_code(ErrorCode::NoCriteria)
                .with_hint("give ids or tags"));
        }
        service.head()?;
        let what = Forgetting {
            ids,
            all_tags: tags,
            // An item of another scope does not meet this condition, whoever names its id (SRV-3).
            reach: Some(service.reach(None)?),
            ..Forgetting::default()
        };
        let mut writer = service.writer()?;
        writer.reason = self.reason;
        let dry_run = self.dry_run.unwrap_or_default();
        let forgot = service.agent().forget(&what, &writer, dry_run)?;
        let verb = if dry_run { "would forget" } else { "forgot" };
        let mut line = format!("{verb} {}", counted(forgot.items.len() as u64, "item"));
        if !forgot.others.is_empty() {
            let count = forgot.others.len().to_string();
            line.extend(["; not in these scopes: ", &count]);
        }
        let ids = forgot.items.iter().map(|item| item.object().id().to_string());
        let others = forgot
            .others
            .iter()
            .map(|id| line_of(&["not in these scopes".to_owned()], id.as_str(), ""));
        let notes: Vec<_> = ids.map(|id| line_of(&[], &id, "")).chain(others).collect();
        let answer = ItemsForgotten::of(service.agent(), forgot, dry_run, false);
        Ok(Answer::new(service.memory().view(), answer, line).with_notes(notes))
    }
}

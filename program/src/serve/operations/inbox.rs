//! `memory_inbox`: what waits for a person, what was learned, and what the memory says.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::Deserialize;

use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::inbox::{ITEMS, Inbox, InboxAsked};
use crate::answers::words::counted;
use crate::serve::Service;
use treering::Result;
use treering::inspect::ingest::moment;

/// What waits for a decision of the person, what was learned, and what the memory says. Untrusted texts are withheld.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskInbox {
    /// What was learned since this time or age, such as `2h` [default: one day]
    since: Option<String>,
}

impl Operation for AskInbox {
    const NAME: &'static str = "memory_inbox";
    const TITLE: &'static str = "Inbox of the person";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Full;
    type Answer = Inbox;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Inbox>> {
        let view = page.view(service, None)?;
        let asked = InboxAsked {
            reach: &service.reach(None)?,
            since: moment::given(self.since.as_deref(), view.now())?,
            limit: ITEMS,
            with_untrusted: false,
        };
        let inbox = Inbox::of(service.agent(), &view, &asked)?;
        let waits = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
        let parts = [
            waits(inbox.quarantined.total, "quarantined"),
            waits(inbox.withheld.total, "untrusted"),
            waits(inbox.flagged.total, "flagged"),
            waits(inbox.conflicting.total, "contradicting"),
            waits(inbox.learned.total, "learned"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let line = format!(
            "{} for the person, who decides on the page of treering serve --ui --write: {}",
            counted(inbox.waiting as u64, "thing"),
            if parts.is_empty() {
                "nothing".to_owned()
            } else {
                parts.join(", ")
            }
        );
        Ok(Answer::new(view, inbox, line))
    }
}

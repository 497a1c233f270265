//! `memory_inbox`: what waits for a person, what was learned, and what the memory says.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::Deserialize;

use super::line::Line;
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::inbox::{ITEMS, Inbox, InboxAsked, InboxItem};
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use treering::inspect::ingest::moment;
use treering::{Result, View};

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
            waits(inbox.merge_conflicts.total, "in conflict after a merge"),
            waits(inbox.learned.total, "learned"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let line = match (inbox.waiting, parts.is_empty()) {
            (_, true) => "nothing waits, and nothing was learned".to_owned(),
            (0, false) => format!("nothing waits: {}", parts.join(", ")),
            (waiting, false) => format!(
                "{} for the person, who decides on the page of treering serve --ui --write: {}",
                counted(waiting as u64, "thing"),
                parts.join(", ")
            ),
        };
        let notes = notes_of(&view, &inbox);
        Ok(Answer::new(view, inbox, line).with_notes(notes))
    }
}

/// Returns a line for each thing of the inbox, below the names of the groups.
fn notes_of(view: &View, inbox: &Inbox) -> Vec<String> {
    let lines = |items: &[InboxItem]| -> Vec<String> {
        let line = |item: &InboxItem| {
            let line = item
                .id
                .as_ref()
                .map_or_else(|| Line::of(""), |id| Line::of_id(view, id));
            let line = line.says([item.shown.trust]).flagged(&item.shown.flags);
            line.text_unless(item.shown.is_withheld, item.shown.text.as_deref())
                .to_string()
        };
        items.iter().map(line).collect()
    };
    let stopped = inbox.quarantined.items.iter();
    let stopped = stopped.map(|held| Line::of(&held.name).says(held.trust).to_string());
    let pairs = inbox.conflicting.pairs.iter();
    let pairs = pairs.flat_map(|pair| lines(&[pair.newer.clone(), pair.older.clone()]));
    let open = inbox.merge_conflicts.items.iter().map(|open| {
        let line = open
            .id
            .as_ref()
            .map_or_else(|| Line::of(""), |id| Line::of_id(view, id));
        line.says([open.fields.join(", ")]).to_string()
    });
    let mut groups = vec![
        ("quarantined:".to_owned(), stopped.collect()),
        ("untrusted:".to_owned(), lines(&inbox.withheld.items)),
        ("flagged:".to_owned(), lines(&inbox.flagged.items)),
        ("contradicting:".to_owned(), pairs.collect::<Vec<_>>()),
        ("in conflict after a merge:".to_owned(), open.collect()),
        ("learned:".to_owned(), lines(&inbox.learned.items)),
    ];
    groups.extend(
        inbox
            .says
            .iter()
            .map(|said| (format!("says {}:", quoted(&said.scope)), lines(&said.items))),
    );
    let groups = groups.into_iter().filter(|(_, lines)| !lines.is_empty());
    groups
        .flat_map(|(name, lines)| [vec![name], lines].concat())
        .collect()
}

//! A person corrects the text of an item. The other fields of the item stay.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - EDI-1: an edit of an untrusted item stays untrusted, because the new text may repeat the old one. Only a promotion
//!   raises it (TRU-1).

use super::{RememberOptions, Remembered, reviewed, unless_erased};
use crate::agent::Agent;
use crate::agent::item::item_of;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::engine::Writer;
use crate::error::{Error, ErrorCode, Result};
use crate::object::Id;
use treering_text::scan::Verdict;

/// The attributes that describe the old text.
const OF_TEXT: [&str; 5] = [
    attribute::FLAGS,
    attribute::PROMOTED,
    attribute::LEVEL,
    attribute::ORIGINAL,
    attribute::WRITTEN,
];
/// The kinds whose text belongs to a file or a conversation.
const FIXED: [&str; 3] = [kind::DOCUMENT, kind::HEADING, kind::ENTRY];

/// Replaces the text of the version `expected` of an item in one commit of op `remember`. A dry run only reviews
/// the new text.
///
/// # Errors
/// `NotFound`: the item does not exist. `Conflict`: the current version is not `expected`. `Denied` (code
/// `not_owner`): the text belongs to a file or a conversation. Also the errors of [`Agent::remember`].
pub fn edit(
    agent: &Agent,
    id: &Id,
    expected: ObjectDigest,
    text: &str,
    writer: &Writer,
    dry_run: bool,
) -> Result<Remembered> {
    let view = agent.memory().refresh()?;
    let old =
        unless_erased(view.get(id))?.ok_or_else(|| Error::not_found(format!("there is no item '{id}'")))?;
    if old.digest() != expected {
        return Err(Error::conflict(format!("the item '{id}' changed meanwhile"))
            .with_code(ErrorCode::Changed)
            .with_ids(vec![id.to_string()])
            .with_hint("read the item again, and repeat the edit"));
    }
    if FIXED.contains(&old.kind()) {
        let error = format!("'{id}' is a part of a file or of a conversation, so it is not edited alone");
        return Err(Error::denied(ErrorCode::NotOwner, error)
            .with_ids(vec![id.to_string()])
            .with_hint("edit the file and ingest it again, or store a new fact"));
    }
    let mut item = item_of(old.to_new()?);
    text.clone_into(&mut item.text);
    for name in OF_TEXT {
        drop(item.others.remove(name));
    }
    if !old.origin().is_trusted() {
        // INVARIANT EDI-1: the class of the old version stays.
        item.derived_from.push(old.digest());
    }
    if dry_run {
        let reviewed = reviewed(agent, item, false, writer)?;
        if reviewed.verdict == Verdict::Block {
            return Err(reviewed.refusal());
        }
        return Ok(Remembered::of(&reviewed, id.clone(), view.commit()));
    }
    let options = RememberOptions {
        expected: Some(expected),
        is_quick: true,
        ..RememberOptions::default()
    };
    agent.remember(item, &options, writer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{NewItem, Settings, Status};
    use crate::engine::Memory;
    use crate::object::{Kind, NewObject, Origin};

    #[test]
    fn an_edit_keeps_the_other_fields_and_needs_the_version_that_the_person_saw() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        let vera = Writer::person("vera");
        let mut tea = NewItem::new("Tea is black.");
        tea.tags = vec!["drinks".to_owned()];
        let stored = agent.remember(tea, &RememberOptions::default(), &vera).unwrap();
        let (id, digest) = (stored.id, stored.digest.unwrap());
        let commits = agent.memory().kept_commits();
        let preview = edit(&agent, &id, digest, "Tea is green.", &vera, true).unwrap();
        assert_eq!(preview.text, "Tea is green.");
        assert_eq!(
            agent.memory().kept_commits(),
            commits,
            "a preview changes nothing"
        );
        let edited = edit(&agent, &id, digest, "Tea is green.", &vera, false).unwrap();
        assert_eq!(edited.status, Status::Updated);
        assert_eq!(agent.memory().kept_commits(), commits + 1);
        let now = agent.memory().view().get(&id).unwrap().unwrap();
        assert_eq!(now.content(), Some("Tea is green."));
        assert_eq!(crate::agent::Item::from(now).tags(), ["drinks"]);
        let late = edit(&agent, &id, digest, "Tea is white.", &vera, false).unwrap_err();
        assert_eq!(late.code(), ErrorCode::Changed);
    }

    /// INVARIANT EDI-1: an edit of an untrusted item stays untrusted.
    #[test]
    fn an_edit_is_no_promotion() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        let id = Id::new("page").unwrap();
        for (kind, code) in [("page", None), ("heading", Some(ErrorCode::NotOwner))] {
            let mut page = NewObject::new(id.clone(), Kind::new(kind).unwrap());
            page.content = Some(format!("Prices of the {kind} rise."));
            drop(
                agent
                    .memory()
                    .put(page, &Writer::of(Origin::ToolExternal))
                    .unwrap(),
            );
            let digest = agent.memory().view().get(&id).unwrap().unwrap().digest();
            let edited = edit(
                &agent,
                &id,
                digest,
                "Prices fall.",
                &Writer::person("vera"),
                false,
            );
            assert_eq!(edited.err().map(|error| error.code()), code);
            let now = agent.memory().view().get(&id).unwrap().unwrap();
            assert_eq!(now.origin(), Origin::ToolExternal);
        }
    }
}

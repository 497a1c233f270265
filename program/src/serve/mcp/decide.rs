//! What a person decides in the app: release or reject what was held back, and trust an item. It also shows the texts of a
//! session before and after.
//!
//! The host shows the app in a frame of its own, and keeps this tool from the model (`visibility` of MCP Apps). The page alone
//! has the ticket, which no answer of a tool contains. So a model that calls the tool all the same is refused.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - UIA-2: a decision needs the ticket of the page, a client on this machine that shows apps, and a server that is not
//!   started as untrusted. It names the version that the person saw.

use std::time::Duration;

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::app::about;
use crate::answers::agent::held::HeldReviewed;
use crate::answers::line_diff::hunks;
use crate::serve::Service;
use crate::serve::operations::Sent;
use treering::agent::{PersonSays, Review};
use treering::inspect::agent::trust::review;
use treering::revert::{Conflicts, Selection};
use treering::{Error, ErrorCode, Id, Object, ObjectDigest, Origin, Result, Root, Writer};
use treering_text::visible::cut;

/// The name of the tool.
pub(super) const TOOL: &str = "memory_decide";
/// The number of objects whose texts are shown.
const OBJECTS_MAX: usize = 50;
/// The number of characters of a text that is shown before or after.
const TEXT_CHARS: usize = 4_000;
/// The longest time for the difference of two texts.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    action: Action,
    ticket: String,
    /// The session whose changes are shown.
    session: Option<String>,
    /// The quarantined change.
    name: Option<String>,
    /// The version of the item that the person saw.
    digest: Option<String>,
    /// The fields that a promotion keeps.
    #[serde(default)]
    keep: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    Changes,
    Release,
    Reject,
    Promote,
}

/// The answer to the page.
#[derive(Default, Serialize)]
struct Decided {
    root: Option<Root>,
    dry_run: bool,
    changes: Vec<TextChange>,
    changes_total: usize,
    held: Option<HeldReviewed>,
    review: Option<Review>,
}

/// An object that a session changed, with its texts. A text that is missing was not there.
#[derive(Serialize)]
struct TextChange {
    id: Id,
    before: Option<String>,
    after: Option<String>,
    /// The changed lines, as `diff` prints them.
    lines: String,
}

/// Returns the definition of the tool, which a client offers to the page only.
pub(super) fn tool() -> Tool {
    let text = json!({ "type": "string" });
    let schema = json!({
        "type": "object",
        "properties": {
            "action": { "enum": ["changes", "release", "reject", "promote"] },
            "ticket": text, "session": text, "name": text, "digest": text,
            "keep": { "type": "array", "items": text },
            "dry_run": { "type": "boolean" },
        },
        "required": ["action", "ticket"],
        "additionalProperties": false,
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(TOOL, "For the inbox of the person, not for a model", schema);
    tool.meta = Some(about(
        json!({ "resourceUri": super::app::URI, "visibility": ["app"] }),
    ));
    tool
}

/// Answers the page. `ticket` is the one that the page has; there is none over a network.
///
/// # Errors
/// `Denied` (code `not_a_person`) without the ticket (UIA-2); the errors of the decision.
pub(super) fn call(service: &Service, arguments: Map<String, Json>, ticket: Option<&str>) -> Result<Sent> {
    let asked: Asked = serde_json::from_value(Json::Object(arguments)).map_err(|error| {
        Error::invalid(format!("the request of the page is wrong: {error}")).with_code(ErrorCode::Usage)
    })?;
    // INVARIANT UIA-2: a decision needs the ticket of the page.
    if ticket != Some(asked.ticket.as_str()) || !service.caller().who.writer.trust.is_trusted() {
        let text = "only a person decides this, in the inbox of a client on this machine";
        return Err(Error::denied(ErrorCode::NotAPerson, text).with_hint(
            "a person uses treering promote, treering quarantine, or the page of treering serve --ui --write",
        ));
    }
    service.head()?;
    let mut writer = service.writer()?;
    writer.trust = Origin::DirectUser;
    let (mut decided, line) = match asked.action {
        Action::Changes => changes(service, &asked, &writer)?,
        Action::Release | Action::Reject => held(service, &asked, &writer)?,
        Action::Promote => promote(service, &asked, &writer)?,
    };
    decided.root = Some(service.memory().view().root());
    decided.dry_run = asked.dry_run;
    let json = serde_json::to_value(&decided).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Sent {
        json: json.as_object().cloned().unwrap_or_default(),
        text: line,
    })
}

/// Returns the texts that a session changed, before and after.
fn changes(service: &Service, asked: &Asked, writer: &Writer) -> Result<(Decided, String)> {
    let session = named(asked.session.as_deref(), "session")?;
    let mut selection = Selection::default();
    selection.sessions.push(session.to_owned());
    let memory = service.memory();
    let revert = memory.revert(selection).conflicts(Conflicts::Keep);
    let reach = service.reach(None)?;
    let version = |digest: Option<ObjectDigest>| {
        Ok::<_, Error>(digest.map(|digest| memory.version(digest)).transpose()?.flatten())
    };
    let mut decided = Decided::default();
    for object in revert.preview(writer)?.reverted {
        let (before, after) = (version(object.to)?, version(object.from)?);
        if !after
            .iter()
            .chain(&before)
            .all(|object| reach.has(object.scope()))
        {
            continue;
        }
        decided.changes_total += 1;
        if decided.changes.len() == OBJECTS_MAX {
            continue;
        }
        let [before, after] =
            [before, after].map(|object| object.map(|object| text_of(service, &object)).transpose());
        let (before, after) = (before?, after?);
        // A text that does not end its last line differs in more than its words.
        let [old, new] = [&before, &after].map(|text| format!("{}\n", text.as_deref().unwrap_or_default()));
        let lines = hunks(&old, &new, 1, PATIENCE);
        decided.changes.push(TextChange {
            id: object.id,
            lines: lines.into_iter().map(|hunk| hunk.to_string()).collect(),
            before,
            after,
        });
    }
    let line = format!("{} changed", decided.changes_total);
    Ok((decided, line))
}

/// Returns the text of a version for the person, with markers for secrets and invisible characters written out.
fn text_of(service: &Service, object: &Object) -> Result<String> {
    let view = service.memory().view();
    let shown = review(service.agent(), &view, object, object.origin())?;
    Ok(cut(&shown.text, TEXT_CHARS))
}

/// Releases or rejects a quarantined change.
fn held(service: &Service, asked: &Asked, writer: &Writer) -> Result<(Decided, String)> {
    let name = named(asked.name.as_deref(), "name")?;
    let agent = service.agent();
    let reach = service.reach(None)?;
    let known = agent.quarantined(&reach)?;
    if !known.iter().any(|held| held.name == name) {
        return Err(Error::not_found(format!(
            "there is no quarantined change {name} here"
        )));
    }
    let decided = Decided {
        held: Some(HeldReviewed::of(agent, name.to_owned())?),
        ..Decided::default()
    };
    let is_release = asked.action == Action::Release;
    let what = match (asked.dry_run, is_release) {
        (true, true) => "would release",
        (true, false) => "would reject",
        (false, true) => {
            drop(agent.release(name, PersonSays::InHost, writer)?);
            "released"
        }
        (false, false) => {
            agent.discard(name, writer)?;
            "rejected"
        }
    };
    Ok((decided, format!("{what} {name}")))
}

/// Promotes the version that the person saw.
fn promote(service: &Service, asked: &Asked, writer: &Writer) -> Result<(Decided, String)> {
    let digest = named(asked.digest.as_deref(), "digest")?;
    let seen: ObjectDigest = digest
        .parse()
        .map_err(|_| Error::invalid("the digest is not one").with_code(ErrorCode::Usage))?;
    let (agent, reach) = (service.agent(), service.reach(None)?);
    let object = agent.memory().version(seen)?;
    let object = object.filter(|object| reach.has(object.scope()));
    let object = object.ok_or_else(|| Error::not_found("there is no such version here"))?;
    // A version that is not the present one is refused.
    let decided = Decided {
        review: Some(agent.review(object.id(), Some(seen))?),
        ..Decided::default()
    };
    if asked.dry_run {
        return Ok((decided, format!("would trust {}", object.id())));
    }
    let keep: Vec<&str> = asked.keep.iter().map(String::as_str).collect();
    let promoted = agent.promote(object.id(), seen, &keep, PersonSays::InHost, writer)?;
    Ok((
        decided,
        format!("{}: {} is now {}", promoted.id, promoted.from, promoted.to),
    ))
}

fn named<'a>(given: Option<&'a str>, name: &str) -> Result<&'a str> {
    given.ok_or_else(|| Error::invalid(format!("the request lacks {name}")).with_code(ErrorCode::Usage))
}

//! What a person decides in the app: release or reject what was held back, and trust an item. It also shows the texts of a
//! session before and after.
//!
//! The host shows the app in a frame of its own, and keeps this tool from the model (`visibility` of MCP Apps). The page alone
//! has its ticket, which no answer of a tool contains. So a model that calls the tool all the same is refused.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - UIA-2: a decision needs the ticket of the page, a client on this machine that shows apps, and a server that is not
//!   started as untrusted. It names the change or the version that this page showed whole before.
//! - UIA-3: the log tells that the app decided, and not the model: the actor is [`ACTOR`], and the reason says so.

use std::time::Duration;

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::app::about;
use super::tickets::{Subject, Tickets};
use crate::answers::agent::held::HeldReviewed;
use crate::answers::line_diff::hunks;
use crate::serve::Service;
use crate::serve::operations::Sent;
use treering::agent::{PersonSays, Review};
use treering::inspect::agent::trust::review;
use treering::revert::{Conflicts, Selection};
use treering::{Error, ErrorCode, Id, Object, ObjectDigest, Origin, Result, Writer};

/// The name of the tool.
pub(super) const TOOL: &str = "memory_decide";
/// The number of objects whose texts are shown.
const OBJECTS_MAX: usize = 50;
/// The number of characters of a changed line, and of all changed lines of an object.
const LINE_CHARS: usize = 2_000;
const TEXT_CHARS: usize = 2 * LINE_CHARS;
/// The actor of a decision.
const ACTOR: &str = "treering-inbox";
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
    changes: Vec<TextChange>,
    changes_total: usize,
    held: Option<HeldReviewed>,
    review: Option<Review>,
}

/// An object that a session changed.
#[derive(Serialize)]
struct TextChange {
    id: Id,
    /// The changed lines of its text, each with its sign in front.
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

/// Answers the page.
///
/// # Errors
/// `Denied` (code `not_a_person`) without the ticket of a page, or if the page did not show what it decides about (UIA-2);
/// the errors of the decision.
pub(super) fn call(service: &Service, arguments: Map<String, Json>, tickets: &Tickets) -> Result<Sent> {
    let asked: Asked = serde_json::from_value(Json::Object(arguments)).map_err(|error| {
        Error::invalid(format!("the request of the page is wrong: {error}")).with_code(ErrorCode::Usage)
    })?;
    // INVARIANT UIA-2: a decision needs the ticket of the page.
    if !tickets.knows(&asked.ticket) {
        return Err(not_a_person(
            "only a person decides this, in the inbox of a client on this machine",
        ));
    }
    service.head()?;
    // INVARIANT UIA-3
    let mut writer = service.writer()?.actor(ACTOR);
    writer.trust = Origin::DirectUser;
    let (decided, line) = match asked.action {
        Action::Changes => changes(service, &asked, &writer)?,
        Action::Release | Action::Reject => held(service, &asked, tickets, &writer)?,
        Action::Promote => promote(service, &asked, tickets, &writer)?,
    };
    let json = serde_json::to_value(&decided).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Sent {
        json: json.as_object().cloned().unwrap_or_default(),
        text: line,
    })
}

/// Notes what a preview shows. A decision must be about what its page showed (UIA-2).
fn seen(asked: &Asked, tickets: &Tickets, subject: Subject) -> Result<()> {
    if asked.dry_run {
        tickets.show(&asked.ticket, subject);
    } else if !tickets.has_shown(&asked.ticket, &subject) {
        return Err(not_a_person("this page did not show what it decides about"));
    }
    Ok(())
}

fn not_a_person(text: &str) -> Error {
    Error::denied(ErrorCode::NotAPerson, text).with_hint(
        "a person opens the inbox again, or uses treering promote, treering quarantine, or the page of treering serve --ui --write",
    )
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
        decided.changes.push(TextChange {
            lines: difference(&text_of(service, before)?, &text_of(service, after)?),
            id: object.id,
        });
    }
    let line = format!("{} changed", decided.changes_total);
    Ok((decided, line))
}

/// Returns the text of a version for the person, with markers for secrets and invisible characters written out. Its last
/// line is ended, because a text that does not end it differs in more than its words.
fn text_of(service: &Service, object: Option<Object>) -> Result<String> {
    let Some(object) = object else {
        return Ok(String::new());
    };
    let view = service.memory().view();
    Ok(review(service.agent(), &view, &object, object.origin())?.text + "\n")
}

/// Returns the lines in which whole texts differ. Only then is the difference cut, so that no change is hidden by a long text
/// before it.
fn difference(old: &str, new: &str) -> String {
    let mut shown = String::new();
    let mut left = TEXT_CHARS;
    for (sign, line) in hunks(old, new, 1, PATIENCE)
        .iter()
        .flat_map(|hunk| hunk.cut(LINE_CHARS))
    {
        let Some(rest) = left.checked_sub(line.chars().count()) else {
            return shown + " ...\n";
        };
        left = rest;
        shown.push(sign);
        shown.extend([line.as_str(), "\n"]);
    }
    shown
}

/// Releases or rejects a quarantined change.
fn held(service: &Service, asked: &Asked, tickets: &Tickets, writer: &Writer) -> Result<(Decided, String)> {
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
    seen(asked, tickets, Subject::Held(name.to_owned()))?;
    let is_release = asked.action == Action::Release;
    let what = match (asked.dry_run, is_release) {
        (true, true) => "would release",
        (true, false) => "would reject",
        (false, true) => {
            drop(agent.release(name, PersonSays::InApp, writer)?);
            "released"
        }
        (false, false) => {
            agent.discard(name, &writer.clone().reason(PersonSays::InApp.name()))?;
            "rejected"
        }
    };
    Ok((decided, format!("{what} {name}")))
}

/// Promotes the version that the person saw.
fn promote(
    service: &Service,
    asked: &Asked,
    tickets: &Tickets,
    writer: &Writer,
) -> Result<(Decided, String)> {
    let digest = named(asked.digest.as_deref(), "digest")?;
    let version: ObjectDigest = digest
        .parse()
        .map_err(|_| Error::invalid("the digest is not one").with_code(ErrorCode::Usage))?;
    let (agent, reach) = (service.agent(), service.reach(None)?);
    let object = agent.memory().version(version)?;
    let object = object.filter(|object| reach.has(object.scope()));
    let object = object.ok_or_else(|| Error::not_found("there is no such version here"))?;
    // A version that is not the present one is refused.
    let decided = Decided {
        review: Some(agent.review(object.id(), Some(version))?),
        ..Decided::default()
    };
    seen(asked, tickets, Subject::Version(version))?;
    if asked.dry_run {
        return Ok((decided, format!("would trust {}", object.id())));
    }
    let keep: Vec<&str> = asked.keep.iter().map(String::as_str).collect();
    let promoted = agent.promote(object.id(), version, &keep, PersonSays::InApp, writer)?;
    Ok((
        decided,
        format!("{}: {} is now {}", promoted.id, promoted.from, promoted.to),
    ))
}

fn named<'a>(given: Option<&'a str>, name: &str) -> Result<&'a str> {
    given.ok_or_else(|| Error::invalid(format!("the request lacks {name}")).with_code(ErrorCode::Usage))
}

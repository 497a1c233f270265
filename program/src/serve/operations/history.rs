//! The operations about the past of an item: history and blame.
//!
//! # Layer
//! Layer 9, part of serve.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{Line, Row, minute};
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::history::text_of;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::errors::REVIEW_HINT;
use crate::serve::naming::{LastVersion, Naming};
use treering::blame::{BlamedPart, Part};
use treering::inspect::agent::vocabulary::attribute;
use treering::{Error, ErrorCode, HistoryEntry, ObjectDigest, Origin, Result, Time, Value, View};

/// The number of changes that a page of a history has at most.
const CHANGES_OF_PAGE: usize = 100;

/// The changes of one item, newest first, with who made each.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    id: String,
}

/// The answer of `memory_history`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Changes {
    changes: Vec<Version>,
}

/// A change of an item.
#[derive(Serialize, JsonSchema)]
struct Version {
    digest: Option<ObjectDigest>,
    erased: bool,
    /// `trust` is the class of the version after the change. A removal has none.
    #[serde(flatten)]
    made: Made,
    /// The class of the writer.
    by: Option<Origin>,
}

impl Version {
    fn of(service: &Service, entry: &HistoryEntry) -> Result<Self> {
        let memory = service.memory();
        let version = entry.digest.filter(|_| !entry.erased && !entry.lost);
        let version = version.map(|digest| memory.version(digest)).transpose()?;
        let maker = entry.maker();
        Ok(Self {
            digest: entry.digest,
            erased: entry.erased,
            made: Made::of(service, entry, version.flatten().map(|version| version.origin())),
            by: maker.map(|maker| memory.seen_origin(maker.commit.trust)),
        })
    }
}

impl Row for Version {
    fn line(&self, _: &View) -> Line {
        self.made
            .line(format_args!("seq:{}", self.made.seq))
            .labelled("by", self.by)
    }
}

/// How a change was made. Anybody may have written the source and the reason of a commit, so they are no part of it
/// (SRV-3). If the commit was thinned, the operation, the actor and the session are null.
#[derive(Serialize, JsonSchema)]
struct Made {
    seq: u64,
    time: Time,
    op: Option<String>,
    actor: Option<String>,
    session: Option<String>,
    trust: Option<Origin>,
    thinned: bool,
    /// Whether the session is that of the caller.
    #[serde(skip)]
    is_own: bool,
}

impl Made {
    fn of(service: &Service, entry: &HistoryEntry, trust: Option<Origin>) -> Self {
        let maker = entry.maker().map(|maker| &maker.commit);
        Self {
            seq: entry.commit.commit.seq,
            time: entry.time,
            op: maker.map(|commit| commit.op.as_str().to_owned()),
            actor: maker.and_then(|commit| commit.actor.clone()),
            session: maker.and_then(|commit| commit.session.clone()),
            trust,
            thinned: entry.thinned,
            is_own: maker.is_some_and(|commit| commit.session.as_deref() == Some(service.session())),
        }
    }

    fn line(&self, name: impl Display) -> Line {
        let line = Line::of(name).says(self.trust).says([minute(self.time)]);
        let line = line.labelled("op", self.op.as_deref());
        if self.is_own {
            return line.says(["this session"]);
        }
        line.labelled("actor", self.actor.as_deref())
            .labelled("session", self.session.as_deref())
    }
}

impl Operation for History {
    const NAME: &'static str = "memory_history";
    const TITLE: &'static str = "History of an item";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Full;
    const PAGED: Option<&'static str> = Some("changes");
    type Answer = Changes;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Changes>> {
        let view = page.view(service, None)?;
        let (memory, id) = (service.memory(), service.id(&view, &self.id)?);
        let newest = view.commit().commit.seq;
        // The newest version that stands, or stood before a removal, tells the scope (SRV-3).
        let (reach, version) = (service.reach(None)?, service.last_version(&view, &id)?);
        if !matches!(version, LastVersion::Kept(version) if reach.has(version.scope())) {
            return Err(service
                .object(&view, &self.id)
                .err()
                .unwrap_or_else(|| Error::not_found("no item has this id")));
        }
        let is_read = |entry: &Result<HistoryEntry>| {
            entry
                .as_ref()
                .map_or(true, |entry| entry.commit.commit.seq <= newest)
        };
        let entries = memory.changes_of(&id).filter(is_read).skip(page.start);
        let entries = entries.take(CHANGES_OF_PAGE + 1);
        let mut changes = entries
            .map(|entry| Version::of(service, &entry?))
            .collect::<Result<Vec<_>>>()?;
        let has_more = changes.len() > CHANGES_OF_PAGE;
        changes.truncate(CHANGES_OF_PAGE);
        let count = counted((page.start + changes.len()) as u64, "change");
        let line = format!(
            "{count} of {}{}",
            quoted(&self.id),
            if has_more { ", and more" } else { "" }
        );
        let answer = Answer::of_rows(view, changes, |changes| Changes { changes }, line);
        Ok(answer.beginning_at(page.start).with_more(has_more))
    }
}

/// Who wrote each line and attribute of an item.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Blame {
    id: String,
}

/// The answer of `memory_blame`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Parts {
    parts: Vec<PartRow>,
}

/// A part of an item. `trust` is the origin of the version that had the part first.
#[derive(Serialize, JsonSchema)]
struct PartRow {
    part: String,
    text: String,
    #[serde(flatten)]
    made: Made,
}

impl Row for PartRow {
    fn line(&self, _: &View) -> Line {
        self.made.line(&self.part).text(Some(&self.text))
    }
}

impl Operation for Blame {
    const NAME: &'static str = "memory_blame";
    const TITLE: &'static str = "Who wrote it";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Full;
    const PAGED: Option<&'static str> = Some("parts");
    const LEAVES_OUT: bool = true;
    type Answer = Parts;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Parts>> {
        let view = page.view(service, None)?;
        let object = service.object(&view, &self.id)?;
        if !object.origin().is_trusted() {
            return Err(withheld(&self.id));
        }
        let memory = service.memory();
        let parts = memory.blame(&view, object.id())?;
        let mut naming = Naming::new(service, &view, false)?;
        let mut named = Vec::new();
        for part in parts {
            if names_all(&part, &mut naming)? {
                named.push(part);
            }
        }
        let left_out = naming.left_out;
        let parts = named.iter().map(|part| PartRow {
            part: part.part.to_string(),
            text: service
                .agent()
                .scanner()
                .redact(&text_of(&part.value))
                .into_owned(),
            made: Made::of(service, &part.change, Some(memory.seen_origin(part.trust))),
        });
        let parts: Vec<_> = parts.collect();
        let line = format!("{} of {}", counted(parts.len() as u64, "part"), quoted(&self.id));
        Ok(Answer::of_rows(view, parts, |parts| Parts { parts }, line).leaving_out(left_out))
    }
}

/// Returns whether an answer may name every item that a part names as its value.
fn names_all(part: &BlamedPart, naming: &mut Naming<'_>) -> Result<bool> {
    match &part.part {
        Part::Parent => {}
        Part::Attribute(name) if name == attribute::SUPERSEDES => {}
        _ => return Ok(true),
    }
    let values = match &part.value {
        Value::List(values) => values.as_slice(),
        value => std::slice::from_ref(value),
    };
    let mut ids = values.iter().filter_map(Value::as_text);
    ids.try_fold(true, |all, id| Ok(naming.has(id)? && all))
}

fn withheld(id: &str) -> Error {
    Error::denied(
        ErrorCode::LessTrusted,
        format!("the text of '{id}' is withheld, because it is not trusted"),
    )
    .with_hint(REVIEW_HINT)
}

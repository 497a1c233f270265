//! `memory_remember`: stores a text.
//!
//! # Layer
//! Layer 9, part of serve.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::line::{Line, Text, named, short};
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::words::quoted;
use crate::serve::Service;
use crate::serve::naming::LeftOut;
use crate::serve::service::{Lowered, ScopeWord};
use treering::agent::{Alike, ItemFields, NewItem, RememberOptions, Status};
use treering::inspect::agent::expected_version;
use treering::inspect::agent::trust::held_back;
use treering::inspect::ingest::moment::{after, span};
use treering::{Error, ErrorCode, Id, ObjectDigest, Origin, Result, Root, Scope};
use treering_text::recall::five_digits;

/// Store one statement for later sessions. Never store secrets. The answer names items that say the same or the
/// opposite.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// One statement that is clear without this conversation
    text: String,
    /// A name; replaces the item of that name
    id: Option<String>,
    /// fact, decision, preference or another [default: fact]
    kind: Option<String>,
    tags: Option<Vec<String>>,
    /// Where it holds
    scope: Option<ScopeWord>,
    /// Whom or what it is about
    subject: Option<String>,
    /// The URL, file or tool that you read it from, if it is not your own
    read_from: Option<String>,
    /// Ids that it replaces
    supersedes: Option<Vec<String>>,
    /// 12h, 30d
    ttl: Option<String>,
    /// With id: the version that it must still have
    expected: Option<String>,
}

/// The answer of `memory_remember`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Stored {
    id: Id,
    root: Root,
    status: Status,
    scope: Scope,
    /// The version that is stored now.
    digest: Option<ObjectDigest>,
    /// If recall withholds it until a person promotes it.
    #[serde(flatten)]
    lowered: Option<Lowered>,
    duplicates: Vec<Similar>,
    conflicts: Vec<Similar>,
}

shown! {
    /// An item that says the same as the new one, or the opposite.
    struct Similar of Alike {
        id: Id,
        #[serde(serialize_with = "five_digits")]
        similarity: f32,
        #[serde(flatten)]
        shown: Text,
    }
}

impl Operation for Remember {
    const NAME: &'static str = "memory_remember";
    const TITLE: &'static str = "Remember";
    const EFFECT: Effect = Effect::Adds;
    const PROFILE: Profile = Profile::Minimal;
    const LEAVES_OUT: bool = true;
    type Answer = Stored;

    fn gives_foreign(arguments: &Map<String, Json>) -> bool {
        arguments.get("read_from").is_some_and(|from| !from.is_null())
    }

    fn run(mut self, service: &Service, _: &Page) -> Result<Answer<Stored>> {
        let agent = service.agent();
        let is_own = self.read_from.is_none();
        let options = self.resolved(service)?;
        let mut writer = service.writer()?;
        writer.source.clone_from(&self.read_from);
        let old = self.supersedes.clone().unwrap_or_default();
        let mut remembered = agent.remember(self.item(service)?, &options, &writer)?;
        if let Some(held) = &remembered.held_as {
            return Err(held_back(agent, held));
        }
        let view = agent.memory().view();
        let class = view.get(&remembered.id)?.map(|object| object.origin());
        let mut line = match remembered.status {
            Status::Duplicate | Status::Unchanged => {
                format!("already stored as {}", named(&view, &remembered.id))
            }
            Status::Disabled => "nothing was stored: the memory is disabled".to_owned(),
            // The status is about the old items, and would read as if the new one were superseded.
            Status::Superseded => {
                let old = old.iter().map(|id| Ok(named(&view, &Id::new(id)?)));
                format!(
                    "created {} in {}, supersedes {}",
                    named(&view, &remembered.id),
                    quoted(remembered.scope.as_str()),
                    old.collect::<Result<Vec<_>>>()?.join(", ")
                )
            }
            status => format!(
                "{status} {} in {}",
                named(&view, &remembered.id),
                quoted(remembered.scope.as_str())
            ),
        };
        if options.expected.is_some() {
            line.extend(
                remembered
                    .digest
                    .map(|digest| format!("; version {}", short(digest))),
            );
        }
        if remembered.is_redacted {
            line.push_str("; secrets were replaced by markers");
        }
        let mut lowered = class
            .filter(|class| !class.is_trusted())
            .map(|class| service.lowered(class));
        if let Some(lowered) = &mut lowered {
            // Without a source, only the session lowers the class of a new text.
            if !is_own || service.class(&view)?.is_trusted() {
                lowered.trust_reason = None;
            }
            let _ = write!(line, "{lowered}: recall withholds it until a person promotes it");
        }
        let (mut notes, mut untrusted) = (Vec::new(), 0);
        for (what, alike) in [
            ("similar", &mut remembered.duplicates),
            ("contradicts", &mut remembered.conflicts),
        ] {
            let found = alike.len();
            alike.retain(|one| one.shown.trust.is_trusted());
            untrusted += found - alike.len();
            notes.extend(alike.iter().map(|one| {
                let line = Line::of_id(&view, &one.id).says([one.shown.trust]).says([what]);
                line.text(one.shown.text.as_deref()).to_string()
            }));
        }
        let similar = |alike: Vec<Alike>| alike.into_iter().map(Similar::from).collect();
        let stored = Stored {
            root: view.root(),
            id: remembered.id,
            status: remembered.status,
            scope: remembered.scope,
            digest: remembered.digest,
            lowered,
            duplicates: similar(remembered.duplicates),
            conflicts: similar(remembered.conflicts),
        };
        let answer = Answer::new(view, stored, line);
        Ok(answer
            .with_notes(notes)
            .leaving_out(LeftOut::of_untrusted(untrusted)))
    }
}

impl Remember {
    /// Puts whole ids into the place of short ones. Returns the options of the verb.
    fn resolved(&mut self, service: &Service) -> Result<RememberOptions> {
        let view = service.head()?;
        let whole = |text: &String| Ok(service.id(&view, text)?.to_string());
        self.id = self.id.as_ref().map(whole).transpose()?;
        if let Some(ids) = &mut self.supersedes {
            *ids = ids.iter().map(whole).collect::<Result<_>>()?;
        }
        let expected = match (&self.expected, &self.id) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(Error::invalid("expected needs id")
                    .with_code(ErrorCode::Usage)
                    .with_hint("memory_get shows the id and the version of an item"));
            }
            (Some(version), Some(id)) => Some(expected_version(service.memory(), &Id::new(id)?, version)?),
        };
        Ok(RememberOptions {
            expected,
            ..RememberOptions::default()
        })
    }

    fn item(self, service: &Service) -> Result<NewItem> {
        let ttl = self.ttl.as_deref().map(span).transpose()?;
        let now = service.head()?.now();
        let fields = ItemFields {
            text: self.text,
            id: self.id,
            kind: self.kind,
            scope: self.scope.map(|word| word.to_string()),
            tags: self.tags.unwrap_or_default(),
            subject: self.subject,
            session: Some(service.session().to_owned()),
            expires: ttl.and_then(|ttl| after(ttl, now)),
            supersedes: self.supersedes.unwrap_or_default(),
            origin: self
                .read_from
                .as_deref()
                .map(|source| class_of(source).to_string()),
            ..ItemFields::default()
        };
        fields.into_item(&service.caller().who)
    }
}

/// Returns the class of a text that a model read somewhere (SRV-1). The classes are equally untrusted, so the choice
/// only tells a reader what the source is.
fn class_of(source: &str) -> Origin {
    if source.contains('/') || source.contains('.') {
        Origin::Document
    } else {
        Origin::ToolExternal
    }
}

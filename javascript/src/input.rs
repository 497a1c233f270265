//! The parts of inputs that several verbs have. `x-ts` is the type in TypeScript of what no schema says.

use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::Value as Json;
use treering::agent::{OnDuplicate, Reach, Sensitivity};
use treering::inspect::ingest::json::value_from_json;
use treering::{Attributes, Id, Kind, ObjectDigest, Origin, Position, Revision, Scope, Time, Value};

use crate::fault::{Done, Fault};
use crate::handle::{self, Shared, Store, Thing, View};

/// Declares the type of a field in TypeScript.
macro_rules! ts {
    ($($name:ty: $type:literal,)*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "x-ts": $type })
            }
        }
    )*};
}

ts! {
    Moment: "Time",
    Texts: "Texts",
    At: "Revision",
    DraftHandle: "Draft",
    AnyAttributes: "Attributes",
    Trust: "Trust",
    Duplicates: "\"warn\" | \"skip\" | \"merge\" | \"supersede\"",
    Level: "\"none\" | \"pii\" | \"internal\" | \"credentials\"",
}

/// A time: a text in RFC 3339. JavaScript writes a `Date` as such a text.
pub(crate) struct Moment(pub(crate) Time);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let text = String::deserialize(given)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// Returns an optional time.
pub(crate) fn time(given: Option<Moment>) -> Option<Time> {
    given.map(|moment| moment.0)
}

/// One text or several.
#[derive(Default)]
pub(crate) struct Texts(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let texts = match Json::deserialize(given)? {
            Json::String(text) => return Ok(Self(vec![text])),
            Json::Array(texts) => texts.into_iter().map(|text| match text {
                Json::String(text) => Some(text),
                _ => None,
            }),
            _ => return Err(D::Error::custom("a field must be a text or an array of texts")),
        };
        let texts = texts.collect::<Option<_>>().map(Self);
        texts.ok_or_else(|| D::Error::custom("an array of texts has another value"))
    }
}

/// Returns the texts of an optional field.
pub(crate) fn texts(given: Option<Texts>) -> Vec<String> {
    given.unwrap_or_default().0
}

/// Attributes with their values.
#[derive(Default)]
pub(crate) struct AnyAttributes(pub(crate) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for AnyAttributes {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let values = serde_json::Map::deserialize(given)?.into_iter();
        let values = values.map(|(name, value)| Ok((name, value_from_json(value)?)));
        values
            .collect::<treering::Result<_>>()
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// Returns the attributes of an optional field.
pub(crate) fn attributes(given: Option<AnyAttributes>) -> Attributes {
    given.unwrap_or_default().0.into_iter().collect()
}

/// A class of trust.
pub(crate) struct Trust(pub(crate) Origin);

impl<'de> Deserialize<'de> for Trust {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let text = String::deserialize(given)?;
        Origin::from_text(&text).map(Self).map_err(D::Error::custom)
    }
}

/// What happens to a duplicate.
#[derive(Default)]
pub(crate) struct Duplicates(pub(crate) OnDuplicate);

impl<'de> Deserialize<'de> for Duplicates {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let all = [
            OnDuplicate::Warn,
            OnDuplicate::Skip,
            OnDuplicate::Merge,
            OnDuplicate::Supersede,
        ];
        named(given, "on_duplicate", &all).map(Self)
    }
}

/// A sensitivity.
pub(crate) struct Level(pub(crate) Sensitivity);

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let text = String::deserialize(given)?;
        Sensitivity::from_text(&text).map(Self).map_err(D::Error::custom)
    }
}

/// Reads one of several names.
pub(crate) fn named<'de, D: Deserializer<'de>, T: Copy + ToString>(
    given: D,
    what: &str,
    all: &[T],
) -> Result<T, D::Error> {
    let text = String::deserialize(given)?;
    let found = all.iter().find(|one| one.to_string() == text);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(T::to_string).collect();
        D::Error::custom(format!("{what} must be one of {}", names.join(", ")))
    })
}

/// A state: the text of a revision or of a time, or the handle of a view.
pub(crate) enum At {
    Revision(Revision),
    View(Arc<View>),
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let given = Json::deserialize(given)?;
        if let Some(text) = given.as_str() {
            return text.parse().map(Self::Revision).map_err(D::Error::custom);
        }
        match handle_in(&given) {
            Some(Thing::View(view)) => Ok(Self::View(view)),
            _ => Err(D::Error::custom(
                "a revision must be a text, a Date or an open View",
            )),
        }
    }
}

impl At {
    /// Returns the view that a field names; without one, the newest state.
    pub(crate) fn view(at: Option<&Self>, shared: &Shared) -> Done<treering::View> {
        let memory = shared.opened()?.memory;
        Ok(match at {
            None => memory.view(),
            Some(Self::Revision(revision)) => memory.at(revision.clone())?,
            Some(Self::View(view)) => view.open()?.clone(),
        })
    }

    /// Returns the revision to which a rollback returns.
    pub(crate) fn revision(self) -> Done<Revision> {
        Ok(match self {
            Self::Revision(revision) => revision,
            Self::View(view) => Revision::from(view.open()?.commit().digest),
        })
    }
}

/// The handle of a draft.
pub(crate) struct DraftHandle(pub(crate) Arc<crate::draft::Draft>);

impl<'de> Deserialize<'de> for DraftHandle {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        match handle_in(&Json::deserialize(given)?) {
            Some(Thing::Draft(draft)) => Ok(Self(draft)),
            _ => Err(D::Error::custom("the draft is no open Draft")),
        }
    }
}

/// Returns what `{"$handle": number}` names.
fn handle_in(given: &Json) -> Option<Thing> {
    let number = given.get("$handle")?.as_u64()?;
    handle::get(u32::try_from(number).ok()?).ok()
}

/// The writer of a change.
#[derive(Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Writer {
    /// The class of trust: the most trusted origin that the objects of this writer can have. `model` without it.
    trust: Option<Trust>,
    /// The name of the person, model or tool.
    actor: Option<String>,
    /// The session. Each session has its own undo.
    session: Option<String>,
    /// Where the text comes from.
    source: Option<String>,
    /// Why the change is made.
    reason: Option<String>,
}

impl Writer {
    /// Returns the writer of the library.
    pub(crate) fn read(self) -> treering::Writer {
        let mut writer = treering::Writer::of(self.trust.map_or(Origin::Model, |trust| trust.0));
        writer.actor = self.actor;
        writer.session = self.session;
        writer.source = self.source;
        writer.reason = self.reason;
        writer
    }

    /// Returns the writer of a call: the given one, else the usual one of the handle.
    pub(crate) fn or(given: Option<Self>, store: &Store) -> treering::Writer {
        given.map_or_else(|| store.caller.writer.clone(), Self::read)
    }
}

/// Returns the scopes that a call reads: the given ones, all with `"all"`, else the usual ones.
pub(crate) fn reach(store: &Store, scopes: Option<Texts>) -> Done<Reach> {
    match scopes.map(|scopes| scopes.0) {
        Some(words) if words == ["all"] => Ok(Reach::All),
        Some(words) if words.is_empty() => Ok(Reach::default()),
        words => Ok(store.caller.reach(&words.unwrap_or_default())?),
    }
}

pub(crate) fn id(text: &str) -> Done<Id> {
    Ok(Id::new(text)?)
}

pub(crate) fn ids(texts: &[String]) -> Done<Vec<Id>> {
    texts.iter().map(|text| id(text)).collect()
}

pub(crate) fn kind(text: &str) -> Done<Kind> {
    Ok(Kind::new(text)?)
}

pub(crate) fn scope(text: &str) -> Done<Scope> {
    Ok(Scope::new(text)?)
}

pub(crate) fn position(text: &str) -> Done<Position> {
    Ok(Position::new(text)?)
}

pub(crate) fn digest(text: &str) -> Done<ObjectDigest> {
    let not = |_| Fault::invalid(format!("`{text}` is not a digest")).hint("give 64 hexadecimal digits");
    text.parse().map_err(not)
}

pub(crate) fn digests(texts: &[String]) -> Done<Vec<ObjectDigest>> {
    texts.iter().map(|text| digest(text)).collect()
}

/// Reads a duration from a number of seconds.
pub(crate) fn seconds(given: f64, what: &str) -> Done<Duration> {
    let read = Duration::try_from_secs_f64(given);
    read.map_err(|_| Fault::invalid(format!("{what} must be a number of seconds, 0 or more")))
}

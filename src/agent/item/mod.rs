//! Items: objects with the fields of the vocabulary.
//!
//! An [`Item`] contains an object and reads the fields from its attributes. A [`NewItem`] is converted to an object.
//! Attributes outside the vocabulary stay unchanged.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - ITM-1: a new item that is stored and read back has the same fields.

mod citation;
mod fields;
mod from_object;

pub use self::citation::Citation;
pub(in crate::agent) use self::citation::citations_value;
pub use self::fields::ItemFields;
pub(in crate::agent) use self::from_object::{MADE_BY_VERBS, item_of, stated_attributes};
use super::vocabulary::{attribute, kind};
use crate::digest::ObjectDigest;
use crate::error::{Error, ErrorCode, Result};
use crate::ingest::shown;
use crate::object::{Attributes, Id, Kind, NewObject, Object, Origin, Scope, Time, Value, quoted_class};

named! {
    /// The sensitivity of an item, least sensitive first.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Sensitivity {
        /// Everybody may see the item.
        #[default]
        None => "none",
        /// The item contains personal data.
        Pii => "pii",
        /// The item is about internal matters of an organisation.
        Internal => "internal",
        /// The item contains credentials, such as a password.
        Credentials => "credentials",
    }
}

impl Sensitivity {
    /// Returns the sensitivity with a name that a person typed. Unlike [`Self::from_name`], explains an unknown name.
    ///
    /// # Errors
    /// `InvalidInput`: the name is unknown; the hint lists all names.
    #[doc(hidden)]
    pub fn from_text(name: &str) -> Result<Self> {
        Self::from_name(name).ok_or_else(|| {
            Error::invalid(format!("'{}' is not a sensitivity", shown(name)))
                .with_hint(format!("use one of {}", Self::ALL.map(Self::name).join(", ")))
        })
    }
}

/// A new item to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// The id. With `None`, an id is generated.
    pub id: Option<Id>,
    /// The kind of the item.
    pub kind: Kind,
    /// The scope of the item.
    pub scope: Scope,
    /// The text of the item.
    pub text: String,
    /// The tags: search words for the item.
    pub tags: Vec<String>,
    /// The speaker of the text.
    pub speaker: Option<String>,
    /// The subject of the text.
    pub subject: Option<String>,
    /// The session in which the text was said.
    pub session: Option<String>,
    /// The position of the text in the session.
    pub order: Option<i64>,
    /// The time of the event that the text describes. The commit records the time of storing.
    pub time: Option<Time>,
    /// The time at which the item expires.
    pub expires: Option<Time>,
    /// The citations: references to files that support the statement.
    pub citations: Vec<Citation>,
    /// The confidence in the statement, 0 to 1.
    pub confidence: Option<f64>,
    /// The sensitivity of the item.
    pub sensitivity: Option<Sensitivity>,
    /// The source of the item, as free text.
    pub source: Option<String>,
    /// Whether the item is pinned. Decay never shortens or forgets a pinned item.
    pub is_pinned: bool,
    /// The ids of the items that this item supersedes.
    pub supersedes: Vec<Id>,
    /// The versions from which the item was derived.
    pub derived_from: Vec<ObjectDigest>,
    /// The class that the caller states for the text. It lowers the class of the item, and never raises it.
    pub origin: Option<Origin>,
    /// All other attributes of the item, by name.
    pub others: Attributes,
}

impl NewItem {
    /// Creates an item of the kind `fact` in the scope `global`, without an id.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            id: None,
            kind: known_kind(kind::FACT),
            scope: Scope::default(),
            text: text.into(),
            tags: Vec::new(),
            speaker: None,
            subject: None,
            session: None,
            order: None,
            time: None,
            expires: None,
            citations: Vec::new(),
            confidence: None,
            sensitivity: None,
            source: None,
            is_pinned: false,
            supersedes: Vec::new(),
            derived_from: Vec::new(),
            origin: None,
            others: Attributes::new(),
        }
    }

    /// Returns the object of the item under `id`.
    ///
    /// # Errors
    /// `InvalidInput`: the confidence is outside 0 to 1, a citation has the line 0, or `others` contains an attribute
    /// that is a field.
    pub fn into_object(self, id: Id) -> Result<NewObject> {
        self.check()?;
        let mut object = NewObject::new(id, self.kind);
        object.scope = self.scope;
        object.content = Some(self.text);
        object.event_time = self.time;
        object.expires = self.expires;
        object.derived_from = self.derived_from;
        object.attributes = self.others;
        let attributes = &mut object.attributes;
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                drop(attributes.insert(name, value));
            }
        };
        let mut tags = Vec::with_capacity(self.tags.len());
        add_new(&mut tags, self.tags);
        set(attribute::TAGS, texts(&tags));
        set(attribute::SPEAKER, self.speaker.map(Value::Text));
        set(attribute::SUBJECT, self.subject.map(Value::Text));
        set(attribute::SESSION, self.session.map(Value::Text));
        set(attribute::SOURCE, self.source.map(Value::Text));
        set(attribute::ORDER, self.order.map(Value::Integer));
        set(attribute::CITATIONS, citations_value(self.citations));
        set(attribute::CONFIDENCE, self.confidence.map(Value::Float));
        let sensitivity = self.sensitivity.map(Sensitivity::name);
        set(attribute::SENSITIVITY, sensitivity.map(Value::from));
        set(attribute::PINNED, self.is_pinned.then_some(Value::Bool(true)));
        let supersedes: Vec<_> = self.supersedes.iter().map(|id| id.as_str().to_owned()).collect();
        set(attribute::SUPERSEDES, texts(&supersedes));
        Ok(object)
    }

    /// Returns the rules of the scan that matched the item.
    pub(in crate::agent) fn flags(&self) -> Vec<String> {
        self.others
            .get(attribute::FLAGS)
            .map(texts_of)
            .unwrap_or_default()
    }

    /// Returns the highest class that the item can have: the class of its speaker, or the lower class that the caller
    /// states.
    pub(in crate::agent) fn class(&self) -> Origin {
        quoted_class(self.speaker.as_deref(), self.origin)
    }

    /// Fails if the item has an attribute that only verbs or the engine set.
    ///
    /// # Errors
    /// `InvalidInput` if the item has such an attribute. The error names the attribute.
    pub(in crate::agent) fn check_given(&self) -> Result<()> {
        let mut reserved = MADE_BY_VERBS.iter().chain(&OF_SESSIONS);
        if let Some(name) = reserved.find(|name| self.others.get(name).is_some()) {
            return Err(Error::invalid(format!(
                "the attribute '{name}' is reserved for Treering's own commands"
            ))
            .with_hint("omit the attribute"));
        }
        if let Some(name) = OF_ENGINE.iter().find(|name| self.others.get(name).is_some()) {
            let text =
                format!("the engine sets the class of an item, so no attribute can have the name '{name}'");
            return Err(
                Error::invalid(text).with_hint("write `origin` beside `text`; it can only lower the class")
            );
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.confidence.is_some_and(|sure| !(0.0..=1.0).contains(&sure)) {
            return Err(Error::invalid("the confidence must be from 0 to 1"));
        }
        if self.citations.iter().any(|citation| citation.line == Some(0)) {
            return Err(Error::invalid("a citation names line 0; the first line is 1"));
        }
        if let Some(name) = KNOWN.iter().find(|name| self.others.get(name).is_some()) {
            return Err(Error::invalid(format!(
                "'{name}' is the name of a field, so no attribute may have this name"
            ))
            .with_hint("set the field instead of the attribute"));
        }
        Ok(())
    }
}

/// The attributes that are fields of an item.
pub(in crate::agent) const KNOWN: [&str; 11] = [
    attribute::TAGS,
    attribute::SPEAKER,
    attribute::SUBJECT,
    attribute::SESSION,
    attribute::ORDER,
    attribute::CITATIONS,
    attribute::CONFIDENCE,
    attribute::SENSITIVITY,
    attribute::SOURCE,
    attribute::PINNED,
    attribute::SUPERSEDES,
];

/// The names under which a line states the class of its item. An attribute with such a name would look like the class.
const OF_ENGINE: [&str; 2] = ["origin", "trust"];

/// Further attributes that `remember` rejects. Only the verbs for notes, sessions and summaries set these attributes.
const OF_SESSIONS: [&str; 2] = [attribute::OWNER, attribute::GRANULARITY];

/// Converts a name of the vocabulary to a kind.
pub(in crate::agent) fn known_kind(name: &'static str) -> Kind {
    Kind::new(name).expect("every kind of the vocabulary is valid")
}

/// The kinds that do not count towards the quota of their scope.
const FREE: [&str; 3] = [kind::SESSION, kind::NOTE, kind::MERGE_CONFLICT];

/// Checks whether an object counts towards the quota of its scope.
pub(in crate::agent) fn counts_in_quota(kind: &str, has_parent: bool) -> bool {
    !has_parent && !FREE.contains(&kind)
}

/// Returns the found object, or `None` instead of the error for an erased version.
pub(in crate::agent) fn unless_erased(found: Result<Option<Object>>) -> Result<Option<Object>> {
    match found {
        Err(error) if error.code() == ErrorCode::Erased => Ok(None),
        found => found,
    }
}

/// Adds the values that the list does not contain yet.
pub(in crate::agent) fn add_new<T: PartialEq>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !list.contains(&one) {
            list.push(one);
        }
    }
}

/// Returns the attribute value of a list of texts, or `None` for an empty list, because then no attribute is stored.
pub(in crate::agent) fn texts(texts: &[String]) -> Option<Value> {
    let list: Vec<Value> = texts.iter().map(|text| Value::from(text.as_str())).collect();
    (!list.is_empty()).then_some(Value::List(list))
}

/// Returns the texts in a list, and skips all other values in the list.
fn texts_of(value: &Value) -> Vec<String> {
    let Value::List(list) = value else {
        return Vec::new();
    };
    let texts = list.iter().filter_map(Value::as_text);
    texts.map(str::to_owned).collect()
}

/// Returns the attribute `name` of an object if it is a text.
pub(in crate::agent) fn text_of(object: &Object, name: &str) -> Option<String> {
    match object.attribute(name)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the attribute `name` of an object if it is an integer.
pub(in crate::agent) fn integer_of(object: &Object, name: &str) -> Option<i64> {
    object.attribute(name)?.as_integer()
}

/// An object, with methods for the fields of an item. An attribute with a wrong type counts as absent.
#[derive(Clone, Debug)]
pub struct Item {
    object: Object,
}

impl From<Object> for Item {
    fn from(object: Object) -> Self {
        Self { object }
    }
}

impl Item {
    /// Returns the object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Converts the item into its object.
    pub fn into_object(self) -> Object {
        self.object
    }

    /// Returns the text, which is empty if the object has no text.
    pub fn text(&self) -> &str {
        self.object.content().unwrap_or_default()
    }

    /// Returns the tags.
    pub fn tags(&self) -> Vec<String> {
        self.texts(attribute::TAGS)
    }

    /// Returns the other names of a document.
    pub(crate) fn aliases(&self) -> Vec<String> {
        self.texts(attribute::ALIASES)
    }

    /// Checks whether the item has all tags in `all`, and at least one of the tags in `any` unless `any` is empty.
    pub(in crate::agent) fn has_tags(&self, all: &[String], any: &[String]) -> bool {
        let tags = self.tags();
        all.iter().all(|tag| tags.contains(tag))
            && (any.is_empty() || any.iter().any(|tag| tags.contains(tag)))
    }

    /// Returns the speaker of the text.
    pub(crate) fn speaker(&self) -> Option<String> {
        self.word(attribute::SPEAKER)
    }

    /// Returns the subject of the text.
    #[doc(hidden)]
    pub fn subject(&self) -> Option<String> {
        self.word(attribute::SUBJECT)
    }

    /// Returns the session in which the text was said.
    #[doc(hidden)]
    pub fn session(&self) -> Option<String> {
        self.word(attribute::SESSION)
    }

    /// Returns the position of the text in the session.
    pub(crate) fn order(&self) -> Option<i64> {
        integer_of(&self.object, attribute::ORDER)
    }

    /// Returns the citations.
    pub(crate) fn citations(&self) -> Vec<Citation> {
        match self.object.attribute(attribute::CITATIONS) {
            Some(Value::List(list)) => list.iter().filter_map(Citation::of).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the confidence in the statement.
    pub(crate) fn confidence(&self) -> Option<f64> {
        match self.object.attribute(attribute::CONFIDENCE)? {
            Value::Float(sure) => Some(sure),
            Value::Integer(sure) => Some(sure as f64),
            _ => None,
        }
    }

    /// Returns the sensitivity.
    pub(crate) fn sensitivity(&self) -> Sensitivity {
        let name = self.word(attribute::SENSITIVITY);
        name.and_then(|name| Sensitivity::from_name(&name))
            .unwrap_or_default()
    }

    /// Returns the source of the item.
    pub fn source(&self) -> Option<String> {
        self.word(attribute::SOURCE)
    }

    /// Returns whether the item is pinned. Decay never shortens or forgets a pinned item.
    pub(crate) fn is_pinned(&self) -> bool {
        self.object.attribute(attribute::PINNED) == Some(Value::Bool(true))
    }

    /// Returns the ids of the items that this item supersedes.
    pub(crate) fn supersedes(&self) -> Vec<String> {
        self.texts(attribute::SUPERSEDES)
    }

    /// Returns the level of decay; `None` for a full text.
    pub(crate) fn level(&self) -> Option<String> {
        self.word(attribute::LEVEL)
    }

    /// Returns the digest of the version with the full text, if decay shortened this version.
    pub(crate) fn original(&self) -> Option<ObjectDigest> {
        self.word(attribute::ORIGINAL)?.parse().ok()
    }

    /// Returns the session that owns a note.
    pub(crate) fn owner(&self) -> Option<String> {
        self.word(attribute::OWNER)
    }

    /// Returns the rules of the scan that matched the item when it was written.
    #[doc(hidden)]
    pub fn flags(&self) -> Vec<String> {
        self.texts(attribute::FLAGS)
    }

    fn word(&self, name: &str) -> Option<String> {
        text_of(&self.object, name)
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let stored = self.object.attribute(name);
        stored.as_ref().map(texts_of).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

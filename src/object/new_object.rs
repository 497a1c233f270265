//! An object as a caller states it, and its encoding.
//!
//! # Layer
//! L3, inside `object`.
//!
//! # Invariants
//! OBJ-1, OBJ-2, OBJ-3, OBJ-5 of the module.
//!
//! # Format
//! docs/format.md, "Object".

use std::collections::BTreeMap;

use super::attributes::Attributes;
use super::content::{CONTENT_BYTES_MAX, CONTENT_INLINE_MAX, hash_content};
use super::id::Id;
use super::names::{Kind, Position, Scope};
use super::object::{OBJECT_BYTES_MAX, Object, VERSION, tag};
use super::origin::Origin;
use super::reserved;
use super::time::Time;
use crate::codec::FieldWriter;
use crate::digest::{ContentDigest, DIGEST_LEN, HashSuite, ObjectDigest};
use crate::error::{Error, Result};

/// Everything about an object but its origin, which is stamped when it is written.
///
/// The rules that concern single names hold already; all others are checked by [`Self::encode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// The name that the object has for ever.
    pub id: Id,
    /// What sort of thing it is.
    pub kind: Kind,
    /// Where it belongs.
    pub scope: Scope,
    /// The object that this one is below; never the object itself.
    pub parent: Option<Id>,
    /// Where it stands among its siblings.
    pub position: Option<Position>,
    /// Typed values by name.
    pub attributes: Attributes,
    /// The text: at most [`CONTENT_BYTES_MAX`] bytes. No text and an empty one are different.
    pub content: Option<String>,
    /// The versions that this one was made from, in any order; repeats count once.
    pub derived_from: Vec<ObjectDigest>,
    /// When what it tells happened.
    pub event_time: Option<Time>,
    /// When it stops being shown.
    pub expires: Option<Time>,
    /// Fields that are kept byte for byte without being understood, by tag; see
    /// [`ReservedTag`](super::ReservedTag).
    pub reserved: BTreeMap<u16, Vec<u8>>,
}

/// An encoded object, ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The canonical bytes: what is stored, and what the digest is over.
    pub bytes: Vec<u8>,
    /// The digest of `bytes`.
    pub digest: ObjectDigest,
    /// The content with its digest, if it is a record of its own (OBJ-5).
    pub content: Option<(ContentDigest, Vec<u8>)>,
}

impl NewObject {
    /// An object with nothing but an id and a kind, in the default scope.
    pub fn new(id: Id, kind: Kind) -> Self {
        Self {
            id,
            kind,
            scope: Scope::default(),
            parent: None,
            position: None,
            attributes: Attributes::new(),
            content: None,
            derived_from: Vec::new(),
            event_time: None,
            expires: None,
            reserved: BTreeMap::new(),
        }
    }

    /// Checks every rule and encodes the object as one that comes from `origin`.
    ///
    /// Floats become canonical (one NaN, no negative zero), `derived_from` is sorted and freed of repeats.
    ///
    /// # Errors
    /// `InvalidInput`, naming the object and the rule or limit that it breaks.
    pub fn encode(&self, origin: Origin, suite: HashSuite) -> Result<Encoded> {
        self.encode_parts(origin, suite)
            .map_err(|error| error.context(format_args!("object \"{}\"", self.id)))
    }

    fn encode_parts(&self, origin: Origin, suite: HashSuite) -> Result<Encoded> {
        self.check()?;
        let attributes = if self.attributes.is_empty() {
            None
        } else {
            Some(self.attributes.encode()?)
        };
        let content = self.content.as_deref().map(str::as_bytes);
        let inline = content.filter(|content| content.len() <= CONTENT_INLINE_MAX);
        let record = content
            .filter(|content| content.len() > CONTENT_INLINE_MAX)
            .map(|content| (hash_content(suite, content), content));
        let derived_from = self.lineage();

        let mut bytes = Vec::with_capacity(128 + inline.map_or(0, <[u8]>::len));
        let mut writer = FieldWriter::new(&mut bytes, VERSION);
        writer.put(tag::ID, self.id.as_str().as_bytes());
        writer.put(tag::KIND, self.kind.as_str().as_bytes());
        writer.put(tag::SCOPE, self.scope.as_str().as_bytes());
        writer.put_some(
            tag::PARENT,
            self.parent.as_ref().map(|parent| parent.as_str().as_bytes()),
        );
        writer.put_some(
            tag::POSITION,
            self.position
                .as_ref()
                .map(|position| position.as_str().as_bytes()),
        );
        writer.put_some(tag::ATTRIBUTES, attributes.as_deref());
        writer.put_some(tag::CONTENT, inline);
        if let Some((digest, content)) = record {
            let mut field = digest.as_bytes().to_vec();
            field.extend_from_slice(&(content.len() as u64).to_le_bytes());
            writer.put(tag::CONTENT_DIGEST, &field);
        }
        writer.put(tag::ORIGIN, &[origin.tag()]);
        if !derived_from.is_empty() {
            writer.put(tag::DERIVED_FROM, derived_from.as_flattened());
        }
        put_time(&mut writer, tag::EVENT_TIME, self.event_time);
        put_time(&mut writer, tag::EXPIRES, self.expires);
        reserved::put(&mut writer, &self.reserved);

        if bytes.len() > OBJECT_BYTES_MAX {
            return Err(
                Error::invalid(format!("it has {} bytes without its content", bytes.len())).with_hint(
                    format!("use at most {OBJECT_BYTES_MAX} bytes: split it, or move text to the content"),
                ),
            );
        }
        let digest = Object::hash(&bytes, suite);
        Ok(Encoded {
            bytes,
            digest,
            content: record.map(|(digest, content)| (digest, content.to_vec())),
        })
    }

    /// Checks what concerns more than one name, and every size, before anything is written.
    fn check(&self) -> Result<()> {
        if self.parent.as_ref() == Some(&self.id) {
            return Err(Error::invalid("it is its own parent").with_hint("name another parent, or none"));
        }
        let content_bytes = self.content.as_ref().map_or(0, String::len);
        if content_bytes > CONTENT_BYTES_MAX {
            return Err(
                Error::invalid(format!("its content has {content_bytes} bytes")).with_hint(format!(
                    "use at most {CONTENT_BYTES_MAX} bytes, or split the object"
                )),
            );
        }
        if self.derived_from.len() > OBJECT_BYTES_MAX / DIGEST_LEN {
            return Err(
                Error::invalid(format!("it is derived from {} versions", self.derived_from.len()))
                    .with_hint("derive it from fewer, or in steps"),
            );
        }
        reserved::check(&self.reserved)
    }

    fn lineage(&self) -> Vec<[u8; DIGEST_LEN]> {
        let mut digests: Vec<_> = self
            .derived_from
            .iter()
            .map(|digest| *digest.as_bytes())
            .collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }
}

fn put_time(writer: &mut FieldWriter<'_>, tag: u16, time: Option<Time>) {
    if let Some(time) = time {
        writer.put(tag, &time.as_micros().to_le_bytes());
    }
}

impl Encoded {
    /// Whether this says the same as `old`, whatever the origins: then no new version is needed.
    ///
    /// Both must have been encoded with the same hash.
    pub fn same_meaning(&self, old: &Object) -> bool {
        super::object::same_but_origin(&self.bytes, old.bytes())
    }

    /// The object, as it will be read.
    pub fn into_object(self) -> Object {
        let object = Object::from_verified(self.bytes.into(), self.digest);
        match self.content {
            Some((_, content)) => object.with_content(content.into()),
            None => object,
        }
    }
}

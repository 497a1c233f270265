//! The input from which a caller makes an object, and its encoding.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! See OBJ-1, OBJ-2, OBJ-3 and OBJ-5 of the module.
//!
//! # Format
//! docs/format.md, "Object".

use std::collections::BTreeMap;

use super::attributes::Attributes;
use super::content::{CONTENT_BYTES_MAX, CONTENT_INLINE_MAX, OBJECT_BYTES_MAX, hash_content};
use super::id::Id;
use super::names::{Kind, Position, Scope};
use super::object::{Object, VERSION, tag};
use super::origin::Origin;
use super::reserved;
use super::time::Time;
use crate::codec::FieldWriter;
use crate::digest::{ContentDigest, DIGEST_LEN, HashSuite, ObjectDigest};
use crate::error::{Error, Result};

/// The room for the fields besides the content, which suffices for most objects.
const BYTES_BESIDE_CONTENT: usize = 256;

/// An object without its origin, which the engine sets when it writes the object.
///
/// The constructors of the types for names check the names. [`Self::encode`] checks all other rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// The permanent name of the object.
    pub id: Id,
    /// The kind of the object.
    pub kind: Kind,
    /// The scope of the object.
    pub scope: Scope,
    /// The parent object; never the object itself.
    pub parent: Option<Id>,
    /// The position of the object among its siblings.
    pub position: Option<Position>,
    /// The attributes: typed values by name.
    pub attributes: Attributes,
    /// The text: at most 16 MiB. An empty text differs from no text.
    pub content: Option<String>,
    /// The versions from which this object is derived, in any order. The encoding removes repeated versions.
    pub derived_from: Vec<ObjectDigest>,
    /// The time of the event that the object describes.
    pub event_time: Option<Time>,
    /// The time from which on the object is hidden.
    pub expires: Option<Time>,
    /// Unknown fields that are kept byte for byte, by tag.
    pub reserved: BTreeMap<u16, Vec<u8>>,
}

/// The content of an object with its digest, if it is a separate record (OBJ-5).
type Apart = Option<(ContentDigest, Vec<u8>)>;

/// An encoded object, ready to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The canonical bytes, which are stored and which the digest covers.
    pub bytes: Vec<u8>,
    /// The digest of `bytes`.
    pub digest: ObjectDigest,
    /// The content with its digest, if the content is a separate record (OBJ-5).
    pub content: Option<(ContentDigest, Vec<u8>)>,
}

impl NewObject {
    /// Makes an object of an id and a kind, in the default scope.
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

    /// Checks every rule and encodes the object with the given origin.
    ///
    /// Floats become canonical (one NaN, no negative zero); `derived_from` is sorted and its repeats are removed.
    ///
    /// # Errors
    /// `InvalidInput`, naming the object and the broken rule or limit.
    #[doc(hidden)]
    pub fn encode(&self, origin: Origin, suite: HashSuite) -> Result<Encoded> {
        let length = self.content.as_ref().map(String::len);
        let inline = length.filter(|length| *length <= CONTENT_INLINE_MAX);
        let mut bytes = Vec::with_capacity(BYTES_BESIDE_CONTENT + inline.unwrap_or_default());
        let content = self.encode_to(origin, suite, &mut bytes)?;
        Ok(Encoded {
            digest: Object::hash(&bytes, suite),
            bytes,
            content,
        })
    }

    /// Appends the bytes that [`Self::encode`] returns. Returns the content, if it is a separate record.
    ///
    /// # Errors
    /// The errors of [`Self::encode`]. The bytes are then incomplete.
    pub(crate) fn encode_to(&self, origin: Origin, suite: HashSuite, bytes: &mut Vec<u8>) -> Result<Apart> {
        self.encode_parts(origin, suite, bytes)
            .map_err(|error| error.context(format_args!("object \"{}\"", self.id)))
    }

    fn encode_parts(&self, origin: Origin, suite: HashSuite, bytes: &mut Vec<u8>) -> Result<Apart> {
        self.check()?;
        let content = self.content.as_deref().map(str::as_bytes);
        let inline = content.filter(|content| content.len() <= CONTENT_INLINE_MAX);
        let record = content
            .filter(|content| content.len() > CONTENT_INLINE_MAX)
            .map(|content| (hash_content(suite, content), content));
        let mut derived_from = self.derived_from.clone();
        derived_from.sort_unstable();
        derived_from.dedup();
        let derived_from: Vec<_> = derived_from.iter().map(|digest| *digest.as_bytes()).collect();

        let start = bytes.len();
        let mut writer = FieldWriter::new(bytes, VERSION);
        writer.put(tag::ID, self.id.as_str().as_bytes());
        writer.put(tag::KIND, self.kind.as_str().as_bytes());
        writer.put(tag::SCOPE, self.scope.as_str().as_bytes());
        writer.put_some(tag::PARENT, self.parent.as_ref().map(Id::as_str));
        writer.put_some(tag::POSITION, self.position.as_ref().map(Position::as_str));
        if !self.attributes.is_empty() {
            writer.put_with(tag::ATTRIBUTES, |out| self.attributes.encode(out))?;
        }
        writer.put_some(tag::CONTENT, inline);
        if let Some((digest, content)) = record {
            let mut field = digest.as_bytes().to_vec();
            field.extend_from_slice(&(content.len() as u64).to_le_bytes());
            writer.put(tag::CONTENT_DIGEST, &field);
        }
        writer.put(tag::ORIGIN, &[origin.tag()]);
        let lineage = (!derived_from.is_empty()).then_some(derived_from.as_flattened());
        writer.put_some(tag::DERIVED_FROM, lineage);
        writer.put_some(tag::EVENT_TIME, self.event_time.map(Time::encode));
        writer.put_some(tag::EXPIRES, self.expires.map(Time::encode));
        reserved::put(&mut writer, &self.reserved);

        let length = bytes.len() - start;
        if length > OBJECT_BYTES_MAX {
            return Err(Error::invalid(format!(
                "the object is too large: it has {length} bytes without its content"
            ))
            .with_hint(format!(
                "use at most {OBJECT_BYTES_MAX} bytes: split the object, or move text to the content"
            )));
        }
        Ok(record.map(|(digest, content)| (digest, content.to_vec())))
    }

    /// Checks every size, and the rules that involve several names, before anything is written.
    fn check(&self) -> Result<()> {
        if self.parent.as_ref() == Some(&self.id) {
            return Err(
                Error::invalid("the object is its own parent").with_hint("choose another parent, or none")
            );
        }
        let content_bytes = self.content.as_ref().map_or(0, String::len);
        if content_bytes > CONTENT_BYTES_MAX {
            return Err(
                Error::invalid(format!("the content is too large: it has {content_bytes} bytes")).with_hint(
                    format!("use at most {CONTENT_BYTES_MAX} bytes, or split the object"),
                ),
            );
        }
        if self.derived_from.len() > OBJECT_BYTES_MAX / DIGEST_LEN {
            return Err(Error::invalid(format!(
                "the object is derived from too many versions: {}",
                self.derived_from.len()
            ))
            .with_hint("derive the object from fewer versions, or in several steps"));
        }
        reserved::check(&self.reserved)
    }
}

impl Encoded {
    /// Returns whether this object equals `old` apart from the origin. If so, a write needs no new version.
    ///
    /// Both objects must be encoded with the same hash.
    pub fn same_meaning(&self, old: &Object) -> bool {
        super::object::same_but_origin(&self.bytes, old.bytes())
    }

    /// Converts the encoded object to the object that a read would return.
    pub fn into_object(self) -> Object {
        let object = Object::from_verified(self.bytes.into(), self.digest);
        match self.content {
            Some((_, content)) => object.with_content(content.into()),
            None => object,
        }
    }
}

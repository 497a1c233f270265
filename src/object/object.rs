//! An object for reading, as a view into its canonical bytes.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! See OBJ-1 to OBJ-5 of the module. Reading a field scans the tags and lengths, without allocation.
//!
//! # Format
//! docs/format.md, "Object".

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;

use super::attributes::Attributes;
use super::content::{CONTENT_BYTES_MAX, CONTENT_INLINE_MAX, OBJECT_BYTES_MAX};
use super::id::Id;
use super::names::{Kind, Position, Scope};
use super::new_object::NewObject;
use super::origin::Origin;
use super::time::Time;
use super::value::Value;
use crate::codec::{DecodeError, Fields, IGNORABLE, as_array, as_text};
use crate::digest::{
    CommitDigest, ContentDigest, DIGEST_LEN, Domain, HashAlgorithm, HashSuite, KeyPath, ObjectDigest,
    hash_each,
};
use crate::error::{Error, Result};

/// The version byte of an object.
pub(super) const VERSION: u8 = 1;

// The tags of an object's fields.
tags! {
    ID = 0x0001, "id";
    KIND = 0x0002, "kind";
    SCOPE = 0x0003, "scope";
    PARENT = 0x0004, "parent";
    POSITION = 0x0005, "position";
    ATTRIBUTES = 0x0006, "attributes";
    CONTENT = 0x0007, "content";
    CONTENT_DIGEST = 0x0008, "content digest";
    // 0x0009 is reserved for `content_chunks`. Format 1 refuses it like any unknown tag.
    ORIGIN = 0x000a, "origin";
    DERIVED_FROM = 0x000b, "derived from";
    EVENT_TIME = 0x000c, "event time";
    EXPIRES = 0x000d, "expires";
}

/// One version of an object, owned and cheap to clone.
///
/// The accessors never panic. For invalid bytes, which [`Self::decode`] refuses, they return an empty text or `None`.
#[derive(Clone)]
pub struct Object {
    bytes: Bytes,
    /// The digest, from the first time that a caller asks for it, and the hash of its store.
    digest: OnceLock<ObjectDigest>,
    suite: HashSuite,
    /// The id, from the first time that a caller asks for it as a value of its own.
    id: OnceLock<Id>,
    /// The best class that the object has for its reader.
    best_origin: Origin,
    apart: Option<Box<Apart>>,
}

/// Data beside the bytes that most objects lack.
#[derive(Clone, Default)]
struct Apart {
    content: Option<Bytes>,
    /// The commit that erased this version or its content.
    erased: Option<CommitDigest>,
}

impl Object {
    /// Checks `bytes` against every rule of the format and computes their digest.
    ///
    /// # Errors
    /// The first rule that the bytes break.
    #[doc(hidden)]
    pub fn decode(bytes: Bytes, suite: HashSuite) -> Result<Self, DecodeError> {
        let digest = Self::check_and_hash(&bytes, suite)?;
        Ok(Self::from_verified(bytes, digest))
    }

    /// Checks the canonical bytes of an object as [`Self::decode`] does, and returns their digest.
    ///
    /// # Errors
    /// The errors of [`Self::decode`].
    pub(crate) fn check_and_hash(bytes: &[u8], suite: HashSuite) -> Result<ObjectDigest, DecodeError> {
        check(bytes)?;
        Ok(Self::hash(bytes, suite))
    }

    /// Checks the canonical bytes of an object as [`Self::decode`] does, and returns the id.
    ///
    /// # Errors
    /// The errors of [`Self::decode`].
    pub(crate) fn check(bytes: &[u8]) -> Result<&str, DecodeError> {
        check(bytes)
    }

    /// Wraps bytes that were checked before, with their digest.
    pub(crate) fn from_verified(bytes: Bytes, digest: ObjectDigest) -> Self {
        Self {
            digest: digest.into(),
            ..Self::undigested(bytes, HashSuite::new(HashAlgorithm::Blake3))
        }
    }

    /// Wraps bytes that were checked before, together with their digest, which `suite` computes again if a caller asks.
    pub(crate) fn undigested(bytes: Bytes, suite: HashSuite) -> Self {
        Self {
            bytes,
            digest: OnceLock::new(),
            suite,
            id: OnceLock::new(),
            best_origin: Origin::DirectUser,
            apart: None,
        }
    }

    /// Returns the digest of canonical object bytes.
    #[doc(hidden)]
    pub fn hash(bytes: &[u8], suite: HashSuite) -> ObjectDigest {
        ObjectDigest::from_bytes(suite.hash_bytes(Domain::Object, bytes))
    }

    /// Returns the digests of many canonical object bytes, in their order.
    #[doc(hidden)]
    pub fn hash_all<'a>(all: impl Iterator<Item = &'a [u8]>, suite: HashSuite) -> Vec<ObjectDigest> {
        let digests = hash_each(suite, Domain::Object, all);
        digests.into_iter().map(ObjectDigest::from_bytes).collect()
    }

    /// Adds the content record that [`Self::content_digest`] names. The caller must have checked its digest.
    #[must_use]
    #[doc(hidden)]
    pub fn with_content(mut self, content: Bytes) -> Self {
        self.apart.get_or_insert_default().content = Some(content);
        self
    }

    /// Makes the placeholder of an erased version in a past state; `by` is the erasing commit. Only the key path is
    /// known, so the id is made from the key path.
    pub(crate) fn erased(key: &KeyPath, digest: ObjectDigest, by: CommitDigest) -> Result<Self> {
        let id = Id::of_erased(key)?;
        // Any hash works, because the resulting digest is not used.
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let encoded = NewObject::new(id, Kind::new("erased")?).encode(Origin::Import, suite)?;
        Ok(Self::from_verified(Bytes::from(encoded.bytes), digest).without_content(by))
    }

    /// Records that commit `by` erased the content record of this version.
    #[must_use]
    pub(crate) fn without_content(mut self, by: CommitDigest) -> Self {
        self.apart.get_or_insert_default().erased = Some(by);
        self
    }

    /// Returns the commit that erased this version, or its content if that is a separate record. The digest is all zero
    /// if the version was lost and salvage could not restore it.
    #[doc(hidden)]
    pub fn erased_by(&self) -> Option<CommitDigest> {
        self.apart.as_ref()?.erased
    }

    /// Returns whether the version, or its content, was lost in a damaged store rather than erased.
    #[doc(hidden)]
    pub fn is_lost(&self) -> bool {
        self.erased_by() == Some(CommitDigest::NOBODY)
    }

    /// Returns whether this is the placeholder of an erased version.
    pub fn is_placeholder(&self) -> bool {
        self.erased_by().is_some() && self.content_digest().is_none()
    }

    /// Returns the permanent name of the object.
    pub fn id(&self) -> &Id {
        self.id
            .get_or_init(|| Id::from_verified(Self::id_in(&self.bytes).unwrap_or_default()))
    }

    /// Returns whether [`Self::id`] is `id`. Costs no allocation.
    pub(crate) fn is_named(&self, id: &Id) -> bool {
        self.field(tag::ID) == Some(id.as_str().as_bytes())
    }

    /// Returns the id in the canonical bytes of an object.
    pub(crate) fn id_in(bytes: &[u8]) -> Option<&str> {
        as_text(field_in(bytes, tag::ID)?).ok()
    }

    /// Returns the kind of the object, such as `fact`.
    pub fn kind(&self) -> &str {
        self.text(tag::KIND).unwrap_or_default()
    }

    /// Returns the scope of the object.
    pub fn scope(&self) -> &str {
        self.text(tag::SCOPE).unwrap_or_default()
    }

    /// Returns the id of the parent object.
    pub fn parent(&self) -> Option<&str> {
        self.text(tag::PARENT)
    }

    /// Returns the position of the object among its siblings.
    pub fn position(&self) -> Option<&str> {
        self.text(tag::POSITION)
    }

    /// Returns all attributes; each call builds them again.
    pub fn attributes(&self) -> Attributes {
        self.field(tag::ATTRIBUTES)
            .and_then(|bytes| Attributes::decode(bytes).ok())
            .unwrap_or_default()
    }

    /// Returns one attribute, without building the other attributes.
    pub fn attribute(&self, name: &str) -> Option<Value> {
        Attributes::find(self.field(tag::ATTRIBUTES)?, name)
    }

    /// Returns the text. Returns `None` if the text is in a separate record that was not added
    /// ([`Self::lacks_content`]).
    pub fn content(&self) -> Option<&str> {
        match self.added_content() {
            Some(content) => as_text(content).ok(),
            None => self.text(tag::CONTENT),
        }
    }

    /// Returns whether both have the same text, without checking that it is one.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.content_bytes() == other.content_bytes()
    }

    fn content_bytes(&self) -> Option<&[u8]> {
        let added = self.added_content().map(|content| &content[..]);
        added.or_else(|| self.field(tag::CONTENT))
    }

    fn added_content(&self) -> Option<&Bytes> {
        self.apart.as_ref()?.content.as_ref()
    }

    /// Returns the digest and the length in bytes of the content, if it is a separate record.
    #[doc(hidden)]
    pub fn content_digest(&self) -> Option<(ContentDigest, u64)> {
        Self::content_digest_in(&self.bytes)
    }

    /// Returns the digest and the length in bytes of the content, if it is a separate record. `bytes` are the canonical
    /// bytes of an object, which were checked before.
    pub(crate) fn content_digest_in(bytes: &[u8]) -> Option<(ContentDigest, u64)> {
        read_content_digest(content_digest_field(bytes)?).ok()
    }

    /// Returns whether the content is a separate record that was not added yet ([`Self::with_content`]).
    #[doc(hidden)]
    pub fn lacks_content(&self) -> bool {
        self.added_content().is_none() && content_digest_field(&self.bytes).is_some()
    }

    /// Limits the class of trust that [`origin`](Self::origin) returns to `best`, besides earlier limits.
    #[must_use]
    pub(crate) fn with_best_origin(mut self, best: Origin) -> Self {
        self.best_origin = Origin::least(self.best_origin, best);
        self
    }

    /// Returns the stored class of trust. It is lower if the version came from a capped remote, or the program reads the store
    /// with `--untrusted-store`. Invalid bytes have the least trusted class.
    pub fn origin(&self) -> Origin {
        Origin::least(self.stored_origin(), self.best_origin)
    }

    /// Returns the class of trust in the bytes, which no reader but [`origin`](Self::origin) decides by.
    pub(crate) fn stored_origin(&self) -> Origin {
        let field = self.field(tag::ORIGIN).unwrap_or_default();
        Origin::decode(field).unwrap_or(Origin::Import)
    }

    /// Returns whether this version is more trusted than another one only because a cap of this machine lowers that one.
    pub(crate) fn is_above_by_cap(&self, other: &Self) -> bool {
        self.origin().is_above(other.origin()) && !self.stored_origin().is_above(other.stored_origin())
    }

    /// Returns the versions from which this object is derived, in ascending order.
    pub fn derived_from(&self) -> impl ExactSizeIterator<Item = ObjectDigest> + '_ {
        let digests = Self::derived_from_in(&self.bytes).iter();
        digests.map(|digest| ObjectDigest::from_bytes(*digest))
    }

    /// Returns the digests of the versions from which an object is derived, without checking the bytes of the object.
    pub(crate) fn derived_from_in(bytes: &[u8]) -> &[[u8; DIGEST_LEN]] {
        let field = field_in(bytes, tag::DERIVED_FROM).unwrap_or_default();
        field.as_chunks().0
    }

    /// Returns the time of the event that the object describes.
    pub fn event_time(&self) -> Option<Time> {
        self.time(tag::EVENT_TIME)
    }

    /// Returns the time from which the object is hidden.
    pub fn expires(&self) -> Option<Time> {
        self.time(tag::EXPIRES)
    }

    /// Returns an unknown field that is kept byte for byte; its tag has the ignorable bit.
    #[doc(hidden)]
    pub fn reserved(&self, tag: u16) -> Option<&[u8]> {
        if tag & IGNORABLE == 0 {
            None
        } else {
            self.field(tag)
        }
    }

    /// Returns the digest of [`Self::bytes`], which together with the id names the version.
    pub fn digest(&self) -> ObjectDigest {
        *self.digest.get_or_init(|| Self::hash(&self.bytes, self.suite))
    }

    /// Returns the canonical bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns whether `new` equals this version apart from the origin.
    #[cfg(test)]
    pub(crate) fn same_meaning(&self, new: &NewObject, suite: HashSuite) -> Result<bool> {
        Ok(new.encode(self.origin(), suite)?.same_meaning(self))
    }

    /// Returns the input that encodes to this version, without its content if that was erased.
    ///
    /// # Errors
    /// `Internal` if [`Self::lacks_content`], because the object would lose its text. `Corrupt` if the bytes are not an
    /// object.
    pub fn to_new(&self) -> Result<NewObject> {
        if self.lacks_content() && self.erased_by().is_none() {
            return Err(Error::internal(
                "the content record of an object must be read before a change",
            ));
        }
        let named = |error: Error| Error::corrupt(error.message().to_owned());
        let mut new = NewObject::new(self.id().clone(), Kind::new(self.kind()).map_err(named)?);
        new.scope = Scope::new(self.scope()).map_err(named)?;
        new.parent = self.parent().map(Id::new).transpose().map_err(named)?;
        new.position = self.position().map(Position::new).transpose().map_err(named)?;
        new.attributes = self.attributes();
        new.content = self.content().map(str::to_owned);
        new.derived_from = self.derived_from().collect();
        new.event_time = self.event_time();
        new.expires = self.expires();
        if let Ok(mut fields) = Fields::new(&self.bytes, VERSION) {
            while let Ok(Some((tag, bytes))) = fields.next_field() {
                if tag & IGNORABLE != 0 {
                    new.reserved.insert(tag, bytes.to_vec());
                }
            }
        }
        Ok(new)
    }

    fn field(&self, wanted: u16) -> Option<&[u8]> {
        field_in(&self.bytes, wanted)
    }

    fn text(&self, tag: u16) -> Option<&str> {
        as_text(self.field(tag)?).ok()
    }

    fn time(&self, tag: u16) -> Option<Time> {
        Time::decode(self.field(tag)?).ok()
    }
}

fn field_in(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let (tag, field) = first_field(bytes, wanted)?;
    (tag == wanted).then_some(field)
}

/// Returns the first field whose tag is `least` or higher, with its tag. [`Fields`] has checked the order of the tags.
#[inline]
fn first_field(bytes: &[u8], least: u16) -> Option<(u16, &[u8])> {
    let (_, mut rest) = bytes.split_first().filter(|(version, _)| **version == VERSION)?;
    loop {
        let (head, behind) = rest.split_first_chunk::<6>()?;
        let (tag, length) = (u16::from_le_bytes([head[0], head[1]]), &head[2..]);
        let length = u32::from_le_bytes(as_array(length).ok()?) as usize;
        let (field, next) = behind.split_at_checked(length)?;
        if tag >= least {
            return Some((tag, field));
        }
        rest = next;
    }
}

/// Returns the field with the digest of the content. Reads no field behind the content, because an object has only one
/// of the two.
fn content_digest_field(bytes: &[u8]) -> Option<&[u8]> {
    let (tag, field) = first_field(bytes, tag::CONTENT)?;
    (tag == tag::CONTENT_DIGEST).then_some(field)
}

impl PartialEq for Object {
    /// Two objects are equal if their bytes are equal, with or without the content record.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({:?}, {:?})", self.id().as_str(), self.digest())
    }
}

/// Returns whether two canonical encodings differ only in the origin.
pub(super) fn same_but_origin(a: &[u8], b: &[u8]) -> bool {
    let (Ok(mut a), Ok(mut b)) = (Fields::new(a, VERSION), Fields::new(b, VERSION)) else {
        return false;
    };
    loop {
        match (a.next_field(), b.next_field()) {
            (Ok(None), Ok(None)) => return true,
            (Ok(Some((tag::ORIGIN, _))), Ok(Some((tag::ORIGIN, _)))) => {}
            (Ok(Some(a)), Ok(Some(b))) if a == b => {}
            _ => return false,
        }
    }
}

/// Checks canonical object bytes against every rule, without allocating. Returns the id.
fn check(bytes: &[u8]) -> Result<&str, DecodeError> {
    if bytes.len() > OBJECT_BYTES_MAX {
        return Err(DecodeError::Invalid("an object is larger than 1 MiB"));
    }
    let mut fields = Fields::new(bytes, VERSION)?;
    let (mut id, mut inline) = ("", false);
    while let Some((tag, field)) = fields.next_field()? {
        match tag {
            tag::ID => id = Id::RULE.decode(field)?,
            tag::KIND => _ = Kind::RULE.decode(field)?,
            tag::SCOPE => _ = Scope::RULE.decode(field)?,
            tag::PARENT => {
                if Id::RULE.decode(field)? == id {
                    return Err(DecodeError::Invalid("an object is its own parent"));
                }
            }
            tag::POSITION => _ = Position::RULE.decode(field)?,
            tag::ATTRIBUTES => Attributes::check(field)?,
            tag::CONTENT => {
                if field.len() > CONTENT_INLINE_MAX {
                    return Err(DecodeError::Invalid("a content above the limit is inline"));
                }
                as_text(field)?;
                inline = true;
            }
            tag::CONTENT_DIGEST if inline => return Err(DecodeError::Invalid("an object has two contents")),
            tag::CONTENT_DIGEST => _ = read_content_digest(field)?,
            tag::ORIGIN => _ = Origin::decode(field)?,
            tag::DERIVED_FROM => check_lineage(field)?,
            tag::EVENT_TIME | tag::EXPIRES => _ = Time::decode(field)?,
            _ if tag & IGNORABLE != 0 => {}
            _ => return Err(DecodeError::UnknownTag(tag)),
        }
    }
    fields.require(&[tag::ID, tag::KIND, tag::SCOPE, tag::ORIGIN])?;
    Ok(id)
}

fn check_lineage(field: &[u8]) -> Result<(), DecodeError> {
    let (digests, rest) = field.as_chunks::<DIGEST_LEN>();
    if digests.is_empty() || !rest.is_empty() {
        return Err(DecodeError::Invalid("a lineage is empty or has a partial digest"));
    }
    if !digests.is_sorted_by(|a, b| a < b) {
        return Err(DecodeError::Invalid(
            "the digests of a lineage are not in ascending order",
        ));
    }
    Ok(())
}

fn read_content_digest(field: &[u8]) -> Result<(ContentDigest, u64), DecodeError> {
    let bytes: [u8; DIGEST_LEN + 8] = as_array(field)?;
    let (digest, length) = bytes.split_at(DIGEST_LEN);
    let length = u64::from_le_bytes(as_array(length)?);
    if length <= CONTENT_INLINE_MAX as u64 || length > CONTENT_BYTES_MAX as u64 {
        return Err(DecodeError::Invalid(
            "a content record has a length that is out of bounds",
        ));
    }
    Ok((ContentDigest::from_bytes(as_array(digest)?), length))
}

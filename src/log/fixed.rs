//! Encodes values with a fixed number of bytes. Also defines the common layout of the small files and of segment
//! headers: a magic number first, a checksum last.
//!
//! # Layer
//! Layer 2.

use crate::codec::{DecodeError, Reader};
use crate::digest::{BatchDigest, CommitDigest, DIGEST_LEN, KeyPath, ObjectDigest, Root};

/// A value whose encoding has a fixed number of bytes.
pub(crate) trait Fixed: Copy + 'static {
    /// The number of bytes of the encoding.
    const BYTES: usize;

    fn put(&self, out: &mut Vec<u8>);

    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Returns the name and the length of each part of the encoding. A value without parts returns `name` and its
    /// length.
    fn parts(name: &'static str) -> Vec<(&'static str, usize)> {
        vec![(name, Self::BYTES)]
    }
}

/// Implements [`Fixed`] for structs. The encoding contains the fields in the listed order. Each part has the name of
/// its field, or the name after `as`.
macro_rules! layout {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($($type:ident { $($field:ident $(as $name:literal)?: $part:ty),* $(,)? })*) => { $(
        impl $crate::log::Fixed for $type {
            const BYTES: usize = 0 $(+ <$part as $crate::log::Fixed>::BYTES)*;

            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn take(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::codec::DecodeError> {
                Ok(Self { $($field: $crate::log::Fixed::take(reader)?),* })
            }

            fn parts(_name: &'static str) -> Vec<(&'static str, usize)> {
                [$(<$part as $crate::log::Fixed>::parts($crate::log::layout!(@name $field $($name)?))),*].concat()
            }
        }
    )* };
}
pub(crate) use layout;

/// Implements [`Fixed`] for types that convert to and from an array of bytes.
macro_rules! fields {
    ($($type:ty: $bytes:expr, $from:expr, $to:expr;)*) => { $(
        impl $crate::log::Fixed for $type {
            const BYTES: usize = $bytes;

            fn put(&self, out: &mut Vec<u8>) {
                let to: fn(Self) -> [u8; $bytes] = $to;
                out.extend_from_slice(&to(*self));
            }

            fn take(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::codec::DecodeError> {
                let from: fn([u8; $bytes]) -> Self = $from;
                reader.array().map(from)
            }
        }
    )* };
}
pub(crate) use fields;

const NONE: [u8; DIGEST_LEN] = [0; DIGEST_LEN];

fields! {
    u64: 8, u64::from_le_bytes, u64::to_le_bytes;
    i64: 8, i64::from_le_bytes, i64::to_le_bytes;
    [u8; 16]: 16, |bytes| bytes, |bytes| bytes;
    [u8; DIGEST_LEN]: DIGEST_LEN, |bytes| bytes, |bytes| bytes;
    KeyPath: DIGEST_LEN, Self::from_bytes, |key| *key.as_bytes();
    CommitDigest: DIGEST_LEN, Self::from_bytes, |digest| *digest.as_bytes();
    BatchDigest: DIGEST_LEN, Self::from_bytes, |digest| *digest.as_bytes();
    Root: DIGEST_LEN, Self::from_bytes, |root| *root.as_bytes();
    Option<KeyPath>: DIGEST_LEN,
        |bytes| (bytes != NONE).then(|| KeyPath::from_bytes(bytes)),
        |key| key.map_or(NONE, |key| *key.as_bytes());
    Option<ObjectDigest>: DIGEST_LEN,
        |bytes| (bytes != NONE).then(|| ObjectDigest::from_bytes(bytes)),
        |digest| digest.map_or(NONE, |digest| *digest.as_bytes());
}

const CHECKSUM_BYTES: usize = 4;
static ZEROS: [u8; 4096] = [0; 4096];

/// Pads `fields` with zeros and appends a checksum. The result has `length` bytes.
pub(super) fn with_checksum(mut fields: Vec<u8>, length: usize) -> Vec<u8> {
    fields.resize(length - CHECKSUM_BYTES, 0);
    fields.extend_from_slice(&crc32c::crc32c(&fields).to_le_bytes());
    fields
}

/// Checks the magic number and the checksum of `length` bytes. Returns a reader of the fields after the magic number.
pub(super) fn checked<'a>(bytes: &'a [u8], length: usize, magic: &[u8]) -> Result<Reader<'a>, DecodeError> {
    let mut whole = Reader::new(bytes);
    let covered = whole.bytes(length.saturating_sub(CHECKSUM_BYTES))?;
    let stored = whole.u32()?;
    let mut reader = Reader::new(covered);
    if reader.bytes(magic.len())? != magic {
        return Err(DecodeError::Invalid(
            "the first bytes are those of another kind of file",
        ));
    }
    if crc32c::crc32c(covered) != stored {
        return Err(DecodeError::Invalid("the checksum of the file does not match"));
    }
    Ok(reader)
}

/// Returns an error if one of the remaining, reserved bytes is not zero.
pub(super) fn zeros_left(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    if is_zero(reader.bytes(reader.left())?) {
        return Ok(());
    }
    Err(DecodeError::Invalid("a reserved byte is not zero"))
}

/// Returns whether `page`, of at most 4,096 bytes, contains only zeros. Compares slices, which is much faster than
/// single bytes.
pub(super) fn is_zero(page: &[u8]) -> bool {
    ZEROS.get(..page.len()) == Some(page)
}

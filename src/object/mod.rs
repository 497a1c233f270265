//! What is remembered and what is written down about it: objects, commits and references as bytes.
//!
//! An object is its canonical bytes. [`NewObject`] is what a caller states; encoding it checks every rule
//! once, and [`Object`] is a view into the bytes that came out, so a read is a scan and never a parse.
//! Commits and references use the same tagged fields. Nothing here knows where bytes are kept.
//!
//! # Layer
//! L3. Pure: no disk, no clock, no lock. Knows digests and the codec; does not know tries, logs or stores.
//!
//! # Invariants
//! - OBJ-1: a value has one encoding, and what a decoder accepts re-encodes to the same bytes.
//! - OBJ-2: different values have different encodings: every field is tagged and counted.
//! - OBJ-3: every field with meaning is in the bytes that the digest is over, scope and parent too.
//! - OBJ-4: no input makes a decoder panic, recurse deeper than its bound or allocate beyond its input.
//! - OBJ-5: a content of more than 4,096 bytes is a record of its own, any other is inline.
//!
//! # Format
//! docs/format.md, "Object", "Commit" and "Reference".

mod attributes;
mod commit;
mod content;
mod history_tree;
mod id;
mod inspect;
mod names;
mod new_object;
#[expect(
    clippy::module_inception,
    reason = "the type that gives the module its name has a file of its own"
)]
mod object;
mod origin;
mod reference;
mod reserved;
mod time;
mod value;

pub use attributes::Attributes;
pub use commit::{Commit, Op};
pub use content::{CONTENT_BYTES_MAX, CONTENT_INLINE_MAX, hash_content, hash_text};
pub use history_tree::HistoryTree;
pub use id::Id;
pub use inspect::{EncodedField, Encoding, encoded_fields};
pub use names::{Kind, Position, Scope};
pub use new_object::{Encoded, NewObject};
pub use object::{OBJECT_BYTES_MAX, Object};
pub use origin::Origin;
pub use reference::{Reference, ReferenceClass, ReferenceName, StagedChange, check_snapshot_name};
pub use reserved::ReservedTag;
pub use time::{Time, TimeTextError};
pub use value::{VALUE_DEPTH_MAX, Value};

#[cfg(test)]
mod tests;

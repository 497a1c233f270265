//! The encodings of objects, commits and references.
//!
//! An object is its canonical bytes. A caller fills a [`NewObject`], and its encoding checks every rule once.
//! [`Object`] is a view into the canonical bytes: reading a field scans the tags and lengths without parsing the other
//! fields. Commits and references use the same tagged fields. This module does not know where bytes are stored.
//!
//! # Layer
//! Layer 3. Pure: no disk, no clock, no lock. Knows digests and the codec; does not know tries, logs or stores.
//!
//! # Invariants
//! - OBJ-1: a value has one encoding, and accepted bytes re-encode to the same bytes.
//! - OBJ-2: different values have different encodings: every field is tagged and counted.
//! - OBJ-3: the digest covers every field that has a meaning, including scope and parent.
//! - OBJ-4: no input makes a decoder panic, recurse deeper than its limit or allocate more than its input justifies.
//! - OBJ-5: a content of more than 4,096 bytes is a separate record; any other content is inline.
//!
//! # Format
//! docs/format.md, "Object", "Commit" and "Reference".

/// Declares the tags of an encoding, with the names that `inspect` prints.
macro_rules! tags {
    ($($constant:ident = $tag:literal, $name:literal;)*) => {
        pub(in crate::object) mod tag {
            $(pub(in crate::object) const $constant: u16 = $tag;)*
            pub(in crate::object) const NAMES: &[(u16, &str)] = &[$(($tag, $name)),*];
        }
    };
}

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
    reason = "the type `Object` is in a separate file, which has the name of the module"
)]
mod object;
mod origin;
mod reference;
mod reserved;
mod speaker;
mod time;
mod value;

pub use attributes::Attributes;
pub use commit::{Commit, Op, lane_of};
pub use content::{CONTENT_BYTES_MAX, CONTENT_INLINE_MAX, OBJECT_BYTES_MAX, hash_content, hash_text};
pub use history_tree::HistoryTree;
#[cfg(feature = "signed")]
pub(crate) use history_tree::{append_leaf, root_of};
pub use id::Id;
pub use inspect::{EncodedField, Encoding, encoded_fields};
pub use names::{Kind, Position, Scope};
pub use new_object::{Encoded, NewObject};
pub use object::Object;
pub use origin::Origin;
pub(crate) use reference::check_fork_name;
pub use reference::{Reference, ReferenceClass, ReferenceName, StagedChange, check_snapshot_name};
#[cfg(feature = "ingest")]
pub use speaker::object_class;
#[cfg(feature = "agent")]
pub use speaker::speaker_class;
#[cfg(feature = "agent")]
pub(crate) use speaker::{quoted_class, role_of, turn_class};
pub use time::Time;
pub use value::{VALUE_DEPTH_MAX, Value};

#[cfg(test)]
mod tests;

//! Unknown fields that this version keeps, because their tag has the ignorable bit.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Tagged fields" and "Object", tags 0x8001 and above.

use std::collections::BTreeMap;

use super::content::OBJECT_BYTES_MAX;
use crate::codec::{DecodeError, FieldWriter, IGNORABLE};
use crate::error::{Error, Result};

/// The ignorable tags that format 1 reserves, with their names.
pub(super) const NAMES: [(u16, &str); 6] = [
    // Random bytes. Without them, the digest of a short secret would confirm a guess.
    (0x8001, "salt"),
    // The media type of the content.
    (0x8002, "media type"),
    // Typed links to other objects.
    (0x8003, "links"),
    // The schema of the attributes.
    (0x8004, "schema"),
    // The people or systems with whom the object may be shared.
    (0x8005, "sensitivity"),
    // A signature over the object.
    (0x8006, "signature"),
];

/// Checks that every tag has the ignorable bit and that the bytes can be written.
pub(super) fn check(reserved: &BTreeMap<u16, Vec<u8>>) -> Result<()> {
    for (tag, bytes) in reserved {
        if tag & IGNORABLE == 0 {
            return Err(Error::invalid(format!(
                "the reserved field {tag:#06x} does not have the ignorable bit"
            ))
            .with_hint("use tags of 0x8000 and above"));
        }
        if bytes.len() > OBJECT_BYTES_MAX {
            return Err(
                Error::invalid(format!("the reserved field {tag:#06x} has {} bytes", bytes.len())).with_hint(
                    format!("use at most {OBJECT_BYTES_MAX} bytes for a whole encoding"),
                ),
            );
        }
    }
    Ok(())
}

/// Writes the fields. These fields come last, because their tags are larger than all other tags.
pub(super) fn put(writer: &mut FieldWriter<'_>, reserved: &BTreeMap<u16, Vec<u8>>) {
    for (tag, bytes) in reserved {
        writer.put(*tag, bytes);
    }
}

/// Stores a field with an unknown tag if the tag has the ignorable bit. Otherwise returns an error.
pub(super) fn keep(reserved: &mut BTreeMap<u16, Vec<u8>>, tag: u16, bytes: &[u8]) -> Result<(), DecodeError> {
    if tag & IGNORABLE == 0 {
        return Err(DecodeError::UnknownTag(tag));
    }
    reserved.insert(tag, bytes.to_vec());
    Ok(())
}

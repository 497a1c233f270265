//! Lists canonical encodings field by field, with the names of the fields, for inspection.
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Format
//! docs/format.md, "Tagged fields".

use super::{commit, object, reference, reserved};
use crate::codec::{DecodeError, Fields};

/// The kind of a canonical encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// An object.
    Object,
    /// A commit.
    Commit,
    /// A reference.
    Reference,
}

/// One field of a canonical encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedField<'a> {
    /// The tag of the field.
    pub tag: u16,
    /// The name of the tag.
    pub name: &'static str,
    /// The offset of the field's bytes in the encoding, after its tag and length.
    pub offset: usize,
    /// The bytes of the field.
    pub bytes: &'a [u8],
}

/// The number of bytes of the tag and length before the bytes of each field.
const FIELD_HEADER_BYTES: usize = 6;

/// Lists the fields of an encoding in order, without checking their content.
///
/// # Errors
/// The reason why the bytes are not a sequence of fields.
pub fn encoded_fields(encoding: Encoding, bytes: &[u8]) -> Result<Vec<EncodedField<'_>>, DecodeError> {
    let (version, names) = match encoding {
        Encoding::Object => (object::VERSION, object::tag::NAMES),
        Encoding::Commit => (commit::VERSION, commit::tag::NAMES),
        Encoding::Reference => (reference::VERSION, reference::tag::NAMES),
    };
    let name = |tag: u16| {
        let is_reference = matches!(encoding, Encoding::Reference);
        let own: &[_] = if is_reference { &reference::RESERVED } else { &[] };
        let mut known = names.iter().chain(own).chain(&reserved::NAMES);
        known.find(|(known, _)| *known == tag).map(|(_, name)| *name)
    };
    let mut fields = Fields::new(bytes, version)?;
    let mut named = Vec::new();
    let mut offset = 1;
    while let Some((tag, bytes)) = fields.next_field()? {
        offset += FIELD_HEADER_BYTES;
        named.push(EncodedField {
            tag,
            name: name(tag).unwrap_or("not known"),
            offset,
            bytes,
        });
        offset += bytes.len();
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::{HashAlgorithm, HashSuite};
    use crate::object::{Id, Kind, NewObject, Origin};

    /// Returns the tags and fields in the table below the heading `## {title}` of docs/format.md.
    fn table(title: &str) -> Vec<(u16, String)> {
        let page = include_str!("../../docs/format.md");
        let (_, section) = page.split_once(&format!("\n## {title}\n")).unwrap();
        let rows = section.lines().take_while(|line| !line.starts_with("## "));
        let rows = rows.filter_map(|line| {
            let mut cells = line.strip_prefix("| 0x")?.split(" | ");
            let tag = u16::from_str_radix(cells.next()?, 16).unwrap();
            Some((tag, cells.next()?.replace('_', " ")))
        });
        rows.collect()
    }

    #[test]
    fn the_page_of_the_format_gives_each_tag_its_name() {
        // Format 1 refuses the reserved tag 0x0009 of an object.
        let kept = |(tag, name): &(u16, String)| (*tag, name.as_str()) != (9, "content chunks");
        for (title, names, reserved) in [
            ("Object", object::tag::NAMES, &reserved::NAMES[..]),
            ("Commit", commit::tag::NAMES, &[]),
            ("Reference", reference::tag::NAMES, &reference::RESERVED),
        ] {
            let names = names.iter().chain(reserved);
            let names: Vec<_> = names.map(|(tag, name)| (*tag, (*name).to_owned())).collect();
            let table: Vec<_> = table(title).into_iter().filter(kept).collect();
            assert_eq!(names, table, "{title}");
        }
    }

    #[test]
    fn fields_are_named_where_they_stand() {
        let mut new = NewObject::new(Id::new("tea").unwrap(), Kind::new("fact").unwrap());
        new.content = Some("green".to_owned());
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        let encoded = new.encode(Origin::DirectUser, suite).unwrap();
        let bytes: &[u8] = &encoded.bytes;
        let fields = encoded_fields(Encoding::Object, bytes).unwrap();
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["id", "kind", "scope", "content", "origin"]);
        for field in &fields {
            assert_eq!(
                &bytes[field.offset..field.offset + field.bytes.len()],
                field.bytes
            );
        }
        assert_eq!(fields[3].bytes, b"green");
        assert!(encoded_fields(Encoding::Object, &bytes[..7]).is_err());
        assert!(encoded_fields(Encoding::Commit, &[]).is_err());
    }
}

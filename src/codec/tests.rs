//! Tests of reading and writing fields: order, bounds, and truncated input.

use super::*;

#[test]
fn cod_1_tags_rise_and_are_not_zero() {
    let mut bytes = Vec::new();
    let mut writer = FieldWriter::new(&mut bytes, 1);
    writer.put(1, b"a");
    writer.put(3, b"");
    let mut fields = Fields::new(&bytes, 1).unwrap();
    assert_eq!(fields.next_field().unwrap(), Some((1, &b"a"[..])));
    assert_eq!(fields.next_field().unwrap(), Some((3, &b""[..])));
    assert_eq!(fields.next_field().unwrap(), None);

    for tags in [[2_u16, 1], [2, 2], [0, 1]] {
        let mut bytes = vec![1];
        for tag in tags {
            bytes.extend_from_slice(&tag.to_le_bytes());
            put_sized(&mut bytes, b"x");
        }
        let mut fields = Fields::new(&bytes, 1).unwrap();
        let error = loop {
            match fields.next_field() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{tags:?} were accepted"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, DecodeError::TagOrder(_)), "{tags:?} {error}");
    }
}

#[test]
fn cod_2_every_cut_is_an_error() {
    let mut bytes = Vec::new();
    let mut writer = FieldWriter::new(&mut bytes, 1);
    writer.put(1, b"hello");
    for cut in 2..bytes.len() {
        let mut fields = Fields::new(bytes.get(..cut).unwrap(), 1).unwrap();
        assert!(
            matches!(fields.next_field(), Err(DecodeError::Truncated { .. })),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_huge_length_is_refused_without_allocating() {
    let mut reader = Reader::new(&[0xff; 8]);
    assert_eq!(
        reader.sized(),
        Err(DecodeError::Truncated {
            wanted: u32::MAX as usize,
            left: 4
        })
    );
}

#[test]
fn unknown_version_and_trailing_bytes_are_named() {
    assert_eq!(Fields::new(&[9], 1).unwrap_err(), DecodeError::Version(9));
    assert_eq!(
        Reader::new(&[1, 2]).finish(),
        Err(DecodeError::Trailing { extra: 2 })
    );
    assert_eq!(
        as_arrays::<4>(&[0; 7]),
        Err(DecodeError::Invalid("a list has a partial entry"))
    );
}

//! Tests OBJ-1 and OBJ-4: one encoding for each value, and one decoded value for each accepted input.

use bytes::Bytes;

use super::super::object::tag;
use super::*;
use crate::codec::{DecodeError, FieldWriter, Fields, IGNORABLE};
use crate::digest::ObjectDigest;
use crate::testing::generators::Generator;
use crate::testing::random::SplitMix64;

/// Encodes, field by field, the values that the accessors return.
fn encoded_from_accessors(object: &Object) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FieldWriter::new(&mut bytes, 1);
    writer.put(1, object.id().as_str().as_bytes());
    writer.put(2, object.kind().as_bytes());
    writer.put(3, object.scope().as_bytes());
    writer.put_some(4, object.parent().map(str::as_bytes));
    writer.put_some(5, object.position().map(str::as_bytes));
    if !object.attributes().is_empty() {
        writer.put_with(6, |out| object.attributes().encode(out)).unwrap();
    }
    match object.content_digest() {
        Some((digest, length)) => writer.put(8, &[&digest.as_bytes()[..], &length.to_le_bytes()].concat()),
        None => writer.put_some(7, object.content().map(str::as_bytes)),
    }
    writer.put(10, &[object.origin().tag()]);
    let lineage: Vec<_> = object.derived_from().map(|digest| *digest.as_bytes()).collect();
    writer.put_some(11, (!lineage.is_empty()).then_some(lineage.as_flattened()));
    let times = [(12, object.event_time()), (13, object.expires())];
    for (tag, time) in times {
        writer.put_some(
            tag,
            time.map(|time| time.as_micros().to_le_bytes())
                .as_ref()
                .map(|bytes| &bytes[..]),
        );
    }
    for tag in IGNORABLE..=u16::MAX {
        writer.put_some(tag, object.reserved(tag));
    }
    bytes
}

#[test]
fn objects_come_back_as_they_were_stated() {
    let mut generator = Generator::new(1);
    for round in 0..4_000 {
        let new = generator.new_object();
        let origin = generator.origin();
        let object = decoded(&new, origin);
        assert_eq!(object.to_new().unwrap(), new, "round {round}");
        assert_eq!(object.origin(), origin);
        assert_eq!(object.id(), new.id.as_str());
        assert_eq!(object.content(), new.content.as_deref());
        for (name, value) in &new.attributes {
            assert_eq!(object.attribute(name).as_ref(), Some(value));
        }
        assert_eq!(object.attribute("no such name"), None);
        if round % 16 == 0 {
            assert_eq!(encoded_from_accessors(&object), **object.bytes(), "round {round}");
        }
    }
}

#[test]
fn commits_and_references_come_back_as_they_were_stated() {
    let mut generator = Generator::new(2);
    for _ in 0..20_000 {
        let commit = generator.commit();
        assert_eq!(Commit::decode(&commit.encode().unwrap()).unwrap(), commit);
        let reference = generator.reference();
        assert_eq!(
            Reference::decode(&reference.encode().unwrap()).unwrap(),
            reference
        );
    }
}

/// Changes some bytes: overwrites, removes or inserts some, copies a piece elsewhere, or cuts the end.
fn mutate(random: &mut SplitMix64, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0..=2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = random.byte(),
            4 => drop(bytes.remove(at)),
            5 => bytes.insert(at, random.byte()),
            6 => {
                let piece = bytes[at..bytes.len().min(at + 8)].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at.max(1)),
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// Returns the number of mutations, out of `rounds`, that `accepts` accepts. `accepts` panics if accepted bytes encode
/// differently.
fn mutations(
    seed: u64,
    rounds: usize,
    sample: impl Fn(&mut Generator) -> Vec<u8>,
    accepts: impl Fn(Vec<u8>) -> bool,
) {
    let mut generator = Generator::new(seed);
    let mut accepted = 0;
    let mut original = Vec::new();
    for round in 0..rounds {
        if round % 16 == 0 {
            original = sample(&mut generator);
        }
        let mut bytes = original.clone();
        mutate(&mut generator.random, &mut bytes);
        accepted += usize::from(accepts(bytes));
    }
    // The test is meaningful only if many mutations are accepted and many are refused.
    assert!(
        accepted > rounds / 20 && accepted < rounds * 19 / 20,
        "{accepted} of {rounds} were accepted"
    );
}

#[test]
fn a_mutated_object_is_refused_or_is_the_one_encoding_of_another() {
    let sample = |generator: &mut Generator| {
        let origin = generator.origin();
        generator.new_object().encode(origin, SUITE).unwrap().bytes
    };
    mutations(3, 200_000, sample, |bytes| {
        let Ok(object) = Object::decode(bytes.clone().into(), SUITE) else {
            read_everything(&Object::from_verified(
                bytes.into(),
                ObjectDigest::from_bytes([0; 32]),
            ));
            return false;
        };
        if object.lacks_content() {
            let text = "x".repeat(5000);
            let mut new = object
                .clone()
                .with_content(text.into_bytes().into())
                .to_new()
                .unwrap();
            new.content = None;
            let again = new.encode(object.origin(), SUITE).unwrap().bytes;
            assert_eq!(without_content(&again), without_content(&bytes));
        } else {
            assert_eq!(
                object
                    .to_new()
                    .unwrap()
                    .encode(object.origin(), SUITE)
                    .unwrap()
                    .bytes,
                bytes
            );
        }
        true
    });
}

/// Returns all fields except the field that names a content record.
fn without_content(bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut fields = Fields::new(bytes, 1).unwrap();
    let all = std::iter::from_fn(|| fields.next_field().unwrap());
    all.filter(|(tag, _)| *tag != tag::CONTENT_DIGEST).collect()
}

/// Calls every accessor, none of which may panic.
fn read_everything(object: &Object) -> usize {
    let texts = [object.id().as_str(), object.kind(), object.scope()];
    let parts = [object.parent(), object.position(), object.content()];
    let times = [object.event_time(), object.expires()];
    let whole = object.to_new().is_ok();
    let found = [
        object.attribute("a").is_some(),
        object.reserved(0x8001).is_some(),
        object.lacks_content(),
    ];
    let large = object.content_digest().is_some();
    assert!(!format!("{object:?} {:?} {:?}", object.origin(), object.digest()).is_empty());
    object.attributes().len()
        + object.derived_from().len()
        + texts.iter().map(|text| text.len()).sum::<usize>()
        + parts.iter().flatten().count()
        + times.iter().flatten().count()
        + usize::from(whole)
        + usize::from(large)
        + found.iter().filter(|found| **found).count()
}

#[test]
fn obj_4_accessors_answer_on_garbage_without_panicking() {
    let mut random = SplitMix64::new(4);
    for _ in 0..20_000 {
        let count = random.below(80);
        let mut bytes = random.bytes(count);
        if let Some(version) = bytes.first_mut() {
            *version = 1;
        }
        read_everything(&Object::from_verified(
            bytes.into(),
            ObjectDigest::from_bytes([0; 32]),
        ));
    }
    let nothing = Object::from_verified(Bytes::from(Vec::new()), ObjectDigest::from_bytes([0; 32]));
    assert_eq!(read_everything(&nothing), 0);
    assert_eq!(
        (nothing.id().as_str(), nothing.kind(), nothing.scope()),
        ("", "", "")
    );
    assert!(nothing.to_new().unwrap_err().is_corruption());
    assert!(!nothing.origin().is_trusted());
}

#[test]
fn a_mutated_commit_is_refused_or_is_the_one_encoding_of_another() {
    mutations(
        5,
        200_000,
        |generator| generator.commit().encode().unwrap(),
        |bytes| {
            Commit::decode(&bytes).is_ok_and(|commit| {
                assert_eq!(commit.encode().unwrap(), bytes);
                true
            })
        },
    );
}

#[test]
fn a_mutated_reference_is_refused_or_is_the_one_encoding_of_another() {
    mutations(
        6,
        200_000,
        |generator| generator.reference().encode().unwrap(),
        |bytes| {
            Reference::decode(&bytes).is_ok_and(|reference| {
                assert_eq!(reference.encode().unwrap(), bytes);
                true
            })
        },
    );
}

/// Returns the lengths to which the encoding can be cut and stays valid: the ends of the last required field and of all
/// later fields.
fn whole_lengths(bytes: &[u8], last_required: u16) -> Vec<usize> {
    let mut fields = Fields::new(bytes, 1).unwrap();
    let mut length = 1;
    let mut whole = Vec::new();
    while let Some((tag, field)) = fields.next_field().unwrap() {
        length += 6 + field.len();
        if tag >= last_required {
            whole.push(length);
        }
    }
    whole
}

#[test]
fn every_cut_within_what_must_be_there_is_refused() {
    let mut generator = Generator::new(7);
    for _ in 0..300 {
        let object = generator.new_object().encode(Origin::Model, SUITE).unwrap().bytes;
        let whole = whole_lengths(&object, tag::ORIGIN);
        for cut in 0..object.len() {
            let result = Object::decode(object[..cut].to_vec().into(), SUITE);
            assert_eq!(
                result.is_ok(),
                whole.contains(&cut),
                "cut at {cut} of {}",
                object.len()
            );
        }
        let commit = generator.commit().encode().unwrap();
        let whole = whole_lengths(&commit, 0x000b);
        for cut in 0..commit.len() {
            assert_eq!(Commit::decode(&commit[..cut]).is_ok(), whole.contains(&cut));
        }
        let reference = generator.reference().encode().unwrap();
        let whole = whole_lengths(&reference, 0x0003);
        for cut in 0..reference.len() {
            let result = Reference::decode(&reference[..cut]);
            // The decoder may refuse a cut between two fields, because the remaining fields may contradict each other.
            assert!(result.is_err() || whole.contains(&cut));
        }
    }
}

#[test]
fn a_count_beyond_the_input_is_refused_without_allocating() {
    // An attribute with an empty list whose count is 4,294,967,295.
    let attributes = [
        &1_u32.to_le_bytes()[..],
        &1_u32.to_le_bytes(),
        b"a",
        &[6],
        &[0xff; 4],
    ]
    .concat();
    let mut bytes = Vec::new();
    let mut writer = FieldWriter::new(&mut bytes, 1);
    writer.put(1, b"id");
    writer.put(2, b"kind");
    writer.put(3, b"scope");
    writer.put(6, &attributes);
    writer.put(10, &[1]);
    let error = Object::decode(bytes.into(), SUITE).unwrap_err();
    assert_eq!(error, DecodeError::Truncated { wanted: 1, left: 0 });
}

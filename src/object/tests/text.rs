//! Tests that texts beyond ASCII stay unchanged.

use std::collections::BTreeMap;

use super::*;
use crate::digest::{CommitDigest, HistoryRoot, Root};

/// Texts that other programs have truncated, case-folded, escaped or counted wrongly.
const TEXTS: [&str; 12] = [
    "na\u{ef}ve caf\u{e9}",
    "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}abc",
    "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c}",
    "\u{c548}\u{b155}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "\u{feff}starts with a byte order mark",
    "\u{2028}line separator",
    "\u{fffd}\u{ffff}",
    "\u{10ffff}",
    "\u{130}\u{131}\u{df}\u{1e9e}",
    "/../~/.\\%00",
];

#[test]
fn non_ascii() {
    for text in TEXTS {
        let mut new = fact(text);
        new.kind = Kind::new(text).unwrap();
        new.scope = Scope::new(text).unwrap();
        new.parent = Some(Id::new(&format!("{text}{text}")).unwrap());
        new.position = Some(Position::new(text).unwrap());
        new.attributes.insert(
            text,
            Value::Map([(text.to_owned(), vec![Value::from(text)].into())].into()),
        );
        new.content = Some(text.repeat(7));
        let object = decoded(&new, Origin::Host);
        assert_eq!(object.to_new().unwrap(), new);
        assert_eq!(
            (object.id().as_str(), object.kind(), object.scope()),
            (text, text, text)
        );
        assert_eq!(object.attribute(text), new.attributes.get(text).cloned());

        new.content = Some(text.repeat(5000));
        assert_eq!(decoded(&new, Origin::Host).content(), new.content.as_deref());

        let commit = Commit {
            parents: Vec::new(),
            root: Root::from_bytes([1; 32]),
            seq: 0,
            history_root: HistoryRoot::from_bytes([2; 32]),
            time: Time::from_micros(3),
            op: Op::new("put").unwrap(),
            target: None,
            actor: Some(text.to_owned()),
            session: Some(text.to_owned()),
            source: None,
            trust: Origin::Host,
            reason: None,
            reserved: BTreeMap::new(),
        };
        assert_eq!(Commit::decode(&commit.encode().unwrap()).unwrap(), commit);
        assert_eq!(commit.lane(), text);

        let name = ReferenceName::of(ReferenceClass::Pins, text).unwrap();
        assert_eq!((name.class(), name.rest()), (ReferenceClass::Pins, text));
        let reference = Reference::new(
            name,
            Some(CommitDigest::from_bytes([1; 32])),
            Time::from_micros(0),
        );
        assert_eq!(
            Reference::decode(&reference.encode().unwrap()).unwrap(),
            reference
        );
    }
}

/// Two spellings of one text are two values. Ids are the exception: they accept only one spelling.
#[test]
fn text_is_kept_as_given() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}");
    let mut a = fact("a");
    a.content = Some(composed.to_owned());
    let mut b = fact("a");
    b.content = Some(decomposed.to_owned());
    assert_ne!(
        decoded(&a, Origin::Host).digest(),
        decoded(&b, Origin::Host).digest()
    );
    assert_eq!(decoded(&b, Origin::Host).content(), Some(decomposed));
}

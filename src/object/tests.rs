use super::*;
use crate::digest::{HashAlgorithm, HashSuite};

const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);

#[test]
fn smoke() {
    let mut new = NewObject::new(Id::new("a/b").unwrap(), Kind::new("fact").unwrap());
    new.attributes.insert("n", 5_i64);
    new.content = Some("x".repeat(5000));
    new.parent = Some(Id::new("a").unwrap());
    let encoded = new.encode(Origin::Host, SUITE).unwrap();
    let object = Object::decode(encoded.bytes.clone().into(), SUITE).unwrap();
    assert_eq!(object.digest(), encoded.digest);
    assert!(object.lacks_content());
    let object = encoded.into_object();
    assert_eq!(object.to_new().unwrap(), new);
    assert!(object.same_meaning(&new, SUITE).unwrap());
    assert_eq!(object.attribute("n"), Some(Value::Integer(5)));
}

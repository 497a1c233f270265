//! Tests of objects, commits and references.

mod commit;
mod encoding;
mod injective;
mod names;
mod new_object;
mod reference;
mod text;
mod time;
mod value;

use super::*;
use crate::digest::{HashAlgorithm, HashSuite};

const SUITE: HashSuite = HashSuite::new(HashAlgorithm::Blake3);
const BOTH: [HashSuite; 2] = [SUITE, HashSuite::new(HashAlgorithm::Sha256)];

fn fact(id: &str) -> NewObject {
    NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap())
}

/// Encodes `new` and decodes the resulting object.
fn decoded(new: &NewObject, origin: Origin) -> Object {
    let encoded = new.encode(origin, SUITE).unwrap();
    let object = Object::decode(encoded.bytes.into(), SUITE).unwrap();
    assert_eq!(object.digest(), encoded.digest);
    match encoded.content {
        Some((digest, content)) => {
            assert_eq!(object.content_digest(), Some((digest, content.len() as u64)));
            assert_eq!(hash_content(SUITE, &content), digest);
            assert!(object.lacks_content());
            object.with_content(content.into())
        }
        None => object,
    }
}

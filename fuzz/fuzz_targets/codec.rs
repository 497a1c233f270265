//! If the decoder accepts bytes as an object, a commit or a reference, encoding the result returns the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use treering::testing::digest::{HashAlgorithm, HashSuite};
use treering::testing::object::Reference;
use treering::{Commit, Object, Origin};

fuzz_target!(|input: &[u8]| {
    let Some((which, bytes)) = input.split_first() else {
        return;
    };
    let suite = HashSuite::new(if which & 4 == 0 {
        HashAlgorithm::Blake3
    } else {
        HashAlgorithm::Sha256
    });
    match which % 3 {
        0 => object(bytes, suite),
        1 => {
            if let Ok(commit) = Commit::decode(bytes) {
                assert_eq!(commit.encode().expect("an accepted commit can be encoded"), bytes);
            }
        }
        _ => {
            if let Ok(reference) = Reference::decode(bytes) {
                assert_eq!(
                    reference.encode().expect("an accepted reference can be encoded"),
                    bytes
                );
            }
        }
    }
});

fn object(bytes: &[u8], suite: HashSuite) {
    let Ok(object) = Object::decode(bytes.to_vec().into(), suite) else {
        return;
    };
    assert_eq!(object.digest(), Object::hash(bytes, suite));
    // The object cannot be encoded again without its content, which is in a separate record.
    if object.lacks_content() {
        return;
    }
    let new = object.to_new().expect("an accepted object has valid parts");
    let encoded = new
        .encode(object.origin(), suite)
        .expect("an accepted object can be encoded");
    assert_eq!(encoded.bytes, bytes);
    assert_eq!(encoded.digest, object.digest());
    assert!(Origin::from_tag(object.origin().tag()) == Some(object.origin()));
}

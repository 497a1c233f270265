//! Compares the assigned order keys with the simplest algorithm that finds the keys to keep.

use proptest::prelude::*;

use super::*;

fn rise(keys: &[String]) {
    for pair in keys.windows(2) {
        assert!(pair[0] < pair[1], "ING-3: {} before {}", pair[0], pair[1]);
    }
    assert!(keys.iter().all(|key| is_valid(key)));
}

#[test]
fn first_keys_are_evenly_spaced_and_of_one_width() {
    let assigned = assign(&[None; 5]);
    assert_eq!(
        assigned.keys,
        ["i0000000", "i0001000", "i0002000", "i0003000", "i0004000"]
    );
    rise(&fresh(1_000_000));
}

#[test]
fn keys_go_in_front_between_and_behind() {
    let assigned = assign(&[None, Some("i0000000"), None, Some("i0001000"), None, None]);
    assert_eq!(
        assigned.keys,
        [
            "hzzzz000", "i0000000", "i0000i00", "i0001000", "i0002000", "i0003000"
        ]
    );
    assert!(!assigned.respaced);
}

#[test]
fn the_ends_of_all_numbers_are_no_ends() {
    for keys in [[None, Some("00000001"), None], [None, Some("zzzzzzzz"), None]] {
        let assigned = assign(&keys);
        rise(&assigned.keys);
        assert!(!assigned.respaced);
        assert_eq!(Some(assigned.keys[1].as_str()), keys[1]);
    }
    assert!(
        assign(&[None, Some("00000000")]).respaced,
        "nothing is below nothing"
    );
}

#[test]
fn without_room_every_key_is_new() {
    let low = format!("i0000000{}1", "0".repeat(55));
    let high = format!("i0000000{}2", "0".repeat(55));
    let assigned = assign(&[Some(&low), None, Some(&high)]);
    assert!(assigned.respaced);
    assert_eq!(assigned.keys, fresh(3));
}

#[test]
fn keys_that_are_not_ours_are_replaced() {
    for foreign in ["a", "I0000000", "i00000010", "i000000é", ""] {
        let assigned = assign(&[Some("i0000000"), Some(foreign)]);
        assert_eq!(assigned.keys, ["i0000000", "i0001000"], "{foreign}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Tests ING-3 and ING-4 against the simplest search for the longest ascending subsequence.
    #[test]
    fn as_many_keys_as_can_be_are_kept(keys in prop::collection::vec(prop::option::weighted(0.7, "[0-9a-z]{8}([0-9a-z]{0,3}[1-9a-z])?"), 0..40)) {
        let given: Vec<Option<&str>> = keys.iter().map(Option::as_deref).collect();
        let assigned = assign(&given);
        prop_assume!(!assigned.respaced);
        rise(&assigned.keys);
        let kept = given.iter().zip(&assigned.keys).filter(|(old, new)| **old == Some(new.as_str())).count();
        let mut longest = vec![0; given.len()];
        for at in 0..given.len() {
            if given[at].is_some() {
                longest[at] = 1 + (0..at).filter(|before| given[*before].is_some() && given[*before] < given[at]).map(|before| longest[before]).max().unwrap_or(0);
            }
        }
        prop_assert_eq!(kept, longest.into_iter().max().unwrap_or(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn inserting_anywhere_keeps_the_order(places in prop::collection::vec(any::<prop::sample::Index>(), 1..300)) {
        let mut keys: Vec<String> = Vec::new();
        for place in places {
            let mut given: Vec<Option<&str>> = keys.iter().map(|key| Some(key.as_str())).collect();
            given.insert(place.index(keys.len() + 1), None);
            let assigned = assign(&given);
            rise(&assigned.keys);
            keys = assigned.keys;
        }
    }
}

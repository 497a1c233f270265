//! Works that only Treering does: finding by an attribute, and verifying a store.

use treering::Query;
use treering::upkeep::VerifyDepth;

use super::Run;
use super::reads::rounds_of;
use super::stores::Stores;
use crate::objects::{CANONICAL, TOPICS, encode, object, topic};
use crate::race::{Race, micros, millis, timed};
use crate::table::Role;

const ROUNDS: usize = 21;

/// Measures a query for one of the topics, beside a scan with the same condition. An untimed query builds the index.
pub fn find(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("find", n, 1, 1);
    let view = stores.treering.memory.view();
    let expected = |number: u64| (0..n).filter(|other| other % TOPICS == number % TOPICS).count();
    let query = |number: u64| {
        let query = Query::default().attribute("topic", topic(number).as_str());
        let (time, found) = timed(|| view.query(&query).unwrap().map(Result::unwrap).count());
        assert_eq!(found, expected(number), "the objects that were found");
        [micros(time)]
    };
    query(0);
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, query);
    race.run(ROUNDS).record(["find"], n, &mut run.table);
    let mut race = Race::new();
    race.enter("Treering, scan", Role::Limit, |round| {
        let wanted = treering::Value::from(topic(round).as_str());
        let scan = || {
            let objects = view.objects().map(Result::unwrap);
            objects
                .filter(|object| object.attribute("topic").as_ref() == Some(&wanted))
                .count()
        };
        let (time, found) = timed(scan);
        assert_eq!(found, expected(round), "the objects that were found");
        [micros(time)]
    });
    race.run(rounds_of(n)).record(["find"], n, &mut run.table);
}

/// Measures a full verification, beside BLAKE3 of the canonical bytes of the same versions, one at a time.
pub fn verify(run: &mut Run, n: u64, stores: &Stores) {
    run.progress.at("verify", n, 1, 1);
    let bytes: Vec<u8> = (0..n)
        .flat_map(|number| encode(&object(number, 0)).bytes)
        .collect();
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |_| {
        let (time, report) = timed(|| stores.treering.memory.verify(VerifyDepth::Full).unwrap());
        assert!(
            report.ok && report.versions == n,
            "the store is undamaged and whole"
        );
        [millis(time)]
    });
    race.enter("BLAKE3, one by one", Role::Limit, |_| {
        let hash_all = || {
            for bytes in bytes.chunks(CANONICAL) {
                std::hint::black_box(blake3::hash(bytes));
            }
        };
        [millis(timed(hash_all).0)]
    });
    race.run(rounds_of(n)).record(["verify"], n, &mut run.table);
}

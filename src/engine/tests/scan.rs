//! A query without an index scans the state.

use super::*;

fn memory() -> Memory {
    let options = Options::new().indexes(false);
    let disk = Arc::new(crate::disk::MemDisk::new());
    let memory = Memory::on_disk(disk, options, true, None).unwrap();
    let mut draft = memory.draft(&Writer::user());
    for number in 0..30 {
        draft
            .put(note(&format!("n/{:02}", number * 7 % 30), "x"))
            .unwrap();
    }
    memory.commit(draft, "put").unwrap();
    memory
}

fn ids(memory: &Memory, query: &Query) -> Vec<String> {
    let found = memory.view().query(query).unwrap();
    assert!(found.scanned());
    found.map(|object| object.unwrap().id().to_string()).collect()
}

#[test]
fn a_scan_finds_every_match_in_order_up_to_the_limit() {
    let all: Vec<String> = (0..30).map(|number| format!("n/{number:02}")).collect();
    let memory = memory();
    assert_eq!(ids(&memory, &Query::default()), all);
    for limit in [0, 1, 6, 7, 8, 30, 40] {
        let query = Query {
            limit: Some(limit),
            ..Query::default()
        };
        assert_eq!(ids(&memory, &query), all[..limit.min(30)], "limit {limit}");
    }
    let query = Query {
        prefix: Some("n/1".to_owned()),
        ..Query::default()
    };
    assert_eq!(ids(&memory, &query), all[10..20]);
}

//! A query without an index reads the state window by window. Only its use of memory shows the difference.

use super::*;

fn memory(window: usize) -> Memory {
    let mut options = Options::new().indexes(false);
    options.settings.scan_window = window;
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
fn windows_follow_one_another_without_a_seam() {
    let all: Vec<String> = (0..30).map(|number| format!("n/{number:02}")).collect();
    for window in [1, 2, 7, 15, 29, 30, 31] {
        let memory = memory(window);
        assert_eq!(ids(&memory, &Query::default()), all, "window {window}");
        for limit in [0, 1, 6, 7, 8, 30, 40] {
            let query = Query {
                limit: Some(limit),
                ..Query::default()
            };
            assert_eq!(
                ids(&memory, &query),
                all[..limit.min(30)],
                "window {window}, limit {limit}"
            );
        }
        let query = Query {
            prefix: Some("n/1".to_owned()),
            ..Query::default()
        };
        assert_eq!(ids(&memory, &query), all[10..20], "window {window}");
    }
}

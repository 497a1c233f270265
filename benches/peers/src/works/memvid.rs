//! One memory stored durably, beside memvid-core: by `put`, which leaves the search index to the next recall, and by
//! `remember`, which looks for duplicates in that index.

use memvid_core::{Memvid, PutManyOpts, PutOptions};
use treering::agent::{Agent, NewItem, RememberOptions, Settings};
use treering::{Kind, Memory, NewObject, Writer};

use super::Run;
use super::agent::{remember_all, text};
use crate::objects::id;
use crate::race::{Race, micros, timed};
use crate::table::Role;

const ROUNDS: usize = 11;

/// Measures one more memory after `n`. Memvid writes its search index again in each commit.
pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("memvid-put", n, 1, 1);
    let folder = run.folder("memvid-");
    let memory = Memory::create(folder.path().join("treering")).unwrap();
    let agent = Agent::new(memory, Settings::default());
    remember_all(&agent, n);
    let mut memvid = Memvid::create(folder.path().join("memory.mv2")).unwrap();
    let batch = PutManyOpts {
        disable_auto_checkpoint: true,
        skip_sync: true,
        wal_pre_size_bytes: n * 1_024,
        ..PutManyOpts::default()
    };
    memvid.begin_batch(batch).unwrap();
    for number in 0..n {
        memvid
            .put_bytes_with_options(text(number).as_bytes(), options(number))
            .unwrap();
    }
    memvid.end_batch().unwrap();
    memvid.commit().unwrap();
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        let mut note = NewObject::new(id(n + round), Kind::new("note").unwrap());
        note.content = Some(text(n + round));
        let (put, _) = timed(|| agent.memory().put(note, &Writer::user()).unwrap());
        let item = NewItem::new(text(n + ROUNDS as u64 + round));
        let (remember, remembered) = timed(|| {
            agent
                .remember(item, &RememberOptions::default(), &Writer::user())
                .unwrap()
        });
        assert!(remembered.digest.is_some(), "the item is stored");
        [micros(put), micros(remember)]
    });
    race.enter("memvid", Role::Peer, |round| {
        let (time, ()) = timed(|| {
            memvid
                .put_bytes_with_options(text(n + round).as_bytes(), options(n + round))
                .unwrap();
            memvid.commit().unwrap();
        });
        [micros(time), micros(time)]
    });
    race.run(ROUNDS)
        .record(["memvid-put", "memvid-remember"], n, &mut run.table);
    let frames = memvid.stats().unwrap().frame_count;
    assert_eq!(frames, n + ROUNDS as u64, "memvid stored every memory");
}

/// Returns the options without what memvid derives from a text by default. With it, each put takes 40 ms.
fn options(number: u64) -> PutOptions {
    PutOptions::builder()
        .uri(format!("mv2://fact/{number}"))
        .auto_tag(false)
        .extract_dates(false)
        .extract_triplets(false)
        .instant_index(false)
        .build()
}

//! One whole turn of an agent, beside as many durable appends as the turn has commits.

use treering::agent::{Agent, LinesOptions, NewItem, Reach, RecallQuery, RememberOptions, Settings};
use treering::{Id, Memory, Writer};

use super::Run;
use crate::objects::{encode, object};
use crate::peers::raw::RawFile;
use crate::race::{Race, micros, timed};
use crate::table::Role;

const ROUNDS: usize = 51;
/// The number of hits of a recall.
const HITS: usize = 10;

pub fn text(number: u64) -> String {
    let topics = ["the build", "the release", "tea", "the office", "the database"];
    let (topic, week) = (topics[number as usize % topics.len()], number % 52);
    format!("Fact {number} about {topic}: in week {week} the team decided to keep it as it was.")
}

fn line(number: u64) -> Vec<u8> {
    format!(r#"{{"id":"fact/{number}","text":"{}"}}"#, text(number)).into_bytes()
}

/// Stores the first `n` memories.
pub fn remember_all(agent: &Agent, n: u64) {
    let lines = (0..n).map(|number| Ok((number + 1, line(number))));
    let stored = agent
        .remember_lines(lines, &LinesOptions::default(), &Writer::user())
        .unwrap()
        .stored;
    assert_eq!(stored, n, "all memories are stored");
}

/// Measures turns on `n` memories. The rollback takes back what the turn remembered, so each turn starts alike.
pub fn measure(run: &mut Run, n: u64) {
    run.progress.at("turn", n, 1, 1);
    let folder = run.folder("turn-");
    let memory = Memory::create(folder.path().join("treering")).unwrap();
    let agent = Agent::new(memory, Settings::default());
    remember_all(&agent, n);
    let before = agent.memory().view().len();
    let turn = |round: u64| {
        let query = RecallQuery::new(text(round * 7_919 % n).as_str(), Reach::All).limit(HITS);
        let hits = agent.recall(&agent.memory().view(), &query).unwrap().hits;
        assert!(!hits.is_empty(), "a memory is found");
        let name = format!("turn-{round}");
        agent.memory().snapshot(Some(&name), &Writer::user()).unwrap();
        let id = Id::new(&format!("turn/{round}")).unwrap();
        let item = NewItem {
            id: Some(id),
            ..NewItem::new(text(n + round))
        };
        let remembered = agent
            .remember(item, &RememberOptions::default(), &Writer::user())
            .unwrap();
        assert!(remembered.digest.is_some(), "the item is stored");
        agent
            .memory()
            .rollback(name.as_str())
            .by(&Writer::user())
            .unwrap();
        assert_eq!(agent.memory().view().len(), before, "the turn is taken back");
    };
    // The first turn builds the index of recall.
    turn(ROUNDS as u64 + 1);
    let mut raw = RawFile::create(folder.path(), "raw");
    let bytes = encode(&object(0, 0)).bytes;
    let mut race = Race::new();
    race.enter("Treering", Role::Treering, |round| {
        [micros(timed(|| turn(round)).0)]
    });
    race.enter("3 x append + fdatasync", Role::Limit, |_| {
        [micros(timed(|| (0..3).for_each(|_| raw.append(&bytes))).0)]
    });
    race.run(ROUNDS).record(["turn"], n, &mut run.table);
}

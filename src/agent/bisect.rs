//! Bisect by question: finds the commit that changed the first hit of a recall.
//!
//! # Layer
//! Layer 7, inside `agent`. Changes nothing, and counts no hit as used.
//!
//! # Invariants
//! - ABI-1: a hit is another one if its id or its present text differs. A change of the score, the origin or another
//!   field changes no answer.

use std::collections::HashMap;

use super::agent::Agent;
use super::search::{RecallHit, RecallQuery, search};
use super::stored_text::StoredText;
use crate::engine::{Bisected, View};
use crate::error::{Error, ErrorCode, Result};

/// The commit that changed the first hit of a recall.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BisectedAnswer {
    /// The found commit.
    pub found: Bisected,
    /// The first hit before the commit, with its whole text.
    pub before: Option<RecallHit>,
    /// The first hit after the commit, with its whole text.
    pub after: Option<RecallHit>,
}

/// The first hits of the tested states, by the seq of their commits.
struct FirstHits<'a> {
    agent: &'a Agent,
    query: RecallQuery,
    known: HashMap<u64, Option<RecallHit>>,
}

impl FirstHits<'_> {
    /// Returns the first hit at the time of the commit of a state, with its present text.
    fn of(&mut self, view: &View) -> Result<Option<RecallHit>> {
        let commit = view.commit().commit;
        if let Some(known) = self.known.get(&commit.seq) {
            return Ok(known.clone());
        }
        let view = view.clone().with_now(commit.time);
        let mut hits = search(self.agent, &view, &self.query, None)?.hits;
        hits.truncate(1);
        let mut first = hits.pop();
        if let Some(hit) = &mut first {
            let object = view.get(&hit.id)?;
            let shown = object.map(|object| StoredText::of(self.agent, &object, true));
            hit.text = shown.and_then(|shown| shown.text);
        }
        self.known.insert(commit.seq, first.clone());
        Ok(first)
    }
}

/// Finds the commit after which the first hit changed or lacks a text; see [`Agent::bisect`].
pub(super) fn bisect(
    agent: &Agent,
    good: &View,
    bad: &View,
    query: &RecallQuery,
    expect: Option<&str>,
) -> Result<BisectedAnswer> {
    if query.text.trim().is_empty() {
        return Err(Error::invalid("the question is empty").with_code(ErrorCode::NoText));
    }
    let mut hits = FirstHits {
        agent,
        query: RecallQuery {
            full: false,
            explain: false,
            ..query.clone()
        },
        known: HashMap::new(),
    };
    // The index of the newest state is often in memory, so that state is read first.
    hits.of(bad)?;
    let wanted = hits.of(good)?;
    let found = agent.memory().bisect(good, bad, |view| {
        let hit = hits.of(view)?;
        Ok(match expect {
            Some(text) => !hit.is_some_and(|hit| hit.text.is_some_and(|found| found.contains(text))),
            None => !is_same(hit.as_ref(), wanted.as_ref()),
        })
    });
    let found = found.map_err(|error| explained(error, &mut hits, [good, bad]))?;
    let mut hit_at = |seq: u64| hits.known.remove(&seq).flatten();
    Ok(BisectedAnswer {
        before: hit_at(found.last_good.commit.seq),
        after: hit_at(found.first_bad.commit.seq),
        found,
    })
}

/// Returns whether two answers have the same first hit (ABI-1).
fn is_same(one: Option<&RecallHit>, other: Option<&RecallHit>) -> bool {
    let parts = |hit: Option<&RecallHit>| hit.map(|hit| (hit.id.clone(), hit.text.clone()));
    parts(one) == parts(other)
}

/// Adds to an error about the given states what recall finds there.
fn explained(error: Error, hits: &mut FirstHits<'_>, [good, bad]: [&View; 2]) -> Error {
    let view = match error.code() {
        ErrorCode::GoodIsBad => good,
        ErrorCode::BadIsGood => bad,
        _ => return error,
    };
    let seq = view.commit().commit.seq;
    match hits.of(view) {
        Ok(Some(hit)) => error.with_hint(format!(
            "the first hit at seq:{seq} is '{}'; recall --at seq:{seq} shows the answer",
            hit.id
        )),
        _ => error.with_hint(format!(
            "recall finds nothing at seq:{seq}; name other scopes or another revision"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{NewItem, Reach, RememberOptions, Settings};
    use crate::engine::{Memory, Revision, Writer};
    use crate::object::{Id, Kind, NewObject};
    use crate::testing::random::SplitMix64;

    fn put(memory: &Memory, id: &str, text: &str) {
        let mut object = NewObject::new(Id::new(id).unwrap(), Kind::new("fact").unwrap());
        object.content = Some(text.to_owned());
        drop(memory.put(object, &Writer::user()).unwrap());
    }

    fn at(agent: &Agent, seq: u64) -> View {
        agent.memory().at(Revision::Seq(seq)).unwrap()
    }

    fn about(text: &str) -> RecallQuery {
        RecallQuery::new(text, Reach::All)
    }

    /// The commits: 1 Bremen, 2 to 4 others, 5 Frankfurt, 6 and 7 others.
    fn offices() -> Agent {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        let memory = agent.memory();
        put(memory, "office", "The office is in Bremen.");
        for number in 2..5 {
            put(
                memory,
                &format!("f{number}"),
                &format!("The kettle number {number} is red."),
            );
        }
        put(memory, "office", "The office is in Frankfurt.");
        put(memory, "f6", "The garden has a gate.");
        put(memory, "f7", "The window is open.");
        agent
    }

    #[test]
    fn the_commit_that_changed_the_first_hit_is_found() {
        let agent = offices();
        let head = agent.memory().view();
        for expect in [None, Some("Bremen")] {
            let found = agent.bisect(&at(&agent, 1), &head, &about("where is the office?"), expect);
            let found = found.unwrap();
            assert_eq!(found.found.first_bad.commit.seq, 5);
            let text = |hit: &Option<RecallHit>| hit.as_ref().unwrap().text.clone().unwrap();
            assert_eq!(text(&found.before), "The office is in Bremen.");
            assert_eq!(text(&found.after), "The office is in Frankfurt.");
        }
        let gone = agent
            .bisect(&at(&agent, 0), &head, &about("kettle number 3"), None)
            .unwrap();
        assert!(
            gone.before.is_none() && gone.found.first_bad.commit.seq == 2,
            "{gone:?}"
        );
    }

    #[test]
    fn wrong_ends_are_told_with_what_recall_finds_there() {
        let agent = offices();
        let ask = |good, bad, expect| {
            let question = about("where is the office?");
            agent
                .bisect(&at(&agent, good), &at(&agent, bad), &question, expect)
                .unwrap_err()
        };
        let (good, bad) = (ErrorCode::GoodIsBad, ErrorCode::BadIsGood);
        for (from, upto, expect, code, hint) in [
            (1, 4, None, bad, "'office'"),
            (1, 7, Some("Oslo"), good, "'office'"),
            (0, 7, Some("Oslo"), good, "nothing"),
            (5, 7, Some("Frankfurt"), bad, "'office'"),
            (5, 5, None, ErrorCode::WrongOrder, "log"),
        ] {
            let error = ask(from, upto, expect);
            assert_eq!(error.code(), code, "{error}");
            assert!(error.hint().unwrap().contains(hint), "{error:?}");
        }
        let empty = agent.bisect(&at(&agent, 1), &at(&agent, 7), &about(" "), None);
        assert_eq!(empty.unwrap_err().code(), ErrorCode::NoText);
    }

    /// INVARIANT ABI-1: a new field of the first hit changes no answer.
    #[test]
    fn another_field_of_the_same_hit_is_no_other_answer() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        put(agent.memory(), "office", "The office is in Bremen.");
        let mut object = agent
            .memory()
            .view()
            .get(&Id::new("office").unwrap())
            .unwrap()
            .unwrap();
        let mut changed = object.to_new().unwrap();
        changed.attributes.insert("checked", true);
        drop(agent.memory().put(changed, &Writer::user()).unwrap());
        object = agent.memory().view().get(object.id()).unwrap().unwrap();
        assert!(object.attribute("checked").is_some());
        let found = agent.bisect(&at(&agent, 1), &at(&agent, 2), &about("the office"), None);
        assert_eq!(found.unwrap_err().code(), ErrorCode::BadIsGood);
    }

    #[test]
    fn untrusted_hits_and_secrets_stay_hidden() {
        let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
        put(agent.memory(), "office", "The office is in Bremen.");
        let page = NewItem {
            id: Some(Id::new("page").unwrap()),
            ..NewItem::new("The office is the office: in Frankfurt.")
        };
        let tool = Writer::tool("browser");
        drop(agent.remember(page, &RememberOptions::default(), &tool).unwrap());
        put(
            agent.memory(),
            "key",
            &format!(
                "The office key is {}_16C7e42F292c6912E7710c838347Ae178B4a office.",
                "ghp"
            ),
        );
        let head = agent.memory().view();
        let question = about("office key");
        let found = agent.bisect(&at(&agent, 1), &head, &question, None).unwrap();
        assert_eq!(
            found.found.first_bad.commit.seq, 3,
            "the page of a tool is no hit"
        );
        assert!(found.after.unwrap().text.unwrap().contains("[REDACTED:"));
    }

    /// Random histories of texts about a few things: the found commit is a change of the first hit, and the first one if
    /// the answer stays bad.
    #[test]
    fn bisect_agrees_with_a_recall_of_all_states() {
        let mut first = 0;
        for seed in 0..10 {
            let mut random = SplitMix64::new(seed);
            let agent = Agent::new(Memory::in_memory().unwrap(), Settings::default());
            for _ in 0..20 {
                let id = format!("f{}", random.below(8));
                let words = ["office", "kettle", "garden", "Bremen", "Oslo", "red", "open"];
                let text: Vec<&str> = (0..4).map(|_| *random.pick(&words)).collect();
                put(agent.memory(), &id, &text.join(" "));
            }
            let seqs = 0..=agent.memory().view().commit().commit.seq;
            let question = about("the red office in Oslo");
            let answers = seqs.map(|seq| {
                let view = at(&agent, seq);
                let view = view.clone().with_now(view.commit().commit.time);
                let hits = agent
                    .recall(&view, &question.clone().without_touch())
                    .unwrap()
                    .hits;
                let id = hits.first()?.id.clone();
                let object = view.get(&id).unwrap()?;
                Some((id, object.content().unwrap_or_default().to_owned()))
            });
            let answers: Vec<_> = answers.collect();
            for good in 0..answers.len() {
                let bad = answers.len() - 1;
                let found = agent.bisect(&at(&agent, good as u64), &at(&agent, bad as u64), &question, None);
                let changed: Vec<bool> = answers[good..].iter().map(|one| *one != answers[good]).collect();
                if !changed[changed.len() - 1] {
                    assert!(found.is_err());
                    continue;
                }
                let seq = found.unwrap().found.first_bad.commit.seq as usize;
                assert!(
                    changed[seq - good] && !changed[seq - good - 1],
                    "seed {seed}, {good}"
                );
                if changed.is_sorted() {
                    assert_eq!(
                        changed.iter().position(|bad| *bad),
                        Some(seq - good),
                        "seed {seed}"
                    );
                    first += 1;
                }
            }
        }
        assert!(first > 10, "{first}");
    }
}

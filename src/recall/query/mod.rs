//! Queries: one ranked list of memories for a question.
//!
//! A query reads the postings of its words once. The best memories and their neighbours are candidates; the score of
//! each is the weighted sum of nineteen signals. A hit explains the share of every signal.
//!
//! # Layer
//! Above `recall::index`; reads it and changes nothing.
//!
//! # Invariants
//! - QRY-1: one query of the same memories gives the same answer, bit for bit, after any history of the index.
//! - QRY-2: a query of some scopes answers as if the index held those scopes alone.

mod base;
mod confidence;
mod dates;
mod dense;
mod order;
mod phrases;
mod question;
mod rank;
mod relatives;
mod scope;
mod signals;
mod snippet;

pub use base::Scratch;
pub use dense::Embedder;
pub use order::Moved;
pub use signals::{MEANINGS, NAMES, SIGNALS, Signal};
pub use snippet::{CHARS_A_TOKEN, Snippet, snippet, tokens};

use crate::recall::index::{Index, Key};
use dense::Cosines;
use order::{Scored, arrange};
use question::Question;
use rank::{Candidate, Ranking};
use scope::Admission;
use signals::{CONVERSATION, DENSE_CONVERSATION, DENSE_OTHER, OTHER, RECENCY_OTHER};

/// Whether a memory may be returned, by kind, tags, trust or anything else that the caller knows.
pub type Filter<'a> = &'a dyn Fn(&Key) -> bool;

/// Whether the first memory, which names the second among those that it supersedes, is accepted as its successor.
pub type TakesPlace<'a> = &'a dyn Fn(&Key, &Key) -> bool;

/// A question and the memories to search.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The question, or a statement.
    pub text: &'a str,
    /// The scopes to search; `None` searches all.
    pub scopes: Option<&'a [&'a str]>,
    /// Further conditions. They hide memories, and change no frequency.
    pub filter: Option<Filter<'a>>,
    /// Which links between memories count; without it all links count.
    pub takes_place: Option<TakesPlace<'a>>,
    /// Makes a vector of the question, where memories have vectors.
    pub embedder: Option<&'a dyn Embedder>,
    /// The present, in seconds since 1970. "Last week" and recency count from it; without it they have no meaning.
    pub now: Option<i64>,
    /// The weight of recency.
    pub recency: f32,
    /// The most hits.
    pub limit: usize,
    /// Whether the newer of two leading hits comes first if the question asks for a current state.
    pub freshness: bool,
}

impl<'a> Query<'a> {
    /// A query of all scopes with the usual settings.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            scopes: None,
            filter: None,
            takes_place: None,
            embedder: None,
            now: None,
            recency: 0.0,
            limit: 10,
            freshness: true,
        }
    }
}

/// One memory that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its key.
    pub key: Key,
    /// The weighted sum; comparable within one answer.
    pub score: f32,
    /// The confidence that the memory answers the query, 0 to 1; comparable between answers.
    pub confidence: f32,
    /// Whether it is part of a conversation, which decides the weights.
    pub conversation: bool,
    /// The value of each [`Signal`].
    pub signals: [f32; SIGNALS],
    /// The cosine with its neighbours', as a share of the best; zero without vectors.
    pub dense: f32,
    /// The reason for a rank above the one of its score.
    pub moved: Option<Moved>,
    /// Its share of the question's words, the less the older it is; see [`LATELY`].
    pub lately: f32,
    recency: f32,
    with_vectors: bool,
}

/// One line of an explanation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reason {
    /// The short name of the signal.
    pub name: &'static str,
    /// What it measures.
    pub meaning: &'static str,
    /// Its value.
    pub value: f32,
    /// Its weight; the score is the sum of values by weights.
    pub weight: f32,
}

impl Hit {
    /// Every signal that adds to the score, or takes from it, with its weight.
    pub fn explain(&self) -> Vec<Reason> {
        let weights = weights(self.conversation);
        let named = NAMES.iter().zip(MEANINGS).zip(self.signals.iter().zip(weights));
        let mut reasons: Vec<Reason> = named
            .map(|((&name, meaning), (&value, weight))| Reason {
                name,
                meaning,
                value,
                weight,
            })
            .collect();
        reasons.push(Reason {
            name: "vec",
            meaning: "says it with other words, by its vector",
            value: self.dense,
            weight: if self.with_vectors {
                dense_weight(self.conversation)
            } else {
                0.0
            },
        });
        reasons.push(Reason {
            name: "lately",
            meaning: "has the words and happened lately",
            value: self.lately,
            weight: self.recency * recency_share(self.conversation),
        });
        reasons.retain(|reason| reason.value * reason.weight != 0.0);
        reasons
    }
}

fn weights(conversation: bool) -> [f32; SIGNALS] {
    if conversation { CONVERSATION } else { OTHER }
}

fn dense_weight(conversation: bool) -> f32 {
    if conversation {
        DENSE_CONVERSATION
    } else {
        DENSE_OTHER
    }
}

fn score(candidate: &Candidate, vectors: bool) -> f32 {
    let weights = weights(candidate.conversation);
    let sum: f32 = candidate
        .signals
        .iter()
        .zip(weights)
        .map(|(value, weight)| value * weight)
        .sum();
    if vectors {
        sum + dense_weight(candidate.conversation) * candidate.dense
    } else {
        sum
    }
}

/// The age that halves recency: a day, in seconds.
pub const LATELY: f32 = 86_400.0;

/// The share of recency's weight. Outside of conversations fewer terms balance it.
fn recency_share(conversation: bool) -> f32 {
    if conversation { 1.0 } else { RECENCY_OTHER }
}

/// Recency: 1 now and in the future, a half at the age [`LATELY`], a third at twice that age.
fn lately(time: i64, now: i64) -> f32 {
    let age = now.saturating_sub(time).max(0) as f32;
    LATELY / (LATELY + age)
}

/// What a query found.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The terms that were asked for, for [`snippet()`].
    pub terms: Vec<String>,
}

impl Index {
    /// Answers a query. One scratch serves any number of queries, one at a time.
    pub fn recall(&self, query: &Query<'_>, scratch: &mut Scratch) -> Answer {
        let admission = Admission::new(self, query.scopes);
        let mut question = Question::read(self, &admission, query.text, query.now);
        question.asks.state &= query.freshness;
        let vector = query.embedder.map(|embedder| embedder.embed(&question.nameless));
        let dense = vector.and_then(|vector| Cosines::new(self, &admission, &vector));
        let rarities = base::score(self, &admission, &question, scratch).rarities;
        let hits = self.hits(query, &admission, &question, scratch, &rarities, dense.as_ref());
        scratch.clear();
        Answer {
            hits,
            terms: question.terms.into_iter().map(|term| term.text).collect(),
        }
    }

    /// The memories of `scopes` with the best base scores for `text`. The other signals are left out, so that several
    /// memories of the same statement are all found.
    pub(crate) fn nearest(
        &self,
        text: &str,
        scopes: Option<&[&str]>,
        filter: Filter<'_>,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Vec<Key> {
        let admission = Admission::new(self, scopes);
        let question = Question::read(self, &admission, text, None);
        let rarities = base::score(self, &admission, &question, scratch).rarities;
        let ranking = Ranking::new(
            self,
            &admission,
            Some(filter),
            &question,
            scratch,
            &rarities,
            None,
        );
        let nearest = ranking.nearest(limit);
        scratch.clear();
        nearest
            .into_iter()
            .map(|number| self.columns.keys[number as usize])
            .collect()
    }

    fn hits(
        &self,
        query: &Query<'_>,
        admission: &Admission,
        question: &Question,
        scratch: &Scratch,
        rarities: &[f32],
        dense: Option<&Cosines>,
    ) -> Vec<Hit> {
        let mut ranking = Ranking::new(self, admission, query.filter, question, scratch, rarities, dense);
        ranking.takes_place = query.takes_place;
        let candidates = ranking.candidates().into_iter();
        let recency = query.now.map_or(0.0, |_| query.recency);
        let lately = |candidate: &Candidate| match query.now {
            Some(now) if recency > 0.0 => lately(self.columns.row(candidate.number).time, now),
            _ => 0.0,
        };
        let scored = candidates.map(|candidate| {
            let lately = candidate.signals[Signal::Base as usize] * lately(&candidate);
            Scored {
                score: score(&candidate, dense.is_some())
                    + recency * recency_share(candidate.conversation) * lately,
                lately,
                candidate,
                moved: None,
            }
        });
        let mut scored = arrange(&ranking, scored.collect());
        scored.truncate(query.limit);
        let numbers: Vec<u32> = scored.iter().map(|scored| scored.candidate.number).collect();
        let confidences = confidence::confidences(self, question, rarities, scratch, &numbers);
        let hits = scored
            .into_iter()
            .zip(confidences)
            .map(|(scored, confidence)| Hit {
                key: self.columns.keys[scored.candidate.number as usize],
                score: scored.score,
                confidence,
                conversation: scored.candidate.conversation,
                signals: scored.candidate.signals,
                dense: scored.candidate.dense,
                moved: scored.moved,
                lately: scored.lately,
                recency,
                with_vectors: dense.is_some(),
            });
        hits.collect()
    }
}

#[cfg(test)]
mod tests;

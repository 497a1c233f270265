//! Queries: one ranked list of documents for a question.
//!
//! A query reads the postings of its words once. The best documents and their neighbours become candidates. The score
//! of a candidate is the weighted sum of twenty-one signals. A hit explains the contribution of every signal.
//!
//! # Layer
//! Above `recall::index`; reads the index and changes nothing.
//!
//! # Invariants
//! - QRY-1: the same query over the same documents has the same answer, bit for bit, whatever the history of the index.
//! - QRY-2: the answer to a query of some scopes is the same as if the index contained only those scopes.

mod base;
mod confidence;
mod dates;
mod dense;
mod forms;
mod order;
mod phrases;
mod pruned;
mod question;
mod rank;
mod relatives;
mod said;
mod scope;
mod signals;
mod snippet;

pub use base::Scratch;
pub use dense::{Embedder, Meaning};
pub use signals::{SIGNALS, Signal};
pub use snippet::{CHARS_A_TOKEN, Snippet, snippet, tokens};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::recall::index::{Index, Key};
use crate::recall::vectors::VectorTable;
use confidence::{is_chance, judge};
use dense::Cosines;
use forms::languages_in;
use order::arrange;
use pruned::Pruned;
use question::Question;
use rank::{Asked, CANDIDATES, Ranking};
use scope::Admission;
use signals::{CONVERSATION, MEANINGS, NAMES, OTHER, Role, VECTOR_IN_SESSION};

/// Decides whether a document may be returned, by kind, tags, trust or anything else that the caller knows.
pub type Filter<'a> = &'a dyn Fn(&Key) -> bool;

/// Decides whether a document that supersedes another document is accepted as the successor of that document. The first
/// key is the key of the new document.
pub type IsSuccessor<'a> = &'a dyn Fn(&Key, &Key) -> bool;

/// Decides whether the first document is newer than the second one, and may come before it for freshness.
type IsFresher<'a> = &'a dyn Fn(&Key, &Key) -> bool;

/// Returns the text of a document.
pub type TextOf<'a> = &'a dyn Fn(&Key) -> Option<String>;

/// A question and the documents to search.
#[derive(Clone, Copy, Default)]
pub struct Query<'a> {
    /// The question or statement to search for.
    pub text: &'a str,
    /// The scopes to search; `None` means all scopes.
    pub scopes: Option<&'a [&'a str]>,
    /// A further condition. The filter hides documents, but does not change any frequency.
    pub filter: Option<Filter<'a>>,
    /// The documents to count, although the filter hides them.
    pub hidden: Option<Filter<'a>>,
    /// Decides which successors are accepted. If it is `None`, every successor is accepted.
    pub is_successor: Option<IsSuccessor<'a>>,
    /// Decides which documents may come first for freshness. If it is `None`, the times and sessions in the index
    /// decide.
    pub is_fresher: Option<IsFresher<'a>>,
    /// Searches by meaning too, if documents have vectors.
    pub meaning: Option<&'a dyn Meaning>,
    /// The current time, in seconds since 1970. Without the current time, "last week" and recency have no effect.
    pub now: Option<i64>,
    /// The weight of recency.
    pub recency: f32,
    /// The maximal number of hits.
    pub limit: usize,
    /// Returns the text of a document that was said. With it, a turn that quotes the question does not count as its
    /// answer.
    pub text_of: Option<TextOf<'a>>,
    /// Whether turns of transcripts that are this question, in the same words, are no hits.
    pub omits_itself: bool,
    /// Whether the newer of the two leading hits comes first if the question asks for a current state.
    pub freshness: bool,
}

impl<'a> Query<'a> {
    /// Returns a query of all scopes with the usual settings.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            limit: 10,
            freshness: true,
            ..Self::default()
        }
    }
}

/// The reason why the rank of a hit does not follow from its score.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// The hit is newer than the hit with the best score and nearly as good, and the question asks for a current state.
    Fresher,
    /// The hit supersedes the document of the hit that follows.
    Successor,
    /// The hit was stated to be kept, and the hit that follows was said.
    Stated,
    /// The hit states something, and the hit that follows asks what the question asks.
    Tells,
}

/// A document that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The key of the document.
    pub key: Key,
    /// How well the document answers the query, from 0 to 1: the weighted sum of the signals, scaled so that the best hit
    /// has the confidence of the answer. Scores of different answers can be compared.
    pub score: f32,
    /// The confidence that this document alone answers the query, from 0 to 1.
    pub confidence: f32,
    /// Whether the document is part of a conversation, which decides the weights of the signals.
    pub conversation: bool,
    /// The value of each [`Signal`].
    pub signals: [f32; SIGNALS],
    /// The reason why the hit ranks above hits with a higher score.
    pub moved: Option<Moved>,
    /// Whether the document belongs to a session.
    pub(crate) in_session: bool,
    /// What the document is to the question.
    pub(crate) role: Role,
    /// The number of the document.
    pub(crate) number: u32,
    /// The weight of recency in the query.
    recency: f32,
    /// The factor of the weights in the answer, once it is known.
    scale: f32,
}

/// The score below which a hit is no good match. `docs/agent/recall.md` has the rates of errors.
pub const WEAK: f32 = 0.35;

/// One line of an explanation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Reason {
    /// The short name of the signal.
    pub name: &'static str,
    /// The description of the signal.
    pub meaning: &'static str,
    /// The value of the signal.
    #[serde(serialize_with = "five_digits")]
    pub value: f32,
    /// The weight of the signal. The score is the sum of values times weights.
    #[serde(serialize_with = "five_digits")]
    pub weight: f32,
}

/// Writes five digits after the point, because single precision has no more.
///
/// # Errors
/// Those of the serialiser.
pub fn five_digits<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((f64::from(*number) * 1e5).round() / 1e5)
}

impl Hit {
    /// Returns every signal that raises or lowers the score, with its weight.
    pub fn explain(&self) -> Vec<Reason> {
        let is_part = |reason: &Reason| reason.value * reason.weight != 0.0;
        self.reasons().filter(is_part).collect()
    }

    /// Returns all signals with their weights.
    fn reasons(&self) -> impl Iterator<Item = Reason> {
        let mut weights = if self.conversation { CONVERSATION } else { OTHER };
        weights[Signal::Lately as usize] *= self.recency;
        if self.in_session && !self.conversation {
            weights[Signal::Vector as usize] = VECTOR_IN_SESSION;
        }
        (0..SIGNALS).map(move |signal| Reason {
            name: NAMES[signal],
            meaning: MEANINGS[signal],
            value: self.signals[signal],
            weight: weights[signal] * self.scale,
        })
    }
}

/// The hits of a query.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The number of documents that contain a word of the question and that [`Query::hidden`] accepts, at most the limit
    /// of hits.
    pub hidden: usize,
    /// The terms of the question in all their forms, for [`snippet()`].
    pub terms: Vec<String>,
}

impl Index {
    /// Answers a query. Successive queries can use the same scratch.
    pub fn recall(&self, query: &Query<'_>, scratch: &mut Scratch) -> Answer {
        self.ranked(query, Wanted::Hits, scratch, |ranking| Answer {
            hits: hits(ranking),
            hidden: ranking.hidden(),
            terms: ranking
                .question
                .terms
                .iter()
                .flat_map(|term| term.forms.iter().cloned())
                .collect(),
        })
    }

    /// Returns the documents of `scopes` with the best base scores for `text`. Ignores the other signals, so all
    /// documents with the same statement are found.
    pub(crate) fn nearest(
        &self,
        text: &str,
        scopes: Option<&[&str]>,
        filter: Filter<'_>,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Vec<Key> {
        let query = Query {
            scopes,
            filter: Some(filter),
            ..Query::new(text)
        };
        self.ranked(&query, Wanted::Nearest(limit), scratch, |ranking| {
            ranking.nearest(limit)
        })
    }

    /// Returns the documents of `scopes` whose vectors are nearest to `vector`, the nearest first.
    pub(crate) fn nearest_by_meaning(
        &self,
        table: &VectorTable,
        vector: &[f32],
        scopes: Option<&[&str]>,
        filter: Filter<'_>,
        limit: usize,
    ) -> Vec<Key> {
        let admission = Admission::new(self, scopes);
        let passes = |number| filter(&self.columns.key(number));
        let cosines = Cosines::new(self, table, &admission, vector, limit, passes);
        let Some(cosines) = cosines else { return Vec::new() };
        let keys = cosines.candidates().map(|number| self.columns.key(number));
        keys.filter(filter).take(limit).collect()
    }

    /// Returns whether some documents of `scopes` are in another language than English.
    pub(crate) fn has_other_languages(&self, scopes: Option<&[&str]>) -> bool {
        !languages_in(self, &Admission::new(self, scopes)).is_empty()
    }

    /// Returns for each scope the number of documents that contain a word of `text` and pass the filter. Counts at most
    /// `count_max` documents of a scope.
    pub fn matches_by_scope(
        &self,
        text: &str,
        filter: Filter<'_>,
        count_max: usize,
        scratch: &mut Scratch,
    ) -> BTreeMap<String, usize> {
        let query = Query {
            filter: Some(filter),
            ..Query::new(text)
        };
        self.ranked(&query, Wanted::Matches, scratch, |ranking| {
            ranking.matches_by_scope(count_max)
        })
    }

    /// Calls `read` with the ranking of a query. Scores only the best documents where `wanted` needs no others.
    fn ranked<T>(
        &self,
        query: &Query<'_>,
        wanted: Wanted,
        scratch: &mut Scratch,
        read: impl FnOnce(&Ranking<'_>) -> T,
    ) -> T {
        let admission = Admission::new(self, query.scopes);
        let mut question = Question::read(self, &admission, query.text, query.now);
        question.asks.state &= query.freshness;
        let passes = |document| {
            query
                .filter
                .is_none_or(|filter| filter(&self.columns.key(document)))
        };
        let vector = query.meaning.and_then(|meaning| {
            let among_others = !languages_in(self, &admission).is_empty();
            let vector = meaning.of_question(&question.nameless, among_others)?;
            Some((vector, meaning.table()))
        });
        let dense = vector
            .as_ref()
            .and_then(|(vector, table)| Cosines::new(self, table, &admission, vector, CANDIDATES, passes));
        scratch.prepare(self);
        // Names, dates and conversations need the scores of other documents than the best ones. So do vectors in sessions,
        // where the words of documents count otherwise than elsewhere.
        let by_base_alone = !self.sessions.have_conversation()
            && question.who.is_empty()
            && question.dates.is_empty()
            && (dense.is_none() || self.sessions.are_none())
            && query.hidden.is_none();
        let count = match wanted {
            Wanted::Hits => by_base_alone.then_some(CANDIDATES),
            Wanted::Nearest(count) => Some(count),
            Wanted::Matches => None,
        };
        let count = count.filter(|_| admission.has_every_document());
        let pruned =
            count.and_then(|count| Pruned::new(self, &admission, &question, count, &passes, scratch));
        let asked = Asked {
            index: self,
            query,
            admission: &admission,
            question: &question,
            dense: dense.as_ref(),
        };
        let rarities = match pruned {
            Some(mut pruned) => {
                let rarities = pruned.score(scratch);
                if let Wanted::Hits = wanted {
                    let candidates = Ranking::new(&asked, &rarities, scratch).candidate_numbers();
                    pruned.complete(&candidates, scratch);
                }
                rarities
            }
            None => base::score(self, &admission, &question, scratch),
        };
        let answer = read(&Ranking::new(&asked, &rarities, scratch));
        scratch.clear();
        answer
    }
}

/// What a caller reads of a ranking.
#[derive(Clone, Copy)]
enum Wanted {
    /// The best candidates, with all signals.
    Hits,
    /// This number of documents with the best base scores.
    Nearest(usize),
    /// Every match.
    Matches,
}

/// The number of hits that decide about the confidence of an answer, whatever the limit is.
const JUDGED: usize = 10;

/// Returns the best candidates of a ranking.
fn hits(ranking: &Ranking<'_>) -> Vec<Hit> {
    let mut best = arrange(ranking, ranking.candidates());
    let judged = best.len().min(ranking.query.limit.max(JUDGED));
    judge(ranking, &mut best[..judged]);
    let confidence = best.iter().take(JUDGED).map(|hit| hit.confidence);
    let confidence = confidence.fold(0.0, f32::max);
    // Beside a good match, what only the vectors found far away is noise.
    if ranking.dense.is_some() && confidence >= WEAK {
        judge(ranking, &mut best[judged..]);
        best.retain(|hit| !is_chance(hit));
    }
    best.truncate(ranking.query.limit);
    let top = best.first().map_or(0.0, |hit| hit.score);
    for hit in &mut best {
        hit.scale = if top > 0.0 { confidence / top } else { 0.0 };
        hit.score = (hit.score * hit.scale).max(0.0);
    }
    best
}

#[cfg(test)]
mod tests;

//! The candidates of a query and their signals.
//!
//! The candidates are the best documents by a cheap key, and their neighbours. Only candidates get all signals, so the
//! cost of the signals does not grow with the index.
//!
//! # Layer
//! Uses the index and the scores of `base`, but not the order rules that are applied afterwards.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::base::{MASK_TERMS, Scratch};
use super::dates::fit;
use super::dense::Cosines;
use super::forms::numbers_with;
use super::question::Question;
use super::said::stated_share;
use super::scope::Admission;
use super::signals::{KEY_DATE, KEY_SPEAKER, Role, SIGNALS, Signal};
use super::{Hit, Query};
use crate::recall::index::{Index, Key, SAID, STATED, Scored};
use crate::recall::text::analysis::QUARTERS_PROSE;
use crate::recall::text::asking::Form;
use crate::recall::text::marks::{
    ASKS, FIRST_PERSON, Marks, NUMBER, QUESTION, SECOND_PERSON, STANDING_TERM, TIME,
};

/// The number of documents that the cheap key selects as candidates.
pub(crate) const CANDIDATES: usize = 100;
/// The number of stated documents that are candidates even if more turns match better.
const STATED_CANDIDATES: usize = 20;
/// The number of candidates whose texts are read.
const READ_MAX: usize = 20;
/// The share of the question that a text has if it may ask for the same.
const MOST: f32 = 0.6;
/// The share of its words of the question that a turn states, if it may answer.
const STATED_SHARE_MIN: f32 = 0.5;
/// The number of candidates at which the query adds no more successors.
const SUCCESSORS_UNTIL: usize = CANDIDATES * 8;
/// The number of messages on each side that form the context.
const CONTEXT: isize = 5;
/// The share of the score of a document with all words of the question that counts as a full match, if vectors count
/// too. A document that shares one word of a long question is then no match, although no other has more words.
const WHOLE: f32 = 0.7;
/// The factor by which the weight of a message in the context falls with each further message of distance.
const CONTEXT_DECAY: f32 = 0.7;

/// A question and what it is asked of.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) index: &'a Index,
    pub(crate) query: &'a Query<'a>,
    pub(crate) admission: &'a Admission<'a>,
    pub(crate) question: &'a Question,
    pub(crate) dense: Option<&'a Cosines<'a>>,
}

/// The inputs of the ranking for one question.
pub(crate) struct Ranking<'a> {
    pub(crate) index: &'a Index,
    pub(crate) query: &'a Query<'a>,
    pub(crate) admission: &'a Admission<'a>,
    pub(crate) question: &'a Question,
    pub(crate) scratch: &'a Scratch,
    pub(crate) rarities: &'a [f32],
    pub(crate) dense: Option<&'a Cosines<'a>>,
    pub(crate) base_max: f32,
    pub(crate) session_max: f32,
    /// The documents that are lasting instructions or preferences, in order.
    standing: Vec<u32>,
    has_sessions: bool,
    /// Whether a session has a speaker that the question does not name. A session may have very many speakers.
    has_another: RefCell<HashMap<u32, bool>>,
}

impl<'a> Ranking<'a> {
    /// Returns the ranking of the scores in `scratch`.
    pub(crate) fn new(of: &Asked<'a>, rarities: &'a [f32], scratch: &'a Scratch) -> Self {
        let Asked {
            index,
            query,
            admission,
            question,
            dense,
        } = *of;
        let ranking = Self {
            index,
            query,
            admission,
            question,
            scratch,
            rarities,
            dense,
            base_max: 0.0,
            session_max: 0.0,
            standing: numbers_with(index, STANDING_TERM),
            has_sessions: !index.sessions.are_none(),
            has_another: RefCell::default(),
        };
        ranking.with_maxima()
    }

    /// Computes the maximal scores of documents and sessions. All scores are divided by these maxima.
    fn with_maxima(mut self) -> Self {
        for &document in &self.scratch.touched {
            let base = self.scratch.base[document as usize];
            // Calls the filter only for documents that would be the best so far, because the host's code may be slow.
            if base > self.base_max && self.passes(document) {
                self.base_max = base;
            }
        }
        if self.dense.is_some() {
            let terms = self.question.terms.iter().zip(self.rarities);
            let whole: f32 = terms.map(|(term, rarity)| term.weight * rarity).sum();
            self.base_max = self.base_max.max(WHOLE * whole);
        }
        for &session in &self.scratch.sessions_touched {
            self.session_max = self.scratch.session[session as usize].max(self.session_max);
        }
        self
    }

    fn passes(&self, document: u32) -> bool {
        let filter = self.query.filter;
        filter.is_none_or(|filter| filter(&self.index.columns.key(document)))
    }

    /// Returns the `count` documents with the best base scores.
    pub(crate) fn nearest(&self, count: usize) -> Vec<Key> {
        let touched = self.scratch.touched.iter().copied();
        let nearest = self.best(
            touched,
            count,
            |_| f32::INFINITY,
            |document| self.base(Some(document)),
        );
        let key = |number| self.index.columns.key(number);
        nearest.into_iter().map(key).collect()
    }

    /// Returns the number of matches that [`Query::hidden`] accepts, at most the limit of hits.
    pub(crate) fn hidden(&self) -> usize {
        let Some(is_hidden) = self.query.hidden else {
            return 0;
        };
        let has_sign = |&document: &u32| {
            self.scratch.base[document as usize] == 0.0 && self.key_without_words(document) > 0.0
        };
        let others = self.is_without_words().then(|| self.admitted().filter(has_sign));
        let matches = self.scratch.touched.iter().copied();
        let matches = matches.chain(others.into_iter().flatten());
        let hidden = matches.filter(|&document| is_hidden(&self.index.columns.key(document)));
        hidden.take(self.query.limit).count()
    }

    /// Returns the number of matches by scope, at most `count_max` of a scope.
    pub(crate) fn matches_by_scope(&self, count_max: usize) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for &document in &self.scratch.touched {
            let name = self.index.scope_of_number(document).unwrap_or_default();
            let count = counts.get(name).copied().unwrap_or_default();
            if count < count_max && self.passes(document) {
                counts.insert(name.to_owned(), count + 1);
            }
        }
        counts
    }

    /// Returns the successors of a document that the query accepts.
    pub(crate) fn successors(&self, old: u32) -> impl Iterator<Item = u32> {
        let columns = &self.index.columns;
        self.index.successors(old).filter(move |&new| {
            let is_successor = self.query.is_successor;
            is_successor.is_none_or(|takes| takes(&columns.key(new), &columns.key(old)))
        })
    }

    /// Returns whether the document `new` is newer than `old`, and may come before it for freshness.
    pub(crate) fn is_fresher(&self, new: u32, old: u32) -> bool {
        let columns = &self.index.columns;
        let (new_key, old_key) = (columns.key(new), columns.key(old));
        match self.query.is_fresher {
            Some(is_fresher) => is_fresher(&new_key, &old_key),
            None => {
                columns.stamp(new).time > columns.stamp(old).time
                    || self.index.is_later_in_session(&new_key, &old_key)
            }
        }
    }

    /// Returns the base score of a document, divided by the best base score.
    fn base(&self, document: Option<u32>) -> f32 {
        let Some(document) = document.filter(|_| self.base_max > 0.0) else {
            return 0.0;
        };
        let base = self.scratch.base[document as usize] / self.base_max;
        let is_alone = || self.index.columns.scored(document).session.is_none();
        if base > 0.0 && self.dense.is_some() && is_alone() {
            // The power of 1.5: outside of sessions, words count less if vectors count too.
            return base * base.sqrt();
        }
        base
    }

    fn is_named(&self, speaker: u32) -> bool {
        self.question.who.binary_search(&speaker).is_ok()
    }

    /// Returns 1 if the question names the speaker of the document. Returns 0 if not, or if the question names all
    /// speakers of the document's session.
    fn speaker(&self, document: u32) -> f32 {
        let of = self.index.columns.scored(document);
        if self.question.who.is_empty() || !self.is_named(of.speaker) {
            return 0.0;
        }
        let sessions = &self.index.sessions;
        let has_another = |session| {
            let is_other = |speaker| !self.is_named(speaker);
            let mut known = self.has_another.borrow_mut();
            *known
                .entry(session)
                .or_insert_with(|| sessions.has_speaker(session, is_other))
        };
        f32::from(u8::from(of.session.is_none_or(has_another)))
    }

    fn date(&self, document: u32) -> (f32, f32) {
        let columns = &self.index.columns;
        fit(
            &self.question.dates,
            columns.day(document),
            &columns.spans_of(document),
        )
    }

    /// Returns a number that [`Self::key`] of a document that passes does not exceed.
    fn key_at_most(&self, document: u32) -> f32 {
        if self.question.who.is_empty() && self.question.dates.is_empty() {
            self.share(document)
        } else {
            f32::INFINITY
        }
    }

    /// Returns the base score of a document as a share of the best one.
    fn share(&self, document: u32) -> f32 {
        self.scratch.base[document as usize] / self.base_max.max(f32::MIN_POSITIVE)
    }

    fn key(&self, document: u32) -> f32 {
        // Without sessions, the order is that of the shares themselves.
        let mut key = if self.has_sessions {
            self.base(Some(document))
        } else {
            self.share(document)
        };
        if !self.question.who.is_empty() {
            key += KEY_SPEAKER * self.speaker(document);
        }
        if !self.question.dates.is_empty() {
            key += KEY_DATE * self.date(document).0;
        }
        key
    }

    /// Returns the `count` documents with the largest keys. Omits documents whose key is not above zero. No key of a
    /// document that passes exceeds `at_most`, which takes less time to compute.
    fn best(
        &self,
        documents: impl Iterator<Item = u32>,
        count: usize,
        at_most: impl Fn(u32) -> f32,
        key: impl Fn(u32) -> f32,
    ) -> Vec<u32> {
        let order = |one: &(f32, u32), two: &(f32, u32)| self.order(*one, *two);
        let mut best: Vec<(f32, u32)> = Vec::with_capacity(count * 4);
        // The last of the best documents so far. Among documents with equal keys, the later ones are not read.
        let mut last = (0.0, u32::MAX);
        for document in documents {
            if at_most(document) < last.0 {
                continue;
            }
            let key = key(document);
            let is_behind = match key.total_cmp(&last.0) {
                Ordering::Less => true,
                Ordering::Equal => self.index.columns.is_before(last.1, document),
                Ordering::Greater => false,
            };
            if key <= 0.0 || is_behind || !self.passes(document) {
                continue;
            }
            best.push((key, document));
            if best.len() == count * 4 {
                best.select_nth_unstable_by(count, order);
                best.truncate(count);
                last = best.iter().copied().max_by(order).unwrap_or(last);
            }
        }
        best.sort_unstable_by(order);
        best.truncate(count);
        best.into_iter().map(|(_, document)| document).collect()
    }

    /// Returns whether the documents that the query accepts contain no word of the question but names. The dates and names
    /// in the question may still find a document.
    fn is_without_words(&self) -> bool {
        let question = self.question;
        let has_sign = !question.dates.is_empty() || !question.who.is_empty();
        has_sign && (self.base_max == 0.0 || question.only_names())
    }

    /// Returns the key of a document for a question without words. If the question names all speakers of a session, the
    /// speaker tells no document of the session from another, but each of them may be meant.
    fn key_without_words(&self, document: u32) -> f32 {
        let is_named = self.is_named(self.index.columns.scored(document).speaker);
        self.key(document).max(if is_named { KEY_SPEAKER } else { 0.0 })
    }

    /// Returns the admitted documents, whether they match or not.
    fn admitted(&self) -> impl Iterator<Item = u32> {
        let all = 0..self.index.columns.len() as u32;
        all.filter(|&document| self.index.columns.is_live(document) && self.admission.has(document))
    }

    /// Returns the numbers of the candidates, each once.
    pub(crate) fn candidate_numbers(&self) -> Vec<u32> {
        let mut numbers = if self.is_without_words() {
            let key = |document| self.key_without_words(document);
            self.best(self.admitted(), CANDIDATES, |_| f32::INFINITY, key)
        } else {
            let touched = self.scratch.touched.iter().copied();
            let (at_most, key) = (
                |document| self.key_at_most(document),
                |document| self.key(document),
            );
            self.best(touched, CANDIDATES, at_most, key)
        };
        if self.has_sessions {
            // A conversation about a fact may fill the list of candidates with turns.
            let touched = self.scratch.touched.iter().copied();
            let stated = touched.filter(|&number| self.is_stated(number));
            let best = self.best(
                stated,
                STATED_CANDIDATES,
                |number| self.key_at_most(number),
                |number| self.key(number),
            );
            numbers.extend(best);
        }
        if let Some(dense) = self.dense {
            if self.has_sessions {
                let stated = dense.candidates().filter(|&number| self.is_stated(number));
                let key = |number| dense.with_neighbours(self.index, number);
                numbers.extend(self.best(stated, STATED_CANDIDATES, |_| f32::INFINITY, key));
            }
            let near = dense.candidates();
            let key = |number| dense.with_neighbours(self.index, number);
            numbers.extend(self.best(near, CANDIDATES, |_| f32::INFINITY, key));
        }
        for at in 0..numbers.len() {
            let neighbour = self.index.neighbours(numbers[at]);
            let near = [1, 2, -1].into_iter().filter_map(neighbour);
            numbers.extend(near.filter(|&near| self.passes(near)));
        }
        self.add_successors(&mut numbers);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn is_stated(&self, number: u32) -> bool {
        self.index.columns.scored(number).flags & STATED != 0
    }

    /// Adds the successors of the candidates, even if their words do not match.
    fn add_successors(&self, numbers: &mut Vec<u32>) {
        let mut known: HashSet<u32> = numbers.iter().copied().collect();
        let mut at = 0;
        while at < numbers.len() {
            for successor in self.successors(numbers[at]) {
                if known.len() >= SUCCESSORS_UNTIL {
                    return;
                }
                if self.admission.has(successor) && self.passes(successor) && known.insert(successor) {
                    numbers.push(successor);
                }
            }
            at += 1;
        }
    }

    /// Returns the candidates with all signals and their scores.
    pub(crate) fn candidates(&self) -> Vec<Hit> {
        let numbers = self.candidate_numbers().into_iter();
        let mut candidates: Vec<Hit> = numbers.map(|number| self.candidate(number)).collect();
        if self.query.omits_itself {
            candidates.retain(|hit| hit.role != Role::Itself);
        }
        normalise(&mut candidates, Signal::Context);
        normalise(&mut candidates, Signal::Vector);
        mark_facts(&mut candidates);
        for hit in &mut candidates {
            hit.score = hit.reasons().map(|reason| reason.value * reason.weight).sum();
        }
        candidates
    }

    /// Reads the first candidates that were said, and marks those that quote the question and state nothing of it.
    pub(crate) fn mark_quotes(&self, candidates: &mut [Hit]) {
        let Some(text_of) = self.query.text_of else { return };
        for hit in candidates.iter_mut().take(READ_MAX) {
            let is_said = self.index.columns.scored(hit.number).flags & SAID != 0;
            if !is_said || !self.has_most(hit.number) || !hit.role.may_answer() {
                continue;
            }
            let stated = |text: String| {
                stated_share(self.question, self.rarities, self.query.text, &text) >= STATED_SHARE_MIN
            };
            if !text_of(&hit.key).is_none_or(stated) {
                hit.role = Role::Asks;
            }
        }
    }

    /// Returns what a document is to the question.
    fn role(&self, number: u32, of: &Scored) -> Role {
        if of.flags & STATED != 0 {
            return Role::Stated;
        }
        if of.flags & SAID == 0 {
            return Role::Tells;
        }
        let asks = of.flags & ASKS != 0;
        let shared = self.scratch.mask[number as usize].count_ones();
        let beyond = (of.length / QUARTERS_PROSE).saturating_sub(shared);
        let form = self.question.form;
        if !self.has_most(number) {
            return if asks { Role::AsksMore } else { Role::Tells };
        }
        match (asks, beyond) {
            (true, 0) if form != Form::States && self.has_all(number) => Role::Itself,
            (true, _) if beyond <= shared => Role::Asks,
            (true, _) => Role::AsksMore,
            (false, 0) if form == Form::AsksOpenly => Role::Asks,
            (false, _) => Role::Tells,
        }
    }

    /// Returns whether a document has every word of the question.
    fn has_all(&self, number: u32) -> bool {
        let mask = self.scratch.mask[number as usize];
        let has = |place: usize| place < MASK_TERMS && mask >> place & 1 == 1;
        let mut terms = self.question.terms.iter().enumerate();
        terms.all(|(place, _)| has(place))
    }

    /// Returns whether a document has most of the question, so that it may ask for the same.
    fn has_most(&self, number: u32) -> bool {
        let mask = self.scratch.mask[number as usize];
        let weights = self.question.terms.iter().zip(self.rarities);
        let weights = weights.map(|(term, rarity)| term.weight * rarity);
        let (mut whole, mut has) = (0.0, 0.0);
        for (place, weight) in weights.enumerate() {
            whole += weight;
            if place < MASK_TERMS && mask >> place & 1 == 1 {
                has += weight;
            }
        }
        has > 0.0 && has >= MOST * whole
    }

    fn candidate(&self, number: u32) -> Hit {
        let columns = &self.index.columns;
        let (of, stamp) = (columns.scored(number), columns.stamp(number));
        let sessions = &self.index.sessions;
        let conversation = of.session.filter(|&session| sessions.is_conversation(session));
        let neighbour = self.index.neighbours(number);
        let base = self.base(Some(number));
        let base_if = |mark: Marks| if of.flags & mark == 0 { 0.0 } else { base };
        let asks = self.question.asks;
        let mut signals = [0.0; SIGNALS];
        let mut set = |signal: Signal, value: f32| signals[signal as usize] = value;
        set(Signal::Base, base);
        set(Signal::Previous, self.base(neighbour(-1)));
        set(Signal::Next, self.base(neighbour(1)));
        set(Signal::Speaker, self.speaker(number));
        if of.session.is_some() && self.standing.binary_search(&number).is_ok() {
            set(Signal::Standing, base);
        }
        if asks.many {
            set(Signal::Number, base_if(NUMBER));
        }
        if !self.question.dates.is_empty() {
            let (date, event) = self.date(number);
            set(Signal::Date, date);
            set(Signal::Event, event);
        }
        if let Some(session) = conversation {
            set(Signal::Question, f32::from(u8::from(of.flags & QUESTION != 0)));
            set(Signal::PreviousTwo, self.base(neighbour(-2)));
            let asked = neighbour(-1).filter(|&before| {
                let before = columns.scored(before);
                before.flags & QUESTION != 0 && before.speaker != of.speaker
            });
            set(Signal::Answer, self.base(asked));
            if self.session_max > 0.0 {
                set(
                    Signal::Session,
                    self.scratch.session[session as usize] / self.session_max,
                );
            }
            set(Signal::Time, base_if(TIME));
            if asks.when {
                set(Signal::When, base_if(TIME));
            }
            set(Signal::FirstPerson, base_if(FIRST_PERSON));
            set(Signal::SecondPerson, base_if(SECOND_PERSON));
            set(Signal::Context, self.context(&neighbour));
        }
        if let Some(dense) = self.dense {
            set(Signal::Vector, dense.with_neighbours(self.index, number));
        }
        let recency = self.query.now.map_or(0.0, |_| self.query.recency.max(0.0));
        if let Some(now) = self.query.now.filter(|_| recency > 0.0) {
            set(Signal::Lately, base * lately(stamp.time, now));
        }
        Hit {
            key: stamp.key,
            score: 0.0,
            confidence: 0.0,
            conversation: conversation.is_some(),
            in_session: of.session.is_some(),
            role: self.role(number, &of),
            signals,
            moved: None,
            number,
            recency,
            scale: 1.0,
        }
    }

    /// Returns the share of the question that the messages around a document contain. Nearer messages have a larger
    /// weight.
    fn context(&self, neighbour: impl Fn(isize) -> Option<u32>) -> f32 {
        let mut near = [0.0f32; MASK_TERMS];
        let mut weight = 1.0;
        for offset in 1..=CONTEXT {
            for offset in [offset, -offset] {
                if let Some(member) = neighbour(offset) {
                    let mut mask = self.scratch.mask[member as usize];
                    while mask != 0 {
                        near[mask.trailing_zeros() as usize] += weight;
                        mask &= mask - 1;
                    }
                }
            }
            weight *= CONTEXT_DECAY;
        }
        let terms = self.question.terms.iter().zip(self.rarities);
        terms
            .zip(near)
            .map(|((term, rarity), near)| term.weight * rarity * near / (near + 1.0))
            .sum()
    }

    /// Compares two candidates: the higher score first, then the older memory.
    pub(crate) fn order(&self, one: (f32, u32), two: (f32, u32)) -> Ordering {
        two.0
            .total_cmp(&one.0)
            .then_with(|| self.index.columns.chronology(one.1, two.1))
    }
}

/// The age that halves recency: a day, in seconds.
const LATELY: f32 = 86_400.0;

/// Returns the recency: 1 now and in the future, a half at the age `LATELY`, a third at twice that age.
fn lately(time: i64, now: i64) -> f32 {
    let age = now.saturating_sub(time).max(0) as f32;
    LATELY / (LATELY + age)
}

/// Sets the signal of facts beside a conversation. The messages of a conversation gain from their neighbours, which a
/// fact does not have, so they would hide the facts that were drawn from them.
fn mark_facts(candidates: &mut [Hit]) {
    if !candidates.iter().any(|hit| hit.conversation) {
        return;
    }
    for hit in candidates.iter_mut().filter(|hit| !hit.in_session) {
        let own = [Signal::Base, Signal::Vector].map(|signal| hit.signals[signal as usize]);
        hit.signals[Signal::Fact as usize] = own[0].max(own[1]);
    }
}

/// Divides a signal of each candidate by the largest value of the signal.
fn normalise(candidates: &mut [Hit], signal: Signal) {
    let values = candidates.iter().map(|hit| hit.signals[signal as usize]);
    let max = values.fold(0.0, f32::max);
    if max > 0.0 {
        for hit in candidates {
            hit.signals[signal as usize] /= max;
        }
    }
}

//! The signals of a score, their names and their weights.
//!
//! A score is a weighted sum. There are two sets of weights. One is for documents of conversations, where neighbours
//! and sessions matter. The other is for all other documents, where neighbours and sessions mislead. A vector has a
//! third weight in a session that is no conversation, because the messages of a session are alike. The weight of
//! recency is multiplied by the factor in the query.
//!
//! # Layer
//! Contains only constants, their names, and the roles of documents.

/// The number of signals.
pub const SIGNALS: usize = 21;

macro_rules! signals {
    ($($constant:ident, $name:literal, $conversation:literal, $other:literal, $what:literal;)*) => {
        /// The indexes of the signals.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Signal { $(#[doc = $what] $constant),* }

        /// The short names of the signals, in order.
        pub(crate) const NAMES: [&str; SIGNALS] = [$($name),*];
        /// The features that the signals measure, in order.
        pub(crate) const MEANINGS: [&str; SIGNALS] = [$($what),*];
        /// The weights of the signals in a conversation.
        pub(crate) const CONVERSATION: [f32; SIGNALS] = [$($conversation),*];
        /// The weights of the signals outside of conversations.
        pub(crate) const OTHER: [f32; SIGNALS] = [$($other),*];
    };
}

signals! {
    Base, "bm", 1.0, 1.0, "contains words of the question";
    Speaker, "spk", 0.5, 0.5, "the question names the speaker of the text";
    Answer, "pvq", 0.9, 0.0, "answers another speaker's question, which contains words of this question";
    Previous, "pv", 0.1, 0.1, "the previous item of the session contains words of the question";
    Next, "nx", 0.2, 0.1, "the next item of the session contains words of the question";
    PreviousTwo, "pv2", 0.25, 0.0, "the message before the previous message contains words of the question";
    Context, "ctx", 0.25, 0.0, "the five messages on each side contain words of the question";
    Session, "ses", 0.5, 0.0, "the session contains words of the question";
    Date, "date", 1.6, 0.8, "was written at the time in the question";
    Event, "evt", 1.0, 0.5, "mentions the time in the question";
    Time, "tx", 0.3, 0.0, "contains words of the question and a time";
    When, "when", 0.5, 0.0, "contains words of the question and a time, and the question asks for a time";
    Number, "num", 0.5, 0.5, "contains words of the question and a number, and the question asks for a number";
    FirstPerson, "fp", 0.5, 0.0, "contains words of the question and is in the first person";
    SecondPerson, "sp", -0.15, 0.0, "contains words of the question and is in the second person";
    Question, "isq", -0.2, 0.0, "is a question itself";
    Standing, "std", 0.0, 0.4, "contains words of the question and is a message with a lasting instruction or a preference";
    Fact, "fact", 0.0, 0.1, "matches the question and is a fact beside a conversation";
    Vector, "vec", 1.1, 1.5, "means something similar to the question";
    Order, "order", 1.0, 1.0, "stands before a hit that it supersedes, or that it is fresher than";
    Lately, "lately", 1.0, 0.3, "contains words of the question and is recent";
}

/// The share of its confidence that a text loses if it only asks.
pub(crate) const NO_ANSWER: f32 = 0.75;

/// What a document is to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    /// A text that may answer, or of which nothing is known.
    #[default]
    Tells,
    /// A text that was stated to be kept.
    Stated,
    /// A text that was said and only asks, in part for something else.
    AsksMore,
    /// A text that was said and asks what the question asks, or says nothing beyond its words.
    Asks,
    /// A text that was said and is the question.
    Itself,
}

impl Role {
    /// Returns whether the document may answer the question.
    pub(crate) fn may_answer(self) -> bool {
        matches!(self, Self::Tells | Self::Stated)
    }

    /// Returns whether the document asks what the question asks.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::Asks | Self::Itself)
    }
}

/// The weight of `Vector` in a session that is no conversation.
pub(crate) const VECTOR_IN_SESSION: f32 = 0.9;
/// The weight of the previous document's cosine in the cosine of a document.
pub(crate) const DENSE_PREVIOUS: f32 = 0.2;
/// The weight of the next document's cosine in the cosine of a document.
pub(crate) const DENSE_NEXT: f32 = 0.1;
/// The weight of a named speaker in the selection of candidates, in addition to the base score.
pub(crate) const KEY_SPEAKER: f32 = 0.3;
/// The weight of a date in the selection of candidates, in addition to the base score.
pub(crate) const KEY_DATE: f32 = 1.0;

//! The classes of words: what a word does in a statement.
//!
//! # Layer
//! Imports nothing of the comparison.

named! {
    /// What a word does in a statement.
    pub(super) enum Class {
        /// A function word without a meaning of its own.
        Stop => "stop",
        /// An article or a possessive.
        Article => "article",
        /// A form of "to be", or a verb that gives a measure.
        Copula => "copula",
        /// A form of the past.
        Past => "past",
        /// A preposition of means or place, of which a statement has one.
        Means => "means",
        /// Any preposition.
        Preposition => "preposition",
        /// The preposition of the one who does something.
        Agent => "agent",
        /// A negation.
        Negation => "negation",
        /// A condition, a plan or a guess.
        Hypothetical => "hypothetical",
        /// A report of what another one says or thinks.
        Report => "report",
        /// An addition to what was said.
        Additive => "additive",
        /// An addition, if it ends the statement.
        EndAdditive => "end_additive",
        /// A rough value.
        Approximate => "approximate",
        /// A noun that a number names: a port, a version.
        NumberNoun => "number_noun",
        /// A word that limits a statement to a time.
        TimeFrame => "time_frame",
        /// A phrase that puts a statement into another time.
        PastFrame => "past_frame",
        /// "Used to" as the past of a habit is no means.
        PassiveUsed => "passive_used",
        /// A verb that takes several objects at once.
        ManyVerb => "many_verb",
        /// A group of which one has several.
        ManyNoun => "many_noun",
        /// A list, whose label says nothing against another entry.
        ListNoun => "list_noun",
        /// A word that allows one value only.
        Single => "single",
        /// A word between two values whose order matters.
        Swap => "swap",
        /// Yes, true, on.
        Yes => "yes",
        /// No, false, off.
        No => "no",
        /// A word that differs without a difference of the statement.
        Light => "light",
        /// A verb of place.
        Located => "located",
        /// A verb whose preposition allows several values.
        Loose => "loose",
        /// A word that makes a wish of a condition.
        Rather => "rather",
        /// The hour of a clock.
        Oclock => "oclock",
        /// "In the morning": the first half of the day.
        Morning => "morning",
        /// "In the afternoon": the second half of the day.
        Afternoon => "afternoon",
        /// "Half past": thirty minutes after the hour.
        Past30 => "half_past",
        /// "Half" before the hour that comes: half an hour before it.
        Before30 => "half_before",
        /// "A quarter past".
        Past15 => "quarter_past",
        /// "A quarter to".
        Before15 => "quarter_before",
        /// "Twenty to": minutes before the hour.
        Before => "minutes_before",
        /// "Twenty past": minutes after the hour.
        After => "minutes_past",
        /// A fraction of a unit.
        Quarter => "quarters",
        /// One of a unit: "an hour".
        One => "one",
        /// A word with two meanings, of which the value needs a number or a preposition.
        Ambiguous => "ambiguous",
        /// A title before a name.
        Title => "title",
        /// The first person, whose own words are no report.
        First => "first_person",
        /// The particle of a topic, in Chinese and Japanese.
        Topic => "topic",
        /// A word that joins two parts of a number.
        Joins => "joins",
        /// An indefinite article.
        Indefinite => "indefinite",
        /// A word for what another sentence names.
        Pronoun => "pronouns",
        /// A word after which a clause begins.
        Opens => "opens",
        /// A country or a part of the world.
        Region => "regions",
        /// A relative pronoun.
        Relative => "relative",
        /// A word before the hour of a clock.
        At => "at",
        /// A character that counts what the number before it numbers.
        Counter => "counters",
        /// The character behind the number of a month.
        MonthSign => "month_sign",
        /// The character behind the number of a day.
        DaySign => "day_sign",
        /// The character behind the minutes of a clock.
        MinuteSign => "minute_sign",
        /// A particle that ends a part of a statement, in Japanese.
        Particle => "particles",
        /// To live somewhere.
        Lives => "lives",
        /// To work somewhere.
        Works => "works",
        /// A birth, whose date is put in several ways.
        Birth => "birth",
        /// To stay away from something.
        Avoids => "avoids",
        /// To eat, drink, use or like something.
        Takes => "takes",
    }
}

/// A set of classes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Classes(u64);

impl Classes {
    pub(super) fn has(self, class: Class) -> bool {
        self.0 & (1 << class as u64) != 0
    }

    pub(super) fn add(&mut self, class: Class) {
        self.0 |= 1 << class as u64;
    }
}

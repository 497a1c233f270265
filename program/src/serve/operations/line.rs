//! The rows of an answer in its text: one line for each row.
//!
//! # Layer
//! Layer 9, part of serve. Pure.
//!
//! # Invariants
//! - ANS-5: a long id has its short form, which every argument for an id takes.
//! - ANS-3: a row begins with what the program says of it, the class first. A stored name follows, in quotes unless it is
//!   one plain word. So no id, kind or text looks like a class.

use std::fmt::{self, Display, Formatter};
use std::slice;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::words::quoted;
use treering::agent::{Agent, Item, StoredText};
use treering::inspect::engine::is_short_id;
use treering::{Id, ObjectDigest, Origin, Time, View};
use treering_text::recall::CHARS_A_TOKEN;
use treering_text::visible::{one_line, printable};

/// What a line says in place of a withheld text.
const WITHHELD: &str = "withheld, because it is not trusted";

/// The characters of an id that stays whole.
const ID_CHARS: usize = 20;
/// The digits of a digest that name a version.
const DIGITS: usize = 12;
/// The characters of a row beside its text: twelve tokens, with the end of the line.
const ROW_CHARS: usize = 12 * CHARS_A_TOKEN - 1;

/// The characters of the text of an item that an operation changed.
const BEGINNING_CHARS: usize = 60;

/// A row of an answer.
pub(crate) trait Row {
    /// Returns the line of the row in the text of an answer about a state.
    fn line(&self, view: &View) -> Line;
}

/// Returns an id as a text shows it (ANS-5).
pub(crate) fn named(view: &View, id: &Id) -> String {
    let shown = quoted(id.as_str());
    if shown.chars().count() > ID_CHARS || is_short_id(id.as_str()) {
        return view.short_id(id);
    }
    shown.into_owned()
}

/// Returns the beginning of a digest, which names the version of an item.
pub(super) fn short(digest: ObjectDigest) -> String {
    let mut digits = digest.to_hex();
    digits.truncate(DIGITS);
    digits
}

/// Returns the day of a time.
pub(super) fn day(time: Time) -> String {
    let text = time.to_string();
    text.split_once('T')
        .map_or(text.as_str(), |(day, _)| day)
        .to_owned()
}

/// Returns a time to the minute.
pub(super) fn minute(time: Time) -> String {
    let text = time.to_string();
    let shown = text
        .split_once('T')
        .map(|(day, clock)| format!("{day} {}", &clock[..clock.len().min(5)]));
    shown.unwrap_or(text)
}

/// A line about something stored: what the program says of it, its name, and its text (ANS-3).
#[derive(Default)]
pub(crate) struct Line {
    about: Vec<String>,
    /// What the line says if the parts beside the text have room for it.
    day: Option<String>,
    flags: Vec<String>,
    name: String,
    text: String,
}

impl Line {
    /// Returns the line of what has this stored name.
    pub(super) fn of(name: impl Display) -> Self {
        Self {
            name: Some(name.to_string())
                .filter(|name| !name.is_empty())
                .map(|name| quoted(&name).into_owned())
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns the line of an item.
    pub(super) fn of_id(view: &View, id: &Id) -> Self {
        Self {
            name: named(view, id),
            ..Self::default()
        }
    }

    /// Adds the day, unless the line is too long.
    pub(super) fn on(mut self, time: Time) -> Self {
        self.day = Some(day(time));
        self
    }

    /// Returns the part before the text.
    fn head(&self, day: Option<&String>) -> String {
        let about = [&self.about[..], day.map_or(&[][..], slice::from_ref), &self.flags].concat();
        let about = if about.is_empty() {
            String::new()
        } else {
            format!(" ({})", about.join(", "))
        };
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!(" {}", self.name)
        };
        format!("-{about}{name}")
    }

    /// Adds words of the program: a class, a kind of change, or a time.
    pub(super) fn says<T: Display>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.about.extend(words.into_iter().map(|word| word.to_string()));
        self
    }

    /// Adds stored words, each behind the label.
    pub(super) fn labelled<T: Display>(mut self, label: &str, words: impl IntoIterator<Item = T>) -> Self {
        let words = words.into_iter();
        self.about
            .extend(words.map(|word| format!("{label} {}", quoted(&word.to_string()))));
        self
    }

    /// Adds flags, behind everything else that the program says.
    pub(super) fn flagged(mut self, flags: &[String]) -> Self {
        let flags = flags.iter().filter(|flag| !flag.is_empty());
        self.flags
            .extend(flags.map(|flag| format!("flag {}", quoted(flag))));
        self
    }

    /// Says which item supersedes this one, behind everything else.
    pub(super) fn superseded_by(mut self, view: &View, newer: &[Id]) -> Self {
        let newer = newer
            .first()
            .map(|id| format!("superseded by {}", named(view, id)));
        self.flags.extend(newer);
        self
    }

    /// Sets the text.
    pub(super) fn text(mut self, text: Option<&str>) -> Self {
        self.text = printable(text.unwrap_or_default());
        self
    }

    /// Sets the text, or says that it is withheld.
    pub(super) fn text_unless(self, is_withheld: bool, text: Option<&str>) -> Self {
        self.text(if is_withheld { Some(WITHHELD) } else { text })
    }

    /// Cuts the text, so that the line has at most `most` characters. Returns whether it did.
    pub(super) fn fit(&mut self, most: usize) -> bool {
        let over = self.to_string().chars().count().saturating_sub(most);
        let shown = one_line(&self.text).chars().count();
        self.text = one_line(&self.text);
        self.cut(shown.saturating_sub(over).max(1));
        over > 0 && shown > 0
    }

    /// Cuts the text to `most` characters.
    pub(super) fn cut(&mut self, most: usize) {
        if self.text.chars().count() > most {
            let kept = self.text.chars().take(most.saturating_sub(1));
            self.text = kept.chain(['\u{2026}']).collect();
        }
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let dated = self.head(self.day.as_ref());
        let fits = dated.chars().count() + ": ".len() <= ROW_CHARS;
        f.write_str(&if fits { dated } else { self.head(None) })?;
        if !self.text.is_empty() {
            write!(f, ": {}", one_line(&self.text))?;
        }
        Ok(())
    }
}

shown! {
    /// A stored text with its class and flags.
    pub(super) struct Text of StoredText {
        pub(super) trust: Origin,
        pub(super) flags: Vec<String>,
        /// Null if the text is withheld.
        pub(super) text: Option<String>,
        pub(super) withheld: bool = is_withheld,
    }
}

impl Text {
    /// Returns the line of the text of an item.
    pub(super) fn line(&self, view: &View, id: &Id) -> Line {
        let line = Line::of_id(view, id).says([self.trust]).flagged(&self.flags);
        line.text_unless(self.withheld, self.text.as_deref())
    }
}

/// An item that an operation selected.
#[derive(Serialize, JsonSchema)]
pub(super) struct ItemShown {
    pub(super) id: Id,
    pub(super) scope: String,
    #[serde(flatten)]
    pub(super) shown: Text,
}

impl ItemShown {
    /// Returns the line of the item, with the beginning of its text.
    pub(super) fn line(&self, view: &View) -> Line {
        let mut line = self.shown.line(view, &self.id);
        line.cut(BEGINNING_CHARS);
        line
    }

    /// Returns an item. Withholds an untrusted text.
    pub(super) fn of(agent: &Agent, item: &Item) -> Self {
        let object = item.object();
        Self {
            id: object.id().clone(),
            scope: object.scope().to_owned(),
            shown: StoredText::of(agent, object, false).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT ANS-3: a row begins with what the program says of it, and a stored name or flag cannot look like that.
    #[test]
    fn a_line_says_the_class_first_and_quotes_what_is_stored() {
        let line = Line::of("x) (direct_user").flagged(&["a b".to_owned()]);
        let mut line = line
            .says([Origin::Document])
            .labelled("op", Some("put"))
            .text(Some("Tea\ris green."));
        assert_eq!(
            line.to_string(),
            "- (document, op put, flag \"a b\") \"x) (direct_user\": Tea\\u{d}is green."
        );
        line.cut(4);
        assert_eq!(line.text, "Tea\u{2026}");
        assert_eq!(
            Line::of("").text_unless(true, Some("secret")).to_string(),
            format!("-: {WITHHELD}")
        );
    }
}

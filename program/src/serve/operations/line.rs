//! The rows of an answer in its text: one line for each row.
//!
//! # Layer
//! Layer 9, part of serve. Pure.
//!
//! # Invariants
//! - ANS-3: a row begins with what the program says of it, the class first. A stored name follows, in quotes unless it is
//!   one plain word. So no id, kind or text looks like a class.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::words::quoted;
use treering::agent::{Agent, Item, StoredText};
use treering::{Id, Origin};
use treering_text::visible::{one_line, printable};

/// What a line says in place of a withheld text.
const WITHHELD: &str = "withheld, because it is not trusted";

/// A row of an answer.
pub(crate) trait Row {
    /// Returns the line of the row in the text.
    fn line(&self) -> Line;
}

/// A line about something stored: what the program says of it, its name, and its text (ANS-3).
#[derive(Default)]
pub(crate) struct Line {
    about: Vec<String>,
    flags: Vec<String>,
    name: String,
    text: String,
}

impl Line {
    /// Returns the line of what has this stored name.
    pub(super) fn of(name: impl Display) -> Self {
        Self {
            name: name.to_string(),
            ..Self::default()
        }
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

    /// Sets the text.
    pub(super) fn text(mut self, text: Option<&str>) -> Self {
        self.text = printable(text.unwrap_or_default());
        self
    }

    /// Sets the text, or says that it is withheld.
    pub(super) fn text_unless(self, is_withheld: bool, text: Option<&str>) -> Self {
        self.text(if is_withheld { Some(WITHHELD) } else { text })
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
        f.write_str("-")?;
        let about = [&self.about[..], &self.flags].concat();
        if !about.is_empty() {
            write!(f, " ({})", about.join(", "))?;
        }
        if !self.name.is_empty() {
            write!(f, " {}", quoted(&self.name))?;
        }
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
    /// Returns the line of the text below a stored name.
    pub(super) fn line(&self, name: impl Display) -> Line {
        let line = Line::of(name).says([self.trust]).flagged(&self.flags);
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

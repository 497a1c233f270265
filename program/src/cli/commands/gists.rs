//! The gists of objects: complete for a person, and for a language model as the verbs of an agent show texts.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::agent_context::text_for_people;
use crate::cli::human::WITHHELD;
use treering::agent::{Agent, StoredText};

/// Renders the gists of one answer.
pub(super) struct Gists {
    /// The agent that reads the texts for a model. `None` for people, who see their own data without loss.
    reader: Option<Agent>,
    /// Whether the caller asked for texts that are not trusted; `None` if the verb has no option for it.
    with_untrusted: Option<bool>,
}

impl Gists {
    pub(super) fn new(context: &Context, memory: &Memory, with_untrusted: Option<bool>) -> Self {
        let reader = context.output.is_compact().then(|| {
            // Without readable settings, the defaults apply.
            let (settings, _) = context.settings().unwrap_or_default();
            Agent::new(memory.clone(), settings)
        });
        Self {
            reader,
            with_untrusted,
        }
    }

    /// Returns the gist of an object. A model sees its class, and an untrusted text only where asked for (STX-2).
    pub(super) fn of(&self, object: &Object) -> String {
        if self.reader.is_none() {
            return gist(object);
        }
        let text = one_line(&cut(
            &self.text(object, &human::title_or_content(object)),
            GIST_CHARS,
        ));
        match object.origin() {
            class if class.is_trusted() => text,
            class => format!("{class}: {text}"),
        }
    }

    /// Returns whether a model may not see the texts of an object.
    pub(super) fn withholds(&self, object: &Object) -> bool {
        self.reader.is_some() && self.with_untrusted != Some(true) && !object.origin().is_trusted()
    }

    /// Returns a text of an object for the reader of the answer (STX-2).
    pub(super) fn text(&self, object: &Object, text: &str) -> String {
        let Some(agent) = &self.reader else {
            return text.to_owned();
        };
        if self.withholds(object) && self.with_untrusted.is_none() {
            return WITHHELD.to_owned();
        }
        let with_untrusted = self.with_untrusted.unwrap_or_default();
        text_for_people(&StoredText::of_text(agent, object, text, with_untrusted))
    }
}

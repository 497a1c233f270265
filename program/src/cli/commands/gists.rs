//! The gists of objects: complete for a person, and for a language model as the verbs of an agent show texts.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use crate::cli::agent_context::text_for_people;
use treering::agent::{Agent, StoredText};

/// Renders the gists of one answer.
pub(super) struct Gists {
    /// The agent that reads the texts for a model. `None` for people, who see their own data without loss.
    reader: Option<(Agent, bool)>,
}

impl Gists {
    pub(super) fn new(context: &Context, memory: &Memory, with_untrusted: bool) -> Self {
        let reader = context.output.is_compact().then(|| {
            // Without readable settings, the defaults apply.
            let (settings, _) = context.settings().unwrap_or_default();
            (Agent::new(memory.clone(), settings), with_untrusted)
        });
        Self { reader }
    }

    /// Returns the gist of an object. A model sees its class, and an untrusted text only where asked for (STX-2).
    pub(super) fn of(&self, object: &Object) -> String {
        if let Some((agent, with_untrusted)) = &self.reader {
            let text = human::title_or_content(object);
            let shown = StoredText::of_text(agent, object, &text, *with_untrusted);
            let text = one_line(&cut(&text_for_people(&shown), GIST_CHARS));
            return match shown.trust {
                class if class.is_trusted() => text,
                class => format!("{class}: {text}"),
            };
        }
        gist(object)
    }
}

//! Objects that a person names by hand: by the beginning of an id, or by words of a text.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - HND-1: an exact id always means its object, also an object of the past. Anything else means an object only after a
//!   person at a terminal said yes; so never with `--json`, with `--agent`, or in a pipe.

use std::collections::HashSet;

use super::gists::Gists;
use super::prelude::*;
use treering::Query;
use treering::agent::{Agent, Reach, RecallQuery};

/// The number of candidates that an error names.
const CANDIDATES_MAX: usize = 5;
/// The number of characters of a candidate's text.
const CANDIDATE_CHARS: usize = 60;

/// The id that a verb works on, with the objects that the user may have meant instead.
pub(super) struct ByHand {
    pub(super) id: Id,
    hint: Option<String>,
}

impl ByHand {
    fn exact(id: Id) -> Self {
        Self { id, hint: None }
    }

    /// Adds the objects that the user may have meant to the error of a verb that did not find the id.
    pub(super) fn told(&self, error: Error) -> Error {
        match &self.hint {
            Some(hint) if error.kind() == ErrorKind::NotFound => error.with_hint(hint.clone()),
            _ => error,
        }
    }
}

/// An object that the user may have meant: its id, and the first words of its text.
type Candidate = (Id, String);

impl Context {
    /// Returns the object that `given` names. At a terminal, also finds an object by the beginning of its id, or by
    /// words of its text, and asks whether to `act` on it.
    ///
    /// # Errors
    /// `NotFound`, naming the candidates, if several objects match at a terminal. `InvalidInput` (code `usage`) if the
    /// person says no, or if `given` is no id.
    pub(super) fn by_hand(&mut self, memory: &Memory, view: &View, given: &str, act: &str) -> Result<ByHand> {
        let id = Id::new(given);
        if let Ok(id) = &id {
            // HND-1: an exact id always means its object, also an object of the past.
            let is_known = || Ok::<bool, Error>(view.contains(id)? || memory.changes_of(id).next().is_some());
            if self.output.is_json() || is_known()? {
                return Ok(ByHand::exact(id.clone()));
            }
        }
        let found = if self.output.is_json() {
            Vec::new()
        } else {
            self.candidates(memory, view, given)?
        };
        let hint = hint_of(&found);
        if !self.output.can_ask() || self.output.is_compact() || found.is_empty() {
            return Ok(ByHand { id: id?, hint });
        }
        let [(id, text)] = found.as_slice() else {
            let text = format!("no object has the id '{}', and several match it", one_line(given));
            return Err(Error::not_found(text).with_hint(hint.unwrap_or_default()));
        };
        if self.output.ask_yes(&format!("{act} {id} ({text})?"))? {
            return Ok(ByHand::exact(id.clone()));
        }
        Err(usage_error(
            "nothing was done",
            "type the whole id, or other words",
        ))
    }

    /// Returns the objects that each text of `given` names, as [`Self::by_hand`] does.
    ///
    /// # Errors
    /// The errors of [`Self::by_hand`].
    pub(super) fn all_by_hand(
        &mut self,
        memory: &Memory,
        view: &View,
        given: &[String],
        act: &str,
    ) -> Result<Vec<ByHand>> {
        let ids = given.iter().map(|given| self.by_hand(memory, view, given, act));
        ids.collect()
    }

    /// Returns the objects whose ids begin with `given`, else the objects whose texts contain its words. A model gets
    /// only trusted objects (STX-2).
    fn candidates(&self, memory: &Memory, view: &View, given: &str) -> Result<Vec<Candidate>> {
        if given.trim().is_empty() {
            return Ok(Vec::new());
        }
        let with_untrusted = !self.output.is_compact();
        let is_shown =
            |object: &Object| !object.is_placeholder() && (with_untrusted || object.origin().is_trusted());
        let mut begins = Query::default();
        begins.prefix = Some(given.to_owned());
        let begins = view
            .query(&begins)?
            .filter(|object| object.as_ref().map_or(true, is_shown));
        let mut found = begins.take(CANDIDATES_MAX + 1).collect::<Result<Vec<_>>>()?;
        if found.is_empty() {
            found = self.by_words(memory, view, given, with_untrusted)?;
        }
        let gists = Gists::new(self, memory, None);
        let candidate = |object: Object| {
            let text = cut(&gists.of(&object), CANDIDATE_CHARS);
            (object.id().clone(), printable(&text))
        };
        Ok(found.into_iter().map(candidate).collect())
    }

    /// Returns the objects that recall finds. If some of them contain every word of the question, returns only these.
    fn by_words(
        &self,
        memory: &Memory,
        view: &View,
        words: &str,
        with_untrusted: bool,
    ) -> Result<Vec<Object>> {
        // Without readable settings, the defaults apply.
        let (settings, _) = self.settings().unwrap_or_default();
        let agent = Agent::new(memory.clone(), settings);
        let mut query = RecallQuery::new(words, Reach::All);
        (query.limit, query.with_untrusted, query.touch) = (CANDIDATES_MAX + 1, with_untrusted, false);
        let mut found = Vec::new();
        for hit in agent.recall(view, &query)?.hits {
            found.extend(view.get(&hit.id)?);
        }
        let wanted = words_of(words);
        let has_all = |object: &Object| {
            let text = format!("{} {}", object.id(), human::title_or_content(object));
            words_of(&text).is_superset(&wanted)
        };
        if found.iter().any(has_all) {
            found.retain(has_all);
        }
        Ok(found)
    }
}

fn words_of(text: &str) -> HashSet<String> {
    let words = text.split(|char: char| !char.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Names the candidates for a hint, each with its first words.
fn hint_of(found: &[Candidate]) -> Option<String> {
    let named = found.iter().take(CANDIDATES_MAX);
    let named: Vec<String> = named.map(|(id, text)| format!("{id} ({text})")).collect();
    let more = if found.len() > CANDIDATES_MAX {
        ", and more"
    } else {
        ""
    };
    (!named.is_empty()).then(|| {
        format!(
            "type the id of the object that you mean: {}{more}",
            named.join(", ")
        )
    })
}

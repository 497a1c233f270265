//! The caller of a verb: who writes, from which place, and within which scopes.
//!
//! The program, the servers and the Python package each describe their caller once. The caller then resolves every scope
//! word, the scopes to read, and the writer of a change. A fork of the history that a caller works on belongs here, too:
//! a field of [`Caller`] beside `writer`, which the verbs then read with the place.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - CLR-1: a confined caller names, reads and takes back nothing outside of its scopes.

use std::env;
use std::path::Path;

use super::projects::project_of;
use super::scope::{Place, Reach};
use crate::engine::{View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Origin, Scope};

/// The scopes to which a caller is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Every scope of the store.
    #[default]
    None,
    /// The usual scopes of the caller's place.
    Usual,
    /// The scopes that these scope words name. The first one is that of a new item.
    Only(Vec<String>),
}

/// The caller of a verb, with its project and scopes.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name of the caller's project.
    pub project: Option<String>,
    /// The writer. Its session and actor belong to the caller's place.
    pub writer: Writer,
    /// The scopes to which the caller is confined.
    pub confinement: Confinement,
}

impl Caller {
    /// Creates a caller of a store in the project of the current folder, who may name every scope. Without a store, the
    /// project has the name of the folder.
    pub fn here(writer: Writer, store: Option<&Path>) -> Self {
        let folder = env::current_dir().ok();
        Self {
            project: folder.and_then(|folder| Some(project_of(&folder, store)?.name)),
            writer,
            confinement: Confinement::None,
        }
    }

    /// Returns the caller's project, session and agent.
    pub fn place(&self) -> Place {
        Place {
            project: self.project.clone(),
            session: self.writer.session.clone(),
            agent: self.writer.actor.clone(),
        }
    }

    /// Returns the scope that `word` names. Without a word, returns the scope of a new item.
    ///
    /// # Errors
    /// `Denied` (code `other_scope`) if the caller is confined to other scopes; the errors of [`Place::scope`].
    pub fn scope(&self, word: Option<&str>) -> Result<Scope> {
        let place = self.place();
        match (&self.confinement, word) {
            (Confinement::Only(only), None) => {
                let first = only.first().ok_or_else(|| other_scope("no scope"))?;
                place.scope(first)
            }
            (_, None) => place.usual_scope(),
            (Confinement::None, Some(word)) => place.scope(word),
            (Confinement::Usual, Some(word)) => {
                let scope = place.scope(word)?;
                let is_usual = place.usual_reach()?.has(scope.as_str());
                is_usual
                    .then_some(scope)
                    .ok_or_else(|| other_scope("its own scopes"))
            }
            (Confinement::Only(only), Some(word)) => {
                let (scope, allowed) = (place.scope(word)?, scopes_of(&place, only)?);
                if only.len() > 1 && allowed.contains(&scope) {
                    return Ok(scope);
                }
                Err(other_scope(&format!("the scope '{}'", only.join("' and '"))))
            }
        }
    }

    /// Returns the scopes that the words name. Without a word, returns [`Self::usual_reach`].
    ///
    /// # Errors
    /// The errors of [`Self::scope`].
    pub fn reach<S: AsRef<str>>(&self, words: &[S]) -> Result<Reach> {
        if !words.is_empty() {
            let scopes = words.iter().map(|word| self.scope(Some(word.as_ref())));
            return Ok(Reach::Scopes(scopes.collect::<Result<_>>()?));
        }
        self.usual_reach()
    }

    /// Returns every scope that the caller reads by default.
    ///
    /// # Errors
    /// The errors of [`Place::scope`].
    pub fn usual_reach(&self) -> Result<Reach> {
        match &self.confinement {
            Confinement::Only(only) => Ok(Reach::Scopes(scopes_of(&self.place(), only)?)),
            _ => self.place().usual_reach(),
        }
    }

    /// Returns the writer of a change. A confined caller takes back and brings back nothing outside of its scopes.
    ///
    /// # Errors
    /// The errors of [`Self::usual_reach`].
    pub fn writer(&self) -> Result<Writer> {
        let writer = self.writer.clone();
        if self.confinement == Confinement::None {
            return Ok(writer);
        }
        // INVARIANT CLR-1: a confined caller takes back nothing outside of its scopes.
        Ok(match self.usual_reach()? {
            Reach::All => writer,
            Reach::Scopes(scopes) => writer.confined_to(scopes),
        })
    }

    /// Returns the class that a text of the caller gets. The text of a tainted session is untrusted (TNT-2).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the session cannot be read.
    pub fn class(&self, view: &View) -> Result<Origin> {
        let trust = self.writer.trust;
        Ok(match &self.writer.session {
            Some(session) if view.is_tainted(session)? => Origin::least(trust, Origin::ToolExternal),
            _ => trust,
        })
    }
}

/// Returns the scopes that the words name.
fn scopes_of(place: &Place, words: &[String]) -> Result<Vec<Scope>> {
    words.iter().map(|word| place.scope(word)).collect()
}

fn other_scope(own: &str) -> Error {
    let text = format!("this server stores only in {own}");
    Error::denied(ErrorCode::OtherScope, text).with_hint("call again without scope")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(confinement: Confinement) -> Caller {
        Caller {
            project: Some("tea".to_owned()),
            writer: Writer::model("ada").session("s1"),
            confinement,
        }
    }

    /// INVARIANT CLR-1: a confined caller names, reads and takes back nothing outside of its scopes.
    #[test]
    fn a_confined_caller_stays_in_its_scopes() {
        let names = |reach: &Reach| reach.names().map(|names| names.join(" "));
        let free = caller(Confinement::None);
        assert_eq!(
            free.scope(Some("project:coffee")).unwrap().as_str(),
            "project:coffee"
        );
        assert_eq!(
            names(&free.reach(&["session", "x"]).unwrap()).unwrap(),
            "session:s1 x"
        );
        assert!(free.writer().unwrap().scopes.is_none());
        let usual = caller(Confinement::Usual);
        let all = "global project:tea session:s1 agent:ada";
        assert_eq!(names(&usual.usual_reach().unwrap()).unwrap(), all);
        assert_eq!(usual.scope(Some("global")).unwrap().as_str(), "global");
        assert_eq!(
            usual.scope(Some("project:coffee")).unwrap_err().code(),
            "other_scope"
        );
        assert_eq!(usual.writer().unwrap().scopes.unwrap().len(), 4);
        let only = caller(Confinement::Only(vec!["project".to_owned()]));
        assert_eq!(only.scope(None).unwrap().as_str(), "project:tea");
        assert_eq!(names(&only.usual_reach().unwrap()).unwrap(), "project:tea");
        assert!(only.scope(Some("global")).is_err() && only.reach(&["project"]).is_err());
        assert_eq!(only.writer().unwrap().scopes.unwrap().len(), 1);
    }
}

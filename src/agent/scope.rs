//! The scope of an item, and the scopes that a verb may read.
//!
//! The engine accepts any text as a scope. The verbs define four classes, `global`, `project:NAME`, `session:ID` and
//! `agent:NAME`, and accept any other text unchanged. The folder of the caller determines the project (`projects`), and
//! every answer names the project.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - ASC-1: a reading verb returns only items of the scopes in its [`Reach`].

use std::path::Path;

use crate::digest::{Domain, HashAlgorithm, HashSuite, to_hex};
use crate::error::{Error, ErrorCode, Result};
use crate::object::Scope;

/// The files and folders that mark the top folder of a project.
const MARKS: [&str; 5] = [".git", ".hg", ".jj", ".treering", ".opencode"];

/// The number of bytes of the digest in a shortened scope, before the encoding as hexadecimal digits.
const DIGEST_BYTES: usize = 8;

/// The caller's project, session and agent. The scope words `project`, `session` and `agent` refer to them.
///
/// ```
/// use treering::agent::Place;
///
/// let place = Place {
///     project: Some("garden".to_owned()),
///     ..Place::default()
/// };
/// assert_eq!(place.scope("project")?.as_str(), "project:garden");
/// assert_eq!(place.usual_scope()?.as_str(), "project:garden");
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the project.
    pub project: Option<String>,
    /// The id of the session.
    pub session: Option<String>,
    /// The name of the agent.
    pub agent: Option<String>,
}

impl Place {
    /// Finds the project of a folder by names alone, without the register of the user. The project is the folder itself, or the nearest folder above it, that contains a
    /// mark such as `.git`. If no folder contains a mark, the place has no project.
    pub fn of_folder(folder: &Path) -> Self {
        let name = Self::top_of(folder).and_then(Path::file_name);
        Self {
            project: name.map(|name| name.to_string_lossy().into_owned()),
            ..Self::default()
        }
    }

    /// Returns the top folder of the project of a folder, if the folder belongs to a project.
    #[doc(hidden)]
    pub fn top_of(folder: &Path) -> Option<&Path> {
        folder
            .ancestors()
            .find(|folder| MARKS.iter().any(|mark| folder.join(mark).exists()))
    }

    /// Returns the scope that `word` names: `global`, `project`, `session`, `agent`, a class with a name
    /// (`project:tea`), or any other text unchanged.
    ///
    /// # Errors
    /// `InvalidInput` (code `no_place`) if `word` is `project`, `session` or `agent` and that field is `None`;
    /// `InvalidInput` if the text is not a valid scope.
    pub fn scope(&self, word: &str) -> Result<Scope> {
        match self.named().into_iter().find(|(class, ..)| *class == word) {
            None => Scope::new(word),
            Some((class, Some(name), _)) => scope_of(class, name),
            Some((_, None, hint)) => Err(Error::invalid(format!("there is no current {word}"))
                .with_code(ErrorCode::NoPlace)
                .with_hint(hint)),
        }
    }

    /// Returns the three scope words, each with the current name, and with the hint for a user whose name is missing.
    fn named(&self) -> [(&'static str, Option<&str>, &'static str); 3] {
        let in_project = "write project:NAME, or run the command inside a folder with .git";
        let in_session = "write session:ID, or name the session with --session";
        let of_agent = "write agent:NAME, or name the actor with --actor";
        [
            ("project", self.project.as_deref(), in_project),
            ("session", self.session.as_deref(), in_session),
            ("agent", self.agent.as_deref(), of_agent),
        ]
    }

    /// Returns the default scope of a new item: the current project, or `global` if there is no project.
    ///
    /// # Errors
    /// The errors of [`Self::scope`].
    pub fn usual_scope(&self) -> Result<Scope> {
        self.scope(if self.project.is_some() {
            "project"
        } else {
            Scope::GLOBAL
        })
    }

    /// Returns the scopes that a verb reads by default: `global`, and the current project, session and agent.
    ///
    /// # Errors
    /// The errors of [`Self::scope`].
    pub fn usual_reach(&self) -> Result<Reach> {
        let mut scopes = vec![Scope::default()];
        for (word, ..) in self.named().into_iter().filter(|(_, name, _)| name.is_some()) {
            scopes.push(self.scope(word)?);
        }
        Ok(Reach::Scopes(scopes))
    }
}

/// Returns the scope of a project, session or agent. A folder may have any name, so one that is too long for a scope is
/// shortened and gets a digest of the whole name, and control characters are replaced.
///
/// # Errors
/// None; every name makes a scope.
fn scope_of(class: &str, name: &str) -> Result<Scope> {
    let whole = format!("{class}:{name}");
    if let Ok(scope) = Scope::new(&whole) {
        return Ok(scope);
    }
    let suite = HashSuite::new(HashAlgorithm::Blake3);
    let digest = suite.hash_bytes(Domain::Text, whole.as_bytes());
    let end = format!("~{}", to_hex(&digest[..DIGEST_BYTES]));
    let plain = whole.replace(char::is_control, "-");
    let kept = plain.floor_char_boundary(Scope::RULE.bytes_max - end.len());
    Scope::new(&(plain[..kept].to_owned() + &end))
}

/// The scopes that a verb may read. The default contains no scope, so a verb finds no items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every scope of the store.
    All,
    /// Only these scopes.
    Scopes(Vec<Scope>),
}

impl Default for Reach {
    /// Returns an empty set of scopes.
    fn default() -> Self {
        Self::Scopes(Vec::new())
    }
}

impl Reach {
    /// Returns whether the reach contains this scope.
    #[doc(hidden)]
    pub fn has(&self, scope: &str) -> bool {
        match self {
            Self::All => true,
            Self::Scopes(scopes) => scopes.iter().any(|one| one.as_str() == scope),
        }
    }

    /// Returns this reach with more scopes added.
    #[must_use]
    #[doc(hidden)]
    pub fn with<'a>(&self, more: impl IntoIterator<Item = &'a Scope>) -> Self {
        match self {
            Self::All => Self::All,
            Self::Scopes(scopes) => {
                let mut scopes = scopes.clone();
                scopes.extend(more.into_iter().cloned());
                Self::Scopes(scopes)
            }
        }
    }

    /// Returns the names of the scopes; `None` means every scope.
    #[doc(hidden)]
    pub fn names(&self) -> Option<Vec<&str>> {
        match self {
            Self::All => None,
            Self::Scopes(scopes) => Some(scopes.iter().map(Scope::as_str).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_scopes_of_the_place() {
        let place = Place {
            project: Some("tea".to_owned()),
            session: Some("s1".to_owned()),
            agent: None,
        };
        let scope = |word: &str| place.scope(word).map(|scope| scope.as_str().to_owned());
        assert_eq!(scope("project").unwrap(), "project:tea");
        assert_eq!(scope("session").unwrap(), "session:s1");
        assert_eq!(scope("project:coffee").unwrap(), "project:coffee");
        assert_eq!(scope("conv-26").unwrap(), "conv-26");
        assert_eq!(scope("agent").unwrap_err().code(), "no_place");
        assert_eq!(place.usual_scope().unwrap().as_str(), "project:tea");
        assert_eq!(Place::default().usual_scope().unwrap().as_str(), "global");
        let reach = place.usual_reach().unwrap();
        assert_eq!(reach.names().unwrap(), ["global", "project:tea", "session:s1"]);
        // INVARIANT ASC-1: a reading verb returns only items of the scopes in its reach.
        assert!(reach.has("project:tea") && !reach.has("project:coffee"));
    }

    #[test]
    fn the_project_is_the_nearest_folder_with_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("tea/src/leaves");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(folder.path().join("tea/.git")).unwrap();
        assert_eq!(Place::of_folder(&deep).project.as_deref(), Some("tea"));
    }

    #[test]
    fn every_name_of_a_folder_makes_a_scope_of_its_own() {
        let mut scopes = std::collections::BTreeSet::new();
        for name in [
            "議事録と設計メモ".repeat(6),
            "議事録と設計メモ".repeat(7),
            "a".repeat(120),
            "a".repeat(121),
            "a".repeat(255),
            "two\nlines".to_owned(),
            "two\tlines".to_owned(),
            "two-lines".to_owned(),
        ] {
            for class in ["project", "session", "agent"] {
                let scope = scope_of(class, &name).unwrap();
                assert!(scope.as_str().starts_with(&format!("{class}:")), "{scope}");
                assert_eq!(scope_of(class, &name).unwrap(), scope);
                assert!(scopes.insert(scope), "{name:?} has the scope of another name");
            }
        }
        assert!(scope_of("project", "").is_ok_and(|scope| scope.as_str() == "project:"));
    }
}

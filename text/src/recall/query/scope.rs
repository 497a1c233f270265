//! The documents that a query may search, and the sums over them.
//!
//! # Layer
//! Uses scopes and document numbers of the index.
//!
//! # Invariants
//! - SCO-1: the sums and frequencies of a query count only admitted documents.

use crate::recall::index::{Index, LIVE, Scored};

/// The admitted scopes.
pub(crate) struct Admission<'a> {
    index: &'a Index,
    /// The admitted scopes; `None` admits every live document.
    scopes: Option<Vec<u32>>,
    /// Whether every number is admitted.
    is_all: bool,
    pub(crate) documents: u32,
    pub(crate) sessions: u32,
    /// The mean lengths of a document and of a session, in units of a quarter.
    pub(crate) document_length: f32,
    pub(crate) session_length: f32,
}

impl<'a> Admission<'a> {
    /// Admits the scopes with these names, or all scopes.
    pub(crate) fn new(index: &'a Index, names: Option<&[&str]>) -> Self {
        let scopes = names.map(|names| {
            let mut scopes: Vec<u32> = names
                .iter()
                .filter_map(|name| index.people.find_scope(name))
                .collect();
            scopes.sort_unstable();
            scopes.dedup();
            scopes
        });
        let (mut documents, mut length) = (0u32, 0u64);
        let (mut sessions, mut session_length) = (0u32, 0u64);
        for (number, scope) in index.people.scopes.iter().enumerate() {
            if admits(scopes.as_deref(), number as u32) {
                documents = documents.saturating_add(scope.documents);
                length = length.saturating_add(scope.length);
                let (of_scope, length_of_scope) = index.sessions.sums(number as u32);
                sessions = sessions.saturating_add(of_scope);
                session_length = session_length.saturating_add(length_of_scope);
            }
        }
        Self {
            is_all: documents as usize == index.columns.len(),
            index,
            scopes,
            documents,
            sessions,
            // The minimum of one avoids a division by zero. A mean is smaller only if there is no document to find.
            document_length: (length as f32 / documents.max(1) as f32).max(1.0),
            session_length: (session_length as f32 / sessions.max(1) as f32).max(1.0),
        }
    }

    /// Returns whether every live document is admitted.
    pub(crate) fn has_every_document(&self) -> bool {
        self.documents as usize == self.index.len()
    }

    /// Returns whether a scope is admitted.
    pub(crate) fn has_scope(&self, scope: u32) -> bool {
        admits(self.scopes.as_deref(), scope)
    }

    /// Returns whether a document is admitted.
    #[inline]
    pub(crate) fn has(&self, number: u32) -> bool {
        self.is_all || self.admits(&self.index.columns.scored(number))
    }

    /// Returns whether a document with these fields is admitted.
    #[inline]
    pub(crate) fn admits(&self, of: &Scored) -> bool {
        self.is_all || of.flags & LIVE != 0 && self.has_scope(self.index.people.scope_of(of.speaker))
    }
}

fn admits(scopes: Option<&[u32]>, scope: u32) -> bool {
    scopes.is_none_or(|scopes| scopes.binary_search(&scope).is_ok())
}

//! The documents that a query may search, and the sums over them.
//!
//! # Layer
//! Uses scopes and document numbers of the index.
//!
//! # Invariants
//! - SCO-1: the sums and frequencies of a query count only admitted documents.

use crate::recall::index::Index;

/// The admitted scopes, and their documents as bits.
pub(crate) struct Admission {
    /// The admitted scopes; `None` admits every live document.
    scopes: Option<Vec<u32>>,
    /// The admitted documents as bits; `None` if every number is admitted.
    bits: Option<Vec<u64>>,
    pub(crate) documents: u32,
    pub(crate) sessions: u32,
    /// The mean lengths of a document and of a session, in units of a quarter.
    pub(crate) document_length: f32,
    pub(crate) session_length: f32,
}

impl Admission {
    /// Admits the scopes with these names, or all scopes.
    pub(crate) fn new(index: &Index, names: Option<&[&str]>) -> Self {
        let scopes = names.map(|names| {
            let mut scopes: Vec<u32> = names
                .iter()
                .filter_map(|name| index.people.find_scope(name))
                .collect();
            scopes.sort_unstable();
            scopes.dedup();
            scopes
        });
        let (mut documents, mut sessions, mut length) = (0u32, 0u32, 0u64);
        for (number, scope) in index.people.scopes.iter().enumerate() {
            if admits(scopes.as_deref(), number as u32) {
                documents += scope.documents;
                sessions += index.sessions.count(number as u32);
                length += scope.length;
            }
        }
        let bits =
            (documents as usize != index.columns.len()).then(|| Self::bits_of(index, scopes.as_deref()));
        Self {
            scopes,
            bits,
            documents,
            sessions,
            // The minimum of one avoids a division by zero. A mean is smaller only if there is no document to find.
            document_length: (length as f32 / documents.max(1) as f32).max(1.0),
            session_length: (length as f32 / sessions.max(1) as f32).max(1.0),
        }
    }

    fn bits_of(index: &Index, scopes: Option<&[u32]>) -> Vec<u64> {
        let mut bits = vec![0u64; index.columns.len().div_ceil(64)];
        for session in &index.sessions.all {
            if admits(scopes, session.scope) {
                for &number in &session.members {
                    bits[number as usize / 64] |= 1 << (number % 64);
                }
            }
        }
        bits
    }

    /// Returns whether a scope is admitted.
    pub(crate) fn has_scope(&self, scope: u32) -> bool {
        admits(self.scopes.as_deref(), scope)
    }

    /// Returns whether a document is admitted.
    #[inline]
    pub(crate) fn has(&self, number: u32) -> bool {
        match &self.bits {
            Some(bits) => bits[number as usize / 64] >> (number % 64) & 1 == 1,
            None => true,
        }
    }
}

fn admits(scopes: Option<&[u32]>, scope: u32) -> bool {
    scopes.is_none_or(|scopes| scopes.binary_search(&scope).is_ok())
}

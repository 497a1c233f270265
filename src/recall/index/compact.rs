//! Growth of large vectors by an eighth instead of a half: an index should take few bytes a document.
//!
//! # Layer
//! L6, inside `recall`. Pure: imports nothing of the crate.

/// Reserves room for `more` elements without doubling.
pub(super) fn grow<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve_exact(more.max(column.len() / 8));
    }
}

/// Appends an element without doubling.
pub(super) fn append<T>(column: &mut Vec<T>, element: T) {
    grow(column, 1);
    column.push(element);
}

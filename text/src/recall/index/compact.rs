//! Grows large vectors by an eighth. The standard library doubles them, which would use more bytes for each document.
//!
//! # Layer
//! Layer 6, inside `recall`. Pure: imports nothing of the crate.

/// Reserves space for `more` elements without doubling the capacity.
pub(super) fn grow<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve_exact(more.max(column.len() / 8));
    }
}

/// Appends an element without doubling the capacity.
pub(super) fn append<T>(column: &mut Vec<T>, element: T) {
    grow(column, 1);
    column.push(element);
}

//! A view into shared bytes that is cheap to clone.
//!
//! Reads return views into mapped segments or into written buffers. Cloning a view raises a reference count and copies
//! no bytes.
//!
//! # Layer
//! Layer 0. Imports nothing of this crate.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// An owner of bytes, which must not change while the owner lives.
pub trait Buffer: Send + Sync {
    /// Returns the bytes.
    fn bytes(&self) -> &[u8];
}

impl Buffer for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A range of a shared [`Buffer`].
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn Buffer>,
    range: Range<usize>,
}

impl Bytes {
    /// Makes a view of all bytes of `owner`.
    pub fn new(owner: Arc<dyn Buffer>) -> Self {
        let range = 0..owner.bytes().len();
        Self { owner, range }
    }

    /// Returns the bytes `range` of this view. Returns `None` if the range ends beyond the view.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.range.len() {
            return None;
        }
        let range = self.range.start + range.start..self.range.start + range.end;
        Some(Self {
            owner: Arc::clone(&self.owner),
            range,
        })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // The constructor checked the range against the owner, and a Buffer never shrinks.
        &self.owner.bytes()[self.range.clone()]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Arc::new(bytes))
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_of_a_slice_is_relative_and_bounded() {
        let all = Bytes::from(b"0123456789".to_vec());
        let part = all.slice(2..8).unwrap();
        assert_eq!(&*part.slice(1..3).unwrap(), b"34");
        assert!(part.slice(0..7).is_none());
        assert!(part.slice(7..7).is_none());
        #[expect(
            clippy::reversed_empty_ranges,
            reason = "the test checks that such a range is refused"
        )]
        let reversed = part.slice(3..1);
        assert!(reversed.is_none());
    }
}

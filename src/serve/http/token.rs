//! The token of a server, which a client sends with every request.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - TOK-1: the time of a comparison does not depend on how many bytes are equal.

use std::fmt;
use std::hint::black_box;

/// A secret that is shown only on purpose.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, which only the person who starts the server may see.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether `sent` is the token (TOK-1).
    pub(super) fn is(&self, sent: &[u8]) -> bool {
        let own = self.0.as_bytes();
        // The length is no secret.
        let differing = own
            .iter()
            .zip(sent)
            .fold(0, |bits, (a, b)| black_box(bits | (a ^ b)));
        own.len() == sent.len() && differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT TOK-1: only the whole token is equal, and no prefix or longer text.
    #[test]
    fn only_the_whole_token_is_equal() {
        let token = Token("abcdefgh".to_owned());
        assert!(token.is(b"abcdefgh"));
        for other in ["", "abcdefg", "abcdefghi", "abcdefgH", "Abcdefgh", "abcdxfgh"] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}

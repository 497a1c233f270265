//! The token of a server, which a client sends with every request, and the ticket that opens the page once.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - TOK-1: the time of a comparison does not depend on how many bytes are equal.
//! - TOK-2: a ticket is exchanged at most once, however many requests send it at the same time.

use std::fmt;
use std::hint::black_box;

use std::sync::Arc;

use parking_lot::Mutex;

use super::clients::Clients;
use crate::serve::Client;
use treering::Result;

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

/// What opens the API: one token for all clients, or one for each.
pub(crate) enum Keys {
    One(Token),
    Clients(Clients),
}

/// Whom a token admits.
pub(super) enum Admits {
    /// Whoever has the one token of the server.
    Anyone,
    Client(Arc<Client>),
}

impl Keys {
    /// Returns whom a token admits; `None` if it is no token of this server.
    pub(super) fn admits(&self, sent: &[u8]) -> Option<Admits> {
        match self {
            Self::One(token) => token.is(sent).then_some(Admits::Anyone),
            Self::Clients(clients) => clients.with_token(sent).map(Admits::Client),
        }
    }
}

/// The ticket in the newest address of the page. A browser keeps the address in its history, so it opens the page once.
pub(crate) struct Ticket(Mutex<Token>);

impl Ticket {
    pub(crate) fn new(unused: Token) -> Self {
        Self(Mutex::new(unused))
    }

    /// Replaces the ticket by the next one if `sent` is it (TOK-2). Returns whether it was.
    ///
    /// # Errors
    /// The errors of `next`. The ticket then stays.
    pub(super) fn take(&self, sent: &[u8], next: impl FnOnce() -> Result<Token>) -> Result<bool> {
        let mut unused = self.0.lock();
        let is_unused = unused.is(sent);
        if is_unused {
            *unused = next()?;
        }
        Ok(is_unused)
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

    /// INVARIANT TOK-2: a ticket is exchanged at most once. One whose successor cannot be made stays.
    #[test]
    fn a_ticket_is_taken_once() {
        let token = |text: &str| Token::new(text.to_owned());
        let ticket = Ticket::new(token("first"));
        let failed = ticket.take(b"first", || Err(treering::Error::internal("no random bytes")));
        assert!(failed.is_err());
        assert!(
            !ticket
                .take(b"other", || panic!("a wrong ticket makes none"))
                .unwrap()
        );
        assert!(ticket.take(b"first", || Ok(token("second"))).unwrap());
        assert!(
            !ticket
                .take(b"first", || panic!("a used ticket makes none"))
                .unwrap()
        );
        assert!(ticket.take(b"second", || Ok(token("third"))).unwrap());
    }
}

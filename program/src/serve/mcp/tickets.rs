//! The tickets of the pages that a client shows, and what each page showed to the person.
//!
//! # Layer
//! Layer 9, part of serve.
//!
//! # Invariants
//! - TKT-1: each read of the page gets a ticket of its own, which is in that page alone.
//! - TKT-2: a page decides only about what it showed whole before.

use std::collections::VecDeque;

use parking_lot::Mutex;

use treering::inspect::digest::to_hex;
use treering::{Memory, ObjectDigest, Result};

/// The bytes of a ticket.
const BYTES: usize = 16;
/// The number of pages that can decide at the same time. A newer one replaces the oldest.
const PAGES_MAX: usize = 32;
/// The number of things that a page can have shown. A newer one replaces the oldest.
const SHOWN_MAX: usize = 256;

/// What a person decides about.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// A quarantined change, which never changes under its name.
    Held(String),
    /// A version of an item.
    Version(ObjectDigest),
}

/// A page.
struct Shown {
    ticket: String,
    subjects: VecDeque<Subject>,
}

/// The pages, the oldest first.
#[derive(Default)]
pub(super) struct Tickets(Mutex<VecDeque<Shown>>);

impl Tickets {
    /// Returns the ticket of a new page (TKT-1).
    pub(super) fn issue(&self, memory: &Memory) -> Result<String> {
        let mut bytes = [0; BYTES];
        memory.random(&mut bytes)?;
        let ticket = to_hex(&bytes);
        let mut pages = self.0.lock();
        pages.push_back(Shown {
            ticket: ticket.clone(),
            subjects: VecDeque::new(),
        });
        if pages.len() > PAGES_MAX {
            pages.pop_front();
        }
        Ok(ticket)
    }

    /// Returns whether a page has this ticket.
    pub(super) fn knows(&self, ticket: &str) -> bool {
        self.0.lock().iter().any(|page| page.ticket == ticket)
    }

    /// Notes that a page shows something whole.
    pub(super) fn show(&self, ticket: &str, subject: Subject) {
        let mut pages = self.0.lock();
        let Some(page) = pages.iter_mut().find(|page| page.ticket == ticket) else {
            return;
        };
        page.subjects.retain(|known| *known != subject);
        page.subjects.push_back(subject);
        if page.subjects.len() > SHOWN_MAX {
            page.subjects.pop_front();
        }
    }

    /// Returns whether a page showed something (TKT-2).
    pub(super) fn has_shown(&self, ticket: &str, subject: &Subject) -> bool {
        let pages = self.0.lock();
        let mut pages = pages.iter().filter(|page| page.ticket == ticket);
        pages.any(|page| page.subjects.contains(subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT TKT-1, TKT-2: a page has its own ticket, and decides only about what it showed; old pages end.
    #[test]
    fn a_page_decides_about_what_it_showed() {
        let (tickets, memory) = (Tickets::default(), Memory::in_memory().unwrap());
        let [one, other] = [(); 2].map(|()| tickets.issue(&memory).unwrap());
        let held = |number: usize| Subject::Held(format!("rejected/{number}"));
        tickets.show(&one, held(0));
        tickets.show("", held(1));
        assert!(one != other && tickets.has_shown(&one, &held(0)));
        assert!(!tickets.has_shown(&other, &held(0)) && !tickets.has_shown(&one, &held(1)));
        for number in 0..SHOWN_MAX {
            tickets.show(&one, held(number + 1));
        }
        assert!(!tickets.has_shown(&one, &held(0)) && tickets.has_shown(&one, &held(SHOWN_MAX)));
        for _ in 0..PAGES_MAX - 1 {
            tickets.issue(&memory).unwrap();
        }
        assert!(!tickets.knows(&one) && !tickets.has_shown(&one, &held(SHOWN_MAX)) && tickets.knows(&other));
    }
}

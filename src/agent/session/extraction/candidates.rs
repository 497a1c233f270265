//! Finds possible JSON in a model's reply.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use crate::ingest::json::balanced_end;

/// How many places of a reply are tried.
const CANDIDATES_MAX: usize = 16;

/// Returns the parts of a reply that may be JSON, the likeliest first: all of it, the fenced blocks, and what stands
/// in brackets between other words.
pub(super) fn candidates(reply: &str) -> Vec<&str> {
    let mut found = vec![reply.trim()];
    found.extend(fenced(reply));
    found.extend(bracketed(reply));
    found.truncate(CANDIDATES_MAX);
    found
}

/// The texts between fences. A fence that is not closed goes to the end.
fn fenced(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in reply.split_inclusive('\n') {
        let bare = line.trim();
        let sign = ["```", "~~~"].into_iter().find(|sign| bare.starts_with(sign));
        match (open, sign) {
            (None, Some(sign)) => open = Some((sign, at + line.len())),
            (Some((own, start)), Some(sign)) if own == sign => {
                found.push(reply[start..at].trim());
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    if let Some((_, start)) = open {
        found.push(reply[start.min(reply.len())..].trim());
    }
    found
}

/// The texts from an opening bracket to the one that closes it. One that opens like JSON and is never closed was cut
/// off, and nothing after it is taken for whole.
fn bracketed(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..CANDIDATES_MAX {
        let Some(start) = reply[at..].find(['[', '{']).map(|offset| at + offset) else {
            break;
        };
        match balanced_end(&reply.as_bytes()[start..]) {
            Some(length) => {
                found.push(&reply[start..start + length]);
                at = start + length;
            }
            None if reply[start + 1..].trim_start().starts_with(['{', '[', '"']) => break,
            None => at = start + 1,
        }
    }
    found
}

//! The attribution of the words of a fact.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::HashSet;

use super::{Span, SpanKind};
use crate::agent::words;

/// The attribution of the words of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Backing {
    /// At least half of its words are the person's own, and next to none stand in foreign text alone.
    Own,
    /// A quarter of its words or more stand in foreign text alone.
    Foreign,
    /// Most of its words were not said like that: the model's own conclusion.
    Nobody,
}

/// Attributes the words of `fact`, by the turns of a session with their spans. Words of up to three Latin letters
/// do not count, unless there are no others.
pub fn backing(fact: &str, turns: &[(&str, &[Span])]) -> Backing {
    let (mut own, mut foreign) = (HashSet::new(), HashSet::new());
    for (text, spans) in turns {
        for span in *spans {
            let side = if span.kind == SpanKind::Own {
                &mut own
            } else {
                &mut foreign
            };
            side.extend(words::tokens(&words::normalised(&text[span.range.clone()])));
        }
    }
    let all = words::tokens(&words::normalised(fact));
    let weighty: Vec<&String> = all.iter().filter(|word| word.len() > 3).collect();
    let counted: Vec<&String> = if weighty.is_empty() {
        all.iter().collect()
    } else {
        weighty
    };
    let own_count = counted.iter().filter(|word| own.contains(**word)).count();
    let foreign_count = counted
        .iter()
        .filter(|word| !own.contains(**word) && foreign.contains(**word))
        .count();
    if foreign_count * 4 >= counted.len() && foreign_count > 0 {
        Backing::Foreign
    } else if own_count * 2 >= counted.len() && own_count > 0 {
        Backing::Own
    } else {
        Backing::Nobody
    }
}

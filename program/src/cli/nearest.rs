//! Finds the known names that are most like a name that the user mistyped.
//!
//! # Layer
//! Layer 10, part of cli.

use strsim::osa_distance;

use super::human::{cut, one_line};
#[cfg(feature = "remote")]
use super::remotes::Remotes;
use treering::inspect::engine::MAIN_LINE;
use treering::{Error, ErrorCode, Memory};

/// The number of suggested names.
const SUGGESTED: usize = 3;
/// The number of characters of a suggested name.
const NAME_MAX: usize = 80;
/// A name is similar if at most one of this many characters differs.
const ONE_OF: usize = 3;

/// Returns the names that are most like `typed`, best first, quoted and on one line. Returns `None` if no name is similar.
/// A name that contains `typed` is always similar, and so is a part of `typed` that is at least half as long.
pub(crate) fn nearest(typed: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    let wanted = typed.to_lowercase();
    let mut similar: Vec<(usize, String)> = Vec::new();
    for name in known {
        if let Some(distance) = distance(&wanted, &name.to_lowercase()) {
            similar.push((distance, name));
            similar.sort();
            similar.truncate(SUGGESTED);
        }
    }
    let names = similar
        .iter()
        .map(|(_, name)| format!("'{}'", cut(&one_line(name), NAME_MAX)));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Adds the most similar names to the error for a missing fork, snapshot, or line of a remote. [`Error::ids`] has the missing
/// one, as a revision.
pub(crate) fn with_nearest_name(error: Error, memory: &Memory) -> Error {
    let (ErrorCode::NoFork | ErrorCode::NoRevision, [typed]) = (error.code(), error.ids()) else {
        return error;
    };
    let forks = memory.live_forks().into_iter().map(|fork| fork.name);
    let forks = forks.chain([MAIN_LINE.to_owned()]);
    let lines = Vec::new();
    #[cfg(feature = "remote")]
    let lines = Remotes::of(memory).map_or(lines, |remotes| {
        let entries = remotes.entries().into_iter();
        entries.map(|one| format!("{}/{MAIN_LINE}", one.name)).collect()
    });
    let (typed, known): (_, Vec<String>) = match typed.split_once(':') {
        Some(("fork", name)) => (name, forks.collect()),
        Some(("remote", line)) => (line, lines),
        None => {
            let snapshots = memory.snapshots().unwrap_or_default().into_iter();
            let named = snapshots.filter(|one| one.index.is_none()).map(|one| one.name);
            let forks = forks.map(|name| format!("fork:{name}"));
            let lines = lines.into_iter().map(|line| format!("remote:{line}"));
            (typed.as_str(), named.chain(forks).chain(lines).collect())
        }
        Some(_) => (typed.as_str(), Vec::new()),
    };
    // A remote from which nothing was fetched has the right name.
    let is_known = known.iter().any(|name| name == typed);
    let names = nearest(typed, known).filter(|_| !is_known);
    let error = error.with_names(Vec::new());
    match names {
        Some(names) => error.with_hint(format!("the nearest names are {names}")),
        None => error,
    }
}

/// Returns how much a name differs from the typed name. Returns `None` if they are not similar.
fn distance(typed: &str, name: &str) -> Option<usize> {
    let (short, long) = (typed.chars().count(), name.chars().count());
    if typed.is_empty() {
        return None;
    }
    let most = short.max(long) / ONE_OF;
    let edits = (short.abs_diff(long) <= most).then(|| osa_distance(typed, name));
    match edits.filter(|edits| *edits <= most) {
        None if name.contains(typed) => Some(most + 1),
        None if 2 * long >= short && typed.contains(name) => Some(most + 2),
        edits => edits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(typed: &str, known: &[&str]) -> Option<String> {
        nearest(typed, known.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn the_most_similar_names_are_suggested_best_first() {
        let ids = ["facts/office", "facts/officer", "notes/tea", "facts/off"];
        let wanted = "'facts/office', 'facts/off', 'facts/officer'";
        assert_eq!(found("facts/offic", &ids).as_deref(), Some(wanted));
        assert_eq!(
            found("tea", &ids).as_deref(),
            Some("'notes/tea'"),
            "a part of a name"
        );
        assert_eq!(found("Tuesady", &["tuesday"]).as_deref(), Some("'tuesday'"));
        let longer = found("tuesday-night", &["tuesday", "night"]);
        assert_eq!(
            longer.as_deref(),
            Some("'tuesday'"),
            "more than half of what was typed"
        );
        assert_eq!(found("coffee", &ids), None);
        assert_eq!(found("", &ids), None);
    }

    #[test]
    fn a_suggested_name_cannot_steer_the_terminal() {
        let long = format!("night\u{1b}[31m{}", "x".repeat(300));
        let shown = found("night", &[&long]).unwrap();
        assert!(!shown.contains('\u{1b}') && shown.chars().count() < 90, "{shown}");
    }
}

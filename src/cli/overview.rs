//! The page that `treering --help` shows, laid out for the width of the terminal.
//!
//! # Layer
//! L10, part of cli. Pure.

use super::human::wrapped;

/// The verbs by what they are for, each in a few words; what clap says about one is longer.
const VERBS: &[(&str, &[(&str, &str)])] = &[
    (
        "Write",
        &[
            ("init", "make a store"),
            ("ingest", "documents into objects"),
            ("put", "store one object, or many"),
            ("remove", "remove an object"),
        ],
    ),
    (
        "Read",
        &[
            ("get", "one object"),
            ("list", "objects that match"),
            ("history", "the changes of one object"),
            ("export", "everything, as JSON Lines"),
        ],
    ),
    (
        "Time",
        &[
            ("snapshot", "name the present state"),
            ("snapshots", "the states with a name"),
            ("rollback", "back to an earlier state"),
            ("restore", "single objects, as they were"),
            ("log", "the commits, newest first"),
            ("undo, redo", "your last change"),
            ("diff", "what changed between two states"),
        ],
    ),
    (
        "Trust",
        &[
            ("verify", "check every byte of the store"),
            ("doctor", "each problem, and what mends it"),
            ("salvage", "a new store of what is whole"),
            ("head", "the root that names the state"),
            ("prove", "a proof for one object"),
            ("contains", "whether a digest is in here"),
            ("check-proof", "check it, without the store"),
            ("stats", "counts and sizes"),
        ],
    ),
    #[cfg(feature = "agent")]
    (
        "Agent",
        &[
            ("remember", "a text, or many"),
            ("recall", "what answers a question"),
            ("forget", "take out of memory"),
            ("unforget", "bring back, byte for byte"),
            ("forgotten", "what was taken out"),
            ("expire", "until when it is shown"),
            ("decay", "shorten what nobody uses"),
            ("note", "notes that outlive a session"),
            ("session", "transcripts, summaries, facts"),
            ("envelope", "what a prompt should know"),
            ("guard", "try a change, keep it or not"),
            ("promote", "a person trusts an item"),
            ("quarantine", "what was held back"),
            ("audit", "who did what, and why"),
            ("import", "edited blocks, other systems"),
        ],
    ),
    (
        "Keep",
        &[
            ("gc", "thin history, give back space"),
            ("erase", "gone for good, from every file"),
        ],
    ),
    (
        "Learn",
        &[
            ("debug", "a shell to ask the store anything"),
            ("tour", "see all of it on real input"),
            ("help", "about a verb: treering help put"),
            ("schema", "the JSON of each verb"),
            ("man", "the man pages"),
            ("completions", "for your shell"),
        ],
    ),
];

/// The options that every verb knows, and what they do.
const OPTIONS: [(&str, &str); 8] = [
    (
        "--store DIR",
        "the store [else TREERING_STORE, the nearest .treering/ above, the XDG data folder]",
    ),
    ("--json", "one JSON document, or a line each for streams"),
    (
        "--agent",
        "for a language model: few tokens, tabs between columns",
    ),
    (
        "--at REV",
        "read the past: @-3, snap:0, a snapshot's name, seq:7, a digest, a time",
    ),
    (
        "--degraded",
        "read a damaged store at the newest state before the damage",
    ),
    (
        "--actor A  --session S",
        "who is at work: a session, else an actor, is a lane with its own undo and snap:N",
    ),
    (
        "--source SRC  --trust untrusted  --wait 30s  -m REASON",
        "when writing",
    ),
    (
        "--settings FILE",
        "for an agent's verbs [else TREERING_SETTINGS]; TREERING_DISABLE=1: none",
    ),
];

const START: [&str; 3] = [
    "treering tour",
    "treering remember 'the build needs Rust 1.95', then treering recall what does the build need",
    "treering snapshot, treering log, treering rollback snap:0",
];

/// Width from which on two verbs stand side by side.
const TWO_COLUMNS: usize = 92;
/// Width of the name of a group, and of a verb.
const GROUP: usize = 7;
const VERB: usize = 12;

/// The page for lines of at most `width` characters.
pub(crate) fn overview(width: usize) -> String {
    let mut lines = Vec::new();
    let title = concat!(
        env!("CARGO_PKG_NAME"),
        " ",
        env!("CARGO_PKG_VERSION"),
        ": the memory of a long-running agent, with snapshots and rollback"
    );
    lines.extend(wrapped(title, width));
    lines.extend(["", "Usage: treering [OPTIONS] VERB ...", ""].map(String::from));
    let side_by_side = if width >= TWO_COLUMNS { 2 } else { 1 };
    for (group, verbs) in VERBS {
        for (index, row) in verbs.chunks(side_by_side).enumerate() {
            let group = if index == 0 { group } else { "" };
            let mut line = format!("{group:<GROUP$}");
            for (verb, about) in row {
                line = format!("{line}{verb:<VERB$}{about:<34}");
            }
            lines.extend(hanging(line.trim_end(), GROUP + VERB, width));
        }
    }
    lines.extend(["", "Options, before or after the verb:"].map(String::from));
    for (option, about) in OPTIONS {
        let line = format!(
            "  {option:<15}{}{about}",
            if option.len() < 15 { "" } else { "  " }
        );
        lines.extend(hanging(&line, 17, width));
    }
    lines.extend(hanging("  -h, --help     -V, --version", 17, width));
    lines.extend(["", "Start here:"].map(String::from));
    for line in START {
        lines.extend(hanging(&format!("  {line}"), 4, width));
    }
    lines.join("\n") + "\n"
}

/// The line, with what does not fit below it, further in.
fn hanging(line: &str, indent: usize, width: usize) -> Vec<String> {
    let indent = indent.min(width / 2);
    let mut parts = wrapped(line, width).into_iter();
    let mut lines: Vec<String> = parts.next().into_iter().collect();
    let rest = parts.collect::<Vec<_>>().join(" ");
    if !rest.is_empty() {
        let further = wrapped(&rest, width - indent);
        lines.extend(further.iter().map(|part| format!("{:indent$}{part}", "")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_every_width_and_loses_nothing() {
        for width in [40, 60, 80, 100, 200] {
            let page = overview(width);
            assert!(
                page.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{page}"
            );
            let words: Vec<&str> = page.split_whitespace().collect();
            for (verb, about) in VERBS.iter().flat_map(|(_, verbs)| verbs.iter()) {
                let last = about.split_whitespace().last().unwrap();
                assert!(page.contains(verb) && words.contains(&last), "{width}: {verb}");
            }
        }
        assert!(overview(100).lines().count() <= 45, "it fits a screen");
    }
}

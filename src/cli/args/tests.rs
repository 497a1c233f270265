//! What can be typed, and what is refused.

use clap::Parser as _;

use super::*;

fn parts(line: &str) -> Result<(AnyOptions, Verb), Failure> {
    let words = std::iter::once("treering").chain(line.split(' '));
    Cli::try_parse_from(words)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .into_parts()
}

fn refused(line: &str) -> clap::Error {
    Cli::try_parse_from(std::iter::once("treering").chain(line.split(' '))).unwrap_err()
}

#[test]
fn the_definition_is_sound() {
    Cli::definition(100).debug_assert();
}

#[test]
fn options_stand_before_or_after_the_verb() {
    for line in [
        "--store s --json --at @-1 --degraded get a",
        "get a --store s --json --at @-1 --degraded",
    ] {
        let (options, _) = parts(line).unwrap();
        assert_eq!(options.store.as_deref(), Some("s".as_ref()));
        assert_eq!(options.at.as_deref(), Some("@-1"));
        assert!(options.json && options.degraded);
    }
    for line in [
        "--actor a --session s --source x --trust untrusted --wait 2s -m why undo",
        "undo --actor a --session s --source x --trust untrusted --wait 2s -m why",
    ] {
        let (options, _) = parts(line).unwrap();
        let writer = options.writer();
        assert_eq!(
            (writer.actor.as_deref(), writer.session.as_deref()),
            (Some("a"), Some("s"))
        );
        assert_eq!(
            (writer.source.as_deref(), writer.reason.as_deref()),
            (Some("x"), Some("why"))
        );
        assert_eq!(writer.trust, Origin::ToolExternal);
        assert_eq!(options.commit.wait, Some(Duration::from_secs(2)));
    }
}

#[test]
fn what_stands_after_the_verb_counts() {
    let (options, _) = parts("--store before --session b get a --store after --session a").unwrap();
    assert_eq!(options.store.as_deref(), Some("after".as_ref()));
    assert_eq!(options.lane.session.as_deref(), Some("a"));
}

#[test]
fn an_option_without_meaning_is_refused_by_name() {
    for (line, named) in [
        ("--at @-1 put a --kind k", "--at"),
        ("--degraded undo", "--degraded"),
        ("-m why get a", "-m"),
        ("--trust untrusted log", "--trust"),
        ("--at @ check-proof f", "--at"),
    ] {
        match parts(line) {
            Err(Failure::Usage { message, .. }) => assert!(message.starts_with(named), "{message}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    for line in [
        "put a --kind k --at @",
        "get a --trust untrusted",
        "tour --at @",
        "init --degraded",
    ] {
        assert_eq!(
            refused(line).kind(),
            clap::error::ErrorKind::UnknownArgument,
            "{line}"
        );
    }
}

#[test]
fn options_stand_before_behind_and_within_a_verb_of_verbs() {
    for line in [
        "session append hi --session list --json",
        "--session list --json session append hi",
        "session --session list --json append hi",
        "session --json --session=list append hi",
        "--json session --session list append hi",
        "session --session list append --json hi",
    ] {
        let arguments: Vec<OsString> = std::iter::once("treering")
            .chain(line.split(' '))
            .map(Into::into)
            .collect();
        let (options, verb) = Cli::read(&arguments, 100).unwrap().into_parts().unwrap();
        assert_eq!(verb.name(), "session", "{line}");
        assert_eq!(
            (options.lane.session.as_deref(), options.json),
            (Some("list"), true),
            "{line}"
        );
    }
    let arguments: Vec<OsString> = ["treering", "session", "--json"].map(Into::into).to_vec();
    assert!(Cli::read(&arguments, 100).is_err());
}

#[test]
fn put_takes_an_object_or_lines_and_not_both() {
    for line in [
        "put",
        "put a",
        "put --kind k",
        "put a --jsonl f",
        "put --jsonl f --kind k",
        "put a --kind k --batch 3",
    ] {
        assert_eq!(refused(line).exit_code(), 2, "{line}");
    }
    assert!(parts("put --jsonl - --batch 3").is_ok());
    assert_eq!(refused("put --jsonl - --batch 0").exit_code(), 2);
}

#[test]
fn a_typo_is_met_with_a_suggestion() {
    for (line, wanted) in [
        ("snapshoot", "snapshot"),
        ("verfy", "verify"),
        ("get a --jsn", "--json"),
    ] {
        let text = refused(line).to_string();
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn the_help_names_every_verb_and_fits_a_screen() {
    let mut definition = Cli::definition(100);
    definition.build();
    let help = definition.render_help().to_string();
    assert!(help.lines().count() <= 45, "{help}");
    for verb in definition.get_subcommands_mut() {
        if verb.is_hide_set() {
            continue;
        }
        assert!(
            help.contains(verb.get_name()),
            "{} is missing in the help",
            verb.get_name()
        );
        let name = verb.get_name().to_owned();
        let text = verb.render_help().to_string();
        assert!(text.lines().count() <= 80, "{text}");
        assert!(
            name == "help" || text.contains("Example"),
            "{name} has no example"
        );
    }
}

#[test]
fn every_verb_knows_its_own_name() {
    for verb in Cli::definition(100).get_subcommands() {
        let words: &[&str] = match verb.get_name() {
            "ingest" | "get" | "remove" | "rollback" | "history" | "diff" | "prove" | "check-proof"
            | "contains" | "erase" | "remember" | "promote" | "unforget" | "forget" | "import" => &["x"],
            "put" => &["x", "--kind", "k"],
            "restore" | "salvage" => &["x", "y"],
            "completions" => &["bash"],
            "expire" => &["x", "--never"],
            "note" | "session" | "guard" => &["list"],
            _ => &[],
        };
        let line = ["treering", verb.get_name()]
            .into_iter()
            .chain(words.iter().copied());
        let cli = Cli::try_parse_from(line).unwrap();
        assert_eq!(cli.into_parts().unwrap().1.name(), verb.get_name());
    }
}

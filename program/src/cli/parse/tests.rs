//! Command lines that the parser accepts or refuses.

use std::time::Duration;

use super::*;
use crate::cli::commands::GROUPS;
use crate::cli::errors::exit_code;
use treering::Origin;

fn read(line: &str) -> Result<Result<Parsed>, clap::Error> {
    let words = std::iter::once("treering").chain(line.split(' ').filter(|word| !word.is_empty()));
    let words: Vec<OsString> = words.map(OsString::from).collect();
    definition(GROUPS).try_get_matches_from(&words)?;
    let read = Parsed::read(GROUPS, &mut definition(GROUPS), &words);
    Ok(read.map_err(|unparsed| unparsed.into_error("")))
}

fn parsed(line: &str) -> Parsed {
    let read = read(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    read.unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
}

fn refused(line: &str) -> clap::Error {
    read(line).err().unwrap_or_else(|| panic!("{line} is taken"))
}

#[test]
fn the_definition_is_sound() {
    definition(GROUPS).debug_assert();
}

#[test]
fn options_stand_before_or_after_the_verb() {
    for line in [
        "--store s --json --at @-1 --degraded get a",
        "get a --store s --json --at @-1 --degraded",
    ] {
        let options = parsed(line).options;
        assert_eq!(options.store.as_deref(), Some("s".as_ref()));
        assert_eq!(options.at.as_deref(), Some("@-1"));
        assert!(options.json && options.degraded);
    }
    for line in [
        "--actor a --session s --source x --trust untrusted --wait 2s -m why undo",
        "undo --actor a --session s --source x --trust untrusted --wait 2s -m why",
    ] {
        let options = parsed(line).options;
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
        assert_eq!(options.wait, Some(Duration::from_secs(2)));
    }
}

#[test]
fn what_stands_after_the_verb_counts() {
    let options = parsed("--store before --session b get a --store after --session a").options;
    assert_eq!(options.store.as_deref(), Some("after".as_ref()));
    assert_eq!(options.lane.session.as_deref(), Some("a"));
}

#[test]
fn an_option_without_meaning_is_refused_by_name() {
    for (line, named) in [
        ("--at @-1 put a --kind k", "--at"),
        ("put a --kind k --at @", "--at"),
        ("--degraded undo", "--degraded"),
        ("init --degraded", "--degraded"),
        ("-m why get a", "-m"),
        ("--trust untrusted log", "--trust"),
        ("get a --trust untrusted", "--trust"),
        ("gc --source x", "--source"),
        ("verify --wait 2s", "--wait"),
        ("--at @ check-proof f", "--at"),
        ("tour --at @", "--at"),
    ] {
        match read(line).unwrap() {
            Err(failure) => {
                let message = failure.message();
                assert!(exit_code(&failure) == 2 && message.contains(named), "{message}");
            }
            Ok(_) => panic!("{line} is taken"),
        }
    }
    assert!(read("gc --wait 2s").unwrap().is_ok());
}

#[test]
fn one_answer_is_not_written_in_two_ways() {
    assert!(read("--json get a --agent").unwrap().is_err());
    assert_eq!(refused("get a --json --agent").exit_code(), 2);
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
        let parsed = parsed(line);
        assert_eq!(parsed.name(), "session", "{line}");
        let options = parsed.options;
        assert_eq!(
            (options.lane.session.as_deref(), options.json),
            (Some("list"), true),
            "{line}"
        );
    }
    assert!(read("session --json").is_err());
    assert!(read("note read x -m why").unwrap().is_err());
    assert!(read("note -m why delete x").unwrap().is_ok());
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
    assert!(read("put --jsonl - --batch 3").unwrap().is_ok());
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
fn a_word_of_another_program_is_met_with_the_verb_that_does_it() {
    for (words, verb) in OTHER_WORDS {
        assert!(verb::find(GROUPS, verb).is_some(), "{verb}");
        for word in words {
            let refused = in_our_words(GROUPS, &refused(word), &[]).unwrap();
            let hint = format!("see treering {verb} --help");
            assert_eq!(refused.hint(), Some(hint.as_str()), "{word}");
        }
    }
}

#[test]
fn the_help_names_every_verb_and_fits_a_screen() {
    let help = crate::cli::overview::overview(GROUPS, 100);
    let mut definition = definition(GROUPS).override_help(help);
    definition.build();
    let help = definition.render_help().to_string();
    assert!(help.lines().count() <= 60, "{help}");
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
        // That of `help` lists every verb.
        if name != "help" {
            assert!(text.lines().count() <= 80, "{text}");
            assert!(text.contains("Example"), "{name} has no example");
        }
    }
}

#[test]
fn the_help_shows_the_options_that_a_verb_takes_and_no_others() {
    let mut definition = definition(GROUPS);
    definition.build();
    for (verb, shown, hidden) in [
        ("get", "--at", "--source"),
        ("put", "--reason", "--degraded"),
        ("gc", "--wait", "--reason"),
        ("man", "--json", "--wait"),
    ] {
        let help = definition
            .find_subcommand_mut(verb)
            .unwrap()
            .render_help()
            .to_string();
        assert!(help.contains(shown) && !help.contains(hidden), "{verb}: {help}");
    }
}

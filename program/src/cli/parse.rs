//! Parses the command line: a verb with its arguments and the shared options.
//!
//! A shared option that the verb does not accept causes an error that names the option.
//!
//! # Layer
//! Layer 10, part of cli.

use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use anstream::adapter::strip_str;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command, FromArgMatches as _};

use super::agent_context::is_switched_off;
use super::args::{SharedOptions, named_class};
use super::context::Context;
use super::errors::{Done, clap_error, two_modes, usage_error};
use super::human;
use super::output::printable;
use super::verb::{self, Entry, Groups};
use treering::{Error, Result};

/// The shared options that only some verbs accept, with the reason that the error prints.
const TAKEN_BY_SOME: [(&str, &str); 6] = [
    ("at", "only verbs that read a store accept this option"),
    ("degraded", "only verbs that read a store accept this option"),
    (
        "source",
        "only verbs that commit, or list by writer, accept this option",
    ),
    ("trust", "only verbs that commit accept this option"),
    ("reason", "only verbs that commit accept this option"),
    ("wait", "only verbs that write accept this option"),
];

/// Verbs of other programs, with the equivalent verb of this program.
const OTHER_WORDS: [(&[&str], &str); 7] = [
    (&["add", "commit"], "put"),
    (&["cat"], "get"),
    (&["ls"], "list"),
    (&["search", "query"], "recall"),
    (&["checkout", "reset"], "rollback"),
    (&["rm", "delete"], "forget"),
    (&["fsck", "status"], "doctor"),
];

/// The most characters of a word that a message quotes.
const CHARACTERS: usize = 100;

/// Returns the definition of the command line.
pub(crate) fn definition(verbs: Groups) -> Command {
    definition_of(verbs, |_| true)
}

/// Returns the definition with only the verbs whose name is wanted.
pub(crate) fn definition_of(verbs: Groups, is_wanted: impl Fn(&str) -> bool) -> Command {
    let options = SharedOptions::augment_args(Command::new("treering"));
    let is_refused = |option: &&Arg| TAKEN_BY_SOME.iter().any(|(name, _)| option.get_id() == *name);
    let refused = options.get_arguments().filter(is_refused);
    let refused: Vec<Arg> = refused.map(|option| option.clone().hide(true)).collect();
    let verbs = verb::all(verbs).filter(|verb| is_wanted(verb.name));
    let verbs = verbs.map(|verb| without(&refused, verb.definition()));
    options
        .bin_name("treering")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        // A shell alias may already contain an option, so the last value of an option applies.
        .args_override_self(true)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(verbs)
}

/// Adds the shared options that a verb or its subcommands do not accept as hidden options, for better errors.
fn without(refused: &[Arg], verb: Command) -> Command {
    let missing = refused.iter().filter(|option| {
        verb.get_arguments()
            .all(|taken| taken.get_id() != option.get_id())
    });
    let missing: Vec<Arg> = missing.cloned().collect();
    verb.args(missing)
        .mut_subcommands(|inner| without(refused, inner))
}

/// Returns the definition without the hidden verbs.
pub(crate) fn definition_shown(verbs: Groups) -> Command {
    let whole = definition(verbs);
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<Command> = verbs.cloned().collect();
    Command::new("treering")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .args(whole.get_arguments().cloned())
        .subcommands(verbs)
}

/// A valid command line.
pub(crate) struct Parsed {
    pub(crate) options: SharedOptions,
    /// The typed options and arguments.
    pub(crate) matches: ArgMatches,
    verb: &'static Entry,
    commits: bool,
}

/// The reason why a command line has no verb to run.
pub(crate) enum Unparsed {
    /// The help of a verb, the version, or an error of clap.
    Clap(clap::Error),
    Refused(Error),
}

impl Unparsed {
    /// Replaces an error of clap by this program's clearer error, if there is one.
    pub(crate) fn of(verbs: Groups, error: clap::Error, arguments: &[OsString]) -> Self {
        in_our_words(verbs, &error, arguments).map_or(Self::Clap(error), Self::Refused)
    }

    /// Whether the user asked for the help or the version.
    pub(crate) fn is_help(&self) -> bool {
        matches!(self, Self::Clap(error) if !error.use_stderr())
    }

    /// Returns the error. Uses `hint` if an error of clap contains no hint.
    pub(crate) fn into_error(self, hint: &str) -> Error {
        match self {
            Self::Clap(error) => clap_error(&error, hint),
            Self::Refused(error) => error,
        }
    }
}

impl Parsed {
    /// Parses a command line, whose first argument is the program's name.
    pub(crate) fn read(
        verbs: Groups,
        definition: &mut Command,
        arguments: &[OsString],
    ) -> Result<Self, Unparsed> {
        let matches = definition.try_get_matches_from_mut(arguments);
        let matches = matches.map_err(|error| Unparsed::of(verbs, error, arguments))?;
        Self::of(verbs, definition, matches).map_err(Unparsed::Refused)
    }

    /// Returns the typed verb with its options. Fails if the verb does not accept an option.
    fn of(verbs: Groups, definition: &Command, matches: ArgMatches) -> Result<Self> {
        let options = SharedOptions::from_arg_matches(&matches).map_err(|error| clap_error(&error, ""))?;
        let missing = || usage_error("the verb is missing", "see treering --help");
        let name = matches.subcommand_name().ok_or_else(missing)?;
        let (mut command, mut innermost) = (definition, &matches);
        while let Some((inner, matches)) = innermost.subcommand() {
            command = command.find_subcommand(inner).ok_or_else(missing)?;
            innermost = matches;
        }
        let is_taken = |option: &str| {
            let defined = command.get_arguments().find(|taken| taken.get_id() == option);
            defined.is_some_and(|defined| !defined.is_hide_set())
        };
        for (option, who) in TAKEN_BY_SOME {
            if innermost.value_source(option) == Some(ValueSource::CommandLine) && !is_taken(option) {
                let option = match option {
                    "reason" => "-m".to_owned(),
                    _ => format!("--{option}"),
                };
                return Err(usage_error(
                    format!("'{name}' does not accept {option}: {who}"),
                    format!("see treering {name} --help"),
                ));
            }
        }
        // clap refuses the two options only if both precede the verb or both follow it.
        if options.json && options.agent {
            return Err(two_modes("--agent"));
        }
        if is_taken("trust") && options.trust.is_none() {
            named_class()?;
        }
        Ok(Self {
            verb: verb::find(verbs, name).ok_or_else(missing)?,
            commits: is_taken("reason"),
            options,
            matches,
        })
    }

    /// Returns the name of the verb.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &'static str {
        self.verb.name
    }

    /// Runs the verb and closes the store.
    pub(crate) fn run(&self, context: &mut Context) -> Done {
        if self.verb.is_switchable && self.commits && is_switched_off() {
            return context.answer_disabled();
        }
        #[cfg(feature = "remote")]
        if context.remote.is_some() {
            super::cached_remote::CachedRemote::check_verb(self.verb.name)?;
        }
        let typed = self.matches.subcommand_matches(self.verb.name);
        let done = (self.verb.run)(typed.unwrap_or(&self.matches), context);
        let code = done.map_err(|error| context.with_nearest_name(error))?;
        context.close()?;
        Ok(code)
    }
}

/// Returns this program's error for a command line that clap refused, or `None` to print the error of clap.
fn in_our_words(verbs: Groups, error: &clap::Error, arguments: &[OsString]) -> Option<Error> {
    let own = dashed(error).or_else(|| shortened(error));
    let own = own.or_else(|| inner_word(verbs, error, arguments));
    own.or_else(|| other_word(error)).or_else(|| match error.kind() {
        ErrorKind::MissingSubcommand => Some(usage_error("the verb is missing", "see treering --help")),
        ErrorKind::ValueValidation => Some(bad_value(verbs, error, arguments)),
        _ => None,
    })
}

/// Returns the error for an invalid value of an argument.
fn bad_value(verbs: Groups, error: &clap::Error, arguments: &[OsString]) -> Error {
    let help = help_of(verbs, arguments);
    let source = std::error::Error::source(error);
    if let Some(number) = source.and_then(|source| source.downcast_ref::<ParseIntError>()) {
        return bad_number(error, *number.kind(), help);
    }
    let source = source.and_then(|source| source.downcast_ref::<Error>());
    clap_error(error, source.and_then(Error::hint).unwrap_or(&help))
}

/// Returns the error for a value that is not a number of 64 bits.
fn bad_number(error: &clap::Error, kind: IntErrorKind, help: String) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => human::cut(&printable(&strip_str(text).to_string()), CHARACTERS),
        _ => String::new(),
    };
    let (option, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let why = if kind == IntErrorKind::PosOverflow {
        format!("is too large: the largest number is {}", u64::MAX)
    } else {
        "is not a whole number".to_owned()
    };
    usage_error(format!("the value {value} of {option} {why}"), help)
}

/// Returns the hint that names the help of the verb in a command line, and of the verb within it.
pub(crate) fn help_of(verbs: Groups, arguments: &[OsString]) -> String {
    let mut words = arguments.iter().filter_map(|argument| argument.to_str());
    let Some(verb) = words.find_map(|word| verb::find(verbs, word)) else {
        return "see treering --help".to_owned();
    };
    let definition = verb.definition();
    let inner = words.find(|word| definition.find_subcommand(word).is_some());
    let inner = inner.map_or_else(String::new, |inner| format!(" {inner}"));
    format!("see treering {}{inner} --help", verb.name)
}

/// Returns the error for a text argument that begins with a dash, such as a list item in Markdown. The message does not
/// quote the text.
fn dashed(error: &clap::Error) -> Option<Error> {
    let unknown = (error.kind() == ErrorKind::UnknownArgument)
        .then(|| error.get(ContextKind::InvalidArg))
        .flatten();
    match unknown {
        Some(ContextValue::String(text)) if text.starts_with('-') && text.contains(char::is_whitespace) => {
            Some(usage_error(
                "a text that begins with a dash is parsed as an option",
                "write -- before the text, or pass the text on standard input if the verb accepts -",
            ))
        }
        _ => None,
    }
}

/// Returns the error for an unknown word that is very long or contains control characters. The message quotes only the
/// start of the word, with escapes.
fn shortened(error: &clap::Error) -> Option<Error> {
    let kinds = [
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
    ];
    let mut named = kinds.iter().filter_map(|kind| error.get(*kind));
    let (word, shown) = named.find_map(|named| match named {
        ContextValue::String(word) => {
            let shown = human::cut(&printable(word), CHARACTERS);
            (shown != *word).then_some((word, shown))
        }
        _ => None,
    })?;
    let message = clap_error(error, "").message().to_owned();
    let message = message.replace(&format!("'{}'", strip_str(word)), &format!("'{shown}'"));
    Some(usage_error(message, "see treering --help"))
}

/// Returns the error for an unknown word after a verb that has verbs of its own, such as `remote rm`.
fn inner_word(verbs: Groups, error: &clap::Error, arguments: &[OsString]) -> Option<Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let words = arguments.iter().filter_map(|argument| argument.to_str());
    let mut before = words.take_while(|before| before != word);
    let verb = before.find(|word| verb::find(verbs, word).is_some())?;
    Some(clap_error(error, &format!("see treering {verb} --help")))
}

/// Returns the error for a verb of another program. The hint names the equivalent verb of this program.
fn other_word(error: &clap::Error) -> Option<Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (_, verb) = OTHER_WORDS
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()))?;
    Some(usage_error(
        format!("treering has no verb '{word}'"),
        format!("see treering {verb} --help"),
    ))
}

#[cfg(test)]
mod tests;

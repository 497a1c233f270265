//! The trait of a verb, which combines its arguments, the forms of its answer, and its code.
//!
//! # Layer
//! Layer 10, part of cli.

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::context::Context;
use super::errors::{Done, clap_error};

/// A verb of the program. The fields of the implementing type are the arguments of the verb.
pub(crate) trait Verb: Args {
    /// The forms of the verb's JSON answer.
    const ANSWERS: &'static [Form] = &[];

    /// Runs the verb.
    fn run(self, context: &mut Context) -> Done;
}

/// One form of an answer.
pub(crate) struct Form {
    /// The options or the case that produce this form, for the schema.
    pub(crate) when: &'static str,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Returns the form of an answer of type `A`.
pub(crate) const fn form<A: JsonSchema>(when: &'static str) -> Form {
    Form {
        when,
        schema: A::json_schema,
    }
}

/// A verb in the table of verbs.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) answers: &'static [Form],
    /// Whether `TREERING_DISABLE` prevents the verb from committing.
    pub(crate) is_switchable: bool,
    define: fn(Command) -> Command,
    /// Runs the verb with the typed arguments.
    pub(crate) run: fn(&ArgMatches, &mut Context) -> Done,
}

/// The verbs in groups by purpose.
pub(crate) type Groups = &'static [(&'static str, &'static [Entry])];

/// Returns every verb of the groups.
pub(crate) fn all(groups: Groups) -> impl Iterator<Item = &'static Entry> {
    groups.iter().flat_map(|(_, verbs)| verbs.iter())
}

/// Returns the verb with this name.
pub(crate) fn find(groups: Groups, name: &str) -> Option<&'static Entry> {
    all(groups).find(|verb| verb.name == name)
}

/// Returns the entry of a verb. `name` is the name that the user types.
pub(crate) const fn entry<V: Verb>(name: &'static str) -> Entry {
    Entry {
        name,
        answers: V::ANSWERS,
        is_switchable: false,
        define: V::augment_args,
        run: |matches, context| {
            let verb = V::from_arg_matches(matches).map_err(|error| clap_error(&error, ""))?;
            verb.run(context)
        },
    }
}

impl Entry {
    /// Returns this entry, marked so that `TREERING_DISABLE` prevents the verb from committing.
    pub(crate) const fn switchable(mut self) -> Self {
        self.is_switchable = true;
        self
    }

    /// Returns the verb's arguments for clap.
    pub(crate) fn definition(&self) -> Command {
        with_help((self.define)(Command::new(self.name)))
    }
}

/// Moves the sections `# Notes` and `# Examples` of a verb's comment after the options of its help.
fn with_help(command: Command) -> Command {
    let command = command.mut_subcommands(with_help);
    let Some(comment) = command.get_long_about().map(ToString::to_string) else {
        return command;
    };
    let mut sections = comment.split("\n# ");
    let about = prose(sections.next().unwrap_or_default());
    let after = sections.map(|section| match section.split_once('\n') {
        Some(("Examples", lines)) => {
            let lines = lines.lines().filter(|line| !line.starts_with("```"));
            let lines: Vec<String> = lines.map(|line| format!("  {line}")).collect();
            format!("Examples:\n{}", lines.join("\n"))
        }
        Some((_, text)) => prose(text),
        None => String::new(),
    });
    let after = after.collect::<Vec<_>>().join("\n\n");
    let has_more = about.contains('\n');
    let command = command.long_about(optional(has_more, about));
    command.after_help(optional(!after.is_empty(), after))
}

/// Joins the lines of each paragraph of a comment, and of each point of a list.
fn prose(text: &str) -> String {
    let paragraphs = text.trim().split("\n\n");
    let points = |paragraph: &str| {
        paragraph
            .split("\n- ")
            .map(|point| point.replace('\n', " "))
            .collect::<Vec<_>>()
    };
    let paragraphs = paragraphs.map(|paragraph| points(paragraph).join("\n- "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn optional(is_there: bool, text: String) -> Resettable<StyledStr> {
    is_there.then(|| StyledStr::from(text)).into()
}

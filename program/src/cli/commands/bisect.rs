//! `bisect`: finds the commit after which an answer, an object or the result of a command changed.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use clap::ArgGroup;

use super::prelude::*;
use crate::answers::history::{BisectAnswer, LogLine, ShownVersion};
use crate::cli::context::AT_VARIABLE;
use crate::cli::hints::history_of;
use crate::cli::human::change_lines;
use treering::agent::{RecallHit, RecallQuery};
use treering::blame::Bisected;
use treering::inspect::engine::first_change;

/// The help of `--run`.
const RUN_HELP: &str =
    "A state is bad if this command of the shell does not exit with 0; TREERING_AT names the state";

/// Find the commit that broke it
///
/// Finds the first commit after which the first hit of a question is another one, an object differs, or a command fails.
///
/// # Notes
/// --query and --run test the states between GOOD and BAD by halves: about 14 of 10,000 commits. They assume that what
/// became bad stays bad. --id reads the history of the object, so it also finds a change that was reversed. bisect
/// changes nothing. The shell runs CMD once for each tested state, and the verbs in CMD read that state.
///
/// # Examples
/// ```text
/// treering bisect --query 'where is the office?' --good monday-evening
/// treering bisect --query 'where is the office?' --expect Bremen --good seq:1 --bad @-3
/// treering bisect --id facts/office --good seq:1
/// treering bisect --run 'treering get facts/office | grep -q Bremen' --good seq:1 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment, group = ArgGroup::new("what").required(true))]
pub(crate) struct Bisect {
    /// A state is bad if the first hit of this question differs from the first hit at GOOD
    #[arg(long, value_name = "QUESTION", group = "what")]
    query: Option<String>,
    /// A state is bad if the text of the first hit lacks TEXT
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// A state is bad once this object was changed
    #[arg(long, value_name = "ID", group = "what")]
    id: Option<String>,
    /// A state is bad if this command does not exit with 0.
    #[arg(long, value_name = "CMD", group = "what", help = RUN_HELP)]
    run: Option<String>,
    /// The state that is known to be good
    #[arg(long, value_name = "REV")]
    good: String,
    /// The state that is known to be bad [default: @]
    #[arg(long, value_name = "REV")]
    bad: Option<String>,
    #[command(flatten)]
    scopes: ScopeOptions,
    /// Also search items from untrusted sources, such as tools, pages and imports
    #[arg(long)]
    with_untrusted: bool,
}

impl Verb for Bisect {
    const ANSWERS: &'static [Form] = &[form::<BisectAnswer>("")];

    fn run(self, context: &mut Context) -> Done {
        if let Some(query) = &self.query {
            return self.by_query(context, query);
        }
        self.check_options()?;
        let memory = context.open_to_read()?;
        let memory = memory.on_line_of(&self.ends(context, &memory)?[1])?;
        let [good, bad] = self.ends(context, &memory)?;
        match (&self.id, &self.run) {
            (Some(id), _) => by_id(context, &memory, &Id::new(id)?, [&good, &bad]),
            (None, Some(command)) => by_command(context, &memory, command, [&good, &bad]),
            // clap refuses a command line without any of them.
            (None, None) => Err(Error::internal("bisect has nothing to test")),
        }
    }
}

impl Bisect {
    /// Returns the good and the bad state.
    fn ends(&self, context: &Context, memory: &Memory) -> Result<[View; 2]> {
        if self.bad.is_some() && context.options.at.is_some() {
            return Err(usage_error(
                "--at cannot be combined with --bad",
                "name the bad state with one of them",
            ));
        }
        let good = context.view_of(memory, &self.good)?;
        let bad = match &self.bad {
            Some(bad) => context.view_of(memory, bad)?,
            None => context.view(memory)?,
        };
        Ok([good, bad])
    }

    /// Refuses the options of `--query` without it. clap waives such a rule if the question is in a group.
    fn check_options(&self) -> Result<()> {
        let has_scopes = self.scopes.all_scopes || !self.scopes.scopes.is_empty();
        if self.expect.is_none() && !self.with_untrusted && !has_scopes {
            return Ok(());
        }
        let text = "--expect, --scope, --all-scopes and --with-untrusted belong to --query";
        Err(usage_error(text, "add --query QUESTION, or omit these options"))
    }

    fn by_query(&self, context: &mut Context, text: &str) -> Done {
        let agent = context.agent_to_read()?;
        let memory = agent.memory().clone();
        let [good, bad] = self.ends(context, &memory)?;
        let mut query = RecallQuery::new(text, context.reach(&self.scopes)?);
        query.with_untrusted = self.with_untrusted;
        let bisected = agent.bisect(&good, &bad, &query, self.expect.as_deref())?;
        let sides = [bisected.before, bisected.after].map(Side::of_hit);
        let found = &bisected.found;
        answer(
            context,
            &memory,
            found,
            &counted(found.steps, "step"),
            sides,
            |sides, context| {
                for (sign, meaning, side) in signed(sides) {
                    context.output.labelled(meaning, sign, &hit_line(side))?;
                }
                let mut versions = sides.iter().filter_map(|side| side.version.as_ref());
                if versions.any(|version| !version.trust.is_trusted()) {
                    context.output.note_untrusted();
                }
                Ok(())
            },
        )
    }
}

/// What a state shows.
#[derive(Default)]
struct Side {
    text: Option<String>,
    version: Option<ShownVersion>,
}

impl Side {
    fn of_hit(hit: Option<RecallHit>) -> Self {
        let Some(hit) = hit else {
            return Self::default();
        };
        Self {
            text: hit.text,
            version: Some(ShownVersion {
                id: hit.id,
                digest: hit.digest,
                trust: hit.trust,
                flags: hit.flags,
            }),
        }
    }

    fn of_object(object: Option<&Object>) -> Self {
        Self {
            text: object.and_then(Object::content).map(str::to_owned),
            version: object.map(|object| ShownVersion {
                id: object.id().clone(),
                digest: object.digest(),
                trust: object.origin(),
                flags: Vec::new(),
            }),
        }
    }
}

/// Returns a hit on one line, for people.
fn hit_line(side: &Side) -> String {
    let Some(version) = &side.version else {
        return "nothing found".to_owned();
    };
    let mark = if version.trust.is_trusted() { "" } else { " !" };
    let text = cut(&one_line(side.text.as_deref().unwrap_or_default()), GIST_CHARS);
    format!("{}{mark}  {text}", one_line(version.id.as_str()))
}

/// Returns the lines before and after, with the signs and colours of a diff.
fn signed(sides: &[Side; 2]) -> [(&'static str, Meaning, &Side); 2] {
    let [before, after] = sides;
    [("-", Meaning::Bad, before), ("+", Meaning::Good, after)]
}

fn by_id(context: &mut Context, memory: &Memory, id: &Id, [good, bad]: [&View; 2]) -> Done {
    let found = match first_change(memory, good, bad, id) {
        Err(error) if error.code() == ErrorCode::BadIsGood => {
            let newest = memory.changes_of(id).next().transpose()?;
            let error = if newest.is_none() {
                no_object(memory, id, bad, None)
            } else {
                let hint = format!("{} lists its changes", history_of(id));
                error.context(format!("no commit changed '{id}'")).with_hint(hint)
            };
            return Err(error);
        }
        found => found?,
    };
    let version = |commit: &CommitInfo| match memory.at(commit.digest)?.get(id) {
        // A version that was erased since cannot be shown, but its commit can.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        version => version,
    };
    let versions = [version(&found.last_good)?, version(&found.first_bad)?];
    let sides = versions
        .each_ref()
        .map(|version| Side::of_object(version.as_ref()));
    let found_in = format!("a history of {}", counted(found.steps, "change"));
    answer(context, memory, &found, &found_in, sides, |_, context| {
        let [old, new] = versions.each_ref().map(Option::as_ref);
        let lines = change_lines(context.output.style(), id.as_str(), old, new);
        lines.into_iter().try_for_each(|line| context.line(line))
    })
}

fn by_command(context: &mut Context, memory: &Memory, command: &str, [good, bad]: [&View; 2]) -> Done {
    let mut codes = HashMap::new();
    // The command reads the same store from any folder. A store that was only found and is not trusted stays so.
    let store = if context.options.untrusted_store {
        context.named_store()
    } else {
        Some(context.store()?)
    };
    let store = store.map(std::path::absolute).transpose();
    let store = store.map_err(|error| Error::io("finding the folder of the store", error))?;
    let found = memory.bisect(good, bad, |view| {
        let seq = view.commit().commit.seq;
        let code = exit_code_of(command, seq, store.as_deref())?;
        codes.insert(seq, code);
        Ok(code != 0)
    });
    let code_at = |view: &View| codes.get(&view.commit().commit.seq).copied().unwrap_or_default();
    let found = found.map_err(|error| match error.code() {
        ErrorCode::GoodIsBad => {
            let code = code_at(good);
            error.with_hint(format!(
                "the command exits with {code} there; name an older good revision, or correct it"
            ))
        }
        ErrorCode::BadIsGood => error.with_hint("the command exits with 0 there; name another bad revision"),
        _ => error,
    })?;
    let side = |commit: &CommitInfo| Side {
        text: codes
            .get(&commit.commit.seq)
            .map(|code| format!("exit code {code}")),
        version: None,
    };
    let sides = [side(&found.last_good), side(&found.first_bad)];
    let found_in = counted(found.steps, "step");
    answer(context, memory, &found, &found_in, sides, |sides, context| {
        for (sign, meaning, side) in signed(sides) {
            let text = side.text.as_deref().unwrap_or_default();
            context.output.labelled(meaning, sign, text)?;
        }
        Ok(())
    })
}

/// Runs a command of the shell for the state of commit `seq`, and returns its exit code. The output of the command is
/// discarded.
///
/// # Errors
/// `InvalidInput` (code `command_failed`) if a signal ended the command; `Io` if there is no shell.
fn exit_code_of(command: &str, seq: u64, store: Option<&Path>) -> Result<i32> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env(AT_VARIABLE, format!("seq:{seq}"));
    if let Some(store) = store {
        shell.env("TREERING_STORE", store);
    }
    let shell = shell
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ended = shell.status().map_err(|error| Error::io("running sh", error))?;
    ended.code().ok_or_else(|| {
        Error::invalid(format!("the command was stopped at seq:{seq}: {ended}"))
            .with_code(ErrorCode::CommandFailed)
    })
}

/// Prints the found commit. `found_in` counts the work, and `show` prints both sides, for people.
fn answer(
    context: &mut Context,
    memory: &Memory,
    found: &Bisected,
    found_in: &str,
    [before, after]: [Side; 2],
    show: impl FnOnce(&[Side; 2], &mut Context) -> Result<()>,
) -> Done {
    let sides = [before, after];
    let [before, after] = sides.each_ref().map(|side| side.text.clone());
    let first_bad = LogLine::of(memory, &found.first_bad)?;
    let [before_version, after_version] = sides.each_ref().map(|side| side.version.clone());
    let from = found.from.as_ref();
    let answer = BisectAnswer {
        first_bad,
        from: from.map(|from| LogLine::of(memory, from)).transpose()?,
        before,
        after,
        before_version,
        after_version,
        steps: found.steps,
        last_good: found.last_good.commit.seq,
        thinned: found.thinned,
    };
    context.answer(&answer, |answer, context| {
        let seq = answer.first_bad.seq;
        let after_gap = match answer.thinned {
            0 => "",
            _ => " that is kept",
        };
        context.line(format_args!(
            "seq:{seq} is the first bad commit{after_gap}, found in {found_in}"
        ))?;
        show_commit(&answer.first_bad, found.first_bad.lane(), context)?;
        if let (Some(from), Some(info)) = (&answer.from, &found.from) {
            context.line("it merged this commit:")?;
            show_commit(from, info.lane(), context)?;
        }
        show(&sides, context)?;
        if answer.thinned > 0 {
            let what = counted(answer.thinned, "thinned commit");
            let note = format!(
                "{what} between seq:{} and it may have made the change",
                answer.last_good
            );
            context.note("thinned", note);
        }
        // A revert of a commit does not reach what thinned commits before it wrote.
        let next = match answer.thinned {
            0 => format!("remove exactly its changes with: treering revert --commit seq:{seq}"),
            _ => format!(
                "see what changed since the last good state: treering diff seq:{} seq:{seq}",
                answer.last_good
            ),
        };
        context.output.note_for_people("next", next);
        Ok(())
    })
}

fn show_commit(commit: &LogLine, lane: &str, context: &mut Context) -> Result<()> {
    let output = &context.output;
    let mark = if commit.trust.is_trusted() { "" } else { " !" };
    let text = |text: &Option<String>| text.as_deref().map(one_line);
    let fields = [
        ("commit", Some(output.paint(Meaning::Name, commit.commit))),
        ("op", Some(commit.op.clone())),
        ("time", Some(time::with_age(commit.time, context.now(), output))),
        ("lane", Some(one_line(lane))),
        ("trust", Some(format!("{}{mark}", commit.trust.name()))),
        ("actor", text(&commit.actor)),
        ("source", text(&commit.source)),
        ("reason", text(&commit.reason)),
    ];
    context.fields(2, fields)
}

//! `guard`: a change is staged, checked, and committed or dropped.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::agent_context::ScopeOptions;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::{Args, Subcommand};
use std::fs;
use std::iter;
use std::path::Path;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::RecallQuery;
use crate::agent::guard::{Checks, Guarded, Policy, RecallChange, Report, StagedLine};
use crate::cli::commands::closing::print_committed;
use crate::cli::commands::input::{Lines, open_input};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure, NO, exit_code, input_error};
use crate::cli::human::{Table, change_lines, coloured, one_line, plain};
use crate::cli::output::Meaning;
use crate::cli::time;
use crate::digest::CommitDigest;
use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// The name of the policy beside the store's folder.
const POLICY_FILE: &str = "guard.toml";
/// The longest policy.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// Check a change before it lands
///
/// A change is staged under a name, checked, and committed or dropped.
#[derive(Args, Debug)]
#[command(
    after_help = "A change is staged from JSON Lines, checked by a policy, and committed whole with a snapshot before, or not \
                  at all. The policy is guard.toml beside the store's folder, or --policy FILE, or the standard one. Exit code 4: \
                  a check refuses it.\n\n\
                  Examples:\n  treering guard stage turn-7 --jsonl changes.jsonl\n  treering guard check turn-7 --json\n  \
                  treering guard commit turn-7 -m 'turn 7'\n  treering guard drop turn-7"
)]
pub(crate) struct Guard {
    #[command(subcommand)]
    pub(crate) verb: GuardVerb,
}

impl Verb for Guard {
    const NAME: &'static str = "guard";

    fn run(self, context: &mut Context) -> Done {
        guard(context, self.verb)
    }
}

/// What is done with a change.
#[derive(Debug, Subcommand)]
pub(crate) enum GuardVerb {
    /// Stage a change from JSON Lines; the state does not move
    #[command(
        after_help = "A line is an object as put --jsonl reads it, or {\"remove\":\"ID\"}.\n\n\
                      Examples:\n  treering guard stage turn-7 --jsonl changes.jsonl\n  \
                      my-agent | treering guard stage turn-7 --jsonl - --session s1 --trust untrusted"
    )]
    Stage(GuardStage),
    /// Say what each check finds; changes nothing
    #[command(
        after_help = "Examples:\n  treering guard check turn-7\n  treering guard check turn-7 --policy strict.toml --json"
    )]
    Check(GuardWith),
    /// Check it, and commit it if everything passes
    #[command(
        after_help = "Examples:\n  treering guard commit turn-7 -m 'turn 7'\n  treering guard commit turn-7 --json"
    )]
    Commit(GuardWith),
    /// Drop a staged change
    #[command(after_help = "Examples:\n  treering guard drop turn-7")]
    Drop(GuardDrop),
    /// Show what a staged change would do
    #[command(after_help = "Examples:\n  treering guard show turn-7\n  treering guard show turn-7 --json")]
    Show(GuardShow),
    /// Compare what questions recall in two states: what a turn or a rollback did to the answers
    #[command(
        after_help = "Examples:\n  treering guard recall snap:0 --query 'which database'\n  \
                      treering guard recall @-5 @ --queries questions.txt --exit-code --json"
    )]
    Recall(GuardRecall),
    /// List what is staged
    #[command(after_help = "Examples:\n  treering guard list\n  treering guard list --json")]
    List(GuardList),
}

/// `guard stage`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct GuardStage {
    /// A name for the change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The lines of the change; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: PathBuf,
    /// Who may rewrite what, in TOML [default: guard.toml beside the store's folder, else the standard policy]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// `guard check`, `guard commit`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct GuardWith {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What is checked, in TOML [default: guard.toml beside the store's folder, else the standard policy]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// `guard drop`
#[derive(Args, Debug)]
#[command(args = args::writes())]
pub(crate) struct GuardDrop {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// `guard show`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct GuardShow {
    /// The change
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// `guard recall`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct GuardRecall {
    /// The older state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// The newer one [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// A question; may be repeated
    #[arg(long = "query", value_name = "TEXT")]
    pub(crate) queries: Vec<String>,
    /// Questions, one a line
    #[arg(long = "queries", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// At most K hits of each [default: 10]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Also what comes from sources that are not trusted
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Exit with 1 where an answer differs
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// `guard list`
#[derive(Args, Debug)]
#[command(args = args::reads())]
pub(crate) struct GuardList {}

fn guard(context: &mut Context, verb: GuardVerb) -> Done {
    match verb {
        GuardVerb::Stage(verb) => stage(context, &verb),
        GuardVerb::Check(verb) => check(context, &verb),
        GuardVerb::Commit(verb) => commit(context, &verb),
        GuardVerb::Drop(verb) => drop_staged(context, &verb.name),
        GuardVerb::Show(verb) => show(context, &verb.name),
        GuardVerb::Recall(verb) => recall(context, &verb),
        GuardVerb::List(_) => list(context),
    }
}

fn stage(context: &mut Context, verb: &GuardStage) -> Done {
    let (name, file) = (verb.name.as_str(), verb.jsonl.as_path());
    let rules = read_policy(context, verb.policy.as_deref())?.trust;
    let agent = context.agent_to_write()?;
    let mut input = open_input(context, file)?;
    let mut reader = Lines::of(&mut *input);
    let lines = iter::from_fn(|| {
        let line = reader.next_line().transpose()?;
        Some(line.and_then(|(number, text)| {
            let line = StagedLine::parse(text);
            let line = line.map_err(|error| error.context(format_args!("line {number}")))?;
            Ok((number, line))
        }))
    });
    let staged = agent.stage(name, lines, &rules, &context.writer())?;
    let counts = staged.counts;
    if context.output.is_json() {
        context.output.document(&json!({
            "name": name, "added": counts.added, "changed": counts.changed, "removed": counts.removed,
        }))?;
    } else {
        context.output.line(format_args!(
            "staged {}: {} added, {} changed, {} removed",
            context.output.paint(Meaning::Name, name),
            counts.added,
            counts.changed,
            counts.removed
        ))?;
        context
            .output
            .note("next", format!("check it with: treering guard check {name}"));
    }
    Ok(DONE)
}

fn check(context: &mut Context, verb: &GuardWith) -> Done {
    let checks = Checks::new(policy(context, verb)?);
    let agent = context.agent_to_read()?;
    let report = agent.check_staged(&verb.name, &checks, &context.writer())?;
    if context.output.is_json() {
        context.output.document(&document(&verb.name, &report))?;
    } else {
        context.output.line(&report)?;
    }
    Ok(verdict(&report))
}

fn commit(context: &mut Context, verb: &GuardWith) -> Done {
    let checks = Checks::new(policy(context, verb)?);
    let agent = context.agent_to_write()?;
    let guarded = agent.commit_staged(&verb.name, &checks, &context.writer())?;
    let (report, committed) = match guarded {
        Guarded::Kept {
            report, committed, ..
        } => (report, Some(committed)),
        Guarded::Refused { report, .. } => (report, None),
    };
    if context.output.is_json() {
        let mut text = document(&verb.name, &report);
        let info = committed.as_ref().map(|committed| &committed.commit);
        text["commit"] = info.map(|info| info.digest.to_hex()).into();
        text["seq"] = info.map(|info| info.commit.seq).into();
        text["root"] = info.map(|info| info.commit.root.to_hex()).into();
        context.output.document(&text)?;
    } else {
        context.output.line(&report)?;
        if let Some(committed) = &committed {
            print_committed(
                context,
                agent.memory(),
                committed,
                &format!("committed {}", verb.name),
            )?;
        } else {
            let note = format!("it stays staged; drop it with: treering guard drop {}", verb.name);
            context.output.note("next", note);
        }
    }
    Ok(verdict(&report))
}

fn drop_staged(context: &mut Context, name: &str) -> Done {
    let agent = context.agent_to_write()?;
    agent.drop_staged(name, &context.writer())?;
    if context.output.is_json() {
        context
            .output
            .document(&json!({ "name": name, "dropped": true }))?;
    } else {
        context.output.line(format_args!("dropped {name}"))?;
    }
    Ok(DONE)
}

fn show(context: &mut Context, name: &str) -> Done {
    let agent = context.agent_to_read()?;
    for change in agent.staged_changes(name)? {
        if context.output.is_json() {
            context.output.document(&change.to_json()?)?;
            continue;
        }
        let style = context.output.style();
        for line in change_lines(
            style,
            change.id.as_str(),
            change.old.as_ref(),
            change.new.as_ref(),
        ) {
            context.output.line(line)?;
        }
    }
    Ok(DONE)
}

fn list(context: &mut Context) -> Done {
    let agent = context.agent_to_read()?;
    let now = agent.memory().view().now();
    let mut table = Table::new(&["staged", "when", "actor", "session", "reason"]);
    for staged in agent.staged() {
        if context.output.is_json() {
            context.output.document(&json!({
                "name": staged.name,
                "base": staged.commit.map(CommitDigest::to_hex),
                "time": staged.time.to_string(),
                "actor": staged.actor,
                "session": staged.session,
                "reason": staged.reason,
            }))?;
            continue;
        }
        let cells = vec![
            coloured(Meaning::Name, &staged.name),
            coloured(
                Meaning::Quiet,
                time::in_column(staged.time, now, context.output.style()),
            ),
            plain(staged.actor.as_deref().unwrap_or_default()),
            plain(staged.session.as_deref().unwrap_or_default()),
            plain(staged.reason.as_deref().unwrap_or_default()),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)?;
    Ok(DONE)
}

fn recall(context: &mut Context, verb: &GuardRecall) -> Done {
    let mut texts = verb.queries.clone();
    if let Some(file) = &verb.file {
        let mut input = open_input(context, file)?;
        let mut reader = Lines::of(&mut *input);
        while let Some((_, text)) = reader.next_line()? {
            texts.push(text.trim().to_owned());
        }
    }
    if texts.is_empty() {
        return Err(Failure::usage(
            "no question is asked",
            "give --query TEXT or --queries FILE",
        ));
    }
    let agent = context.agent_to_read()?;
    let older = context.view_of(agent.memory(), &verb.from)?;
    let newer = context.view_of(agent.memory(), verb.to.as_deref().unwrap_or("@"))?;
    let reach = context.reach(&verb.scopes)?;
    let query = |text: String| {
        let mut query = RecallQuery::new(text, reach.clone());
        query.with_untrusted = verb.with_untrusted;
        query.limit = verb.limit.unwrap_or(query.limit);
        query
    };
    let queries: Vec<RecallQuery> = texts.into_iter().map(query).collect();
    let changes = agent.compare_recall(&older, &newer, &queries)?;
    let is_same = changes.iter().all(RecallChange::is_same);
    for change in changes {
        if context.output.is_json() {
            context.output.document(&json!({
                "query": change.query, "kept": change.kept, "lost": change.lost, "gained": change.gained,
            }))?;
            continue;
        }
        let kept = change.kept.len();
        context
            .output
            .line(format_args!("{}: {kept} kept", one_line(&change.query)))?;
        for (sign, meaning, ids) in [
            ("-", Meaning::Bad, &change.lost),
            ("+", Meaning::Good, &change.gained),
        ] {
            for id in ids {
                let line = context.output.paint(meaning, format_args!("  {sign} {id}"));
                context.output.line(line)?;
            }
        }
    }
    Ok(if verb.exit_code && !is_same { NO } else { DONE })
}

/// The policy that a change is checked by.
fn policy(context: &Context, verb: &GuardWith) -> Result<Policy> {
    let policy = read_policy(context, verb.policy.as_deref())?;
    if let Some(command) = policy.commands.first().filter(|_| verb.policy.is_none()) {
        // A folder that somebody hands over must not run programs because its store is opened.
        let text = format!(
            "{POLICY_FILE} beside the store wants to run the command '{}'",
            command.name
        );
        return Err(Error::new(ErrorKind::Denied, text)
            .with_code(ErrorCode::CommandNotAllowed)
            .with_hint("look at it, then name it with --policy FILE"));
    }
    Ok(policy)
}

/// The policy that was named, or the one beside the store's folder, or the standard one.
fn read_policy(context: &Context, named: Option<&Path>) -> Result<Policy> {
    if let Some(file) = named {
        return read(file);
    }
    let store = context.store()?;
    let found = store.parent().map(|folder| folder.join(POLICY_FILE));
    match found.filter(|file| file.is_file()) {
        Some(file) => read(&file),
        None => Ok(Policy::default()),
    }
}

fn read(file: &Path) -> Result<Policy> {
    let length = fs::metadata(file)
        .map_err(|error| input_error(file, error))?
        .len();
    if length > POLICY_BYTES_MAX {
        return Err(
            Error::invalid(format!("{} is too long for a policy", file.display()))
                .with_code(ErrorCode::OverLimit),
        );
    }
    let text = fs::read_to_string(file).map_err(|error| input_error(file, error))?;
    Policy::parse(&text).map_err(|error| error.context(file.display()))
}

fn verdict(report: &Report) -> u8 {
    if report.is_passed() {
        DONE
    } else {
        exit_code(ErrorKind::Denied)
    }
}

fn document(name: &str, report: &Report) -> Value {
    let checks = report.checks.iter().map(|checked| {
        json!({
            "check": checked.check,
            "passed": checked.is_passed,
            "why": checked.why,
            "ids": checked.ids,
            "ids_total": checked.ids_total,
            "advice": checked.advice,
        })
    });
    json!({
        "name": name,
        "passed": report.is_passed(),
        "added": report.counts.added,
        "changed": report.counts.changed,
        "removed": report.counts.removed,
        "checks": checks.collect::<Vec<_>>(),
    })
}

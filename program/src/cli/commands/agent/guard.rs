//! `guard`: stages a change, checks it, and commits or drops it.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::answers::agent::guard::{GuardCommit, GuardDropped, GuardReport, StagedLine, StagedObject};
use crate::cli::agent_context::read_found;
use crate::cli::args::LaneOptions;
use crate::cli::commands::prelude::*;
use crate::cli::errors::DENIED;
use crate::cli::human::change_lines;
use treering::agent::{Agent, Checks, Guarded, Policy, RecallQuery};
use treering::inspect::agent::guard;
use treering::inspect::agent::guard::{RecallChange, StagedChange, StagedLine as Line};
use treering::inspect::engine::ReferenceInfo;
use treering::revert::Reverted;

/// The name of the policy file, in the parent folder of the store.
const POLICY_FILE: &str = "guard.toml";
/// The largest policy file, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// Check a change before its commit
///
/// Stages a change under a name, checks it, and commits or drops it.
///
/// # Notes
/// `stage` reads a change from JSON Lines, and `check` checks it by a policy. `commit` checks the change again, and
/// commits the whole change after a snapshot, or nothing. The policy is --policy FILE, else the standard policy, which
/// guard.toml next to the store's folder can only make stricter. Exit code 4: a check refused the change, or guard.toml
/// has a key that needs --policy.
///
/// # Examples
/// ```text
/// treering guard stage turn-7 --jsonl changes.jsonl
/// treering guard check turn-7 --json
/// treering guard commit turn-7 -m 'turn 7'
/// treering guard drop turn-7
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Guard {
    #[command(subcommand)]
    pub(crate) verb: GuardVerb,
}

impl Verb for Guard {
    const ANSWERS: &'static [Form] = &[
        form::<StagedChange>("stage"),
        form::<GuardReport>("check; exit code 4 if passed is false"),
        form::<GuardCommit>("commit; if passed is false, exit code 4 and no commit"),
        form::<GuardDropped>("drop"),
        form::<StagedObject>("show, one per line; versions have the form of export"),
        form::<RecallChange>("recall, one per line"),
        form::<StagedLine>("list, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.verb {
            GuardVerb::Stage { name, jsonl, policy } => stage(context, &name, &jsonl, policy.as_deref()),
            GuardVerb::Check(verb) => check(context, verb),
            GuardVerb::Commit(verb) => commit(context, verb),
            GuardVerb::Drop { name } => {
                let agent = context.agent_to_write()?;
                guard::drop_staged(&agent, &name, &context.writer())?;
                let text = format!("dropped {name}");
                context.say(&GuardDropped { name, dropped: true }, text)
            }
            GuardVerb::Show { name } => show(context, &name),
            GuardVerb::Recall(verb) => recall(context, verb),
            GuardVerb::List => {
                let staged = guard::staged(&context.agent_to_read()?).into_iter();
                let line = |staged: ReferenceInfo| StagedLine {
                    base: staged.commit,
                    staged,
                };
                let rows = staged.map(|staged| Ok(line(staged)));
                context.table(rows, &["name", "time", "actor", "session", "reason"])
            }
        }
    }
}

/// An action on a staged change.
#[derive(Debug, Subcommand)]
pub(crate) enum GuardVerb {
    /// Stage a change from JSON Lines; the state does not change
    ///
    /// # Notes
    /// A line is an object in the form of put --jsonl, or {"remove":"ID"}.
    ///
    /// # Examples
    /// ```text
    /// treering guard stage turn-7 --jsonl changes.jsonl
    /// my-agent | treering guard stage turn-7 --jsonl - --session s1 --trust untrusted
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Stage {
        /// A name for the change
        name: String,
        /// The lines of the change; - reads standard input
        #[arg(long, value_name = "FILE")]
        jsonl: PathBuf,
        /// The policy file, whose rules state which writers may overwrite which objects, in TOML [default: the
        /// standard policy, made stricter by guard.toml in the parent folder of the store]
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Print the findings of each check, and change nothing
    ///
    /// # Examples
    /// ```text
    /// treering guard check turn-7
    /// treering guard check turn-7 --policy strict.toml --json
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Check(GuardWith),
    /// Check a staged change, and commit it if every check passes
    ///
    /// # Examples
    /// ```text
    /// treering guard commit turn-7 -m 'turn 7'
    /// treering guard commit turn-7 --json
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Commit(GuardWith),
    /// Drop a staged change
    ///
    /// # Examples
    /// ```text
    /// treering guard drop turn-7
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Drop {
        /// The name of the staged change
        name: String,
    },
    /// Show the effect of a staged change
    ///
    /// # Examples
    /// ```text
    /// treering guard show turn-7
    /// treering guard show turn-7 --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Show {
        /// The name of the staged change
        name: String,
    },
    /// Compare the answers to questions in two states, for example before and after a turn or a rollback
    ///
    /// # Examples
    /// ```text
    /// treering guard recall snap:0 --query 'which database'
    /// treering guard recall @-5 @ --queries questions.txt --exit-code --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    Recall(GuardRecall),
    /// List the staged changes
    ///
    /// # Examples
    /// ```text
    /// treering guard list
    /// treering guard list --json
    /// ```
    #[command(args = args::reads(), verbatim_doc_comment)]
    List,
}

/// The arguments of `guard check` and `guard commit`
#[derive(Args, Debug)]
pub(crate) struct GuardWith {
    /// The name of the staged change
    pub(crate) name: String,
    /// The policy file of the checks, in TOML [default: the standard policy, made stricter by guard.toml in the parent
    /// folder of the store]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// The arguments of `guard recall`
#[derive(Args, Debug)]
pub(crate) struct GuardRecall {
    /// The older state
    #[arg(value_name = "REV")]
    pub(crate) from: String,
    /// The newer state [default: @]
    #[arg(value_name = "REV2")]
    pub(crate) to: Option<String>,
    /// A question; may be repeated
    #[arg(long = "query", value_name = "TEXT")]
    pub(crate) queries: Vec<String>,
    /// A file of questions, one on each line
    #[arg(long = "queries", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Return at most K hits for each question [default: 10]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Also return items from untrusted sources
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Exit with 1 if an answer differs
    #[arg(long)]
    pub(crate) exit_code: bool,
}

fn stage(context: &mut Context, name: &str, jsonl: &Path, named: Option<&Path>) -> Done {
    let rules = policy(context, named)?.trust;
    let agent = context.agent_to_write()?;
    let mut input = open_input(context, jsonl)?;
    let mut reader = Lines::of(&mut *input);
    let lines = reader.read(|text| Line::parse(&agent, text.as_bytes()));
    let staged = guard::stage(&agent, name, lines, &rules, &context.writer())?;
    let name = context.output.paint(Meaning::Name, name);
    let counts = context.counts_line(staged.counts);
    let next = format!("check the change with: treering guard check {}", staged.name);
    let text = format!("staged {name}: {counts}");
    context.say_with_note(&staged, text, "next", next)
}

fn check(context: &mut Context, verb: GuardWith) -> Done {
    let checks = Checks::new(policy(context, verb.policy.as_deref())?);
    let agent = context.agent_to_read()?;
    let report = guard::check_staged(&agent, &verb.name, &checks, &context.writer())?;
    let answer = GuardReport::new(verb.name, report);
    context.say(&answer, &answer.report)?;
    Ok(if answer.passed { DONE } else { DENIED })
}

fn commit(context: &mut Context, verb: GuardWith) -> Done {
    let checks = Checks::new(policy(context, verb.policy.as_deref())?);
    let agent = context.agent_to_write()?;
    let guarded = guard::commit_staged(&agent, &verb.name, &checks, &context.writer())?;
    let (report, committed, reverted) = match guarded {
        Guarded::Kept {
            report, committed, ..
        } => (report, Some(committed.commit), None),
        Guarded::Refused { report, reverted, .. } => (report, None, reverted),
    };
    let answer = GuardCommit {
        report: GuardReport::new(verb.name, report),
        names: committed.as_ref().into(),
        reverted,
    };
    let (name, report) = (&answer.report.name, &answer.report.report);
    let Some(info) = committed else {
        let note = format!("the change is still staged; drop it with: treering guard drop {name}");
        context.say_with_note(&answer, report, "next", note)?;
        note_session(context, &agent, name, answer.reverted.as_deref());
        return Ok(DENIED);
    };
    let head = context.head_line(&info);
    let text = format!("{report}\ncommitted {name}; {head}");
    // The commit belongs to the lane of the writer who staged the change, which may differ from the current lane.
    let lane = LaneOptions {
        session: info.commit.session,
        actor: info.commit.actor,
    };
    let note = format!("reverse the change with: {}", lane.command("undo"));
    context.say_with_note(&answer, text, "undo", note)
}

/// Prints what the guard reverted of the session of a refused change, or how to revert it.
fn note_session(context: &mut Context, agent: &Agent, name: &str, reverted: Option<&Reverted>) {
    if let Some(reverted) = reverted {
        let objects = counted(reverted.reverted.len() as u64, "object");
        let text = format!("the policy reverted what the session had written: {objects}");
        context.note("reverted", text);
        context.note("undo", "bring it back with: treering undo --actor guard");
        return;
    }
    let mut staged = guard::staged(agent).into_iter();
    let stager = staged.find(|staged| staged.name == name);
    let own = context.writer().session;
    if let Some(session) = own.or_else(|| stager?.session) {
        let lane = LaneOptions {
            session: Some(session),
            actor: None,
        };
        let command = lane.command("revert --dry-run");
        let text = format!("what the session wrote before stays; see it with: {command}");
        context.note_for_people("next", text);
    }
}

fn show(context: &mut Context, name: &str) -> Done {
    let agent = context.agent_to_read()?;
    for changed in guard::staged_changes(&agent, name)? {
        let (style, id) = (context.output.style(), changed.id.as_str());
        let lines = change_lines(style, id, changed.old.as_ref(), changed.new.as_ref());
        context.say(&StagedObject::of(changed)?, lines.join("\n"))?;
    }
    Ok(DONE)
}

fn recall(context: &mut Context, verb: GuardRecall) -> Done {
    let mut texts = verb.queries;
    if let Some(file) = &verb.file {
        let mut input = open_input(context, file)?;
        let mut reader = Lines::of(&mut *input);
        while let Some((_, text)) = reader.next_line()? {
            texts.push(text.trim().to_owned());
        }
    }
    if texts.is_empty() {
        let hint = "pass --query TEXT or --queries FILE";
        return Err(usage_error("the query is missing", hint));
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
    let changes = guard::compare_recall(&agent, &older, &newer, &queries)?;
    for change in &changes {
        context.answer(change, show_recall_change)?;
    }
    let is_same = changes.iter().all(RecallChange::is_same);
    Ok(if verb.exit_code && !is_same { NO } else { DONE })
}

fn show_recall_change(answer: &RecallChange, context: &mut Context) -> Result<()> {
    let (query, kept) = (one_line(&answer.query), answer.kept.len());
    context.line(format_args!("{query}: {kept} of the hits are in both states"))?;
    for (sign, meaning, ids) in [
        ("-", Meaning::Bad, &answer.lost),
        ("+", Meaning::Good, &answer.gained),
    ] {
        for id in ids {
            let line = context.output.paint(meaning, format_args!("  {sign} {id}"));
            context.line(line)?;
        }
    }
    Ok(())
}

/// Reads the policy file that the user named, else the one beside the store, which may only make the standard policy
/// stricter. Without either, returns the standard policy.
fn policy(context: &Context, named: Option<&Path>) -> Result<Policy> {
    let (file, policy) = if let Some(file) = named {
        let bytes = read_input(context, file, POLICY_BYTES_MAX)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::invalid("the policy is not UTF-8"));
        (file.to_owned(), text.and_then(|text| Policy::parse(&text)))
    } else {
        context.store()?;
        let Some(file) = context.beside_store(POLICY_FILE) else {
            return Ok(Policy::default());
        };
        let (text, (settings, _)) = (read_found(&file)?, context.settings()?);
        (file, Policy::parse_found(&text, &settings.quotas))
    };
    policy.map_err(|error| error.context(file.display()))
}

//! `guard`: stages a change, checks it, and commits or drops it.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::agent::RecallQuery;
use crate::agent::guard::{Checks, Guarded, Policy, RecallChange, StagedChange, StagedLine as Line};
use crate::answers::agent::guard::{GuardCommit, GuardDropped, GuardReport, StagedLine, StagedObject};
use crate::cli::args::LaneOptions;
use crate::cli::commands::prelude::*;
use crate::cli::errors::DENIED;
use crate::cli::human::change_lines;
use crate::engine::ReferenceInfo;

/// The name of the policy file, in the folder that holds the store.
const POLICY_FILE: &str = "guard.toml";
/// The largest policy file, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;

/// Check a change before its commit
///
/// A change is staged under a name, checked, and committed or dropped.
///
/// # Notes
/// Stages a change from JSON Lines and checks it by a policy. Then it commits the whole change after a snapshot, or
/// nothing. The policy is --policy FILE, else guard.toml beside the store's folder, else the standard one. Exit code 4:
/// a check refused the change.
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
        form::<StagedObject>("show, one per line; versions as export writes them"),
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
                agent.drop_staged(&name, &context.writer())?;
                let text = format!("dropped {name}");
                context.say(&GuardDropped { name, dropped: true }, text)
            }
            GuardVerb::Show { name } => show(context, &name),
            GuardVerb::Recall(verb) => recall(context, verb),
            GuardVerb::List => {
                let staged = context.agent_to_read()?.staged().into_iter();
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
    /// Stage a change from JSON Lines; the state stays the same
    ///
    /// # Notes
    /// A line is an object as put --jsonl reads it, or {"remove":"ID"}.
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
        /// The rules for who may overwrite which objects, in TOML [default: guard.toml in the folder that holds the store,
        /// else the standard policy]
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Print the findings of each check; changes nothing
    ///
    /// # Examples
    /// ```text
    /// treering guard check turn-7
    /// treering guard check turn-7 --policy strict.toml --json
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Check(GuardWith),
    /// Check it, and commit it if everything passes
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
        /// The change
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
        /// The change
        name: String,
    },
    /// Compare what questions recall in two states, for example before and after a turn or a rollback
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
    /// The change
    pub(crate) name: String,
    /// The policy of the checks, in TOML [default: guard.toml in the folder that holds the store, else the standard
    /// policy]
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
    /// At most K hits for each question [default: 10]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Also items from untrusted sources
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Exit with 1 if an answer differs
    #[arg(long)]
    pub(crate) exit_code: bool,
}

fn stage(context: &mut Context, name: &str, jsonl: &Path, policy: Option<&Path>) -> Done {
    let rules = read_policy(context, policy)?.trust;
    let agent = context.agent_to_write()?;
    let mut input = open_input(context, jsonl)?;
    let mut reader = Lines::of(&mut *input);
    let lines = reader.read(|text| Line::parse(&agent, text.as_bytes()));
    let staged = agent.stage(name, lines, &rules, &context.writer())?;
    let name = context.output.paint(Meaning::Name, name);
    let counts = context.counts_line(staged.counts);
    let next = format!("check the change with: treering guard check {}", staged.name);
    let text = format!("staged {name}: {counts}");
    context.say_with_note(&staged, text, "next", next)
}

fn check(context: &mut Context, verb: GuardWith) -> Done {
    let checks = Checks::new(policy(context, &verb)?);
    let agent = context.agent_to_read()?;
    let report = agent.check_staged(&verb.name, &checks, &context.writer())?;
    let answer = GuardReport::new(verb.name, report);
    context.say(&answer, &answer.report)?;
    Ok(if answer.passed { DONE } else { DENIED })
}

fn commit(context: &mut Context, verb: GuardWith) -> Done {
    let checks = Checks::new(policy(context, &verb)?);
    let agent = context.agent_to_write()?;
    let guarded = agent.commit_staged(&verb.name, &checks, &context.writer())?;
    let (report, committed) = match guarded {
        Guarded::Kept {
            report, committed, ..
        } => (report, Some(committed.commit)),
        Guarded::Refused { report, .. } => (report, None),
    };
    let answer = GuardCommit {
        report: GuardReport::new(verb.name, report),
        names: committed.as_ref().into(),
    };
    let (name, report) = (&answer.report.name, &answer.report.report);
    let Some(info) = committed else {
        let note = format!("the change stays staged; drop it with: treering guard drop {name}");
        context.say_with_note(&answer, report, "next", note)?;
        return Ok(DENIED);
    };
    let head = context.head_line(&info);
    let text = format!("{report}\ncommitted {name}; {head}");
    // The commit may be in the lane of the writer who staged the change.
    let lane = LaneOptions {
        session: info.commit.session,
        actor: info.commit.actor,
    };
    let note = format!("reverse it with: {}", lane.way_back("undo"));
    context.say_with_note(&answer, text, "undo", note)
}

fn show(context: &mut Context, name: &str) -> Done {
    let agent = context.agent_to_read()?;
    for changed in agent.staged_changes(name)? {
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
        let hint = "give --query TEXT or --queries FILE";
        return Err(usage_error("no query is given", hint));
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
    for change in &changes {
        context.answer(change, show_recall_change)?;
    }
    let is_same = changes.iter().all(RecallChange::is_same);
    Ok(if verb.exit_code && !is_same { NO } else { DONE })
}

fn show_recall_change(answer: &RecallChange, context: &mut Context) -> Result<()> {
    let (query, kept) = (one_line(&answer.query), answer.kept.len());
    context.line(format_args!("{query}: {kept} kept"))?;
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

/// Returns the policy that checks a change.
fn policy(context: &Context, verb: &GuardWith) -> Result<Policy> {
    let policy = read_policy(context, verb.policy.as_deref())?;
    if let Some(command) = policy.commands.first().filter(|_| verb.policy.is_none()) {
        // A store in a folder from another person must not bring commands that run unasked.
        let text = format!(
            "{POLICY_FILE} was not named with --policy, so its command '{}' may not run",
            command.name
        );
        let refused = Error::denied(ErrorCode::CommandNotAllowed, text);
        let hint = "read the file, then allow its commands with --policy FILE";
        return Err(refused.with_hint(hint));
    }
    Ok(policy)
}

/// Reads the named policy, else the one in the folder that holds the store, else returns the standard one.
fn read_policy(context: &Context, named: Option<&Path>) -> Result<Policy> {
    let found = match named {
        Some(file) => Some(file.to_owned()),
        None => {
            let store = context.store()?;
            let beside = store.parent().map(|folder| folder.join(POLICY_FILE));
            beside.filter(|file| file.is_file() && !context.options.untrusted_store)
        }
    };
    let Some(file) = found else {
        return Ok(Policy::default());
    };
    let bytes = read_input(context, &file, POLICY_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("the policy is not UTF-8"));
    let policy = text.and_then(|text| Policy::parse(&text));
    policy.map_err(|error| error.context(file.display()))
}

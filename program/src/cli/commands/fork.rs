//! `fork` makes or drops a fork, and `forks` lists the forks.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use treering::fork::ForkInfo;

/// Make a line that nobody else sees
///
/// With --fork NAME, or the variable `TREERING_FORK`, every verb about a state reads and writes the fork. treering forks
/// lists the forks.
///
/// # Examples
/// ```text
/// treering fork task-7 --trust-cap model
/// treering --fork task-7 put plan --kind note --content 'a first plan'
/// treering diff @ fork:task-7
/// treering fork --drop task-7 --unmerged
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads_and_writes(), verbatim_doc_comment)]
pub(crate) struct Fork {
    /// The name of the fork
    #[arg(required_unless_present = "drop")]
    name: Option<String>,
    /// The most trusted class that a write through the fork gets [default: `direct_user`]
    #[arg(long, value_name = "CLASS", value_parser = Origin::from_text, conflicts_with = "drop")]
    trust_cap: Option<Origin>,
    /// Drop the fork NAME
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    drop: Option<String>,
    /// Drop the fork with its commits, and with what waits for review on it
    #[arg(long, requires = "drop")]
    unmerged: bool,
    /// Print what --drop would drop, and change nothing
    #[arg(long, requires = "drop")]
    dry_run: bool,
}

/// The answer of `fork`.
#[derive(Serialize, JsonSchema)]
struct ForkMade {
    name: String,
    /// The commit at which the fork begins.
    base: CommitInfo,
    root: treering::Root,
    /// The most trusted class that a write through the fork gets.
    trust_cap: Origin,
}

/// The answer of `fork --drop`.
#[derive(Serialize, JsonSchema)]
struct ForkDropped {
    dropped: String,
    /// The number of commits that the fork had since its base.
    commits: u64,
    /// Whether nothing was dropped, because of `--dry-run`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Verb for Fork {
    const ANSWERS: &'static [Form] = &[form::<ForkMade>(""), form::<ForkDropped>("with --drop")];

    fn run(self, context: &mut Context) -> Done {
        if let Some(name) = &self.drop {
            return self.drop_fork(context, name);
        }
        let name = self.name.unwrap_or_default();
        let memory = context.open_to_write()?;
        treering::inspect::agent::refuse_secret_name("the name of the fork", &name)?;
        let at = context.at().unwrap_or("@").parse::<Revision>();
        let fork = memory
            .fork(&name)
            .at(&at?)
            .trust_cap(self.trust_cap.unwrap_or(Origin::DirectUser));
        let made = fork.by(&context.writer())?;
        let info = memory.forks()?.into_iter().find(|info| info.name == name);
        let base = made.view().commit();
        let answer = ForkMade {
            root: made.view().root(),
            trust_cap: info.map_or(Origin::DirectUser, |info| info.trust_cap),
            name,
            base,
        };
        let state = context.state_line(answer.base.commit.seq, answer.root);
        let text = format!("the fork {} begins at {state}", answer.name);
        let note = format!(
            "write to it with: treering --fork {} put ID --kind KIND",
            answer.name
        );
        context.say_with_note(&answer, text, "next", note)
    }
}

impl Fork {
    fn drop_fork(&self, context: &mut Context, name: &str) -> Done {
        context.whole_store()?;
        let writer = context.writer();
        let (fork, did) = if self.dry_run {
            let memory = context.open_to_read()?;
            (
                memory.preview_drop_fork(name, self.unmerged, &writer)?,
                "would drop",
            )
        } else {
            let memory = context.open_to_write()?;
            (memory.drop_fork(name, self.unmerged, &writer)?, "dropped")
        };
        let answer = ForkDropped {
            dropped: fork.name,
            commits: fork.commits,
            dry_run: self.dry_run,
        };
        let commits = counted(answer.commits, "commit");
        let text = format!("{did} the fork {} with {commits}", answer.dropped);
        context.say(&answer, text)?;
        context.note_dry_run(self.dry_run);
        Ok(DONE)
    }
}

/// A fork, and whether its work came back.
#[derive(Serialize, JsonSchema)]
struct ForkRow {
    #[serde(flatten)]
    fork: ForkInfo,
    /// Whether another line has all commits of the fork. Null if it has none, or a commit cannot be read.
    merged: Option<bool>,
}

/// List the forks
///
/// # Notes
/// The columns are the name, the number of commits, the newest seq, the cap, the time of the newest change, and merged if
/// another line has all commits.
///
/// # Examples
/// ```text
/// treering forks
/// ```
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Forks {
    /// Print at most N rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

impl Verb for Forks {
    const ANSWERS: &'static [Form] = &[form::<ForkRow>("one per line")];

    fn run(self, context: &mut Context) -> Done {
        context.whole_store()?;
        let memory = context.open_to_read()?;
        let mut forks = memory.forks()?;
        forks.truncate(self.limit.unwrap_or(usize::MAX));
        let rows = forks.into_iter().map(|fork| {
            let merged = match fork.is_merged(&memory) {
                _ if fork.commits == 0 => None,
                Err(error) if error.is_corruption() || error.code() == ErrorCode::NoFork => None,
                merged => Some(merged?),
            };
            Ok(ForkRow { fork, merged })
        });
        context.table(rows, &["name", "commits", "seq", "trust_cap", "time", "merged"])
    }
}

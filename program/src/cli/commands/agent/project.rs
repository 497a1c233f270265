//! `project`: the project of the current folder, and the projects of the store.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use super::person;
use crate::cli::commands::prelude::*;
use treering::Query;
use treering::inspect::agent::projects::{Moved, Projects, move_scope};

/// The class of a scope that belongs to a project.
const CLASS: &str = "project:";

/// Show which project this folder has
///
/// A folder keeps its project when it is renamed or moved, and a linked git worktree has the project of its repository.
/// Another folder of the same name has a project of its own.
///
/// # Notes
/// A register of the user knows the folders, by facts that no file in a folder states. A folder that was copied or cloned
/// again is another folder, until a person lets it join.
///
/// # Examples
/// ```text
/// treering project
/// treering project list
/// treering project join tea
/// treering project move old-name
/// ```
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, verbatim_doc_comment)]
pub(crate) struct Project {
    #[command(subcommand)]
    verb: Option<ProjectVerb>,
}

/// An action on projects.
#[derive(Debug, Subcommand)]
enum ProjectVerb {
    /// List the projects of the store, with their folders
    #[command(verbatim_doc_comment)]
    List,
    /// Let this folder share the memory of another project, as a person
    ///
    /// # Examples
    /// ```text
    /// treering project join tea
    /// ```
    #[command(verbatim_doc_comment)]
    Join {
        /// The project
        #[arg(value_name = "NAME")]
        name: String,
        /// Skip the question. Only a person may pass this option, not a program on a person's behalf
        #[arg(long)]
        yes: bool,
    },
    /// Give this folder a project of its own
    #[command(verbatim_doc_comment)]
    Leave,
    /// Move all items of another project here, in one commit that undo takes back
    ///
    /// # Examples
    /// ```text
    /// treering project move old-name --dry-run
    /// treering project move project:old-name
    /// ```
    #[command(args = args::writes(), verbatim_doc_comment)]
    Move {
        /// The project, or any scope
        #[arg(value_name = "FROM")]
        from: String,
        /// The scope that gets the items [default: the project of this folder]
        #[arg(long, value_name = "SCOPE")]
        to: Option<String>,
        /// Print how many items would be moved, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Skip the question about a project that another folder has
        #[arg(long)]
        yes: bool,
    },
}

/// The project of a folder.
#[derive(Serialize, JsonSchema)]
struct OfFolder {
    /// The project. Without one, new items get the scope `global`.
    project: Option<String>,
    scope: Scope,
    /// The top folder of the project.
    folder: Option<String>,
    /// All folders of the project, as they were last seen.
    folders: Vec<String>,
}

/// A project of the store.
#[derive(Serialize, JsonSchema)]
struct Listed {
    project: String,
    scope: String,
    /// The number of objects.
    objects: u64,
    /// The folders that have the project, as they were last seen.
    folders: Vec<String>,
    /// Whether the current folder has it.
    current: bool,
}

impl Verb for Project {
    const ANSWERS: &'static [Form] = &[
        form::<OfFolder>("also for join and leave"),
        form::<Listed>("list, one per line"),
        form::<Moved>("move"),
    ];

    fn run(self, context: &mut Context) -> Done {
        match self.verb {
            None => show(context),
            Some(ProjectVerb::List) => list(context),
            Some(ProjectVerb::Join { name, yes }) => join(context, &name, yes),
            Some(ProjectVerb::Leave) => set(context, None),
            Some(ProjectVerb::Move {
                from,
                to,
                dry_run,
                yes,
            }) => move_here(context, &from, to.as_deref(), dry_run, yes),
        }
    }
}

/// Returns the folders of each project of the store, or none without a store or a register.
fn folders(context: &Context) -> BTreeMap<String, Vec<String>> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let projects = context.store().and_then(|store| Projects::of_store(&store));
    for (project, folder) in projects.iter().flat_map(Projects::folders) {
        folders.entry(project.to_owned()).or_default().push(shown(folder));
    }
    folders
}

fn show(context: &mut Context) -> Done {
    let scope = context.caller().scope(None)?;
    let project = context.project().cloned();
    let answer = OfFolder {
        scope,
        folder: project.as_ref().map(|project| shown(&project.folder)),
        folders: project
            .as_ref()
            .and_then(|project| folders(context).remove(&project.name))
            .unwrap_or_default(),
        project: project.map(|project| project.name),
    };
    context.answer(&answer, |answer, context| {
        context.line(format_args!("scope {}", answer.scope))?;
        for folder in &answer.folders {
            context.line(format_args!("folder {}", printable(folder)))?;
        }
        Ok(())
    })
}

fn list(context: &mut Context) -> Done {
    let memory = context.open_to_read()?;
    let current = context.caller().scope(None)?.to_string();
    let mut folders = folders(context);
    let mut objects: BTreeMap<String, u64> = folders.keys().map(|name| (name.clone(), 0)).collect();
    let mut query = Query::default();
    query.include_expired = true;
    for object in memory.view().query(&query)? {
        if let Some(name) = object?.scope().strip_prefix(CLASS) {
            *objects.entry(name.to_owned()).or_default() += 1;
        }
    }
    let rows = objects.into_iter().map(|(project, objects)| {
        let scope = format!("{CLASS}{project}");
        Ok(Listed {
            folders: folders.remove(&project).unwrap_or_default(),
            current: scope == current,
            objects,
            scope,
            project,
        })
    });
    context.table(rows, &["project", "objects", "folders"])
}

fn join(context: &mut Context, name: &str, yes: bool) -> Done {
    let name = name.strip_prefix(CLASS).unwrap_or(name).to_owned();
    let folders = folders(context);
    let scope = Scope::new(&format!("{CLASS}{name}"))?;
    let memory = context.open_to_read()?;
    let mut query = Query::default().scope(scope).limit(1);
    query.include_expired = true;
    if !folders.contains_key(&name) && memory.view().query(&query)?.next().is_none() {
        let text = format!("the store has no project '{}'", one_line(&name));
        return Err(Error::not_found(text).with_hint("treering project list shows the projects"));
    }
    let of = folders
        .get(&name)
        .map(|folders| format!(" of {}", folders.join(", ")));
    let question = format!(
        "let this folder read and write the memory of the project '{}'{}?",
        one_line(&name),
        printable(&of.unwrap_or_default())
    );
    person(context, yes, &question, "joined")?;
    set(context, Some(&name))
}

/// Gives this folder a project by name, or a project of its own.
fn set(context: &mut Context, name: Option<&str>) -> Done {
    let store = context.store()?;
    let Some(project) = context.project().cloned() else {
        let hint = "run git init in its top folder, or name a scope with --scope";
        let text = "this folder belongs to no project";
        return Err(Error::invalid(text).with_code(ErrorCode::NoPlace).with_hint(hint));
    };
    Projects::of_store(&store)?.set(&project.folder, &store, name)?;
    context.project = std::cell::OnceCell::new();
    show(context)
}

fn move_here(context: &mut Context, from: &str, to: Option<&str>, dry_run: bool, yes: bool) -> Done {
    let is_scope = from.contains(':') || from == Scope::GLOBAL;
    let from = if is_scope {
        from.to_owned()
    } else {
        format!("{CLASS}{from}")
    };
    let (from, to) = (Scope::new(&from)?, context.caller().scope(to)?);
    let agent = context.agent_to_change(dry_run)?;
    let mut query = Query::default().scope(from.clone());
    query.include_expired = true;
    let view = agent.memory().view();
    let count = view.query(&query)?.count() as u64;
    if count == 0 {
        let text = format!("the scope '{from}' has no items");
        return Err(Error::not_found(text).with_hint("treering project list shows the projects"));
    }
    let items = counted(count, "item");
    if dry_run {
        let moved = Moved {
            from,
            to,
            moved: count,
            commit: view.commit(),
        };
        context.say(
            &moved,
            format_args!("would move {items} from {} to {}", moved.from, moved.to),
        )?;
        context.note_dry_run(true);
        return Ok(DONE);
    }
    let own = context.project().map(|project| shown(&project.folder));
    let name = from.as_str().strip_prefix(CLASS).unwrap_or_default();
    let others = folders(context).remove(name).unwrap_or_default();
    if let Some(other) = others.iter().find(|folder| Some(*folder) != own.as_ref()) {
        let question = format!(
            "move {items} from {from}, which the folder {} has, to {to}?",
            printable(other)
        );
        person(context, yes, &question, "moved")?;
    }
    let moved = move_scope(&agent, &from, &to, &context.writer())?;
    let what = format!("moved {} from {from} to {to}", counted(moved.moved, "item"));
    context.say_commit(&moved, &what, &moved.commit, moved.moved > 0)
}

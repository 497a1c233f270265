//! `memory_status`: the head of the memory, and who calls.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::store::absolute;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::service::is_of_caller;
use treering::{Origin, Result, Root, Scope};

/// The digits of a root that name a state.
const ROOT_DIGITS: usize = 12;

/// The size of the memory, its root, and the scopes, session and trust of this connection.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {}

/// The answer of `memory_status`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Standing {
    root: Root,
    seq: u64,
    objects: u64,
    store: Option<String>,
    /// The fork that this connection reads and writes, if it is none of the main line.
    fork: Option<String>,
    /// The scopes that this connection reads.
    scopes: Vec<String>,
    /// The scope in which it stores.
    scope: Scope,
    session: String,
    actor: Option<String>,
    /// The class of what this session writes.
    trust: Origin,
    /// The number of changes that wait for a person.
    quarantined: usize,
    /// The number of conflicts that merges left open in the scopes of this connection. Null if the store has no other line.
    merge_conflicts: Option<usize>,
    /// Why texts are found by words only, if the model is at fault.
    fault: Option<String>,
}

impl Operation for Status {
    const NAME: &'static str = "memory_status";
    const TITLE: &'static str = "Status";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Minimal;
    type Answer = Standing;

    fn run(self, service: &Service, _: &Page) -> Result<Answer<Standing>> {
        let view = service.head()?;
        let (memory, caller) = (service.memory(), service.caller());
        let reach = service.reach(None)?;
        let embedder = service.agent().embedder();
        let scopes = reach
            .names()
            .into_iter()
            .flatten()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        let standing = Standing {
            root: view.root(),
            seq: view.commit().commit.seq,
            objects: view.len(),
            store: memory.path().map(absolute),
            fork: memory.fork_name().map(str::to_owned),
            scope: service.scope(None)?,
            session: caller.session().to_owned(),
            actor: caller.who.writer.actor.clone(),
            trust: service.class(&view)?,
            quarantined: service.agent().quarantined(&reach)?.len(),
            merge_conflicts: view
                .has_other_lines()
                .then(|| view.open_conflicts())
                .transpose()?
                .map(|open| open.iter().filter(|(of, _)| reach.has(of.scope())).count()),
            fault: embedder.and_then(|embedder| embedder.fault()),
            scopes,
        };
        // The scopes of the session and the actor repeat their names.
        let reads = standing.scopes.iter().filter(|scope| !is_of_caller(scope));
        let reads: Vec<_> = reads.map(|scope| quoted(scope)).collect();
        let fork = standing
            .fork
            .as_deref()
            .map(|fork| format!("; fork {}", quoted(fork)));
        let mut line = format!(
            "{}, seq {}{}; class {}; reads {}; stores in {} as {}; session {}",
            counted(standing.objects, "object"),
            standing.seq,
            fork.unwrap_or_default(),
            standing.trust,
            reads.join(", "),
            quoted(standing.scope.as_str()),
            standing.actor.as_deref().map_or("nobody".into(), quoted),
            quoted(&standing.session),
        );
        let mut root = standing.root.to_string();
        root.truncate(ROOT_DIGITS);
        line.extend(["; root ", &root]);
        if standing.quarantined > 0 {
            line.extend(["; for a person to review: ", &standing.quarantined.to_string()]);
        }
        if let Some(open) = standing.merge_conflicts.filter(|open| *open > 0) {
            line.extend(["; conflicts after merges: ", &open.to_string()]);
        }
        line.extend(
            standing
                .fault
                .iter()
                .map(|fault| format!("; recall uses words only: {fault}")),
        );
        Ok(Answer::new(view, standing, line))
    }
}

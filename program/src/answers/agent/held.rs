//! The review of a quarantined change before a person releases or rejects it.
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use treering::agent::{Agent, Review};
use treering::inspect::agent::trust::{held_objects, held_reason, review};
use treering::inspect::engine::ChangeKind;
use treering::{Id, Object, Result};

/// The answer of `quarantine --release --dry-run`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldReviewed {
    pub(crate) name: String,
    /// The reason why the change was quarantined.
    pub(crate) reason: Option<String>,
    pub(crate) objects: Vec<HeldObject>,
}

/// An object of a quarantined change.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HeldObject {
    pub(crate) id: Id,
    pub(crate) change: ChangeKind,
    /// The version that the change would store.
    pub(crate) new: Option<Review>,
    /// The version that the change would replace or remove.
    pub(crate) old: Option<Review>,
}

impl HeldReviewed {
    /// Returns the review of every object of a quarantined change. A release keeps the classes of the objects, so an
    /// object hides only what its own class may hide.
    ///
    /// # Errors
    /// `NotFound`: no quarantined change has this name. `Corrupt` or `Io`: the change cannot be read.
    pub(crate) fn of(agent: &Agent, name: String) -> Result<Self> {
        let view = agent.memory().view();
        let review = |object: &Option<Object>| -> Result<Option<Review>> {
            let reviewed = object
                .as_ref()
                .map(|object| review(agent, &view, object, object.origin()));
            reviewed.transpose()
        };
        let objects = held_objects(agent, &name)?.into_iter().map(|one| {
            Ok(HeldObject {
                change: one.kind(),
                new: review(&one.new)?,
                old: review(&one.old)?,
                id: one.id,
            })
        });
        Ok(Self {
            objects: objects.collect::<Result<_>>()?,
            reason: held_reason(agent, &name),
            name,
        })
    }
}

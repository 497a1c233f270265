//! The verbs of an agent about changes that a check or a person decides: quarantine and promotion.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;
use treering::agent::PersonSays;

use crate::answer::{answer, committed, rows};
use crate::draft;
use crate::fault::Done;
use crate::handle::Store;
use crate::input::{DraftHandle, Texts, Writer, digest, id, reach, texts};
use crate::shapes as shape;
use crate::store::Named;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    draft: DraftHandle,
    /// The text of a policy file. Without it, the usual policy.
    policy: Option<String>,
}

pub(crate) fn check(store: &Store, input: Check) -> Done<Json> {
    draft::check(store, &input.draft.0, input.policy)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InScopes {
    scopes: Option<Texts>,
}

pub(crate) fn quarantined(store: &Store, input: InScopes) -> Done<Json> {
    rows(&store.agent()?.quarantined(&reach(store, input.scopes)?)?, answer)
}

pub(crate) fn release(store: &Store, input: Named) -> Done<Json> {
    let (name, writer) = input.read(store);
    committed(&store.agent()?.release(&name, PersonSays::InHost, &writer)?)
}

pub(crate) fn discard(store: &Store, input: Named) -> Done<Json> {
    let (name, writer) = input.read(store);
    store.agent()?.discard(&name, &writer)?;
    Ok(Json::Null)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Review {
    id: String,
    expected: Option<String>,
}

pub(crate) fn review(store: &Store, input: Review) -> Done<Json> {
    let expected = input.expected.as_deref().map(digest).transpose()?;
    answer(&store.agent()?.review(&id(&input.id)?, expected)?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Promote {
    id: String,
    /// The digest of the version that the person reviewed.
    expected: String,
    keep: Option<Texts>,
    writer: Option<Writer>,
}

pub(crate) fn promote(store: &Store, input: Promote) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let (id, expected, keep) = (id(&input.id)?, digest(&input.expected)?, texts(input.keep));
    let keep: Vec<_> = keep.iter().map(String::as_str).collect();
    let done = agent.promote(&id, expected, &keep, PersonSays::InHost, &writer)?;
    answer(&shape::Promoted::from(&done))
}

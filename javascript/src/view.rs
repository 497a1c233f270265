//! The verbs of a view: one state of a store.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use treering::{Query, Root};

use crate::answer::{answer, maybe_object, object, rows};
use crate::fault::{Done, Fault};
use crate::handle::View;
use crate::input::{AnyAttributes, Moment, Texts, id, ids, kind, scope};
use crate::shapes as shape;
use crate::store::{OfId, hash_named};
use crate::verbs::{Host, Nothing};

/// Returns what does not change: the root, the commit and the time of a view.
pub(crate) fn info(view: &treering::View) -> Done<Json> {
    Ok(json!({
        "root": view.root().to_hex(),
        "commit": answer(&shape::Commit::from(&view.commit()))?,
        "now": view.now().to_string(),
        "size": size(view),
    }))
}

/// The number of objects, including expired ones.
pub(crate) fn size(view: &treering::View) -> u64 {
    view.len()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WithNow {
    now: Moment,
}

pub(crate) fn with_now(view: &View, input: WithNow, host: Host<'_>) -> Done<Json> {
    host.view(&view.shared, view.open()?.clone().with_now(input.now.0))
}

pub(crate) fn get(view: &View, input: OfId) -> Done<Json> {
    maybe_object(view.open()?.get(&id(&input.id)?)?)
}

pub(crate) fn has(view: &View, input: OfId) -> Done<Json> {
    Ok(Json::from(view.open()?.contains(&id(&input.id)?)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfIds {
    ids: Texts,
}

pub(crate) fn get_all(view: &View, input: OfIds) -> Done<Json> {
    let (view, ids) = (view.open()?, ids(&input.ids.0)?);
    rows(view.get_all(&ids)?, maybe_object)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    kind: Option<String>,
    scope: Option<String>,
    /// The start of the ids.
    prefix: Option<String>,
    /// The id of the parent. The objects then come in the order of their positions.
    parent: Option<String>,
    attributes: Option<AnyAttributes>,
    /// Whether expired objects are found, too.
    #[serde(default)]
    expired: bool,
    limit: Option<usize>,
}

pub(crate) fn query(view: &View, input: Find) -> Done<Json> {
    let view = view.open()?;
    let mut query = Query::default();
    query.kind = input.kind.map(|name| kind(&name)).transpose()?;
    query.scope = input.scope.map(|name| scope(&name)).transpose()?;
    query.prefix = input.prefix;
    query.parent = input.parent.map(|name| id(&name)).transpose()?;
    query.attributes = input.attributes.unwrap_or_default().0;
    query.include_expired = input.expired;
    query.limit = input.limit;
    rows(view.query(&query)?, |one| object(&one?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Children {
    id: String,
    limit: Option<usize>,
}

pub(crate) fn children(view: &View, input: Children) -> Done<Json> {
    let children = view.open()?.children(&id(&input.id)?, input.limit)?;
    Ok(children.iter().map(|id| Json::from(id.as_str())).collect())
}

pub(crate) fn ids_of(view: &View, _: Nothing) -> Done<Json> {
    let mut query = Query::default();
    query.include_expired = true;
    rows(view.open()?.query(&query)?, |one| {
        Ok(Json::from(one?.id().as_str()))
    })
}

/// Returns a proof as hexadecimal digits.
pub(crate) fn prove(view: &View, input: OfId) -> Done<Json> {
    let proof = view.open()?.prove(&id(&input.id)?)?;
    Ok(Json::from(
        proof
            .encode()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>(),
    ))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckProof {
    proof: String,
    root: String,
    id: String,
    hash: Option<String>,
}

/// Checks a proof against a trusted root. Returns the digest of the object, or null if the state has no such object.
pub(crate) fn check_proof(input: CheckProof) -> Done<Json> {
    let hash = hash_named(input.hash.as_deref().unwrap_or("blake3"))?;
    let not =
        |_| Fault::invalid(format!("`{}` is not a root", input.root)).hint("give 64 hexadecimal digits");
    let root: Root = input.root.parse().map_err(not)?;
    let hint = "compare the root with the root of the state that the proof is about";
    let invalid = |why: String| Fault::invalid(format!("the proof is invalid: {why}")).hint(hint);
    let bytes = from_hex(&input.proof)
        .ok_or_else(|| invalid("it has other characters than hexadecimal digits".to_owned()))?;
    let proof = treering::proof::Proof::decode(&bytes).map_err(|error| invalid(error.to_string()))?;
    let digest = proof
        .verify(hash, &root, &id(&input.id)?)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(digest.map_or(Json::Null, |digest| Json::from(digest.to_hex())))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .map(|pair| {
            pair.filter(|pair| pair.len() == 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect()
}

//! `memory_get`: one item by its id, or a list of items.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::agent::Reach;
use crate::answers::agent::items::ItemRead;
use crate::engine::{Query, View};
use crate::error::Result;
use crate::object::{Kind, Object};
use crate::serve::Service;
use crate::serve::service::ScopeWord;

/// The usual number of items of a page.
const LIMIT: usize = 20;
/// The largest number of items of a page.
const LIMIT_MAX: usize = 200;
/// The number of characters of a text in a list.
const LIST_CHARS: usize = 200;

/// Read one item by id, or list items.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    /// Without it, the answer is a list
    id: Option<String>,
    kind: Option<String>,
    /// The beginning of the ids
    prefix: Option<String>,
    /// Only this one
    scope: Option<ScopeWord>,
    /// [default: 20]
    limit: Option<usize>,
    /// A past state, as in `memory_recall`
    at: Option<String>,
}

/// The answer of `memory_get`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Items {
    items: Vec<ItemRead>,
}

impl Operation for Get {
    const NAME: &'static str = "memory_get";
    const TITLE: &'static str = "Get or list";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Default;
    const PAGED: Option<&'static str> = Some("items");
    const HIDDEN: &'static [&'static str] = &["digest", "updated"];
    type Answer = Items;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Items>> {
        let view = page.view(service, self.at.as_deref())?;
        if let Some(id) = &self.id {
            let object = service.object(&view, id)?;
            let line = format!("{id} is a {} in {}", object.kind(), object.scope());
            let item = ItemRead::of(service.agent(), &view, object, usize::MAX)?;
            return Ok(Answer::new(view, Items { items: vec![item] }, line));
        }
        let limit = self.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let wanted = page.start + limit;
        let reach = service.reach(self.scope)?;
        let mut found = self.found(&view, &reach, wanted + 1)?;
        let has_more = found.len() > wanted;
        found.truncate(wanted);
        // The rows before the page need no texts, but their places.
        let items = found
            .into_iter()
            .map(|object| ItemRead::of(service.agent(), &view, object, LIST_CHARS));
        let items = items.collect::<Result<Vec<_>>>()?;
        let line = format!("{} items", items.len().saturating_sub(page.start));
        Ok(Answer::new(view, Items { items }, line).with_more(has_more))
    }
}

impl Get {
    /// Returns at most `limit` objects of the reach, in the order of the engine.
    fn found(&self, view: &View, reach: &Reach, limit: usize) -> Result<Vec<Object>> {
        let query = Query {
            kind: self.kind.as_deref().map(Kind::new).transpose()?,
            prefix: self.prefix.clone(),
            ..Query::default()
        };
        let objects = view.query(&query)?;
        let is_read =
            |object: &Result<Object>| object.as_ref().map_or(true, |object| reach.has(object.scope()));
        objects.filter(is_read).take(limit).collect()
    }
}

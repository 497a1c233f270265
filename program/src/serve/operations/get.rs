//! `memory_get`: one item by its id, or a list of items.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::items::ItemRead;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::naming::LeftOut;
use crate::serve::service::ScopeWord;
use treering::Result;
use treering::agent::Reach;
use treering::{Kind, Object, Query, View};

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
    untrusted: Option<bool>,
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
    const HIDDEN: &'static [&'static str] = &["digest", "updated", "shown_by"];
    const LEAVES_OUT: bool = true;
    type Answer = Items;

    fn run(self, service: &Service, page: &Page) -> Result<Answer<Items>> {
        let view = page.view(service, self.at.as_deref())?;
        let with_untrusted = self.untrusted.unwrap_or_default();
        if with_untrusted {
            service.taint()?;
        }
        if let Some(id) = &self.id {
            let object = service.object(&view, id)?;
            let item = ItemRead::of(service.agent(), &view, object, with_untrusted)?;
            let line = about(&item);
            let items = Items { items: vec![item] };
            let answer = Answer::new(view, items, line).of_one_text();
            return Ok(answer.naming_untrusted(with_untrusted));
        }
        let limit = self.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let wanted = page.start + limit;
        let reach = service.reach(self.scope)?;
        let (mut found, left_out) = self.found(&view, &reach, wanted + 1)?;
        let has_more = found.len() > wanted;
        found.truncate(wanted);
        let shown = found.into_iter().skip(page.start);
        let items = shown
            .map(|object| ItemRead::row(service.agent(), &view, object, with_untrusted, LIST_CHARS))
            .collect::<Result<Vec<_>>>()?;
        let line = counted(items.len() as u64, "item");
        let answer = Answer::new(view, Items { items }, line).leaving_out(LeftOut::of_untrusted(left_out));
        Ok(answer.beginning_at(page.start).with_more(has_more))
    }
}

impl Get {
    /// Returns at most `limit` objects of the reach, in the order of the engine, and the number of untrusted ones among
    /// them that stay out: an untrusted id is an untrusted text, too (SRV-3).
    fn found(&self, view: &View, reach: &Reach, limit: usize) -> Result<(Vec<Object>, usize)> {
        let mut query = Query::default();
        query.kind = self.kind.as_deref().map(Kind::new).transpose()?;
        query.prefix.clone_from(&self.prefix);
        let with_untrusted = self.untrusted.unwrap_or_default();
        let (mut found, mut left_out) = (Vec::new(), 0);
        for object in view.query(&query)? {
            let object = object?;
            if !reach.has(object.scope()) {
                continue;
            }
            if !with_untrusted && !object.origin().is_trusted() {
                left_out += 1;
                continue;
            }
            found.push(object);
            if found.len() >= limit {
                break;
            }
        }
        Ok((found, left_out))
    }
}

/// Returns the first line about one item: its class and flags, and then what is stored (ANS-3).
fn about(item: &ItemRead) -> String {
    let shown = &item.line.shown;
    let flags = shown.flags.iter().map(|flag| format!(", flag {}", quoted(flag)));
    let mut line = format!(
        "({}{}) {} is a {} in {}",
        shown.trust,
        flags.collect::<String>(),
        quoted(item.line.id.as_str()),
        quoted(&item.line.kind),
        quoted(&item.line.scope)
    );
    if shown.is_withheld {
        line.push_str("; withheld, because it is not trusted");
    }
    if !item.tags.is_empty() {
        let tags: Vec<_> = item.tags.iter().map(|tag| quoted(tag)).collect();
        line.extend(["; tags ", &tags.join(", ")]);
    }
    for (what, text) in [("subject", &item.subject), ("source", &item.source)] {
        line.extend(text.iter().map(|text| format!("; {what} {}", quoted(text))));
    }
    line
}

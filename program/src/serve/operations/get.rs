//! `memory_get`: one item by its id, or a list of items.
//!
//! # Layer
//! Layer 9, part of serve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::line::{Line, Row, Text, minute, short};
use super::operation::{Answer, Effect, Operation, Page, Profile};
use crate::answers::agent::inbox::seen_fields;
use crate::answers::words::{counted, quoted};
use crate::serve::Service;
use crate::serve::naming::{LeftOut, Named, Naming};
use crate::serve::service::ScopeWord;
use treering::Result;
use treering::agent::{Item, Reach, StoredText};
use treering::merge::MERGE_CONFLICT;
use treering::{Id, Kind, Object, ObjectDigest, Query, Time, View};

/// The usual number of items of a page.
const LIMIT: usize = 20;
/// The largest number of items of a page.
const LIMIT_MAX: usize = 200;
/// The number of characters of a text in a list.
const LIST_CHARS: usize = 200;
/// The number of children that an item lists.
const CHILDREN: usize = 100;
/// The number of children that the text names.
const CHILDREN_TOLD: usize = 10;

/// Read one item whole by id, or list items.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    /// Without it, list items
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
    items: Vec<ItemRow>,
}

/// An item, as a model gets it. In a list, it has no fields between its text and its times.
#[derive(Serialize, JsonSchema)]
struct ItemRow {
    id: Id,
    kind: String,
    scope: String,
    #[serde(flatten)]
    shown: Text,
    parent: Option<Named>,
    tags: Vec<String>,
    subject: Option<String>,
    source: Option<String>,
    /// The session in which the text was remembered. `revert` takes back what that session wrote.
    session: Option<String>,
    /// The first 100 children, in sibling order.
    children: Vec<Named>,
    created: Option<Time>,
    expires: Option<Time>,
    /// The version, for `expected`.
    digest: Option<ObjectDigest>,
    /// The fields of the conflict that a merge left open; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<Vec<String>>,
}

impl ItemRow {
    /// Returns an object of a state as a row of a list, with its whole text.
    fn of(service: &Service, view: &View, object: &Object, with_untrusted: bool) -> Result<Self> {
        Ok(Self {
            id: object.id().clone(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            shown: StoredText::of(service.agent(), object, with_untrusted).into(),
            parent: None,
            tags: Vec::new(),
            subject: None,
            source: None,
            session: None,
            children: Vec::new(),
            created: view.stamps(object.id())?.map(|(created, _)| created),
            expires: object.expires(),
            digest: None,
            conflict: None,
        })
    }

    /// Returns an object of a state with all fields. Withholds the texts of an untrusted object unless `with_untrusted`.
    fn whole(
        service: &Service,
        view: &View,
        object: Object,
        with_untrusted: bool,
        naming: &mut Naming<'_>,
    ) -> Result<Self> {
        let row = Self::of(service, view, &object, with_untrusted)?;
        let scanner = service.agent().scanner();
        let shown = |text: String| (!row.shown.withheld).then(|| scanner.redact(&text).into_owned());
        let parent = object.parent().map(Id::new).transpose()?;
        let children = view.children(object.id(), Some(CHILDREN))?;
        let digest = Some(object.digest());
        let conflict = view.conflict(object.id())?;
        let conflict = conflict.map(|conflict| seen_fields(&conflict, Some(&object)));
        let item = Item::from(object);
        Ok(Self {
            parent: naming.name_any(parent)?,
            tags: item.tags().into_iter().filter_map(shown).collect(),
            subject: item.subject().and_then(shown),
            source: item.source().and_then(shown),
            session: item.session().and_then(shown),
            children: naming.names(children)?,
            digest,
            conflict,
            ..row
        })
    }

    /// Returns the row with at most `most` characters of its text.
    fn cut(mut self, most: usize) -> Self {
        let text = self.shown.text.as_mut();
        if let Some(text) = text.filter(|text| text.chars().nth(most).is_some()) {
            *text = text.chars().take(most).chain(['\u{2026}']).collect();
        }
        self
    }
}

impl Row for ItemRow {
    fn line(&self, view: &View) -> Line {
        self.shown.line(view, &self.id)
    }
}

impl Operation for Get {
    const NAME: &'static str = "memory_get";
    const TITLE: &'static str = "Get or list";
    const EFFECT: Effect = Effect::Reads;
    const PROFILE: Profile = Profile::Default;
    const PAGED: Option<&'static str> = Some("items");
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
            let mut naming = Naming::new(service, &view, with_untrusted)?;
            let item = ItemRow::whole(service, &view, object, with_untrusted, &mut naming)?;
            let left_out = naming.left_out;
            // The id of a withheld item is an untrusted text, which the call may not have given (SRV-3).
            let name = if item.shown.withheld { id } else { item.id.as_str() };
            let line = about(&view, &item, name);
            let items = Items { items: vec![item] };
            let answer = Answer::new(view, items, line).of_one_text();
            return Ok(answer.leaving_out(left_out));
        }
        let limit = self.limit.unwrap_or(LIMIT).min(LIMIT_MAX);
        let wanted = page.start + limit;
        let reach = service.reach(self.scope)?;
        let (mut found, left_out) = self.found(&view, &reach, wanted + 1)?;
        // No page follows an answer that was to have no row.
        let has_more = limit > 0 && found.len() > wanted;
        found.truncate(wanted);
        let shown = found.into_iter().skip(page.start);
        let items = shown
            .map(|object| Ok(ItemRow::of(service, &view, &object, with_untrusted)?.cut(LIST_CHARS)))
            .collect::<Result<Vec<_>>>()?;
        let line = counted(items.len() as u64, "item");
        let answer = Answer::of_rows(view, items, |items| Items { items }, line)
            .leaving_out(LeftOut::of_untrusted(left_out));
        Ok(answer.beginning_at(page.start).with_more(has_more))
    }
}

impl Get {
    /// Returns at most `limit` objects of the reach, in the order of the engine, and the number of untrusted ones among
    /// them that stay out: an untrusted id is an untrusted text, too (SRV-3).
    fn found(&self, view: &View, reach: &Reach, limit: usize) -> Result<(Vec<Object>, usize)> {
        let mut query = Query::default();
        query.kind = self.kind.as_deref().map(Kind::new).transpose()?;
        if query.kind.is_none() {
            query.not_kinds.push(Kind::new(MERGE_CONFLICT)?);
        }
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
fn about(view: &View, item: &ItemRow, name: &str) -> String {
    let shown = &item.shown;
    let flags = shown.flags.iter().map(|flag| format!(", flag {}", quoted(flag)));
    let mut line = format!(
        "({}{}) {} is a {} in {}",
        shown.trust,
        flags.collect::<String>(),
        quoted(name),
        quoted(&item.kind),
        quoted(&item.scope)
    );
    if shown.withheld {
        line.push_str("; withheld, because it is not trusted");
    }
    if let Some(fields) = &item.conflict {
        let fields: Vec<_> = fields.iter().map(|field| quoted(field)).collect();
        line.extend(["; a merge left a conflict open about ", &fields.join(", ")]);
    }
    if !item.tags.is_empty() {
        let tags: Vec<_> = item.tags.iter().map(|tag| quoted(tag)).collect();
        line.extend(["; tags ", &tags.join(", ")]);
    }
    for (what, text) in [
        ("subject", &item.subject),
        ("source", &item.source),
        ("session", &item.session),
    ] {
        line.extend(text.iter().map(|text| format!("; {what} {}", quoted(text))));
    }
    for (what, time) in [("created", item.created), ("expires", item.expires)] {
        line.extend(time.map(|time| format!("; {what} {}", minute(time))));
    }
    line.extend(
        item.parent
            .iter()
            .map(|parent| format!("; below {}", parent.named(view))),
    );
    if !item.children.is_empty() {
        let shown = item.children.iter().take(CHILDREN_TOLD);
        let mut shown: Vec<_> = shown.map(|child| child.named(view)).collect();
        let left = item.children.len() - shown.len();
        shown.extend((left > 0).then(|| format!("{left} more")));
        line.extend(["; above ", &shown.join(", ")]);
    }
    line.extend(item.digest.map(|digest| format!("; version {}", short(digest))));
    line
}

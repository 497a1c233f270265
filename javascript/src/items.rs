//! The verbs of an agent about its items: remember, recall, forget, decay and bisect.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use treering::agent::{
    Citation, Forgetting, ItemFields, Level as DecayLevel, LinesOptions, Pass, RecallQuery, RememberOptions,
    Summarizer,
};

use crate::answer::{Text, answer, answer_with, object, rows, text};
use crate::fault::Done;
use crate::handle::Store;
use crate::host;
use crate::input::{
    AnyAttributes, At, Duplicates, Moment, Texts, Trust, Writer, attributes, digest, digests, id, ids, kind,
    reach, seconds, texts, time,
};
use crate::shapes as shape;
use crate::verbs::{Host, Nothing};

/// A place in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cited {
    file: String,
    line: Option<u64>,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remember {
    text: String,
    /// Without it, an id is made.
    id: Option<String>,
    /// `fact` without it.
    kind: Option<String>,
    scope: Option<String>,
    tags: Option<Texts>,
    /// Who said the text.
    speaker: Option<String>,
    /// Whom or what the text is about.
    subject: Option<String>,
    session: Option<String>,
    /// The position of the text in the session.
    order: Option<i64>,
    /// The time of the event that the text describes.
    time: Option<Moment>,
    /// The time at which the item expires.
    expires: Option<Moment>,
    citations: Option<Vec<Cited>>,
    /// The confidence in the statement, 0 to 1.
    confidence: Option<f64>,
    sensitivity: Option<String>,
    /// Where the text comes from.
    source: Option<String>,
    #[serde(default)]
    pinned: bool,
    /// The ids of the items that this item supersedes.
    supersedes: Option<Texts>,
    /// The digests of the versions from which the item is derived.
    derived_from: Option<Texts>,
    attributes: Option<AnyAttributes>,
    /// The class of the text, if it is less trusted than the writer.
    trust: Option<Trust>,
    /// What happens to a duplicate. `warn` without it.
    on_duplicate: Option<Duplicates>,
    /// A key that makes the call safe to repeat.
    key: Option<String>,
    /// The digest of the version that the item must have.
    expected: Option<String>,
    /// Whether the search for duplicates is left out.
    #[serde(default)]
    quick: bool,
    #[serde(default)]
    with_untrusted: bool,
    writer: Option<Writer>,
}

pub(crate) fn remember(store: &Store, input: Remember) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let trust = input.trust.map(|trust| trust.0.to_string());
    agent.admit(
        input.speaker.as_deref(),
        trust.as_deref(),
        input.session.as_deref(),
        &writer,
    )?;
    let citations = input
        .citations
        .unwrap_or_default()
        .into_iter()
        .map(|cited| Citation {
            file: cited.file,
            line: cited.line,
            note: cited.note,
        });
    let fields = ItemFields {
        text: input.text,
        id: input.id,
        kind: Some(input.kind.unwrap_or_else(|| "fact".to_owned())),
        scope: input.scope,
        tags: texts(input.tags),
        speaker: input.speaker,
        subject: input.subject,
        session: input.session,
        order: input.order,
        time: time(input.time),
        expires: time(input.expires),
        citations: citations.collect(),
        confidence: input.confidence,
        sensitivity: input.sensitivity,
        source: input.source,
        pinned: input.pinned,
        supersedes: texts(input.supersedes),
        derived_from: digests(&texts(input.derived_from))?,
        origin: trust,
        attributes: attributes(input.attributes),
    };
    let item = fields.into_item(&store.caller)?;
    let options = RememberOptions {
        on_duplicate: input.on_duplicate.unwrap_or_default().0,
        key: input.key,
        expected: input.expected.as_deref().map(digest).transpose()?,
        is_quick: input.quick,
        with_untrusted: input.with_untrusted,
        may_be_empty: false,
    };
    answer(&shape::Remembered::from(
        &agent.remember(item, &options, &writer)?,
    ))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RememberMany {
    /// Texts, or objects with `text` and other fields of `remember`.
    #[schemars(schema_with = "many")]
    items: Vec<Json>,
    /// `fact` without it.
    kind: Option<String>,
    scope: Option<String>,
    session: Option<String>,
    /// The most items of one commit.
    batch: Option<usize>,
    writer: Option<Writer>,
}

fn many(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-ts": "readonly (string | Readonly<Record<string, unknown>>)[]" })
}

pub(crate) fn remember_many(store: &Store, input: RememberMany) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let options = LinesOptions {
        place: store.caller.place(),
        scope: store.caller.scope(input.scope.as_deref())?,
        kind: kind(input.kind.as_deref().unwrap_or("fact"))?,
        session: input.session,
        batch_lines: input.batch.unwrap_or(1000).max(1),
    };
    let lines = input.items.into_iter().map(|item| match item {
        Json::String(text) => json!({ "text": text }).to_string().into_bytes(),
        item => item.to_string().into_bytes(),
    });
    let done = agent.remember_lines((1..).zip(lines).map(Ok), &options, &writer)?;
    answer(&shape::RememberedMany::from(&done))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recall {
    #[serde(default)]
    question: String,
    /// 10 without it.
    limit: Option<usize>,
    /// The most tokens of the hits.
    budget: Option<usize>,
    /// The scopes that are searched; `"all"` for all.
    scopes: Option<Texts>,
    kinds: Option<Texts>,
    /// Tags that an item must have, all of them.
    tags: Option<Texts>,
    /// Tags of which an item must have one.
    any_tags: Option<Texts>,
    since: Option<Moment>,
    until: Option<Moment>,
    #[serde(default)]
    with_untrusted: bool,
    speaker: Option<String>,
    attributes: Option<AnyAttributes>,
    #[serde(default)]
    include_expired: bool,
    /// True without it.
    include_superseded: Option<bool>,
    /// The weight of the age.
    recency: Option<f32>,
    /// Whether newer statements about the same come first. True without it.
    freshness: Option<bool>,
    /// The time at which the question is asked.
    when: Option<Moment>,
    /// Whether hits have their whole texts.
    #[serde(default)]
    full: bool,
    /// Whether hits say why they were found.
    #[serde(default)]
    explain: bool,
    /// Whether the items count as used. True without it.
    touch: Option<bool>,
    /// The state that is searched. Without it, the newest one.
    at: Option<At>,
}

pub(crate) fn recall(store: &Store, input: Recall) -> Done<Text> {
    let mut query =
        RecallQuery::new(&input.question, reach(store, input.scopes)?).limit(input.limit.unwrap_or(10));
    query.budget = input.budget;
    query.kinds = texts(input.kinds)
        .iter()
        .map(|name| kind(name))
        .collect::<Done<_>>()?;
    query.tags = texts(input.tags);
    query.any_tags = texts(input.any_tags);
    query.since = time(input.since);
    query.until = time(input.until);
    query.with_untrusted = input.with_untrusted;
    query.speaker = input.speaker;
    query.attributes = input.attributes.unwrap_or_default().0;
    query.include_expired = input.include_expired;
    query.include_superseded = input.include_superseded.unwrap_or(true);
    query.recency = input.recency.unwrap_or(query.recency);
    query.freshness = input.freshness.unwrap_or(true);
    query.when = time(input.when);
    query.full = input.full;
    query.explain = input.explain;
    query.touch = input.touch.unwrap_or(true);
    let (agent, view) = (store.agent()?, At::view(input.at.as_ref(), &store.shared)?);
    text(&shape::Recalled::from(&agent.recall(&view, &query)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embed {
    /// The most seconds of the work. Without it, all vectors are computed.
    seconds: Option<f64>,
}

pub(crate) fn embed(store: &Store, input: Embed) -> Done<Json> {
    let limit = input.seconds.map(|given| seconds(given, "seconds")).transpose()?;
    let agent = store.agent()?;
    let counts = agent.embed(limit)?;
    // A read-only memory keeps them in this process only.
    drop(agent.keep_indexes());
    counts.map_or(Ok(Json::Null), |counts| answer(&counts))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forget {
    ids: Option<Texts>,
    /// Tags that an item must have, all of them.
    tags: Option<Texts>,
    /// Tags of which an item must have one.
    any_tags: Option<Texts>,
    /// The time before which an item was written.
    before: Option<Moment>,
    session: Option<String>,
    source: Option<String>,
    kind: Option<String>,
    scopes: Option<Texts>,
    #[serde(default)]
    dry_run: bool,
    writer: Option<Writer>,
}

pub(crate) fn forget(store: &Store, input: Forget) -> Done<Json> {
    let what = Forgetting {
        ids: ids(&texts(input.ids))?,
        versions: Vec::new(),
        all_tags: texts(input.tags),
        any_tags: texts(input.any_tags),
        before: time(input.before),
        session: input.session,
        source: input.source,
        kind: input.kind.map(|name| kind(&name)).transpose()?,
        reach: input
            .scopes
            .map(|scopes| reach(store, Some(scopes)))
            .transpose()?,
    };
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let done = agent.forget(&what, &writer, input.dry_run)?;
    let items = rows(&done.items, |item| object(item.object()))?;
    answer_with(&shape::Forgot::from(&done), vec![("items", items)])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unforget {
    /// Without ids, the items of the last `forget` or decay come back.
    ids: Option<Texts>,
    scopes: Option<Texts>,
    #[serde(default)]
    dry_run: bool,
    writer: Option<Writer>,
}

pub(crate) fn unforget(store: &Store, input: Unforget) -> Done<Json> {
    let (reach, ids) = (reach(store, input.scopes)?, ids(&texts(input.ids))?);
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let done = match ids.is_empty() {
        true => agent.unforget_last(&reach, &writer, input.dry_run)?,
        false => agent.unforget(&ids, &writer, input.dry_run)?,
    };
    let items = rows(&done.items, |item| object(item.object()))?;
    answer_with(&shape::Restored::from(&done), vec![("items", items)])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forgotten {
    /// 20 without it.
    limit: Option<usize>,
    scopes: Option<Texts>,
}

pub(crate) fn forgotten(store: &Store, input: Forgotten) -> Done<Json> {
    let (agent, reach) = (store.agent()?, reach(store, input.scopes)?);
    let found = agent.forgotten(&agent.memory().view(), &reach, input.limit.unwrap_or(20))?;
    rows(&found, |one| {
        answer_with(
            &shape::Forgotten::from(one),
            vec![("item", object(one.item.object())?)],
        )
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expire {
    id: String,
    /// Null means never.
    at: Option<Moment>,
    writer: Option<Writer>,
}

pub(crate) fn expire(store: &Store, input: Expire) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let done = agent.expire(&id(&input.id)?, time(input.at), &writer)?;
    done.map_or(Ok(Json::Null), |done| answer(&shape::Commit::from(&done)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decay {
    now: Option<Moment>,
    /// Whether items that were used lately are shortened, too.
    #[serde(default)]
    everything: bool,
    #[serde(default)]
    dry_run: bool,
    /// The number of the function that shortens.
    #[schemars(skip)]
    summarizer: Option<u32>,
    writer: Option<Writer>,
}

/// A function of the host that shortens the text of an item.
struct HostSummarizer<'a>(Host<'a>, u32);

impl Summarizer for HostSummarizer<'_> {
    fn shorten(&self, item: &treering::agent::Item, level: DecayLevel) -> Option<String> {
        let item = object(item.object()).ok()?;
        let text = host::ask(self.0.0, self.1, &json!([item, level.to_string()]));
        text.ok()?.as_str().map(str::to_owned)
    }
}

pub(crate) fn decay(store: &Store, input: Decay, host: Host<'_>) -> Done<Json> {
    let (agent, writer) = (store.agent()?, Writer::or(input.writer, store));
    let summarizer = input.summarizer.map(|function| HostSummarizer(host, function));
    let pass = Pass {
        now: time(input.now),
        everything: input.everything,
        dry_run: input.dry_run,
        summarizer: summarizer
            .as_ref()
            .map(|summarizer| summarizer as &dyn Summarizer),
    };
    answer(&shape::Decayed::from(&agent.decay(&pass, &writer)?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bisect {
    question: String,
    good: At,
    /// Without it, the newest state.
    bad: Option<At>,
    /// A text that a good answer has.
    expect: Option<String>,
    scopes: Option<Texts>,
    #[serde(default)]
    with_untrusted: bool,
}

pub(crate) fn bisect(store: &Store, input: Bisect) -> Done<Json> {
    let good = At::view(Some(&input.good), &store.shared)?;
    let bad = At::view(input.bad.as_ref(), &store.shared)?;
    let mut query = RecallQuery::new(&input.question, reach(store, input.scopes)?);
    query.with_untrusted = input.with_untrusted;
    let found = store
        .agent()?
        .bisect(&good, &bad, &query, input.expect.as_deref())?;
    answer(&shape::BisectedAnswer::from(&found))
}

/// Returns the scope of a new item, and the scopes that a call reads if it names no others.
pub(crate) fn scopes(store: &Store, _: Nothing) -> Done<Json> {
    let reach = reach(store, None)?;
    Ok(json!({ "scope": store.caller.scope(None)?.as_str(), "scopes": reach.names() }))
}

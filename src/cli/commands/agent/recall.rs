//! `recall`: what fits a question, best first.
//!
//! # Layer
//! L10, part of cli.

use crate::cli::agent_context::ScopeOptions;
use crate::cli::args;
use crate::cli::verb::Verb;
use clap::Args;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::agent::search::LIMIT;
use crate::agent::{Agent, Reach, Reached, RecallHit, RecallQuery, Recalled};
use crate::cli::commands::attributes::attribute;
use crate::cli::commands::input::{Lines, at_line, open_input};
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::{self, Table, coloured, plain, right};
use crate::cli::output::{Meaning, Mode, Output};
use crate::cli::time;
use crate::engine::View;
use crate::error::{Error, Result};
use crate::ingest::json::{loose_time_from_json, parse};
use crate::object::{Kind, Scope, Time};

/// Hits of each query of a file that names no number.
const BATCH_LIMIT: usize = 100;

/// Find what fits a question
///
/// The best comes first, from any scope and any past state.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition or a wish of its own"
)]
#[derive(Args, Debug)]
#[command(
    args = args::reads(),
    after_help = "Searched are global, the project of this folder, and the session and actor that are named; --scope and \
                  --all-scopes choose others. What is shown counts as used, which keeps decay away.\n\n\
                  Examples:\n  treering recall who owns the parser\n  \
                  treering recall 'what did Ada say about tea?' --budget 500 --explain\n  \
                  treering recall tea --at snap:0 --json\n  \
                  treering recall --when 2026-03-01\n  \
                  treering recall --queries questions.jsonl --limit 20"
)]
pub(crate) struct Recall {
    /// The question; without one the summaries are shown, in order of time
    #[arg(value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Answer the queries of a file, one a line: {"qid","query","scope"?,"now"?}; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "when", "explain"])]
    pub(crate) queries: Option<String>,
    /// At most K hits [default: 10, with --queries 100]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    /// At most so many tokens in all texts together; what does not fit is skipped
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Only what this speaker said, or what is about this subject
    #[arg(long, value_name = "P")]
    pub(crate) speaker: Option<String>,
    /// Only this kind; may be repeated
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Only with this tag; repeated, with all of them
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only with this tag; repeated, with one of them
    #[arg(long = "any-tag", value_name = "TAG")]
    pub(crate) any_tags: Vec<String>,
    /// Only what happened at or after this time: a date, a time, or how long ago (3d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only what happened before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Also what comes from sources that are not trusted, such as tools, pages and imports
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Only where the attribute has this value: k=text, or k:=JSON; may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// Also what has expired
    #[arg(long)]
    pub(crate) include_expired: bool,
    /// Leave out what newer items take the place of
    #[arg(long)]
    pub(crate) no_superseded: bool,
    /// What recency weighs; 0 leaves it out [default: 0.3]
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) recency: Option<f32>,

    /// Leave the newer of two leading hits where its score puts it, also where the question asks how things stand
    #[arg(long)]
    pub(crate) no_fresher: bool,
    /// Show every term of the score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show the whole texts, of shortened items the originals
    #[arg(long)]
    pub(crate) full: bool,
    /// Without a question: the summaries around this time
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// Answer as if it were this time
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Look only: what is shown does not count as used
    #[arg(long)]
    pub(crate) no_touch: bool,
}

impl Verb for Recall {
    const NAME: &'static str = "recall";

    fn run(self, context: &mut Context) -> Done {
        recall(context, &self)
    }
}

fn recall(context: &mut Context, verb: &Recall) -> Done {
    let agent = open(context, verb)?;
    let view = context.view(agent.memory())?;
    let now = moment(verb.now.as_deref(), view.now())?;
    let view = match now {
        Some(now) => view.with_now(now),
        None => view,
    };
    let query = query_of(context, verb, view.now())?;
    let done = match &verb.queries {
        Some(file) => recall_lines(context, &agent, &view, &query, file),
        None => recall_one(context, &agent, &view, &query),
    };
    // Derived: where it cannot be kept, the next run takes longer.
    if done.is_ok() {
        drop(agent.keep_index());
    }
    done
}

/// Opens the store so that what is shown can count as used and the index be kept, if the store lets us write; else to
/// read.
fn open(context: &mut Context, verb: &Recall) -> Result<Agent> {
    let looks_only = verb.no_touch || context.at().is_some() || context.options.degraded;
    if !looks_only && let Ok(agent) = context.agent_to_write() {
        return Ok(agent);
    }
    context.agent_to_read()
}

fn query_of(context: &Context, verb: &Recall, now: Time) -> Result<RecallQuery, Failure> {
    let reach = context.reach(&verb.scopes)?;
    let usual = if verb.queries.is_some() {
        BATCH_LIMIT
    } else {
        LIMIT
    };
    let query = RecallQuery::new(verb.query.join(" "), reach);
    let recency = verb.recency.unwrap_or(query.recency);
    if !(0.0..=1.0).contains(&recency) {
        return Err(Failure::usage(
            format!("--recency {recency} is not from 0 to 1"),
            "0 leaves it out, 0.3 is usual",
        ));
    }
    Ok(RecallQuery {
        limit: verb.limit.unwrap_or(usual),
        budget: verb.budget,
        kinds: verb
            .kinds
            .iter()
            .map(|kind| Kind::new(kind))
            .collect::<Result<_>>()?,
        tags: verb.tags.clone(),
        any_tags: verb.any_tags.clone(),
        since: moment(verb.since.as_deref(), now)?,
        until: moment(verb.until.as_deref(), now)?,
        with_untrusted: verb.with_untrusted,
        speaker: verb.speaker.clone(),
        attributes: verb
            .attributes
            .iter()
            .map(|text| attribute(text))
            .collect::<Result<_, _>>()?,
        include_expired: verb.include_expired,
        include_superseded: !verb.no_superseded,
        recency,
        freshness: !verb.no_fresher,
        when: moment(verb.when.as_deref(), now)?,
        full: verb.full,
        explain: verb.explain,
        touch: !verb.no_touch,
        ..query
    })
}

fn moment(text: Option<&str>, now: Time) -> Result<Option<Time>> {
    text.map(|text| time::moment(text, now)).transpose()
}

fn recall_one(context: &mut Context, agent: &Agent, view: &View, query: &RecallQuery) -> Done {
    let recalled = agent.recall(view, query)?;
    if context.output.is_json() {
        context.output.document(&document(query, &recalled))?;
        return Ok(DONE);
    }
    if context.output.mode() == Mode::Table {
        print(context, view, &recalled)?;
    } else {
        list(context, view, &recalled)?;
    }
    note_scopes(context, query, &recalled);
    Ok(DONE)
}

/// For people: a line about each hit, and its snippet with the words that were found.
fn print(context: &mut Context, view: &View, recalled: &Recalled) -> Result<(), Failure> {
    let output = &mut context.output;
    for (rank, hit) in (1..).zip(&recalled.hits) {
        let id = output.paint(Meaning::Name, human::one_line(hit.id.as_str()));
        let mut about = vec![
            time::ago(hit.time, view.now()),
            hit.kind.clone(),
            hit.scope.clone(),
        ];
        about.extend(hit.speaker.clone());
        if !hit.trust.is_trusted() {
            about.push(format!("not trusted ({})", hit.trust));
        }
        if !hit.superseded_by.is_empty() {
            about.push(format!("superseded by {}", hit.superseded_by.join(", ")));
        }
        let about = output.paint(Meaning::Quiet, human::one_line(&about.join(", ")));
        output.line(format_args!("{rank:>3} {:>6.2}  {id}  {about}", hit.score))?;
        let text = match &hit.text {
            Some(text) => human::one_line(text),
            None => painted(output, recalled, hit),
        };
        output.line(format_args!("            {text}"))?;
        for reason in &hit.reasons {
            let adds = reason.value * reason.weight;
            let (name, meaning) = (reason.name, reason.meaning);
            let line = format!(
                "            {adds:>+6.2} = {:.2} x {:.2}  {name}: {meaning}",
                reason.value, reason.weight
            );
            output.line(output.paint(Meaning::Quiet, line))?;
        }
    }
    if recalled.hits.is_empty() {
        output.nothing_found();
    }
    Ok(())
}

/// A snippet on one line, with the words that were found in colour.
fn painted(output: &Output, recalled: &Recalled, hit: &RecallHit) -> String {
    let one_line = |text: &str| human::one_line(&text.replace(char::is_whitespace, " "));
    let (mut line, mut end) = (String::new(), 0);
    for found in recalled.matches(hit) {
        line.push_str(&one_line(&hit.snippet[end..found.start]));
        line.push_str(&output.paint(Meaning::Good, one_line(&hit.snippet[found.clone()])));
        end = found.end;
    }
    line.push_str(&one_line(&hit.snippet[end..]));
    line
}

/// For language models and pages: a row a hit.
fn list(context: &mut Context, view: &View, recalled: &Recalled) -> Result<(), Failure> {
    let mut table = Table::new(&["id", "score", "time", "trust", "speaker", "text"]);
    let style = context.output.style();
    for hit in &recalled.hits {
        let cells = vec![
            coloured(Meaning::Name, hit.id.as_str()),
            right(format!("{:.2}", hit.score)),
            plain(time::in_column(hit.time, view.now(), style)),
            plain(hit.trust.name()),
            plain(hit.speaker.as_deref().unwrap_or("-")),
            plain(hit.text.as_ref().unwrap_or(&hit.snippet)),
        ];
        table.row(&mut context.output, cells)?;
    }
    table.finish(&mut context.output)
}

/// Says which scopes answered, and what did not fit.
fn note_scopes(context: &mut Context, query: &RecallQuery, recalled: &Recalled) {
    if recalled.skipped > 0 {
        let what = human::counted(recalled.skipped as u64, "hit");
        let note = format!(
            "{what} did not fit into the budget, {} tokens are used",
            recalled.tokens
        );
        context.output.note("skipped", note);
    }
    if recalled.left_out > 0 {
        let least = if recalled.left_out == query.limit {
            "at least "
        } else {
            ""
        };
        let what = human::counted(recalled.left_out as u64, "match");
        let note = format!("{least}{what} left out, because not trusted: --with-untrusted shows them");
        context.output.note("untrusted", note);
    }
    if recalled.hits.is_empty() {
        note_reach(context, query, "");
    }
}

/// Says where nothing was found.
fn note_reach(context: &mut Context, query: &RecallQuery, what: &str) {
    if let Reach::Scopes(scopes) = &query.reach {
        let names: Vec<&str> = scopes.iter().map(Scope::as_str).collect();
        let note = format!("{what}searched {}; --all-scopes searches all", names.join(", "));
        context.output.note("scopes", note);
    }
}

fn document(query: &RecallQuery, recalled: &Recalled) -> Value {
    let hits: Vec<Value> = recalled.hits.iter().map(|hit| hit_json(query, hit)).collect();
    let index = recalled.reached.map(|reached| match reached {
        Reached::AtHand => "at_hand",
        Reached::Followed => "followed",
        Reached::Built => "built",
    });
    json!({
        "hits": hits,
        "tokens": recalled.tokens,
        "skipped": recalled.skipped,
        "left_out": { "untrusted": recalled.left_out },
        "root": recalled.root.to_hex(),
        "scopes": query.reach.names(),
        "index": index,
    })
}

fn hit_json(query: &RecallQuery, hit: &RecallHit) -> Value {
    let mut document = json!({
        "id": hit.id,
        "kind": hit.kind,
        "scope": hit.scope,
        "score": rounded(hit.score),
        "confidence": rounded(hit.confidence),
        "snippet": hit.snippet,
        "time": hit.time.to_string(),
        "trust": hit.trust.name(),
        "tokens": hit.tokens,
        "why": hit.why,
        "superseded_by": hit.superseded_by,
        "speaker": hit.speaker,
        "session": hit.session,
        "digest": hit.digest.to_hex(),
    });
    if let Some(text) = &hit.text {
        document["text"] = text.as_str().into();
    }
    if query.explain {
        let reason = |reason: &crate::recall::Reason| {
            json!({
                "name": reason.name,
                "meaning": reason.meaning,
                "value": rounded(reason.value),
                "weight": rounded(reason.weight),
            })
        };
        document["reasons"] = hit.reasons.iter().map(reason).collect();
    }
    document
}

/// Five digits behind the point, as much as single precision has to say.
fn rounded(number: f32) -> f64 {
    (f64::from(number) * 1e5).round() / 1e5
}

/// A query of a file.
struct Line {
    qid: Value,
    text: String,
    scope: Option<Scope>,
    now: Option<Time>,
}

fn recall_lines(context: &mut Context, agent: &Agent, view: &View, query: &RecallQuery, file: &str) -> Done {
    let mut input = open_input(context, Path::new(file))?;
    let mut lines = Lines::of(&mut *input);
    // The first query does not pay for what all of them use.
    agent.with_index(view, |_, _| Ok(()))?;
    let mut without_hits: u64 = 0;
    while let Some((number, line)) = lines.next_line()? {
        context.output.check_stop()?;
        let read = read_line(line).map_err(|error| at_line(number, error))?;
        let has_scope = read.scope.is_some();
        let query = RecallQuery {
            text: read.text,
            reach: match read.scope {
                Some(scope) => Reach::Scopes(vec![scope]),
                None => query.reach.clone(),
            },
            ..query.clone()
        };
        let view = match read.now {
            Some(now) => view.clone().with_now(now),
            None => view.clone(),
        };
        let start = Instant::now();
        let recalled = agent.recall(&view, &query)?;
        without_hits += u64::from(!has_scope && recalled.hits.is_empty());
        let ms = (start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        let hits: Vec<Value> = recalled.hits.iter().map(|hit| hit_json(&query, hit)).collect();
        let left_out = json!({ "untrusted": recalled.left_out });
        let answer = json!({ "qid": read.qid, "hits": hits, "left_out": left_out, "ms": ms });
        context.output.line(answer)?;
    }
    if without_hits > 0 {
        let what = human::counted(without_hits, "line");
        note_reach(context, query, &format!("{what} without a scope found nothing: "));
    }
    Ok(DONE)
}

fn read_line(line: &str) -> Result<Line> {
    let json = parse(line)?;
    let field = |name: &str| json.get(name).filter(|value| !value.is_null());
    let text = field("query").and_then(Value::as_str);
    let text = text.ok_or_else(|| {
        Error::invalid("there is no text \"query\"")
            .with_hint("write a line as {\"qid\":\"1\",\"query\":\"who owns the parser?\"}")
    })?;
    let scope = match field("scope") {
        Some(Value::String(scope)) => Some(Scope::new(scope)?),
        Some(_) => return Err(Error::invalid("\"scope\" is no text")),
        None => None,
    };
    Ok(Line {
        qid: field("qid").cloned().unwrap_or(Value::Null),
        text: text.to_owned(),
        scope,
        now: field("now").map(loose_time_from_json).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_line_is_a_query_with_or_without_a_scope_and_a_time() {
        let line = read_line(r#"{"qid":"q1","query":"tea?","scope":"c","now":"2023-10-22T09:55"}"#).unwrap();
        assert_eq!(line.qid, "q1");
        assert_eq!(line.scope.unwrap().as_str(), "c");
        assert_eq!(line.now.unwrap().to_string(), "2023-10-22T09:55:00.000000Z");
        let line = read_line(r#"{"qid":7,"query":"tea?","scope":null,"category":"x"}"#).unwrap();
        assert!(line.scope.is_none() && line.now.is_none() && line.qid == 7);
        for bad in [
            r#"{"qid":"q1"}"#,
            r#"{"query":"a","now":"soon"}"#,
            r#"{"query":"a","scope":1}"#,
        ] {
            assert_eq!(
                read_line(bad).err().map(|error| error.kind()),
                Some(ErrorKind::InvalidInput),
                "{bad}"
            );
        }
    }
}

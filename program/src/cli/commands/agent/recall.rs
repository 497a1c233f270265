//! `recall`: prints the items that match a question, best match first.
//!
//! # Layer
//! Layer 10, part of cli.

use std::time::Instant;

use serde_json::Value;

use crate::answers::agent::recall::FoundForLine;
use crate::cli::commands::attributes::attribute;
use crate::cli::commands::prelude::*;
use crate::cli::input::time_of;
use crate::cli::output::Mode;
use treering::Origin;
use treering::agent::{Agent, Reach, RecallHit, RecallQuery, Recalled};
use treering::inspect::agent::search::{LIMIT, LeftOut, MATCHES_MAX};
use treering::inspect::ingest::json::parse;

/// The default number of hits for each query in a file.
const BATCH_LIMIT: usize = 100;

/// Find items that match a question
///
/// Prints the best match first. Searches any scope and any past state.
///
/// # Notes
/// Searches the scopes global, the project of this folder, and the given session and actor; --scope and --all-scopes
/// select other scopes. Showing an item records a use of the item, which delays its decay.
///
/// # Examples
/// ```text
/// treering recall who owns the parser
/// treering recall 'what did Ada say about tea?' --budget 500 --explain
/// treering recall tea --at snap:0 --json
/// treering recall --when 2026-03-01
/// treering recall --queries questions.jsonl --limit 20
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent option")]
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Recall {
    /// The question; without a question, prints the summaries in order of time
    pub(crate) query: Vec<String>,
    /// Answer the queries of a file, one on each line: {"qid","query","scope"?,"now"?}; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "when"])]
    pub(crate) queries: Option<String>,
    /// Print at most K hits [default: 10, with --queries 100]
    #[arg(long, value_name = "K")]
    pub(crate) limit: Option<usize>,
    /// Print texts of at most TOKENS tokens in total; texts that do not fit are skipped
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Only items of this speaker; an item without a speaker matches if its subject is P
    #[arg(long, value_name = "P")]
    pub(crate) speaker: Option<String>,
    /// Only items of this kind; may be repeated
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Only items with this tag; if repeated, items that have all these tags
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only items with this tag; if repeated, items that have at least one of these tags
    #[arg(long = "any-tag", value_name = "TAG")]
    pub(crate) any_tags: Vec<String>,
    /// Only items whose time is at or after TIME: a date, a time, an age (3d), or words
    /// (yesterday, last week, 2026-11)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only items whose time is before TIME
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Also search items from untrusted sources, such as tools, pages and imports
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Only items whose attribute has this value: k=text, or k:=JSON; may be repeated
    #[arg(long = "attr", value_name = "K=V")]
    pub(crate) attributes: Vec<String>,
    /// Also search expired items
    #[arg(long)]
    pub(crate) include_expired: bool,
    /// Omit superseded items
    #[arg(long)]
    pub(crate) no_superseded: bool,
    /// The weight of recency in the score, 0 to 1; 0 ignores recency [default: 0.3]
    #[arg(long, value_name = "WEIGHT")]
    pub(crate) recency: Option<f32>,

    /// Order hits strictly by score, even if the question asks for the current state and a newer hit scores almost as
    /// high
    #[arg(long)]
    pub(crate) no_fresher: bool,
    /// Show every term of the score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show complete texts, and the original texts of shortened items
    #[arg(long)]
    pub(crate) full: bool,
    /// Without a question, print the summaries around TIME
    #[arg(long, value_name = "TIME")]
    pub(crate) when: Option<String>,
    /// Answer as if TIME were the current time
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Do not record the shown items as used
    #[arg(long)]
    pub(crate) no_touch: bool,
}

impl Verb for Recall {
    const ANSWERS: &'static [Form] = &[
        form::<Recalled>(""),
        form::<FoundForLine>("with --queries, one per line"),
    ];

    fn run(self, context: &mut Context) -> Done {
        let agent = context.agent_to_use(self.no_touch)?;
        agent.prepare_for(&self.query.join(" "));
        let view = context.view(agent.memory())?;
        let now = time::given(self.now.as_deref(), view.now())?;
        let now = now.unwrap_or_else(|| view.now());
        let view = view.with_now(now);
        let query = query_of(context, &self, view.now())?;
        let done = match &self.queries {
            Some(file) => recall_lines(context, &agent, &view, &query, file),
            None => recall_one(context, &agent, &view, &query),
        };
        // The indexes are derived, so a failed save only makes the next run slower.
        if done.is_ok() {
            drop(agent.keep_indexes());
        }
        done
    }
}

fn query_of(context: &Context, verb: &Recall, now: Time) -> Result<RecallQuery> {
    let reach = context.reach(&verb.scopes)?;
    let usual = verb.queries.as_ref().map_or(LIMIT, |_| BATCH_LIMIT);
    let mut query = RecallQuery::new(verb.query.join(" "), reach);
    let recency = verb.recency.unwrap_or(query.recency);
    if !(0.0..=1.0).contains(&recency) {
        let hint = "0 ignores recency, and 0.3 is the default";
        let text = format!("--recency {recency} is not from 0 to 1");
        return Err(usage_error(text, hint));
    }
    let kinds = verb.kinds.iter().map(|kind| Kind::new(kind));
    let attributes = verb.attributes.iter().map(|text| attribute(text));
    let moment = |text: &Option<String>| time::given(text.as_deref(), now);
    query.limit = verb.limit.unwrap_or(usual);
    query.budget = verb.budget;
    query.kinds = kinds.collect::<Result<_>>()?;
    query.tags.clone_from(&verb.tags);
    query.any_tags.clone_from(&verb.any_tags);
    query.since = moment(&verb.since)?;
    query.until = moment(&verb.until)?;
    query.with_untrusted = verb.with_untrusted;
    query.speaker.clone_from(&verb.speaker);
    query.attributes = attributes.collect::<Result<_, _>>()?;
    query.include_expired = verb.include_expired;
    query.include_superseded = !verb.no_superseded;
    query.recency = recency;
    query.freshness = !verb.no_fresher;
    query.when = moment(&verb.when)?;
    query.full = verb.full;
    query.explain = verb.explain;
    query.touch = !verb.no_touch;
    Ok(query)
}

fn recall_one(context: &mut Context, agent: &Agent, view: &View, query: &RecallQuery) -> Done {
    let recalled = agent.recall(view, query)?;
    context.answer(&recalled, |recalled, context| {
        if recalled.no_good_match && !recalled.hits.is_empty() {
            context.line("no good match; the nearest items:")?;
        }
        if context.output.mode() == Mode::Table {
            show_lines(context, recalled, view.now())?;
        } else {
            show_table(context, recalled, view.now())?;
        }
        if recalled.skipped > 0 {
            let (what, tokens) = (counted(recalled.skipped as u64, "hit"), recalled.tokens);
            let note = format!("{what} did not fit into the budget; the printed hits use {tokens} tokens");
            context.note("skipped", note);
        }
        if recalled.left_out > 0 {
            let is_cut = recalled.left_out == query.limit;
            let least = if is_cut { "at least " } else { "" };
            let what = counted(recalled.left_out as u64, "match");
            let ways = "--with-untrusted shows untrusted items once; after a review, promote ID trusts an item, and ingest --as-me PATH a document";
            context.note("untrusted", format!("{least}{what} omitted as untrusted; {ways}"));
        }
        let vectors = recalled.vectors.as_ref();
        context.note_pending(vectors.map_or(0, |vectors| vectors.pending));
        if recalled.hits.is_empty() {
            note_reach(context, &query.reach, "");
            note_elsewhere(context, recalled);
        }
        Ok(())
    })
}

/// Prints two lines for each hit, for people: its metadata, and its snippet with the matched words in colour.
fn show_lines(context: &mut Context, recalled: &Recalled, now: Time) -> Result<()> {
    let output = &mut context.output;
    for (rank, hit) in (1..).zip(&recalled.hits) {
        let id = output.paint(Meaning::Name, one_line(hit.id.as_str()));
        let mut about = vec![time::ago(hit.time, now), hit.kind.clone(), hit.scope.clone()];
        about.extend(hit.speaker.clone());
        about.extend(hit.is_weak.then(|| "weak match".to_owned()));
        match hit.trust {
            Origin::DirectUser => {}
            trust if trust.is_trusted() => about.push(format!("class {trust}")),
            trust => about.push(format!("not trusted ({trust})")),
        }
        if !hit.flags.is_empty() {
            about.push(format!("flags: {}", hit.flags.join(", ")));
        }
        if !hit.superseded_by.is_empty() {
            about.push(format!("superseded by {}", hit.superseded_by.join(", ")));
        }
        let about = output.paint(Meaning::Quiet, one_line(&about.join(", ")));
        output.line(format_args!("{rank:>3} {:>6.2}  {id}  {about}", hit.score))?;
        if !hit.titles.is_empty() {
            let titles = output.paint(Meaning::Name, one_line(&hit.titles.join(" / ")));
            output.line(format_args!("            {titles}"))?;
        }
        let text = match &hit.text {
            Some(text) => one_line(text),
            None => painted(output, recalled, hit),
        };
        if !text.is_empty() {
            output.line(format_args!("            {text}"))?;
        }
        for reason in hit.reasons.iter().flatten() {
            let (value, weight) = (reason.value, reason.weight);
            let sum = format!("{:>+6.2} = {value:.2} x {weight:.2}", value * weight);
            let line = format!("            {sum}  {}: {}", reason.name, reason.meaning);
            output.line(output.paint(Meaning::Quiet, line))?;
        }
    }
    if recalled.hits.is_empty() {
        output.nothing_found();
    }
    Ok(())
}

/// Returns a snippet on one line, with the matched words in colour.
fn painted(output: &Output, recalled: &Recalled, hit: &RecallHit) -> String {
    let in_line = |text: &str| one_line(&text.replace(char::is_whitespace, " "));
    let (mut line, mut end) = (String::new(), 0);
    for found in recalled.matches(hit) {
        line.push_str(&in_line(&hit.snippet[end..found.start]));
        line.push_str(&output.paint(Meaning::Good, in_line(&hit.snippet[found.clone()])));
        end = found.end;
    }
    line.push_str(&in_line(&hit.snippet[end..]));
    line
}

/// Prints one row for each hit, for language models and Markdown pages.
fn show_table(context: &mut Context, recalled: &Recalled, now: Time) -> Result<()> {
    let style = context.output.style();
    context.rows(recalled.hits.iter().map(Ok), |hit, _| {
        vec![
            ("id", named(&hit.id)),
            ("score", right(format!("{:.2}", hit.score))),
            ("time", plain(time::in_column(hit.time, now, style))),
            ("trust", plain(hit.trust.name())),
            ("flags", plain(hit.flags.join(", "))),
            ("speaker", plain(hit.speaker.as_deref().unwrap_or("-"))),
            ("text", plain(titled(hit))),
        ]
    })?;
    Ok(())
}

/// Returns the text of a hit after its titles.
fn titled(hit: &RecallHit) -> String {
    let text = hit.text.as_ref().unwrap_or(&hit.snippet);
    let parts = hit
        .titles
        .iter()
        .chain(Some(text).filter(|text| !text.is_empty()));
    parts.map(String::as_str).collect::<Vec<_>>().join(" / ")
}

/// Prints a note that names the searched scopes, unless the verb searched all scopes.
pub(super) fn note_reach(context: &mut Context, reach: &Reach, what: &str) {
    if let Some(scopes) = reach.names() {
        let scopes = scopes.join(", ");
        let note = format!("{what}searched only {scopes}; --all-scopes searches all scopes");
        context.note("scopes", note);
    }
}

/// Prints a note that names the other scopes with matches, and how many each has.
fn note_elsewhere(context: &mut Context, recalled: &Recalled) {
    let least = |matches: usize| if matches < MATCHES_MAX { "" } else { "at least " };
    let scopes = recalled.elsewhere.iter().map(|other| {
        let matches = counted(other.matches as u64, "match");
        format!("{} ({}{matches})", other.scope, least(other.matches))
    });
    let scopes: Vec<String> = scopes.collect();
    if !scopes.is_empty() {
        context.note(
            "elsewhere",
            format!("other scopes have matches: {}", scopes.join(", ")),
        );
    }
}

/// A query from a file.
struct Line {
    qid: Value,
    text: String,
    scope: Option<Scope>,
    now: Option<Time>,
}

fn recall_lines(context: &mut Context, agent: &Agent, view: &View, query: &RecallQuery, file: &str) -> Done {
    let mut input = open_input(context, Path::new(file))?;
    let mut lines = Lines::of(&mut *input);
    // Builds the index before the first query, so the measured time of that query excludes the build.
    agent.with_index(view, |_, _| Ok(()))?;
    let mut without_hits: u64 = 0;
    for line in lines.read(read_line) {
        context.output.check_stop()?;
        let (_, read) = line?;
        let has_scope = read.scope.is_some();
        let reach = read.scope.map(|scope| Reach::Scopes(vec![scope]));
        let mut query = query.clone();
        query.text = read.text;
        query.reach = reach.unwrap_or(query.reach);
        let view = view.clone().with_now(read.now.unwrap_or_else(|| view.now()));
        let start = Instant::now();
        let recalled = agent.recall(&view, &query)?;
        without_hits += u64::from(!has_scope && recalled.hits.is_empty());
        let answer = FoundForLine {
            qid: read.qid,
            hits: recalled.hits,
            no_good_match: recalled.no_good_match,
            skipped: recalled.skipped,
            elsewhere: recalled.elsewhere,
            left_out: LeftOut::of(recalled.left_out),
            ms: (start.elapsed().as_secs_f64() * 1e6).round() / 1e3,
        };
        context.output.document(&answer)?;
    }
    if without_hits > 0 {
        let what = counted(without_hits, "line");
        note_reach(
            context,
            &query.reach,
            &format!("{what} without a scope had no hits: "),
        );
    }
    Ok(DONE)
}

/// Parses a query from a line. No error quotes a value, because the value may be a secret.
fn read_line(line: &str) -> Result<Line> {
    let json = parse(line)?;
    if !json.is_object() {
        return Err(Error::invalid("the line is not a JSON object"));
    }
    let field = |name: &str| json.get(name).filter(|value| !value.is_null());
    let text = field("query").and_then(Value::as_str);
    let text = text.ok_or_else(|| {
        Error::invalid("the field `query` is missing or not text")
            .with_hint("write a line as {\"qid\":\"1\",\"query\":\"who owns the parser?\"}")
    })?;
    let scope = match field("scope") {
        Some(Value::String(scope)) => Some(Scope::new(scope)?),
        Some(_) => return Err(Error::invalid("the field `scope` is not text")),
        None => None,
    };
    Ok(Line {
        qid: field("qid").cloned().unwrap_or(Value::Null),
        text: text.to_owned(),
        scope,
        now: field("now").map(|now| time_of("now", now)).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::ErrorKind;

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

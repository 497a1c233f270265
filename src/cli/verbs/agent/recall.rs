//! The arguments of `recall`.
//!
//! # Layer
//! L9, part of cli.

use clap::Args;

use super::scopes::ScopeOptions;
use crate::cli::args::ReadOptions;

/// `recall`
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition or a wish of its own"
)]
#[derive(Args, Debug)]
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
    #[command(flatten)]
    pub(super) options: ReadOptions,
}

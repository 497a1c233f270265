//! `envelope`: the context for a prompt, as one text.
//!
//! # Layer
//! Layer 10, part of cli.

use crate::answers::agent::recall::ScrubbedText;
use crate::cli::commands::prelude::*;
use treering::agent::{Boundary, EnvelopeAnswer, EnvelopeRequest, Sensitivity};
use treering::inspect::agent::envelope::scrubbed;

/// The longest text that `--scrub` reads, in bytes.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Print the context for a prompt
///
/// The output is one text.
///
/// # Notes
/// The text contains rules, decisions, facts and summaries, each escaped and with its trust, and ends with the root of
/// the state. With a QUERY, the text contains the facts that match the query. Notes appear only with --compaction,
/// and only notes of --session; transcript entries never appear. Never send the text as a system message.
///
/// # Examples
/// ```text
/// treering envelope
/// treering envelope 'which database' --budget 1000 --json
/// treering envelope --compaction --session s1
/// treering envelope --scrub prompt.txt
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Envelope {
    /// The topic of the facts [default: the pinned and the newest facts]
    pub(crate) query: Option<String>,
    /// Print at most TOKENS tokens, of four characters each [default: 5000]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    #[command(flatten)]
    pub(crate) scopes: ScopeOptions,
    /// Also show the notes of the session (--session), because its context is being compacted
    #[arg(long)]
    pub(crate) compaction: bool,
    /// Also show untrusted items, in their own section
    #[arg(long)]
    pub(crate) with_untrusted: bool,
    /// Omit items that are more sensitive than LEVEL: none, pii, internal, credentials [default: internal]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) sensitivity: Option<String>,
    /// A random word of 16 to 64 letters and digits for the session, which marks the first and last line
    #[arg(long, value_name = "WORD")]
    pub(crate) boundary: Option<String>,
    /// Print the text in FILE without its envelopes, instead of a context; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "budget", "scopes", "all_scopes", "compaction", "with_untrusted", "sensitivity", "boundary"])]
    pub(crate) scrub: Option<PathBuf>,
}

impl Verb for Envelope {
    const ANSWERS: &'static [Form] = &[form::<EnvelopeAnswer>(""), form::<ScrubbedText>("with --scrub")];

    fn run(self, context: &mut Context) -> Done {
        if let Some(file) = &self.scrub {
            return scrub(context, file);
        }
        let reach = context.reach(&self.scopes)?;
        let mut request = EnvelopeRequest::new(reach);
        request.query = self.query;
        request.budget_tokens = self.budget.unwrap_or(request.budget_tokens);
        request.with_untrusted = self.with_untrusted;
        if self.compaction {
            let missing = || usage_error("--compaction needs a session", "pass --session S");
            request.compaction = Some(context.named_writer().session.ok_or_else(missing)?);
        }
        if let Some(level) = &self.sensitivity {
            request.sensitivity_max = Sensitivity::from_text(level)?;
        }
        if let Some(word) = &self.boundary {
            request.boundary = Some(Boundary::new(word).ok_or_else(|| {
                let hint = "choose a random word for each session";
                usage_error("--boundary must have 16 to 64 letters and digits", hint)
            })?);
        }
        let agent = context.agent_to_use(false)?;
        let view = context.view(agent.memory())?;
        let done = context.answer(&agent.envelope(&view, &request)?, show_envelope_answer);
        // The indexes are derived, so a failed save only makes the next run slower.
        if done.is_ok() {
            drop(agent.keep_indexes());
        }
        done
    }
}

fn show_envelope_answer(answer: &EnvelopeAnswer, context: &mut Context) -> Result<()> {
    if answer.text.is_empty() {
        context.output.nothing_found();
        return Ok(());
    }
    context.line(&answer.text)?;
    let tokens = counted(answer.tokens as u64, "token");
    let left_out = counted(answer.left_out.total() as u64, "item");
    // `skipped` in the text counts only what did not fit the budget, so the note names the reasons.
    let reasons = serde_json::to_value(answer.left_out).unwrap_or_default();
    let reasons = reasons.as_object().into_iter().flatten();
    let reasons = reasons.filter(|(_, count)| count.as_u64() > Some(0));
    let reasons: Vec<_> = reasons
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    let reasons = if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    };
    context.note("envelope", format!("{tokens}; {left_out} omitted{reasons}"));
    Ok(())
}

fn scrub(context: &mut Context, file: &Path) -> Done {
    let bytes = read_input(context, file, TEXT_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("the text is not UTF-8"))?;
    let scrubbed = scrubbed(&text);
    let removed_bytes = text.len() - scrubbed.text.len();
    let answer = ScrubbedText {
        text: scrubbed.text.into_owned(),
        removed_bytes,
        unclosed: scrubbed.unclosed,
    };
    context.answer(&answer, |answer, context| context.output.text(&answer.text))?;
    if scrubbed.envelopes > 0 {
        let what = counted(scrubbed.envelopes as u64, "envelope");
        let note = format!("removed {what}, {removed_bytes} bytes in total");
        context.note("scrubbed", note);
    }
    if scrubbed.unclosed > 0 {
        let what = counted(scrubbed.unclosed as u64, "opening tag");
        let rest = "the output still contains the text after such a tag, which may be text from the memory";
        let note = format!("{what} of an envelope had no closing tag; {rest}");
        context.note("unclosed", note);
    }
    Ok(DONE)
}

//! `envelope`: what a prompt should know, as one text.
//!
//! # Layer
//! L9, part of cli.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::Sensitivity;
use crate::agent::envelope::{Boundary, EnvelopeAnswer, EnvelopeRequest, Shown, scrubbed};
use crate::cli::commands::input::read_input;
use crate::cli::context::Context;
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::counted;
use crate::cli::verbs::Envelope;
use crate::error::Error;

/// Bytes of a text that is scrubbed.
const TEXT_BYTES_MAX: u64 = 64 << 20;

pub(super) fn envelope(context: &mut Context, verb: Envelope) -> Done {
    if let Some(file) = &verb.scrub {
        return scrub(context, file);
    }
    let place = context.place();
    let reach = context.reach(&verb.scopes)?;
    let mut request = EnvelopeRequest::new(reach);
    request.query = verb.query;
    request.budget_tokens = verb.budget.unwrap_or(request.budget_tokens);
    request.with_untrusted = verb.with_untrusted;
    if verb.compaction {
        let session = place.session.ok_or_else(|| {
            Failure::usage(
                "--compaction is of a session, and none is named",
                "name it with --session S",
            )
        })?;
        request.compaction = Some(session);
    }
    if let Some(level) = &verb.sensitivity {
        request.sensitivity_max = Sensitivity::from_text(level)?;
    }
    if let Some(word) = &verb.boundary {
        request.boundary = Some(Boundary::new(word).ok_or_else(|| {
            Failure::usage(
                "--boundary is not 16 to 64 letters and digits",
                "draw it at random for the session",
            )
        })?);
    }
    let agent = context.agent_to_read()?;
    let view = context.view(agent.memory())?;
    let answer = agent.envelope(&view, &request)?;
    if context.output.is_json() {
        context.output.document(&document(&answer))?;
        return Ok(DONE);
    }
    if answer.text.is_empty() {
        context.output.nothing_found();
        return Ok(DONE);
    }
    context.output.line(&answer.text)?;
    let left = answer.left_out.total() + withheld(&answer);
    let told = format!(
        "{}, {} left out",
        counted(answer.tokens as u64, "token"),
        counted(left as u64, "item")
    );
    context.output.note("envelope", told);
    Ok(DONE)
}

fn withheld(answer: &EnvelopeAnswer) -> usize {
    let withheld = answer.withheld;
    withheld.expired + withheld.superseded + withheld.sensitive + withheld.beside
}

fn document(answer: &EnvelopeAnswer) -> Value {
    let (left_out, withheld) = (answer.left_out, answer.withheld);
    json!({
        "text": answer.text,
        "shown": answer.shown.iter().map(shown).collect::<Vec<_>>(),
        "left_out": {
            "entries": left_out.entries,
            "notes": left_out.notes,
            "untrusted": left_out.untrusted,
            "full": left_out.full,
            "empty": left_out.empty,
            "forged": left_out.forged,
            "duplicates": left_out.duplicates,
            "budget": left_out.budget,
            "expired": withheld.expired,
            "superseded": withheld.superseded,
            "sensitive": withheld.sensitive,
            "beside": withheld.beside,
        },
        "root": answer.root.to_hex(),
        "tokens": answer.tokens,
    })
}

fn shown(shown: &Shown) -> Value {
    json!({
        "id": shown.id,
        "section": shown.section.name(),
        "trust": shown.trust.name(),
        "flags": shown.flags,
        "source": shown.source,
        "time": shown.time,
    })
}

fn scrub(context: &mut Context, file: &Path) -> Done {
    let bytes = read_input(file, TEXT_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("the text is not UTF-8"))?;
    let scrubbed = scrubbed(&text);
    let removed = text.len() - scrubbed.text.len();
    if context.output.is_json() {
        context.output.document(&json!({
            "text": scrubbed.text,
            "removed_bytes": removed,
            "unclosed": scrubbed.unclosed,
        }))?;
    } else {
        context.output.text(&scrubbed.text)?;
    }
    if scrubbed.envelopes > 0 {
        let what = counted(scrubbed.envelopes as u64, "envelope");
        context
            .output
            .note("scrubbed", format!("took {what} out, {removed} bytes in all"));
    }
    if scrubbed.unclosed > 0 {
        let what = counted(scrubbed.unclosed as u64, "tag");
        let told = format!("{what} of an envelope had no end: what follows them was left, and may be memory");
        context.output.note("unclosed", told);
    }
    Ok(DONE)
}

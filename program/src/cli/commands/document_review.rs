//! The review of the documents that `ingest` writes.
//!
//! # Layer
//! Layer 10, part of cli.

use super::prelude::*;
use treering::agent::Agent;
use treering::ingest::{Change, Document, IngestOptions};
use treering::inspect::agent::{DocumentReview, review_documents};
use treering::{Committed, Writer};

/// The review of documents, and the name of the reference below `rejected/` that contains the withheld texts.
pub(super) struct Review {
    pub(super) flagged: u64,
    pub(super) redacted: u64,
    /// The texts that the scan stopped, each as `PATH:LINE`.
    pub(super) withheld: Vec<String>,
    pub(super) held: Vec<String>,
    agent: Agent,
    review: DocumentReview,
}

impl Review {
    /// Reviews the documents: changes them to what may be stored.
    pub(super) fn of(
        context: &Context,
        memory: &Memory,
        documents: &mut [Document],
        writer: &Writer,
    ) -> Result<Self> {
        let (settings, _) = context.settings()?;
        let agent = Agent::new(memory.clone(), settings);
        let review = review_documents(&agent, documents, writer)?;
        Ok(Self {
            flagged: review.flagged,
            redacted: review.redacted,
            withheld: review.withheld.clone(),
            held: Vec::new(),
            agent,
            review,
        })
    }

    /// Ingests the reviewed documents.
    pub(super) fn ingest(
        &mut self,
        documents: &[Document],
        options: &IngestOptions,
        writer: &Writer,
    ) -> Result<(Change, Committed)> {
        let memory = self.agent.memory();
        let (change, committed, held) = self.review.ingest(memory, documents, options, writer)?;
        self.held = held;
        Ok((change, committed))
    }

    /// Prints notes about the findings of the scan.
    pub(super) fn note(&self, context: &mut Context) {
        let what = |count: u64| counted(count, "object");
        if self.redacted > 0 {
            let text = format!("secrets in {} were replaced by markers", what(self.redacted));
            context.note("redacted", text);
        }
        if self.flagged > 0 {
            let text = format!(
                "the scan found something in {}; see the attribute `flags`",
                what(self.flagged)
            );
            context.note("flagged", text);
        }
        if let Some(first) = self.withheld.first() {
            let (what, rules) = (what(self.withheld.len() as u64), self.review.rules.join(", "));
            let text =
                format!("stored without content: {what}, the first at {first}; the scan found {rules}");
            context.note("withheld", text);
        }
        context.note_held(&self.agent, &self.held);
    }
}

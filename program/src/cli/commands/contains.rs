//! `contains`: checks whether a store contains a commit or root.
//!
//! # Layer
//! Layer 10, part of cli.

use super::absent::cannot_be_said;
use super::prelude::*;
use crate::answers::store::Contained;
use treering::inspect::engine::Containment;

/// Check if the store keeps a digest
///
/// The digest names a commit or a root.
///
/// # Notes
/// Exit code 0: the commit or root is kept (its state can be read) or thinned (only its digest remains). 1: absent.
///
/// # Examples
/// ```text
/// treering contains 5f0c81d2
/// treering contains 5f0c81d2 --json
/// ```
#[derive(Args, Debug)]
#[command(args = args::reads(), verbatim_doc_comment)]
pub(crate) struct Contains {
    /// The digest of a commit or root, or its first 8 or more digits
    digest: String,
}

impl Verb for Contains {
    const ANSWERS: &'static [Form] = &[form::<Contained>("")];

    fn run(self, context: &mut Context) -> Done {
        let memory = context.open_line_to_read()?;
        // With --at, a commit that is newer than the selected state counts as absent.
        let newest = context.view(&memory)?.commit().commit.seq;
        let mut state = memory.contains(&self.digest)?;
        if context.at().is_some() && state == Containment::Kept {
            let commit = context.resolve(&memory, &self.digest)?;
            if commit.commit.seq > newest {
                state = Containment::Absent;
            }
        }
        if let (Containment::Absent, Some(damage)) = (state, memory.damage()) {
            return Err(cannot_be_said(
                &format!("history contains {}", self.digest),
                damage,
            ));
        }
        let word = match state {
            Containment::Kept => "kept",
            Containment::Thinned => "thinned",
            Containment::Absent => "absent",
        };
        context.say(&Contained { state }, word)?;
        Ok(if state == Containment::Absent { NO } else { DONE })
    }
}

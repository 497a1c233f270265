//! The hooks of Codex.
//!
//! Sources: developers.openai.com/codex/hooks, and the schemas in openai/codex, codex-rs/hooks/schema/generated, as of
//! commit bde5e187 (2026). The events have the names and the answers of Claude Code, and `turn_id` names the turn. There is
//! no event for the end of a session. An answer with an unknown field is refused.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use super::claude;
use super::event::Happened;
use super::fields::Fields;

pub(super) fn what(fields: &Fields) -> Happened {
    claude::what_named(fields, fields.text(&["turn_id"]))
}

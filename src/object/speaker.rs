//! The table of speakers: the highest class that the text of a speaker can have, for every verb.
//!
//! The class of a new item is the least of five: the class of the writer, the row of its speaker, the class that the
//! caller states for it, the class of its session (TNT-2), and the classes of what it is derived from (ORI-1).
//!
//! # Layer
//! Layer 3, inside `object`.
//!
//! # Invariants
//! - SPK-1: the class that a caller states for a text lowers the class of its speaker, and never raises it.

use super::new_object::NewObject;
use super::origin::Origin;
use super::value::Value;

/// The rows of the table: speaker names in lower case, and the class of their texts.
const ROLES: [(&[&str], Origin); 5] = [
    (&["user", "human", "person"], Origin::DirectUser),
    (&["system", "developer", "host"], Origin::Host),
    (&["assistant", "model", "ai", "agent"], Origin::Model),
    (&["tool_internal"], Origin::ToolInternal),
    (
        &[
            "tool",
            "tools",
            "tool_external",
            "tool_result",
            "function",
            "browser",
            "web",
            "search",
            "document",
            "import",
        ],
        Origin::ToolExternal,
    ),
];

/// Returns the class of a known speaker, or `None` for a name that is in no row. `user` is a further name of the
/// person. A text without a speaker is the writer's own, so its class is the highest.
pub(crate) fn role_of(speaker: Option<&str>, user: Option<&str>) -> Option<Origin> {
    let Some(speaker) = speaker.map(|name| name.trim().to_lowercase()) else {
        return Some(Origin::DirectUser);
    };
    if user.is_some_and(|user| user.to_lowercase() == speaker) {
        return Some(Origin::DirectUser);
    }
    // Hosts join the names of a server and its tool by two underscores.
    if speaker.contains("__") {
        return Some(Origin::ToolExternal);
    }
    let mut rows = ROLES.iter();
    rows.find_map(|(names, class)| names.contains(&speaker.as_str()).then_some(*class))
}

/// Returns the class of a turn of a transcript. A speaker in no row is a tool: the host says who the person is, and
/// everybody else may be a program. `stated` is the class that the caller states (SPK-1).
pub(crate) fn turn_class(speaker: Option<&str>, user: Option<&str>, stated: Option<Origin>) -> Origin {
    at_most(role_of(speaker, user).unwrap_or(Origin::ToolExternal), stated)
}

/// Returns the class of a turn of a transcript, of which only the speaker is known.
pub fn speaker_class(speaker: &str) -> Origin {
    turn_class(Some(speaker), None, None)
}

/// Returns the class of a text that a writer remembers as the words of `speaker`. A speaker in no row is somebody whom
/// the writer quotes, so the writer answers for the text. `stated` is the class that the caller states (SPK-1).
pub(crate) fn quoted_class(speaker: Option<&str>, stated: Option<Origin>) -> Origin {
    at_most(role_of(speaker, None).unwrap_or(Origin::DirectUser), stated)
}

/// Returns the highest class of an object that a caller states, by its speaker. In a transcript, the attribute `role`
/// names the speaker too. `stated` is the class that the caller states (SPK-1).
pub fn object_class(object: &NewObject, stated: Option<Origin>) -> Origin {
    let named = |name: &str| object.attributes.get(name).and_then(Value::as_text);
    let role = named("role").filter(|_| object.kind.as_str() == "entry");
    Origin::least(quoted_class(named("speaker"), stated), quoted_class(role, stated))
}

fn at_most(class: Origin, stated: Option<Origin>) -> Origin {
    Origin::least(class, stated.unwrap_or(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT SPK-1: the class that a caller states for a text lowers the class of its speaker, and never raises it.
    #[test]
    fn a_stated_class_only_lowers() {
        let speakers = [
            None,
            Some("User"),
            Some("system"),
            Some("AI"),
            Some("tool"),
            Some("Ada"),
        ];
        for speaker in speakers {
            for class_of in [|speaker, stated| turn_class(speaker, None, stated), quoted_class] {
                let most = class_of(speaker, None);
                for stated in Origin::ALL {
                    let class = class_of(speaker, Some(stated));
                    assert!(
                        !class.is_above(most) && !class.is_above(stated),
                        "{speaker:?} {stated}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_row_gives_its_class() {
        for (speaker, turn, quoted) in [
            (None, "direct_user", "direct_user"),
            (Some("Human"), "direct_user", "direct_user"),
            (Some("developer"), "host", "host"),
            (Some("Assistant"), "model", "model"),
            (Some("tool_internal"), "tool_internal", "tool_internal"),
            (Some("TOOL "), "tool_external", "tool_external"),
            (Some("mcp__web"), "tool_external", "tool_external"),
            (Some("Ada"), "tool_external", "direct_user"),
        ] {
            assert_eq!(turn_class(speaker, None, None).name(), turn);
            assert_eq!(quoted_class(speaker, None).name(), quoted);
        }
        assert_eq!(turn_class(Some("Ada"), Some("ada"), None), Origin::DirectUser);
    }
}

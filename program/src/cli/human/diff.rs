//! The difference between two versions of an object, for people.
//!
//! A header names the object. One line shows each changed field, and a unified diff shows the contents.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use std::time::Duration;

use super::style::{Style, wrapped};
use super::{UNTRUSTED, WITHHELD, cut, gist, one_line, value};
use crate::answers::field_changes::{FieldChange, field_changes};
use crate::answers::line_diff::hunks;
use crate::cli::output::{Meaning, printable};
use treering::inspect::engine::ChangeKind;
use treering::{Change, Id, Object};

/// The number of unchanged lines around a change of content.
const CONTEXT: usize = 3;
/// The number of content lines in the diff of one object.
const CONTENT_LINES: usize = 200;
/// The largest number of characters of an old or new value in a field line.
const EXCERPT: usize = 60;
/// The time limit of the search for the shortest diff. After the limit, the output may contain a longer diff.
const PATIENCE: Duration = Duration::from_millis(500);
/// The indentation of every line about an object.
const INDENT: &str = "    ";

/// Formats the change of an erased object. Its id is not known, so the line shows the first digits of its key path.
pub(crate) fn erased_line(style: Style, change: &Change) -> String {
    let (mark, meaning) = match change.kind {
        ChangeKind::Added => ('+', Meaning::Good),
        ChangeKind::Changed => ('~', Meaning::Changed),
        ChangeKind::Removed => ('-', Meaning::Bad),
    };
    style.paint(meaning, format_args!("{mark} {}", without_id(&change.id)))
}

/// Formats the first digits of the key path of an erased id, for people.
pub(crate) fn without_id(id: &Id) -> String {
    let key = id.erased_key().unwrap_or(id.as_str());
    format!("{}? (erased)", key.get(..8).unwrap_or(key))
}

/// Formats the differences of an object between two states. `None` means that the state does not contain the object.
pub(crate) fn change_lines(
    style: Style,
    id: &str,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Vec<String> {
    let (mark, meaning) = match (old, new) {
        (None, _) => ('+', Meaning::Good),
        (Some(_), Some(_)) => ('~', Meaning::Changed),
        (Some(_), None) => ('-', Meaning::Bad),
    };
    let mut header = format!("{mark} {}", one_line(id));
    if is_untrusted(old, new) {
        header = format!("{header} {UNTRUSTED}");
    }
    let painted = style.paint(meaning, &header);
    let is_foreign = |object: &&Object| !object.origin().is_trusted();
    if style.hides_untrusted && [old, new].iter().flatten().any(is_foreign) {
        return vec![format!("{painted}  {WITHHELD}")];
    }
    match (old, new) {
        (Some(old), Some(new)) => {
            let mut lines = vec![painted];
            lines.extend(field_lines(style, old, new));
            lines.extend(content_lines(style, old, new));
            lines
        }
        (one, other) => {
            let object = one.or(other);
            let room = style
                .width
                .unwrap_or(usize::MAX)
                .saturating_sub(header.chars().count() + 2);
            let about = object.map(gist).unwrap_or_default();
            let about = style.paint(Meaning::Quiet, cut(&about, room.min(100)));
            vec![format!("{painted}  {about}").trim_end().to_owned()]
        }
    }
}

/// Returns whether the newer of two versions is untrusted.
pub(crate) fn is_untrusted(old: Option<&Object>, new: Option<&Object>) -> bool {
    new.or(old).is_some_and(|object| !object.origin().is_trusted())
}

/// Returns a line for each field that differs: `state: open -> done`.
fn field_lines(style: Style, old: &Object, new: &Object) -> Vec<String> {
    let fields = field_changes(old, new, true, value);
    let room = style.width.unwrap_or(usize::MAX);
    fields
        .iter()
        .map(|FieldChange { name, old, new }| {
            let name = one_line(name);
            // On a narrow terminal, each value gets half of the space after the name.
            let most = (room.saturating_sub(INDENT.len() + name.chars().count() + 6) / 2).clamp(8, EXCERPT);
            let side = |meaning, text: &Option<String>| match text {
                Some(text) => style.paint(meaning, cut(&one_line(text), most)),
                None => style.paint(Meaning::Quiet, "(none)"),
            };
            format!(
                "{INDENT}{name}: {} -> {}",
                side(Meaning::Bad, old),
                side(Meaning::Good, new)
            )
        })
        .collect()
}

/// Returns the unified diff of the contents.
fn content_lines(style: Style, old: &Object, new: &Object) -> Vec<String> {
    let (old, new) = (
        old.content().unwrap_or_default(),
        new.content().unwrap_or_default(),
    );
    if old == new {
        return Vec::new();
    }
    let room = style
        .width
        .map(|width| width.saturating_sub(INDENT.len() + 1).max(16));
    let mut lines = Vec::new();
    for hunk in hunks(old, new, CONTEXT, PATIENCE) {
        lines.push(format!("{INDENT}{}", style.paint(Meaning::Name, hunk.header())));
        for (sign, line) in &hunk.lines {
            let meaning = match sign {
                '-' => Some(Meaning::Bad),
                '+' => Some(Meaning::Good),
                _ => None,
            };
            let text = printable(line.trim_end_matches(['\r', '\n']));
            let parts = room.map_or_else(|| vec![text.clone()], |room| wrapped(&text, room));
            for part in parts {
                let line = format!("{sign}{part}");
                let line = meaning.map_or_else(|| line.clone(), |meaning| style.paint(meaning, &line));
                lines.push(format!("{INDENT}{line}").trim_end().to_owned());
            }
            if lines.len() > CONTENT_LINES {
                lines.push(format!(
                    "{INDENT}{}",
                    style.paint(Meaning::Quiet, "the rest is not shown; see treering get")
                ));
                return lines;
            }
        }
    }
    if lines.is_empty() {
        // The diff has no lines, so the contents differ only in the last line break.
        lines.push(format!("{INDENT}content: only the last line break differs"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use treering::HashAlgorithm;
    use treering::inspect::digest::HashSuite;
    use treering::{Id, Kind, NewObject, Origin};

    fn object(state: &str, content: &str) -> Object {
        let mut object = NewObject::new(Id::new("a").unwrap(), Kind::new("note").unwrap());
        object
            .attributes
            .insert("state".to_owned(), treering::Value::from(state));
        object.content = Some(content.to_owned());
        let suite = HashSuite::new(HashAlgorithm::Blake3);
        object.encode(Origin::DirectUser, suite).unwrap().into_object()
    }

    fn changed(width: Option<usize>, old: &Object, new: &Object) -> Vec<String> {
        let style = Style {
            coloured: false,
            width,
            ..Style::default()
        };
        change_lines(style, "a", Some(old), Some(new))
    }

    #[test]
    fn contents_are_told_with_what_stands_around_the_change() {
        let lines = |changed: &str| format!("1\n2\n3\n4\n{changed}\n6\n7\n8\n9\n");
        let (old, new) = (object("open", &lines("five")), object("done", &lines("5")));
        let wanted = [
            "~ a",
            "    state: open -> done",
            "    @@ -2,7 +2,7 @@",
            "     2",
            "     3",
            "     4",
            "    -five",
            "    +5",
            "     6",
            "     7",
            "     8",
        ];
        assert_eq!(changed(None, &old, &new), wanted);
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let old = object(&"o".repeat(100), &"word ".repeat(60));
        let new = object(&"n".repeat(100), &"other ".repeat(60));
        for width in [40, 80, 200] {
            for line in changed(Some(width), &old, &new) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_difference_at_the_very_end_is_told_too() {
        let lines = changed(None, &object("s", "same"), &object("s", "same\n"));
        assert!(lines.len() > 1, "{lines:?}");
    }

    #[test]
    fn a_long_difference_is_cut_and_takes_no_long_time() {
        let text = |step: usize| {
            (0..50_000)
                .map(|at| format!("{}\n", at * step % 7919))
                .collect::<String>()
        };
        let lines = changed(None, &object("s", &text(3)), &object("s", &text(5)));
        assert!(
            lines.len() <= CONTENT_LINES + 4 && lines.last().unwrap().contains("not shown"),
            "{}",
            lines.len()
        );
    }
}

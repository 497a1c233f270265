//! How the memory tool shows files: numbered lines, a list with sizes, and the limit on an answer.
//!
//! # Layer
//! Layer 9, part of serve.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use treering::Id;
use treering_text::recall::{CHARS_A_TOKEN, tokens};
use treering_text::visible::printable;

/// The folder that holds every file.
pub(super) const TOP: &str = "/memories";

/// Returns the lines of a text behind their numbers.
pub(super) fn numbered(text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines());
    lines
        .map(|(number, line)| format!("{number:>6}\t{}", printable(line)))
        .collect()
}

/// Returns the list of the files and folders below `path`, two levels deep, with their sizes. `files` are the sizes of the
/// files; a file without a size is counted, not named. The name of a folder ends with a slash.
pub(super) fn listing(path: &str, rest: &str, files: &BTreeMap<String, Option<usize>>) -> String {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::from([(rest.to_owned(), 0)]);
    let skipped = if rest.is_empty() {
        0
    } else {
        rest.split('/').count()
    };
    for (name, size) in files.iter().filter_map(|(name, size)| Some((name, (*size)?))) {
        let parts: Vec<&str> = name.split('/').collect();
        let own = parts.get(skipped..).unwrap_or_default();
        if own
            .iter()
            .any(|part| part.starts_with('.') || *part == "node_modules")
        {
            continue;
        }
        for depth in 0..=own.len().min(2) {
            let mut name = parts[..skipped + depth].join("/");
            if depth > 0 && depth < own.len() {
                name.push('/');
            }
            *sizes.entry(name).or_default() += size;
        }
    }
    let shown = printable(path.trim_end_matches('/'));
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items and node_modules:"
    );
    for (name, size) in sizes {
        let name = if name.is_empty() {
            TOP.to_owned()
        } else {
            format!("{TOP}/{name}")
        };
        let _ = write!(text, "\n{}\t{}", human(size), printable(&name));
    }
    let left_out = files.values().filter(|size| size.is_none()).count();
    if left_out > 0 {
        let _ = write!(
            text,
            "\n(files left out, because they are not trusted: {left_out})"
        );
    }
    text
}

/// Formats a number of bytes as `du -h` does.
fn human(bytes: usize) -> String {
    let kibibytes = bytes as f64 / 1024.0;
    if kibibytes < 1.0 {
        format!("{bytes}B")
    } else if kibibytes < 1024.0 {
        format!("{kibibytes:.1}K")
    } else {
        format!("{:.1}M", kibibytes / 1024.0)
    }
}

/// Returns lines of the item `id` below a heading, as many as the caller's limit allows (SRV-2), and says where the next
/// ones are. `before` is the number of lines before them.
pub(super) fn page(head: &str, lines: &[String], before: usize, id: &Id, tokens_max: usize) -> String {
    let all = format!("{head}\n{}", lines.join("\n"));
    if tokens(&all) <= tokens_max {
        return all;
    }
    let next = |count: usize| before + count + 1;
    let note = |count: usize| {
        format!(
            "\n(shortened to the limit of tokens: view_range [{}, -1] shows more)",
            next(count)
        )
    };
    let room = tokens_max.saturating_mul(CHARS_A_TOKEN);
    let room = room.saturating_sub(head.chars().count() + note(before + lines.len()).len());
    let mut used = 0;
    let fits = |line: &&String| {
        used += line.chars().count() + 1;
        used <= room
    };
    let count = lines.iter().take_while(fits).count();
    if count > 0 {
        return format!("{head}\n{}{}", lines[..count].join("\n"), note(count));
    }
    let note = format!(
        "\n(shortened to the limit of tokens: memory_get with id \"{}\" shows the whole line, view_range [{}, -1] the next)",
        printable(id.as_str()),
        next(1)
    );
    cut(&all, tokens_max, &note)
}

/// Cuts a text at the caller's limit (SRV-2), after a whole line.
pub(super) fn within(text: &str, tokens_max: usize) -> String {
    if tokens(text) <= tokens_max {
        return text.to_owned();
    }
    let note = "\n(shortened to the limit of tokens: view a folder, or lines by view_range, to see the rest)";
    let part = cut(text, tokens_max, note);
    let whole = part.strip_suffix(note).and_then(|part| part.rsplit_once('\n'));
    whole.map_or(part.clone(), |(lines, _)| format!("{lines}{note}"))
}

/// Returns the beginning of a text, so that it has the tokens at most with the note.
fn cut(text: &str, tokens_max: usize, note: &str) -> String {
    let room = tokens_max
        .saturating_mul(CHARS_A_TOKEN)
        .saturating_sub(note.chars().count());
    text.chars().take(room).chain(note.chars()).collect()
}

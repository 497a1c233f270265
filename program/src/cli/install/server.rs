//! The entry of the server in a settings file: how it starts the server, in JSON and in TOML.
//!
//! # Layer
//! Layer 10, part of cli.

use std::cmp::Reverse;
use std::env;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::json_edit::place_in;
use crate::cli::own_program::Launcher;

/// The name of the server in a settings file.
pub(crate) const SERVER: &str = "treering";

/// How a client writes a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerForm {
    /// A member of the object with this key: the command and the arguments.
    Plain(&'static str),
    /// The same, with the type of the transport.
    Typed(&'static str),
    /// A member whose command is a list with the program and the arguments.
    List(&'static str),
    /// A table in a TOML file.
    Toml,
}

impl ServerForm {
    /// Returns the path of the entry and its value, in a JSON file.
    pub(crate) fn entry(self, start: &Start) -> ([&'static str; 2], Json) {
        let Start { command, args } = start;
        match self {
            Self::Plain(key) => ([key, SERVER], json!({ "command": command, "args": args })),
            Self::Typed(key) => (
                [key, SERVER],
                json!({ "type": "stdio", "command": command, "args": args }),
            ),
            Self::List(key) => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                (
                    [key, SERVER],
                    json!({ "type": "local", "command": words, "enabled": true }),
                )
            }
            // Not of a JSON file.
            Self::Toml => (["mcp_servers", SERVER], Json::Null),
        }
    }

    /// Returns the hint with the text that a person pastes into the file.
    pub(crate) fn to_paste(self, start: &Start) -> String {
        let ([key, name], entry) = self.entry(start);
        let entry = match self {
            Self::Toml => toml_of(start),
            _ => format!("{:#}\n", json!({ key: { name: entry } })),
        };
        format!("paste this into the file yourself:\n{entry}")
    }
}

/// How a client starts the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

impl Start {
    /// Returns a start of nothing, to read a file with.
    pub(super) fn none() -> Self {
        let (command, args) = (String::new(), Vec::new());
        Self { command, args }
    }

    /// Returns what an entry of a settings file starts. Some clients have the program and the arguments in one list.
    pub(crate) fn of(entry: &Json) -> Option<Self> {
        let texts = |value: &Json| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let mut words = match entry["command"].as_str() {
            Some(command) => vec![command.to_owned()],
            None => texts(&entry["command"]),
        };
        words.extend(texts(&entry["args"]));
        let mut words = words.into_iter();
        let command = words.next().filter(|_| !entry["command"].is_null())?;
        let args = words.collect();
        Some(Self { command, args })
    }

    /// Returns the program that this starts: the command, or the package that a launcher runs.
    pub(super) fn program(&self) -> &str {
        let package = self.args.iter().find(|arg| !arg.starts_with('-'));
        package
            .filter(|_| Launcher::is_named(&self.command))
            .unwrap_or(&self.command)
    }

    /// Whether this starts the server.
    pub(crate) fn is_server(&self) -> bool {
        ["serve", "--mcp"]
            .iter()
            .all(|word| self.args.iter().any(|arg| arg == word))
    }

    /// Returns the store that the arguments name. Without a name, the server finds the store from its folder.
    pub(crate) fn store(&self) -> Option<PathBuf> {
        let mut options = self.options().into_iter();
        let named = options.find(|option| option[0] == "--store")?;
        named.get(1).map(PathBuf::from)
    }

    /// Adds the options that only `known` has, but not those named in `but`. So an installation widens no right of a server.
    pub(crate) fn add_options_of(&mut self, known: &Self, but: &[&str]) {
        let own = self.options();
        let mut others = known.options();
        others.retain(|option| own.iter().all(|own| own[0] != option[0]) && !but.contains(&&*option[0]));
        self.args.extend(others.into_iter().flatten());
    }

    /// Returns the options of the server, each with its value. Something else than the server has none.
    fn options(&self) -> Vec<Vec<String>> {
        let mut options: Vec<Vec<String>> = Vec::new();
        for arg in self.args.iter().filter(|_| self.is_server()) {
            match (arg.split_once('='), options.last_mut()) {
                (Some((name, value)), _) if name.starts_with("--") => {
                    options.push(vec![name.to_owned(), value.to_owned()]);
                }
                _ if arg.starts_with("--") => options.push(vec![arg.clone()]),
                (_, Some(option)) => option.push(arg.clone()),
                (_, None) => {}
            }
        }
        options
    }
}

/// Returns the file of a program. A name without a folder is searched on `PATH`.
pub(crate) fn program_file(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned()).filter(|file| file.is_file());
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Returns the entry of the server in a TOML text, or null.
///
/// # Errors
/// The place and the reason, if the text is not TOML.
pub(super) fn toml_server(text: &str) -> Result<Json, String> {
    let all: Json = toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}: {}", place_in(text, at), error.message())
    })?;
    Ok(all["mcp_servers"][SERVER].clone())
}

/// Returns a TOML text with the server. Adds the table at the end, or replaces its two values in place, because a rewrite
/// would lose comments.
///
/// # Errors
/// The reason, if the rest of the text cannot be kept.
pub(super) fn with_toml_server(old: &str, known: &Json, start: &Start) -> Result<String, String> {
    let new = match Start::of(known) {
        _ if known.is_null() => {
            let end = if old.is_empty() || old.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            let gap = if old.is_empty() { "" } else { "\n" };
            format!("{old}{end}{gap}{}", toml_of(start))
        }
        Some(known) if known == *start => old.to_owned(),
        _ => edited_toml(old, start).ok_or("it already has the server with another command")?,
    };
    // A table cannot follow an inline one.
    toml_server(&new).map(|_| new)
}

/// Returns the command and the arguments as values of TOML.
fn toml_values(start: &Start) -> (String, String) {
    // A JSON string without control characters is a TOML string.
    let quoted = |text: &String| Json::String(text.clone()).to_string();
    let args: Vec<_> = start.args.iter().map(quoted).collect();
    (quoted(&start.command), format!("[{}]", args.join(", ")))
}

/// Returns the table of the server in TOML.
fn toml_of(start: &Start) -> String {
    let (command, args) = toml_values(start);
    format!("[mcp_servers.{SERVER}]\ncommand = {command}\nargs = {args}\n")
}

/// A TOML file with the places of what starts the server.
#[derive(Deserialize)]
struct TomlFile {
    mcp_servers: TomlServers,
}

#[derive(Deserialize)]
struct TomlServers {
    treering: TomlEntry,
}

#[derive(Deserialize)]
struct TomlEntry {
    command: Spanned<String>,
    args: Spanned<Vec<String>>,
}

/// Returns a TOML text with another command and other arguments of the server. Returns `None` if one of them is missing, or
/// if anything else would change (INL-1).
fn edited_toml(old: &str, start: &Start) -> Option<String> {
    let entry = toml::from_str::<TomlFile>(old).ok()?.mcp_servers.treering;
    let (command, args) = toml_values(start);
    let mut places = [(entry.command.span(), command), (entry.args.span(), args)];
    places.sort_by_key(|(place, _)| Reverse(place.start));
    let mut new = old.to_owned();
    for (place, value) in places {
        new.replace_range(place, &value);
    }
    let rest = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        let entry = table.get_mut("mcp_servers")?.get_mut(SERVER)?.as_table_mut()?;
        entry.remove("command");
        entry.remove("args");
        Some(table)
    };
    let started = Start::of(&toml_server(&new).ok()?)?;
    (rest(old)? == rest(&new)? && started == *start).then_some(new)
}

/// Returns a TOML text without the server. `added` is what an installation added.
///
/// # Errors
/// The reason, if the text is not TOML, or if the rest of it cannot be kept (INL-1).
pub(super) fn without_toml_server(text: &str, added: &str) -> Result<String, String> {
    let rest = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        if let Some(toml::Value::Table(servers)) = table.get_mut("mcp_servers") {
            servers.remove(SERVER);
            // A table of the server may be the only sign of the table above it.
            if servers.is_empty() {
                table.remove("mcp_servers");
            }
        }
        Some(table)
    };
    let is_kept =
        |new: &String| rest(new) == rest(text) && toml_server(new).is_ok_and(|server| server.is_null());
    if !toml_server(text)?.is_object() {
        return Ok(text.to_owned());
    }
    let mut places = text.match_indices(added).filter(|_| !added.is_empty());
    let as_added =
        places.find_map(|(at, _)| Some([&text[..at], &text[at + added.len()..]].concat()).filter(is_kept));
    as_added
        .or_else(|| cut_toml(text, added).filter(is_kept))
        .ok_or_else(|| "the table of the server cannot be told from the rest".to_owned())
}

/// Returns a TOML text without the places of the server, and without the blank lines that an installation `added` before it.
fn cut_toml(text: &str, added: &str) -> Option<String> {
    let all = DeTable::parse(text).ok()?.into_inner();
    let (_, servers) = all.get_key_value("mcp_servers")?;
    let (key, server) = servers.get_ref().as_table()?.get_key_value(SERVER)?;
    let mut cuts = Cuts {
        text,
        places: Vec::new(),
        is_inline: text[servers.span().start..].starts_with('{'),
    };
    cuts.add(key.span(), server, None);
    let mut new = text.to_owned();
    cuts.places.sort_by_key(|place| Reverse(place.start));
    for Range { mut start, end } in cuts.places {
        // The place behind this one may have taken the line end between them.
        let end = end.min(new.len());
        let is_last = new[end..].is_empty();
        for _ in added.chars().take_while(|letter| *letter == '\n') {
            if new[..start].ends_with("\n\n") || is_last && new[..start].ends_with('\n') {
                start -= 1;
            }
        }
        new.replace_range(start..end, "");
    }
    Some(new)
}

/// The places that go from a TOML text.
struct Cuts<'t> {
    text: &'t str,
    places: Vec<Range<usize>>,
    /// Whether the places lie in an inline table.
    is_inline: bool,
}

impl Cuts<'_> {
    /// Adds the place of a value with its key. What stands below the header of a table belongs to the place `of_header`.
    fn add(&mut self, key: Range<usize>, value: &Spanned<DeValue<'_>>, of_header: Option<usize>) {
        let Range { start, end } = value.span();
        let mark = self.text[start..].chars().next();
        let table = value.get_ref().as_table().filter(|_| mark != Some('{'));
        if table.is_none() || mark == Some('[') {
            let place = if self.is_inline {
                self.member(key.start, end)
            } else {
                self.lines(key.start, end)
            };
            match of_header.filter(|_| table.is_none()) {
                Some(header) => self.places[header].end = self.places[header].end.max(place.end),
                None => self.places.push(place),
            }
        }
        let of_header = if mark == Some('[') {
            Some(self.places.len() - 1)
        } else {
            of_header
        };
        for (key, value) in table.into_iter().flatten() {
            self.add(key.span(), value, of_header);
        }
    }

    /// Returns the place of whole lines.
    fn lines(&self, start: usize, end: usize) -> Range<usize> {
        let before = self.text[..start].rsplit(['\n', '\u{feff}']).next();
        let after = self.text[end..].split_inclusive('\n').next();
        start - before.map_or(0, str::len)..end + after.map_or(0, str::len)
    }

    /// Returns the place of a member of an inline table, with one comma.
    fn member(&self, start: usize, end: usize) -> Range<usize> {
        let (before, after) = (self.text[..start].trim_end(), self.text[end..].trim_start());
        match (after.strip_prefix(','), before.strip_suffix(',')) {
            (Some(after), _) => start..self.text.len() - after.trim_start().len(),
            (None, Some(before)) => before.len()..end,
            (None, None) => start..end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INVARIANT INL-1: a removal leaves everything else in a file as it is, byte for byte. What stands between `<` and `>`
    /// goes.
    #[test]
    fn only_the_server_goes_from_a_toml_text() {
        for marked in [
            "# mine\n\n<[mcp_servers.treering] # own\ncommand = \"x\"\nargs = [\n  \"a\",\n  \"[b]\",\n]\n># next\n[a]\nb = 1\n",
            "<[ mcp_servers . \"treering\" ]\r\ncommand = 'x'\r\n>\r\n[[a]]\r\nb = [\r\n[1],\r\n]\r\n",
            "a = \"\"\"\n[mcp_servers.treering]\ncommand = \"x\"\n\"\"\"\n<[mcp_servers.treering]\ncommand = \"x\">",
            "# [mcp_servers.treering]\n<[mcp_servers.treering.env]\nA = '''\n[a]\n'''\n>\n[b]\n<[mcp_servers.treering]\n>[mcp_servers.a]\n",
            "[mcp_servers]\n<treering = { command = \"x\" } # own\n>other = { command = \"y\" }\n",
            "[mcp_servers]\n<treering.command = \"x\"\n>other.command = \"y\"\n<treering.args = []\n>",
            "mcp_servers = { <treering = { command = \"x\" }, >other = { command = \"y\" } }\n",
            "mcp_servers = { other = { command = \"y\" }<, treering = { command = \"x\" }> }\n",
            "<mcp_servers.treering.command = \"x\"\n>a = 1\n",
            "\u{feff}<[mcp_servers.treering]\n>[a]\nb = 1\n",
            "[mcp_servers.other]\ncommand = \"treering\"\n",
            "[[mcp_servers.treering]]\ncommand = \"x\"\n",
            "",
        ] {
            let text = marked.replace(['<', '>'], "");
            let mut parts = marked.split('<');
            let mut kept = parts.next().unwrap_or_default().to_owned();
            parts.for_each(|part| kept.push_str(part.split_once('>').unwrap().1));
            assert_eq!(without_toml_server(&text, ""), Ok(kept), "{text}");
        }
    }

    /// INVARIANT INL-1: what a user changed in the table goes with it, and the lines before the table are as they were.
    #[test]
    fn a_changed_table_goes_too() {
        let start = Start {
            command: "x".to_owned(),
            args: vec!["serve".to_owned()],
        };
        for old in ["", "a = 1", "a = 1\n", "[mcp_servers]\n", "[a]\nb = 1\n\n"] {
            let new = with_toml_server(old, &Json::Null, &start).unwrap();
            let added = new.strip_prefix(old).unwrap();
            // A copy in a text of another is not the table.
            let copy = format!("\n[c]\nd = '''{added}'''\n");
            for (edited, kept) in [
                (new.clone(), old.to_owned()),
                (format!("{new}timeout = 20\n"), old.to_owned()),
                (
                    format!("{new}[mcp_servers.treering.env]\nA = \"b\"\n"),
                    old.to_owned(),
                ),
                (new.replace("\"serve\"", "\"other\""), old.to_owned()),
                (format!("{new}{copy}"), format!("{old}{copy}")),
            ] {
                assert_eq!(without_toml_server(&edited, added), Ok(kept), "{edited}");
            }
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let odd = "mcp_servers = { treering.command = \"x\", treering.args = [] }\n";
        assert!(without_toml_server(odd, "").is_err());
        let broken = without_toml_server("a = 1\nb = = 2\n", "").unwrap_err();
        assert!(broken.starts_with("line 2, column 5"), "{broken}");
    }
}

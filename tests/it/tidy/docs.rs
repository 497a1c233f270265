//! Checks that each document has one title and no dead link, and that every test file is part of the test binary.

use std::path::Path;

use super::{expect_none, expect_one, files, name_of, root};

/// Returns the lines of a Markdown text outside of fenced blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut in_fence = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            lines.push(line);
        }
    }
    lines
}

/// Returns a violation if the page does not have exactly one title on its first line.
fn bad_titles(path: &str, text: &str) -> Vec<String> {
    let titles = prose(text).iter().filter(|line| line.starts_with("# ")).count();
    if titles == 1 && text.starts_with("# ") {
        return Vec::new();
    }
    vec![format!(
        "{path} must have one title on its first line, but has {titles} titles"
    )]
}

/// Returns the relative links whose target is missing. `exists` checks paths in the repository.
fn dead_links(path: &str, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut violations = Vec::new();
    for line in prose(text) {
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !is_elsewhere && !file.is_empty() && !exists(&folder.join(file)) {
                violations.push(format!("{path}: the target of the link {target} does not exist"));
            }
        }
    }
    violations
}

/// Returns the entries of tests/it that main.rs does not declare as modules.
fn undeclared<'a>(main: &str, entries: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let is_declared = |name: &str| main.lines().any(|line| line.trim() == format!("mod {name};"));
    let names = entries
        .into_iter()
        .filter(|name| *name != "main" && !is_declared(name));
    names
        .map(|name| format!("tests/it/{name} is not a module of tests/it/main.rs"))
        .collect()
}

/// Returns the documentation pages of the repository.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md")];
    paths.extend(files("docs", "md"));
    paths.extend(files("tests/vectors", "md"));
    paths.extend(files("fuzz", "md"));
    // Exclude the files of the tour and of the tests, because they are test input.
    paths.retain(|path| !name_of(path).starts_with("docs/tour/"));
    paths
        .iter()
        .map(|path| (name_of(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn bad_pages_are_seen() {
    expect_one(&bad_titles("a.md", "# One\n\n# Two\n"), "2 titles");
    expect_one(&bad_titles("a.md", "text\n# One\n"), "1 titles");
    expect_one(&bad_titles("a.md", "## Zero\n"), "0 titles");
    expect_none(&bad_titles("a.md", "# One\n\n```\n# a comment\n```\n"));
    let exists = |path: &Path| path == Path::new("docs/b.md");
    expect_one(&dead_links("docs/a.md", "see [c](c.md#d)", exists), "c.md");
    expect_none(&dead_links(
        "docs/a.md",
        "[b](b.md#x) [up](#y) [web](https://example.org/z)",
        exists,
    ));
    expect_none(&dead_links("README.md", "[b](docs/b.md)", exists));
    expect_one(&undeclared("mod a;\n", ["a", "main", "b"]), "tests/it/b");
}

#[test]
fn every_page_has_one_title() {
    let violations: Vec<String> = pages()
        .iter()
        .flat_map(|(path, text)| bad_titles(path, text))
        .collect();
    expect_none(&violations);
}

#[test]
fn every_link_leads_somewhere() {
    let exists = |path: &Path| root().join(path).exists();
    let violations: Vec<String> = pages()
        .iter()
        .flat_map(|(path, text)| dead_links(path, text, exists))
        .collect();
    expect_none(&violations);
}

#[test]
fn every_test_file_is_part_of_the_test_binary() {
    let main = std::fs::read_to_string(root().join("tests/it/main.rs")).unwrap();
    let entries = std::fs::read_dir(root().join("tests/it"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let names: Vec<String> = entries
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    expect_none(&undeclared(&main, names.iter().map(String::as_str)));
}

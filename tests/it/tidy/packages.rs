//! Checks the dependencies: refuses known bad packages and incompatible licences, and limits the number of packages.

use std::collections::BTreeSet;
use std::process::Command;

use super::{expect_none, expect_one, root};

/// Packages that were reported as unsound, discontinued or unmaintained, and have no fixed version.
const REFUSED: [&str; 14] = [
    "atomic-polyfill",
    "bincode",
    "bitmaps",
    "fs2",
    "fxhash",
    "im",
    "im-rc",
    "number_prefix",
    "paste",
    "rust-stemmers",
    "serde_yaml",
    "serde_yml",
    "sized-chunks",
    "unsafe-libyaml",
];

/// The first version without a known advisory, for some packages. A package in this list may be unused.
const AT_LEAST: [(&str, [u64; 3]); 9] = [
    ("crossbeam-channel", [0, 5, 15]),
    ("crossbeam-epoch", [0, 9, 20]),
    ("imbl", [7, 0, 2]),
    ("imbl-sized-chunks", [0, 2, 0]),
    ("lru", [0, 18, 2]),
    ("lz4_flex", [0, 12, 1]),
    ("memmap2", [0, 9, 11]),
    ("rkyv", [0, 8, 17]),
    ("rmcp", [1, 4, 0]),
];

/// The licences of dependencies with which this crate, and programs that use it, can comply.
const LICENCES: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
];
/// Further allowed licences, each for one package that is used without modification.
const LICENCES_OF: [(&str, &str); 2] = [("imbl", "MPL-2.0+"), ("imbl-sized-chunks", "MPL-2.0+")];

/// The maximum number of dependencies of the library without features, including indirect ones. It may only go down.
const LIBRARY_PACKAGES_MAX: usize = 42;

/// Returns the names and versions of the packages of a lock file.
fn locked(lock: &str) -> Vec<(&str, &str)> {
    let value = |line: &'static str| move |text: &&str| text.starts_with(line);
    let mut packages = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let find = |name: &'static str| {
            let line = package
                .lines()
                .find(value(name))
                .expect("a package has a name and a version");
            line[name.len()..].trim_matches(|c: char| c == '"' || c == ' ' || c == '=')
        };
        packages.push((find("name"), find("version")));
    }
    packages
}

/// Returns the packages of a lock file that are refused or too old.
fn flagged(lock: &str) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, version) in locked(lock) {
        let numbers: Vec<u64> = version
            .split(['.', '-', '+'])
            .map_while(|part| part.parse().ok())
            .collect();
        let least = AT_LEAST.iter().find(|(found, _)| *found == name);
        if REFUSED.contains(&name) || least.is_some_and(|(_, least)| numbers.as_slice() < least.as_slice()) {
            violations.push(format!("{name} {version}"));
        }
    }
    violations
}

/// Checks whether this crate can comply with an SPDX expression. `OR` (or `/`) needs one allowed side, and `AND` needs
/// both.
fn is_licence_fine(expression: &str, package: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let fine = either(&words, &mut at, package);
    fine && at == words.len()
}

fn either(words: &[&str], at: &mut usize, package: &str) -> bool {
    let mut fine = both(words, at, package);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        fine |= both(words, at, package);
    }
    fine
}

fn both(words: &[&str], at: &mut usize, package: &str) -> bool {
    let mut fine = single(words, at, package);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        fine &= single(words, at, package);
    }
    fine
}

fn single(words: &[&str], at: &mut usize, package: &str) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    *at += 1;
    if word == "(" {
        let fine = either(words, at, package);
        *at += 1;
        return fine;
    }
    let mut fine = LICENCES.contains(&word) || LICENCES_OF.contains(&(package, word));
    if words.get(*at) == Some(&"WITH") {
        fine &= words.get(*at + 1) == Some(&"LLVM-exception");
        *at += 2;
    }
    fine
}

/// Runs cargo without the network and returns its output.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(arguments)
        .args(["--offline", "--locked"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bad_packages_are_seen() {
    let lock = |name: &str, version: &str| {
        format!(
            "version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n \"im\",\n]\n"
        )
    };
    expect_one(&flagged(&lock("bincode", "2.0.1")), "bincode");
    expect_one(&flagged(&lock("imbl", "7.0.1")), "imbl");
    expect_one(&flagged(&lock("memmap2", "0.9.9")), "memmap2");
    expect_none(&flagged(&lock("memmap2", "0.10.0")));
    expect_none(&flagged(&lock("imbl", "7.0.2")));
    assert_eq!(locked(&lock("a", "1.2.3+b")), [("a", "1.2.3+b")]);
}

#[test]
fn licence_expressions_are_understood() {
    for fine in [
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "MIT AND (GPL-3.0 OR Zlib)",
    ] {
        assert!(is_licence_fine(fine, "a"), "{fine}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Zlib) AND LGPL-2.1",
        "GPL-3.0 WITH LLVM-exception",
        "MIT WITH Other-exception",
        "MPL-2.0+",
        "MIT MIT",
    ] {
        assert!(!is_licence_fine(bad, "a"), "{bad}");
    }
    assert!(is_licence_fine("MPL-2.0+", "imbl"));
}

#[test]
fn no_flagged_package_is_locked() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock", "schedules/Cargo.lock"] {
        expect_none(&flagged(&std::fs::read_to_string(root().join(lock)).unwrap()));
    }
}

/// Returns the version and the sorted features of a dependency. `shared` are the versions of the workspace.
fn required(dependency: &toml::Value, shared: Option<&toml::Value>) -> (String, Vec<String>) {
    let version = |one: &toml::Value| {
        let inner = one.as_str().or_else(|| one.get("version")?.as_str());
        inner.map(str::to_owned)
    };
    let features = |one: &toml::Value| {
        let all = one.get("features").and_then(toml::Value::as_array);
        let all = all.into_iter().flatten().filter_map(toml::Value::as_str);
        all.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let mut all = features(dependency);
    all.extend(shared.map(features).unwrap_or_default());
    let version = version(dependency).or_else(|| version(shared?));
    (version.unwrap_or_default(), all.into_iter().collect())
}

#[test]
fn the_schedules_depend_on_what_the_library_does() {
    let manifest = |name: &str| -> toml::Value {
        toml::from_str(&std::fs::read_to_string(root().join(name)).unwrap()).unwrap()
    };
    let (library, schedules) = (manifest("Cargo.toml"), manifest("schedules/Cargo.toml"));
    let shared = &library["workspace"]["dependencies"];
    let mut count = 0;
    for (name, dependency) in library["dependencies"].as_table().unwrap() {
        let is_optional = dependency.get("optional").is_some();
        if is_optional || ["arc-swap", "parking_lot", "treering-text"].contains(&name.as_str()) {
            continue;
        }
        let there = schedules["dependencies"].get(name);
        let there = there.unwrap_or_else(|| panic!("schedules/Cargo.toml lacks {name}"));
        assert_eq!(
            required(there, None),
            required(dependency, shared.get(name)),
            "{name}"
        );
        count += 1;
    }
    assert!(count > 8, "only {count} dependencies were found");
}

#[test]
fn every_licence_fits() {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    let text = cargo(&[
        "metadata",
        "--format-version=1",
        "--all-features",
        "--filter-platform",
        host,
    ]);
    let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > LIBRARY_PACKAGES_MAX);
    let mut violations = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_licence_fine(licence, name) {
            violations.push(format!("{name}: {licence:?}"));
        }
    }
    expect_none(&violations);
}

#[test]
fn the_library_stays_small() {
    let tree = cargo(&[
        "tree",
        "--package",
        "treering",
        "-e",
        "normal",
        "--no-default-features",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let lines = tree
        .lines()
        .map(|line| line.split(" (").next().unwrap_or_default());
    let packages: BTreeSet<&str> = lines
        .filter(|line| {
            !line.is_empty() && !line.starts_with("treering ") && !line.starts_with("treering-text ")
        })
        .collect();
    println!("the library without features has {} dependencies", packages.len());
    assert!(
        packages.len() <= LIBRARY_PACKAGES_MAX,
        "{}: {packages:?}",
        packages.len()
    );
    assert!(
        packages.len() > 5,
        "the dependency tree is too short: {packages:?}"
    );
}

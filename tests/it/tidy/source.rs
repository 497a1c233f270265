//! Splits a Rust file into code and comments, without a full parser.

/// One Rust file.
pub(super) struct Source {
    /// The path of the file in the repository.
    pub(super) path: String,
    /// The text of the file.
    pub(super) text: String,
    /// The lines of the file, with comments and the contents of strings replaced by blanks.
    pub(super) code: Vec<String>,
    /// The lines of the file, with everything except comments replaced by blanks.
    pub(super) comments: Vec<String>,
    /// For each line, whether only test builds compile it.
    pub(super) for_tests: Vec<bool>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let (code, comments) = split(text);
        let lines = |text: &str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
        let for_tests = if is_test_file(path) {
            vec![true; code.matches('\n').count() + 1]
        } else {
            lines_for_tests(&code)
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: lines(&code),
            comments: lines(&comments),
            for_tests,
        }
    }

    /// Returns the lines of non-test code, with their numbers.
    pub(super) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code
            .iter()
            .zip(&self.for_tests)
            .enumerate()
            .filter(|(_, (_, for_tests))| !**for_tests)
            .map(|(index, (line, _))| (index + 1, line.as_str()))
    }

    /// Formats the path, the number and the text of a line for a message.
    pub(super) fn at(&self, number: usize) -> String {
        let line = self.text.split('\n').nth(number - 1).unwrap_or_default();
        format!("{}:{number}: {}", self.path, line.trim())
    }
}

/// Checks whether the whole file is test code.
fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/');
    !parts.any(|part| part == "src") || parts.any(|part| matches!(part, "tests" | "tests.rs" | "testing"))
}

/// Returns the words of a line of code.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Returns the code and the comments of a text. In the code, spaces replace the comments, and in the comments, spaces
/// replace the code. Line numbers do not change.
fn split(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < chars.len() {
        let (end, is_comment, is_text) = token(&chars, at);
        for (index, &char) in chars.iter().enumerate().take(end).skip(at) {
            let blank = if char == '\n' { '\n' } else { ' ' };
            let edge = index == at || index + 1 == end;
            code.push(if is_comment || (is_text && !edge) {
                blank
            } else {
                char
            });
            comments.push(if is_comment { char } else { blank });
        }
        at = end;
    }
    (code, comments)
}

/// Returns the end of the token at `at`, whether it is a comment, and whether it is a string or character literal.
fn token(chars: &[char], at: usize) -> (usize, bool, bool) {
    let next = |offset: usize| chars.get(at + offset).copied().unwrap_or('\0');
    let is_part_of_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match (chars[at], next(1)) {
        ('/', '/') => (find(chars, at, |c| c == '\n'), true, false),
        ('/', '*') => (end_of_block_comment(chars, at), true, false),
        ('"', _) => (end_of_string(chars, at), false, true),
        ('r', '"' | '#') if !is_part_of_word || chars[at - 1] == 'b' => match end_of_raw_string(chars, at) {
            Some(end) => (end, false, true),
            None => (at + 1, false, false),
        },
        ('\'', '\\') => (
            (find(chars, at + 3, |c| c == '\'') + 1).min(chars.len()),
            false,
            true,
        ),
        ('\'', _) if next(2) == '\'' => (at + 3, false, true),
        _ => (at + 1, false, false),
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    (from..chars.len())
        .find(|&index| is_end(chars[index]))
        .unwrap_or(chars.len())
}

fn end_of_block_comment(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], mut at: usize) -> usize {
    at += 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn end_of_raw_string(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    let start = at + 1 + hashes;
    if chars.get(start) != Some(&'"') {
        return None;
    }
    let ends = |index: usize| {
        chars[index] == '"'
            && chars[index + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes
    };
    (start + 1..chars.len())
        .find(|&index| ends(index))
        .map(|index| index + 1 + hashes)
}

/// Returns for each line whether it is in a block that only test builds compile. Only tests, fuzz targets and benches
/// enable the feature `testing`.
fn lines_for_tests(code: &str) -> Vec<bool> {
    let mut marked = vec![false; code.matches('\n').count() + 1];
    // `code` contains spaces in place of string contents, so the name of the feature is missing here.
    let attributes = ["#[cfg(test)]", "#[cfg(any(test, feature ="];
    let starts = attributes.map(|attribute| code.match_indices(attribute));
    for (start, attribute) in starts.into_iter().flatten() {
        let rest = &code[start + attribute.len()..];
        let end = match rest.find(['{', ';']) {
            Some(open) if rest[open..].starts_with('{') => open + block_length(&rest[open..]),
            Some(semicolon) => semicolon,
            None => rest.len(),
        };
        let first = code[..start].matches('\n').count();
        let count = rest[..end].matches('\n').count();
        marked[first..=first + count].fill(true);
    }
    marked
}

/// Returns the length of the block in braces at the start of `code`.
pub(super) fn block_length(code: &str) -> usize {
    let mut depth = 0;
    for (index, char) in code.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    code.len()
}

#[test]
fn code_and_comments_are_told_apart() {
    let text = "let a = \"// no\"; // yes \"\nlet b = '\"'; /* one /* two */ three */ let c = r#\"x \" // y\"#;\n\
        let d: &'static str = b\"\\\"}\"; // INVARIANT";
    let source = Source::new("src/a.rs", text);
    let code: Vec<String> = source
        .code
        .iter()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        code,
        ["leta=\"\";", "letb='';letc=r#;", "letd:&'staticstr=b\"\";"]
    );
    let comments: Vec<&str> = source.comments.iter().map(|line| line.trim()).collect();
    assert_eq!(
        comments,
        ["// yes \"", "/* one /* two */ three */", "// INVARIANT"]
    );
}

#[test]
fn blocks_for_tests_are_found() {
    let source = Source::new(
        "src/a.rs",
        "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { }\n}\nfn c() {}\n",
    );
    let shipped: Vec<usize> = source.shipped().map(|(number, _)| number).collect();
    assert_eq!(shipped, [1, 6, 7]);
    assert_eq!(Source::new("src/a/tests/b.rs", "fn a() {}").shipped().count(), 0);
    assert_eq!(Source::new("src/latest.rs", "fn a() {}").shipped().count(), 1);
}

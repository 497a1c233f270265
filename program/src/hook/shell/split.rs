//! Splits a command line of a shell into words and commands, with the commands inside of it.
//!
//! # Layer
//! Layer 8, inside `hook`. Pure.

use std::iter::Peekable;
use std::str::CharIndices;

use super::{DEPTH_MAX, RESERVED};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// The next word begins another command.
    Next,
    /// The same, and the command gets the output of the one before.
    Pipe,
    /// The next word is a file that is written.
    Into,
    /// The next word is a file that is read.
    From,
    /// The next word is a text that the command gets as input.
    Text,
    /// A text that the command gets as input.
    Input(String),
}

/// A command line, as far as a reader without a shell can split it.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) tokens: Vec<Token>,
    /// The commands whose output is a part of a word.
    pub(super) inner: Vec<Parts>,
}

/// How the letters of a word are read up to its closing quote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// Of `$'...'`.
    Escaped,
    /// Of the lines that a command gets as input, which no quote ends.
    Input,
}

impl Quote {
    fn is_closed_by(self, letter: char) -> bool {
        match self {
            Self::Single | Self::Escaped => letter == '\'',
            Self::Double => letter == '"',
            Self::Input => false,
        }
    }
}

/// Lines behind a command line that are the input of a command.
struct Here {
    /// The line that ends them.
    mark: String,
    /// Whether tabs may stand before the mark.
    has_tabs: bool,
    /// Whether commands in them run.
    runs: bool,
    /// The place of the token that gets them.
    token: usize,
}

/// What a reader knows of the command line that it reads.
#[derive(Default)]
struct Line {
    parts: Parts,
    word: String,
    is_word: bool,
    is_quoted: bool,
    /// Whether the next word is the mark of an input, before which tabs may stand.
    mark_has_tabs: Option<bool>,
    here: Vec<Here>,
    /// The open brackets, and the open lists of patterns, in which a bracket closes nothing.
    brackets: usize,
    cases: usize,
}

impl Line {
    fn push(&mut self, letter: char) {
        self.word.push(letter);
        self.is_word = true;
    }

    /// Ends a word.
    fn close(&mut self) {
        if !std::mem::take(&mut self.is_word) {
            return;
        }
        let (word, is_quoted) = (
            std::mem::take(&mut self.word),
            std::mem::take(&mut self.is_quoted),
        );
        let tokens = &mut self.parts.tokens;
        if let Some(has_tabs) = self.mark_has_tabs.take() {
            self.here.push(Here {
                mark: word,
                has_tabs,
                runs: !is_quoted,
                token: tokens.len(),
            });
            return tokens.push(Token::Input(String::new()));
        }
        let is_first = tokens.last().is_none_or(|last| match last {
            Token::Word(before) => RESERVED.contains(&before.as_str()),
            last => matches!(last, Token::Next | Token::Pipe),
        });
        match word.as_str() {
            "case" if is_first && !is_quoted => self.cases += 1,
            "esac" if is_first && !is_quoted => self.cases = self.cases.saturating_sub(1),
            _ => {}
        }
        tokens.push(Token::Word(word));
    }

    /// Ends a command.
    fn end(&mut self, next: Token) {
        self.close();
        self.mark_has_tabs = None;
        self.parts.tokens.push(next);
    }
}

/// A reader of a command line.
struct Splitter<'a> {
    command: &'a str,
    letters: Peekable<CharIndices<'a>>,
    depth: usize,
    is_whole: bool,
}

/// Splits a command line that lies `depth` commands deep. Returns false if it was not read whole.
pub(super) fn parts_of(command: &str, depth: usize) -> (Parts, bool) {
    let mut splitter = Splitter::of(command, depth);
    let parts = splitter.read(None, false);
    (parts, splitter.is_whole)
}

impl<'a> Splitter<'a> {
    fn of(command: &'a str, depth: usize) -> Self {
        Self {
            command,
            letters: command.char_indices().peekable(),
            depth,
            is_whole: true,
        }
    }

    /// Reads a command line up to its end. One that `is_inner` ends at the bracket that closes it.
    fn read(&mut self, mut quote: Option<Quote>, is_inner: bool) -> Parts {
        if self.depth > DEPTH_MAX {
            self.stop();
            return Parts::default();
        }
        self.depth += 1;
        let mut line = Line::default();
        while let Some((at, letter)) = self.letters.next() {
            match (quote, letter) {
                (Some(open), _) if open.is_closed_by(letter) => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(if letter == '"' {
                        Quote::Double
                    } else {
                        Quote::Single
                    });
                    (line.is_word, line.is_quoted) = (true, true);
                }
                (None, '$') if self.takes('\'') => {
                    quote = Some(Quote::Escaped);
                    (line.is_word, line.is_quoted) = (true, true);
                }
                (Some(Quote::Single), _) => line.push(letter),
                (_, '\\') => match self.letters.next() {
                    Some((_, '\n')) | None => {}
                    Some((_, next)) => {
                        line.push(next);
                        line.is_quoted = true;
                    }
                },
                (Some(Quote::Escaped), _) => line.push(letter),
                // A command in a command also runs inside of double quotes.
                (_, '`') => {
                    let inner = self.between_backticks();
                    line.parts.inner.push(inner);
                    line.is_word = true;
                }
                (_, '$') | (None, '<' | '>') if self.takes('(') => {
                    let inner = self.read(None, true);
                    line.parts.inner.push(inner);
                    line.is_word = true;
                }
                (Some(_), _) => line.push(letter),
                (None, ')') if is_inner && line.brackets == 0 && line.cases == 0 => break,
                (None, letter) => self.unquoted(at, letter, &mut line),
            }
        }
        line.close();
        self.depth -= 1;
        line.parts
    }

    fn unquoted(&mut self, at: usize, letter: char, line: &mut Line) {
        match letter {
            '\n' => {
                line.close();
                self.inputs(at + 1, line);
                line.end(Token::Next);
            }
            '|' => {
                let next = if self.takes('|') { Token::Next } else { Token::Pipe };
                line.end(next);
            }
            '(' => {
                line.brackets += 1;
                line.end(Token::Next);
            }
            ')' => {
                line.brackets = line.brackets.saturating_sub(1);
                line.end(Token::Next);
            }
            '&' | ';' => line.end(Token::Next),
            '{' | '}' if !line.is_word => line.end(Token::Next),
            '>' => {
                line.close();
                while ['>', '|', '&'].into_iter().any(|sign| self.takes(sign)) {}
                line.parts.tokens.push(Token::Into);
            }
            '<' => {
                line.close();
                match (self.takes('<'), self.takes('<')) {
                    (false, _) => line.parts.tokens.push(Token::From),
                    (true, false) => line.mark_has_tabs = Some(self.takes('-')),
                    (true, true) => line.parts.tokens.push(Token::Text),
                }
            }
            '#' if !line.is_word => while self.letters.next_if(|(_, next)| *next != '\n').is_some() {},
            letter if letter.is_whitespace() => line.close(),
            letter => line.push(letter),
        }
    }

    /// Stops where the program reads otherwise than a shell may.
    fn stop(&mut self) {
        self.is_whole = false;
        self.letters.by_ref().for_each(drop);
    }

    /// Takes the next letter if it is this one.
    fn takes(&mut self, letter: char) -> bool {
        self.letters.next_if(|(_, next)| *next == letter).is_some()
    }

    /// Reads a text that stands in this command line.
    fn within(&mut self, text: &str, quote: Option<Quote>) -> Parts {
        let mut inner = Splitter::of(text, self.depth);
        let parts = inner.read(quote, false);
        self.is_whole &= inner.is_whole;
        parts
    }

    /// Reads the command up to the next backtick, which no quote hides.
    fn between_backticks(&mut self) -> Parts {
        let mut command = String::new();
        while let Some((_, letter)) = self.letters.next_if(|(_, letter)| *letter != '`') {
            match self.letters.peek() {
                Some((_, next @ ('`' | '\\' | '$'))) if letter == '\\' => {
                    command.push(*next);
                    self.letters.next();
                }
                _ => command.push(letter),
            }
        }
        self.letters.next();
        self.within(&command, None)
    }

    /// Takes the lines from `from` as the inputs of the line before, each up to its mark.
    fn inputs(&mut self, mut from: usize, line: &mut Line) {
        for here in std::mem::take(&mut line.here) {
            let (rest, mut length) = (&self.command[from..], 0);
            let end = rest.split_inclusive('\n').find_map(|line| {
                let start = length;
                length += line.len();
                let text = line.trim_end_matches(['\r', '\n']);
                let text = if here.has_tabs {
                    text.trim_start_matches('\t')
                } else {
                    text
                };
                (text == here.mark).then_some(start)
            });
            // Without the mark, it may be no input, as in `((1<<2))`.
            let Some(end) = end else { return self.stop() };
            from += length;
            while self.letters.next_if(|(at, _)| *at < from).is_some() {}
            if here.runs {
                let inner = self.within(&rest[..end], Some(Quote::Input)).inner;
                line.parts.inner.extend(inner);
            }
            line.parts.tokens[here.token] = Token::Input(rest[..end].to_owned());
        }
    }
}

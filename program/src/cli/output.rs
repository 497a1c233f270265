//! All output of the program: answers on standard output, notes and errors on standard error.
//!
//! With `--json`, standard output contains only JSON documents, and notes wait until the end of the run. After a
//! success, each note is one line on standard error. After a failure, the error document on standard error contains the
//! notes.
//!
//! # Layer
//! Layer 10, part of cli. The only file of the crate that writes to standard output or standard error.
//!
//! # Invariants
//! - CLI-2: with `--json` every line on standard output is one JSON document.
//! - CLI-3: if the reader closes the pipe, the verb ends with success.

use std::ffi::OsString;
use std::fmt::{Display, Write as _};
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use serde::Serialize;

use super::errors::{BUG, DONE, USAGE, clap_error, exit_code, is_closed_pipe, output_error, refused};
use super::hints::on_store;
use super::human;
use super::paint::printable_line;
pub(crate) use super::paint::{Meaning, paint, printable};
use crate::answers::json::to_json;
use crate::answers::program::{Note, Noted, Refusal, Refused, Version};
use crate::answers::store::FORMAT;
use treering::inspect::engine::Progress;
use treering::inspect::ingest::fence_around;
use treering::{Error, ErrorCode, ErrorKind, Result};
use treering_text::visible::written_out;

/// The width of a line if the output is not a terminal.
const WIDTH: usize = 100;
/// The smallest line width for layouts.
const WIDTH_LEAST: usize = 40;
/// The time after which long work shows a progress bar.
const BAR_AFTER: Duration = Duration::from_millis(300);

/// The largest number of bytes that are buffered before their Markdown fence is written.
const FENCED_MAX: usize = 4 << 20;
/// The largest number of characters of a message for people.
const MESSAGE_MAX: usize = 4_000;

named! {
    /// The output mode of answers.
    #[derive(clap::ValueEnum)]
    pub(crate) enum Mode {
        /// For people: aligned columns.
        Table => "table",
        /// For programs: one document, or one line for each answer of a stream.
        Json => "json",
        /// For language models: few tokens, tabs between columns, nothing cut or coloured.
        Agent => "agent",
        /// For Markdown pages: tables, with all other output in fenced blocks.
        Markdown => "markdown",
    }
}

/// The time after which a person learns for which remote the program waits.
#[cfg(feature = "remote")]
const NAMED_AFTER: Duration = Duration::from_secs(2);

/// The progress bar that is shown while a person waits for an answer.
#[derive(Clone)]
pub(crate) struct Wait {
    bar: ProgressBar,
    /// The time when the wait started. `None` while the user types, and after the first byte of the answer.
    since: Arc<Mutex<Option<Instant>>>,
}

impl Wait {
    fn new() -> Self {
        Self {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)),
            since: Arc::new(Mutex::new(Some(Instant::now()))),
        }
    }

    /// Returns a buffered writer to `out`. The first byte that reaches `out` ends the wait.
    fn screen(&self, out: Box<dyn io::Write>) -> BufWriter<Screen> {
        let wait = self.clone();
        BufWriter::with_capacity(1 << 16, Screen { wait, out })
    }

    /// Shows in place of the bar that a person waits for `place`, unless the bar is there.
    #[cfg(feature = "remote")]
    fn name(&self, place: &str) {
        let since = self.since.lock();
        if since.is_some_and(|since| since.elapsed() >= NAMED_AFTER) && self.bar.length().is_none() {
            self.bar.set_length(1);
            self.bar.set_message(format!("waiting for {place}"));
        }
    }

    /// Starts the wait, during which the bar may appear.
    pub(crate) fn begin(&self) {
        *self.since.lock() = Some(Instant::now());
    }

    /// Ends the wait, and removes the bar.
    pub(crate) fn end(&self) {
        if self.since.lock().take().is_some() {
            self.bar.finish_and_clear();
        }
    }

    /// Draws the bar if the wait is longer than [`BAR_AFTER`]. All work for one answer shares one bar.
    fn show(&self, progress: &Progress) {
        // Holds the lock until the bar is drawn, because another thread may end the wait.
        let since = self.since.lock();
        // Without a total the bar cannot show progress.
        if progress.total == 0 || since.is_none_or(|since| since.elapsed() < BAR_AFTER) {
            return;
        }
        if self.bar.is_finished() {
            self.bar.reset();
        }
        self.bar.set_length(progress.total);
        self.bar.set_position(progress.done);
        self.bar.set_message(progress.doing);
    }
}

/// The writer of answers. The first written byte removes the progress bar.
struct Screen {
    wait: Wait,
    out: Box<dyn io::Write>,
}

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait.end();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wait.end();
        self.out.flush()
    }
}

/// Collects the output of a run as text for the caller of the run.
#[derive(Clone, Default)]
pub(crate) struct Capture(Arc<Mutex<Vec<u8>>>);

impl Capture {
    /// Returns the text that was collected so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl io::Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The output of one run.
pub(crate) struct Output {
    mode: Mode,
    /// Whether tables for people begin with a line of column names, as in the shell.
    pub(crate) headings: bool,
    style: human::Style,
    out: BufWriter<Screen>,
    /// Lines that are buffered until their Markdown fence is written, because the fence's length depends on the text.
    fenced: String,
    /// Set when the user interrupts the answer.
    stop: Arc<AtomicBool>,
    pub(crate) wait: Wait,
    /// Whether a pager shows the answers. If so, the pager also shows the notes, which else go to standard error.
    paged: bool,
    notes: Vec<Note>,
    /// Whether notes are dropped, because only a fault is worth a line.
    pub(crate) is_quiet: bool,
    /// The store in the commands of hints. `None` without `--store`, and in a shell, which has one store.
    pub(crate) store: Option<PathBuf>,
}

impl Output {
    /// Returns the output of a run. `json` is the value of `--json`.
    pub(crate) fn new(json: bool) -> Self {
        let wait = Wait::new();
        let mut output = Self {
            mode: Mode::Table,
            headings: false,
            style: human::Style::default(),
            out: wait.screen(Box::new(io::stdout())),
            fenced: String::new(),
            stop: Arc::default(),
            wait,
            paged: false,
            notes: Vec::new(),
            is_quiet: false,
            store: None,
        };
        output.set_mode(if json { Mode::Json } else { Mode::Table });
        output
    }

    /// Returns whether answers are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.mode == Mode::Json
    }

    /// Writes a document if answers are JSON. Returns whether answers are JSON.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> Result<bool> {
        if self.is_json() {
            self.document(document)?;
        }
        Ok(self.is_json())
    }

    /// Writes one line unless answers are JSON.
    pub(crate) fn line_for_people(&mut self, text: impl Display) -> Result<()> {
        if self.is_json() { Ok(()) } else { self.line(text) }
    }

    /// Prints a note that programs do not need.
    pub(crate) fn note_for_people(&mut self, code: &'static str, message: impl Into<String>) {
        if !self.is_json() {
            self.note(code, message);
        }
    }

    /// Returns how many of `all` parts an answer prints: all parts for programs, at most `most` parts for people.
    pub(crate) fn shown_of(&self, all: usize, most: usize) -> usize {
        if self.is_json() { all } else { all.min(most) }
    }

    /// Refuses an output format other than JSON, such as a diagram on standard output, if `--json` is set.
    pub(crate) fn check_form(&self) -> Result<()> {
        if self.is_json() {
            let text = "this output format cannot be combined with --json";
            let hint = "name a file for the output, or omit --json";
            return Err(refused(ErrorCode::UnsupportedFormat, text, hint));
        }
        Ok(())
    }

    /// Returns whether the program can ask a person at a terminal.
    pub(crate) fn can_ask(&self) -> bool {
        !self.is_json() && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks the person at the terminal a question, and returns the typed line without blanks around it.
    ///
    /// # Errors
    /// `Io` if standard input cannot be read.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String> {
        self.note("question", question);
        let mut typed = String::new();
        let read = io::stdin().read_line(&mut typed);
        read.map_err(|error| Error::io("reading the answer", error))?;
        Ok(typed.trim().to_owned())
    }

    /// Asks the person at the terminal a question, and returns whether the answer is yes.
    ///
    /// # Errors
    /// The errors of [`Self::ask`].
    pub(crate) fn ask_yes(&mut self, question: &str) -> Result<bool> {
        let typed = self.ask(&format!("{question} [y/N]"))?;
        Ok(matches!(typed.as_str(), "y" | "Y" | "yes"))
    }

    /// Returns whether the output must use few tokens.
    pub(crate) fn is_compact(&self) -> bool {
        self.mode == Mode::Agent
    }

    /// Returns the output mode of answers.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Sets the output mode of all further answers. Enables colours only for people at a terminal.
    pub(crate) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.style = human::Style {
            coloured: mode == Mode::Table && AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            // Without a terminal, no text is cut.
            width: (mode != Mode::Agent && io::stdout().is_terminal()).then(help_width),
            hides_untrusted: mode == Mode::Agent,
        };
    }

    /// Returns whether tables begin with a line of column names.
    pub(crate) fn has_headings(&self) -> bool {
        self.headings || matches!(self.mode, Mode::Markdown | Mode::Agent)
    }

    /// Returns the stop flag. Once it is set, the command ends with an error of code `interrupted`.
    pub(crate) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Fails with code `interrupted` if the user interrupted the answer.
    pub(crate) fn check_stop(&self) -> Result<()> {
        check_stop(&self.stop)
    }

    /// Redirects all further output to a pager, or to standard output if `pager` is `None`.
    pub(crate) fn redirect(&mut self, pager: Option<Box<dyn io::Write>>) -> Result<()> {
        let flushed = self.flush();
        self.paged = pager.is_some();
        let out = self.wait.screen(pager.unwrap_or_else(|| Box::new(io::stdout())));
        // If the reader closed the pipe, dropping the buffer must not write to the pipe again.
        drop(std::mem::replace(&mut self.out, out).into_parts());
        flushed
    }

    /// Ends one command of a shell: flushes the output and prints the notes.
    pub(crate) fn end_command(&mut self) -> Result<()> {
        let flushed = self.flush();
        print_notes(std::mem::take(&mut self.notes));
        flushed
    }

    /// Prints the reason why a command of a shell failed, on standard error.
    pub(crate) fn print_failure(&mut self, failure: &Error) {
        // The end of the run reports a closed pipe.
        drop(self.flush());
        let notes = std::mem::take(&mut self.notes);
        report(failure, self.is_json(), notes);
    }

    /// Writes one line, with invisible characters written out. In Markdown mode the line waits for its fence.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<()> {
        self.check_stop()?;
        let text = printable_line(self.style.coloured, &text.to_string());
        if self.mode != Mode::Markdown {
            return writeln!(self.out, "{text}").map_err(output_error);
        }
        let _ = writeln!(self.fenced, "{text}");
        if self.fenced.len() > FENCED_MAX {
            return self.close_fence();
        }
        Ok(())
    }

    /// Writes the buffered lines in a Markdown fence that is longer than any fence in the lines.
    fn close_fence(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.fenced);
        if lines.is_empty() {
            return Ok(());
        }
        let fence = fence_around(&lines);
        write!(self.out, "{fence}text\n{lines}{fence}\n").map_err(output_error)
    }

    /// Writes one row of a Markdown table, or the line below the headings of the table.
    pub(crate) fn markdown_row<'a>(&mut self, cells: impl Iterator<Item = &'a str>) -> Result<()> {
        self.check_stop()?;
        self.close_fence()?;
        let mut row = String::from("|");
        for cell in cells {
            let _ = write!(row, " {} |", cell.replace('|', "\\|"));
        }
        writeln!(self.out, "{row}").map_err(output_error)
    }

    /// The style of lines for people.
    pub(crate) fn style(&self) -> human::Style {
        self.style
    }

    /// Returns the text in the colour of its meaning, if colours are enabled.
    pub(crate) fn paint(&self, meaning: Meaning, text: impl Display) -> String {
        self.style.paint(meaning, text)
    }

    /// Writes one document, or one line of a stream.
    pub(crate) fn document(&mut self, document: &impl Serialize) -> Result<()> {
        let text = to_json(document).map_err(|error| output_error(error.into()))?;
        self.line(text)
    }

    /// Writes a text of whole lines. A terminal shows invisible characters written out; a file or a pipe gets the text
    /// without loss.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        self.check_stop()?;
        let is_shown = self.paged || io::stdout().is_terminal();
        let text = if is_shown { written_out(text) } else { text.into() };
        self.out.write_all(text.as_bytes()).map_err(output_error)
    }

    /// Writes a label in the colour of its meaning, and a text that is wrapped for the terminal.
    pub(crate) fn labelled(&mut self, meaning: Meaning, label: &str, text: &str) -> Result<()> {
        let margin = label.chars().count() + 2;
        let room = self
            .style
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(margin).max(WIDTH_LEAST));
        let mut start = format!("{}  ", self.paint(meaning, label));
        for line in human::wrapped(text, room) {
            self.line(format_args!("{start}{line}"))?;
            start = " ".repeat(margin);
        }
        Ok(())
    }

    /// Writes a name and its value. The name is indented and padded to `width`.
    pub(crate) fn field(
        &mut self,
        margin: usize,
        width: usize,
        name: &str,
        value: impl Display,
    ) -> Result<()> {
        if self.mode == Mode::Agent {
            return self.line(format_args!("{name}: {value}"));
        }
        let name = self.paint(Meaning::Quiet, format_args!("{name:<width$}"));
        self.line(format_args!("{:margin$}{name}{value}", ""))
    }

    /// Flushes the buffered output to the reader.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.close_fence()?;
        self.out.flush().map_err(output_error)
    }

    /// Prints a note on standard error.
    pub(crate) fn note(&mut self, code: &'static str, message: impl Into<String>) {
        let is_hint = matches!(code, "undo" | "next");
        if self.is_quiet {
            return;
        }
        if is_hint && self.mode == Mode::Agent {
            // A model already knows the verbs, so a hint that names a verb would only cost tokens.
            return;
        }
        // Another note may have the texts of others.
        let message = on_store(message.into(), self.store.as_deref().filter(|_| is_hint));
        if self.is_json() {
            self.notes.push(Note { code, message });
        } else if self.paged {
            let text = self.paint(Meaning::Quiet, printable(&message));
            // The write fails if the user exited the pager. The end of the run reports the failure.
            drop(writeln!(self.out, "{text}"));
        } else {
            // Prints the buffered lines before the note. The end of the run reports a closed pipe.
            drop(self.out.flush());
            to_stderr(&paint(coloured_errors(), Meaning::Quiet, printable(&message)));
        }
    }

    /// Prints a warning as [`Self::note`] does, with the code before the message for people.
    pub(crate) fn warn(&mut self, code: &'static str, message: &str) {
        if self.is_json() {
            self.note(code, message);
        } else {
            self.note(code, format!("{code}: {message}"));
        }
    }

    /// Prints a message for an empty answer, for people only. Programs get an empty stream.
    pub(crate) fn nothing_found(&mut self) {
        self.note_for_people("nothing_found", "nothing found");
    }

    /// Prints the meaning of the mark [`human::UNTRUSTED`] for people.
    pub(crate) fn note_untrusted(&mut self) {
        if self.mode == Mode::Table {
            self.note(
                "untrusted",
                "! marks what is untrusted: it came from a tool, a document or an import",
            );
        }
    }

    /// Returns whether a terminal shows the progress of long work.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.is_json() && io::stderr().is_terminal()
    }

    /// Returns a progress bar on standard error for long work. Returns `None` without a terminal.
    pub(crate) fn progress(&self) -> Option<Arc<dyn Fn(Progress) + Send + Sync>> {
        if !self.shows_progress() {
            return None;
        }
        let wait = self.wait.clone();
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %");
        wait.bar
            .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Some(Arc::new(move |progress: Progress| wait.show(&progress)))
    }

    /// Shows on a terminal that the program waits for a remote, if that takes long.
    #[cfg(feature = "remote")]
    pub(crate) fn waits_for(&self, url: &str) {
        if self.progress().is_some() {
            let (wait, place) = (
                self.wait.clone(),
                treering::inspect::remote::without_password(url),
            );
            std::thread::spawn(move || {
                std::thread::sleep(NAMED_AFTER);
                wait.name(&place);
            });
        }
    }

    /// Ends the run: flushes the output, reports a failure, and returns the exit code.
    pub(crate) fn finish(mut self, done: Result<u8>) -> u8 {
        let flushed = self.flush();
        let done = done.and_then(|code| flushed.map(|()| code));
        let done = done.map_err(|failure| match failure.hint().map(str::to_owned) {
            Some(hint) => failure.with_hint(on_store(hint, self.store.as_deref())),
            None => failure,
        });
        let json = self.is_json();
        // After a failed flush, dropping the buffer must not write the buffered bytes again.
        drop(self.out.into_parts());
        match done {
            Ok(code) => {
                print_notes(self.notes);
                code
            }
            Err(failure) => {
                report(&failure, json, self.notes);
                exit_code(&failure)
            }
        }
    }
}

/// Fails with code `interrupted` if the flag is set.
pub(crate) fn check_stop(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::new(ErrorKind::Io, "stopped").with_code(ErrorCode::Interrupted));
    }
    Ok(())
}

/// Reports a failure on standard error.
fn report(failure: &Error, json: bool, notes: Vec<Note>) {
    if is_closed_pipe(failure) {
        return;
    }
    let error = Refused::from(failure);
    if json {
        let notes = notes.into_iter().map(|note| note.message).collect();
        return to_stderr_as_json(&Refusal { error, notes });
    }
    let coloured = coloured_errors();
    let mut text = paint(coloured, Meaning::Bad, "error: ");
    text.push_str(&printable(&human::cut(&error.message, MESSAGE_MAX)));
    // Omits the ids that the message already contains.
    let mut others = error.ids.clone();
    others.retain(|id| !text.contains(id));
    for id in others {
        let _ = write!(text, "\n  {}", printable(&id));
    }
    if let Some(hint) = &error.hint {
        let label = paint(coloured, Meaning::Quiet, "hint: ");
        let _ = write!(text, "\n{label}{}", printable(hint));
    }
    to_stderr(&text);
}

/// Prints the notes of a run as lines of JSON, for programs.
fn print_notes(notes: Vec<Note>) {
    for note in notes {
        to_stderr_as_json(&Noted { note });
    }
}

/// Prints the help, the version, or the error that clap returned for a command line.
pub(crate) fn answer_of_clap(error: &clap::Error, json: bool, hint: &str) -> u8 {
    use clap::error::ErrorKind as Clap;
    match error.kind() {
        Clap::DisplayVersion if json => {
            let mut output = Output::new(true);
            let text = output
                .document(&Version {
                    name: "treering",
                    version: env!("CARGO_PKG_VERSION"),
                    format: FORMAT,
                })
                .map(|()| DONE);
            output.finish(text)
        }
        // Help is for people, even with --json.
        Clap::DisplayHelp | Clap::DisplayVersion => match error.print().and_then(|()| io::stdout().flush()) {
            Ok(()) => DONE,
            Err(error) => exit_code(&output_error(error)),
        },
        // A failed write to standard error cannot be reported anywhere.
        Clap::DisplayHelpOnMissingArgumentOrSubcommand if !json => {
            drop(error.print());
            USAGE
        }
        _ => {
            report(&clap_error(error, hint), json, Vec::new());
            USAGE
        }
    }
}

/// Installs a panic hook that prints one line on standard error and exits with code 70.
pub(super) fn report_bugs_in_one_line(arguments: Vec<OsString>) {
    std::panic::set_hook(Box::new(move |panic| {
        let what = panic.payload_as_str().unwrap_or_default();
        let place = panic
            .location()
            .map(|at| format!(" ({}:{})", at.file(), at.line()))
            .unwrap_or_default();
        let text = format!("this is a bug in treering, please report it: {what}{place}");
        if wants_json(arguments.iter().skip(1).cloned()) {
            report(&Error::internal(text), true, Vec::new());
        } else {
            to_stderr(&printable(&text).replace('\n', " "));
        }
        let code = if is_hook(arguments.iter().cloned()) {
            DONE
        } else {
            BUG
        };
        end(code);
    }));
}

/// Ends the process at once. No handler of an interpreter that loaded this code runs.
pub(crate) fn end(code: u8) -> ! {
    drop(io::stdout().flush());
    signal_hook::low_level::exit(i32::from(code))
}

/// Returns whether the arguments are those of a hook, whose failure must not stop the agent of a client. A client takes the
/// exit code 2 for an order to stop.
pub(crate) fn is_hook(arguments: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<_> = arguments.skip(1).collect();
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let names_client = |word: &OsString| word.as_encoded_bytes().starts_with(b"--client");
    for (at, word) in words.iter().enumerate().filter(|(_, word)| !is_option(word)) {
        // After an option, the word may be its value.
        let is_verb = at == 0 || !is_option(&words[at - 1]);
        if is_verb || (word == "hook" && words[at..].iter().any(names_client)) {
            return word == "hook";
        }
    }
    false
}

/// Reports the fault of a hook in one line. The answer stays empty, and the exit code is that of success.
pub(crate) fn fault(message: &str) -> u8 {
    to_stderr(&format!(
        "treering hook: {}",
        printable(message).replace('\n', " ")
    ));
    DONE
}

/// Returns whether the arguments contain `--json`, for a command line that could not be parsed.
pub(crate) fn wants_json(mut arguments: impl Iterator<Item = OsString>) -> bool {
    arguments
        .by_ref()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}

fn coloured_errors() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Returns the width of a help page, even if the output is a file.
pub(crate) fn help_width() -> usize {
    // COLUMNS overrides the width of the terminal.
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let from_terminal = rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col));
    asked
        .or(from_terminal)
        .filter(|columns| *columns > 0)
        .map_or(WIDTH, |columns: usize| columns.max(WIDTH_LEAST))
}

fn to_stderr_as_json(document: &impl Serialize) {
    // Serialisation cannot fail: these documents contain only texts and lists.
    to_stderr(&to_json(document).unwrap_or_default());
}

fn to_stderr(text: &str) {
    // A failed write to standard error cannot be reported anywhere.
    drop(writeln!(io::stderr().lock(), "{text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_fence() {
        for (text, fence) in [
            ("a", "```"),
            ("``", "```"),
            ("a\n```\nb", "````"),
            ("x ````` `", "``````"),
        ] {
            assert_eq!(fence_around(text), fence, "{text}");
        }
    }

    #[test]
    fn json_is_seen_before_the_end_of_options_only() {
        let seen = |arguments: &[&str]| wants_json(arguments.iter().map(|text| (*text).into()));
        assert!(seen(&["get", "a", "--json"]));
        assert!(!seen(&["get", "--", "--json"]));
        assert!(!seen(&["get", "a"]));
    }
}

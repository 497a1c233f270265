//! The shell itself: help, settings, leaving.
//!
//! # Layer
//! L9, part of cli.

use super::arguments::Arguments;
use super::help;
use super::shell::Shell;
use super::table::{Command, Completes};
use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human::short;
use crate::cli::output::Mode;
use crate::engine::Writer;

const ON_OFF: &[&str] = &["on", "off"];

pub(super) const COMMANDS: &[Command] = &[
    Command::own("help", "[COMMAND]", "All commands, or one with examples", help)
        .aliases(&["?"])
        .examples(&[("help", "all commands"), ("help diff", "one, with examples")])
        .completes(Completes::Command),
    Command::own(
        "at",
        "[REV]",
        "Look at the state of REV from now on; @ is the present",
        at,
    )
    .examples(&[
        ("at snap:0", "every command after this shows that state"),
        ("at @", "back to the present, which moves on"),
        ("at", "which state is it"),
    ])
    .completes(Completes::Revision),
    Command::own(
        "lane",
        "[NAME]",
        "Whose snapshots and undo count: a session or actor",
        lane,
    )
    .examples(&[
        ("lane night-run", "snap:0 is now the newest of that session"),
        ("lane", "which lane is it"),
    ]),
    Command::own(
        "mode",
        "[MODE]",
        "How answers are written: table, json, markdown",
        mode,
    )
    .examples(&[("mode json", "a document a line"), ("mode", "which mode is it")])
    .completes(Completes::Words(&["table", "json", "markdown"])),
    Command::own(
        "timer",
        "[SWITCH]",
        "Whether each command says how long it took: on, off",
        timer,
    )
    .examples(&[("timer on", "from now on"), ("timer", "is it on")])
    .completes(Completes::Words(ON_OFF)),
    Command::own(
        "echo",
        "[SWITCH]",
        "Whether each command stands before its answer: on, off",
        echo,
    )
    .examples(&[
        ("echo on", "a script's answers, with their questions"),
        ("echo", "is it on"),
    ])
    .completes(Completes::Words(ON_OFF)),
    Command::own(
        "pager",
        "[SWITCH]",
        "Whether long answers go through a pager at a terminal: on, off",
        pager,
    )
    .examples(&[("pager off", "let it scroll"), ("pager", "is it on")])
    .completes(Completes::Words(ON_OFF)),
    Command::own("quit", "", "Leave; Ctrl-D does too", quit)
        .aliases(&["exit", "q"])
        .examples(&[("quit", "leave")]),
];

fn help(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    help::help(&mut shell.context.output, arguments.word(0))?;
    Ok(DONE)
}

fn at(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    match arguments.word(0) {
        None => {}
        Some("@") => shell.context.options.at = None,
        Some(revision) => {
            // Only a revision that exists becomes the state that is looked at; a moving one is held fast.
            let seq = shell.view_of(revision)?.commit().commit.seq;
            shell.context.options.at = Some(format!("seq:{seq}"));
        }
    }
    let view = shell.view()?;
    let commit = view.commit().commit;
    let held = shell.context.options.at.is_some();
    if shell.context.output.is_json() {
        let document = serde_json::json!({
            "at": shell.context.options.at, "seq": commit.seq, "root": commit.root.to_hex(),
            "time": commit.time.to_string(), "objects": view.len(),
        });
        shell.context.output.document(&document)?;
    } else {
        let what = if held { "the state of" } else { "the present," };
        let root = short(commit.root.as_bytes());
        let line = format!(
            "{what} seq:{} of {}, root {root}, {}",
            commit.seq,
            commit.time,
            crate::cli::human::counted(view.len(), "object")
        );
        shell.context.output.line(line)?;
    }
    Ok(DONE)
}

fn lane(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    if let Some(name) = arguments.word(0) {
        Writer::new().session(name).check()?;
        shell.context.options.lane.session = Some(name.to_owned());
    }
    let lane = shell.context.lane();
    say(shell, "lane", &lane)
}

fn mode(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    let mode = match arguments.word(0) {
        None => shell.context.output.mode(),
        Some(name) => <Mode as clap::ValueEnum>::from_str(name, false)
            .map_err(|_| arguments.refuse(&format!("'{name}' is no mode: table, json, agent or markdown")))?,
    };
    shell.context.output.set_mode(mode);
    let name = match mode {
        Mode::Table => "table",
        Mode::Json => "json",
        Mode::Agent => "agent",
        Mode::Markdown => "markdown",
    };
    if arguments.word(0).is_some() {
        return Ok(DONE);
    }
    say(shell, "mode", name)
}

fn timer(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    if let Some(on) = switch(arguments)? {
        shell.timer = on;
        return Ok(DONE);
    }
    let on = shell.timer;
    say(shell, "timer", if on { "on" } else { "off" })
}

fn echo(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    if let Some(on) = switch(arguments)? {
        shell.echo = on;
        return Ok(DONE);
    }
    let on = shell.echo;
    say(shell, "echo", if on { "on" } else { "off" })
}

fn pager(shell: &mut Shell<'_>, arguments: &Arguments) -> Done {
    if let Some(on) = switch(arguments)? {
        shell.pager = on;
        return Ok(DONE);
    }
    let on = shell.pager;
    say(shell, "pager", if on { "on" } else { "off" })
}

fn switch(arguments: &Arguments) -> Result<Option<bool>, Failure> {
    match arguments.word(0) {
        None => Ok(None),
        Some("on") => Ok(Some(true)),
        Some("off") => Ok(Some(false)),
        Some(other) => Err(arguments.refuse(&format!("'{other}' is neither on nor off"))),
    }
}

fn say(shell: &mut Shell<'_>, name: &str, value: &str) -> Done {
    let output = &mut shell.context.output;
    if output.is_json() {
        output.document(&serde_json::json!({ name: value }))?;
    } else {
        output.line(format_args!("{name} {value}"))?;
    }
    Ok(DONE)
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this form")]
fn quit(shell: &mut Shell<'_>, _: &Arguments) -> Done {
    shell.ended = true;
    Ok(DONE)
}

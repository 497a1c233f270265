//! Prints the steps of the tour with their cost, and collects them for programs.
//!
//! # Layer
//! L10, part of cli.

use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::folder::TourFolder;
use crate::cli::context::{Context, shown};
use crate::cli::errors::Failure;
use crate::cli::human::bytes;
use crate::cli::output::{Meaning, Output};
use crate::engine::Memory;
use crate::error::{Error, Result};

/// The steps: a paragraph each, with its name, a sentence, and the command that does the same.
const STEPS: &str = include_str!("steps.txt");

/// The outcome of a step.
#[derive(Default)]
pub(super) struct Outcome {
    /// The lines for people.
    pub(super) lines: Vec<String>,
    /// The fields for programs.
    pub(super) fields: Map<String, Value>,
    /// The duration of the work in microseconds, without the output.
    micros: u64,
    /// The number of bytes added to the log, if known.
    log_bytes: Option<u64>,
    /// The number of syncs that the work waited for, if known.
    syncs: Option<u64>,
}

/// Prints or collects the steps of the tour.
pub(super) struct Guide<'a> {
    pub(super) context: &'a mut Context,
    folder: &'a TourFolder,
    document: Map<String, Value>,
    steps: Vec<Value>,
    started: Instant,
}

impl<'a> Guide<'a> {
    pub(super) fn new(context: &'a mut Context, folder: &'a TourFolder) -> Self {
        Self {
            context,
            folder,
            document: Map::new(),
            steps: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Returns the folder of the store.
    pub(super) fn folder(&self) -> &'a TourFolder {
        self.folder
    }

    /// Returns the output.
    pub(super) fn output(&self) -> &Output {
        &self.context.output
    }

    /// Prints an overview of the tour.
    pub(super) fn welcome(&mut self) -> Result<(), Failure> {
        let place = shown(self.folder.path());
        let kept = if self.folder.is_kept() {
            "It stays."
        } else {
            "It is removed at the end."
        };
        self.say(
            Meaning::Heading,
            "Treering in a few seconds: an agent's memory, damaged and brought back",
        )?;
        self.say(
            Meaning::Quiet,
            &format!("The store of this tour is {place}. {kept}"),
        )
    }

    /// Prints a step and its outcome.
    pub(super) fn print(&mut self, name: &str, outcome: Outcome) -> Result<(), Failure> {
        let mut steps = STEPS.split("\n\n").map(|step| step.lines().collect::<Vec<_>>());
        let step = steps.find(|step| step[0] == name);
        let Some([_, about, command]) = step.as_deref() else {
            return Err(Error::internal(format!("the tour has no step '{name}'")).into());
        };
        let number = self.steps.len() + 1;
        let ms = outcome.micros as f64 / 1000.0;
        self.steps.push(json!({
            "step": number,
            "name": name,
            "command": command,
            "ms": ms,
            "log_bytes": outcome.log_bytes,
            "syncs": outcome.syncs,
        }));
        self.document
            .insert(name.to_owned(), Value::Object(outcome.fields));
        let mut cost = vec![format!("{ms:.2} ms")];
        cost.extend(outcome.syncs.map(|syncs| {
            if syncs == 1 {
                "1 sync".to_owned()
            } else {
                format!("{syncs} syncs")
            }
        }));
        cost.extend(outcome.log_bytes.map(|grown| format!("{} written", bytes(grown))));
        self.context.output.line_for_people("")?;
        let heading = format!("{number:>2}  {}", name.replace('_', " "));
        self.say(Meaning::Heading, &heading)?;
        self.context.output.line_for_people(format_args!("    {about}"))?;
        self.say(Meaning::Name, &format!("    $ {command}"))?;
        for line in &outcome.lines {
            self.context.output.line_for_people(format_args!("    {line}"))?;
        }
        self.say(Meaning::Quiet, &format!("    {}", cost.join(", ")))?;
        self.context.output.flush()
    }

    /// Prints the next commands, or writes the document.
    pub(super) fn farewell(self) -> Result<(), Failure> {
        let ms = self.started.elapsed().as_micros() as f64 / 1000.0;
        let (kept, count) = (self.folder.is_kept(), self.steps.len());
        let output = &mut self.context.output;
        let mut document = self.document;
        document.insert("steps".to_owned(), Value::Array(self.steps));
        document.insert("store".to_owned(), kept.then(|| shown(self.folder.path())).into());
        document.insert("ms".to_owned(), ms.into());
        if output.json(&document)? {
            return Ok(());
        }
        output.line("")?;
        output.line(format_args!("{count} steps in {:.1} seconds.", ms / 1000.0))?;
        if kept {
            let place = shown(self.folder.path());
            output.line(format_args!(
                "Look around: treering --store {place} log, ... list, ... snapshots"
            ))
        } else {
            output.line("Keep the store to look around in it: treering tour --keep DIR")
        }
    }

    fn say(&mut self, meaning: Meaning, text: &str) -> Result<(), Failure> {
        let text = self.context.output.paint(meaning, text);
        self.context.output.line_for_people(text)
    }
}

impl Outcome {
    /// Does the work of a step on a memory and measures it.
    pub(super) fn of<T>(memory: &Memory, work: impl FnOnce() -> Result<T>) -> Result<(T, Self)> {
        let before = memory.stats()?;
        let started = Instant::now();
        let value = work()?;
        let micros = started.elapsed().as_micros() as u64;
        let after = memory.stats()?;
        let same_segments = after.segments == before.segments;
        let log_bytes = same_segments.then(|| after.log_bytes.saturating_sub(before.log_bytes));
        // Each batch in a segment is one write and one sync; a new segment takes more.
        Ok((
            value,
            Self {
                micros,
                log_bytes,
                ..Self::default()
            },
        ))
    }

    /// Does and measures work without an open memory.
    pub(super) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Self)> {
        let started = Instant::now();
        let value = work()?;
        Ok((
            value,
            Self {
                micros: started.elapsed().as_micros() as u64,
                ..Self::default()
            },
        ))
    }

    /// Sets the number of syncs, if the step wrote one batch.
    #[must_use]
    pub(super) fn synced(mut self, syncs: u64) -> Self {
        if self.log_bytes.is_some() {
            self.syncs = Some(syncs);
        }
        self
    }

    /// Adds a line for people.
    #[must_use]
    pub(super) fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Adds the fields of a report for programs.
    pub(super) fn fields_of(mut self, report: &impl Serialize) -> Result<Self> {
        let document = serde_json::to_value(report);
        let document = document.map_err(|error| Error::internal(format!("not JSON: {error}")))?;
        self.fields = document.as_object().cloned().unwrap_or_default();
        Ok(self)
    }

    /// Adds a field for programs.
    #[must_use]
    pub(super) fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

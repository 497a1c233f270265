//! Output of answers: as JSON from their fields, or as text for people.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fmt::Display;

use serde::Serialize;

use super::context::Context;
use super::errors::{DONE, Done};
use super::human::{Cell, Columns, Table, coloured};
use super::output::Meaning;
use super::time;
use treering::{Result, Time};

impl Context {
    /// Prints an answer as JSON from its fields, or calls `show` to print it for people or a language model.
    pub(crate) fn answer<A: Serialize>(
        &mut self,
        answer: &A,
        show: impl FnOnce(&A, &mut Self) -> Result<()>,
    ) -> Done {
        if !self.output.json(answer)? {
            show(answer, self)?;
        }
        Ok(DONE)
    }

    /// Writes one line for people.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<()> {
        self.output.line(text)
    }

    /// Writes the rows as a stream, and returns their number. Programs get one line of JSON for each row, people get
    /// the columns of a table.
    pub(crate) fn write_rows<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = Result<R>>,
        columns: impl Fn(&R, &Context) -> Columns,
    ) -> Result<u64> {
        let mut table = Table::default();
        let mut count = 0;
        for row in rows {
            let row = row?;
            count += 1;
            if !self.output.json(&row)? {
                let columns = columns(&row, self);
                table.row(&mut self.output, columns)?;
            }
        }
        table.end(&mut self.output)?;
        Ok(count)
    }

    /// Formats a time for a column.
    pub(crate) fn when(&self, at: Time) -> Cell {
        coloured(
            Meaning::Quiet,
            time::in_column(at, self.now(), self.output.style()),
        )
    }

    /// Writes the rows as [`Self::write_rows`] does. If the stream is empty, prints a note for people.
    pub(crate) fn rows<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = Result<R>>,
        columns: impl Fn(&R, &Context) -> Columns,
    ) -> Done {
        if self.write_rows(rows, columns)? == 0 {
            self.output.nothing_found();
        }
        Ok(DONE)
    }
}

//! Output of answers: as JSON from their fields, or as text for people.
//!
//! # Layer
//! L10, part of cli.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::errors::{DONE, Done, Failure};
use super::human::{Cell, Columns, Table, coloured};
use super::output::Meaning;
use super::time;
use crate::error::Result;
use crate::object::Time;

/// The answer of a verb that gives a single answer.
pub(crate) trait Answer: Serialize + JsonSchema {
    /// Prints the answer for people, or for a language model.
    ///
    /// # Errors
    /// Fails if writing the output or reading the store fails.
    fn show(&self, context: &mut Context) -> Result<(), Failure>;
}

impl Context {
    /// Prints an answer in the requested form.
    pub(crate) fn answer(&mut self, answer: &impl Answer) -> Done {
        if !self.output.json(answer)? {
            answer.show(self)?;
        }
        Ok(DONE)
    }

    /// Writes the rows one by one, as they come, and returns their count. Programs get a line of JSON for each, people
    /// the columns of a table.
    pub(crate) fn write_rows<R: Serialize>(
        &mut self,
        rows: impl IntoIterator<Item = Result<R>>,
        columns: impl Fn(&R, &Context) -> Columns,
    ) -> Result<u64, Failure> {
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

    /// Writes the rows as [`Self::write_rows`] does. People get a note if there are none.
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

//! Output of answers: as JSON from their fields, or as text for people.
//!
//! # Layer
//! L10, part of cli.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::errors::{DONE, Done, Failure};
use super::human::{Cell, Table, coloured};
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

/// One of many answers: a line of JSON, or a row of a table.
pub(crate) trait Row: Serialize + JsonSchema {
    /// The names of the columns.
    const COLUMNS: &'static [&'static str];

    /// The row for people, a cell for each column.
    fn cells(&self, context: &Context) -> Vec<Cell>;

    /// A second row, for people alone.
    fn cells_below(&self) -> Option<Vec<Cell>> {
        None
    }
}

impl<R: Row> Row for &R {
    const COLUMNS: &'static [&'static str] = R::COLUMNS;

    fn cells(&self, context: &Context) -> Vec<Cell> {
        (**self).cells(context)
    }

    fn cells_below(&self) -> Option<Vec<Cell>> {
        (**self).cells_below()
    }
}

impl Context {
    /// Prints an answer in the requested form.
    pub(crate) fn answer(&mut self, answer: &impl Answer) -> Done {
        if !self.output.json(answer)? {
            answer.show(self)?;
        }
        Ok(DONE)
    }

    /// Writes the rows one by one, as they come, and returns their count.
    pub(crate) fn write_rows<R: Row>(
        &mut self,
        rows: impl IntoIterator<Item = Result<R>>,
    ) -> Result<u64, Failure> {
        let mut table = Table::new(R::COLUMNS);
        let mut count = 0;
        for row in rows {
            let row = row?;
            count += 1;
            if !self.output.json(&row)? {
                let cells = row.cells(self);
                table.row(&mut self.output, cells)?;
                if let Some(cells) = row.cells_below() {
                    table.row(&mut self.output, cells)?;
                }
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

    /// Writes the rows one by one, as they come. People get a note if there are none.
    pub(crate) fn rows<R: Row>(&mut self, rows: impl IntoIterator<Item = Result<R>>) -> Done {
        if self.write_rows(rows)? == 0 {
            self.output.nothing_found();
        }
        Ok(DONE)
    }
}

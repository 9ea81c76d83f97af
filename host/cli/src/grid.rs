//! Figures in rows and columns: the one home of what a terminal and a page show of them.

use crate::style;

/// A table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// What the columns are.
    pub(crate) header: Vec<String>,
    /// The rows, each with a cell for each column.
    pub(crate) rows: Vec<Vec<String>>,
    /// The column that says what a row is about.
    pub(crate) named: usize,
    /// The first column of figures; all behind it are.
    pub(crate) figures: usize,
}

impl Grid {
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>, named: usize) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            named,
            figures: named.max(1),
        }
    }

    /// The same, whose figures begin in this column.
    pub(crate) fn figures_from(self, figures: usize) -> Self {
        Self { figures, ..self }
    }

    /// The table as a terminal has it.
    pub(crate) fn text(&self) -> String {
        self.text_in(style::columns())
    }

    /// The same in so many columns.
    pub(crate) fn text_in(&self, columns: usize) -> String {
        let figures = self.figures..self.header.len();
        style::table(&self.header, &self.rows, self.named + 1, figures, columns)
    }
}

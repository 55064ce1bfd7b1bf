//! A sweep as the tables that gateway studies publish: `summary.csv` in the columns of their scripts, `summary.md`, the plots over
//! users on the page, and what the terminal shows.

mod columns;
mod plots;
mod runs;
mod text;

pub use runs::{SweepReport, SweepRun};

use crate::page::{PageForm, study_html};
use crate::read::NamedDocument;
use crate::text::TextLooks;
use columns::Columns;

impl SweepReport<'_> {
    /// RFC 4180 with line feeds; a row for each request of each combination, and one for their total where there are several.
    pub fn csv(&self) -> String {
        let (head, rows) = Columns::of(self).table();
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in [head].iter().chain(&rows) {
            writer.write_record(row).expect("rows in memory have a cell for each column");
        }
        let bytes = writer.into_inner().expect("writing into memory does not fail");
        String::from_utf8(bytes).expect("cells are text")
    }

    pub fn markdown(&self) -> String {
        text::markdown(self)
    }

    pub fn terminal(&self, looks: TextLooks) -> String {
        text::terminal(self, looks)
    }

    /// The page, with all runs below the plots.
    pub fn html(&self, documents: &[NamedDocument]) -> String {
        study_html(plots::study(self), documents, PageForm::Plots)
    }
}

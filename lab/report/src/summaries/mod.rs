//! Summaries for a pipeline of continuous integration: Markdown for a pull request, `JUnit`'s XML for the tests of a build. Each is
//! written of the same outline, so that they cannot disagree; a new format is a file here and a line in [`SUMMARY_FORMATS`].

mod junit;
pub(crate) mod markdown;
mod outline;

use crate::read::NamedDocument;
use outline::Outline;

/// All formats.
pub const SUMMARY_FORMATS: [SummaryFormat; 2] = [
    SummaryFormat { name: "markdown", write: markdown::write },
    SummaryFormat { name: "junit", write: junit::write },
];

/// A form of a summary.
#[derive(Debug, Clone, Copy)]
pub struct SummaryFormat {
    /// As the command line has it.
    pub name: &'static str,
    write: fn(&[Outline]) -> String,
}

impl SummaryFormat {
    pub fn named(name: &str) -> Option<Self> {
        SUMMARY_FORMATS.into_iter().find(|format| format.name == name)
    }

    /// Of all documents, one after the other; ends with a line break.
    pub fn text(&self, documents: &[NamedDocument]) -> String {
        let outlines: Vec<_> = documents.iter().map(|named| Outline::of(&named.document)).collect();
        (self.write)(&outlines)
    }
}

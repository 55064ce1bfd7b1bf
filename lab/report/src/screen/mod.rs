//! The live screen of a run: a few rows at the end of a terminal that are drawn anew while it goes, with the lines of others
//! above them.
//!
//! `state` is what was told, `sections` are the rows that it makes in the order of their importance, `view` draws those that
//! have room, `painter` turns the drawing into what a terminal reads, and `inline` keeps it where it belongs.

mod inline;
mod painter;
mod rates;
mod sections;
mod state;
mod view;

pub(crate) use inline::InlineScreen;
pub use painter::ScreenLooks;
pub(crate) use painter::ScreenSize;
pub(crate) use state::ScreenState;
pub use state::{StepHead, StepsDone};

#[cfg(test)]
mod tests;

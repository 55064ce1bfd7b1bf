//! Texts of a plan with `${variables}` and `${__functions(…)}`: read once before the run, evaluated while it goes.
//!
//! JMeter's rules: a variable that is not set stays as it was written; a backslash before `,`, `$` or `\` takes their
//! meaning, in texts that have any variable or function.

mod dates;
mod digest;
mod expression;
pub(crate) mod functions;
mod read;

pub(crate) use expression::Text;
pub(crate) use read::read;

use crate::run::context::Context;

/// Reads a text that is made while the run goes, and evaluates it; what cannot be read stays as it is.
pub(crate) fn evaluate(text: &str, site: u32, context: &mut Context<'_>) -> String {
    let mut site = site;
    read(text, &mut site).map_or_else(|_| text.to_owned(), |text| text.value(context))
}

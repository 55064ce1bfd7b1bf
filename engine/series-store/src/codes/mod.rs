//! How the values of a column become few bytes, and come back bit by bit as they were.

pub(crate) mod bits;
pub(crate) mod doubles;
pub(crate) mod integers;
pub(crate) mod texts;

#[cfg(test)]
mod tests;

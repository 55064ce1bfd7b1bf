//! Two servers that show the library, and that experiments measure: [`donuts`] and [`music`], with the latter's
//! micro-benchmarks.

pub mod donuts;
pub mod micro;
pub mod music;

//! Three servers that show the library, and that experiments measure: [`donuts`], [`music`] with its micro-benchmarks, and
//! [`starwars`].

pub mod donuts;
pub mod micro;
pub mod music;
pub mod starwars;

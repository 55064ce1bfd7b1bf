//! Two servers that show the library, and that experiments measure: [`donuts`] and [`music`].

pub mod donuts;
pub mod music;

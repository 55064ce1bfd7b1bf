//! What captures and checks read from a response, and how they find it there.

pub mod answer;
pub mod capture;
pub mod check;
pub mod pattern;
pub mod pointer;

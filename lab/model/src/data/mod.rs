//! Where the values in requests come from: feeders with their rows, and texts with slots for values.

pub mod encoding;
pub mod rows;
pub mod template;
pub mod variable;

//! What is served of a graph's types, and under which names.

pub(crate) mod contribution;
mod example;
pub(crate) mod grants;
pub(crate) mod model;
pub(crate) mod naming;

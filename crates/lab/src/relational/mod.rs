//! Experiment `relational`: how many users does GraphQL over a relational database serve (Phrag's study)?

pub mod dataset;
pub mod published;

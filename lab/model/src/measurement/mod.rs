//! What was measured: records of requests, histograms and counts of them, clocks and other observations.

pub mod clock;
pub mod coarse_histogram;
pub mod counts;
pub mod figures;
pub mod histogram;
pub mod observation;
pub mod record;
pub mod snapshot;
pub mod statistics;
pub mod status_counts;
pub mod tally;

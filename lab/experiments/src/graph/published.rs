//! What the study published: "Let's build something Outrageous, part 7: Performance" (July 2021), of `RageDB`.

use super::study::GraphStep;

/// The study's name, for headings.
pub const STUDY: &str = "RageDB";

/// How the study was made, in contrast to here.
pub const CONDITIONS: &str = "RageDB ran on 4 cores (AWS R5.2xlarge without hyper-threading) and kept its graph in memory \
     only, so that its writes waited for no disk; Gatling, wrk and wrk2 drove it from a second machine (C5.2xlarge) in \
     the same zone, with up to 3 000 000 nodes and 60 s a step";

/// Reads of random nodes with wrk, in a closed loop.
pub const CLOSED_PER_S: u32 = 188_931;
/// The rate that wrk2 could hold, and the slowest answer meanwhile.
pub const HELD_PER_S: u32 = 190_000;
pub const HELD_MAX_MS: u32 = 11;
/// The rate at which latency grew without end.
pub const FAILED_PER_S: u32 = 195_000;

/// Requests a second by Gatling, with 192 connections.
pub const fn per_s(step: GraphStep) -> u32 {
    match step {
        GraphStep::CreateNodes => 103_844,
        GraphStep::GetNodes => 103_108,
        GraphStep::CreateRelationships => 90_589,
        GraphStep::GetRelationships => 79_052,
    }
}
